"""All homeworks of a term together, and feedback in the forms that other systems read."""

import csv
import dataclasses
import io
import json
import re
import zipfile
from datetime import UTC, datetime

import pytest

from autograder.class_run.result_store import result_file
from autograder.cli import class_results
from autograder.exports.canvas import feedback_in_words
from autograder.exports.mark import Mark
from autograder.exports.moodle import moodle_feedback
from autograder.judging.results import CellFailure, Status
from autograder.marks.standing import HandGrades, Lateness, Standing, stand
from autograder.term.dates import Dates
from autograder.term.pages import render_course, render_index, write_course, write_indexes
from autograder.term.totals import terms_of
from tests.autograder.command_line import refused, run
from tests.autograder.graded_class import HOMEWORK, make_class, result, store_results
from tests.autograder.reports.test_feedback import words_of


def of(homework: str, points: float, student="ada", *, title="", **rest) -> Standing:
    """Return a student's marks in a homework: ``points`` of 6, all given by hand.

    ``rest`` are arguments of ``stand``.
    """
    failed = result(student, Status.FAIL, Status.FAIL)
    made = dataclasses.replace(failed, homework=homework, title=title)
    given = HandGrades(points={"why": points}, comments={"why": "Hm."})
    return stand(made, given, **rest)


def test_missing_submission_counts_zero_after_the_deadline(tmp_path):
    standings = [of("hw01-a", 3), of("hw02-b", 6), of("hw02-b", 6, "bo"), of("hw03-c", 6, "di")]
    march, now = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    dates = Dates(due={"hw03-c": march}, excused={"di": frozenset({"hw01-a", "hw02-b"})})
    terms = terms_of(standings, dates, now=now)
    assert {name: term.total for name, term in terms.items()} == {"ada": 0.75, "bo": 0.5, "di": 1}
    assert terms["bo"].missed == ("hw01-a",)
    assert terms_of(standings, dates)["ada"].missed == ("hw03-c",)  # that is long over
    assert terms_of(standings, dates, {"hw03-c"})["bo"].missed == ("hw03-c",)
    late = dataclasses.replace(
        dates, extensions={"bo": {"hw03-c": datetime.max.replace(tzinfo=UTC)}}
    )
    assert terms_of(standings, late)["bo"].missed == ("hw01-a",)
    write_course(terms, tmp_path)
    write_indexes(terms, tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "course.csv").read_text())))
    assert rows[2:] == [
        ["bo", "0.0", "6.0", "", "", "50.0"],
        ["di", "", "", "6.0", "hw01-a hw02-b", "100.0"],
    ]
    course = words_of((tmp_path / "course.html").read_text())
    assert "di 100 % (excused) (excused) 6" in course
    page = words_of((tmp_path / "feedback" / "bo" / "index.html").read_text())
    assert "hw01-a 0 points Nothing was handed in" in page


@pytest.mark.parametrize("damaged", ["ada", "x" * 300])
def test_unreadable_submission_is_not_reported_missing(tmp_path, monkeypatch, damaged):
    out = tmp_path / "out"
    first, second = (
        next(p.stem for p in class_results.ROOT.glob(f"solutions/{n}-*.py"))
        for n in ("hw01", "hw02")
    )
    for homework, students in ((second, ("ada", damaged, "bo")), (first, ("cy",))):
        made = (dataclasses.replace(result(student), homework=homework) for student in students)
        store_results(out, made, homework)
    (out / "results" / first / result_file(damaged)).write_text("{")
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    kept = class_results.ClassResults(out)
    assert kept.homeworks() == {first, second}
    outcome = run("report", "hw02", "--out", out, "--dates", "/dev/null")
    assert outcome.exit_code == 1
    rows = {row[0]: row for row in csv.reader(io.StringIO((out / "course.csv").read_text()))}
    assert (rows[damaged][1], rows["bo"][1]) == ("", "0.0")  # left out, as is said; and missed
    assert float(rows[damaged][-1]) == 2 * float(rows["bo"][-1])


def test_student_excused_from_all_homework_has_no_total(tmp_path):
    standings = [of("hw01-a", 6), of("hw01-a", 3, "bo")]
    terms = terms_of(standings, Dates(excused={"ada": frozenset({"hw01-a"})}))
    assert [term.total for term in terms.values()] == [None, 0.5]
    write_course(terms, tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "course.csv").read_text())))
    assert rows[1] == ["ada", "6.0", "hw01-a", ""]
    course = words_of((tmp_path / "course.html").read_text())
    assert "median total 50 %" in course  # of the students with a mark
    assert "ada – (6)" in course
    assert "Nothing counts so far" in words_of(render_index("ada", terms["ada"]))
    nobody = words_of(render_course({"ada": terms["ada"]}))
    assert "median total –" in nobody


def test_homework_left_out_of_the_term_is_named(tmp_path, monkeypatch):
    out = tmp_path / "out"
    (homework,) = (p.stem for p in class_results.ROOT.glob("solutions/hw01-*.py"))
    store = store_results(out, [dataclasses.replace(result("ada"), homework=homework)], homework)
    store.keep_copy()  # as a regrade does: it is nothing that is left out
    store_results(out, [result("ada")], "hw77-gone")
    dates = tmp_path / "dates.toml"
    dates.write_text(f'[excused]\nada = ["{homework}"]\nadda = ["{homework}"]\n')
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    outcome = run("report", "hw01", "--out", out, "--dates", dates)
    assert outcome.stderr.splitlines() == [
        "Warning: dates.toml excuses students of whom nothing is graded: adda",
        "Warning: course.csv leaves out results of no homework of this project: hw77-gone",
    ]


