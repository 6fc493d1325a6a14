"""Layer normalisation and RMS normalisation: each token's vector by itself.

Dimensions: ... stands for any leading dimensions (batch, length); d_model is the last, and the only
one that is averaged over: no token sees another, nor another sentence of the batch.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.validation import check_at_least, check_width


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    """Shift and scale each vector to mean 0 and variance 1, then to a learned bias and weight.

    This is the formula written out. ``LayerNorm`` computes the same in one kernel.

    Args:
        x: ``(..., d_model)``, floating point.
        weight: ``(d_model,)``.
        bias: ``(d_model,)``.
        eps: Added to the variance, under the root, so that a constant vector divides by no
            zero.

    Returns:
        ``(..., d_model)``, of the dtype of ``x``.

    Source: Ba et al. (2016), equation 4; chapter "Layer normalisation".
    """
    check_width(x, d_model=weight.numel())
    dtype = x.dtype
    x = x.to(torch.promote_types(dtype, torch.float32))  # float16 cannot hold the square of 300
    mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)  # (..., 1), divided by d_model
    return ((x - mean) / torch.sqrt(variance + eps) * weight + bias).to(dtype)


def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    """Scale each vector to a mean square of 1, then by a learned weight; do not shift the mean.

    Shapes and dtypes are those of ``layer_norm``; ``eps`` is added to the mean square, under the
    root. This is the formula written out. ``RMSNorm`` computes the same in one kernel.

    Source: Zhang and Sennrich (2019), equation 4; chapter "Layer normalisation".
    """
    check_width(x, d_model=weight.numel())
    dtype = x.dtype
    x = x.to(torch.promote_types(dtype, torch.float32))  # float16 cannot hold the square of 300
    mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return (x / torch.sqrt(mean_square + eps) * weight).to(dtype)


class LayerNorm(nn.Module):
    """Layer normalisation with its own weight and bias; see ``layer_norm`` for the formula.

    >>> LayerNorm(4)(torch.tensor([[1.0, 1.0, 3.0, 3.0]])).round(decimals=2)
    tensor([[-1., -1.,  1.,  1.]], grad_fn=<RoundBackward1>)

    Args:
        d_model: Width of the vectors.
        eps: Added to the variance, under the root.

    Attributes:
        weight: ``(d_model,)``, starts at 1.
        bias: ``(d_model,)``, starts at 0.

    Raises:
        ValueError: ``d_model`` or ``eps`` is not positive.

    Source: Ba et al. (2016), equation 4; chapter "Layer normalisation".
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model)
        _check_eps(eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each vector of ``(..., d_model)``; the result has the same shape."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """Root-mean-square normalisation with its own weight; see ``rms_norm`` for the formula.

    Arguments, attributes and errors are those of ``LayerNorm``, without the bias.

    >>> RMSNorm(2)(torch.tensor([[3.0, 3.0], [0.0, -8.0]])).round(decimals=2)
    tensor([[ 1.0000,  1.0000],
            [ 0.0000, -1.4100]], grad_fn=<RoundBackward1>)

    Source: Zhang and Sennrich (2019), equation 4; chapter "Layer normalisation".
    """

    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model)
        _check_eps(eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each vector of ``(..., d_model)``; the result has the same shape."""
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def _check_eps(eps: float) -> None:
    if eps <= 0:
        raise ValueError(f"eps must be positive, got {eps}")
