# %% [markdown]
# # Homework 3: Self-attention
#
# A message has reached you, last letter first:
#
# ```
# DEEN UOY LLA
# ```
#
# You read it at once, because your eyes may jump to any letter. A recurrent network may not: it
# meets the letters one by one, and by the time it may answer, the first one is twelve steps away.
# **Attention gives a network eyes that jump.** Here you write it yourself, from four small pieces,
# and in the last cell a network that stands on *your* code learns to read mirror writing, and shows
# you where it looks.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `scaled_dot_product_attention`: who listens to whom, and how much | 8 |
# | 2 | `causal_mask` and `padding_mask`: who must not listen to whom | 4 |
# | 3 | `MultiHeadAttention`: several attentions side by side | 7 |
# | 4 | a question, answered in words | 3 |
#
# **Time:** about two hours if you have read the chapter [Self-attention](book:self-attention);
# part 1 takes half of it. Nothing here needs a GPU.
#
# **Afterwards you can** write attention from its formula, say what each line is for, mask it
# without a NaN, split it into heads without mixing them up, and recognise the usual mistakes by
# what they do.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, masks, errors. You may add cells, and functions and methods of your own.
# - The test cells check one thing each, and each is worth its own points. Run them as often as you
#   like; one that passes says so, one that fails says first what is wrong, and mostly gives a
#   hint, or shows the error that your own code raised. Long ones are folded: a click opens them.
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
# **The rule of this homework:** what you hand in is yours. The chapter has the library's own pieces
# behind a line that you may open; you learn more if you look when yours passes. Your copy of
# `course_lib` leaves them out, and work that leads to them loses the points of its tests.
#
# **If you are stuck,** print shapes. Nearly every mistake in attention is a dimension in the wrong
# place. Then look at [Common mistakes](book:self-attention#common-mistakes) in the chapter.

# %% setup="imports"
import itertools
import math
import os
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import as_pair, checked
from course_lib.gradient_checks import assert_gradients, assert_slopes, take_gradients
from course_lib.layers.masks import check_mask
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_keeps_inputs,
    assert_raises,
    assert_rows_sum_to_one,
    assert_shape,
    attributes,
    call_beside,
    call_each,
    call_strided,
    call_without_dropout,
    forgive,
)

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end
output_and_weights = partial(
    as_pair, summary="return_weights=True should give a pair", hint="return output, weights"
)


SHAPE = "scaled_dot_product_attention-shape"
VALUES = "scaled_dot_product_attention-values"
SCALING = "scaled_dot_product_attention-scaling"
OF_LAYER = {
    name: f"MultiHeadAttention-{name}" for name in ("parameters", "shape", "projections", "values")
}


def attend(function, query, key, value, mask=None, *, return_weights=False):
    """Call your attention, and put right what its first test alone looks at.

    That is which part of a pair comes first, weights that are not returned, a dimension too many,
    sizes that only fit each other where there is a single query, and keys that are turned round
    with their batch.
    """
    try:
        result = function(query, key, value, mask, return_weights=return_weights)
    except RuntimeError as error:
        several = query.dim() == 3 and query.shape[:2] != (1, 1)
        if several and "must match the size of tensor" in str(error):
            forgive("sizes that only fit each other where there is a single query", SHAPE)
            return one_by_one(function, query, key, value, mask, return_weights)
        turned = "Expected size for first two dimensions", "shapes cannot be multiplied"
        if query.dim() == 3 and any(words in str(error) for words in turned):
            forgive("keys that are turned round with their batch", SHAPE)
            return without_batch(function, query, key, value, mask, return_weights)
        raise
    return put_right(function, result, query, key, value, mask, return_weights=return_weights)


def put_right(function, result, query, key, value, mask=None, *, return_weights=False):
    """Put right in a result what the first test alone looks at; see ``attend``."""
    if not return_weights:
        if isinstance(result, tuple | list) and result:
            forgive("a pair where the output alone was asked for", SHAPE)
        output = result[0] if isinstance(result, tuple | list) and result else result
        return without_ones(output, (*query.shape[:-1], value.size(-1)))
    if isinstance(result, Tensor):  # where values are the rows of 1 in an identity, so are weights
        forgive("the output alone where the weights were asked for too", SHAPE)
        eye = torch.eye(key.size(-2)).to(value).expand(*key.shape[:-1], key.size(-2))
        return result, attend(function, query, key, eye, mask)
    output, weights = output_and_weights(result)
    of_output, of_weights = value.shape[-1:], key.shape[-2:-1]  # how wide a row of each is
    all_tensors = isinstance(output, Tensor) and isinstance(weights, Tensor)
    turned = all_tensors and (output.shape[-1:], weights.shape[-1:]) == (of_weights, of_output)
    if turned and of_weights != of_output:
        forgive("the weights come before the output", SHAPE)
        output, weights = weights, output
    return without_ones(output, (*query.shape[:-1], *of_output)), weights


def all_at_once(function, calls, *, mend, alone):
    """Call a function of yours with each of these in one question, as each takes its time.

    What comes is mended; where there is an error, each is asked alone: the first comes first.
    """
    calls = [(tuple(each.clone() for each in given), how) for given, how in calls]
    try:
        results = call_beside(call_each, function, calls)
    except Exception:
        return (alone(function, *given, **how) for given, how in calls)
    pairs = zip(results, calls, strict=True)
    return [mend(function, result, *given, **how) for result, (given, how) in pairs]


def attend_each(function, *calls):
    """Call your attention with each of these, see ``attend``."""
    return all_at_once(function, calls, mend=put_right, alone=attend)


def usual_weights(scores):
    """Name the usual mistakes in a softmax over the keys, and the weights that each leads to."""
    exponentials = scores.exp()
    sum_of = "each exp(score) is divided by the sum over its query's keys"
    return {
        "the softmax runs over the queries; it belongs over the keys, the last dimension": (
            torch.softmax(scores, dim=-2)
        ),
        "the softmax runs over dimension 0; the keys are the last": torch.softmax(scores, dim=0),
        "these are the scores; the softmax is missing": scores,
        "exp is missing: exp(score) is divided by the sum of exp(score), not score by score": (
            scores / scores.sum(-1, keepdim=True)
        ),
        f"the sum is missing: {sum_of}": exponentials,
        f"the sum runs over all queries too: {sum_of}": (
            exponentials / exponentials.sum((-2, -1), keepdim=True)
        ),
        "each row of weights sums to 1, not all of them together": exponentials
        / exponentials.sum(),
        "these are log-probabilities; the weights are a softmax": scores.log_softmax(dim=-1),
        "this is the sigmoid; the softmax belongs there": torch.sigmoid(scores),
    }


def assert_hides(function, query, key, value, mask):
    """Check a mask where it meets no softmax: what is hidden changes nothing, all else does."""
    forgive("the weights are no softmax of the scores", VALUES, SCALING)
    output = attend(function, query, key, value, mask)
    seen = mask.reshape(-1, mask.size(-1))[0][:, None]  # it is the same for all queries
    others, visible = (
        [torch.where(kept, each, each + 1.0) for each in (key, value)] for kept in (seen, ~seen)
    )
    after = attend(function, query, *others, mask)
    elsewhere = attend(function, query, *visible, mask)
    hint = (
        "a hidden score counts for nothing, whatever its key and its value: True means may attend"
    )
    shape = (*query.shape[:-1], value.size(-1))
    checked(output, shape, what="output with a mask", hint=hint)
    assert_close(after, output, what="output after a change of what is hidden", hint=hint)
    checked(elsewhere, shape, what="output after a change of what is seen", hint=hint)
    if bool(output.any()) and torch.allclose(elsewhere, output):  # scores by their sum: 0 by -inf
        raise CheckFailure("a change of what may be attended to changes nothing", hint=hint)
    if torch.allclose(output, attend(function, query, key, value)):
        raise CheckFailure("the mask changes nothing", hint=hint)
    again = attend(function, query, key, value, mask)
    assert_close(again, output, what="output with the same mask once more", hint=hint)


def without_ones(output, shape):
    """Take away dimensions of 1 that are too many."""
    sizes = [*getattr(output, "shape", ())]
    others, wanted = ([size for size in each if size != 1] for each in (sizes, shape))
    if len(sizes) <= len(shape) or others != wanted:
        return output
    forgive("a dimension of 1 is too many", SHAPE)
    return output.reshape(shape)


def without_batch(function, query, key, value, mask, return_weights):
    """Call your attention with each sequence by itself, without a batch, and stack what comes."""
    masks = [None] * len(query) if mask is None else mask.expand(len(query), -1, -1)
    rows = zip(query, key, value, masks, strict=True)
    results = [attend(function, *row, return_weights=return_weights) for row in rows]
    if return_weights:
        return tuple(torch.stack(parts) for parts in zip(*results, strict=True))
    return torch.stack(results)


def one_by_one(function, query, key, value, mask, return_weights):
    """Call your attention with each query by itself."""
    if mask is not None:
        mask = mask.expand(*query.shape[:2], key.size(1))
    rows = []
    for b, i in itertools.product(range(len(query)), range(query.size(1))):
        hidden = None if mask is None else mask[b : b + 1, i : i + 1]
        asked = (query[b : b + 1, i : i + 1], key[b : b + 1], value[b : b + 1], hidden)
        rows.append(attend(function, *asked, return_weights=return_weights))
    parts = zip(*rows, strict=True) if return_weights else [rows]
    joined = [torch.cat(list(part)).view(*query.shape[:2], -1) for part in parts]
    return tuple(joined) if return_weights else joined[0]


def ask(layer, query, key, value, *mask, **how):
    """Call your layer; where view() refuses what transpose() has turned, with one query at a time.

    That refusal, a batch that comes second, or dropout, which is switched off here, costs the
    points of one test alone, which calls the layer itself.
    """
    try:
        result = call_beside(call_without_dropout, layer, query, key, value, *mask, **how)
        return batch_first(layer, result, query, **how)
    except RuntimeError as error:
        if "view size is not compatible" not in str(error) or query.size(1) == 1:
            raise
    forgive("view() refuses what transpose() has turned", OF_LAYER["shape"])
    results = []
    for i in range(query.size(1)):
        rows = (each[:, :, i : i + 1] if each.size(2) > 1 else each for each in mask)
        results.append(ask(layer, query[:, i : i + 1], key, value, *rows, **how))
    if not how:
        return torch.cat(results, dim=1)
    outputs, weights = zip(*map(output_and_weights, results), strict=True)
    return torch.cat(outputs, dim=1), torch.cat(weights, dim=2)


