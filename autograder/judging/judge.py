"""Grades one submission: runs the student's code in its process, and the test cells here."""

import contextlib
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import Any

import torch

from autograder.clean_text import one_line
from autograder.homework_source.homework import Cell, CellKind, Homework, Variant
from autograder.judging.charging import charge
from autograder.judging.check_limits import CheckLimits, TimeLimits
from autograder.judging.dropout import NO_DROPOUT, charge_dropout_once
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.notebook_run import NotebookRun
from autograder.judging.results import (
    CellFailure,
    CheckResult,
    Progress,
    Status,
    SubmissionResult,
    not_earned,
    ungraded,
)
from autograder.judging.rules import flag_prying, rules_of
from autograder.judging.second_try import SecondTry, to_try_again
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import (
    instructors_step,
    read_submission,
)
from autograder.judging.transcript import Transcript
from autograder.judging.trusted_code import names_of_checks
from autograder.judging.unwritten import name_place, name_unread_cells
from autograder.judging.variant_runs import VariantRuns
from autograder.sandbox.worker.peer import RemoteError
from autograder.sandbox.zygote import SandboxError, Zygote

_OWN_SECONDS = 600.0  # for the instructor's own code
_GPU_SECONDS = 60.0  # for CUDA to start
_TEST = CellKind.TEST
_MOST_FAILURES = 20  # cells whose errors are reported

OnProgress = Callable[[Progress], None]


