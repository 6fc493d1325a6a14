# %% [markdown]
# # Homework 6: The cache
#
# Imagine a storyteller who recites the whole story again before each word: "Once." "Once upon." So does
# a Transformer that writes, unless it has a memory: a **cache of keys and values**. Here you write it,
# and the choice of each next word; in the end a small model tells a story that grows with every verse.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `GrowingCache`, `FixedCache`: the memory | 5 |
# | 2 | `CachedAttention`: attention that reads on | 5 |
# | 3 | `TextModel`: a model that reads on | 3 |
# | 4 | `keep_top_k`, `keep_top_p`, `sample`: which word comes next | 7 |
# | 5 | `kv_cache_bytes`, and a question: the price of memory | 4 |
#
# **Time:** about three hours after [Caching keys and values](book:kv-caching) and [Decoding](book:decoding). If
# stuck, see [Common mistakes](book:kv-caching#kv-caching-common-mistakes); to hand in, [For students](book:for-students).

# %% setup="imports"
import math

import torch
from torch import Tensor, nn

from course_lib.analysis.recorders import RecordingCache
from course_lib.generation.hypothesis import Hypothesis, cut_at_eos
from course_lib.generation.step_models import StepModel, UncachedModel, begin_search
from course_lib.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.kv_cache import AttentionCache, KeysAndValues
from course_lib.layers.masks import causal_mask, check_mask, without_hidden
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions, RotaryPositions
from course_lib.layers.transformer_layers import SelfAttentionLayer
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_close, assert_equal, assert_keeps_inputs, assert_raises
from course_lib.testing import call_beside, load_parameters, fix_weights
from course_lib.validation import check_at_least, check_batch

prepare_notebook()

# %% [markdown]
# ## Part 1: the memory
#
# A token's keys and values depend on that token and on those before it, never on later ones. So they
# need not be computed again when the next token comes. To join old and new with `torch.cat` would copy a
# thousand tokens at the thousandth step. Better are buffers with room to spare; `update` returns their
# filled part, a view, `buffer[:, :, :n]`: see [Room to grow](book:kv-caching#room-to-grow).


# %% solution="GrowingCache" of="course_lib.layers.kv_cache"
class GrowingCache:
    """The keys and values of one self-attention; each step adds its own.

    They lie in buffers with room for ``capacity`` tokens; a full one is replaced by one twice as
    long. ``length`` is the number of tokens held; ``final`` is always None."""

    def update():
        """Add those of new tokens, (batch, num_heads, new_len, head_dim); return all so far.

        Other shapes or dtypes, and tensors that ask for gradients, are a ValueError."""

    def reorder():
        """Make row i go on from row indices[i]: more rows, or fewer. An empty cache stays empty."""

    def reset():
        """Forget all tokens, and let the buffers go."""

    def num_bytes():
        """Bytes of memory that the buffers take, their spare room included; 0 at first."""


# %% test="GrowingCache-update" points=1 read="kv-caching#room-to-grow"
# Each update returns the keys and values of all tokens so far, in order
cache = GrowingCache(capacity=2)
first, second = torch.ones(1, 1, 1, 2), torch.full((1, 1, 2, 2), 5.0)  # one token, then two
cache.update(first, -first)
keys, values = cache.update(second, -second)
assert_equal(tuple(keys.shape), (1, 1, 3, 2), what="shape of the keys")
expected = torch.tensor([[[[1.0, 1], [5, 5], [5, 5]]]])
assert_close(keys[:, :, :3], expected, what="keys")
assert_close(values[:, :, :3], -expected, what="values")
assert_equal(cache.length, 3, what="length")
### BEGIN HIDDEN TESTS
for capacity, lengths, dtype in (
    (1, (1, 1, 1, 1), torch.float32),
    (3, (2, 5, 1, 4), torch.float64),
):
    cache, ours = (kind(capacity=capacity) for kind in (GrowingCache, reference.GrowingCache))
    other = GrowingCache(capacity=capacity)  # each cache has its own
    for length in lengths:
        other.update(*torch.randn(2, 1, 4, 2, 6))
        new = torch.randn(2, 3, 2, length, 4, dtype=dtype)
        for part, right in zip(cache.update(*new), ours.update(*new), strict=True):
            assert_equal(tuple(part.shape), tuple(right.shape), what="shape")
            assert_close(part[:, :, : right.size(2)], right, what="keys or values")
        assert_equal(cache.length, ours.length, what="length")
    assert_equal(cache.final, None, what="final")
### END HIDDEN TESTS

# %% test="GrowingCache-growth" points=1 read="kv-caching#room-to-grow"
# A full buffer is replaced by one twice as long, not by one that fits
cache, one = GrowingCache(capacity=3), torch.zeros(1, 1, 1, 2)
sizes = [cache.num_bytes]
for _ in range(7):
    cache.update(one, one)
    sizes.append(cache.num_bytes)
# There is room for 3, 6 and 12 tokens of 16 bytes: a key and a value of two numbers each.
assert_equal(sizes, [0, 48, 48, 48, 96, 96, 96, 192], what="num_bytes after each token")
### BEGIN HIDDEN TESTS
from course_lib.analysis.recorders import count_places

for how in ({}, {"capacity": 1}, {"capacity": 3}):
    cache, ours = (kind(**how) for kind in (GrowingCache, reference.GrowingCache))
    one, sizes = torch.randn(2, 1, 2, 1, 2, dtype=torch.float64), ([], [])
    for _ in range(100):
        for each, of_each in zip((cache, ours), sizes, strict=True):
            each.update(*one)
            of_each.append(each.num_bytes)
    assert_equal(*sizes, what="num_bytes of 100 steps")
    places = call_beside(count_places, GrowingCache(**how), *one, updates=100)
    most = 2 * len(set(sizes[1]))
    assert_equal(places <= most, True, what="whether views of the buffers come back, no copies")
cache = GrowingCache(capacity=2)
for _ in range(2):
    cache.update(*torch.randn(2, 1, 2, 50, 2))
assert_equal(cache.num_bytes >= 100 * 2 * 4 * 4, True, what="whether num_bytes is enough for 100")
### END HIDDEN TESTS

# %% test="GrowingCache-reorder" points=1 read="kv-caching#a-beam-in-a-cache"
# After reorder, row i goes on from the former row indices[i]
cache = GrowingCache(capacity=2)
assert_equal(cache.length, 0, what="length of a new cache")
held, new = torch.tensor([[1.0, 2, 3], [7, 8, 9]]).view(2, 3, 1, 1, 1)  # one token for each row
cache.update(held, -held)
cache.reorder(torch.tensor([2, 0, 0]))
keys, values = cache.update(new, -new)
expected = torch.tensor([[3.0, 7], [1, 8], [1, 9]]).view(3, 1, 2, 1)
assert_close(keys[:, :, :2], expected, what="keys")
assert_close(values[:, :, :2], -expected, what="values")
### BEGIN HIDDEN TESTS
for chosen, capacity in (([1, 2, 0], 2), ([1, 1], 9), ([2, 0, 1, 1, 2], 4)):  # also fewer, more
    cache, ours = (kind(capacity=capacity) for kind in (GrowingCache, reference.GrowingCache))
    held, new = torch.randn(2, 3, 2, 3, 4), torch.randn(2, len(chosen), 2, 7, 4)
    for each in (cache, ours):
        each.reorder(torch.tensor(chosen))  # nothing is held yet: nothing to do
        each.update(*held)
        each.reorder(torch.tensor(chosen))
    least = 2 * len(chosen) * 2 * 3 * 4 * 4
    assert_equal(cache.num_bytes >= least, True, what="whether num_bytes is enough for the rows")
    for part, right in zip(cache.update(*new), ours.update(*new), strict=True):
        assert_close(part[:, :, :10], right, what="keys or values after reorder")
### END HIDDEN TESTS

# %% test="GrowingCache-edges" points=1 read="kv-caching#room-to-grow"
# reset forgets everything, and tensors that do not fit are rejected
cache = GrowingCache(capacity=2)
keys, wider = torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 1, 6)
cache.update(keys, keys)
assert_raises(ValueError, cache.update, wider, wider)
assert_raises(ValueError, cache.update, keys, keys.double())
cache.reset()
assert_equal((cache.length, cache.num_bytes), (0, 0), what="length and num_bytes after reset")
### BEGIN HIDDEN TESTS
cache = GrowingCache(capacity=8)
keys, values = torch.randn(2, 2, 3, 4, 4)
cache.update(keys, values)
for shape in ((1, 3, 1, 4), (3, 3, 1, 4), (2, 1, 1, 4), (2, 3, 1, 1)):
    assert_raises(ValueError, cache.update, *torch.zeros(2, *shape))
one = keys[:, :, :1]
for each in (cache, GrowingCache()):
    assert_raises(ValueError, each.update, keys[:, :, :2], one)
    assert_raises(ValueError, each.update, one.clone().requires_grad_(), one)
    assert_raises(ValueError, each.update, one, one.clone().requires_grad_())
assert_raises(ValueError, cache.update, one.double(), one)
assert_raises(ValueError, cache.update, one, one.double())
assert_equal(cache.length, 4, what="length after rejected updates")
cache.reset()
new = torch.randn(2, 5, 1, 3, 6)
for part, right in zip(cache.update(*new), new, strict=True):
    assert_close(part[:, :, :3], right, what="keys or values after reset")
### END HIDDEN TESTS

# %% variants="GrowingCache"
# fmt: off
right("loops", '''
class GrowingCache:
    def __init__(self, capacity=64):
        if capacity <= 0:
            raise ValueError("capacity")
        self.start_capacity = capacity
        self.final = None
        self.reset()

    def reset(self):
        self.key_buffer = None
        self.value_buffer = None
        self.length = 0

    def check(self, buffer, new, like):
        if new.requires_grad:
            raise ValueError("no gradients here")
        if new.shape != like.shape:
            raise ValueError("keys and values differ")
        if buffer is None:
            return
        same = buffer.shape[0] == new.shape[0] and buffer.shape[1] == new.shape[1]
        same = same and buffer.shape[3] == new.shape[3] and buffer.dtype == new.dtype
        if not same:
            raise ValueError(f"{tuple(new.shape)} does not fit")

    def grow(self, buffer, needed):
        batch, heads, room, width = buffer.shape
        while room < needed:
            room = room * 2
        bigger = torch.zeros(batch, heads, room, width, dtype=buffer.dtype, device=buffer.device)
        for position in range(self.length):
            bigger[:, :, position] = buffer[:, :, position]
        return bigger

    def update(self, keys, values):
        self.check(self.key_buffer, keys, values)
        self.check(self.value_buffer, values, keys)
        if self.key_buffer is None:
            empty = keys[:, :, :0]
            room = max(self.start_capacity, keys.shape[2])
            self.key_buffer = empty.new_zeros(*keys.shape[:2], room, keys.shape[3])
            self.value_buffer = torch.zeros_like(self.key_buffer)
        needed = self.length + keys.shape[2]
        if needed > self.key_buffer.shape[2]:
            self.key_buffer = self.grow(self.key_buffer, needed)
            self.value_buffer = self.grow(self.value_buffer, needed)
        for i in range(keys.shape[2]):
            self.key_buffer[:, :, self.length + i] = keys[:, :, i]
            self.value_buffer[:, :, self.length + i] = values[:, :, i]
        self.length = needed
        return self.key_buffer[:, :, :needed], self.value_buffer[:, :, :needed]

    def reorder(self, indices):
        if self.length > 0:
            self.key_buffer = torch.stack([self.key_buffer[i] for i in indices.tolist()])
            self.value_buffer = torch.stack([self.value_buffer[i] for i in indices.tolist()])

    @property
    def num_bytes(self):
        if self.key_buffer is None:
            return 0
        return 2 * self.key_buffer.numel() * self.key_buffer.element_size()
''')
right("one buffer, or in few lines", '''
class GrowingCache:
    def __init__(self, *, capacity: int = 64) -> None:
        if capacity < 1:
            raise ValueError(f"capacity={capacity}")
        self.length, self.final, self._room, self._both = 0, None, capacity, None

    def update(self, keys, values):
        for tensor in (keys, values):
            if tensor.requires_grad:
                raise ValueError("gradients")
            if self._both is not None:
                held = self._both
                fits = (tensor.size(0), tensor.size(1), tensor.size(3)) == (
                    held.size(1), held.size(2), held.size(4)
                )
                if not fits or tensor.dtype is not held.dtype:
                    raise ValueError("shape or dtype")
        if keys.shape != values.shape:
            raise ValueError("keys and values")
        new = torch.stack([keys, values])
        end = self.length + new.size(3)
        if self._both is None:
            self._both = new.new_empty(*new.shape[:3], max(self._room, end), new.size(4))
        elif end > self._both.size(3):
            spare = max(self._both.size(3), end - self._both.size(3))
            more = new.new_empty(*new.shape[:3], spare, new.size(4))
            self._both = torch.cat([self._both, more], dim=3)
        self._both[:, :, :, self.length : end] = new
        self.length = end
        return tuple(self._both[:, :, :, :end])

    def reorder(self, indices):
        self._both = None if self._both is None else self._both[:, indices]

    def reset(self):
        self.length, self._both = 0, None

    @property
    def num_bytes(self):
        return 0 if self._both is None else self._both.nbytes
''')
right("smaller pieces", '''
class Room:
    def __init__(self, capacity):
        self.capacity, self.data, self.used = capacity, None, 0

    def fits(self, new):
        if self.data is None:
            return True
        shape = lambda t: (t.shape[0], t.shape[1], t.shape[3], t.dtype)
        return shape(self.data) == shape(new)

    def append(self, new):
        if self.data is None:
            shape = list(new.shape)
            shape[2] = max(self.capacity, shape[2])
            self.data = torch.empty(shape, dtype=new.dtype, device=new.device)
        while self.used + new.shape[2] > self.data.shape[2]:
            self.data = torch.cat([self.data, torch.empty_like(self.data)], dim=2)
        self.data.narrow(2, self.used, new.shape[2]).copy_(new)
        self.used += new.shape[2]
        return self.data.narrow(2, 0, self.used)


class GrowingCache:
    def __init__(self, *, capacity=64):
        if not capacity > 0:
            raise ValueError("capacity must be positive")
        self.capacity, self.final = capacity, None
        self.rooms = [Room(capacity), Room(capacity)]

    @property
    def length(self):
        return self.rooms[0].used

    def update(self, *pair):
        if pair[0].shape != pair[1].shape:
            raise ValueError("one shape, please")
        if any(new.requires_grad for new in pair):
            raise ValueError("detach, or use no_grad")
        if not all(room.fits(new) for room, new in zip(self.rooms, pair)):
            raise ValueError("this does not fit")
        return tuple(room.append(new) for room, new in zip(self.rooms, pair))

    def reorder(self, indices):
        for room in self.rooms:
            if room.data is not None:
                room.data = room.data[indices]

    def reset(self):
        self.__init__(capacity=self.capacity)

    @property
    def num_bytes(self):
        return sum(room.data.nbytes for room in self.rooms if room.data is not None)
''')
joining = right("doubled by joining", '''
class GrowingCache:
    def __init__(self, *, capacity: int = 64) -> None:
        if capacity <= 0:
            raise ValueError("capacity must be positive")
        self.capacity = capacity
        self.length = 0
        self.final = None
        self.k = None
        self.v = None

    def update(self, keys, values):
        if keys.shape != values.shape:
            raise ValueError("shape")
        if keys.requires_grad or values.requires_grad:
            raise ValueError("grad")
        b, h, n, d = keys.shape
        if self.k is None:
            room = self.capacity
            while room < n:
                room *= 2
            self.k = keys.new_empty(b, h, room, d)
            self.v = values.new_empty(b, h, room, d)
        held = (self.k.shape[0], self.k.shape[1], self.k.shape[3])
        if (b, h, d) != held or {keys.dtype, values.dtype} != {self.k.dtype}:
            raise ValueError("fit")
        total = self.length + n
        while total > self.k.shape[2]:
            self.k = torch.cat([self.k, torch.empty_like(self.k)], dim=2)
            self.v = torch.cat([self.v, torch.empty_like(self.v)], dim=2)
        self.k[:, :, self.length : total] = keys
        self.v[:, :, self.length : total] = values
        self.length = total
        return self.k[:, :, :total], self.v[:, :, :total]

    def reorder(self, indices):
        if self.k is not None:
            self.k = self.k[indices]
            self.v = self.v[indices]

    def reset(self):
        self.k = self.v = None
        self.length = 0

    @property
    def num_bytes(self):
        if self.k is None:
            return 0
        return 2 * self.k.element_size() * self.k.nelement()
''')
RETURNED = "return all_keys[:, :, :end], all_values[:, :, :end]"
FILL = "all_keys[:, :, self.length : end] = keys"
DOUBLED = "capacity = max(2 * old_keys.size(2), length)"
CHOSEN = "new[:, :, : self.length] = held[:, :, : self.length].index_select(0, indices)"
WIDTHS = "_rows_heads_width(held) != _rows_heads_width(new)"
MISFIT = f"{WIDTHS} or held.dtype != new.dtype"
BYTES = "sum(b.nbytes for b in self._buffers)"
FIRST = "capacity = max(self._capacity, length)\n            self._buffers = "
CLEAN = ("tensor.new_empty(", "tensor.new_zeros(")
REORDERED = "(_new_like(old[0], indices.numel()), _new_like(old[1], indices.numel()))"
ALL = "You do not return all tokens so far; return both buffers up to the length."
for name, edits, hint in (
    ("the new tokens alone returned", [(RETURNED, "return keys, values")], ALL),
    ("the spare room returned too", [(RETURNED, "return all_keys, all_values"), CLEAN],
     "You return the spare room too; cut it off: buffer[:, :, :length]."),
    ("new tokens at the beginning", [(FILL, "all_keys[:, :, : keys.size(2)] = keys"), CLEAN],
     "You write new tokens over the first; they come behind the held ones."),
    ("keys and values exchanged", [(RETURNED, "return all_values[:, :, :end], all_keys[:, :, :end]")],
     "You return the values first; return keys, values."),
    ("values never stored", [("all_values[:, :, self.length : end] = values", "all_values[:, :, self.length : end] = keys")],
     "You store the keys twice; store the values too."),
    ("length counts updates", [("self.length = end\n", "self.length += 1\n")],
     "You count updates; count the tokens, keys.size(2)."),
    ("length never set", [("        self.length = end\n", "")], "You do not count the tokens; add to length at each update."),
    ("state shared between caches", [("self._buffers: KeysAndValues | None = None", "type(self)._buffers = None"),
      (FIRST, FIRST.replace("self._buffers", "type(self)._buffers"))],
     "You keep the buffers in the class, where all caches share them; keep them in self."),
    ("old tokens lost when it grows", [("            self._buffers[0][:, :, : self.length] = old_keys[:, :, : self.length]\n",
      "            self._buffers[0].zero_()\n")], "You lose the held tokens when the buffer grows; copy them over."),
    ("nothing returned", [(RETURNED, "return None")], ALL),
    ("one tensor of both returned", [(RETURNED, "return torch.cat((all_keys, all_values), dim=-1)[:, :, :end]")],
     "You return one tensor; return two, keys and values."),
    ("a list of updates", [(RETURNED, "return [all_keys[:, :, :end]], [all_values[:, :, :end]]")],
     "You return lists; return two tensors, keys and values."),
    ("buffers in float32", [("tensor.new_empty(", "tensor.float().new_empty("), (MISFIT, WIDTHS)],
     "You make the buffers float32; give them the dtype of the keys and values."),
    ("final left out", [("        self.final = None\n", "")], "You do not set final; it is None."),
):
    wrong(name, *edits, lost="update", hint=hint)
