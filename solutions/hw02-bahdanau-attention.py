# %% [markdown]
# # Homework 2: Bahdanau attention
#
# Say *banana* in pig latin: the consonants at the front go to the end, and then comes *ay*. For each
# letter of *ananabay* you look at one of the word. The network of homework 1 can't look back: it
# writes from one vector. **Bahdanau attention gives the decoder a look at the source, anew for each
# token it writes.** In the last cell yours learns pig latin, and shows where it looks.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `AdditiveAttention`: the alignment model, and the average that it weighs | 8 |
# | 2 | `AttentionDecoder`: a decoder with a context of its own for each step | 7 |
# | 3 | `alignment_error`: where it looked, held against the truth | 3 |
# | 4 | a picture, read in words | 3 |
#
# **Time:** about three hours, after [Bahdanau attention](book:bahdanau-attention). Change no tensor
# that you are given. [For students](book:for-students) explains grading and handing in. Work that
# leads to the library's own pieces loses the points of its tests.

# %% setup="imports"
import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.masks import check_mask
from course_lib.layers.recurrent_cells import GRUCell
from course_lib.models.bahdanau import AttentionDecoderState
from course_lib.models.seq2seq import Encoded
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import (
    assert_close,
    assert_equal,
    assert_gradients,
    assert_parameters,
    assert_raises,
    load_parameters,
)
from course_lib.validation import check_at_least

prepare_notebook()  # test cells say how they ended

# %% [markdown]
# ## Part 1: the alignment model
#
# The decoder is in state $s$ and about to write. Which of the encoder's vectors $h_1, \dots, h_n$
# does it need? [The alignment model](book:bahdanau-attention#alignment-model) scores each; the
# softmax makes weights of the scores; the weighted average is the **context**. In the code $s$ is a
# **query**, the $h_i$ are the **memory**, and the $U h_i$ the **keys**, which a caller may hand over.
# Each *pair* of a query and a key has a score: let broadcasting make the pairs. A mask acts on the
# scores, **before** the softmax; True means *may attend*. A query that may attend to nothing has a
# row of $-\infty$ alone, whose softmax is NaN: set its weights to 0 after the softmax. An added
# $-\infty$ lets NaN into the gradient, `masked_fill` and `torch.where` do not.
# `check_at_least(1, d_query=d_query)` and `check_mask(mask, shape_of_the_scores)` raise the errors.

# %% solution="AdditiveAttention" of="course_lib.layers.additive_attention"

# %% test="AdditiveAttention-parameters" points=1 read="bahdanau-attention#alignment-model"
# The layer has its three matrices, without biases
shapes = {"query_projection.weight": (5, 3), "key_projection.weight": (5, 4)}
assert_parameters(AdditiveAttention(3, 4, 5), shapes | {"score.weight": (1, 5)})
assert_raises(ValueError, AdditiveAttention, 0, 4, 5)
### BEGIN HIDDEN TESTS
for widths in ((6, 6, 6), (2, 7, 3), (1, 1, 1)):
    layer, ours = AdditiveAttention(*widths), reference.AdditiveAttention(*widths)
    assert_parameters(layer, {name: tensor.shape for name, tensor in ours.named_parameters()})
layer = AdditiveAttention(6, 6, 6)
different = {layer.get_parameter(name).sum().item() for name in shapes}
assert_equal(len(different), 2, what="number of different projections")
for widths in ((0, 4, 5), (3, 0, 5), (3, 4, 0), (-1, 4, 5)):
    assert_raises(ValueError, AdditiveAttention, *widths)
### END HIDDEN TESTS

# %% test="AdditiveAttention-scores" points=2 read="bahdanau-attention#alignment-model"
# Each pair of a query and a key gets its score
layer = AdditiveAttention(d_query=1, d_memory=2, d_attention=2)
matrices = {"query_projection.weight": torch.tensor([[1.0], [0.0]])}
load_parameters(layer, matrices | {"score.weight": torch.tensor([[2.0, 4.0]])})
query = torch.tensor([[[0.0], [math.atanh(0.25)]]])
keys = torch.tensor([[[0.0, 0.0], [0.0, math.atanh(0.5)], [math.atanh(0.5), 0.0]]])
# Query 0 adds nothing to the keys: 0, then 4 * 0.5, then 2 * 0.5. Query 1 adds to the first number
# only: 2 * 0.25, then 2 * 0.25 + 4 * 0.5, then 2 * tanh(atanh(0.25) + atanh(0.5)).
expected = torch.tensor([[[0.0, 2.0, 1.0], [0.5, 2.5, 4 / 3]]])
assert_close(layer.align(query, keys), expected, what="scores")
### BEGIN HIDDEN TESTS
for widths in ((6, 6, 6), (2, 7, 3)):
    layer, ours = AdditiveAttention(*widths), reference.AdditiveAttention(*widths)
    for each in (layer, ours):
        load_parameters(each, {name: 2 * x for name, x in ours.state_dict().items()})
    query, keys = torch.randn(3, 4, widths[0]), torch.randn(3, 5, widths[2])
    assert_matches(layer.align, ours.align, query, keys)
    assert_matches(layer.align, ours.align, query[:1, :1], keys[:1])
### END HIDDEN TESTS

# %% test="AdditiveAttention-values" points=1 read="bahdanau-attention#alignment-model"
# The context averages the memory by the softmax of the scores
layer = AdditiveAttention(d_query=1, d_memory=2, d_attention=1)
matrices = {"key_projection.weight": torch.tensor([[1.0, 0.0]])}
load_parameters(layer, matrices | {"score.weight": torch.tensor([[2 * math.log(3.0)]])})
memory = torch.tensor([[[math.atanh(0.5), 8.0], [0.0, 4.0]]])  # the scores are log 3 and 0, so
contexts, weights = layer(torch.zeros(1, 2, 1), memory, return_weights=True)  # for both queries
assert_close(weights, torch.tensor([[[0.75, 0.25], [0.75, 0.25]]]), what="weights")
assert_close(contexts[..., 1], torch.tensor([[7.0, 7.0]]), what="second column of the contexts")
### BEGIN HIDDEN TESTS
for widths in ((6, 6, 6), (2, 7, 3)):
    layer, ours = AdditiveAttention(*widths), reference.AdditiveAttention(*widths)
    for each in (layer, ours):
        load_parameters(each, {name: 2 * x for name, x in ours.state_dict().items()})
    for batch, query_len, key_len in ((3, 4, 5), (3, 1, 5), (1, 4, 5), (3, 4, 1)):
        query = torch.randn(batch, query_len, widths[0])
        memory = torch.randn(batch, key_len, widths[1])
        for how in ({}, {"return_weights": True}):
            assert_matches(layer, ours, query, memory, **how)
    assert_matches(layer.eval(), ours, query, memory)
query, memory = torch.randn(3, 4, 2), torch.randn(3, 5, 7)
assert_matches(layer, ours, query, memory, return_weights=True)
assert_keeps_inputs(layer, query, memory)
assert_matches(layer.double(), ours.double(), query.double(), memory.double())
### END HIDDEN TESTS

# %% test="AdditiveAttention-mask" points=1 read="bahdanau-attention#padding-in-attention"
# Hidden keys get no weight, and the others share all of it
layer = AdditiveAttention(d_query=1, d_memory=1, d_attention=1)
load_parameters(layer, {})  # all is zero: the context is a mean
query, memory = torch.zeros(1, 2, 1), torch.tensor([[[2.0], [6.0], [100.0]]])
mask = torch.tensor([[[True, True, False]]])
assert_close(layer(query, memory, mask), torch.tensor([[[4.0], [4.0]]]), what="contexts")
assert_raises(TypeError, layer, query, memory, mask.float())
### BEGIN HIDDEN TESTS
layer, ours = AdditiveAttention(6, 6, 6), reference.AdditiveAttention(6, 6, 6)
per_query = torch.rand(4, 4, 4) < 0.5
per_query[..., 0], per_query[..., 1] = True, False
per_key = torch.tensor([True, False, True, False]).expand(4, 1, 4)
for is_low in (False, True):  # what takes the place of hidden scores is below all of them
    state = {name: 2 * x for name, x in ours.state_dict().items()}
    query, memory = torch.randn(2, 4, 4, 6)
    if is_low:
        state = {name: x.abs() for name, x in state.items()}
        state["score.weight"] = torch.full((1, 6), -10.0)
        query, memory = query.abs(), memory.abs()
    for each in (layer, ours):
        load_parameters(each, state)
    for mask in (per_query, per_key, per_query[:1], per_query[..., :1]):
        assert_matches(layer, ours, query, memory, mask, return_weights=True)
        assert_matches(layer, ours, query, memory, mask)
    assert_matches(layer, ours, query[:1], memory[:1], per_key[:1], return_weights=True)
assert_matches(layer.eval(), ours, query, memory, per_key)
assert_keeps_inputs(layer, query, memory, per_query)
assert_raises(TypeError, layer, query, memory, torch.ones(4, 1, 4, dtype=torch.long))
for sizes in ((4,), (4, 4), (1, 2, 4, 4), (2, 4, 4), (4, 4, 3)):
    assert_raises(ValueError, layer, query, memory, torch.ones(sizes, dtype=torch.bool))
assert_raises(ValueError, layer, query[:1], memory[:1], per_key[:2])
assert_raises(ValueError, layer, query, memory[:1])
assert_raises(ValueError, layer, query[:1], memory)
### END HIDDEN TESTS