class Judge:
    """Grades submissions of one homework.

    Args:
        homework: The instructor's notebook.
        sandbox: Starts processes for student code.
        limits: Time limits of student code.
        isolated: Whether ``sandbox`` isolates its processes; part of the result.
        device: Device of the tests' tensors, ``cpu`` or ``cuda``.
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
        self._names: dict[str, Any] = {}
        self._variants = VariantRuns(homework, self._start, device=device)
        self._has_reached_device = device == "cpu"

    def prepare(self) -> None:
        """Make the sandbox record each call of a name that the homework forbids."""
        rules = rules_of(self._homework).values()
        self._sandbox.prepare(sorted({name for names in rules for name in names}))

    def grade(
        self,
        notebook: bytes,
        student: str,
        *,
        seed: int,
        known: Progress | None = None,
        taken: float = 0.0,
        on_cell: Callable[[str], None] = lambda label: None,
        on_check: Callable[[str], None] = lambda check: None,
        on_progress: OnProgress = lambda progress: None,
    ) -> SubmissionResult:
        """Grade one notebook.

        One mistake should cost one check, so failed checks are looked at again, in this order:

        1. A check may fail because it uses another exercise that is wrong. It runs again with the
           reference in place of that exercise (``second_try``).
        2. Unwanted dropout makes many checks fail. They run again without it (``dropout``).
        3. An exercise's variants are wrong solutions with known mistakes. If the student's answers
           equal a variant's, only the checks that it names are lost (``charging``).

        Args:
            notebook: The bytes of the submitted file.
            student: The student's id.
            seed: Seed of the hidden inputs.
            known: Results kept from a judge that was terminated while it graded this notebook.
            taken: Seconds that the terminated judge used; they count for the time limit.
            on_cell: As in ``NotebookRun``.
            on_check: As in ``NotebookRun``.
            on_progress: As in ``NotebookRun``.

        Returns:
            The result, with one outcome per check for any notebook.

        Raises:
            SandboxError: The sandbox failed, or its processes can't use the GPU.
        """
        started = time.monotonic() - taken
        try:
            submission = read_submission(notebook, self._homework)
        except SubmissionError as error:
            return ungraded(self._homework, student, str(error), seed=seed)
        self._reach_device()
        limits = CheckLimits(self._limits.check_seconds, self._reference_seconds)

        def run_all(
            process: StudentProcess, report: OnProgress = on_progress, **how: Any
        ) -> NotebookRun:
            run = self._run(process, limits, seed, **how)
            run.on_cell, run.on_check, run.on_progress = on_cell, on_check, report
            for step in submission.steps:
                run.do(step)
            return run

        with self._process(started) as process:
            prying = flag_prying(process, submission)
            first = run_all(process, known=known or Progress())
        results, flags, lost = first.results, first.flags, first.lost
        limits.is_second_try = True

        def left() -> float:
            return self._limits.submission_seconds - (time.monotonic() - started)

        def run_again(
            checks: Container[str],
            second_try: SecondTry | None = None,
            *,
            no_dropout: bool = False,
        ) -> NotebookRun:
            kept = {check: found for check, found in results.items() if check not in checks}
            known = Progress(results=kept, lost=lost, flags=flags)
            with self._process(started) as process:
                if not no_dropout:
                    return run_all(process, known=known, second_try=second_try)
                process.run_cell("dropout", NO_DROPOUT)
                ignore: OnProgress = lambda progress: None  # noqa: E731 -- results are not final
                return run_all(process, ignore, known=known, second_try=second_try)

        again = to_try_again(self._homework, results, lost)
        if again and left() > 0:
            second = run_again(again, SecondTry(self._homework, results, again))
            results, flags, lost = second.results, second.flags, second.lost
        if self._homework.variants and left() > 0:
            second_try = SecondTry(self._homework, results, again) if again else None
            results = charge_dropout_once(
                {c.grade_id: results[c.grade_id] for c in self._homework.checks if c.kind is _TEST},
                [step.source for step in submission.steps if step.kind is CellKind.SOLUTION],
                lambda checks: run_again(checks, second_try, no_dropout=True).results,
            )
            results = self._charge(results, seed, on_cell)
        checks = [
            name_place(results[c.grade_id], submission.locked)
            if c.grade_id in results
            else _by_hand(c, is_blank=c.grade_id in submission.unanswered)
            for c in self._homework.checks
        ]
        sources = {step.label: step.source for step in submission.steps}
        named, failures = name_unread_cells(checks, tuple(first.failures.values()), sources)
        return SubmissionResult(
            student=student,
            homework=self._homework.id,
            title=self._homework.title,
            checks=named,
            cell_failures=_first_of(failures),
            outputs=tuple(first.outputs),
            flags=(*submission.flags, *prying, *flags),
            seconds=time.monotonic() - started,
            seed=seed,
            sandboxed=self._isolated,
        )

    def _charge(
        self, results: dict[str, CheckResult], seed: int, on_cell: Callable[[str], None]
    ) -> dict[str, CheckResult]:
        """Return the results with each mistake charged once; only failed checks run on variants."""
        self._variants.use_seed(seed)

        def run(variant: Variant, check: str) -> Transcript:
            on_cell("")
            return self._variants.run(variant, check)

        try:
            results = charge(self._homework, results, run)
        finally:
            self._variants.close()
        return {check: replace(found, transcript=()) for check, found in results.items()}

    def _start(self) -> StudentProcess:
        """Return a process, with long time limits, that runs the instructor's own code."""
        return StudentProcess(self._sandbox, seconds=_OWN_SECONDS, submission_seconds=_OWN_SECONDS)

    @contextlib.contextmanager
    def _process(self, began: float | None = None) -> Iterator[StudentProcess]:
        process = StudentProcess(
            self._sandbox,
            seconds=self._limits.check_seconds,
            submission_seconds=self._limits.submission_seconds,
            began=began,
        )
        try:
            yield process
        finally:
            process.stop()

    def _run(
        self,
        process: StudentProcess,
        limits: CheckLimits,
        seed: int,
        *,
        known: Progress,
        second_try: SecondTry | None = None,
    ) -> NotebookRun:
        if not self._names:
            self._names = names_of_checks(self._homework, self._device)
        return NotebookRun(
            process,
            self._homework,
            limits,
            names=self._names,
            characters=self._sandbox.limits.output_characters,
            device=self._device,
            seed=seed,
            progress=known,
            second_try=second_try,
        )

    def _reach_device(self) -> None:
        """Check once that a student's process can use the GPU; if not, raise a ``SandboxError``."""
        if self._has_reached_device:
            return
        with self._process() as process:
            try:
                with process.limited(_GPU_SECONDS):
                    process.ask("torch:Tensor.to", torch.zeros(1), self._device)
            except (ProcessEnded, RemoteError) as error:
                raise SandboxError(
                    f"CUDA does not start where students' code runs ({one_line(str(error), 300)}): "
                    "see what doctor says, or grade with --device cpu"
                ) from error
        self._has_reached_device = True

    def _reference_seconds(self, check: str) -> float:
        """Return the processor time of a check with the reference solution; measured once."""
        if not self._reference:
            with self._process() as process:
                most_seconds = self._limits.check_seconds
                limits = CheckLimits(most_seconds, lambda check: most_seconds)
                run = self._run(process, limits, seed=0, known=Progress())
                for cell in self._homework.cells:
                    if cell.kind in (CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST):
                        before = process.used()
                        run.do(instructors_step(cell))
                        found = run.results.get(cell.grade_id)
                        was_stopped = found and found.status in (Status.TIMEOUT, Status.CRASH)
                        took = most_seconds if was_stopped else process.used() - before
                        self._reference[cell.grade_id] = took
        return self._reference.get(check, 0.0)


def _by_hand(cell: Cell, *, is_blank: bool) -> CheckResult:
    message = "Nothing is written here: the cell is as it was handed out." if is_blank else ""
    return not_earned(cell, Status.MANUAL, message)


def _first_of(failures: tuple[CellFailure, ...]) -> tuple[CellFailure, ...]:
    """Return the first failures, and one that states how many others there are."""
    if len(failures) <= _MOST_FAILURES:
        return failures
    left_out = len(failures) - _MOST_FAILURES
    message = f"{left_out} more cells did not run to their end."
    rest = CellFailure(cell="further cells", status=Status.ERROR, message=message)
    return (*failures[:_MOST_FAILURES], rest)