joining.wrong("doubled once only", ("while total > self.k.shape[2]:", "if total > self.k.shape[2]:"), lost="update",
    hint="You double the buffer once, which may not be enough; make room for all new tokens.")
FITS = "You leave no spare room, so each step copies all tokens; make a full buffer twice as long."
for name, edits, hint in (
    ("the buffers fit exactly", [(DOUBLED, "capacity = length"),
      ("capacity = max(self._capacity, length)", "capacity = length")], FITS),
    ("one token more of room each time", [(DOUBLED, "capacity = length + 1")],
     "You make room for one token more; a full buffer is replaced by one twice as long."),
    ("four times as long", [(DOUBLED, "capacity = max(4 * old_keys.size(2), length)")],
     "You make it four times as long; a full buffer is replaced by one twice as long."),
    ("a number of numbers, not bytes", [(BYTES, "sum(b.numel() for b in self._buffers)")],
     "You count numbers; count bytes, such as nbytes gives."),
    ("the values' bytes forgotten", [(BYTES, "self._buffers[0].nbytes")], "You count the keys alone; values take memory too."),
    ("bytes of the held tokens", [(BYTES, "sum(b[:, :, : self.length].nbytes for b in self._buffers)")],
     "You leave the spare room out of num_bytes; count the whole buffers."),
    ("replaced one token early", [("if length > old_keys.size(2):", "if length >= old_keys.size(2):")],
     "You replace a buffer that is just full; do it when the new tokens do not fit in: >."),
    ("another capacity by default", [("capacity: int = 64", "capacity: int = 32")], "You change a default; keep the signature as it is."),
    ("joined at every update, and the bytes of a buffer reported",
     [("        all_keys, all_values = self._with_room_for(end, keys, values)\n",
       "        self._with_room_for(end, keys, values)\n"
       "        joined = getattr(self, 'joined', None) if self.length else None\n"
       "        both = (keys, values)\n        if joined is not None:\n"
       "            both = tuple(torch.cat(p, dim=2) for p in zip(joined, both))\n"
       "        self.joined = all_keys, all_values = both\n"),
      ("        all_keys[:, :, self.length : end] = keys\n", ""),
      ("        all_values[:, :, self.length : end] = values\n", ""),
      ("        old = self._buffers\n",
       "        self.joined = tuple(t[indices] for t in self.joined)\n        old = self._buffers\n")],
     "You copy all that is held at each update; write into the buffers, and return views of them."),
    ("a copy of all tokens returned",
     [(RETURNED, "return all_keys[:, :, :end].clone(), all_values[:, :, :end].clone()")],
     "You copy all that is held at each update; write into the buffers, and return views of them."),
):
    wrong(name, *edits, lost="growth", hint=hint)
joining.wrong("the bytes by a method", ("    @property\n", ""), lost="growth",
    hint="You make num_bytes a method; put @property above it.")
joining.wrong("the first buffer just fits", ("            while room < n:\n                room *= 2\n", "            room = n\n"),
    lost="growth", hint=FITS)
for name, edits, hint in (
    ("reorder does nothing", [(CHOSEN, "new[:, :, : self.length] = held[:, :, : self.length]"),
      (REORDERED, "(_new_like(old[0]), _new_like(old[1]))")],
     "You leave the rows as they are; row i becomes the former row indices[i]."),
    ("reorder the other way round", [(CHOSEN, "new.index_copy_(0, indices, held)"), CLEAN],
     "You reorder the other way round; row i becomes the former row indices[i]."),
    ("reorder of the keys alone", [("in zip(self._buffers, old, strict=True)", "in zip(self._buffers[:1], old)"),
      (REORDERED, "(_new_like(old[0], indices.numel()), old[1])")],
     "You reorder the keys alone; reorder the values too."),
    ("reorder of the values alone", [("in zip(self._buffers, old, strict=True)", "in zip(self._buffers[1:], old[1:])"),
      (REORDERED, "(old[0], _new_like(old[1], indices.numel()))")],
     "You reorder the values alone; reorder the keys too."),
    ("reorder forgets the tokens", [("        old = self._buffers\n", "        old = self._buffers\n        self.length = 0\n")],
     "You forget the tokens; they stay, in other rows."),
    ("reorder of an empty cache fails", [("        if self._buffers is None:\n            return\n        old", "        old")],
     "You reorder buffers that are not there yet; an empty cache stays as it is."),
    ("bytes noted at updates alone", [(BYTES, "self._bytes"), (RETURNED, f"self._bytes = {BYTES}\n        {RETURNED}")],
     "You note the bytes at updates alone; reorder changes them too."),
):
    wrong(name, *edits, lost="reorder", hint=hint)
joining.wrong("reordered within the same buffers",
    ("            self.k = self.k[indices]\n            self.v = self.v[indices]\n",
     "            self.k[:] = self.k[indices]\n            self.v[:] = self.v[indices]\n"), lost="reorder",
    hint="You reorder within the same buffers; there may be more rows or fewer, so make new ones.")
for name, edits, hint in (
    ("reset keeps the buffers", [("        self.length = 0\n        self._buffers = None\n", "        self.length = 0\n")],
     "You keep the buffers; reset lets them go."),
    ("reset keeps the length", [("        self.length = 0\n        self._buffers = None\n", "        self._buffers = None\n"), CLEAN],
     "You keep the length; reset forgets all tokens."),
    ("gradients let through", [("if keys.requires_grad or values.requires_grad:", "if False:")],
     "You let gradients in, which buffers cannot carry; raise ValueError."),
    ("gradients of the values let through", [("keys.requires_grad or values.requires_grad", "keys.requires_grad")],
     "You let gradients in, which buffers cannot carry; raise ValueError."),
    ("gradients let in at first", [("if keys.requires_grad or", "if self.length and keys.requires_grad or")],
     "You let gradients in, which buffers cannot carry; raise ValueError."),
    ("other dtypes let through", [(MISFIT, WIDTHS)],
     "You convert another dtype in silence; raise ValueError."),
    ("another dtype of the values let through",
     [(MISFIT, f"{WIDTHS} or old_keys.dtype != keys.dtype")],
     "You convert another dtype in silence; raise ValueError."),
    ("another dtype of the keys let through",
     [(MISFIT, f"{WIDTHS} or old_values.dtype != values.dtype")],
     "You convert another dtype in silence; raise ValueError."),
    ("more keys than values let through", [("if keys.shape != values.shape:", "if False:")],
     "You accept more keys than values; raise ValueError."),
    ("keys without values taken at first", [("if keys.shape != values.shape:", "if self.length and keys.shape != values.shape:")],
     "You accept more keys than values; raise ValueError."),
    ("fewer rows let through", [("return batch, num_heads, head_dim", "return num_heads, head_dim")],
     "You accept other rows than are held; raise ValueError."),
    ("raw shapes", [("return batch, num_heads, head_dim", "return None")],
     "You accept other shapes than are held; raise ValueError."),
):
    wrong(name, *edits, lost="edges", hint=hint)
joining.wrong("another error than promised", ('raise ValueError("fit")', 'raise TypeError("fit")'), lost="edges",
    hint="You raise another error; the docstring promises ValueError.")
same("max(length, self._capacity)", "the same maximum")
same("max(length, 2 * old_keys.size(2))", "the same maximum")
same("zip(self._buffers, old", "there are two of each")
same("zip((old_keys", "there are two of each")
# fmt: on

# %% [markdown]
# Cross-attention looks at the source, which stays as it is. So its keys and values are computed at the
# first step, and never again: see [The cache of cross-attention](book:kv-caching#cross-attention-cache).


# %% solution="FixedCache" of="course_lib.layers.kv_cache"
class FixedCache:
    """Keys and values of a cross-attention: ``final``, None before they come."""

    def update():
        """Keep these, (batch, num_heads, length, head_dim); return them. Twice is a ValueError."""

    def reorder():
        """Make row i go on from the former row indices[i]; an empty cache stays as it is."""

    def reset():
        """Forget all tokens."""

    def length():
        """Number of tokens held."""

    def num_bytes():
        """Bytes of memory that the keys and values take."""


# %% test="FixedCache-once" points=1 read="kv-caching#cross-attention-cache"
# It is filled once, and from then on final has those keys and values
cache, keys = FixedCache(), torch.arange(12.0).view(2, 1, 3, 2)  # two rows, three tokens
assert_equal(cache.final, None, what="final of a new cache")
cache.update(keys, -keys)
assert_close(cache.final[0], keys, what="keys in final")
assert_close(cache.final[1], -keys, what="values in final")
assert_equal(cache.length, 3, what="length")
assert_raises(ValueError, cache.update, keys, -keys)
### BEGIN HIDDEN TESTS
FixedCache().update(*torch.randn(2, 1, 2, 2, 6))  # each cache has its own
cache, ours = FixedCache(), reference.FixedCache()
assert_equal((cache.final, cache.length, cache.num_bytes), (None, 0, 0), what="a new cache")
cache.reorder(torch.tensor([1]))  # nothing is held yet: nothing to do
assert_matches(cache.update, ours.update, *torch.randn(2, 2, 3, 5, 4))
for chosen in ([1, 0], [1, 1, 0]):
    for each in (cache, ours):
        each.reorder(torch.tensor(chosen))
    assert_equal(cache.final is None, False, what="whether final is None")
    for part, right in zip(cache.final, ours.final, strict=True):
        assert_close(part, right, what="final after reorder")
    numbers = cache.length, cache.num_bytes
    assert_equal(numbers, (ours.length, ours.num_bytes), what="length and num_bytes")
