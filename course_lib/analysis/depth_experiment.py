"""Signal propagation in depth: activations and gradients of layers stacked in four ways.

Dimensions: batch; length (tokens); d_model; num_layers. A layer has two sublayers, attention and
feed-forward.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions
from course_lib.layers.residual import Residual, final_norm
from course_lib.validation import check_fields

Stacking = Literal["plain", "residual", "post", "pre"]
"""``plain``: f(x). ``residual``: x + f(x). ``post``: norm(x + f(x)). ``pre``: x + f(norm(x))."""


@dataclass(frozen=True, kw_only=True)
class DeepReaderConfig:
    """Sizes of a ``DeepReader``.

    >>> DeepReaderConfig(stacking="pre", num_layers=4).d_model
    32

    Attributes:
        stacking: How a sublayer's input and output combine, see ``Stacking``.
        num_layers: Number of layers, two sublayers each.
        d_model: Width of a token's vector; divisible by ``num_heads``.
        num_heads: Number of attention heads.
        vocab_size: Number of token ids.
        max_length: Longest sequence (tokens).
    """

    stacking: Stacking
    num_layers: int
    d_model: int = 32
    num_heads: int = 2
    vocab_size: int = 18
    max_length: int = 8

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self)


class DeepReader(nn.Module):
    """A deep stack of layers that predicts a token at each position.

    Matrices are initialised by Glorot's method and biases with zero, so two readers of the same
    seed differ in their stacking alone.

    >>> reader = DeepReader(DeepReaderConfig(stacking="pre", num_layers=4))
    >>> reader(torch.tensor([[3, 7, 5], [4, 2, 9]])).shape
    torch.Size([2, 3, 18])

    Args:
        config: Sizes and stacking.

    Attributes:
        sublayers: ``MultiHeadAttention`` and ``FeedForward`` in turn.
        residuals: A ``Residual`` for each sublayer with ``post`` and ``pre``; otherwise empty.

    Source: He et al. (2016); Xiong et al. (2020); chapter "Residual connections".
    """

    def __init__(self, config: DeepReaderConfig) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        self.positions = LearnedPositions(config.max_length, d_model)
        nn.init.normal_(self.positions.weight)  # as large as the embeddings
        self.sublayers = nn.ModuleList()
        for _ in range(config.num_layers):
            self.sublayers += [
                MultiHeadAttention(d_model, config.num_heads),
                FeedForward(d_model, 4 * d_model),
            ]
        self.residuals = nn.ModuleList()
        self.norm: nn.Module = nn.Identity()
        if config.stacking == "pre" or config.stacking == "post":
            self.residuals += [
                Residual(LayerNorm(d_model), norm_position=config.stacking) for _ in self.sublayers
            ]
            self.norm = final_norm(LayerNorm(d_model), config.stacking)
        self.output_projection = nn.Linear(d_model, config.vocab_size)
        for parameter in self.sublayers.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Return logits ``(batch, length, vocab_size)`` for token ids ``(batch, length)``."""
        return self.output_projection(self.norm(self.stream(token_ids)[-1]))

    def stream(self, token_ids: Tensor) -> list[Tensor]:
        """Return the embeddings, then the stack's output after each sublayer.

        All are ``(batch, length, d_model)``; the input is token ids ``(batch, length)``.
        """
        x = self.positions(self.embedding(token_ids))
        passed = [x]
        for index, sublayer in enumerate(self.sublayers):
            run = _as_function(sublayer)
            if self.config.stacking == "plain":
                x = run(x)
            elif self.config.stacking == "residual":
                x = x + run(x)
            else:
                x = self.residuals[index](x, run)
            passed.append(x)
        return passed


def take_small_steps(reader: DeepReader) -> DeepReader:
    """Multiply the last matrix of each of the n sublayers by 1 / sqrt(n), and return the reader.

    Source: Radford et al. (2019), section 2.3; chapter "Residual connections".
    """
    with torch.no_grad():
        for sublayer in reader.sublayers:
            if isinstance(sublayer, FeedForward):
                last = sublayer.down_projection
            else:
                assert isinstance(sublayer, MultiHeadAttention)
                last = sublayer.output_projection
            last.weight.mul_(1 / math.sqrt(len(reader.sublayers)))
    return reader


@dataclass(frozen=True)
class DepthProfile:
    """Sizes of activations and of gradients in a stack, layer by layer.

    >>> DepthProfile(sizes=(1.0, 1.5, 2.5), gradients=(0.2, 0.1)).sizes[-1]
    2.5

    Attributes:
        sizes: Root mean square of the activations: of the embeddings, then after each layer;
            ``num_layers + 1`` numbers.
        gradients: For each layer the norm of the loss's gradient at the first matrix of its
            feed-forward sublayer; ``num_layers`` numbers.
    """

    sizes: tuple[float, ...]
    gradients: tuple[float, ...]


def measure_depth(
    reader: DeepReader, token_ids: Tensor, compute_loss: Callable[[Tensor], Tensor]
) -> DepthProfile:
    """Run token ids ``(batch, length)`` forward, backpropagate a loss, and measure each layer.

    ``compute_loss`` maps logits ``(batch, length, vocab_size)`` to a scalar.

    Source: chapter "Residual connections".
    """
    reader.zero_grad()
    passed = reader.stream(token_ids)
    compute_loss(reader.output_projection(reader.norm(passed[-1]))).backward()
    sizes = tuple(float(x.detach().square().mean().sqrt()) for x in passed[::2])
    gradients = []
    for layer in list(reader.sublayers)[1::2]:
        assert isinstance(layer, FeedForward)
        gradient = layer.up_projection.weight.grad
        gradients.append(0.0 if gradient is None else float(gradient.norm()))
    reader.zero_grad()
    return DepthProfile(sizes, tuple(gradients))


def _as_function(sublayer: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return a function of one tensor: the sublayer, or attention from the tensor to itself."""
    if isinstance(sublayer, MultiHeadAttention):
        return lambda x: torch.as_tensor(sublayer(x, x, x))
    return sublayer
