"""Says whether the worker's modules hold what they held before any of the student's code ran.

A function of theirs that somebody holds leads to all that its module knows by a name. Whoever puts
something else there, and back again, is seen where it counts: when something is to be noted.
"""

from collections.abc import Iterable
from types import ModuleType
from typing import Any

_WARNED = "__warningregistry__"  # which Python puts where it warns of something

_kept: list[tuple[dict[str, Any], dict[str, Any]]] = []  # what a module holds, and what it held


def seal(modules: Iterable[ModuleType]) -> None:
    """Remember what modules hold, and their builtins.

    Args:
        modules: All of the worker's.
    """
    books = [vars(module) for module in modules]
    books += [book["__builtins__"] for book in books if type(book.get("__builtins__")) is dict]
    _kept[:] = [(book, dict(book)) for book in books]


def are_untouched() -> bool:
    """Whether nothing of it was replaced, taken away or added."""
    return all(
        len(book) == len(held) + (_WARNED in book)
        and all(book.get(name) is value for name, value in held.items())
        for book, held in _kept
    )