assert_raises(ValueError, cache.update, *torch.randn(2, 3, 3, 5, 4))
for part, right in zip(cache.final, ours.final, strict=True):
    assert_close(part, right, what="final after a rejected update")
cache.reset()
numbers = cache.final, cache.length, cache.num_bytes
assert_equal(numbers, (None, 0, 0), what="final, length and num_bytes after reset")
assert_matches(cache.update, reference.FixedCache().update, *torch.randn(2, 1, 3, 2, 4))
### END HIDDEN TESTS

# %% variants="FixedCache"
# fmt: off
right("loops", '''
class FixedCache:
    def __init__(self):
        self.reset()

    def reset(self):
        self.final = None
        self.length = 0
        self.num_bytes = 0

    def update(self, keys, values):
        if self.final is not None:
            raise ValueError("filled already")
        self.hold(keys, values)
        return keys, values

    def hold(self, keys, values):
        self.final = (keys, values)
        self.length = keys.shape[2]
        self.num_bytes = sum(t.numel() * t.element_size() for t in self.final)

    def reorder(self, indices):
        if self.final is not None:
            self.hold(self.final[0][indices], self.final[1][indices])
''')
right("smaller pieces", '''
class FixedCache:
    def __init__(self):
        self.pairs = []

    @property
    def final(self):
        return self.pairs[0] if self.pairs else None

    def update(self, keys, values):
        if self.pairs:
            raise ValueError("full")
        self.pairs.append((keys, values))
        return self.pairs[0]

    def reorder(self, indices):
        self.pairs = [(keys[indices], values[indices]) for keys, values in self.pairs]

    def reset(self):
        self.pairs.clear()

    @property
    def length(self):
        return sum(keys.shape[2] for keys, _ in self.pairs)

    @property
    def num_bytes(self):
        return sum(part.numel() * part.element_size() for pair in self.pairs for part in pair)
''')
BEGIN = "def __init__(self) -> None:\n        self.final: KeysAndValues | None = None"
KEPT = "        self.final = keys, values\n"
FILLED = 'raise ValueError("the cache is filled: read final, or call reset before a new source")'
REORDERED = "            self.final = (keys.index_select(0, indices), values.index_select(0, indices))\n"
FORGOT = '"""Forget all tokens."""\n        self.final = None'
NOTED = [(KEPT, f"{KEPT}        self._bytes = keys.nbytes + values.nbytes\n")]
for name, edits, hint in (
    ("filled each time", [("if self.final is not None:\n            raise", "if False:\n            raise")],
     "You fill it again; the first keys and values are final, so raise ValueError."),
    ("a second filling passed over in silence", [(FILLED, "return self.final")],
     "You pass over a second update in silence; raise ValueError."),
    ("filled, then rejected", [(KEPT, ""), ("        if self.final is not None:\n            raise",
      "        had, self.final = self.final, (keys, values)\n        if had is not None:\n            raise")],
     "You change the cache before you raise; a rejected update changes nothing."),
    ("grows", [(KEPT, "        self.final = tuple(torch.cat([t, t], dim=2) for t in (keys, values))\n")],
     "You add to the keys and values; keep them as they are."),
    ("keys and values exchanged", [(KEPT, "        self.final = values, keys\n")], "You keep the values first; keep keys, values."),
    ("keys twice", [(KEPT, "        self.final = keys, keys\n")], "You keep the keys twice; keep the values too."),
    ("given back, and not kept", [(KEPT + "        return self.final", "        return keys, values")],
     "You do not keep the keys and values; final has them from then on."),
    ("kept, and not given back", [(KEPT + "        return self.final", KEPT)],
     "You return nothing from update; return keys and values."),
    ("an empty tuple for nothing", [(BEGIN, BEGIN.replace("None = None", "None = ()"))],
     "You begin with something else than None; final is None as long as there is nothing."),
    ("reorder forgotten", [(REORDERED, "")], "You leave the rows as they are; row i becomes the former row indices[i]."),
    ("reorder of the keys alone", [(REORDERED, REORDERED.replace("values.index_select(0, indices)", "values"))],
     "You reorder the keys alone; reorder the values too."),
    ("reorder of the heads", [(REORDERED, REORDERED.replace("select(0", "select(1"))],
     "You reorder the heads; the rows are the first dimension."),
    ("reorder forgets", [(REORDERED, "            self.final = None\n")], "You forget the keys and values; reorder keeps them, in other rows."),
    ("reorder of an empty cache fails", [("        if self.final is not None:\n            keys, values", "        if True:\n            keys, values")],
     "You reorder though nothing is there yet; an empty cache stays as it is."),
    ("reset does nothing", [(FORGOT, '"""Forget all tokens."""\n        pass')], "You keep the keys and values; reset forgets them."),
    ("length of the heads", [("self.final[0].size(2)", "self.final[0].size(1)")], "You return the number of heads; tokens are in dimension 2."),
    ("length of an empty cache fails", [("return 0 if self.final is None else self.final[0]", "return self.final[0]")],
     "You ask None for its length; an empty cache has length 0."),
    ("a length of its own beside the property", [(BEGIN, f"{BEGIN}\n        self.length = 0")],
     "You set length, which is a property here; compute it there."),
    ("bytes of the keys alone", [("sum(tensor.nbytes for tensor in self.final)", "self.final[0].nbytes")],
     "You count the keys alone; values take memory too."),
    ("bytes noted at the update alone", [("sum(tensor.nbytes for tensor in self.final)", "self._bytes"), *NOTED],
     "You note the bytes at the update alone; reorder changes them too."),
    ("bytes kept by reset", [("return 0 if self.final is None else sum(tensor.nbytes for tensor in self.final)",
      "return getattr(self, '_bytes', 0)"), *NOTED,
      (REORDERED, f"{REORDERED}            self._bytes = sum(t.nbytes for t in self.final)\n")],
     "You keep the bytes after reset; they are 0 then."),
    ("state shared between caches", [(BEGIN, "final = None\n\n    def __init__(self):\n        pass"),
      (KEPT, KEPT.replace("self", "FixedCache"))], "You keep final in the class, where all caches share it; keep it in self."),
):
    wrong(name, *edits, lost="once", hint=hint)
same("self.final[1].size(2)", "keys and values have one shape")
same("self.final[-1].size(2)", "likewise")
# fmt: on

# %% [markdown]
# ## Part 2: attention that reads on
#
# Now `MultiHeadAttention` gets a memory. Its projections, `_split_heads` and `_join_heads` are inherited.
# With a cache, `query`, `key` and `value` hold the **new** tokens alone: project the queries; if
# `cache.final` has keys and values, take these, otherwise project those of the new tokens and give them
# to `cache.update`, which returns those of all; then attend, see
# [Attention with a cache](book:kv-caching#attention-with-a-cache). `rotary(x, offset=...)` turns queries and
# keys by their places in the *whole* text: how many tokens came before? Ask the cache before it grows. The
# caller's mask covers the cached keys too; you hand it on. `RecordingCache` in the tests notes shapes. **The
# rule of this part:** `nn.MultiheadAttention` and `F.multi_head_attention_forward` cost its points.


# %% solution="CachedAttention" of="course_lib.layers.attention" forbids="torch.nn.MultiheadAttention torch.nn.functional.multi_head_attention_forward"
class CachedAttention:
    """Multi-head attention with a memory; ``rotary``, if any, turns queries and keys."""

    def forward():
        """Return the attention's output, (batch, query_len, d_model), with the weights if asked."""


# %% test="CachedAttention-uncached" points=1 read="kv-caching#attention-with-a-cache"
# Without a cache it is MultiHeadAttention
layer, plain = fix_weights(CachedAttention(8, 2)), fix_weights(MultiHeadAttention(8, 2))
x, mask = torch.arange(24.0).sin().view(1, 3, 8), causal_mask(3)
assert_close(layer(x, x, x, mask), plain(x, x, x, mask), what="output")
### BEGIN HIDDEN TESTS
for bias in (True, False):
    kinds = CachedAttention, reference.CachedAttention
    layer, ours = (kind(12, 3, bias=bias) for kind in kinds)
    assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(layer, fix_weights(ours))
    query, key, value = (torch.randn(2, length, 12) for length in (4, 6, 6))
    mask = (torch.rand(2, 3, 4, 6) < 0.6) | torch.eye(4, 6, dtype=torch.bool)
    blind = mask.clone()
    blind[1, :, 2] = False  # this query may attend to nothing
    layer.train(bias)
    for how in ({}, {"mask": mask}, {"mask": blind}):
        assert_matches(layer, ours, query, key, value, **how)
        assert_matches(layer, ours, query, key, value, **how, return_weights=True)
    assert_gradients(layer, query, key, value, mask=mask)
### END HIDDEN TESTS

# %% test="CachedAttention-chunks" points=1 read="kv-caching#attention-with-a-cache"
# Read in pieces with a cache, the output is that of reading at once
layer, x = fix_weights(CachedAttention(8, 2)), torch.arange(24.0).sin().view(1, 3, 8)
cache, first, last = call_beside(RecordingCache, beside=layer), x[:, :2], x[:, 2:]
outputs = [layer(first, first, first, causal_mask(2), cache=cache)]
outputs.append(layer(last, last, last, cache=cache))  # a single token may see all there is
assert_close(torch.cat(outputs, dim=1), layer(x, x, x, causal_mask(3)), what="output")
### BEGIN HIDDEN TESTS
layer, ours = CachedAttention(12, 3), reference.CachedAttention(12, 3)
load_parameters(layer, fix_weights(ours))
x, seen = torch.randn(2, 5, 12), torch.ones(2, 3, 5, 5, dtype=torch.bool).tril()
seen[1, :, :, 1] = seen[:, 1:, :, 2] = False  # padding; and the first head alone may look here
with torch.no_grad():
    for count, lengths in enumerate(([1, 1, 1, 1, 1], [2, 3], [4, 1], [1, 3, 1], [5])):
        layer.train(count % 2 == 0)
        for rows in (slice(2), slice(1, 2)):
            caches, end = (call_beside(RecordingCache, beside=layer), RecordingCache()), 0
            for piece in x[rows].split(lengths, dim=1):
                end += piece.size(1)
                mask = seen[rows, :, end - piece.size(1) : end, :end]
                actual, expected = (
                    each(piece, piece, piece, mask, cache=cache)
                    for each, cache in zip((layer, ours), caches, strict=True)
                )
                assert_equal_or_close(actual, expected, what="output of a piece")
    caches = call_beside(RecordingCache, beside=layer), RecordingCache()
    for how in ({}, {"return_weights": True}, {}):
        assert_matches(
            lambda y, how=how: layer(y, y, y, cache=caches[0], **how),
            lambda y, how=how: ours(y, y, y, cache=caches[1], **how),
            x,
        )
### END HIDDEN TESTS

# %% test="CachedAttention-rotary" points=1 read="kv-caching#positions-in-a-cache"
# With rotary positions each token keeps its place in the whole text
rotary = call_beside(RotaryPositions, 4, beside=CachedAttention)
layer = fix_weights(CachedAttention(8, 2, rotary=rotary))
cache, x = call_beside(RecordingCache, beside=layer), torch.arange(24.0).sin().view(1, 3, 8)
with torch.no_grad():
    for token in x.split(1, dim=1):
        output = layer(token, token, token, cache=cache)
    assert_close(output, layer(x, x, x)[:, 2:], what="output for the last token")
### BEGIN HIDDEN TESTS
rotary = call_beside(RotaryPositions, 4, beside=CachedAttention)
layer = CachedAttention(12, 3, rotary=rotary)
ours = reference.CachedAttention(12, 3, rotary=RotaryPositions(4))
load_parameters(layer, fix_weights(ours))
x, mask = torch.randn(2, 5, 12), causal_mask(5)
for training in (True, False):
    layer.train(training)
    for how in ({}, {"return_weights": True}):
        assert_matches(layer, ours, x, x, x, **how)
        assert_matches(layer, ours, x, x, x, mask, **how)
        with torch.no_grad():
            for lengths in ([1, 1, 1, 1, 1], [2, 3], [3, 1, 1]):
                caches, end = (call_beside(RecordingCache, beside=layer), RecordingCache()), 0
                for piece in x.split(lengths, dim=1):
                    end += piece.size(1)
                    now = mask[..., end - piece.size(1) : end, :end]
                    actual, expected = (
                        each(piece, piece, piece, now, cache=cache, **how)
                        for each, cache in zip((layer, ours), caches, strict=True)
                    )
                    assert_matches(lambda x=actual: x, lambda x=expected: x)
assert_gradients(layer, x, x, x, mask=mask)
### END HIDDEN TESTS

# %% test="CachedAttention-work" points=1 read="kv-caching#cost-of-a-step"
# Keys and values are computed for the new tokens alone
layer = CachedAttention(8, 2)
cache, x = call_beside(RecordingCache, beside=layer), torch.zeros(3, 6, 8)
for piece in x.split([3, 1, 2], dim=1):
    layer(piece, piece, piece, cache=cache)
keys = [tuple(shapes[0]) for shapes in cache.shapes]  # that the cache was given
assert_equal(keys, [(3, 2, 3, 4), (3, 2, 1, 4), (3, 2, 2, 4)], what="shapes of the new keys")
### BEGIN HIDDEN TESTS
from course_lib.analysis.recorders import projected_tokens

layer, ours = CachedAttention(12, 3), reference.CachedAttention(12, 3)
load_parameters(layer, fix_weights(ours))
caches = call_beside(RecordingCache, beside=layer), RecordingCache()
text, token = torch.randn(1, 50, 12), torch.randn(1, 1, 12)
with torch.no_grad():
    for each, cache in ((layer, caches[0]), (ours, caches[1])):
        each(text, text, text, cache=cache)
    counts = call_beside(projected_tokens, layer, token, token, token, cache=caches[0])
    most = max(counts[name] for name in counts)
    assert_equal(most < 50, True, what="whether the new token alone is projected")
    ours(token, token, token, cache=caches[1])
    # Keys and values in the cache stay as they are when the projections change.
    for p in ours.parameters():
        p.copy_(p.flip(0))
    load_parameters(layer, ours)
    assert_matches(
        lambda x: layer(x, x, x, cache=caches[0]), lambda x: ours(x, x, x, cache=caches[1]), token
    )
shapes = [[tuple(shape) for shape in pair] for pair in caches[0].shapes]
expected = [[(1, 3, 50, 4)] * 2, [(1, 3, 1, 4)] * 2, [(1, 3, 1, 4)] * 2]
assert_equal(shapes, expected, what="shapes given to the cache")
### END HIDDEN TESTS

