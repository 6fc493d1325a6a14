# %% [markdown]
# # Homework 2: Bahdanau attention
#
# Say *banana* in pig latin: the consonants at the front go to the end, and *ay* comes after them.
# `banana` becomes `ananabay`, `school` becomes `oolschay`. For each letter that you write, you look
# at one letter of the word, then at the next, and near the end your eyes jump back to the front.
#
# The network of homework 1 can't look back. It reads the word, sums it up in one vector, and writes
# from that. **Bahdanau attention gives the decoder a look at the source, anew for each token it
# writes.** Here you write it. In the last cell a network with your attention learns pig latin, and
# your own measure says how often it looks where it should.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `AdditiveAttention`: the alignment model, and the average that it weighs | 8 |
# | 2 | `AttentionDecoder`: a decoder with a context of its own for each step | 7 |
# | 3 | `alignment_error`: where it looked, held against the truth | 3 |
# | 4 | a picture, read in words | 3 |
#
# **Time:** about three hours if you have read the chapter
# [Bahdanau attention](book:bahdanau-attention); parts 1 and 2 take most of it. Nothing here needs a
# GPU.
#
# **Afterwards you can** write additive attention from its formula, mask it without a NaN, build a
# decoder around it, and read its weights with the caution that they deserve.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, order, errors. You may add cells, and functions and methods of your own.
# - What your code is given belongs to whoever calls it: no tensor may be changed in place. Work on
#   a copy, or on what you compute.
# - The test cells check one thing each, and each is worth its own points. Run them as often as you
#   like: one that passes says so, one that fails says first what is wrong, and mostly gives a
#   hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers, shapes
#   and dtypes, and with all errors that the docstring promises. It asks for nothing beyond the
#   docstring, the text and the part that you see.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.
#
# **The rule of this homework:** what you hand in is yours. `GRUCell` and all else that `course_lib`
# has here may be used, but an `alignment_error` that leads to the `alignment_error` or the
# `unaligned_attention` of the whole library loses the points of its tests; so does an
# `AdditiveAttention` or an `AttentionDecoder` that leads to the library's own.
#
# **If you are stuck,** print shapes. Every tensor here has a batch first, then queries, then keys.

# %% setup="imports"
import math
import os
from contextlib import contextmanager
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import as_number, as_pair, checked
from course_lib.gradient_checks import (
    assert_gradients,
    assert_gradients_like,
    assert_slopes,
)
from course_lib.layers.masks import check_mask
from course_lib.layers.recurrent_cells import GRUCell
from course_lib.models.bahdanau import AttentionDecoderState
from course_lib.models.seq2seq import Encoded
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_keeps_inputs,
    assert_raises,
    assert_rows_sum_to_one,
    assert_shape,
    call_beside,
    call_strided,
    call_without_dropout,
    forgive,
)
from course_lib.validation import check_at_least

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end
OF_ATTENTION = {
    name: f"AdditiveAttention-{name}" for name in ("parameters", "scores", "values", "mask", "keys")
}
OF_DECODER = {
    name: f"AttentionDecoder-{name}"
    for name in ("start", "state", "logits", "forward", "weights", "padding")
}
in_place = "operators that end in = and methods that end in _ change a tensor in place"


def without_biases(layer):
    """Set the biases of your attention to zero."""
    state = layer.state_dict()
    is_bias = {name: x.dim() < 2 and name != "score" for name, x in state.items()}
    if any(is_bias.values()):
        forgive("the attention has biases", OF_ATTENTION["parameters"])
    layer.load_state_dict({name: 0 * x if is_bias[name] else x for name, x in state.items()})
    return layer


def aligns(layer, d_query, d_memory, d_attention, *, smoothly=False):
    """Say whether your align gives a score for each query and each key, or one without a kink."""
    query = torch.zeros(2, 3, d_query).to(device)
    keys = torch.zeros(2, 4, d_attention).to(device)
    try:
        scores, alone = layer.align(query, keys), layer.align(query[:1, :1], keys[:1])
    except NotImplementedError:
        return True  # a layer that is not written yet says so itself
    except Exception:
        return False
    shapes = [getattr(result, "shape", None) for result in (scores, alone)]
    if shapes != [(2, 3, 4), (1, 1, 4)] or not smoothly:
        return shapes == [(2, 3, 4), (1, 1, 4)]
    step = 1e-3 * torch.randn_like(query)  # ReLU is bent where query and keys cancel
    bend = layer.align(step, keys) + layer.align(-step, keys) - 2 * scores
    return bool((bend.abs() < 1e-5).all())


def make_attention(attention, *widths, smooth=False):
    """Make your attention without biases.

    Where align gives no score for each pair, or one with a kink and smooth is True, its formula
    stands in.
    """
    layer = without_biases(attention(*widths).to(device))

    def align(query, keys):
        projected = F.linear(query, layer.query_projection.weight)
        return torch.tanh(projected[:, :, None] + keys[:, None]) @ layer.score.weight[0]

    if not aligns(layer, *widths):
        forgive("align gives no score for each pair", OF_ATTENTION["scores"])
        call_beside(setattr, layer, "align", align)
    elif smooth and not aligns(layer, *widths, smoothly=True):
        forgive("the scores have a kink", OF_ATTENTION["scores"])
        call_beside(setattr, layer, "align", align)
    return layer


def usual_weights(scores):
    """Name the usual mistakes in a softmax over the keys, and the weights that each leads to."""
    exponentials = scores.exp()
    sum_of = "each exp(score) is divided by the sum over its query's keys"
    return {
        "the softmax runs over the queries; it belongs over the keys, the last dimension": (
            torch.softmax(scores, dim=1)
        ),
        "the softmax runs over the batch; it belongs over the keys, the last dimension": (
            torch.softmax(scores, dim=0)
        ),
        "these are the scores; the softmax is missing": scores,
        "exp is missing: exp(score) is divided by the sum of exp(score), not score by score": (
            scores / scores.sum(-1, keepdim=True)
        ),
        f"the sum is missing: {sum_of}": exponentials,
        f"the sum runs over all queries too: {sum_of}": (
            exponentials / exponentials.sum((1, 2), keepdim=True)
        ),
        f"the sum runs over all there is: {sum_of}": exponentials / exponentials.sum(),
        "these are log-probabilities; the weights are a softmax": scores.log_softmax(dim=-1),
        "this is the sigmoid; the softmax belongs there": torch.sigmoid(scores),
    }


def shares_out(weights):
    """Say whether each query shares out a weight of 1, and each key gets some of it."""
    sums = weights.sum(-1)
    all_of_it = torch.allclose(sums, torch.ones_like(sums), atol=1e-4)
    if not (all_of_it and bool((weights > 0).all())):
        forgive("no query shares out a weight of 1", OF_ATTENTION["values"])
        return False
    return True


def assert_hides(weights, unmasked, mask):
    """Check a mask where even without it no query shares out a weight of 1: it hides, at least."""
    hidden = weights.masked_fill(mask, 0.0)
    hint = "what the mask hides gets no weight, and the rest gets some"
    assert_close(hidden, torch.zeros_like(hidden), what="weights that the mask hides", hint=hint)
    if not bool(unmasked.any()):
        raise CheckFailure("no key has any weight", hint=hint)


def contexts_of(result):
    """Give contexts alone, without weights for which nobody asked."""
    if not (isinstance(result, tuple | list) and result):
        return result
    forgive("the weights come too where nobody asked for them", OF_ATTENTION["values"])
    return result[0]


def without_ones(result, shape):
    """Take away weights and dimensions of 1 that are too many."""
    return with_ones(contexts_of(result), shape)


def with_ones(result, shape):
    """Give a tensor its dimensions of 1, where they are too many or too few."""
    sizes = [*getattr(result, "shape", ())]
    others, wanted = ([size for size in each if size != 1] for each in (sizes, shape))
    if len(sizes) == len(shape) or others != wanted:
        return result
    forgive("dimensions of 1 are too many or too few", OF_ATTENTION["values"])
    return result.reshape(shape)


def pair_from(result, names, first_shape, second_shape, hint="", *, strict=False):
    """Return both parts of a result, if they are tensors of these shapes; None stands for any.

    Unless strict, a pair in the other order is turned, and dimensions of 1 are put right.
    """
    hint = f"return {names}{hint and '; '}{hint}"
    first, second = as_pair(result, "return_weights=True should give a pair", hint=hint)
    if getattr(first, "shape", None) == second_shape != getattr(second, "shape", None):
        if strict:
            raise CheckFailure("the pair stands the other way round", hint=hint)
        forgive("the weights come first", OF_ATTENTION["values"])
        first, second = second, first
    if first_shape is not None and not strict:
        first, second = without_ones(first, first_shape), with_ones(second, second_shape)
    first_name, second_name = names.split(", ")
    if first_shape is not None:
        assert_shape(first, first_shape, what=first_name, hint=hint)
    assert_shape(second, second_shape, what=second_name, hint=hint)
    return first, second


# %% [markdown]
# ## Part 1: the alignment model
#
# The decoder is in state $s$ and about to write. Which of the encoder's vectors $h_1, \dots, h_n$
# does it need? A small network, the **alignment model**, scores each of them; the softmax makes
# weights of the scores; the weighted average is the **context**:
#
# $$e_i = v^\top \tanh(W s + U h_i) \qquad \alpha_i = \frac{\exp e_i}{\sum_j \exp e_j}
# \qquad c = \sum_i \alpha_i h_i$$
#
# [The alignment model](book:bahdanau-attention#alignment-model) in the chapter says where the
# formula comes from (there the vectors are rows, so it reads $sW+h_iU$). In the code $s$ is a
# **query**, $h_1, \dots, h_n$ are the **memory**, and the $U h_i$ are the **keys**. Five things to
# keep in mind:
#
# - There may be several queries at once, so each *pair* of a query and a key has a score. Let
#   broadcasting make the pairs: `(batch, query_len, 1, d)` and `(batch, 1, key_len, d)`.
# - The weights of *one query over all keys* are what sums to 1.
# - The context averages the memory, not the keys.
# - A mask acts on the scores, **before** the softmax. True means *may attend*. A query that may
#   attend to nothing has a row of $-\infty$ alone, whose softmax is NaN; the docstring says what
#   belongs there instead. No NaN may come back with the gradient either: `masked_fill` and
#   `torch.where` keep it out of the scores, adding $-\infty$ does not.
#   `check_mask`, imported above, raises the errors that the docstring promises for a mask: hand it
#   the mask and the shape of the scores.
# - $U h_i$ is the same at every step of a decoder. So a caller may hand the keys over, and then
#   they are not computed again.

# %% solution="AdditiveAttention" of="course_lib.layers.additive_attention"

# %% test="AdditiveAttention-parameters" points=1 read="bahdanau-attention#alignment-model"
# The layer has its three matrices, without biases
layer = AdditiveAttention(d_query=3, d_memory=4, d_attention=5)
hint = "three nn.Linear with the docstring's names and widths, each with bias=False"
for name, shape in (("query_projection", (5, 3)), ("key_projection", (5, 4)), ("score", (1, 5))):
    weight = getattr(getattr(layer, name, None), "weight", None)
    if weight is None:
        raise CheckFailure(f"{name} is no nn.Linear", hint=hint)
    assert_shape(weight, shape, what=f"weight of {name}", hint=hint)
names = sorted(layer.state_dict())
if len(names) != 3:
    raise CheckFailure(
        f"the parameters are {names}, expected three weights",
        hint=hint,
    )
assert_raises(ValueError, AdditiveAttention, 0, 4, 5, hint="a width of 0: raise ValueError")
### BEGIN HIDDEN TESTS
from course_lib.layers.additive_attention import AdditiveAttention as ReferenceLayer

