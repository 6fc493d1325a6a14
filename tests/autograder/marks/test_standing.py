"""Points, comments and lateness set by a person are the same in all output files."""

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from nbgrader.api import Gradebook

from autograder.exports.gradescope import gradescope_results
from autograder.exports.mark import comment_of
from autograder.gradebook.hand_grades import NO_RESPONSE, read_hand_grades
from autograder.judging.results import CellFailure, Status
from autograder.marks.standing import HandGrades, Lateness, Standing, stand
from autograder.reports.feedback import render_feedback
from autograder.reports.grades import write_grades
from autograder.reports.mark_log import write_marks
from autograder.reports.report import render_report
from tests.autograder.conftest import notebook
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.graded_class import HOMEWORK, result
from tests.autograder.reports.test_feedback import HOSTILE, Outline, words_of

READ = HandGrades(points={"why": 2.0}, comments={"why": "Well put.\nWhy not <3?", "double": "Neat"})
LATE = Lateness(words="Handed in 2 days late.", share=0.25, days=2)


def graded(student="ada", **given) -> Standing:
    return stand(result(student, values=Status.FAIL), READ, LATE, **given)


@pytest.mark.parametrize(
    ("grades", "status", "score", "waiting"),
    [
        (None, Status.MANUAL, 0.0, True),
        (HandGrades(waiting=frozenset({"why"})), Status.MANUAL, 0.0, True),
        (HandGrades(comments={"why": NO_RESPONSE}), Status.FAIL, 0.0, False),
        (HandGrades(points={"why": 3.0}), Status.PASS, 3.0, False),
        (HandGrades(points={"why": 3.0}, extra={"why": 0.5}), Status.PASS, 3.5, False),
        (HandGrades(points={"why": 1.0}, waiting=frozenset({"why"})), Status.PARTIAL, 1.0, True),
    ],
)
def test_a_written_answer_waits_until_a_person_has_read_it(grades, status, score, waiting):
    standing = stand(result("ada"), grades)
    why = standing.result.checks[2]
    assert (why.status, why.score, standing.waiting) == (status, score, waiting)


def test_a_check_that_a_person_gave_points_for_counts_so():
    given = HandGrades(points={"double-values": 2.0, "double-shape": 0.0, "why": 0.0})
    made = result("ada", Status.CRASH, Status.FAIL, hint="Multiply.")
    standing = stand(made, given)
    assert [c.status for c in standing.result.checks] == [Status.CRASH, Status.PASS, Status.FAIL]
    page = render_feedback(standing, HOMEWORK)
    assert "1 of 2 checks pass" in words_of(page)
    assert page.count("Graded by hand") == 3
    assert page.count("Multiply.") == 1


def test_no_penalty_takes_more_than_there_is():
    standing = stand(result("ada", Status.FAIL), READ, Lateness(words="late", share=0.9))
    assert standing.penalty == 4.0
    assert standing.score == 0.0


def test_the_page_shows_points_comments_and_lateness():
    words = words_of(render_feedback(graded(), HOMEWORK))
    assert "1.5 of 6 points" in words
    assert "points so far" not in words
    assert "−1.5 points Handed in 2 days late." in words
    assert "2 of 3 Graded by hand" in words
    assert "Your teaching assistant Well put. Why not <3?" in words
    assert "Exercise 1: twice as much 1 of 3 double Your teaching assistant Neat" in words
    assert "reads this answer" not in words
    assert "differs from the exercise" not in words[words.index("Why twice?") :]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_is_shown_and_inert(text):
    def page(said: str) -> Outline:
        given = HandGrades(points={"why": 1.0}, comments={"why": said, "double": said})
        return Outline(render_feedback(stand(result("ada"), given), HOMEWORK))

    assert page(text).tags == page("x").tags
    assert page(text).text.count(text) == 2


def test_rows_of_the_grades_add_up_to_the_mark(tmp_path):
    write_grades([graded()], tmp_path / "grades.csv")
    rows = list(csv.DictReader((tmp_path / "grades.csv").open()))
    assert [(row["check"], row["status"], float(row["score"])) for row in rows] == [
        ("double-shape", "pass", 1.0), ("double-values", "fail", 0.0),
        ("why", "by hand", 2.0), ("late", "late", -1.5),
    ]  # fmt: skip
    assert [row["comment"] for row in rows] == ["Neat", "", "Well put. Why not <3?", ""]
    assert rows[3]["message"] == "Handed in 2 days late."


