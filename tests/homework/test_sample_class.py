"""The command that writes a sample class, and the class that ``make course`` grades."""

import csv

import pytest

from autograder.homework_source.homework import HomeworkError
from tests.homework.sample_class import main
from tests.homework.tables import load_table

HOMEWORK = "hw03-self-attention"


def test_the_command_writes_nbgraders_layout(tmp_path, capsys):
    assert main([str(tmp_path / "class"), "hw03"]) == 0
    students = sorted(path.name for path in (tmp_path / "class").iterdir())
    assert students == sorted(s.student for s in load_table(HOMEWORK).sample_class)
    for student in students:
        assert (tmp_path / "class" / student / HOMEWORK / f"{HOMEWORK}.ipynb").is_file()
    printed = list(csv.reader(capsys.readouterr().out.splitlines(), delimiter=" "))
    assert len(printed) == 16


def test_the_command_leaves_other_folders_alone(tmp_path):
    (tmp_path / "someone").mkdir()
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "someone").is_dir()


def test_the_command_refuses_what_it_does_not_know(tmp_path, capsys):
    assert main([]) == 2
    assert main([str(tmp_path), "hw99"]) == 2
    assert "hw99" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_homework_has_no_table():
    with pytest.raises(HomeworkError, match="no homework 'hw99-nothing'"):
        load_table("hw99-nothing")


def test_the_class_has_students_of_every_kind():
    students = load_table(HOMEWORK).sample_class
    assert len(students) == 16
    assert sum(student.is_right for student in students) == 3
    assert sum(len(student.hint) > 0 for student in students) == 8
    words = " ".join(student.what for student in students)
    kinds = ("half done", "KeyboardInterrupt", "_exit", "equals everything", "run_cell patched")
    assert [words.count(kind) for kind in kinds] == [1] * 5
