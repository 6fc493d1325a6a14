"""``nbgrader-course``: a folder in which nbgrader's commands work, the judge underneath."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbgrader.api import Gradebook

from autograder.cli import options
from autograder.cli.commands import nbgrader_course
from autograder.gradebook import course_folder
from autograder.homework_source.nbgrader_settings import project_settings
from autograder.sandbox.zygote import SandboxError
from tests.autograder.command_line import refused, run
from tests.autograder.small_course import ANSWERS, HOMEWORK, write_course

STUDENT = "root" if os.geteuid() == 0 else os.environ.get("USER", "ada")
STUDENTS_LIBRARY = ("__init__.py", "testing.py", "recipes/__init__.py", "EDITION")


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """Return a project with one small homework, which ``nbgrader-course`` then uses."""
    write_course(tmp_path / "project")
    for module in (nbgrader_course, options):
        monkeypatch.setattr(module, "ROOT", tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def exchange(tmp_path) -> Path:
    folder = tmp_path / "exchange"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def _working_sandbox(monkeypatch):
    monkeypatch.setattr(course_folder, "check_sandbox", lambda: None)


def lay_out(*arguments):
    return run("nbgrader-course", *arguments)


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("_working_sandbox")
def test_course_folder_has_source_settings_and_library(root, exchange, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    outcome = lay_out(tmp_path / "cs224", "--exchange", exchange)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert f"nbgrader generate_assignment {HOMEWORK}" in outcome.stdout
    source = f"source/{HOMEWORK}"
    assert files_below(tmp_path / "cs224") == {
        "nbgrader_config.py", f"{source}/{HOMEWORK}.ipynb",
        *(f"{source}/course_lib/{name}" for name in STUDENTS_LIBRARY),
    }  # fmt: skip
    notebook = nbformat.read(tmp_path / "cs224" / source / f"{HOMEWORK}.ipynb", as_version=4)
    assert any("BEGIN HIDDEN TESTS" in cell.source for cell in notebook.cells)
    settings = project_settings(tmp_path / "cs224")
    assert (settings.TrustedJudge.root, settings.DatedPenalties.root) == (str(root), str(root))
    assert (settings.CourseDirectory.course_id, settings.Exchange.root) == ("cs224", str(exchange))
    assert "autograder.gradebook.plugins.TrustedJudge" in (
        settings.Autograde.autograde_preprocessors
    )
    assert before == {path: path.stat().st_mtime_ns for path in root.rglob("*")}


@pytest.mark.usefixtures("_working_sandbox", "root")
@pytest.mark.parametrize("there", ["notes.txt", ".git", "file"])
def test_folder_that_is_not_empty_is_rejected(tmp_path, exchange, there):
    folder = tmp_path / "course"
    if there == "file":
        folder.write_text("mine")
    else:
        folder.mkdir()
        (folder / there).write_text("mine")
    line = refused(lay_out(folder, "--exchange", exchange))
    assert str(folder) in line
    assert (there if there != "file" else "it is a file") in line
    assert files_below(folder) == (set() if there == "file" else {there})


@pytest.mark.usefixtures("_working_sandbox", "root")
def test_empty_folder_is_accepted_and_a_bad_course_id_rejected(tmp_path, exchange):
    (tmp_path / "course").mkdir()
    assert "--course 'a/b'" in lay_out(tmp_path / "course", "--course", "a/b").stderr
    assert files_below(tmp_path / "course") == set()
    assert lay_out(tmp_path / "course", "hw00", "--exchange", exchange).exit_code == 0
    assert "no homework 'hw07'" in lay_out(tmp_path / "other", "hw07").stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("root")
def test_missing_exchange_and_sandbox_are_named_with_a_remedy(tmp_path, exchange, monkeypatch):
    def refuse():
        raise SandboxError("bubblewrap is not installed")

    monkeypatch.setattr(course_folder, "check_sandbox", refuse)
    outcome = lay_out(tmp_path / "course", "--exchange", tmp_path / "no")
    assert outcome.exit_code == 1
    assert f"Missing: no exchange: sudo install -d -m 1777 {tmp_path / 'no'}\n" in outcome.stderr
    assert "Missing: bubblewrap is not installed\n" in outcome.stderr
    exchange.chmod(0o755)
    line = f"sudo chmod 1777 {exchange}\n"
    assert line in lay_out(tmp_path / "course-2", "--exchange", exchange).stderr


@pytest.mark.usefixtures("_working_sandbox")
def test_deadline_is_written_to_the_gradebook(root, exchange, tmp_path):
    (root / "dates.toml").write_text(
        'time_zone = "Europe/Berlin"\n[due]\nhw00 = 2026-10-12T23:59:00\n'
    )
    assert lay_out(tmp_path / "course", "--exchange", exchange).exit_code == 0
    with Gradebook(f"sqlite:///{tmp_path / 'course' / 'gradebook.db'}", "course") as gradebook:
        due = gradebook.find_assignment(HOMEWORK).duedate
        assert (str(due), gradebook.course_id) == ("2026-10-12 21:59:00", "course")


# ---- nbgrader's own commands ----


@pytest.mark.proof
@pytest.mark.sandbox
def test_nbgrader_commands_release_collect_grade_and_return(root, exchange, tmp_path):
    course, home = tmp_path / "cs224", tmp_path / "home"
    (root / "dates.toml").write_text(
        "[due]\nhw00 = 2020-10-12T23:59:00Z\n[late]\npercent_per_day = 1\nmost_percent = 10\n"
    )
    assert lay_out(course, "--exchange", exchange).exit_code == 0
    home.mkdir()
    (home / "nbgrader_config.py").write_text(
        f"c.CourseDirectory.course_id = 'cs224'\nc.Exchange.root = {str(exchange)!r}\n"
    )
    environment = os.environ | {"HOME": str(home), "JUPYTERHUB_USER": STUDENT}

    def nbgrader(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stderr

    nbgrader(course, "generate_assignment", HOMEWORK)
    nbgrader(course, "release_assignment", HOMEWORK)
    nbgrader(home, "fetch_assignment", HOMEWORK)
    fetched = files_below(home / HOMEWORK)
    assert fetched == {f"{HOMEWORK}.ipynb", *(f"course_lib/{name}" for name in STUDENTS_LIBRARY)}
    path = home / HOMEWORK / f"{HOMEWORK}.ipynb"
    assert "HIDDEN TESTS" not in path.read_text()
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double":
            cell["source"] = ANSWERS[2][0]
    path.write_text(json.dumps(notebook))
    nbgrader(home, "submit", HOMEWORK)
    nbgrader(course, "collect", HOMEWORK)
    assert files_below(course / "submitted" / STUDENT / HOMEWORK) == {
        f"{HOMEWORK}.ipynb", "submission_secret.txt", "timestamp.txt"
    }  # fmt: skip
    nbgrader(course, "autograde", HOMEWORK)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "cs224") as gradebook:
        submission = gradebook.find_submission(HOMEWORK, STUDENT)
        assert submission.score == ANSWERS[2][1]
        (notebook,) = submission.notebooks
        notebook.comments[0].manual_comment = "<b>Look</b> at its slope"
        gradebook.db.commit()
    nbgrader(course, "generate_feedback", HOMEWORK)
    nbgrader(course, "release_feedback", HOMEWORK)
    nbgrader(home, "fetch_feedback", HOMEWORK)
    (page,) = (home / HOMEWORK / "feedback").rglob("*.html")
    assert "HIDDEN TESTS" not in page.read_text()
    told = BeautifulSoup(page.read_text(), "lxml").text
    assert "Its gradient is 2" in told
    assert "<b>Look</b> at its slope" in told
    assert "days late" in told
    nbgrader(course, "export")
    assert f"{HOMEWORK}" in (course / "grades.csv").read_text()
