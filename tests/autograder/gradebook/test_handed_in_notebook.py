"""``nbgrader autograde`` never reads a student's file itself: no file ends the run for others."""

import copy
import json
import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.class_run.course import Course
from autograder.gradebook.course_assignment import ensure_assignment
from autograder.gradebook.database import gradebook_url
from autograder.gradebook.plugins import TrustedJudge
from autograder.homework_source.homework import CellKind
from autograder.homework_source.nbgrader_settings import configure
from autograder.judging.results import (
    OTHER_HOMEWORK,
    CheckResult,
    Flag,
    FlagKind,
    Status,
    SubmissionResult,
)
from tests.autograder.conftest import ROOT
from tests.autograder.gradebook.conftest import HOMEWORK
from tests.autograder.gradebook.test_gradebook import result_of, scores

NAME = f"{HOMEWORK}.ipynb"
OWN = {"cell_type": "code", "source": "mine = 1", "outputs": [], "execution_count": None}
NBGRADER = {"grade": False, "locked": False, "solution": True, "task": False}

pytestmark = pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory, homework) -> Path:
    """Return a course folder with its assignment and without submissions."""
    folder = tmp_path_factory.mktemp("made")
    ensure_assignment(homework, folder, gradebook_url(folder))
    return folder


@pytest.fixture
def course(tmp_path, made, homework, monkeypatch) -> Path:
    """Return a copy of ``made`` with a fake judge that passes every check.

    It writes each notebook that it gets to ``STUDENT.judged`` beside the course, and flags Eve.
    """
    folder = tmp_path / "course"
    shutil.copytree(made, folder)

    def grade(judge, course, handed_in, student):
        (tmp_path / f"{student}.judged").write_bytes(handed_in)
        result = result_of(homework, student, {})
        flag = Flag(kind=FlagKind.HOSTILE, text="=pries\x1b[2J into", cell="causal_mask", line=2)
        return replace(result, flags=(flag,)) if student == "eve" else result

    monkeypatch.setattr(TrustedJudge, "_grade", grade)
    monkeypatch.setattr(
        Course, "load", lambda homework, root: Course(homework=homework, library={})
    )
    return folder


def hand_in(course: Path, student: str, data: object) -> Path:
    path = course / "submitted" / student / HOMEWORK / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def autograde(course: Path) -> str:
    """Run ``nbgrader autograde`` for all students; return its error, empty if nothing failed."""
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(course)
    config.TrustedJudge.root = str(ROOT)
    coursedir = CourseDirectory(config=config)
    coursedir.assignment_id = HOMEWORK
    try:
        Autograde(coursedir=coursedir, config=config, force=True).start()
    except NbGraderException as error:
        return str(error)
    return ""


def autograded(course: Path, student: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(course / "autograded" / student / HOMEWORK / NAME, as_version=4).cells


def ids(cells) -> list[str]:
    return [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in cells]


def odd(solved: dict, case: str) -> dict:
    """Change the solved notebook in a way, ``case``, that nbgrader can't read; return it."""
    cells = solved["cells"]

    def first(wanted: str) -> int:
        every = (cell["metadata"].get("nbgrader", {}) for cell in cells)
        return next(i for i, x in enumerate(every) if x.get(wanted) and cells[i]["outputs"] == [])

    if case.startswith("schema"):
        cells[first("solution")]["metadata"]["nbgrader"]["schema_version"] = int(case[6:])
    elif case.startswith("own"):
        mine = {"nbgrader": NBGRADER | {"grade_id": "mine", "schema_version": int(case[3:])}}
        cells.append(OWN | {"metadata": mine})
    elif case == "raw":
        mine = {"nbgrader": NBGRADER | {"grade_id": "mine", "schema_version": 99}}
        cells.append({"cell_type": "raw", "metadata": mine, "source": "x"})
    elif case == "copied":
        place = first("solution")
        cells.insert(place, copy.deepcopy(cells[place]))
    elif case == "deleted":
        del cells[first("grade")]
    elif case == "marked anew":
        cells[first("grade")]["metadata"]["nbgrader"]["grade"] = False
    elif case == "half a sign":
        cells.append(OWN | {"metadata": {}, "source": "cut = '\ud83d'"})
    return solved


@pytest.mark.parametrize(
    "case",
    [
        "schema99", "schema1", "own99", "own1", "own3", "raw", "copied", "deleted", "marked anew",
        "half a sign",
    ],
)  # fmt: skip
def test_odd_notebook_gets_the_marks_of_grade(course, homework, source, case):
    handed_in = hand_in(course, "ada", odd(json.loads(source.read_text()), case)).read_bytes()
    hand_in(course, "zoe", source.read_bytes())
    assert autograde(course) == ""
    top = sum(cell.points for cell in homework.checks if cell.kind is CellKind.TEST)
    assert scores(course) == {"ada": top, "zoe": top}
    assert [i for i in ids(autograded(course, "ada")) if i] == [
        i for i in ids(autograded(course, "zoe")) if i
    ]
    # what was changed there is the judge's to tell
    assert (course.parent / "ada.judged").read_bytes() == handed_in


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{not a notebook", "is not valid JSON"),
        (b"", "the file is empty"),
        ({"cells": [{"cell_type": "raw", "source": ""}] * 20_000}, "the limit is 10,000"),
        (b" " * (21 << 20), "the limit is 20 MiB"),
        (b"[" * 500_000, "is not valid JSON"),
        (Path("/etc/passwd"), "is a link, not a file"),
        (next(ROOT.glob("assignments/hw01-*/*.ipynb")).read_bytes(), OTHER_HOMEWORK),
    ],
    ids=["text", "empty", "cells", "large", "deep", "link", "another homework's"],
)
def test_unreadable_file_stops_only_its_student(course, source, caplog, data, reason):
    if isinstance(data, Path):
        path = hand_in(course, "ada", b"")
        path.unlink()
        path.symlink_to(data)
    else:
        hand_in(course, "ada", data)
    hand_in(course, "zoe", source.read_bytes())
    assert autograde(course) != ""
    assert re.search(rf"for student 'ada'|{reason}", caplog.text)
    assert reason in caplog.text
    assert "student 'zoe'" not in caplog.text
    assert scores(course)["zoe"] > 0
    assert not (course / "autograded" / "ada").exists()


