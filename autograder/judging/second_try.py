"""Runs failed checks again with the reference in place of wrong earlier exercises.

A check may fail only because it uses a wrong solution of an earlier exercise. It runs again with
the reference solution of that exercise, and earns its points if it passes. If all earlier checks
passed, but this check ended in an error, it runs again with references for all earlier exercises.
The first check that passes then keeps its failure, because no earlier check has deducted points for
the mistake; the others earn their points. The student learns whether the second try passed, but
none of its messages: they may contain parts of the reference.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import UNWRITTEN, CheckResult, Status


def to_try_again(
    homework: Homework, results: Mapping[str, CheckResult], lost: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Find the checks that may have failed because of an earlier exercise.

    Args:
        homework: The instructor's notebook.
        results: Results of the first run, and of second tries so far, by check.
        lost: The exercises that ran a name they forbid.

    Returns:
        For each such check the earlier exercises with a failed check, or all earlier exercises if
        none has failed and the check ended in an error.
    """
    begun: dict[str, None] = {}
    wrong: dict[str, None] = {}
    again = {}
    for cell in homework.checks:
        result = results.get(cell.grade_id)
        if result is None or result.status is Status.MANUAL:
            continue
        begun[cell.exercise] = None
        if result.status is Status.PASS:
            continue
        others = _others(wrong, cell)
        if not others and result.status is Status.ERROR:
            others = _others(begun, cell)
        if others and cell.exercise not in lost and not result.tried_with:
            again[cell.grade_id] = others
        wrong[cell.exercise] = None
    return again


def _unpaid(results: Mapping[str, CheckResult], again: Mapping[str, Collection[str]]) -> set[str]:
    """Return the checks that run again although all checks of the earlier exercises passed."""
    lost = {found.exercise for found in results.values() if found.status is not Status.PASS}
    return {check for check, pieces in again.items() if lost.isdisjoint(pieces)}


def _others(exercises: Iterable[str], cell: Cell) -> tuple[str, ...]:
    return tuple(exercise for exercise in exercises if exercise != cell.exercise)


class SecondTry:
    """The second run of a notebook: which reference runs after which check, which result counts.

    Args:
        homework: The instructor's notebook.
        first: Results of the first run, by check.
        again: As ``to_try_again`` returns.
    """

    def __init__(
        self,
        homework: Homework,
        first: Mapping[str, CheckResult],
        again: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._first = first
        self._again = again
        self._unpaid = _unpaid(first, again)
        wrong = {exercise for exercises in again.values() for exercise in exercises}
        last = {cell.exercise: cell.grade_id for cell in homework.checks if cell.exercise in wrong}
        self._stand_ins = {
            last[cell.grade_id]: cell
            for cell in homework.cells
            if cell.kind is CellKind.SOLUTION and cell.grade_id in last
        }

    def stand_in(self, check: str) -> Cell | None:
        """Return the reference solution to run after this check, or None.

        There is one after the last check of an exercise that is wrong.
        """
        return self._stand_ins.get(check)

    def better(self, second: CheckResult) -> CheckResult:
        """Return the better of a check's two results; the first if both are equal.

        A timeout in the second try is ignored, because the machine may have been busy.
        """
        first = self._first[second.check]
        if second.transcript:  # variants run with right earlier exercises too
            first = replace(first, transcript=second.transcript)
        if second.check in self._unpaid and second.status is Status.PASS:
            self._unpaid.clear()  # one check charges the mistake
            return replace(first, message=f"{first.message}\n{self._unseen(first)}")
        was_stopped = first.status is Status.TIMEOUT  # maybe by the short limit
        kept = second if second.score > first.score else first
        if was_stopped and kept is first:
            kept = replace(second, message=first.message, hint=first.hint)
        shows_nothing = second.status is Status.TIMEOUT and not was_stopped
        tried_with = self._again.get(second.check, ())
        return kept if shows_nothing else replace(kept, tried_with=tried_with)

    def _unseen(self, check: CheckResult) -> str:
        pieces = _names(self._again[check.check])
        return (
            f"With a right {pieces} instead of yours it passes, so there is a mistake that the "
            "earlier tests do not look for. Does each return exactly what its docstring "
            "promises? It costs you points here, and nowhere else."
        )


def explain_second_try(check: CheckResult, checks: Iterable[CheckResult] = ()) -> str:
    """Return an explanation of why a check counts as passed, or of how its second try ended.

    It is for the student, and empty if neither applies. ``checks`` are all of the notebook's, in
    order.
    """
    if check.charged_in:
        named = (
            f"check {number}, “{other.title}”"
            for number, other in enumerate(checks, start=1)
            if other.check == check.charged_in
        )
        where = next(named, "another check")
        return f"The same mistake costs points in {where}, so it counts as passed here."
    if not check.tried_with or UNWRITTEN in check.message:
        return ""
    pieces = f"a right {_names(check.tried_with)}"
    if check.status is Status.PASS:
        return f"With {pieces} instead of yours it passes, so it already earns its points."
    if len(check.tried_with) > 2:  # a long list of names would not help
        pieces = "right earlier pieces"
    return (
        f"It did not pass with {pieces} instead of yours either: look for a "
        f"mistake in {check.exercise} itself."
    )


def _names(exercises: Sequence[str]) -> str:
    *others, last = exercises
    return f"{', '.join(others)} and {last}" if others else last
