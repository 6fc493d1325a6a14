"""Looks at what may be the student's without running any of their code.

A class of theirs may answer when it is compared, looked up or asked for an attribute, and then find
on the stack who looks: what notes what runs. So types are exact, and all else is Python's own.
"""

from collections.abc import Collection, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_mro, _members = vars(type)["__mro__"].__get__, vars(type)["__dict__"].__get__
_names = vars(ModuleType)["__dict__"].__get__
_given: dict[str, list[Any]] = {}


def file_of(code: CodeType) -> str:
    """Return the name of a code's file: a text of Python's own, whatever it was compiled with."""
    return str.__str__(code.co_filename)


def members_of(thing: Any) -> Any:
    """Return what an object, a class or a module holds by its names, as they are now."""
    if issubclass(type(thing), type):
        return _members(thing)
    return _names(thing) if issubclass(type(thing), ModuleType) else vars(thing)


def item_of(table: Any, key: str | int) -> Any:
    """Return what a plain dictionary holds under a key; None if it is none, or has no such key."""
    items = list(table.items()) if type(table) is dict else []  # at once: other threads may go on
    return next((value for own, value in items if type(own) is type(key) and own == key), None)


def names_in(code: CodeType) -> Iterator[str]:
    """Yield all names that a code uses, its functions' among them, and all its texts."""
    yield from code.co_names
    for constant in code.co_consts:
        if type(constant) is str:
            yield constant
        elif type(constant) is CodeType:
            yield from names_in(constant)


def belongs(code: CodeType, exercise: str) -> bool:
    """Whether a code is that of the student's object of this name, or of one of its methods."""
    return any(_has(found, code) for found in _students({exercise}))


def is_any_of(thing: Any, names: Collection[str]) -> bool:
    """Whether it is one of the student's objects of these names, or an instance of one."""
    own = _students(names)
    return any(value is each for value in (thing, *_mro(type(thing))) for each in own)


def _has(thing: Any, code: CodeType) -> bool:
    if type(thing) is FunctionType:
        return thing.__code__ is code
    kind = thing if issubclass(type(thing), type) else type(thing)
    return any(
        type(member) is FunctionType and member.__code__ is code
        for base in _mro(kind)
        for member in _members(base).values()
    )


def remember(name: str, thing: Any) -> None:
    """Remember what the judge was given under a name: it may be called otherwise by now.

    Args:
        name: As the judge asked for it.
        thing: What the student's namespace held then.
    """
    given = _given.setdefault(name, [])
    if not any(thing is each for each in given):
        given.append(thing)


def _students(names: Collection[str]) -> list[Any]:
    """Return the student's objects of these names, now and when the judge was given them."""
    space = list(dict.items(InteractiveShell.instance().user_ns))  # at once, as above
    now = [value for key, value in space if type(key) is str and key in names]
    return now + [each for name in names for each in _given.get(name, ())]
