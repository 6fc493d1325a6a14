# %% [markdown]
# # Homework 6: The cache
#
# Imagine a storyteller who, before each word, recites the whole story from the beginning. "Once."
# "Once upon." "Once upon a." By the second page you would have left.
#
# A Transformer that writes does just that, unless somebody gives it a memory. The memory is called
# a **cache of keys and values**, it is a few lines long, and it is the reason why a chatbot answers
# while you look. Here you write it, and what chooses each next word; and in the end a small model
# that stands on *your* code tells a story that grows longer with every verse.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `GrowingCache`, `FixedCache`: what is remembered | 5 |
# | 2 | `CachedAttention`: attention that reads on | 5 |
# | 3 | `TextModel`: a model that reads on | 3 |
# | 4 | `keep_top_k`, `keep_top_p`, `sample`: which word comes next | 7 |
# | 5 | `kv_cache_bytes`, and a question: what the memory costs | 4 |
#
# **Time:** about three hours if you have read the chapters
# [Caching keys and values](book:kv-caching) and [Decoding](book:decoding); part 2 takes one of
# them. Nothing here needs a GPU.
#
# **Afterwards you can** say what may be kept from step to step and why, read a text in pieces with
# the same result as at once, draw from the top of a distribution, and reckon how many people a
# model can talk to before its memory is full.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, errors. In the end a model is trained on what you write: so without a cache,
#   gradients flow back through attention and model; `detach()` and `no_grad()` cut them. You may
#   add cells, and functions and methods of your own.
# - The test cells check one thing each. One that passes says so, one that fails says
#   first what is wrong, and mostly gives a hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers, shapes
#   and dtypes, and with all errors that the docstring promises. It asks for nothing beyond the
#   docstring, the text and the part that you see.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - What you wrote in earlier homeworks is in `course_lib` now: attention, masks, positions, norms.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.
#
# **If you are stuck,** print the shapes of what goes into the cache and of what comes out. Then
# look at [Common mistakes](book:kv-caching#kv-caching-common-mistakes) in the chapter.

# %% setup="imports"
import itertools
import math
import os
import time
from functools import partial
from numbers import Integral

import torch
from torch import Tensor, nn

from course_lib.checked_results import as_pair, checked, checked_number
from course_lib.gradient_checks import assert_gradients_like
from course_lib.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.feed_forward import FeedForward
from course_lib.generation.hypothesis import Hypothesis, cut_at_eos
from course_lib.layers.kv_cache import AttentionCache, KeysAndValues
from course_lib.layers.masks import causal_mask, check_mask, without_hidden
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions, RotaryPositions
from course_lib.generation.step_models import UncachedModel
from course_lib.analysis.recorders import RecordingCache, count_places, projected_tokens
from course_lib.layers.residual import Residual
from course_lib.generation.step_models import StepModel
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    assert_shape,
    call_beside,
    forgive,
)
from course_lib.validation import check_at_least, check_batch

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end
out = -math.inf  # the logit of what is ruled out


def draw_pair(*shape, dtype=torch.float32):
    """Draw keys and values of one shape."""
    return torch.randn(shape, dtype=dtype).to(device), torch.randn(shape, dtype=dtype).to(device)


def chunkings(length):
    """Give every way to read so many tokens in pieces, as lists of lengths."""
    for cuts in itertools.product((False, True), repeat=length - 1):
        borders = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), length]
        yield [end - start for start, end in itertools.pairwise(borders)]


def bytes_of(cache):
    """Give the bytes of a cache, from a property or a method."""
    num_bytes = cache.num_bytes
    if not callable(num_bytes):
        return num_bytes
    forgive("num_bytes is a method", "GrowingCache-growth")
    return num_bytes()


def length_of(cache, tokens):
    """Give the length of a cache that was given so many tokens."""
    length = cache.length
    if length != tokens:
        forgive("length is not the number of tokens", "GrowingCache-update")
    return length


def two_tensors(result, what, hint="keys and values, in this order"):
    """Give both parts of a result, once it is a pair."""
    return as_pair(result, f"{what} should give two tensors", hint=hint)


def all_so_far_of(result, expected, what):
    """Give the keys and values that update returned, in order, and without spare room."""
    parts = list(two_tensors(result, what))
    for i, true in enumerate(expected):
        part = parts[i]
        if isinstance(part, Tensor) and part.dim() == 4 and part.size(2) > true.size(2):
            parts[i] = part[:, :, : true.size(2)]
            forgive("the spare room is returned too", "GrowingCache-update")
    turned = all(
        isinstance(part, Tensor)
        and part.shape == true.shape
        and torch.allclose(part.to(true), true)
        for part, true in zip(parts, expected[::-1], strict=True)
    )
    if turned:
        forgive("values come before the keys", "GrowingCache-update")
    return parts[::-1] if turned else parts


def which_stay(left, logits, paid_in):
    """Say which logits stay as they are; the others should be ruled out."""
    assert_shape(left, logits.shape, what="the logits that are left")
    stay = left == logits
    if bool((left[~stay] != out).any()):
        forgive("what is ruled out does not become minus infinity", paid_in)
    return stay.tolist()


def tokens_of(written, prompts, vocab_size):
    """Give the tokens of each hypothesis, once there is one a prompt, and they are token ids."""
    hint = "a Hypothesis for each prompt: cut_at_eos makes them"
    if not isinstance(written, list | tuple) or len(written) != prompts:
        raise CheckFailure(f"sample should return a list of {prompts} hypotheses", hint=hint)
    rows = [getattr(hypothesis, "tokens", None) for hypothesis in written]
    if not all(isinstance(row, list | tuple) for row in rows):
        raise CheckFailure("a hypothesis has no tuple of tokens", hint=hint)
    for token in itertools.chain.from_iterable(rows):
        if isinstance(token, bool) or not isinstance(token, Integral):
            hint = "tokens is a tuple of ints, such as .tolist() gives"
            raise CheckFailure("a token that was written is no whole number", hint=hint)
        if not 0 <= token < vocab_size:
            hint = "a token is an index into the vocabulary: what torch.multinomial draws"
            raise CheckFailure(f"a token is not one of 0 to {vocab_size - 1}", hint=hint)
    return [list(row) for row in rows]


def assert_drawn_from(tokens, expected, *, what, hint="", mistakes=None):
    """Check that tokens come from a distribution: no frequency is off by six deviations."""
    counts = torch.bincount(torch.tensor(tokens), minlength=len(expected))
    frequencies = counts.double() / len(tokens)

    def fits(distribution):
        distribution = distribution.double().cpu()
        if distribution.shape != frequencies.shape:
            return False
        room = 6 * (distribution * (1 - distribution) / len(tokens)).sqrt() + 1e-9
        return bool(((frequencies - distribution).abs() <= room).all())

    if not fits(expected):
        hint = next((words for words, wrong in (mistakes or {}).items() if fits(wrong)), hint)
        raise CheckFailure(f"{what}: the tokens are drawn from another distribution", hint=hint)


# %% [markdown]
# ## Part 1: what is remembered
#
# A token's keys and values depend on that token and on what stands before it, never on what
# follows. So they need not be computed again when the next token comes: see
# [What may be kept](book:kv-caching#what-may-be-kept).
#
# A cache has one method that matters: `update` is given the keys and values of the new tokens, and
# returns those of all tokens so far. Two attributes tell what is there: `length`, and `final`. In a
# cache that grows, `final` is always `None`; what it is for, the second kind of cache will show.
#
# `GrowingCache` could join old and new with `torch.cat`. Then the tenth step copies ten tokens, the
# thousandth a thousand. The docstring asks for something better, known from Python's own lists:
# buffers with room to spare, of which `update` returns the filled part: a view, `buffer[:, :, :n]`,
# no copy. The chapter draws them in [Room to grow](book:kv-caching#room-to-grow).

# %% solution="GrowingCache" of="course_lib.layers.kv_cache"

# %% test="GrowingCache-update" points=1 read="kv-caching#room-to-grow"
# Each update returns the keys and values of all tokens so far, in order
cache = GrowingCache(capacity=2)
first, second = draw_pair(2, 3, 1, 4), draw_pair(2, 3, 3, 4)
cache.update(*first)
keys, values = two_tensors(cache.update(*second), "update")
count_tokens = "count the tokens, not the updates: keys are (batch, num_heads, new_len, head_dim)"
assert_equal(cache.length, 4, what="length", hint=count_tokens)
new_alone = "these are the new tokens alone; return all tokens so far"
all_so_far = (
    "return all tokens so far, and cut off the spare room of the buffers; "
    "a larger buffer begins with a copy of what is held"
)
wrong_order = "what came first stands first"
changed_places = {
    "keys": "keys and values have changed places",
    "values": "these are the keys, not the values",
}
old_and_new = [torch.cat(parts, dim=2) for parts in zip(first, second, strict=True)]
for name, result, old, new in zip(("keys", "values"), (keys, values), first, second, strict=True):
    assert_close(
        result,
        torch.cat([old, new], dim=2),
        what=name,
        hint=all_so_far,
        mistakes={
            new_alone: new,
            wrong_order: torch.cat([new, old], dim=2),
            changed_places[name]: old_and_new[name == "keys"],
        },
    )
assert_equal(cache.final, None, what="final", hint="there may always be a next token: None")
### BEGIN HIDDEN TESTS
of_one_dtype = "the buffers have the dtype of the keys and values that come in"
for capacity, lengths, dtype in (
    (1, (1, 1, 1, 1), torch.float32),
    (3, (2, 5, 1, 4), torch.float64),
):
    cache, other = GrowingCache(capacity=capacity), GrowingCache(capacity=capacity)
    pieces = []
    for length in lengths:
        pieces.append(draw_pair(3, 2, length, 4, dtype=dtype))
        try:
            result = cache.update(*pieces[-1])
        except RuntimeError as error:
            if length == 1 or "size of" not in str(error):
                raise
            enough = (
                "twice as long may not be enough for many new tokens: make room for all of them"
            )
            raise CheckFailure(f"{length} tokens at once do not fit in", hint=enough) from error
        two_tensors(result, "update")
        elsewhere = draw_pair(1, 4, 2, 6)
        other.update(*elsewhere)
        for name, actual, parts in zip(
            ("keys", "values"), result, zip(*pieces, strict=True), strict=True
        ):
            is_tensor = isinstance(actual, Tensor)
            assert_close(
                actual,
                torch.cat(parts, dim=2),
                what=name,
                hint=of_one_dtype if is_tensor and actual.dtype != dtype else all_so_far,
                mistakes={
                    new_alone: parts[-1],
                    wrong_order: torch.cat(parts[::-1], dim=2),
                    changed_places[name]: torch.cat(
                        [pair[name == "keys"] for pair in pieces], dim=2
                    ),
                },
            )
        expected = sum(part.size(2) for part in parts)
        hint = "count the tokens, each cache for itself"
        assert_equal(cache.length, expected, what="length", hint=hint)
        hint = "there may always be a next token: None"
        assert_equal(cache.final, None, what="final", hint=hint)
### END HIDDEN TESTS

# %% test="GrowingCache-growth" points=1 read="kv-caching#room-to-grow"
# A full buffer is replaced by one twice as long, not by one that fits
cache = GrowingCache(capacity=3)
no_buffers = "a number, 0 as long as there are no buffers; @property above it stands for the ()"
assert_equal(cache.num_bytes, 0, what="num_bytes of a new cache", hint=no_buffers)
one = draw_pair(2, 3, 1, 5)
token = 2 * (2 * 3 * 5) * 4  # keys and values; rows, heads, width; four bytes a number
for length, room in ((1, 3), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 12)):
    cache.update(*one)
    assert_equal(
        cache.num_bytes,
        room * token,
        what=f"num_bytes with {length} tokens, capacity 3",
        hint="keep room to spare: a full buffer is replaced by one twice as long",
        mistakes={
            "the buffers fit exactly, so that every step copies all that is held "
            "(or num_bytes leaves out the spare room)": length * token,
            "a buffer is full when the new tokens do not fit in, not before: > in place of >=": (
                2 * room * token if length == room else -1
            ),
            "keys and values both take memory": room * token // 2 if length == 1 else -1,
            "the buffers never grow: is length counted up at each update?": 3 * token,
            "num_bytes counts bytes, four for a float32": room * token // 4,
        },
    )
in_place = (
    "write new tokens into the buffers, and return views of these, buffer[:, :, :length]: what is "
    "joined or copied anew at each update costs more with each token"
)
cache = GrowingCache(capacity=4)
places = call_beside(count_places, cache, *one, updates=16)
if (
    checked_number(places, what="the number of places") > 6
):  # 4, 8 and 16 tokens of keys and of values
    summary = f"16 updates return keys and values in {places} places of memory, expected 6"
    raise CheckFailure(summary, hint=in_place)
