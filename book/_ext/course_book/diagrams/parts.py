"""What a diagram consists of, checked: boxes in rows and columns, wires, frames."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["block", "stack", "norm", "operation", "data", "title", "tensor", "junction"]
Role = Literal[
    "", "query", "key", "value", "mask", "encoder", "decoder", "truth", "prediction"
]  # fmt: skip
Side = Literal["top", "bottom", "left", "right"]


def _require(known: bool, message: str) -> None:
    if not known:
        raise ValueError(message)


@dataclass(frozen=True, kw_only=True)
class About:
    """What a box is, for those who ask.

    Attributes:
        section: Label of the section that explains it.
        code: Full name of the class or function of ``course_lib`` that it is.
        name: What it is called where its label is a mere sign.
    """

    section: str = ""
    code: str = ""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Box:
    r"""One thing in a diagram.

    Attributes:
        id: Its name in wires and frames.
        text: Its label; ``\n`` breaks it, ``$h_{t-1}$`` is mathematics.
        row: From below, starting at 0; a fraction lies in the gap above that row.
        column: From the left, in the same way.
        columns: How many columns it fills.
        kind: ``block`` computes with parameters, ``stack`` is several of them side by side,
            ``norm`` is a slim block, ``operation`` a circle, ``data`` bare text, ``title`` larger
            text, ``tensor`` a row of cells, and at a ``junction`` wires part or turn.
        role: Its colour in the book's palette; none for what belongs to no role.
        ports: Names along its lower edge, where wires come in: Q, K, V.
        cells: Of a tensor.
        marked: Which of the cells stand out.
        about: What it is.
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
    about: About = About()

    def __post_init__(self) -> None:
        """Refuse what can't be drawn.

        Raises:
            ValueError: A field is out of range, or belongs to another kind of box.
        """
        name = f"box {self.id!r}"
        _require(bool(self.id), "a box needs an id")
        _require(self.kind in get_args(Kind), f"{name}: unknown kind {self.kind!r}")
        _require(self.role in get_args(Role), f"{name}: unknown role {self.role!r}")
        _require(self.row >= 0 and self.column >= 0, f"{name}: row and column start at 0")
        _require(self.columns >= 1, f"{name}: must fill at least one column, got {self.columns}")
        bare = self.kind in ("tensor", "junction")
        _require(bare != bool(self.text), f"{name}: a {self.kind} has {'no' if bare else 'a'} text")
        _require((self.kind == "tensor") == (self.cells > 0), f"{name}: a tensor alone has cells")
        inside = all(0 <= cell < self.cells for cell in self.marked)
        _require(inside, f"{name}: marks a cell that it has not: {self.marked}")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """What flows from one box into another.

    Attributes:
        source: Where it starts: a box's id.
        target: Where it ends, with an arrow unless that is a junction.
        leave: The side of the source.
        enter: The side of the target.
        leave_at: Where on that side: 0 is left or top, 1 right or bottom. Left out, it is where
            the wire needs no turn, or else the middle.
        enter_at: The same of the target.
        bend: How far from its start it turns, where it has a choice; if negative, from its end.
        around: The id of a box that it passes by, where it leaves and enters on the same side.
        role: Its colour and dashes.
        label: Beside it, in a few letters.
    """

    source: str
    target: str
    leave: Side = "top"
    enter: Side = "bottom"
    leave_at: float | None = None
    enter_at: float | None = None
    bend: float | None = None
    around: str = ""
    role: Role = ""
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse what can't be drawn.

        Raises:
            ValueError: A side or role is unknown, a place lies beside its side, or the wire would
                end where it starts.
        """
        name = f"wire {self.source!r} to {self.target!r}"
        for side in (self.leave, self.enter):
            _require(side in get_args(Side), f"{name}: unknown side {side!r}")
        for place in (self.leave_at, self.enter_at):
            _require(
                place is None or 0 <= place <= 1,
                f"{name}: a place on a side lies from 0 to 1, got {place}",
            )
        _require(self.role in get_args(Role), f"{name}: unknown role {self.role!r}")
        _require(self.source != self.target, f"{name}: needs two boxes")


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame around boxes that belong together.

    Attributes:
        boxes: Their ids; wires between them lie inside, too.
        label: Such as ``N ×``, above it.
        side: At which end the label stands.
        role: The frame's colour.
    """

    boxes: tuple[str, ...]
    label: str = ""
    side: Literal["left", "right"] = "left"
    role: Role = ""


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """A drawing as data.

    Attributes:
        title: Its name, in a few words.
        description: What is seen, for those who don't see it.
        boxes: All boxes; later ones are drawn above earlier ones.
        wires: All wires.
        frames: All frames; outer ones first.
        row_gap: Room between two rows, in units: a letter is 14 units high.
        column_gap: Room between two columns.
    """

    title: str
    description: str
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...] = ()
    frames: tuple[Frame, ...] = ()
    row_gap: float = 18
    column_gap: float = 36

    def __post_init__(self) -> None:
        """Refuse a diagram whose parts don't fit together.

        Raises:
            ValueError: Words are missing, an id is used twice, a wire or frame names no box.
        """
        _require(bool(self.title and self.description), "a diagram needs a title and a description")
        counts = Counter(box.id for box in self.boxes)
        twice = sorted(name for name, count in counts.items() if count > 1)
        _require(not twice, f"{self.title}: ids are used twice: {twice}")
        named = {name for wire in self.wires for name in (wire.source, wire.target)}
        named |= {wire.around for wire in self.wires if wire.around}
        named |= {name for frame in self.frames for name in frame.boxes}
        unknown = sorted(named - counts.keys())
        _require(not unknown, f"{self.title}: there are no boxes {unknown}")
        _require(all(frame.boxes for frame in self.frames), f"{self.title}: a frame is empty")
