"""A course's assignment is made once, and again where anything of it is another."""

import dataclasses
import sqlite3

import pytest

from autograder.gradebook import course_assignment
from autograder.gradebook.course_assignment import ensure_assignment
from autograder.releasing import generated_assignment
from tests.homework.tables import load_homework

HOMEWORK = "hw03-self-attention"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Give a function that asks for the assignment, and says whether nbgrader was asked."""
    made = []

    def generate(*args):
        made.append(args)
        return kept(*args)

    kept = generated_assignment.generate_assignment
    monkeypatch.setattr(generated_assignment, "generate_assignment", generate)

    def have(homework):
        made.clear()
        have.released = ensure_assignment(homework, tmp_path, f"sqlite:///{tmp_path}/gradebook.db")
        return bool(made)

    have.folder = tmp_path
    return have


def test_an_assignment_is_made_once_for_a_course(course):
    homework = load_homework(HOMEWORK)
    assert course(homework)
    first = course.released.read_text()
    assert not course(homework)
    assert course.released.read_text() == first


def test_another_homework_or_settings_make_it_anew(course, monkeypatch):
    homework = load_homework(HOMEWORK)
    assert course(homework)
    *cells, last = homework.cells
    changed = dataclasses.replace(last, source=f"{last.source}\n# new")
    assert course(dataclasses.replace(homework, cells=(*cells, changed)))
    assert course(homework)
    monkeypatch.setattr(course_assignment, "version", lambda package: "another")
    assert course(homework)


def test_a_note_that_is_damaged_and_a_strangers_file_cost_nothing(course):
    homework = load_homework(HOMEWORK)
    assert course(homework)
    (course.folder / f".{HOMEWORK}.made").write_bytes(b"\xff\xfe")
    assert course(homework)
    (course.released.parent / "notes.txt").write_text("a stranger's")
    assert course(homework)
    assert [path.name for path in course.released.parent.iterdir()] == [f"{HOMEWORK}.ipynb"]
    assert not course(homework)


@pytest.mark.parametrize("step", ["source", "release"])
@pytest.mark.parametrize("change", ["changed", "gone"])
def test_files_that_are_others_are_made_anew(course, step, change):
    homework = load_homework(HOMEWORK)
    assert course(homework)
    path = course.folder / step / HOMEWORK / f"{HOMEWORK}.ipynb"
    before = path.read_text()
    if change == "changed":
        path.write_text(before.replace("attention", "attendance"))
    else:
        path.unlink()
    assert course(homework)
    assert path.read_text() == before
    assert not course(homework)


@pytest.mark.parametrize(
    "damage",
    [
        None,
        "UPDATE grade_cells SET max_score = 100",
        "UPDATE source_cell SET checksum = 'f'",
        "UPDATE notebook SET name = 'hw99'",
        "DELETE FROM source_cell",
    ],
)
def test_a_gradebook_that_says_otherwise_is_put_right(course, damage):
    homework = load_homework(HOMEWORK)
    assert course(homework)
    gradebook = course.folder / "gradebook.db"
    if damage is None:
        gradebook.unlink()
    else:
        with sqlite3.connect(gradebook) as database:
            database.execute(damage)
        database.close()
    assert course(homework)
    assert not course(homework)