# %% test="AdditiveAttention-no-keys" points=1 read="bahdanau-attention#padding-in-attention"
# A query that may attend to nothing gets zeros, not NaN
layer = AdditiveAttention(d_query=1, d_memory=1, d_attention=1)
load_parameters(layer, {})  # all is zero: the context is a mean
query, memory = torch.zeros(1, 2, 1), torch.tensor([[[2.0], [6.0]]])
mask = torch.tensor([[[True, True], [False, False]]])  # the second query sees nothing
assert_close(layer(query, memory, mask), torch.tensor([[[4.0], [0.0]]]), what="contexts")
### BEGIN HIDDEN TESTS
layer, ours = AdditiveAttention(6, 6, 6), reference.AdditiveAttention(6, 6, 6)
load_parameters(layer, ours)
query, memory = torch.randn(4, 4, 6), torch.randn(4, 4, 6)
rows = torch.arange(4) != torch.randint(4, ())  # one row sees nothing, the others see everything
for mask in (rows[None, :, None], rows[:, None, None], rows[:, None, None].expand(4, 1, 4)):
    for how in ({}, {"return_weights": True}):
        assert_matches(layer, ours, query, memory, mask, **how)
### END HIDDEN TESTS

# %% test="AdditiveAttention-keys" points=1 read="bahdanau-attention#keys-once"
# Keys that are handed over are used as they are
layer = AdditiveAttention(d_query=1, d_memory=1, d_attention=1)
load_parameters(layer, {"score.weight": torch.tensor([[2 * math.log(3.0)]])})  # U is zero
memory, keys = torch.tensor([[[8.0], [4.0]]]), torch.tensor([[[math.atanh(0.5)], [0.0]]])
# The scores are log 3 and 0, the weights 3/4 and 1/4.
assert_close(layer(torch.zeros(1, 1, 1), memory, keys=keys), torch.tensor([[[7.0]]]))
### BEGIN HIDDEN TESTS
layer, ours = AdditiveAttention(6, 6, 6), reference.AdditiveAttention(6, 6, 6)
load_parameters(layer, ours)
query, memory, keys = (torch.randn(4, 4, 6) for _ in range(3))  # no projection of this memory
for training in (True, False):
    layer.train(training)
    for how in ({}, {"return_weights": True}):
        assert_matches(layer, ours, query, memory, keys=keys, **how)
assert_keeps_inputs(layer, query, memory, keys=keys)
### END HIDDEN TESTS

# %% test="AdditiveAttention-gradients" points=1 read="bahdanau-attention#alignment-model"
# Gradients flow to queries, keys, memory and parameters, also past a query that sees nothing
layer = AdditiveAttention(4, 5, 6)
query, memory = torch.randn(3, 2, 4), torch.randn(3, 6, 5)
mask = torch.tensor([[[True], [False]]]).expand(3, 2, 6)  # the second query sees nothing
assert_gradients(layer, query, memory)
assert_gradients(layer, query, memory, mask=mask)
### BEGIN HIDDEN TESTS
some = torch.rand(3, 2, 6) < 0.5
some[..., 0], some[..., 1] = True, False
for how in ({"return_weights": True}, {"mask": some}, {"mask": mask, "return_weights": True}):
    assert_gradients(layer, query, memory, **how)
keys = torch.randn(3, 6, 6)
assert_gradients(lambda q, m, k: layer(q, m, keys=k), query, memory, keys, module=layer)
### END HIDDEN TESTS

# %% variants="AdditiveAttention"
# fmt: off
right("Einstein's notation, with where() for the mask", '''
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        for width in (d_query, d_memory, d_attention):
            if width <= 0:
                raise ValueError(f"width {width}")
        self.score = nn.Linear(d_attention, 1, bias=False)
        self.key_projection = nn.Linear(d_memory, d_attention, bias=False)
        self.query_projection = nn.Linear(d_query, d_attention, bias=False)

    def align(self, query, keys):
        asked = torch.einsum("bqi,ai->bqa", query, self.query_projection.weight)
        pairs = asked.unsqueeze(2) + keys.unsqueeze(1)
        return torch.einsum("bqka,a->bqk", pairs.tanh(), self.score.weight[0])

    def forward(self, query, memory, mask=None, keys=None, return_weights=False):
        if len(query) != len(memory):
            raise ValueError("batches differ")
        check_mask(mask, (len(query), query.shape[1], memory.shape[1]))
        if keys is None:
            keys = torch.einsum("bkm,am->bka", memory, self.key_projection.weight)
        scores = self.align(query, keys)
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        weights = scores.softmax(dim=2).nan_to_num(0.0)
        contexts = torch.einsum("bqk,bkm->bqm", weights, memory)
        return (contexts, weights) if return_weights else contexts
''')
right("one query at a time, one key at a time", '''
class AdditiveAttention(nn.Module):
    def __init__(self, d_query: int, d_memory: int, d_attention: int) -> None:
        super().__init__()
        if d_query < 1 or d_memory < 1 or d_attention < 1:
            raise ValueError("widths")
        self.query_projection = nn.Linear(d_query, d_attention, bias=False)
        self.key_projection = nn.Linear(d_memory, d_attention, bias=False)
        self.score = nn.Linear(d_attention, 1, bias=False)

    def align(self, query, keys):
        rows = []
        for i in range(query.shape[1]):
            asked = self.query_projection(query[:, i])
            row = [self.score(torch.tanh(asked + keys[:, j])) for j in range(keys.shape[1])]
            rows.append(torch.cat(row, dim=1))
        return torch.stack(rows, dim=1)

    def forward(self, query, memory, mask=None, *, keys=None, return_weights=False):
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError(f"mask is {mask.dtype}")
        if mask is not None:
            shape = (len(query), query.shape[1], memory.shape[1])
            if mask.dim() != 3 or any(m not in (1, n) for m, n in zip(mask.shape, shape)):
                raise ValueError(f"mask is {mask.shape}, not {shape}")
        if query.shape[0] != memory.shape[0]:
            raise ValueError("query and memory differ in batch")
        scores = self.align(query, self.key_projection(memory) if keys is None else keys)
        allowed = torch.ones_like(scores, dtype=torch.bool)
        if mask is not None:
            allowed = allowed & mask
        highest = scores.masked_fill(~allowed, -1e30).amax(dim=-1, keepdim=True).detach()
        odds = torch.exp((scores - highest).masked_fill(~allowed, -1e9)) * allowed
        total = odds.sum(dim=-1, keepdim=True)
        weights = odds / total.clamp(min=torch.finfo(odds.dtype).tiny)
        context = sum(weights[:, :, j, None] * memory[:, None, j] for j in range(memory.shape[1]))
        if return_weights:
            return context, weights
        return context
''')
SCORED = "self.score(torch.tanh(pairs))"
PAIRS = "projected[:, :, None] + keys[:, None]"
SOFTMAX = "torch.softmax(scores, dim=-1)"
ANY_NUMBER = """\
            # -inf alone has no softmax. Any number will do: its weights become 0.
            scores = scores.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
"""
HIDE = "        if mask is not None:\n            scores = scores.masked_fill(~mask, -math.inf)\n"
ZERO = "        if mask is not None:\n            weights = weights.masked_fill(~mask, 0.0)\n"
KEYS = "keys = self.key_projection(memory) if keys is None else keys"
AVERAGE = "context = weights @ memory"
CHECK = "check_mask(mask, (query.size(0), query.size(1), memory.size(1)))"
PAIR = "return (context, weights) if return_weights else context"
right("hidden scores put in place, bmm and the score's weight", (
    f"{HIDE}{ANY_NUMBER}        weights = {SOFTMAX}\n{ZERO}",
    "        if mask is None:\n"
    "            weights = F.softmax(scores, -1)\n"
    "        else:\n"
    "            hidden = torch.logical_not(mask).expand_as(scores)\n"
    "            blind = hidden.all(-1, keepdim=True)\n"
    "            scores[hidden & ~blind] = -float('inf')\n"
    "            weights = F.softmax(scores, -1) * (~blind)\n"),
    (AVERAGE, "context = torch.bmm(weights, memory)"),
    (f"{SCORED}.squeeze(-1)", "F.tanh(pairs) @ self.score.weight[0]"))
right("masked by the lowest number", ("~mask, -math.inf", "~mask, torch.finfo(scores.dtype).min"),
    (SOFTMAX, "torch.log_softmax(scores, dim=-1).exp()"))
right("exponentials as the formula has them", ("            scores = scores.masked_fill(~mask, -math.inf)\n",
    "            pass\n"), (SOFTMAX, "scores.exp()"), (f"        {AVERAGE}",
    "        total = weights.sum(dim=-1, keepdim=True)\n"
    "        weights = weights / total.masked_fill(total == 0, 1.0)\n"
    f"        {AVERAGE}"))
right("a module for the softmax, and a buffer", ("super().__init__()\n",
    "super().__init__()\n        self.softmax = nn.Softmax(dim=-1)\n"
    "        self.register_buffer('scale', torch.ones(1))\n"), (SOFTMAX, "self.softmax(scores)"))
plain = right("the softmax of -inf alone", (ANY_NUMBER, ""))
wrong("nothing weighs anything", (f"        weights = {SOFTMAX}\n", f"        weights = torch.zeros_like({SOFTMAX})\n"),
    lost="values mask no-keys keys gradients", hint="You return zeros; the weights are a softmax of the scores.")

# ---- parameters ----
wrong("biases", ("nn.Linear(d_query, d_attention, bias=False)", "nn.Linear(d_query, d_attention)"),
    lost="parameters", hint="You give a projection a bias; all three have bias=False.")
wrong("biases in all three", *((f"nn.Linear({sizes}, bias=False)", f"nn.Linear({sizes})")
    for sizes in ("d_query, d_attention", "d_memory, d_attention", "d_attention, 1")),
    lost="parameters", hint="You give a projection a bias; all three have bias=False.")
wrong("v as a bare parameter", ("nn.Linear(d_attention, 1, bias=False)", "nn.Parameter(torch.randn(d_attention))"),
    (f"{SCORED}.squeeze(-1)", "torch.tanh(pairs) @ self.score"), lost="parameters",
    hint="You make score a bare parameter; it is an nn.Linear(d_attention, 1, bias=False).")
