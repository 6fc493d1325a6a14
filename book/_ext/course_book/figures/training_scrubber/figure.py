"""The figure ``training-scrubber``: a model at several steps of its training."""

from course_book.figures.figure import Figure, Matrix, html_table
from course_book.figures.script_lists import ATTENTION


class TrainingScrubber(Figure):
    """A model that learns to write letters backwards, at the step of training that is chosen.

    Attributes:
        model: Id of the separately loaded data: a list of parameters, one entry for each step.
        steps: The steps, ascending.
        letters: The letters that it reads and writes.
        first: The token id of the first letter; the others follow.
        sample: The letters that it reads at first, as many as it can.
        written: Its output for the sample at each step.
        weights: Its attention weights for the sample at each step, ``(written, read)`` each.
    """

    scripts = ("engine/loading.js",)
    deferred = (*ATTENTION, "engine/attention-reader.js")

    model: str
    steps: list[int]
    letters: list[str]
    first: int
    sample: str
    written: list[str]
    weights: list[Matrix]

    def table(self) -> str:
        """Return a table of the model's output for the sample at each step."""
        pairs = zip(self.steps, self.written, strict=True)
        return html_table(
            f"The model's output for {self.sample!r}; right is {self.sample[::-1]!r}.",
            ["steps of training", "it writes"],
            [[str(step), text] for step, text in pairs],
        )
