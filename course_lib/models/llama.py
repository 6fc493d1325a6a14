"""Llama, a decoder of 2023 and later; each of its differences from GPT-2 is a setting.

Dimensions: batch; length (tokens); d_model; num_heads; num_kv_heads; head_dim; d_ff; vocab_size.
Padding comes first in a sequence.
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from course_lib.layers.attention import GroupedQueryAttention
from course_lib.layers.embedding import TokenEmbedding, keep_tied
from course_lib.layers.feed_forward import FeedForward, GatedFeedForward
from course_lib.layers.normalization import LayerNorm, RMSNorm
from course_lib.layers.positional import LearnedPositions, RotaryPositions
from course_lib.layers.residual import NormPosition, Residual, final_norm
from course_lib.models.gpt import DecoderBlock, DecoderLM
from course_lib.validation import check_at_least, check_divisible, check_fields

Biases = Literal["none", "query_key_value", "attention", "all"]
"""Which projections have biases: none; those of queries, keys and values, as in Qwen2; all four of
the attention; or these and those of the feed-forward layers."""


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes and choices of a ``Llama``; the defaults are SmolLM2-135M.

    >>> small = LlamaConfig(d_model=64, num_heads=4, num_kv_heads=2, d_ff=128, num_layers=2)
    >>> small.width_of_head
    16

    Attributes:
        vocab_size: Number of token ids.
        max_length: Maximum number of tokens of a training sequence; learned positions allow no
            longer ones.
        d_model: Width of a token's vector.
        num_heads: Number of query heads; divisible by ``num_kv_heads``.
        num_kv_heads: Number of heads of keys and values, the heads that a cache stores.
        head_dim: Width of a head; ``d_model // num_heads`` if None.
        d_ff: Width inside the feed-forward layers.
        num_layers: Number of layers.
        dropout: Probability of dropout, on the embeddings and on each sublayer's output.
        norm: The normalisation: ``rms`` for ``RMSNorm``, ``layer`` for ``LayerNorm``.
        eps: Added to the denominator of each normalisation.
        norm_position: ``pre`` normalises a sublayer's input, ``post`` the sum after it.
        feed_forward: ``swiglu`` or ``geglu`` for a ``GatedFeedForward``, the activation for a
            ``FeedForward``.
        positions: ``rotary`` turns queries and keys, ``learned`` adds vectors to the embeddings.
        rotary_base: The slowest pair takes about ``2 pi rotary_base`` tokens a turn.
        no_rope_layer_interval: Every n-th layer has no rotary positions, as in SmolLM3; 0 for none.
        query_key_norm: Whether each head's queries and keys are RMS-normalised, as in Qwen3.
        biases: Which projections have biases.
        tied: Whether the output projection is the embedding.

    Raises:
        ValueError: A value is out of range, or two values contradict each other.

    Source: Touvron et al. (2023), section 2.2; Allal et al. (2025) for SmolLM2.
    """

    vocab_size: int = 49_152
    max_length: int = 8192
    d_model: int = 576
    num_heads: int = 9
    num_kv_heads: int = 3
    head_dim: int | None = None
    d_ff: int = 1536
    num_layers: int = 30
    dropout: float = 0.0
    norm: Literal["rms", "layer"] = "rms"
    eps: float = 1e-5
    norm_position: NormPosition = "pre"
    feed_forward: Literal["swiglu", "geglu", "relu", "gelu", "gelu_tanh"] = "swiglu"
    positions: Literal["rotary", "learned"] = "rotary"
    rotary_base: float = 100_000.0
    no_rope_layer_interval: int = 0
    query_key_norm: bool = False
    biases: Biases = "none"
    tied: bool = True

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(
            self,
            zero=["no_rope_layer_interval"],
            positive=["eps", "rotary_base"],
            shares=["dropout"],
        )
        check_divisible(num_heads=self.num_heads, num_kv_heads=self.num_kv_heads)
        if self.head_dim is None:
            check_divisible(d_model=self.d_model, num_heads=self.num_heads)
        else:
            check_at_least(1, head_dim=self.head_dim)
        if self.positions == "rotary":
            RotaryPositions(self.width_of_head, base=self.rotary_base)  # checks both

    @property
    def width_of_head(self) -> int:
        """Width of a head: ``head_dim``, or ``d_model // num_heads`` if that is None."""
        return self.d_model // self.num_heads if self.head_dim is None else self.head_dim


