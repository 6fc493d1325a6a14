# %% [markdown]
# # Homework 3: Self-attention
#
# A message has reached you, last letter first:
#
# ```
# DEEN UOY LLA
# ```
#
# You read it at once, because your eyes may jump to any letter. A recurrent network meets the
# letters one by one, and by the time it may answer, the first one is twelve steps away.
# **Attention gives a network eyes that jump.** Here you write it yourself, from four small pieces,
# and in the last cell a network that stands on *your* code learns to read mirror writing, and shows
# you where it looks.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `scaled_dot_product_attention`: who listens to whom, and how much | 10 |
# | 2 | `causal_mask` and `padding_mask`: which keys a query must not see | 3 |
# | 3 | `MultiHeadAttention`: several attentions side by side | 6 |
# | 4 | a question, answered in words | 3 |
#
# **Time:** about two hours if you have read the chapter [Self-attention](book:self-attention);
# part 1 takes half of it. Nothing here needs a GPU.
#
# Write your code where a cell says `YOUR CODE HERE`; the docstring above that line says its
# task. Each test cell below it is worth its own points. Its hidden part, with other numbers and
# shapes, runs when your work is graded. [For students](book:for-students) explains how grading
# works, which packages are installed there, and how to hand in.
#
# **The rule of this homework:** what you hand in is yours. Your copy of `course_lib` leaves out
# what you write here, and work that leads to the library's own pieces loses the points of its
# tests. If you are stuck, print shapes: nearly every mistake in attention is a dimension in the
# wrong place. Then see [Common mistakes](book:self-attention#common-mistakes).

# %% setup="imports"
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.masks import check_mask, fused_attention, without_hidden
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import (
    assert_close,
    assert_equal,
    assert_gradients,
    assert_keeps_inputs,
    assert_parameters,
    assert_raises,
    assert_shape,
    load_parameters,
)
from course_lib.validation import check_at_least, check_batch, check_divisible

prepare_notebook()  # test cells say how they ended

# %% [markdown]
# ## Part 1: scaled dot-product attention
#
# Each **query** asks something, each **key** is the label of an answer, each **value** is the answer
# itself. The larger the dot product of a query and a key, the better they fit:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# The chapter derives it in [The matrix form](book:self-attention#the-matrix-form) and
# [Why divide by $\sqrt{d_k}$?](book:self-attention#scaling); $d_k$ is `head_dim` in the code.
#
# - There may be any number of dimensions before the last two, and more keys than queries.
# - The weights of *one query over all keys* sum to 1. Scores may be large: `torch.softmax` subtracts
#   each query's largest score first, because the exp of 89 is infinite in float32.
# - A mask acts on the scores, **before** the softmax; True means *may attend*: see
#   [Masks in attention](book:self-attention#masks-in-attention).
# - A query that may attend to nothing has a row of $-\infty$ alone, whose softmax is NaN. Set its
#   weights to 0 after the softmax. `masked_fill` and `torch.where` keep the NaN out of the gradient
#   too; an added $-\infty$ does not.
# - Errors for bad arguments are tested in this part only. For masks, call
#   `check_mask(mask, shape_of_the_scores, min_dims=2)`, which raises the errors of the docstring.
#
# You may write out the formula, or call `F.scaled_dot_product_attention` where it helps. It does not
# return the weights, so the formula is needed anyway. You need neither `fused_attention`
# nor `without_hidden`, which the library's own layers use: the first calls PyTorch's kernel, the
# other sets hidden keys and values to 0.

# %% solution="scaled_dot_product_attention" of="course_lib.layers.attention"

# %% test="scaled_dot_product_attention-shape" points=1 read="self-attention#the-matrix-form"
# There is one output row for each query, as wide as a value
query = torch.randn(3, 2, 4)  # a batch of three: two queries each,
key = torch.randn(3, 5, 4)  # five keys,
value = torch.randn(3, 5, 6)  # and five values, six numbers wide
assert_shape(scaled_dot_product_attention(query, key, value), (3, 2, 6))
output, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
assert_shape(output, (3, 2, 6), what="output")
assert_shape(weights, (3, 2, 5), what="weights")  # one for each query and each key
### BEGIN HIDDEN TESTS
query, key, value = torch.randn(3, 4, 2, 8), torch.randn(3, 4, 7, 8), torch.randn(3, 4, 7, 5)
assert_shape(scaled_dot_product_attention(query, key, value), (3, 4, 2, 5))
output, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
assert_shape(output, (3, 4, 2, 5), what="output")
assert_shape(weights, (3, 4, 2, 7), what="weights")
alone = scaled_dot_product_attention(query[1, 2], key[1, 2], value[1, 2])
assert_shape(alone, (2, 5), what="output without a batch")
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-values" points=2 read="self-attention#the-matrix-form"
# The output averages the values by the softmax of the scores
query = torch.tensor([[[1.0], [-1.0]]])  # head_dim is 1, so there is nothing to scale
key = torch.tensor([[[math.log(3.0)], [0.0]]])
value = torch.tensor([[[8.0], [2.0]]])
# The first query's scores are log 3 and 0: its weights are 3/4 and 1/4, its output is 6 + 1/2. The
# second one's are -log 3 and 0, so its weights are the other way round.
expected = torch.tensor([[[6.5], [3.5]]])
assert_close(scaled_dot_product_attention(query, key, value), expected, what="output")
output, weights = scaled_dot_product_attention(query, key, value, return_weights=True)
assert_close(weights, torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]), what="weights")
assert_close(output, expected, what="output")
### BEGIN HIDDEN TESTS
attend, ours = scaled_dot_product_attention, reference.scaled_dot_product_attention
for batch in ((3,), (2, 3), ()):
    inputs = (torch.randn(*batch, length, 1) for length in (4, 5, 5))
    inputs = tuple(inputs)
    for how in ({}, {"return_weights": True}):
        assert_matches(attend, ours, *inputs, **how)
# Far from 0, scores make the same weights: 3/4 and 1/4 of 8 and 2, and the other way round.
query, value = torch.tensor([[[1.0], [-1.0]]]), torch.tensor([[[8.0], [2.0]]])
key = torch.tensor([[[200.0 + math.log(3.0)], [200.0]]])
assert_close(scaled_dot_product_attention(query, key, value), torch.tensor([[[6.5], [3.5]]]))
output, _ = scaled_dot_product_attention(query, key, value, return_weights=True)
assert_close(output, torch.tensor([[[6.5], [3.5]]]))
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-scaling" points=2 read="self-attention#scaling"
# The scores are divided by the square root of head_dim
size = math.sqrt(math.log(3.0) / 2)
query = size * torch.tensor([[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]]])
value = torch.tensor([[[8.0], [4.0]]])
# The keys are the queries. A token's score is 2 log 3 with itself, and 0 with the other. head_dim
# is 4, so 2 log 3 becomes log 3, and the weights are 3/4 and 1/4 again.
expected = torch.tensor([[[7.0], [5.0]]])
assert_close(scaled_dot_product_attention(query, query, value), expected)
### BEGIN HIDDEN TESTS
attend, ours = scaled_dot_product_attention, reference.scaled_dot_product_attention
# Tokens at right angles, all of one length: nothing but the scale can change the weights.
tokens = (1.0 + 0.2 * torch.rand(())) * torch.linalg.qr(torch.randn(12, 5)).Q.T[None]
value = torch.randn(1, 5, 3)
for how in ({}, {"return_weights": True}):
    assert_matches(attend, ours, tokens, tokens, value, **how)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-mask" points=2 read="self-attention#masks-in-attention"
# Keys that the mask hides might as well not be there
query = torch.tensor([[[1.0]]])
key = torch.tensor([[[math.log(3.0)], [0.0], [math.log(6.0)]]])
value = torch.tensor([[[8.0], [4.0], [100.0]]])
mask = torch.tensor([[True, True, False]])  # the third key is hidden
# Of the first two, the weights are 3/4 and 1/4: 6 + 1.
assert_close(scaled_dot_product_attention(query, key, value, mask), torch.tensor([[[7.0]]]))
### BEGIN HIDDEN TESTS
attend, ours = scaled_dot_product_attention, reference.scaled_dot_product_attention
value = torch.randn(6, 5, 6)
same = torch.tensor([[True, False, True, True, False]])  # for every query
other = torch.rand(6, 4, 5) < 0.6
other[..., 0], other[..., 1] = True, False
square = (torch.rand(5, 5) < 0.5) | torch.eye(5, dtype=torch.bool)
for mask, query_len, width in ((same, 4, 1), (other, 4, 1), (other[:1], 4, 4), (square, 5, 1)):
    query, key = torch.randn(6, query_len, width), torch.randn(6, 5, width)
    for how in ({}, {"return_weights": True}):
        assert_matches(attend, ours, query, key, value, mask, **how)