for widths in ((6, 6, 6), (2, 7, 3), (1, 1, 1)):
    actual = AdditiveAttention(*widths).state_dict()
    expected = ReferenceLayer(*widths).state_dict()
    if set(actual) != set(expected):
        raise CheckFailure(
            f"the parameters are {sorted(actual)}, expected {sorted(expected)}",
            hint="three nn.Linear with the docstring's names, each with bias=False",
        )
    for name, tensor in expected.items():
        hint = "three nn.Linear with the docstring's names and widths, each with bias=False"
        assert_shape(actual[name], tensor.shape, what=name, hint=hint)
    if torch.equal(actual["query_projection.weight"], actual["key_projection.weight"]):
        raise CheckFailure(
            "both projections start with the same weights", hint="make a new nn.Linear for each"
        )
for widths in ((0, 4, 5), (3, 0, 5), (3, 4, 0), (-1, 4, 5)):
    hint = "a width of 0 or less makes no sense: raise ValueError"
    assert_raises(ValueError, AdditiveAttention, *widths, hint=hint)
### END HIDDEN TESTS

# %% test="AdditiveAttention-scores" points=1 read="bahdanau-attention#alignment-model"
# Each pair of a query and a key gets its score
layer = without_biases(AdditiveAttention(d_query=1, d_memory=2, d_attention=2).to(device))
layer.load_state_dict(
    {
        **layer.state_dict(),
        "query_projection.weight": torch.tensor([[1.0], [0.0]]),
        "key_projection.weight": torch.zeros(2, 2),
        "score.weight": torch.tensor([[2.0, 4.0]]),
    }
)
query = torch.tensor([[[0.0], [math.atanh(0.25)]]]).to(device)  # two queries
keys = torch.tensor([[[0.0, 0.0], [0.0, math.atanh(0.5)], [math.atanh(0.5), 0.0]]]).to(device)
scores = layer.align(query, keys)
assert_shape(scores, (1, 2, 3), what="scores", hint="a score for each query and each key")
# Query 0 adds nothing to the keys: 2 * 0 + 4 * 0, then 4 * 0.5, then 2 * 0.5. Query 1 adds to the
# first number only: 2 * 0.25, then 2 * 0.25 + 4 * 0.5, then 2 * tanh(atanh(0.25) + atanh(0.5)).
bare = torch.tensor([[[0.0, 2.197225, 1.098612], [0.510826, 2.708050, 1.609438]]]).to(device)
expected = torch.tensor([[[0.0, 2.0, 1.0], [0.5, 2.5, 4 / 3]]]).to(device)
assert_close(
    scores,
    expected,
    what="scores",
    mistakes={
        "tanh is missing": bare,
        "tanh comes before v, not after": torch.tanh(bare),
        "v is missing: this is a sum": torch.tensor([[[0.0, 0.5, 0.5], [0.25, 0.75, 2 / 3]]]).to(
            device
        ),
        "the query is not projected": torch.tensor([[[0.0, 2.0, 1.0], [1.5, 19 / 6, 7 / 3]]]).to(
            device
        ),
        "the keys are given: they are projected already": torch.tensor(
            [[[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]]
        ).to(device),
        "query and key are multiplied; add them": torch.tensor(
            [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.278773]]]
        ).to(device),
        "this is the dot product of query and key": torch.tensor(
            [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.140300]]]
        ).to(device),
        "one tanh around the sum, not one around each": torch.tensor(
            [[[0.0, 2.0, 1.0], [0.5, 2.5, 1.5]]]
        ).to(device),
        "this is the sigmoid; the formula has tanh": torch.tensor(
            [[[3.0, 3.535898, 3.267949], [3.127017, 3.662915, 3.381966]]]
        ).to(device),
        "these are weights; align returns scores": torch.softmax(expected, dim=-1),
    },
    hint="v . tanh(W s + key), for each query s and each key; the keys are projected already",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.additive_attention import AdditiveAttention as ReferenceLayer

reference = ReferenceLayer(6, 6, 6).to(device)
student = without_biases(AdditiveAttention(6, 6, 6).to(device))
state = {name: 2 * tensor for name, tensor in reference.state_dict().items()}
reference.load_state_dict(state)
student.load_state_dict(student.state_dict() | state)
query, keys = torch.randn(3, 4, 6).to(device), torch.randn(3, 5, 6).to(device)
projected = F.linear(query, state["query_projection.weight"])[:, :, None]
again = F.linear(keys, state["key_projection.weight"])[:, None]
v = state["score.weight"][0]
pairs = projected + keys[:, None]  # (batch, query_len, key_len, d_attention)
assert_close(
    student.align(query, keys),
    reference.align(query, keys),
    what="scores",
    hint="v . tanh(W s + key), for each query s and each key; the keys are projected already",
    mistakes={
        "tanh is missing": pairs @ v,
        "tanh comes before v, not after": torch.tanh(pairs @ v),
        "v is missing: this is a sum": torch.tanh(pairs).sum(dim=-1),
        "the query is not projected": torch.tanh(query[:, :, None] + keys[:, None]) @ v,
        "the keys are given: they are projected already": torch.tanh(projected + again) @ v,
        "query and key are multiplied; add them": torch.tanh(projected * keys[:, None]) @ v,
        "this is the dot product of query and key": (projected * keys[:, None]).sum(dim=-1),
        "one tanh around the sum, not one around each": (projected.tanh() + keys[:, None].tanh())
        @ v,
        "this is the sigmoid; the formula has tanh": torch.sigmoid(pairs) @ v,
        "these are weights; align returns scores": torch.softmax(torch.tanh(pairs) @ v, dim=-1),
    },
)
alone = student.align(query[:1, :1], keys[:1])
each = "a score for each query and each key, be they one or many"
assert_shape(alone, (1, 1, keys.size(1)), what="scores of one query", hint=each)
### END HIDDEN TESTS

# %% test="AdditiveAttention-values" points=1 read="bahdanau-attention#alignment-model"
# The context averages the memory by the softmax of the scores
layer = make_attention(AdditiveAttention, 5, 5, 5)
query, memory = torch.randn(2, 6, 5).to(device), torch.randn(2, 7, 5).to(device)
hint = (
    "without return_weights, return the contexts alone: one for each query, as wide as the memory"
)
assert_shape(layer(query, memory), (2, 6, 5), what="contexts", hint=hint)
result = layer(query, memory, return_weights=True)
contexts, weights = pair_from(result, "contexts, weights", (2, 6, 5), (2, 6, 7), strict=True)
mistakes = usual_weights(layer.align(query, layer.key_projection(memory)))
alike = (words for words, wrong in mistakes.items() if torch.allclose(weights, wrong, atol=1e-5))
by_softmax = "a softmax over the keys: no weight is negative, and those of a query sum to 1"
assert_rows_sum_to_one(weights, hint=next(alike, by_softmax))
# Where all the memory is the same, so is every average of it.
same = memory[:, :1].expand(-1, 7, -1)
average = same[:, :1].expand(-1, 6, -1)
assert_close(
    layer(query, same),
    average,
    what="contexts where all the memory is the same",
    hint="the context is weights @ memory",
    mistakes={"the keys are averaged; average the memory": layer.key_projection(average)},
)
### BEGIN HIDDEN TESTS
layer = make_attention(AdditiveAttention, 6, 6, 6)
layer.load_state_dict({name: 2 * tensor for name, tensor in layer.state_dict().items()})
layer.eval()
query, memory = torch.randn(3, 4, 6).to(device), torch.randn(3, 5, 6).to(device)
keys = F.linear(memory, layer.key_projection.weight)
scores = layer.align(query, keys).detach()  # whether they are right is the business of its check
assert_shape(scores, (3, 4, 5), what="scores")
asked = F.linear(query, layer.query_projection.weight)
by_formula = torch.tanh(asked[:, :, None] + keys[:, None]) @ layer.score.weight[0]
result = layer(query, memory, return_weights=True)
contexts, weights = pair_from(result, "contexts, weights", (3, 4, 6), (3, 4, 5), strict=True)
checked(weights, (3, 4, 5), what="weights")
if torch.allclose(weights, torch.softmax(by_formula, dim=-1), rtol=1e-4, atol=1e-5):
    scores = by_formula.detach()  # the weights are right, however align and forward share the work
expected_weights = torch.softmax(scores, dim=-1)
expected = expected_weights @ memory
over_queries = torch.softmax(scores, dim=-2)
mistakes = {
    "the softmax runs over the queries; it belongs over the keys": over_queries @ memory,
    "the keys are averaged; average the memory": expected_weights @ keys,
    "the softmax is missing": scores @ memory,
    "the weights do not count; this is the mean": memory.mean(1, True).expand_as(expected),
    "additive scores are not scaled": torch.softmax(scores / 6**0.5, dim=-1) @ memory,
}
assert_close(
    weights,
    expected_weights,
    what="weights",
    hint="softmax over the keys of align(query, key_projection(memory))",
    mistakes={
        **usual_weights(scores),
        "additive scores are not scaled": torch.softmax(scores / 6**0.5, dim=-1),
    },
)
hint = "the context is weights @ memory"
what = "contexts with return_weights"
assert_close(contexts, expected, what=what, hint=hint, mistakes=mistakes)
contexts = layer(query, memory)
assert_close(contexts, expected, what="contexts", hint=hint, mistakes=mistakes)
one = "a single query keeps its dimension, as do a single key and a batch of one"
for batch, query_len, key_len in ((3, 1, 5), (1, 4, 5), (3, 4, 1)):
    result = layer(query[:batch, :query_len], memory[:batch, :key_len], return_weights=True)
    shapes = (batch, query_len, 6), (batch, query_len, key_len)
    pair_from(result, "contexts, weights", *shapes, hint=one, strict=True)
layer = AdditiveAttention(2, 7, 3).to(device)
if {tuple(x.shape) for x in layer.state_dict().values()} != {(3, 2), (3, 7), (1, 3)}:
    forgive("the matrices have other sizes", OF_ATTENTION["parameters"])
elif not aligns(layer, 2, 7, 3):
    forgive("align gives no score for each pair", OF_ATTENTION["scores"])
else:
    contexts = layer(torch.randn(3, 4, 2).to(device), torch.randn(3, 5, 7).to(device))
    what = "contexts of queries 2 wide and a memory 7 wide"
    assert_shape(contexts, (3, 4, 7), what=what, hint="the three widths may differ")
### END HIDDEN TESTS

# %% test="AdditiveAttention-mask" points=1 read="bahdanau-attention#padding-in-attention"
# What the mask hides gets no weight, and the others share all of it
layer = make_attention(AdditiveAttention, 5, 5, 5)
query, memory = torch.randn(6, 6, 5).to(device), torch.randn(6, 6, 5).to(device)
lengths = torch.tensor([[6], [3], [5], [1], [4], [2]])
mask = (torch.arange(6) < lengths)[:, None].to(device)  # (batch, 1, key_len)
result = layer(query, memory, mask, return_weights=True)
contexts, weights = pair_from(result, "contexts, weights", (6, 6, 5), (6, 6, 6))
without = layer(query, memory, return_weights=True)
_, unmasked = pair_from(without, "contexts, weights", (6, 6, 5), (6, 6, 6))
if shares_out(unmasked):
    hint = "what the mask hides gets no weight, and the rest gets some"
    if bool(weights.isnan().any()):
        hint = "0 * -inf gives weights of NaN: set hidden scores by masked_fill or torch.where"
    assert_close(
        weights > 0,
        mask.expand(6, 6, 6),
        what="where the weights are positive",
        mistakes={
            "the mask is inverted; True means may attend": ~mask.expand(6, 6, 6),
            "the mask changes nothing": torch.ones(6, 6, 6, dtype=torch.bool).to(device),
        },
        hint=hint,
    )
    scores = layer.align(query, layer.key_projection(memory))
    as_zeros = torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1).masked_fill(~mask, 0.0)
    hint = "mask the scores, before the softmax"
    if torch.allclose(weights, as_zeros, atol=1e-5):
        hint = "a hidden score is set to 0, a score like any other: set it to -inf"
    assert_rows_sum_to_one(weights, hint=hint)
