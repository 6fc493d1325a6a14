"""nbgrader goes on working: gradebook, autograde, feedback, with the judge underneath."""

import json
import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import compute_checksum
from sqlalchemy.exc import DataError
from traitlets.config import Config

from autograder.class_run.course import Course
from autograder.cli.grading import what_was_refused
from autograder.gradebook import writer
from autograder.gradebook.database import GradebookError
from autograder.gradebook.graded_notebook import transplant
from autograder.gradebook.plugins import TrustedJudge
from autograder.gradebook.rows import GradebookRows
from autograder.homework_source.homework import CellKind, HomeworkError
from autograder.homework_source.nbgrader_settings import configure
from autograder.judging.results import CheckResult, Status, SubmissionResult, interrupted, ungraded
from tests.autograder.conftest import ROOT, notebook
from tests.autograder.gradebook.conftest import HOMEWORK
from tests.autograder.gradebook.gradebook_contents import gradebook_contents
from tests.autograder.gradebook.recording import record_in_gradebook


def hand_in(folder: Path, student: str, data: bytes) -> None:
    path = folder / student / HOMEWORK / f"{HOMEWORK}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


def result_of(homework, student, statuses) -> SubmissionResult:
    """Return a result in which all checks pass, except for some with other statuses.

    ``statuses`` maps the indices of those checks to pairs (status, score).
    """
    checks = []
    for number, cell in enumerate(homework.checks):
        status, score = statuses.get(number, (Status.PASS, cell.points))
        if cell.kind is CellKind.WRITTEN:
            status, score = Status.MANUAL, 0.0
        checks.append(
            CheckResult(
                check=cell.grade_id, exercise=cell.exercise, title=cell.title, status=status,
                score=score, max_score=cell.points, message="<b>words</b>",
            )
        )  # fmt: skip
    return SubmissionResult(student=student, homework=HOMEWORK, checks=tuple(checks))


def scores(course_folder: Path) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course_folder}/gradebook.db") as gradebook:
        submissions = gradebook.assignment_submissions(HOMEWORK)
        return {submission.student.id: submission.score for submission in submissions}


def test_autograde_stops_if_the_reference_fails_a_test(monkeypatch, homework):
    asked = []

    def grade(notebook, student, *, seed):
        asked.append(student)
        return result_of(homework, student, {0: (Status.FAIL, 0.0)})

    judge = SimpleNamespace(grade=grade)
    monkeypatch.setattr(TrustedJudge, "_tried", {})
    monkeypatch.setattr(TrustedJudge._judges, "acquire_one", lambda *given: judge)
    course = Course(homework=homework, library={}, digest="with a broken test")
    for student in ("ada", "bo"):
        with pytest.raises(HomeworkError, match=f"does not pass {homework.checks[0].grade_id};"):
            TrustedJudge()._grade(course, b"", student)
    assert asked == ["reference"]


def test_odd_times_and_texts_are_recorded_and_interrupted_results_are_not(
    tmp_path, homework, source
):
    submissions, course = tmp_path / "submitted", tmp_path / "nbgrader"
    times = {"ada": "9" * 20, "bo": "9999-12-31 23:59 -2359", "cy": "soon", "dee": "\x00"}
    results = []
    for student, time in times.items():
        hand_in(submissions, student, source.read_bytes())
        (submissions / student / HOMEWORK / "timestamp.txt").write_text(time)
        first, *rest = result_of(homework, student, {0: (Status.ERROR, 0.0)}).checks
        odd = replace(first, message="\ud800\x1b[2J", traceback="Cell a, line 1\ud800")
        checks = (odd, *rest)
        results.append(SubmissionResult(student=student, homework=HOMEWORK, checks=checks))
    record_in_gradebook(results, submissions, homework, course_folder=course)
    lost = [interrupted(homework, student, "the disk is away") for student in times]
    record_in_gradebook(lost, submissions, homework, course_folder=course)
    assert scores(course) == {result.student: result.score for result in results}
    (graded,) = course.glob("autograded/ada/*/*.ipynb")
    assert "[2J" not in graded.read_text("utf-8")


def test_folder_that_cannot_be_written_is_reported(tmp_path, homework, source):
    hand_in(tmp_path / "submitted", "ada", source.read_bytes())
    (tmp_path / "nbgrader").write_text("no folder")
    with pytest.raises(GradebookError, match=r"can't be used: .*nbgrader"):
        record_in_gradebook(
            [result_of(homework, "ada", {})], tmp_path / "submitted", homework,
            course_folder=tmp_path / "nbgrader",
        )  # fmt: skip


