"""The data of the figure ``living-decoder``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import (
    require_fields,
    require_list,
    require_model,
    require_number,
    require_pairs,
    require_texts,
)

_TASK = ("name", "ask", "right", "examples")
_EXAMPLE = ("src", "tgt", "written", "alignment")


@dataclass(frozen=True, kw_only=True)
class LivingDecoder(FigureData):
    """Models that look before each word, and sources for them with the truth about each.

    Attributes:
        model: Id of the deferred data that hold the models, one for each task, in this order.
        tasks: Each a name, what the reader is asked for (``ask``), the share of unseen sources that
            the model gets right without a mistake (``right``), and ``examples``: a source
            (``src``), the right target (``tgt``), the model's own (``written``), and as pairs of
            positions which source word each target word comes from (``alignment``).
    """

    model: str
    tasks: list[dict[str, Any]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        require_model(data["model"])
        for task in require_list("tasks", data["tasks"], "tasks"):
            require_fields(task, _TASK, "a task")
            require_texts("name and ask", [task["name"], task["ask"]])
            require_number("right", task["right"], 0, 1)
            for example in require_list("examples", task["examples"], "examples"):
                require_fields(example, _EXAMPLE, "an example")
                src, tgt = (len(require_texts(side, example[side])) for side in ("src", "tgt"))
                require_texts("written", example["written"], 0)
                require_pairs("alignment", example["alignment"], src, tgt)
        return {}

    def table(self) -> str:
        """Return what the models make of each source as an HTML table."""
        rows = [
            [" ".join(e["src"]), task["name"], " ".join(e["written"]), " ".join(e["tgt"])]
            for task in self.tasks
            for e in task["examples"]
        ]
        return html_table(
            "What the models make of sources that they have not seen.",
            ["source", "task", "the model's target", "right"],
            rows,
        )