wrong("widths unchecked", ("        check_at_least(1, d_query=d_query, d_memory=d_memory, d_attention=d_attention)\n",
    ""), lost="parameters", hint="You accept widths of 0 or less; raise ValueError, as check_at_least does.")
wrong("both start alike", ("self.score = nn.Linear(d_attention, 1, bias=False)",
    "self.score = nn.Linear(d_attention, 1, bias=False)\n        if d_query == d_memory:\n"
    "            self.key_projection.load_state_dict(self.query_projection.state_dict())"), lost="parameters",
    hint="You copy a projection, and a copy starts as its original; make a new nn.Linear for each.")
for name in ("query_projection", "key_projection", "score"):
    wrong(f"another name for {name}", ("class AdditiveAttention(nn.Module):", "class AdditiveAttention(nn.Module):\n"
        "    def __setattr__(self, name, value):\n"
        f"        super().__setattr__('my_{name}' if name == '{name}' else name, value)\n\n"
        "    def __getattr__(self, name):\n"
        f"        return super().__getattr__('my_{name}' if name == '{name}' else name)\n"),
        lost="parameters", hint=f"You call {name} by another name; use the docstring's.")

# ---- scores ----
TWICE = "You project the keys in align; those that it gets are projected already."
SHAPE = "You lose a dimension of the scores, or keep one too many; they are (batch, query_len, key_len)."
wrong("no tanh", (SCORED, "self.score(pairs)"), lost="scores",
    hint="You leave out the tanh; it comes around the sum of query and key.")
wrong("tanh after v", (SCORED, "torch.tanh(self.score(pairs))"), lost="scores",
    hint="You take tanh after v; it comes before.")
wrong("a sigmoid for the tanh", (SCORED, "self.score(torch.sigmoid(pairs))"), lost="scores",
    hint="You take a sigmoid; the formula has tanh.")
wrong("ReLU for the tanh", (SCORED, "self.score(torch.relu(pairs))"), lost="scores",
    hint="You take ReLU; the formula has tanh.")
wrong("v forgotten", (f"{SCORED}.squeeze(-1)", "torch.tanh(pairs).sum(-1)"), lost="scores",
    hint="You leave out v; self.score weighs the numbers before they are added up.")
wrong("every dimension of 1 squeezed away", (f"{SCORED}.squeeze(-1)", f"{SCORED}.squeeze()"), lost="scores", hint=SHAPE)
wrong("scores keep their last dimension", (f"{SCORED}.squeeze(-1)", SCORED), lost="scores", hint=SHAPE)
wrong("queries and keys exchanged", (PAIRS, "projected[:, None] + keys[:, :, None]"), lost="scores",
    hint="You exchange queries and keys; scores are (batch, query_len, key_len).")
wrong("no pairs", (PAIRS, "projected + keys"), lost="scores",
    hint="You add queries and keys one by one; each query meets each key: [:, :, None] and [:, None].")
wrong("the query is not projected", ("projected = self.query_projection(query)", "projected = query"), lost="scores",
    hint="You do not project the query; W s comes first.")
wrong("multiplied", (PAIRS, "projected[:, :, None] * keys[:, None]"), lost="scores",
    hint="You multiply query and key; add them.")
wrong("a dot product", (f"{SCORED}.squeeze(-1)", "(projected[:, :, None] * keys[:, None]).sum(-1)"), lost="scores",
    hint="You take the dot product of query and key; the score is v . tanh(W s + key).")
wrong("given keys projected in align", (PAIRS, "projected[:, :, None] + self.key_projection(keys)[:, None]"),
    lost="scores", hint=TWICE)
wrong("align projects the keys, and forward leaves it to it",
    (PAIRS, "projected[:, :, None] + self.key_projection(keys)[:, None]"),
    (KEYS, "keys = memory if keys is None else keys"), lost="scores", hint=TWICE)
wrong("a tanh around each", (SCORED, "self.score(torch.tanh(projected[:, :, None]) + torch.tanh(keys[:, None]))"),
    lost="scores", hint="You take a tanh of each; take one, around the sum.")
wrong("align returns weights", (f"{SCORED}.squeeze(-1)", f"{SCORED}.squeeze(-1).softmax(-1)"), lost="scores",
    hint="You return weights from align; it returns scores.")

# ---- values ----
wrong("always a pair", (PAIR, "return context, weights"), lost="values",
    hint="You return a pair where the contexts alone are asked for; look at return_weights.")
wrong("never a pair", (PAIR, "return context"), lost="values",
    hint="You return the contexts alone; where return_weights is True, return contexts and weights.")
wrong("weights first", ("(context, weights) if", "(weights, context) if"), lost="values",
    hint="You return the weights first; return contexts, weights.")
wrong("weights first where there is a mask", (PAIR, "pair = (context, weights) if mask is None else (weights, context)\n"
    "        return pair if return_weights else context"), lost="mask",
    hint="You return the weights first where there is a mask; return contexts, weights.")
for name, softmax, hint in (
    ("softmax over the queries", "torch.softmax(scores, dim=1)",
     "You let the softmax run over the queries; let it run over the keys, the last dimension."),
    ("softmax over the batch", "torch.softmax(scores, dim=0)",
     "You let the softmax run over the batch; let it run over the keys, the last dimension."),
    ("softmax without dim", "F.softmax(scores)",
     "You give softmax no dim, and it chooses one; let it run over the keys: dim=-1."),
    ("no softmax", "scores", "You use the scores as weights; put a softmax between them."),
    ("exponentials not divided", "scores.exp()", "You take exp and stop there; divide by the sum over the keys."),
    ("divided by the sum of all", "scores.exp() / scores.exp().sum()",
     "You divide by the sum of all there is; divide by the sum over the query's keys."),
    ("divided by the sum of a sentence", "scores.exp() / scores.exp().sum((1, 2), keepdim=True)",
     "You divide by the sum over all queries; divide by the sum over the query's own keys."),
    ("divided by a sum without its dimension", "scores.exp() / scores.exp().sum(-1)",
     "You divide by a sum that has lost its dimension; keep it: sum(-1, keepdim=True)."),
    ("log-probabilities", "torch.log_softmax(scores, dim=-1)", "You use log-probabilities as weights; take softmax."),
    ("a sigmoid for the softmax", "torch.sigmoid(scores)", "You take a sigmoid; take a softmax over the keys."),
    ("scores divided by their sum", "scores / scores.sum(-1, keepdim=True)",
     "You divide the scores by their sum; take exp of each first, that is, a softmax."),
    ("scaled as a dot product", "torch.softmax(scores / math.sqrt(keys.size(-1)), dim=-1)",
     "You scale the scores; additive scores are not scaled."),
):
    plain.wrong(name, (SOFTMAX, softmax), lost="values", hint=hint)
plain.wrong("the weights turned", (AVERAGE, "context = weights.mT @ memory"), lost="values",
    hint="You transpose the weights; the contexts are weights @ memory.")
plain.wrong("the keys are averaged", (AVERAGE, "context = weights @ keys"), lost="values",
    hint="You average the keys; average the memory.")
plain.wrong("the mean of the memory", (AVERAGE, "context = memory.mean(1, keepdim=True).expand(-1, query.size(1), -1)"),
    lost="values", hint="You return the mean of the memory; weigh it: weights @ memory.")
plain.wrong("in evaluation the key of the highest score alone", (f"        weights = {SOFTMAX}\n",
    f"        weights = {SOFTMAX}\n        if not self.training:\n"
    "            weights = F.one_hot(weights.argmax(-1), weights.size(-1)).to(weights)\n"), lost="values",
    hint="You compute something else in evaluation; average by the softmax there too.")
plain.wrong("all of one width", (KEYS, f"{KEYS}\n        keys = keys.reshape(memory.shape)"), lost="values",
    hint="You need keys as wide as the memory; the three widths may differ.")
plain.wrong("contexts with a dimension more", (AVERAGE, "context = (weights @ memory)[:, None]"), lost="values",
    hint="You return contexts with a dimension too many; they are (batch, query_len, d_memory).")
for dim in range(3):
    plain.wrong(f"weights without dimension {dim} where its size is 1", ("(context, weights) if",
        f"(context, weights.squeeze({dim})) if"), lost="values",
        hint="You squeeze() away dimensions of 1; a single query, key or sentence keeps its own.")
plain.wrong("always float32", ("scores = self.align(query, keys)", "scores = self.align(query, keys).float()"),
    lost="values", hint="You cast to float32; keep the dtype that comes in.")
plain.wrong("dropout", (AVERAGE, "context = F.dropout(weights, 0.1) @ memory"), lost="values",
    hint="You drop values at random")

# ---- mask ----
ONE = "        if mask is not None:\n            scores = scores"
plain.wrong("mask inverted", ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
    ("weights.masked_fill(~mask", "weights.masked_fill(mask"), lost="mask",
    hint="You hide the keys that may be seen; True means may attend, so fill where the mask is False: ~mask.")
plain.wrong("mask after the softmax", (HIDE, ""), lost="mask",
    hint="You mask the weights only, so the rest no longer sums to 1; mask the scores first.")
plain.wrong("hidden scores are zero", ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, 0.0)"), lost="mask",
    hint="You set hidden scores to 0, a score like any other; set them to -inf.")
plain.wrong("hidden scores are next to zero", ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, -1e-9)"),
    lost="mask", hint="You set hidden scores to next to 0, a score like any other; set them to -inf.")
plain.wrong("hidden scores are -15", ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, -15.0)"), lost="mask",
    hint="You set hidden scores to a number that others are below; set them to -inf.")
