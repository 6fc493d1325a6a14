"""Blocks of Transformers, stacked upwards in a column: layers, and sublayers with residuals."""

from dataclasses import dataclass, field
from typing import Any, Literal

from course_book.diagrams.parts import About, Box, Role, Wire

LAYERS = "course_lib.layers"
PORTS = ("V", "K", "Q")
PORT_PLACES = {"V": 1 / 6, "K": 1 / 2, "Q": 5 / 6}
PORT_ROLES: dict[str, Role] = {"V": "value", "K": "key", "Q": "query"}
NormPosition = Literal["pre", "post"]
SELF_ATTENTION = About(
    section="multi-head-attention",
    code=f"{LAYERS}.attention.MultiHeadAttention",
)
CROSS_ATTENTION = About(section="transformer-decoder", code=SELF_ATTENTION.code)
FEED_FORWARD = About(section="feed-forward", code=f"{LAYERS}.feed_forward.FeedForward")
NORM = About(section="layer-normalization", code=f"{LAYERS}.normalization.LayerNorm")
RESIDUAL = About(
    name="residual",
    section="residual-connections",
    code=f"{LAYERS}.residual.Residual",
)
EMBEDDING = About(section="embeddings-and-positions", code=f"{LAYERS}.embedding.TokenEmbedding")
POSITIONS = About(
    section="positional-encoding",
    code=f"{LAYERS}.positional.SinusoidalPositions",
)


@dataclass(kw_only=True)
class Column:
    """What stands in one column, built upwards from below.

    Attributes:
        name: The ids of its boxes begin with it.
        column: Which one it is.
        row: Where the next box comes.
        columns: How many columns it fills.
        role: The colour of its boxes and of what flows through them.
        bypass: On which side residuals run.
        norm_position: Where its sublayers have their norms.
    """

    name: str
    column: float
    row: int = 0
    columns: int = 1
    role: Role = ""
    bypass: Literal["left", "right"] = "left"
    norm_position: NormPosition = "pre"
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    top: str = ""

    def put(self, part: str, text: str = "", *, wired: bool = True, **rest: Any) -> str:
        """Put a box on top, with a wire from what is below it.

        Args:
            part: What the box's id adds to the column's name.
            text: Its label.
            wired: Whether the wire runs straight from below.
            rest: Further fields of the box.

        Returns:
            The box's id.
        """
        box = self._box(part, text, float(self.row), **rest)
        if self.top and wired:
            self.wire(self.top, box)
        self.row += 1
        self.top = box
        return box

    def _box(self, part: str, text: str, row: float, **rest: Any) -> str:
        fields = {"role": self.role, "column": self.column, "columns": self.columns} | rest
        self.boxes.append(Box(id=f"{self.name}-{part}", text=text, row=row, **fields))
        return self.boxes[-1].id

    def wire(self, source: str, target: str, **rest: Any) -> None:
        """Add a wire in the column's colour.

        Args:
            source: A box's id.
            target: Another one's.
            rest: Further fields of the wire.
        """
        fields = {"role": self.role, "source": source, "target": target} | rest
        self.wires.append(Wire(**fields))

    def embedding(self, text: str) -> None:
        """Tokens come in, become vectors, and get their places.

        Args:
            text: What the tokens are.
        """
        self.put("tokens", text, kind="data")
        self.put("embedding", "Embedding", about=EMBEDDING)
        self.put("positions", "+ positions", kind="norm", about=POSITIONS)

    def norm(self, part: str) -> str:
        """Put a norm on top.

        Args:
            part: What the box's id adds to the column's name.

        Returns:
            Its id.
        """
        return self.put(part, "LayerNorm", kind="norm", about=NORM)

    def fork(self, part: str, above: float) -> str:
        """Let the stream part above the last box.

        Args:
            part: What the junction's id adds to the column's name.
            above: How far up in the gap, from 0 to 1.

        Returns:
            The junction's id.
        """
        junction = self._box(part, "", self.row - 1 + above, kind="junction")
        self.wire(self.top, junction)
        self.top = junction
        return junction

    def _ask(self, part: str, target: str, ports: str) -> None:
        """Lead the stream to an attention's ports: to all, or to the queries alone."""
        if ports == "Q":
            straight = self.norm_position == "pre"
            leave = {"leave_at": PORT_PLACES["Q"]} if straight else {"bend": 5}
            self.wire(self.top, target, enter_at=PORT_PLACES["Q"], role="query", **leave)
            return
        junction = self.fork(f"{part}-fan", 0.38 if self.norm_position == "pre" else 0.15)
        for letter, side in zip("VKQ", ("left", "top", "right"), strict=True):
            place = PORT_PLACES[letter]
            self.wire(junction, target, leave=side, enter_at=place, role=PORT_ROLES[letter])

    def sublayer(self, part: str, text: str, *, ports: str = "", **rest: Any) -> str:
        """Put a sublayer on top, with its norm, and its residual around it.

        Args:
            part: What its box's id adds to the column's name.
            text: Its label.
            ports: Which ports of an attention the stream is led to: ``VKQ`` or ``Q``.
            rest: Further fields of the sublayer's box.

        Returns:
            The id of the sublayer's box.
        """
        fork = self.fork(f"{part}-fork", 0.5)
        if self.norm_position == "pre":
            self.norm(f"{part}-norm")
        elif ports:
            self.row += 1  # room for the stream to part twice
        below = self.top
        fields = {"ports": PORTS} | rest if ports else rest
        box = self._box(part, text, float(self.row), **fields)
        if ports:
            self._ask(part, box, ports)
        else:
            self.wire(below, box)
        self.row, self.top = self.row + 1, box
        added = self.put(f"{part}-add", "+", kind="operation", about=RESIDUAL)
        self.wire(fork, added, leave=self.bypass, enter=self.bypass, around=box)
        if self.norm_position == "post":
            self.norm(f"{part}-norm")
        return box

    def names(self, start: int = 0) -> tuple[str, ...]:
        """Return the ids of its boxes.

        Args:
            start: How many of them to leave out, from below.
        """
        return tuple(box.id for box in self.boxes[start:])