def batch_first(layer, result, query, *others, **how):
    """Turn an output of your layer whose batch comes second."""
    turned = (query.size(1), query.size(0), query.size(2))
    if how or getattr(result, "shape", None) != turned:
        return result
    forgive("the batch comes second", OF_LAYER["shape"])
    return result.transpose(0, 1)


def ask_each(layer, *calls):
    """Call your layer with each of these, see ``ask``."""
    return all_at_once(layer, calls, mend=batch_first, alone=ask)


def expected_or(actual, expected, *others, mistake, paid_in):
    """Give what is expected; or, if it came, a mistake that other tests charge."""
    if not isinstance(actual, Tensor) or actual.shape != expected.shape:
        return expected
    near = (x for x in (expected, *others) if torch.allclose(actual, x, rtol=1e-4, atol=1e-5))
    nearest = next(near, expected)
    if nearest is not expected:
        forgive(mistake, *paid_in)
    return nearest


no_softmax = {"mistake": "the weights are no softmax of the scores", "paid_in": [VALUES]}
added_query = {"mistake": "the query is added", "paid_in": [OF_LAYER["projections"]]}
exchanged_parts = {
    "mistake": "query, key or value goes where it does not belong, or through another projection",
    "paid_in": [OF_LAYER["projections"], OF_LAYER["values"]],
}


def on_device(layer):
    """Move your layer to where the tests put their tensors."""
    return layer if device == "cpu" else layer.to(device)


PROJECTIONS = [f"{name}_projection" for name in ("query", "key", "value", "output")]


def parts_of(layer):
    """Give the weights and biases that the projections of your layer have, by their names."""
    parts = [f"{name}.{part}" for name in PROJECTIONS for part in ("weight", "bias")]
    return call_beside(attributes, layer, *parts)


def with_own_projections(layer):
    """Give each projection of your layer weights of its own."""
    found = parts_of(layer)
    weights = {name: found[f"{name}.weight"] for name in PROJECTIONS if f"{name}.weight" in found}
    for first, second in itertools.combinations(weights, 2):
        if torch.equal(weights[first], weights[second]):
            forgive("two projections have the same weights", OF_LAYER["parameters"])
            sizes, has_bias = weights[second].shape, f"{second}.bias" in found
            new = call_beside(nn.Linear, *sizes, bias=has_bias, beside=layer).to(device)
            call_beside(setattr, layer, second, new)
            weights[second] = new.weight
    return layer


def copy_weights(reference, student):
    """Give your layer the weights of ours. What yours lacks is zero in ours."""
    own, state = student.state_dict(), reference.state_dict()
    if not state.keys() <= own.keys():
        forgive("parameters are missing", OF_LAYER["parameters"])
    state = {name: state[name] if name in own else 0 * state[name] for name in state}
    reference.load_state_dict(state)
    student.load_state_dict({name: state[name] for name in own if name in state})


# %% [markdown]
# ## Part 1: scaled dot-product attention
#
# Each **query** asks something, each **key** says what there is to be found, each **value** is what
# you get. The larger the dot product of a query and a key, the better they fit:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# The chapter derives it in [The matrix form](book:self-attention#the-matrix-form) and
# [Why divide by $\sqrt{d_k}$?](book:self-attention#scaling); $d_k$ is `head_dim` in the code.
#
# Four things to keep in mind:
#
# - `query` may have fewer or more rows than `key`, and there may be any number of dimensions before
#   the last two. `key.transpose(-2, -1)` does not care, `key.T` does.
# - The weights of *one query over all keys* are what sums to 1. Scores may be large, and in float32
#   the exp of 89 is infinite: `torch.softmax` subtracts each query's largest score first.
# - A mask acts on the scores, **before** the softmax: see
#   [Masks in attention](book:self-attention#masks-in-attention). True means *may attend*. For what
#   is no mask there is `check_mask`, imported above: handed a mask and the shape of the scores, it
#   raises the errors that the docstring promises for masks. `min_dims=2` lets leading dimensions be
#   left out. Widths and lengths that do not fit each other are for you to refuse.
# - A query that may attend to nothing has a row of $-\infty$ alone, whose softmax is NaN. The
#   docstring says what belongs there instead. No NaN may come back with the gradient either:
#   `masked_fill` and `torch.where` stop it there, adding $-\infty$ to the scores does not.
#
# You may write out the formula, or call PyTorch's own `F.scaled_dot_product_attention` where it
# helps. It does not hand out weights, so the formula is needed anyway.

# %% solution="scaled_dot_product_attention" of="course_lib.layers.attention"

# %% test="scaled_dot_product_attention-shape" points=1 read="self-attention#the-matrix-form"
# There is one output row for each query, as wide as a value
query = torch.randn(3, 2, 4).to(device)  # two queries
key = torch.randn(3, 5, 4).to(device)  # five keys
value = torch.randn(3, 5, 6).to(device)  # five values, six numbers wide


def in_batch(query, key, value, **how):
    """Call your attention; where a batch is refused and each sequence by itself is not, say so."""
    try:
        return scaled_dot_product_attention(query.clone(), key.clone(), value.clone(), **how)
    except RuntimeError as error:
        try:
            scaled_dot_product_attention(*(each.flatten(0, -3)[0] for each in (query, key, value)))
        except Exception:
            raise error from None
        hint = "key.transpose(-2, -1) turns the last two dimensions, key.T turns all of them round"
        raise CheckFailure("a batch is refused, a single sequence is not", hint=hint) from error


output = in_batch(query, key, value)
assert_shape(output, (3, 2, 6), what="output", hint="without return_weights, return one tensor")
output, _ = output_and_weights(in_batch(query, key, value, return_weights=True))
in_order = "return the output first, then the weights"
assert_shape(output, (3, 2, 6), what="output with return_weights", hint=in_order)
### BEGIN HIDDEN TESTS
query, key = torch.randn(3, 4, 2, 8).to(device), torch.randn(3, 4, 7, 8).to(device)
value = torch.randn(3, 4, 7, 5).to(device)
hint = "use transpose(-2, -1): there may be any number of dimensions before the last two"
output = in_batch(query, key, value)
assert_shape(output, (3, 4, 2, 5), what="output", hint=hint)
output, weights = output_and_weights(in_batch(query, key, value, return_weights=True))
assert_shape(output, (3, 4, 2, 5), what="output with return_weights", hint=in_order)
assert_shape(weights, (3, 4, 2, 7), what="weights", hint="a weight for each query and each key")
_, rows = attend(scaled_dot_product_attention, query[0], key[0], value[0], return_weights=True)
total = checked(rows, (4, 2, 7), what="weights").sum(dim=-1)
if not torch.allclose(total, torch.ones_like(total)):
    forgive("the weights do not sum to 1", VALUES, SCALING)
else:
    alone = scaled_dot_product_attention(query[1, 2].clone(), key[1, 2].clone(), value[1, 2])
    checked(alone, (2, 5), what="output without leading dimensions")
    what = "output of one sequence out of many"
    hint = "keys are the last dimension of the scores: count dimensions from the end"
    output = scaled_dot_product_attention(query.clone(), key.clone(), value.clone())
    assert_close(output[1, 2], alone, what=what, hint=hint)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-values" points=1 read="self-attention#the-matrix-form"
