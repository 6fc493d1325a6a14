"""Attention masks: boolean, True where a query may attend to a key.

Dimensions: batch, num_heads, query_len and key_len (tokens). A mask has all four, each of its size
or 1; masks are combined with ``&``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def padding_mask(token_ids: Tensor, pad_id: int) -> Tensor:
    """Return a mask that lets every query attend to real tokens and to no padding.

    Args:
        token_ids: ``(batch, key_len)``, integers: the sequences that hold the keys.
        pad_id: The token id that fills sequences up to a common length.

    Returns:
        Boolean ``(batch, 1, 1, key_len)``, True where the key is a real token.

    Raises:
        ValueError: ``token_ids`` does not have two dimensions.
        TypeError: ``token_ids`` is not of an integer type.

    Source: Vaswani et al. (2017), section 3.2.3; chapter "Masking".
    """
    if token_ids.dim() != 2:
        raise ValueError(
            f"token_ids must have shape (batch, key_len), got {tuple(token_ids.shape)}"
        )
    if token_ids.is_floating_point() or token_ids.is_complex() or token_ids.dtype == torch.bool:
        raise TypeError(f"token_ids must hold integers, got {token_ids.dtype}")
    return (token_ids != pad_id)[:, None, None, :]  # (batch, 1, 1, key_len)


def causal_mask(
    query_len: int, key_len: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    """Return a mask that lets each query attend to its own position and to those before.

    The last query is aligned with the last key (bottom-right), so that a query that comes after
    ``key_len - query_len`` cached keys may attend to all of them.

    Args:
        query_len: Number of queries (tokens).
        key_len: Number of keys (tokens), at least ``query_len``; ``query_len`` if None.
        device: The device of the mask.

    Returns:
        Boolean ``(1, 1, query_len, key_len)``, True where query i may attend to key j, that is
        ``j <= i + key_len - query_len``.

    Raises:
        ValueError: ``query_len`` is negative, or ``key_len`` is smaller than ``query_len``.

    Source: Vaswani et al. (2017), section 3.2.3; chapter "Masking".
    """
    key_len = query_len if key_len is None else key_len
    if query_len < 0:
        raise ValueError(f"query_len must not be negative, got {query_len}")
    if key_len < query_len:
        raise ValueError(f"key_len must be at least query_len={query_len}, got {key_len}")
    everything = torch.ones(1, 1, query_len, key_len, dtype=torch.bool, device=device)
    return everything.tril(diagonal=key_len - query_len)  # (1, 1, query_len, key_len)


class CausalMask:
    """``causal_mask`` without its tensor: the attention kernel gets ``is_causal=True`` instead.

    The kernel then skips the hidden half. Pass it to any layer as a mask. ``causal & other`` and
    ``~causal`` are boolean tensors. Every other function of PyTorch gets the tensor, and so does
    the kernel if there are fewer queries than keys.

    Args:
        query_len: Number of queries (tokens).
        key_len: Number of keys (tokens), at least ``query_len``; ``query_len`` if None.
        device: The device of the tensor, if the mask has to be written out.

    Its ``shape`` is ``(1, 1, query_len, key_len)``, its ``dtype`` ``torch.bool``.

    Source: ``torch.nn.attention.bias``; chapter "Masking".

    Example:
        >>> (CausalMask(3) & torch.tensor([True, True, False]))[0, 0].int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 0]], dtype=torch.int32)
    """

    dtype = torch.bool

    def __init__(
        self, query_len: int, key_len: int | None = None, *, device: torch.device | None = None
    ) -> None:
        self.shape = (1, 1, query_len, query_len if key_len is None else key_len)
        self._device = device

    def dim(self) -> int:
        """Return the number of dimensions, 4."""
        return len(self.shape)

    def written_out(self) -> Tensor:
        """Return the boolean tensor that ``causal_mask`` makes."""
        return causal_mask(*self.shape[2:], device=self._device)

    def __and__(self, other: Tensor) -> Tensor:
        """Return a boolean tensor that hides each key that either mask hides."""
        return self.written_out() & other

    def __invert__(self) -> Tensor:
        """Return True where a key is hidden."""
        return ~self.written_out()

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of PyTorch that was given a ``CausalMask`` as an argument."""
        kwargs = dict(kwargs or {})
        mask = kwargs.get("attn_mask")
        is_square = isinstance(mask, cls) and mask.shape[2] == mask.shape[3]
        if function is F.scaled_dot_product_attention and is_square:  # the kernel aligns top left
            return function(*args, **kwargs | {"attn_mask": None, "is_causal": True})
        args = [a.written_out() if isinstance(a, cls) else a for a in args]
        kwargs = {k: v.written_out() if isinstance(v, cls) else v for k, v in kwargs.items()}
        return function(*args, **kwargs)


