"""``grade --watch`` grades each submission that arrives, and a kill loses nothing."""

import contextlib
import csv
import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.source import load_homework
from tests.autograder import small_course
from tests.autograder.command_line import refused, run
from tests.autograder.small_course import HOMEWORK, write_course

ROOT = Path(__file__).parents[3]
SECONDS = 120  # to wait; on an idle machine it takes no time
COMMAND = """
import sys
from pathlib import Path
from autograder.cli import options
options.ROOT = Path(sys.argv.pop(1))
from autograder.cli.app import app
app()
"""
RIGHT = "def double(x):\n    return x + x"
WRONG = "def double(x):\n    return 3 * x"
SLOW = "import time\ntime.sleep(600)"
DEADLY = "def double(x):\n    return 13 * x"
CHECK = "assert_close(double(torch.ones(2)), torch.full((2,), 2.0))\n"
DIES = "if double(torch.ones(())) == 13:\n    import os\n    os.kill(os.getpid(), 9)\n"


class Watch:
    """A running ``grade --watch``, and the ``lines`` that it printed so far.

    Args:
        folder: The folder with the project, ``course``, and submissions, ``class``; gets ``out``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-c", COMMAND, folder / "course", "grade", HOMEWORK, "--watch"]
        command += ["--submissions", folder / "class", "--out", folder / "out", "--workers", "2"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for(lambda: self.lines)

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)

    def wait_for(self, condition) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert self.process.poll() is None, "".join(self.lines)
            assert time.monotonic() < end, "".join(self.lines)
            time.sleep(0.02)

    def tells(self, *told: str) -> None:
        self.wait_for(lambda: set(told) <= {" ".join(line.split()[:4]) for line in self.lines})

    def end(self, how: int) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=SECONDS)

    def judge(self) -> psutil.Process:
        (server,) = psutil.Process(self.process.pid).children()
        return next(p for p in server.children() if "judge_server" in " ".join(p.cmdline()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(small_course, "SOURCE", small_course.SOURCE.replace(CHECK, DIES + CHECK))
    write_course(tmp_path / "course")
    (tmp_path / "course" / "book").mkdir()
    released = tmp_path / "course" / "assignments" / HOMEWORK / f"{HOMEWORK}.ipynb"
    released.parent.mkdir(parents=True)
    released.write_text(instructors_notebook(load_homework(HOMEWORK, tmp_path / "course")))
    (tmp_path / "class").mkdir()
    return tmp_path


@pytest.fixture
def start(folder):
    started = []

    def start() -> Watch:
        started.append(Watch(folder))
        return started[-1]

    yield start
    for watch in started:
        watch.process.kill()
        watch.process.wait()


def hand_in(folder: Path, student: str, answer: str) -> None:
    """Write a submission with ``answer`` in the cell ``double``.

    It is written in two halves, so that a reader may meet an incomplete file.
    """
    notebook = json.loads(instructors_notebook(load_homework(HOMEWORK, folder / "course")))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double":
            cell["source"] = answer
    path = folder / "class" / student / HOMEWORK / f"{HOMEWORK}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook)
    with path.open("w") as file:
        file.write(text[:100])
        file.flush()
        file.write(text[100:])


def kept(folder: Path, student: str) -> str:
    return (folder / "out" / "results" / HOMEWORK / f"{student}.json").read_text()


def points(folder: Path) -> dict[str, float]:
    """Return each student's points in grades.csv; empty if the file is missing."""
    marks: dict[str, float] = {}
    with contextlib.suppress(FileNotFoundError), (folder / "out" / "grades.csv").open() as file:
        for row in csv.DictReader(file):
            marks[row["student"]] = marks.get(row["student"], 0.0) + float(row["score"])
    return marks


@pytest.mark.sandbox
def test_each_arrival_is_graded_beside_others(folder, start):
    watch = start()
    hand_in(folder, "ada", WRONG)
    watch.tells("ada 0 of 6")
    hand_in(folder, "ada", RIGHT)
    watch.tells("ada 5 of 6")
    watch.wait_for(lambda: points(folder) == {"ada": 5.0})
    pages = folder / "out" / "feedback" / "ada"
    assert "5" in (pages / f"{HOMEWORK}.html").read_text()
    assert "5 of 5 graded so far" in " ".join(
        re.sub("<[^>]+>", " ", (pages / "index.html").read_text()).split()
    )

    hand_in(folder, "eve", SLOW)
    time.sleep(1)  # her grading goes on, and is not waited for
    hand_in(folder, "bo", RIGHT)
    watch.tells("bo 5 of 6")
    hand_in(folder, "bo", WRONG)
    watch.tells("bo 0 of 6")
    watch.wait_for(lambda: points(folder) == {"ada": 5.0, "bo": 0.0})
    hand_in(folder, "a*b", RIGHT)
    watch.wait_for(lambda: any("gradebook is not complete" in line for line in watch.lines))
    assert watch.end(signal.SIGINT) == 1
    assert points(folder) == {"ada": 5.0, "bo": 0.0, "a*b": 5.0}
    assert f"{folder / 'out' / 'report.html'}" in "".join(watch.lines)
    assert not (folder / "out" / ".lock").exists()


@pytest.mark.sandbox
@pytest.mark.proof
def test_a_judge_that_is_killed_costs_nobody_anything(folder, start):
    watch = start()
    hand_in(folder, "ada", RIGHT)
    watch.tells("ada 5 of 6")
    watch.judge().kill()
    hand_in(folder, "mal", DEADLY)
    hand_in(folder, "bo", RIGHT)
    watch.tells("mal 0 of 6", "bo 5 of 6")
    watch.wait_for(lambda: points(folder) == {"ada": 5.0, "bo": 5.0, "mal": 0.0})
    assert watch.end(signal.SIGINT) == 0
    assert not json.loads(kept(folder, "mal"))["result"]["error"]


@pytest.mark.sandbox
@pytest.mark.proof
def test_a_watch_that_is_killed_loses_nothing(folder, start):
    watch = start()
    hand_in(folder, "ada", RIGHT)
    watch.tells("ada 5 of 6")
    graded = kept(folder, "ada")
    assert watch.end(signal.SIGKILL) == -signal.SIGKILL
    hand_in(folder, "bo", WRONG)

    watch = start()
    watch.tells("bo 0 of 6")
    watch.wait_for(lambda: points(folder) == {"ada": 5.0, "bo": 0.0})
    assert watch.end(signal.SIGTERM) == 0
    assert kept(folder, "ada") == graded  # it would have been drawn anew
    assert not any(line.startswith("ada 5 of") for line in watch.lines[:2])


def test_a_folder_that_is_not_there_cannot_be_watched(tmp_path):
    where = ("--submissions", tmp_path / "no", "--out", tmp_path / "out")
    line = refused(run("grade", "hw03", "--watch", *where))
    assert f"no folder {tmp_path / 'no'}" in line
    assert list(tmp_path.iterdir()) == []
