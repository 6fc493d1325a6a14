"""Validates the outputs of student cells, which are untrusted data of the student's process."""

import base64
from typing import Any

from autograder.clean_text import clean_text
from autograder.judging.results import CellOutput

MAX_BYTES = 300_000  # per submission, because the results of a class are in memory together
_MAX_PIECES = 20  # of one cell
_MAX_SIDE = 4_000  # pixels; a small file may contain a huge image
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_shown(cell: str, shown: Any, *, characters: int, room: int) -> list[CellOutput]:
    """Return the valid outputs: cleaned text and PNG images, at most ``room`` characters in all.

    A valid output is a pair of ``text`` or ``png`` and the content. Each text is cut to
    ``characters``.
    """
    kept: list[CellOutput] = []
    for piece in shown[:_MAX_PIECES] if type(shown) is list else []:
        if type(piece) is not tuple or [type(part) for part in piece] != [str, str]:
            continue
        kind, content = piece
        if kind == "text":
            output = CellOutput(cell=cell, text=clean_text(content, characters))
        elif kind == "png" and _is_png(content):
            output = CellOutput(cell=cell, png=content)
        else:
            continue
        room -= len(output.text) + len(output.png)
        if room >= 0:
            kept.append(output)
    return kept


def _is_png(code: str) -> bool:
    try:
        data = base64.b64decode(code, validate=True)
    except ValueError:
        return False
    sides = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    starts_well = data.startswith(_SIGNATURE) and data[12:16] == b"IHDR"
    return starts_well and all(0 < side <= _MAX_SIDE for side in sides)
