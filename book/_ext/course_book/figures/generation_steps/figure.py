"""The figure ``generation-steps``: a small language model writes a text."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION


class Step(Record):
    """One step of the model."""

    read: list[str]  # the text so far, its words
    # the likeliest next words with their probabilities, best first
    likeliest: list[tuple[str, float]]


class GenerationSteps(Figure):
    """A language model, and the text that it writes by itself."""

    scripts = ("engine/loading.js", "living-transformer/own-model.js")
    deferred = (
        *(*ATTENTION, "engine/decoder-lm.js", "engine/sampling.js", "engine/file-checks.js"),
        *("engine/decoder-lm-file.js", "generation-steps/writer.js"),
    )
    styles = ("living-transformer",)

    model: str  # id of the deferred data with the model
    steps: list[Step]  # the steps of its text

    def table(self) -> str:
        """Return the likeliest next words at each step."""
        rows = [
            [
                str(len(step.read)),
                " ".join(step.read),
                ", ".join(f"{word} {p:.2f}" for word, p in step.likeliest),
            ]
            for step in self.steps
        ]
        return html_table(
            "The text as the model writes it by itself, always the likeliest token.",
            ["tokens read", "the text so far", "likeliest next tokens"],
            rows,
        )
