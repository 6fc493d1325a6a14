"""Each homework's submissions under the judge, in the sandbox: exactly the marks of its table.

The sample class, and some of the other mistakes, which all run in one process elsewhere. With
``COURSE_WHOLE_TABLES=1`` the judge grades them all, a quarter of an hour on two cores.
"""

import os

import pytest

from autograder.class_run.cluster import Cluster
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


def graded_here(table):
    """Return the submissions to grade."""
    if os.environ.get("COURSE_WHOLE_TABLES"):
        return table.submissions
    return table.sample_class + table.mistakes[:: max(1, -(-len(table.mistakes) // SOME))]


@pytest.mark.sandbox
@pytest.mark.parametrize("homework_id", tabled_homeworks())
def test_the_judge_gives_every_submission_its_marks(homework_id, tmp_path):
    homework, table = load_homework(homework_id), load_table(homework_id)
    nobody = nothing_written(homework)
    students = (*graded_here(table), nobody)
    write_class(students, homework, released_notebook(homework_id), tmp_path)
    results = grade_class(
        homework_id,
        tmp_path,
        root=ROOT,
        limits=TimeLimits(check_seconds=table.seconds),
        cluster=Cluster(workers=2),
    )
    by_name = {result.student: result for result in results}
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
