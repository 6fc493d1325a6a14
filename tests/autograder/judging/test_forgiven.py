"""A mistake that one check forgives is charged if the named checks do not find it."""

from dataclasses import replace

import pytest

from autograder.judging.forgiven import charge_unpaid
from autograder.judging.results import CheckResult, Status
from course_lib.testing import forgive, noting_forgiven

PAYER = CheckResult(
    check="f-sum", exercise="f", title="", status=Status.PASS, score=2.0, max_score=2.0
)
FORGIVER = replace(PAYER, check="f-mean", forgave=(("a bias is added", ("f-sum",)),))


def charged(payer, forgiver=FORGIVER):
    return charge_unpaid({found.check: found for found in (payer, forgiver)})["f-mean"]


def test_forgiven_mistake_is_charged_if_no_check_found_it():
    result = charged(PAYER)
    assert (result.status, result.score) == (Status.FAIL, 0.0)
    assert result.message == "A mistake that f-sum did not find shows here: a bias is added."


@pytest.mark.parametrize(
    "payer",
    [
        replace(PAYER, status=Status.FAIL, score=0.0),
        replace(PAYER, status=Status.PARTIAL, score=1.0),
        replace(PAYER, check="another"),
    ],
)
def test_forgiven_mistake_is_not_charged_if_another_check_failed(payer):
    assert charged(payer) is FORGIVER


def test_forgiven_mistake_is_charged_only_if_all_named_checks_passed():
    forgiver = replace(FORGIVER, forgave=(("a bias is added", ("f-sum", "f-mean")),))
    assert charged(PAYER, forgiver).status is Status.FAIL
    assert charged(replace(PAYER, status=Status.FAIL), forgiver) is forgiver


def test_failed_check_keeps_its_message():
    failed = replace(FORGIVER, status=Status.ERROR, score=0.0, message="raised")
    assert charged(PAYER, failed) is failed


def test_forgiven_mistakes_are_recorded_only_inside_the_block():
    forgive("before", "f-sum")
    with noting_forgiven() as noted:
        forgive("a bias is added", "f-sum", "f-mean")
        forgive("a bias is added", "g-sum")
    forgive("after", "f-sum")
    assert noted == {("a bias is added", ("f-sum", "f-mean")), ("a bias is added", ("g-sum",))}
