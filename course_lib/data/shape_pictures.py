"""Pictures of coloured shapes, drawn by formula, so that their content is known.

A picture is ``(3, SIDE, SIDE)``, float32: red, green and blue from 0 to 1.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

SIDE = 32
KINDS = ("circle", "square", "triangle", "cross")
COLORS = {
    "red": (0.85, 0.15, 0.15),
    "green": (0.10, 0.60, 0.25),
    "blue": (0.10, 0.35, 0.85),
    "yellow": (0.95, 0.85, 0.20),
    "purple": (0.55, 0.20, 0.65),
    "white": (0.97, 0.97, 0.97),
}
SIZES = {"small": 3.0, "large": 5.5}
"""Radius in pixels: how far a shape reaches from its centre."""

_BACKGROUND = 0.5
_NOISE = 0.03  # standard deviation of the brightness of each pixel


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape of a picture.

    >>> circle = Shape(kind="circle", color="red", size="small", row=10.0, column=20.0)
    >>> render((circle,))[:, 10, 20]
    tensor([0.8500, 0.1500, 0.1500])

    Attributes:
        kind: One of ``KINDS``.
        color: One of ``COLORS``.
        size: One of ``SIZES``.
        row: Position of its centre (pixels from the top).
        column: Position of its centre (pixels from the left).
    """

    kind: str
    color: str
    size: str
    row: float
    column: float

    def __post_init__(self) -> None:
        """Check kind, colour and size."""
        for name, allowed in (("kind", KINDS), ("color", COLORS), ("size", SIZES)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                )


Scene = tuple[Shape, Shape]
"""Two shapes side by side or one above the other, which do not touch."""


def draw_scene(generator: torch.Generator) -> Scene:
    """Draw two different shapes at random, clearly side by side or one above the other.

    Their centres are at least 11.5 pixels apart along one axis, and at most 5 along the other.
    """

    def choose(options: tuple[str, ...]) -> str:
        return options[int(torch.randint(len(options), (), generator=generator))]

    def between(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand((), generator=generator))

    looks: list[tuple[str, str, str]] = []
    while len(looks) < 2:
        look = choose(KINDS), choose(tuple(COLORS)), choose(tuple(SIZES))
        if look not in looks:
            looks.append(look)
    middle = between(8.5, SIDE - 8.5)
    places = [
        (between(6.0, 10.0), middle + between(-2.5, 2.5)),
        (between(SIDE - 10.5, SIDE - 6.5), middle + between(-2.5, 2.5)),
    ]
    if choose(("side by side", "one above the other")) == "side by side":
        places = [(across, along) for along, across in places]
    if choose(("as they are", "swapped")) == "swapped":
        places.reverse()
    first, second = (
        Shape(kind=kind, color=color, size=size, row=row, column=column)
        for (kind, color, size), (row, column) in zip(looks, places, strict=True)
    )
    return first, second


def render(scene: tuple[Shape, ...], generator: torch.Generator | None = None) -> Tensor:
    """Paint shapes on a grey background, later ones over earlier ones.

    Return the picture ``(3, SIDE, SIDE)``, from 0 to 1. Pixels within half a pixel of an edge mix
    both colours. With a generator add noise.
    """
    picture = torch.full((3, SIDE, SIDE), _BACKGROUND)
    centres = torch.arange(SIDE) + 0.5  # of the pixels
    for shape in scene:
        y = (centres - shape.row)[:, None].expand(SIDE, SIDE)
        x = (centres - shape.column)[None, :].expand(SIDE, SIDE)
        inside = (0.5 - _signed_distance(shape.kind, x, y, SIZES[shape.size])).clamp(0, 1)
        color = torch.tensor(COLORS[shape.color])[:, None, None]
        picture = picture + inside * (color - picture)  # (3, SIDE, SIDE)
    if generator is not None:
        picture = picture + _NOISE * torch.randn(picture.shape, generator=generator)
    return picture.clamp(0, 1)


def _signed_distance(kind: str, x: Tensor, y: Tensor, radius: float) -> Tensor:
    """Return pixels' distances to a shape's edge, negative inside; outside they may be too small.

    ``x`` (to the right) and ``y`` (downwards) are relative to its centre, ``(SIDE, SIDE)``; all are
    in pixels.
    """
    if kind == "circle":
        return (x.square() + y.square()).sqrt() - radius
    if kind == "square":
        return torch.maximum(x.abs(), y.abs()) - radius * 0.85
    if kind == "triangle":  # of equal sides, one corner up, at this distance from the centre
        return torch.maximum(y, math.sqrt(3) / 2 * x.abs() - y / 2) - radius / 2
    assert kind == "cross"
    across = torch.maximum(x.abs() - radius, y.abs() - radius / 3)
    down = torch.maximum(x.abs() - radius / 3, y.abs() - radius)
    return torch.minimum(across, down)
