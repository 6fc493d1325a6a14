"""Blocks of Transformers, stacked upwards in a column: layers, and sublayers with residuals."""

from dataclasses import dataclass, field
from typing import Any, Literal

from course_book.diagrams.parts import About, Role
from course_book.diagrams.sketch import Sketch

LAYERS = "course_lib.layers"
PORTS = ("V", "K", "Q")
PORT_PLACES = {"V": 1 / 6, "K": 1 / 2, "Q": 5 / 6}
PORT_ROLES: dict[str, Role] = {"V": "value", "K": "key", "Q": "query"}
NormPosition = Literal["pre", "post"]
SELF_ATTENTION = About(
    section="multi-head-attention", code=f"{LAYERS}.attention.MultiHeadAttention"
)
CROSS_ATTENTION = About(section="transformer-decoder", code=SELF_ATTENTION.code)
FEED_FORWARD = About(section="feed-forward", code=f"{LAYERS}.feed_forward.FeedForward")
NORM = About(section="layer-normalization", code=f"{LAYERS}.normalization.LayerNorm")
RESIDUAL = About(
    name="residual", section="residual-connections", code=f"{LAYERS}.residual.Residual"
)
EMBEDDING = About(section="embeddings-and-positions", code=f"{LAYERS}.embedding.TokenEmbedding")
POSITIONS = About(section="positional-encoding", code=f"{LAYERS}.positional.SinusoidalPositions")


@dataclass(kw_only=True)
class Column:
    """A column of a sketch, built upwards.

    Attributes:
        sketch: The sketch that gets its boxes and wires.
        name: Prefix of the ids of its boxes.
        column: Index of its column in the sketch.
        row: Index of the row of the next box.
        columns: The number of columns that its boxes fill.
        role: The colour of its boxes and wires.
        bypass: The side on which its residual connections run.
        norm_position: Whether norms stand before sublayers or after their sums.
        top: Id of the last box.
        norm_fields: Further fields of the boxes of its norms.
    """

    sketch: Sketch
    name: str
    column: float
    row: int = 0
    columns: int = 1
    role: Role = ""
    bypass: Literal["left", "right"] = "left"
    norm_position: NormPosition = "pre"
    top: str = ""
    norm_fields: dict[str, Any] = field(
        default_factory=lambda: {"text": "LayerNorm", "about": NORM}
    )

    def put(self, part: str, text: str = "", *, wired: bool = True, **fields: Any) -> str:
        """Put a box on top, with a wire from the box below if ``wired``, and return its id.

        ``part`` is the suffix of the id, ``text`` the label; ``fields`` are others of ``Box``.
        """
        box = self._box(part, text, self.row, **fields)
        if self.top and wired:
            self.wire(self.top, box)
        self.row += 1
        self.top = box
        return box

    def _box(self, part: str, text: str, row: float, **fields: Any) -> str:
        given = {"role": self.role, "column": self.column, "columns": self.columns} | fields
        self.sketch.box(f"{self.name}-{part}", text, row, **given)
        return self.sketch.boxes[-1].id

    def wire(self, source: str, target: str, **fields: Any) -> None:
        """Add a wire between two boxes, given their ids, in the column's colour."""
        self.sketch.wire(source, target, **{"role": self.role} | fields)

    def embedding(self, text: str) -> None:
        """Put three boxes on top: the tokens with the label ``text``, embedding, positions."""
        self.put("tokens", text, kind="data")
        self.put("embedding", "Embedding", about=EMBEDDING)
        self.put("positions", "+ positions", kind="norm", about=POSITIONS)

    def norm(self, part: str) -> str:
        """Put a norm on top, with ``part`` as suffix of its id, and return its id."""
        return self.put(part, kind="norm", **self.norm_fields)

    def fork(self, part: str, above: float) -> str:
        """Put a junction in the gap above the last box, and return its id.

        ``part`` is the suffix of the id, ``above`` its height in the gap, from 0 to 1.
        """
        junction = self._box(part, "", self.row - 1 + above, kind="junction")
        self.wire(self.top, junction)
        self.top = junction
        return junction

    def sublayer(self, part: str, text: str, *, ports: str = "", **fields: Any) -> str:
        """Put a sublayer with its norm and its residual on top, and return the id of its box.

        ``part`` begins the suffixes of the ids, ``text`` is the label. For attention ``ports`` are
        the inputs from the column: ``VKQ``, or ``Q`` where keys and values come from elsewhere.
        """
        fork = self.fork(f"{part}-fork", 0.5)
        if self.norm_position == "pre":
            self.norm(f"{part}-norm")
        elif ports:
            self.row += 1  # the wire splits twice
        below = self.top
        box = self._box(part, text, self.row, **({"ports": PORTS} if ports else {}), **fields)
        if ports:
            self._lead_to_ports(part, box, ports)
        else:
            self.wire(below, box)
        self.row, self.top = self.row + 1, box
        added = self.put(f"{part}-add", "+", kind="operation", about=RESIDUAL)
        self.wire(fork, added, leave=self.bypass, enter=self.bypass, around=box)
        if self.norm_position == "post":
            self.norm(f"{part}-norm")
        return box

    def _lead_to_ports(self, part: str, target: str, ports: str) -> None:
        if ports == "Q":
            bend = {} if self.norm_position == "pre" else {"bend": 5}
            self.wire(self.top, target, enter_at=PORT_PLACES["Q"], role="query", **bend)
            return
        junction = self.fork(f"{part}-fan", 0.38 if self.norm_position == "pre" else 0.15)
        for letter, side in zip("VKQ", ("left", "top", "right"), strict=True):
            place = PORT_PLACES[letter]
            self.wire(junction, target, leave=side, enter_at=place, role=PORT_ROLES[letter])

    def names(self, start: int = 0) -> list[str]:
        """Return the ids of the column's boxes from the ``start``-th on, upwards."""
        own = [box.id for box in self.sketch.boxes if box.id.startswith(f"{self.name}-")]
        return own[start:]