else:
    assert_hides(weights, unmasked, mask)
### BEGIN HIDDEN TESTS
layer = make_attention(AdditiveAttention, 6, 6, 6)
layer.load_state_dict({name: 2 * tensor for name, tensor in layer.state_dict().items()})
layer.eval()
query, memory = torch.randn(4, 4, 6).to(device), torch.randn(4, 4, 6).to(device)
scores = layer.align(query, F.linear(memory, layer.key_projection.weight)).detach()
assert_shape(scores, (4, 4, 4), what="scores")
per_query = torch.rand(4, 4, 4) < 0.5
per_query[..., 0], per_query[..., 1] = True, False
per_key = torch.tensor([True, False, True, False]).expand(4, 1, 4)
without = layer(query, memory, return_weights=True)
averages, unmasked = pair_from(without, "contexts, weights", (4, 4, 6), (4, 4, 4))
# What is not hidden keeps its proportions, whatever these are.
is_average = torch.allclose(averages, unmasked @ memory, rtol=1e-4, atol=1e-5)
for mask in (per_query, per_key, per_query[:1], per_query[..., :1]):
    mask = mask.to(device)
    left, taken = unmasked * mask, unmasked * ~mask
    expected_weights = left / left.sum(-1, keepdim=True)
    mistakes = {
        "the mask is inverted; True means may attend": taken / taken.sum(-1, keepdim=True),
        "the weights that are left do not sum to 1: mask the scores, before the softmax": left,
        "a hidden score is set to 0, a score like any other: set it to -inf": torch.softmax(
            scores.masked_fill(~mask, 0.0), dim=-1
        ),
        "the mask changes nothing": unmasked,
    }
    result = layer(query, memory, mask, return_weights=True)
    contexts, weights = pair_from(result, "contexts, weights", (4, 4, 6), (4, 4, 4))
    if not shares_out(unmasked):
        assert_hides(weights, unmasked, mask)
        continue
    hint = "set hidden scores to -inf, before the softmax"
    assert_close(weights, expected_weights, what="weights", mistakes=mistakes, hint=hint)
    if not is_average:
        forgive("contexts are no averages by the weights", OF_ATTENTION["values"])
        continue
    mistakes = {words: wrong @ memory for words, wrong in mistakes.items()}
    hint = "the context is weights @ memory"
    expected = expected_weights @ memory
    what = "contexts with return_weights"
    assert_close(contexts, expected, what=what, hint=hint, mistakes=mistakes)
    contexts = without_ones(layer(query, memory, mask), (4, 4, 6))
    assert_close(contexts, expected, what="contexts", hint=hint, mistakes=mistakes)
if shares_out(unmasked):
    mask = per_key.to(device)
    result = layer(query[:1], memory[:1], mask[:1], return_weights=True)
    _, weights = pair_from(result, "contexts, weights", (1, 4, 6), (1, 4, 4))
    left, hint = unmasked[:1] * mask[:1], "a sentence alone has padding too: its mask hides it"
    expected = left / left.sum(-1, keepdim=True)
    assert_close(weights, expected, what="weights in a batch of one", hint=hint)
    # Scores may be far below 0: what takes their place has to be lower than all of them.
    state = layer.state_dict()
    layer.load_state_dict({x: (1e3 if "score" in x else 1) * state[x] for x in state})
    results = [layer(query, memory, *masks, return_weights=True) for masks in ((), (mask,))]
    (_, unmasked), (_, weights) = (
        pair_from(result, "contexts, weights", (4, 4, 6), (4, 4, 4)) for result in results
    )
    lower = "a hidden score is set to a number that others are below: set it to -inf"
    if bool(unmasked.isfinite().all()):  # by exp alone, scores so large may end in inf / inf
        assert_rows_sum_to_one(weights * mask, what="weights where scores are large", hint=lower)
### END HIDDEN TESTS

# %% test="AdditiveAttention-no-keys" points=1 read="bahdanau-attention#padding-in-attention"
# A query that may attend to nothing gets zeros, not NaN
layer = make_attention(AdditiveAttention, 5, 5, 5)
query, memory = torch.randn(3, 3, 5).to(device), torch.randn(3, 3, 5).to(device)
mask = torch.tensor([[True], [False], [True]]).expand(3, 3, 3).to(device)  # query 1 sees nothing
result = layer(query, memory, mask, return_weights=True)
contexts, weights = pair_from(result, "contexts, weights", (3, 3, 5), (3, 3, 3))
hint = "the mask lets query 1 see no key: set the weights that it hides to 0 after the softmax"
if bool(weights.isnan().any()):
    hint = "the softmax of a row of -inf is NaN: set the weights that the mask hides to 0 after it"
nothing = torch.zeros(3, 5).to(device)
what = "weights of the query that sees nothing"
assert_close(weights[:, 1], nothing[:, :3], what=what, hint=hint)


def averages(layer, query, memory, shapes):
    """Say whether contexts are averages by the weights."""
    contexts, weights = pair_from(layer(query, memory, return_weights=True), *shapes)
    if torch.allclose(contexts, weights @ memory, rtol=1e-4, atol=1e-5):
        return True
    forgive("contexts are no averages by the weights", OF_ATTENTION["values"])
    return False


if averages(layer, query, memory, ("contexts, weights", (3, 3, 5), (3, 3, 3))):
    what = "context of the query that sees nothing"
    assert_close(contexts[:, 1], nothing, what=what, hint=hint)
    contexts = without_ones(layer(query, memory, mask), (3, 3, 5))
    assert_shape(contexts, (3, 3, 5), what="contexts")
    assert_close(contexts[:, 1], nothing, what=what, hint=hint)
### BEGIN HIDDEN TESTS
layer = make_attention(AdditiveAttention, 6, 6, 6)
query, memory = torch.randn(4, 4, 6).to(device), torch.randn(4, 4, 6).to(device)
are_averages = averages(layer, query, memory, ("contexts, weights", (4, 4, 6), (4, 4, 4)))
hint = "the softmax of a row of -inf is NaN: set the weights that the mask hides to 0 after it"


def check_blind(mask):
    """Check the queries that see nothing: of each sentence, or of one alone."""
    blind = ~mask.any(dim=-1).expand(4, 4)
    result = layer(query, memory, mask, return_weights=True)
    contexts, weights = pair_from(result, "contexts, weights", (4, 4, 6), (4, 4, 4))
    for result, what in ((weights, "weights"), (contexts, "context"))[: 1 + are_averages]:
        what = f"{what} of a query that sees nothing"
        nothing = torch.zeros(int(blind.sum()), result.size(2)).to(device)
        assert_close(result[blind], nothing, what=what, hint=hint)
        if bool((result[~blind] == 0).all()):
            raise CheckFailure("the queries that do see something get zeros too", hint=hint)


rows = torch.ones(4, 1, dtype=torch.bool)
rows[int(torch.randint(4, ()))] = False  # one row sees nothing, the others see everything
rows = rows.to(device)
check_blind(rows.expand(4, 4, 4))
check_blind(rows[:, None].expand(4, 1, 4))  # a row for all the queries of a sentence
### END HIDDEN TESTS

# %% test="AdditiveAttention-keys" points=1 read="bahdanau-attention#keys-once"
# Keys that are handed over are used as they are
layer = make_attention(AdditiveAttention, 5, 5, 5)
query, memory = torch.randn(6, 6, 5).to(device), torch.randn(6, 6, 5).to(device)
other = torch.randn(6, 6, 5).to(device)  # the keys of another memory show which ones are used
keys = layer.key_projection(other)


def weights_of(layer, memory, keys=None):
    """Return the weights, once both parts of the pair are of the right shape."""
    batch, query_len, _ = query.shape
    result = layer(query, memory, keys=keys, return_weights=True)
    shape = (batch, query_len, memory.size(1))
    return pair_from(result, "contexts, weights", (batch, query_len, memory.size(2)), shape)[1]


own_weights = weights_of(layer, memory)
twice = weights_of(layer, keys)
assert_close(
    weights_of(layer, memory, keys),
    weights_of(layer, other),
    what="weights with the keys handed over",
    hint="only where keys is None, compute them from the memory",
    mistakes={
        "the keys that are handed over are not used": own_weights,
        "the keys are projected already; do not project them again": twice,
    },
)
### BEGIN HIDDEN TESTS
layer = make_attention(AdditiveAttention, 6, 6, 6)
layer.load_state_dict({name: 2 * tensor for name, tensor in layer.state_dict().items()})
layer.eval()
query, memory = torch.randn(4, 4, 6).to(device), torch.randn(4, 4, 6).to(device)
other_keys = torch.randn(4, 4, 6).to(device)  # no projection of this memory
with_keys = weights_of(layer, memory, other_keys)
contexts = without_ones(layer(query, memory, keys=other_keys), (4, 4, 6))
without = weights_of(layer, memory)
if torch.equal(without, weights_of(layer, torch.randn_like(memory))):
    hint = "score each query with each key: the weights are a softmax of that"
    raise CheckFailure("the weights are the same whatever the memory is", hint=hint)
twice = weights_of(layer, other_keys)
# A layer whose key_projection changes nothing says what weights belong to these keys.
plain = make_attention(AdditiveAttention, 6, 6, 6).eval()
plain.load_state_dict({**layer.state_dict(), "key_projection.weight": torch.eye(6)})
expected = weights_of(plain, other_keys)
assert_close(
    with_keys,
    expected,
    what="weights with the keys handed over",
    hint="the keys stand for key_projection(memory)",
    mistakes={
        "the keys that are handed over are not used": without,
        "the keys are projected already; do not project them again": twice,
    },
)
averages = without_ones(layer(query, memory), (4, 4, 6))
checked(averages, (4, 4, 6), what="contexts")
if not torch.allclose(averages, without @ memory, rtol=1e-4, atol=1e-5):
    forgive("contexts are no averages by the weights", OF_ATTENTION["values"])
else:
    assert_close(
        contexts,
        with_keys @ memory,
        what="contexts with the keys handed over",
        hint="average the memory, whatever the keys are",
        mistakes={"the keys are averaged; average the memory": with_keys @ other_keys},
    )
### END HIDDEN TESTS

# %% test="AdditiveAttention-gradients" points=1 read="bahdanau-attention#alignment-model"
# Gradients flow to whatever the contexts depend on, also past a query that sees nothing
layer = make_attention(AdditiveAttention, 5, 5, 5, smooth=True)
inputs = {"query": torch.randn(6, 6, 5).to(device), "memory": torch.randn(6, 6, 5).to(device)}
share = torch.randn(6, 6, 5).to(device)


def loss(query, memory, *mask, **how):
    """Weight the numbers of your contexts by chance, and add them up."""
    contexts = without_ones(layer(query.clone(), memory.clone(), *mask, **how), (6, 6, 5))
    return (checked(contexts, (6, 6, 5), what="contexts") * share).sum()


cut = "detach(), .data, numpy() and torch.tensor() cut the gradient"
assert_gradients(loss, inputs, hint=cut)