# A hidden score counts for nothing, however low the others are.
low = torch.tensor([[[-3e4], [-3e4], [0.0]]])
value = torch.tensor([[[8.0], [4.0], [100.0]]])
output = scaled_dot_product_attention(torch.ones(1, 1, 1), low, value, same[:, [0, 2, 1]])
assert_close(output, torch.tensor([[[6.0]]]), what="output where scores are low")
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-no-keys" points=1 read="self-attention#masks-in-attention"
# A query that may attend to nothing gets zeros, not NaN
query, key = torch.ones(1, 2, 4), torch.ones(1, 3, 4)  # all keys are alike: the output is a mean
value = torch.tensor([[[3.0], [6.0], [9.0]]])
mask = torch.tensor([[True], [False]]).expand(2, 3)  # the second query sees nothing
assert_close(scaled_dot_product_attention(query, key, value, mask), torch.tensor([[[6.0], [0.0]]]))
### BEGIN HIDDEN TESTS
attend, ours = scaled_dot_product_attention, reference.scaled_dot_product_attention
query, key, value = torch.ones(3, 4, 6), torch.ones(3, 4, 6), torch.randn(3, 4, 6)
of_queries = torch.ones(1, 4, 1, dtype=torch.bool)
of_queries[:, int(torch.randint(4, ()))] = False
of_sentence = torch.ones(3, 1, 4, dtype=torch.bool)
of_sentence[int(torch.randint(3, ()))] = False
for mask in (of_queries, of_sentence):
    for how in ({}, {"return_weights": True}):
        assert_matches(attend, ours, query, key, value, mask, **how)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-gradients" points=1 read="self-attention#the-matrix-form"
# Gradients flow to queries, keys and values, also past a query that sees nothing
query, key, value = torch.randn(3, 2, 4), torch.randn(3, 6, 4), torch.randn(3, 6, 5)
mask = torch.tensor([[True], [False]]).expand(2, 6)  # the second query sees nothing
assert_gradients(scaled_dot_product_attention, query, key, value)
assert_gradients(scaled_dot_product_attention, query, key, value, mask=mask)
### BEGIN HIDDEN TESTS
some = torch.rand(3, 2, 6) < 0.5
some[..., 0], some[..., 1] = True, False
for how in ({}, {"mask": mask}, {"mask": some}):
    assert_gradients(scaled_dot_product_attention, query, key, value, return_weights=True, **how)
assert_gradients(scaled_dot_product_attention, query, key, value, mask=some)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-inputs" points=1 read="self-attention#common-mistakes"
# Inputs keep their values and dtype, and those that do not fit raise the documented errors
query, key, value = torch.randn(3, 5, 4), torch.randn(3, 5, 4), torch.randn(3, 5, 4)
assert_keeps_inputs(scaled_dot_product_attention, query, key, value)
output = scaled_dot_product_attention(query.double(), key.double(), value.double())
assert_equal(output.dtype, torch.float64, what="dtype of the output")
assert_raises(TypeError, scaled_dot_product_attention, query, key, value, torch.ones(5, 5))
assert_raises(ValueError, scaled_dot_product_attention, query, key[..., :3], value)
### BEGIN HIDDEN TESTS
mask = torch.ones(5, 5, dtype=torch.bool).tril()
assert_keeps_inputs(scaled_dot_product_attention, query, key, value, mask)
assert_keeps_inputs(scaled_dot_product_attention, query, key, value, mask, return_weights=True)
assert_accepts_noncontiguous(scaled_dot_product_attention, query, key, value)
assert_raises(TypeError, scaled_dot_product_attention, query, key, value, mask.long())
assert_raises(ValueError, scaled_dot_product_attention, query, key, value[:, :4])
for sizes in ((5,), (1, 1, 1, 5), (1, 2, 5), (3, 5, 5)):
    unfit = torch.ones(sizes, dtype=torch.bool)
    assert_raises(ValueError, scaled_dot_product_attention, query[:1], key[:1], value[:1], unfit)
### END HIDDEN TESTS

# %% variants="scaled_dot_product_attention"
# fmt: off
right("einsum", '''
def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):
    check_mask(mask, (*query.shape[:-1], key.shape[-2]), min_dims=2)
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("sizes do not fit")
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    output = torch.einsum("...qk,...kv->...qv", weights, value)
    return (output, weights) if return_weights else output
''')
right("loops", '''
def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):
    check_mask(mask, (*query.shape[:-1], key.size(-2)), min_dims=2)
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("sizes do not fit")
    *batch, query_len, width = query.shape
    key_len = key.shape[-2]
    if mask is None:
        mask = torch.ones(query_len, key_len, dtype=torch.bool)
    mask = mask.expand(*batch, query_len, key_len).reshape(-1, query_len, key_len)
    rows = []
    for q, k, allowed in zip(query.reshape(-1, query_len, width), key.reshape(-1, key_len, width), mask):
        for i in range(query_len):
            row = [q[i].sum() * 0] * key_len
            seen = [j for j in range(key_len) if allowed[i, j]]
            scores = {j: q[i].dot(k[j]) / math.sqrt(width) for j in seen}
            highest = max(scores.values(), default=0)
            exponentials = {j: torch.exp(scores[j] - highest) for j in seen}
            for j in seen:
                row[j] = exponentials[j] / sum(exponentials.values())
            rows.append(torch.stack(row))
    weights = torch.stack(rows).reshape(*batch, query_len, key_len)
    return (weights @ value, weights) if return_weights else weights @ value
''')
right("an additive mask, a softmax by hand, and a helper", '''
def _safe_softmax(scores):
    top = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    exponentials = (scores - top).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1e-30)


def scaled_dot_product_attention(q, k, v, mask=None, *, return_weights=False):
    d_k = q.shape[-1]
    if d_k != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError((q.shape, k.shape, v.shape))
    scores = torch.matmul(q / d_k**0.5, k.mT)
    if mask is not None:
        check_mask(mask, scores.shape, min_dims=2)
        penalty = torch.zeros(mask.shape, dtype=scores.dtype)
        scores = scores + penalty.masked_fill(mask.logical_not(), float("-inf"))
    weights = _safe_softmax(scores)
    return (weights.matmul(v), weights) if return_weights else weights.matmul(v)
''')
SOFTMAX = "    weights = torch.softmax(scores, dim=-1)\n"
SCALING = "    query = query / math.sqrt(query.size(-1))  # before the product, which float16 may not hold\n"
SCORES = "    scores = query @ key.transpose(-2, -1)  # (..., query_len, key_len)\n"
HIDE = "    if mask is not None:\n        scores = scores.masked_fill(~mask, -math.inf)\n"
ZERO = ("    if mask is not None:  # a row of -inf alone has no softmax: such a query gets zeros\n"
        "        weights = weights.masked_fill(~mask, 0.0)\n")
RETURN = "    return (output, weights) if return_weights else output"
SHORT = (  # without what guards the library against NaN behind a mask and the limits of float16
    ("        return fused_attention(query, key, value, mask)\n",
     "        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)\n"),
    ("    key, value = without_hidden(key, value, mask, dim=-2)\n"
     "    # float16 ends at 65,504: divide before the product, and compute it in float32.\n"
     "    dtype = torch.promote_types(query.dtype, torch.float32)\n"
     "    scores = query.to(dtype) / math.sqrt(query.size(-1)) @ key.to(dtype).transpose(-2, -1)\n",
     SCALING + SCORES),
    ("        scores = scores.masked_fill(~mask, -math.inf)  # (..., query_len, key_len)\n"
     "        # -inf alone has no softmax. Any number will do: its weights become 0.\n"
     "        scores = scores.masked_fill((~mask).all(dim=-1, keepdim=True), 0.0)\n",
     "        scores = scores.masked_fill(~mask, -math.inf)\n"),
    ("dim=-1).to(value.dtype)\n", "dim=-1)\n"),
    ("    if mask is not None:\n        weights = weights.masked_fill(~mask, 0.0)\n", ZERO),
)
FORMULA = (
    *SHORT,
    ("    if not return_weights:\n"
     "        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)\n", ""),
    ("    return weights @ value, weights  # (..., query_len, value_dim)",
     "    output = weights @ value\n" + RETURN),
)
formula = right("the formula", *FORMULA)
right("PyTorch's kernel for both: the average of the rows of an identity are the weights", *SHORT,
    (SCALING + SCORES,
     "    rows = torch.eye(key.size(-2), dtype=key.dtype).expand(*key.shape[:-2], -1, -1)\n"),
    (HIDE + SOFTMAX, "    weights = F.scaled_dot_product_attention(query, key, rows, attn_mask=mask)\n"))
right("zeros put where no key is seen", *FORMULA, (ZERO,
    "    if mask is not None:\n"
    "        weights = torch.where(mask.any(dim=-1, keepdim=True), weights, torch.zeros_like(weights))\n"))
right("a softmax by logsumexp where nothing is masked", *FORMULA, (SOFTMAX,
    SOFTMAX + "    if mask is None:\n        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()\n"))
right("a pair with names", ("return weights @ value, weights",
    "from collections import namedtuple\n"
    "    return namedtuple('Pair', 'output weights')(weights @ value, weights)"))
for answer in ("query", "value", "query + key", "torch.zeros_like(query)"):
    wrong(f"nothing computed: {answer}",
        "def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):\n"
        f"    return {answer}\n",
        lost="*", hint=f"You return {answer} and compute nothing; begin with the scores.")

