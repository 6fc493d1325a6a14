"""The homework itself: what is right gets full marks, each mistake loses its own checks alone.

Here without the judge, in one process; ``test_sample_class.py`` sends the same class to the judge.
"""

import ast
import dataclasses
import os
import re
import subprocess
import sys
from contextlib import suppress

import nbformat
import pytest

from autograder.homework import Cell, CellKind
from autograder.release import release
from autograder.results import Status
from tests.homework.hw03_self_attention import NOTHING_WRITTEN, SAMPLE_CLASS
from tests.homework.own_kernel import lost_checks, run_cells
from tests.homework.sample_class import ROOT, load_homework, released_notebook
from tests.homework.submissions import Submission, make_notebook

HOMEWORK = "hw03-self-attention"
BLANK_SUBMISSION = Submission(student="nobody", what="as released", edits=NOTHING_WRITTEN)
SOLVED = Submission(student="staff", what="as solved")

# os._exit would end this process, a patched shell would stay patched in it: for the judge alone.
HERE = [s for s in SAMPLE_CLASS if s.student not in ("nils", "pavel")]


@pytest.fixture(scope="module")
def homework():
    return load_homework(HOMEWORK)


@pytest.fixture(scope="module")
def released():
    return nbformat.read(released_notebook(HOMEWORK), as_version=4)


def with_answers(submission, homework, released) -> list[Cell]:
    """The instructor's cells, but the solution cells as submitted."""
    notebook = make_notebook(submission, homework, released)
    sources = {c.metadata.get("nbgrader", {}).get("grade_id"): c.source for c in notebook.cells}
    return [
        dataclasses.replace(cell, source=sources[cell.grade_id])
        if cell.kind is CellKind.SOLUTION
        else cell
        for cell in homework.cells
    ]


def test_the_homework_has_about_twenty_points_in_small_checks(homework):
    points = [cell.points for cell in homework.checks]
    assert sum(points) == 22
    assert max(points) <= 3
    assert [c.grade_id for c in homework.checks if c.kind is CellKind.WRITTEN] == ["why-scale"]


def test_every_check_says_what_it_checks_and_where_to_read(homework):
    for cell in homework.checks:
        assert len(cell.title) > 15
        assert re.fullmatch(r"self-attention#[a-z-]+", cell.read)


@pytest.mark.parametrize("seed", range(20))
def test_the_solved_notebook_passes_with_every_seed(homework, seed):
    runs = run_cells(homework.cells, seed=seed)
    assert [(run.cell.grade_id, run.error) for run in runs if run.error] == []


def test_the_released_notebook_earns_nothing(homework, released):
    runs = run_cells(with_answers(BLANK_SUBMISSION, homework, released))
    assert lost_checks(runs) == {c.grade_id for c in homework.checks if c.kind is CellKind.TEST}


@pytest.mark.parametrize("submission", HERE, ids=[f"{s.student}, {s.what}" for s in HERE])
def test_each_submission_loses_exactly_the_checks_named_for_it(submission, homework, released):
    cells = with_answers(submission, homework, released)
    for seed in range(1 if submission.status is Status.TIMEOUT else 3):
        runs = run_cells(cells, seed=seed, seconds=2)
        assert lost_checks(runs) == submission.lost_checks(homework)
        messages = [str(run.error) for run in runs if run.error]
        assert not submission.hint or any(submission.hint in message for message in messages)


@pytest.mark.parametrize("submission", HERE, ids=[f"{s.student}, {s.what}" for s in HERE])
def test_the_hidden_part_alone_finds_the_same(submission, homework, released):
    """Passing the visible tests by heart is not enough."""
    cells = [
        dataclasses.replace(cell, source=visible_part_silenced(cell.source))
        if cell.kind is CellKind.TEST
        else cell
        for cell in with_answers(submission, homework, released)
    ]
    assert lost_checks(run_cells(cells, seconds=3)) == submission.lost_checks(homework)


def visible_part_silenced(source: str) -> str:
    visible, hidden = source.split("### BEGIN HIDDEN TESTS")
    silenced = [
        f"with _suppress(Exception):\n    {ast.unparse(s)}"
        for s in ast.parse(visible).body
        if not isinstance(s, ast.For | ast.With)  # nothing but loops of checks
    ]
    return "\n".join(["from contextlib import suppress as _suppress", *silenced, hidden])


def test_right_and_wrong_answers_are_told_apart_without_the_visible_part():
    """The silencer silences failures and keeps names, so that the test above can fail."""
    source = visible_part_silenced("x = 3\nassert x == 4\n### BEGIN HIDDEN TESTS\nassert x == 3\n")
    exec(source, {})
    with pytest.raises(AssertionError), suppress(ZeroDivisionError):
        exec(source.replace("assert x == 3", "assert x == 5"), {})


def test_an_edit_that_no_longer_fits_is_an_error(homework, released):
    stale = Submission(student="ada", what="stale", edits={"causal_mask": (("no such line", ""),)})
    with pytest.raises(ValueError, match=r"ada: 'no such line' occurs 0 times"):
        make_notebook(stale, homework, released)
    stale = Submission(student="ada", what="stale", edits={"no_such_cell": "pass"})
    with pytest.raises(ValueError, match="no cell is called no_such_cell"):
        make_notebook(stale, homework, released)


def test_a_lost_check_that_does_not_exist_is_an_error(homework):
    wrong = Submission(student="ada", what="typo", lost={"causal_mask": "vlaues"})
    with pytest.raises(ValueError, match="vlaues"):
        wrong.lost_checks(homework)


def test_the_committed_student_notebook_is_not_stale(tmp_path):
    for name in ("solutions", "course_lib", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    made = release(HOMEWORK, tmp_path)
    assert made.assignment.read_bytes() == released_notebook(HOMEWORK).read_bytes(), (
        "assignments/ is stale: make release HW=hw03"
    )


def test_the_solved_notebook_runs_under_nbval():
    notebook = ROOT / "build" / "source" / HOMEWORK / f"{HOMEWORK}.ipynb"
    load_homework(HOMEWORK)
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", notebook.parent]
    result = subprocess.run(
        [*command, "-p", "no:cacheprovider", "--nbval-lax", notebook],
        cwd=notebook.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    code_cells = [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]
    assert f"{len(code_cells)} passed" in result.stdout


RUN_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""

IN_THE_STUDENT_EDITION = """
import course_lib, pathlib
assert pathlib.Path(course_lib.__file__).parents[1] == pathlib.Path.cwd()
try:
    from course_lib.attention import MultiHeadAttention as not_there
except ImportError as error:
    print(error)
"""


def test_the_released_notebook_runs_top_to_bottom_once_solved(homework, tmp_path):
    for name in ("solutions", "course_lib", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    folder = release(HOMEWORK, tmp_path).folder
    path = folder / f"{HOMEWORK}.ipynb"
    solved = dataclasses.replace(SOLVED, extra=IN_THE_STUDENT_EDITION)
    nbformat.write(make_notebook(solved, homework, nbformat.read(path, as_version=4)), path)
    result = subprocess.run(
        [sys.executable, "-c", RUN_NOTEBOOK, path.name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert result.returncode == 0, result.stderr
    cells = nbformat.read(path, as_version=4).cells
    assert "hw03-self-attention asks you to write it" in cells[0].outputs[0].text
    printed = "".join(output.get("text", "") for output in cells[-1].outputs)
    assert "DEEN UOY LLA  ->  ALL YOU NEED" in printed
    assert any("image/png" in output.get("data", {}) for output in cells[-1].outputs)
