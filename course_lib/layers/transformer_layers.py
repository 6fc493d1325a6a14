"""The Transformer's two stacks: the encoder's layers, and the decoder's, which also read a memory.

Dimensions: batch; src_len, tgt_len (tokens); d_model; d_ff. Masks are boolean, True where a query
may attend to a key; see ``masks.py``. Padding comes last in a sequence.
"""

from torch import Tensor, nn

from course_lib.layers.attention import CachedAttention, MultiHeadAttention
from course_lib.layers.feed_forward import Activation, FeedForward
from course_lib.layers.kv_cache import KVCache, LayerCache
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.residual import NormPosition, Residual, final_norm


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward layer, each with its residual.

    Args:
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layer.
        norm_position: Where the normalisations stand.
        dropout: Share of each sublayer's output, and of the feed-forward layer's inner
            activations, that training sets to zero.
        activation: The feed-forward layer's function.
        eps: Of the normalisations.

    Attributes:
        self_attention: ``MultiHeadAttention``.
        feed_forward: ``FeedForward``.
        attention_residual: ``Residual`` around the attention.
        feed_forward_residual: ``Residual`` around the feed-forward layer.

    Raises:
        ValueError: A size, share or name is out of range.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm_position: NormPosition = "post",
        dropout: float = 0.0,
        activation: Activation = "relu",
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        self.attention_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )
        self.feed_forward_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let the tokens read each other.

        Args:
            x: ``(batch, src_len, d_model)``.
            mask: Boolean, broadcastable to ``(batch, num_heads, src_len, src_len)``.

        Returns:
            ``(batch, src_len, d_model)``.

        Raises:
            TypeError: ``mask`` is not boolean.
        """
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, and a feed-forward layer.

    Args:
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layer.
        norm_position: Where the normalisations stand.
        dropout: Share of each sublayer's output, and of the feed-forward layer's inner
            activations, that training sets to zero.
        activation: The feed-forward layer's function.
        eps: Of the normalisations.

    Attributes:
        self_attention: ``CachedAttention``, from target to target.
        cross_attention: ``CachedAttention``, from target to the encoder's output.
        feed_forward: ``FeedForward``.
        self_attention_residual: ``Residual`` around the first.
        cross_attention_residual: ``Residual`` around the second.
        feed_forward_residual: ``Residual`` around the third.

    Raises:
        ValueError: A size, share or name is out of range.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm_position: NormPosition = "post",
        dropout: float = 0.0,
        activation: Activation = "relu",
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.self_attention = CachedAttention(d_model, num_heads)
        self.cross_attention = CachedAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        self.self_attention_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )
        self.cross_attention_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )
        self.feed_forward_residual = Residual(
            LayerNorm(d_model, eps=eps), norm_position=norm_position, dropout=dropout
        )

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Let the target tokens read each other, then the source.

        Args:
            x: ``(batch, tgt_len, d_model)``.
            memory: ``(batch, src_len, d_model)``, the encoder's output.
            mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, key_len)``; key_len is
                tgt_len and what the cache holds.
            memory_mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, src_len)``.
            cache: Keys and values of earlier steps; None in training.

        Returns:
            ``(batch, tgt_len, d_model)``.

        Raises:
            TypeError: A mask is not boolean.
        """
        past, source = (None, None) if cache is None else cache
        x = self.self_attention_residual(
            x, lambda y: self.self_attention(y, y, y, mask, cache=past)
        )
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask, cache=source)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers, and a last normalisation if they are pre-norm.

    Args:
        num_layers: Number of layers.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        norm_position: Where the normalisations stand.
        dropout: Share that training sets to zero; see ``EncoderLayer``.
        activation: The feed-forward layers' function.
        eps: Of the normalisations.

    Attributes:
        layers: The layers, first to last.
        norm: The last normalisation, or the identity.

    Raises:
        ValueError: A size, share or name is out of range.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm_position: NormPosition = "post",
        dropout: float = 0.0,
        activation: Activation = "relu",
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        self.layers = nn.ModuleList(
            EncoderLayer(
                d_model,
                num_heads,
                d_ff,
                norm_position=norm_position,
                dropout=dropout,
                activation=activation,
                eps=eps,
            )
            for _ in range(num_layers)
        )
        self.norm = final_norm(LayerNorm(d_model, eps=eps), norm_position)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encode a sequence of vectors.

        Args:
            x: ``(batch, src_len, d_model)``, embedded and positioned.
            mask: Boolean, broadcastable to ``(batch, num_heads, src_len, src_len)``.

        Returns:
            ``(batch, src_len, d_model)``, which a decoder calls its memory.

        Raises:
            TypeError: ``mask`` is not boolean.
        """
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers, and a last normalisation if they are pre-norm.

    Args:
        num_layers: Number of layers.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        norm_position: Where the normalisations stand.
        dropout: Share that training sets to zero; see ``DecoderLayer``.
        activation: The feed-forward layers' function.
        eps: Of the normalisations.

    Attributes:
        layers: The layers, first to last.
        norm: The last normalisation, or the identity.

    Raises:
        ValueError: A size, share or name is out of range.

    Source: Vaswani et al. (2017), section 3.1; chapter "The Transformer".
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm_position: NormPosition = "post",
        dropout: float = 0.0,
        activation: Activation = "relu",
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        self.layers = nn.ModuleList(
            DecoderLayer(
                d_model,
                num_heads,
                d_ff,
                norm_position=norm_position,
                dropout=dropout,
                activation=activation,
                eps=eps,
            )
            for _ in range(num_layers)
        )
        self.norm = final_norm(LayerNorm(d_model, eps=eps), norm_position)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Decode a sequence of vectors, beside the encoder's output.

        Args:
            x: ``(batch, tgt_len, d_model)``, embedded and positioned.
            memory: ``(batch, src_len, d_model)``, the encoder's output.
            mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, key_len)``; key_len is
                tgt_len and what the cache holds.
            memory_mask: Boolean, broadcastable to ``(batch, num_heads, tgt_len, src_len)``.
            cache: Keys and values of earlier steps; None in training.

        Returns:
            ``(batch, tgt_len, d_model)``.

        Raises:
            TypeError: A mask is not boolean.
        """
        for number, layer in enumerate(self.layers):
            layer_cache = None if cache is None else cache.layers[number]
            x = layer(x, memory, mask, memory_mask, cache=layer_cache)
        return self.norm(x)
