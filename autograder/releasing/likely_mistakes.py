"""Runs the visible tests on wrong variants, so that students' kernels can name likely mistakes.

Only answers and hints are released, no code. Answers that depend on chance are left out.
"""

import contextlib
import io
import random
import warnings
from pathlib import Path
from typing import Any

import torch

from autograder.homework_source.book_links import find_headings
from autograder.homework_source.cell_text import students_text, without_magics
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.homework_source.variants import join_hints
from course_lib.likely_mistakes import describe, is_same
from course_lib.testing import CheckFailure, observed_by

_MOST_ALIKE = 3  # mistakes with the same answer; an answer with more is left out
_Answer = tuple[int, Any]
"""The number of the failed assertion, and the value that it compared."""


def find_likely_mistakes(homework: Homework, root: Path) -> dict[str, Any]:
    """Return, by the title of each test, a dict with ``read`` and ``answers``.

    ``read`` names the section of the book to read. ``answers`` are those of the wrong variants,
    each a list: the index of the first failed assertion, the value that it saw, and the hint.
    """
    names: dict[str, Any] = {"__name__": "__release__"}
    for cell in homework.cells:
        if cell.kind in (CellKind.SETUP, CellKind.SOLUTION):
            exec(compile(without_magics(cell.source), cell.grade_id, "exec"), names)  # noqa: S102
    return {
        cell.title: {"read": _read_on(cell, root), "answers": _answers(cell, homework, names)}
        for cell in homework.checks
        if cell.kind is CellKind.TEST
    }


def _read_on(cell: Cell, root: Path) -> str:
    chapter, section = find_headings(cell.read, root) if cell.read else ("", "")
    return f"{section}, in the chapter {chapter}" if section else chapter


def _answers(cell: Cell, homework: Homework, names: dict[str, Any]) -> list[list[Any]]:
    found: list[tuple[_Answer, list[str]]] = []
    for variant in homework.mistakes_in(cell.exercise):
        answer = _answer(cell, variant.source, names, seed=0)
        if answer is None or not _is_sure(answer, _answer(cell, variant.source, names, seed=1)):
            continue
        hints = next((hints for known, hints in found if _is_sure(known, answer)), None)
        if hints is None:
            found.append((answer, [variant.hint]))
        elif variant.hint not in hints:
            hints.append(variant.hint)
    return [[*answer, join_hints(hints)] for answer, hints in found if len(hints) <= _MOST_ALIKE]


def _is_sure(first: _Answer, second: _Answer | None) -> bool:
    return second is not None and first[0] == second[0] and is_same(first[1], second[1])


def _answer(cell: Cell, source: str, names: dict[str, Any], *, seed: int) -> _Answer | None:
    """Run a test's visible part on a variant's ``source``; return its first failed assertion.

    None if the variant passes. ``names`` are the globals of the homework's setup and solutions.
    """
    count, failed = 0, CheckFailure("stops the test")
    answer: _Answer | None = None

    def observe(seen: Any, failure: CheckFailure | None) -> None:
        nonlocal count, answer
        if failure is not None:
            answer = (count, describe(seen))
            raise failed
        count += 1

    torch.manual_seed(seed)
    random.seed(seed)
    own = dict(names)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(action="ignore"),
            observed_by(observe),
        ):
            exec(compile(source, cell.exercise, "exec"), own)  # noqa: S102 -- the instructor's
            exec(compile(students_text(cell), cell.grade_id, "exec"), own)  # noqa: S102
    except Exception as error:
        return answer if error is failed else (count, describe(error))
    return None
