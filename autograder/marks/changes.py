"""Compares two gradings of a class: whose marks changed, in which check, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.judging.results import CheckResult, Status, SubmissionResult


@dataclass(frozen=True, kw_only=True)
class Change:
    """A check whose marks changed.

    Attributes:
        student: The student's id.
        check: grade_id of the test cell or written answer.
        old_score: Points before; None if the check or the student is new.
        new_score: Points now; None if the check or the student is gone.
        reason: In words for the staff; may quote messages of the student's code.
    """

    student: str
    check: str
    old_score: float | None
    new_score: float | None
    reason: str


def compare(before: Sequence[SubmissionResult], after: Sequence[SubmissionResult]) -> list[Change]:
    """Return a change for each check whose points or maximum points differ in two gradings.

    A check that fails in another way than before, with the same points, is not a change.
    """
    old = {result.student: result for result in before}
    new = {result.student: result for result in after}
    return [
        change
        for student in sorted(old | new)
        for change in _changes(student, old.get(student), new.get(student))
    ]


def _changes(
    student: str, old: SubmissionResult | None, new: SubmissionResult | None
) -> list[Change]:
    before = {check.check: check for check in old.checks} if old else {}
    after = {check.check: check for check in new.checks} if new else {}
    changes = []
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        if was and now and (was.score, was.max_score) == (now.score, now.max_score):
            continue
        changes.append(
            Change(
                student=student,
                check=name,
                old_score=was.score if was else None,
                new_score=now.score if now else None,
                reason=_reason(old, was, new, now),
            )
        )
    return changes


def _reason(
    old: SubmissionResult | None,
    was: CheckResult | None,
    new: SubmissionResult | None,
    now: CheckResult | None,
) -> str:
    if now is None:
        return "the check is gone" if new else "the submission is gone"
    if was is None:
        return "the check is new" if old else "not graded before"
    if was.max_score != now.max_score:
        worth = f"the check is worth {now.max_score:g} points, no longer {was.max_score:g}"
        return worth if was.status is now.status else f"{worth}; {_outcome(was, now)}"
    return _outcome(was, now)


def _outcome(was: CheckResult, now: CheckResult) -> str:
    """Return the new message of a check that fails; for one that passes now, the old message."""
    if now.status is Status.PASS:
        return f"passes now; before: {was.message or was.status}"
    return now.message or str(now.status)