# ---- shape ----
for turned in ("key.T", "key.transpose(0, 1)"):
    formula.wrong(turned, ("key.transpose(-2, -1)", turned), lost="shape values",
        hint="You multiply queries by keys whose shape does not fit; swap the last two dimensions of "
        "the keys, and only these: key.transpose(-2, -1), not .T.")
formula.wrong("axes counted from the front", ("key.transpose(-2, -1)", "key.transpose(1, 2)"), lost="shape",
    hint="You count dimensions from the front; count them from the end, as there may be any number "
    "before the last two: key.transpose(-2, -1).")
formula.wrong("softmax by hand, sum() without keepdim",
    (SOFTMAX, "    weights = scores.exp() / scores.exp().sum(-1)\n"), lost="values",
    hint="You divide by a sum that has lost its dimension; keep it: sum(-1, keepdim=True).")
formula.wrong("a dimension too many", (RETURN, RETURN.replace("output", "output[:, None]")), lost="shape",
    hint="You return a dimension too many; return weights @ value as it is.")
formula.wrong("weights always returned", (RETURN, "    return output, weights"), lost="shape",
    hint="You return a pair where the output alone is asked for; look at return_weights.")
formula.wrong("weights never returned", (RETURN, "    return output"), lost="shape",
    hint="You return the output alone; with return_weights=True, return output, weights.")
formula.wrong("weights before output",
    (RETURN, "    return (weights, output) if return_weights else output"), lost="shape",
    hint="You return the weights first; return output, weights.")

# ---- values ----
formula.wrong("softmax over the queries", ("dim=-1", "dim=-2"), lost="values",
    hint="You let the softmax run over the queries; let it run over the keys, the last dimension.")
formula.wrong("softmax over dimension 1", ("dim=-1", "dim=1"), lost="values",
    hint="You let the softmax run over the queries; let it run over the keys, the last dimension.")
formula.wrong("softmax over dimension 1, or 0 of two",
    ("dim=-1", "dim=1 if scores.dim() > 2 else 0"), lost="values",
    hint="You let the softmax run over the queries; let it run over the keys, the last dimension.")
formula.wrong("softmax over dimension 0", ("dim=-1", "dim=0"), lost="values",
    hint="You let the softmax run over the batch; let it run over the keys, the last dimension.")
formula.wrong("F.softmax without dim", (SOFTMAX, "    weights = F.softmax(scores)\n"), lost="values",
    hint="You give softmax no dim, and it chooses one; let it run over the keys: dim=-1.")
formula.wrong("softmax over everything",
    (SOFTMAX, "    weights = torch.softmax(scores.flatten(), dim=0).view_as(scores)\n"), lost="values",
    hint="You let all weights together sum to 1; each row should, so give softmax dim=-1.")
formula.wrong("softmax missing", (SOFTMAX, "    weights = scores\n"), lost="values",
    hint="You use the scores as weights; put a softmax over the keys between them.")
formula.wrong("log_softmax", ("torch.softmax(", "torch.log_softmax("), lost="values",
    hint="You use log-probabilities as weights; take torch.softmax.")
formula.wrong("scores divided by their sum",
    (SOFTMAX, "    weights = scores / scores.sum(-1, keepdim=True)\n"), lost="values",
    hint="You divide the scores by their sum; take exp of each first, that is, a softmax.")
formula.wrong("exponentials not divided", (SOFTMAX, "    weights = scores.exp()\n"), lost="values",
    hint="You take exp of the scores and stop there; divide by the sum over the query's keys.")
formula.wrong("exponentials divided by the sum over queries too",
    (SOFTMAX, "    weights = scores.exp() / scores.exp().sum((-2, -1), keepdim=True)\n"), lost="values",
    hint="You divide by the sum over all queries; divide by the sum over the query's own keys.")
formula.wrong("a sigmoid", (SOFTMAX, "    weights = torch.sigmoid(scores)\n"), lost="values",
    hint="You take a sigmoid; take a softmax over the keys.")
formula.wrong("softmax by hand",
    (SOFTMAX, "    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)\n"), lost="values",
    hint="You take exp of large scores, which is infinite; subtract each query's largest score first, "
    "or call torch.softmax.")
formula.wrong("softmax by hand, and next to nothing added to the sum",
    (SOFTMAX, "    weights = scores.clamp(max=80).exp()\n"
     "    weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)\n"), lost="values",
    hint="You cut large scores off; subtract each query's largest score instead, or call torch.softmax.")
formula.wrong("softmax by hand, less the largest of all scores",
    (SOFTMAX, "    weights = (scores - scores.max()).exp()\n"
     "    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)\n"), lost="values",
    hint="You subtract the largest score of all queries; subtract each query's own: amax(-1, keepdim=True).")
formula.wrong("the mean of all visible values", (SCORES, SCORES.replace("query @", "0 * query @")),
    lost="values scaling gradients", hint="You give all keys the same weight; the scores are queries times keys.")
for name, factor in (("0.1", "F.dropout(weights, 0.1)"), ("a layer's", "nn.Dropout(0.1)(weights)")):
    formula.wrong(f"dropout, {name}", ("output = weights @", f"weights = {factor}\n    output = weights @"),
        lost="no-keys", hint="You drop values at random")

wrong("is_causal where there is no mask", *SHORT,
    ("attn_mask=mask)", "attn_mask=mask, is_causal=mask is None)"), lost="values",
    hint="You hide the future where no mask is given (is_causal); without a mask everything is seen.")

# ---- scaling ----
formula.wrong("not scaled", (SCALING, ""), lost="scaling",
    hint="You do not scale the scores; divide them by the square root of head_dim, query.size(-1).")
formula.wrong("divided by head_dim", (SCALING, "    query = query / query.size(-1)\n"), lost="scaling",
    hint="You divide by head_dim; divide by its square root.")
formula.wrong("divided by a whole number", (SCALING, "    query = query / math.isqrt(query.size(-1))\n"),
    lost="scaling", hint="You divide by a root without its digits; math.sqrt keeps them.")
formula.wrong("multiplied by the root", (SCALING, "    query = query * math.sqrt(query.size(-1))\n"),
    lost="scaling", hint="You multiply by the square root of head_dim; divide by it.")
for name, size in (("key_len", "key.size(-2)"), ("query_len", "query.size(-2)"), ("value_dim", "value.size(-1)")):
    formula.wrong(f"divided by the root of {name}", (SCALING, f"    query = query / math.sqrt({size})\n"),
        lost="scaling", hint=f"You divide by the square root of {name}; take that of head_dim, the "
        "width of a query.")
formula.wrong("weights scaled, not scores", (SCALING, ""),
    (SOFTMAX, f"{SOFTMAX}    weights = weights / math.sqrt(query.size(-1))\n"), lost="scaling",
    hint="You scale the weights; scale the scores, before the softmax.")

# ---- mask ----
formula.wrong("mask inverted", ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
    ("weights.masked_fill(~mask", "weights.masked_fill(mask"), lost="mask",
    hint="You hide the keys that may be seen; True means may attend, so fill where the mask is False: ~mask.")
formula.wrong("mask inverted before the softmax", ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
    lost="mask", hint="You hide the keys that may be seen, before the softmax; True means may attend.")
formula.wrong("mask after the softmax", (HIDE, ""), lost="mask",
    hint="You mask the weights only, so the rest no longer sums to 1; mask the scores first.")
formula.wrong("mask ignored", (HIDE, ""), (ZERO, ""), lost="mask",
    hint="You do not use the mask; set hidden scores to -inf before the softmax.")
formula.wrong("hidden scores set to 0", (HIDE, HIDE.replace("-math.inf", "0.0")), lost="mask",
    hint="You set hidden scores to 0, a score like any other; set them to -inf.")
formula.wrong("hidden scores set to 0, and no more", (HIDE, HIDE.replace("-math.inf", "0.0")), (ZERO, ""),
    lost="mask", hint="You set hidden scores to 0, a score like any other; set them to -inf.")
formula.wrong("hidden scores set to -100", (HIDE, HIDE.replace("-math.inf", "-100.0")), lost="mask",
    hint="You set hidden scores to a number that others are below; set them to -inf.")
formula.wrong("mask added", (HIDE, HIDE.replace("scores.masked_fill(~mask, -math.inf)", "scores + mask")),
    lost="mask", hint="You add the mask, so that True counts as 1; fill with -inf where it is False.")
formula.wrong("mask added, and no more", (HIDE, HIDE.replace("scores.masked_fill(~mask, -math.inf)",
    "scores + mask")), (ZERO, ""), lost="mask",
    hint="You add the mask, so that True counts as 1; fill with -inf where it is False.")
formula.wrong("mask multiplied", (HIDE, HIDE.replace("scores.masked_fill(~mask, -math.inf)",
    "scores * mask")), (ZERO, ""), lost="mask",
    hint="You multiply by the mask, so hidden scores are 0, a score like any other; set them to -inf.")
