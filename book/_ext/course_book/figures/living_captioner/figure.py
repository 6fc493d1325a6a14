"""The figure ``living-captioner``: a model describes a picture of shapes."""

from course_book.figures.figure import Figure, Record, html_table
from course_book.figures.script_lists import ATTENTION_DECODER


class Shape(Record):
    """A shape of a picture; ``row`` and ``column`` of its centre are in pixels."""

    kind: str
    color: str
    size: str
    row: float
    column: float


class Scene(Record):
    """A picture under its name; ``truth`` and ``written`` are the right and the model's caption."""

    name: str
    shapes: list[Shape]
    truth: list[str]
    written: list[str]


class LivingCaptioner(Figure):
    """A model in the page that describes pictures of shapes, which the reader can change.

    Attributes:
        model: Id of the separately loaded data with the model.
        side: Pixels along each side of a picture.
        colors: Red, green and blue of each colour, from 0 to 1.
        kinds: The kinds of shapes.
        sizes: For each size the distance from a shape's centre to its edge, in pixels.
        scenes: The pictures to begin with.
    """

    scripts = ("engine/loading.js", "living-captioner/picture.js", "living-captioner/board.js")
    deferred = (*ATTENTION_DECODER, "engine/picture-encoder.js", "living-captioner/reader.js")
    styles = ("living-transformer", "living-decoder")

    model: str
    side: int
    colors: dict[str, tuple[float, float, float]]
    kinds: list[str]
    sizes: dict[str, float]
    scenes: list[Scene]

    def table(self) -> str:
        """Return a table of the right caption and the model's caption of each picture."""
        return html_table(
            "The content of each picture, and the model's caption.",
            ["picture", "truth", "the model"],
            [[scene.name, " ".join(scene.truth), " ".join(scene.written)] for scene in self.scenes],
        )