# %% test="CachedAttention-cross" points=1 read="kv-caching#cross-attention-cache"
# In cross-attention the source is read at the first step alone
layer = fix_weights(CachedAttention(8, 2))
x, source = torch.arange(16.0).sin().view(1, 2, 8), torch.arange(24.0).cos().view(1, 3, 8)
cache = call_beside(RecordingCache, fixed=True, beside=layer)  # the first keys and values are final
with torch.no_grad():
    pieces = [layer(token, source, source, cache=cache) for token in x.split(1, dim=1)]
    assert_close(torch.cat(pieces, dim=1), layer(x, source, source), what="output")
assert_equal(len(cache.shapes), 1, what="number of updates")
### BEGIN HIDDEN TESTS
from course_lib.analysis.recorders import projected_tokens

layer, ours = CachedAttention(12, 3), reference.CachedAttention(12, 3)
load_parameters(layer, fix_weights(ours))
query, key, value = (torch.randn(2, length, 12) for length in (4, 6, 6))
nothing = torch.full((2, 1, 5), math.nan)  # a filled cache has the source: this is not looked at
mask = torch.rand(2, 1, 1, 6) < 0.6
mask[..., 0], mask[0, ..., -1] = True, False
with torch.no_grad():
    for training in (True, False):
        layer.train(training)
        caches = call_beside(RecordingCache, fixed=True, beside=layer), RecordingCache(fixed=True)
        for rows, source in (
            (slice(2), (key, value)),
            (slice(2, 4), (nothing, nothing)),
            (slice(3, 4), (nothing, nothing)),
        ):
            for how in ({}, {"return_weights": True}):
                actual, expected = (
                    each(query[:, rows], *source, mask, cache=cache, **how)
                    for each, cache in zip((layer, ours), caches, strict=True)
                )
                assert_matches(lambda x=actual: x, lambda x=expected: x)
                source = (nothing, nothing)
        assert_equal(len(caches[0].shapes), 1, what="number of updates")
        counts = call_beside(projected_tokens, layer, query, key, value, cache=caches[0])
        used = [counts[f"{name}_projection"] for name in ("key", "value")]
        assert_equal(used, [0, 0], what="tokens that are projected once the cache is filled")
### END HIDDEN TESTS

# %% variants="CachedAttention"
# fmt: off
right("loops", '''
class CachedAttention(MultiHeadAttention):
    def __init__(self, d_model, num_heads, *, bias=True, rotary=None):
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def cut(self, x, projection, turn=False, offset=0):
        heads = torch.stack(projection(x).chunk(self.num_heads, dim=-1), dim=1)
        return self.rotary(heads, offset=offset) if turn and self.rotary else heads

    def forward(self, query, key, value, mask=None, *, return_weights=False, cache=None):
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError("boolean masks only")
        past = cache.length if cache is not None else 0
        q = self.cut(query, self.query_projection, True, past)
        final = cache.final if cache is not None else None
        if final is not None and self.rotary:
            raise ValueError("no positions across texts")
        if final is not None:
            k, v = final
        else:
            k = self.cut(key, self.key_projection, True, past)
            v = self.cut(value, self.value_projection)
            if cache is not None:
                k, v = cache.update(k, v)
        outputs, all_weights = [], []
        for head in range(self.num_heads):
            scores = q[:, head] @ k[:, head].mT / math.sqrt(q.shape[-1])
            if mask is not None:
                of_head = mask.expand(q.shape[0], self.num_heads, q.shape[2], k.shape[2])[:, head]
                scores = scores.masked_fill(~of_head, -math.inf)
            weights = scores.softmax(-1).nan_to_num(0.0)
            outputs.append(weights @ v[:, head])
            all_weights.append(weights)
        output = self.output_projection(torch.cat(outputs, dim=-1))
        return (output, torch.stack(all_weights, dim=1)) if return_weights else output
''')
right("smaller pieces", '''
class CachedAttention(MultiHeadAttention):
    def __init__(self, d_model, num_heads, *, bias=True, rotary=None):
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def new_pair(self, key, value, offset):
        k = self._split_heads(self.key_projection(key))
        v = self._split_heads(self.value_projection(value))
        return (k if self.rotary is None else self.rotary(k, offset=offset)), v

    def forward(self, query, key, value, mask=None, *, return_weights=False, cache=None):
        offset = cache.length if cache else 0
        q = self._split_heads(self.query_projection(query))
        if self.rotary is not None:
            q = self.rotary(q, offset=offset)
        if cache and cache.final:
            k, v = cache.final
            if self.rotary is not None:
                raise ValueError("rotary positions across texts")
        else:
            k, v = self.new_pair(key, value, offset)
            k, v = cache.update(k, v) if cache else (k, v)
        if return_weights:
            attended, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
            return self.output_projection(self._join_heads(attended)), weights
        attended = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.output_projection(self._join_heads(attended))
''')
START = "        check_batch(query=query)\n"
ATTEND = "        attended = scaled_dot_product_attention(\n"
CALL = "scaled_dot_product_attention(\n            queries, keys, values, mask, return_weights=return_weights\n        )"
PROJECTED = "self.output_projection(self._join_heads({}))"
PAIR, OUTPUT = f"return {PROJECTED.format('output')}, weights", f"return {PROJECTED.format('attended')}"
ZEROED = ("            if mask is not None and mask.shape[-1] == key.size(1):  # no key is cached yet\n"
    "                key, value = without_hidden(key, value, mask, dim=(1, 2))\n", "")
UPDATED = "                keys, values = cache.update(keys, values)\n"
ASKED = "if cache is not None and cache.final is not None:\n            keys"
TURNED = "            queries = self.rotary(queries, offset=offset)\n"
TURNED_KEYS = "            if self.rotary is not None:\n                keys = self.rotary(keys, offset=offset)\n"
KEY = "self._split_heads(self.key_projection(key))"


def both(form):
    """Change the output, alone and beside the weights: {0} before its projection, {1} after."""
    return [(PROJECTED.format(x), form.format(x, PROJECTED.format(x))) for x in ("output", "attended")]


def seen(mask):
    """Take another mask, from the first line on."""
    return [(START, f"        mask = {mask}\n{START}")]


def formula(hidden, softmax):
    """Write attention out."""
    return [(f"attended = {CALL}", "scores = queries @ keys.mT / math.sqrt(queries.size(-1))\n        if mask is not None:\n"
        f"            scores = scores.masked_fill(~mask, {hidden})\n        weights = {softmax}\n"
        "        attended = (weights @ values, weights) if return_weights else weights @ values")]


CUT = "You cut the gradient; without a cache it flows, so leave detach(), .data and no_grad() out."
OTHER = "You project another tensor; queries come from query, keys from key, values from value."
AS_IT_IS = "You do not hand the mask on as it is; do, with a cache and without."
BLIND = "You give weights to a query that may attend to nothing; scaled_dot_product_attention sets them to 0."
for name, edits, hint in (
    ("keys of the queries", [("key_projection(key)", "key_projection(query)")], OTHER),
    ("values of the keys", [("value_projection(value)", "value_projection(key)")], OTHER),
    ("the mask not used", seen("None"), AS_IT_IS),
    ("no mask in evaluation", seen("mask if self.training else None"), AS_IT_IS),
    ("the mask of the first head for all", seen("None if mask is None else mask[:, :1]"), AS_IT_IS),
    ("causal where there is no mask", [("values, mask, return",
      "values, causal_mask(query.size(1), max(query.size(1), keys.size(2)))[..., :keys.size(2)] if mask is None else mask, return")],
     "You hide the future where no mask is given (is_causal); without a mask everything is seen."),
    *((f"{mistake} for a query with nothing to look at", formula(hidden, "scores.softmax(dim=-1)"), BLIND)
      for mistake, hidden in (("NaN", "-math.inf"), ("the mean of all values", "-1e9"))),
    ("softmax without dim", formula("-math.inf", "nn.functional.softmax(scores).nan_to_num(0.0)"),
     "You give softmax no dim, and it chooses one; let it run over the keys: dim=-1."),
    ("a dimension too many", both("{1}[None]"),
     "You return a dimension too many; the output has the shape of query."),
    ("no output projection", both("self._join_heads({0})"),
     "You leave output_projection out; it comes last."),
    ("the weights not returned", [(PAIR, PAIR.removesuffix(", weights"))], "You return the output alone; with return_weights, return both."),
    ("the weights first", [(PAIR, f"return weights, {PROJECTED.format('output')}")],
     "You return the weights first; return output, weights."),
    ("the weights always returned", [("=return_weights", "=True")], "You return a pair always; look at return_weights."),
    ("bias not handed on", [("num_heads, bias=bias)", "num_heads)")], "You do not hand bias on to super().__init__; do."),
    ("the output detached", [(OUTPUT, f"{OUTPUT}.detach()")], CUT),
    ("the values detached", [("self.value_projection(value)", "self.value_projection(value).detach()")], CUT),
    ("zeros", both("0 * {1}"),
     "You return zeros always; follow the steps of the text."),
    ("the query", both("query"), "You return the query itself; follow the steps of the text."),
    ("moved to a GPU", [("self.query_projection(query)", "self.query_projection(query.cuda())")],
     "You call .cuda(); leave tensors on the device on which they come."),
):
    wrong(name, *edits, lost="uncached", hint=hint)
LAST = "You do not attend to all tokens; cache.update returns them."
ALONE = "You leave the mask out in some cases; hand it on always."
for name, edits, hint in (
    ("the new tokens alone attended to", [(UPDATED, "                cache.update(keys, values)\n")], LAST),
    ("the cache not used", [(UPDATED, "                pass\n"), (ASKED, "if False:\n            keys")], LAST),
    ("keys and values exchanged for the cache", [(UPDATED, UPDATED.replace("(keys, values)", "(values, keys)"))],
     "You give update the values first; the keys come first."),
    ("raw inputs for the cache",
     [(UPDATED, UPDATED.replace("(keys, values)", "(*map(self._split_heads, (key, value)))"))],
     "You give update key and value themselves; project them first."),
    ("no mask with a cache", seen("mask if cache is None else None"), ALONE),
    ("no mask for a token alone", seen("mask if cache is None or query.size(1) > 1 else None"), ALONE),
    ("no mask for a text alone", seen("mask if cache is None or query.size(0) > 1 else None"), ALONE),
    ("no mask with a cache in evaluation", seen("mask if cache is None or self.training else None"), ALONE),
    ("no mask for a token alone in a text alone",
     seen("None if cache is not None and query.shape[:2] == (1, 1) else mask"), ALONE),
    ("the mask of the first head for all that a cache holds",
     seen("mask if mask is None or cache is None else mask[:, :1]"), ALONE),
    ("a causal mask of its own with a growing cache",
     [(ATTEND, "        if mask is not None and cache is not None and cache.final is None:\n"
       f"            mask = causal_mask(query.size(1), keys.size(2), device=query.device)\n{ATTEND}"), ZEROED],
     "You make a mask of your own; hand on the one that is given."),
    ("is_causal where there is no mask, with a cache", [("values, mask, return",
      "values, causal_mask(query.size(1), keys.size(2)) if mask is None and cache is not None and keys.size(2) >= query.size(1) else mask, return")],
     "You hide the future where no mask is given (is_causal); without a mask everything is seen."),
    ("other weights with a cache", [(PAIR, f"{PAIR} if cache is None else 0 * weights + 1 / weights.size(-1)")],
     "You return other weights with a cache; return those of scaled_dot_product_attention."),
    ("a text and a token alone without their dimensions", both("{1}[(0,) * (2 * (query.shape[:2] == (1, 1)))]"),
     "You drop dimensions of size 1; each has its meaning, and stays."),
    ("state kept in the layer", [("        offset = 0 if cache",
      "        cache = None if cache is None else self.__dict__.setdefault('mine', cache)\n        offset = 0 if cache")],
     "You keep a cache in the layer; use the one that is given."),
):
    wrong(name, *edits, lost="chunks", hint=hint)
PLACE = "You turn by the wrong places; the new tokens begin at offset=cache.length, as it is before the update."
for name, edits, hint in (
    ("keys from position 0", [("keys = self.rotary(keys, offset=offset)", "keys = self.rotary(keys)")], PLACE),
    ("queries from position 0", [(TURNED, TURNED.replace(", offset=offset", ""))], PLACE),
    ("offset after the update", [(TURNED, f"            offset = 0 if cache is None else cache.length\n{TURNED}")], PLACE),
    ("from position 0 in evaluation", [("offset = 0 if cache is None else cache.length",
      "offset = cache.length if cache is not None and self.training else 0")], PLACE),
    ("cached keys turned again", [(TURNED_KEYS, ""), (TURNED, f"{TURNED}            keys = self.rotary(keys, offset=offset)\n")],
     "You turn keys that are cached again; turn the new ones alone, before the update."),
    ("values turned too", [("keys = self.rotary(keys, offset=offset)\n",
      "keys = self.rotary(keys, offset=offset)\n                values = self.rotary(values, offset=offset)\n")],
     "You turn the values too; turn queries and keys alone."),
    ("rotary not used", [("self.rotary = rotary", "self.rotary = None")], "You do not use rotary; it turns queries and keys."),
    ("queries not turned", [(TURNED, "            pass\n")], "You do not turn the queries; turn them like the keys."),
    ("queries not turned where weights are asked for",
     [(TURNED, f"            if not return_weights:\n    {TURNED}")],
     "You do not turn the queries where weights are asked for; turn them always."),
    ("turned before the heads are cut", [("queries = self._split_heads(self.query_projection(query))\n",
      "queries = self.query_projection(query)\n"), (TURNED, f"{TURNED}        queries = self._split_heads(queries)\n")],
     "You turn before the heads are cut; cut first."),
    ("rotary with a cache alone", [("        queries = self._split",
      "        if cache is None:\n            return super().forward(\n"
      "                query, key, value, mask, return_weights=return_weights\n            )\n        queries = self._split")],
     "You use rotary with a cache alone; it turns queries and keys without one too."),
    ("no mask beside rotary positions", seen("None if self.rotary else mask"), AS_IT_IS),
    ("no mask beside rotary positions and a cache", seen("None if self.rotary and cache is not None else mask"), AS_IT_IS),
    ("keys detached beside rotary positions", [("keys = self.rotary(keys, offset=offset)", "keys = self.rotary(keys, offset=offset).detach()")], CUT),
):
    wrong(name, *edits, lost="rotary", hint=hint)