formula.wrong("masks without leading dimensions rejected", (", min_dims=2", ""), lost="mask",
    hint="You reject masks that leave out leading dimensions; give check_mask min_dims=2.")
formula.wrong("not scaled where there is a mask", (SCALING,
    "    query = query / (math.sqrt(query.size(-1)) if mask is None else 1)\n"), lost="mask",
    hint="You scale only without a mask; scale the scores in both cases.")
formula.wrong("square mask transposed", (HIDE, HIDE.replace("~mask",
    "~(mask.mT if mask.size(-1) == mask.size(-2) else mask)")), lost="mask",
    hint="You transpose the mask; its last dimension is that of the keys already.")

# ---- queries that see nothing ----
NONE = ("You leave NaN, the softmax of a row of -inf; set the weights that the mask hides to 0 after "
        "the softmax.")
formula.wrong("NaN where nothing is seen", (ZERO, ""), lost="no-keys", hint=NONE)
formula.wrong("zeros only where the mask names each query", (ZERO, ZERO.replace("None:",
    "None and mask.size(-2) == query.size(-2):")), lost="no-keys", hint=NONE)
formula.wrong("zeros only in the output", (ZERO, ""), ("output = weights @ value",
    "output = (weights @ value).nan_to_num(0.0)"), lost="no-keys", hint=NONE)
formula.wrong("-1e9 in place of -inf", ("-math.inf", "-1e9"), (ZERO, ""), lost="no-keys",
    hint="You hide with a large number, so that a query that sees nothing averages everything; set "
    "its weights to 0.")
formula.wrong("a mask must name each key", ("    check_mask(mask,",
    "    if mask is not None and mask.size(-1) != key.size(-2):\n        raise ValueError('key_len')\n"
    "    check_mask(mask,"), lost="no-keys",
    hint="You reject a mask that is the same for all keys; a size of 1 broadcasts.")

# ---- gradients ----
CUT = "You cut the gradient: detach(), .data, numpy() and torch.tensor() do; leave them out."
formula.wrong("weights detached", (SOFTMAX, SOFTMAX.replace("dim=-1)", "dim=-1).detach()")),
    lost="gradients", hint=CUT)
formula.wrong("by way of lists",
    (SCORES, "    scores = torch.tensor((query @ key.mT).tolist(), dtype=query.dtype)\n"),
    lost="gradients", hint=CUT)
formula.wrong("scores detached past a mask", (HIDE, HIDE.replace("scores.masked", "scores.detach().masked")),
    lost="gradients", hint=CUT)
formula.wrong("values detached past a mask", ("weights @ value\n",
    "weights @ (value if mask is None else value.detach())\n"), lost="gradients", hint=CUT)
formula.wrong("weights changed in place", ("weights = weights.masked_fill(~mask", "weights.masked_fill_(~mask"),
    lost="gradients", hint="You change the softmax's result in place, which backward() needs as it "
    "was; use masked_fill without the underscore.")
ADDED = ("scores = scores.masked_fill(~mask, -math.inf)",
         "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)")
formula.wrong("-inf added", ADDED, lost="gradients",
    hint="You add -inf, which lets NaN flow back from a query that sees nothing; use masked_fill.")
formula.wrong("-inf added, and queries detached past a mask", ADDED,
    (SCORES, SCORES.replace("query @", "(query if mask is None else query.detach()) @")),
    lost="gradients", hint=CUT)

# ---- inputs ----
formula.wrong("query scaled in place", ("query = query / math.sqrt", "query /= math.sqrt"), lost="inputs",
    hint="You change the query in place; operators that end in = and methods that end in _ do: "
    "query = query / ... makes a new tensor.")
formula.wrong("always float32", (SCORES,
    "    query, key, value = query.float(), key.float(), value.float()\n" + SCORES), lost="inputs",
    hint="You cast to float32; keep the dtype that comes in.")
formula.wrong("view of a query that is not contiguous", (SCALING,
    "    query = query.view(query.numel()).view(query.shape)\n" + SCALING), lost="inputs",
    hint="You call view() on tensors that may not be contiguous; call reshape().")
CHECK = "    check_mask(mask, (*query.shape[:-1], key.size(-2)), min_dims=2)\n"
formula.wrong("any mask accepted", (CHECK, ""), lost="inputs",
    hint="You accept any mask; call check_mask first, with the shape of the scores.")
formula.wrong("masks of any shape accepted", (CHECK,
    "    if mask is not None and mask.dtype != torch.bool:\n        raise TypeError\n"), lost="inputs",
    hint="You accept masks of any shape; call check_mask first, with the shape of the scores.")
formula.wrong("lengths not compared", ("    if key.size(-2) != value.size(-2):\n", "    if False:\n"),
    lost="inputs", hint="You leave it to PyTorch to reject sizes that do not fit; raise ValueError.")
formula.wrong("widths not compared", ("    if query.size(-1) != key.size(-1):\n", "    if False:\n"),
    lost="inputs", hint="You leave it to PyTorch to reject sizes that do not fit; raise ValueError.")
same("scores = scores.masked_fill_(", "in place, but on scores that nothing else holds")
same("masked_fill((~mask).all(", "any number will do there, NaN too")
same("without_hidden(", "no promise is made of NaN behind a mask")
same("dtype", "no promise is made of float16")
# fmt: on

# %% [markdown]
# ## Part 2: masks
#
# There are two reasons to hide a key from a query. **Causal:** whoever writes a sentence must not
# peek at the words still to come. **Padding:** sentences in a batch are filled up to a common
# length, and filler is nothing to listen to. Both masks are boolean, True where a query *may*
# attend, with four dimensions: batch, heads, queries and keys, each 1 where the mask is the same
# for all. They combine with `&`.
#
# With more keys than queries, the *last* query belongs to the *last* key. That happens when a model
# writes word by word and keeps the keys of the words before. Draw the 2 x 4 case first.

# %% solution="causal_mask" of="course_lib.layers.masks"

# %% test="causal_mask-values" points=1 read="self-attention#masks-in-attention"
# Each position may attend to itself and to earlier ones
expected = torch.tensor([[[[True, False, False], [True, True, False], [True, True, True]]]])
assert_close(causal_mask(3), expected, what="causal_mask(3)")
### BEGIN HIDDEN TESTS
for size in (1, int(torch.randint(4, 12, ()))):
    assert_matches(causal_mask, reference.causal_mask, size)
### END HIDDEN TESTS

# %% test="causal_mask-more-keys" points=1 read="self-attention#masks-in-attention"
# With more keys than queries the last query sees every key
expected = torch.tensor([[[[True, True, True, False], [True, True, True, True]]]])
assert_close(causal_mask(2, 4), expected, what="causal_mask(2, 4)")
### BEGIN HIDDEN TESTS
for query_len in (1, int(torch.randint(2, 6, ()))):
    for more in (0, 1, int(torch.randint(2, 5, ()))):
        assert_matches(causal_mask, reference.causal_mask, query_len, query_len + more)
### END HIDDEN TESTS

# %% variants="causal_mask"
# fmt: off
compared = right("positions compared", '''
def causal_mask(query_len, key_len=None, *, device=None):
    key_len = query_len if key_len is None else key_len
    asking = torch.arange(key_len - query_len, key_len, device=device)
    return torch.arange(key_len, device=device) <= asking[None, None, :, None]
''')
right("each pair asked", '''
def causal_mask(query_len, key_len=None, *, device=None):
    if key_len is None:
        key_len = query_len
    past = key_len - query_len
    rows = [[j <= i + past for j in range(key_len)] for i in range(query_len)]
    return torch.tensor(rows, dtype=torch.bool, device=device).reshape(1, 1, query_len, key_len)
''')
right("the future is left out", '''
def causal_mask(query_len: int, key_len: int | None = None, *, device=None) -> Tensor:
    key_len = query_len if key_len is None else key_len
    future = torch.ones(query_len, key_len, device=device).triu(key_len - query_len + 1)
    return (future == 0).unsqueeze(0).unsqueeze(0)
''')
MASK = "everything.tril(diagonal=key_len - query_len)  # (1, 1, query_len, key_len)"
SHAPE = "a mask is boolean, (1, 1, query_len, key_len)."
for name, mask, lost, hint in (
    ("inverted", "~everything.tril(diagonal=key_len - query_len)", "values",
     "You hide visible positions; True means may attend."),
    ("the future", "everything.triu(diagonal=key_len - query_len)", "values",
     "You let a position see the future; rows are queries, columns are keys: tril."),
    ("blind to itself", "everything.tril(diagonal=key_len - query_len - 1)", "values",
     "You hide a position from itself; it may attend to itself."),
    ("everything seen", "everything", "values", "You let every position see all; use tril."),
    ("one ahead", "everything.tril(diagonal=key_len - query_len + 1)", "values",
     "You let a position see the one after it; move the diagonal by one."),
    ("ones and zeros", "everything.tril(diagonal=key_len - query_len).float()", "values",
     f"You return numbers; {SHAPE}"),
    ("to be added", "torch.where(everything.tril(), 0.0, -math.inf)", "values",
     f"You return numbers to add to scores; {SHAPE}"),
    ("two dimensions", "everything.tril(diagonal=key_len - query_len)[0, 0]", "values",
     f"You leave out dimensions for batch and heads; {SHAPE}"),
    ("a comma too many", "everything.tril(diagonal=key_len - query_len),", "values",
     f"You return a tuple, for a comma stands at the end; {SHAPE}"),
    ("a window of two", "everything.tril(diagonal=key_len - query_len).triu(key_len - query_len - 1)",
     "values", "You hide positions further back; a position sees all that came before it."),
    ("from the first key", "everything.tril()", "more-keys",
     "You align the first query with the first key; align the last with the last: key_len - query_len."),
    ("aligned the wrong way", "everything.tril(diagonal=query_len - key_len)", "more-keys",
     "You move the diagonal the wrong way; it is key_len - query_len."),
    ("always square", "everything[..., :query_len].tril()", "more-keys",
     "You make it as wide as there are queries; it is key_len wide."),
):
    wrong(name, (MASK, mask), lost=lost, hint=hint)
