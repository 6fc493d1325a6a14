"""BERT: a Transformer's encoder without a decoder, for whole texts.

Dimensions: batch; length (tokens); d_model; num_heads; d_ff; vocab_size; num_segments. Masks are
boolean, True where a query may attend to a key; see ``masks.py``. Padding comes last in a sequence.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.masks import padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions
from course_lib.layers.transformer_layers import Encoder
from course_lib.validation import check_divisible, check_fields


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes and choices of a ``BertModel``; the defaults are BERT-Base, uncased.

    BERT-Large has ``num_layers=24, d_model=1024, num_heads=16, d_ff=4096``.

    >>> small = BertConfig(num_layers=2, d_model=128, num_heads=2, d_ff=512)
    >>> small.vocab_size
    30522

    Attributes:
        vocab_size: Number of token ids.
        max_length: Maximum number of tokens of a sequence.
        num_segments: Number of segment ids: 2, for pairs of sentences.
        num_layers: Number of layers.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        d_ff: Width inside the feed-forward layers.
        dropout: Probability of dropout, on the embeddings, on each sublayer's output and inside the
            feed-forward layers.
        eps: Added to the variance in each normalisation.
        init_std: Standard deviation of the weights before training.
        pad_id: The token id of padding.

    Raises:
        ValueError: A value is out of range, or two values contradict each other.

    Source: Devlin et al. (2019), section 3; chapter "BERT".
    """

    vocab_size: int = 30_522
    max_length: int = 512
    num_segments: int = 2
    num_layers: int = 12
    d_model: int = 768
    num_heads: int = 12
    d_ff: int = 3072
    dropout: float = 0.1
    eps: float = 1e-12
    init_std: float = 0.02
    pad_id: int = 0

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self, zero=["pad_id"], positive=["eps", "init_std"], shares=["dropout"])
        check_divisible(d_model=self.d_model, num_heads=self.num_heads)
        if not 0 <= self.pad_id < self.vocab_size:
            raise ValueError(f"pad_id must lie in 0 to {self.vocab_size - 1}, got {self.pad_id}")


