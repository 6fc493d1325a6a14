"""Runs checks on the wrong variants of a solution, as if each were a submission."""

from collections.abc import Callable
from typing import Any

from autograder.homework_source.homework import CellKind, Homework, Variant
from autograder.judging.check import run_check
from autograder.judging.results import Status
from autograder.judging.student_process import StudentProcess
from autograder.judging.transcript import Transcript
from autograder.judging.trusted_code import names_of_checks, run_setup
from autograder.sandbox.zygote import SandboxError

_SECONDS = 10.0  # limit of a check on a variant


class VariantRuns:
    """Runs checks on wrong variants; keeps the transcripts of one seed for a class's submissions.

    Args:
        homework: The homework.
        start: Returns a new process for the instructor's code.
        device: Device of the tests' tensors.
    """

    def __init__(
        self, homework: Homework, start: Callable[[], StudentProcess], *, device: str
    ) -> None:
        self._homework = homework
        self._start = start
        self._device = device
        self._solutions = {c.grade_id: c for c in homework.cells if c.kind is CellKind.SOLUTION}
        self._checks = {cell.grade_id: cell for cell in homework.checks}
        self._made: dict[tuple[Variant, str], Transcript] = {}
        self._process: StudentProcess | None = None
        self._names: dict[str, Any] = {}
        self._in_place: Variant | None = None
        self.seed = 0

    def use_seed(self, seed: int) -> None:
        """Set the seed of the hidden inputs for the next runs."""
        if seed != self.seed:
            self._made.clear()
        self.seed = seed

    def run(self, variant: Variant, check: str) -> Transcript:
        """Return the transcript of a check, by grade_id, for a variant; empty if it passes."""
        key = (variant, check)
        if key not in self._made:
            self._made[key] = self._run(variant, check)
        return self._made[key]

    def close(self) -> None:
        """End the process."""
        process, self._process, self._in_place = self._process, None, None
        if process:
            process.stop()

    def _run(self, variant: Variant, check: str) -> Transcript:
        process = self._with(variant)
        found = run_check(
            self._checks[check], process, self._names, seed=self.seed, seconds=_SECONDS,
            has_variants=True,
        )  # fmt: skip
        if found.status in (Status.TIMEOUT, Status.CRASH, Status.INVALID):
            self.close()
        return found.transcript

    def _with(self, variant: Variant) -> StudentProcess:
        """Return the process, after running the variant in place of its exercise's solution."""
        before = self._in_place
        if before and before.exercise != variant.exercise:
            self.close()
        if self._process is None:
            self._process = self._start()
            self._names = names_of_checks(self._homework, self._device)
            for cell in self._homework.cells:
                if cell.kind is CellKind.SETUP:
                    run_setup(cell, self._names, self._device)
                if cell.kind in (CellKind.SETUP, CellKind.SOLUTION):
                    failure = self._process.run_cell(cell.grade_id, cell.source)
                    if failure:
                        raise SandboxError(f"{cell.grade_id} fails by itself: {failure.message}")
        if self._in_place != variant:
            self._process.run_cell(variant.exercise, variant.source)
            self._in_place = variant
        return self._process
