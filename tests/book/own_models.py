"""Models of the reader's own: written by a solved homework, and opened in the page."""

import base64
import copy
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page
from torch import nn

from autograder.homework_source.homework import CellKind
from course_lib.training.export import export_parameters
from tests.book.living_figures import figure_of
from tests.book.watched_page import expect
from tests.homework.tables import load_homework

HOSTILE = "<img/src=x/onerror=hacked=1>"
"""A word that does harm where it is taken for HTML."""

Change = Callable[[dict[str, Any]], object]
"""What makes a file wrong: it changes what is written in it."""


def written_by(homework: str, *, train: Callable[[str], str], demo: str, file: Path) -> Any:
    """Solve a homework, train its model for a moment, and let its last cell write a file.

    Args:
        homework: Such as ``hw06-kv-cache``.
        train: Makes of the source of the demo what is run to train.
        demo: Name of the demo that trains the model; empty if ``train`` needs none.
        file: Where the file goes; the last cell has its name without the ending.

    Returns:
        What the notebook knows in the end, by name.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    cells = load_homework(homework).cells
    for cell in cells:
        if cell.kind in (CellKind.SETUP, CellKind.SOLUTION):
            exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
    sources = {cell.grade_id: cell.source for cell in cells}
    exec(train(sources.get(demo, "")), namespace)
    exec(sources[file.stem].replace(f'"{file.name}"', repr(str(file))), namespace)
    return namespace


def load_engine(page: Page, figure: str) -> None:
    """Load what a figure runs, without a model."""
    page.evaluate(f"courseLoad(courseDeferred['{figure}'])")


def choose(page: Page, name: str, file: Path) -> Locator:
    """Open a file in a figure of a page, and return the figure."""
    figure = figure_of(page, name)
    if not figure.locator(".living-own").evaluate("own => own.open"):
        figure.get_by_text("Open a model of your own").click()
    figure.get_by_label("Your model").set_input_files(file)
    return figure


def with_forgotten_scale(model: nn.Module, factor: float) -> nn.Module:
    """A copy of a model whose encoder's scores are larger by a factor."""
    other = copy.deepcopy(model)
    for layer in other.get_submodule("encoder.layers").children():
        layer.self_attention.query_projection.weight.data *= factor  # type: ignore[union-attr]
    return other


def assert_is_told_apart(page: Page, name: str, file: Path, other: nn.Module) -> None:
    """A file whose parameters are another model's is told from one whose code is right."""
    written = json.loads(file.read_text())
    written["parameters"] = export_parameters(other)
    changed = file.with_name("changed.json")
    changed.write_text(json.dumps(written))
    gap = choose(page, name, changed).locator("[data-gap]")
    expect(gap).to_contain_text("computed other numbers")


def broken(path: str, value: Any) -> Change:
    """A change of one place of a file."""

    def change(written: Any) -> None:
        *outer, last = (int(name) if name.isdigit() else name for name in path.split("/"))
        for name in outer:
            written = written[name]
        written[last] = value

    return change


def with_number(number: float) -> Change:
    """A change of a file's first number."""

    def change(written: dict[str, Any]) -> None:
        letters = base64.b64encode(struct.pack("<f", number)).decode()[:5]
        written["parameters"]["float32"] = letters + written["parameters"]["float32"][5:]

    return change


def refused(page: Page, reader: str, text: str, change: Change) -> str:
    """What the page says of a file's text, changed; reader is the function of the engine."""
    written = json.loads(text)
    change(written)
    read = f"""(text) => {{
      try {{ courseEngine.{reader}(text); }} catch (error) {{ return error.message; }}
      return "nothing";
    }}"""
    return str(page.evaluate(read, json.dumps(written)))


def assert_damaged_files_are_refused(page: Page, name: str, folder: Path) -> None:
    """A file that is cut off, and one that is too large, are refused in plain words."""
    cut, large = folder / "cut.json", folder / "large.json"
    cut.write_text('{"format": "course')
    with large.open("wb") as hole:
        hole.truncate(16_000_001)
    problem = choose(page, name, cut).locator(".living-refused")
    expect(problem).to_contain_text("its end is missing")
    choose(page, name, large)
    expect(problem).to_contain_text("16 are the most that this page takes")