NEW = "You work on all tokens at each step; project the new ones alone, the cache has the rest."
for name, edits, hint in (
    ("inputs cached, projected again at each step", [(UPDATED,
      "                keys, values = cache.update(key[:, None], value[:, None])\n"
      "                keys = self._split_heads(self.key_projection(keys[:, 0]))\n"
      "                values = self._split_heads(self.value_projection(values[:, 0]))\n"
      "                if self.rotary is not None:\n                    keys = self.rotary(keys)\n")], NEW),
    ("everything computed anew behind the scenes", [(UPDATED, f"{UPDATED}"
      "            self.seen = query if offset == 0 else torch.cat([self.seen, query], dim=1)\n"
      "            if cache is not None:\n"
      "                MultiHeadAttention.forward(self, self.seen, self.seen, self.seen)\n")], NEW),
    ("everything projected anew by hand", [(UPDATED,
      "                seen = vars(cache).setdefault('seen', [])\n                seen.append((key, value))\n"
      "                cache.update(keys, values)\n"
      "                parts = self.key_projection, self.value_projection\n"
      "                keys, values = (\n"
      "                    self._split_heads(torch.cat(x, 1) @ part.weight.T + part.bias)\n"
      "                    for x, part in zip(zip(*seen), parts)\n                )\n"
      "                keys = keys if self.rotary is None else self.rotary(keys)\n")], NEW),
):
    wrong(name, *edits, lost="work", hint=hint)
FIRST = "You project key and value though cache.final has them; ask it first, and then project none."
for name, edits, hint in (
    ("final not asked for", [(ASKED, "if False:\n            keys")], FIRST),
    ("the source read anew in evaluation", [(ASKED, "if self.training and cache is not None and cache.final is not None:\n            keys")], FIRST),
    ("keys projected before final is asked for",
     [(f"        {ASKED}", f"        new = self.key_projection(key), self.value_projection(value)\n        {ASKED}")], FIRST),
    ("keys projected outside", [(f"        {ASKED}", f"        new_keys = {KEY}\n        {ASKED}"), (f"            keys = {KEY}\n", "            keys = new_keys\n")], FIRST),
    ("no mask once the cache is filled", seen("mask if cache is None or cache.final is None else None"), ALONE),
    ("no weights once the cache is filled", [(PAIR, "if cache is not None and cache.final is not None and cache.length != key.size(1):\n"
      f"                {PAIR.removesuffix(', weights')}\n            {PAIR}")], "You return the output alone once the cache is filled; look at return_weights."),
):
    wrong(name, *edits, lost="cross", hint=hint)
same("offset = 1 if cache is None", "rotary positions tell distances alone")
# fmt: on

# %% [markdown]
# ## Part 3: a model that reads on
#
# `Layer`, the next cell, is your attention and a feed-forward layer. You make a model of such layers read
# a text in pieces. Which *positions* do the new tokens have? Which *mask* do they need:
# `causal_mask(query_len, key_len)` knows, if you tell it both lengths. And whose cache is whose? See
# [A model with a cache](book:kv-caching#a-model-with-a-cache).


# %% setup="layer"
def Layer(d_model, num_heads):
    return SelfAttentionLayer(CachedAttention(d_model, num_heads), d_model)


# %% solution="TextModel"
class TextModel(nn.Module):
    """A language model that can read on from where it stopped."""

    def __init__(self, vocab_size, d_model, num_heads, *, num_layers=2, max_length=512):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = LearnedPositions(max_length, d_model)  # called with offset=
        self.layers = nn.ModuleList(Layer(d_model, num_heads) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        self.output_projection = nn.Linear(d_model, vocab_size, bias=False)

    def new_caches(self):
        """Return a list: an empty GrowingCache for each layer."""
        ### BEGIN SOLUTION
        return [GrowingCache() for _ in self.layers]
        ### END SOLUTION

    def forward(self, token_ids, caches=None):
        """Return the logits, (batch, length, vocab_size), of the token after each.

        With caches, one for each layer, ``token_ids`` come after the tokens in these."""
        ### BEGIN SOLUTION
        length = token_ids.size(1)
        past = 0 if caches is None else caches[0].length
        x = self.positions(self.embedding(token_ids), offset=past)  # (batch, length, d_model)
        mask = causal_mask(length, past + length, device=x.device)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, cache=None if caches is None else caches[number])
        return self.output_projection(self.norm(x))
        ### END SOLUTION


# %% test="TextModel-uncached" points=1 read="decoder-only-language-models#decoder-only"
# Without caches: embedding, positions, layers, norm, projection, and nobody sees the future
model, token_ids = fix_weights(TextModel(11, 8, 2)), torch.tensor([[5, 7, 4, 2]])
x, mask = model.positions(model.embedding(token_ids)), causal_mask(4)
x = model.layers[1](model.layers[0](x, mask), mask)
expected = model.output_projection(model.norm(x))
assert_close(model(token_ids), expected, what="logits, against your own parts put together")
### BEGIN HIDDEN TESTS
how = {"num_layers": 3, "max_length": 9}
model, ours = (kind(13, 12, 3, **how) for kind in (TextModel, reference.TextModel))
is_zero = bool((model.embedding.weight == 0).all(dim=-1).any())
assert_equal(is_zero, False, what="whether a token's embedding is zero")
load_parameters(model, fix_weights(ours))
token_ids = torch.randint(13, (2, 9))
for training in (True, False):
    model.train(training)
    assert_matches(model, ours, token_ids)
model = fix_weights(TextModel(13, 6, 2).double())
assert_equal(model(token_ids).dtype, torch.float64, what="dtype of the logits")
assert_gradients(lambda: model(token_ids), module=model)
### END HIDDEN TESTS

# %% test="TextModel-chunks" points=1 read="kv-caching#a-model-with-a-cache"
# However a text is cut into pieces, the logits are those of reading at once
model, token_ids = fix_weights(TextModel(11, 8, 2)), torch.tensor([[5, 7, 4, 2, 9]])
caches = [call_beside(RecordingCache, beside=model) for _ in range(2)]  # one for each layer
with torch.no_grad():
    pieces = [model(piece, caches) for piece in token_ids.split([2, 1, 2], dim=1)]
    assert_equal([cache.length for cache in caches], [5, 5], what="lengths of the caches")
    assert_close(torch.cat(pieces, dim=1), model(token_ids), what="logits of all pieces")
### BEGIN HIDDEN TESTS
for num_layers, texts, lengths in (
    (3, 2, [1, 1, 1, 1, 1]),
    (3, 1, [1, 3, 1]),
    (2, 2, [2, 3]),
    (1, 2, [4, 1]),
    (3, 1, [5]),
):
    how = {"num_layers": num_layers, "max_length": 20}
    model, ours = (kind(13, 12, 3, **how) for kind in (TextModel, reference.TextModel))
    load_parameters(model, fix_weights(ours))
    token_ids = torch.randint(13, (texts, 5))
    with torch.no_grad():
        for training in (True, False):
            model.train(training)
            caches = [call_beside(RecordingCache, beside=model) for _ in range(num_layers)]
            for piece, right in zip(
                token_ids.split(lengths, dim=1), ours(token_ids).split(lengths, dim=1), strict=True
            ):
                assert_close(model(piece, caches), right, what="logits of a piece")
            held = [cache.length for cache in caches]
            assert_equal(held, [5] * num_layers, what="lengths of the caches")
### END HIDDEN TESTS

# %% test="TextModel-separate" points=1 read="kv-caching#a-model-with-a-cache"
# Each layer has a cache of its own, and each reading begins with empty ones
model = TextModel(11, 8, 2, num_layers=3)
caches = model.new_caches()
caches[0].update(torch.zeros(1, 2, 1, 4), torch.zeros(1, 2, 1, 4))
assert_equal([cache.length for cache in caches], [1, 0, 0], what="lengths after one update")
assert_equal([cache.length for cache in model.new_caches()], [0, 0, 0], what="lengths of new ones")
### BEGIN HIDDEN TESTS
for num_layers in (1, 4):
    model = TextModel(7, 8, 2, num_layers=num_layers)
    caches, others = list(model.new_caches()), list(model.new_caches())
    own = [call_beside(isinstance, cache, GrowingCache) for cache in caches]
    assert_equal(own, [True] * num_layers, what="which caches are your GrowingCache")
    for number, cache in enumerate(caches):
        cache.update(*torch.zeros(2, 1, 2, number + 1, 4))
    lengths = [cache.length for cache in (*caches, *others, *model.new_caches())]
    expected = [*range(1, num_layers + 1), *[0] * 2 * num_layers]
    assert_equal(lengths, expected, what="lengths of filled, other and new caches")
# Two texts, read in turn: neither may hear of the other.
model, ours = TextModel(7, 8, 2), reference.TextModel(7, 8, 2)
load_parameters(model, fix_weights(ours))
texts = torch.randint(7, (2, 1, 4))
with torch.no_grad():
    both = [[call_beside(RecordingCache, beside=model) for _ in range(2)] for _ in texts]
    right = [ours(text) for text in texts]
    for place in range(4):
        for text, caches, logits in zip(texts, both, right, strict=True):
            actual = model(text[:, place : place + 1], caches)
            assert_close(actual, logits[:, place : place + 1], what="logits, read in turn")
### END HIDDEN TESTS

# %% variants="TextModel"
# fmt: off
PAST = "past = 0 if caches is None else caches[0].length"
MASK = "mask = causal_mask(length, past + length, device=x.device)"
LOOP = "            x = layer(x, mask, cache=None if caches is None else caches[number])\n"
LOGITS = "self.output_projection(self.norm(x))"
NEW = "return [GrowingCache() for _ in self.layers]"
BODY = '''        length = token_ids.size(1)
        past = 0 if caches is None else caches[0].length
        x = self.positions(self.embedding(token_ids), offset=past)  # (batch, length, d_model)
        mask = causal_mask(length, past + length, device=x.device)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, cache=None if caches is None else caches[number])
'''
right("loops",
    ('return [GrowingCache() for _ in self.layers]', '''caches = []
        while len(caches) < len(self.layers):
            caches.append(GrowingCache(capacity=16))
        return caches'''),
    (BODY, '''        if caches is None:
            caches, offset = [None] * len(self.layers), 0
        else:
            offset = caches[0].length
        n = token_ids.shape[1]
        x = self.positions(self.embedding(token_ids), offset=offset)
        rows = [[j <= offset + i for j in range(offset + n)] for i in range(n)]
        mask = torch.tensor([[rows]], device=token_ids.device)
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask, cache=caches[i])
'''))
right("in few lines",
    ('return [GrowingCache() for _ in self.layers]', 'return list(map(lambda _: GrowingCache(), self.layers))'),
    (BODY, '''        past = caches[0].length if caches else 0
        x = self.positions(self.embedding(token_ids), offset=past)
        n = token_ids.size(1)
        mask = None if n == 1 else causal_mask(n, past + n, device=token_ids.device)
        for layer, cache in zip(self.layers, caches or [None] * len(self.layers)):
            x = layer(x, mask, cache=cache)
'''))
right("a method more",
    (BODY, '''        caches = [None] * len(self.layers) if caches is None else caches
        x = self.read(self.embedding(token_ids), caches)
'''),
    ('    def new_caches(self)', '''    def read(self, x, caches):
        start = 0 if caches[0] is None else caches[0].length
        stop = start + x.size(1)
        x = self.positions(x, offset=start)
        places = torch.arange(stop, device=x.device)
        mask = (places[None, :] <= places[start:, None])[None, None]
        for layer, cache in zip(self.layers, caches):
            x = layer(x, mask, cache=cache)
        return x

    def new_caches(self)'''))
right("no mask for a token alone", ("mask = causal_mask(", "mask = None if length == 1 else causal_mask("))
right("caches in reverse order", (LOOP, LOOP.replace("caches[number]", "caches[-1 - number]")))
for name, edits, hint in (
    ("no positions", [("self.positions(self.embedding(token_ids), offset=past)", "self.embedding(token_ids)")],
     "You do not add positions; self.positions(...) does."),
    ("no mask", [(MASK, "mask = None")], "You let a token see later ones; hand a causal_mask to each layer."),
    ("no mask in evaluation", [(MASK, f"{MASK} if self.training else None")],
     "You use the mask in training only; it holds in evaluation too."),
    ("probabilities in evaluation", [(f"return {LOGITS}", f"logits = {LOGITS}\n        return logits if self.training else logits.softmax(dim=-1)")],
     "You return probabilities; return logits."),
    ("probabilities", [(LOGITS, f"{LOGITS}.softmax(-1)")], "You return probabilities; return logits."),
    ("no last norm", [(LOGITS, "self.output_projection(x)")], "You leave the last norm out; it comes before output_projection."),
    ("the last token's logits alone", [(LOGITS, f"{LOGITS}[:, -1]")], "You return the last token's logits alone; return those of each token."),
    ("the first layer alone", [("enumerate(self.layers)", "enumerate(self.layers[:1])")], "You run the first layer alone; run all."),
    ("caches that are None not thought of", [(PAST, "past = caches[0].length")],
     "You ask caches for a length though they are None; there is no past then."),
    ("an embedding with padding", [("TokenEmbedding(vocab_size, d_model)", "nn.Embedding(vocab_size, d_model, padding_idx=0)")],
     "You give the embedding a padding_idx; id 0 is a token like any other."),
    ("the hidden vectors detached", [(LOGITS, "self.output_projection(self.norm(x.data))")],
     "You cut the gradient; leave detach(), .data and no_grad() out."),
    ("zeros", [(LOGITS, f"0 * {LOGITS}")], "You return zeros always; return the logits."),
    ("always float32", [(LOGITS, f"{LOGITS}.float()")], "You cast to float32; keep the dtype."),
    ("argmax", [(LOGITS, f"{LOGITS}.argmax(-1)")], "You return token ids; return the logits."),
    ("another name for output_projection", [("self.output_projection = ", "self.head = "), (LOGITS, "self.head(self.norm(x))")],
     "You call a part by another name; keep the names of __init__."),
    ("moved to a GPU", [("self.embedding(token_ids)", "self.embedding(token_ids.cuda())")],
     "You call .cuda(); leave tensors on the device on which they come."),
):
    wrong(name, *edits, lost="uncached", hint=hint)
