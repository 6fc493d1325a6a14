"""Names the likely mistake behind a test that fails in a notebook.

A homework's file of answers holds the value that each known mistake gives where a visible test
first fails. The mistake behind a wrong answer is named if the answer is in the file;
nothing else of a solution can be read from it.
"""

import json
import math
from pathlib import Path
from typing import Any

from torch import Tensor

from course_lib.testing import CheckFailure

FILE = "likely_mistakes.json"
"""Name of the file of answers, beside this module in a homework's edition of the library."""

_MOST_ENTRIES, _MOST_CHARACTERS = 64, 1000  # larger answers are left out
_RTOL, _ATOL = 1e-3, 1e-5


def describe(seen: Any) -> Any:
    """Turn the value that an assertion compared, or an error, into data for JSON.

    Args:
        seen: A tensor, an error, or any other value.

    Returns:
        The data; None where it would be too large.
    """
    if isinstance(seen, CheckFailure):
        return seen.summary
    if isinstance(seen, BaseException):
        return f"{type(seen).__name__}: {seen}"
    if not isinstance(seen, Tensor):
        return text if len(text := repr(seen)) < _MOST_CHARACTERS else None
    if seen.numel() > _MOST_ENTRIES:
        return None
    entries = [float(f"{entry:.5g}") for entry in seen.detach().double().flatten().tolist()]
    return {"shape": list(seen.shape), "dtype": str(seen.dtype), "entries": entries}


def is_same(first: Any, second: Any) -> bool:
    """Return whether two descriptions are the same but for rounding.

    Args:
        first: As ``describe`` returns.
        second: Likewise.

    Returns:
        False also where one is None.
    """
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first is not None and bool(first == second)
    about = [(each["shape"], each["dtype"]) for each in (first, second)]
    if about[0] != about[1]:
        return False
    pairs = zip(first["entries"], second["entries"], strict=True)
    return all(_are_close(a, b) for a, b in pairs)


def _are_close(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=_RTOL, abs_tol=_ATOL)


def read_file() -> dict[str, Any]:
    """Read the homework's file of answers that known mistakes give.

    Returns:
        From each test's title to its ``answers`` (number of the assertion, answer, hint) and the
            section to ``read``; empty if there is no file.
    """
    path = Path(__file__).with_name(FILE)
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def find_mistake(test: dict[str, Any], number: int, seen: Any) -> str:
    """Find the likely mistake behind a wrong answer.

    Args:
        test: The test's entry in what ``read_file`` returns.
        number: Which assertion of the test failed, or was under way, from 0.
        seen: The value that it compared, or the error.

    Returns:
        A sentence; empty if no mistake is known that gives this answer.
    """
    answer = describe(seen)
    known = test.get("answers", [])
    return next((hint for at, came, hint in known if at == number and is_same(came, answer)), "")


__all__ = ["FILE", "describe", "find_mistake", "is_same", "read_file"]