def assert_finite(layer, blind):
    """Check gradients where a query sees nothing, if they are a softmax's."""
    result = layer(**inputs, return_weights=True)
    if not shares_out(pair_from(result, "contexts, weights", (6, 6, 5), (6, 6, 6))[1]):
        return
    query = inputs["query"].clone().requires_grad_()
    mask = torch.ones(6, 6, 6, dtype=torch.bool).to(device)
    mask[:, blind] = False
    contexts = without_ones(layer(query.clone(), inputs["memory"], mask), (6, 6, 5))
    assert_shape(contexts, (6, 6, 5), what="contexts with a mask")
    contexts.sum().backward()
    parameters = {name: getattr(layer, name).weight for name in ("query_projection", "score")}
    for name, leaf in {"query": query, **parameters}.items():
        if leaf.grad is not None and not bool(leaf.grad.isfinite().all()):
            raise CheckFailure(
                f"with a query that sees nothing, the gradient of {name} is not finite",
                hint="set hidden scores by masked_fill or where: they keep NaN out, adding -inf "
                "does not",
            )


assert_finite(layer, blind=1)
### BEGIN HIDDEN TESTS
layer = make_attention(AdditiveAttention, 5, 5, 5, smooth=True)
assert_finite(layer, blind=4)
matrices = {f"{name}.weight": name for name in ("query_projection", "key_projection", "score")}


def loss_with_weights(query, memory):
    """Weight contexts by chance, and the weights beside them by their own size."""
    result = layer(query, memory, return_weights=True)
    contexts, weights = pair_from(result, "contexts, weights", (6, 6, 5), (6, 6, 6))
    return (contexts * share).sum() + weights.square().sum()


keys = torch.randn(6, 6, 5).to(device)
some = torch.rand(6, 6, 6) < 0.5
some[..., 0], some[..., 1] = True, False
result = layer(**inputs, return_weights=True)
is_softmax = shares_out(pair_from(result, "contexts, weights", (6, 6, 5), (6, 6, 6))[1])
mask = some.to(device) if is_softmax else None
try:
    layer(**inputs, keys=keys)
    takes_keys = True
except Exception:
    forgive("with keys handed over there is an error", OF_ATTENTION["keys"])
    takes_keys = False


def loss_of_all(query, memory, keys):
    """Add what comes past a mask, and by keys that are handed over."""
    by_keys = loss(query, memory, keys=keys.clone()) if takes_keys else 0
    return loss(query, memory) + loss(query, memory, mask) + by_keys


def loss_of_matrices(*tensors):
    """Put matrices into the layer, and weight the numbers of its contexts by chance."""
    layer.load_state_dict(state | dict(zip(matrices, tensors, strict=True)))
    return loss_of_all(*inputs.values(), keys)


assert_gradients(loss, inputs, hint=cut)
assert_gradients(loss_with_weights, inputs, hint=cut)
assert_gradients(loss_of_all, {**inputs, "keys": keys}, hint=cut)
layer = make_attention(AdditiveAttention, 5, 5, 5, smooth=True)
state = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
result = loss_of_all(*inputs.values(), keys)
if result.requires_grad:
    result.backward()
slopes = {name: getattr(layer, matrix).weight.grad for name, matrix in matrices.items()}
if not aligns(AdditiveAttention(5, 5, 5).to(device), 5, 5, 5, smoothly=True):
    matrices = {}  # the formula that stands in for it doesn't use those of your layer
    forgive("align gives no score for each pair, or one with a kink", OF_ATTENTION["scores"])
assert_slopes(loss_of_matrices, {name: state[name] for name in matrices}, slopes, hint=cut)
### END HIDDEN TESTS

# %% test="AdditiveAttention-errors" points=1 read="bahdanau-attention#bahdanau-common-mistakes"
# What does not fit is refused, and what is given is left as it is
layer = make_attention(AdditiveAttention, 5, 5, 5)
query, memory = torch.randn(2, 6, 5).to(device), torch.randn(2, 7, 5).to(device)
hint = "a mask of ones and zeros could mean either polarity, or be added to the scores: refuse it"
assert_raises(TypeError, layer, query, memory, torch.ones(2, 1, 7).to(device), hint=hint)
two_masks = torch.ones(2, 1, 7, dtype=torch.bool).to(device)
enlarging = "a mask for two sentences would make two contexts of one: check_mask refuses it"
assert_raises(ValueError, layer, query[:1], memory[:1], two_masks, hint=enlarging)
several = torch.randn(6, 6, 5).to(device), torch.randn(6, 6, 5).to(device)
assert_keeps_inputs(layer, *several, hint=in_place)
### BEGIN HIDDEN TESTS
int_mask = torch.ones(2, 1, 7, dtype=torch.long).to(device)
assert_raises(TypeError, layer, query, memory, int_mask, hint=hint)
for sizes in ((7,), (6, 7), (1, 2, 6, 7), (2, 7, 7), (2, 6, 6)):
    unfit = torch.ones(sizes, dtype=torch.bool).to(device)
    hint = f"a mask of shape {sizes} does not fit scores of shape (2, 6, 7): see check_mask"
    assert_raises(ValueError, layer, query, memory, unfit, hint=hint)
fits = torch.ones(2, 6, 7, dtype=torch.bool).to(device)
try:
    layer(query, memory, fits)
except ValueError as error:
    hint = "the scores have shape (batch, query_len, key_len): so may the mask"
    raise CheckFailure("a mask that fits is refused", hint=hint) from error
except RuntimeError:
    lengths = "as many queries as keys are needed"
    forgive(lengths, OF_ATTENTION["scores"], OF_ATTENTION["values"])
hint = "compare the batches yourself: one of 1 would be broadcast in silence"
assert_raises(ValueError, layer, query, memory[:1], hint=hint)
assert_raises(ValueError, layer, query[:1], memory, hint=hint)
query, memory = torch.randn(6, 6, 5).to(device), torch.randn(6, 6, 5).to(device)
mask = torch.ones(6, 6, 6, dtype=torch.bool).tril().to(device)
assert_keeps_inputs(layer, query, memory, mask, hint=in_place)
try:
    keys = layer.key_projection(memory).detach()
    assert_keeps_inputs(layer, query, memory, mask, keys=keys, hint=in_place)
except RuntimeError:
    forgive("keys that are handed over are refused", OF_ATTENTION["keys"])
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: a decoder that looks
#
# The decoder of homework 1 read the same context at each step. This one asks for a context of its
# own each time, *before* it writes:
#
# $$c_t = \mathrm{attention}(s_{t-1}, h) \qquad
# s_t = \mathrm{cell}\bigl([y_{t-1}; c_t], s_{t-1}\bigr) \qquad
# \text{logits of } y_t = V\,[s_t; y_{t-1}; c_t]$$
#
# So the query is the state *before* the step: the decoder decides where to look before it reads
# what it wrote last. [A context for each step](book:bahdanau-attention#context-for-each-step) says
# why.
#
# The encoder hands over an `Encoded`, with three fields: `memory`, `(batch, src_len, d_memory)`;
# `context`, `(batch, d_memory)`, for the first state; and `mask`, `(batch, src_len)`, True where
# the memory holds something. What the decoder carries from step to step is an
# `AttentionDecoderState`: `hidden`, `(batch, d_hidden)`, and `memory`, `keys` and `mask`, which
# never change. Both are dataclasses. Make one with all its fields by name, such as
# `Encoded(memory=m, context=c, mask=k)`; `replace(state, hidden=new)` makes one that differs in one
# field.
#
# The cell is the one that you wrote in homework 1: `GRUCell(d_input, d_hidden)` makes it, and
# `cell(x, hidden)` takes what it reads first, then the state.
# The mask lacks a dimension for the queries; the attention wants one. It also wants `state.keys`:
# `start` makes them once, and no step makes them again. Of the errors,
# `nn.Embedding` raises the `IndexError` by itself; the others are yours to raise.
#
# `forward` is the same as several steps in a row from the start: write one loop, use it twice. The
# tests hold your decoder against its own parts, so a slip in your attention costs you nothing here
# as long as it runs. What you see of the tests of the state and of the logits looks at shapes only;
# the hidden part looks at the numbers. So hold your loop against the formulas, also for what comes
# first in each bracket.

# %% solution="AttentionDecoder" of="course_lib.models.bahdanau"


# %% setup="sources"
def make_encoded(batch, src_len, d_memory):
    """Make what an encoder might hand over: sources of different lengths."""
    lengths = torch.arange(src_len, src_len - batch, -1)  # the first is the longest
    return Encoded(
        memory=torch.randn(batch, src_len, d_memory).to(device),
        context=torch.randn(batch, d_memory).to(device),
        mask=(torch.arange(src_len) < lengths[:, None]).to(device),
    )


def make_state(decoder, batch, src_len, d_hidden, d_memory):
    """Make a state in the middle of a sentence, without padding."""
    encoded = make_encoded(batch, src_len, d_memory)
    return AttentionDecoderState(
        hidden=torch.randn(batch, d_hidden).to(device),
        memory=encoded.memory,
        keys=decoder.attention.key_projection(encoded.memory).detach(),
        mask=torch.ones_like(encoded.mask),
    )


def fitting(decoder, source):
    """Give an Encoded or a state a mask that your decoder can use, as it hands it on.

    Its own mask, if that will do; else one with a dimension more, or one that hides nothing.
    """
    tokens = torch.zeros(len(source.mask), 1, dtype=torch.int64).to(device)
    nothing_hidden = torch.ones(1, 1, dtype=torch.bool).to(device)
    for mask in (source.mask, source.mask[:, None], nothing_hidden):
        tried = replace(source, mask=mask)
        try:
            if isinstance(source, Encoded):
                decoder(tokens, tried)
            else:
                decoder.step(tokens, replace(tried, hidden=source.hidden.clone()))
            if mask is not source.mask:
                forgive("the attention refuses the mask that it gets", OF_DECODER["weights"])
            return tried
        except ValueError as error:
            if "mask" not in str(error):
                break
        except Exception:  # the test that calls it next says more
            break
    return source


@contextmanager
def unless_changed(decoder, tokens, state):
    """Pass over gradients that are lost because a step changes its state."""
    try:
        yield
    except RuntimeError as error:
        if "inplace operation" not in str(error):
            raise
        try:
            assert_keeps_inputs(decoder.step, tokens, state)
        except CheckFailure:
            forgive("a step changes the state that it is given", OF_DECODER["state"])
            return
        raise


def mask_for_query(source):
    """Give the mask of an Encoded or a state, with its dimension for the queries."""
    return source.mask.reshape(len(source.mask), 1, -1)


def looks_at_padding(decoder, encoded, changed):
    """Say whether the attention alone does: then it is not the decoder's fault."""
    query = decoder.start(encoded).hidden[:, None]
    before, after = (
        contexts_of(decoder.attention(query, source.memory, source.mask[:, None]))
        for source in (encoded, changed)
    )
    for contexts in (before, after):
        assert_shape(contexts, (len(encoded.memory), 1, encoded.memory.size(2)), what="context")
    if before.dtype == after.dtype and torch.allclose(before, after, atol=1e-5):
        return False
    forgive("the attention looks at padding", OF_ATTENTION["mask"])
    return True


def at_rest(function, *args, **how):
    """Call what you wrote without dropout."""
    return call_beside(call_without_dropout, function, *args, **how)


def logits_of_all(result):
    """Take the logits of a target alone, where the weights stand beside them."""
    if isinstance(result, Tensor):
        return result
    logits, _ = as_pair(result, "no logits")
    forgive("the weights come too where nobody asked for them", OF_DECODER["forward"])
    return logits


def take_step(decoder, tokens, state, *, strict=False):
    """Let a decoder take a step from a copy of a state, and look at what it returns.

    A pair in the other order is turned, unless strict.
    """
    parts = {name: getattr(state, name) for name in ("memory", "keys", "mask")}
    copy = AttentionDecoderState(hidden=state.hidden.clone(), **parts)
    result = at_rest(decoder.step, tokens, copy)
    logits, new_state = as_pair(result, "a step should give a pair", hint="return logits, state")
    if isinstance(new_state, Tensor) and hasattr(logits, "hidden") and not strict:
        forgive("the state comes before the logits", OF_DECODER["state"])
        logits, new_state = new_state, logits
    if new_state is None or isinstance(new_state, Tensor | tuple | list | dict):
        in_words = "return logits, state: the second is an AttentionDecoderState"
        raise CheckFailure("a step gives no new state", hint=in_words)
    hint = "hidden is what the cell returns, (batch, d_hidden)"
    assert_shape(new_state.hidden, state.hidden.shape, what="the new state", hint=hint)
    return logits, new_state


