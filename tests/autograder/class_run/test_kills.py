"""Processes are killed, the disk is full: the gradebook ends up as if nothing had happened."""

import resource

import pytest

from autograder.gradebook import writer
from autograder.gradebook.database import GradebookError
from autograder.homework_source.source import load_homework
from autograder.judging.results import ungraded
from tests.autograder.class_run.kills import kill
from tests.autograder.gradebook.gradebook_contents import gradebook_contents
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.small_course import HOMEWORK, write_class, write_course
from tests.daily import with_proofs

KILLS = 6


@pytest.mark.proof
@pytest.mark.sandbox
def test_killed_runs_end_as_undisturbed_ones(tmp_path):
    killed, _ = kill(tmp_path, KILLS, seed=4, submissions=12)
    assert killed.total() == KILLS


@pytest.fixture
def recorded_class(tmp_path):
    """Return a function that records a class in a course folder's gradebook.

    It returns the rows of the gradebook's tables.
    """
    write_course(tmp_path / "course")
    write_class(tmp_path / "course", tmp_path / "class", 8)
    homework = load_homework(HOMEWORK, tmp_path / "course")
    results = [ungraded(homework, f"student-{n:04d}", "not run") for n in range(8)]

    def record(folder: str, **options) -> dict:
        course = tmp_path / folder
        record_in_gradebook(
            results,
            tmp_path / "class",
            homework,
            course_folder=course,
            **options,
        )
        return gradebook_contents(f"sqlite:///{course}/gradebook.db")

    return record


@pytest.mark.parametrize("kilobytes", with_proofs([1, 40, 132, 150], [1, 132, 150]))
def test_a_full_disk_is_told_and_mended_by_another_run(recorded_class, monkeypatch, kilobytes):
    """A limit on the size of files imitates a full disk."""
    monkeypatch.setattr(writer, "_PATIENCE_SECONDS", 0.1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, hard))
    try:
        with pytest.raises((GradebookError, OSError)):
            recorded_class("full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert recorded_class("full") == recorded_class("roomy")


def test_a_gradebook_that_goes_while_it_is_written_is_told(tmp_path, recorded_class, monkeypatch):
    monkeypatch.setattr(writer, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(writer, "_MAX_TOGETHER", 1)  # it goes in their midst
    database = tmp_path / "one" / "gradebook.db"
    with pytest.raises(GradebookError, match=r"not recorded: student-0001, .*student-0007"):
        recorded_class("one", on_recorded=lambda student: database.unlink(missing_ok=True))
    assert recorded_class("one") == recorded_class("two")
