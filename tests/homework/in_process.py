"""Grades a notebook's solutions in this process, without sandbox: only for code that we wrote.

As in a student's own kernel, test cells call the solutions themselves. As in the judge, each check
runs to its end with hidden inputs drawn by a seed, and each mistake is charged once.
"""

import contextlib
import io
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from autograder.homework_source.homework import Cell, CellKind, Homework, Variant
from autograder.judging.charging import charge
from autograder.judging.check import seed_everything
from autograder.judging.dropout import charge_dropout_once
from autograder.judging.results import CheckResult, Status, not_earned
from autograder.judging.second_try import SecondTry, to_try_again
from autograder.judging.transcript import Recorder, Transcript
from autograder.judging.trusted_code import names_of_checks, run_setup
from course_lib.testing import call_without_dropout, observed_by
from course_lib.usual_errors import is_unwritten
from tests.processor_time import OutOfTimeError, limited_to


class Kernel:
    """Grades solutions of one homework, with hidden inputs drawn by one seed.

    Args:
        homework: The homework, with the reference solutions.
        seed: The seed of the hidden inputs.
        seconds: Most processor seconds that a check may take.
    """

    def __init__(self, homework: Homework, seed: int = 0, *, seconds: int = 60) -> None:
        self._homework = homework
        self._seed = seed
        self._seconds = seconds
        self._solutions = {c.grade_id: c for c in homework.cells if c.kind is CellKind.SOLUTION}
        self._names = names_of_checks(homework, "cpu")
        for cell in homework.cells:
            if cell.kind is CellKind.SETUP:
                run_setup(cell, self._names, "cpu")
        self._made: dict[tuple[str, str], Transcript] = {}

    def grade(
        self, sources: Mapping[str, str], checks: Collection[str] | None = None
    ) -> dict[str, CheckResult]:
        """Grade a notebook, and return the result of each check that was run, by its grade_id.

        Args:
            sources: The sources of the solution cells that differ from the reference, by grade_id.
            checks: Ids of the checks to run; all that belong to ``sources`` if None.
        """
        if checks is None:
            checks = {c.grade_id for c in self._homework.checks if c.exercise in sources}
        first = self._run(sources, checks)
        again = to_try_again(self._homework, first)
        results = self._run(sources, again, SecondTry(self._homework, first, again)) | {
            check: found for check, found in first.items() if check not in again
        }
        in_order = {
            c.grade_id: results[c.grade_id] for c in self._homework.checks if c.grade_id in results
        }
        with_second = SecondTry(self._homework, in_order, again) if again else None

        def run_without(failed: Collection[str]) -> dict[str, CheckResult]:
            return call_without_dropout(self._run, sources, failed, with_second)

        return charge(
            self._homework,
            charge_dropout_once(in_order, sources.values(), run_without),
            self._run_variant,
        )

    def failed(self, sources: Mapping[str, str]) -> dict[str, CheckResult]:
        """Return the results of all failed checks, though one mistake may have failed several.

        ``sources`` are as in ``grade``.
        """
        checks = {c.grade_id for c in self._homework.checks if c.exercise in sources}
        results = self._run(sources, checks)
        return {check: found for check, found in results.items() if found.status is not Status.PASS}

    def _run_variant(self, variant: Variant, check: str) -> Transcript:
        key = (variant.source, check)
        if key not in self._made:
            sources = {variant.exercise: variant.source}
            self._made[key] = self._run(sources, [check])[check].transcript
        return self._made[key]

    def _run(
        self,
        sources: Mapping[str, str],
        checks: Collection[str],
        second_try: SecondTry | None = None,
    ) -> dict[str, CheckResult]:
        names, results = dict(self._names), {}
        for cell in self._homework.cells if checks else ():
            if cell.kind is CellKind.SETUP:  # it may stand on solutions
                run_setup(cell, names, "cpu")
            if cell.kind is CellKind.SOLUTION:
                self._define(cell, sources.get(cell.grade_id, cell.source), names)
            if cell.kind is not CellKind.TEST:
                continue
            if cell.grade_id in checks:
                found = self._check(cell, names)
                results[cell.grade_id] = second_try.better(found) if second_try else found
            stand_in = second_try.stand_in(cell.grade_id) if second_try else None
            if stand_in:
                self._define(stand_in, stand_in.source, names)
        return results

    def _define(self, cell: Cell, source: str, names: dict[str, Any]) -> None:
        names.pop(cell.grade_id, None)
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(_compile(source, f"<{cell.grade_id}>"), names)

    def _check(self, cell: Cell, names: Mapping[str, Any]) -> CheckResult:
        file = f"<check {cell.grade_id}>"
        recorder = Recorder(file)
        seed_everything(self._seed, cell.grade_id)
        error: BaseException | None = None
        try:
            with (
                limited_to(self._seconds),
                contextlib.redirect_stdout(io.StringIO()),
                observed_by(recorder),
            ):
                exec(_compile(cell.source, file), dict(names))
        except OutOfTimeError as raised:
            return not_earned(cell, Status.TIMEOUT, str(raised))
        except Exception as raised:
            error = raised
        if error is None and recorder.failure is None:
            return replace(not_earned(cell, Status.PASS), score=cell.points)
        is_stub = isinstance(error, NotImplementedError) and is_unwritten(str(error))
        is_failure = recorder.failure or isinstance(error, AssertionError) or is_stub
        status = Status.FAIL if is_failure else Status.ERROR
        found = not_earned(cell, status, str(recorder.failure or error))
        return replace(found, transcript=recorder.transcript(error))


@cache
def _compile(source: str, file: str) -> Any:
    return compile(source, file, "exec")


def lost(results: Mapping[str, CheckResult]) -> set[str]:
    """Return the ids of the checks that did not pass, given the results by id."""
    return {check for check, found in results.items() if found.status is not Status.PASS}
