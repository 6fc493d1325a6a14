"""What attention may keep from step to step: the keys and values of the tokens so far.

A token's keys and values depend on that token and on what came before, never on what follows. So
a model that writes one token after another need not compute them again: it appends those of the
new token and attends with its one query.

Two caches differ in what is remembered. A ``GrowingCache`` is for self-attention: each step adds
its tokens. A ``FixedCache`` is for cross-attention: the encoder's output stays as it is, so its
keys and values are computed at the first step alone. A ``KVCache`` holds both for every layer.

Dimensions: batch (rows); num_heads; length (tokens so far), new_len (tokens of this step);
head_dim.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

KeysAndValues = tuple[Tensor, Tensor]
"""Keys ``(batch, num_heads, length, head_dim)`` and values of the same shape."""


class GrowingCache:
    """The keys and values of one self-attention; each step adds its own.

    They lie in buffers with room to spare. A full buffer is replaced by one twice as long, so that
    n steps copy fewer than 2 n tokens in all; joining old and new at every step would copy
    n (n + 1) / 2.

    Args:
        capacity: Room for this many tokens to begin with.

    Attributes:
        length: Number of tokens held.

    Raises:
        ValueError: ``capacity`` is not positive.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self, *, capacity: int = 64) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.length = 0
        self._capacity = capacity
        self._buffers: KeysAndValues | None = None  # (batch, num_heads, capacity, head_dim) each

    def update(self, project: Callable[[], KeysAndValues]) -> KeysAndValues:
        """Add the keys and values of new tokens.

        Args:
            project: Computes them: ``(batch, num_heads, new_len, head_dim)`` each.

        Returns:
            Keys and values of all tokens so far, ``(batch, num_heads, length, head_dim)`` each.

        Raises:
            ValueError: They differ from those held in anything but new_len, or they ask for
                gradients, which cannot flow through buffers that are written over.
        """
        new_keys, new_values = project()
        if new_keys.requires_grad or new_values.requires_grad:
            raise ValueError("a cache passes no gradients on: use it under torch.no_grad()")
        end = self.length + new_keys.size(2)
        keys, values = self._with_room_for(end, new_keys, new_values)
        keys[:, :, self.length : end] = new_keys
        values[:, :, self.length : end] = new_values
        self.length = end
        return keys[:, :, :end], values[:, :, :end]  # (batch, num_heads, length, head_dim)

    def reorder(self, indices: Tensor) -> None:
        """Make row i go on from what was row ``indices[i]``. An empty cache stays as it is.

        Args:
            indices: ``(new batch,)``, int64; a row may be taken more than once or not at all.
        """
        if self._buffers is None:
            return
        old = self._buffers
        self._buffers = (_new_like(old[0], indices.numel()), _new_like(old[1], indices.numel()))
        for new, held in zip(self._buffers, old, strict=True):
            new[:, :, : self.length] = held[:, :, : self.length].index_select(0, indices)

    def reset(self) -> None:
        """Forget all tokens."""
        self.length = 0
        self._buffers = None

    @property
    def num_bytes(self) -> int:
        """Bytes of memory that the buffers take, their spare room included."""
        return 0 if self._buffers is None else sum(b.nbytes for b in self._buffers)

    def _with_room_for(self, length: int, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Give the buffers, made or replaced if ``length`` tokens do not fit in."""
        if self._buffers is None:
            capacity = max(self._capacity, length)
            self._buffers = (_new_like(keys, length=capacity), _new_like(values, length=capacity))
        old_keys, old_values = self._buffers
        for held, new in ((old_keys, keys), (old_values, values)):
            if _rows_heads_width(held) != _rows_heads_width(new) or held.dtype != new.dtype:
                raise ValueError(
                    f"the cache holds rows, heads and width {_rows_heads_width(held)} of "
                    f"{held.dtype}, got {_rows_heads_width(new)} of {new.dtype}"
                )
        if length > old_keys.size(2):
            capacity = max(2 * old_keys.size(2), length)
            self._buffers = (_new_like(keys, length=capacity), _new_like(values, length=capacity))
            self._buffers[0][:, :, : self.length] = old_keys[:, :, : self.length]
            self._buffers[1][:, :, : self.length] = old_values[:, :, : self.length]
        return self._buffers


class FixedCache:
    """The keys and values of one cross-attention, computed at the first step.

    Attributes:
        length: Number of tokens held: 0, or those of the encoder's output.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self) -> None:
        self._held: KeysAndValues | None = None

    def update(self, project: Callable[[], KeysAndValues]) -> KeysAndValues:
        """Give the keys and values, computing them only if there are none yet.

        Args:
            project: Computes them: ``(batch, num_heads, length, head_dim)`` each.

        Returns:
            What ``project`` returned the first time.
        """
        if self._held is None:
            self._held = project()
        return self._held

    def reorder(self, indices: Tensor) -> None:
        """Make row i go on from what was row ``indices[i]``. An empty cache stays as it is.

        Args:
            indices: ``(new batch,)``, int64; a row may be taken more than once or not at all.
        """
        if self._held is not None:
            keys, values = self._held
            self._held = (keys.index_select(0, indices), values.index_select(0, indices))

    def reset(self) -> None:
        """Forget the tokens."""
        self._held = None

    @property
    def length(self) -> int:
        """Number of tokens held."""
        return 0 if self._held is None else self._held[0].size(2)

    @property
    def num_bytes(self) -> int:
        """Bytes of memory that the keys and values take."""
        return 0 if self._held is None else sum(tensor.nbytes for tensor in self._held)


class LayerCache(NamedTuple):
    """What one layer keeps.

    Attributes:
        self_attention: Grows with each step.
        cross_attention: Filled at the first step; stays empty in a layer without cross-attention.
    """

    self_attention: GrowingCache
    cross_attention: FixedCache


class KVCache:
    """What all layers of a model keep.

    A step costs the attention to what is held, and no longer the computation of it. The memory is
    the price: two vectors a token and layer; see ``complexity.kv_cache_bytes``.

    Args:
        num_layers: Number of layers that have attention.
        capacity: Room for this many tokens to begin with; it doubles when full.

    Attributes:
        layers: One ``LayerCache`` a layer.

    Raises:
        ValueError: ``num_layers`` or ``capacity`` is not positive.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self, num_layers: int, *, capacity: int = 64) -> None:
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        self.layers = tuple(
            LayerCache(GrowingCache(capacity=capacity), FixedCache()) for _ in range(num_layers)
        )

    @property
    def length(self) -> int:
        """Number of tokens that self-attention can look back on."""
        return self.layers[0].self_attention.length

    @property
    def num_bytes(self) -> int:
        """Bytes of memory that all layers' keys and values take, spare room included."""
        return sum(cache.num_bytes for layer in self.layers for cache in layer)

    def reorder(self, indices: Tensor) -> None:
        """Make row i go on from what was row ``indices[i]``, as beam search needs.

        Args:
            indices: ``(new batch,)``, int64; a row may be taken more than once or not at all.
        """
        for layer in self.layers:
            for cache in layer:
                cache.reorder(indices)

    def reset(self) -> None:
        """Forget all tokens."""
        for layer in self.layers:
            for cache in layer:
                cache.reset()


def _new_like(tensor: Tensor, rows: int | None = None, *, length: int | None = None) -> Tensor:
    """Make an unfilled ``(rows, num_heads, length, head_dim)`` like a tensor of that form."""
    batch, num_heads, held_length, head_dim = tensor.shape
    return tensor.new_empty(
        batch if rows is None else rows,
        num_heads,
        held_length if length is None else length,
        head_dim,
    )


def _rows_heads_width(tensor: Tensor) -> tuple[int, int, int]:
    batch, num_heads, _, head_dim = tensor.shape
    return batch, num_heads, head_dim
