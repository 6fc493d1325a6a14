"""The threat model names its proofs: each of them exists."""

import ast
import re
from functools import cache

from tests.autograder.conftest import ROOT
from tests.homework.test_hostile import GROUPS

PAGE = (ROOT / "autograder" / "SECURITY.md").read_text(encoding="utf-8")


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_test_that_the_page_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 30
    missing = [f"{file}::{test}" for file, test in named if test not in names_in(file)]
    assert not missing


def test_each_group_of_attacks_is_named():
    modules = {path.stem for path in (ROOT / "tests/homework/hostile").glob("*.py")}
    assert modules == {*GROUPS, "__init__", "attack"}
    assert all(f"`{group}`" in PAGE for group in GROUPS)
