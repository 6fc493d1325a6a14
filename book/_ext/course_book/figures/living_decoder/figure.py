"""The figure ``living-decoder``: recurrent decoders with attention at work."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION_DECODER, SENTENCE_FORM


class Example(Record):
    """A source with its right target and the model's target, in words.

    Attributes:
        src: The source.
        tgt: The right target.
        written: The model's target.
        alignment: Pairs of positions: the source word of a target word, the target word.
    """

    src: list[str]
    tgt: list[str]
    written: list[str]
    alignment: list[tuple[int, int]]


class Task(Record):
    """A task of one of the models.

    Attributes:
        name: Its name.
        ask: The label of the field for a source.
        right: Share of unseen sources that the model gets right without a mistake.
        examples: Sources to pick from.
    """

    name: str
    ask: str
    right: float
    examples: list[Example]


class LivingDecoder(Figure):
    """Models, and sources for them.

    Attributes:
        model: Id of the deferred data with the models, one for each task, in this order.
        tasks: The tasks.
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
        """Return the model's target and the right target of each source."""
        rows = [
            [" ".join(e.src), task.name, " ".join(e.written), " ".join(e.tgt)]
            for task in self.tasks
            for e in task.examples
        ]
        return html_table(
            "What the models make of sources that they have not seen.",
            ["source", "task", "the model's target", "right"],
            rows,
        )
