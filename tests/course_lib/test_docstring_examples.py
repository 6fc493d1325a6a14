"""Do the examples in docstrings give what they show?"""

import doctest
import importlib
from pathlib import Path

import pytest

import course_lib

FOLDER = Path(course_lib.__file__).parent
WITH_EXAMPLES = [
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in sorted(FOLDER.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_show(name):
    failed, attempted = doctest.testmod(importlib.import_module(f"course_lib.{name}"))
    assert attempted > 0
    assert failed == 0
