"""A course's assignment is generated once, and again when a source or a product has changed."""

import dataclasses
import sqlite3
from contextlib import closing

import pytest

from autograder.gradebook import course_assignment
from autograder.gradebook.course_assignment import ensure_assignment
from autograder.releasing import generated_assignment
from tests.autograder.gradebook.conftest import HOMEWORK

NOTEBOOK = f"{HOMEWORK}/{HOMEWORK}.ipynb"


@pytest.fixture
def generates(tmp_path, monkeypatch):
    """Return a function that calls ``ensure_assignment`` for a homework.

    It returns whether nbgrader generated the assignment anew.
    """
    made = []

    def generate(*args):
        made.append(args)
        return kept(*args)

    kept = generated_assignment.generate_assignment
    monkeypatch.setattr(generated_assignment, "generate_assignment", generate)

    def generates(homework):
        made.clear()
        ensure_assignment(homework, tmp_path, f"sqlite:///{tmp_path}/gradebook.db")
        return bool(made)

    return generates


def execute(statement):
    def change(folder):
        with closing(sqlite3.connect(folder / "gradebook.db")) as database, database:
            database.execute(statement)

    return change


CHANGES = {
    "damaged note": lambda folder: (folder / f".{HOMEWORK}.made").write_bytes(b"\xff\xfe"),
    "other file": lambda folder: (folder / "release" / HOMEWORK / "notes.txt").touch(),
    "changed source": lambda folder: (folder / "source" / NOTEBOOK).write_text("{}"),
    "missing source": lambda folder: (folder / "source" / NOTEBOOK).unlink(),
    "changed release": lambda folder: (folder / "release" / NOTEBOOK).write_text("{}"),
    "missing release": lambda folder: (folder / "release" / NOTEBOOK).unlink(),
    "missing gradebook": lambda folder: (folder / "gradebook.db").unlink(),
    "points": execute("UPDATE grade_cells SET max_score = 100"),
    "checksum": execute("UPDATE source_cell SET checksum = 'f'"),
    "name": execute("UPDATE notebook SET name = 'hw99'"),
    "no cells": execute("DELETE FROM source_cell"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_assignment_is_generated_again_after_a_change(generates, homework, tmp_path, change):
    assert generates(homework)
    released = (tmp_path / "release" / NOTEBOOK).read_text()
    assert not generates(homework)
    change(tmp_path)
    assert generates(homework)
    assert not generates(homework)
    assert (tmp_path / "release" / NOTEBOOK).read_text() == released
    assert len(list((tmp_path / "release" / HOMEWORK).iterdir())) == 1


def test_assignment_is_generated_again_for_another_homework_or_version(
    generates, homework, monkeypatch
):
    assert generates(homework)
    *cells, last = homework.cells
    changed = dataclasses.replace(last, source=f"{last.source}\n# new")
    assert generates(dataclasses.replace(homework, cells=(*cells, changed)))
    assert generates(homework)
    monkeypatch.setattr(course_assignment, "version", lambda package: "another")
    assert generates(homework)
