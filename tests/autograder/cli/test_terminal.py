import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from autograder.cli.terminal import print_grades
from autograder.judging.results import UNUSABLE, Status
from tests.autograder.conftest import ROOT
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


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_sign_that_a_terminal_does_not_know_ends_nothing(encoding, closed):
    program = (
        "from autograder.cli.streams import fit_streams; fit_streams()\n"
        "from autograder.cli.terminal import output\n"
        "output().print('\u2713 zo\xeb'); print('\U0001f600')"
    )
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "$0" {closed}', program], cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert closed.startswith(">") or b"zo" in done.stdout
