"""Multi-head attention that reads on from where it stopped.

Dimensions: batch; num_heads; query_len, key_len (tokens); head_dim; d_model = num_heads * head_dim.
"""

from torch import Tensor

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.kv_cache import FixedCache, GrowingCache, KeysAndValues
from course_lib.positional import RotaryPositions


class CachedAttention(MultiHeadAttention):
    """Multi-head attention with a memory for keys and values, and rotary positions if wanted.

    It has the parameters of ``MultiHeadAttention``, and without a cache computes the same.

    Args:
        d_model: Width of queries, keys, values and output; divisible by ``num_heads``.
        num_heads: Number of heads.
        bias: Whether the four projections have biases.
        rotary: Turns queries and keys by their positions; None turns nothing. Only for
            self-attention: queries and keys count from the same start.

    Attributes:
        rotary: As given.

    Raises:
        ValueError: ``num_heads`` is not positive or does not divide ``d_model``.

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
        cache: GrowingCache | FixedCache | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from ``query`` to what the cache holds and to ``key`` and ``value``.

        Args:
            query: ``(batch, query_len, d_model)``.
            key: ``(batch, new_len, d_model)``; a filled ``FixedCache`` leaves it unread.
            value: ``(batch, new_len, d_model)``, likewise.
            mask: Boolean, broadcastable to ``(batch, num_heads, query_len, key_len)``, True where a
                query may attend to a key; key_len counts the cached keys as well.
            return_weights: Also return the weights of each head.
            cache: Keys and values of earlier steps; None if there were none.

        Returns:
            The output ``(batch, query_len, d_model)``; with ``return_weights`` the pair of output
            and weights ``(batch, num_heads, query_len, key_len)``.

        Raises:
            TypeError: ``mask`` is not boolean.
            ValueError: The cache cannot take the new keys; see ``GrowingCache.update``.
        """
        offset = 0 if cache is None else cache.length  # position of the first query

        def project() -> KeysAndValues:
            keys = self._split_heads(self.key_projection(key))
            if self.rotary is not None:
                keys = self.rotary(keys, offset=offset)
            return keys, self._split_heads(self.value_projection(value))

        queries = self._split_heads(self.query_projection(query))
        if self.rotary is not None:
            queries = self.rotary(queries, offset=offset)
        keys, values = project() if cache is None else cache.update(project)
        attended = scaled_dot_product_attention(
            queries, keys, values, mask, return_weights=return_weights
        )
        if isinstance(attended, tuple):
            output, weights = attended  # (batch, num_heads, query_len, head_dim), (..., key_len)
            return self.output_projection(self._join_heads(output)), weights
        return self.output_projection(self._join_heads(attended))  # (batch, query_len, d_model)
