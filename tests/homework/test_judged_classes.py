"""Each homework's submissions under the judge, in the sandbox: exactly the marks of its table.

Some of one sample class, with every way to fail: all others run elsewhere, in one process.
``make proof`` has the judge grade them all, a quarter of an hour on two cores.
"""

import contextlib

import pytest

from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from autograder.homework_source.variants import is_named
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import Status
from tests.homework.submissions import nothing_written, write_class
from tests.homework.tables import (
    ROOT,
    load_homework,
    load_table,
    released_notebook,
    tabled_homeworks,
)

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.depends_on(
        "assignments", "autograder", "course_lib", "solutions", "tests/homework"
    ),
]

SAMPLE = "hw03-self-attention"  # of whose sample class ``make test`` grades these
EVERY_DAY = {"bela", "dana", "lea", "mira", "nils", "olga", "pavel"}
CLASSES = [
    (SAMPLE, True),
    *(pytest.param(name, False, marks=pytest.mark.proof) for name in tabled_homeworks()),
]


def graded(homework_id, students, folder, judges, seconds):
    """Write a class with these submissions into a folder, and return its results by student.

    ``students`` are submissions, ``judges`` a ``JudgePool``, ``seconds`` a check's time limit.
    """
    homework = load_homework(homework_id)
    write_class(students, homework, released_notebook(homework_id), folder)
    limits = TimeLimits(check_seconds=seconds)
    options = GradingOptions(limits=limits, workers=2)
    results = grade_class(homework, folder, options, root=ROOT, judges=judges)
    return {result.student: result for result in results}


def amiss(student, result, homework):
    """Return expected and actual failures of a submission as text; empty if they agree."""
    lost = [c for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)]
    words = "\n".join(f"{c.check}: {c.message} {c.hint}" for c in lost)
    is_right = (
        {c.check for c in lost} == student.lost_checks(homework)
        and result.score == student.score(homework)
        and is_named(student.hint, words)
        and (not student.status or {c.status for c in lost} == {student.status})
    )
    return "" if is_right else f"expected {student.lost_checks(homework)}, got {words}"


@pytest.mark.parametrize(("homework_id", "daily"), CLASSES)
def test_the_judge_gives_every_submission_its_marks(homework_id, daily, tmp_path):
    homework, table = load_homework(homework_id), load_table(homework_id)
    nobody = nothing_written(homework)
    students = [s for s in table.submissions if not daily or s.student in EVERY_DAY]
    students.append(nobody)
    # Those that only run out of time wait for nothing but their limit: theirs is short.
    endless = [student for student in students if student.status is Status.TIMEOUT]
    others = [student for student in students if student.status is not Status.TIMEOUT]
    with contextlib.closing(JudgePool()) as judges:
        by_name = graded(homework_id, others, tmp_path / "others", judges, 15.0)
        if endless:
            by_name |= graded(homework_id, endless, tmp_path / "endless", judges, 4.0)
    wrong = {s.student: amiss(s, by_name[s.student], homework) for s in students}
    assert {student: words for student, words in wrong.items() if words} == {}
    exercises = {c.exercise for c in homework.checks if c.exercise}
    for check in by_name[nobody.student].checks:
        allowed = {f"{check.exercise} is not written yet."} | {
            f"{other} is not written yet, and {check.exercise} needs it here."
            for other in exercises - {check.exercise}
        }
        assert check.status is Status.MANUAL or check.message in allowed, check.message