def test_a_student_sees_all_homeworks(tmp_path):
    late = Lateness(words="late <b>", share=0.1)
    standings = [
        of("hw01-a", 3, title="The A & B", lateness=late),
        of("hw02-beam-search", 1),
        of("hw01-a", 2, "bo", title="The A & B"),
    ]
    terms = terms_of(standings, Dates(drop_lowest=1))
    write_course(terms, tmp_path)
    write_indexes(terms, tmp_path)
    page = (tmp_path / "feedback" / "ada" / "index.html").read_text()
    words = words_of(page)
    assert "<script>x" not in render_index("<script>x", terms["ada"])
    assert "40 % of the points" in words
    assert "The A & B 2.4 of 6" in words
    assert "Late: −0.6 points; with a comment for you" in words
    assert "hw02-beam-search 1 of 6" in words  # a result from before titles were kept
    assert "Left out of the total" in words
    assert re.findall(r'href="(hw[^"]+)"', page) == ["hw01-a.html", "hw02-beam-search.html"]
    assert "bo" not in words.split()
    rows = list(csv.reader(io.StringIO((tmp_path / "course.csv").read_text())))
    assert rows == [
        ["student", "hw01-a", "hw02-beam-search", "left_out", "percent"],
        ["ada", "2.4", "1.0", "hw02-beam-search", "40.0"],
        ["bo", "2.0", "0.0", "hw02-beam-search", "33.3333"],
    ]
    course = words_of((tmp_path / "course.html").read_text())
    assert re.search(r"ada 40 % 2\.4 \(1\)", course)
    assert re.search(r"bo 33 % 2 \(–\)", course)
    assert "Median of who handed in 37 % 37 % 17 %" in course


def test_unread_answers_are_left_out_of_the_share():
    terms = terms_of([stand(result("ada", Status.FAIL))], Dates(drop_lowest=1))
    assert terms["ada"].total == 2 / 3
    words = words_of(render_index("ada", terms["ada"]))
    assert "66.7 % of the points graded so far" in words
    assert "2 of 3 graded so far Written answers are still to be read" in words


def test_moodle_finds_the_owner_of_a_page():
    """Moodle reads a folder's name as name, number, kind and name of the plug-in."""
    marks = [
        Mark(student="ada_42", score=1, max_score=2, lms_id="42", name="Ada_L/../x"),
        Mark(student="bo_7", score=1, max_score=2, lms_id="7"),
    ]
    pages = {"ada_42": b"<p>ada", "bo_7": b"<p>bo"}
    packed = zipfile.ZipFile(io.BytesIO(moodle_feedback(marks, pages, "hw03.html")))
    assert packed.testzip() is None
    for name, number in zip(packed.namelist(), ("42", "7"), strict=True):
        folder, file = name.split("/")
        parts = folder.split("_", 4)
        assert parts[1:] == [number, "assignfeedback", "file", ""]
        assert file == "hw03.html"
    assert packed.namelist()[0].startswith("Ada L x_")
    assert packed.read(packed.namelist()[1]) == b"<p>bo"


def test_canvas_is_told_first_which_cells_did_not_run():
    failed = CellFailure(cell="double", status=Status.ERROR, message="TabError: line\n23")
    made = result("ada_42", values=Status.ERROR, message="no 'double'?", cell_failures=(failed,))
    assert feedback_in_words(stand(made)).splitlines() == [
        "1 of 6 points", "Cells that did not run to their end:", "- double: TabError: line 23",
        "2. It doubles: no 'double'?",
    ]  # fmt: skip
    unread = next(made for made in make_class() if made.error)
    given = HandGrades(comments={"why": "Save it as a notebook."})
    assert feedback_in_words(stand(unread, given)).splitlines() == [
        "0 of 6 points", "The file is not JSON.", "Why twice?: Save it as a notebook.",
    ]  # fmt: skip


def test_the_commands_write_them(tmp_path, monkeypatch):
    out = tmp_path / "out"
    store_results(
        out, (dataclasses.replace(made, title="Homework 0: Double") for made in make_class())
    )
    title = "Homework 1: Tensors"
    other = dataclasses.replace(result("ada"), homework="hw01-tensors", title=title)
    other_id = next(path.stem for path in class_results.ROOT.glob("solutions/hw01-*.py"))
    store_results(out, [other], other_id)
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    assert run("feedback", "hw03", "--out", out).exit_code == 0
    index = words_of((out / "feedback" / "ada" / "index.html").read_text())
    assert "Homework 0: Double" in index
    assert "Homework 1: Tensors" in index
    page = (out / "feedback" / "ada" / "hw00-double.html").read_text()
    assert 'href="index.html"' in page
    (out / "course.csv").unlink()
    assert run("report", "hw03", "--out", out).exit_code == 0
    assert (out / "course.csv").read_text().splitlines()[0].startswith("student,hw00-double,hw01")

    roster = tmp_path / "class.csv"
    roster.write_text("lms_id,student\n42,ada\n7,ben\n")
    arguments = ("export", "hw03", "--out", out, "--roster", roster, "--file", tmp_path / "x.csv")
    run(*arguments, "--to", "canvas", "--column", "x", "--feedback", tmp_path / "f.json")
    assert set(json.loads((tmp_path / "f.json").read_text())["grade_data"]) == {"42", "7"}
    line = refused(run(*arguments, "--to", "gradescope", "--feedback", tmp_path / "g"))
    assert "--feedback" in line
