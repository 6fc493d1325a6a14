"""The notebooks of a class: the file that counts, its student, and unreadable files."""

import json
from types import SimpleNamespace

import pytest

from autograder.class_run.course import Course
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_notebooks
from autograder.class_run.submissions import (
    NoAccessError,
    UnreadableError,
    find_submissions,
    read_notebook,
    refuse_other_homework,
)
from autograder.homework_source.homework import all_homeworks
from autograder.homework_source.source import load_homework
from tests.autograder.conftest import DOUBLE, ROOT, notebook

COURSE = Course(homework=DOUBLE, library={}, digest="one")


def hand_in(submissions, student, *names):
    folder = submissions / student / DOUBLE.id
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(name.encode())


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["mynotebook.ipynb"], "mynotebook.ipynb"),
        (["HW 0 (1).IPYNB", "data.csv", ".hidden.ipynb"], "HW 0 (1).IPYNB"),
        (["hw00-double.ipynb", "mynotebook.ipynb"], "hw00-double.ipynb"),
    ],
)
def test_a_single_notebook_may_have_any_name(tmp_path, names, taken):
    hand_in(tmp_path, "ada", *names)
    (path,) = find_submissions(tmp_path, DOUBLE.id).values()
    assert path.name == taken
    assert read_notebook(path) == taken.encode()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "Nothing was handed in: hw00-double.ipynb is missing."),
        ([".hidden.ipynb", "notes.txt"], "Nothing was handed in: hw00-double.ipynb is missing."),
        (
            ["a.ipynb", "b.ipynb"],
            "None of the notebooks is called hw00-double.ipynb, but a.ipynb, b.ipynb: which one "
            "counts?",
        ),
    ],
)
def test_no_notebook_is_taken_if_none_or_several_may_be_it(tmp_path, names, words):
    hand_in(tmp_path, "ada", *names)
    (path,) = find_submissions(tmp_path, DOUBLE.id).values()
    with pytest.raises(UnreadableError) as refused:
        read_notebook(path)
    assert str(refused.value) == words
    assert not isinstance(refused.value, NoAccessError)


FETCH = 'fetch_edition(\n    "hw04-transformer-blocks",\n    address="",\n)'


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([("Residual", ""), ("fetch-edition", FETCH), ("imports", "x = 1")], "homework 4"),
        ([("Residual", "x = 1"), ("Residual-post", "assert x")], "another homework"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_another_homeworks_notebook_counts_as_not_handed_in(tmp_path, cells, words, lines):
    data = json.loads(notebook(*cells))
    for cell in data["cells"] if lines else ():
        cell["source"] = cell["source"].splitlines(keepends=True)
    path = tmp_path / "hw00-double.ipynb"
    path.write_text(json.dumps(data, indent=1))
    (result,) = grade_notebooks(
        COURSE, {"ada": path}, GradingOptions(), judges=SimpleNamespace(seed=1)
    )
    assert result.error == (
        f"Nothing was handed in for this homework: this is the notebook of {words}."
    )
    assert (result.score, result.flags, result.is_unreadable) == (0.0, (), False)
    assert result.is_blank


def test_every_homeworks_notebook_is_told_from_every_other():
    homeworks = [load_homework(name, ROOT) for name in all_homeworks(ROOT)]
    for one in homeworks:
        data = (ROOT / "assignments" / one.id / f"{one.id}.ipynb").read_bytes()
        for other in homeworks:
            if one.id == other.id:
                refuse_other_homework(data, other)
                continue
            with pytest.raises(UnreadableError, match=f"homework {int(one.id[2:4])}[.]"):
                refuse_other_homework(data, other)


def test_large_notebook_is_read_without_outputs(tmp_path):
    cell = {"cell_type": "code", "source": "x", "outputs": [{"text": "x" * (24 << 20)}]}
    path = tmp_path / "large.ipynb"
    path.write_text(json.dumps({"cells": [cell]}))
    assert json.loads(read_notebook(path)) == {"cells": [cell | {"outputs": []}]}
    path.write_text(json.dumps({"cells": [cell | {"source": "x" * (24 << 20)}]}))
    with pytest.raises(
        UnreadableError, match=r"without its outputs, has 24\.1 MiB; the limit is 20"
    ):
        read_notebook(path)
    with path.open("wb") as file:
        file.truncate((200 << 20) + 1)
    with pytest.raises(UnreadableError, match="the limit is 200 MiB"):
        read_notebook(path)