EARLY = "You close a parenthesis too early, and subtract from the mask; subtract lengths, within it."
wrong("a parenthesis of tril closed early", (MASK, "everything.tril(diagonal=key_len) - query_len"),
    lost="values", hint=EARLY)
compared.wrong("a comparison closed early", ("return torch.arange(key_len, device=device) <= asking",
    "asking = torch.arange(query_len)\n"
    "    return (torch.arange(key_len) <= asking"), ("[None, None, :, None]", "[:, None])[None, None] + key_len - query_len"),
    lost="values", hint=EARLY)
for piece in ("query_len < ", "key_len < ", "query_len must", "key_len must"):
    same(piece, "errors are tested in part 1 only")
same("dtype=torch.bool, device=device", "where a mask is made matters on a GPU only")
# fmt: on

# %% solution="padding_mask" of="course_lib.layers.masks"

# %% test="padding_mask-values" points=1 read="self-attention#masks-in-attention"
# Real tokens may be attended to, padding may not
token_ids = torch.tensor([[5, 7, 0], [3, 0, 0]])
expected = torch.tensor([[[[True, True, False]]], [[[True, False, False]]]])
assert_close(padding_mask(token_ids, pad_id=0), expected, what="padding_mask")
assert_keeps_inputs(padding_mask, token_ids, 0)
### BEGIN HIDDEN TESTS
pad_id = int(torch.randint(1, 5, ()))
token_ids = torch.randint(0, 6, (4, 7))
token_ids[0, 0], token_ids[1, 0] = pad_id, 0  # 0 is a token like any other here
assert_matches(padding_mask, reference.padding_mask, token_ids, pad_id)
assert_keeps_inputs(padding_mask, token_ids, pad_id)
### END HIDDEN TESTS

# %% variants="padding_mask"
# fmt: off
MASK = "(token_ids != pad_id)[:, None, None, :]  # (batch, 1, 1, key_len)"
right("token ids laid out in a row", (MASK,
    "(token_ids.reshape(-1) != pad_id).view(token_ids.size(0), 1, 1, token_ids.size(1))"))
right("each token asked", '''
def padding_mask(token_ids, pad_id):
    rows = [[[[token != pad_id for token in row]]] for row in token_ids.tolist()]
    return torch.tensor(rows, device=token_ids.device)
''')
right("filled in place by place", '''
def padding_mask(token_ids, pad_id):
    mask = torch.ones(token_ids.size(0), 1, 1, token_ids.size(1), dtype=torch.bool)
    for row, column in (token_ids == pad_id).nonzero():
        mask[row, 0, 0, column] = False
    return mask
''')
SHAPE = "the dimensions are batch, heads (1 for all), queries (1 for all), keys."
for name, mask, hint in (
    ("inverted", "(token_ids == pad_id)[:, None, None, :]",
     "You hide real tokens; True means may attend."),
    ("zero taken for padding", "(token_ids != 0)[:, None, None, :]",
     "You compare with 0; compare with pad_id."),
    ("larger ids alone are real", "(token_ids > pad_id)[:, None, None, :]",
     "You hide ids that are smaller than pad_id; only pad_id itself is padding."),
    ("two dimensions", "token_ids != pad_id", f"You leave out dimensions; {SHAPE}"),
    ("three dimensions", "(token_ids != pad_id)[:, None, :]", f"You leave out a dimension; {SHAPE}"),
    ("queries hidden", "(token_ids != pad_id)[:, None, :, None]",
     "You hide queries; the keys are the last dimension."),
    ("square", "(token_ids != pad_id)[:, None, None, :].expand(-1, 1, token_ids.size(1), -1)",
     f"You repeat the mask for each query; {SHAPE}"),
    ("ones and zeros", "(token_ids != pad_id)[:, None, None, :].long()",
     "You return numbers; a mask is boolean."),
    ("everything after the first padding",
     "(token_ids == pad_id).cumsum(1).eq(0)[:, None, None, :]",
     "You hide all that follows padding; each token counts by itself."),
    ("changed in place", "token_ids.sub_(pad_id).ne(0)[:, None, None, :]",
     "You change the token ids in place; methods that end in _ do."),
    ("one row for the whole batch", "(token_ids[:1] != pad_id)[:, None, None, :]",
     "You look at the first sentence only; each has its own padding."),
):
    wrong(name, (MASK, mask), lost="values", hint=hint)
for piece in ("token_ids must", "token_ids.is_floating_point() and"):
    same(piece, "errors are tested in part 1 only")
# fmt: on

# %% [markdown]
# ## Part 3: many heads
#
# One attention takes one average. A word may need several at once: its subject, its tense, whatever
# *it* stands for. So `d_model` is cut into `num_heads` slices, each slice attends on its own, and
# the results are laid side by side again and mixed:
#
# 1. project `query`, `key` and `value` with one `nn.Linear` each, newly made: copies start alike;
# 2. cut each into heads: `(batch, len, d_model)` to `(batch, num_heads, len, head_dim)`;
# 3. attend, with **your** `scaled_dot_product_attention`: it takes all heads at once;
# 4. join the heads, back to `(batch, len, d_model)`;
# 5. project once more.
#
# [Several heads at once](book:self-attention#multi-head-preview) in the chapter shows the shapes.
# Steps 2 and 4 are where nearly everybody slips: a `view` never moves a number in memory, it only
# draws the borders anew. Which number must end up beside which?
#
# The tests load weights by the names in the docstring. If part 1 is not done yet, call
# `F.scaled_dot_product_attention` for the time being; most tests of this part need no weights.
#
# **The rule of this part:** a `MultiHeadAttention` that leads to PyTorch's `nn.MultiheadAttention`
# or `F.multi_head_attention_forward` loses the points of its tests. Comparing your layer with them
# in a cell of your own is a good idea.

# %% solution="MultiHeadAttention" of="course_lib.layers.attention" forbids="torch.nn.MultiheadAttention torch.nn.functional.multi_head_attention_forward"

# %% test="MultiHeadAttention-parameters" points=1 read="self-attention#multi-head-preview"
# The layer has four projections, each with weights of its own
names = [f"{name}_projection" for name in ("query", "key", "value", "output")]
weights, biases = {f"{n}.weight": (8, 8) for n in names}, {f"{n}.bias": (8,) for n in names}
layer = MultiHeadAttention(8, 2)
assert_parameters(layer, weights | biases)
assert_parameters(MultiHeadAttention(8, 2, bias=False), weights)
different = {layer.get_parameter(name).sum().item() for name in weights}
assert_equal(len(different), 4, what="number of different weights")
### BEGIN HIDDEN TESTS
layer = MultiHeadAttention(12, 3)
ours = dict(reference.MultiHeadAttention(12, 3).named_parameters())
assert_parameters(layer, {name: parameter.shape for name, parameter in ours.items()})
unbiased, tokens = MultiHeadAttention(12, 1, bias=False), torch.randn(3, 2, 12)
assert_parameters(unbiased, dict.fromkeys(weights, (12, 12)))
assert_shape(unbiased(tokens, tokens, tokens), (3, 2, 12), what="output without biases")
different = {layer.get_parameter(name).sum().item() for name in weights}
assert_equal(len(different), 4, what="number of different weights")
### END HIDDEN TESTS

# %% test="MultiHeadAttention-projections" points=1 read="self-attention#multi-head-preview"
# The value goes through its projection and the output through another
eye = torch.eye(4)
state = {"value_projection.weight": 2 * eye, "output_projection.weight": 3 * eye}
layer = MultiHeadAttention(4, 1)
load_parameters(layer, state | {"output_projection.bias": torch.ones(4)})  # all else is zero
token = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
# With a single token all of the weight is on it: three times twice the value, plus 1.
assert_close(layer(token, token, token), torch.tensor([[[7.0, 13.0, 19.0, 25.0]]]))
### BEGIN HIDDEN TESTS
layer, ours = MultiHeadAttention(12, 1), reference.MultiHeadAttention(12, 1)
load_parameters(layer, ours)
assert_matches(layer, ours, *(torch.randn(3, 1, 12) for _ in range(3)))
### END HIDDEN TESTS