class BertEmbeddings(nn.Module):
    """Embed token, segment and position: three vectors, added and normalised.

    >>> embeddings = BertEmbeddings(BertConfig(vocab_size=9, d_model=8, num_heads=2))
    >>> embeddings(torch.tensor([[1, 5, 3]]), segment_ids=torch.tensor([[0, 0, 1]])).shape
    torch.Size([1, 3, 8])

    Args:
        config: Sizes and choices.

    Attributes:
        tokens: ``TokenEmbedding``, ``(vocab_size, d_model)``.
        segments: ``nn.Embedding``, ``(num_segments, d_model)``.
        positions: ``LearnedPositions``, ``(max_length, d_model)``.
        norm: ``LayerNorm``, with the config's eps.
        dropout: ``nn.Dropout``, with the config's probability.

    Source: Devlin et al. (2019), section 3 and figure 2; chapter "BERT".
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.positions = LearnedPositions(config.max_length, config.d_model)
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        """Embed tokens.

        Args:
            token_ids: ``(batch, length)``, int64 or int32.
            segment_ids: ``(batch, length)``, int64 or int32: 0 for the first sentence, 1 for the
                second; all 0 if None.

        Returns:
            ``(batch, length, d_model)``.

        Raises:
            IndexError: A token id or segment id is out of range.
            TypeError: ``token_ids`` or ``segment_ids`` are neither int64 nor int32.
            ValueError: ``token_ids`` is empty, no matrix, or longer than ``max_length``; or
                ``segment_ids`` is of another shape.
        """
        tokens = self.tokens(token_ids)  # (batch, length, d_model)
        if segment_ids is None:
            segment_ids = torch.zeros_like(token_ids)
        if segment_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"segment_ids must be int64 or int32, got {segment_ids.dtype}")
        if segment_ids.shape != token_ids.shape:
            raise ValueError(
                "segment_ids must have the shape of token_ids, "
                f"{tuple(token_ids.shape)}, got {tuple(segment_ids.shape)}"
            )
        try:
            segments = self.segments(segment_ids)  # (batch, length, d_model)
        except IndexError as error:
            raise IndexError(
                f"segment_ids must lie in 0 to {self.segments.num_embeddings - 1}, "
                f"got {segment_ids.min()} to {segment_ids.max()}"
            ) from error
        embedded = self.positions(tokens + segments)  # (batch, length, d_model)
        return self.dropout(self.norm(embedded))


class Pooler(nn.Module):
    """Return a vector for a whole text: the first token's, through a linear layer and tanh.

    Only training makes the first token, ``[CLS]``, represent the whole text: the heads that read
    its vector send their gradients to it.

    >>> Pooler(8)(torch.randn(2, 5, 8)).shape
    torch.Size([2, 8])

    Args:
        d_model: Width of a token's vector.

    Attributes:
        projection: ``nn.Linear(d_model, d_model)``.

    Source: Devlin et al. (2019), section 3; google-research/bert, modeling.py; chapter "BERT".
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.projection = nn.Linear(d_model, d_model)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return a vector for each text, ``(batch, d_model)``, with entries from -1 to 1.

        ``hidden``, ``(batch, length, d_model)``, are the last layer's vectors.
        """
        first = hidden[:, 0]  # (batch, d_model)
        return torch.tanh(self.projection(first))


def mean_pooling(hidden: Tensor, is_real: Tensor) -> Tensor:
    """Return the mean of each text's token vectors without padding, ``(batch, d_model)``.

    ``hidden``, ``(batch, length, d_model)``, are the last layer's vectors; ``is_real`` is boolean
    ``(batch, length)``, False at padding, with a True in each row.

    Source: Reimers and Gurevych (2019), section 3.
    """
    weights = is_real[..., None].to(hidden.dtype)  # (batch, length, 1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


class BertOutput(NamedTuple):
    """The vectors that BERT returns for a batch.

    >>> output = BertOutput(hidden=torch.zeros(2, 5, 8), pooled=torch.zeros(2, 8))
    >>> output.hidden.shape
    torch.Size([2, 5, 8])

    Attributes:
        hidden: ``(batch, length, d_model)``, a vector for each token, the last layer's.
        pooled: ``(batch, d_model)``, a vector for each text.
    """

    hidden: Tensor
    pooled: Tensor


class BertModel(nn.Module):
    """Embeddings, a post-norm encoder, and a vector for the whole text; no head yet.

    Every token sees every other, to its left and to its right: there is no causal mask. The
    original also drops attention weights in training, and nothing inside the feed-forward layers.

    >>> config = BertConfig(vocab_size=9, num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> output = BertModel(config)(torch.tensor([[1, 5, 3], [1, 7, 0]]))  # 0 is padding
    >>> output.hidden.shape, output.pooled.shape
    (torch.Size([2, 3, 8]), torch.Size([2, 8]))

    Args:
        config: Sizes and choices.

    Attributes:
        embeddings: ``BertEmbeddings``.
        encoder: ``Encoder``, post-norm.
        pooler: ``Pooler``.

    Source: Devlin et al. (2019), section 3; chapter "BERT".
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            config.num_layers,
            config.d_model,
            config.num_heads,
            config.d_ff,
            norm_position="post",
            dropout=config.dropout,
            activation="gelu",
            eps=config.eps,
        )
        self.pooler = Pooler(config.d_model)
        init_weights(self, config.init_std)

    def forward(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> BertOutput:
        """Return a vector for each token, and one for each text.

        Token ids, each row beginning with ``[CLS]``, and segment ids are those of
        ``BertEmbeddings.forward``, with the same errors. ``mask`` is boolean, ``(batch or 1,
        num_heads or 1, length or 1, length or 1)``; if it is None, tokens attend to all tokens but
        ``pad_id``. An attention mask as ``segment_ids`` is a ValueError: it is the second argument
        of Hugging Face's models.
        """
        embedded, mask = self._embed(token_ids, segment_ids, mask)  # (batch, length, d_model)
        hidden = self.encoder(embedded, mask)  # (batch, length, d_model)
        return BertOutput(hidden=hidden, pooled=self.pooler(hidden))

    def hidden_states(
        self, token_ids: Tensor, segment_ids: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Return the vectors after each layer; the arguments are those of ``forward``.

        They are ``num_layers + 1`` tensors ``(batch, length, d_model)``: the embeddings, then each
        layer's output; the last is ``forward``'s ``hidden``.
        """
        embedded, mask = self._embed(token_ids, segment_ids, mask)
        states = [embedded]
        for layer in self.encoder.layers:
            states.append(layer(states[-1], mask))
        return tuple(states)

    def _embed(
        self, token_ids: Tensor, segment_ids: Tensor | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return the embeddings, and the given mask; if that is None, one that hides padding."""
        embedded = self.embeddings(token_ids, segment_ids)
        if segment_ids is not None and _is_readable(token_ids):
            is_real = token_ids != self.config.pad_id
            if torch.equal(segment_ids == 1, is_real):
                raise ValueError(
                    "segment_ids must be 0 in each row's first sentence, got 1 at each token and 0 "
                    "at padding: leave attention masks out, since padding is hidden already"
                )
        return embedded, padding_mask(token_ids, self.config.pad_id) if mask is None else mask


def _is_readable(tensor: Tensor) -> bool:
    """Return False in a compiler and while a CUDA graph is recorded: no value can be read there."""
    is_recording = tensor.is_cuda and torch.cuda.is_current_stream_capturing()
    return not is_recording and not torch.compiler.is_compiling()


def init_weights(model: nn.Module, std: float) -> None:
    """Draw a model's weights as BERT does, with standard deviation ``std``; set biases to zero.

    Source: google-research/bert, modeling.py, which also draws weights beyond two ``std`` again.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding | LearnedPositions):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
