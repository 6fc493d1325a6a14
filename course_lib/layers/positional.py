"""Positional encodings: sinusoidal, learned and rotary positions.

Attention treats its keys as a set. Sinusoidal and learned positions are added to the embeddings;
rotary positions turn queries and keys, so that their product depends on distance alone.

Dimensions: batch; length (tokens); d_model; head_dim. The position of the first token is
``offset``: 0, or the number of tokens that a cache already holds.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.validation import check_at_least, check_width

RotaryLayout = Literal["interleaved", "halves"]
"""Which entries of a head are a pair: ``interleaved`` takes 2i and 2i + 1, as the paper does;
``halves`` takes i and i + head_dim / 2, as Llama's weights in Hugging Face's format need it."""


def position_angles(
    positions: Tensor, width: int, *, base: float = 10_000.0, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Return the angles of ``width / 2`` clock hands: ``position / base^(2i / width)``.

    Args:
        positions: ``(length,)``, in tokens from the start.
        width: Twice the number of hands, of which the first, i = 0, is the fastest; even.
        base: The slowest hand takes about ``2 pi base`` tokens a turn.
        dtype: The dtype of the angles, float32 or float64.

    Returns:
        ``(length, width / 2)``, radians.

    Raises:
        ValueError: ``width`` is not positive and even.

    Source: Vaswani et al. (2017), section 3.5; chapter "Positional encoding".
    """
    _check_even("width", width)
    evens = torch.arange(0, width, 2, device=positions.device, dtype=dtype)  # 2i: (width / 2,)
    frequencies = 1 / base ** (evens / width)  # radians a token
    return positions.to(dtype)[:, None] * frequencies  # (length, width / 2)


