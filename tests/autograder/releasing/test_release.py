import ast
import hashlib
import re
import shutil
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder.homework_source.homework import HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.releasing import generated_assignment
from autograder.releasing import release as release_module
from autograder.releasing.release import release
from autograder.sandbox.student_packages import STUDENT_PACKAGES
from tests.autograder.command_line import contents

ROOT = Path(__file__).parents[3]
HOMEWORK = "hw03-self-attention"


def fresh_root(folder, like=ROOT):
    for name in ("solutions", "course_lib"):
        shutil.copytree(like / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(like / "pyproject.toml", folder / "pyproject.toml")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return release("hw03", fresh_root(tmp_path_factory.mktemp("released")))


def test_exercise_that_can_be_answered_by_importing_is_warned_of(made, tmp_path):
    root = small_root(tmp_path)
    (root / "course_lib" / "doubles.py").write_text("def double(x):\n    return 2 * x\n")
    assert made.warnings == ()
    (warning,) = release("hw01", root).warnings
    assert warning.startswith("double can be answered by importing course_lib.doubles.double: ")
    assert 'withholds="course_lib.doubles.double"' in warning


def test_download_and_archive_hold_the_same_files(made):
    names = {p.relative_to(made.folder).as_posix() for p in made.folder.rglob("*") if p.is_file()}
    assert {
        "README.md",
        "requirements.txt",
        f"{HOMEWORK}.ipynb",
        "course_lib/layers/attention.py",
    } <= names
    notebook = (made.folder / f"{HOMEWORK}.ipynb").read_bytes()
    assert notebook == made.assignment.read_bytes()
    with zipfile.ZipFile(made.archive) as archive:
        assert archive.testzip() is None
        assert {name.removeprefix(f"{HOMEWORK}/") for name in archive.namelist()} == names
    edition = {p.relative_to(made.edition) for p in made.edition.rglob("*") if p.is_file()}
    assert {path.as_posix() for path in edition} == {n for n in names if n.startswith("course_lib")}


def test_readme_names_the_homework_and_its_points(made):
    text = (made.folder / "README.md").read_text()
    assert text.startswith("# Homework 3: Self-attention\n")
    assert "22 points" in text
    assert "{" not in text
    assert "*The matrix form*" in text
    assert "open `index.html` in a browser" in text  # the project names no address of the book


def test_readme_has_the_address_of_the_book_and_nothing_is_printed(tmp_path, capfd, caplog):
    settings = '[project.urls]\nBook = "https://example.org/course/"\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    text = (release("hw01", small_root(tmp_path)).folder / "README.md").read_text("utf-8")
    assert "the course's book, https://example.org/course." in text
    assert "index.html" not in text
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    assert caplog.records == []


def test_requirements_are_pinned_light_and_enough(made):
    lines = (made.folder / "requirements.txt").read_text().split()
    assert all(re.fullmatch(r"[a-z]+==[0-9.a-z]+", line) for line in lines)
    names = {line.split("==")[0] for line in lines}
    assert names == set(STUDENT_PACKAGES)
    assert "nbgrader" not in names
    imported = set()
    for path in made.folder.glob("course_lib/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.split(".")[0])
    brought_along = {"course_lib", "IPython"}  # jupyterlab's kernel brings IPython
    assert imported - set(sys.stdlib_module_names) - brought_along <= names


def test_same_sources_give_the_same_bytes(made, tmp_path):
    again = release(HOMEWORK, fresh_root(tmp_path, like=made.assignment.parents[2]))
    for kind in ("archive", "assignment", "wheel"):
        first, second = (getattr(released, kind).read_bytes() for released in (made, again))
        assert hashlib.sha256(first).digest() == hashlib.sha256(second).digest(), kind


def small_root(folder, solution="    return 2 * x"):
    (folder / "solutions").mkdir(exist_ok=True)
    (folder / "course_lib").mkdir(exist_ok=True)
    (folder / "course_lib" / "__init__.py").write_text('"""Empty."""\n')
    (folder / "solutions" / "hw01-small.py").write_text(
        f"""\
# %% [markdown]
# # Small

# %% solution="double"
def double(x):
    ### BEGIN SOLUTION
{solution}
    ### END SOLUTION

# %% test="double-values" points=1
# It doubles
assert double(2) == 4
"""
    )
    return folder


def test_release_replaces_the_earlier_one(tmp_path):
    first = release("hw01", small_root(tmp_path))
    (first.folder / "left-over.txt").write_text("old")
    second = release("hw01", small_root(tmp_path, solution="    return x + x"))
    assert not (second.folder / "left-over.txt").exists()
    assert "YOUR CODE HERE" in second.assignment.read_text()
    assert "x + x" not in second.assignment.read_text()
    assert [p.name for p in (tmp_path / "build").iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("step", ["write_student_edition", "_requirements", "_write_archive"])
def test_failure_leaves_the_earlier_release(tmp_path, monkeypatch, step):
    release("hw01", small_root(tmp_path))
    before = contents(tmp_path)

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(release_module, step, fail)
    with pytest.raises(OSError, match="disk full"):
        release("hw01", tmp_path)
    assert contents(tmp_path) == before


def test_error_of_nbgrader_is_reported_in_its_words(tmp_path, monkeypatch):
    small_root(tmp_path)

    def with_a_stray_region(homework):
        notebook = nbformat.reads(instructors_notebook(homework), as_version=4)
        notebook.cells[0].source += "\n### BEGIN SOLUTION\nx\n### END SOLUTION"
        return nbformat.writes(notebook)

    monkeypatch.setattr(generated_assignment, "instructors_notebook", with_a_stray_region)
    with pytest.raises(HomeworkError, match=r"nbgrader refuses .*hw01-small\.ipynb") as refused:
        release("hw01", tmp_path)
    assert "Solution region detected in a non-solution cell" in str(refused.value)
    assert "Traceback" not in str(refused.value)
    assert not (tmp_path / "dist").exists()


def test_misnamed_source_is_explained(tmp_path):
    root = small_root(tmp_path)
    (root / "solutions" / "hw09_cosine.py").write_text("")
    words = r"no homework 'hw09': its file must be solutions/hwNN-name\.py, not hw09_cosine\.py; "
    with pytest.raises(HomeworkError, match=words):
        release("hw09", root)
    with pytest.raises(HomeworkError, match="no homework 'hw08'; known: hw01-small"):
        release("hw08", root)
