import io

from rich.console import Console

from autograder.cli.terminal import print_grades
from autograder.judging.results import UNUSABLE, Status
from tests.autograder.graded_class import result, standings_of

STUMBLED = f"{UNUSABLE} (AttributeError). Does it return exactly what its docstring promises?"


def told(results):
    page = io.StringIO()
    print_grades(standings_of(results), Console(file=page, width=110))
    return [line for line in page.getvalue().splitlines() if "its own code" in line]


def stumbled(student, message=STUMBLED):
    return result(student, values=Status.FAIL, message=message)


def test_a_check_that_fails_in_its_own_code_for_all_is_named():
    results = [stumbled(name) for name in ("ada", "emmy", "kurt")]
    line = "check double-values failed in its own code for all 3 submissions: look at its test"
    assert told(results) == [line]
    empty = result("alan", Status.INVALID, Status.INVALID)
    late = stumbled("rosa", "double is not written yet.")
    assert told([*results, empty, late]) == [line]


def test_a_check_that_works_for_somebody_or_few_is_not_suspected():
    three = [stumbled(name) for name in ("ada", "emmy", "kurt")]
    assert told(three[:2]) == []
    assert told([*three, result("rosa")]) == []
    assert told([*three, stumbled("rosa", "result differs")]) == []
