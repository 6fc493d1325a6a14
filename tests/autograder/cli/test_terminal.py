import dataclasses
import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

from autograder.cli.terminal import print_grades
from autograder.judging.results import OTHER_HOMEWORK, UNUSABLE, Status, interrupted, ungraded
from autograder.reports.report import render_report
from tests.autograder.conftest import ROOT
from tests.autograder.graded_class import HOMEWORK, make_class, result, standings_of

STUMBLED = f"{UNUSABLE} (AttributeError). Does it return exactly what its docstring promises?"


def lines_of(results, width=110):
    page = io.StringIO()
    print_grades(standings_of(results), Console(file=page, width=width))
    return page.getvalue().splitlines()


def told(results):
    return [line for line in lines_of(results) if "its own code" in line]


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


def read_by_hand(results):
    return [dataclasses.replace(made, checks=made.checks[:2]) for made in results]


@pytest.mark.parametrize("kind", ["waiting", "read", "with others"])
def test_terminal_and_report_tell_the_same_median(kind):
    results = make_class() if kind != "read" else read_by_hand(make_class())
    if kind == "with others":
        results += [interrupted(HOMEWORK, "zoe", "away"), ungraded(HOMEWORK, "yan", "no notebook")]
    (summary,) = (line for line in lines_of(results) if "median" in line)
    page = render_report(standings_of(results), HOMEWORK)
    figures = re.search(r"<dt>median points</dt><dd>(\S+) <small>of (\S+)</small>", page)
    assert f" median {figures[1]} of {figures[2]} points" in summary
    assert ("without written answers" in summary) == (kind != "read")
    assert figures[2] == "3"


def test_interrupted_grading_is_no_mark_in_the_terminal():
    lines = lines_of([result("ada"), interrupted(HOMEWORK, "bo", "the disk is away")])
    (row,) = (line for line in lines if line.startswith("bo"))
    assert row.split()[1:3] == ["–", "6"]
    assert "2 submissions, 1 interrupted, median 3 of 3 points without written answers" in (
        " ".join(" ".join(lines).split())
    )


def test_another_homeworks_notebook_is_named_below_the_table():
    words = f"{OTHER_HOMEWORK}: this is the notebook of homework 4."
    results = [ungraded(HOMEWORK, student, words) for student in ("ada", "bo")]
    lines = lines_of([*results, result("cy")])
    assert f"ada, bo: {words}" in lines
    assert any(line.startswith("3 submissions, 2 blank, median 3 of 3") for line in lines)


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_sign_that_a_terminal_does_not_know_ends_nothing(encoding, closed):
    program = (
        "from autograder.cli.terminal import fit_streams; fit_streams()\n"
        "from autograder.cli.terminal import output\n"
        "output().print('\u2713 zo\xeb'); print('\U0001f600')"
    )
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "$0" {closed}', program], cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert closed.startswith(">") or b"zo" in done.stdout
