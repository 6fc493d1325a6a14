"""The Transformer: an encoder that reads the source, a decoder that writes the target.

Dimensions: batch; src_len, tgt_len (tokens); d_model; d_ff. Masks are boolean, True where a query
may attend to a key; see ``masks.py``. Padding comes last in a sequence.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from course_lib.layers.embedding import TokenEmbedding, keep_tied, start_small
from course_lib.layers.feed_forward import Activation
from course_lib.layers.kv_cache import KVCache
from course_lib.layers.masks import CausalMask, padding_mask
from course_lib.layers.positional import LearnedPositions, SinusoidalPositions
from course_lib.layers.residual import NormPosition
from course_lib.layers.transformer_layers import Decoder, Encoder
from course_lib.validation import check_divisible, check_fields


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of a ``Transformer``; the defaults are the paper's base model.

    >>> base = TransformerConfig(src_vocab_size=8000, tgt_vocab_size=8000, tied="all")
    >>> base.d_model, base.num_encoder_layers
    (512, 6)

    Attributes:
        src_vocab_size: Number of source token ids.
        tgt_vocab_size: Number of target token ids.
        d_model: Width of a token's vector; divisible by ``num_heads``, even for sinusoids.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        num_encoder_layers: Number of encoder layers.
        num_decoder_layers: Number of decoder layers.
        dropout: Probability of dropout, on the embeddings with their positions, on each sublayer's
            output and on the feed-forward layers' inner activations.
        activation: The feed-forward layers' function.
        norm_position: ``pre`` or ``post``; see ``NormPosition``.
        positions: The positional encoding.
        max_length: Maximum number of tokens for learned positions; sinusoids have no limit.
        tied: Which layers share the target embedding's weight: ``none``, the ``output`` projection,
            or ``all``, that and the source embedding, for a joint vocabulary.
        output_bias: Whether the output projection has a bias; the paper's has none.
        pad_id: The token id of padding, in source and target.

    Raises:
        ValueError: A value is out of range, or two values contradict each other.
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    activation: Activation = "relu"
    norm_position: NormPosition = "post"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_length: int = 512
    tied: Literal["none", "output", "all"] = "output"
    output_bias: bool = False
    pad_id: int = 0

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self, zero=["pad_id"], shares=["dropout"])
        check_divisible(d_model=self.d_model, num_heads=self.num_heads)
        if self.positions == "sinusoidal" and self.d_model % 2 != 0:
            raise ValueError(f"sinusoidal positions need an even d_model, got {self.d_model}")
        if self.tied == "all" and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                "tied='all' needs one vocabulary for both languages, got src_vocab_size="
                f"{self.src_vocab_size} and tgt_vocab_size={self.tgt_vocab_size}"
            )
        if not 0 <= self.pad_id < min(self.src_vocab_size, self.tgt_vocab_size):
            raise ValueError(f"pad_id must be a token id of both vocabularies, got {self.pad_id}")


class Transformer(nn.Module):
    """Translate a sequence: encode the source, then predict each next token of the target.

    >>> import torch
    >>> sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16}
    >>> model = Transformer(TransformerConfig(src_vocab_size=9, tgt_vocab_size=7, **sizes))
    >>> src = torch.tensor([[4, 8, 2], [5, 2, 0]])  # 0 is padding
    >>> model(src, tgt=torch.tensor([[1, 6], [1, 3]])).shape
    torch.Size([2, 2, 7])

    Args:
        config: Sizes and choices.

    Attributes:
        src_embedding: ``TokenEmbedding`` of the source, scaled.
        tgt_embedding: ``TokenEmbedding`` of the target, scaled.
        src_positions: ``SinusoidalPositions`` or ``LearnedPositions``.
        tgt_positions: Likewise.
        dropout: ``nn.Dropout``, on the embeddings with their positions.
        encoder: ``Encoder``.
        decoder: ``Decoder``.
        output_projection: ``nn.Linear(d_model, tgt_vocab_size)``.

    Source: Vaswani et al. (2017), section 3; chapter "The Transformer".
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.tgt_embedding = TokenEmbedding(config.tgt_vocab_size, config.d_model, scaled=True)
        self.src_embedding = (
            self.tgt_embedding
            if config.tied == "all"
            else TokenEmbedding(config.src_vocab_size, config.d_model, scaled=True)
        )
        self.src_positions = self._build_positions()
        self.tgt_positions = self._build_positions()
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(
            config.num_encoder_layers,
            config.d_model,
            config.num_heads,
            config.d_ff,
            norm_position=config.norm_position,
            dropout=config.dropout,
            activation=config.activation,
        )
        self.decoder = Decoder(
            config.num_decoder_layers,
            config.d_model,
            config.num_heads,
            config.d_ff,
            norm_position=config.norm_position,
            dropout=config.dropout,
            activation=config.activation,
        )
        self.output_projection = nn.Linear(
            config.d_model, config.tgt_vocab_size, bias=config.output_bias
        )
        start_small(self)
        keep_tied(self)

    def tie_weights(self) -> None:
        """Share the target embedding's weight with the output projection, if ``tied`` asks for it.

        Loading a state dict does so; call it after ``to_empty``, before an optimizer is made.
        """
        if self.config.tied != "none":
            self.output_projection.weight = self.tgt_embedding.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits of each next target token, given the source and the target so far.

        Args:
            src: ``(batch, src_len)``, source token ids, padded with ``pad_id``.
            tgt: ``(batch, tgt_len)``, target token ids, beginning with the start symbol.

        Returns:
            Logits ``(batch, tgt_len, tgt_vocab_size)``; the loss ignores those at padding.

        Raises:
            IndexError: A token id is out of range.
            TypeError: ``src`` or ``tgt`` does not hold integers.
            ValueError: ``src`` or ``tgt`` is empty or no matrix, they differ in batch, or one is
                longer than learned positions reach.
        """
        if src.size(0) != tgt.size(0):
            raise ValueError(
                f"src and tgt must agree in batch, got {src.size(0)} and {tgt.size(0)}"
            )
        memory, memory_mask = self.encode(src)
        return self.output_projection(self.hidden(tgt, memory, memory_mask))

    def encode(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Encode sources ``(batch, src_len)``, padded with ``pad_id``.

        Return the memory ``(batch, src_len, d_model)`` and its mask, boolean
        ``(batch, 1, 1, src_len)``, False at padding.
        """
        embedded = self.dropout(self.src_positions(self.src_embedding(src)))
        mask = padding_mask(src, self.config.pad_id)  # (batch, 1, 1, src_len)
        return self.encoder(embedded, mask), mask

    def hidden(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        *,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the decoder's last vectors, ``(batch, tgt_len, d_model)``, before the logits.

        ``tgt``, ``(batch, tgt_len)``, are the target token ids after the cached ones; ``memory``
        and ``memory_mask`` come from ``encode``; ``cache`` holds keys and values of earlier steps
        and is None in training. Errors are those of ``forward``.
        """
        if tgt.size(0) != memory.size(0):
            raise ValueError(
                f"tgt and memory must agree in batch, got {tgt.size(0)} and {memory.size(0)}"
            )
        past = 0 if cache is None else cache.length
        embedded = self.dropout(self.tgt_positions(self.tgt_embedding(tgt), offset=past))
        tgt_len = tgt.size(1)
        # Padding comes last: the causal mask already hides it from every real token. A single new
        # token may look at all there is.
        mask = None if tgt_len == 1 else CausalMask(tgt_len, past + tgt_len, device=tgt.device)
        return self.decoder(embedded, memory, mask, memory_mask, cache=cache)

    def _build_positions(self) -> SinusoidalPositions | LearnedPositions:
        """Return a new layer for the positional encoding that the configuration names."""
        if self.config.positions == "sinusoidal":
            return SinusoidalPositions(self.config.d_model)
        return LearnedPositions(self.config.max_length, self.config.d_model)