# The output averages the values by the softmax of the scores (head_dim 1: nothing to scale)
query = torch.tensor([[[1.0]]]).to(device)  # (batch, query_len, head_dim), all three 1
key = torch.tensor([[[math.log(3.0)], [0.0]]]).to(device)
value = torch.tensor([[[8.0], [2.0]]]).to(device)
# The scores are log 3 and 0, so the weights are 3/4 and 1/4, and the output 6 + 1/2.
usual = {words: weights @ value for words, weights in usual_weights(query @ key.mT).items()}
assert_close(
    attend(scaled_dot_product_attention, query, key, value),
    torch.tensor([[[6.5]]]).to(device),
    what="output",
    mistakes={
        "the softmax runs over the queries, or over all there is; it belongs over the keys, the "
        "last dimension": torch.tensor([[[10.0]]]).to(device),
        **usual,
        "divided by the root of key_len; take that of head_dim": torch.tensor([[[6.109990]]]).to(
            device
        ),
    },
    hint="the output is one tensor: for each query, the softmax of its scores over the keys says "
    "how much of each value",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import (
    scaled_dot_product_attention as reference_attention,
)

query, key = torch.randn(3, 4, 1).to(device), torch.randn(3, 5, 1).to(device)
value = torch.randn(3, 5, 1).to(device)
expected, expected_weights = reference_attention(query, key, value, return_weights=True)
scores = query @ key.transpose(-2, -1)
output, weights = output_and_weights(
    attend(scaled_dot_product_attention, query, key, value, return_weights=True)
)
assert_close(
    weights,
    expected_weights,
    what="weights",
    mistakes={
        **usual_weights(scores),
        "divided by the root of query_len; take that of head_dim": torch.softmax(
            scores / 4**0.5, dim=-1
        ),
        "divided by the root of key_len; take that of head_dim": torch.softmax(
            scores / 5**0.5, dim=-1
        ),
        "the output comes first, then the weights": expected,
    },
    hint="the softmax over the keys of q . k / sqrt(head_dim); head_dim is 1 here",
)
mistakes = {words: weights @ value for words, weights in usual_weights(scores).items()}
hint = "the output is weights @ value"
assert_close(output, expected, what="output with return_weights", mistakes=mistakes, hint=hint)
output = attend(scaled_dot_product_attention, query, key, value)
hint = "without return_weights, return the same output, and nothing else"
assert_close(output, expected, what="output without return_weights", mistakes=mistakes, hint=hint)
# Far from 0, scores make the same weights: 3/4 and 1/4 of 8 and 2, and the other way round.
query = torch.tensor([[[1.0], [-1.0]]]).to(device)
key = torch.tensor([[[200.0 + math.log(3.0)], [200.0]]]).to(device)
value = torch.tensor([[[8.0], [2.0]]]).to(device)
expected = torch.tensor([[[6.5], [3.5]]]).to(device)
pair = attend(scaled_dot_product_attention, query, key, value, return_weights=True)
alone = attend(scaled_dot_product_attention, query, key, value)
hint = (
    "the exp of a large score is inf, and that of a low one 0: subtract each query's largest score "
    "first, or call torch.softmax, which does so"
)
for what, output in (("output with return_weights", pair[0]), ("output", alone)):
    assert_close(output, expected, what=f"{what} where scores are far from 0", hint=hint)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-scaling" points=1 read="self-attention#scaling"
# The scores are divided by the square root of head_dim
size = math.sqrt(math.log(3.0) / 2)
query = size * torch.tensor([[[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]]]).to(device)
key = query.clone()
value = torch.tensor([[[8.0], [4.0]]]).to(device)
# q.k is 2 log 3 for a token with itself, and 0 with the other. head_dim is 4: divided by its root,
# 2 log 3 becomes log 3. So the weights are 3/4 and 1/4 again.
output = checked(attend(scaled_dot_product_attention, query, key, value), (1, 2, 1))[0]
# What stands where the softmax belongs will do, as long as it is scaled.
usual = [(weights @ value)[0] for weights in usual_weights(query @ key.mT / 2).values()]
assert_close(
    output,
    expected_or(output, torch.tensor([[7.0], [5.0]]).to(device), *usual, **no_softmax),
    what="output",
    mistakes={
        "not divided by sqrt(head_dim) (value_dim is 1 here)": torch.tensor([[7.6], [4.4]]).to(
            device
        ),
        "divided by head_dim; take its root": torch.tensor([[6.535898], [5.464102]]).to(device),
        "multiplied by sqrt(head_dim); divide by it": torch.tensor([[7.951220], [4.048780]]).to(
            device
        ),
        "divided by the root of key_len, or of query_len; take that of head_dim": torch.tensor(
            [[7.301781], [4.698219]]
        ).to(device),
        "the weights are scaled; scale the scores, before the softmax": torch.tensor(
            [[3.8], [2.2]]
        ).to(device),
    },
    hint="divide the scores by sqrt(head_dim), head_dim being the width of a query",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import (
    scaled_dot_product_attention as reference_attention,
)

# Tokens at right angles, all of one length: each row and each column of the scores holds the same
# numbers, so that nothing but the scale of the scores can change the result. The root of head_dim
# is no whole number.
directions = torch.linalg.qr(torch.randn(12, 5)).Q.T
tokens = ((1.0 + 0.2 * torch.rand(())) * directions).to(device)[None]
value = torch.randn(1, 5, 3).to(device)
expected = reference_attention(tokens, tokens, value)
scores, root = tokens @ tokens.mT, 12**0.5


def with_scores(scores):
    """Return the output that these scores lead to."""
    return torch.softmax(scores, dim=-1) @ value


alone = attend(scaled_dot_product_attention, tokens.clone(), tokens.clone(), value)
pair = attend(
    scaled_dot_product_attention, tokens.clone(), tokens.clone(), value, return_weights=True
)
other = attend(scaled_dot_product_attention, tokens.clone(), torch.randn_like(tokens), value)
if isinstance(alone, Tensor) and isinstance(other, Tensor) and torch.equal(alone, other):
    hint = "the scores are the queries times the keys: begin with them"
    raise CheckFailure("the output is the same for other keys", hint=hint)
for what, output in (
    ("output", alone),
    ("output with return_weights", output_and_weights(pair)[0]),
):
    usual = (weights @ value for weights in usual_weights(scores / root).values())
    assert_close(
        output,
        expected_or(output, expected, *usual, **no_softmax),
        what=what,
        hint="divide the scores by sqrt(head_dim), head_dim being the width of a query",
        mistakes={
            "the scores are not scaled; divide them by sqrt(head_dim)": with_scores(scores),
            "the scores are divided by head_dim; take its square root": with_scores(scores / 12),
            "the scores are multiplied by sqrt(head_dim); divide by it": with_scores(scores * root),
            "divided by the root of key_len; take that of head_dim": with_scores(scores / 5**0.5),
            "divided by the root of value_dim; take that of head_dim": with_scores(scores / 3**0.5),
            "the weights are scaled; scale the scores, before the softmax": (
                with_scores(scores) / root
            ),
        },
    )
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-mask" points=1 read="self-attention#masks-in-attention"
# Keys that the mask hides might as well not be there (head_dim 1)
query = torch.tensor([[[1.0]]]).to(device)
key = torch.tensor([[[math.log(3.0)], [0.0], [math.log(6.0)]]]).to(device)
value = torch.tensor([[[8.0], [4.0], [100.0]]]).to(device)
mask = torch.tensor([[True, True, False]]).to(device)  # the third key is hidden
# So your function gives the same as for the first two keys and values alone: if these are right, 7.
alone = checked(attend(scaled_dot_product_attention, query, key[:, :2], value[:, :2]), (1, 1, 1))
if not math.isclose(alone.item(), 7.0, rel_tol=1e-4):
    assert_hides(scaled_dot_product_attention, query, key, value, mask)
    alone = attend(scaled_dot_product_attention, query, key, value, mask)
assert_close(
    checked(attend(scaled_dot_product_attention, query, key, value, mask), (1, 1, 1))[0],
    alone[0],
    what="output",
    mistakes={
        "the mask is inverted; True means may attend": torch.tensor([[100.0]]).to(device),
        "the mask is inverted before the softmax, but not after it; True means may attend": (
            torch.zeros(1, 1).to(device)
        ),
        "masked after the softmax; mask the scores": torch.tensor([[2.8]]).to(device),
        "a hidden score is set to 0, a score like any other: set it to -inf": torch.tensor(
            [[25.6]]
        ).to(device),
        "a hidden score is set to 0, and its weight too, but only after the softmax: set the score "
        "to -inf": torch.tensor([[5.6]]).to(device),
        "the mask changes nothing": torch.tensor([[62.8]]).to(device),
        "the mask is added to the scores, so that True counts as 1: fill them with -inf where it "
        "is False": torch.tensor([[28 * math.e / (4 * math.e + 6)]]).to(device),
        "the mask is added to the scores, so that it hides nothing: fill them with -inf where it "
        "is False": torch.tensor([[(28 * math.e + 600) / (4 * math.e + 6)]]).to(device),
    },
    hint="a hidden score counts for nothing, and the softmax comes after that",
)
### BEGIN HIDDEN TESTS
query, key = torch.randn(6, 4, 1).to(device), torch.randn(6, 5, 1).to(device)
value = torch.randn(6, 5, 6).to(device)
hint = "set hidden scores to -inf"

# Where the weights are no softmax of the scores, it has to hide, no more.
seen = torch.tensor([True, False, True, True, False]).to(device)
scores = query @ key.transpose(-2, -1)
pair = attend(scaled_dot_product_attention, query, key, value, return_weights=True)
unmasked = checked(output_and_weights(pair)[1], (6, 4, 5), what="weights without a mask")
is_softmax = torch.allclose(unmasked, scores.softmax(-1), rtol=1e-4, atol=1e-5)
if not is_softmax:
    assert_hides(scaled_dot_product_attention, query, key, value, seen[None])
else:
    # What is hidden from every query: held against your own attention to the other keys alone.
    mask = seen[None]  # broadcasts to every query
    output, weights = output_and_weights(
        attend(
            scaled_dot_product_attention,
            query,
            key[..., seen, :],
            value[..., seen, :],
            return_weights=True,
        )
    )
    checked(output, (6, 4, 6), what="output without a mask")
    expected_weights = torch.zeros(6, 4, 5).to(device)
    expected_weights[..., seen] = checked(weights, (6, 4, 3), what="weights without a mask")
    wrong = {
        "the mask is inverted; True means may attend": scores.masked_fill(mask, -math.inf).softmax(
            -1
        ),
        "the weights that are left do not sum to 1: mask the scores, before the softmax": (
            scores.softmax(-1).masked_fill(~mask, 0.0)
        ),
        "a hidden score is set to 0, a score like any other: set it to -inf": (
            scores.masked_fill(~mask, 0.0).softmax(-1)
        ),
        "the mask changes nothing": scores.softmax(-1),
    }
    mistakes = {words: weights @ value for words, weights in wrong.items()}
    alone = attend(scaled_dot_product_attention, query, key, value, mask)
    pair = output_and_weights(
        attend(scaled_dot_product_attention, query, key, value, mask, return_weights=True)
    )
    for what, masked in (("output without return_weights", alone), ("output", pair[0])):
        assert_close(masked, output, what=what, mistakes=mistakes, hint=hint)
    assert_close(pair[1], expected_weights, what="weights", mistakes=wrong, hint=hint)

    # With a width of more than 1 the scores are scaled as without a mask, however that is.
    asking, asked = torch.randn(6, 4, 4).to(device), torch.randn(6, 5, 4).to(device)
    parts = (asking.clone(), asked[..., seen, :], value[..., seen, :])
    expected = checked(attend(scaled_dot_product_attention, *parts), (6, 4, 6))
    parts = (asking, asked, value, mask)
    alone = attend(scaled_dot_product_attention, *(x.clone() for x in parts))
    pair = attend(scaled_dot_product_attention, *parts, return_weights=True)
    as_without = "with a mask the scores are those without one, scaled alike"
    for what, masked in (("output without return_weights", alone), ("output", pair[0])):
        assert_close(masked, expected, what=f"{what}, head_dim 4", hint=as_without)

    # What is hidden from some queries: it has no weight, all else has some.
    mask = torch.rand(6, 4, 5) < 0.6
    mask[..., 0], mask[..., 1] = True, False
    mask = mask.to(device)
    output, weights = output_and_weights(
        attend(scaled_dot_product_attention, query, key, value, mask, return_weights=True)
    )
    checked(weights, (6, 4, 5), what="weights")
    assert_close(
        weights != 0,
        mask,
        what="where the weights are not 0",
        hint="a mask may differ from query to query, and from sentence to sentence",
        mistakes={"the mask is inverted; True means may attend": ~mask},
    )
    checked(output, (6, 4, 6))
    alone = attend(scaled_dot_product_attention, query, key, value, mask)
    hint = "with and without return_weights, the output is the same"
    assert_close(alone, output, what="output without return_weights", hint=hint)

    # Scores may be far below 0: what takes their place has to be lower than all of them. A second
    # query has scores of 0: a softmax by hand may subtract the largest score of all.
    low = -3e4 * torch.ones(1, 3, 1).to(device)
    low[:, 2] = 0.0
    query = torch.tensor([[[1.0], [0.0]]]).to(device)
    value = torch.tensor([[[8.0], [4.0], [100.0]]]).to(device)
    mask = torch.tensor([[True, True, False]]).to(device)
    lower = "a hidden score is set to a number that others are below: set it to -inf"
    alone = attend(scaled_dot_product_attention, query, low[:, :2], value[:, :2])
    assert_shape(alone, (1, 2, 1), what="output of low scores")
    if bool(alone.isfinite().all()):  # a softmax by hand may be left with 0 / 0
        output = attend(scaled_dot_product_attention, query, low, value, mask)
        checked(output, (1, 2, 1), what="output where scores are low", hint=lower)
        if not torch.allclose(output, alone, atol=0.1):  # so low, a score has few digits left
            raise CheckFailure(
                "output where scores are low differs from what is expected", hint=lower
            )
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-no-keys" points=1 read="self-attention#masks-in-attention"
# A query that may attend to nothing gets zeros, not NaN
query, key, value = (torch.randn(2, 3, 4).to(device) for _ in range(3))
mask = torch.tensor([[[True], [False], [True]]]).expand(1, 3, 3).to(device)
# Query 1 sees nothing.
output = attend(scaled_dot_product_attention, query, key, value, mask)
assert_shape(output, (2, 3, 4), what="output")
assert_close(
    output[:, 1],
    torch.zeros(2, 4).to(device),
    what="output of the query that sees nothing",
    hint="True means may attend; and as the softmax of a row of -inf is NaN, set the weights that "
    "the mask hides to 0 after the softmax",
)
### BEGIN HIDDEN TESTS
query, key, value = (torch.randn(3, 4, 6).to(device) for _ in range(3))
hint = "the softmax of a row of -inf is NaN: set the weights that the mask hides to 0 after it"


def check_blind(mask):
    """Check the queries that see nothing: of each sentence, or of one alone."""
    blind = ~mask.any(dim=-1).expand(3, 4)
    output, weights = output_and_weights(
        attend(scaled_dot_product_attention, query, key, value, mask, return_weights=True)
    )
    alone = attend(scaled_dot_product_attention, query, key, value, mask)
    results = (weights, 4, "weights"), (output, 6, "output"), (alone, 6, "output")
    for result, width, what in results:
        shapes = "with return_weights, return the output first, then the weights"
        assert_shape(result, (3, 4, width), what=what, hint=shapes)
        what = f"{what} of a query that sees nothing"
        nothing = torch.zeros(int(blind.sum()), width).to(device)
        assert_close(result[blind], nothing, what=what, hint=hint)
        if bool((result[~blind] == 0).all()):
            raise CheckFailure("the queries that do see something get zeros too", hint=hint)


mask = torch.ones(1, 4, 1, dtype=torch.bool)
mask[:, int(torch.randint(4, ()))] = False  # one row sees nothing, the others see everything
check_blind(mask.to(device))
mask = torch.ones(3, 1, 4, dtype=torch.bool)  # a row for all the queries of a sentence
mask[int(torch.randint(3, ()))] = False
check_blind(mask.to(device))
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-gradients" points=1 read="self-attention#the-matrix-form"
# Gradients flow to whatever the output depends on, also past a query that sees nothing
inputs = {
    "query": torch.randn(3, 2, 4).to(device),
    "key": torch.randn(3, 6, 4).to(device),
    "value": torch.randn(3, 6, 5).to(device),
}
share = torch.randn(3, 2, 5).to(device)


def loss(*inputs):
    """Weight the numbers of your output by chance, and add them up."""
    output = attend(scaled_dot_product_attention, *(each.clone() for each in inputs))
    return (checked(output, (3, 2, 5)) * share).sum()


cut = "detach(), .data, numpy() and torch.tensor() cut the gradient"
assert_gradients(loss, inputs, hint=cut)
mask = torch.tensor([[[True], [False]]]).expand(1, 2, 6).to(device)  # query 1 sees nothing


def assert_finite(**how):
    """Check the gradients of queries and keys where a query sees nothing."""
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
    copies = [leaf.clone() for leaf in leaves.values()]
    result = attend(scaled_dot_product_attention, *copies, mask, **how)
    output = output_and_weights(result)[0] if how else result
    assert_shape(output, (3, 2, 5), what="output with a mask")
    output.sum().backward()
    for name in ("query", "key"):
        slope = leaves[name].grad
        if slope is not None and not bool(slope.isfinite().all()):
            raise CheckFailure(
                f"with a query that sees nothing, the gradient of the {name} is not finite",
                hint="hide scores with masked_fill or torch.where; an added -inf lets the NaN flow "
                "back",
            )


assert_finite()
### BEGIN HIDDEN TESTS
share_of_weights = torch.randn(3, 2, 6).to(device)


both = {"return_weights": True}


def weighted(pair):
    """Weight output and weights by chance."""
    output, weights = output_and_weights(pair)
    checked(output, (3, 2, 5))
    checked(weights, (3, 2, 6), what="weights")
    return (output * share).sum() + (weights * share_of_weights).sum()


def loss_of_both(*inputs):
    """Look at output and weights."""
    return weighted(*attend_each(scaled_dot_product_attention, (inputs, both)))


def loss_past_mask(*inputs):
    """Add what comes past a mask, with weights and without, to what comes without one."""
    masked = (*inputs, some)
    calls = (inputs, both), (masked, both), (masked, {})
    *pairs, output = attend_each(scaled_dot_product_attention, *calls)
    return sum(map(weighted, pairs)) + (checked(output, (3, 2, 5)) * share).sum()


pair = attend(scaled_dot_product_attention, *inputs.values(), return_weights=True)
weights = checked(output_and_weights(pair)[1], (3, 2, 6), what="weights")
total = weights.sum(dim=-1)
some = torch.rand(3, 2, 6) < 0.5
some[..., 0], some[..., 1] = True, False
some = some.to(device)
if bool((weights < 0).any()) or not torch.allclose(total, torch.ones_like(total), atol=1e-4):
    forgive("no query shares out a weight of 1", VALUES, SCALING)
    assert_gradients(loss_of_both, inputs, hint=cut)
else:
    assert_gradients(loss_past_mask, inputs, hint=cut)
assert_finite(return_weights=True)
others = [torch.randn_like(inputs[name]) for name in ("query", "key")]
asked = (inputs.values(), (*others, inputs["value"]))
if torch.allclose(*(attend(scaled_dot_product_attention, *given) for given in asked)):
    hint = "the scores are the queries times the keys: begin with them"
    raise CheckFailure("the output is the same whatever query and key are", hint=hint)
### END HIDDEN TESTS


# %% test="scaled_dot_product_attention-inputs" points=1 read="self-attention#common-mistakes"
# Inputs are left as they are; their dtype is kept, their layout in memory does not matter
def draw_inputs(length, width, dtype=torch.float32):
    """Draw query, key and value; without a batch where yours is refused."""
    batch = [torch.randn(1, length, width, dtype=dtype).to(device) for _ in range(3)]
    try:
        scaled_dot_product_attention(*(each.clone() for each in batch))
    except RuntimeError:
        forgive("a batch is refused", SHAPE)
        return [each[0] for each in batch]
    return batch


query, key, value = draw_inputs(5, 4)
hint = "operators that end in = and methods that end in _ change a tensor in place"
assert_keeps_inputs(scaled_dot_product_attention, query, key, value, hint=hint)
output = attend(scaled_dot_product_attention, query.double(), key.double(), value.double())
in_double = "float64 comes in, float64 goes out: do not cast, and make new tensors with query.dtype"
output = checked(
    output, query.shape, dtype=torch.float64, what="output for float64", hint=in_double
)
### BEGIN HIDDEN TESTS
mask = torch.ones(*query.shape[:-1], 5, dtype=torch.bool).tril().to(device)
assert_keeps_inputs(scaled_dot_product_attention, query, key, value, mask, hint=hint)
assert_keeps_inputs(
    scaled_dot_product_attention, query, key, value, mask, return_weights=True, hint=hint
)
expected = checked(attend(scaled_dot_product_attention, query, key, value), query.shape)
moved, others = value.clone(), [0, 1, 3, 4]
moved[..., 2, :] += 1
after = checked(attend(scaled_dot_product_attention, query, key, moved), query.shape)
if torch.equal(expected[..., others, :], after[..., others, :]):
    summary = "the output is the same whatever the values of other tokens are"
    raise CheckFailure(summary, hint="who computes nothing changes nothing; begin with the scores")
strided = call_beside(call_strided, scaled_dot_product_attention, query, key, value)
assert_close(
    without_ones(strided[0] if isinstance(strided, tuple | list) else strided, query.shape),
    expected,
    what="output for inputs that are not contiguous",
    hint="view() needs contiguous tensors; reshape() does not",
)
query, key, value = draw_inputs(6, 3, torch.float64)
output = attend(scaled_dot_product_attention, query, key, value)
checked(output, query.shape, dtype=torch.float64, what="output for float64", hint=in_double)
### END HIDDEN TESTS

# %% test="scaled_dot_product_attention-errors" points=1 read="self-attention#common-mistakes"
# What does not fit is refused with the errors that the docstring promises
query, key, value = (torch.randn(3, 5, 4).to(device) for _ in range(3))
hint = "a mask of ones and zeros could mean either polarity, or be added to the scores: refuse it"
float_mask = torch.ones(5, 5).to(device)
assert_raises(TypeError, scaled_dot_product_attention, query, key, value, float_mask, hint=hint)
enlarging = "a mask for three sentences would make three outputs of one: check_mask refuses it"
three_masks, one = torch.ones(3, 5, 5, dtype=torch.bool).to(device), torch.randn(1, 5, 4).to(device)
assert_raises(ValueError, scaled_dot_product_attention, one, one, one, three_masks, hint=enlarging)
narrow = "query and key have 4 and 3 numbers each: no dot product, so ValueError"
assert_raises(ValueError, scaled_dot_product_attention, query, key[..., :3], value, hint=narrow)
### BEGIN HIDDEN TESTS
for sizes in ((5,), (1, 1, 1, 5), (1, 2, 5), (1, 5, 4)):
    unfit = torch.ones(sizes, dtype=torch.bool).to(device)
    in_words = f"a mask of shape {sizes} does not fit scores of shape (1, 5, 5): see check_mask"
    assert_raises(ValueError, scaled_dot_product_attention, one, one, one, unfit, hint=in_words)
int_mask = torch.ones(5, 5, dtype=torch.long).to(device)
assert_raises(TypeError, scaled_dot_product_attention, query, key, value, int_mask, hint=hint)
hint = "compare the sizes yourself and raise ValueError; matmul's own error is a RuntimeError"
wide, long = torch.randn(3, 5, 6).to(device), torch.randn(3, 7, 4).to(device)
assert_raises(ValueError, scaled_dot_product_attention, wide, key, value, hint=hint)
assert_raises(ValueError, scaled_dot_product_attention, query, key, long, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: masks
#
# There are two reasons to hide a key from a query. **Causal:** whoever writes a sentence must not
# peek at the words still to come. **Padding:** sentences in a batch are filled up to a common
# length, and filler is nothing to listen to. Both masks are boolean, True where a query *may*
# attend. Both have four dimensions, batch, heads, queries and keys, with a 1 where the mask is the
# same for all; they combine with `&`, because broadcasting takes care of the rest.
#
# One line of the docstring of `causal_mask` is easy to pass over: with more keys than queries, the
# *last* query belongs to the *last* key. That happens when a model writes word by word and keeps
# the keys of what it has already written. Draw the 2 x 4 case on paper first.

# %% solution="causal_mask" of="course_lib.layers.masks"

# %% test="causal_mask-values" points=1 read="self-attention#masks-in-attention"
# Each position may attend to itself and to what came before
expected = torch.tensor([[[[True, False, False], [True, True, False], [True, True, True]]]])
assert_close(
    causal_mask(3),
    expected,
    what="causal_mask(3)",
    mistakes={
        "the mask is inverted; True means may attend": ~expected,
        "the future in place of the past; rows are queries, columns are keys": expected.mT,
        "a position may attend to itself": expected.tril(-1),
        "a position must not see the one after it": torch.ones_like(expected).tril(1),
    },
    hint="a mask is boolean, (1, 1, query_len, key_len): True for a position itself and all before "
    "it",
)
right_device = (
    "causal_mask does not use its argument device: make the mask there, torch.ones(..., "
    'device=device). PyTorch itself then refuses a device that does not exist, here "nowhere"'
)
assert_raises(RuntimeError, causal_mask, 3, device="nowhere", hint=right_device)
### BEGIN HIDDEN TESTS
from course_lib.layers.masks import causal_mask as reference_mask

for size in (1, int(torch.randint(4, 12, ()))):
    expected = reference_mask(size, device=device)
    assert_close(
        causal_mask(size, device=device),
        expected,
        what="the mask",
        mistakes={
            "the mask is inverted; True means may attend": ~expected,
            "the future in place of the past; rows are queries, columns are keys": expected.mT,
            "a position may attend to itself": expected.tril(-1),
            "a position must not see the one after it": torch.ones_like(expected).tril(1),
        },
        hint="a mask is boolean, (1, 1, query_len, key_len): True for a position itself and all "
        "before it, and nowhere else",
    )
for lengths in ((3,), (3, 5)):
    assert_raises(RuntimeError, causal_mask, *lengths, device="nowhere", hint=right_device)
### END HIDDEN TESTS

# %% test="causal_mask-more-keys" points=1 read="self-attention#masks-in-attention"
# With more keys than queries the last query sees every key
expected = torch.tensor([[[[True, True, True, False], [True, True, True, True]]]])
top_left = torch.tensor([[[[True, False, False, False], [True, True, False, False]]]])
in_words = "aligned with the first key; the last query belongs to the last key"
the_future = torch.tensor([[[[False, False, True, True], [False, False, False, True]]]])
in_general = {
    "the mask is inverted; True means may attend": ~expected,
    "this is the future; a query sees itself and what came before it": the_future,
    "a position may attend to itself": torch.tensor(
        [[[[True, True, False, False], [True, True, True, False]]]]
    ),
    "a position must not see the one after it": torch.ones_like(expected),
    "no query sees any key; the last query belongs to the last key": torch.zeros_like(expected),
}


def last_of_all(right):
    """Give the last rows of your own mask for all queries.

    If it lets everybody see all, or nothing, it is no mask: then the right one.
    """
    own, key_len = causal_mask(right.size(-1), device=right.device), right.size(-1)
    if not isinstance(own, Tensor) or own.shape[-2:] != (key_len, key_len):
        return right
    if bool((own == own.flatten()[0]).all()):
        return right
    last = own[..., -right.size(-2) :, :]
    if not torch.equal(last, right):
        forgive("for as many keys as queries it is another mask", "causal_mask-values")
    return last


assert_close(
    causal_mask(2, 4),
    last_of_all(expected),
    what="causal_mask(2, 4)",
    mistakes={in_words: top_left, **in_general},
    hint="a mask is boolean, (1, 1, query_len, key_len); the last query sees every key, the one "
    "before it all but the last key",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.masks import causal_mask as reference_mask

query_len = int(torch.randint(2, 6, ()))
key_len = query_len + int(torch.randint(1, 5, ()))
expected = reference_mask(query_len, key_len, device=device)
top_left = torch.ones_like(expected).tril()
assert_close(
    causal_mask(query_len, key_len, device=device),
    last_of_all(expected),
    what="the mask",
    hint="a mask is boolean, (1, 1, query_len, key_len): query i may attend to key j when j <= i + "
    "key_len - query_len",
    mistakes={
        in_words: top_left,
        "the mask is inverted; True means may attend": ~expected,
        "a position may attend to itself": torch.ones_like(expected).tril(key_len - query_len - 1),
        "a position must not see the one after it": torch.ones_like(expected).tril(
            key_len - query_len + 1
        ),
        "aligned the wrong way; the last query belongs to the last key": torch.ones_like(
            expected
        ).tril(query_len - key_len),
    },
)
hint = "with fewer keys than queries, or a negative number of queries, raise ValueError"
assert_raises(ValueError, causal_mask, key_len, query_len, hint=hint)
assert_raises(ValueError, causal_mask, -1, key_len, hint=hint)
hint = "key_len=0 is not None: it is fewer keys than queries, so ValueError"
assert_raises(ValueError, causal_mask, query_len, 0, hint=hint)
for lengths in ((0, key_len), (0,)):
    try:
        causal_mask(*lengths, device=device)
    except ValueError:
        hint = "refuse a negative query_len alone: a mask for no queries is empty"
        raise CheckFailure("no queries at all are refused", hint=hint) from None
### END HIDDEN TESTS

# %% solution="padding_mask" of="course_lib.layers.masks"

# %% test="padding_mask-values" points=1 read="self-attention#masks-in-attention"
# Real tokens may be attended to, padding may not
token_ids = torch.tensor([[5, 7, 0], [3, 0, 0]]).to(device)
expected = torch.tensor([[[[True, True, False]]], [[[True, False, False]]]]).to(device)
assert_close(
    padding_mask(token_ids, pad_id=0),
    expected,
    what="padding_mask",
    hint="a mask is boolean, True where a token is real; the dimensions are batch, heads (1 for "
    "all), queries (1 for all), keys",
    mistakes={
        "the mask is inverted; True means may attend": ~expected,
        "this hides queries; the keys are the last dimension": expected.mT,
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.masks import padding_mask as reference_mask

pad_id = int(torch.randint(1, 5, ()))
token_ids = torch.randint(0, 6, (4, 7))
token_ids[0, 0], token_ids[1, 0] = pad_id, 0  # 0 is a token like any other here
token_ids = token_ids.to(device)
expected = reference_mask(token_ids, pad_id)
actual = padding_mask(token_ids, pad_id)
assert_close(
    actual,
    expected,
    what="the mask",
    hint="a mask is boolean, True where a token is real; the dimensions are batch, heads (1 for "
    "all), queries (1 for all), keys",
    mistakes={
        "the mask is inverted; True means may attend": ~expected,
        "compare with pad_id, which need not be 0": (token_ids != 0)[:, None, None, :],
        "pad_id alone is padding; smaller ids are tokens": (token_ids > pad_id)[:, None, None, :],
        "each token counts by itself, also after padding": (
            (token_ids == pad_id).cumsum(1).eq(0)[:, None, None, :]
        ),
        "this hides queries; the keys are the last dimension": expected.mT,
    },
)
### END HIDDEN TESTS

# %% test="padding_mask-errors" points=1 read="self-attention#masks-in-attention"
# What is no batch of token ids is refused, and token ids are left as they are
token_ids = torch.tensor([[5, 7, 0], [3, 0, 0]]).to(device)
assert_keeps_inputs(padding_mask, token_ids, 0)
hint = "token_ids must be (batch, key_len); raise ValueError for anything else"
assert_raises(ValueError, padding_mask, token_ids[0], 0, hint=hint)
### BEGIN HIDDEN TESTS
assert_raises(ValueError, padding_mask, token_ids[:, :, None], 0, hint=hint)
assert_keeps_inputs(padding_mask, token_ids, 3)
strided = call_beside(call_strided, padding_mask, token_ids, 0)
what = "the mask of token ids that are not contiguous"
assert_close(strided, padding_mask(token_ids, 0), what=what, hint="reshape() takes any tensor")
for dtype in (torch.int32, torch.int16, torch.uint8):
    try:
        padding_mask(token_ids.to(dtype), 0)
    except TypeError:
        smaller = "an integer type may be smaller than int64"
        raise CheckFailure(f"token ids of {dtype} are refused", hint=smaller) from None
hint = "token ids are integers; raise TypeError for anything else, such as embeddings"
assert_raises(TypeError, padding_mask, torch.randn(2, 3).to(device), 0, hint=hint)
hint = "True and False are no token ids, but perhaps a mask: raise TypeError"
assert_raises(TypeError, padding_mask, token_ids == 0, 0, hint=hint)
### END HIDDEN TESTS

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
# The names of the four projections stand in the docstring. The tests copy weights into them, so
# that your layer and ours can be compared number by number. The columns of which it speaks are
# those of what a projection returns; in the `weight` of an `nn.Linear` they are the rows.
#
# If part 1 is not done yet, call `F.scaled_dot_product_attention` for the time being. It gives no
# weights, but most tests of this part do not ask for them.
#
# **The rule of this part:** the layer is yours, too. A `MultiHeadAttention` that leads to PyTorch's
# `nn.MultiheadAttention` or `F.multi_head_attention_forward` loses the points of its tests.
# Comparing your layer with them in a cell of your own is a good idea.

# %% solution="MultiHeadAttention" of="course_lib.layers.attention" forbids="torch.nn.MultiheadAttention torch.nn.functional.multi_head_attention_forward"

# %% test="MultiHeadAttention-parameters" points=1 read="self-attention#multi-head-preview"
# The layer has its four projections, and refuses heads that do not fit
layer, unbiased = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2, bias=False)
own, without = parts_of(layer), parts_of(unbiased)
for name in PROJECTIONS:
    hint = "each projection is an nn.Linear from d_model to d_model, with a bias unless bias=False"
    if f"{name}.weight" not in own:
        raise CheckFailure(f"there is no {name} that has weights", hint=hint)
    assert_shape(own[f"{name}.weight"], (8, 8), what=f"weight of {name}", hint=hint)
    if f"{name}.bias" not in own:
        raise CheckFailure(f"{name} has no bias", hint=hint)
    assert_shape(own[f"{name}.bias"], (8,), what=f"bias of {name}", hint=hint)
    if f"{name}.bias" in without:
        in_words = f"with bias=False {name} has a bias all the same"
        raise CheckFailure(in_words, hint="hand bias on to each nn.Linear")


def refuse_copies(layer):
    """Refuse projections that start as copies of each other."""
    weights = [part for name, part in parts_of(layer).items() if name.endswith(".weight")]
    if any(torch.equal(first, second) for first, second in itertools.combinations(weights, 2)):
        raise CheckFailure(
            "two of the projections start with the same weights",
            hint="make four nn.Linear in __init__; a copy starts as its original",
        )


refuse_copies(layer)
assert_raises(ValueError, MultiHeadAttention, 8, 3, hint="8 is not divisible by 3: ValueError")
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import MultiHeadAttention as ReferenceLayer

for bias in (True, False):
    student = on_device(MultiHeadAttention(12, 3, bias=bias))
    actual, expected = student.state_dict(), ReferenceLayer(12, 3, bias=bias).state_dict()
    if set(actual) != set(expected):
        raise CheckFailure(
            f"with bias={bias} the parameters are {sorted(actual)}, expected {sorted(expected)}",
            hint="four nn.Linear with the docstring's names; hand bias on to each of them",
        )
    for name, tensor in expected.items():
        assert_shape(actual[name], tensor.shape, what=name, hint=hint)
refuse_copies(student)
MultiHeadAttention(12, 1)  # one head is allowed
assert_raises(ValueError, MultiHeadAttention, 12, 5, hint="12 is not divisible by 5: ValueError")
assert_raises(ValueError, MultiHeadAttention, 12, 0, hint="no head at all: ValueError")
assert_raises(ValueError, MultiHeadAttention, 12, -3, hint="12 % -3 is 0 too: ValueError")
### END HIDDEN TESTS

# %% test="MultiHeadAttention-shape" points=1 read="self-attention#multi-head-preview"
# The output is as wide as the input, with one row for each query
layer = on_device(MultiHeadAttention(8, 2))
asking, asked = torch.randn(3, 2, 8).to(device), torch.randn(3, 5, 8).to(device)
hint = "query and key may differ in length; take each length from its own tensor"
assert_shape(layer(asking, asked, asked), (3, 2, 8), what="output", hint=hint)
### BEGIN HIDDEN TESTS
layer = on_device(MultiHeadAttention(12, 3, bias=False))
asking, asked = torch.randn(2, 4, 12).to(device), torch.randn(2, 7, 12).to(device)
assert_shape(layer(asking, asked, asked), (2, 4, 12), what="output of cross-attention", hint=hint)
try:
    layer(asking, asked, asked, return_weights=True)
except Exception as error:  # of others the test of values tells
    if "view size is not compatible" in str(error):
        raise
### END HIDDEN TESTS

# %% test="MultiHeadAttention-projections" points=1 read="self-attention#multi-head-preview"
# The value goes through its projection and the output through another
# A single head cannot be mixed up with another.
layer = with_own_projections(on_device(MultiHeadAttention(8, 1)))
token = torch.randn(3, 1, 8).to(device)
# With a single token all of the weight is on it, whatever the scores: its value comes out.
value = checked(layer.value_projection(token), (3, 1, 8), what="what value_projection returns")
expected = checked(layer.output_projection(value), (3, 1, 8), what="what output_projection returns")
others = [  # another of the tokens, through another projection
    checked(layer.query_projection(token), (3, 1, 8), what="what query_projection returns"),
    checked(layer.key_projection(token), (3, 1, 8), what="what key_projection returns"),
]
output = ask(layer, token, token, token)
assert_close(
    output,
    expected_or(output, expected, *map(layer.output_projection, others), **exchanged_parts),
    what="output for a single token",
    hint="only the value reaches the output here, through value_projection, then output_projection",
    mistakes={
        "output_projection is not used": value,
        "value_projection is not used": layer.output_projection(token),
        "query is added to the output; that is another layer's business": expected + token,
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import MultiHeadAttention as ReferenceLayer

reference = ReferenceLayer(12, 1).to(device)
student = with_own_projections(on_device(MultiHeadAttention(12, 1)))
copy_weights(reference, student)
query, key, value = (torch.randn(2, 1, 12).to(device) for _ in range(3))
projected = reference.value_projection(value)
output = ask(student, query, key, value)
others = [
    reference.output_projection(projection(source))
    for projection in (
        reference.query_projection,
        reference.key_projection,
        reference.value_projection,
    )
    for source in (key, value)
]
assert_close(
    output,
    expected_or(output, reference(query, key, value), *others, **exchanged_parts),
    what="output for a single key",
    hint="only the value reaches the output here, through value_projection, then output_projection",
    mistakes={
        "output_projection is not used": projected,
        "value_projection is not used": reference.output_projection(value),
        "the values are made from query; make them from value": reference(query, key, query),
    },
)
### END HIDDEN TESTS

# %% test="MultiHeadAttention-heads" points=1 read="self-attention#multi-head-preview"
# Each head attends on its own, within its own columns
# Two heads, each three columns wide.
layer = with_own_projections(on_device(MultiHeadAttention(6, 2)))
state = {name: torch.zeros_like(tensor) for name, tensor in layer.state_dict().items()}
eye = torch.eye(6).to(device)  # a projection that changes nothing; 5 * eye makes large scores,
# so that a head takes what fits best, and no other
state["query_projection.weight"] = state["key_projection.weight"] = 5 * eye
state["value_projection.weight"] = state["output_projection.weight"] = eye
layer.load_state_dict(state)
four_tokens = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, -1, -1], [1, 1, 1, -1, 1, -1], [1, 1, 1, -1, -1, 1]]
tokens = torch.tensor([four_tokens]).float().to(device)
value = torch.tensor([[[0.0] * 6, [4.0] * 6, [8.0] * 6, [12.0] * 6]]).to(device)
# Head 0 reads the first three columns: all tokens look the same to it, so it averages the values.
# Head 1 reads the last three, and tells the tokens apart.
by_head = [[6, 6, 6, 0, 0, 0], [6, 6, 6, 4, 4, 4], [6, 6, 6, 8, 8, 8], [6, 6, 6, 12, 12, 12]]
wrongly_joined = [[6] * 6, [6] * 6, [0, 0, 0, 4, 4, 4], [8, 8, 8, 12, 12, 12]]
every_second = [[4, 0, 4, 0, 4, 0], [8, 4, 8, 4, 8, 4], [4, 8, 4, 8, 4, 8], [8, 12, 8, 12, 8, 12]]
third = 4 / 3  # the average of 0, 0 and 4
from_rows = [[third] * 3 + [last] * 3 for last in (10, 8, 10)] + [[4, 4, 4, 12, 12, 12]]
from_rows_to_rows = [[third] * 6, [third] * 3 + [4] * 3, [10] * 3 + [8] * 3, [10] * 3 + [12] * 3]
by_rows = "view(batch, num_heads, len, head_dim) mixes the tokens: split d_model, then transpose"


def as_output(rows):
    """Give the output that has these rows."""
    return torch.tensor([rows]).float().to(device)


exchanged = as_output([[1, 1, 1, -1, -1, 1], [1] * 6, [1] * 6, [1] * 6])
output = ask(layer, tokens, tokens, value)
others = (as_output(by_head) + tokens, tokens, exchanged, 5 * exchanged, 5 * as_output(by_head))
assert_close(
    output,
    expected_or(output, as_output(by_head), *others, **exchanged_parts),
    what="output",
    hint="head h reads the columns from h * head_dim up to (h + 1) * head_dim of what each "
    "projection returns",
    mistakes={
        "the heads are not apart, or stand in the last dimension but one, where len belongs": value,
        "the heads take every num_heads-th column: split d_model into (num_heads, head_dim)": (
            as_output(every_second)
        ),
        "before you join the heads, transpose(1, 2) back": as_output(wrongly_joined),
        by_rows: as_output(from_rows_to_rows),
        f"before the attention, {by_rows}": as_output(from_rows),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import MultiHeadAttention as ReferenceLayer

# Queries and keys are signs, and scores large: a head spreads its weight evenly over the tokens
# that look the same in its columns. Neither scaling nor the axis of the softmax changes that.
reference = ReferenceLayer(8, 4).to(device)
state = reference.state_dict()
for name in ("query", "key", "value", "output"):
    state[f"{name}_projection.bias"] = torch.zeros(8).to(device)
    sharp = 6 if name in ("query", "key") else 1
    state[f"{name}_projection.weight"] = sharp * torch.eye(8).to(device)
reference.load_state_dict(state)
student = with_own_projections(on_device(MultiHeadAttention(8, 4)))
copy_weights(reference, student)
crossed = ReferenceLayer(8, 4).to(device)
pair = state["key_projection.weight"], state["value_projection.weight"]
state["value_projection.weight"], state["key_projection.weight"] = pair
crossed.load_state_dict(state)
tokens = (2.0 * torch.randint(2, (3, 6, 8)) - 1.0).to(device)
value = torch.randn(3, 6, 8).to(device)


def slices(x):
    """Cut into heads by columns."""
    return x.view(3, 6, 4, 2).transpose(1, 2)


def interleaved(x):
    """Cut into heads by every fourth column."""
    return x.view(3, 6, 2, 4).permute(0, 3, 1, 2)


def blocks(x):
    """Cut into heads by rows."""
    return x.view(3, 4, 6, 2)


projected = reference.value_projection(value)
attended = {
    cut: torch.softmax(1e3 * cut(tokens) @ cut(tokens).mT, dim=-1) @ cut(projected)
    for cut in (slices, interleaved, blocks)
}
undivided = torch.softmax(1e3 * tokens @ tokens.mT, dim=-1) @ projected
no_heads = "the heads are not apart: each should see its own head_dim columns alone"
not_back = "before you join the heads, transpose(1, 2) back to (batch, len, num_heads, head_dim)"
by_stride = "the heads take every num_heads-th column: split d_model into (num_heads, head_dim)"
expected = reference(tokens, tokens, value)
output = ask(student, tokens, tokens, value)
others = (
    expected + tokens,
    *(reference(tokens, *both) for both in ((value, tokens), (tokens, tokens))),
    crossed(tokens, value, tokens),
    6 * expected,
)
assert_close(
    output,
    expected_or(output, expected, *others, **exchanged_parts),
    what="output",
    hint="head h reads the columns from "
    "h * head_dim up to (h + 1) * head_dim of what each projection returns",
    mistakes={
        no_heads: undivided,
        not_back: attended[slices].reshape(3, 6, 8),
        by_stride: attended[interleaved].permute(0, 2, 3, 1).reshape(3, 6, 8),
        by_rows: attended[blocks].reshape(3, 6, 8),
        f"before the attention, {by_rows}": attended[blocks].transpose(1, 2).reshape(3, 6, 8),
    },
)
# Values made of the query come out as the query, which is there without any attention too.
student.load_state_dict({name: 0 * tensor for name, tensor in student.state_dict().items()})
without_weights = ask(student, tokens, tokens, value)
if torch.allclose(output, tokens) and torch.allclose(checked(without_weights, (3, 6, 8)), tokens):
    hint = "each projection, each head's attention, and the output projection: all have their part"
    raise CheckFailure("the output is the query, whatever the weights are", hint=hint)
### END HIDDEN TESTS

# %% test="MultiHeadAttention-values" points=1 read="self-attention#multi-head-preview"
# Self-attention and cross-attention give the right output and the weights of each head
layer = on_device(MultiHeadAttention(8, 2))
tokens = torch.randn(3, 5, 8).to(device)
pair = ask(layer, tokens, tokens, tokens, return_weights=True)
if not (isinstance(pair, tuple | list) and len(pair) == 2):
    raise CheckFailure(
        "return_weights=True should give a pair",
        hint="ask scaled_dot_product_attention for the weights too; return output, weights",
    )
output, weights = pair
assert_shape(output, (3, 5, 8), what="output", hint="return the output first, then the weights")


def assert_same_again(layer, tokens, weights):
    """Call your layer with the same tokens, as long as view() doesn't refuse them."""
    try:
        first, second = (layer(tokens, tokens, tokens) for _ in range(2))
        pair = layer(tokens, tokens, tokens, return_weights=True)
    except RuntimeError:
        forgive("view() refuses what transpose() has turned", OF_LAYER["shape"])
        return
    hint = "nothing is left to chance: the layer of this homework has no dropout"
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        assert_close(second, first, what="output of a second call", hint=hint)
    if isinstance(weights, Tensor) and isinstance(pair, tuple | list) and len(pair) == 2:
        assert_close(pair[1], weights, what="weights of a second call", hint=hint)


assert_same_again(layer, tokens, weights)
assert_shape(weights, (3, 2, 5, 5), what="weights", hint="one set of weights for each head")
own_weights = "return the weights as your attention gives them"
assert_rows_sum_to_one(weights, hint=own_weights)
layer = with_own_projections(on_device(MultiHeadAttention(6, 2)))
state = {name: torch.zeros_like(tensor) for name, tensor in layer.state_dict().items()}
for name in ("query", "key", "value", "output"):
    state[f"{name}_projection.weight"] = torch.eye(6).to(device)  # changes nothing
layer.load_state_dict(state)
tokens = torch.tensor([[[2.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 2.0, 0.0, 1.0, 1.0, 1.0]]]).to(device)
value = torch.tensor([[[8.0] * 6, [4.0] * 6]]).to(device)


def scaled_by(divisor):
    """Give the output if this divides the score of a token with itself in head 0, which is 4."""
    own = 1 / (1 + math.exp(-4 / divisor))  # the weight of a token on itself
    halves = [[4 + 4 * own] * 3 + [6.0] * 3, [8 - 4 * own] * 3 + [6.0] * 3]
    return torch.tensor([halves]).to(device)


# Head 0 sees (2, 0, 0) and (0, 2, 0): what your own attention makes of them is what belongs there.
# To head 1 both tokens look the same, so it averages 8 and 4.
columns = tokens[..., :3]
alone = attend(scaled_dot_product_attention, columns.clone(), columns.clone(), value[..., :3])
checked(alone, (1, 2, 3), what="output of scaled_dot_product_attention")
expected = torch.cat((alone, torch.full_like(alone, 6.0)), dim=-1)
right_root = "a head divides by the root of head_dim; scaled_dot_product_attention does it"
self_weight, of_values = 1 / (1 + math.exp(-4 / 3**0.5)), 1 / (1 + math.exp(-8 / 3**0.5))


def from_tokens(first, second):
    """Give the output that is made of the tokens: for each query how much of the first."""
    rows = [[2 * share, 2 - 2 * share, 0.0, 1.0, 1.0, 1.0] for share in (first, second)]
    return torch.tensor([rows]).to(device)


output = ask(layer, tokens, tokens, value)
assert_close(
    output,
    expected_or(output, expected, expected + tokens, **added_query),
    what="output for head_dim 3",
    hint="each head gives what scaled_dot_product_attention makes of its own columns",
    mistakes={
        f"divided by the root of d_model: {right_root}": scaled_by(6**0.5),
        f"divided by the root of d_model as well: {right_root}": scaled_by(18**0.5),
        f"divided by the root of num_heads: {right_root}": scaled_by(2**0.5),
        f"scaled twice, that is, divided by head_dim: {right_root}": scaled_by(3),
        f"the scores are not scaled: {right_root}": scaled_by(1),
        "key and value have changed places": from_tokens(of_values, of_values),
        "the values are made from key; make them from value": from_tokens(
            self_weight, 1 - self_weight
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import MultiHeadAttention as ReferenceLayer

# head_dim is 1: whether the scores are scaled is the business of another check.
reference = ReferenceLayer(6, 6).to(device)
with torch.no_grad():  # whether values and output are projected is another check's business, too
    for projection in (reference.value_projection, reference.output_projection):
        projection.weight.copy_(torch.eye(6))
        projection.bias.zero_()
student = with_own_projections(on_device(MultiHeadAttention(6, 6)))
tokens = torch.randn(3, 5, 6).to(device)
pair = output_and_weights(ask(student, tokens, tokens, tokens, return_weights=True))
assert_same_again(student, tokens, pair[1])
copy_weights(reference, student)
tokens, memory, other = (torch.randn(3, length, 6).to(device) for length in (4, 5, 5))


def variant(*, scale=1.0, **sources):
    """Copy the reference, with some projections from others, and with scores of another scale."""
    own = reference.state_dict()
    state = {
        f"{name}_projection.{part}": own[f"{sources.get(name, name)}_projection.{part}"]
        for name in ("query", "key", "value", "output")
        for part in ("weight", "bias")
    }
    for part in ("weight", "bias"):
        state[f"query_projection.{part}"] = scale * state[f"query_projection.{part}"]
    copy = ReferenceLayer(6, reference.num_heads).to(device)
    copy.load_state_dict(state)
    return copy


variants = {
    "the keys go through query_projection; they have one of their own": variant(key="query"),
    "the queries go through key_projection; they have one of their own": variant(query="key"),
    "query_projection and key_projection have changed places": variant(query="key", key="query"),
    "one projection serves all three; each has one of its own": variant(key="query", value="query"),
    "the values go through key_projection; they have one of their own": variant(value="key"),
    f"divided by the root of d_model, or of num_heads: {right_root}": variant(scale=6**-0.5),
}
for title, inputs in (
    ("self-attention", (tokens, tokens, tokens)),
    ("cross-attention", (tokens, memory, other)),
):
    query, key, value = inputs
    expected, expected_weights = reference(query, key, value, return_weights=True)
    mistaken = {words: layer(*inputs, return_weights=True) for words, layer in variants.items()}
    if key is not value:
        mistaken |= {
            words: reference(query, *others, return_weights=True)
            for words, others in (
                ("key and value have changed places", (value, key)),
                ("the values are made from key; make them from value", (key, key)),
                ("the keys are made from value; make them from key", (value, value)),
            )
        }
    wrong_output = {words: output for words, (output, _) in mistaken.items()}
    wrong_weights = {words: weights for words, (_, weights) in mistaken.items()}
    output, weights = output_and_weights(ask(student, query, key, value, return_weights=True))
    lengths = "a weight for each query and each key; take each length from its own tensor"
    assert_shape(weights, expected_weights.shape, what=f"weights in {title}", hint=lengths)
    hint = "the scores are those of query_projection(query) and key_projection(key)"
    assert_close(
        weights, expected_weights, what=f"weights in {title}", hint=hint, mistakes=wrong_weights
    )
    hint = "weights @ values"
    for what, result in (
        ("with return_weights", output),
        ("alone", ask(student, query, key, value)),
    ):
        right = expected_or(result, expected, expected + query, **added_query)
        what = f"output in {title}, {what}"
        assert_close(result, right, what=what, hint=hint, mistakes=wrong_output)

# A batch of one, a single head, a single query, a single key.
one = "squeeze() takes away every dimension of 1; here each has its meaning, and stays"
for sizes in ((1, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 5), (2, 3, 4, 1)):
    batch, num_heads, query_len, key_len = sizes
    small = on_device(MultiHeadAttention(6, num_heads))
    asking, asked = (torch.randn(batch, length, 6).to(device) for length in (query_len, key_len))
    pair = output_and_weights(ask(small, asking, asked, asked, return_weights=True))
    assert_shape(pair[1], sizes, what="weights where a size is 1", hint=one)

# head_dim is 3: the layer scales exactly as often as the attention that it stands on.
reference = ReferenceLayer(6, 2).to(device)
with torch.no_grad():
    for projection in (reference.value_projection, reference.output_projection):
        projection.weight.copy_(torch.eye(6))
        projection.bias.zero_()
student = with_own_projections(on_device(MultiHeadAttention(6, 2))).eval()
copy_weights(reference, student)


def split(x):
    """Cut into two heads."""
    return x.view(3, -1, 2, 3).transpose(1, 2)


query_heads = split(reference.query_projection(tokens))
key_heads = split(reference.key_projection(memory))
value_heads = split(reference.value_projection(other))


def output_for(query_heads):
    """Attend with the student's own function, and join the heads."""
    attended = attend(scaled_dot_product_attention, query_heads, key_heads, value_heads)
    checked(attended, (3, 2, 4, 3), what="output of scaled_dot_product_attention")
    return reference.output_projection(attended.transpose(1, 2).flatten(-2))


own = output_for(query_heads)
output, weights = output_and_weights(ask(student, tokens, memory, other, return_weights=True))
checked(output, (3, 4, 6), what="output for head_dim 3")
assert_shape(weights, (3, 2, 4, 5), what="weights for head_dim 3", hint=own_weights)
assert_rows_sum_to_one(weights, hint=own_weights)
own = expected_or(output, own, own + tokens, **added_query)
if not torch.allclose(output, own, rtol=1e-4, atol=1e-5):
    assert_close(
        output,
        reference(tokens, memory, other),
        what="output for head_dim 3",
        hint="the same as your attention gives for each head by itself",
        mistakes={
            f"{words}: {right_root}": output_for(query_heads / divisor)
            for words, divisor in (
                ("scaled twice, that is, divided by head_dim", 3**0.5),
                ("divided by head_dim as well as by its root", 3),
                ("divided by the root of d_model", 2**0.5),
                ("divided by the root of d_model as well", 6**0.5),
                ("the scores are not scaled", 3**-0.5),
            )
        },
    )
### END HIDDEN TESTS

# %% test="MultiHeadAttention-mask" points=1 read="self-attention#masks-in-attention"
# What the mask hides has no influence, in any head
layer = on_device(MultiHeadAttention(8, 1))  # a single head cannot be mixed up with another
tokens = torch.randn(3, 5, 8).to(device)
is_real = torch.tensor([[True, True, True, False, False]]).to(device)
mask = is_real[:, None, None]  # (1, 1, 1, key_len): the last two keys are hidden
changed = tokens.clone()
changed[:, 3:] += 1.0
before = checked(ask(layer, tokens, tokens, tokens, mask), (3, 5, 8))
assert_close(
    ask(layer, tokens, changed, changed, mask),
    before,
    what="output after a change of hidden keys",
    hint="hand the mask on as it is to scaled_dot_product_attention",
)
four = (
    "a layer with heads takes masks of four dimensions: see check_mask. Two could be meant as "
    "(batch, key_len), and would be read as (query_len, key_len)"
)
assert_raises(ValueError, layer, tokens, tokens, tokens, is_real, hint=four)
### BEGIN HIDDEN TESTS
layer = on_device(MultiHeadAttention(12, 1))
tokens = torch.randn(4, 5, 12).to(device)
is_real = torch.arange(5) < torch.tensor([5, 3, 1, 2])[:, None]  # (batch, key_len)
is_real = is_real.to(device)
mask = is_real[:, None, None, :]
for unfit in (mask[0, 0], mask[:, 0]):
    assert_raises(ValueError, layer, tokens, tokens, tokens, unfit, hint=four)
no_boolean = "a mask of ones and zeros could mean either polarity: refuse it"
assert_raises(TypeError, layer, tokens, tokens, tokens, mask.float(), hint=no_boolean)
enlarging = "a mask for four sentences would make four outputs of one: see check_mask"
assert_raises(ValueError, layer, tokens[:1], tokens[:1], tokens[:1], mask, hint=enlarging)
changed = torch.where(is_real[:, :, None], tokens, torch.randn(4, 5, 12).to(device))
before = checked(ask(layer, tokens, tokens, tokens, mask), (4, 5, 12))
assert_close(
    ask(layer, tokens, changed, changed, mask),
    before,
    what="output after a change of hidden keys",
    hint="hidden keys still count: True means may attend, and masking comes before the softmax",
)
changed = tokens.clone()
changed[:, 0] += 1.0
after = checked(ask(layer, tokens, changed, changed, mask), (4, 5, 12))
if torch.allclose(after, before):
    raise CheckFailure(
        "a change of a key that may be attended to changes nothing", hint="True means may attend"
    )
per_head = torch.rand(4, 3, 5, 5) < 0.5
per_head[..., 0], per_head[..., 1] = True, False
per_head = per_head.to(device)
layer = on_device(MultiHeadAttention(12, 3))
pair = ask(layer, tokens, tokens, tokens, per_head, return_weights=True)
weights = pair[1] if isinstance(pair, tuple | list) and len(pair) == 2 else None
if not (isinstance(weights, Tensor) and weights.dim() == 4):
    forgive("there are no weights for each head", OF_LAYER["values"])
else:
    assert_close(
        weights > 0,
        per_head,
        what="where the weights are positive",
        hint="a mask may differ from head to head, (batch, num_heads, query_len, key_len)",
        mistakes={"the mask is inverted; True means may attend": ~per_head},
    )


to_query, to_key, to_value, to_output = (getattr(layer, name) for name in PROJECTIONS)


def split(projected):
    """Split into three heads."""
    return projected.view(4, -1, 3, 4).transpose(1, 2)


asked = split(to_key(tokens)), split(to_value(tokens))  # once, as each call of yours takes its time


def join(heads, masks):
    """Put the output for each mask together with your attention and your projection."""
    calls = [((*heads, *mask), {}) for mask in masks]
    attended = attend_each(scaled_dot_product_attention, *calls)
    joined = [checked(each, heads[0].shape).transpose(1, 2).flatten(-2) for each in attended]
    return to_output(torch.cat(joined)).chunk(len(masks))


def is_right_without(asking, heads):
    """Say whether several heads give the right output without a mask."""
    try:
        unmasked = checked(ask(layer, asking, tokens, tokens), asking.shape)
    except RuntimeError:  # where there are more keys than queries
        return False
    return torch.allclose(unmasked, *join(heads, [()]), rtol=1e-4, atol=1e-5)


hint = "a mask of one head hides the same from all, one of one sentence in all; else each sentence "
hint += "has its own"
causal = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril().to(device)
# As many queries as keys, and fewer; in training, and in evaluation; with the weights, and without.
settings = (tokens, True), (tokens[:, 2:], False), (tokens[:, 4:], True)
for number, (asking, training) in enumerate(settings):
    layer.train(training)
    heads = split(to_query(asking)), *asked
    if not is_right_without(asking, heads):
        of_heads = [OF_LAYER[name] for name in ("shape", "projections", "values")]
        of_heads.append("MultiHeadAttention-heads")
        forgive("without a mask, too, several heads give another output", *of_heads)
        continue
    masks = [is_real[:, None, None], per_head, per_head[:1], causal]
    if device == "cpu":  # on a GPU PyTorch's own attention refuses what is the same for all keys
        masks.append(per_head[..., :1])
    masks = [mask[:, :, -asking.size(1) :] for mask in masks]
    calls, expected = [], []
    for place, (mask, right) in enumerate(
        zip(masks, join(heads, [(mask,) for mask in masks]), strict=True)
    ):
        ways = {}, {"return_weights": True}
        if mask.shape[:2] != per_head.shape[:2] or mask.size(3) == 1:
            ways = [ways[(number + place) % 2]]  # in turn, as calls take time
        calls += [((asking, tokens, tokens, mask), how) for how in ways]  # both, if nothing shares
        expected += [right for _ in ways]
    for output, right in zip(ask_each(layer, *calls), expected, strict=True):
        output = output[0] if isinstance(output, tuple | list) else output
        assert_close(output, right, what="output of three heads", hint=hint)
### END HIDDEN TESTS

# %% test="MultiHeadAttention-gradients" points=1 read="self-attention#multi-head-preview"
# Gradients flow to every input and projection that the output depends on
layer = with_own_projections(on_device(MultiHeadAttention(6, 3)))
inputs = {
    "query": torch.randn(5, 7, 6).to(device),
    "key": torch.randn(5, 7, 6).to(device),
    "value": torch.randn(5, 7, 6).to(device),
}
share = torch.randn(5, 7, 6).to(device)


def loss(*inputs):
    """Weight the numbers of your output by chance, and add them up."""
    output = ask(layer, *(each.clone() for each in inputs))
    return (checked(output, (5, 7, 6)) * share).sum()


cut = "detach(), .data and numpy() cut the gradient"
assert_gradients(loss, inputs, hint=cut)
### BEGIN HIDDEN TESTS
layer = with_own_projections(on_device(MultiHeadAttention(6, 3)))
parameters, found = {}, parts_of(layer)
if missing := [name for name in PROJECTIONS if f"{name}.weight" not in found]:
    raise CheckFailure(f"{missing[0]} is missing", hint="four nn.Linear with the docstring's names")
for name, parameter in found.items():
    assert_shape(parameter, (6, 6) if name.endswith("weight") else (6,), what=name)
    parameters[name] = parameter.detach().clone()
state, load = layer.state_dict(), layer.load_state_dict
is_real = torch.arange(7) < torch.tensor([7, 3, 5, 1, 4])[:, None]  # (batch, key_len)
masks = [is_real[:, None, None].to(device)]
try:
    ask(layer, *inputs.values(), *masks)
except Exception:
    forgive("with a mask there is an error", "MultiHeadAttention-mask")
    masks = []


def loss_with_masks(*inputs):
    """Add what comes past a mask, and beside the weights, to what comes without."""
    calls = [(inputs, {}), *(((*inputs, mask), {}) for mask in masks)]
    pair, *outputs = ask_each(layer, (inputs, {"return_weights": True}), *calls)
    outputs.append(pair[0] if isinstance(pair, tuple | list) else pair)
    return sum((checked(output, (5, 7, 6)) * share).sum() for output in outputs)


def loss_of_parameters(*tensors):
    """Put parameters into the layer, and weight the numbers of its output by chance."""
    load(state | dict(zip(parameters, tensors, strict=True)))
    return loss_with_masks(*inputs.values())


leaves = {name: tensor.clone().requires_grad_() for name, tensor in inputs.items()}
result = loss_with_masks(*leaves.values())
if result.requires_grad:
    result.backward()
slopes = call_beside(take_gradients, layer)
slopes = {name: slopes.get(name) for name in parameters}
assert_slopes(loss_with_masks, inputs, {name: leaf.grad for name, leaf in leaves.items()}, hint=cut)
assert_slopes(loss_of_parameters, parameters, slopes, hint=cut)
### END HIDDEN TESTS

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
# deviation is what has to become 1, and it is $\sqrt{d_k}$; dividing by $d_k$ would shrink the
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

# %% demo="mirror-reading"
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
