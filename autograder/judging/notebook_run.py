"""Runs one notebook: the student's cells in the student's process, the checks in this one."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from autograder.homework_source.cell_text import students_text
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.added_text import names_made
from autograder.judging.check import run_check
from autograder.judging.check_limits import CheckLimits
from autograder.judging.outputs import MAX_BYTES, check_shown
from autograder.judging.results import (
    CellFailure,
    CellOutput,
    CheckResult,
    Flag,
    Progress,
    Status,
    not_earned,
)
from autograder.judging.rules import breach_flag, breach_message, rules_of
from autograder.judging.second_try import SecondTry
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import Step
from autograder.judging.trusted_code import run_setup

_UNKNOWN_NAME = re.compile(r"name '(\w+)' is not defined")


class NotebookRun:
    """One run of a notebook, step by step.

    Args:
        process: The student's process.
        homework: The instructor's notebook.
        limits: Time limits of the checks.
        names: Names that checks can use besides their own, see ``names_of_checks``.
        characters: Maximum number of characters to keep of a cell's output.
        device: Device of the tests' tensors.
        seed: Seed of the hidden inputs.
        progress: Results of an earlier run, which are kept.
        second_try: The references to use, if this is the second run.

    Attributes:
        results: Results by check.
        lost: For each exercise that ran a forbidden name, the status of its checks and a message.
        failures: Failed cells, by label.
        outputs: Outputs of the cells.
        on_cell: Called with the label of each cell before it runs in the student's process, and
            with an empty label before an instructor's cell runs here.
        on_check: Called with the name of each check before it runs.
        on_progress: Called with the results so far after each check.
    """

    def __init__(
        self,
        process: StudentProcess,
        homework: Homework,
        limits: CheckLimits,
        *,
        names: Mapping[str, Any],
        characters: int,
        device: str,
        seed: int,
        progress: Progress,
        second_try: SecondTry | None = None,
    ) -> None:
        self._homework = homework
        self._process = process
        self._limits = limits
        self._characters = characters
        self._device = device
        self._seed = seed
        self._second_try = second_try
        self._trusted = dict(names)
        self._flags = dict.fromkeys(progress.flags)
        self.results = dict(progress.results)
        self.lost = dict(progress.lost)
        self.failures: dict[str, CellFailure] = {}
        self.outputs: list[CellOutput] = []
        self._rules = rules_of(homework)
        self.on_cell: Callable[[str], None] = lambda label: None
        self.on_check: Callable[[str], None] = lambda check: None
        self.on_progress: Callable[[Progress], None] = lambda progress: None

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Remarks for the staff."""
        return tuple(self._flags)

    def do(self, step: Step) -> None:
        """Run a cell in the student's process, or a check here."""
        if step.kind is CellKind.TEST:
            assert step.cell is not None
            self._check(step.cell)
            reference = self._second_try and self._second_try.stand_in(step.label)
            if reference:
                self._run_cell(reference.grade_id, reference.source)
            return
        if step.kind is CellKind.SETUP:
            self.on_cell("")
            assert step.cell is not None
            run_setup(step.cell, self._trusted, self._device)
        failure = self._run_cell(step.label, step.source)
        if step.is_early:  # its second run reports the failure and the outputs
            return
        if failure is not None:
            missing = _UNKNOWN_NAME.search(failure.message)
            # A cell of the student's may use a variable of a cell that grading skips.
            if step.cell or not (missing and missing[1] in _names_left_out(self._homework.cells)):
                self.failures[step.label] = failure
        if step.kind is CellKind.SOLUTION:
            room = MAX_BYTES - sum(len(shown.text) + len(shown.png) for shown in self.outputs)
            self.outputs += check_shown(
                step.label, self._process.take_shown(), characters=self._characters, room=room
            )

    def _run_cell(self, label: str, source: str) -> CellFailure | None:
        self.on_cell(label)
        return self._process.run_cell(label, source)

    def _check(self, cell: Cell) -> None:
        if cell.grade_id in self.results:
            return
        self.on_check(cell.grade_id)
        if cell.exercise not in self.lost:
            self._take(self._limits.run(cell, functools.partial(self._attempt, cell)))
        if cell.exercise in self.lost:
            self.results[cell.grade_id] = not_earned(cell, *self.lost[cell.exercise])
        self.on_progress(Progress(results=self.results, lost=self.lost, flags=self.flags))

    def _take(self, found: CheckResult) -> None:
        second = self._second_try
        self.results[found.check] = second.better(found) if second else found

    def _attempt(self, cell: Cell, seconds: float) -> CheckResult:
        rule = self._rules.get(cell.exercise, ())
        try:
            if rule:
                self._process.record(rule)
            result = run_check(
                cell, self._process, self._trusted, seed=self._seed, seconds=seconds,
                has_variants=bool(self._homework.variants),
            )  # fmt: skip
            ran = self._process.recorded(rule) if rule else []
        except ProcessEnded as ended:  # while the recorder was called
            return not_earned(cell, ended.status, ended.message)
        return self._blame(cell, ran[0]) if ran else result

    def _blame(self, cell: Cell, name: str) -> CheckResult:
        """Deduct points because the forbidden ``name`` ran; return the check's failed result.

        The exercise loses all its points. If an earlier exercise may be at fault, only this check
        loses its points, and it runs again with the reference in place of that exercise.
        """
        message = breach_message(cell.exercise, name)
        if self._second_try is not None or not any(
            name in self._rules.get(exercise, ()) for exercise in self.lost
        ):
            self._flags[breach_flag(cell.exercise, name)] = None
            self.lost[cell.exercise] = (Status.FAIL, message)
            for check in self._homework.checks:
                if check.exercise == cell.exercise and check.grade_id in self.results:
                    self.results[check.grade_id] = not_earned(check, Status.FAIL, message)
        return not_earned(cell, Status.FAIL, message)


@functools.cache
def _names_left_out(cells: tuple[Cell, ...]) -> frozenset[str]:
    """Return the variables of the cells that do not run in the student's process."""
    left_out = (cell for cell in cells if cell.kind in (CellKind.TEST, CellKind.DEMO))
    return frozenset[str]().union(*(names_made(students_text(cell)) for cell in left_out))