def sees_nothing(decoder, tokens, state, new_state):
    """Say whether a step came to the state to which a context of zeros leads."""
    y, width = decoder.embedding(tokens[:, 0]), state.memory.size(2)
    try:
        reached = decoder.cell(torch.cat([y, y.new_zeros(len(y), width)], dim=-1), state.hidden)
    except RuntimeError:  # the cell has another width
        return False
    return torch.allclose(reached, new_state.hidden, atol=1e-6)


def go_on(decoder, tokens, state):
    """Take a step, and go on by the decoder's parts where the state before it comes back."""
    hidden, mask = state.hidden.clone(), mask_for_query(state)
    logits, new_state = take_step(decoder, tokens, state)
    if not torch.equal(checked(new_state.hidden, hidden.shape, what="the new state"), hidden):
        return logits, new_state
    forgive("a step returns the state before it", OF_DECODER["state"])
    for y in decoder.embedding(tokens).unbind(dim=1):
        seen = decoder.attention(hidden[:, None], state.memory, mask, keys=state.keys)
        seen = checked(contexts_of(seen), (len(hidden), 1, state.memory.size(2)), what="context")
        hidden = decoder.cell(torch.cat([y, seen[:, 0]], dim=-1), hidden)
    parts = {name: getattr(state, name) for name in ("memory", "keys", "mask")}
    return logits, AttentionDecoderState(hidden=hidden, **parts)


# %% test="AttentionDecoder-start" points=1 read="bahdanau-attention#context-for-each-step"
# The decoder has its parts, and begins with a state made of the whole source
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
parts = "the docstring names the parts of the decoder, and says how wide each of them is"
assert_shape(decoder.embedding.weight, (11, 3), what="weight of embedding", hint=parts)
assert_shape(decoder.bridge.weight, (6, 6), what="weight of bridge", hint=parts)
assert_shape(decoder.output.weight, (11, 6 + 3 + 6), what="weight of output", hint=parts)
hint = "the attention is d_attention wide, and d_hidden where d_attention is None"
what = "score of attention, d_hidden wide"
assert_shape(decoder.attention.score.weight, (1, 6), what=what, hint=hint)
encoded = make_encoded(2, 5, 6)
assert_keeps_inputs(decoder.start, encoded, hint=in_place)
state = decoder.start(encoded)
from_context = "the first state is made from the context, by the bridge"
assert_shape(state.hidden, (2, 6), what="the first state", hint=from_context)
once = "the memory through attention.key_projection, once for all steps"
assert_shape(state.keys, (2, 5, 6), what="keys", hint=once)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 5, 6, 8, d_attention=3).to(device)
names = decoder.state_dict()
for name, shape in (
    ("embedding.weight", (7, 5)),
    ("bridge.weight", (6, 8)),
    ("bridge.bias", (6,)),
    ("attention.query_projection.weight", (3, 6)),
    ("attention.key_projection.weight", (3, 8)),
    ("attention.score.weight", (1, 3)),
    ("cell.input_projection.weight", (18, 13)),
    ("cell.hidden_projection.weight", (18, 6)),
    ("output.weight", (7, 19)),
    ("output.bias", (7,)),
):
    if name not in names:
        raise CheckFailure(f"{name} is not among the decoder's parameters", hint=parts)
    assert_shape(
        names[name], shape, what=name, hint=hint if name.startswith("attention") else parts
    )
if bool((names["embedding.weight"] == 0).all(dim=-1).any()):
    like_any = "id 0 is a token like any other: nn.Embedding without padding_idx"
    raise CheckFailure("a token's embedding is zero", hint=like_any)
score = AttentionDecoder(7, 5, 6, 8).attention.score.weight
what = "score of attention, d_hidden wide where nothing is said"
assert_shape(score, (1, 6), what=what, hint=hint)
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
encoded = make_encoded(3, 5, 6)
state = decoder.start(encoded)
bridged = decoder.bridge(encoded.context)
assert_close(
    state.hidden,
    torch.tanh(bridged),
    what="the first state",
    mistakes={
        "tanh is missing": bridged,
        "start from the context, not from zeros": torch.zeros(3, 6).to(device),
        "the context goes through the bridge": encoded.context,
        "start from the context, not from the mean of the memory": torch.tanh(
            decoder.bridge(encoded.memory.mean(dim=1))
        ),
        "start from the context, not from the last of the memory": torch.tanh(
            decoder.bridge(encoded.memory[:, -1])
        ),
    },
    hint=f"{from_context} and a tanh around it",
)
hint = "memory and mask go into the state as they are"
assert_close(state.memory, encoded.memory, what="memory of the first state", hint=hint)
assert_close(
    state.mask,
    encoded.mask,
    what="mask of the first state",
    mistakes={
        "the mask is inverted; take it as it is": ~encoded.mask,
        "the mask is that of the sources, which have padding": torch.ones_like(encoded.mask),
    },
    hint=hint,
)
assert_close(
    state.keys,
    decoder.attention.key_projection(encoded.memory),
    what="keys of the first state",
    hint=once,
    mistakes={"the keys are the memory, projected": encoded.memory},
)
alone = AttentionDecoder(7, 5, 6, 8, d_attention=3).to(device).start(make_encoded(1, 5, 8))
assert_shape(alone.hidden, (1, 6), what="the first state of a batch of one", hint=from_context)
assert_shape(alone.keys, (1, 5, 3), what="keys 3 wide", hint=once)
### END HIDDEN TESTS

# %% test="AttentionDecoder-state" points=1 read="bahdanau-attention#context-for-each-step"
# A step looks with the state before it and its keys, and gives the cell what it saw
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
state = fitting(decoder, make_state(decoder, 2, 5, 6, 6))
tokens = torch.tensor([[7], [0]]).to(device)
assert_keeps_inputs(decoder.step, tokens, state, hint=in_place)
logits, new_state = take_step(decoder, tokens, state, strict=True)
hint = "memory, keys and mask stay as they are: replace(state, hidden=...)"
assert_close(new_state.memory, state.memory, what="memory of the new state", hint=hint)


def context_from(decoder, query, state):
    """Return the context that the decoder's attention has for a query."""
    mask = mask_for_query(state)
    contexts = contexts_of(decoder.attention(query[:, None], state.memory, mask, keys=state.keys))
    assert_shape(contexts, (len(query), 1, state.memory.size(2)), what="context")
    return contexts[:, 0]


# The keys decide where to look: with others, a step comes to another state.
other = replace(state, keys=5 * state.keys.flip(1))
seen, seen_with_others = (context_from(decoder, s.hidden, s) for s in (state, other))
if torch.equal(seen, seen_with_others):
    forgive("the attention sees the same with other keys", *OF_ATTENTION.values())
else:
    _, new_with_others = take_step(decoder, tokens, other)
    if torch.equal(new_with_others.hidden, new_state.hidden):
        hint = "every step has its own context, by attention, from state.keys, which start has made"
        if torch.equal(new_state.hidden, state.hidden):
            hint = "this is the state before the step; return the new one"
        elif sees_nothing(decoder, tokens, state, new_state):
            hint = "no key is seen: hand state.mask on as it is, True means may attend"
        raise CheckFailure("with other keys a step comes to the same state", hint=hint)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
decoder.attention.load_state_dict(
    {name: 3 * tensor for name, tensor in decoder.attention.state_dict().items()}
)
state = fitting(decoder, make_state(decoder, 3, 5, 6, 6))
tokens = torch.randint(7, (3, 1)).to(device)
_, new_state = take_step(decoder, tokens, state, strict=True)
y = decoder.embedding(tokens[:, 0])
assert_shape(y, (3, 6), what="the embedding")
context = context_from(decoder, state.hidden, state)


def next_state(first, second, hidden=state.hidden):
    """Return the state after reading these, side by side."""
    return decoder.cell(torch.cat([first, second], dim=-1), hidden)


mean = state.memory.mean(dim=1)
assert_close(
    new_state.hidden,
    next_state(y, context),
    what="the new state",
    hint="the query is state.hidden; the cell reads [y; c], the embedding and then the context",
    mistakes={
        "the context comes after the embedding": next_state(context, y),
        "the query is the state, not the embedding": next_state(y, context_from(decoder, y, state)),
        "this is the state before the step; return the new one": state.hidden,
        "every step has its own context, by attention; this is the mean": next_state(y, mean),
        "the cell goes on from the state that is given": next_state(
            y, context, torch.zeros(3, 6).to(device)
        ),
    },
)
other = replace(state, keys=torch.randn(3, 5, 6).to(device))
_, new_with_others = take_step(decoder, tokens, other)
keys_hint = "hand state.keys to the attention: start makes them, once, and no step makes them again"
assert_close(
    new_with_others.hidden,
    next_state(y, context_from(decoder, state.hidden, other)),
    what="the new state with other keys",
    hint=keys_hint,
)
assert_keeps_inputs(decoder.step, tokens, state, hint=in_place)
for name in ("memory", "keys", "mask"):
    what = f"{name} of the new state"
    assert_close(getattr(new_state, name), getattr(state, name), what=what, hint=hint)
### END HIDDEN TESTS

# %% test="AttentionDecoder-logits" points=1 read="bahdanau-attention#context-for-each-step"
# The next token is scored from the new state, the last token and the context
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
state = fitting(decoder, make_state(decoder, 2, 5, 6, 6))
logits, new_state = take_step(decoder, torch.tensor([[7], [0]]).to(device), state)
hint = "one token in, the logits of one token out: (batch, 1, vocab_size)"
assert_shape(logits, (2, 1, 11), what="logits", hint=hint)


def assert_takes_one(decoder, vocab_size):
    """Take a step in a batch of one."""
    alone = fitting(decoder, make_state(decoder, 1, 5, 6, 6))
    try:
        logits, _ = take_step(decoder, torch.tensor([[2]]).to(device), alone)
    except RuntimeError as error:
        hint = "squeeze(1) takes away one dimension, squeeze() each that is 1, the batch too"
        raise CheckFailure("a batch of one is refused", hint=hint) from error
    assert_shape(logits, (1, 1, vocab_size), what="logits of a batch of one")


assert_takes_one(decoder, 11)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
decoder.attention.load_state_dict(
    {name: 3 * tensor for name, tensor in decoder.attention.state_dict().items()}
)
state = fitting(decoder, make_state(decoder, 3, 5, 6, 6))
tokens = torch.randint(7, (3, 1)).to(device)
logits, new_state = go_on(decoder, tokens, state)
y, new = decoder.embedding(tokens[:, 0]), new_state.hidden
assert_shape(y, (3, 6), what="the embedding")
hint = "the output layer reads [s; y; c], the new state, the embedding and the context"
assert_shape(decoder.output.weight, (7, 18), what="weight of output", hint=hint)


def look(query, keys=state.keys):
    """Return the context that a query gets."""
    mask = mask_for_query(state)
    contexts = contexts_of(decoder.attention(query[:, None], state.memory, mask, keys=keys))
    assert_shape(contexts, (3, 1, 6), what="context")
    return contexts[:, 0]


def reached_from(hidden, asked):
    """Return the state after this context; NaN where the cell has another width."""
    try:
        return decoder.cell(torch.cat([y, asked], dim=-1), hidden)
    except RuntimeError:
        return torch.full_like(new, math.nan)


