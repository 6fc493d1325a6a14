"""The figure ``language-model``: SmolLM2 in the page, and a recorded run for readers without it."""

from course_book.figures.figure import Figure, Matrix, Record, html_table

_LABORATORY = ("gguf", "quantised", "byte-level-bpe", "llama", "laboratory", "worker")


Alternative = tuple[str, float]
"""A token with its probability."""


class Token(Record):
    """A token of the recorded text."""

    text: str
    written: bool  # by the model; others are the prompt's
    own: float  # its probability; 0 for the first one
    alternatives: list[Alternative]  # the likeliest in its place, best first
    lens: list[Alternative]  # after it, the likeliest next token by each layer


class RecordedHead(Record):
    """The attention weights of one head over the recorded text."""

    layer: int
    head: int
    rows: Matrix  # of each token, for each token up to it


class LanguageModel(Figure):
    """A recorded run, and the files that run the model."""

    scripts = (
        *("engine/loading.js", "llama/service.js", "language-model/source.js"),
        *(f"language-model/{part}.js" for part in ("text", "look", "surgery", "desk")),
    )
    deferred = tuple(f"llama/{part}.js" for part in _LABORATORY)
    wide = True

    date: str
    command: str  # that made the record
    name: str  # of the model
    layers: int
    tokens: list[Token]
    heads: list[RecordedHead]

    def table(self) -> str:
        """Return each written token with its alternatives."""
        rows = [
            [
                token.text,
                f"{token.own:.2f}",
                ", ".join(f"{text!r} {p:.2f}" for text, p in token.alternatives),
            ]
            for token in self.tokens
            if token.written
        ]
        prompt = "".join(token.text for token in self.tokens if not token.written)
        return html_table(
            f"SmolLM2 continues \u201c{prompt}\u201d, always with the likeliest token.",
            ["token", "probability", "likeliest tokens in its place"],
            rows,
        )
