"""The parts of a diagram: boxes in rows and columns, wires between them, frames around them."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["block", "stack", "norm", "operation", "data", "title", "tensor", "junction"]
Role = Literal[
    "", "query", "key", "value", "mask", "encoder", "decoder", "truth", "prediction"
]  # fmt: skip
Side = Literal["top", "bottom", "left", "right"]


@dataclass(frozen=True, kw_only=True)
class About:
    """The targets of a box's links: a section of the book, and code of ``course_lib``."""

    section: str = ""  # label of the section that explains it
    code: str = ""  # full name of its class or function in ``course_lib``
    name: str = ""  # its name, if its label is only a sign


@dataclass(frozen=True, kw_only=True)
class Box:
    r"""One box."""

    id: str  # its name in wires and frames
    text: str = ""  # its label; ``\n`` breaks the line, ``$h_{t-1}$`` is mathematics
    row: float  # counted from below, from 0; a fraction lies in the gap above that row
    column: float  # counted from the left in the same way
    columns: int = 1  # the number of columns that it fills
    # ``block`` has parameters, ``stack`` is several of them side by side, ``norm`` is a slim
    # block, ``operation`` a circle, ``data`` bare text, ``title`` larger text, ``tensor`` a
    # row of cells, and at a ``junction`` wires split or turn
    kind: Kind = "block"
    role: Role = ""  # its colour in the book's palette
    ports: tuple[str, ...] = ()  # names along its lower edge, where wires enter: Q, K, V
    cells: int = 0  # number of cells of a tensor
    marked: tuple[int, ...] = ()  # the filled cells
    negative: tuple[int, ...] = ()  # the grey cells
    about: About = About()  # the targets of its links


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A line from one box to another, with an arrow unless it ends at a junction."""

    source: str  # id of the box where it starts
    target: str  # id of the box where it ends
    leave: Side = "top"  # the side of the source
    enter: Side = "bottom"  # the side of the target
    # the place on that side: 0 is left or top, 1 right or bottom. By default the place
    # without a turn, or the middle
    leave_at: float | None = None
    enter_at: float | None = None  # the same for the target
    bend: float | None = None  # distance of its turn from its start, or, if negative, from its end
    around: str = ""  # id of a box that it passes, if it leaves and enters on the same side
    role: Role = ""  # its colour and dashes
    label: str = ""  # a few letters beside it


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame around boxes and the wires between them."""

    boxes: tuple[str, ...]  # ids of the boxes
    label: str = ""  # text above it, such as ``N×``
    side: Literal["left", "right"] = "left"  # the end at which the label stands
    role: Role = ""  # its colour


@dataclass(kw_only=True)
class Diagram:
    """A diagram as data."""

    title: str  # its name
    description: str  # its content in words, for readers who don't see it
    boxes: list[Box]  # all boxes; later ones are drawn above earlier ones
    wires: list[Wire]  # all wires
    frames: list[Frame]  # all frames; outer ones first
    row_gap: float = 18  # space between two rows, in units: a letter is 14 units high
    column_gap: float = 36  # space between two columns
