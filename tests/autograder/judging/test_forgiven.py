"""Is what one check forgives charged, where the check that it names finds nothing?"""

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


def test_what_nobody_found_is_charged_by_who_forgave_it():
    result = charged(PAYER)
    assert (result.status, result.score) == (Status.FAIL, 0.0)
    assert result.message == "What f-sum looks for, and did not find, shows here: a bias is added."


@pytest.mark.parametrize(
    "payer",
    [
        replace(PAYER, status=Status.FAIL, score=0.0),
        replace(PAYER, status=Status.PARTIAL, score=1.0),
        replace(PAYER, check="another"),
    ],
)
def test_what_is_paid_for_is_forgiven(payer):
    assert charged(payer) is FORGIVER


def test_it_takes_all_to_find_nothing():
    forgiver = replace(FORGIVER, forgave=(("a bias is added", ("f-sum", "f-mean")),))
    assert charged(PAYER, forgiver).status is Status.FAIL
    assert charged(replace(PAYER, status=Status.FAIL), forgiver) is forgiver


def test_a_failure_keeps_its_own_words():
    failed = replace(FORGIVER, status=Status.ERROR, score=0.0, message="raised")
    assert charged(PAYER, failed) is failed


def test_what_is_forgiven_is_noted_only_while_somebody_asks():
    forgive("before", "f-sum")
    with noting_forgiven() as noted:
        forgive("a bias is added", "f-sum", "f-mean")
        forgive("a bias is added", "g-sum")
    forgive("after", "f-sum")
    assert noted == {("a bias is added", ("f-sum", "f-mean")), ("a bias is added", ("g-sum",))}
