"""Sketches: each function of the catalogue adds boxes and wires to one, and is registered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from itertools import pairwise
from typing import Any, Literal

from course_book.diagrams.parts import Box, Diagram, Frame, Role, Wire

ACROSS: dict[str, Any] = {"leave": "right", "enter": "left"}
"""Fields of a wire from left to right."""


class Sketch(Diagram):
    """A diagram whose methods add boxes, wires and frames."""

    def box(
        self, id: str, text: str, row: float, column: float, role: Role = "", **fields: Any
    ) -> None:
        """Add a box; see ``Box``."""
        self.boxes.append(Box(id=id, text=text, row=row, column=column, role=role, **fields))

    def data(
        self, id: str, text: str, row: float, column: float, role: Role = "", **fields: Any
    ) -> None:
        """Add a text without a frame."""
        self.box(id, text, row, column, role, kind="data", **fields)

    def tensor(
        self, id: str, row: float, column: float, role: Role, cells: int, *marked: int
    ) -> None:
        """Add a row of cells, some of them filled."""
        self.box(id, "", row, column, role, kind="tensor", cells=cells, marked=marked)

    def junction(self, id: str, row: float, column: float, role: Role, columns: int = 1) -> None:
        """Add a junction: a dot where a wire splits."""
        self.box(id, "", row, column, role, kind="junction", columns=columns)

    def wire(self, source: str, target: str, role: Role = "", **fields: Any) -> None:
        """Add a wire; see ``Wire``."""
        self.wires.append(Wire(source=source, target=target, role=role, **fields))

    def path(self, role: Role, *boxes: str, **fields: Any) -> None:
        """Add a wire from each of these boxes to the next."""
        for source, target in pairwise(boxes):
            self.wire(source, target, role, **fields)

    def frame(
        self, *boxes: str, role: Role, label: str = "", side: Literal["left", "right"] = "left"
    ) -> None:
        """Add a frame around boxes."""
        self.frames.append(Frame(boxes=boxes, role=role, label=label, side=side))


@dataclass(frozen=True)
class Drawing:
    """A diagram, or several variants to choose from."""

    variants: dict[str, Diagram]  # by the names of the choice; the first is shown at first
    legend: str = ""  # the label of the choice; empty for one variant


DIAGRAMS: dict[str, Drawing] = {}
"""The diagrams of the catalogue by name."""


def diagram(
    name: str,
    *,
    rows: float,
    columns: float = 36,
    legend: str = "",
    variants: Mapping[str, tuple[Any, ...]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function that draws a diagram; its docstring is the title and the description.

    Args:
        name: Name of the diagram.
        rows: Space between two rows.
        columns: Space between two columns.
        legend: The label of the choice between variants.
        variants: Further arguments of the function for each variant.
    """

    def register(draw: Callable[..., None]) -> Callable[..., None]:
        title, _, description = (getdoc(draw) or "").partition(".\n\n")
        drawn: dict[str, Diagram] = {}
        for variant, arguments in (variants or {title: ()}).items():
            sketch = Sketch(
                title=f"{title}, {variant}" if variants else title,
                description=" ".join(description.split()),
                boxes=[], wires=[], frames=[], row_gap=rows, column_gap=columns,
            )  # fmt: skip
            draw(sketch, *arguments)
            drawn[variant] = sketch
        DIAGRAMS[name] = Drawing(drawn, legend)
        return draw

    return register