SMOLLM2_135M = LlamaConfig()
SMOLLM2_360M = LlamaConfig(d_model=960, num_heads=15, num_kv_heads=5, d_ff=2560, num_layers=32)
TINYLLAMA_1B = LlamaConfig(
    vocab_size=32_000,
    max_length=2048,
    d_model=2048,
    num_heads=32,
    num_kv_heads=4,
    d_ff=5632,
    num_layers=22,
    rotary_base=10_000.0,
    tied=False,
)
QWEN3_0_6B = LlamaConfig(
    vocab_size=151_936,
    max_length=40_960,
    d_model=1024,
    num_heads=16,
    num_kv_heads=8,
    head_dim=128,
    d_ff=3072,
    num_layers=28,
    eps=1e-6,
    rotary_base=1_000_000.0,
    query_key_norm=True,
)
GPT2 = LlamaConfig(
    vocab_size=50_257,
    max_length=1024,
    d_model=768,
    num_heads=12,
    num_kv_heads=12,
    d_ff=3072,
    num_layers=12,
    dropout=0.1,
    norm="layer",
    feed_forward="gelu_tanh",
    positions="learned",
    biases="all",
)
"""The smallest GPT-2: with this configuration a ``Llama`` is a ``DecoderLM``."""


class LlamaBlock(DecoderBlock):
    """Grouped-query attention and a feed-forward layer, each with its residual.

    >>> import torch
    >>> from course_lib.layers.masks import CausalMask
    >>> config = LlamaConfig(d_model=8, num_heads=2, num_kv_heads=1, d_ff=16)
    >>> LlamaBlock(config, rotary=RotaryPositions(4))(torch.randn(3, 5, 8), CausalMask(5)).shape
    torch.Size([3, 5, 8])

    Args:
        config: Sizes and choices.
        rotary: Rotary positions of queries and keys; None for a layer without them.

    Attributes are those of ``DecoderBlock``, with ``GroupedQueryAttention``, and with the
    feed-forward layer and normalisations that ``config`` names.

    Source: Touvron et al. (2023), section 2.2.
    """

    feed_forward: FeedForward | GatedFeedForward  # type: ignore[assignment] # DecoderBlock's is plain

    def __init__(self, config: LlamaConfig, rotary: RotaryPositions | None) -> None:
        nn.Module.__init__(self)  # DecoderBlock's own would make the sublayers of GPT-2
        self.self_attention = GroupedQueryAttention(
            config.d_model,
            config.num_heads,
            config.num_kv_heads,
            head_dim=config.head_dim,
            bias=config.biases != "none",
            output_bias=config.biases in ("attention", "all"),
            rotary=rotary,
            query_key_norm=config.query_key_norm,
            eps=config.eps,
        )
        self.feed_forward = _feed_forward(config)
        self.attention_residual = _residual(config)
        self.feed_forward_residual = _residual(config)


class Llama(DecoderLM):
    """A ``DecoderLM`` of ``LlamaBlock``: predict the next token after each token.

    >>> import torch
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 4, "num_kv_heads": 2, "d_ff": 16}
    >>> model = Llama(LlamaConfig(**sizes, num_layers=2))
    >>> model(torch.tensor([[1, 5, 3], [1, 7, 2]])).shape
    torch.Size([2, 3, 9])

    Args:
        config: Sizes and choices.

    Attributes are those of ``DecoderLM``; after post-norm layers ``norm`` is the identity.

    Source: Touvron et al. (2023), section 2.2.
    """

    config: LlamaConfig  # type: ignore[assignment] # DecoderLM reads num_layers only

    def __init__(self, config: LlamaConfig) -> None:
        nn.Module.__init__(self)  # DecoderLM's own would make the layers of GPT-2
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        rotary = None
        self.positions = None
        if config.positions == "learned":
            self.positions = LearnedPositions(config.max_length, config.d_model)
        else:
            rotary = RotaryPositions(config.width_of_head, base=config.rotary_base, layout="halves")
        self.dropout = nn.Dropout(config.dropout)
        interval = config.no_rope_layer_interval
        self.layers = nn.ModuleList(
            LlamaBlock(config, None if interval and number % interval == 0 else rotary)
            for number in range(1, config.num_layers + 1)
        )
        self.norm: nn.Module = final_norm(_norm(config), config.norm_position)
        self.output_projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
        keep_tied(self)
        self._initialise()

    def tie_weights(self) -> None:
        """Share the embedding's weight with the output projection if ``config.tied``."""
        if self.config.tied:
            super().tie_weights()


def _norm(config: LlamaConfig) -> nn.Module:
    """Return a new normalisation of the kind that a configuration names."""
    kind = RMSNorm if config.norm == "rms" else LayerNorm
    return kind(config.d_model, eps=config.eps)


def _residual(config: LlamaConfig) -> Residual:
    return Residual(_norm(config), norm_position=config.norm_position, dropout=config.dropout)


def _feed_forward(config: LlamaConfig) -> FeedForward | GatedFeedForward:
    sizes, bias = (config.d_model, config.d_ff), config.biases == "all"
    if config.feed_forward == "swiglu":
        return GatedFeedForward(*sizes, activation="silu", bias=bias)
    if config.feed_forward == "geglu":
        return GatedFeedForward(*sizes, activation="gelu", bias=bias)
    return FeedForward(*sizes, activation=config.feed_forward, bias=bias)