def test_the_report_counts_written_answers_when_all_are_read():
    everybody = [graded("ada"), stand(result("ben"), HandGrades(points={"why": 3.0}))]
    words = words_of(render_report(everybody, HOMEWORK))
    assert "mean points 3.8 of 6" in words
    assert "written answers left out" not in words
    assert "late 1" in words
    assert "late, −1.5" in words
    waiting = words_of(render_report([*everybody, stand(result("cho"))], HOMEWORK))
    assert "median points 3 of 3" in waiting
    assert "wait for you in formgrader (1 submission)" in waiting


def test_the_log_has_the_reason(tmp_path):
    write_marks([graded()], tmp_path / "log", now=datetime(2026, 1, 2, tzinfo=UTC))
    log = (tmp_path / "log").read_text()
    assert "\t1.5/6\t" in log
    assert "-1.5: Handed in 2 days late." in log
    assert "\twhy\t2/3\tgraded by hand: Well put. Why not <3?" in log


def test_the_log_says_that_nothing_was_answered(tmp_path):
    standing = stand(result("ada"), HandGrades(comments={"why": NO_RESPONSE}))
    write_marks([standing], tmp_path / "log", now=datetime(2026, 1, 2, tzinfo=UTC))
    assert "\twhy\t0/3\tnot answered" in (tmp_path / "log").read_text()


def test_students_text_is_not_parsed_from_the_log(tmp_path):
    words = 'X: x"; flag, similar: nearly the same as ben\n2026-01-02T00:00:00Z\tben\t'
    failure = CellFailure(cell="extra cell 1", status=Status.ERROR, message=words)
    standing = stand(replace(result("ada"), cell_failures=(failure,)))
    write_marks([standing], tmp_path / "log", now=datetime(2026, 1, 2, tzinfo=UTC))
    log = (tmp_path / "log").read_text()
    quoted = "X: x'; flag, similar: nearly the same as ben 2026-01-02T00:00:00Z ben"
    assert f'extra cell 1: "{quoted}"\n' in log


def test_comments_of_a_grader_reach_gradescope_and_the_lms():
    made = gradescope_results(graded())
    assert made["score"] == 1.5
    assert made["tests"][2]["output"] == "Graded by hand\n\nWell put.\nWhy not <3?"
    assert "status" not in made["tests"][2]
    assert made["output"] == "Handed in 2 days late.\n\ndouble: Neat"
    said = comment_of(graded())
    assert said == "Handed in 2 days late.\nWhy twice?: Well put.\nWhy not <3?\ndouble: Neat"
    assert json.dumps(made)


def test_marks_from_formgrader_are_read(tmp_path):
    """The gradebook's rows give points, extra points, waiting students and comments."""
    for student, answer in (("ada", "Because."), ("ben", "")):
        folder = tmp_path / "class" / student / HOMEWORK.id
        folder.mkdir(parents=True)
        data = notebook(("double", "def double(x): return 2 * x"), ("why", answer))
        (folder / f"{HOMEWORK.id}.ipynb").write_bytes(data)
    results = [result("ada"), result("ben")]
    course = tmp_path / "nbgrader"
    record_in_gradebook(results, tmp_path / "class", HOMEWORK, course_folder=course)
    found = read_hand_grades(HOMEWORK.id, course)
    assert found["ada"] == HandGrades(waiting=frozenset({"why"}))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:  # what formgrader does
        place = (HOMEWORK.id, HOMEWORK.id, "ada")
        grade = gradebook.find_grade("why", *place)
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 2.0, 0.5, False
        gradebook.find_comment("why", *place).manual_comment = "Well\nput"
        gradebook.find_comment("double", *place).manual_comment = ""
        gradebook.db.commit()
    found = read_hand_grades(HOMEWORK.id, course)
    assert found["ada"] == HandGrades(
        points={"why": 2.0}, extra={"why": 0.5}, comments={"why": "Well\nput"}
    )
    assert read_hand_grades("hw09-other", course) == {}