def test_all_cells_of_a_student_are_shown(course, source):
    solved = json.loads(source.read_text())
    cells = solved["cells"]
    question = next(
        i for i, c in enumerate(cells)
        if c["cell_type"] == "markdown" and "nbgrader" in c["metadata"]
    )  # fmt: skip
    half = copy.deepcopy(cells[question])  # as Jupyter splits a cell
    half["source"], cells[question]["source"] = "the first half", "the second half"
    note = {"cell_type": "markdown", "metadata": {}, "source": "my note <script>"}
    raw = {"cell_type": "raw", "metadata": {}, "source": "my raw text"}
    cells[question : question + 1] = [half, cells[question], note, OWN | {"metadata": {}}, raw]
    cells.insert(0, note | {"source": "before all"})
    untouched = [cell["source"] for cell in cells[1:6]]
    hand_in(course, "ada", solved)
    assert autograde(course) == ""
    shown = autograded(course, "ada")
    texts = [cell.source.replace("\u2060", "") for cell in shown]
    order = [
        "before all", "".join(untouched[0]), "the first half", "the second half",
        "my note <script>", "my raw text",
    ]  # fmt: skip
    assert [text for text in texts if text in order] == order
    assert texts.count("mine = 1") == 1
    assert len(shown) == len(cells)
    assert not [cell for cell in shown if "<script" in cell.source]
    assert {cell.cell_type for cell in shown} == {"code", "markdown"}


def test_missing_released_notebook_is_explained(course, source, caplog):
    shutil.rmtree(course / "release")
    hand_in(course, "ada", source.read_bytes())
    assert autograde(course) != ""
    assert f"nbgrader generate_assignment {HOMEWORK}" in caplog.text


def test_flags_reach_the_staff_and_not_the_student(course, source, caplog):
    for student in ("ada", "eve"):
        hand_in(course, student, source.read_bytes())
    with caplog.at_level(logging.WARNING):
        assert autograde(course) == ""
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == ["eve: flag, hostile: =pries into causal_mask, line 2"]
    log = (course / "marks.log").read_text("utf-8")
    (line,) = (line for line in log.splitlines() if "flag, hostile: =pries into" in line)
    assert line.split("\t")[1:4] == ["eve", HOMEWORK, "(all)"]
    assert "ada\t" in log
    assert "\x1b" not in log
    assert "pries" not in (course / "autograded" / "eve" / HOMEWORK / NAME).read_text("utf-8")


def test_killed_process_is_graded_once_more(monkeypatch, homework):
    """The machine may have run out of memory, which is not the student's fault."""
    seeds = []

    def grade(handed_in, student, *, seed):
        seeds.append(seed)
        status = Status.CRASH if len(seeds) == 1 else Status.PASS
        check = CheckResult(
            check="a", exercise="", title="", status=status, score=0.0, max_score=1.0
        )
        return SubmissionResult(student=student, homework=HOMEWORK, checks=(check,))

    pool = SimpleNamespace(seed=1, acquire_one=lambda course, options: SimpleNamespace(grade=grade))
    monkeypatch.setattr(TrustedJudge, "_judges", pool)
    course = Course(homework=homework, library={})
    result = TrustedJudge()._grade(course, b"", "ada")
    assert result.checks[0].status is Status.PASS
    assert seeds[0] == seeds[1]
