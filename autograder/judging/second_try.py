"""One mistake is paid for once: what an earlier exercise took with it is tried a second time.

A check may fail only because a piece that it stands on, of an earlier exercise, is wrong. So it is
run again where the reference solution has taken the place of that piece, and what is right by
itself earns its points. Where no check has found an earlier piece wrong and the code raises an
error all the same, such as by a list where a tensor was promised, all of them give way: the first
check that passes then is the one that charges what no other saw, the rest earn their points. Of the
second time the student is told whether it passed, and the hint, if that stands word for word in the
instructor's cells: whatever else came of it may hold the reference's text.
"""

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from autograder.homework_source.cell_text import without_magics
from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import UNWRITTEN, CheckResult, Forgiven, Status


def to_try_again(
    homework: Homework, results: Mapping[str, CheckResult], lost: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Find the checks that may have failed through no fault of their exercise.

    Args:
        homework: The instructor's notebook.
        results: By check, those of the first time and those that were tried again already.
        lost: The exercises that broke their rule.

    Returns:
        For each such check the exercises before its own that have lost a check; all before its own
        if none has, and the check ended in an error. What passed because it forgave a mistake that
        one of these charges is among them: with right pieces there may be nothing to forgive.
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
    forgivers = {check: _first_in(again, result) for check, result in results.items()}
    return again | {check: again[payer] for check, payer in forgivers.items() if payer}


def _first_in(again: Collection[str], result: CheckResult) -> str:
    """Return a check that is tried again and charges what a result that passed has forgiven."""
    payers = (check for _, paid_in in result.forgave for check in paid_in if check in again)
    return next(payers, "") if result.status is Status.PASS else ""


def unpaid(results: Mapping[str, CheckResult], again: Mapping[str, Collection[str]]) -> set[str]:
    """Return the checks that are tried again with pieces none of which has lost a point.

    Args:
        results: Of the first time.
        again: As ``to_try_again`` returns.
    """
    lost = {found.exercise for found in results.values() if found.status is not Status.PASS}
    return {
        check
        for check, pieces in again.items()
        if lost.isdisjoint(pieces) and results[check].status is not Status.PASS
    }


def _others(exercises: Iterable[str], cell: Cell) -> tuple[str, ...]:
    return tuple(exercise for exercise in exercises if exercise != cell.exercise)


class SecondTry:
    """What is different when a notebook is run a second time.

    Args:
        homework: The instructor's notebook.
        first: The results of the first time.
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
        self._unpaid = unpaid(first, again)
        self._hints = _texts_in(homework)
        wrong = {exercise for exercises in again.values() for exercise in exercises}
        last = {cell.exercise: cell.grade_id for cell in homework.checks if cell.exercise in wrong}
        self._stand_ins = {
            last[cell.grade_id]: cell
            for cell in homework.cells
            if cell.kind is CellKind.SOLUTION and cell.grade_id in last
        }

    def stand_in(self, check: str) -> Cell | None:
        """Return the reference that takes the place of a wrong piece, after its last check."""
        return self._stand_ins.get(check)

    def better(self, second: CheckResult) -> CheckResult:
        """Return the better of both results of a check, the first in doubt.

        A second try that ran out of its time shows nothing: the machine may have been too busy.
        One that failed shows what is wrong in the exercise itself: so its hint is the one to tell.
        """
        first = self._first[second.check]
        if first.status is Status.PASS:
            return replace(first, forgave=_still_forgiven(first, second))
        if second.transcript:  # with right pieces: that is what variants are compared with
            first = replace(first, transcript=second.transcript)
        if second.check in self._unpaid and second.status is Status.PASS:
            self._unpaid.clear()  # one charges it, and that is enough
            return replace(first, message=f"{first.message}\n{self._unseen(first)}")
        was_stopped = first.status is Status.TIMEOUT  # it may have got a short time
        kept = second if was_stopped or second.score > first.score else first
        if kept is first and second.status is Status.FAIL and second.hint in self._hints:
            kept = replace(first, hint=second.hint)
        shows_nothing = second.status is Status.TIMEOUT and not was_stopped
        tried_with = self._again.get(second.check, ())
        return kept if shows_nothing else replace(kept, tried_with=tried_with)

    def _unseen(self, check: CheckResult) -> str:
        pieces = _names(self._again[check.check])
        return (
            f"With a right {pieces} instead of yours it passes: so something is amiss there that "
            "the tests before do not look for. Does each return exactly what its docstring "
            "promises? It costs you points here, and nowhere else."
        )


def _still_forgiven(first: CheckResult, second: CheckResult) -> Forgiven:
    """Return what a check that passed has to forgive where earlier pieces are right."""
    if second.status is Status.TIMEOUT:  # shows nothing
        return ()
    return second.forgave if second.status is Status.PASS else first.forgave


def _texts_in(homework: Homework) -> set[str]:
    """Return the texts that stand in the instructor's cells, and so hold nothing of a student's."""
    kinds = (CellKind.SETUP, CellKind.TEST)
    trees = [without_magics(cell.source) for cell in homework.cells if cell.kind in kinds]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str) and node.value}


def told(check: CheckResult) -> str:
    """Tell the student why a check counts as passed, or what came of its second time.

    Empty if there is nothing to tell.
    """
    if check.charged_in:
        return (
            f"The same mistake costs its points in {check.charged_in}: so it counts as passed here."
        )
    if not check.tried_with or UNWRITTEN in check.message:
        return ""
    pieces = f"a right {_names(check.tried_with)}"
    if check.status is Status.PASS:
        return f"With {pieces} instead of yours it passes: so it earns its points already."
    if len(check.tried_with) > 2:  # a list of names leads nowhere where none of them is to blame
        pieces = "right earlier pieces"
    return (
        f"It was also tried with {pieces} instead of yours, and did not pass: look for a "
        f"mistake in {check.exercise} itself."
    )


def _names(exercises: Sequence[str]) -> str:
    *others, last = exercises
    return f"{', '.join(others)} and {last}" if others else last
