"""Grades one submission: the student's code in its process, the test cells here."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.homework_source.cell_text import without_magics
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.check import derive_seed, run_check
from autograder.judging.delegation import MAX_FLAGS, read_recorded, rules_of
from autograder.judging.outputs import MAX_BYTES, check_shown
from autograder.judging.reading import Reading, read_code
from autograder.judging.results import (
    CellFailure,
    CellOutput,
    CheckResult,
    Flag,
    Status,
    SubmissionResult,
)
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import Step, SubmissionError, read_submission
from autograder.sandbox.sandbox import Sandbox

_MOST_FAILURES = 20  # cells whose errors are told


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """How long a student's code may run.

    Attributes:
        check_seconds: One check, or one cell, see ``TimeLimit``.
        submission_seconds: A whole notebook, by the clock.
    """

    check_seconds: float = 30.0
    submission_seconds: float = 600.0


class Judge:
    """Grades submissions of one homework.

    Args:
        homework: The instructor's notebook.
        sandbox: Gives out processes for students' code.
        limits: How long students' code may run.
        isolated: Whether ``sandbox`` is one; told to the report.
        device: Where the tests put their tensors: ``cpu`` or ``cuda``.
    """

    def __init__(
        self,
        homework: Homework,
        sandbox: Sandbox,
        *,
        limits: TimeLimits,
        isolated: bool = True,
        device: str = "cpu",
    ) -> None:
        self._homework = homework
        self._sandbox = sandbox
        self._limits = limits
        self._isolated = isolated
        self._device = device
        rules = rules_of(homework).values()
        self._watched = sorted({name for names in rules for name in names})

    def grade(self, notebook: bytes, student: str, *, seed: int | None = None) -> SubmissionResult:
        """Grade one notebook.

        Args:
            notebook: The file's bytes as handed in.
            student: The student's id.
            seed: Draws the hidden inputs; a fresh one if None.

        Returns:
            One outcome for each check, whatever the notebook holds.
        """
        seed = secrets.randbits(62) if seed is None else seed
        started = time.monotonic()
        try:
            submission = read_submission(notebook, self._homework)
        except SubmissionError as error:
            return ungraded(self._homework, student, str(error), seed=seed)
        process = StudentProcess(
            self._sandbox,
            seconds=self._limits.check_seconds,
            submission_seconds=self._limits.submission_seconds,
            watched=self._watched,
        )
        try:
            reading = read_code(process, submission, self._homework)
            run = _Run(
                process,
                self._homework,
                reading,
                seconds=self._limits.check_seconds,
                characters=self._sandbox.limits.output_characters,
                device=self._device,
                seed=derive_seed(seed, student),
            )
            for step in submission.steps:
                run.do(step)
        finally:
            process.stop()
        return SubmissionResult(
            student=student,
            homework=self._homework.id,
            checks=tuple(
                run.results.get(c.grade_id, _not_earned(c, Status.MANUAL))
                for c in self._homework.checks
            ),
            cell_failures=_first_of(tuple(run.failures.values())),
            outputs=tuple(run.outputs),
            flags=(*submission.flags, *reading.flags, *run.flags),
            seconds=time.monotonic() - started,
            seed=seed,
            sandboxed=self._isolated,
        )


def ungraded(homework: Homework, student: str, reason: str, *, seed: int = 0) -> SubmissionResult:
    """Return the result of a submission that can't be run.

    Args:
        homework: The instructor's notebook.
        student: The student's id.
        reason: Why, in words for the student.
        seed: The seed it would have been graded with.

    Returns:
        A result in which every check is INVALID and earns nothing.
    """
    checks = tuple(_not_earned(cell, Status.INVALID, reason) for cell in homework.checks)
    return SubmissionResult(
        student=student, homework=homework.id, checks=checks, error=reason, seed=seed
    )


class _Run:
    """What has happened so far while one submission is graded."""

    def __init__(
        self,
        process: StudentProcess,
        homework: Homework,
        reading: Reading,
        *,
        seconds: float,
        characters: int,
        device: str,
        seed: int,
    ) -> None:
        self._homework = homework
        self._lost = dict(reading.lost)
        self._unread = reading.unread
        self._process = process
        self._seconds = seconds
        self._characters = characters
        self._device = device
        self._seed = seed
        self._trusted: dict[str, Any] = {"__name__": "__check__"}
        self.results: dict[str, CheckResult] = {}
        self.failures: dict[str, CellFailure] = {}
        self.outputs: list[CellOutput] = []
        self._flags: dict[Flag, None] = {}

    @property
    def flags(self) -> tuple[Flag, ...]:
        return tuple(self._flags)[:MAX_FLAGS]

    def do(self, step: Step) -> None:
        if step.kind is CellKind.TEST:
            assert step.cell is not None
            if step.cell.exercise in self._lost:
                status, message = self._lost[step.cell.exercise]
                self.results[step.label] = _not_earned(step.cell, status, message)
                return
            self.results[step.label] = run_check(
                step.cell, self._process, self._trusted, seed=self._seed, seconds=self._seconds
            )
            self._read_recorded(step.cell)
            return
        if step.label in self._unread:
            self.failures[step.label] = self._unread[step.label]
            return
        if step.kind is CellKind.SETUP:
            code = compile(without_magics(step.source), f"<setup {step.label}>", "exec")
            with _course_device(self._device):
                exec(code, self._trusted)  # noqa: S102 -- the instructor's own code
        failure = self._process.run_cell(step.label, step.source)
        if failure is not None:
            self.failures[step.label] = failure
        if step.kind is CellKind.SOLUTION:
            room = MAX_BYTES - sum(len(shown.text) + len(shown.png) for shown in self.outputs)
            self.outputs += check_shown(
                step.label, self._process.take_shown(), characters=self._characters, room=room
            )

    def _read_recorded(self, check: Cell) -> None:
        try:
            recorded = read_recorded(self._process, self._homework, check.exercise)
        except ProcessEnded as ended:  # with what it would have told
            self.results[check.grade_id] = _not_earned(check, ended.status, ended.message)
            return
        self._flags |= dict.fromkeys(recorded.flags)
        self._lost |= recorded.lost
        for cell in self._homework.checks:
            if cell.exercise in recorded.lost and cell.grade_id in self.results:
                self.results[cell.grade_id] = _not_earned(cell, *recorded.lost[cell.exercise])


@contextlib.contextmanager
def _course_device(device: str) -> Iterator[None]:
    """Tell setup cells where the tests put their tensors, here as in the student's process."""
    before = os.environ.get("COURSE_DEVICE")
    os.environ["COURSE_DEVICE"] = device
    try:
        yield
    finally:
        del os.environ["COURSE_DEVICE"]
        if before is not None:
            os.environ["COURSE_DEVICE"] = before


def _first_of(failures: tuple[CellFailure, ...]) -> tuple[CellFailure, ...]:
    """Keep what somebody may read: each has a page of words, and a notebook a thousand cells."""
    if len(failures) <= _MOST_FAILURES:
        return failures
    left_out = len(failures) - _MOST_FAILURES
    message = f"{left_out} more cells did not run to their end."
    rest = CellFailure(cell="further cells", status=Status.ERROR, message=message)
    return (*failures[:_MOST_FAILURES], rest)


def _not_earned(cell: Cell, status: Status, message: str = "") -> CheckResult:
    return CheckResult(
        check=cell.grade_id, exercise=cell.exercise, title=cell.title, status=status, score=0.0,
        max_score=cell.points, message=message, read=cell.read,
    )  # fmt: skip
