"""A one-layer attention model: embed tokens, attend once, classify each query as a token.

Dimensions: batch; query_len and key_len (tokens); d_model; vocab_size.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.data.toy_tasks import PAD_ID, AlignedBatch
from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.masks import padding_mask
from course_lib.metrics.alignment import alignment_error, unaligned_attention
from course_lib.validation import check_divisible, check_fields


@dataclass(frozen=True, kw_only=True)
class AttentionReaderConfig:
    """Sizes of an ``AttentionReader``.

    >>> AttentionReaderConfig(vocab_size=12, max_length=8).num_heads
    1

    Attributes:
        vocab_size: Number of token ids.
        max_length: Most tokens of a sequence.
        d_model: Width of embeddings, queries, keys and values.
        num_heads: Number of heads; divides ``d_model``.
        use_positions: Whether to add a learned vector for each position to the embeddings; without
            it the model does not see the order of the tokens.
    """

    vocab_size: int
    max_length: int
    d_model: int = 32
    num_heads: int = 1
    use_positions: bool = True

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self)
        check_divisible(d_model=self.d_model, num_heads=self.num_heads)


class AttentionReader(nn.Module):
    """Attend once from query tokens to key tokens, and predict a token for each query.

    With the same tokens on both sides this is self-attention. There is no residual connection and
    no feed-forward layer, so a prediction depends on the key tokens through the weights alone.

    >>> reader = AttentionReader(AttentionReaderConfig(vocab_size=12, max_length=8))
    >>> tokens = torch.tensor([[3, 7, 5], [4, 2, 9]])
    >>> logits, weights = reader(tokens, tokens, return_weights=True)
    >>> logits.shape, weights.shape
    (torch.Size([2, 3, 12]), torch.Size([2, 1, 3, 3]))

    Args:
        config: The sizes.

    Attributes:
        token_embedding: ``nn.Embedding(vocab_size, d_model)``.
        position_embedding: ``nn.Embedding(max_length, d_model)``, or None without positions.
        attention: The one attention layer.
        generator: The output layer, ``nn.Linear(d_model, vocab_size)``.

    Source: chapter "What attention learns, and what it can't".
    """

    def __init__(self, config: AttentionReaderConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.position_embedding = (
            nn.Embedding(config.max_length, config.d_model) if config.use_positions else None
        )
        self.attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.generator = nn.Linear(config.d_model, config.vocab_size)

    def forward(
        self, query_tokens: Tensor, key_tokens: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return logits ``(batch, query_len, vocab_size)`` of a token for each query.

        With ``return_weights`` return also the attention weights ``(batch, num_heads, query_len,
        key_len)``. Token ids are ``(batch, query_len)`` and ``(batch, key_len)``; keys that are
        padding are masked.
        """
        query, key = self._embed(query_tokens), self._embed(key_tokens)
        mask = padding_mask(key_tokens, PAD_ID)  # (batch, 1, 1, key_len)
        attended = self.attention(query, key, key, mask, return_weights=return_weights)
        if isinstance(attended, tuple):
            output, weights = attended
            return self.generator(output), weights
        return self.generator(attended)

    def _embed(self, tokens: Tensor) -> Tensor:
        if tokens.size(1) > self.config.max_length:
            raise ValueError(
                f"sequences must have at most max_length={self.config.max_length} tokens, "
                f"got {tokens.size(1)}"
            )
        embedded: Tensor = self.token_embedding(tokens)  # (batch, len, d_model)
        if self.position_embedding is None:
            return embedded
        positions = torch.arange(tokens.size(1), device=tokens.device)
        return embedded + self.position_embedding(positions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """Scores of an ``AttentionReader`` with one head on a batch, and its attention weights.

    >>> weights = torch.full((1, 2, 2), 0.5)
    >>> print(Reading(accuracy=0.9, alignment_error=0.25, unaligned_attention=0.5, weights=weights))
    right 90.0%, alignment error 25.0%, misplaced weight 50.0%

    Attributes:
        accuracy: Share of target tokens predicted correctly, 0 to 1, without padding.
        alignment_error: Share of queries whose largest weight is at a wrong key, 0 to 1.
        unaligned_attention: Share of the attention weight that is at wrong keys, 0 to 1.
        weights: Attention weights ``(batch, query_len, key_len)``.
    """

    accuracy: float
    alignment_error: float
    unaligned_attention: float
    weights: Tensor

    def __str__(self) -> str:
        """Return accuracy, alignment error and unaligned attention as percentages."""
        return (
            f"right {self.accuracy:.1%}, alignment error {self.alignment_error:.1%}, "
            f"misplaced weight {self.unaligned_attention:.1%}"
        )


@torch.no_grad()
def judge_reading(reader: AttentionReader, batch: AlignedBatch, query_tokens: Tensor) -> Reading:
    """Score a reader with one head against a batch's targets and alignment.

    ``query_tokens`` are the token ids of the queries ``(batch, query_len)``, such as ``batch.src``;
    the keys are those of ``batch.src``.
    """
    if reader.config.num_heads != 1:
        raise ValueError(f"reader must have num_heads=1, got {reader.config.num_heads}")
    logits, weights = reader(query_tokens, batch.src, return_weights=True)
    is_counted = batch.alignment >= 0
    is_right = logits.argmax(dim=-1) == batch.tgt  # (batch, query_len)
    weights = weights[:, 0]
    return Reading(
        accuracy=float(is_right[is_counted].double().mean()),
        alignment_error=alignment_error(weights, batch.alignment),
        unaligned_attention=unaligned_attention(weights, batch.alignment),
        weights=weights,
    )