def logits_of(*parts):
    """Return the logits that these vectors, side by side, lead to."""
    return F.linear(torch.cat(parts, dim=-1), decoder.output.weight, decoder.output.bias)[:, None]


context = look(state.hidden)
right_state = reached_from(state.hidden, context)
others = look(y), look(state.hidden, keys=state.memory), state.memory.mean(dim=1), 0 * context
for asked in others:
    reached = reached_from(state.hidden, asked)
    if reached.shape == new.shape and torch.allclose(reached, new, atol=1e-6):
        context = asked
        if not torch.allclose(right_state, new, atol=1e-6):
            forgive("a step asks for another context", OF_DECODER["state"])
expected = logits_of(new, y, context)
assert_close(
    logits,
    expected,
    what="logits",
    hint="the output layer reads [s; y; c], the new state, the embedding and the context; nothing "
    "comes after it",
    mistakes={
        "the output layer reads the old state; give it the new one": logits_of(
            state.hidden, y, context
        ),
        "look once, before the step: the same context for cell and output": logits_of(
            new, y, look(new)
        ),
        "the order is state, embedding, context": logits_of(y, context, new),
        "the order is state, embedding, then context": logits_of(new, context, y),
        "these are probabilities; return logits": torch.softmax(expected, dim=-1),
        "these are log-probabilities; return logits": torch.log_softmax(expected, dim=-1),
    },
)
assert_takes_one(decoder, 7)
hidden = state.hidden.clone().requires_grad_()
logits, _ = take_step(decoder, tokens, replace(state, hidden=hidden))
assert_shape(logits, (3, 1, 7), what="logits")
context = look(hidden)
by_hand = reached_from(hidden, context)
if by_hand.dtype != new.dtype or not torch.allclose(by_hand, new, atol=1e-5):
    forgive("a step comes to another state", OF_DECODER["state"])
else:
    upstream = torch.randn(3, 1, 7).to(device)
    slopes = []
    with unless_changed(decoder, tokens, state):
        for result in (logits, logits_of(by_hand, y, context)):
            if not result.requires_grad:
                raise CheckFailure("no gradient flows back", hint="detach() and no_grad() cut it")
            slopes += torch.autograd.grad((result * upstream).sum(), hidden, retain_graph=True)
        hint = "detach() cuts backpropagation through time"
        assert_close(slopes[0], slopes[1], what="gradient of the state", hint=hint)
### END HIDDEN TESTS

# %% test="AttentionDecoder-forward" points=1 read="bahdanau-attention#context-for-each-step"
# With teacher forcing each step reads the true token, and hands its state on
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
encoded = fitting(decoder, make_encoded(2, 5, 6))
tgt = torch.tensor([[1, 7, 7], [1, 4, 0]]).to(device)
logits, again = decoder(tgt, encoded), decoder(tgt, encoded)
hint = "the logits alone, (batch, tgt_len, vocab_size): a row for each token"
assert_shape(logits, (2, 3, 11), what="logits", hint=hint)
by_chance = "nothing is left to chance: this decoder has no dropout"
assert_close(again, logits, what="logits of a second call", hint=by_chance)
first, _ = take_step(decoder, torch.tensor([[1], [1]]).to(device), decoder.start(encoded))
hint = "begin with start(encoded); then step by step with tgt[:, t], handing the state on"
assert_close(logits[:, :1], first, what="logits of the first token", hint=hint)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
decoder.output.load_state_dict(
    {name: 3 * tensor for name, tensor in decoder.output.state_dict().items()}
)
encoded = fitting(decoder, make_encoded(3, 5, 6))
tgt = torch.randint(7, (3, 6)).to(device)
begin = decoder.start(encoded)


def by_steps(next_tokens, next_state=lambda old, new: new):
    """Return the logits of one step after another, and the last state."""
    tokens, state, logits = tgt[:, :1], begin, []
    for t in range(6):
        after, new = go_on(decoder, tokens, state)
        assert_shape(after, (3, 1, 7), what="logits of a step")
        logits.append(after)
        state = next_state(state, new)
        tokens = next_tokens(t + 1, after) if t < 5 else None
    return torch.cat(logits, dim=1), state


def the_true_one(t, logits):
    """Read the target, whatever the logits say."""
    return tgt[:, t : t + 1]


expected, last = by_steps(the_true_one)
if bool((expected == expected[:, :1]).all()):
    raise CheckFailure(
        "every step gives the same logits",
        hint="the output layer reads the new state, the embedding and the context",
    )
mistakes = {
    "each step reads its own guess; with teacher forcing it reads tgt[:, t]": by_steps(
        lambda t, logits: logits.argmax(-1)
    )[0],
    "each step starts from the first state; hand the new state on": by_steps(
        the_true_one, lambda old, new: old
    )[0],
    "each step reads the start token": by_steps(lambda t, logits: tgt[:, :1])[0],
    "the time goes backwards": expected.flip(1),
}
hint = "begin with start(encoded); then step by step with tgt[:, t], handing the state on"
logits, again = decoder(tgt, encoded), decoder(tgt, encoded)
assert_shape(logits, (3, 6, 7), what="logits", hint=hint)
assert_close(again, logits, what="logits of a second call", hint=by_chance)
assert_close(logits, expected, what="logits", hint=hint, mistakes=mistakes)
what = "logits in evaluation"
assert_close(decoder.eval()(tgt, encoded), expected, what=what, hint=hint, mistakes=mistakes)
decoder.train()
# Several tokens at once are several steps.
logits, state = go_on(decoder, tgt, begin)
what = "logits of one step of six tokens"
several = "a step may get several tokens that are known: read one after the other, and score all"
assert_shape(logits, expected.shape, what=what, hint=several)
assert_close(logits, expected, what=what, hint=several, mistakes=mistakes)
assert_close(state.hidden, last.hidden, what="the state after six tokens", hint=hint)


def slope_at_bridge(result):
    """Send a gradient back from a result, and say whether it reaches the bridge."""
    decoder.zero_grad()
    if result.requires_grad:
        (result * torch.randn(result.shape).to(device)).sum().backward()
    slope = decoder.bridge.weight.grad
    return slope is not None and bool(slope.abs().sum() > 0)


logits = decoder(tgt, encoded)
with unless_changed(decoder, tgt, begin):
    if not slope_at_bridge(decoder.start(encoded).hidden):
        forgive("the bridge has not made the first state", OF_DECODER["start"])
    elif not slope_at_bridge(logits[:, -1]):
        raise CheckFailure(
            "from the last step no gradient reaches the bridge",
            hint="detach() between two steps cuts backpropagation through time",
        )
# The encoder learns from the decoder: by the context, the keys and the averages of the memory.
encoded = replace(
    encoded, memory=encoded.memory.requires_grad_(), context=encoded.context.requires_grad_()
)
logits = decoder(tgt[:, :1], encoded)
assert_shape(logits, (3, 1, 7), what="logits of one token")


def from_parts(tokens):
    """Put the logits of one token together from the decoder's parts."""
    y, hidden = decoder.embedding(tokens[:, 0]), torch.tanh(decoder.bridge(encoded.context))
    mask = mask_for_query(encoded)
    try:
        keys = decoder.attention.key_projection(encoded.memory)
        seen = contexts_of(decoder.attention(hidden[:, None], encoded.memory, mask, keys=keys))
        assert_shape(seen, (3, 1, encoded.memory.size(2)), what="context")
        seen = seen[:, 0]
        hidden = decoder.cell(torch.cat([y, seen], dim=-1), hidden)
        return decoder.output(torch.cat([hidden, y, seen], dim=-1))[:, None]
    except RuntimeError:  # the parts have other widths
        return torch.full_like(logits, math.inf)


by_hand = from_parts(tgt[:, :1])
if by_hand.dtype != logits.dtype or not torch.allclose(by_hand, logits, atol=1e-5):
    of_a_step = [OF_DECODER[name] for name in OF_DECODER if name != "forward"]
    forgive("a step gives other logits", *of_a_step)
else:
    upstream = 9 * torch.randn(3, 1, 7).to(device)
    with unless_changed(decoder, tgt[:, :1], begin):
        slopes = []
        for result in (logits, by_hand):
            weighted, leaves = (result * upstream).sum(), (encoded.memory, encoded.context)
            found = torch.autograd.grad(weighted, leaves, allow_unused=True)
            pairs = zip(found, leaves, strict=True)
            slopes.append([torch.zeros_like(leaf) if g is None else g for g, leaf in pairs])
        hint = "memory and keys are taken as they are: detach() cuts the encoder's gradient"
        assert_close(slopes[0][0], slopes[1][0], what="gradient of the memory", hint=hint)
        if not bool(slopes[0][1].abs().sum() > 0):
            raise CheckFailure(
                "no gradient reaches the context",
                hint="detach() in start cuts it: the encoder learns by the context too",
            )
        assert_gradients_like(
            from_parts,
            lambda tokens: at_rest(decoder, tokens, encoded),
            {"tokens": tgt[:, :1]},
            modules={
                name: (getattr(decoder, name),) * 2
                for name in ("embedding", "attention", "cell", "output")
            },
        )
    decoder = AttentionDecoder(7, 5, 6, 8, d_attention=3).to(device)
    encoded = fitting(decoder, make_encoded(3, 5, 8))
    by_hand = from_parts(tgt[:, :1])
    if not bool(by_hand.isfinite().all()):
        forgive("the parts do not fit where all widths differ", OF_DECODER["start"])
    else:
        what, hint = "logits where all widths differ", "each part has its own widths"
        assert_close(decoder(tgt[:, :1], encoded), by_hand, what=what, hint=hint)
### END HIDDEN TESTS

# %% test="AttentionDecoder-weights" points=1 read="bahdanau-attention#alignment-heatmaps"
# The weights say where each step looked
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
encoded = make_encoded(2, 5, 6)
tgt = torch.tensor([[1, 7, 7], [1, 4, 0]]).to(device)
wants = "hand it state.mask, (batch, src_len), with a dimension more: (batch, 1, src_len)"


def with_weights(decoder, tgt, encoded):
    """Run your decoder, once its attention takes the mask that it is handed."""
    if fitting(decoder, encoded).mask.shape != encoded.mask.shape:
        raise CheckFailure("the attention refuses the mask that it is handed", hint=wants)
    return at_rest(decoder, tgt, encoded, return_weights=True)


result = with_weights(decoder, tgt, encoded)
a_row = "the weights come second: a row for each step, over the source"
logits, weights = pair_from(result, "logits, weights", None, (2, 3, 5), hint=a_row, strict=True)
begin = decoder.start(encoded)


def weights_at(decoder, state, mask, keys=None):
    """Return the weights that the attention has for the query of a state."""
    keys = state.keys if keys is None else keys
    result = decoder.attention(
        state.hidden[:, None], state.memory, mask, keys=keys, return_weights=True
    )
    batch, src_len, d_memory = state.memory.shape
    return pair_from(result, "contexts, weights", (batch, 1, d_memory), (batch, 1, src_len))[1]


def mask_of(state, encoded):
    """Return a state's mask, with which it looks."""
    fits = state.mask.dtype == torch.bool and state.mask.shape == encoded.mask.shape
    if not fits:
        forgive("the state has another mask", OF_DECODER["start"])
    return (state.mask if fits else encoded.mask)[:, None]


