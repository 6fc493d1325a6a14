"""What may be told of an exception that came while hidden inputs were under way.

Whatever a student's process says of it, its author may have written: names of classes and of
functions, the message, even the lines of a traceback. So only this is told: what stands in the
student's own code, the words of Python's and torch's messages, and sizes where those name sizes.
"""

import builtins
import collections
import functools
import itertools
import re
import types
from collections.abc import Mapping

import numpy as np
import torch

from autograder.judging.library_messages import SENTENCE, WORDS

_BLOT = "…"
_WORD = re.compile(r"[-+]?\w+(?:[-+]\d\w*)*")  # a sign in it would tell that of a value
_VALUES = frozenset({"inf", "nan", "True", "False"})  # words of many a code, and what tensors hold
_FRAME = re.compile(r"Cell (?P<cell>[^\n]{1,80}), line (?P<line>\d{1,6})(?:, in (?P<name>\S+))?")


def told_type(name: str) -> str:
    """Return the name of a class if a library has it, else that none has."""
    return name if name in _library_types() else "<your own class>"


@functools.cache
def _library_types() -> frozenset[str]:
    modules = (builtins, collections, types, np, np.exceptions, np.linalg, torch, torch.nn)
    found = (value for module in modules for value in vars(module).values())
    return frozenset(value.__name__ for value in found if isinstance(value, type))


def told_message(message: str, traceback: str, cells: Mapping[str, str]) -> str:
    """Return a message without what hidden inputs may have brought into it.

    Args:
        message: An exception's text.
        traceback: What ``told_traceback`` returned for it.
        cells: Label to source of each cell that has run.

    Returns:
        The message, blotted.
    """
    labels = {found["cell"] for found in _FRAME.finditer(traceback)}
    code = "\n".join(cells[label] for label in labels if label in cells)
    known = WORDS | frozenset(re.findall(r"[^\W\d]\w*", code)) - _VALUES
    told, end = "", 0
    for phrase in SENTENCE.finditer(message):
        told += _blotted(message[end : phrase.start()], known) + phrase[0]
        end = phrase.end()
    return told + _blotted(message[end:], known)


def _blotted(text: str, known: frozenset[str]) -> str:
    words = _WORD.sub(lambda word: word[0] if word[0] in known else _BLOT, text)
    return re.sub(rf"(?:[-+]\s*)*{_BLOT}(?:[^\w{_BLOT}]*{_BLOT})*", _BLOT, words)  # with its sign


def told_traceback(traceback: str, cells: Mapping[str, str]) -> str:
    """Return a traceback's frames that are in the code which was handed in, as it stands there.

    Args:
        traceback: Two lines a frame, as the student's process tells them.
        cells: Label to source of each cell that has run.

    Returns:
        The frames that can be true.
    """
    told: list[str] = []
    lines = traceback.split("\n")
    for header, text in itertools.pairwise(lines):
        found = _FRAME.fullmatch(header)
        source = cells.get(found["cell"]) if found else None
        if not found or source is None or int(found["line"]) > source.count("\n") + 1:
            continue
        where = f"Cell {found['cell']}, line {int(found['line'])}"
        if found["name"] and re.search(rf"\bdef {re.escape(found['name'])}\b", source):
            where += f", in {found['name']}"
        told.append(where)
        if text.strip() in {line.strip() for line in source.split("\n")}:
            told.append(text)
    return "\n".join(told)
