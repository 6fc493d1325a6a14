"""The sample class under the judge, in the sandbox: exactly the marks that its table promises."""

import csv

import pytest

from autograder.class_run import grade_class
from autograder.cluster import Cluster
from autograder.homework import CellKind
from autograder.judge import TimeLimits
from autograder.results import Status
from tests.homework.sample_class import (
    ROOT,
    load_homework,
    main,
    released_notebook,
    sample_class,
)
from tests.homework.submissions import write_class

HOMEWORK = "hw03-self-attention"


@pytest.mark.sandbox
def test_the_judge_gives_every_submission_its_marks(tmp_path):
    homework = load_homework(HOMEWORK)
    students = sample_class(HOMEWORK)
    assert len(students) == 16
    write_class(students, homework, released_notebook(HOMEWORK), tmp_path)
    results = grade_class(
        HOMEWORK,
        tmp_path,
        root=ROOT,
        limits=TimeLimits(check_seconds=8),
        cluster=Cluster(workers=2),
    )
    got = {
        result.student: (
            result.score,
            {c.check for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)},
        )
        for result in results
    }
    assert got == {s.student: (s.score(homework), s.lost_checks(homework)) for s in students}
    by_name = {result.student: result for result in results}
    for student in students:
        lost = [
            c for c in by_name[student.student].checks if c.check in student.lost_checks(homework)
        ]
        if student.status:
            assert {check.status for check in lost} == {student.status}
        words = " ".join(f"{check.message} {check.hint}" for check in lost)
        assert student.hint in words


def test_the_command_writes_nbgraders_layout(tmp_path, capsys):
    assert main([str(tmp_path / "class"), "hw03"]) == 0
    students = sorted(path.name for path in (tmp_path / "class").iterdir())
    assert students == sorted(s.student for s in sample_class(HOMEWORK))
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


def test_every_kind_of_mistake_that_the_course_promises_is_there():
    words = " ".join(submission.what for submission in sample_class(HOMEWORK))
    for needed in (
        "einsum", "loops", "fused", "no scaling", "softmax over", "inverted", "after the softmax",
        "not split", "projection forgotten", "in place", "without transposing", "half done",
        "KeyboardInterrupt", "os._exit", "equals everything", "run_cell patched",
    ):  # fmt: skip
        assert words.count(needed) == 1


def test_the_written_question_is_left_to_a_person():
    kinds = {cell.grade_id: cell.kind for cell in load_homework(HOMEWORK).checks}
    assert kinds["why-scale"] is CellKind.WRITTEN
