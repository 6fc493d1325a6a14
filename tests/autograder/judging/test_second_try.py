"""Second tries with the reference: right solutions earn their points, wrong ones do not."""

import dataclasses

import pytest

from autograder.homework_source.homework import Cell, CellKind
from autograder.judging.results import FlagKind, Status, not_earned
from autograder.judging.second_try import SecondTry, explain_second_try, to_try_again
from autograder.marks.standing import stand
from autograder.reports.feedback import render_feedback
from tests.autograder.conftest import DOUBLE, with_sources

pytestmark = pytest.mark.sandbox

SECRET = "the reference's own words"
REFERENCE = f"def double(x):\n    {SECRET!r}\n    return 2 * x"
FOURFOLD = dataclasses.replace(
    DOUBLE,
    cells=(
        *with_sources({"double": REFERENCE}).cells,
        Cell(
            kind=CellKind.SOLUTION,
            grade_id="fourfold",
            source="def fourfold(x):\n    return double(double(x))",
            forbids=("torch.nn.LayerNorm",),
        ),
        Cell(
            kind=CellKind.TEST,
            grade_id="fourfold-values",
            exercise="fourfold",
            points=2.0,
            title="It is four times as much",
            source="""# It is four times as much
from course_lib.testing import assert_close
### BEGIN HIDDEN TESTS
x = torch.randn(3)
assert_close(fourfold(x), 4 * x)
### END HIDDEN TESTS
""",
        ),
    ),
)
RIGHT = "def fourfold(x):\n    return double(double(x))"
TRIPLE = "def double(x):\n    return 3 * x"


@pytest.fixture
def grade_both(grade):
    """Return a function that grades sources of the functions ``double`` and ``fourfold``.

    It returns the submission's result, and that of the check of ``fourfold``.
    """

    def grade_both(double: str, fourfold: str):
        result = grade(("double", double), ("fourfold", fourfold), homework=FOURFOLD)
        return result, next(c for c in result.checks if c.check == "fourfold-values")

    return grade_both


@pytest.mark.parametrize(
    "double",
    [
        TRIPLE,
        "def double(x:\n",
        pytest.param("def double(x):\n    while True:\n        pass", marks=pytest.mark.proof),
        "import os\ndef double(x):\n    os._exit(0)",
    ],
    ids=["wrong", "no Python", "endless", "ends its process"],
)
def test_right_solution_earns_its_points_despite_a_wrong_earlier_exercise(grade_both, double):
    result, check = grade_both(double, RIGHT)
    assert (check.status, check.score, check.message) == (Status.PASS, 2.0, "")
    assert check.tried_with == ("double",)
    assert result.score == 2.0
    assert {c.tried_with for c in result.checks if c is not check} == {()}
    assert "a right double instead of yours it passes" in render_feedback(stand(result), FOURFOLD)


def test_wrong_solution_earns_nothing_in_the_second_try(grade_both):
    result, check = grade_both(TRIPLE, "def fourfold(x):\n    return double(x)")
    assert (check.status, check.tried_with) == (Status.FAIL, ("double",))
    assert result.score == 0
    assert "with a right double instead of yours" in render_feedback(stand(result), FOURFOLD)


@pytest.mark.parametrize(
    ("tried_with", "status", "words"),
    [
        (("one", "two", "three"), Status.PASS, "With a right one, two and three instead of yours"),
        (("one", "two"), Status.FAIL, "with a right one and two instead of yours"),
        (("one", "two", "three"), Status.ERROR, "with right earlier pieces instead of yours"),
    ],
)
def test_message_does_not_list_many_earlier_exercises(tried_with, status, words):
    check = not_earned(FOURFOLD.checks[-1], status)
    check = dataclasses.replace(check, tried_with=tried_with)
    assert words in explain_second_try(check)
    unwritten = dataclasses.replace(check, message="fourfold is not written yet.")
    assert explain_second_try(unwritten) == ""


def test_failed_check_without_wrong_earlier_exercises_is_not_repeated(grade_both):
    result, check = grade_both("def double(x):\n    return x + x", "def fourfold(x):\n    return x")
    assert (check.status, check.tried_with) == (Status.FAIL, ())
    assert result.score == 5.0