### BEGIN HIDDEN TESTS
for capacity in (1, 3):
    cache, sizes = GrowingCache(capacity=capacity), []
    one = draw_pair(1, 2, 1, 2, dtype=torch.float64)
    for _ in range(100):
        cache.update(*one)
        sizes.append(checked_number(cache.num_bytes, what="num_bytes"))
    expected = []
    room = capacity
    for length in range(1, 101):
        room = room if length <= room else 2 * room
        expected.append(room * 2 * 4 * 8)
    if len(set(sizes)) > 20:
        hint = "the buffers are replaced at every step: keep room to spare"
        raise CheckFailure("100 steps replace the buffers more than 20 times", hint=hint)
    hint = "a full buffer is replaced by one twice as long; bytes are those of the dtype"
    assert_equal(sizes, expected, what="num_bytes of 100 steps", hint=hint)
    cache, most = GrowingCache(capacity=capacity), 2 * len(set(expected))
    places = call_beside(count_places, cache, *one, updates=100)
    if checked_number(places, what="the number of places") > most:
        summary = f"100 updates return keys and values in more than {most} places of memory"
        raise CheckFailure(summary, hint=in_place)
cache = GrowingCache()
cache.update(*one)
hint = "without a capacity there is room for 64 tokens"
assert_equal(cache.num_bytes, 64 * 2 * 4 * 8, what="num_bytes of a cache by default", hint=hint)
cache = GrowingCache(capacity=2)
many = draw_pair(1, 2, 50, 2)
cache.update(*many)
cache.update(*many)
if checked_number(cache.num_bytes, what="num_bytes") < 100 * 2 * 4 * 4:
    raise CheckFailure("num_bytes is less than what is held", hint="count the spare room too")
### END HIDDEN TESTS

# %% test="GrowingCache-reorder" points=1 read="kv-caching#a-beam-in-a-cache"
# After reorder, row i goes on from what was row indices[i]
cache = GrowingCache(capacity=2)
earlier, later = draw_pair(3, 2, 2, 4), draw_pair(3, 2, 1, 4)
indices = torch.tensor([2, 0, 0]).to(device)


def fill(cache, pair):
    """Add tokens one by one, and give what the last update returns."""
    tokens = zip(*(part.split(1, dim=2) for part in pair), strict=True)
    return [cache.update(*token) for token in tokens][-1]


fill(cache, earlier)
cache.reorder(indices)


def joined(earlier, later):
    """Give keys and values, of earlier tokens and of later ones, in one tensor."""
    return torch.stack([torch.cat(parts, dim=2) for parts in zip(earlier, later, strict=True)])


def half_done(earlier, indices, later):
    """Name the usual mistakes that leave the number of rows as it was."""
    keys, values = earlier
    return {
        "reorder changes nothing": joined((keys, values), later),
        "reorder moves the keys and leaves the values: move both": (
            joined((keys[indices], values), later)
        ),
        "reorder moves the values and leaves the keys: move both": (
            joined((keys, values[indices]), later)
        ),
    }


def after_reorder(cache, later, expected, hint, mistakes):
    """Add tokens, and look at what comes back."""
    result = all_so_far_of(fill(cache, later), tuple(expected), "update after reorder")
    shape, both = expected.shape[1:], "keys and values after reorder and more tokens"
    result = torch.stack([checked(tensor, shape, what=both, hint=hint) for tensor in result])
    assert_close(result, expected, what=both, hint=hint, mistakes=mistakes)


after_reorder(
    cache,
    later,
    joined([tensor[indices] for tensor in earlier], later),
    hint="row i becomes what row indices[i] was, in keys and in values, with all its tokens",
    mistakes=half_done(earlier, indices, later),
)
### BEGIN HIDDEN TESTS
for chosen, capacity in (([1, 2, 0], 2), ([1, 1], 9), ([2, 0, 1, 1, 2], 4)):  # also fewer, more
    cache, indices = GrowingCache(capacity=capacity), torch.tensor(chosen).to(device)
    cache.reorder(indices)  # nothing is held yet: nothing to do
    earlier, later = draw_pair(3, 2, 3, 4), draw_pair(len(chosen), 2, 7, 4)  # they don't fit in
    fill(cache, earlier)
    held, size = length_of(cache, 3), checked_number(bytes_of(cache), what="num_bytes")
    try:
        cache.reorder(indices)
    except RuntimeError as error:
        if len(chosen) == 3 or "size of" not in str(error):
            raise
        anew = "there may be fewer or more rows than before: they need buffers of their own"
        summary = f"reorder can't make {len(chosen)} rows of 3"
        raise CheckFailure(summary, hint=anew) from error
    assert_equal(cache.length, held, what="length after reorder", hint="reorder forgets no token")
    if size < 2 * 3 * 2 * 3 * 4 * 4:
        forgive("num_bytes is less than what is held", "GrowingCache-growth")
    elif checked_number(bytes_of(cache), what="num_bytes") < 2 * len(chosen) * 2 * 3 * 4 * 4:
        hint = "the rows that reorder makes take memory too: ask the buffers that there are"
        raise CheckFailure("num_bytes after reorder is less than what is held", hint=hint)
    mistakes = {}
    if len(chosen) == 3:
        inverse = indices.argsort()
        mistakes = half_done(earlier, indices, later) | {
            "row i becomes what row indices[i] was, not the other way round": (
                joined([tensor[inverse] for tensor in earlier], later)
            )
        }
    after_reorder(
        cache,
        later,
        joined([tensor[indices] for tensor in earlier], later),
        hint="choose rows from keys and from values; there may be more or fewer than before",
        mistakes=mistakes,
    )
### END HIDDEN TESTS

# %% test="GrowingCache-edges" points=1 read="kv-caching#room-to-grow"
# reset forgets everything, and what does not fit is refused
cache = GrowingCache(capacity=2)
pair = draw_pair(2, 3, 4, 4)
cache.update(*pair)
cache.reset()
forgotten = "reset forgets all tokens: none is held"
assert_equal(cache.length, 0, what="length after reset", hint=forgotten)
assert_equal(bytes_of(cache), 0, what="num_bytes after reset", hint="let the buffers go")
cache.update(*pair)
wider = draw_pair(2, 3, 1, 5)
hint = "keys of another width would not fit into the buffers: raise ValueError"
assert_raises(ValueError, cache.update, *wider, hint=hint)
longer = (pair[0], pair[1][:, :, :1])
hint = "a key for each value, and a value for each key: raise ValueError"
assert_raises(ValueError, cache.update, *longer, hint=hint)
another = draw_pair(2, 3, 1, 4, dtype=torch.float64)
hint = "another dtype would be converted in silence: raise ValueError"
assert_raises(ValueError, cache.update, *another, hint=hint)
assert_raises(ValueError, GrowingCache, capacity=0, hint="no room at all: raise ValueError")
### BEGIN HIDDEN TESTS
for capacity in (0, -3):
    hint = "capacity is at least 1: raise ValueError"
    assert_raises(ValueError, GrowingCache, capacity=capacity, hint=hint)
cache = GrowingCache(capacity=8)
pair = draw_pair(2, 3, 4, 4)
cache.update(*pair)
held = length_of(cache, 4)
hint = "rows, heads and width must be those that are held: raise ValueError"
for shape in ((1, 3, 1, 4), (3, 3, 1, 4), (2, 1, 1, 4), (2, 3, 1, 1), (2, 3, 1, 5)):
    unfit = draw_pair(*shape)
    assert_raises(ValueError, cache.update, *unfit, hint=hint)
    assert_raises(ValueError, cache.update, unfit[0], pair[1][:, :, :1], hint=hint)
    assert_raises(ValueError, cache.update, pair[0][:, :, :1], unfit[1], hint=hint)
