"""The figure ``language-model``: SmolLM2 in the page, and a recorded run for readers without it."""

from course_book.figures.figure import Figure, Matrix, Record, html_table

_LABORATORY = ("gguf", "quantised", "byte-level-bpe", "llama", "laboratory", "worker")


Alternative = tuple[str, float]
"""A token with its probability."""


class Token(Record):
    """A token of the recorded text.

    Attributes:
        text: The token's characters.
        written: Whether the model wrote it; otherwise it belongs to the prompt.
        own: Its probability before it was read; 0 for the first token.
        alternatives: The likeliest tokens in its place, best first.
        lens: For the embedding and each layer, the next token that it makes likeliest.
    """

    text: str
    written: bool
    own: float
    alternatives: list[Alternative]
    lens: list[Alternative]


class RecordedHead(Record):
    """The attention weights of a head, by its indices ``layer`` and ``head``.

    ``rows`` has for each token the weights of all tokens up to it.
    """

    layer: int
    head: int
    rows: Matrix


class LanguageModel(Figure):
    """SmolLM2, which the reader loads, lets write and takes apart; before that, a recorded run.

    Attributes:
        date: The day of the recorded run.
        command: The command that recorded it.
        name: Name of the model.
        layers: Number of its layers.
        tokens: The tokens of the recorded text.
        heads: The recorded heads.
    """

    scripts = (
        *("engine/loading.js", "llama/service.js", "language-model/source.js"),
        *(f"language-model/{part}.js" for part in ("text", "look", "surgery", "desk")),
    )
    deferred = tuple(f"llama/{part}.js" for part in _LABORATORY)
    wide = True

    date: str
    command: str
    name: str
    layers: int
    tokens: list[Token]
    heads: list[RecordedHead]

    def table(self) -> str:
        """Return a table of each written token with its alternatives."""
        rows = []
        for token in (token for token in self.tokens if token.written):
            likeliest = ", ".join(f"{text!r} {p:.2f}" for text, p in token.alternatives)
            rows.append([token.text, f"{token.own:.2f}", likeliest])
        prompt = "".join(token.text for token in self.tokens if not token.written)
        return html_table(
            f"SmolLM2 continues \u201c{prompt}\u201d, always with the likeliest token.",
            ["token", "probability", "likeliest tokens in its place"],
            rows,
        )
