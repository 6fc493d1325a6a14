"""Puts what notes in the places of others, and in those where modules keep copies of them.

Whoever imports ``*`` of a module has its functions under names of its own: what stands in the place
of one must stand there too. Later on it is asked whether it still does.
"""

import sys
from types import ModuleType
from typing import Any

from .inspection import members_of

_put: dict[tuple[int, str], tuple[Any, str, Any]] = {}  # by place and name
_replaced: list[tuple[Any, Any]] = []  # what was there first, and what is now


def put(place: Any, name: str, instead: Any) -> None:
    """Put something in the place of a function, as it is kept there: static, say.

    Args:
        place: A module, a class or an object.
        name: What it is called there.
        instead: What to put there.
    """
    before = members_of(place)[name]
    is_static = type(before) is staticmethod
    setattr(place, name, staticmethod(instead) if is_static else instead)
    _put[id(place), name] = place, name, members_of(place)[name]
    _replaced.append((before.__func__ if is_static else before, instead))


def take_away(place: Any, name: str) -> None:
    """Take something away.

    Args:
        place: As for ``put``.
        name: Likewise.

    Raises:
        AttributeError: It is not there.
    """
    before = getattr(place, name)
    delattr(place, name)
    _replaced.append((before, _refuse))
    if isinstance(before, ModuleType):  # who finds it elsewhere finds nothing in it
        for full in list(sys.modules):
            if f"{full}.".startswith(f"{before.__name__}."):
                vars(sys.modules.pop(full)).clear()


def replace_copies() -> None:
    """Do the same to all that modules keep under other names; those of this package apart."""
    instead: dict[int, Any] = {}
    for before, now in reversed(_replaced):  # what was put in a place twice is what came last
        instead[id(before)] = instead.get(id(now), now)
    for full, module in list(sys.modules.items()):
        if type(module) is not ModuleType or full.startswith(f"{__package__}."):
            continue
        for name, value in list(vars(module).items()):
            if (now := instead.get(id(value), value)) is not value:
                setattr(module, name, now)


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError("this can't be had while your code is checked")


def are_all_in_place() -> bool:
    """Whether what was put somewhere still stands there."""
    return all(members_of(place).get(name) is now for place, name, now in _put.values())
