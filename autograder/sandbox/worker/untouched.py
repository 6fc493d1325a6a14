"""Says whether the worker's modules hold what they held before any of the student's code ran.

A function of theirs that somebody holds leads to all that its module knows by a name. Whoever puts
something else there, and back again, is seen where it counts: when something is to be noted.
"""

import builtins
from collections.abc import Iterable
from types import ModuleType
from typing import Any

_WARNED = "__warningregistry__"  # which Python puts where it warns of something

_kept: list[tuple[dict[str, Any], dict[str, Any]]] = []  # what a module holds, and what it held


def remember_modules(modules: Iterable[ModuleType]) -> None:
    """Remember what modules hold, and their builtins.

    Args:
        modules: All of the worker's; those of builtins of their own have these alone.
    """
    books = [vars(module) for module in modules]
    books += [own for book in books if (own := book["__builtins__"]) is not vars(builtins)]
    _kept[:] = [
        (book, {name: value for name, value in book.items() if name != _WARNED}) for book in books
    ]


def are_untouched() -> bool:
    """Whether nothing of it was replaced, taken away or added."""
    return all(
        len(book) - (_WARNED in book) == len(held)
        and all(book.get(name) is value for name, value in held.items())
        for book, held in _kept
    )