plain.wrong("-inf times hidden scores", ("scores.masked_fill(~mask, -math.inf)", "scores + ~mask * -math.inf"),
    lost="mask", hint="You multiply by -inf, and 0 * -inf is NaN; use masked_fill or torch.where.")
plain.wrong("mask without effect", (f"{HIDE}        weights = {SOFTMAX}\n{ZERO}", f"        weights = {SOFTMAX}\n"),
    lost="mask", hint="You do not use the mask; set hidden scores to -inf before the softmax.")
plain.wrong("mask without effect on the scores in evaluation", (ONE, ONE.replace("None:", "None and self.training:")),
    lost="mask", hint="You mask the scores in training only; a mask holds in evaluation too.")
plain.wrong("mask without effect on the scores in a batch of one", (ONE, ONE.replace("None:", "None and len(query) > 1:")),
    lost="mask", hint="You mask no sentence that is alone; it has padding too.")
plain.wrong("any mask will do", (CHECK, "pass"), lost="mask",
    hint="You accept any mask; call check_mask first, with the shape of the scores.")
plain.wrong("masks of ones and zeros too", (CHECK, "check_mask(mask if mask is None or mask.is_floating_point() "
    "else mask.bool(), (query.size(0), query.size(1), memory.size(1)))"), lost="mask",
    hint="You accept masks of ones and zeros; they could mean either polarity, so raise TypeError.")
plain.wrong("masks of any shape", (CHECK,
    "if mask is not None and mask.dtype != torch.bool:\n            raise TypeError"), lost="mask",
    hint="You accept masks of any shape; call check_mask first, with the shape of the scores.")
OTHER = "You give check_mask another shape; it is (batch, query_len, key_len)."
plain.wrong("masks held against the batch for keys", (CHECK, CHECK.replace("memory.size(1)", "memory.size(0)")),
    lost="mask", hint=OTHER)
plain.wrong("masks held against the batch for queries", (CHECK, CHECK.replace("query.size(1)", "query.size(0)")),
    lost="no-keys", hint=OTHER)
plain.wrong("a mask for all sentences refused", (CHECK, f"{CHECK}\n        if mask is not None and len(mask) != len(query):\n"
    "            raise ValueError('a mask for each')"), lost="mask",
    hint="You reject a mask that is the same for all sentences; a size of 1 broadcasts.")
plain.wrong("a mask must name each key", (CHECK, f"{CHECK}\n        if mask is not None and mask.size(-1) != memory.size(1):\n"
    "            raise ValueError('each key')"), lost="mask",
    hint="You reject a mask that is the same for all keys; a size of 1 broadcasts.")
plain.wrong("batches unchecked", ("query.size(0) != memory.size(0)", "False"), lost="mask",
    hint="You accept a query and a memory of other batches; raise ValueError.")

# ---- queries that see nothing ----
NONE = ("You leave NaN, the softmax of a row of -inf; set the weights that the mask hides to 0 after "
        "the softmax.")
plain.wrong("NaN where nothing is seen", (ZERO, ""), lost="no-keys", hint=NONE)
plain.wrong("zeros only where the mask names each query", (ZERO, ZERO.replace("None:",
    "None and mask.size(1) == query.size(1):")), lost="no-keys", hint=NONE)
plain.wrong("-1e9 and no more", ("-math.inf", "-1e9"), (ZERO, ""), lost="no-keys",
    hint="You hide with a large number, so that a query that sees nothing averages everything; set its weights to 0.")

# ---- keys ----
USED = "You do not use the keys that are handed over; only where keys is None, compute them."
plain.wrong("given keys unused", (KEYS, "keys = self.key_projection(memory)"), lost="keys", hint=USED)
plain.wrong("given keys unused in evaluation", (KEYS, f"keys = keys if self.training else None\n        {KEYS}"),
    lost="keys", hint=USED)
plain.wrong("given keys projected again", (KEYS, "keys = self.key_projection(memory if keys is None else keys)"),
    lost="keys", hint="You project the keys that are handed over; they are projected already.")
plain.wrong("given keys averaged", (KEYS, f"given = keys\n        {KEYS}"),
    (AVERAGE, "context = weights @ (memory if given is None else given)"), lost="keys",
    hint="You average the keys that are handed over; average the memory, also where the keys are others.")
plain.wrong("keys are asked for yes or no", (KEYS, "keys = keys if keys else self.key_projection(memory)"), lost="keys",
    hint="You ask a tensor for yes or no; ask whether keys is None.")

# ---- gradients ----
CUT = "You cut the gradient: detach(), .data and numpy() do; leave them out."
plain.wrong("detached weights", (SOFTMAX, f"{SOFTMAX}.detach()"), lost="gradients", hint=CUT)
plain.wrong("detached memory", (AVERAGE, "context = weights @ memory.detach()"), lost="gradients", hint=CUT)
plain.wrong("detached past a mask", ("scores = scores.masked_fill", "scores = scores.detach().masked_fill"),
    lost="gradients", hint=CUT)
plain.wrong("detached keys where they are given", (KEYS, KEYS + ".detach()"), lost="gradients", hint=CUT)
plain.wrong("a matrix detached past a mask", ("scores = scores.masked_fill(~mask, -math.inf)",
    "asked = F.linear(query, self.query_projection.weight.detach())\n"
    "            scores = self.score(torch.tanh(asked[:, :, None] + keys[:, None]))\n"
    "            scores = scores.squeeze(-1).masked_fill(~mask, -math.inf)"), lost="gradients", hint=CUT)
ADDED = ("scores = scores.masked_fill(~mask, -math.inf)",
         "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)")
plain.wrong("-inf is added", ADDED, lost="gradients",
    hint="You add -inf, which lets NaN flow back from a query that sees nothing; use masked_fill.")
plain.wrong("-inf is added, and queries detached past a mask", ADDED, ("scores = self.align(query, keys)",
    "scores = self.align(query if mask is None else query.detach(), keys)"), lost="gradients", hint=CUT)
same("scores = scores.masked_fill_(", "in place, but on scores that nothing else holds")
same("scores.masked_fill(~mask.any(", "any number will do there, NaN too")
same("and keys is", "no promise is made of NaN behind a mask")
same("memory = memory.masked_fill", "no promise is made of NaN behind a mask")
# fmt: on

# %% [markdown]
# ## Part 2: a decoder that looks
#
# The decoder of homework 1 read the same context at each step. This one asks for a context of its
# own, *before* it writes: the query is the state **before** the step. See
# [A context for each step](book:bahdanau-attention#context-for-each-step). The encoder hands over an
# `Encoded` with `memory`, `context`, `(batch, d_memory)`, and `mask`, `(batch, src_len)`, which lacks
# a dimension for the queries. `start` makes the keys, and no step makes them again.
# `replace(state, hidden=new)` makes a state that differs in one field. Write one loop for `step` and
# `forward`. `GRUCell(d_input, d_hidden)` is that of homework 1. No errors are tested here.

# %% solution="AttentionDecoder" of="course_lib.models.bahdanau"

# %% test="AttentionDecoder-start" points=1 read="bahdanau-attention#context-for-each-step"
# The decoder has its parts, and begins with a state made of the whole source
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=1, d_memory=2)
load_parameters(decoder, {"bridge.weight": math.atanh(0.5) * torch.tensor([[2.0, -1.0]])})
mask, context = torch.ones(1, 4, dtype=torch.bool), torch.tensor([[1.0, 1.0]])
state = decoder.start(Encoded(memory=torch.randn(1, 4, 2), context=context, mask=mask))
assert_close(state.hidden, torch.tensor([[0.5]]), what="first state")
### BEGIN HIDDEN TESTS
for how in ({}, {"d_attention": 3}):
    decoder = AttentionDecoder(7, 5, 6, 8, **how)
    ours = reference.AttentionDecoder(7, 5, 6, 8, **how)
    assert_parameters(decoder, {name: tensor.shape for name, tensor in ours.named_parameters()})
empty = bool((decoder.embedding.weight == 0).all(dim=-1).any())
assert_equal(empty, False, what="whether a token has an embedding of zeros")
load_parameters(decoder, ours)
for batch in (3, 1):
    mask = torch.arange(5) < torch.arange(5, 5 - batch, -1)[:, None]
    encoded = Encoded(memory=torch.randn(batch, 5, 8), context=torch.randn(batch, 8), mask=mask)
    state, expected = decoder.start(encoded), ours.start(encoded)
    for name in ("hidden", "memory", "keys", "mask"):
        assert_close(getattr(state, name), getattr(expected, name), what=name)
assert_keeps_inputs(decoder.start, encoded)
### END HIDDEN TESTS

# %% test="AttentionDecoder-state" points=2 read="bahdanau-attention#context-for-each-step"
# A step looks with the state before it and its keys, and gives the cell the context
decoder = AttentionDecoder(2, d_embedding=1, d_hidden=1, d_memory=1)
weight = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])  # the candidate is tanh of the context
load_parameters(decoder, {"cell.input_projection.weight": weight})  # all else is zero
memory = torch.tensor([[[2 * math.atanh(0.6)], [0.0], [9.0]]])
mask = torch.tensor([[True, True, False]])  # so the context is atanh(0.6)
state = decoder.start(Encoded(memory=memory, context=torch.zeros(1, 1), mask=mask))
_, new = decoder.step(torch.tensor([[1]]), state)
assert_close(new.hidden, torch.tensor([[0.3]]), what="new state")  # z is 1/2
### BEGIN HIDDEN TESTS
decoder, ours = AttentionDecoder(7, 6, 6, 6), reference.AttentionDecoder(7, 6, 6, 6)
load_parameters(ours, {name: 2 * x for name, x in ours.state_dict().items()})
load_parameters(decoder, ours)
memory, keys, hidden = torch.randn(3, 5, 6), torch.randn(3, 5, 6), torch.randn(3, 6)
mask = torch.arange(5) < torch.tensor([5, 4, 2])[:, None]
state = AttentionDecoderState(hidden=hidden, memory=memory, keys=keys, mask=mask)
tokens = torch.randint(7, (3, 1))
_, new = decoder.step(tokens, state)
_, expected = ours.step(tokens, state)
for name in ("hidden", "memory", "keys", "mask"):
    assert_close(getattr(new, name), getattr(expected, name), what=f"{name} of the new state")
