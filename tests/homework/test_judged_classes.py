"""Each homework's submissions under the judge, in the sandbox: exactly the marks of its table.

The sample class, and some of the other mistakes, which all run in one process elsewhere. ``make
proof`` has the judge grade them all, a quarter of an hour on two cores.
"""

import pytest

from autograder.class_run.cluster import Cluster
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from autograder.judging.judge import TimeLimits
from autograder.judging.results import Status
from tests.homework.submissions import nothing_written, write_class
from tests.homework.tables import (
    ROOT,
    load_homework,
    load_table,
    released_notebook,
    tabled_homeworks,
)

SOME = 12  # mistakes beyond the sample class, spread over the table


def some(table):
    """Return the submissions to grade every day."""
    return table.sample_class + table.mistakes[:: max(1, -(-len(table.mistakes) // SOME))]


def graded(homework_id, students, folder, seconds):
    """Grade a class, with so many seconds for a check."""
    homework = load_homework(homework_id)
    write_class(students, homework, released_notebook(homework_id), folder)
    options = GradingOptions(limits=TimeLimits(check_seconds=seconds), cluster=Cluster(workers=2))
    results = grade_class(homework, folder, options, root=ROOT)
    return {result.student: result for result in results}


@pytest.mark.sandbox
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.proof)])
@pytest.mark.parametrize("homework_id", tabled_homeworks())
def test_the_judge_gives_every_submission_its_marks(homework_id, whole, tmp_path):
    homework, table = load_homework(homework_id), load_table(homework_id)
    nobody = nothing_written(homework)
    students = (*(table.submissions if whole else some(table)), nobody)
    # Those that only run out of time wait for nothing but their limit: theirs is short.
    endless = [student for student in students if student.status is Status.TIMEOUT]
    others = [student for student in students if student.status is not Status.TIMEOUT]
    by_name = graded(homework_id, others, tmp_path / "others", table.seconds)
    if endless:
        by_name |= graded(homework_id, endless, tmp_path / "endless", 2.0)
    for student in students:
        result = by_name[student.student]
        lost = [c for c in result.checks if c.status not in (Status.PASS, Status.MANUAL)]
        words = "\n".join(f"{c.check}: {c.message} {c.hint}" for c in lost)
        assert {c.check for c in lost} == student.lost_checks(homework), (student.student, words)
        assert result.score == student.score(homework), student.student
        assert student.hint in words, student.student
        if student.status:
            assert {c.status for c in lost} == {student.status}, (student.student, words)
    exercises = {c.exercise for c in homework.checks if c.exercise}
    for check in by_name[nobody.student].checks:
        allowed = {f"{check.exercise} is not written yet."} | {
            f"{other} is not written yet, and {check.exercise} needs it here."
            for other in exercises - {check.exercise}
        }
        assert check.status is Status.MANUAL or check.message in allowed, check.message
