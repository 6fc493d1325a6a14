"""Grading a graded class again, and the log that keeps the reason of every mark."""

import csv
import dataclasses
import re
from datetime import UTC, datetime

import pytest

from autograder.class_run import run as class_run
from autograder.class_run import similarity
from autograder.class_run.result_store import ResultStore
from autograder.cli import class_results, grading
from autograder.gradebook import writer
from autograder.homework_source.homework import HomeworkError, all_homeworks
from autograder.judging.results import Flag, FlagKind, Status
from autograder.reports.mark_log import write_marks
from tests.autograder.cli.test_cli import Recorder
from tests.autograder.command_line import contents, refused, run
from tests.autograder.graded_class import HOMEWORK, INTERRUPTED, make_class, result, standings_of

HW = "hw03-self-attention"


SIMILAR = Flag(kind=FlagKind.SIMILAR, text="99% the same as cho: double")


def flag_similar(results, *rest):
    """Return the results with Ben's flagged as similar; replaces ``similarity.flag_similar``."""
    return [
        dataclasses.replace(made, flags=(SIMILAR,)) if made.student == "ben" else made
        for made in results
    ]


@pytest.fixture
def grade(tmp_path, monkeypatch):
    """Return a function that runs ``command``, with given results instead of grading.

    ``killed_after`` interrupts grading after so many results; ``refusal`` is the message of a
    ``HomeworkError`` to raise; ``made_from`` is stored with the results. No gradebook is written.
    """
    (tmp_path / "class" / "ada" / HW).mkdir(parents=True)
    monkeypatch.setattr(writer, "GradebookWriter", lambda *rest, **options: Recorder())
    monkeypatch.setattr(similarity, "flag_similar", flag_similar)
    monkeypatch.setattr(grading, "load_homework", lambda *given: HOMEWORK)

    def grade(command, results, *, killed_after=None, made_from="", refusal=""):
        def grade_class(homework, submissions, options, *, store, on_start, **rest):
            if refusal:
                raise HomeworkError(refusal)
            on_start(1)
            graded = []
            for number, made in enumerate(results):
                if number == killed_after:
                    raise KeyboardInterrupt
                store.keep(made, made_from)
                graded.append(made)
            return graded

        monkeypatch.setattr(class_run, "grade_class", grade_class)
        places = ("--submissions", tmp_path / "class", "--out", tmp_path / "out")
        return run(command, "hw03", *places)

    return grade


def test_changed_marks_are_listed_in_terminal_report_and_table(grade, tmp_path):
    out = tmp_path / "out"
    assert grade("grade", make_class()).exit_code == 0
    assert not (out / "changes.csv").exists()
    after = make_class()
    after[0] = result("ada", values=Status.FAIL, message="=now <b>wrong</b>")
    outcome = grade("regrade", after)
    assert outcome.exit_code == 0, outcome.output
    line = next(line for line in outcome.stdout.splitlines() if line.startswith("ada"))
    assert line.split()[:5] == ["ada", "double-values", "2", "0", "=now"]
    assert "1 of 9 submissions have other marks than before" in outcome.stdout
    page = (out / "report.html").read_text()
    changed = page[page.index("<h2>Changed marks") :].partition("</section>")[0]
    assert f'href="feedback/ada/{HOMEWORK.id}.html"' in changed
    assert "=now &lt;b&gt;wrong&lt;/b&gt;" in changed
    (row,) = csv.DictReader((out / "changes.csv").open())
    assert row["homework"] == HOMEWORK.id
    assert row["reason"].startswith("'=now")
    assert (row["old_score"], row["new_score"]) == ("2.0", "0.0")
    assert not list(out.glob("results/*.before*"))


OLD, NEW, NOTEBOOK = ("0" * 32, "1" * 32, "2" * 32)
"""Halves of fingerprints: the course with an old test, with a new one; any notebook."""


def test_grade_lists_students_graded_again_for_a_changed_test(grade, tmp_path):
    *rest, _ = make_class()
    assert "were graded again" not in grade("grade", rest, made_from=OLD + NOTEBOOK).stdout
    after = make_class()
    after[0] = result("ada", values=Status.FAIL)
    told = grade("grade", after, made_from=NEW + NOTEBOOK).stdout
    words = " ".join(told.split())
    assert f"are others than when these were graded: {len(rest)} were graded again" in words
    assert ["ada", "double-values", "2", "0"] in [line.split()[:4] for line in told.splitlines()]
    assert f"1 of {len(rest)} submissions have other marks than before" in told
    (row,) = csv.DictReader((tmp_path / "out" / "changes.csv").open())
    assert (row["student"], row["old_score"], row["new_score"]) == ("ada", "2.0", "0.0")
    again = grade("grade", after, made_from=NEW + NOTEBOOK).stdout
    assert "were graded again" not in again


