"""The figure ``living-decoder``: recurrent decoders with attention at work."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION_DECODER, SENTENCE_FORM


class Example(Record):
    """A source with its right target (``tgt``) and the model's (``written``), in words.

    ``alignment`` has pairs of indices of a source word and a target word that belong together.
    """

    src: list[str]
    tgt: list[str]
    written: list[str]
    alignment: list[tuple[int, int]]


class Task(Record):
    """A task, for which the figure has a model of its own.

    Attributes:
        name: Its name.
        ask: The label of the field in which readers type a source.
        right: The share of unseen sources that the model gets right without a mistake.
        examples: Sources to pick from.
    """

    name: str
    ask: str
    right: float
    examples: list[Example]


class LivingDecoder(Figure):
    """Recurrent decoders in the page, whose attention weights the reader can move by hand.

    ``model`` is the id of the separately loaded data with a model for each of ``tasks``, in order.
    """

    scripts = SENTENCE_FORM
    deferred = (
        *(*ATTENTION_DECODER, "engine/recurrent-encoder.js"),
        *(f"living-decoder/{part}.js" for part in ("alignment-table", "source-look", "desk")),
    )
    styles = ("living-transformer",)

    model: str
    tasks: list[Task]

    def table(self) -> str:
        """Return a table of the model's target and the right target of each source."""
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
