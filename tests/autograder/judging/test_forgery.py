"""Changes to the instructor's cells are flagged, and nothing in their metadata is an error."""

import functools

import pytest
from nbformat import NotebookNode, from_dict
from nbgrader.utils import compute_checksum

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.forgery import changed_cell, missing_cells

OFFICIAL = Cell(
    kind=CellKind.TEST,
    grade_id="double-values",
    source="# It doubles\nassert double(2) == 4\n### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS\n",
    points=2.0,
)
VISIBLE = "# It doubles\nassert double(2) == 4"
EARLIER = "# It doubles\nassert double(1) == 2"
ELSEWHERE = "or is of another release"

NESTED = functools.reduce(lambda inner, _: [inner], range(5_000), [])


def marks(**changed):
    nbgrader = {"grade": True, "grade_id": "double-values", "locked": True, "points": 2}
    return {"nbgrader": {**nbgrader, "solution": False, "task": False, **changed}}


def checksum(source, **changed):
    cell = {"source": source, "cell_type": "code", "metadata": marks(**changed)}
    return compute_checksum(from_dict(cell))


def remarks(source, metadata):
    return [flag.text for flag in changed_cell(OFFICIAL, source, metadata)]


@pytest.mark.parametrize("source", [OFFICIAL.source, VISIBLE, VISIBLE.replace("\n", "  \n\n")])
def test_released_cell_is_not_flagged(source):
    assert remarks(source, marks(checksum="anything")) == []


def test_changed_check_is_flagged():
    (text,) = remarks("99", marks(checksum=checksum(VISIBLE)))
    assert text == "the test cell double-values: its text was changed"


@pytest.mark.parametrize(
    ("source", "points", "words"),
    [(EARLIER, 2, "its text was changed"), (VISIBLE, 1, "its metadata was changed: points")],
)
def test_flag_mentions_that_a_cell_may_be_of_another_release(source, points, words):
    (text,) = remarks(source, marks(points=points, checksum=checksum(source, points=points)))
    assert text.startswith(f"the test cell double-values: {words}")
    assert ELSEWHERE in text


def test_flag_mentions_that_a_missing_check_may_be_newer():
    answer = Cell(kind=CellKind.SOLUTION, grade_id="double", source="x")
    homework = Homework(id="hw00-double", title="", cells=(OFFICIAL, answer))
    newer, gone = missing_cells(homework, ["setup"]), missing_cells(homework, ["double"])
    assert [flag.text for flag in newer] == ["none of its cells is of this homework"]
    assert [flag.text for flag in gone] == [
        "the cell double-values is missing, or newer than this notebook"
    ]
    (flag,) = missing_cells(homework, ["double-values"])
    assert flag.text == "the cell double is missing"


@pytest.mark.parametrize(
    "odd",
    [
        {"grade_id": 7},
        {"grade_id": None},
        {"points": 10**400},
        {"points": [[]]},
        {"points": "\ud800"},
        {"grade": "no", "locked": {"a": NotebookNode()}},
        {"checksum": [[[]]]},
        *({"points": odd} for odd in (None, "two", "2", [2], {"a": 2}, True, False, 1e999, -1)),
        {"points": float("nan")},
        {"points": NESTED},
        {"checksum": NESTED, "schema_version": NESTED, "locked": NESTED},
    ],
)
def test_invalid_metadata_is_no_error(odd):
    texts = remarks("99\ud800", marks(**odd)) + remarks("99", marks(**odd))
    assert any("its text was changed" in text for text in texts)
    assert not any(ELSEWHERE in text for text in texts)


@pytest.mark.parametrize("missing", ["points", "grade", "locked", "solution", "task", "checksum"])
def test_missing_metadata_is_no_error(missing):
    metadata = marks(checksum=checksum(EARLIER))
    del metadata["nbgrader"][missing]
    assert any("its text was changed" in text for text in remarks(EARLIER, metadata))


@pytest.mark.parametrize(
    ("metadata", "changed"),
    [
        *((marks(points=odd), "points") for odd in ("2", [2], float("nan"), None, NESTED, 99)),
        (marks(solution=True, grade=False), "grade, solution"),
        (marks(task=True), "task"),
        (marks(schema_version=99), "schema_version"),
        ({**marks(), "tags": ["mine", "skip-execution"]}, "tags"),
    ],
)
def test_metadata_that_differs_is_flagged(metadata, changed):
    text = f"the test cell double-values: its metadata was changed: {changed}"
    assert remarks(VISIBLE, metadata) == [text]