def small_class(folder: Path, homework, source) -> list[SubmissionResult]:
    """Write three submissions into ``folder`` and return their results, with various statuses.

    Ada's notebook has an added cell and a time, Bo's is untouched, Cy's file is no notebook.
    """
    solved = json.loads(source.read_text())
    own = {"cell_type": "code", "metadata": {}, "source": "mine = 1", "outputs": [], "id": "own"}
    solved["cells"].insert(3, own | {"execution_count": 1})
    hand_in(folder, "ada", json.dumps(solved).encode())
    (folder / "ada" / HOMEWORK / "timestamp.txt").write_text("2026-10-01 12:00:00 UTC")
    untouched = (ROOT / "assignments" / HOMEWORK / f"{HOMEWORK}.ipynb").read_bytes()
    hand_in(folder, "bo", untouched)
    hand_in(folder, "cy", b"{not a notebook")
    return [
        result_of(homework, "ada", {0: (Status.FAIL, 0.0), 1: (Status.PARTIAL, 0.5)}),
        result_of(homework, "bo", {2: (Status.TIMEOUT, 0.0), 3: (Status.CRASH, 0.0)}),
        ungraded(homework, "cy", "The file is not a notebook."),
    ]


def files(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (path.read_text(), path.stat().st_mode)
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db"
    }


@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # nbgrader's
def test_rows_and_files_equal_those_of_nbgrader_autograde(tmp_path, homework, source, monkeypatch):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    results = small_class(tmp_path / "class", homework, source)
    record_in_gradebook(results, tmp_path / "class", homework, course_folder=ours)

    found = {result.student: result for result in results}
    monkeypatch.setattr(TrustedJudge, "_grade", lambda self, *given: found[given[-1]])
    monkeypatch.setattr(
        Course, "load", lambda homework, root: Course(homework=homework, library={})
    )
    for folder in ("source", "submitted"):
        shutil.copytree(ours / folder, theirs / folder)
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(theirs)
    config.TrustedJudge.root = str(ROOT)
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    assert api.generate_assignment(HOMEWORK)["success"]
    for student in found:
        assert api.autograde(HOMEWORK, student)["success"]

    rows = gradebook_contents(f"sqlite:///{ours}/gradebook.db")
    assert rows == gradebook_contents(f"sqlite:///{theirs}/gradebook.db")
    assert len(rows["grade"]) == len(results) * len(homework.checks)
    assert files(ours / "autograded") == files(theirs / "autograded")
    assert files(ours / "release") == files(theirs / "release")


def test_recording_again_changes_nothing(tmp_path, homework, source):
    ada, *_ = small_class(tmp_path / "class", homework, source)
    options = {"course_folder": tmp_path / "course"}
    url = f"sqlite:///{tmp_path}/course/gradebook.db"
    written = next(c.grade_id for c in homework.checks if c.kind is CellKind.WRITTEN)
    by_hand = (written, homework.checks[0].grade_id)

    def record(result):
        record_in_gradebook([result], tmp_path / "class", homework, **options)
        with Gradebook(url) as gradebook:
            grades = [gradebook.find_grade(c, HOMEWORK, HOMEWORK, "ada") for c in by_hand]
            return [grade.needs_manual_grade for grade in grades]

    assert record(ada) == [True, False]
    with Gradebook(url) as gradebook:  # what formgrader does
        for cell in by_hand:
            grade = gradebook.find_grade(cell, HOMEWORK, HOMEWORK, "ada")
            grade.manual_score, grade.needs_manual_grade = 2.0, False
        comment = gradebook.find_comment(written, HOMEWORK, HOMEWORK, "ada")
        comment.manual_comment = "well put"
        gradebook.db.commit()
    before = gradebook_contents(url), files(tmp_path / "course")
    assert record(ada) == [False, False]
    assert before == (gradebook_contents(url), files(tmp_path / "course"))

    path = tmp_path / "class" / "ada" / HOMEWORK / f"{HOMEWORK}.ipynb"
    path.write_text(path.read_text().replace("mine = 1", "mine = 2"))
    assert record(ada) == [True, True]  # handed in anew: to be looked at again
    with Gradebook(url) as gradebook:
        assert gradebook.find_grade(written, HOMEWORK, HOMEWORK, "ada").manual_score == 2.0
        comment = gradebook.find_comment(written, HOMEWORK, HOMEWORK, "ada")
        assert comment.manual_comment == "well put"