first = weights_at(decoder, begin, mask_of(begin, encoded))
_, after = go_on(decoder, tgt[:, :1], begin)
unmasked = weights_at(decoder, begin, None)
assert_close(
    weights[:, :1],
    first,
    what="weights of the first step",
    hint="row 0 is that of the first step, whose query is the first state",
    mistakes={
        "the query is the state before the step, not the one after it": weights_at(
            decoder, after, mask_of(after, encoded)
        ),
        f"the attention looks at padding; {wants}": unmasked,
        "the mask is inverted; hand it on as it is": weights_at(
            decoder, begin, ~mask_of(begin, encoded)
        ),
        "the memory stands for the keys; hand the attention state.keys": weights_at(
            decoder, begin, mask_of(begin, encoded), keys=begin.memory
        ),
    },
)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
decoder.attention.load_state_dict(
    {name: 3 * tensor for name, tensor in decoder.attention.state_dict().items()}
)
encoded = make_encoded(3, 5, 6)
tgt = torch.randint(7, (3, 6)).to(device)
result = with_weights(decoder, tgt, encoded)
logits, weights = pair_from(result, "logits, weights", None, (3, 6, 5), hint=a_row, strict=True)
state, rows = decoder.start(encoded), []
for t in range(7):
    rows.append(weights_at(decoder, state, mask_of(state, encoded)))
    if t < 6:
        _, state = go_on(decoder, tgt[:, t : t + 1], state)
rows = torch.cat(rows, dim=1)
seen = rows[rows != 0]
if bool((seen == seen[:1]).all()):
    hint = "state.mask is the one that start is handed: True means may be looked at"
    raise CheckFailure("nothing is looked at, or all alike, at every step", hint=hint)
assert_close(
    weights,
    rows[:, :6],
    what="weights",
    hint="row t holds the weights of step t, whose query is the state before it",
    mistakes={
        "one step too late: row t belongs to the state before step t": rows[:, 1:],
        "each row is that of the first step": rows[:, :1].expand(-1, 6, -1),
        "the rows stand the other way round": rows[:, :6].flip(1),
    },
)
alone = logits_of_all(at_rest(decoder, tgt, encoded))
hint = "return the logits first, the same as without return_weights"
assert_close(logits, alone, what="logits with return_weights", hint=hint)
one = "squeeze() takes away every dimension of 1: name the one that is meant"
for sizes in ((1, 6, 5), (3, 1, 5), (1, 6, 1)):  # (batch, tgt_len, src_len)
    batch, tgt_len, src_len = sizes
    alone = tgt[:batch, :tgt_len], make_encoded(batch, src_len, 6)
    try:
        result = with_weights(decoder, *alone)
    except (RuntimeError, ValueError):
        in_words = "where a size is 1 there is an error"
        forgive(in_words, OF_DECODER["start"], OF_DECODER["logits"])
        continue
    pair_from(result, "logits, weights", None, sizes, hint=one, strict=True)
first, second = (
    pair_from(decoder(tgt, encoded, return_weights=True), "logits, weights", None, (3, 6, 5))
    for _ in range(2)
)
if torch.allclose(first[0], second[0]):  # else the logits have been charged for it
    hint = "nothing is left to chance: return the weights as the attention gives them"
    assert_close(second[1], first[1], what="weights of a second call", hint=hint)
else:
    forgive("the logits of a second call are others", OF_DECODER["forward"])
### END HIDDEN TESTS

# %% test="AttentionDecoder-padding" points=1 read="bahdanau-attention#padding-in-attention"
# What stands in the memory at padding has no influence
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
encoded = make_encoded(2, 5, 6)
changed = Encoded(
    memory=torch.where(encoded.mask[:, :, None], encoded.memory, 9.0),
    context=encoded.context,
    mask=encoded.mask,
)
tgt = torch.tensor([[1, 7, 7], [1, 4, 0]]).to(device)
before, after = (
    logits_of_all(at_rest(decoder, tgt, fitting(decoder, e))) for e in (encoded, changed)
)
assert_shape(after, before.shape, what="logits")
hint = (
    "hand the attention state.mask with a "
    "dimension more, and let nothing but the attention and its keys read the memory"
)
if not looks_at_padding(decoder, encoded, changed):
    assert_close(after, before, what="logits after a change of padding", hint=hint)
### BEGIN HIDDEN TESTS
decoder = AttentionDecoder(7, 6, 6, 6).to(device)
encoded = make_encoded(4, 5, 6)
tgt = torch.randint(7, (4, 6)).to(device)
before = logits_of_all(at_rest(decoder, tgt, fitting(decoder, encoded)))
changed = Encoded(
    memory=torch.where(encoded.mask[:, :, None], encoded.memory, torch.randn(4, 5, 6).to(device)),
    context=encoded.context,
    mask=encoded.mask,
)
after = logits_of_all(at_rest(decoder, tgt, fitting(decoder, changed)))
assert_close(after, before, what="logits after a change of padding", hint=hint)
changed = Encoded(memory=encoded.memory + 1.0, context=encoded.context, mask=encoded.mask)
after = logits_of_all(at_rest(decoder, tgt, fitting(decoder, changed)))
assert_shape(after, before.shape, what="logits")
if after.dtype == before.dtype and torch.allclose(after, before):
    raise CheckFailure(
        "a change of the memory changes nothing", hint="each step looks at the memory"
    )
### END HIDDEN TESTS

# %% test="AttentionDecoder-errors" points=1 read="bahdanau-attention#bahdanau-common-mistakes"
# What does not fit is refused
decoder = AttentionDecoder(11, d_embedding=3, d_hidden=6, d_memory=6).to(device)
encoded = make_encoded(2, 5, 6)
hint = "the target's batch must be that of the sources: raise ValueError"
assert_raises(ValueError, decoder, torch.tensor([[1, 7]]).to(device), encoded, hint=hint)
### BEGIN HIDDEN TESTS
three = torch.ones(3, 2, dtype=torch.int64).to(device)
assert_raises(ValueError, decoder, three, encoded, hint=hint)
assert_raises(ValueError, decoder.step, three[:1], decoder.start(encoded), hint=hint)
none = torch.ones(2, 0, dtype=torch.int64).to(device)
hint = "without a token there is nothing to do: raise ValueError"
assert_raises(ValueError, decoder, none, encoded, hint=hint)
assert_raises(ValueError, decoder.step, none, decoder.start(encoded), hint=hint)
hint = "a size of 0 or less makes no sense: raise ValueError"
AttentionDecoder(1, 1, 1, 1)
for sizes in ((0, 3, 4, 6), (11, 0, 4, 6), (11, 3, 0, 6), (11, 3, 4, 0), (11, -3, 4, 6)):
    assert_raises(ValueError, AttentionDecoder, *sizes, hint=hint)
narrow = AttentionDecoder(11, 3, 4, 6, d_attention=2).attention.score.weight
if narrow.shape != (1, 2):
    forgive("d_attention is not the width of the attention", OF_DECODER["start"])
else:
    for width in (0, -2):
        assert_raises(ValueError, AttentionDecoder, 11, 3, 4, 6, d_attention=width, hint=hint)
