"""Key-value caches: the keys and values of the tokens so far, kept from step to step.

A token's keys and values depend on that token and on those before, never on later ones. So
a model that writes one token after another need not compute them again.

Self-attention has a ``GrowingCache`` (``DynamicCache`` in Hugging Face's library), to which each
step adds its tokens. Cross-attention has a ``FixedCache``, filled at the first step, since the
encoder's output stays as it is. A ``KVCache`` holds both for every layer
(``EncoderDecoderCache``).

Dimensions: batch (rows); num_heads; length (tokens so far), new_len (tokens of this step);
head_dim.
"""

from typing import NamedTuple, Protocol

from torch import Tensor

from course_lib.validation import check_at_least

KeysAndValues = tuple[Tensor, Tensor]
"""Keys ``(batch, num_heads, length, head_dim)`` and values of the same shape."""


class AttentionCache(Protocol):
    """The interface of the cache of one attention layer."""

    @property
    def length(self) -> int:
        """Number of cached tokens, which is the position of the next one."""
        ...

    @property
    def final(self) -> KeysAndValues | None:
        """The cached keys and values if no step adds any more; None otherwise."""
        ...

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Add the keys and values of new tokens, each ``(batch, num_heads, new_len, head_dim)``.

        Return the keys and values of all tokens so far.
        """
        ...


class GrowingCache:
    """The keys and values of one self-attention; each step adds those of its tokens.

    They lie in buffers with spare room. A full buffer is replaced by one twice as long, so that
    n steps copy fewer than 2 n tokens in all; joining old and new at every step would copy
    n (n + 1) / 2.

    >>> import torch
    >>> cache = GrowingCache()
    >>> for new in (torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 1, 4)):
    ...     keys, values = cache.update(new, new)
    >>> keys.shape, cache.length
    (torch.Size([1, 2, 4, 4]), 4)

    Args:
        capacity: Number of tokens for which the first buffers have room.

    Attributes:
        length: Number of cached tokens.
        final: None, since a step may add tokens.

    Raises:
        ValueError: ``capacity`` is not positive.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self, *, capacity: int = 64) -> None:
        check_at_least(1, capacity=capacity)
        self.length = 0
        self.final = None
        self._capacity = capacity
        self._buffers: KeysAndValues | None = None  # (batch, num_heads, capacity, head_dim) each

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Add the keys and values of new tokens, ``(batch, num_heads, new_len, head_dim)`` each.

        Return those of all tokens so far, ``(batch, num_heads, length, head_dim)`` each. A
        ValueError is raised if keys and values differ in shape, if they differ from the cached ones
        in dtype or in any size but new_len, or if they require gradients, which cannot flow through
        buffers that are written over.
        """
        if keys.requires_grad or values.requires_grad:
            raise ValueError("a cache passes no gradients on: use it under torch.no_grad()")
        if keys.shape != values.shape:
            raise ValueError(
                "keys and values must be of one shape, "
                f"got {tuple(keys.shape)} and {tuple(values.shape)}"
            )
        end = self.length + keys.size(2)
        all_keys, all_values = self._with_room_for(end, keys, values)
        all_keys[:, :, self.length : end] = keys
        all_values[:, :, self.length : end] = values
        self.length = end
        return all_keys[:, :, :end], all_values[:, :, :end]  # (batch, num_heads, length, head_dim)

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``; leave an empty cache as it is.

        ``indices`` is int64 ``(new_batch,)``; a row may be chosen more than once or not at all.
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
        """Size of the buffers in bytes, spare room included."""
        return 0 if self._buffers is None else sum(b.nbytes for b in self._buffers)

    def _with_room_for(self, length: int, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Return buffers that hold ``length`` tokens, new ones if the present ones do not.

        ``keys`` and ``values`` are those of the new tokens; a ValueError is raised if they differ
        from the cached ones in dtype, or in any size but the number of tokens.
        """
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
    """The keys and values of one cross-attention, which are computed at the first step.

    >>> import torch
    >>> cache = FixedCache()
    >>> cache.final is None
    True
    >>> keys, values = cache.update(torch.zeros(1, 2, 6, 4), torch.zeros(1, 2, 6, 4))
    >>> cache.final[0] is keys, cache.length
    (True, 6)

    Attributes:
        length: Number of cached tokens: 0, or those of the encoder's output.
        final: Keys and values, ``(batch, num_heads, length, head_dim)`` each; None before
            ``update``.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self) -> None:
        self.final: KeysAndValues | None = None

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Keep the keys and values, ``(batch, num_heads, length, head_dim)`` each; return them.

        If the cache is filled already, that is a ValueError.
        """
        if self.final is not None:
            raise ValueError("the cache is filled: read final, or call reset before a new source")
        self.final = keys, values
        return self.final

    def reorder(self, indices: Tensor) -> None:
        """Replace row i by row ``indices[i]``; leave an empty cache as it is.

        ``indices`` is int64 ``(new_batch,)``; a row may be chosen more than once or not at all.
        """
        if self.final is not None:
            keys, values = self.final
            self.final = (keys.index_select(0, indices), values.index_select(0, indices))

    def reset(self) -> None:
        """Forget all tokens."""
        self.final = None

    @property
    def length(self) -> int:
        """Number of cached tokens."""
        return 0 if self.final is None else self.final[0].size(2)

    @property
    def num_bytes(self) -> int:
        """Size of the keys and values in bytes."""
        return 0 if self.final is None else sum(tensor.nbytes for tensor in self.final)


