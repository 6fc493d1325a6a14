"""Can every dataclass be compared? Whether two tensors are equal is no single truth value."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import course_lib


def dataclasses_with_tensors():
    """Yield the dataclasses of ``course_lib`` with a field for a tensor or a module."""
    for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if module.name.endswith("__main__"):
            continue
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if found.__module__ == module.name and dataclasses.is_dataclass(found):
                types = [str(field.type) for field in dataclasses.fields(found)]
                if any("Tensor" in kind or "Module" in kind for kind in types):
                    yield found


FOUND = list(dataclasses_with_tensors())
assert len(FOUND) > 2


@pytest.mark.parametrize("found", FOUND, ids=lambda found: found.__qualname__)
def test_dataclass_with_tensors_compares_by_identity(found):
    assert found.__eq__ is object.__eq__
    assert found.__hash__ is object.__hash__
