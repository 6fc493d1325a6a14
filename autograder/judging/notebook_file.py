"""Reads the file of a submitted notebook, without its outputs, within limits."""

import itertools
import json
import math
import re
from typing import Any

from autograder.judging.results import NOTHING_HANDED_IN

MAX_NOTEBOOK_BYTES = 20 << 20
"""Size limit without outputs, attachments and widget state."""
MAX_FILE_BYTES = 200 << 20
MAX_PARTS = 500_000
"""Limit of strings, lists, objects and commas in the JSON, which take much memory when parsed."""

_MAX_OUTPUT_PARTS = 20_000_000  # strings and brackets
# Quotes inside a JSON string are escaped, so this matches keys only.
_OUTPUTS = re.compile(rb'(?<=[{,\s])"(?:outputs|attachments|widgets)"\s*+:\s*+(?=[\[{])')
_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_DEPTH = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_PART = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)  # a whole string, or a sign


class SubmissionError(ValueError):
    """A submitted file is not a usable notebook; the message tells the student what to do."""


def without_outputs(data: bytes) -> bytes:
    """Return a notebook's JSON with empty outputs, attachments and widgets, without parsing it."""
    kept: list[bytes] = []
    start = parts = 0
    while outputs := _OUTPUTS.search(data, start):
        kept.append(data[start : outputs.end()])
        start, depth = len(data), 0  # if the outputs have no end
        for part in _BRACKET.finditer(data, outputs.end()):
            depth += _DEPTH.get(data[part.start()], 0)
            parts += 1
            if parts > _MAX_OUTPUT_PARTS:
                raise SubmissionError(
                    f"The notebook's outputs hold more than {_MAX_OUTPUT_PARTS:,} values. Clear "
                    "them, save, and hand it in again."
                )
            if not depth:
                start = part.end()
                break
        kept.append(b"[]" if data[outputs.end()] == ord("[") else b"{}")
    return b"".join([*kept, data[start:]])


def too_large(what: str, size: int, limit: int = MAX_NOTEBOOK_BYTES) -> str:
    """Return the message for a notebook with too many bytes."""
    return (
        f"{what} has {math.ceil(size / 2**20 * 10) / 10:g} MiB; the limit is {limit >> 20} MiB. "
        "Clear the outputs, save, and hand it in again."
    )


def read_json(data: bytes) -> Any:
    """Read the JSON of a notebook without its outputs.

    Raises:
        SubmissionError: There are too many bytes or values, or the bytes are not JSON.
    """
    data = without_outputs(data)
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise SubmissionError(too_large("The notebook, without its outputs,", len(data)))
    if not data.strip():
        raise SubmissionError(
            f"{NOTHING_HANDED_IN}: the file is empty. Save your notebook in Jupyter, and hand it "
            "in again."
        )
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
    except ValueError:
        raise _no_json(data) from None
    if any(itertools.islice(_PART.finditer(text), MAX_PARTS, None)):
        raise SubmissionError(
            f"The notebook holds more than {MAX_PARTS:,} values, without its outputs. Delete cells "
            "that you do not need, save, and hand it in again."
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _no_json(data) from None


def _no_json(data: bytes) -> SubmissionError:
    why = "Was it cut off, or saved in another format?"
    if re.search(rb"^<{7} ", data, re.MULTILINE):
        why = "Git left a conflict in it, at each line that begins with <<<<<<<: keep one version."
    return SubmissionError(
        f"The file is not a Jupyter notebook: it is not valid JSON. {why} Open it in Jupyter, save "
        "it, and hand it in again."
    )
