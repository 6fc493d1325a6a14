"""The figure ``generation-steps``: a small language model writes a text."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION


class Step(Record):
    """A step of the language model: the words that it has read, and the likeliest next words.

    ``likeliest`` has each word with its probability, best first.
    """

    read: list[str]
    likeliest: list[tuple[str, float]]


class GenerationSteps(Figure):
    """A small language model that runs in the page; the reader chooses or draws each next word.

    ``model`` is the id of the separately loaded data with the model; ``steps``, for readers without
    scripts, are those of a text that always goes on with the likeliest word.
    """

    scripts = ("engine/loading.js", "living-transformer/own-model.js")
    deferred = (
        *(*ATTENTION, "engine/decoder-lm.js", "engine/sampling.js", "engine/file-checks.js"),
        *("engine/decoder-lm-file.js", "generation-steps/writer.js"),
    )
    styles = ("living-transformer",)

    model: str
    steps: list[Step]

    def table(self) -> str:
        """Return a table of the likeliest next words at each step."""
        rows = []
        for step in self.steps:
            likeliest = ", ".join(f"{word} {p:.2f}" for word, p in step.likeliest)
            rows.append([str(len(step.read)), " ".join(step.read), likeliest])
        return html_table(
            "The text as the model writes it by itself, always the likeliest token.",
            ["tokens read", "the text so far", "likeliest next tokens"],
            rows,
        )