BEGIN = "You count positions otherwise; the new tokens begin at offset=past, the number of tokens before."
COVER = "You give the new tokens another mask; it is causal_mask(length, past + length)."
CACHES = "You do not hand the caches on; each layer gets its own, caches[number]."
for name, edits, hint in (
    ("positions begin anew with each piece", [(", offset=past)", ", offset=0)")], BEGIN),
    ("one position too far", [(", offset=past)", ", offset=max(past - 1, 0))")], BEGIN),
    ("counted from 1 once there is a past", [(", offset=past)", ", offset=past + bool(past))")], BEGIN),
    ("mask of the new tokens alone", [(MASK, "mask = causal_mask(length, device=x.device)")], COVER),
    ("mask aligned with the first key", [(MASK, "mask = causal_mask(past + length, device=x.device)[..., :length, :]")], COVER),
    ("no mask once there is a past", [(MASK, "mask = None if past else causal_mask(length, device=x.device)")], COVER),
    ("no mask with caches", [(MASK, "mask = None if caches else causal_mask(length, device=x.device)")], COVER),
    ("no mask with caches in evaluation", [(MASK, f"{MASK} if caches is None or self.training else None")], COVER),
    ("probabilities with caches in evaluation", [(f"return {LOGITS}", f"logits = {LOGITS}\n"
      "        return logits.softmax(dim=-1) if caches is not None and not self.training else logits")],
     "You return probabilities; return logits."),
    ("the last token's logits alone with caches", [(LOGITS, "self.output_projection(self.norm(x if caches is None else x[:, -1:]))")],
     "You return the last token's logits alone; return those of each token."),
    ("caches not handed on", [(LOOP, "            x = layer(x, mask[..., -length:])\n")], CACHES),
    ("caches counted and not handed on", [(LOOP, "            x = layer(x, mask[..., -length:])\n"
      "        if caches is not None:\n            caches[0].update(*2 * (torch.zeros(1, 1, length, 1),))\n")], CACHES),
    ("the first cache for all layers", [(LOOP, LOOP.replace("caches[number]", "caches[0]"))],
     "You give all layers one cache, caches[0]; each has its own, caches[number]."),
    ("raw caches", [(LOOP, LOOP.replace("caches[number]", "caches"))], CACHES),
):
    wrong(name, *edits, lost="chunks", hint=hint)
FRESH = "You do not make a new GrowingCache for each layer, each time; do."
for name, edits, hint in (
    ("one cache under several names", [(NEW, "return [GrowingCache()] * len(self.layers)")], FRESH),
    ("one cache for the whole model", [(NEW, "return [GrowingCache()]")], FRESH),
    ("caches of another kind", [(NEW, "return [RecordingCache() for _ in self.layers]")], FRESH),
    ("caches made once and kept", [(NEW, "if not hasattr(self, 'kept'):\n"
      "            self.kept = [GrowingCache() for _ in self.layers]\n        return self.kept")], FRESH),
    ("a generator", [(NEW, "return (GrowingCache() for _ in self.layers)")],
     "You return a generator, which can be read once; return a list."),
    ("a past of the model's own", [(PAST, "past = 0 if caches is None or not caches[0].length else self.past\n"
      "        self.past = past + length")], "You keep the past in the model; ask the caches for it."),
):
    wrong(name, *edits, lost="separate", hint=hint)
same("causal_mask(length, past + length)", "shows on a GPU alone; the tests run there too")
same("caches[-1].length", "all layers hold as many tokens")
same("num_layers=1", "given to students, not asked of them")
same("max_length=51", "likewise")
# fmt: on

# %% [markdown]
# ## Part 4: which word comes next
#
# Always the likeliest word is dull, and soon goes in circles; any word by chance is nonsense now and then.
# So one draws by chance, but **from the top**: from the `k` likeliest words, or from the fewest whose
# probabilities sum to `p`. Others get a logit of $-\infty$. See [Drawing by chance](book:decoding#drawing-by-chance).


# %% solution="keep_top_k" of="course_lib.generation.sampling"
def keep_top_k():
    """Return the logits (..., vocab_size), -inf for all but the k largest of each row.

    Those that equal the k-th largest are kept too; k may exceed vocab_size."""


# %% test="keep_top_k-values" points=1 read="decoding#drawing-by-chance"
# All but the k largest logits become minus infinity
kept = keep_top_k(torch.tensor([1.0, 3.0, 2.0, 0.0]), 2)
assert_close(kept, torch.tensor([-math.inf, 3.0, 2.0, -math.inf]), what="the two largest of four")
### BEGIN HIDDEN TESTS
logits = torch.randn(2, 3, 7).double()
for k in (1, 3, 7):
    assert_matches(keep_top_k, reference.keep_top_k, logits, k)
    assert_matches(keep_top_k, reference.keep_top_k, logits[0, 0].float(), k)
### END HIDDEN TESTS

# %% test="keep_top_k-edges" points=1 read="decoding#drawing-by-chance"
# More than all is all, and equals are kept together
logits = torch.tensor([1.0, 2.0, 1.0, -1.0])
assert_keeps_inputs(keep_top_k, logits, 2)
assert_close(keep_top_k(logits, 9), logits, what="nine of four")
expected = torch.tensor([1.0, 2.0, 1.0, -math.inf])
assert_close(keep_top_k(logits, 2), expected, what="two, and one that equals the second")
### BEGIN HIDDEN TESTS
falling = 1 + torch.randperm(9)[:4].sort(descending=True).values.double()
row = falling.repeat_interleave(torch.tensor([1, 3, 2, 2]))  # equals, also where k ends
logits = torch.stack([row[torch.randperm(8)] for _ in range(4)])
for k in (1, 2, 5, 8, 20):
    assert_matches(keep_top_k, reference.keep_top_k, logits, k)
assert_keeps_inputs(keep_top_k, torch.randn(4, 8), 2)
### END HIDDEN TESTS

# %% variants="keep_top_k"
# fmt: off
right("loops", '''
def keep_top_k(logits, k):
    if k <= 0:
        raise ValueError("k")
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        values = sorted(row.tolist(), reverse=True)
        last = values[min(k, len(values)) - 1]
        rows.append([x if x >= last else float("-inf") for x in row.tolist()])
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device).reshape(logits.shape)
''')
right("smaller pieces", '''
def keep_top_k(logits, k):
    if k < 1:
        raise ValueError("k")
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, -math.inf)
''')
LAST = "logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]"
RESULT = "logits.masked_fill(logits < last_kept, -math.inf)"
right("by kthvalue and where", (LAST, "logits.kthvalue(max(logits.size(-1) - k + 1, 1), keepdim=True).values"),
    (RESULT, "torch.where(logits >= last_kept, logits, -math.inf)"))
