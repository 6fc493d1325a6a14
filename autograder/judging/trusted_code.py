"""Runs the instructor's code in the judge: setup cells, and the reference solutions."""

import contextlib
import functools
import os
from collections.abc import Iterator
from types import CodeType, SimpleNamespace
from typing import Any

from autograder.homework_source.cell_text import without_magics
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.sandbox.zygote import SandboxError
from course_lib import testing

_RUN = {CellKind.SETUP, CellKind.SOLUTION}


@functools.cache
def compile_setup(label: str, source: str) -> CodeType:
    """Compile an instructor's cell, once for all submissions."""
    return compile(without_magics(source), f"<setup {label}>", "exec")


def run_setup(cell: Cell, namespace: dict[str, Any], device: str) -> None:
    """Run an instructor's setup or solution cell in a namespace.

    Raises:
        SandboxError: The cell raised an exception, so nothing can be graded.
    """
    code = compile_setup(cell.grade_id, cell.source)
    try:
        with _course_device(device):
            exec(code, namespace)  # noqa: S102 -- the instructor's
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise SandboxError(f"the {cell.kind} cell {cell.grade_id} raised {raised}") from error


def names_of_checks(homework: Homework, device: str) -> dict[str, Any]:
    """Return the names that every check of a homework with variants can use.

    They are ``reference``, with the solutions as attributes, and those of ``course_lib.testing``.
    """
    names: dict[str, Any] = {"__name__": "__check__"}
    if homework.variants:
        names |= {name: getattr(testing, name) for name in testing.__all__}
        namespace: dict[str, Any] = {"__name__": "__reference__"}
        for cell in homework.cells:
            if cell.kind in _RUN:
                run_setup(cell, namespace, device)
        solutions = [c.grade_id for c in homework.cells if c.kind is CellKind.SOLUTION]
        names["reference"] = SimpleNamespace(**{name: namespace[name] for name in solutions})
    return names


@contextlib.contextmanager
def _course_device(device: str) -> Iterator[None]:
    """Set ``COURSE_DEVICE`` for setup cells, as in the student's process."""
    before = os.environ.get("COURSE_DEVICE")
    os.environ["COURSE_DEVICE"] = device
    try:
        yield
    finally:
        del os.environ["COURSE_DEVICE"]
        if before is not None:
            os.environ["COURSE_DEVICE"] = before
