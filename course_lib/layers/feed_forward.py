"""Position-wise feed-forward layers, plain and gated: each token's vector by itself.

Dimensions: ... stands for any leading dimensions (batch, length); d_model; d_ff, the wider inside.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.validation import check_at_least

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
"""``relu`` is max(0, x); ``gelu`` is x times the normal distribution function of x, ``gelu_tanh``
its approximation, with which GPT-2 was trained; ``silu`` is x times the logistic function of x."""

_FUNCTIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """Widen each token's vector, apply a function, narrow it again: ``W2 f(W1 x + b1) + b2``.

    >>> import torch
    >>> layer = FeedForward(d_model=4, d_ff=16, activation="gelu")
    >>> layer(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 4])

    Args:
        d_model: Width of input and output.
        d_ff: Width inside; the Transformer's is ``4 * d_model``.
        activation: The nonlinear function f; without one, two matrices would equal one.
        dropout: Probability of dropout, on the inner activations.
        bias: Whether the projections have biases.

    Attributes:
        up_projection: ``nn.Linear(d_model, d_ff)``.
        down_projection: ``nn.Linear(d_ff, d_model)``.

    Raises:
        ValueError: A size is not positive, ``activation`` is unknown, or ``dropout`` is not
            from 0 to 1.

    Source: Vaswani et al. (2017), section 3.3, equation 2; Hendrycks and Gimpel (2016) for GELU;
        chapter "Feed-forward layers".
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model, d_ff=d_ff)
        self.activation = _function(activation)
        self.up_projection = nn.Linear(d_model, d_ff, bias=bias)
        self.down_projection = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each vector of ``(..., d_model)``; the result has the same shape."""
        inner = self.activation(self.up_projection(x))  # (..., d_ff)
        return self.down_projection(self.dropout(inner))  # (..., d_model)


class GatedFeedForward(nn.Module):
    """A feed-forward layer in which one projection gates the other: ``W3 (f(W1 x) * W2 x)``.

    With ``silu`` it is SwiGLU, the layer of Llama; with ``gelu`` or ``gelu_tanh`` GeGLU. With
    ``d_ff`` of 8/3 ``d_model`` its three matrices have as many parameters as the two of a
    ``FeedForward`` with ``d_ff`` of 4 ``d_model``.

    >>> import torch
    >>> layer = GatedFeedForward(d_model=4, d_ff=10)
    >>> layer(torch.randn(2, 3, 4)).shape
    torch.Size([2, 3, 4])

    Args:
        d_model: Width of input and output.
        d_ff: Width inside.
        activation: The function f, applied to the gate.
        bias: Whether the projections have biases.

    The projections are ``gate_projection`` W1, ``up_projection`` W2 and ``down_projection`` W3.

    Raises:
        ValueError: A size is not positive, or ``activation`` is unknown.

    Source: Shazeer (2020), equations 5 and 6; Dauphin et al. (2017) for the gate.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: Activation = "silu", bias: bool = False
    ) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model, d_ff=d_ff)
        self.activation = _function(activation)
        self.gate_projection = nn.Linear(d_model, d_ff, bias=bias)
        self.up_projection = nn.Linear(d_model, d_ff, bias=bias)
        self.down_projection = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each vector of ``(..., d_model)``; the result has the same shape."""
        gate = self.activation(self.gate_projection(x))  # (..., d_ff)
        return self.down_projection(gate * self.up_projection(x))  # (..., d_model)


def _function(activation: Activation) -> Callable[[Tensor], Tensor]:
    """Return the activation function with this name; an unknown name is a ValueError."""
    if activation not in _FUNCTIONS:
        raise ValueError(f"activation must be one of {tuple(_FUNCTIONS)}, got {activation}")
    return _FUNCTIONS[activation]
