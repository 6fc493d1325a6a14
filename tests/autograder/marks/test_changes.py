"""Two gradings compared: every changed mark is listed once, with its reason."""

import dataclasses

from autograder.judging.results import Status
from autograder.marks.changes import Change, compare
from tests.autograder.graded_class import make_class, result


def changed(before, after) -> list[tuple[str, str, float | None, float | None, str]]:
    return [
        (c.student, c.check, c.old_score, c.new_score, c.reason) for c in compare(before, after)
    ]


def test_the_same_results_in_another_order_are_no_change() -> None:
    assert compare(make_class(), list(reversed(make_class()))) == []


def test_change_gives_the_failure_as_its_reason() -> None:
    right, wrong = result("ada"), result("ada", values=Status.FAIL, message="you tripled")
    assert compare([right], [wrong]) == [
        Change(
            student="ada", check="double-values", old_score=2.0, new_score=0.0,
            reason="you tripled",
        )
    ]  # fmt: skip
    assert changed([wrong], [right]) == [
        ("ada", "double-values", 0.0, 2.0, "passes now; before: you tripled")
    ]


def test_a_check_of_another_worth_is_a_change() -> None:
    old = result("ada")
    worth_more = dataclasses.replace(old.checks[0], score=4.0, max_score=4.0)
    new = dataclasses.replace(old, checks=(worth_more, *old.checks[1:]))
    assert changed([old], [new]) == [
        ("ada", "double-shape", 1.0, 4.0, "the check is worth 4 points, no longer 1")
    ]


def test_checks_and_students_come_and_go() -> None:
    whole = result("ada")
    part = dataclasses.replace(whole, checks=whole.checks[1:])
    assert changed([part], [whole]) == [("ada", "double-shape", None, 1.0, "the check is new")]
    assert changed([whole], [part]) == [("ada", "double-shape", 1.0, None, "the check is gone")]
    assert {c.reason for c in compare([], [whole])} == {"not graded before"}
    assert {c.reason for c in compare([whole], [])} == {"the submission is gone"}
