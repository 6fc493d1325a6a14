"""The tools of the catalogue: sketches to draw on, and the register of all diagrams."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from itertools import pairwise
from typing import Any, Literal

from course_book.diagrams.parts import Box, Diagram, Frame, Role, Wire

ACROSS: dict[str, Any] = {"leave": "right", "enter": "left"}
"""Fields of a wire from left to right."""


class Sketch(Diagram):
    """A diagram that the functions of the catalogue fill with boxes, wires and frames."""

    def box(
        self, id: str, text: str, row: float, column: float, role: Role = "", **fields: Any
    ) -> None:
        """Add a ``Box`` with these fields."""
        self.boxes.append(Box(id=id, text=text, row=row, column=column, role=role, **fields))

    def data(
        self, id: str, text: str, row: float, column: float, role: Role = "", **fields: Any
    ) -> None:
        """Add a box that is bare text."""
        self.box(id, text, row, column, role, kind="data", **fields)

    def tensor(
        self, id: str, row: float, column: float, role: Role, cells: int, *marked: int
    ) -> None:
        """Add a row of ``cells`` cells; those with the indices ``marked`` are filled."""
        self.box(id, "", row, column, role, kind="tensor", cells=cells, marked=marked)

    def junction(self, id: str, row: float, column: float, role: Role, columns: int = 1) -> None:
        """Add a junction: a dot where a wire splits."""
        self.box(id, "", row, column, role, kind="junction", columns=columns)

    def wire(self, source: str, target: str, role: Role = "", **fields: Any) -> None:
        """Add a ``Wire`` with these fields between two boxes, given their ids."""
        self.wires.append(Wire(source=source, target=target, role=role, **fields))

    def path(self, role: Role, *boxes: str, **fields: Any) -> None:
        """Add a wire from each of these boxes, given their ids, to the next."""
        for source, target in pairwise(boxes):
            self.wire(source, target, role, **fields)

    def frame(
        self, *boxes: str, role: Role, label: str = "", side: Literal["left", "right"] = "left"
    ) -> None:
        """Add a ``Frame`` with these fields around boxes, given their ids."""
        self.frames.append(Frame(boxes=boxes, role=role, label=label, side=side))


@dataclass(frozen=True)
class Drawing:
    """A diagram, or several variants to choose from.

    ``variants`` are keyed by the names of the choice, whose label is ``legend``; the first one is
    shown at first.
    """

    variants: dict[str, Diagram]
    legend: str = ""


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
    """Return a decorator that registers a function as the drawer of a diagram.

    The function draws on a sketch; its docstring is the diagram's title and description.

    Args:
        name: Name of the diagram.
        rows: Space between two rows, in the drawing's units, in which a letter is 14 high.
        columns: Space between two columns, in the same units.
        legend: The label of the choice between variants; empty if there is only one.
        variants: Further arguments of the function, by the name of the variant.
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