class SinusoidalPositions(nn.Module):
    """Add sines and cosines of the position: no parameters, and no maximum length.

    Entry 2i of position t is ``sin(t / 10000^(2i / d_model))``, entry 2i + 1 its cosine.

    >>> SinusoidalPositions(2)(torch.zeros(1, 3, 2)).round(decimals=2)
    tensor([[[ 0.0000,  1.0000],
             [ 0.8400,  0.5400],
             [ 0.9100, -0.4200]]])

    Args:
        d_model: Width of the vectors; even.

    Raises:
        ValueError: ``d_model`` is not positive and even.

    Source: Vaswani et al. (2017), section 3.5; chapter "Positional encoding".
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        _check_even("d_model", d_model)
        self.d_model = d_model

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Add to each vector of ``(batch, length, d_model)`` that of its position.

        ``offset`` is the position of the first token; a negative one is a ValueError.
        """
        check_width(x, d_model=self.d_model)
        return x + self.vectors(x.size(1), offset=offset, device=x.device, dtype=x.dtype)

    def vectors(
        self,
        length: int,
        *,
        offset: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Tensor:
        """Return the vectors of the positions from ``offset`` on, ``(length, d_model)``.

        A negative ``offset`` is a ValueError.
        """
        _check_offset(offset)
        positions = torch.arange(offset, offset + length, device=device)
        angles = position_angles(positions, self.d_model, dtype=_exact_enough(dtype))
        pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (length, d_model / 2, 2)
        return pairs.flatten(-2).to(dtype)  # (length, d_model): sin, cos, sin, cos, ...


def shift_matrix(offset: int, d_model: int) -> Tensor:
    """Return the matrix that moves every sinusoidal position vector by the same distance.

    ``p(t + offset) = shift_matrix(offset, d_model) @ p(t)`` for every position t: a linear layer
    can learn to attend to a fixed distance. It turns each pair (sine, cosine) by its own angle. It
    is ``(d_model, d_model)``, float64 and orthogonal. ``offset`` is in tokens, negative to move
    back. A ``d_model`` that is not positive and even is a ValueError.

    Source: Vaswani et al. (2017), section 3.5; chapter "Positional encoding".
    """
    _check_even("d_model", d_model)
    angles = position_angles(torch.tensor([offset]), d_model)[0]  # (d_model / 2,)
    sin, cos = angles.sin(), angles.cos()
    # sin(a + b) = cos(b) sin(a) + sin(b) cos(a);  cos(a + b) = -sin(b) sin(a) + cos(b) cos(a)
    blocks = torch.stack((cos, sin, -sin, cos), dim=-1).view(-1, 2, 2)  # (d_model / 2, 2, 2)
    return torch.block_diag(*blocks)  # (d_model, d_model)


class LearnedPositions(nn.Module):
    """Add a learned vector for each position, up to a longest sequence.

    >>> positions, x = LearnedPositions(max_length=10, d_model=4), torch.zeros(2, 3, 4)
    >>> torch.equal(positions(x, offset=5)[0], positions.weight[5:8])
    True

    Args:
        max_length: Number of positions (tokens).
        d_model: Width of the vectors.

    Attributes:
        weight: ``(max_length, d_model)``, one row a position.

    Raises:
        ValueError: A size is not positive.

    Source: Gehring et al. (2017), section 3.1; chapter "Positional encoding".
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        check_at_least(1, max_length=max_length, d_model=d_model)
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(
        self, x: Tensor, *, offset: int | Tensor = 0, padding: Tensor | None = None
    ) -> Tensor:
        """Add to each vector that of its position.

        Args:
            x: ``(batch, length, d_model)``.
            offset: Position of the first token; an int64 tensor ``(1,)``, which is not checked, if
                a compiled step must not depend on the number.
            padding: Number of padding tokens at the beginning of each row, int64 ``(batch,)``;
                positions count from the token after them. None without padding.

        Returns:
            ``(batch, length, d_model)``.

        Raises:
            ValueError: ``offset`` is negative, or a position, padding counted, is not below
                ``max_length``; or ``x`` or ``padding`` has another shape.
        """
        max_length, d_model = self.weight.shape
        check_width(x, d_model=d_model)
        if padding is not None and padding.shape != x.shape[:1]:
            raise ValueError(f"padding must have shape ({x.size(0)},), got {tuple(padding.shape)}")
        length = x.size(1)
        if not isinstance(offset, Tensor):
            _check_offset(offset)
            if offset + length > max_length:
                raise ValueError(
                    f"positions end at max_length={max_length}, got a sequence of {offset + length}"
                )
            if padding is None:
                return x + self.weight[offset : offset + length]
        positions = offset + torch.arange(length, device=x.device)  # (length,)
        if padding is not None:
            positions = (positions - padding[:, None]).clamp(min=0)  # (batch, length)
        return x + self.weight[positions]


class RotaryPositions(nn.Module):
    """Turn queries and keys by their positions, pair by pair of their entries.

    Entries 2i and 2i + 1 are a point in the plane, which position t turns by the angle
    ``t / base^(2i / head_dim)``. The product of a turned query and a turned key depends on their
    distance, not on their positions. In the layout ``halves`` the pairs are entries i and
    i + head_dim / 2.

    >>> rotary, x = RotaryPositions(head_dim=4), torch.randn(3, 4)  # three queries
    >>> turned = rotary(x, offset=7)
    >>> torch.allclose(turned.norm(dim=-1), x.norm(dim=-1))
    True

    Args:
        head_dim: Width of the queries and keys of a head; even.
        base: The slowest pair takes about ``2 pi base`` tokens a turn.
        layout: Which entries are a pair.

    Raises:
        ValueError: ``head_dim`` is not positive and even, ``base`` not above 1, or ``layout``
            unknown.

    Source: Su et al. (2021), section 3.4.2, equation 34; chapter "Positional encoding".
    """

    def __init__(
        self, head_dim: int, *, base: float = 10_000.0, layout: RotaryLayout = "interleaved"
    ) -> None:
        super().__init__()
        _check_even("head_dim", head_dim)
        if base <= 1:
            raise ValueError(f"base must be above 1, got {base}")
        if layout not in get_args(RotaryLayout):
            raise ValueError(f"layout must be one of {get_args(RotaryLayout)}, got {layout!r}")
        self.head_dim = head_dim
        self.base = base
        self.layout = layout
        self._last: tuple[object, tuple[Tensor, Tensor]] | None = None

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Turn each vector of ``(..., length, head_dim)`` by its position; its norm stays.

        ``offset`` is the position of the first token; a negative one is a ValueError.
        """
        _check_offset(offset)
        check_width(x, head_dim=self.head_dim)
        sin, cos = self._last_sines(x, offset)  # (length, head_dim / 2)
        if self.layout == "halves":
            first, second = x.chunk(2, dim=-1)  # (..., length, head_dim / 2) each
            return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
        first, second = x[..., 0::2], x[..., 1::2]  # (..., length, head_dim / 2) each
        if x.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
            # The same, faster: a point turned is a product of two complex numbers.
            turned = torch.view_as_real(torch.complex(first, second) * torch.complex(cos, sin))
        else:
            turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
        return turned.flatten(-2)  # (..., length, head_dim)

    def _last_sines(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        """Return the result of ``_sines``, kept from the last call if its arguments were alike.

        All layers ask for the same sines, for queries and for keys. A compiler finds repeated
        computations by itself, and tensors of ``torch.func`` are invalid after its call.
        """
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return self._sines(x, offset)
        asked = (offset, x.size(-2), x.dtype, x.device, type(x), torch.is_inference_mode_enabled())
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._sines(x, offset)
        return self._last[1]

    def _sines(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        """Return the angles' sines and cosines, each with a row a position and a column a pair."""
        positions = torch.arange(offset, offset + x.size(-2), device=x.device)
        angles = position_angles(
            positions, self.head_dim, base=self.base, dtype=_exact_enough(x.dtype)
        )
        return angles.sin().to(x.dtype), angles.cos().to(x.dtype)


def _exact_enough(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype for angles: ``dtype``, or float32 if that is half precision."""
    return torch.promote_types(dtype, torch.float32)


def _check_even(name: str, width: int) -> None:
    """Raise an error that names a width unless it is an even, positive int."""
    if not isinstance(width, int):
        raise TypeError(f"{name} must be of type int, got {width!r}")
    if width < 2 or width % 2 != 0:
        raise ValueError(f"{name} must be positive and even, got {width}")


def _check_offset(offset: int) -> None:
    if offset < 0:
        raise ValueError(f"offset must not be negative, got {offset}")