@pytest.mark.parametrize(("seconds", "patience"), [(0.3, 600.0), (3600.0, 0.5)])
def test_locked_gradebook_is_retried(tmp_path, homework, source, monkeypatch, seconds, patience):
    monkeypatch.setattr(writer, "_PATIENCE_SECONDS", patience)
    url = f"sqlite:///{tmp_path}/course/gradebook.db?timeout=0.1"
    options = {"course_folder": tmp_path / "course", "db_url": url}
    results = small_class(tmp_path / "class", homework, source)
    record_in_gradebook(results[:1], tmp_path / "class", homework, **options)

    holder = sqlite3.connect(tmp_path / "course" / "gradebook.db", check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(seconds, holder.rollback)
    release.start()
    try:
        if seconds < patience:
            record_in_gradebook(results, tmp_path / "class", homework, **options)
        else:
            with pytest.raises(GradebookError, match="locked"):
                record_in_gradebook(results, tmp_path / "class", homework, **options)
    finally:
        release.cancel()
        holder.rollback()
        holder.close()
    record_in_gradebook(results, tmp_path / "class", homework, **options)
    assert set(scores(tmp_path / "course")) == {"ada", "bo", "cy"}


def test_all_refused_students_are_named(tmp_path, homework, source):
    submissions, course = tmp_path / "submitted", tmp_path / "nbgrader"
    results = []
    for student in ("a*\n[bold]", "b*\n"):
        hand_in(submissions, student, source.read_bytes())
        results.append(result_of(homework, student, {}))
    with pytest.raises(GradebookError) as refused:
        record_in_gradebook(results, submissions, homework, course_folder=course)
    told = what_was_refused(refused.value)
    assert told.startswith("not recorded: a* [bold], b*; a* [bold]: nbgrader takes")


def test_student_refused_by_the_database_stops_nobody_else(tmp_path, homework, source, monkeypatch):
    write_one = GradebookRows._write_one
    together = []

    def refuse_bo(rows, autograded):
        if autograded.student == "bo":
            raise DataError("INSERT", {}, ValueError("too long"))
        write_one(rows, autograded)

    write = GradebookRows.write
    monkeypatch.setattr(GradebookRows, "_write_one", refuse_bo)
    monkeypatch.setattr(
        GradebookRows, "write", lambda self, part: (together.append(len(part)), write(self, part))
    )
    results = small_class(tmp_path / "class", homework, source)
    with pytest.raises(GradebookError, match=r"not recorded: bo; bo: .*too long"):
        record_in_gradebook(
            results, tmp_path / "class", homework, course_folder=tmp_path / "course"
        )
    assert set(scores(tmp_path / "course")) == {"ada", "cy"}
    assert max(together) > 1  # they did go together first


def test_only_the_students_own_sources_are_transplanted(homework):
    released = nbformat.read(ROOT / "assignments" / HOMEWORK / f"{HOMEWORK}.ipynb", as_version=4)
    exercise = next(c.grade_id for c in homework.cells if c.kind is CellKind.SOLUTION)
    check = next(c.grade_id for c in homework.cells if c.kind is CellKind.TEST)
    handed_in = notebook(
        "first = 1",
        (exercise, "MINE = 1"),
        "second = 2",
        (check, "mine = True"),
        tags=["skip-execution"],
    )
    made = transplant(released, handed_in, homework)
    nbformat.validate(made)
    text = nbformat.writes(made)
    added = f"# Added to the cell {check}\nmine = True"
    own = ["first = 1", "MINE = 1", "second = 2", added]
    assert [cell.source for cell in made.cells if cell.source in own] == own
    assert "skip-execution" not in text
    (test,) = (cell.source for cell in released.cells if cell.id == check)
    assert next(cell.source for cell in made.cells if cell.id == check) == test
    assert len(made.cells) == len(released.cells) + 3


def test_question_answered_elsewhere_differs_from_the_release(homework):
    """A written answer with the checksum of the release gets 0 points from nbgrader, unread."""
    released = nbformat.read(ROOT / "assignments" / HOMEWORK / f"{HOMEWORK}.ipynb", as_version=4)
    question = next(c.grade_id for c in homework.cells if c.kind is CellKind.WRITTEN)
    for cells, is_read in ((["# My answer"], True), (["x = 1"], False)):
        made = transplant(released, notebook(*cells), homework)
        (cell,) = (c for c in made.cells if c.id == question)
        checksum = next(c.metadata.nbgrader.checksum for c in released.cells if c.id == question)
        assert (compute_checksum(cell) != checksum) == is_read