# %% test="MultiHeadAttention-heads" points=1 read="self-attention#multi-head-preview"
# Each head attends on its own, within its own columns
layer = MultiHeadAttention(4, 2)  # two heads, each two columns wide
state = {f"{name}_projection.weight": torch.eye(4) for name in ("value", "output")}
state["query_projection.weight"] = 9 * torch.eye(4)  # large scores: a head takes the best fit
state["key_projection.weight"] = 9 * torch.eye(4)[[1, 0, 3, 2]]  # swaps a head's two columns
load_parameters(layer, state)
tokens = torch.tensor([[[1.0, 1, 1, 1], [1, 1, 1, -1], [1, 1, -1, 1]]])
value = torch.tensor([[[0.0, 0, 0, 0], [3, 3, 3, 3], [6, 6, 6, 6]]])
# To head 0, columns 0 and 1, all tokens look alike: it averages the values. Head 1, columns 2 and
# 3, tells them apart: the first finds itself, the second the third's key, the third the second's.
expected = torch.tensor([[[3.0, 3, 0, 0], [3, 3, 6, 6], [3, 3, 3, 3]]])
assert_close(layer(tokens, tokens, value), expected)
### BEGIN HIDDEN TESTS
layer, eye = MultiHeadAttention(8, 4), torch.eye(8)
state = {"query_projection.weight": 6 * eye, "key_projection.weight": 6 * eye}
state |= {"value_projection.weight": eye, "output_projection.weight": eye}
ours = reference.MultiHeadAttention(8, 4)
for each in (layer, ours):
    load_parameters(each, state)
tokens = (
    2.0 * torch.randint(2, (3, 6, 8)) - 1.0
)  # signs: a head averages over those that look alike
assert_matches(layer, ours, tokens, tokens, torch.randn(3, 6, 8))
### END HIDDEN TESTS

# %% test="MultiHeadAttention-values" points=1 read="self-attention#multi-head-preview"
# Each head's weights average the values
layer = MultiHeadAttention(2, 2)  # two heads of one column each
names = ("query", "key", "value", "output")
load_parameters(layer, {f"{name}_projection.weight": torch.eye(2) for name in names})
query = torch.tensor([[[1.0, 1.0]]])
key = torch.tensor([[[math.log(3.0), 0.0], [0.0, 0.0]]])
value = torch.tensor([[[8.0, 8.0], [2.0, 2.0]]])
# Head 0 has the scores log 3 and 0, head 1 has 0 and 0.
output, weights = layer(query, key, value, return_weights=True)
assert_close(weights, torch.tensor([[[[0.75, 0.25]], [[0.5, 0.5]]]]), what="weights")
assert_close(output, torch.tensor([[[6.5, 5.0]]]), what="output")
assert_close(layer(query, key, value), torch.tensor([[[6.5, 5.0]]]), what="output alone")
### BEGIN HIDDEN TESTS
for num_heads in (6, 2):
    layer, ours = MultiHeadAttention(6, num_heads), reference.MultiHeadAttention(6, num_heads)
    load_parameters(layer, ours)
    tokens, memory, other = (torch.randn(3, length, 6) for length in (4, 5, 5))
    for inputs in ((tokens, tokens, tokens), (tokens, memory, other)):
        for how in ({"return_weights": True}, {}):
            assert_matches(layer, ours, *inputs, **how)
for batch, num_heads, query_len, key_len in (
    (1, 3, 4, 5),
    (2, 1, 4, 5),
    (2, 3, 1, 5),
    (2, 3, 4, 1),
):
    inputs = torch.randn(batch, query_len, 6), torch.randn(batch, key_len, 6)
    layer = MultiHeadAttention(6, num_heads)
    assert_shape(layer(*inputs, inputs[1]), (batch, query_len, 6), what="output")
    _, weights = layer(*inputs, inputs[1], return_weights=True)
    assert_shape(weights, (batch, num_heads, query_len, key_len), what="weights")
### END HIDDEN TESTS

# %% test="MultiHeadAttention-mask" points=1 read="self-attention#masks-in-attention"
# Hidden keys have no influence, in any head
layer = MultiHeadAttention(2, 2)
state = {"value_projection.weight": torch.eye(2), "output_projection.weight": torch.eye(2)}
load_parameters(layer, state)  # all scores are 0: the output is a mean
tokens = torch.tensor([[[1.0, 3.0], [2.0, 4.0], [9.0, 9.0]]])
mask = torch.tensor([True, True, False])[None, None, None]  # the third key is hidden
expected = torch.tensor([[[1.5, 3.5]]]).expand(1, 3, 2)
assert_close(layer(tokens, tokens, tokens, mask), expected)
### BEGIN HIDDEN TESTS
layer, ours = MultiHeadAttention(12, 3), reference.MultiHeadAttention(12, 3)
load_parameters(layer, ours)
tokens = torch.randn(4, 5, 12)
is_real = torch.arange(5) < torch.tensor([5, 3, 1, 2])[:, None]  # (batch, key_len)
per_head = torch.rand(4, 3, 5, 5) < 0.5
per_head[..., 0], per_head[..., 1] = True, False
square = torch.rand(1, 1, 5, 5) < 0.6  # a transposed one differs
square |= torch.eye(5, dtype=torch.bool)
masks = is_real[:, None, None], per_head, per_head[:1], square, square.tril(), per_head[..., :1]
for query_len, training, how in (
    (5, True, {}),
    (3, False, {"return_weights": True}),
    (1, True, {}),
):
    layer.train(training)
    for mask in masks:
        queries = tokens[:, 5 - query_len :], mask[:, :, -query_len:]
        assert_matches(layer, ours, queries[0], tokens, tokens, queries[1], **how)
### END HIDDEN TESTS

# %% test="MultiHeadAttention-gradients" points=1 read="self-attention#multi-head-preview"
# Gradients flow to every input and every projection
query, key, value = torch.randn(5, 7, 6), torch.randn(5, 7, 6), torch.randn(5, 7, 6)
layer = MultiHeadAttention(6, 3)
assert_gradients(layer, query, key, value)
### BEGIN HIDDEN TESTS
is_real = torch.arange(7) < torch.tensor([7, 3, 5, 2, 4])[:, None]
for how in ({"return_weights": True}, {"mask": is_real[:, None, None]}):
    assert_gradients(layer, query, key, value, **how)
### END HIDDEN TESTS

# %% variants="MultiHeadAttention"
# fmt: off
right("einsum", '''
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, f"{name}_projection", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = (
            project(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)
            for project, x in (
                (self.query_projection, query),
                (self.key_projection, key),
                (self.value_projection, value),
            )
        )
        attended, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
        output = self.output_projection(torch.einsum("bhqd->bqhd", attended).flatten(-2))
        return (output, weights) if return_weights else output
''')
right("one head at a time, names of its own and a buffer", '''
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True):
        super().__init__()
        self.h, self.d_k = num_heads, d_model // num_heads
        self.wq = nn.Linear(d_model, d_model, bias)
        self.query_projection = self.wq
        self.key_projection = nn.Linear(d_model, d_model, bias)
        self.value_projection = nn.Linear(d_model, d_model, bias)
        self.output_projection = nn.Linear(d_model, d_model, bias)
        self.also = self.output_projection
        self.register_buffer("scale", torch.tensor(self.d_k**0.5))

    def forward(self, query, key, value, mask=None, *, return_weights=False):
        q, k, v = self.wq(query), self.key_projection(key), self.value_projection(value)
        if mask is not None:
            mask = mask.expand(len(query), self.h, query.shape[1], key.shape[1])
        outputs, weights = [], []
        for head in range(self.h):
            columns = slice(head * self.d_k, (head + 1) * self.d_k)
            o, w = scaled_dot_product_attention(
                q[..., columns], k[..., columns], v[..., columns],
                None if mask is None else mask[:, head], return_weights=True,
            )
            outputs.append(o)
            weights.append(w)
        output = self.output_projection(torch.cat(outputs, dim=-1))
        return (output, torch.stack(weights, dim=1)) if return_weights else output
''')
right("a pair with names", (
    "return self.output_projection(self._join_heads(output)), weights",
    "from collections import namedtuple\n"
    "            pair = namedtuple('Pair', 'output weights')\n"
    "            return pair(self.output_projection(self._join_heads(output)), weights)"))
SPLIT = "x.view(batch, length, self.num_heads, d_model // self.num_heads).transpose(1, 2)"
JOIN = "x.transpose(1, 2).flatten(-2)"
PAIR = "return self.output_projection(self._join_heads(output)), weights"
ALONE = "return self.output_projection(self._join_heads(attended))"
MASK = "            mask,\n            return"
KEY, VALUE = (
    f"            self._split_heads(self.{name}_projection({name})),\n" for name in ("key", "value")
)
for name, answer in (("zeros", "torch.zeros_like(query)"), ("the query", "query")):
    wrong(f"always {name}", (PAIR, f"return {answer}, weights"), (ALONE, f"return {answer}"),
        lost="projections heads values mask gradients",
        hint=f"You return {name}, for all weights; return the result of output_projection.")