def test_error_may_come_from_an_earlier_exercise_that_passed(grade_both):
    double = "def double(x):\n    answer = x + x\n    answer.sum = None\n    return answer"
    result, check = grade_both(double, "def fourfold(x):\n    double(x).sum()\n    return 4 * x")
    assert (check.status, check.score, check.tried_with) == (Status.ERROR, 0.0, ())
    assert "With a right double instead of yours it passes" in check.message
    assert result.score == 5.0
    wrong = "def fourfold(x):\n    raise KeyError('mine')"
    result, check = grade_both("def double(x):\n    return x + x", wrong)
    assert (check.status, check.tried_with) == (Status.ERROR, ("double",))
    assert "mine" in check.message


def test_mistake_that_no_earlier_check_found_is_charged_once(grade_both):
    _, check = grade_both("def double(x):\n    return x + x", RIGHT)
    error = dataclasses.replace(check, status=Status.ERROR, score=0.0, message="raised")
    first = {name: dataclasses.replace(error, check=name) for name in ("one", "two", "three")}
    second_try = SecondTry(FOURFOLD, first, dict.fromkeys(first, ("double",)))
    better = [second_try.better(dataclasses.replace(check, check=name)) for name in first]
    assert [c.status for c in better] == [Status.ERROR, Status.PASS, Status.PASS]
    first["paid"] = dataclasses.replace(error, exercise="double")
    second_try = SecondTry(FOURFOLD, first, dict.fromkeys(first, ("double",)))
    assert second_try.better(dataclasses.replace(check, check="one")).status is Status.PASS


def test_helpers_of_the_wrong_exercise_stay_defined(grade_both):
    double = "def times(x, n):\n    return n * x\ndef double(x):\n    return times(x, 3)"
    _, check = grade_both(double, "def fourfold(x):\n    return times(double(x), 2)")
    assert check.status is Status.PASS


def test_passed_check_does_not_run_again(grade_both):
    """So ``fourfold`` gets its points though it is right only with the student's ``double``."""
    double = "def double(x, *, twice=False):\n    return 4 * x if twice else 3 * x"
    _, check = grade_both(double, "def fourfold(x):\n    return double(x, twice=True)")
    assert (check.status, check.tried_with) == (Status.PASS, ())


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("", "Your code raised ValueError: mine"),
        ("while double.__doc__ == 'mine': pass", "Your code was stopped"),
    ],
)
def test_feedback_contains_nothing_of_the_reference(grade_both, before, message):
    spy = f"def fourfold(x):\n    {before}\n    raise ValueError(double.__doc__)"
    result, check = grade_both("def double(x):\n    'mine'\n    return 3 * x", spy)
    assert (check.status, check.tried_with) == (Status.ERROR, ("double",))
    assert check.message.startswith(message)
    assert SECRET not in str(result) + render_feedback(stand(result), FOURFOLD)


def test_rule_broken_only_in_the_second_try_costs_the_exercise(grade_both):
    # The forbidden name is computed, so that the reader does not find it.
    hidden = """
def fourfold(x):
    forbidden = getattr(torch, "layer" + "_norm") if double.__doc__ else torch.clone
    return double(double(x)) + 0 * forbidden(x, *[(3,)] if double.__doc__ else [])
"""
    result, check = grade_both(TRIPLE, hidden)
    assert (check.status, result.score) == (Status.FAIL, 0)
    assert FlagKind.DELEGATION in {flag.kind for flag in result.flags}


def test_check_runs_again_only_once(grade_both):
    result, check = grade_both(TRIPLE, "def fourfold(x):\n    return double(x)")
    results = {check.check: check for check in result.checks}
    assert to_try_again(FOURFOLD, results) == {}
    results[check.check] = dataclasses.replace(check, tried_with=())
    assert to_try_again(FOURFOLD, results) == {"fourfold-values": ("double",)}
    assert to_try_again(FOURFOLD, results, lost=("fourfold",)) == {}


def test_timeout_in_the_second_try_is_ignored(grade_both):
    result, check = grade_both(TRIPLE, "def fourfold(x):\n    return double(x)")
    first = {c.check: dataclasses.replace(c, tried_with=()) for c in result.checks}
    second = SecondTry(FOURFOLD, first, to_try_again(FOURFOLD, first))
    late = dataclasses.replace(check, status=Status.TIMEOUT)
    assert second.better(late) == first[check.check]
    assert second.better(check).tried_with == ("double",)