def check_mask(mask: Tensor | None, shape: Sequence[int], *, min_dims: int | None = None) -> None:
    """Raise an error unless a mask is None, or boolean and broadcastable to the scores' shape.

    ``shape`` is that of the scores, ``(..., query_len, key_len)``. The mask may lack leading
    dimensions, but must have at least ``min_dims``; None requires all dimensions of the scores.
    """
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean (True = may attend), got {mask.dtype}")
    fewest = len(shape) if min_dims is None else min_dims
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)  # from the last backwards
    if not fewest <= mask.dim() <= len(shape) or any(m not in (1, n) for m, n in sizes):
        fewer = "" if fewest == len(shape) else f" or its last {fewest} dimensions or more"
        raise ValueError(
            f"mask must have shape {tuple(shape)}{fewer}, each size this or 1, "
            f"got {tuple(mask.shape)}"
        )


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: "CausalMask | Tensor | None"
) -> Tensor:
    """Call PyTorch's fused kernel, in its causal mode if the mask is causal.

    NaN in a key or value that the mask hides from all queries does not reach the output.

    Arguments and output are those of ``scaled_dot_product_attention``.
    """
    if isinstance(mask, Tensor) and _is_causal(mask):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    given: Any = mask  # a CausalMask stands for a tensor here
    output: Tensor = F.scaled_dot_product_attention(query, key, value, attn_mask=given)
    # The kernel adds -inf to the scores of hidden keys, and NaN stays NaN.
    if isinstance(mask, Tensor) and _is_finite(output) is False:
        visible = without_hidden(key, value, mask, dim=-2)
        output = F.scaled_dot_product_attention(query, *visible, attn_mask=mask)
    return output


def without_hidden(
    key: Tensor, value: Tensor, mask: "CausalMask | Tensor | None", *, dim: int | tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Return key and value with zeros at the positions that no query may attend to.

    A NaN there would spread, because 0 times NaN is NaN, in gradients too. Key and value are
    ``(..., key_len, width)``; if both are finite, they are returned unchanged. ``dim`` names the
    mask's dimensions that ``(..., key_len)`` lacks: that of queries, and that of heads if there is
    one.
    """
    both = (key,) if value is key else (key, value)
    if not isinstance(mask, Tensor) or _is_finite(*both):  # a causal mask hides no key from all
        return key, value
    visible = mask.any(dim=dim)[..., None]  # (..., key_len, 1)
    clean = [torch.where(visible, tensor, 0.0) for tensor in both]
    return clean[0], clean[-1]


def _is_causal(mask: Tensor) -> bool:
    """Return whether a mask for 256 tokens or more is causal; False for shorter masks.

    False too if values can't be read: then only a ``CausalMask`` is recognised. The check costs
    about a hundredth of the time that the kernel's causal mode can save.
    """
    if not _is_cheap_to_read(mask) or mask.size(-1) < 256 or mask.size(-2) != mask.size(-1):
        return False
    try:
        first, last = mask[..., 0, :], mask[..., -1, :]
        if bool(first[..., 1:].any()) or not bool(last.all()):  # most other masks end here
            return False
        # Each row is the one above it, moved on by a key.
        return torch.equal(mask[..., 1:, 1:], mask[..., :-1, :-1])
    except RuntimeError:
        return False


def _is_finite(*tensors: Tensor) -> bool | None:
    """Return whether tensors hold neither NaN nor infinity; None if values can't be read."""
    if not all(map(_is_cheap_to_read, tensors)):
        return None
    try:
        return all(math.isfinite(tensor.detach().sum().item()) for tensor in tensors)
    except RuntimeError:  # torch.vmap has no values
        return None


def _is_cheap_to_read(tensor: Tensor) -> bool:
    """Return whether a tensor's values can be read without waiting for a GPU or a compiler."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def left_padding(token_ids: Tensor, pad_id: int) -> Tensor:
    """Count the padding tokens at the beginning of each row: int64 ``(batch,)``.

    ``token_ids`` is ``(batch, length)``. A row of nothing but padding is a ValueError. After its
    first real token a row may hold ``pad_id`` as a token like any other.

    Source: chapter "Caching keys and values".
    """
    padding = (token_ids == pad_id).long().cumprod(dim=1).sum(dim=1)  # (batch,)
    if bool((padding == token_ids.size(1)).any()):
        raise ValueError(f"each row must hold a token other than pad_id={pad_id}")
    return padding


def left_padding_mask(padding: Tensor, key_len: int) -> Tensor:
    """Return a mask ``(batch, 1, 1, key_len)`` that hides the padding at the beginning of each row.

    ``padding``, int64 ``(batch,)``, is the number of padding tokens in each row, as
    ``left_padding`` counts them; ``key_len`` includes them.

    Source: chapter "Caching keys and values".
    """
    positions = torch.arange(key_len, device=padding.device)
    return (positions >= padding[:, None])[:, None, None, :]  # (batch, 1, 1, key_len)