def test_a_killed_regrade_still_compares_with_the_marks_from_before_it(grade, tmp_path):
    assert grade("grade", make_class()).exit_code == 0
    after = [result(made.student, Status.FAIL, Status.FAIL) for made in make_class()]
    assert grade("regrade", after, killed_after=4).exit_code != 0
    kept = ResultStore(tmp_path / "out" / "results" / HW).read_all()
    assert [made.score for made in kept[:2]] == [0.0, 0.0]
    outcome = grade("regrade", after)
    assert "6 of 9 submissions have other marks than before" in outcome.stdout


@pytest.mark.parametrize("ended", ["killed", "interrupted"])
def test_grade_tells_all_that_a_regrade_began_and_the_next_regrade_none_of_it(
    grade, tmp_path, ended
):
    before, now = OLD + NOTEBOOK, NEW + NOTEBOOK
    assert grade("grade", make_class(), made_from=before).exit_code == 0
    after = [result(made.student, Status.FAIL, Status.FAIL) for made in make_class()]
    if ended == "killed":
        assert grade("regrade", after, killed_after=4, made_from=now).exit_code != 0
    else:
        outcome = grade("regrade", [lost("ada"), *after[1:]], made_from=now)
        assert outcome.exit_code == 1
        assert "5 of 9 submissions have other marks than before" in outcome.stdout  # not ada's
    outcome = grade("grade", after, made_from=now)
    assert "6 of 8 submissions have other marks than before" in outcome.stdout
    assert not list((tmp_path / "out").glob("results/*.before*"))
    assert "0 of 9 submissions have other marks" in grade("regrade", after, made_from=now).stdout


@pytest.mark.parametrize("command", ["grade", "regrade"])
def test_a_result_that_could_not_be_read_is_named_and_made_anew(grade, tmp_path, command):
    everybody = make_class()
    assert grade("grade", everybody).exit_code == 0
    results = tmp_path / "out" / "results"
    left = results / HW / "zoe.json"
    other = results / all_homeworks(grading.ROOT)[0] / "ada.json"
    other.parent.mkdir()
    for file in (results / HW / "ben.json", left, other):
        file.write_text("{")
    outcome = grade(command, everybody)
    assert outcome.exit_code == 1
    told = {line for line in outcome.stderr.splitlines() if "could not be read" in line}
    again = "could not be read, and is graded again; the earlier result is lost"
    assert told == {
        f"Error: {results / HW / 'ben.json'} {again}",
        f"Error: {left} could not be read, and is set aside",
    }
    assert f"Error: {other} can't be read, and is left out" in outcome.stderr
    assert len((tmp_path / "out" / "grades.csv").read_text().splitlines()) == 28
    other.unlink()
    assert grade(command, everybody).exit_code == 0


@pytest.mark.parametrize("command", ["grade", "report"])
def test_student_no_longer_similar_leaves_the_page_of_similar_code(
    grade, tmp_path, monkeypatch, command
):
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    alike = Flag(kind=FlagKind.SIMILAR, text="as ben", students=("ada", "ben"), cells=("double",))
    first, *rest = make_class()
    assert grade("grade", [dataclasses.replace(first, flags=(alike,)), *rest]).exit_code == 0
    out = tmp_path / "out"
    assert "ben" in (out / "similar.html").read_text()
    if command == "grade":
        grade("grade", [first, *rest])
    else:
        ResultStore(out / "results" / HW).amend(first)
        assert run("report", "hw03", "--out", out).exit_code == 0
    assert not (out / "similar.html").exists()


def lost(student):
    return result(student, Status.INVALID, Status.INVALID, flags=(INTERRUPTED,), error="again")


@pytest.mark.parametrize("command", ["grade", "regrade"])
def test_ctrl_c_prints_which_results_are_kept(grade, tmp_path, command):
    assert grade("grade", make_class()[:1]).exit_code == 0
    outcome = grade(command, make_class(), killed_after=4)
    assert outcome.exit_code == 130
    assert outcome.stderr.splitlines()[-1] == (
        f"Ended by Ctrl-C: the results of 4 students are kept in {tmp_path}/out; the same command "
        "goes on from there."
    )
    assert grade(command, make_class()).exit_code == 0


@pytest.mark.parametrize("command", ["grade", "regrade"])
def test_refused_tests_leave_all_as_it_was(grade, tmp_path, command):
    assert grade("grade", make_class()).exit_code == 0
    before = contents(tmp_path)
    outcome = grade(command, make_class(), refusal="the reference does not pass double-values")
    assert refused(outcome) == "Error: the reference does not pass double-values"
    assert contents(tmp_path) == before


class Refusing(Recorder):
    def __exit__(self, kind, error, trace):
        raise writer.GradebookError("not recorded: ada", {"ada": "an id is visible <text>"})