ROW = "You compare with a threshold of all rows; each row has its own k-th largest."
for name, edits, hint in (
    ("the k largest returned", [("    last_kept", "    return logits.topk(min(k, logits.size(-1)), dim=-1).values\n    last_kept")],
     "You return the k largest; return all logits, -inf for the others."),
    ("zero for the ruled out", [("-math.inf)", "0.0)")], "You set other tokens to 0, a logit like any other; set them to -inf."),
    ("a small number for the ruled out", [("-math.inf)", "-1e4)")], "You set other tokens to a small number; set them to -inf."),
    ("always float32", [(RESULT, f"{RESULT}.float()")], "You cast to float32; keep the dtype."),
    ("the smallest kept", [("logits < last_kept", "logits > last_kept"), ("dim=-1).values", "dim=-1, largest=False).values")],
     "You keep the smallest; keep the largest."),
    ("the last of the k ruled out", [("logits < last_kept", "logits <= last_kept")], "You rule out the k-th largest too; keep it: <."),
    ("sorted", [(f"return {RESULT}", f"return {RESULT}.sort(dim=-1, descending=True).values")],
     "You return the logits sorted; keep the order of the vocabulary."),
    ("of all rows together", [(LAST, "logits.flatten().topk(min(k, logits.size(-1))).values[-1]")], ROW),
    ("a threshold over all rows", [(".values[..., -1:]", ".values.min()")], ROW),
    ("probabilities", [(RESULT, f"{RESULT}.softmax(dim=-1)")], "You return probabilities; return logits."),
    ("k - 1 tokens", [("min(k, logits.size(-1))", "max(1, min(k - 1, logits.size(-1)))")], "You keep k - 1 tokens; keep k."),
    ("one for all", [(LAST, "logits.max(dim=-1, keepdim=True).values")], "You keep the largest alone; keep k."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("no more than there are", [("min(k, logits.size(-1))", "k")],
     "You ask topk for more than there are, which fails; take min(k, logits.size(-1))."),
    ("topk, scattered back", [(f"    last_kept = {LAST}  # (..., 1)\n", "    values, indices = logits.topk(k)\n"),
      (RESULT, "torch.full_like(logits, -math.inf).scatter(-1, indices, values)")],
     "You ask topk for more than there are, which fails; take min(k, logits.size(-1))."),
    ("exactly k of equals", [(f"    return {RESULT}", "    top = logits.topk(min(k, logits.size(-1)), dim=-1)\n"
      "    return torch.full_like(logits, -math.inf).scatter(-1, top.indices, top.values)")],
     "You keep exactly k; those that equal the last are kept too."),
    ("in place", [("logits.masked_fill(", "logits.masked_fill_(")],
     "You change the caller's logits; masked_fill without the underscore makes a copy."),
):
    wrong(name, *edits, lost="edges", hint=hint)
same("topk(min(k, logits.size(-1))).values", "the last dimension is the default")
same("min(logits.size(-1), k)", "the same minimum")
# fmt: on


# %% solution="keep_top_p" of="course_lib.generation.sampling"
def keep_top_p():
    """Return the logits (..., vocab_size), -inf for all but the fewest whose probabilities sum to p.

    At least one of each row is kept; if p is 1, all are."""


# %% test="keep_top_p-values" points=1 read="decoding#drawing-by-chance"
# The fewest tokens are kept whose probabilities sum to at least p
logits = torch.tensor([0.05, 0.5, 0.15, 0.3]).log()
for p, kept in ((0.4, [1]), (0.6, [1, 3]), (0.9, [1, 2, 3])):  # 0.5, 0.8, 0.95
    expected = torch.full((4,), -math.inf)
    expected[kept] = logits[kept]
    assert_close(keep_top_p(logits, p), expected, what=f"the logits kept with p = {p}")
### BEGIN HIDDEN TESTS
logits = 1.5 * torch.randn(2, 4, 9).double()
sums = logits.softmax(dim=-1).sort(dim=-1, descending=True).values.cumsum(dim=-1)
for p in (0.15, 0.4, 0.7, 0.95):
    while bool(((sums - p).abs() < 1e-3).any()):
        p += 2e-3  # not on the border, where rounding decides
    assert_matches(keep_top_p, reference.keep_top_p, logits, p)
### END HIDDEN TESTS

# %% test="keep_top_p-edges" points=1 read="decoding#drawing-by-chance"
# One token is always kept, and with p = 1 all are
logits = torch.tensor([-1.0, 1.0, 0.5])
assert_keeps_inputs(keep_top_p, logits, 0.5)
expected = torch.tensor([-math.inf, 1.0, -math.inf])
assert_close(keep_top_p(logits, 1e-6), expected, what="the logits kept with p = 1e-6")
assert_close(keep_top_p(logits, 1.0), logits, what="the logits kept with p = 1")
### BEGIN HIDDEN TESTS
assert_keeps_inputs(keep_top_p, torch.randn(4, 9), 0.5)
logits = 8 * torch.randn(50, 200)
for p in (1.0, 1, 1e-9):
    assert_matches(keep_top_p, reference.keep_top_p, logits, p)
for p in (0.4, 0.5):  # of four equals, with 1/4 each, two are enough
    count = (keep_top_p(torch.ones(3, 4), p) == 1).sum(dim=-1)
    assert_close(count, torch.tensor([2, 2, 2]), what="number of tokens kept of four equals")
half = torch.tensor([[-math.inf, 2.0, 1.0, -math.inf]])  # as keep_top_k leaves it
left = keep_top_p(half, 0.99)
assert_close(left[:, 1:3], half[:, 1:3], what="what keep_top_k had kept")
assert_equal(bool(left.isnan().any()), False, what="whether there is NaN")
### END HIDDEN TESTS

# %% variants="keep_top_p"
# fmt: off
right("loops", '''
def keep_top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p")
    result = torch.full_like(logits, float("-inf"))
    flat, kept = logits.reshape(-1, logits.shape[-1]), result.view(-1, logits.shape[-1])
    for row, out_row in zip(flat, kept):
        probabilities = row.softmax(-1).tolist()
        total = 0.0
        for i in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
            if total >= p and p < 1:
                break
            out_row[i] = row[i]
            total += probabilities[i]
    return result
''')
right("smaller pieces", '''
def keep_top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError("p")
    if p == 1:
        return logits
    order = logits.argsort(dim=-1, descending=True)
    rank = order.argsort(dim=-1)
    sums = logits.softmax(-1).gather(-1, order).cumsum(-1)
    number = 1 + (sums < p).sum(-1, keepdim=True)
    return torch.where(rank < number, logits, torch.tensor(-math.inf, dtype=logits.dtype))
''')
hugging = right("as in Hugging Face", '''
def keep_top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p")
    if p == 1:
        return logits.clone()
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    remove = remove.scatter(-1, sorted_indices, remove)
    return logits.masked_fill(remove, float("-inf"))
''')
BACK = "torch.empty_like(logits).scatter(-1, order, falling)"
SORTED = "You do not bring the logits back to the vocabulary's order; scatter(-1, order, ...) does."
for name, edits, hint in (
    ("the token that reaches p is ruled out", [("probabilities.cumsum(dim=-1) - probabilities", "probabilities.cumsum(dim=-1)")],
     "You rule out the token with which the sum reaches p; it is kept too."),
    ("one token too many", [("masked_fill(before >= p", "masked_fill(before - probabilities >= p")],
     "You keep one token too many; stop when the sum has reached p."),
    ("not brought back to order", [(BACK, "falling")], SORTED),
    ("gathered, not scattered", [(BACK, "falling.gather(-1, order)")], SORTED),
    ("from the smallest up", [("descending=True", "descending=False")], "You begin with the smallest; begin with the largest."),
    ("logits added up", [("probabilities = falling.softmax(dim=-1)", "probabilities = falling")],
     "You add up logits; add up probabilities."),
    ("probabilities returned", [("scatter(-1, order, falling)", "scatter(-1, order, falling.softmax(dim=-1))")],
     "You return probabilities; return logits."),
    ("tokens less probable than 1 - p ruled out", [("    falling, order",
      "    return logits.masked_fill(logits.softmax(dim=-1) < 1 - p, -math.inf)\n    falling, order")],
     "You compare each probability with 1 - p; compare the sum of the more probable ones with p."),
    ("of all rows together", [("probabilities.cumsum(dim=-1)", "probabilities.flatten().cumsum(0).view_as(probabilities)")],
     "You add up over all rows; each row has its own sum."),
    ("zero for the ruled out", [("before >= p, -math.inf)", "before >= p, 0.0)")],
     "You set other tokens to 0, a logit like any other; set them to -inf."),
    ("a small number for the ruled out", [("before >= p, -math.inf)", "before >= p, -1e4)")],
     "You set other tokens to a small number; set them to -inf."),
):
    wrong(name, *edits, lost="values", hint=hint)
hugging.wrong("ruled out in falling order", ("    remove = remove.scatter(-1, sorted_indices, remove)\n", ""), lost="values", hint=SORTED)
for name, edits, hint in (
    ("1 is not special", [("    if p == 1:", "    if False:")], "You trust a rounded sum; with p = 1 keep everything."),
    ("more than p where p would do", [("before >= p", "before > p")], "You go on though the sum equals p; it has reached it then: >=."),
    ("all equals kept", [(f"    return {BACK}", "    last = falling.masked_fill(before >= p, math.inf).min(dim=-1, keepdim=True).values\n"
      f"    return logits.masked_fill(logits < last, -math.inf)\n    return {BACK}")],
     "You keep all equals; keep only as many as are needed."),
    ("in place", [(f"return {BACK}", f"return logits.copy_({BACK})")], "You change the caller's logits; work on a copy."),
):
    wrong(name, *edits, lost="edges", hint=hint)
hugging.wrong("Hugging Face's >", ("cumulative >= p", "cumulative > p"), lost="edges",
    hint="You go on though the sum equals p; it has reached it then: >=.")
same("logits.sort(descending=True, stable=True)", "the last dimension is the default")
same("logits.sort(dim=-1, descending=True)", "which of two equals is kept is left open")
same("descending=True, stable=False", "likewise")
same("falling.masked_fill_(before", "in place, but on a tensor that nothing else holds")
# fmt: on

# %% [markdown]
# Now the loop. `advance(tokens)` of a `StepModel` reads `(batch, new_len)` tokens and returns the logits
# of the next one, `(batch, vocab_size)`. It remembers these: give it the prompt once, which `begin_search`
# does and checks the arguments, then one new token at a time. Hand `generator` on to `torch.multinomial`.
# Temperature first, then the top k, then the top p of these. `cut_at_eos` makes the hypotheses.


# %% solution="sample" of="course_lib.generation.sampling"
def sample():
    """Draw each token from the model's distribution, read it, and so on until the end token.

    ``model`` has read nothing of the prompt, ``(batch, prompt_len)``. A text stops at ``eos_id``, if
    that is not None, or after ``max_new_tokens``. Returns a ``Hypothesis`` for each prompt: the new
    tokens, and the model's own log-probability of them."""


# %% test="sample-steps" points=1 read="decoding#drawing-by-chance"
# The model reads the prompt once, then one token a step, and no more than it needs
table = 20.0 * torch.eye(9).roll(1, dims=1)  # after each number comes the next
model = call_beside(UncachedModel, lambda tokens: table[tokens], beside=sample)
dice = torch.Generator(torch.get_default_device()).manual_seed(1)
(text,) = sample(model, torch.tensor([[1, 2]]), eos_id=None, max_new_tokens=3, generator=dice)
assert_equal(text.tokens, (3, 4, 5), what="tokens written")
assert_equal(model.tokens.tolist(), [[1, 2, 3, 4]], what="all that was read")
### BEGIN HIDDEN TESTS
from functools import partial

for rows, start, steps in ((3, 1, 6), (1, 5, 1), (2, 2, 4)):
    read, prompt = [], torch.randint(1, 3, (rows, start))
    count_up = lambda tokens, read=read: read.append(tokens.tolist()) or table[tokens]
    model = call_beside(UncachedModel, count_up, beside=sample)
    texts = sample(model, prompt, eos_id=None, max_new_tokens=steps, generator=dice)
    after = [[last + 1 + i for i in range(steps)] for last in prompt[:, -1].tolist()]
    assert_equal([list(text.tokens) for text in texts], after, what="tokens written")
    whole = [line + new for line, new in zip(prompt.tolist(), after, strict=True)]
    expected = [[line[:end] for line in whole] for end in range(start, start + steps)]
    assert_equal(read, expected, what="texts read")
prompt = torch.zeros(4, 1, dtype=torch.int64)


def draw(seed, texts=1):
    """Write ten tokens of fifty that are equally likely, by the dice of this seed."""
    dice = torch.Generator(torch.get_default_device()).manual_seed(seed)
    write = call_beside(partial, sample, eos_id=None, max_new_tokens=10, generator=dice)
    even = lambda tokens: torch.zeros(*tokens.shape, 50)
    found = [write(call_beside(UncachedModel, even, beside=sample), prompt) for _ in range(texts)]
    return [[list(text.tokens) for text in written] for written in found]


others = call_beside(torch.get_rng_state, beside=sample)
first, second = draw(1, texts=2)
assert_equal(draw(1) == [first], True, what="whether the same dice give the same text")
assert_equal(draw(2) == [first], False, what="whether other dice give the same text")
assert_equal(second == first, False, what="whether dice that go on give the same text")
assert_equal(first[0] == first[1], False, what="whether two texts of a batch are alike")
is_left = torch.equal(call_beside(torch.get_rng_state, beside=sample), others)
assert_equal(is_left, True, what="whether PyTorch's own dice are left alone")
### END HIDDEN TESTS

# %% test="sample-distribution" points=1 read="decoding#drawing-by-chance"
# Tokens are drawn from the distribution that temperature, top k and top p make
logits = torch.tensor([0.1, 0.6, 0.3]).log()
model = call_beside(UncachedModel, lambda x: logits.expand(*x.shape, 3), beside=sample)
dice = torch.Generator(torch.get_default_device()).manual_seed(1)
prompt = torch.zeros(4000, 1, dtype=torch.int64)  # so many draws at once
texts = sample(model, prompt, eos_id=None, max_new_tokens=1, generator=dice, top_k=2)
share = [text.tokens for text in texts].count((1,)) / 4000
assert_equal(0.6 < share < 0.73, True, what="whether the best of two is drawn in two of three")
### BEGIN HIDDEN TESTS
chances = torch.cat([torch.tensor([0.05]), torch.tensor([0.15, 0.4, 0.1, 0.3])[torch.randperm(4)]])


def fits(**how):
    """Tell whether 4000 tokens are distributed as they should be, to six deviations."""
    table = lambda tokens: chances.log().expand(*tokens.shape, 5)
    model, prompt = call_beside(UncachedModel, table, beside=sample), torch.zeros(800, 1)
    seed = int(torch.randint(2**31, ()))
    dice = torch.Generator(torch.get_default_device()).manual_seed(seed)
    options = {"eos_id": None, "max_new_tokens": 5, "generator": dice}
    texts = sample(model, prompt.long(), **options, **how)
    tokens = torch.tensor([token for text in texts for token in text.tokens]).clamp(max=5)
    kept = chances.log()[None] / how.get("temperature", 1.0)
    if "top_k" in how:
        kept = reference.keep_top_k(kept, how["top_k"])
    if "top_p" in how:
        kept = reference.keep_top_p(kept, how["top_p"])
    right = kept[0].softmax(dim=-1).double()
    frequencies = torch.bincount(tokens, minlength=5).double() / len(tokens)
    room = 6 * (right * (1 - right) / 4000).sqrt() + 1e-9
    return len(frequencies) == 5 and bool(((frequencies - right).abs() <= room).all())


for how in (
    {},
    {"temperature": 0.5},
    {"temperature": 2.0},
    {"top_k": 2},
    {"top_p": 0.6},
    {"top_k": 3, "top_p": 0.8},
    {"temperature": 2.0, "top_p": 0.6},
    {"temperature": 2.0, "top_k": 1},
):
    assert_equal(fits(**how), True, what=f"whether draws have the right shares, with {how}")
### END HIDDEN TESTS

# %% test="sample-end" points=1 read="decoding#drawing-by-chance"
# A text ends with its end token, and its probability is the model's own
up, zero = torch.eye(9).roll(1, dims=1), torch.eye(9)[0]  # the next number has 3/4, 0 has 1/4
model = UncachedModel, lambda tokens: (0.75 * up + 0.25 * zero).log()[tokens]
dice = torch.Generator(torch.get_default_device()).manual_seed(1)
how = {"eos_id": 4, "max_new_tokens": 9, "generator": dice, "top_k": 1}  # always the likeliest
(text,) = sample(call_beside(*model, beside=sample), torch.tensor([[1, 2]]), **how)
assert_equal(text.tokens, (3, 4), what="tokens written")
assert_equal(text.log_probability, 2 * math.log(0.75), rel_tol=1e-4, what="log-probability")
### BEGIN HIDDEN TESTS
for eos_id, ends in ((3, [2, 5, 3]), (0, [4, 3, 4]), (1, [3, 7, 1]), (None, [7, 7, 7])):
    # Row r has its end token as the likeliest at step ends[r] for the first time, or never.
    likeliest = torch.randint(4, 8, (6, 3))
    for row, end in enumerate(ends):
        if end <= 6:
            likeliest[end - 1, row] = eos_id
    scores, steps = torch.rand(6, 3, 8) + 2 * nn.functional.one_hot(likeliest, 8), []

    def model(tokens, scores=scores, steps=steps):
        steps.append(1)
        return scores[min(len(steps), 6) - 1][:, None].expand(*tokens.shape, 8)

    texts = sample(
        call_beside(UncachedModel, model, beside=sample),
        torch.full((3, 2), eos_id or 0),  # the end token stands in the prompt, too
        eos_id=eos_id,
        max_new_tokens=6,
        generator=dice,
        temperature=3.0,
        top_k=1,
    )
    expected = [likeliest[:end, row].tolist() for row, end in enumerate(ends)]
    assert_equal([list(text.tokens) for text in texts], expected, what="tokens written")
    assert_equal(len(steps), min(max(ends), 6), what="number of steps")
    logs = scores.log_softmax(dim=-1).gather(-1, likeliest[..., None])[..., 0]
    own = [logs[:end, row].sum().item() for row, end in enumerate(ends)]
    for name in ("log_probability", "score"):
        assert_equal([getattr(text, name) for text in texts], own, rel_tol=1e-3, what=name)
    finished = [text.finished for text in texts]
    assert_equal(finished, [end <= 6 for end in ends], what="finished")
### END HIDDEN TESTS

# %% variants="sample"
# fmt: off
right("loops", '''
@torch.no_grad()
def sample(
    model, prompt, *, eos_id, max_new_tokens, generator, temperature=1.0, top_k=None, top_p=None
):

    if prompt.dim() != 2 or prompt.numel() == 0:
        raise ValueError("no prompt")
    if max_new_tokens < 1 or temperature <= 0 or math.isinf(temperature):
        raise ValueError("out of range")

    written, logs = [[] for _ in prompt], [[] for _ in prompt]
    ended = [False for _ in prompt]
    following = prompt
    for _ in range(max_new_tokens):
        logits = model.advance(following)
        scores = logits / temperature
        scores = scores if top_k is None else keep_top_k(scores, top_k)
        scores = scores if top_p is None else keep_top_p(scores, top_p)
        following = torch.multinomial(torch.softmax(scores, -1), 1, generator=generator)
        own = torch.log_softmax(logits, -1)
        for row, (token,) in enumerate(following.tolist()):
            if not ended[row]:
                written[row].append(token)
                logs[row].append(own[row, token].item())
                ended[row] = token == eos_id
        if all(ended):
            break
    return [
        Hypothesis(tokens=tuple(w), log_probability=sum(p), score=sum(p), finished=e)
        for w, p, e in zip(written, logs, ended)
    ]
''')
right("smaller pieces", '''
@torch.no_grad()
def sample(
    model, prompt, *, eos_id, max_new_tokens, generator, temperature=1.0, top_k=None, top_p=None
):

    if prompt.dim() != 2 or prompt.numel() == 0:
        raise ValueError("no prompt")
    if max_new_tokens < 1 or temperature <= 0 or math.isinf(temperature):
        raise ValueError("out of range")

    steps = []
    logits = model.advance(prompt)
    alive = torch.ones(prompt.shape[0], dtype=torch.bool, device=prompt.device)
    while alive.any() and len(steps) < max_new_tokens:
        if steps:
            logits = model.advance(steps[-1][0])
        scores = logits / temperature
        for limit, keep in ((top_k, keep_top_k), (top_p, keep_top_p)):
            if limit is not None:
                scores = keep(scores, limit)
        probabilities = scores.exp() / scores.exp().sum(-1, keepdim=True)
        token = probabilities.multinomial(1, generator=generator)
        steps.append((token, (logits - logits.logsumexp(-1, keepdim=True)).gather(-1, token)))
        alive = alive & (token.squeeze(1) != (-1 if eos_id is None else eos_id))
    tokens, logs = (torch.cat(column, dim=1) for column in zip(*steps))
    return cut_at_eos(tokens, logs, eos_id)
''')
one_loop = right("one loop", """
@torch.no_grad()
def sample(
    model, prompt, *, eos_id, max_new_tokens, generator, temperature=1.0, top_k=None, top_p=None
):
    if prompt.dim() != 2 or prompt.numel() == 0:
        raise ValueError("no prompt")
    if max_new_tokens < 1 or temperature <= 0 or math.isinf(temperature):
        raise ValueError("out of range")
    finished = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    ids, logps = [], []
    inputs = prompt
    for _ in range(max_new_tokens):
        logits = model.advance(inputs)
        logp = torch.log_softmax(logits, dim=-1)
        z = logits / temperature
        if top_k is not None:
            z = keep_top_k(z, top_k)
        if top_p is not None:
            z = keep_top_p(z, top_p)
        inputs = torch.multinomial(torch.softmax(z, dim=-1), num_samples=1, generator=generator)
        ids.append(inputs)
        logps.append(torch.gather(logp, -1, inputs))
        if eos_id is not None:
            finished = finished | (inputs.squeeze(-1) == eos_id)
            if finished.all():
                break
    return cut_at_eos(torch.hstack(ids), torch.hstack(logps), eos_id)
""")
DRAW = "token = torch.multinomial(probabilities, 1, generator=generator)"
TEMPERED = "kept = (logits - logits.amax(dim=-1, keepdim=True)) / temperature"
OWN = "logits.log_softmax(dim=-1).gather(1, token)"
WRITTEN = "return cut_at_eos(torch.cat(tokens, dim=1), torch.cat(log_probabilities, dim=1), eos_id)"
READ = "        logits = model.advance(token)\n"
TOP_K = "        if top_k is not None:\n            kept = keep_top_k(kept, top_k)\n"
TOP_P = "        if top_p is not None:\n            kept = keep_top_p(kept, top_p)\n"
BEGIN = "    tokens, log_probabilities = [], []\n"
ANEW = WRITTEN.replace("return", "found =") + """
    return [
        Hypothesis(tokens={}, log_probability=h.log_probability, score=h.score, finished=h.finished)
        for h in found
    ]"""
NEW = "You give the model more than the new token; call advance(token), (batch, 1)."
DICE = "You do not draw from the generator alone; hand it on to torch.multinomial."
EACH = "You draw one token for all texts; draw one for each."
PROMPT = "You return the prompt too; return the new tokens alone."
FORM = "You return something else than a Hypothesis with plain ints for each prompt; cut_at_eos makes them."
for name, edits, hint in (
    ("the global dice", [(DRAW, DRAW.replace(", generator=generator", ""))], DICE),
    ("the dice's seed, not the dice",
     [(BEGIN, "    generator = torch.Generator(prompt.device).manual_seed(generator.initial_seed())\n" + BEGIN)], DICE),
    ("the global dice, with a seed that is drawn",
     [(BEGIN, "    torch.manual_seed(int(torch.randint(2**31, (), generator=generator, device=prompt.device)))\n" + BEGIN),
      (DRAW, DRAW.replace(", generator=generator", ""))], DICE),
    ("its own dice",
     [(DRAW, DRAW.replace("generator=generator", "generator=torch.Generator(kept.device).manual_seed(len(tokens))"))], DICE),
    ("one token for all texts", [(DRAW, DRAW + "[:1].expand(len(kept), 1)")], EACH),
    ("the prompt read at each step", [(READ, READ.replace("token)", "prompt)"))], NEW),
    ("the whole text read at each step", [(READ, READ.replace("token)", "torch.cat([prompt, *tokens], dim=1))"))], NEW),
    ("the last token read too", [("        if len(tokens) == max_new_tokens",
      "        if len(tokens) == max_new_tokens:\n            model.advance(token)\n        if len(tokens) == max_new_tokens")],
     "You read the last token too; nothing comes after it."),
    ("a token too few", [(" == max_new_tokens:", " >= max_new_tokens - 1:")], "You write a token too few; write max_new_tokens."),
    ("a token too many", [(" == max_new_tokens:", " == max_new_tokens + 1:")], "You write a token too many; write max_new_tokens."),
    ("floats read", [(READ, READ.replace("token)", "token.float())"))], "You give the model floats; give it token ids."),
    ("the prompt returned too", [(WRITTEN, ANEW.format("(*next(prompts), *h.tokens)").replace("    return", "    prompts = iter(prompt.tolist())\n    return"))],
     PROMPT),
    ("the prompt in front of the tokens", [(BEGIN, "    tokens, log_probabilities = [prompt], [torch.zeros(prompt.shape)]\n"),
      ("len(tokens) == max_new", "len(tokens) - 1 == max_new")], PROMPT),
    ("the prompt in front, its log-probabilities missing", [(WRITTEN, WRITTEN.replace("torch.cat(tokens,", "torch.cat([prompt, *tokens],"))], PROMPT),
    ("the last token of the prompt in front", [(BEGIN, "    tokens, log_probabilities = [prompt[:, -1:]], [torch.zeros(len(prompt), 1)]\n"),
      ("len(tokens) == max_new", "len(tokens) - 1 == max_new")], PROMPT),
    ("token ids far beyond the vocabulary", [(WRITTEN, ANEW.format("tuple(400_000_000 + t for t in h.tokens)"))], FORM),
    ("floats for tokens", [(WRITTEN, ANEW.format("tuple(map(float, h.tokens))"))], FORM),
    ("tensors for tokens", [(WRITTEN, ANEW.format("torch.tensor(h.tokens)"))], FORM),
    ("the tokens alone returned", [(WRITTEN, "return torch.cat(tokens, dim=1)")], FORM),
    ("the prompt first in a tensor", [(WRITTEN, "return torch.cat([prompt, *tokens], dim=1)")], FORM),
):
    wrong(name, *edits, lost="steps", hint=hint)
one_loop.wrong("all that was written read again",
    ("        ids.append(inputs)\n", "        ids.append(inputs)\n        prompt = torch.cat([prompt, inputs], dim=1)\n"),
    ("model.advance(inputs)", "model.advance(prompt)"), lost="steps", hint=NEW)
for name, edits, hint in (
    ("the likeliest each time", [(DRAW, "token = kept.argmax(dim=-1, keepdim=True)")],
     "You take the likeliest token; draw by torch.multinomial."),
    ("drawn from all tokens alike", [(DRAW, "token = torch.multinomial(torch.ones_like(kept), 1, generator=generator)")],
     "You draw from all tokens alike; draw from the softmax of the logits."),
    ("logits to draw from", [("kept.softmax(dim=-1)", "kept")], "You draw from logits; take their softmax first."),
    ("multiplied by the temperature", [(TEMPERED, "kept = logits * temperature")], "You multiply by the temperature; divide."),
    ("no temperature", [(TEMPERED, "kept = logits")], "You do not use the temperature; divide the logits by it."),
    ("top_k not used", [(TOP_K, "")], "You do not use top_k; call keep_top_k."),
    ("top_p not used", [(TOP_P, "")], "You do not use top_p; call keep_top_p."),
    ("top p first", [(TOP_K + TOP_P, TOP_P + TOP_K)], "You take the top p first; the top k come first."),
    ("temperature last", [(TEMPERED, "kept = logits"), ("kept.softmax", "(kept / temperature).softmax")],
     "You use the temperature last; it comes first."),
):
    wrong(name, *edits, lost="distribution", hint=hint)
STOP = "You stop at another time; stop when all texts have ended."
MODELS = "You take another log-probability; take log_softmax of the logits as the model gave them."
for name, edits, hint in (
    ("an end token of 0 not seen", [("if eos_id is not None:", "if eos_id:")], "You test whether eos_id is true, and 0 is not; compare with None."),
    ("log-probability after temperature and top k", [(OWN, OWN.replace("logits.log", "kept.log"))], MODELS),
    ("probabilities in place of their logarithms", [(OWN, OWN.replace("log_softmax", "softmax"))], MODELS),
    ("a log-probability that is no number", [(WRITTEN, ANEW.format("h.tokens").replace("h.log_probability", "math.nan"))], MODELS),
    ("the end token does not end", [("        if eos_id is not None:\n            is_open &= token[:, 0] != eos_id\n            if", "        if eos_id is not None:\n            if")], STOP),
    ("one end ends all", [("not bool(is_open.any())", "not bool(is_open.all())")], STOP),
    ("the end of this step alone", [("is_open &= token[:, 0] != eos_id", "is_open = token[:, 0] != eos_id")], STOP),
    ("nothing cut at the end", [(WRITTEN, WRITTEN.replace("eos_id)", "None)"))],
     "You do not cut at the end token; hand eos_id on to cut_at_eos."),
    ("an end token of the prompt ends the text", [("    is_open = torch.ones(prompt.size(0), dtype=torch.bool, device=prompt.device)",
      "    is_open = (prompt != eos_id).all(dim=1) if eos_id is not None else torch.ones(len(prompt), dtype=torch.bool)")],
     "You let an end token of the prompt end the text; ask the new ones alone."),
    ("a text that never ends is finished", [(WRITTEN, ANEW.format("h.tokens").replace("h.finished", "eos_id is not None"))],
     "You call a text finished that has no end token; cut_at_eos knows."),
):
    wrong(name, *edits, lost="end", hint=hint)
same("torch.ones(prompt.size(0), dtype=torch.bool)", "shows on a GPU alone; the tests run there too")
same("softmax(dim=--1)", "the last of two dimensions")
same("token[:, -1] != eos_id", "one token a row")
# fmt: on

# %% [markdown]
# ## Part 5: the price of memory


# %% solution="kv_cache_bytes" of="course_lib.analysis.complexity"
def kv_cache_bytes():
    """Return the bytes, an int, of the keys and values that all layers keep of ``batch`` texts."""


# %% test="kv_cache_bytes-formula" points=1 read="kv-caching#memory-of-the-cache"
# A key and a value for each text, token and layer
assert_equal(kv_cache_bytes(3, 100, 5, 64), 768_000, what="bytes of float32")
assert_equal(kv_cache_bytes(3, 100, 5, 64, bytes_per_number=2), 384_000, what="in half precision")
### BEGIN HIDDEN TESTS
for _ in range(4):
    sizes = (torch.randint(2, 9, (4,)) * torch.tensor([1, 1, 1, 8])).tolist()
    for how in ({}, {"bytes_per_number": 1}, {"bytes_per_number": 2}):
        assert_matches(kv_cache_bytes, reference.kv_cache_bytes, *sizes, **how)
### END HIDDEN TESTS

# %% variants="kv_cache_bytes"
# fmt: off
right("loops", '''
def kv_cache_bytes(batch, length, num_layers, d_model, *, bytes_per_number=4):
    total = 0
    for _ in range(num_layers):
        keys = batch * length * d_model
        values = batch * length * d_model
        total += keys + values
    return total * bytes_per_number
''')
right("smaller pieces", '''
def kv_cache_bytes(
    batch: int, length: int, num_layers: int, d_model: int, *, bytes_per_number: int = 4
) -> int:
    token = torch.empty(2, num_layers, d_model, device="meta")
    return token.numel() * length * batch * bytes_per_number
''')
BYTES = "2 * batch * length * num_layers * d_model * bytes_per_number"
for name, formula, hint in (
    ("keys alone", BYTES.removeprefix("2 * "), "You count keys alone; values are kept too."),
    ("numbers, not bytes", BYTES.removesuffix(" * bytes_per_number"), "You count numbers; multiply by bytes_per_number."),
    ("one layer", BYTES.replace(" * num_layers", ""), "You count one layer; each keeps its own."),
    ("one text", BYTES.replace(" * batch", ""), "You count one text; each of the batch has its own."),
    ("one token", BYTES.replace(" * length", ""), "You count one token; each has its own."),
    ("no width", BYTES.replace(" * d_model", ""), "You count a key as one number; it is d_model wide."),
    ("length squared", BYTES.replace("length", "length**2"), "You square the length; the cache grows with the length itself."),
    ("width squared", BYTES.replace("d_model", "d_model**2"), "You count the projections; keys and values are d_model wide."),
    ("bits", f"8 * {BYTES}", "You count bits; count bytes."),
    ("queries too", BYTES.replace("2", "3"), "You count queries too; no later token asks for them."),
    ("always four bytes", BYTES.replace("bytes_per_number", "4"), "You take 4 bytes always; take bytes_per_number."),
    ("kilobytes", f"{BYTES} // 1024", "You count kilobytes; count bytes."),
    ("a float", f"1.0 * {BYTES}", "You return a float; return an int."),
):
    wrong(name, (BYTES, formula), lost="formula", hint=hint)
wrong("two bytes by default", ("bytes_per_number: int = 4", "bytes_per_number: int = 2"), lost="formula",
    hint="You change a default; keep the signature as it is.")
# fmt: on

# %% [markdown] written="how-many-readers" points=3 read="kv-caching#memory-of-the-cache"
# ### How many readers fit?
#
# A model has 32 layers, a width of 4096, 32 heads, and 14 GB of parameters. It runs in half precision on
# a GPU with 80 GB, and keeps its keys and values there.
#
# 1. How many bytes of cache does one token take? And one text of 8192 tokens?
# 2. Draw (in a code cell of your own, with `kv_cache_bytes`) the memory that parameters and cache take
#    together over the length of the texts, from 0 to 8192 tokens, for 1, 8 and 32 texts at a time, with a
#    line at 80 GB. Name the axes with their units. How long may the 32 texts get?
# 3. The makers want to serve four times as many texts on the same GPU, without making the texts shorter
#    or the model slower. Name two changes to the model or the cache that would help, and their prices.
#
# ### BEGIN SOLUTION
# 1. $2 \cdot 32 \cdot 4096 \cdot 2 = 524\,288$ bytes a token, half a mebibyte. For 8192 tokens
#    4 GiB, 4.3 GB.
# 2. Straight lines that start at 14 GB, with slopes as 1 : 8 : 32. 66 GB are left; 32 texts take
#    16.8 MB a token, so that they reach 80 GB at about 3,900 tokens. (8 texts stay below: 48 GB.)
# 3. Fewer heads of keys and values than of queries (grouped-query attention): with 8 in place of 32
#    a quarter of the memory; a little quality, and the model must be trained so. Fewer bits for
#    keys and values (8 or 4 in place of 16): half or a quarter; rounding errors. A window in some
#    layers, so that they forget far tokens, and can look up none of them. Fewer
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
# In *The House that Jack Built* every verse repeats all before it. A model learns the rhyme and tells two
# stories, and the picture shows your cache at work. (All of it takes about eight seconds.)

# %% demo="jack" prints="that lay in the house that jack built ."
import time

import matplotlib.pyplot as plt

from course_lib.data.house_that_jack_built import read_rhyme

vocabulary, rhyme = read_rhyme()
torch.manual_seed(0)
storyteller = TextModel(len(vocabulary), 48, 4)
optimizer = torch.optim.Adam(storyteller.parameters(), lr=3e-3)
for _step in range(121):
    loss = nn.functional.cross_entropy(storyteller(rhyme[:, :-1]).mT, rhyme[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Reader:  # a StepModel: a text model with its caches
    def __init__(self, model):
        self.model, self.caches = model, model.new_caches()

    @torch.no_grad()
    def advance(self, tokens):
        return self.model(tokens, self.caches)[:, -1]


def tell(beginning, seed=0, **options):  # try others
    prompt = torch.tensor([[vocabulary.index(word) for word in beginning.split()]])
    options |= {"eos_id": vocabulary.index("."), "max_new_tokens": 120}
    dice = torch.Generator().manual_seed(seed)
    (story,) = sample(Reader(storyteller), prompt, generator=dice, **options)
    return f"{beginning} {' '.join(vocabulary[token] for token in story.tokens)}"


print(tell("this is the farmer", top_k=1))
print(tell("this is the", temperature=1.8, top_p=0.9))  # as nobody told it
writer, token = TextModel(1000, 128, 4, num_layers=3), torch.zeros(1, 1, dtype=torch.int64)
for name, model in (("with your cache", Reader(writer)), ("without", UncachedModel(writer))):
    times = [(model.advance(token), time.perf_counter())[1] for _ in range(301)]
    plt.plot(1000 * torch.tensor(times).diff().view(-1, 10).median(dim=-1).values, label=name)
plt.gca().set(xlabel="tens of tokens before", ylabel="milliseconds a token")
plt.legend()
plt.show()

# %% [markdown]
# Under [Writing, step by step](book:decoder-only-language-models#generation-step-by-step) a small language
# model runs in the book's page. Open there the file that the next cell writes; the page compares its numbers with yours.

# %% demo="my-language-model"
from course_lib.training.export import export_language_model

try:
    texts = ["this is the farmer sowing his corn", "this is the cat that killed the rat"]
    how = {"words": vocabulary, "texts": texts, "start": "this", "end": ".", "num_heads": 4}
    how |= {"begin": lambda: Reader(storyteller).advance}
    print("written:", export_language_model(storyteller, "my-language-model.json", **how))
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
