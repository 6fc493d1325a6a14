"""A decoder alone: a language model in the shape of GPT-2, and a classifier made from it.

Dimensions: batch; length (tokens); d_model; d_ff; vocab_size; num_labels. Padding comes last in a
sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from course_lib.layers.attention import CachedAttention
from course_lib.layers.embedding import TokenEmbedding, keep_tied
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.kv_cache import AttentionCache, KVCache
from course_lib.layers.masks import CausalMask, left_padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions, RotaryPositions
from course_lib.layers.residual import Residual
from course_lib.validation import check_at_least, check_divisible, check_fields


@dataclass(frozen=True, kw_only=True)
class DecoderLMConfig:
    """Sizes and choices of a ``DecoderLM``; the defaults are the smallest GPT-2.

    >>> small = DecoderLMConfig(d_model=64, num_heads=4, num_layers=2, positions="rotary")
    >>> small.vocab_size
    50257

    Attributes:
        vocab_size: Number of token ids.
        max_length: Maximum number of tokens for learned positions; rotary ones have no limit.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        num_layers: Number of layers.
        dropout: Probability of dropout, on the embeddings with their positions and on each
            sublayer's output.
        positions: ``learned`` adds vectors to the embeddings, ``rotary`` turns queries and keys.
    """

    vocab_size: int = 50_257
    max_length: int = 1024
    d_model: int = 768
    num_heads: int = 12
    d_ff: int = 3072
    num_layers: int = 12
    dropout: float = 0.1
    positions: Literal["learned", "rotary"] = "learned"

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self, shares=["dropout"])
        check_divisible(d_model=self.d_model, num_heads=self.num_heads)
        head_dim = self.d_model // self.num_heads
        if self.positions == "rotary" and head_dim % 2 != 0:
            raise ValueError(f"rotary positions need an even head_dim, got {head_dim}")


class DecoderBlock(nn.Module):
    """Self-attention and a feed-forward layer, pre-norm: a decoder layer without a source.

    >>> block = DecoderBlock(d_model=8, num_heads=2, d_ff=16)
    >>> block(torch.randn(3, 5, 8), CausalMask(5)).shape
    torch.Size([3, 5, 8])

    Args:
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layer.
        dropout: Probability of dropout, on each sublayer's output.
        rotary: Rotary positions of queries and keys; None for a layer without them.

    Attributes:
        self_attention: ``CachedAttention``.
        feed_forward: ``FeedForward`` with the approximate GELU.
        attention_residual: ``Residual`` around the attention.
        feed_forward_residual: ``Residual`` around the feed-forward layer.

    Source: Radford et al. (2019), section 2.3; chapter "Decoder-only language models".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        rotary: RotaryPositions | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = CachedAttention(d_model, num_heads, rotary=rotary)
        self.feed_forward = FeedForward(d_model, d_ff, activation="gelu_tanh")
        self.attention_residual = Residual(LayerNorm(d_model), norm_position="pre", dropout=dropout)
        self.feed_forward_residual = Residual(
            LayerNorm(d_model), norm_position="pre", dropout=dropout
        )

    def forward(
        self,
        x: Tensor,
        mask: CausalMask | Tensor | None = None,
        *,
        cache: AttentionCache | None = None,
    ) -> Tensor:
        """Let each token of ``(batch, length, d_model)`` read those before it.

        The mask is boolean, each size of ``(batch, num_heads, length, key_len)`` or 1, or a
        ``CausalMask``; key_len counts the cached keys too. ``cache`` is None in training.
        """
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, y, mask, cache=cache))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLM(nn.Module):
    """Predict the next token after each token.

    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 2}
    >>> model = DecoderLM(DecoderLMConfig(**sizes))
    >>> model(torch.tensor([[1, 5, 3], [1, 7, 2]])).shape
    torch.Size([2, 3, 9])

    Args:
        config: Sizes and choices.

    Attributes:
        embedding: ``TokenEmbedding``.
        positions: ``LearnedPositions``, or None if the layers turn queries and keys.
        dropout: ``nn.Dropout``, on the embeddings with their positions.
        layers: ``DecoderBlock``, first to last.
        norm: ``LayerNorm``, the last one.
        output_projection: ``nn.Linear(d_model, vocab_size)`` without bias; its weight is the
            embedding's.

    Source: Radford et al. (2019), section 2.3; chapter "Decoder-only language models".
    """

    def __init__(self, config: DecoderLMConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        rotary = None
        self.positions: LearnedPositions | None = None
        if config.positions == "learned":
            self.positions = LearnedPositions(config.max_length, config.d_model)
        else:
            rotary = RotaryPositions(config.d_model // config.num_heads)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(
            DecoderBlock(
                config.d_model, config.num_heads, config.d_ff, dropout=config.dropout, rotary=rotary
            )
            for _ in range(config.num_layers)
        )
        self.norm: nn.Module = LayerNorm(config.d_model)
        self.output_projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
        keep_tied(self)
        self._initialise()

    def tie_weights(self) -> None:
        """Share the embedding's weight with the output projection.

        Loading a state dict does so; call it after ``to_empty``, before an optimizer is made.
        """
        self.output_projection.weight = self.embedding.weight

    def forward(
        self, token_ids: Tensor, *, padding: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Return the logits of each next token, ``(batch, length, vocab_size)``; see ``hidden``."""
        return self.output_projection(self.hidden(token_ids, padding=padding, cache=cache))

    def hidden(
        self, token_ids: Tensor, *, padding: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Return the last layer's vectors, from which the logits are projected.

        Args:
            token_ids: ``(batch, length)``; those after the cached ones.
            padding: Number of padding tokens at the beginning of each row, cached ones included,
                int64 ``(batch,)``. No query attends to them, and positions count from the token
                after them. None without padding; padding at the end needs no mask.
            cache: Keys and values of earlier steps; None in training.

        Returns:
            ``(batch, length, d_model)``.

        Raises:
            IndexError: A token id is out of range.
            TypeError: ``token_ids`` does not hold integers.
            ValueError: ``token_ids`` is empty, no matrix, or longer than ``max_length`` with
                padding and cached tokens; or the cache is of another number of layers.
        """
        length, past, caches = token_ids.size(-1), 0, None
        if cache is not None:
            past, caches = cache.length, [layer.self_attention for layer in cache.layers]
            if len(caches) != len(self.layers):
                raise ValueError(f"the cache has {len(caches)} layers, got {len(self.layers)}")
        mask: CausalMask | Tensor | None = None  # a single new token may look at all there is
        if length > 1:
            mask = CausalMask(length, past + length, device=token_ids.device)
        if padding is not None:
            real = left_padding_mask(padding, past + length)
            mask = real if mask is None else mask & real
        return self.read(token_ids, mask, offset=past, padding=padding, caches=caches)

    def read(
        self,
        token_ids: Tensor,
        mask: CausalMask | Tensor | None,
        *,
        offset: int | Tensor,
        padding: Tensor | None = None,
        caches: Sequence[AttentionCache] | None = None,
    ) -> Tensor:
        """Compute ``hidden`` with a given mask and offset, as ``StaticDecoder`` needs.

        The mask is boolean, each size of ``(batch, num_heads, length, key_len)`` or 1, or a
        ``CausalMask``; ``offset`` is the position of the first token, a number or int64 ``(1,)``;
        ``padding``, as in ``hidden``, changes the positions only; ``caches`` holds one for each
        layer.
        """
        x = self.embedding(token_ids)  # (batch, length, d_model)
        if self.positions is not None:
            x = self.positions(x, offset=offset, padding=padding)
        x = self.dropout(x)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, cache=None if caches is None else caches[number])
        return self.norm(x)

    def _initialise(self) -> None:
        """Draw weights as GPT-2 does; those of a sublayer's last projection shrink with depth."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=0.02)
        for layer in self.layers:
            assert isinstance(layer, DecoderBlock)
            for last in (
                layer.self_attention.output_projection,
                layer.feed_forward.down_projection,
            ):
                nn.init.normal_(last.weight, std=0.02 / (2 * self.config.num_layers) ** 0.5)


class SequenceClassifier(nn.Module):
    """Classify sequences by a language model's vector of their last token.

    Only the last token has attended to all tokens.

    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 2}
    >>> classifier = SequenceClassifier(DecoderLM(DecoderLMConfig(**sizes)), 3, pad_id=0)
    >>> classifier(torch.tensor([[1, 5, 3], [1, 7, 0]])).shape
    torch.Size([2, 3])

    Args:
        decoder: The language model, trained or not; it is trained with the classifier.
        num_labels: Number of classes.
        pad_id: The token id of padding.

    Attributes:
        classifier: ``nn.Linear(d_model, num_labels)`` without bias.

    Source: Radford et al. (2018), section 3.2; chapter "Transformer families".
    """

    def __init__(self, decoder: DecoderLM, num_labels: int, *, pad_id: int) -> None:
        super().__init__()
        check_at_least(1, num_labels=num_labels)
        self.decoder = decoder
        self.classifier = nn.Linear(decoder.config.d_model, num_labels, bias=False)
        self.pad_id = pad_id
        nn.init.normal_(self.classifier.weight, std=0.02)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Return logits ``(batch, num_labels)`` for ``(batch, length)``, padded at the end."""
        hidden = self.decoder.hidden(token_ids)  # (batch, length, d_model)
        positions = torch.arange(token_ids.size(1), device=token_ids.device)
        last = (positions * (token_ids != self.pad_id)).argmax(dim=-1)  # (batch,)
        rows = torch.arange(token_ids.size(0), device=token_ids.device)
        return self.classifier(hidden[rows, last])  # (batch, num_labels)
