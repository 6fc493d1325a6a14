"""Says whether the worker's modules hold what they held before any of the student's code ran.

A function of theirs that somebody holds leads to all that its module knows by a name. Whoever puts
something else there, and back again, is seen where it counts: when something is to be noted.
"""

import builtins
from collections.abc import Iterable
from operator import is_
from types import ModuleType
from typing import Any, NamedTuple

_BUILTINS = frozenset(vars(builtins))


class _Book(NamedTuple):
    """What a module holds, what it held, and the builtins that nothing of its own hides."""

    holds: dict[str, Any]
    names: tuple[str, ...]
    values: tuple[Any, ...]
    builtins: frozenset[str]


_kept: list[_Book] = []
_own_builtins: list[_Book] = []


def remember_modules(modules: Iterable[ModuleType]) -> None:
    """Remember what modules hold, and their builtins.

    Args:
        modules: Those of the worker's that notes depend on; each has builtins of its own.
    """
    books = [vars(module) for module in modules]
    own = (book["__builtins__"] for book in books)
    _kept[:] = map(_remember, books)
    _own_builtins[:] = [_remember(each) for each in own if each is not vars(builtins)]


def are_untouched() -> bool:
    """Whether nothing of it was replaced, taken away, or hidden behind another of its name.

    What else is added changes nothing: warnings and compilers put names of their own there.
    """
    return all(map(_is_untouched, _kept))


def are_builtins_untouched() -> bool:
    """Whether their builtins are what they were: these are many, and nobody is shown them."""
    return all(map(_is_untouched, _own_builtins))


def _remember(book: dict[str, Any]) -> _Book:
    return _Book(book, tuple(book), tuple(book.values()), _BUILTINS.difference(book))


def _is_untouched(book: _Book) -> bool:
    return all(map(is_, map(book.holds.get, book.names), book.values)) and book.builtins.isdisjoint(
        book.holds
    )
