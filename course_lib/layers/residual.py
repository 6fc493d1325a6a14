"""Residual connections, with pre-norm or post-norm.

Dimensions: ... stands for any leading dimensions (batch, length); d_model.
"""

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from torch import Tensor, nn

NormPosition = Literal["pre", "post"]
"""``post`` normalises the sum, as the first Transformer and BERT do; ``pre`` normalises a
sublayer's input and leaves the sum as it is, as GPT-2 and most later models do."""


class Residual(nn.Module):
    """Add a sublayer's output to its input.

    ``post``: ``norm(x + dropout(sublayer(x)))``. ``pre``: ``x + dropout(sublayer(norm(x)))``.

    >>> import torch
    >>> residual = Residual(nn.LayerNorm(4), norm_position="pre")
    >>> residual(torch.ones(2, 4), sublayer=torch.zeros_like)
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])

    Args:
        norm: The normalisation, such as ``LayerNorm(d_model)``.
        norm_position: ``pre`` or ``post``.
        dropout: Probability of dropout, on the sublayer's output.

    Raises:
        ValueError: ``norm_position`` is unknown, or ``dropout`` is not from 0 to 1.

    Source: He et al. (2016) for the residual; Vaswani et al. (2017), section 3.1, for post-norm;
        Xiong et al. (2020) for pre-norm; chapter "Residual connections".
    """

    def __init__(
        self, norm: nn.Module, *, norm_position: NormPosition, dropout: float = 0.0
    ) -> None:
        super().__init__()
        check_norm_position(norm_position)
        self.norm = norm
        self.norm_position = norm_position
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run a sublayer on ``x`` and add its output; both are ``(..., d_model)``, as the sum."""
        if self.norm_position == "pre":
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def final_norm(norm: nn.Module, norm_position: NormPosition) -> nn.Module:
    """Return ``norm`` after pre-norm layers, the identity after post-norm layers.

    The output of post-norm layers is normalised already; the sum of pre-norm sublayers is not.
    """
    check_norm_position(norm_position)
    return norm if norm_position == "pre" else nn.Identity()


class LayerStack(nn.Module):
    """Layers one after the other, called as ``layer(x, *rest, **settings)``; then a normalisation.

    ``layers`` holds them first to last, and ``norm`` is the normalisation or the identity, as
    ``final_norm`` returns it.

    >>> import torch
    >>> stack = LayerStack([nn.Linear(4, 4), nn.Linear(4, 4)], nn.LayerNorm(4))
    >>> stack(torch.randn(3, 4)).shape
    torch.Size([3, 4])

    Source: chapter "Residual connections".
    """

    def __init__(self, layers: Iterable[nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, x: Tensor, *rest: Tensor | None, **settings: Tensor | None) -> Tensor:
        """Run the layers on ``(batch, len, d_model)``; the result has the same shape.

        Each layer gets the further arguments too, such as a memory and masks.
        """
        for layer in self.layers:
            x = layer(x, *rest, **settings)
        return self.norm(x)


def check_norm_position(norm_position: str) -> None:
    """Raise a ValueError if a position is neither ``pre`` nor ``post``."""
    if norm_position not in get_args(NormPosition):
        raise ValueError(f"norm_position must be 'pre' or 'post', got {norm_position!r}")
