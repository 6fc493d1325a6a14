"""The figure ``living-captioner``: a model describes a picture of shapes."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION_DECODER


class Shape(Record):
    """A shape of a picture; the row and the column of its centre are in pixels."""

    kind: str
    color: str
    size: str
    row: float
    column: float


class Scene(Record):
    """A picture: its shapes, the true caption and the model's caption, in words."""

    name: str
    shapes: list[Shape]
    truth: list[str]
    written: list[str]


class LivingCaptioner(Figure):
    """A captioner, and pictures to begin with."""

    scripts = ("engine/loading.js", "living-captioner/picture.js", "living-captioner/board.js")
    deferred = (*ATTENTION_DECODER, "engine/picture-encoder.js", "living-captioner/reader.js")
    styles = ("living-transformer", "living-decoder")

    model: str  # id of the deferred data with the model
    side: int  # pixels along each side of a picture
    colors: dict[str, tuple[float, float, float]]  # red, green and blue of each colour, from 0 to 1
    kinds: list[str]  # kinds of shapes
    # for each size the distance from a shape's centre to its edge, in pixels
    sizes: dict[str, float]
    scenes: list[Scene]  # the pictures

    def table(self) -> str:
        """Return the true caption and the model's caption of each picture."""
        return html_table(
            "The content of each picture, and the model's caption.",
            ["picture", "truth", "the model"],
            [[scene.name, " ".join(scene.truth), " ".join(scene.written)] for scene in self.scenes],
        )