# ---- parameters ----
LINEAR = "nn.Linear(d_model, d_model, bias=bias)"
COPY = "make four nn.Linear in __init__, one after the other."
wrong("biases always", (f"self.output_projection = {LINEAR}",
    "self.output_projection = nn.Linear(d_model, d_model)"), lost="parameters",
    hint="You give output_projection a bias with bias=False too; hand bias on to each nn.Linear.")
wrong("no bias in the output projection", (f"self.output_projection = {LINEAR}",
    "self.output_projection = nn.Linear(d_model, d_model, bias=False)"), lost="parameters",
    hint="You give output_projection no bias; hand bias on to each nn.Linear.")
wrong("projections copied", (f"self.key_projection = {LINEAR}",
    "self.key_projection = __import__('copy').deepcopy(self.query_projection)"), lost="parameters",
    hint=f"You copy a projection, and a copy starts as its original; {COPY}")
wrong("one projection for queries and keys", (f"self.key_projection = {LINEAR}",
    "self.key_projection = self.query_projection"), lost="parameters",
    hint=f"You use one projection for two purposes; {COPY}")
wrong("one projection for all three", (f"self.key_projection = {LINEAR}",
    "self.key_projection = self.query_projection"), (f"self.value_projection = {LINEAR}",
    "self.value_projection = self.query_projection"), lost="parameters values",
    hint=f"You use one projection for all three; {COPY}")
SHARED = [(f"self.{name}_projection({name})", f"self.projection({name})") for name in ("query", "key", "value")]
wrong("one layer for all three, by another name", *SHARED,
    (f"        self.query_projection = {LINEAR}\n        self.key_projection = {LINEAR}\n"
     f"        self.value_projection = {LINEAR}\n", f"        self.projection = {LINEAR}\n"),
    lost="parameters values", hint="You make no query_projection, key_projection and value_projection; "
    "make an nn.Linear for each, by these names.")
wrong("other names for all projections", '''
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        self.h = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias) for _ in range(4))

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = (
            x.unflatten(-1, (self.h, -1)).transpose(1, 2)
            for x in (self.w_q(query), self.w_k(key), self.w_v(value))
        )
        output, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
        output = self.w_o(output.transpose(1, 2).flatten(-2))
        return (output, weights) if return_weights else output
''', lost="parameters", hint="You call the projections by other names; use the docstring's.")
for name in ("query", "key", "value", "output"):
    wrong(f"another name for {name}_projection", ("class MultiHeadAttention(nn.Module):",
        "class MultiHeadAttention(nn.Module):\n"
        "    def __setattr__(self, name, value):\n"
        f"        super().__setattr__(name.replace('{name}_projection', 'w_{name[0]}'), value)\n\n"
        "    def __getattr__(self, name):\n"
        f"        return super().__getattr__(name.replace('{name}_projection', 'w_{name[0]}'))\n"),
        lost="parameters", hint=f"You call {name}_projection by another name; use the docstring's.")

# ---- projections ----
wrong("output_projection forgotten", (PAIR, "return self._join_heads(output), weights"),
    (ALONE, "return self._join_heads(attended)"), lost="projections",
    hint="You do not use output_projection; it mixes the joined heads.")
wrong("values not projected", ("self.value_projection(value)", "value"), lost="projections",
    hint="You do not use value_projection; it comes before the heads are split.")
wrong("the query added", (PAIR, "return query + self.output_projection(self._join_heads(output)), weights"),
    (ALONE, "return query + self.output_projection(self._join_heads(attended))"), lost="projections",
    hint="You add the query to the output; that is another layer's business.")
wrong("the query added where no weights are wanted", (ALONE,
    "return query + self.output_projection(self._join_heads(attended))"), lost="projections",
    hint="You add the query to the output; that is another layer's business.")
wrong("biases needed", ("self.query_projection(query)",
    "query @ self.query_projection.weight.mT + self.query_projection.bias"), lost="parameters",
    hint="You need a bias that is not there with bias=False; call the projection instead.")
wrong("not a number", ("self._join_heads(attended)", "self._join_heads(attended) * math.nan"),
    lost="projections heads values mask gradients", hint="You return NaN; look where it comes from.")

# ---- heads ----
wrong("heads not split", ("return " + SPLIT, "return x"), ("return " + JOIN, "return x"), lost="heads",
    hint="You do not split into heads; each attends within its own head_dim columns.")
wrong("heads joined without transposing back", (JOIN, "x.reshape(x.size(0), x.size(2), -1)"), lost="heads",
    hint="You join the heads before their tokens are side by side; transpose(1, 2) back first.")
wrong("heads cut from rows", (SPLIT, "x.view(batch, self.num_heads, length, d_model // self.num_heads)"),
    lost="heads", hint="You mix tokens by view(batch, num_heads, len, head_dim); split d_model, then transpose.")
wrong("heads cut from rows, joined so too",
    (SPLIT, "x.view(batch, self.num_heads, length, d_model // self.num_heads)"),
    (JOIN, "x.reshape(x.size(0), x.size(2), -1)"),
    lost="heads", hint="You mix tokens by view(batch, num_heads, len, head_dim); split d_model, then transpose.")
wrong("every num_heads-th column",
    (SPLIT, "x.view(batch, length, d_model // self.num_heads, self.num_heads).permute(0, 3, 1, 2)"),
    (JOIN, "x.permute(0, 2, 3, 1).flatten(-2)"), lost="heads",
    hint="You give a head every num_heads-th column; split d_model into (num_heads, head_dim).")
wrong("heads beside the batch", (SPLIT, SPLIT.replace(".transpose(1, 2)", "")), (JOIN, "x.flatten(-2)"),
    lost="heads", hint="You leave num_heads after len, so each token attends among its own heads; transpose(1, 2).")
wrong("view() after transpose()", (JOIN, "x.transpose(1, 2).view(x.size(0), x.size(2), -1)"), lost="values",
    hint="You call view() on what transpose() has turned; reshape() or flatten(-2) can join it.")
wrong("the batch in the second dimension", (ALONE, ALONE + ".transpose(0, 1)"), lost="heads",
    hint="You return the batch in the second dimension; it comes first.")

# ---- values ----
wrong("keys through query_projection", ("self.key_projection(key)", "self.query_projection(key)"),
    lost="values", hint="You send the keys through query_projection; they have one of their own.")
wrong("queries through key_projection", ("self.query_projection(query)", "self.key_projection(query)"),
    lost="values", hint="You send the queries through key_projection; they have one of their own.")
wrong("values through key_projection", ("self.value_projection(value)", "self.key_projection(value)"),
    lost="values", hint="You send the values through key_projection; they have one of their own.")
wrong("all through query_projection", ("self.key_projection(key)", "self.query_projection(key)"),
    ("self.value_projection(value)", "self.query_projection(value)"), lost="values",
    hint="You send all three through query_projection; each has one of its own.")
wrong("projections of queries and keys exchanged",
    ("self.query_projection(query)", "self.key_projection(query)"),
    ("self.key_projection(key)", "self.query_projection(key)"), lost="values",
    hint="You exchange query_projection and key_projection.")
wrong("values made from keys", ("self.value_projection(value)", "self.value_projection(key)"),
    lost="values", hint="You make the values from key; make them from value.")
wrong("values made from queries", ("self.value_projection(value)", "self.value_projection(query)"),
    lost="values", hint="You make the values from query; make them from value.")
wrong("keys made from values", ("self.key_projection(key)", "self.key_projection(value)"),
    lost="values", hint="You make the keys from value; make them from key.")
wrong("key and value exchanged", ("self.key_projection(key)", "self.key_projection(value)"),
    ("self.value_projection(value)", "self.value_projection(key)"), lost="values",
    hint="You exchange key and value.")
wrong("keys and values handed over in the other order", (KEY + VALUE, VALUE + KEY), lost="values",
    hint="You hand the values over before the keys; the order is query, key, value.")
wrong("every length taken from the query",
    ("self.key_projection(key)", "self.key_projection(key)[:, : query.size(1)]"),
    ("self.value_projection(value)", "self.value_projection(value)[:, : query.size(1)]"), lost="values",
    hint="You take every length from the query; take each from its own tensor.")
wrong("scaled twice", ("self.query_projection(query)",
    "self.query_projection(query) * (self.num_heads / query.size(-1)) ** 0.5"), lost="values",
    hint="You scale in the layer too; scaled_dot_product_attention does it.")
wrong("divided by the root of d_model", ("self.query_projection(query)",
    "self.query_projection(query) / self.num_heads**0.5"), lost="values",
    hint="You divide by the root of d_model; scaled_dot_product_attention scales already.")
wrong("divided by the root of d_model as well", ("self.query_projection(query)",
    "self.query_projection(query) / query.size(-1) ** 0.5"), lost="values",
    hint="You divide by the root of d_model as well; scaled_dot_product_attention scales already.")
wrong("weights averaged over the heads", (PAIR, PAIR + ".mean(1)"), lost="values",
    hint="You average the weights over the heads; return one set for each head.")
