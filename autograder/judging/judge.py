"""Grades one submission: the student's code in its process, the test cells here."""

import contextlib
import functools
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.homework_source.magics import without_magics
from autograder.judging.check import derive_seed, run_check
from autograder.judging.check_limits import CheckLimits, TimeLimits
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
    not_earned,
    ungraded,
)
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import (
    Step,
    SubmissionError,
    instructors_step,
    read_submission,
)
from autograder.sandbox.zygote import Zygote

_MOST_FAILURES = 20  # cells whose errors are told


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
        sandbox: Zygote,
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
        self._reference: dict[str, float] = {}
        rules = rules_of(homework).values()
        self._watched = sorted({name for names in rules for name in names})

    def grade(
        self,
        notebook: bytes,
        student: str,
        *,
        seed: int | None = None,
        known: Mapping[str, CheckResult] | None = None,
        on_check: Callable[[str], None] = lambda check: None,
        on_result: Callable[[CheckResult], None] = lambda result: None,
    ) -> SubmissionResult:
        """Grade one notebook.

        Args:
            notebook: The file's bytes as handed in.
            student: The student's id.
            seed: Draws the hidden inputs; a fresh one if None.
            known: Results, by check, that stand already: of a judge that was ended in its work.
            on_check: Called with each check before it runs.
            on_result: Called with its result.

        Returns:
            One outcome for each check, whatever the notebook holds.
        """
        seed = secrets.randbits(62) if seed is None else seed
        started = time.monotonic()
        try:
            submission = read_submission(notebook, self._homework)
        except SubmissionError as error:
            return ungraded(self._homework, student, str(error), seed=seed)
        with self._process() as process:
            reading = read_code(process, submission, self._homework)
            run = self._run(process, reading, self._reference_seconds, derive_seed(seed, student))
            run.results.update(known or {})
            run.on_check, run.on_result = on_check, on_result
            for step in submission.steps:
                run.do(step)
        return SubmissionResult(
            student=student,
            homework=self._homework.id,
            checks=tuple(
                run.results.get(c.grade_id, not_earned(c, Status.MANUAL))
                for c in self._homework.checks
            ),
            cell_failures=_first_of(tuple(run.failures.values())),
            outputs=tuple(run.outputs),
            flags=(*submission.flags, *reading.flags, *run.flags),
            seconds=time.monotonic() - started,
            seed=seed,
            sandboxed=self._isolated,
        )

    @contextlib.contextmanager
    def _process(self) -> Iterator[StudentProcess]:
        process = StudentProcess(
            self._sandbox,
            seconds=self._limits.check_seconds,
            submission_seconds=self._limits.submission_seconds,
            watched=self._watched,
        )
        try:
            yield process
        finally:
            process.stop()

    def _run(
        self,
        process: StudentProcess,
        reading: Reading,
        reference_seconds: Callable[[str], float],
        seed: int,
    ) -> "_Run":
        limits = CheckLimits(self._limits.check_seconds, reference_seconds)
        characters = self._sandbox.limits.output_characters
        return _Run(
            process, self._homework, reading, limits,
            characters=characters, device=self._device, seed=seed,
        )  # fmt: skip

    def _reference_seconds(self, check: str) -> float:
        """Return how long a check takes with the instructor's own solution; tried out once."""
        if not self._reference:
            with self._process() as process:
                whatever_it_takes = self._limits.check_seconds
                reading = Reading(lost={}, flags=())
                run = self._run(process, reading, lambda check: whatever_it_takes, seed=0)
                for cell in self._homework.cells:
                    if cell.kind in (CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST):
                        run.do(instructors_step(cell))
            self._reference = {check: result.seconds for check, result in run.results.items()}
        return self._reference.get(check, 0.0)


class _Run:
    """What has happened so far while one submission is graded."""

    def __init__(
        self,
        process: StudentProcess,
        homework: Homework,
        reading: Reading,
        limits: CheckLimits,
        *,
        characters: int,
        device: str,
        seed: int,
    ) -> None:
        self._homework = homework
        self._lost = dict(reading.lost)
        self._unread = reading.unread
        self._process = process
        self._limits = limits
        self._characters = characters
        self._device = device
        self._seed = seed
        self._trusted: dict[str, Any] = {"__name__": "__check__"}
        self.on_check: Callable[[str], None] = lambda check: None
        self.on_result: Callable[[CheckResult], None] = lambda result: None
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
            self._check(step.cell)
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

    def _check(self, cell: Cell) -> None:
        if cell.grade_id in self.results:
            return
        self.on_check(cell.grade_id)
        if cell.exercise in self._lost:
            status, message = self._lost[cell.exercise]
            self.results[cell.grade_id] = not_earned(cell, status, message)
        else:
            attempt = functools.partial(self._attempt, cell)
            self.results[cell.grade_id] = self._limits.run(cell, attempt)
            self._read_recorded(cell)
        self.on_result(self.results[cell.grade_id])

    def _attempt(self, cell: Cell, seconds: float) -> CheckResult:
        return run_check(cell, self._process, self._trusted, seed=self._seed, seconds=seconds)

    def _read_recorded(self, check: Cell) -> None:
        try:
            recorded = read_recorded(self._process, self._homework, check.exercise)
        except ProcessEnded as ended:  # with what it would have told
            self.results[check.grade_id] = not_earned(check, ended.status, ended.message)
            return
        self._flags |= dict.fromkeys(recorded.flags)
        self._lost |= recorded.lost
        for cell in self._homework.checks:
            if cell.exercise in recorded.lost and cell.grade_id in self.results:
                self.results[cell.grade_id] = not_earned(cell, *recorded.lost[cell.exercise])


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
