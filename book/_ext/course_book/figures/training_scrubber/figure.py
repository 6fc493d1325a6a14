"""The figure ``training-scrubber``: a model at several steps of its training."""

from course_book.figures.figure import Figure, html_table
from course_book.figures.script_lists import ATTENTION


class TrainingScrubber(Figure):
    """A model that learns to write letters backwards.

    Attributes:
        model: Id of the deferred data with its parameters at each step, as a list.
        steps: The steps, ascending.
        letters: The letters that it reads and writes; the id of a letter is its index plus
            ``first``.
        first: Id of the first letter.
        sample: The letters at first, as many as the model reads.
        written: The model's output for the sample at each step.
    """

    scripts = ("engine/loading.js",)
    deferred = (*ATTENTION, "engine/attention-reader.js")

    model: str
    steps: list[int]
    letters: list[str]
    first: int
    sample: str
    written: list[str]

    def table(self) -> str:
        """Return the model's output at each step."""
        pairs = zip(self.steps, self.written, strict=True)
        return html_table(
            f"What the model makes of {self.sample!r}; right is {self.sample[::-1]!r}.",
            ["steps of training", "it writes"],
            [[str(step), text] for step, text in pairs],
        )