for dim in range(4):
    wrong(f"weights without dimension {dim} where its size is 1", (PAIR, f"{PAIR}.squeeze({dim})"),
        lost="values", hint="You squeeze() away dimensions of 1; each has its meaning, and stays.")
wrong("no weights", (PAIR, PAIR.removesuffix(", weights")), lost="values",
    hint="You return the output alone; with return_weights=True, return output, weights.")
wrong("weights before output", (PAIR, "return weights, self.output_projection(self._join_heads(output))"),
    lost="values", hint="You return the weights first; return output, weights.")
wrong("dropout in the weights", (PAIR, PAIR.replace("weights", "F.dropout(weights, 0.3)")),
    lost="values", hint="You drop values at random")
for name, drop in (("that never rests", "F.dropout(attended, 0.3)"), ("as elsewhere", "nn.Dropout(0.1)(attended)")):
    wrong(f"dropout {name}", (ALONE, ALONE.replace("attended)", f"{drop})")), lost="projections",
        hint="You drop values at random")

# ---- mask ----
ON = "hand the mask on as it is to scaled_dot_product_attention."
for name, mask, hint in (
    ("mask not handed on", "None", f"You do not use the mask; {ON}"),
    ("mask inverted on the way", "None if mask is None else ~mask", f"You invert the mask; {ON}"),
    ("no mask in evaluation", "mask if self.training else None",
     "You use the mask in training only; it holds in evaluation too."),
    ("no mask for a single query", "mask if query.size(1) > 1 else None",
     "You leave the mask out where there is a single query; it holds there too."),
    ("mask inverted without weights", "mask if mask is None or return_weights else ~mask",
     f"You invert the mask where no weights are wanted; {ON}"),
    ("square mask transposed", "mask if mask is None or mask.size(-2) != mask.size(-1) else mask.mT",
     f"You transpose the mask; {ON}"),
    ("mask repeated in the wrong order",
     "mask if mask is None or mask.size(1) > 1 or mask.size(0) == 1 else\n"
     "            mask.repeat(self.num_heads, 1, 1, 1).view(mask.size(0), self.num_heads, *mask.shape[2:])",
     f"You repeat the mask so that sentences get each other's; {ON}"),
):
    wrong(name, (MASK, MASK.replace("mask", mask, 1)), lost="mask", hint=hint)
wrong("causal where there is no mask", (MASK, MASK.replace("mask",
    "causal_mask(query.size(1), max(query.size(1), key.size(1)))[..., : key.size(1)]\n"
    "            if mask is None else mask", 1)), lost="values",
    hint="You hide the future where no mask is given; without a mask everything is seen.")
CHECK = "check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))"
wrong("a mask with as many queries as keys", (CHECK, CHECK.replace("key.size(1)", "query.size(1)")),
    lost="mask", hint="You expect as many keys as queries; take each length from its own tensor.")
wrong("a mask for each sentence rejected", (CHECK, CHECK.replace("query.size(0), self.num_heads", "1, 1")),
    lost="mask", hint="You reject masks that differ between sentences or heads.")
wrong("heads laid into the batch, and the mask not", (
    "            mask,\n            return_weights=return_weights,\n        )\n",
    "            mask if mask is None else mask.expand(-1, self.num_heads, -1, -1).flatten(0, 1),\n"
    "            return_weights=return_weights,\n        )\n"), lost="mask",
    hint="You lay the heads of a mask into its batch; hand it on with four dimensions.")

# ---- gradients ----
CUT = "You cut the gradient: detach(), .data and numpy() do; leave them out."
wrong("output detached", (ALONE, ALONE.replace("attended)", "attended).detach()")), lost="gradients", hint=CUT)
wrong("output detached where weights are wanted", (PAIR, PAIR.replace("output)", "output.detach())")),
    lost="gradients", hint=CUT)
wrong("queries detached where there is a mask", ("self.query_projection(query)",
    "self.query_projection(query if mask is None else query.detach())"), lost="gradients", hint=CUT)
wrong("a projection detached where there is a mask", ("self.key_projection(key)",
    "self.key_projection(key) if mask is None else F.linear(key, "
    "self.key_projection.weight.detach(), self.key_projection.bias)"), lost="gradients", hint=CUT)
same(".flatten(--2)", "the last two of four dimensions")
same("check_at_least(", "errors are tested in part 1 only")
same("check_divisible(", "errors are tested in part 1 only")
same("check_batch(", "errors are tested in part 1 only")
same("without_hidden(", "no promise is made of NaN behind a mask")
same("check_mask(mask,", "errors are tested in part 1 only")
# fmt: on

# %% [markdown]
# ## Part 4: in your own words

# %% [markdown] written="why-scale" points=3 read="self-attention#scaling"
# ### Why is there a square root?
#
# Somebody in your team removes the division by $\sqrt{d_k}$: "It is only a constant. The
# projections can learn it." Answer in five sentences or fewer: how large are the scores without it
# when the entries of queries and keys are independent, with mean 0 and variance 1? What does the
# softmax do with scores of that size, and what does that mean for learning? And why the square root
# of $d_k$, not $d_k$ itself?
#
# ### BEGIN SOLUTION
# A score is a sum of $d_k$ products of independent numbers with mean 0 and variance 1. Each product
# has mean 0 and variance 1, so the score has variance $d_k$: it is typically as large as
# $\sqrt{d_k}$, about 8 for a head of 64 dimensions. Scores that far apart put nearly all of the
# softmax's weight on one key. There its derivative $w_i (\delta_{ij} - w_j)$ is nearly zero, so
# queries and keys get next to no gradient and cannot learn where else to look; that they *could*
# learn the constant helps little while they start where learning is slowest. The standard
# deviation has to become 1, and it is $\sqrt{d_k}$; dividing by $d_k$ would shrink the
# scores to $1/\sqrt{d_k}$, and attention would start as a plain average.
#
# **Marking guide**, one point each:
#
# 1. *Size*: variance $d_k$, or standard deviation $\sqrt{d_k}$, with the reason (a sum of $d_k$
#    independent terms). "The scores get large" alone earns nothing here.
# 2. *Consequence*: a saturated softmax, and therefore vanishing gradients. Half a point for
#    saturation without a word about learning.
# 3. *Square root*: scores are to have a standard deviation of 1; with $d_k$ they would be too small
#    and the weights nearly uniform. Half a point for "the square root of the variance" alone.
#
# Not wrong, and worth a remark: layers could learn the scale, and other scalings train too. More
# than five sentences cost nothing.
# ### END SOLUTION

# %% [markdown]
# ## And now: read the mirror
#
# Below, a network learns to read mirror writing. Its only way to move a letter from one place to
# another is your `MultiHeadAttention`: no recurrence, nothing else. While it learns, for a few
# seconds, it sees nothing but random letters. Then it gets the message from the top of this
# notebook. Row by row, the picture shows where it looks while it writes each letter. What pattern
# do you expect?
#
# Afterwards, add a cell of your own and call `read_mirror` with a message of yours, of up to twelve
# letters and spaces, last letter first.

# %% demo="mirror-reading" prints="DEEN UOY LLA  ->  ALL YOU NEED"
import matplotlib.pyplot as plt

ALPHABET = " ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LENGTH = 12  # letters of a message


class MirrorReader(nn.Module):
    """Write each letter from what one attention layer brings."""

    def __init__(self, d_model=32):
        super().__init__()
        self.letters = nn.Embedding(len(ALPHABET), d_model)
        self.places = nn.Embedding(LENGTH, d_model)
        self.attention = MultiHeadAttention(d_model, num_heads=1)
        self.write = nn.Linear(d_model, len(ALPHABET))

    def forward(self, letter_ids):
        places = self.places.weight.expand(len(letter_ids), -1, -1)
        seen = self.letters(letter_ids) + places
        output, weights = self.attention(places, seen, seen, return_weights=True)
        return self.write(output), weights


torch.manual_seed(0)
reader = MirrorReader()
optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
for step in range(101):
    letter_ids = torch.randint(len(ALPHABET), (64, LENGTH))
    logits, _ = reader(letter_ids)
    loss = F.cross_entropy(logits.flatten(0, 1), letter_ids.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step:3d}: loss {loss.item():.5f} nats a letter")


def read_mirror(message):
    """Read a message, and draw where the network looks while it writes each letter."""
    message = message.upper().ljust(LENGTH)
    with torch.no_grad():
        logits, weights = reader(torch.tensor([[ALPHABET.index(letter) for letter in message]]))
    answer = "".join(ALPHABET[i] for i in logits[0].argmax(-1))
    print(f"{message}  ->  {answer}")
    figure, axes = plt.subplots(figsize=(4.5, 4.5))
    image = axes.imshow(weights[0, 0], cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(LENGTH), list(message))
    axes.set_yticks(range(LENGTH), list(answer))
    axes.set_xlabel("letter that is read")
    axes.set_ylabel("letter that is written")
    figure.colorbar(image, label="attention weight", shrink=0.8)
    plt.show()


read_mirror("DEEN UOY LLA")
