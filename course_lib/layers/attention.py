"""Scaled dot-product attention and its layers: multi-head, cached and grouped-query attention.

Dimensions: batch; num_heads; num_kv_heads; query_len, key_len (tokens); head_dim;
d_model = num_heads * head_dim unless stated otherwise. Masks are boolean, True where a query may
attend to a key; see ``masks.py``.
"""

import math
from typing import Literal, overload

import torch
from torch import Tensor, nn

from course_lib.layers.kv_cache import AttentionCache
from course_lib.layers.masks import check_mask, fused_attention, without_hidden
from course_lib.layers.normalization import RMSNorm
from course_lib.layers.positional import RotaryPositions
from course_lib.validation import check_at_least, check_batch, check_divisible


@overload
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor: ...


@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    return_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...


@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    return_weights: bool,
) -> Tensor | tuple[Tensor, Tensor]: ...


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each key answers the query.

    Computes ``softmax(query key^T / sqrt(head_dim)) value``, the softmax over the keys.

    Args:
        query: ``(..., query_len, head_dim)``, floating point.
        key: ``(..., key_len, head_dim)``.
        value: ``(..., key_len, value_dim)``.
        mask: Boolean, of two dimensions or more, broadcastable to ``(..., query_len, key_len)``,
            True where a query may attend to a key. A query that may attend to nothing gets weights
            and an output of zero.
        return_weights: Also return the weights.

    Returns:
        The output ``(..., query_len, value_dim)``; with ``return_weights`` the pair of output and
        weights ``(..., query_len, key_len)``, whose rows sum to 1 (or are zero, see ``mask``).

    Raises:
        TypeError: ``mask`` is not boolean.
        ValueError: query and key differ in head_dim, or key and value in key_len; or ``mask`` does
            not broadcast to the weights, or would enlarge them.

    Source: Vaswani et al. (2017), section 3.2.1, equation 1; chapter "Self-attention".
    """
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query and key must agree in head_dim, got {query.size(-1)} and {key.size(-1)}"
        )
    if key.size(-2) != value.size(-2):
        raise ValueError(
            f"key and value must agree in key_len, got {key.size(-2)} and {value.size(-2)}"
        )
    check_mask(mask, (*query.shape[:-1], key.size(-2)), min_dims=2)
    # Without the weights: PyTorch's fused kernel computes the same output without storing them.
    if not return_weights:
        return fused_attention(query, key, value, mask)

    key, value = without_hidden(key, value, mask, dim=-2)
    # float16 ends at 65,504: divide before the product, and compute it in float32.
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = query.to(dtype) / math.sqrt(query.size(-1)) @ key.to(dtype).transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)  # (..., query_len, key_len)
        # -inf alone has no softmax. Any number will do: its weights become 0.
        scores = scores.masked_fill((~mask).all(dim=-1, keepdim=True), 0.0)
    weights = torch.softmax(scores, dim=-1).to(value.dtype)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights  # (..., query_len, value_dim)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own subspace of d_model.

    >>> attention, x = MultiHeadAttention(d_model=8, num_heads=2), torch.randn(3, 5, 8)
    >>> output, weights = attention(x, x, x, return_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))

    Args:
        d_model: Width of queries, keys, values and output; divisible by ``num_heads``.
        num_heads: Number of heads; each works in ``head_dim = d_model // num_heads`` dimensions.
        bias: Whether the four projections have biases.

    Attributes:
        query_projection: ``nn.Linear(d_model, d_model)``; head h reads its columns
            ``h * head_dim`` to ``(h + 1) * head_dim``.
        key_projection: Likewise, for the keys.
        value_projection: Likewise, for the values.
        output_projection: ``nn.Linear(d_model, d_model)``, mixes the heads' concatenated outputs.
        num_heads: Number of heads.

    Raises:
        ValueError: ``num_heads`` is not positive or does not divide ``d_model``.

    Source: Vaswani et al. (2017), section 3.2.2; chapter "Multi-head attention".
    """

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model, num_heads=num_heads)
        check_divisible(d_model=d_model, num_heads=num_heads)
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, d_model, bias=bias)
        self.key_projection = nn.Linear(d_model, d_model, bias=bias)
        self.value_projection = nn.Linear(d_model, d_model, bias=bias)
        self.output_projection = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from ``query`` to ``key`` and ``value``; pass one tensor thrice to self-attend.

        Args:
            query: ``(batch, query_len, d_model)``.
            key: ``(batch, key_len, d_model)``.
            value: ``(batch, key_len, d_model)``.
            mask: Boolean ``(batch or 1, num_heads or 1, query_len or 1, key_len or 1)``, True where
                a query may attend to a key.
            return_weights: Also return the weights of each head.

        Returns:
            The output ``(batch, query_len, d_model)``; with ``return_weights`` the pair of output
            and weights ``(batch, num_heads, query_len, key_len)``.

        Raises:
            TypeError: ``mask`` is not boolean.
            ValueError: ``mask`` has another shape.
        """
        check_batch(query=query, key=key, value=value)
        check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))
        key, value = without_hidden(key, value, mask, dim=(1, 2))
        attended = scaled_dot_product_attention(
            self._split_heads(self.query_projection(query)),
            self._split_heads(self.key_projection(key)),
            self._split_heads(self.value_projection(value)),
            mask,
            return_weights=return_weights,
        )
        if isinstance(attended, tuple):
            output, weights = attended  # (batch, num_heads, query_len, head_dim), (..., key_len)
            return self.output_projection(self._join_heads(output)), weights
        return self.output_projection(self._join_heads(attended))  # (batch, query_len, d_model)

    def _split_heads(self, x: Tensor) -> Tensor:
        """Reshape ``(batch, len, d_model)`` to ``(batch, num_heads, len, head_dim)``."""
        batch, length, d_model = x.shape
        return x.view(batch, length, self.num_heads, d_model // self.num_heads).transpose(1, 2)

    def _join_heads(self, x: Tensor) -> Tensor:
        """Reshape ``(batch, num_heads, len, head_dim)`` to ``(batch, len, d_model)``."""
        return x.transpose(1, 2).flatten(-2)


class CachedAttention(MultiHeadAttention):
    """Multi-head attention with a cache of keys and values, and optional rotary positions.

    It has the other arguments, attributes and errors of ``MultiHeadAttention``, and without a cache
    computes the same.

    >>> attention = CachedAttention(d_model=8, num_heads=2, rotary=RotaryPositions(4))
    >>> x = torch.randn(3, 5, 8)
    >>> attention(x, x, x, cache=None).shape
    torch.Size([3, 5, 8])

    The further argument and attribute ``rotary`` turns queries and keys by their positions; None
    turns nothing. It is for self-attention only: queries and keys count from the same start.

    Source: Vaswani et al. (2017), section 3.2.2; Shazeer (2019), section 2.4;
        chapter "Caching keys and values".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        bias: bool = True,
        rotary: RotaryPositions | None = None,
    ) -> None:
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        return_weights: bool = False,
        cache: AttentionCache | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from ``query`` to the cached keys and values, ``key`` and ``value``.

        Args:
            query: ``(batch, query_len, d_model)``.
            key: ``(batch, new_len, d_model)``; ignored if ``cache.final`` holds the keys.
            value: ``(batch, new_len, d_model)``; ignored likewise.
            mask: As in ``MultiHeadAttention``; key_len counts the cached keys as well.
            return_weights: Also return the weights of each head.
            cache: Keys and values of earlier steps, to which the new ones are added; None without
                earlier steps.

        Returns:
            The output ``(batch, query_len, d_model)``; with ``return_weights`` the pair of output
            and weights ``(batch, num_heads, query_len, key_len)``.

        Raises:
            TypeError: ``mask`` is not boolean.
            ValueError: ``mask`` has another shape; the cache cannot take the new keys; or it is one
                of cross-attention, and the layer has rotary positions.
        """
        check_batch(query=query)
        queries = self._split_heads(self.query_projection(query))
        offset = 0 if cache is None else cache.length  # position of the first new token
        if cache is not None and cache.final is not None:
            keys, values = cache.final
        else:
            check_batch(query=query, key=key, value=value)
            if mask is not None and mask.shape[-1] == key.size(1):  # no key is cached yet
                key, value = without_hidden(key, value, mask, dim=(1, 2))
            keys = self._split_heads(self.key_projection(key))
            values = self._split_heads(self.value_projection(value))
            if self.rotary is not None:
                keys = self.rotary(keys, offset=offset)
            if cache is not None:
                keys, values = cache.update(keys, values)
        if self.rotary is not None:
            if cache is not None and cache.final is not None:
                raise ValueError("rotary positions are for self-attention, whose cache grows")
            queries = self.rotary(queries, offset=offset)
        if keys.size(1) < self.num_heads:  # several query heads share a key-value head
            group = self.num_heads // keys.size(1)
            keys, values = (x.repeat_interleave(group, dim=1) for x in (keys, values))
        check_mask(mask, (*queries.shape[:-1], keys.size(-2)))
        attended = scaled_dot_product_attention(
            queries, keys, values, mask, return_weights=return_weights
        )
        if isinstance(attended, tuple):
            output, weights = attended  # (batch, num_heads, query_len, head_dim), (..., key_len)
            return self.output_projection(self._join_heads(output)), weights
        return self.output_projection(self._join_heads(attended))  # (batch, query_len, d_model)


class GroupedQueryAttention(CachedAttention):
    """Cached attention in which a group of query heads shares one key-value head.

    The group size g is ``num_heads // num_kv_heads``, and the cache is g times smaller. Query heads
    ``g * i`` to ``g * i + g - 1`` read the key-value head i. With one key-value head this is
    multi-query attention, with ``num_heads`` of them multi-head attention.

    >>> from course_lib.layers.kv_cache import GrowingCache
    >>> attention = GroupedQueryAttention(d_model=8, num_heads=4, num_kv_heads=2).eval()
    >>> x, cache = torch.randn(3, 5, 8), GrowingCache()
    >>> with torch.no_grad():
    ...     output, weights = attention(x, x, x, return_weights=True, cache=cache)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 4, 5, 5]))
    >>> cache.update(torch.zeros(3, 2, 1, 2), torch.zeros(3, 2, 1, 2))[0].shape  # two heads held
    torch.Size([3, 2, 6, 2])

    Args:
        d_model: Width of queries, keys, values and output.
        num_heads: Number of query heads; divisible by ``num_kv_heads``.
        num_kv_heads: Number of heads of keys and values.
        head_dim: Width of a head; ``d_model // num_heads`` if None.
        bias: Whether the projections of queries, keys and values have biases.
        output_bias: Whether the output projection has a bias.
        rotary: Rotary positions of queries and keys, or None.
        query_key_norm: Whether each head's queries and keys are RMS-normalised, as in Qwen3.
        eps: Added to the denominator of these normalisations.

    Attributes:
        query_projection: ``nn.Linear(d_model, num_heads * head_dim)``.
        key_projection: ``nn.Linear(d_model, num_kv_heads * head_dim)``.
        value_projection: Likewise, for the values.
        output_projection: ``nn.Linear(num_heads * head_dim, d_model)``.
        head_dim: Width of a head.

    Raises:
        ValueError: A size is not positive, or not divisible as stated above.

    Source: Ainslie et al. (2023), section 2.2; Shazeer (2019), section 3, for one key-value head.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        *,
        head_dim: int | None = None,
        bias: bool = False,
        output_bias: bool = False,
        rotary: RotaryPositions | None = None,
        query_key_norm: bool = False,
        eps: float = 1e-6,
    ) -> None:
        check_at_least(1, d_model=d_model, num_heads=num_heads, num_kv_heads=num_kv_heads)
        check_divisible(num_heads=num_heads, num_kv_heads=num_kv_heads)
        if head_dim is None:
            check_divisible(d_model=d_model, num_heads=num_heads)
            head_dim = d_model // num_heads
        check_at_least(1, head_dim=head_dim)
        width, kv_width = num_heads * head_dim, num_kv_heads * head_dim
        super().__init__(width, num_heads, bias=bias, rotary=rotary)
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.query_projection = nn.Linear(d_model, width, bias=bias)
        self.key_projection = nn.Linear(d_model, kv_width, bias=bias)
        self.value_projection = nn.Linear(d_model, kv_width, bias=bias)
        self.output_projection = nn.Linear(width, d_model, bias=output_bias)
        if query_key_norm:
            self.query_projection = NormalizedHeads(d_model, width, head_dim, bias=bias, eps=eps)
            self.key_projection = NormalizedHeads(d_model, kv_width, head_dim, bias=bias, eps=eps)

    def _split_heads(self, x: Tensor) -> Tensor:
        """Reshape ``(batch, len, heads * head_dim)`` to ``(batch, heads, len, head_dim)``."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


class NormalizedHeads(nn.Linear):
    """A projection to heads that RMS-normalises each head, which bounds the scores of attention.

    >>> NormalizedHeads(8, 6, head_dim=3)(torch.randn(2, 5, 8)).shape
    torch.Size([2, 5, 6])

    ``in_features`` is the width of the input, ``out_features`` that of all heads together; it must
    be divisible by ``head_dim``. ``norm`` is an ``RMSNorm(head_dim, eps=eps)``, one weight for all
    heads.

    Source: Henry et al. (2020), section 3; Yang et al. (2025), "Qwen3 Technical Report".
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        head_dim: int,
        *,
        bias: bool = False,
        eps: float = 1e-6,
    ) -> None:
        check_divisible(out_features=out_features, head_dim=head_dim)
        super().__init__(in_features, out_features, bias=bias)
        self.head_dim = head_dim
        self.norm = RMSNorm(head_dim, eps=eps)

    def forward(self, input: Tensor) -> Tensor:
        """Project ``(..., in_features)`` to ``(..., out_features)``, each head normalised."""
        heads = super().forward(input).unflatten(-1, (-1, self.head_dim))  # (..., heads, head_dim)
        return self.norm(heads).flatten(-2)  # (..., out_features)