assert_keeps_inputs(decoder.step, tokens, state)
### END HIDDEN TESTS

# %% test="AttentionDecoder-logits" points=1 read="bahdanau-attention#context-for-each-step"
# The next token is scored from the new state, the last token and the context
decoder = AttentionDecoder(3, d_embedding=1, d_hidden=1, d_memory=1)
state = {"bridge.bias": torch.tensor([math.atanh(0.8)]), "output.weight": torch.eye(3)}
load_parameters(decoder, state | {"embedding.weight": torch.tensor([[2.0], [3.0], [4.0]])})
mask, memory = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[[10.0], [20.0]]])
begin = decoder.start(Encoded(memory=memory, context=torch.zeros(1, 1), mask=mask))  # 0.8
logits, _ = decoder.step(torch.tensor([[1]]), begin)  # the cell halves it; the context is a mean
assert_close(logits, torch.tensor([[[0.4, 3.0, 15.0]]]), what="logits")
### BEGIN HIDDEN TESTS
decoder, ours = AttentionDecoder(7, 6, 6, 6), reference.AttentionDecoder(7, 6, 6, 6)
load_parameters(decoder, ours)
for batch in (3, 1):
    memory, keys = torch.randn(2, batch, 5, 6)
    hidden = torch.randn(batch, 6)
    mask = torch.arange(5) < torch.arange(5, 5 - batch, -1)[:, None]
    state = AttentionDecoderState(hidden=hidden, memory=memory, keys=keys, mask=mask)
    tokens = torch.randint(7, (batch, 1))
    assert_close(decoder.step(tokens, state)[0], ours.step(tokens, state)[0], what="logits")
fields = {"memory": memory, "keys": keys, "mask": mask}


def logits_of(hidden):
    return decoder.step(tokens, AttentionDecoderState(hidden=hidden, **fields))[0]


assert_gradients(logits_of, hidden, module=decoder)
### END HIDDEN TESTS

# %% test="AttentionDecoder-forward" points=2 read="bahdanau-attention#context-for-each-step"
# With teacher forcing each step reads the true token, and hands its state on
decoder = AttentionDecoder(2, d_embedding=1, d_hidden=1, d_memory=1)
state = {"bridge.bias": torch.tensor([math.atanh(0.8)]), "output.weight": torch.eye(3)[:2]}
load_parameters(decoder, state | {"embedding.weight": torch.tensor([[2.0], [3.0]])})
mask, memory = torch.ones(1, 2, dtype=torch.bool), torch.randn(1, 2, 1)
encoded = Encoded(memory=memory, context=torch.zeros(1, 1), mask=mask)
logits = decoder(torch.tensor([[0, 1, 0]]), encoded)  # the cell halves its state at each step
assert_close(logits, torch.tensor([[[0.4, 2.0], [0.2, 3.0], [0.1, 2.0]]]), what="logits")
### BEGIN HIDDEN TESTS
for widths in ((6, 6, 6), (5, 6, 8)):
    decoder, ours = AttentionDecoder(7, *widths), reference.AttentionDecoder(7, *widths)
    load_parameters(decoder, ours)
    memory, context = torch.randn(3, 5, widths[2]), torch.randn(3, widths[2])
    mask = torch.arange(5) < torch.tensor([5, 4, 2])[:, None]
    encoded, tgt = Encoded(memory=memory, context=context, mask=mask), torch.randint(7, (3, 6))
    for training in (True, False):
        assert_matches(decoder.train(training), ours, tgt, encoded)
    assert_matches(decoder, ours, tgt[:, :1], encoded)
    logits, state = decoder.step(tgt, decoder.start(encoded))  # several tokens are several steps
    expected, last = ours.step(tgt, ours.start(encoded))
    assert_close(logits, expected, what="logits of one step of six tokens")
    assert_close(state.hidden, last.hidden, what="state after six tokens")


def logits_of(memory, context):
    return decoder(tgt, Encoded(memory=memory, context=context, mask=mask))


assert_gradients(logits_of, memory, context, module=decoder)
### END HIDDEN TESTS