class LayerCache(NamedTuple):
    """The caches of one layer; ``cross_attention`` stays empty where a layer has none.

    >>> LayerCache(GrowingCache(), FixedCache()).self_attention.length
    0
    """

    self_attention: GrowingCache
    cross_attention: FixedCache


class KVCache:
    """The keys and values of all layers of a model.

    A step attends to the cached tokens and no longer computes their keys and values. The price is
    memory for two vectors a token and layer; see ``complexity.kv_cache_bytes``.

    >>> import torch
    >>> from course_lib.models.gpt import DecoderLM, DecoderLMConfig
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 2}
    >>> model, cache = DecoderLM(DecoderLMConfig(**sizes)).eval(), KVCache(num_layers=2)
    >>> with torch.no_grad():
    ...     logits = model(torch.tensor([[1, 5, 3]]), cache=cache)
    >>> cache.length
    3

    Args:
        num_layers: Number of layers that have attention.
        capacity: Number of tokens for which the first buffers have room; it doubles when full.

    Attributes:
        layers: One ``LayerCache`` a layer.

    Raises:
        ValueError: ``num_layers`` or ``capacity`` is not positive.

    Source: Shazeer (2019), section 2.4; chapter "Caching keys and values".
    """

    def __init__(self, num_layers: int, *, capacity: int = 64) -> None:
        check_at_least(1, num_layers=num_layers)
        self.layers = tuple(
            LayerCache(GrowingCache(capacity=capacity), FixedCache()) for _ in range(num_layers)
        )

    @property
    def length(self) -> int:
        """Number of cached tokens of self-attention."""
        return self.layers[0].self_attention.length

    @property
    def num_bytes(self) -> int:
        """Size of all layers' keys and values in bytes, spare room included."""
        return sum(cache.num_bytes for layer in self.layers for cache in layer)

    def reorder(self, indices: Tensor) -> None:
        """Replace row i in all layers by row ``indices[i]``; indices are int64 ``(new_batch,)``."""
        for layer in self.layers:
            for cache in layer:
                cache.reorder(indices)

    def reset(self) -> None:
        """Forget all tokens."""
        for layer in self.layers:
            for cache in layer:
                cache.reset()


def _new_like(tensor: Tensor, rows: int | None = None, *, length: int | None = None) -> Tensor:
    """Return an uninitialised tensor like this one, with another number of rows or tokens.

    Both are ``(rows, num_heads, length, head_dim)``.
    """
    batch, num_heads, held_length, head_dim = tensor.shape
    return tensor.new_empty(
        batch if rows is None else rows,
        num_heads,
        held_length if length is None else length,
        head_dim,
    )


def _rows_heads_width(tensor: Tensor) -> tuple[int, int, int]:
    """Return the sizes of ``(rows, num_heads, length, head_dim)`` without the length."""
    batch, num_heads, _, head_dim = tensor.shape
    return batch, num_heads, head_dim
