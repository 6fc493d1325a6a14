"""Collects the outputs of a student's cells for the staff: text and PNG pictures, within limits."""

import base64
import io
import sys
from typing import Any

from IPython.core.displaypub import DisplayPublisher

MAX_PICTURES = 4
MAX_PICTURE_BYTES = 150_000
MAX_SIDE = 3_000  # pixels; larger figures get a lower resolution


class Shown:
    """The outputs of one cell so far, in order: pairs of kind (``text`` or ``png``) and content.

    Args:
        characters: Maximum length of the text; the rest is left out.
    """

    def __init__(self, characters: int) -> None:
        self.characters = characters
        self.begin()

    def begin(self) -> None:
        """Drop earlier outputs."""
        self.pieces: list[tuple[str, str]] = []
        self._room = self.characters
        self._pictures = 0

    def add_text(self, text: str) -> None:
        """Add a text, or as much of it as there is room for."""
        if self._room and len(text) >= self._room:
            text = text[: self._room - 1] + "…"
        text = text[: self._room]
        self._room -= len(text)
        if text and self.pieces and self.pieces[-1][0] == "text":
            text = self.pieces.pop()[1] + text
        if text:
            self.pieces.append(("text", text))

    def add_picture(self, png: bytes | str) -> None:
        """Add a picture, if there is room for one and it is not too large."""
        code = png if isinstance(png, str) else base64.b64encode(png).decode()
        if self._pictures < MAX_PICTURES and len(code) <= 4 * MAX_PICTURE_BYTES // 3 + 4:
            self._pictures += 1
            self.pieces.append(("png", code))


_shown = Shown(0)


class Publisher(DisplayPublisher):
    """Collects the outputs of IPython's ``display``."""

    def publish(self, data: Any, *args: Any, **kwargs: Any) -> None:
        """Keep the picture among an output's formats, or else the text; drop the others."""
        if "image/png" in data:
            _shown.add_picture(data["image/png"])
        elif "text/plain" in data:
            _shown.add_text(f"{data['text/plain']}\n")


class _Stream(io.BufferedIOBase):
    """Collects the bytes written to ``sys.stdout`` or ``sys.stderr``."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        _shown.add_text(bytes(data).decode("utf-8", errors="replace"))
        return len(data)


def capture_streams() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr`` by streams that collect the text."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        below: Any = _Stream(descriptor)
        stream = io.TextIOWrapper(below, encoding="utf-8", errors="replace", write_through=True)
        setattr(sys, name, stream)


def keep_text(characters: int) -> None:
    """Set the maximum number of characters to keep of each cell's outputs."""
    _shown.characters = characters
    _shown.begin()


def begin_cell() -> None:
    """Drop the outputs of earlier cells."""
    _shown.begin()


def take_shown() -> list[tuple[str, str]]:
    """Return the outputs of the last cell, open figures included; close these, as Jupyter does."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        try:
            for number in pyplot.get_fignums()[:MAX_PICTURES]:
                _draw(pyplot.figure(number))
        finally:
            pyplot.close("all")
    pieces = _shown.pieces
    begin_cell()
    return pieces


def _draw(figure: Any) -> None:
    """Add a figure as a picture; if drawing it fails, add the error as text."""
    file = io.BytesIO()
    try:
        dpi = min(72, MAX_SIDE / max(figure.get_size_inches()))
        figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight")
    except Exception as error:
        _shown.add_text(f"A figure could not be drawn: {type(error).__name__}: {error}\n")
    else:
        _shown.add_picture(file.getvalue())
