"""A homework whose cells change after the class was graded."""

from dataclasses import replace

import pytest
from nbgrader.api import Gradebook

from autograder.gradebook.database import GradebookError
from autograder.homework_source.homework import CellKind
from autograder.judging.results import SubmissionResult
from tests.autograder.gradebook.conftest import HOMEWORK
from tests.autograder.gradebook.gradebook_contents import gradebook_contents
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.gradebook.test_gradebook import small_class


@pytest.fixture
def graded(tmp_path, homework, source):
    """Return a function that records a class in a folder's gradebook, and returns its address.

    The homework has only its first four tests, without those of the ids ``left_out``.
    """
    tests = [cell.grade_id for cell in homework.checks if cell.kind is CellKind.TEST]
    results = small_class(tmp_path / "class", homework, source)

    def grade(folder, *left_out: str):
        left_out = (*left_out, *tests[4:])
        cells = tuple(c for c in homework.cells if c.grade_id not in left_out)
        now = replace(homework, cells=cells)
        record_in_gradebook(
            [_without(result, left_out) for result in results],
            tmp_path / "class",
            now,
            course_folder=tmp_path / folder,
        )
        return f"sqlite:///{tmp_path / folder}/gradebook.db"

    return grade


def _without(result: SubmissionResult, left_out: tuple[str, ...]) -> SubmissionResult:
    return replace(result, checks=tuple(c for c in result.checks if c.check not in left_out))


def test_gradebook_follows_changed_cells(graded, homework):
    tests = [cell.grade_id for cell in homework.checks if cell.kind is CellKind.TEST]
    written = next(cell.grade_id for cell in homework.checks if cell.kind is CellKind.WRITTEN)
    whole = gradebook_contents(graded("whole"))
    less = gradebook_contents(graded("less", tests[0], tests[3], written))
    assert len(less["grade"]) == len(whole["grade"]) - 9
    assert gradebook_contents(graded("whole", tests[0], tests[3], written)) == less
    assert gradebook_contents(graded("whole")) == whole


def test_cell_with_hand_grades_is_not_removed(graded, homework):
    written = next(cell.grade_id for cell in homework.checks if cell.kind is CellKind.WRITTEN)
    url = graded("course")
    with Gradebook(url) as gradebook:
        gradebook.find_comment(written, HOMEWORK, HOMEWORK, "bo").manual_comment = "well put"
        gradebook.db.commit()
    before = gradebook_contents(url)
    first = homework.checks[0].grade_id
    with pytest.raises(GradebookError, match=f"given by hand in the cell '{written}'.*name back"):
        graded("course", first, written)
    assert gradebook_contents(url) == before
    graded("course", first)  # anything else may change
    with Gradebook(url) as gradebook:
        comment = gradebook.find_comment(written, HOMEWORK, HOMEWORK, "bo")
        assert comment.manual_comment == "well put"