hint = "a key for each value, and a value for each key: raise ValueError"
assert_raises(ValueError, cache.update, pair[0][:, :, :2], pair[1][:, :, :1], hint=hint)
hint = "another dtype would be converted in silence: raise ValueError"
unfit = draw_pair(2, 3, 1, 4, dtype=torch.float64)
assert_raises(ValueError, cache.update, *unfit, hint=hint)
assert_raises(ValueError, cache.update, unfit[0], pair[1][:, :, :1], hint=hint)
assert_raises(ValueError, cache.update, pair[0][:, :, :1], unfit[1], hint=hint)
hint = "a refused update changes nothing"
assert_equal(cache.length, held, what="length after refused updates", hint=hint)
hint = "gradients can't flow through a buffer that is written over: raise ValueError"
learning = tuple(2.0 * tensor[:, :, :1].clone().requires_grad_() for tensor in pair)
assert_raises(ValueError, cache.update, learning[0], pair[1][:, :, :1], hint=hint)
assert_raises(ValueError, cache.update, pair[0][:, :, :1], learning[1], hint=hint)
fresh, hint = GrowingCache(capacity=8), "a new cache refuses these too: raise ValueError"
assert_raises(ValueError, fresh.update, pair[0], pair[1][:, :, :1], hint=hint)
assert_raises(ValueError, fresh.update, learning[0], pair[1][:, :, :1], hint=hint)
assert_raises(ValueError, fresh.update, pair[0][:, :, :1], learning[1], hint=hint)
fresh.update(*pair)  # and nothing of them is left
cache.reset()
assert_equal(cache.length, 0, what="length after reset", hint=forgotten)
assert_equal(bytes_of(cache), 0, what="num_bytes after reset", hint="let the buffers go")
wider = draw_pair(5, 1, 3, 6)
keys, values = all_so_far_of(cache.update(*wider), wider, "update after reset")
hint = "after reset, a cache takes whatever comes first, as a new one does"
assert_close(keys, wider[0], what="keys after reset", hint=hint)
assert_close(values, wider[1], what="values after reset", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# A translator's decoder also looks at the source, by cross-attention. The source stays as it is, so
# its keys and values are computed at the first step, and never again: see
# [The cache of cross-attention](book:kv-caching#cross-attention-cache). This cache is filled once.
# From then on its `final` says: here they are, there is nothing to compute.

# %% solution="FixedCache" of="course_lib.layers.kv_cache"

# %% test="FixedCache-once" points=1 read="kv-caching#cross-attention-cache"
# It is filled once, and from then on final has what it was filled with
cache = FixedCache()
pair = draw_pair(2, 3, 5, 4)
nothing_yet = "None, as long as there is nothing: so attention knows that it has to compute"
assert_equal(cache.final, None, what="final of a new cache", hint=nothing_yet)


def assert_holds(given, pair, what, hint, unmoved=None):
    """Check that these are the keys and values, in order and as they were."""
    if given is None:
        raise CheckFailure(f"{what} gives None, expected keys and values", hint=hint)
    two_tensors(given, what, hint)
    mistakes = {"keys and values swapped": pair[1]}
    assert_close(given[0], pair[0], what=f"keys of {what}", hint=hint, mistakes=mistakes)
    mistakes = {"these are the keys once more": pair[0]}
    if unmoved is not None:
        mistakes["reorder moves the keys and leaves the values: move both"] = unmoved[1]
    assert_close(given[1], pair[1], what=f"values of {what}", hint=hint, mistakes=mistakes)


hint = "what was given, as it was: nothing is added to it"
assert_holds(cache.update(*pair), pair, "update", hint)
for _ in range(2):
    assert_holds(cache.final, pair, "final", hint)
hint = "the number of tokens: keys are (batch, num_heads, length, head_dim)"
assert_equal(cache.length, 5, what="length", hint=hint)
once = "what is held is final: raise ValueError"
assert_raises(ValueError, cache.update, *pair, hint=once)
### BEGIN HIDDEN TESTS
other, elsewhere, later = FixedCache(), draw_pair(1, 2, 2, 6), draw_pair(1, 3, 2, 4)
hint = "a new cache holds nothing, whatever other caches hold"
assert_equal(other.final, None, what="final of a new cache", hint=hint)
other.update(*elsewhere)
cache = FixedCache()
assert_equal(cache.final, None, what="final of a new cache", hint=hint)
assert_equal(cache.length, 0, what="length of a new cache", hint=hint)
assert_equal(cache.num_bytes, 0, what="num_bytes of a new cache", hint=hint)
cache.reorder(torch.tensor([1]).to(device))  # nothing is held yet: nothing to do
cache.update(*pair)
assert_equal(cache.num_bytes, 2 * 2 * 3 * 5 * 4 * 4, what="num_bytes", hint="of keys and values")
for chosen in ([1, 0], [1, 1, 0]):
    cache.reorder(torch.tensor(chosen).to(device))
    unmoved, pair = pair, tuple(tensor[chosen] for tensor in pair)
    hint = "reorder keys and values, and forget none: row i becomes what row indices[i] was"
    assert_holds(cache.final, pair, "final after reorder", hint, unmoved)
    hint, size = "of the rows that reorder makes", 2 * len(chosen) * 3 * 5 * 4 * 4
    assert_equal(cache.num_bytes, size, what="num_bytes after reorder", hint=hint)
assert_equal(cache.length, 5, what="length", hint="the source's tokens; they do not add up")
assert_raises(ValueError, cache.update, *later, hint=once)
hint = "a refused update changes nothing"
assert_holds(cache.final, pair, "final after a refused update", hint)
cache.reset()
hint = "reset forgets what is held"
assert_equal(cache.length, 0, what="length after reset", hint=hint)
assert_equal(cache.num_bytes, 0, what="num_bytes after reset", hint=hint)
assert_equal(cache.final, None, what="final after reset", hint=hint)
assert_holds(cache.update(*later), later, "update after reset", hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: attention that reads on
#
# Now `MultiHeadAttention`, which you know, gets a memory. Without a cache it computes what it
# always did. With one, `query`, `key` and `value` hold the **new** tokens alone:
#
# 1. project the queries of the new tokens;
# 2. if `cache.final` has keys and values, take these; otherwise project those of the new tokens and
#    give them to `cache.update`, which returns those of all;
# 3. attend, join the heads and project, as ever.
#
# `CachedAttention` inherits the four projections, `_split_heads` and `_join_heads`. Two things take
# care. **Positions:** if `rotary` is given, it turns queries and keys by where they stand in the
# *whole* text, so `rotary(x, offset=...)` needs to know how many tokens came before. Ask the cache
# before it grows. (In cross-attention there is no one text to count in. So with `rotary`, a cache
# whose `final` is not `None` is refused.) **The mask** is made by the caller and covers the cached
# keys too; you only hand it on. A query that it lets attend to nothing gets weights of zero, as
# `scaled_dot_product_attention` has it. (`check_mask`, imported above, refuses a mask of another
# shape; no test asks for that.) See
# [Attention with a cache](book:kv-caching#attention-with-a-cache).
#
# `RecordingCache` is a plain cache of ours that notes what it is given. The tests use it, so that
# they do not depend on part 1.
#
# **The rule of this part:** the layer is yours; `scaled_dot_product_attention`, of `course_lib` or
# of PyTorch, is there for it. A layer that leads to `nn.MultiheadAttention` or
# `F.multi_head_attention_forward` loses the points of its tests.

# %% solution="CachedAttention" of="course_lib.layers.attention" forbids="torch.nn.MultiheadAttention torch.nn.functional.multi_head_attention_forward"

# %% test="CachedAttention-uncached" points=1 read="kv-caching#attention-with-a-cache"
# Without a cache it is MultiHeadAttention
reference = MultiHeadAttention(8, 2).to(device)
layer = CachedAttention(8, 2).to(device)
layer.load_state_dict(reference.state_dict())
tokens = torch.randn(3, 5, 8).to(device)
mask = causal_mask(5, device=device)
as_ever = "the same steps as in MultiHeadAttention, each projection for what it is named after"
expected = reference(tokens, tokens, tokens, mask)
mistakes = {"the mask is not handed on": reference(tokens, tokens, tokens)}
output = layer(tokens, tokens, tokens, mask)
assert_close(output, expected, what="output", hint=as_ever, mistakes=mistakes)
### BEGIN HIDDEN TESTS
for bias in (True, False):
    reference = MultiHeadAttention(12, 3, bias=bias).to(device)
    layer = CachedAttention(12, 3, bias=bias).to(device)
    if set(layer.state_dict()) != set(reference.state_dict()):
        hint = "inherit the projections; hand bias on to super().__init__"
        raise CheckFailure(f"with bias={bias} the layer has other parameters", hint=hint)
    layer.load_state_dict(reference.state_dict())
    query, key, value = (torch.randn(2, length, 12).to(device) for length in (4, 6, 6))
    mask = (torch.rand(2, 3, 4, 6) < 0.6).to(device) | torch.eye(4, 6, dtype=torch.bool).to(device)
    expected, expected_weights = reference(query, key, value, mask, return_weights=True)
    of_a_part = {
        f"each {one} has a mask of its own: hand on all of it": (
            reference(query, key, value, part, return_weights=True)
        )
        for one, part in (("sentence", mask[:1]), ("head", mask[:, :1]))
    }
    both = "output and weights: what is asked for by return_weights"
    result = layer(query, key, value, mask, return_weights=True)
    output, weights = two_tensors(result, "the layer with return_weights", hint=both)
    hint = "the weights are those of scaled_dot_product_attention with return_weights=True"
    mistakes = {words: wrong[1] for words, wrong in of_a_part.items()}
    assert_close(weights, expected_weights, what="weights", hint=hint, mistakes=mistakes)
    assert_close(
        output,
        expected,
        what="output with return_weights",
        hint=as_ever,
        mistakes={
            "the mask is not handed on": reference(query, key, value),
            "key and value have changed places": reference(query, value, key, mask),
            "the values are projected from key": reference(query, key, key, mask),
        },
    )
    assert_close(
        layer.train(bias)(query, key, value, mask),  # and in evaluation
        expected,
        what="output",
        hint=as_ever,
        mistakes={
            "the mask is not handed on": reference(query, key, value),
            **{words: wrong[0] for words, wrong in of_a_part.items()},
        },
    )
    blind = mask.clone()
    blind[1, :, 2] = False
    hint = "a query that may attend to nothing gets weights of zero, and not NaN or a mean"
    expected, expected_weights = reference(query, key, value, blind, return_weights=True)
    result = layer(query, key, value, blind, return_weights=True)
    output, weights = two_tensors(result, "the layer with return_weights", hint=both)
    assert_close(weights, expected_weights, what="weights, one query masked", hint=hint)
    assert_close(output, expected, what="output and weights, one query masked", hint=hint)
    output = layer(query, key, value, blind)
    assert_close(output, expected, what="output, one query masked", hint=hint)
    assert_gradients_like(
        partial(reference, mask=mask),
        partial(layer, mask=mask),
        {"query": query, "key": key, "value": value},
        modules={"": (reference, layer)},
    )
hint = "8 is not divisible by 3: hand num_heads on to super().__init__, which refuses it"
assert_raises(ValueError, CachedAttention, 8, 3, hint=hint)
### END HIDDEN TESTS

# %% test="CachedAttention-chunks" points=1 read="kv-caching#attention-with-a-cache"
# Read in pieces with a cache, the output is that of reading at once
layer = CachedAttention(8, 2).to(device)
tokens = torch.randn(3, 5, 8).to(device)
one_each = "one output for each new token"


def read_in_pieces(layer, tokens, lengths):
    """Read tokens piece by piece, and join the outputs."""
    cache, outputs, end = call_beside(RecordingCache, beside=layer), [], 0
    for length in lengths:
        piece, end = tokens[:, end : end + length], end + length
        # A token alone may look at all there is, as long as nothing is padding: no mask.
        mask = None if length == 1 else causal_mask(length, end, device=tokens.device)
        output = layer(piece, piece, piece, mask, cache=cache)
        what = f"output for {length} of {end} tokens"
        outputs.append(checked(output, piece.shape, what=what, hint=one_each))
    return torch.cat(outputs, dim=1)


hint = "attend to what cache.update returns: the keys and values of all tokens so far"
with torch.no_grad():
    at_once = layer(tokens, tokens, tokens, causal_mask(5, device=device))
    unmasked = layer(tokens, tokens, tokens)
    assert_shape(at_once, (3, 5, 8), what="output", hint=one_each)
    if at_once.shape == unmasked.shape and torch.equal(at_once, unmasked):
        hint = "the mask is not handed on: with it and without it the output is the same"
    for lengths in ([1, 1, 1, 1, 1], [2, 3]):
        in_pieces = read_in_pieces(layer, tokens, lengths)
        alone, project = tokens[:, :1], layer.output_projection
        mistakes = {  # the first token attends to itself alone, and so gets its own value
            "keys come first, in what update is given and in what it returns": project(
                layer.key_projection(alone)
            ),
            "update is given x itself: project it to keys and to values": project(alone),
        }
        what = "output for the first token"
        assert_close(in_pieces[:, :1], at_once[:, :1], what=what, hint=hint, mistakes=mistakes)
        assert_close(in_pieces, at_once, what=f"output for pieces of {lengths}", hint=hint)
### BEGIN HIDDEN TESTS
layer = CachedAttention(12, 3).to(device)
tokens = torch.randn(2, 5, 12).to(device)
with torch.no_grad():
    at_once = layer(tokens, tokens, tokens, causal_mask(5, device=device))
    checked(at_once, tokens.shape, what="output", hint=one_each)
    other = torch.cat([tokens[:, :1] + 1, tokens[:, 1:]], dim=1)
    after = layer(other, other, other, causal_mask(5, device=device))
    if torch.equal(after[:, -1], at_once[:, -1]):
        not_read = "without a cache, the layer is MultiHeadAttention: begin with that"
        raise CheckFailure("the output is the same for other tokens before it", hint=not_read)
    in_use = layer.eval()(tokens, tokens, tokens, causal_mask(5, device=device))
    is_alike = torch.allclose(checked(in_use, tokens.shape, what="output"), at_once, atol=1e-5)
    if not is_alike:
        forgive("in evaluation the output without a cache is another", "CachedAttention-uncached")
    for number, lengths in enumerate(chunkings(5)):  # one text or two, in training or evaluation
        layer.train(not is_alike or len(lengths) % 2 == 0)
        texts = 1 + number % 2
        in_pieces = read_in_pieces(layer, tokens[:texts], lengths)
        assert_close(in_pieces, at_once[:texts], what=f"output for pieces of {lengths}", hint=hint)
    layer.train(not is_alike)
    cache = call_beside(RecordingCache, beside=layer)
    layer(tokens, tokens, tokens, cache=cache)
    piece = tokens[:, :2]
    result = layer(piece, piece, piece, cache=cache, return_weights=True)
    both = "output and weights: what is asked for by return_weights"
    output, weights = two_tensors(result, "the layer with return_weights", hint=both)
    whole = torch.cat([tokens, piece], dim=1)
    result = layer(whole, whole, whole, return_weights=True)
    all_output, all_weights = two_tensors(result, "the layer with return_weights", hint=both)
    hint = "with return_weights, one weight for each new query and each key so far"
    assert_shape(weights, (2, 3, 2, 7), what="weights with a cache", hint=hint)
    assert_shape(output, piece.shape, what="output with a cache and weights", hint=one_each)
    if (all_output.shape, all_weights.shape) == (whole.shape, (2, 3, 7, 7)):
        what = "weights with a cache"
        assert_close(weights, all_weights[:, :, 5:], what=what, hint=hint)
        what = "output with a cache and weights"
        assert_close(output, all_output[:, 5:], what=what, hint=one_each)
    else:
        forgive("weights without a cache are of another shape", "CachedAttention-uncached")
    seen = torch.ones(2, 3, 1, 5, dtype=torch.bool).to(device)
    seen[1, ..., 1] = False  # padding
    seen[:, 1:, :, 2] = False  # the first head alone may look here
    at_once = layer(tokens, tokens, tokens, causal_mask(5, device=device) & seen)
    cache, outputs = call_beside(RecordingCache, beside=layer), []
    for end, x in enumerate(tokens.split(1, dim=1), start=1):
        output = layer(x, x, x, seen[..., :end], cache=cache)
        outputs.append(checked(output, x.shape, what="output for one token", hint=one_each))
    hint = "a token alone must not look at padding: hand on whatever mask there is"
    what = "output for tokens one by one, one of them padding"
    assert_close(torch.cat(outputs, dim=1), at_once, what=what, hint=hint)
    cache = call_beside(RecordingCache, beside=layer)
    x, last = tokens[1:].split([4, 1], dim=1)
    layer(x, x, x, causal_mask(4, device=device) & seen[1:, ..., :4], cache=cache)
    alone = layer(last, last, last, seen[1:], cache=cache)
    what = "output for the last token of a text alone, which has padding"
    assert_close(alone, at_once[1:, 4:], what=what, hint=hint)
### END HIDDEN TESTS

# %% test="CachedAttention-rotary" points=1 read="kv-caching#positions-in-a-cache"
# With rotary positions each token keeps its place in the whole text
layer = CachedAttention(8, 2, rotary=call_beside(RotaryPositions, 4, beside=CachedAttention))
layer = layer.to(device)
tokens = torch.randn(3, 5, 8).to(device)


def read_the_last(layer, tokens, lengths):
    """Read tokens piece by piece, and join the outputs of each piece's last token.

    That one may look at all there is, so that no mask is needed.
    """
    cache = call_beside(RecordingCache, beside=layer)
    pieces = tokens.split(lengths, dim=1)
    outputs = [checked(layer(x, x, x, cache=cache), x.shape, what="the output") for x in pieces]
    return torch.cat([output[:, -1:] for output in outputs], dim=1)


hint = (
    "turn the new queries and keys, and these alone, with offset=cache.length, as it is before the "
    "update"
)
unturned = MultiHeadAttention(8, 2).to(device)
layer.load_state_dict(unturned.state_dict())
with torch.no_grad():
    at_once = checked(layer(tokens, tokens, tokens), tokens.shape, what="the output")[:, -1:]
    in_pieces = read_the_last(layer, tokens, [1, 1, 1, 1, 1])[:, -1:]
    last, mistakes = tokens[:, -1:], {}
    if not torch.allclose(in_pieces, at_once, atol=1e-5):
        alone = "what came before is not seen: attend to what cache.update returns"
        mistakes[alone] = layer(last, last, last)
        if torch.allclose(at_once, unturned(tokens, tokens, tokens)[:, -1:], atol=1e-5):
            hint = "without a cache rotary is not used: it turns queries and keys there, too"
    what = "output for the last of 5 tokens"
    assert_close(in_pieces, at_once, what=what, hint=hint, mistakes=mistakes)
### BEGIN HIDDEN TESTS
from course_lib.layers.attention import CachedAttention as ReferenceLayer


def read_in_two(layer, tokens):
    """Read two tokens and then three, with a cache and with masks, and join the outputs."""
    cache = call_beside(RecordingCache, beside=layer)
    pieces, masks = tokens.split([2, 3], dim=1), (causal_mask(2), causal_mask(3, 5))
    outputs = [
        checked(layer(x, x, x, mask.to(device), cache=cache), x.shape, what="the output")
        for x, mask in zip(pieces, masks, strict=True)
    ]
    return torch.cat(outputs, dim=1)


def assert_weighs_like(reference, layer, is_cached):
    """Check output and weights, of five tokens at once or of the last two with a cache."""
    mask = causal_mask(5, device=device)
    expected = reference(tokens, tokens, tokens, mask, return_weights=True)
    cache, read = None, tokens
    if is_cached:
        cache = call_beside(RecordingCache, beside=layer)
        before, read = tokens.split([3, 2], dim=1)
        layer(before, before, before, mask[..., :3, :3], cache=cache)
        mask = mask[..., 3:, :]
    hint = "asking for the weights changes nothing: queries and keys are turned, the mask is used"
    result = layer(read, read, read, mask, cache=cache, return_weights=True)
    for actual, right, name in zip(
        two_tensors(result, "the layer with return_weights", hint="output and weights"),
        expected,
        ("output", "weights"),
        strict=True,
    ):
        right = right[..., -read.size(1) :, :]
        assert_close(actual, right, what=f"{name} with return_weights", hint=hint)


reference = ReferenceLayer(12, 3, rotary=RotaryPositions(4)).to(device)
rotary = call_beside(RotaryPositions, 4, beside=CachedAttention)
layer = CachedAttention(12, 3, rotary=rotary).to(device)
layer.load_state_dict(reference.state_dict())
layer.eval()
unturned = MultiHeadAttention(12, 3).to(device)
unturned.load_state_dict(reference.state_dict())
tokens = torch.randn(2, 5, 12).to(device)
with torch.no_grad():
    assert_close(
        layer(tokens, tokens, tokens),
        reference(tokens, tokens, tokens),
        what="output without a cache",
        hint="rotary turns queries and keys, once they are cut into heads; values stay as they are",
        mistakes={"rotary is not used": unturned(tokens, tokens, tokens)},
    )
    mask = causal_mask(5, device=device)
    expected = reference(tokens, tokens, tokens, mask)
    masked = checked(layer(tokens, tokens, tokens, mask), tokens.shape, what="output with a mask")
    is_masked = torch.allclose(masked, expected, atol=1e-5)
    if not is_masked:
        forgive("with a mask the output is another", "CachedAttention-uncached")
    for lengths in chunkings(5):
        last = [end - 1 for end in itertools.accumulate(lengths)]
        outputs = read_the_last(layer, tokens, lengths)
        what = f"output for the last tokens of pieces of {lengths}"
        assert_close(outputs, expected[:, last], what=what, hint=hint)
    elsewhere = ("CachedAttention-uncached", "CachedAttention-chunks")
    plain = CachedAttention(12, 3).to(device)
    plain.load_state_dict(reference.state_dict())
    plain.eval()
    at_once = unturned(tokens, tokens, tokens, mask)
    if torch.allclose(read_in_two(plain, tokens), at_once, atol=1e-5):
        hint = "hand the mask on, with rotary positions and a cache too"
        what = "output for masked pieces of [2, 3]"
        assert_close(read_in_two(layer, tokens), expected, what=what, hint=hint)
    else:
        forgive("in masked pieces the output is another", *elsewhere)
    for is_cached in (False, True) if is_masked else ():
        try:
            assert_weighs_like(unturned, plain, is_cached)
        except CheckFailure as failure:  # without rotary positions it goes wrong already
            forgive(failure.summary, *elsewhere)
        else:
            assert_weighs_like(reference, layer, is_cached)
    cache = call_beside(RecordingCache, fixed=True, beside=layer)
    hint = "rotary positions and a cache whose final is not None do not go together: ValueError"
    cache.update(*draw_pair(2, 3, 5, 4))
    assert_raises(ValueError, layer, tokens, tokens, tokens, cache=cache, hint=hint)
try:
    assert_gradients_like(reference, layer, dict.fromkeys(("query", "key", "value"), tokens))
except CheckFailure as failure:
    forgive(failure.summary, "CachedAttention-uncached")
### END HIDDEN TESTS

# %% test="CachedAttention-work" points=1 read="kv-caching#cost-of-a-step"
# Keys and values are computed for the new tokens alone
layer = CachedAttention(8, 2).to(device)
tokens = torch.randn(3, 6, 8).to(device)
cache = call_beside(RecordingCache, beside=layer)
with torch.no_grad():
    for piece in tokens.split([3, 1, 2], dim=1):
        layer(piece, piece, piece, cache=cache)
assert_equal(
    [tuple(keys) for keys, _ in cache.shapes],
    [(3, 2, 3, 4), (3, 2, 1, 4), (3, 2, 2, 4)],
    what="the shapes of the keys that the cache was given for 3, 1 and 2 new tokens",
    hint="give update the new keys and values, cut into heads: "
    "(batch, num_heads, new_len, head_dim)",
)
### BEGIN HIDDEN TESTS
hint = "one update a step, (batch, num_heads, new_len, head_dim) for keys and for values"
layer = CachedAttention(12, 3).to(device)
cache = call_beside(RecordingCache, beside=layer)
lengths = torch.randint(1, 4, (5,)).tolist()
with torch.no_grad():
    for length in lengths:
        piece = torch.randn(2, length, 12).to(device)
        layer(piece, piece, piece, cache=cache)
expected = [((2, 3, length, 4),) * 2 for length in lengths]
actual = [tuple(tuple(shape) for shape in shapes) for shapes in cache.shapes]
assert_equal(actual, expected, what="the shapes of what the cache was given", hint=hint)

# The projections map what is new, whatever happens behind the scenes.
layer, past = CachedAttention(12, 3).to(device), 50
layer.eval()
text, token = torch.randn(1, past, 12).to(device), torch.randn(1, 1, 12).to(device)
cache = call_beside(RecordingCache, beside=layer)
with torch.no_grad():
    layer(text, text, text, cache=cache)
    counts = call_beside(projected_tokens, layer, token, token, token, cache=cache)
for name, count in counts.items():
    if checked_number(count, what="a number of tokens") >= past:
        hint = "with a cache, work on the new tokens alone; the cache has the rest"
        raise CheckFailure(f"after {past} tokens, one more has {name} map {count}", hint=hint)

# What the cache holds stays as it is when the projections change; who maps all again tells so.
cache, whole = call_beside(RecordingCache, beside=layer), torch.cat([text, token], dim=1)
with torch.no_grad():
    layer(text, text, text, cache=cache)
    layer.load_state_dict({name: tensor.flip(0) for name, tensor in layer.state_dict().items()})
    last, anew = layer(token, token, token, cache=cache), layer(whole, whole, whole)
fit = isinstance(last, Tensor) and isinstance(anew, Tensor) and last.shape == anew[:, -1:].shape
if not fit:
    forgive("the output has not the shape of the query", "CachedAttention-chunks")
elif torch.allclose(last, anew[:, -1:], atol=1e-5):
    hint = "attend to what update returns: the cache has the keys and values of what came before"
    raise CheckFailure("keys and values of earlier tokens are computed anew", hint=hint)
### END HIDDEN TESTS

# %% test="CachedAttention-cross" points=1 read="kv-caching#cross-attention-cache"
# In cross-attention the source is read at the first step alone
layer = CachedAttention(8, 2).to(device)
target, source = torch.randn(3, 4, 8).to(device), torch.randn(3, 6, 8).to(device)
cache = call_beside(RecordingCache, fixed=True, beside=layer)
with torch.no_grad():
    at_once = layer(target, source, source)
    first = layer(target[:, :1], source, source, cache=cache)
    second = layer(target[:, 1:], source, source, cache=cache)
hint = "attend to what update returns, keys and values, and in later steps to cache.final"
what = "output in two pieces"
pieces = [checked(first, (3, 1, 8), what=what), checked(second, (3, 3, 8), what=what)]
in_two = torch.cat(pieces, dim=1)
assert_close(in_two, at_once, what=what, hint=hint)
hint = "where cache.final has the keys and values, project none and update nothing"
assert_equal(len(cache.shapes), 1, what="the number of updates", hint=hint)
project_none = (
    "ask cache.final first: where it has the keys and values, do not project key and value"
)
with torch.no_grad():
    counts = call_beside(projected_tokens, layer, target, source, source, cache=cache)
for name in ("key_projection", "value_projection"):
    what = f"the number of tokens that {name} maps once the cache is filled"
    assert_equal(counts[name], 0, what=what, hint=project_none)
### BEGIN HIDDEN TESTS
layer = CachedAttention(12, 3).to(device)
layer.eval()
query, key, value = (torch.randn(2, length, 12).to(device) for length in (4, 6, 6))
nothing = torch.full((2, 1, 5), math.nan).to(device)  # of a width that can't be projected
mask = torch.rand(2, 1, 1, 6) < 0.6
mask[..., 0], mask[0, ..., -1] = True, False
mask = mask.to(device)
cache = call_beside(RecordingCache, fixed=True, beside=layer)
with torch.no_grad():
    at_once = checked(layer(query, key, value, mask), query.shape, what="output without a cache")
    other = layer(query, key.flip(0), value.flip(0), mask)
    first = layer(query[:, :2], key, value, mask, cache=cache)
    # A filled cache has the source: what is given for it is not looked at.
    second = layer(query[:, 2:], nothing, nothing, mask, cache=cache)
    alone = layer(query[:, 3:], nothing, nothing, mask, cache=cache)
    empty = call_beside(RecordingCache, fixed=True, beside=layer)
    begun = layer(query, key, value, mask, cache=empty, return_weights=True)
    later = layer(query[:, 2:], nothing, nothing, mask, cache=cache, return_weights=True)
hint = "attend to what update returns, keys and values, and in later steps to cache.final"
if torch.equal(other, at_once):
    raise CheckFailure("the output is the same for another source", hint=hint)
assert_close(first, at_once[:, :2], what="output of the first step", hint=hint)
assert_close(second, at_once[:, 2:], what="output of the second step", hint=hint)
alone = checked(alone, (2, 1, 12), what="output for a single query", hint=hint)
if not torch.allclose(alone, at_once[:, 3:], atol=1e-5):
    forgive("for a single query the mask is not handed on", "CachedAttention-chunks")
assert_equal(len(cache.shapes), 1, what="the number of updates", hint=hint)
in_order = isinstance(begun, tuple | list) and [getattr(x, "shape", ()) for x in begun]
if in_order == [(2, 4, 12), (2, 3, 4, 6)] and torch.allclose(begun[0], at_once, atol=1e-5):
    both = "output and weights: what is asked for by return_weights"
    output, weights = two_tensors(later, "the second step with return_weights", hint=both)
    assert_close(output, second, what="output with return_weights", hint=both)
    assert_close(weights, begun[1][:, :, 2:], what="weights of the second step", hint=both)
else:
    elsewhere = ("CachedAttention-uncached", "CachedAttention-chunks")
    forgive("with return_weights the output is another, or no pair", *elsewhere)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: a model that reads on
#
# A language model is an embedding, positions, a stack of layers, and a projection to the
# vocabulary. The layer is ready, around your attention:


# %% setup="layer"
class Layer(nn.Module):
    """One layer: your attention, then a feed-forward layer, each pre-norm with a residual."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.self_attention = CachedAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, 4 * d_model, activation="gelu_tanh")
        self.attention_residual = Residual(LayerNorm(d_model), norm_position="pre")
        self.feed_forward_residual = Residual(LayerNorm(d_model), norm_position="pre")

    def forward(self, x, mask=None, *, cache=None):
        """Map (batch, length, d_model) to the same shape; the cache is that of this layer."""
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask, cache=cache))
        return self.feed_forward_residual(x, self.feed_forward)


# %% [markdown]
# What is left to you is what changes when a text is read in pieces. How many tokens came before?
# Which *positions* do the new ones have? Which *mask* do they need: `causal_mask(query_len,
# key_len)` knows, if you tell it both lengths. And whose cache is whose? The chapter goes through
# it in [A model with a cache](book:kv-caching#a-model-with-a-cache).


# %% solution="TextModel"
class TextModel(nn.Module):
    """A language model that can read on from where it stopped.

    Args:
        vocab_size: Number of token ids.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        num_layers: Number of layers.
        max_length: Most tokens of a text.

    Attributes:
        embedding: ``TokenEmbedding``.
        positions: ``LearnedPositions``; called with ``offset``, the position of the first token.
        layers: ``Layer``, first to last.
        norm: ``LayerNorm``, after the last layer.
        output_projection: ``nn.Linear(d_model, vocab_size)`` without bias.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        *,
        num_layers: int = 2,
        max_length: int = 512,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = LearnedPositions(max_length, d_model)
        self.layers = nn.ModuleList(Layer(d_model, num_heads) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        self.output_projection = nn.Linear(d_model, vocab_size, bias=False)

    def new_caches(self) -> "list[GrowingCache]":
        """Make what is needed to read one batch of texts in pieces.

        Returns:
            An empty ``GrowingCache`` for each layer.
        """
        ### BEGIN SOLUTION
        return [GrowingCache() for _ in self.layers]
        ### END SOLUTION

    def forward(self, token_ids: Tensor, caches: "list[GrowingCache] | None" = None) -> Tensor:
        """Say for each token what comes next, given what came before it.

        Args:
            token_ids: ``(batch, length)``; with caches, those after what they hold.
            caches: One for each layer; they take in the new tokens. None reads at once.

        Returns:
            Logits ``(batch, length, vocab_size)``.
        """
        ### BEGIN SOLUTION
        length = token_ids.size(1)
        past = 0 if caches is None else caches[0].length
        x = self.positions(self.embedding(token_ids), offset=past)  # (batch, length, d_model)
        mask = causal_mask(length, past + length, device=x.device)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, cache=None if caches is None else caches[number])
        return self.output_projection(self.norm(x))
        ### END SOLUTION


# %% test="TextModel-uncached" points=1 read="transformer-families#decoder-only"
# Without caches: embedding, positions, layers, norm, projection, and nobody sees the future
model = TextModel(11, 8, 2).to(device)
token_ids = torch.randint(11, (3, 5)).to(device)
with torch.no_grad():
    logits = model(token_ids)
    assert_shape(logits, (3, 5, 11), what="logits", hint="one distribution for each token")
    changed = token_ids.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % 11
    hint = "a token must not see what follows: hand each layer a causal_mask"
    after = checked(model(changed), (3, 5, 11), what="logits")
    assert_close(after[:, :3], logits[:, :3], what="logits of the past", hint=hint)
### BEGIN HIDDEN TESTS
from course_lib.models.gpt import DecoderLMConfig, DecoderLM

config = DecoderLMConfig(
    vocab_size=13, max_length=9, d_model=12, num_heads=3, d_ff=48, num_layers=3, dropout=0.0
)
reference = DecoderLM(config).to(device)
reference.output_projection = nn.Linear(12, 13, bias=False).to(device)  # with weights of its own
with torch.no_grad():  # at its start a model hardly listens: nothing but the last norm would count
    for parameter in reference.parameters():
        parameter.add_(0.3 * torch.randn(parameter.shape).to(device))
model = TextModel(13, 12, 3, num_layers=3, max_length=9).to(device)
if bool((model.embedding.weight == 0).all(dim=-1).any()):
    like_any = "id 0 is a token like any other: no padding_idx"
    raise CheckFailure("a token's embedding is zero", hint=like_any)
model.load_state_dict(reference.state_dict())
token_ids = torch.randint(13, (2, 9)).to(device)


def without(part):
    """Return the reference's logits with one of its parts left out."""
    x = reference.embedding(token_ids)
    x = x if part == "positions" else reference.positions(x)
    for layer in reference.layers:
        x = layer(x, None if part == "mask" else causal_mask(9, device=device))
    x = x if part == "norm" else reference.norm(x)
    return reference.output_projection(x)


with torch.no_grad():
    assert_close(
        model(token_ids),
        reference(token_ids),
        what="logits",
        hint="embedding, positions, every layer with the mask, norm, output_projection",
        mistakes={
            "the positions are not added": without("positions"),
            "there is no causal mask": without("mask"),
            "the last norm is missing": without("norm"),
        },
    )
assert_gradients_like(reference, model, {"token_ids": token_ids})
with torch.no_grad():
    hint = "eval() changes nothing here: logits come out, not probabilities, and the mask stays"
    what = "logits in evaluation"
    assert_close(model.eval()(token_ids), reference(token_ids), what=what, hint=hint)
### END HIDDEN TESTS


# %% test="TextModel-chunks" points=1 read="kv-caching#a-model-with-a-cache"
# However a text is cut into pieces, the logits are those of reading at once
def model_in_pieces(model, token_ids, lengths, caches):
    """Read a text piece by piece, and join the logits."""
    logits, one_each = [], "one distribution for each new token"
    for piece in token_ids.split(lengths, dim=1):
        shape = (*piece.shape, model.embedding.num_embeddings)
        what = f"logits of {piece.size(1)} tokens"
        logits.append(checked(model(piece, caches), shape, what=what, hint=one_each))
    return torch.cat(logits, dim=1)


def read_otherwise(model, token_ids, lengths, *, offset=None, mask=causal_mask, cached=True):
    """Read piece by piece with a model's parts, rightly or in one of the usual wrong ways."""
    number = len(model.layers)
    caches = [call_beside(RecordingCache, beside=model) if cached else None for _ in range(number)]
    logits, past = [], 0
    for piece in token_ids.split(lengths, dim=1):
        length = piece.size(1)
        x = model.embedding(piece)
        x = model.positions(x, offset=past if offset is None else offset(past))
        seen = mask(length, past + length)
        for i, cache in enumerate(caches):
            x = model.layers[i](x, None if seen is None else seen.to(device), cache=cache)
        logits.append(model.output_projection(model.norm(x)))
        past += length
    return torch.cat(logits, dim=1)


def usual_mistakes(model, token_ids, lengths, at_once):
    """Name the usual mistakes, and the logits that they lead to."""
    right = checked(
        read_otherwise(model, token_ids, lengths), at_once.shape, what="logits by parts"
    )
    if not torch.allclose(right, at_once, rtol=1e-4, atol=1e-5):
        return {}  # then it is not, or not alone, the reading in pieces that is wrong
    otherwise = {
        "each piece begins at position 0 again: give positions offset=past": (
            {"offset": lambda past: 0}
        ),
        "the positions are one too low: offset=past counts the tokens before": (
            {"offset": lambda past: max(past - 1, 0)}
        ),
        "the positions are one too high: offset=past counts the tokens before": (
            {"offset": lambda past: past + bool(past)}
        ),
        "the mask begins with the first key of all: causal_mask(length, past + length)": (
            {"mask": lambda length, total: causal_mask(total)[..., :length, :]}
        ),
        "once there is a past there is no mask: causal_mask(length, past + length)": (
            {"mask": lambda length, total: None if total > length else causal_mask(length)}
        ),
        "with caches there is no mask at all: causal_mask(length, past + length)": (
            {"mask": lambda length, total: None}
        ),
        "what came before is not seen: hand each layer its own cache": (
            {"cached": False, "mask": lambda length, total: causal_mask(length)}
        ),
        "each piece is read as a text of its own: use the caches": {
            "cached": False,
            "mask": lambda length, total: causal_mask(length),
            "offset": lambda past: 0,
        },
    }
    return {
        words: read_otherwise(model, token_ids, lengths, **settings)
        for words, settings in otherwise.items()
    }


def read_at_once(model, token_ids):
    """Read a text whole; with caches, if without them there is an error."""
    try:
        return model(token_ids)
    except (TypeError, AttributeError):
        forgive("without caches there is an error", "TextModel-uncached")
        return model(token_ids, [call_beside(RecordingCache, beside=model) for _ in model.layers])


model = TextModel(11, 8, 2).to(device)
token_ids = torch.randint(11, (3, 5)).to(device)
hint = "what a piece gives depends on how the text was cut"
with torch.no_grad():
    at_once = read_at_once(model, token_ids)
    at_once = checked(at_once, (3, 5, 11), what="logits", hint="one distribution for each token")
    for lengths in ([1, 1, 1, 1, 1], [3, 2]):
        caches = [call_beside(RecordingCache, beside=model) for _ in range(2)]  # one a layer
        in_pieces = model_in_pieces(model, token_ids, lengths, caches)
        is_right = torch.allclose(in_pieces, at_once, rtol=1e-4, atol=1e-5)
        assert_close(
            in_pieces,
            at_once,
            what=f"logits for pieces of {lengths}",
            hint=hint,
            mistakes={} if is_right else usual_mistakes(model, token_ids, lengths, at_once),
        )
### BEGIN HIDDEN TESTS
model = TextModel(13, 12, 3, num_layers=3, max_length=20).to(device)
model.load_state_dict(
    {name: tensor + 0.3 * torch.randn(tensor.shape).to(device)
     for name, tensor in model.state_dict().items()}
)  # fmt: skip
token_ids = torch.randint(13, (2, 5)).to(device)
with torch.no_grad():
    at_once = read_at_once(model, token_ids)
    other = torch.cat([(token_ids[:, :1] + 1) % 13, token_ids[:, 1:]], dim=1)
    after = checked(read_at_once(model, other), (2, 5, 13), what="logits")
    if torch.equal(after[:, -1], at_once[:, -1]):
        not_read = "without caches, each layer reads all tokens so far: begin with that"
        raise CheckFailure("the logits are the same for other tokens before them", hint=not_read)
    in_use = checked(read_at_once(model.eval(), token_ids), (2, 5, 13), what="logits")
    is_alike = torch.allclose(in_use, at_once, rtol=1e-4, atol=1e-5)
    if not is_alike:
        forgive("in evaluation the logits without caches are others", "TextModel-uncached")
    for count, lengths in enumerate(chunkings(5)):  # one text or two, in training or evaluation
        model.train(not is_alike or len(lengths) % 2 == 0)
        texts = 1 + count % 2
        caches = [call_beside(RecordingCache, beside=model) for _ in range(3)]
        in_pieces = model_in_pieces(model, token_ids[:texts], lengths, caches)
        assert_close(in_pieces, at_once[:texts], what=f"logits for pieces of {lengths}", hint=hint)
        for number, cache in enumerate(caches):
            of_shapes = f"layer {number} has its own cache, which takes in each token once"
            assert_equal(len(cache.shapes), len(lengths), what="updates", hint=of_shapes)
            assert_equal(cache.length, 5, what="length of a layer's cache", hint=of_shapes)
    model = TextModel(13, 8, 2, num_layers=1).to(device)
    caches = [call_beside(RecordingCache, beside=model)]
    in_pieces = model_in_pieces(model, token_ids, [2, 3], caches)
    at_once = read_at_once(model, token_ids)
    assert_close(in_pieces, at_once, what="logits of a model with one layer", hint=hint)
### END HIDDEN TESTS

# %% test="TextModel-separate" points=1 read="kv-caching#a-model-with-a-cache"
# Each layer has a cache of its own, and each reading begins with empty ones
model = TextModel(11, 8, 2, num_layers=3).to(device)
caches = model.new_caches()
hint = "a new GrowingCache for each layer"
if not isinstance(caches, list | tuple):
    raise CheckFailure("new_caches should return a list", hint=hint)
assert_equal(len(caches), 3, what="the number of caches of a model with 3 layers", hint=hint)
with torch.no_grad():
    pair = draw_pair(1, 2, 1, 4)
    caches[0].update(*pair)
    shared = "these are one cache under several names: make a new one for each layer"
    lengths, mistakes = [cache.length for cache in caches], {shared: [1, 1, 1]}
    assert_equal(lengths, [1, 0, 0], what="lengths", hint="a new cache is empty", mistakes=mistakes)
    fresh = [cache.length for cache in model.new_caches()]
    hint = "new_caches makes new ones each time: a reading must not begin with another's tokens"
    assert_equal(fresh, [0, 0, 0], what="the lengths of new caches", hint=hint)
### BEGIN HIDDEN TESTS
for num_layers in (1, 4):
    model = TextModel(7, 8, 2, num_layers=num_layers).to(device)
    caches, others = list(model.new_caches()), list(model.new_caches())
    hint = "a new GrowingCache for each layer"
    assert_equal(len(caches), num_layers, what="the number of caches", hint=hint)
    own = [call_beside(isinstance, cache, GrowingCache) for cache in caches]
    assert_equal(own, [True] * num_layers, what="which caches are your GrowingCache", hint=hint)
    for number, cache in enumerate(caches):
        pair = draw_pair(1, 2, number + 1, 4)
        cache.update(*pair)
    expected = list(range(1, num_layers + 1))
    assert_equal([cache.length for cache in caches], expected, what="lengths", hint=shared)
    hint = "new_caches makes new ones each time: a reading must not begin with another's tokens"
    lengths = [cache.length for cache in (*others, *model.new_caches())]
    assert_equal(lengths, [0] * 2 * num_layers, what="the lengths of new caches", hint=hint)
# Two texts, read in turn: neither may hear of the other.
model = TextModel(7, 8, 2).to(device)
model.eval()
texts = [torch.randint(7, (1, 4)).to(device)]
texts.append((texts[0] + 1) % 7)
with torch.no_grad():
    alone, in_turn = [], ([], [])
    for text in texts:
        caches = [call_beside(RecordingCache, beside=model) for _ in range(2)]
        logits = [model(token, caches) for token in text.split(1, dim=1)]
        one = "one distribution for each token: (batch, length, vocab_size)"
        logits = [checked(each, (1, 1, 7), what="logits of one token", hint=one) for each in logits]
        alone.append(torch.cat(logits, dim=1))
    if torch.equal(*alone):
        raise CheckFailure("the logits are the same for another text", hint="read the token_ids")
    both = [[call_beside(RecordingCache, beside=model) for _ in range(2)] for _ in texts]
    for tokens in zip(*(text.split(1, dim=1) for text in texts), strict=True):
        for logits, token, caches in zip(in_turn, tokens, both, strict=True):
            logits.append(checked(model(token, caches), (1, 1, 7), what="logits of one token"))
    hint = "keep nothing in the model or the layer: all that a reading remembers is in its caches"
    for logits, expected in zip(in_turn, alone, strict=True):
        assert_close(torch.cat(logits, dim=1), expected, what="logits, read in turn", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: which word comes next
#
# The model gives a distribution over the vocabulary, and somebody must choose. Always the likeliest
# word: dull, and soon in circles. A word by chance: among fifty thousand words the unlikely ones
# are many, and one nonsense word spoils the rest. So one draws by chance, but **from the top**:
# from the `k` likeliest words, or from the fewest words whose probabilities sum to `p`. What is
# ruled out gets a logit of $-\infty$. See [Drawing by chance](book:decoding#drawing-by-chance).

# %% solution="keep_top_k" of="course_lib.generation.sampling"

# %% test="keep_top_k-values" points=1 read="decoding#drawing-by-chance"
# All but the k largest logits become minus infinity
logits = torch.tensor([1.0, 3.0, 2.0, 0.0]).to(device)
assert_close(
    keep_top_k(logits, 2),
    torch.tensor([out, 3.0, 2.0, out]).to(device),
    what="keep_top_k([1, 3, 2, 0], 2)",
    hint="keep the order of the vocabulary, and the logits that are kept",
    mistakes={
        "return as many logits as came in; what is ruled out becomes -inf": torch.tensor(
            [3.0, 2.0]
        ).to(device),
        "0 is a logit like any other: rule out with -inf": torch.tensor([0.0, 3.0, 2.0, 0.0]).to(
            device
        ),
        "the smallest are kept; keep the largest": torch.tensor([1.0, out, out, 0.0]).to(device),
        "the last of the k is ruled out too": torch.tensor([out, 3.0, out, out]).to(device),
        "return logits, not probabilities": torch.tensor([out, 3.0, 2.0, out])
        .softmax(0)
        .to(device),
        "sorted: the order of the vocabulary is lost": torch.tensor([3.0, 2.0, out, out]).to(
            device
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.generation.sampling import keep_top_k as reference_top_k

logits = torch.randn(2, 3, 7).double().to(device)
for k in (1, 3, 7):
    smallest = logits.masked_fill(logits > logits.topk(k, largest=False).values[..., -1:], out)
    assert_close(
        keep_top_k(logits, k),
        reference_top_k(logits, k),
        what=f"keep_top_k with k = {k}",
        hint="compare each logit with the k-th largest of its own row",
        mistakes={
            "the smallest are kept; keep the largest": smallest,
            "these are the k largest of all rows together; take those of each": logits.masked_fill(
                logits < logits.flatten().topk(k).values[-1], out
            ),
            "return logits, not probabilities": reference_top_k(logits, k).softmax(dim=-1),
        },
    )
### END HIDDEN TESTS

# %% test="keep_top_k-edges" points=1 read="decoding#drawing-by-chance"
# More than all is all, equals are kept together, less than one is refused
logits = torch.tensor([1.0, 2.0, 1.0, -1.0]).to(device)
left_alone = "the logits that are given stay as they are: masked_fill, not masked_fill_"
assert_keeps_inputs(keep_top_k, logits, 2, hint=left_alone)
last_too = "the last of the k is ruled out too"
assert_close(
    keep_top_k(logits, 9),
    logits,
    what="keep_top_k of 4 logits, k = 9",
    hint="with more asked for than there are, keep all: topk takes at most vocab_size",
    mistakes={last_too: logits.masked_fill(logits < 0, out)},
)


assert_equal(
    which_stay(keep_top_k(logits, 2), logits, "keep_top_k-values"),
    [True, True, True, False],
    what="which of [1, 2, 1, -1] are kept with k = 2",
    hint="those as probable as the last are kept too",
    mistakes={last_too: [False, True, False, False]},
)
assert_raises(ValueError, keep_top_k, logits, 0, hint="k is at least 1: raise ValueError")
### BEGIN HIDDEN TESTS
assert_keeps_inputs(keep_top_k, torch.randn(4, 8).to(device), 2, hint=left_alone)
from course_lib.generation.sampling import keep_top_k as reference_top_k

falling = 1 + torch.randperm(9)[:4].sort(descending=True).values.double()  # and no zero
row = falling.repeat_interleave(torch.tensor([1, 3, 2, 2]))  # equals, also where k ends
# The same in each row, in other places: whose row is the threshold's, is asked in -values alone.
logits = torch.stack([row[torch.randperm(8)] for _ in range(4)]).to(device)
for k in (1, 2, 5, 8, 20):
    last = logits.topk(min(k, 8), dim=-1).values[..., -1:]
    of_all = logits.flatten().topk(k).values[-1]
    assert_equal(
        which_stay(keep_top_k(logits, k), logits, "keep_top_k-values"),
        (reference_top_k(logits, k) == logits).tolist(),
        what=f"which logits are kept with k = {k}",
        hint="those as probable as the last are kept too, and more than all is all",
        mistakes={
            last_too: (logits > last).tolist(),
            "these are the k largest of all rows together; take those of each": (
                (logits >= of_all).tolist()
            ),
        },
    )
assert_raises(ValueError, keep_top_k, logits, -1, hint="k is at least 1: raise ValueError")
### END HIDDEN TESTS

# %% solution="keep_top_p" of="course_lib.generation.sampling"

# %% test="keep_top_p-values" points=1 read="decoding#drawing-by-chance"
# The fewest tokens are kept whose probabilities sum to at least p
logits = torch.tensor([0.05, 0.5, 0.15, 0.3]).log().to(device)
falling, order = logits.sort(descending=True)
gathered = "gather(-1, order) sorts once more; scatter(-1, order, ...) undoes the sorting"
for p, kept in ((0.4, [1]), (0.6, [1, 3]), (0.9, [1, 2, 3])):
    ruled_out = torch.ones(4, dtype=torch.bool)
    ruled_out[kept] = False
    without_last = ruled_out.clone()
    without_last[kept if len(kept) == 1 else [{2: 3, 3: 2}[len(kept)]]] = True
    beyond = (torch.arange(4) >= len(kept)).to(device)
    sorted_ones = falling.masked_fill(beyond, out)
    assert_close(
        keep_top_p(logits, p),
        logits.masked_fill(ruled_out.to(device), out),
        what=f"keep_top_p of probabilities 0.05, 0.5, 0.15, 0.3, with p = {p}",
        hint="from the largest down, until the sum has reached p; in the vocabulary's order again",
        mistakes={
            "the token with which the sum reaches p is kept too": logits.masked_fill(
                without_last.to(device), out
            ),
            "sorted: bring the logits back to the order of the vocabulary": sorted_ones,
            gathered: logits.masked_fill(beyond[order], out),
            f"{gathered} ": sorted_ones[order],
            "what is ruled out stands in falling order: scatter(-1, order, ...) brings it back": (
                logits.masked_fill(beyond, out)
            ),
            "0 is a logit like any other: rule out with -inf": logits.masked_fill(
                ruled_out.to(device), 0.0
            ),
            "return logits, not probabilities": logits.masked_fill(
                ruled_out.to(device), out
            ).softmax(dim=-1),
        },
    )
### BEGIN HIDDEN TESTS
logits = 1.5 * torch.randn(2, 4, 9).double().to(device)
falling = logits.softmax(dim=-1).sort(dim=-1, descending=True).values
for p in (0.15, 0.4, 0.7, 0.95):
    while bool(((falling.cumsum(dim=-1) - p).abs() < 1e-3).any()):
        p += 2e-3  # not on the border, where rounding decides
    number = 1 + (falling.cumsum(dim=-1) < p).sum(dim=-1, keepdim=True)  # (2, 4, 1)

    def keeping(number):
        """Keep the given number of the largest logits of each row."""
        last = logits.sort(dim=-1, descending=True).values.gather(-1, (number - 1).clamp(min=0))
        return logits.masked_fill((logits < last) | (number < 1), out)

    smallest = -logits
    assert_close(
        keep_top_p(logits, p),
        keeping(number),
        what="keep_top_p",
        hint="each row has its own number of tokens: sort, softmax, cumsum, and scatter back",
        mistakes={
            "the token with which the sum reaches p is kept too": keeping(number - 1),
            "one token too many is kept: stop when the sum has reached p": keeping(
                (number + 1).clamp(max=9)
            ),
            "return logits, not probabilities": keeping(number).softmax(dim=-1),
        },
    )
### END HIDDEN TESTS

# %% test="keep_top_p-edges" points=1 read="decoding#drawing-by-chance"
# One token is always kept, with p = 1 all are, and other p are refused
logits = torch.tensor([-1.0, 1.0, 0.5]).to(device)
left_alone = "the logits that are given stay as they are: work on a copy"
assert_keeps_inputs(keep_top_p, logits, 0.5, hint=left_alone)


def kept_of(logits, p):
    """Say which logits stay as they are."""
    return which_stay(keep_top_p(logits, p), logits, "keep_top_p-values")


assert_equal(
    kept_of(logits, 1e-6),
    [False, True, False],
    what="which of [-1, 1, 0.5] are kept with p = 1e-6",
    hint="the most probable token is always kept, in its own place",
)
hint = "with p = 1 nothing is ruled out, however the sum is rounded"
assert_close(keep_top_p(logits, 1.0), logits, what="keep_top_p with p = 1", hint=hint)
assert_raises(ValueError, keep_top_p, logits, 0.0, hint="p is above 0: raise ValueError")
assert_raises(ValueError, keep_top_p, logits, 1.5, hint="p is at most 1: raise ValueError")
### BEGIN HIDDEN TESTS
logits = torch.randn(4, 9).to(device)
assert_keeps_inputs(keep_top_p, logits, 0.5, hint=left_alone)
hint = "with p = 1 nothing is ruled out, however the sum is rounded"
logits = 8 * torch.randn(50, 200).to(device)
assert_close(keep_top_p(logits, 1.0), logits, what="keep_top_p with p = 1", hint=hint)
assert_close(keep_top_p(logits, 1), logits, what="keep_top_p with p = 1, an int", hint=hint)
best = logits.argmax(dim=-1, keepdim=True)
expected = (torch.arange(200).to(device) == best).tolist()
hint = "the most probable token is always kept, and fewer are not possible"
assert_equal(kept_of(logits, 1e-9), expected, what="which are kept with a small p", hint=hint)
equals = torch.ones(3, 4).to(device)  # a probability of 1/4 each
for p in (0.4, 0.5):
    assert_equal(
        [sum(row) for row in kept_of(equals, p)],
        [2, 2, 2],
        what=f"the number of tokens kept of four equals, with p = {p}",
        hint="of equals keep only as many as are needed",
        mistakes={
            "a sum that equals p has reached it: compare with >=, not with >": [3, 3, 3]
            if p == 0.5
            else None,
            "the token with which the sum reaches p is kept too": [1, 1, 1],
        },
    )
half = torch.tensor([[out, 2.0, 1.0, out]]).to(device)  # as keep_top_k leaves it
hint = "what is ruled out already stays so, and makes no NaN"
left = keep_top_p(half, 0.99)
assert_shape(left, (1, 4), what="keep_top_p after keep_top_k", hint=hint)
if bool(left.isnan().any()):
    raise CheckFailure("keep_top_p after keep_top_k gives NaN", hint=hint)
stay = which_stay(left, half, "keep_top_p-values")[0]
assert_equal(stay[1:3], [True, True], what="what keep_top_k had kept", hint=hint)
for p in (-0.5, 0, 1.0001):
    hint = "p is above 0 and at most 1: raise ValueError"
    assert_raises(ValueError, keep_top_p, logits, p, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# Now the loop. A `StepModel` has one method that matters here: `advance(tokens)` reads
# `(batch, new_len)` tokens and returns the logits of what may follow, `(batch, vocab_size)`. It
# remembers what it has read, by a cache for instance. So it is given the prompt once, and then one
# new token at a time.
#
# - Chance comes from `generator`, which `torch.multinomial` takes: so that a text can be written
#   again, and so that nobody else's dice are touched.
# - Temperature first, then the top k, then the top p of what is left.
# - The hypotheses are made by `cut_at_eos`, which is there: give it the tokens and the
#   log-probabilities, `(batch, len)` each. These are the *model's own*, as if nothing had been
#   ruled out. It also refuses what is NaN; the tests give you sound logits.

# %% solution="sample" of="course_lib.generation.sampling"


# %% setup="watched"
def watched(scores, seen, beside):
    """Make a model that notes all it has read and gives the logits of scores(step).

    Graded, your code runs in a process of its own; the model is made beside it.
    """

    def language_model(tokens):
        logits = scores(len(seen))  # (batch, vocab_size)
        is_ids = tokens.dim() == 2 and tokens.dtype in (torch.int32, torch.int64)
        if not is_ids or len(tokens) != len(logits):
            hint = "advance reads token ids, whole numbers, (batch, new_len)"
            raise CheckFailure("the model was given something else to read", hint=hint)
        seen.append(tokens.cpu().clone())
        return logits[:, None].to(tokens.device)  # (batch, 1, vocab_size)

    return call_beside(UncachedModel, language_model, beside=beside)


def dice(seed):
    """Make a source of chance."""
    return torch.Generator(device=device).manual_seed(seed)


# %% test="sample-steps" points=1 read="decoding#drawing-by-chance"
# The model reads the prompt once, then one token a step, and no more than it needs
def check_steps(prompt, steps, vocab_size):
    """Write a text and look at what the model was given to read."""
    seen, scores = [], torch.randn(steps, len(prompt), vocab_size)
    written = sample(
        watched(lambda step: scores[min(step, steps - 1)], seen, sample),
        prompt,
        eos_id=None,
        max_new_tokens=steps,
        generator=dice(1),
    )
    start = prompt.size(1)
    assert_equal(
        [tokens.size(1) for tokens in seen],
        list(range(start, start + steps)),
        what="the number of tokens read after each step",
        hint="advance(prompt) once, then advance(token) with the new token alone, (batch, 1)",
        mistakes={
            "the last token is written, and need not be read": list(
                range(start, start + steps + 1)
            ),
            "a step is missing: max_new_tokens tokens are drawn": list(
                range(start, start + steps - 1)
            ),
            "the prompt is read twice": [start, *range(2 * start, 2 * start + steps)],
        },
    )
    tokens = tokens_of(written, len(prompt), vocab_size)
    what, hint = (
        "the number of tokens written",
        "max_new_tokens for each prompt; nothing ends before",
    )
    assert_equal([len(row) for row in tokens], [steps] * len(prompt), what=what, hint=hint)
    read = [row[start:].tolist() for row in seen[-1]]
    hint = "each text goes on with the token that was drawn for it"
    assert_equal(read, [row[:-1] for row in tokens], what="the tokens read", hint=hint)


check_steps(torch.tensor([[1, 2, 3], [4, 5, 6]]).to(device), 4, 10)
### BEGIN HIDDEN TESTS
check_steps(torch.randint(9, (3, 1)).to(device), 6, 9)
check_steps(torch.randint(9, (1, 5)).to(device), 1, 9)
prompt, even = torch.zeros(4, 1, dtype=torch.long).to(device), torch.zeros(4, 50)


def draw(seed, texts=1):
    """Write ten equally likely tokens by the dice of this seed, and more texts by the same dice."""
    options = {"eos_id": None, "max_new_tokens": 10, "generator": dice(seed)}
    write = call_beside(partial, sample, **options)  # so beside your code, they are the same dice
    texts = [write(watched(lambda step: even, [], sample), prompt) for _ in range(texts)]
    return [tokens_of(written, 4, 50) for written in texts]


others = call_beside(torch.get_rng_state, beside=sample)
first, second = draw(1, texts=2)
hint = "hand generator on to torch.multinomial"
assert_equal(draw(1), [first], what="a text written again with the same dice", hint=hint)
if draw(2) == [first]:
    raise CheckFailure("other dice give the same text", hint="use the generator that is given")
if second == first:
    hint = "draw from the generator itself, which goes on; its seed stays as it is"
    raise CheckFailure("thrown again, the same dice give the same text", hint=hint)
if not torch.equal(call_beside(torch.get_rng_state, beside=sample), others):
    hint = "chance comes from the generator alone: no manual_seed, no draw without it"
    raise CheckFailure("PyTorch's own dice are touched", hint=hint)
if first[0] == first[1]:
    hint = "draw a token for each text of the batch on its own"
    raise CheckFailure("two texts of a batch are alike", hint=hint)
for name, values in (
    ("max_new_tokens", (0, -1)),
    ("temperature", (0.0, -1.0, math.inf)),
    ("top_k", (0,)),
    ("top_p", (0.0, 1.5)),
):
    for value in values:
        options = {"eos_id": None, "max_new_tokens": 2, "generator": dice(1), name: value}
        hint = f"{name}={value} makes no sense: raise ValueError, as the docstring says"
        model = watched(lambda step: even, [], sample)
        assert_raises(ValueError, sample, model, prompt, hint=hint, **options)
options = {"eos_id": None, "max_new_tokens": 2, "generator": dice(1)}
for empty in (prompt[:, :0], prompt[:0], prompt[0]):
    hint = "a prompt has rows and tokens, (batch, prompt_len): raise ValueError for anything else"
    model = watched(lambda step: even, [], sample)
    assert_raises(ValueError, sample, model, empty, hint=hint, **options)
### END HIDDEN TESTS

# %% test="sample-distribution" points=1 read="decoding#drawing-by-chance"
# Tokens are drawn from the distribution that temperature, top k and top p make
chances = torch.tensor([0.15, 0.4, 0.05, 0.1, 0.3])


def drawn(chances, number=4000, **options):
    """Draw that many tokens from a model whose next token never depends on the past."""
    prompt = torch.zeros(80, 1, dtype=torch.long).to(device)
    logits = chances.log().expand(80, -1)
    seed = int(torch.randint(2**31, ()))
    written = sample(
        watched(lambda step: logits, [], sample),
        prompt,
        eos_id=None,
        max_new_tokens=number // 80,
        generator=dice(seed),
        **options,
    )
    tokens = [token for row in tokens_of(written, 80, len(chances)) for token in row]
    if len(tokens) != number:
        forgive("too few tokens are written, or too many", "sample-steps")
    if len(tokens) < number // 2:
        raise CheckFailure("too few tokens to tell what they are drawn from", hint="max_new_tokens")
    return tokens


assert_drawn_from(
    drawn(chances),
    chances,
    what="no temperature, no top",
    hint="draw by torch.multinomial from the softmax of the logits",
    mistakes={
        "always the likeliest token: draw by chance": torch.eye(5)[1],
        "all tokens are equally likely: draw from the softmax of the logits": torch.full((5,), 0.2),
    },
)
assert_drawn_from(
    drawn(chances, temperature=0.5),
    chances.square() / chances.square().sum(),
    what="temperature 0.5",
    hint="divide the logits by the temperature, before the softmax",
    mistakes={
        "the temperature is not used": chances,
        "the logits are multiplied by the temperature; divide": chances.sqrt()
        / chances.sqrt().sum(),
    },
)
### BEGIN HIDDEN TESTS
chances = chances[torch.randperm(5)]


def top(temperature, k, p):
    """Return the distribution that the student's own keep_top_k and keep_top_p leave."""
    logits = (chances.log() / temperature).repeat(100, 1).to(device)
    logits = logits if k is None else left_by(keep_top_k, logits, k)
    logits = logits if p is None else left_by(keep_top_p, logits, p)
    return logits[0].softmax(dim=-1).cpu()


def left_by(keep, logits, limit):
    """Return the logits that are left, once they are rows of logits: mended elsewhere if wrong."""
    left = keep(logits, limit)
    if type(left) is not Tensor or left.dim() != 2 or not 0 < left.size(1) <= 5:
        raise CheckFailure("what keep_top_k or keep_top_p gives is no logits")
    return left


def top_p_first(k, p):
    """Return the distribution of the wrong order."""
    logits = chances.log().repeat(100, 1).to(device)
    return left_by(keep_top_k, left_by(keep_top_p, logits, p), k)[0].softmax(dim=-1).cpu()


def hot_afterwards(p):
    """Return the distribution of a temperature of 2 that comes last."""
    logits = chances.log().repeat(100, 1).to(device)
    return (left_by(keep_top_p, logits, p)[0] / 2).softmax(dim=-1).cpu()


for temperature, k, p, mistakes in (
    (1.0, None, None, {"always the likeliest token": torch.eye(5)[chances.argmax()]}),
    (0.5, None, None, {"multiplied by the temperature; divide": top(2.0, None, None)}),
    (2.0, None, None, {"multiplied by the temperature; divide": top(0.5, None, None)}),
    (1.0, 2, None, {"top_k is not used": chances}),
    (1.0, None, 0.6, {"top_p is not used": chances}),
    (1.0, 3, 0.8, {"the top k come first, then the top p of what is left": top_p_first(3, 0.8)}),
    (2.0, None, 0.6, {"the temperature comes first": hot_afterwards(0.6)}),
    (2.0, 1, None, {}),
):
    mistakes["the temperature is not used"] = top(1.0, k, p)
    assert_drawn_from(
        drawn(chances, temperature=temperature, top_k=k, top_p=p),
        top(temperature, k, p),
        what=f"temperature {temperature}, top_k {k}, top_p {p}",
        hint="divide by the temperature, keep the top k, keep the top p of these, softmax, draw",
        mistakes=mistakes,
    )
### END HIDDEN TESTS

# %% test="sample-end" points=1 read="decoding#drawing-by-chance"
# A text ends with its end token, and its probability is the model's own
scores = torch.tensor([[[0.0, 2.0, 1.0]], [[0.0, 1.0, 3.0]], [[5.0, 0.0, 0.0]]])  # three steps
seen = []
written = sample(
    watched(lambda step: scores[min(step, 2)], seen, sample),
    torch.tensor([[1]]).to(device),
    eos_id=2,
    max_new_tokens=5,
    generator=dice(1),
    top_k=1,  # always the likeliest: 1, then 2, which is the end
)
hint = "it ends with its end token"
assert_equal(tokens_of(written, 1, 3), [[1, 2]], what="the texts", hint=hint)
assert_equal(len(seen), 2, what="the number of steps", hint="stop when all texts have ended")
own = scores[:2, 0].log_softmax(dim=-1).max(dim=-1).values.sum().item()
if abs(checked_number(written[0].log_probability, what="log_probability") - own) > 1e-4:
    hint = "take log_softmax of the logits as the model gave them, and of the token that was drawn"
    raise CheckFailure("log_probability is not the model's own", hint=hint)
### BEGIN HIDDEN TESTS
for eos_id, ends in ((3, [2, 5, 3]), (0, [4, 3, 4]), (1, [3, 7, 1]), (None, [7, 7, 7])):
    # Row r has its end token as the likeliest at step ends[r] for the first time, or never.
    likeliest = torch.randint(4, 8, (6, 3))
    for row, end in enumerate(ends):
        if end <= 6:
            likeliest[end - 1, row] = eos_id
    scores = torch.randn(6, 3, 8) + 9 * torch.nn.functional.one_hot(likeliest, 8)
    seen = []
    written = sample(
        watched(lambda step, scores=scores: scores[min(step, 5)], seen, sample),
        torch.full((3, 2), eos_id or 0).to(device),  # the end token stands in the prompt, too
        eos_id=eos_id,
        max_new_tokens=6,
        generator=dice(1),
        temperature=3.0,
        top_k=1,
    )
    expected = [likeliest[:end, row].tolist() for row, end in enumerate(ends)]
    tokens = tokens_of(written, 3, 8)
    hint = "one hypothesis for each prompt, up to its end token and with it: see cut_at_eos"
    stop = "stop when all texts have ended, not when one has"
    mistakes = {
        stop: [text[: min(ends)] for text in expected],
        "an end token of the prompt ends nothing: ask the new ones": [row[:1] for row in expected],
    }
    assert_equal(tokens, expected, what="the texts", hint=hint, mistakes=mistakes)
    if max(ends) <= 6:
        hint = stop
        mistakes = {"stop when all texts have ended": 6}
        if eos_id == 0:
            mistakes = {"0 is an id like any other: ask `eos_id is not None`": 6}
        steps = "the number of steps"
        assert_equal(len(seen), max(ends), what=steps, hint=hint, mistakes=mistakes)
    logs = scores.log_softmax(dim=-1).gather(-1, likeliest[..., None])[..., 0]
    for row, (hypothesis, end) in enumerate(zip(written, ends, strict=True)):
        own = logs[:end, row].sum().item()
        for name in ("log_probability", "score"):
            if abs(checked_number(getattr(hypothesis, name), what=name) - own) > 1e-3:
                hint = "the log-probabilities are those of the logits before temperature and top k"
                raise CheckFailure(f"{name} is not the model's own", hint=hint)
        assert_equal(hypothesis.finished, end <= 6, what="finished", hint="see cut_at_eos")
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: what the memory costs
#
# Nothing is free: what is not computed again must be kept. How much is it? Count with a pencil
# first: what does *one* layer keep for *one* token?

# %% solution="kv_cache_bytes" of="course_lib.analysis.complexity"

# %% test="kv_cache_bytes-formula" points=1 read="kv-caching#memory-of-the-cache"
# A key and a value for each text, token and layer
half = kv_cache_bytes(3, 100, 5, 64, bytes_per_number=2)
by_default = {"a number takes 4 bytes where bytes_per_number does not say otherwise": 384_000}
assert_equal(
    kv_cache_bytes(3, 100, 5, 64),
    768_000,
    what="kv_cache_bytes(3, 100, 5, 64)",
    mistakes=(by_default if half == 384_000 else {})
    | {
        "a key and a value are two vectors": 384_000,
        "bytes_per_number is missing": 192_000,
        "each layer keeps its own": 153_600,
        "each text of the batch has its own": 256_000,
        "each token has its own": 7_680,
        "a key is a vector, d_model wide, and so is a value": 12_000,
        "what is kept grows with the length, not with its square": 76_800_000,
        "keys and values are kept, not the matrices that project them": 49_152_000,
        "count bytes, not bits": 6_144_000,
        "no later token asks for an old query: only keys and values are kept": 1_152_000,
        "count bytes, not kilobytes": 750,
    },
    hint="take one layer and one token with a pencil; then all tokens, texts and layers; an int",
)
hint = "a number takes bytes_per_number bytes; 4 is only what it is by default"
assert_equal(half, 384_000, what="in half precision", hint=hint)
### BEGIN HIDDEN TESTS
from course_lib.analysis.complexity import kv_cache_bytes as reference_bytes

for _ in range(4):
    sizes = (torch.randint(2, 9, (4,)) * torch.tensor([1, 1, 1, 8])).tolist()
    for width in (1, 2, 4):
        hint = "a product of batch, length, layers, width, 2 for key and value, bytes_per_number"
        actual = kv_cache_bytes(*sizes, bytes_per_number=width)
        expected = reference_bytes(*sizes, bytes_per_number=width)
        assert_equal(actual, expected, what="bytes", hint=hint)
    hint = "without bytes_per_number, a number takes 4 bytes"
    assert_equal(
        kv_cache_bytes(*sizes), reference_bytes(*sizes), what="bytes of float32", hint=hint
    )
### END HIDDEN TESTS

# %% [markdown] written="how-many-readers" points=3 read="kv-caching#memory-of-the-cache"
# ### How many readers fit?
#
# A model has 32 layers, a width of 4096, 32 heads, and 14 GB of parameters. It runs in half
# precision on a GPU with 80 GB, and keeps its keys and values there.
#
# 1. How many bytes of cache does one token take? And one text of 8192 tokens?
# 2. Draw (in a code cell of your own, with `kv_cache_bytes`) the memory that parameters and cache
#    take together over the length of the texts, from 0 to 8192 tokens, for 1, 8 and 32 texts at a
#    time, with a line at 80 GB. Name the axes with their units. Read off, or compute, how long the
#    32 texts may get.
# 3. The makers want to serve four times as many texts on the same GPU, without making the texts
#    shorter or the model slower. Name two changes to the model or the cache that would help, and
#    what each one costs.
#
# ### BEGIN SOLUTION
# 1. $2 \cdot 32 \cdot 4096 \cdot 2 = 524\,288$ bytes a token, half a mebibyte. For 8192 tokens
#    4 GiB, 4.3 GB.
# 2. Straight lines that start at 14 GB, with slopes as 1 : 8 : 32. 66 GB are left; 32 texts take
#    16.8 MB a token, so that they reach 80 GB at about 3,900 tokens. (8 texts stay below: 48 GB.)
# 3. Fewer heads of keys and values than of queries (grouped-query attention): with 8 in place of 32
#    a quarter of the memory; a little quality, and the model must be trained so. Fewer bits for
#    keys and values (8 or 4 in place of 16): half or a quarter; rounding errors. A window in some
#    layers, so that they forget what is far away: what is far away can't be looked up there. Fewer
#    layers with caches of their own (neighbours share them): quality again.
#
# **Marking guide**, one point each:
#
# 1. *Bytes*: both numbers, right to two digits. Half a point where exactly one factor (2 for key
#    and value, layers, bytes) is missing or the heads were counted again.
# 2. *Plot*: three straight lines with the parameters as their start, the limit, both axes with
#    units, and 3,900 tokens or so (3,500 to 4,300 if read off). Half a point for one flaw.
# 3. *Changes*: two that shrink the cache, each with its price. Half a point for two without prices
#    or for one with its price. "A bigger GPU" and "no cache" earn nothing here.
# ### END SOLUTION

# %% [markdown]
# ## And now: a story that grows
#
# A `Reader` is a text model part-way through a text: what `sample` asks for.


# %% setup="reader"
class Reader:
    """A StepModel: a text model with its caches."""

    def __init__(self, model):
        self.model, self.caches = model, model.new_caches()

    @torch.no_grad()
    def advance(self, tokens):
        """Read more tokens, and give the logits of what may follow."""
        return self.model(tokens, self.caches)[:, -1]

    def reorder(self, indices):
        """Go on with chosen rows."""
        for cache in self.caches:
            cache.reorder(indices)


# %% [markdown]
# In *The House that Jack Built* every verse repeats all verses before it: the past grows, as in
# your cache. For a few seconds a model learns the rhyme, standing on your attention. Then it tells
# the story of the farmer, the likeliest word each time, and some that nobody has told yet, by
# chance. The picture shows what the cache is good for. What shape do the two curves have? (All of
# it takes about eight seconds.)
#
# Afterwards, call `tell` with a beginning and a temperature of your own.

# %% demo="jack"
import matplotlib.pyplot as plt

RHYME = [
    "the house that jack built",
    "the malt that lay in",
    "the rat that ate",
    "the cat that killed",
    "the dog that worried",
    "the cow with the crumpled horn that tossed",
    "the maiden all forlorn that milked",
    "the man all tattered and torn that kissed",
    "the priest all shaven and shorn that married",
    "the cock that crowed in the morn that waked",
    "the farmer sowing his corn that kept",
]
verses = [f"this is {' '.join(RHYME[i::-1])} .".split() for i in range(len(RHYME))]
vocabulary = sorted({word for verse in verses for word in verse})
longest = max(map(len, verses))
padded = [verse + ["."] * (longest - len(verse)) for verse in verses]
rhyme = torch.tensor([[vocabulary.index(word) for word in verse] for verse in padded])
is_real = torch.tensor([[i < len(verse) for i in range(longest)] for verse in verses])

torch.manual_seed(0)
storyteller = TextModel(len(vocabulary), 48, 4)
optimizer = torch.optim.Adam(storyteller.parameters(), lr=3e-3)
for step in range(121):
    logits = storyteller(rhyme[:, :-1])
    losses = nn.functional.cross_entropy(logits.transpose(1, 2), rhyme[:, 1:], reduction="none")
    loss = losses[is_real[:, 1:]].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:3d}: loss {loss.item():.3f} nats a word")


def tell(beginning, seed=0, **options):
    """Tell a story that begins like this."""
    prompt = torch.tensor([[vocabulary.index(word) for word in beginning.split()]])
    (story,) = sample(
        Reader(storyteller),
        prompt,
        eos_id=vocabulary.index("."),
        max_new_tokens=120,
        generator=torch.Generator().manual_seed(seed),
        **options,
    )
    return f"{beginning} {' '.join(vocabulary[token] for token in story.tokens)}"


print("\nAs it was told:\n")
print(tell("this is the farmer", top_k=1))
print("\nAs nobody told it:\n")
for seed in range(3):
    print("-", tell("this is the", seed, temperature=1.8, top_p=0.9))


def seconds_a_token(model, length=300):
    """Write a text, and return the seconds that each token took."""
    token, seconds = torch.zeros(1, 1, dtype=torch.long), []
    with torch.no_grad():
        for _ in range(length):
            start = time.perf_counter()
            token = model.advance(token).argmax(dim=-1, keepdim=True)
            seconds.append(time.perf_counter() - start)
    return torch.tensor(seconds)


writer = TextModel(1000, 128, 4, num_layers=3)
figure, axes = plt.subplots(figsize=(7, 3))
for name, model in (("with your cache", Reader(writer)), ("without", UncachedModel(writer))):
    seconds = seconds_a_token(model).view(-1, 10).median(dim=-1).values  # of ten tokens each
    axes.plot(range(0, 300, 10), 1000 * seconds, label=name)
axes.set_xlabel("tokens before")
axes.set_ylabel("milliseconds a token")
axes.set_ylim(bottom=0)
axes.legend()
plt.show()

# %% [markdown]
# ## And then: your storyteller in the book
#
# Under [Writing, step by step](book:transformer-families#generation-step-by-step) a small language
# model runs in the book's page. The next cell writes yours to a file, `my-language-model.json`,
# with what your code computes for a few beginnings, through your cache. Open it under the figure
# there: your model writes, word by word, its cache fills, and the page says how far its numbers are
# from yours.

# %% demo="my-language-model"
from course_lib.training.export import export_language_model

try:
    file = export_language_model(
        storyteller,
        "my-language-model.json",
        words=vocabulary,
        start="this",
        end=".",
        num_heads=4,
        begin=lambda: Reader(storyteller).advance,
        texts=["this is the farmer sowing his corn", "this is the cat that killed the rat"],
    )
    print(f"written: {file}, {file.stat().st_size / 1000:.0f} kB")
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