if device == "cpu":  # a GPU would compute nothing more after such an error
    hint = "token ids go from 0 to vocab_size - 1: else IndexError, as nn.Embedding raises it"
    for token in (-1, 11):
        beyond = torch.tensor([[1], [token]])
        assert_raises(IndexError, decoder, beyond, encoded, hint=hint)
        assert_raises(IndexError, decoder.step, beyond, decoder.start(encoded), hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: did it look where it should?
#
# Weights make handsome pictures, and one sees in them what one hopes to see. Better to count. In
# [tasks with a known alignment](book:bahdanau-attention#known-alignments) the truth is at hand:
# each letter of a pig-latin word *is* one of the letters of the word, and we know which. The
# **alignment error** is the share of queries whose heaviest key is not the true one:
# [Alignment heatmaps](book:bahdanau-attention#alignment-heatmaps). Some queries have no true key:
# *ay* comes from nowhere. They are marked -1, and do not count.


# %% solution="alignment_error" withholds="course_lib.metrics.alignment.alignment_error course_lib.metrics.alignment.unaligned_attention"
def alignment_error(weights: Tensor, alignment: Tensor) -> float:
    """Return how often the largest weight lies elsewhere than at the true key.

    Args:
        weights: ``(batch, query_len, key_len)``, attention weights, as a decoder returns them:
            they may ask for gradients.
        alignment: ``(batch, query_len)``, int64: for each query the position of the key that it
            should attend to; -1 where there is none, which is not counted. It is not changed.

    Returns:
        Share of the queries that have a true key, 0 to 1; a float.

    Raises:
        ValueError: ``weights`` does not have three dimensions, ``alignment`` is not of their first
            two, or no query has a true key.
    """
    ### BEGIN SOLUTION
    if weights.dim() != 3 or alignment.shape != weights.shape[:2]:
        raise ValueError(f"{tuple(weights.shape)} and {tuple(alignment.shape)} do not fit")
    has_key = alignment >= 0
    if not has_key.any():
        raise ValueError("no query has a true key")
    wrong = weights.argmax(dim=-1) != alignment  # (batch, query_len)
    return float(wrong[has_key].double().mean())
    ### END SOLUTION


# %% test="alignment_error-values" points=1 read="bahdanau-attention#alignment-heatmaps"
# The error is the share of queries whose heaviest key is not the true one
weights = torch.tensor(
    [[[0.7, 0.2, 0.1, 0.0], [0.1, 0.3, 0.6, 0.0], [0.05, 0.5, 0.3, 0.15], [0.4, 0.3, 0.2, 0.1]]]
)
error = alignment_error(weights.to(device), torch.tensor([[0, 2, 0, 0]]).to(device))
assert_close(
    as_number(error, what="the error", hint="return a share, a float from 0 to 1"),
    torch.tensor(0.25),  # the third query looks at key 1, and should at key 0
    what="alignment error",
    mistakes={
        "this is the share of the right ones (or the lightest key is taken)": torch.tensor(0.75),
        "argmax over the keys, the last dimension; this is over the queries": torch.tensor(0.5),
        "this is the number of the wrong ones; divide by how many there are (or none is taken for "
        "right: argmax says which key is the heaviest)": torch.tensor(1.0),
        "this is a percentage; return a share, 0 to 1": torch.tensor(25.0),
        "this is the weight that lies elsewhere; count heaviest keys": torch.tensor(0.5625),
        "key 0 is a key like any other; only -1 does not count (or the share is cut to a whole "
        "number)": torch.tensor(0.0),
    },
    hint="each query has its heaviest key: which share of them is not the one in alignment?",
)
### BEGIN HIDDEN TESTS
weights = torch.softmax(3 * torch.randn(4, 6, 7), dim=-1).to(device)
weights[0, 1, 0] += 1.0  # key 0 is a key like any other
heaviest = weights.argmax(dim=-1)
wrong = torch.rand(4, 6) < torch.tensor([[0.1], [0.3], [0.5], [0.9]])
wrong[0, 0], wrong[0, 1], wrong[0, 2] = True, False, False
if int(wrong.sum()) == 12:  # half of them, the right share would be the same
    wrong[0, 2] = True
alignment = torch.where(wrong.to(device), heaviest % 6 + 1, heaviest)
expected = wrong.float().mean()
error = alignment_error(weights, alignment)
if type(error) is not float:
    raise CheckFailure(
        f"the error is of type {type(error).__name__}, expected float",
        hint="float(...) makes a number of a tensor",
    )
assert_close(
    as_number(error, what="the error", hint="return a share, a float from 0 to 1"),
    expected,
    what="alignment error",
    hint="argmax over the keys, the last dimension, held against the alignment",
    mistakes={
        "this is the share of the right ones": 1 - expected,
        "this is the number of the wrong ones; divide by how many there are": wrong.sum().float(),
        "this is a percentage; return a share, 0 to 1": 100 * expected,
        "rounded: return the share as it is": (100 * expected).round() / 100,
        "this is the weight that lies elsewhere; count heaviest keys": (
            1 - weights.gather(-1, alignment[..., None]).mean()
        ).cpu(),
        "key 0 is a key like any other; only -1 does not count": (
            wrong[alignment.cpu() > 0].float().mean()
        ),
    },
)
try:
    alignment_error(weights.clone().requires_grad_(), alignment)
except RuntimeError as error:
    hint = "what a decoder returns asks for gradients: detach() before numpy()"
    raise CheckFailure("weights that ask for gradients are refused", hint=hint) from error
strided = call_beside(call_strided, alignment_error, weights, alignment)
assert_close(
    as_number(strided, what="the error"),
    expected,
    what="alignment error of weights that are not contiguous",
    hint="view() needs contiguous tensors; reshape() does not",
)
### END HIDDEN TESTS

# %% test="alignment_error-uncounted" points=1 read="bahdanau-attention#alignment-heatmaps"
# Queries without a true key do not count
weights = torch.tensor(
    [[[0.7, 0.05, 0.15, 0.1], [0.1, 0.6, 0.15, 0.15], [0.2, 0.5, 0.3, 0.0], [0.4, 0.3, 0.2, 0.1]]]
).to(device)
of_two = torch.tensor([[[0.9, 0.1], [0.8, 0.2]]]).to(device)  # both look at key 0


def error_of(weights, *alignment):
    """Give your error, if it is a number; of turned weights, if they are read that way round."""
    if alignment_error(of_two, torch.tensor([[0, 1]]).to(device)) == 0:
        weights = weights.mT
        forgive("the weights are read the other way round", "alignment_error-values")
    error = alignment_error(weights, torch.tensor(alignment).to(device))
    return as_number(error, what="the error", hint="return a share, a float from 0 to 1")


# So your function gives the same as for the first two queries alone: if that is right, one half.
alone = error_of(weights[:, :2, :2], [1, 1])
mistakes = {}
if alone == 0.5:
    mistakes = {
        "what has no true key is counted as wrong": torch.tensor(0.75),
        "what has no true key is counted as right": torch.tensor(0.25),
    }
hint = "divide by how many queries have a true key"
actual = error_of(weights, [1, 1, -1, -1])
assert_close(actual, alone, what="alignment error", mistakes=mistakes, hint=hint)
### BEGIN HIDDEN TESTS
# Two rows with different numbers of queries that count: 1 of 1, and 1 of 4, after one without key.
heaviest = [*(1 + torch.randperm(3)).tolist(), 0, 4]
weights = torch.softmax(3 * torch.eye(5)[heaviest], dim=-1).to(device)[None]
true = [*heaviest]
true[0] = (true[0] + 1) % 5
alone = error_of(torch.cat([weights[:, :1], weights[:, :4]], dim=1), [true[0], *true[:4]])
lightest = weights[0, :4, :4].argmin(dim=-1).tolist()
if error_of(weights[:, :4, :4], lightest) == error_of(weights[:, :4, :4], heaviest[:4]):
    raise CheckFailure("what is right and what is wrong gives the same error", hint=hint)
if torch.isclose(alone, torch.tensor(0.4)):
    mistakes = {
        "what has no true key is counted as wrong": torch.tensor(0.7),
        "what has no true key is counted as right": torch.tensor(0.2),
        "this is the mean over sentences; each query counts alike": torch.tensor(0.625),
        "what stands behind a query without a true key counts, too": torch.tensor(1.0),
    }
two = torch.cat([weights, weights.roll(1, dims=1)])
actual = error_of(two, [true[0], -1, -1, -1, -1], [-1, *true[:4]])
if alone == 2 and actual == 1:
    alone = actual
    forgive("this is how many are wrong, in each sentence", "alignment_error-values")
assert_close(actual, alone, what="alignment error", hint=hint, mistakes=mistakes)
### END HIDDEN TESTS

# %% test="alignment_error-errors" points=1 read="bahdanau-attention#alignment-heatmaps"
# What does not fit is refused, and what is given is left as it is
weights = torch.softmax(torch.randn(2, 4, 4), dim=-1).to(device)
nowhere = torch.full((2, 4), -1).to(device)
hint = "where nothing has a true key there is no share: raise ValueError, not NaN"
assert_raises(ValueError, alignment_error, weights, nowhere, hint=hint)
assert_keeps_inputs(alignment_error, weights, torch.tensor([[0, 1, -1, -1]] * 2).to(device))
### BEGIN HIDDEN TESTS
nowhere = torch.full((1, 1), -1).to(device)
assert_raises(ValueError, alignment_error, weights[:1, :1], nowhere, hint=hint)
hint = "alignment must be (batch, query_len) of the weights: raise ValueError for anything else"
alignment = torch.randint(4, (2, 4)).to(device)
assert_raises(ValueError, alignment_error, weights, alignment[:, :3], hint=hint)
assert_raises(ValueError, alignment_error, weights, alignment[:1], hint=hint)
for unfit in (alignment[0], alignment[:, :, None]):
    assert_raises(ValueError, alignment_error, weights, unfit, hint=hint)
hint = "weights must have three dimensions, (batch, query_len, key_len): else raise ValueError"
for row in (alignment[0], alignment.repeat(2, 1)):
    assert_raises(ValueError, alignment_error, weights[0], row, hint=hint)
assert_keeps_inputs(alignment_error, weights, alignment)
assert_keeps_inputs(alignment_error, weights, torch.tensor([[0, 1, -1, -1]] * 2).to(device))
try:
    alignment_error(weights, torch.tensor([[0, 1, -1, -1], [-1, -1, -1, -1]]).to(device))
except ValueError as error:
    hint = "raise ValueError only where no query of any sentence has a true key"
    raise CheckFailure("a sentence without a true key is refused", hint=hint) from error
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: read a picture
#
# Run the last cell first: it draws the picture that the question is about. The chapter reads such
# pictures in [Alignment heatmaps](book:bahdanau-attention#alignment-heatmaps), and tests what they
# say in [The word next door](book:bahdanau-attention#next-door).

# %% [markdown] written="reading-the-picture" points=3 read="bahdanau-attention#alignment-heatmaps"
# ### What the picture says, and what it does not
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
# measures that. Weights say where the network looked, not what it used: the memory at a letter
# knows its neighbours too, since the encoder has read both ways, and the state may know the answer
# already. To test it, change or remove the memory at that place (hide it by the mask, or put in
# that of another letter), leave the rest as it is, and see whether the output changes; do the same
# at a place without weight, for comparison.
#
# **Marking guide**, one point each:
#
# 1. *Description*: diagonal from the first vowel, jump to the front, and something true about the
#    rows without a true letter. Half a point without those rows.
# 2. *What is not counted*: sharpness, spread, second-best keys, or the rows without a true key;
#    with a measure (misplaced weight, entropy, ...). Half a point without a measure.
# 3. *Experiment*: an intervention on memory or mask at that place and a comparison of outputs.
#    "Look at more pictures" earns nothing; half a point for an intervention without a comparison.
#
# A picture that differs from ours is no mistake: what is described must be what is drawn.
# ### END SOLUTION

# %% [markdown]
# ## And now: pig latin
#
# Below, an encoder of the course reads a word letter by letter, and your decoder writes it in pig
# latin. It trains on words that are made up at random, such as *strouf* and *nabe*; nobody tells it
# which letters are vowels, or that there is a rule. It takes about twenty seconds, or a minute on a
# busy machine. The frames in the picture are the truth.
#
# Afterwards, add a cell of your own and call `translate("...")` with your own name, or with any
# word of up to ten small letters. What does it do with *rhythm*, which has no vowel?

# %% demo="delight"
import random

import matplotlib.pyplot as plt

from course_lib.models.seq2seq import RecurrentEncoder

LETTERS = ".!abcdefghijklmnopqrstuvwxyz"  # "." begins a word, "!" ends it
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


def make_up_word(dice):
    """Make up a word that one could pronounce, more or less."""
    word = "".join(dice.choices(CONSONANTS, k=dice.choice([0, 1, 1, 1, 2, 2, 3])))
    for _ in range(dice.randint(1, 3)):
        word += "".join(dice.choices(VOWELS, k=dice.choice([1, 1, 2])))
        word += "".join(dice.choices(CONSONANTS, k=dice.choice([1, 1, 2])))
    return (word + dice.choice(VOWELS) * (dice.random() < 0.4))[:10]


def pig_latin(word):
    """Return the word in pig latin, and for each letter where it comes from: the truth."""
    front = next((i for i, letter in enumerate(word) if letter in VOWELS), 0)
    origin = [*range(front, len(word)), *range(front)]
    return "".join(word[i] for i in origin) + "ay!", [*origin, -1, -1, -1]


def as_batch(words):
    """Return sources, their lengths, what was written before, targets and the true alignment."""
    pad = nn.utils.rnn.pad_sequence
    ids = [torch.tensor([LETTERS.index(letter) for letter in word]) for word in words]
    truths = [pig_latin(word) for word in words]
    written = [torch.tensor([LETTERS.index(letter) for letter in text]) for text, _ in truths]
    tgt = pad(written, batch_first=True, padding_value=-100)
    alignment = pad([torch.tensor(origin) for _, origin in truths], True, padding_value=-1)
    before = torch.cat([torch.zeros(len(words), 1).long(), tgt[:, :-1].clamp(min=1)], dim=1)
    return pad(ids, True), torch.tensor([len(word) for word in words]), before, tgt, alignment


torch.manual_seed(0)
dice = random.Random(0)
encoder = RecurrentEncoder(len(LETTERS), d_embedding=24, d_hidden=48)
decoder = AttentionDecoder(len(LETTERS), d_embedding=24, d_hidden=48, d_memory=96)
parameters = [*encoder.parameters(), *decoder.parameters()]
steps = 400
optimizer = torch.optim.Adam(parameters)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.015, total_steps=steps)
for step in range(steps):
    src, lengths, before, tgt, _ = as_batch([make_up_word(dice) for _ in range(64)])
    logits = decoder(before, encoder(src, lengths))
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())  # -100 does not count
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    schedule.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.4f} nats a letter")


@torch.no_grad()
def translate(word):
    """Write a word in pig latin, and draw where the network looks while it writes each letter."""
    src = torch.tensor([[LETTERS.index(letter) for letter in word]])
    state, token, written, rows = decoder.start(encoder(src)), torch.tensor([[0]]), "", []
    while not written.endswith("!") and len(written) < len(word) + 6:
        _, row = decoder.attention(
            state.hidden[:, None], state.memory, keys=state.keys, return_weights=True
        )
        rows.append(row[0, 0])
        logits, state = decoder.step(token, state)
        token = logits.argmax(dim=-1)
        written += LETTERS[int(token)]
    print(f"{word}  ->  {written.rstrip('!')}")
    figure, axes = plt.subplots(figsize=(0.8 + 0.4 * len(word), 0.5 + 0.4 * len(written)))
    axes.imshow(torch.stack(rows), cmap="Blues", vmin=0, vmax=1)
    for t, origin in enumerate(pig_latin(word)[1][: len(written)]):
        if origin >= 0:
            axes.add_patch(plt.Rectangle((origin - 0.45, t - 0.45), 0.9, 0.9, fill=False))
    axes.set_xticks(range(len(word)), list(word))
    axes.set_yticks(range(len(written)), list(written.replace("!", "·")))
    axes.set_xlabel("letter that is read")
    axes.set_ylabel("letter that is written")
    plt.show()


with torch.no_grad():
    unseen = [make_up_word(random.Random(10**6 + i)) for i in range(200)]
    src, lengths, before, tgt, alignment = as_batch(unseen)
    logits, weights = decoder(before, encoder(src, lengths), return_weights=True)
right = int(((logits.argmax(dim=-1) == tgt) | (tgt < 0)).all(dim=1).sum())
error = alignment_error(weights, alignment)
print(f"\n{right} of 200 words right; it looks elsewhere in {error:.1%} of the letters\n")
for word in ("banana", "school"):
    translate(word)
