"""The figure ``training-scrubber``: a model at several steps of its training."""

from course_book.figures.figure import Figure, Matrix, html_table
from course_book.figures.script_lists import ATTENTION


class TrainingScrubber(Figure):
    """A model that learns to write letters backwards."""

    scripts = ("engine/loading.js",)
    deferred = (*ATTENTION, "engine/attention-reader.js")

    model: str  # id of the deferred data with its parameters at each step, as a list
    steps: list[int]  # the steps, ascending
    # the letters that it reads and writes; the id of a letter is its index plus ``first``
    letters: list[str]
    first: int  # id of the first letter
    sample: str  # the letters at first, as many as the model reads
    written: list[str]  # the model's output for the sample at each step
    weights: list[Matrix]  # its attention weights for the sample at each step

    def table(self) -> str:
        """Return the model's output at each step."""
        pairs = zip(self.steps, self.written, strict=True)
        return html_table(
            f"The model's output for {self.sample!r}; right is {self.sample[::-1]!r}.",
            ["steps of training", "it writes"],
            [[str(step), text] for step, text in pairs],
        )
