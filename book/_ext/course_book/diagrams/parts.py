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
    """The targets of a box's links.

    Attributes:
        section: Label of the section of the book that explains the box.
        code: Full name of its class or function in ``course_lib``.
        name: Its accessible name, if its label is only a sign.
    """

    section: str = ""
    code: str = ""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Box:
    r"""A box, a circle, a text, a row of cells, or a junction of wires.

    Attributes:
        id: Its name in wires and frames.
        text: Its label; ``\n`` breaks the line, ``$h_{t-1}$`` is mathematics.
        row: Index of its row, from below; a fraction lies in the gap above that row.
        column: Index of its column, from the left; a fraction lies in the gap after it.
        columns: The number of columns that it fills.
        kind: ``block`` has parameters, ``stack`` is several blocks side by side, ``norm`` a slim
            block, ``operation`` a circle, ``data`` bare text, ``title`` larger text, ``tensor`` a
            row of cells; at a ``junction`` wires split or turn.
        role: Its colour in the book's palette.
        ports: Names along its lower edge, where wires enter: Q, K, V.
        cells: Number of cells of a tensor.
        marked: Indices of the filled cells.
        negative: Indices of the grey cells.
        about: The targets of its links.
    """

    id: str
    text: str = ""
    row: float
    column: float
    columns: int = 1
    kind: Kind = "block"
    role: Role = ""
    ports: tuple[str, ...] = ()
    cells: int = 0
    marked: tuple[int, ...] = ()
    negative: tuple[int, ...] = ()
    about: About = About()


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A line from one box to another, with an arrow unless it ends at a junction.

    Attributes:
        source: Id of the box where it starts.
        target: Id of the box where it ends.
        leave: The side of the source where it starts.
        enter: The side of the target where it ends.
        enter_at: The point on that side, from 0 (left or top) to 1; None for the point that needs
            no turn, or else the middle.
        bend: Distance of its turn from its start or, if negative, from its end, in units.
        around: Id of a box that it passes, if it leaves and enters on the same side.
        role: Its colour and dashes.
        label: A few letters beside it.
    """

    source: str
    target: str
    leave: Side = "top"
    enter: Side = "bottom"
    enter_at: float | None = None
    bend: float | None = None
    around: str = ""
    role: Role = ""
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame around boxes (their ids) and the wires between them.

    ``label`` is a text above its left or right end (``side``), such as ``N×``.
    """

    boxes: tuple[str, ...]
    label: str = ""
    side: Literal["left", "right"] = "left"
    role: Role = ""


@dataclass(kw_only=True)
class Diagram:
    """A diagram as data.

    Attributes:
        title: Its title.
        description: Its content in words, for readers who don't see it.
        boxes: All boxes; later ones are drawn above earlier ones.
        wires: All wires.
        frames: All frames, outer ones first.
        row_gap: Space between two rows, in units: a letter is 14 units high.
        column_gap: Space between two columns, in units.
    """

    title: str
    description: str
    boxes: list[Box]
    wires: list[Wire]
    frames: list[Frame]
    row_gap: float = 18
    column_gap: float = 36
