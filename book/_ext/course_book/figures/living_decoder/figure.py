"""The figure ``living-decoder``: recurrent decoders with attention at work."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION_DECODER, SENTENCE_FORM


class Example(Record):
    """A source with its right target and the model's target, in words."""

    src: list[str]  # the source
    tgt: list[str]  # the right target
    written: list[str]  # the model's target
    # pairs of positions: the source word of a target word, the target word
    alignment: list[tuple[int, int]]


class Task(Record):
    """A task of one of the models."""

    name: str  # its name
    ask: str  # the label of the field for a source
    right: float  # share of unseen sources that the model gets right without a mistake
    examples: list[Example]  # sources to pick from


class LivingDecoder(Figure):
    """Models, and sources for them."""

    scripts = SENTENCE_FORM
    deferred = (
        *(*ATTENTION_DECODER, "engine/recurrent-encoder.js"),
        *(f"living-decoder/{part}.js" for part in ("alignment-table", "source-look", "desk")),
    )
    styles = ("living-transformer",)

    model: str  # id of the deferred data with the models, one for each task, in this order
    tasks: list[Task]  # the tasks

    def table(self) -> str:
        """Return the model's target and the right target of each source."""
        rows = [
            [" ".join(e.src), task.name, " ".join(e.written), " ".join(e.tgt)]
            for task in self.tasks
            for e in task.examples
        ]
        return html_table(
            "The models' outputs for sources that they have not seen.",
            ["source", "task", "the model's target", "right"],
            rows,
        )