# %% test="AttentionDecoder-weights" points=1 read="bahdanau-attention#alignment-heatmaps"
# The weights say where each step looked
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6)
load_parameters(decoder, {})  # all scores are zero
mask, memory = torch.tensor([[True, True, False]]), torch.randn(1, 3, 6)
encoded = Encoded(memory=memory, context=torch.randn(1, 6), mask=mask)
_, weights = decoder(torch.tensor([[1, 7]]), encoded, return_weights=True)
assert_close(weights, torch.tensor([[[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]]), what="weights")
### BEGIN HIDDEN TESTS
decoder, ours = AttentionDecoder(7, 6, 6, 6), reference.AttentionDecoder(7, 6, 6, 6)
load_parameters(ours, {name: 2 * x for name, x in ours.state_dict().items()})
load_parameters(decoder, ours)
for batch, tgt_len, src_len in ((3, 6, 5), (1, 6, 5), (3, 1, 5), (3, 6, 1)):
    mask = torch.arange(src_len) < torch.tensor([5, 4, 2])[:batch, None]
    memory, context = torch.randn(batch, src_len, 6), torch.randn(batch, 6)
    encoded = Encoded(memory=memory, context=context, mask=mask)
    tgt = torch.randint(7, (batch, tgt_len))
    assert_matches(decoder, ours, tgt, encoded, return_weights=True)
### END HIDDEN TESTS

# %% variants="AttentionDecoder"
# fmt: off
right("all tokens embedded at once, and all states scored at once", '''
class AttentionDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory, d_attention=None):
        super().__init__()
        if not all(size > 0 for size in (vocab_size, d_embedding, d_hidden, d_memory)):
            raise ValueError("sizes")
        d_attention = d_hidden if d_attention is None else d_attention
        self.attention = AdditiveAttention(d_hidden, d_memory, d_attention)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        self.bridge = nn.Linear(d_memory, d_hidden)

    def start(self, encoded):
        return AttentionDecoderState(
            mask=encoded.mask,
            memory=encoded.memory,
            hidden=self.bridge(encoded.context).tanh(),
            keys=self.attention.key_projection(encoded.memory),
        )

    def walk(self, tgt, state):
        if tgt.shape[0] != state.memory.shape[0] or tgt.shape[1] == 0:
            raise ValueError(f"{tgt.shape}")
        y, mask = self.embedding(tgt), state.mask.unsqueeze(1)
        hidden, contexts, weights = [state.hidden], [], []
        for t in range(tgt.shape[1]):
            query = hidden[-1].unsqueeze(1)
            c, w = self.attention(query, state.memory, mask, keys=state.keys, return_weights=True)
            contexts.append(c)
            weights.append(w)
            hidden.append(self.cell(torch.cat((y[:, t], c.squeeze(1)), 1), hidden[-1]))
        everything = (torch.stack(hidden[1:], 1), y, torch.cat(contexts, 1))
        logits = self.output(torch.cat(everything, 2))
        return logits, torch.cat(weights, 1), replace(state, hidden=hidden[-1])

    def step(self, tgt, state):
        logits, _, state = self.walk(tgt, state)
        return logits, state

    def forward(self, tgt, encoded, *, return_weights=False):
        logits, weights, _ = self.walk(tgt, self.start(encoded))
        return (logits, weights) if return_weights else logits
''')
right("step by step, weights asked for anew", '''
class AttentionDecoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory, *, d_attention=None):
        super().__init__()
        for size in [vocab_size, d_embedding, d_hidden, d_memory]:
            if size < 1:
                raise ValueError("size")
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)
        d_attention = d_hidden if d_attention is None else d_attention
        self.attention = AdditiveAttention(d_hidden, d_memory, d_attention)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)

    def look(self, state, return_weights=False):
        return self.attention(
            query=state.hidden.unsqueeze(1),
            memory=state.memory,
            mask=state.mask.unsqueeze(-2),
            keys=state.keys,
            return_weights=return_weights,
        )

    def forward(self, tgt, encoded, *, return_weights=False):
        state = self.start(encoded)
        if tgt.size(0) != encoded.memory.size(0):
            raise ValueError("batch")
        if tgt.size(1) == 0:
            raise ValueError("empty")
        all_logits = []
        all_weights = []
        for t in range(tgt.size(1)):
            all_weights.append(self.look(state, True)[1])
            logits, state = self.step(tgt[:, t : t + 1], state)
            all_logits.append(logits)
        if return_weights:
            return torch.cat(all_logits, 1), torch.cat(all_weights, 1)
        return torch.cat(all_logits, 1)

    def start(self, encoded):
        h0 = self.bridge(encoded.context).tanh()
        keys = self.attention.key_projection(encoded.memory)
        return AttentionDecoderState(hidden=h0, memory=encoded.memory, keys=keys, mask=encoded.mask)

    def step(self, tgt, state):
        if len(tgt) != len(state.hidden) or not tgt.numel():
            raise ValueError("tgt")
        if tgt.size(1) > 1:
            first, state = self.step(tgt[:, :1], state)
            rest, state = self.step(tgt[:, 1:], state)
            return torch.cat((first, rest), dim=1), state
        y = self.embedding(tgt.squeeze(1))
        c = self.look(state).squeeze(1)
        s = self.cell(torch.cat((y, c), -1), state.hidden)
        return self.output(torch.cat((s, y, c), -1)).unsqueeze(1), replace(state, hidden=s)
''')
right("hstack, and the embedding's weight",
    ("torch.cat([embedded, context.squeeze(1)], dim=-1)", "torch.hstack((embedded, context[:, 0, :]))"),
    ("for embedded in self.embedding(tgt).unbind(dim=1):",
     "for token in tgt.T:\n            embedded = F.embedding(token, self.embedding.weight)"))
BRIDGE = "hidden=torch.tanh(self.bridge(encoded.context))"
KEYS = "keys=self.attention.key_projection(encoded.memory)"
WRITTEN = "torch.cat([embedded, context.squeeze(1)], dim=-1)"
READ = "read.append(torch.cat([hidden, written], dim=-1))"
CELL = "hidden = self.cell(written, hidden)  # (batch, d_hidden)\n"
LOGITS = "logits = self.output(torch.stack(read, dim=1))"
LOOKED, TOKENS = "torch.cat(looked, dim=1)", "self.embedding(tgt).unbind(dim=1)"
ASK, MASK = "                hidden[:, None],\n", "state.mask[:, None],"
AGAIN = """\
            context, weights = self.attention(
                hidden[:, None], state.memory, state.mask[:, None], keys=state.keys,
                return_weights=True)
            written = torch.cat([embedded, context.squeeze(1)], dim=-1)
"""
CUT = "You cut the gradient: detach() and .data do; the encoder learns by the memory, the keys and the context."

# ---- start ----
WIDTH = "You give the attention another width; it is d_attention wide, and d_hidden where that is None."
wrong("bridge without tanh", (BRIDGE, "hidden=self.bridge(encoded.context)"), lost="start",
    hint="You leave out the tanh of the first state; it comes around the bridge.")
wrong("starts from zeros", (BRIDGE, "hidden=torch.zeros_like(self.bridge(encoded.context))"), lost="start",
    hint="You start from zeros; the bridge makes the first state from the context.")
wrong("starts from the mean of the memory", (BRIDGE, "hidden=torch.tanh(self.bridge(encoded.memory.mean(1)))"),
    lost="start", hint="You start from the mean of the memory; start from the context.")
wrong("starts from the last of the memory", (BRIDGE, "hidden=torch.tanh(self.bridge(encoded.memory[:, -1]))"),
    lost="start", hint="You start from the last of the memory; start from the context.")
wrong("no bridge", (BRIDGE, "hidden=encoded.context"), lost="start",
    hint="You start from the context itself; it goes through the bridge.")
wrong("the first state squeezed", (BRIDGE, f"{BRIDGE}.squeeze()"), lost="start",
    hint="You squeeze() away a batch of one; hidden is (batch, d_hidden).")
wrong("the memory for keys", (KEYS, "keys=encoded.memory"), lost="start",
    hint="You take the memory for keys; they are the memory through attention.key_projection.")
wrong("mask of the state inverted", ("mask=encoded.mask", "mask=~encoded.mask"), lost="start",
    hint="You invert the mask; take it as it is.")
wrong("all of the memory is real", ("mask=encoded.mask", "mask=torch.ones_like(encoded.mask)"), lost="start",
    hint="You hide no padding; take the mask as it is.")
wrong("all of the source hidden", ("mask=encoded.mask", "mask=encoded.mask & False"), lost="start",
    hint="You hide all of the source; take the mask as it is.")
wrong("attention as wide as the memory", ("d_hidden if d_attention is None else d_attention",
    "d_memory if d_attention is None else d_attention"), lost="start", hint=WIDTH)
wrong("d_attention ignored", ("d_hidden if d_attention is None else d_attention", "d_hidden"), lost="start", hint=WIDTH)
wrong("widths of the attention exchanged", ("            d_hidden, d_memory, d_hidden if",
    "            d_memory, d_hidden, d_hidden if"), lost="start",
    hint="You exchange d_query and d_memory; a query is a state, d_hidden wide.")
wrong("embedding with padding", ("self.embedding = nn.Embedding(vocab_size, d_embedding)",
    "self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=0)"), lost="start",
    hint="You give the embedding a padding_idx; id 0 is a token like any other here.")
wrong("the embedding alone goes into the cell", ("self.cell(written, hidden)", "self.cell(embedded, hidden)"),
    ("self.cell = GRUCell(d_embedding + d_memory,", "self.cell = GRUCell(d_embedding,"), lost="start",
    hint="You let the cell read the embedding alone; it reads the context too.")
wrong("output of the state alone", (READ, "read.append(hidden)"),
    ("self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)",
     "self.output = nn.Linear(d_hidden, vocab_size)"), lost="start",
    hint="You let the output layer read the state alone; it reads [s; y; c].")
for name in ("embedding", "bridge", "attention", "cell", "output"):
    wrong(f"another name for {name}", ("class AttentionDecoder(nn.Module):", "class AttentionDecoder(nn.Module):\n"
        "    def __setattr__(self, name, value):\n"
        f"        super().__setattr__('my_{name}' if name == '{name}' else name, value)\n\n"
        "    def __getattr__(self, name):\n"
        f"        return super().__getattr__('my_{name}' if name == '{name}' else name)\n"),
        lost="start", hint=f"You call {name} by another name; use the docstring's.")

# ---- state ----
wrong("cell in the other order", (CELL,
    "hidden = self.cell(torch.cat([context.squeeze(1), embedded], dim=-1), hidden)\n"), lost="state",
    hint="You give the cell the context first; the embedding comes first.")
wrong("both in the other order", (WRITTEN, "torch.cat([context.squeeze(1), embedded], dim=-1)"), lost="state",
    hint="You put the context before the embedding; the embedding comes first.")
wrong("the last token asks", (ASK, "                F.pad(embedded, (0, hidden.size(1) - embedded.size(1)))[:, None],\n"),
    lost="state", hint="You ask with the embedding; the query is the state before the step.")
wrong("one context for all", (WRITTEN, "torch.cat([embedded, state.memory.mean(1)], dim=-1)"), lost="state",
    hint="You use the mean of the memory; every step has its own context, by attention.")
wrong("the keys are made again at each step", ("                keys=state.keys,\n", ""), lost="state",
    hint="You make the keys again at each step; hand state.keys to the attention.")
wrong("the memory for keys in a step", ("keys=state.keys", "keys=state.memory"), lost="state",
    hint="You hand over the memory for keys; hand over state.keys.")
wrong("mask inverted in a step", (MASK, "~state.mask[:, None],"), lost="state",
    hint="You invert the mask in a step; True means may attend.")
wrong("mask unused", (f"                {MASK}\n", "                None,\n"), lost="weights",
    hint="You do not use state.mask; hand it to the attention, with a dimension for the queries.")
wrong("mask without a dimension for the queries", (MASK, "state.mask,"), lost="weights",
    hint="You hand the mask over as it is; it wants a dimension for the queries: state.mask[:, None].")
wrong("mask with a dimension at its end", (MASK, "state.mask[:, :, None],"), lost="weights",
    hint="You put the new dimension of the mask at its end; it comes before the keys: state.mask[:, None].")
wrong("the state changed in place", (CELL, "hidden = hidden.copy_(self.cell(written, hidden))\n"), lost="state",
    hint="You change the state that you are given; make a new one.")
wrong("the state first", ("return logits, state\n\n    def _run", "return state, logits\n\n    def _run"), lost="state",
    hint="You return the state first; a step returns the logits, then the state.")
wrong("the cell starts anew each time", (CELL, "hidden = self.cell(written, torch.zeros_like(hidden))\n"),
    lost="state", hint="You let the cell start from zeros; it goes on from the state that is given.")
wrong("the old state returned", ("replace(state, hidden=hidden)", "state"), lost="state",
    hint="You return the state before the step; return the new one.")
wrong("asks without a dimension for the query", (ASK, "                hidden,\n"), lost="state",
    hint="You ask without a dimension for the query; hidden[:, None] is (batch, 1, d_hidden).")
wrong("sets a field of the state", (CELL, f"{CELL}            state.hidden = hidden\n"),
    ("replace(state, hidden=hidden)", "state"), lost="state",
    hint="You set a field of a state, which is frozen; replace(state, hidden=hidden) makes a new one.")
wrong("the cell without its state", ("self.cell(written, hidden)", "self.cell(written)"), lost="state",
    hint="You call the cell without its state; call cell(x, hidden).")

# ---- logits ----
wrong("looks after the step, as Luong does", (READ,
    "new, weights = self.attention(hidden[:, None], state.memory, state.mask[:, None],\n"
    "                keys=state.keys, return_weights=True)\n"
    "            read.append(torch.cat([hidden, embedded, new.squeeze(1)], dim=-1))"), lost="logits",
    hint="You look again after the step; look once, before it: cell and output share the context.")
wrong("steps first, and looks after it", (CELL, CELL + AGAIN), lost="logits",
    hint="You look after the step; look once, before it: cell and output share the context.")
wrong("output of the old state", (f"            {CELL}            {READ}\n", f"            {READ}\n            {CELL}"),
    lost="logits", hint="You give the output layer the old state; give it the new one.")
wrong("output in another order", (READ, "read.append(torch.cat([written, hidden], dim=-1))"), lost="logits",
    hint="You give the output layer the state last; the order is state, embedding, context.")
for name, more, hint in (
    ("probabilities", ".softmax(-1)", "You return probabilities; return logits, without a softmax."),
    ("log-probabilities", ".log_softmax(-1)", "You return log-probabilities; return logits, without log_softmax."),
    ("a sigmoid", ".sigmoid()", "You take a sigmoid after the output layer; nothing comes after it."),
):
    wrong(f"{name} for logits", (LOGITS, LOGITS + more), lost="logits", hint=hint)
wrong("the context squeezed of all", ("context.squeeze(1)", "context.squeeze()"), lost="logits",
    hint="You squeeze() away a batch of one; squeeze(1) takes away one dimension.")
wrong("detached at each step", (CELL, "hidden = self.cell(written, hidden.detach())\n"), lost="logits", hint=CUT)
wrong("dropout on the embeddings", ("self.embedding(tgt).unbind", "F.dropout(self.embedding(tgt), 0.1).unbind"),
    lost="logits", hint="You drop values at random")

# ---- forward ----
wrong("the state is not handed on", ("(written, hidden)  # (batch, d_hidden)\n", "(written, state.hidden)\n"),
    lost="forward", hint="You begin each step with the first state; hand the new one on.")
wrong("always asks with the first state", (ASK, "                state.hidden[:, None],\n"), lost="forward",
    hint="You ask with the first state at each step; ask with the state before it.")
wrong("reads its own guesses in evaluation", ("            context, weights = self.attention(",
    "            if read and not self.training:\n"
    "                embedded = self.embedding(self.output(read[-1]).argmax(-1))\n"
    "            context, weights = self.attention("), lost="forward",
    hint="You let each step read its own guess; with teacher forcing it reads tgt[:, t].")
wrong("reads its own guesses", ("            context, weights = self.attention(",
    "            if read:\n                embedded = self.embedding(self.output(read[-1]).argmax(-1))\n"
    "            context, weights = self.attention("), lost="forward",
    hint="You let each step read its own guess; with teacher forcing it reads tgt[:, t].")
wrong("a memory as wide as the state and as the keys", (CELL,
    f"assert state.memory.shape[-1] == hidden.shape[-1] == state.keys.shape[-1]\n            {CELL}"), lost="forward",
    hint="You need a memory as wide as the state; all widths may differ.")
wrong("reads the start token each time", (TOKENS, "self.embedding(tgt[:, :1].expand_as(tgt)).unbind(dim=1)"),
    lost="forward", hint="You let each step read the start token; step t reads tgt[:, t].")
wrong("from the last token to the first", (TOKENS, "self.embedding(tgt.flip(1)).unbind(dim=1)"), lost="forward",
    hint="You go from the last token to the first; go from the first to the last.")
wrong("detached keys", (KEYS, f"{KEYS}.detach()"), lost="forward", hint=CUT)
wrong("keys of a detached memory", (KEYS, KEYS.replace("encoded.memory", "encoded.memory.detach()")),
    lost="forward", hint=CUT)
wrong("detached memory in the state", ("memory=encoded.memory,", "memory=encoded.memory.detach(),"),
    lost="forward", hint=CUT)
wrong("detached memory in the step", ("state.memory,", "state.memory.detach(),"), lost="forward", hint=CUT)
wrong("detached context", (BRIDGE, BRIDGE.replace("context", "context.detach()")), lost="forward", hint=CUT)
wrong("steps before batch", ("torch.stack(read, dim=1)", "torch.stack(read)"), lost="forward",
    hint="You put the steps before the batch; stack along dim=1.")
wrong("weights always returned", ("return (logits, weights) if return_weights else logits",
    "return logits, weights"), lost="forward",
    hint="You return the weights where nobody asked for them; look at return_weights.")
wrong("a step reads one token only", ("logits, _, state = self._run(tgt, state)",
    "logits, _, state = self._run(tgt[:, :1], state)"), lost="forward",
    hint="You read one token in a step; it may get several that are known, one after the other.")

# ---- weights ----
wrong("weights never returned", ("return (logits, weights) if return_weights else logits", "return logits"),
    lost="weights", hint="You return the logits alone; where return_weights is True, return logits and weights.")
wrong("weights first", ("(logits, weights) if", "(weights, logits) if"), lost="weights",
    hint="You return the weights first; return logits, weights.")
wrong("the last row only", (LOOKED, "looked[-1]"), lost="weights",
    hint="You return the weights of the last step; there is a row for each step.")
wrong("each row the first", (LOOKED, "looked[0].expand(-1, tgt.size(1), -1)"), lost="weights",
    hint="You repeat the weights of the first step; there is a row for each step.")
wrong("rows the other way round", (LOOKED, "torch.cat(looked[::-1], dim=1)"), lost="weights",
    hint="You put the rows the other way round; row 0 is that of the first step.")
wrong("weights stacked", (LOOKED, "torch.stack(looked, dim=1)"), lost="weights",
    hint="You stack weights that have a dimension for the step already; torch.cat joins them.")
wrong("weights squeezed of all", ("looked.append(weights)", "looked.append(weights.squeeze())"),
    (LOOKED, "torch.stack(looked, dim=1)"), lost="weights",
    hint="You squeeze() away every dimension of 1; name the one that is meant.")
for dim in range(3):
    wrong(f"all weights without dimension {dim} where its size is 1", (LOOKED, f"{LOOKED}.squeeze({dim})"),
        lost="weights", hint="You squeeze() away every dimension of 1; name the one that is meant.")
wrong("dropout on the weights that are returned", (f"{LOOKED}, replace", f"F.dropout({LOOKED}, 0.1), replace"),
    lost="weights", hint="You drop values at random")
same("context.squeeze(1)], dim=--1)", "the last of two dimensions")
same("written], dim=--1)", "the last of two dimensions")
same("spoiled", "no promise is made of NaN behind a mask")
same("check_at_least(", "errors are tested in part 1 only")
for piece in ("tgt.size(0) ", "tgt.size(1) <", "tgt must have", "token in each"):
    same(piece, "errors are tested in part 1 only")
# fmt: on

# %% [markdown]
# ## Part 3: did it look where it should?
#
# In [tasks with a known alignment](book:bahdanau-attention#known-alignments) the truth is at hand:
# each letter of a pig-latin word *is* one of the word. The **alignment error** is the share of
# queries whose heaviest key is not the true one. *ay* has none: it is marked -1, and does not count.


# %% solution="alignment_error" withholds="course_lib.metrics.alignment.alignment_error course_lib.metrics.alignment.unaligned_attention"
def alignment_error(weights: Tensor, alignment: Tensor) -> float:
    """Return how often the largest weight lies elsewhere than at the true key.

    Args:
        weights: ``(batch, query_len, key_len)``, as a decoder returns them, with gradients.
        alignment: ``(batch, query_len)``, int64: for each query the position of the key that it
            should attend to; -1 where there is none. At least one query has a key.

    Returns:
        Share of the queries that have a true key, 0 to 1; a float.
    """
    ### BEGIN SOLUTION
    has_key = alignment >= 0
    wrong = weights.argmax(dim=-1) != alignment  # (batch, query_len)
    return float(wrong[has_key].double().mean())
    ### END SOLUTION


# %% test="alignment_error-values" points=2 read="bahdanau-attention#alignment-heatmaps"
# The error is the share of queries whose heaviest key is not the true one
weights = torch.tensor([[[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.1, 0.5, 0.4], [0.5, 0.3, 0.2]]])
error = alignment_error(weights, torch.tensor([[0, 2, 0, 0]]))
assert_equal(error, 0.25, what="alignment error")  # the third query looks at key 1, not at 0
### BEGIN HIDDEN TESTS
weights = torch.softmax(3 * torch.randn(4, 6, 7), dim=-1).requires_grad_()
wrong = torch.arange(24).reshape(4, 6) % 4 == 0
wrong[:, 1] = True
alignment = torch.where(wrong, (weights.argmax(dim=-1) + 1) % 7, weights.argmax(dim=-1))
assert_matches(alignment_error, reference.alignment_error, weights, alignment)
assert_keeps_inputs(alignment_error, weights.detach(), alignment)
assert_accepts_noncontiguous(alignment_error, weights.detach(), alignment)
# Key 0 is a key like any other.
first = torch.tensor([[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]])
assert_matches(alignment_error, reference.alignment_error, first, torch.tensor([[0, 0, 0]]))
assert_matches(alignment_error, reference.alignment_error, first, torch.tensor([[0, 0, 1]]))
### END HIDDEN TESTS

# %% test="alignment_error-uncounted" points=1 read="bahdanau-attention#alignment-heatmaps"
# Queries without a true key do not count
weights = torch.tensor([[[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.1, 0.5, 0.4], [0.5, 0.3, 0.2]]])
error = alignment_error(weights, torch.tensor([[1, 2, -1, -1]]))
assert_equal(error, 0.5, what="alignment error")  # of two queries, the first is wrong
### BEGIN HIDDEN TESTS
weights = torch.softmax(3 * torch.randn(3, 5, 6), dim=-1)
alignment = weights.argmax(dim=-1)
alignment[0, 0] = (alignment[0, 0] + 1) % 6
alignment[0, 1:], alignment[1, 0], alignment[2] = -1, -1, -1  # 1 wrong of 1, and none of 4
assert_matches(alignment_error, reference.alignment_error, weights, alignment)
assert_keeps_inputs(alignment_error, weights, alignment)
### END HIDDEN TESTS

# %% variants="alignment_error"
# fmt: off
right("the weight at the true key, held against the largest", '''
def alignment_error(weights, alignment):
    if weights.ndim != 3 or tuple(alignment.shape) != tuple(weights.shape)[:2]:
        raise ValueError("shapes")
    counted = alignment.ne(-1)
    if counted.sum() == 0:
        raise ValueError("no true key")
    links = F.one_hot(alignment.clamp(min=0), weights.shape[2]).bool()
    right = (F.one_hot(weights.argmax(2), weights.shape[2]).bool() & links).any(2)
    return 1.0 - ((right & counted).sum() / counted.sum()).item()
''')
right("numpy", '''
import numpy as np


def alignment_error(weights, alignment):
    w, a = weights.detach().cpu().numpy(), alignment.cpu().numpy()
    if w.ndim != 3 or a.shape != w.shape[:-1] or not (a >= 0).any():
        raise ValueError("shapes, or no true key")
    return float(np.mean(w.argmax(-1)[a >= 0] != a[a >= 0]))
''')
WRONG = "wrong = weights.argmax(dim=-1) != alignment"
SHARE = "float(wrong[has_key].double().mean())"
right("hits counted, by topk", ("weights.argmax(dim=-1) != alignment", "weights.topk(1).indices[..., 0] == alignment"),
    (SHARE, "1 - (wrong * has_key).sum().item() / has_key.sum().item()"))

# ---- values ----
wrong("the right ones", (WRONG, WRONG.replace("!=", "==")), lost="values",
    hint="You return the share of the right ones; return that of the wrong ones.")
wrong("argmax over the queries", ("weights.argmax(dim=-1)", "weights.argmax(dim=1)"), lost="values",
    hint="You take argmax over the queries; take it over the keys, the last dimension.")
wrong("the largest weight itself", ("weights.argmax(dim=-1)", "weights.amax(dim=-1)"), lost="values",
    hint="You compare the largest weight; argmax says which key it is at.")
wrong("argmin", ("weights.argmax(dim=-1)", "weights.argmin(dim=-1)"), lost="values",
    hint="You take the lightest key; take the heaviest, argmax.")
wrong("a count", (SHARE, "float(wrong[has_key].sum())"), lost="values",
    hint="You return how many are wrong; divide by how many there are.")
wrong("a percentage", (SHARE, f"100 * {SHARE}"), lost="values", hint="You return a percentage; return a share, 0 to 1.")
wrong("a tensor", (SHARE, "wrong[has_key].float().mean()"), lost="values",
    hint="You return a tensor; float() makes a number of it.")
wrong("nothing but None", (f"return {SHARE}", "return None"), lost="values uncounted",
    hint="You return nothing; is a return missing?")
wrong("key 0 does not count", ("has_key = alignment >= 0", "has_key = alignment > 0"), lost="values",
    hint="You leave out key 0, a key like any other; only -1 does not count.")
wrong("the misplaced weight", (SHARE, "float(1 - weights.gather(-1, alignment.clamp(min=0)[..., None])[..., 0]"
    "[has_key].double().mean())"), lost="values",
    hint="You return the weight that lies elsewhere; count the queries whose heaviest key is wrong.")
wrong("rounded", (SHARE, f"round({SHARE}, 2)"), lost="values", hint="You round; return the share as it is.")
wrong("numpy without detach", ("weights.argmax(dim=-1)",
    "torch.from_numpy(weights.cpu().numpy()).to(weights.device).argmax(dim=-1)"), lost="values",
    hint="You call numpy() on weights with gradients; detach() first.")
wrong("view of weights that are not contiguous", ("weights.argmax(dim=-1)",
    "weights.view(-1, weights.size(-1)).argmax(dim=-1).view(alignment.shape)"), lost="values",
    hint="You call view() on tensors that may not be contiguous; call reshape().")

# ---- uncounted ----
wrong("a row without a key counts as wrong", (SHARE, "float(wrong.double().mean())"), lost="uncounted",
    hint="You count rows without a true key as wrong; leave them out.")
wrong("a row without a key counts as right", (SHARE, "float((wrong & has_key).double().mean())"), lost="uncounted",
    hint="You count rows without a true key as right; leave them out.")
wrong("the mean over sentences", (SHARE, "float(((wrong & has_key).sum(1) / has_key.sum(1).clamp(min=1)).mean())"),
    lost="uncounted", hint="You take the mean over sentences; each query counts alike.")
wrong("the number of a sentence", (SHARE, "float((wrong & has_key).sum() / len(alignment))"), lost="values",
    hint="You divide by the number of sentences; divide by that of the queries with a true key.")
wrong("the first without a key ends its sentence", ("has_key = alignment >= 0",
    "has_key = (alignment >= 0).cumprod(dim=1).bool()"), lost="uncounted",
    hint="You stop at the first query without a true key; those after it count.")
wrong("the alignment changed in place", ("    has_key = alignment >= 0\n",
    "    has_key = alignment >= 0\n    alignment[~has_key] = 0\n"), lost="uncounted",
    hint="You change the alignment in place; work on a copy.")
same("alignment > -1", "the same for whole numbers")
# fmt: on

# %% [markdown] written="reading-the-picture" points=3 read="bahdanau-attention#alignment-heatmaps"
# ### Read the picture
#
# Choose a word of your own with at least two consonants at its front, draw it with `translate`, and
# answer in eight sentences or fewer. (1) Describe the picture row by row: where does the network
# look, where does it jump, and what does it do in the rows that have no true letter? (2) The error
# that is printed counts heaviest keys only. Name something in your picture that it does not see,
# and say how you would measure it. (3) Somebody concludes: "The weights explain why it writes the
# *y* of *ay*." Which experiment with the memory would test that?
#
# ### BEGIN SOLUTION
# For `school`: the first rows look at *o*, *o*, *l*, one after the other, along
# a diagonal that begins at the first vowel; then the eyes jump back to *s* and follow *c*, *h*. The
# rows of *ay* and of the end have nothing to look at: the weights there are spread out, or rest
# where they were, and no harm is done, since what to write follows from the state alone. The error
# does not see how *sharp* the weights are: a row with 0.4 at the true letter and 0.3 at its
# neighbour counts as right. The weight that lies elsewhere, 1 minus the weight at the true key,
# measures that. Weights say where the network looked, not which parts it used: the memory at a letter
# knows its neighbours too, since the encoder has read both ways, and the state may know the answer
# already. To test it, change or remove the memory at that place (hide it by the mask, or put in
# that of another letter), leave the rest as it is, and see whether the output changes; do the same
# at a place without weight, for comparison.
#
# **Marking guide**, one point each:
#
# 1. *Description*: diagonal from the first vowel, jump to the front, and something true about the
#    rows without a true letter. Half a point without those rows.
# 2. *Left uncounted*: sharpness, spread, second-best keys, or the rows without a true key;
#    with a measure (misplaced weight, entropy, ...). Half a point without a measure.
# 3. *Experiment*: an intervention on memory or mask at that place and a comparison of outputs.
#    "Look at more pictures" earns nothing; half a point for an intervention without a comparison.
#
# A picture that differs from ours is no mistake: the description must fit the drawing.
# ### END SOLUTION

# %% [markdown]
# ## And now: pig latin
#
# Your decoder learns pig latin, in about twenty seconds, from words that are made up at random.
# Afterwards, call `translate("...")` with a word of up to ten small letters.

# %% demo="delight" prints="banana  ->  ananabay"
import random

import matplotlib.pyplot as plt

from course_lib.models.seq2seq import RecurrentEncoder

LETTERS = ".!abcdefghijklmnopqrstuvwxyz"  # "." begins a word, "!" ends it
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


def make_up_word(dice):
    word = "".join(dice.choices(CONSONANTS, k=dice.choice([0, 1, 1, 1, 2, 2, 3])))
    for _ in range(dice.randint(1, 3)):
        word += "".join(dice.choices(VOWELS, k=dice.choice([1, 1, 2])))
        word += "".join(dice.choices(CONSONANTS, k=dice.choice([0, 1, 1, 2])))
    return word[:10]


def as_batch(words):
    """Return encoded words, the letters before each step, targets and the true alignment."""
    pad = nn.utils.rnn.pad_sequence
    ids = [torch.tensor([*map(LETTERS.index, word)]) for word in words]
    fronts = [next((i for i, letter in enumerate(word) if letter in VOWELS), 0) for word in words]
    origins = [torch.arange(len(word)).roll(-n) for word, n in zip(words, fronts, strict=True)]
    ay = torch.tensor([*map(LETTERS.index, "ay!")])
    tgt = [torch.cat([row[origin], ay]) for row, origin in zip(ids, origins, strict=True)]
    tgt = pad(tgt, True, padding_value=-100)
    alignment = pad([F.pad(origin, (0, 3), value=-1) for origin in origins], True, padding_value=-1)
    before = torch.cat([torch.zeros(len(words), 1).long(), tgt[:, :-1].clamp(min=1)], dim=1)
    return encoder(pad(ids, True), torch.tensor([*map(len, words)])), before, tgt, alignment


torch.manual_seed(0)
dice = random.Random(0)
encoder = RecurrentEncoder(len(LETTERS), d_embedding=24, d_hidden=48)
decoder = AttentionDecoder(len(LETTERS), d_embedding=24, d_hidden=48, d_memory=96)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
for _ in range(400):
    encoded, before, tgt, _ = as_batch([make_up_word(dice) for _ in range(64)])
    loss = F.cross_entropy(decoder(before, encoded).flatten(0, 1), tgt.flatten())  # not of -100
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def translate(word):
    """Write a word in pig latin, and draw where the network looks while it writes each letter."""
    encoded, tokens = as_batch([word])[0], [0]
    while tokens[-1] != 1 and len(tokens) < len(word) + 6:
        logits, weights = decoder(torch.tensor([tokens]), encoded, return_weights=True)
        tokens.append(int(logits[0, -1].argmax()))
    written = "".join(LETTERS[token] for token in tokens[1:])
    print(f"{word}  ->  {written.rstrip('!')}")
    plt.matshow(weights[0], cmap="Blues", vmin=0, vmax=1)
    plt.xticks(range(len(word)), list(word))
    plt.yticks(range(len(written)), list(written))
    plt.xlabel("letter that is read")
    plt.ylabel("letter that is written")
    plt.show()


encoded, before, _, alignment = as_batch([make_up_word(dice) for _ in range(200)])
error = alignment_error(decoder(before, encoded, return_weights=True)[1], alignment)
print(f"In 200 new words, it looks elsewhere in {error:.1%} of the letters.")
translate("banana")
