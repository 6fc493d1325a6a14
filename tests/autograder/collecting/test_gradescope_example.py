"""The example for Gradescope: one submission in, one results.json out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.autograder.conftest import ROOT
from tests.homework.tables import released_notebook, solved_notebook

EXAMPLE = ROOT / "examples" / "gradescope"
HOMEWORK = "hw03-self-attention"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the example on a submission as Gradescope does.

    It takes the submission's files, contents by name, oldest first, and returns results.json.
    """
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "course").symlink_to(ROOT)

    def run(files: dict[str, bytes], **environment: str) -> dict:
        (tmp_path / "submission").mkdir()
        for age, (name, content) in enumerate(reversed(files.items())):
            path = tmp_path / "submission" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (1e9 - age, 1e9 - age))
        settings = {"AUTOGRADER": str(tmp_path), "PYTHON": sys.executable} | environment
        done = subprocess.run(
            [EXAMPLE / "run_autograder"], env=os.environ | settings, cwd=tmp_path,
            capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "results" / "results.json").read_text())

    return run


@pytest.mark.proof
@pytest.mark.sandbox
@pytest.mark.parametrize("folder", ["", "final/"])
def test_a_submission_is_graded(run, folder):
    solved = solved_notebook(HOMEWORK)
    blank = released_notebook(HOMEWORK).read_bytes() if folder else b"x"
    first = f"old/{HOMEWORK}.ipynb" if folder else "notes.txt"
    made = run({first: blank, f"{folder}{HOMEWORK}.ipynb": solved})
    automatic = [test for test in made["tests"] if "status" in test]
    assert {test["status"] for test in automatic} == {"passed"}
    assert made["score"] == sum(test["max_score"] for test in automatic)
    assert "HIDDEN" not in json.dumps(made)


def test_no_notebook_is_said_to_the_student(run):
    assert "No notebook of this homework" in run({"essay.pdf": b"%PDF"})["output"]


def test_where_nothing_can_be_graded_the_student_is_told(run, tmp_path):
    refuses = tmp_path / "python"  # as the command does without a sandbox
    collects = 'mkdir -p "$9/student/hw03" && touch "$9/student/hw03/hw03.ipynb"'
    refuses.write_text(f'#!/bin/sh\ncase "$3" in collect) {collects};; grade) exit 1;; esac\n')
    refuses.chmod(0o755)
    made = run({f"{HOMEWORK}.ipynb": b"{}"}, PYTHON=str(refuses))
    assert made["score"] == 0
    assert "no fault of yours" in made["output"]


@pytest.mark.parametrize("script", sorted(p.name for p in EXAMPLE.iterdir() if p.suffix != ".md"))
def test_scripts_are_well_formed_and_run_as_they_are(script):
    path = Path(EXAMPLE, script)
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", path], check=True)
    assert "--no-sandbox " not in path.read_text().replace("Never --no-sandbox here", "")
