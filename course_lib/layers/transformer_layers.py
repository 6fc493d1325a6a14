"""Transformer encoder and decoder: their layers, and stacks of them.

Dimensions: batch; src_len, tgt_len (tokens); d_model; d_ff. Masks are boolean, True where a query
may attend to a key; see ``masks.py``. Padding comes last in a sequence.
"""

from typing import Any

from torch import Tensor, nn

from course_lib.layers.attention import CachedAttention, MultiHeadAttention
from course_lib.layers.feed_forward import Activation, FeedForward
from course_lib.layers.kv_cache import KVCache, LayerCache
from course_lib.layers.masks import CausalMask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.residual import NormPosition, Residual, final_norm
from course_lib.validation import check_at_least


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward layer, each with its residual.

    >>> import torch
    >>> layer = EncoderLayer(d_model=8, num_heads=2, d_ff=16)
    >>> layer(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])

    Args:
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layer.
        norm_position: ``pre`` or ``post``; see ``NormPosition``.
        dropout: Probability of dropout, on each sublayer's output and on the feed-forward layer's
            inner activations.
        activation: The feed-forward layer's function.
        eps: Added to the variance in each normalisation.

    Attributes:
        self_attention: ``MultiHeadAttention``.
        feed_forward: ``FeedForward``.
        attention_residual: ``Residual`` around the attention.
        feed_forward_residual: ``Residual`` around the feed-forward layer.

    Raises:
        ValueError: A size or probability is out of range, or a name is unknown.

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
        """Let the tokens of ``(batch, src_len, d_model)`` attend to each other; the shape stays.

        ``mask`` is boolean ``(batch, num_heads, src_len, src_len)``, each size this or 1; another
        dtype is a TypeError, another shape a ValueError.
        """
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, and a feed-forward layer.

    The sublayers are ``self_attention`` and ``cross_attention``, both ``CachedAttention``, and
    ``feed_forward``; around them stand ``self_attention_residual``, ``cross_attention_residual``
    and ``feed_forward_residual``. The arguments are those of ``EncoderLayer``.

    >>> import torch
    >>> layer, memory = DecoderLayer(d_model=8, num_heads=2, d_ff=16), torch.randn(3, 5, 8)
    >>> layer(torch.randn(3, 4, 8), memory, mask=CausalMask(4)).shape
    torch.Size([3, 4, 8])

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
        mask: CausalMask | Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Let the target tokens attend to each other, then to the source.

        Args:
            x: ``(batch, tgt_len, d_model)``.
            memory: ``(batch, src_len, d_model)``, the encoder's output.
            mask: Boolean ``(batch, num_heads, tgt_len, key_len)``, each size this or 1, or a
                ``CausalMask``; key_len counts the cached keys too.
            memory_mask: Boolean ``(batch, num_heads, tgt_len, src_len)``, each size this or 1.
            cache: Keys and values of earlier steps; None in training.

        Returns:
            ``(batch, tgt_len, d_model)``.

        Raises:
            TypeError: A mask is not boolean.
            ValueError: A mask has another shape.
        """
        past, source = (None, None) if cache is None else cache
        x = self.self_attention_residual(
            x, lambda y: self.self_attention(y, y, y, mask, cache=past)
        )
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, memory_mask, cache=source)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class SelfAttentionLayer(nn.Module):
    """A given attention, then a feed-forward layer, each pre-norm with its residual.

    The attention is called as ``attention(x, x, x, mask, cache=cache)``. The feed-forward layer is
    four times as wide inside, with GELU. Attributes are those of ``EncoderLayer``.

    >>> import torch
    >>> layer = SelfAttentionLayer(CachedAttention(d_model=8, num_heads=2), d_model=8)
    >>> layer(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])

    Source: Radford et al. (2019); chapter "Transformer families".
    """

    def __init__(self, attention: nn.Module, d_model: int) -> None:
        super().__init__()
        self.self_attention = attention
        self.feed_forward = FeedForward(d_model, 4 * d_model, activation="gelu_tanh")
        self.attention_residual = Residual(LayerNorm(d_model), norm_position="pre")
        self.feed_forward_residual = Residual(LayerNorm(d_model), norm_position="pre")

    def forward(self, x: Tensor, mask: Tensor | None = None, *, cache: Any = None) -> Tensor:
        """Let the tokens of ``(batch, length, d_model)`` attend to each other and to cached ones.

        Mask and cache are handed to the attention. The result has the shape of ``x``.
        """
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask, cache=cache))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers, and a last normalisation if they are pre-norm.

    ``layers`` holds the ``num_layers`` layers, first to last; ``norm`` is the last normalisation,
    or the identity. The other arguments are those of ``EncoderLayer``. Fewer than one layer is a
    ValueError.

    >>> import torch
    >>> encoder = Encoder(num_layers=2, d_model=8, num_heads=2, d_ff=16)
    >>> encoder(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])

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
        check_at_least(1, num_layers=num_layers)
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
        """Encode embedded tokens, with the arguments of ``EncoderLayer.forward``.

        The result, ``(batch, src_len, d_model)`` like ``x``, is the memory of a decoder.
        """
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of decoder layers, and a last normalisation if they are pre-norm.

    ``layers`` holds the ``num_layers`` layers, first to last; ``norm`` is the last normalisation,
    or the identity. The other arguments are those of ``EncoderLayer``. Fewer than one layer is a
    ValueError.

    >>> import torch
    >>> decoder = Decoder(num_layers=2, d_model=8, num_heads=2, d_ff=16)
    >>> decoder(torch.randn(3, 4, 8), torch.randn(3, 5, 8), mask=CausalMask(4)).shape
    torch.Size([3, 4, 8])

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
        check_at_least(1, num_layers=num_layers)
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
        mask: CausalMask | Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Decode embedded tokens, with the arguments of ``DecoderLayer.forward``.

        The result is ``(batch, tgt_len, d_model)`` like ``x``.
        """
        for number, layer in enumerate(self.layers):
            layer_cache = None if cache is None else cache.layers[number]
            x = layer(x, memory, mask, memory_mask, cache=layer_cache)
        return self.norm(x)