@pytest.mark.parametrize("command", ["grade", "regrade"])
def test_report_names_students_missing_in_the_gradebook(grade, tmp_path, monkeypatch, command):
    def pages():
        text = (tmp_path / "out" / "report.html").read_text()
        assert run("report", "hw03", "--out", tmp_path / "out").exit_code == 0
        return [text, (tmp_path / "out" / "report.html").read_text()]

    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    assert grade("grade", make_class()).exit_code == 0
    assert not any("not in the gradebook" in page for page in pages())
    with monkeypatch.context() as patched:
        patched.setattr(writer, "GradebookWriter", lambda *rest, **options: Refusing())
        outcome = grade(command, make_class())
    assert outcome.exit_code == 1
    assert "Error: nbgrader's gradebook is not complete: not recorded: ada" in outcome.stderr
    for page in pages():
        assert page.count('<span class="flag">not in the gradebook</span>') == 1
        assert "not recorded: an id is visible &lt;text&gt;" in page
    known = ResultStore(tmp_path / "out" / "results" / HW).read_all()
    assert grade(command, known).exit_code == 0
    assert not any("not in the gradebook" in page for page in pages())


def test_interrupted_grading_is_named_and_no_mark_anywhere(grade, tmp_path):
    out = tmp_path / "out"
    outcome = grade("grade", [lost("ada"), *make_class()[1:]])
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-3:] == [
        "Error: grading was interrupted on the course's side for ada:",
        "  grading failed: KilledWorker",
        "See what `doctor` says, then run the same command again.",
    ]
    for table in ("grades.csv", "course.csv"):
        assert "ada" not in {row["student"] for row in csv.DictReader((out / table).open())}
    log = (out / "marks.log").read_text().splitlines()
    (line,) = (line.split("\t") for line in log if "\tada\t" in line)
    assert line[3:5] == ["(all)", "no mark"]
    page = (out / "report.html").read_text()
    row = page[page.index(">ada<") : page.index(">ben<")]
    assert "<strong>–</strong>" in row
    assert "data-groups" not in row or "unreadable" not in row
    assert "<dt>grading interrupted</dt><dd>1</dd>" in page
    feedback = (out / "feedback" / "ada" / f"{HOMEWORK.id}.html").read_text()
    assert '<p class="marks"><strong>–</strong> of 6 points' in feedback


@pytest.mark.parametrize("place", ["keep", "amend", "set_aside"])
def test_a_full_disk_when_the_class_is_graded_is_told_in_one_line(grade, monkeypatch, place):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    def results():  # the disk is full when the last of them is there
        yield from make_class()
        monkeypatch.setattr(ResultStore, place, full)

    outcome = grade("grade", results())
    assert outcome.exit_code == 2
    assert outcome.stderr.splitlines()[-1] == "Error: [Errno 28] No space left on device"


def test_student_who_left_is_not_counted_until_they_return(grade, tmp_path):
    store = ResultStore(tmp_path / "out" / "results" / HW)
    assert grade("grade", make_class()).exit_code == 0
    outcome = grade("grade", make_class()[2:])
    assert "Not among the submissions any more" in outcome.stdout
    assert f"{store.left}: ada, ben" in outcome.stdout
    assert [made.student for made in store.read_all()][:2] == ["cho", "dee"]


def test_a_run_that_was_killed_before_it_wrote_leaves_no_mark_without_a_reason(
    grade, tmp_path, monkeypatch
):
    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(grading, "write_outputs", killed)
        assert grade("grade", make_class()).exit_code != 0
    assert grade("grade", make_class()).exit_code == 0
    log = (tmp_path / "out" / "marks.log").read_text()
    assert len(log.splitlines()) == 9 * (1 + len(HOMEWORK.checks))


def test_each_mark_has_its_reason_in_the_log_once(grade, tmp_path):
    log = tmp_path / "out" / "marks.log"
    grade("grade", make_class())
    first = log.read_text()
    lines = [line.split("\t") for line in first.splitlines()]
    assert len(lines) == 9 * (1 + len(HOMEWORK.checks))
    reasons = {(student, check): (score, words) for _, student, _, check, score, words in lines}
    assert reasons["ben", "double-values"] == (
        "0/2", "failed: result differs in 3 of 4 places (hint: Multiply by two.)",
    )  # fmt: skip
    assert reasons["ada", "(all)"][1].startswith("seed 987654321; in the sandbox")
    assert "flag, hostile" in reasons["hal", "(all)"][1]
    assert "The file is not JSON." in reasons["olu", "(all)"][1]
    grade("grade", make_class())
    assert log.read_text() == first
    again = make_class()
    again[1] = dataclasses.replace(again[1], seed=1)
    grade("regrade", again)
    assert log.read_text().startswith(first)
    added = log.read_text()[len(first) :].splitlines()
    assert [line.split("\t")[1] for line in added] == ["ben"] * 4


def test_a_student_cannot_forge_a_line_of_the_log(tmp_path):
    made = result("ada\n2026\tbo", Status.FAIL, message="x\n\tbo\t9/9\x1b[2J\r")
    write_marks(
        standings_of([made]), tmp_path / "log", now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    )
    lines = (tmp_path / "log").read_text().splitlines()
    assert {line.count("\t") for line in lines} == {5}
    whose = re.compile(r"2026-01-02T03:04:05Z\tada 2026 bo \[[0-9a-f]{8}\]\t")
    assert all(map(whose.match, lines))  # told apart from who is called "ada 2026 bo"
    assert "\x1b" not in "".join(lines)
