"""The rooms of the book's extension: what each may import, no circles, no room too full."""

import ast
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[2] / "book" / "_ext" / "course_book"
MAY_IMPORT = {
    "diagrams": set(),
    "directives": set(),
    "figures": set(),
    "markup": set(),
    "notebooks": {"directives", "markup", "site"},
    "site": set(),
}
SHARED_BY_FIGURES = {"figure_data", "html_table", "json_checks"}
MOST_MODULES = 12


def module_name(file: Path) -> str:
    parts = file.relative_to(EXTENSION.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {module_name(file): file for file in sorted(EXTENSION.rglob("*.py"))}


def imported_modules(file: Path) -> set[str]:
    """The extension's modules that a file imports, wherever in it, for types too."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports by a relative name"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in MODULES else node.module)
    return names & MODULES.keys()


ARROWS = {module: imported_modules(file) for module, file in MODULES.items()}


def test_every_module_lies_in_a_room():
    assert {file.name for file in EXTENSION.glob("*.py")} == {"__init__.py"}
    assert {file.parent.name for file in EXTENSION.glob("*/__init__.py")} == MAY_IMPORT.keys()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room):
    allowed = {room} | MAY_IMPORT[room]
    wrong = [
        f"{module} imports {target}"
        for module, targets in ARROWS.items()
        if module.split(".")[1:2] == [room]
        for target in targets
        if target == "course_book" or target.split(".")[1] not in allowed
    ]
    assert not wrong, wrong


def test_a_figure_imports_only_what_all_figures_share():
    shared = {f"course_book.figures.{name}" for name in SHARED_BY_FIGURES}
    figures = {module: targets for module, targets in ARROWS.items() if module.endswith(".data")}
    assert len(figures) > 20
    assert not {module: targets - shared for module, targets in figures.items() if targets - shared}


def test_no_modules_import_one_another_in_a_circle():
    TopologicalSorter(ARROWS).prepare()  # raises CycleError, which names the circle


def test_a_room_has_a_docstring_and_runs_nothing():
    for module, file in MODULES.items():
        if file.name == "__init__.py" and module != "course_book":
            tree = ast.parse(file.read_text(encoding="utf-8"))
            assert ast.get_docstring(tree), module
            assert len(tree.body) == 1, module


def test_a_room_holds_at_most_a_dozen_modules():
    counts = Counter(file.parent for file in MODULES.values() if file.name != "__init__.py")
    assert max(counts.values()) <= MOST_MODULES
