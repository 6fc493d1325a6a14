"""Each public class has an example in its docstring, and each example gives the printed result."""

import doctest
import importlib
import inspect
import typing
from pathlib import Path

import pytest

import course_lib

FOLDER = Path(course_lib.__file__).parent
ROOMS = (
    "layers",
    "models",
    "tokenization",
    "data",
    "metrics",
    "generation",
    "analysis",
    "training",
)
"""The rooms in which every public class has an example."""


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)


WITH_EXAMPLES = [
    module_name(path) for path in sorted(FOLDER.rglob("*.py")) if ">>> " in path.read_text("utf-8")
]
IN_ROOMS = [
    module_name(path)
    for room in ROOMS
    for path in sorted((FOLDER / room).rglob("*.py"))
    if path.name != "__main__.py"
]


def needs_example(value: object, module: str) -> bool:
    """Return whether a value is a public class of this module that can be instantiated."""
    return (
        inspect.isclass(value)
        and value.__module__ == module
        and not value.__name__.startswith("_")
        and not issubclass(value, BaseException)
        and not typing.is_typeddict(value)
        and not getattr(value, "_is_protocol", False)
    )


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_show(name):
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("name", IN_ROOMS)
def test_public_class_has_an_example(name):
    members = vars(importlib.import_module(name)).values()
    classes = [member for member in members if needs_example(member, name)]
    assert [cls.__name__ for cls in classes if ">>> " not in (cls.__doc__ or "")] == []
