"""Every mark shows the dates of dates.toml, and malformed dates are rejected."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from autograder.cli import class_results
from autograder.homework_source.nbgrader_settings import configure
from autograder.judging.results import SubmissionResult
from autograder.term.dates import Dates, DatesError, read_dates
from tests.autograder.command_line import refused, run
from tests.autograder.conftest import notebook
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.graded_class import HOMEWORK, result, store_results

HOMEWORKS = ("hw01-first", "hw02-second", "hw03-third")
FILE = """
time_zone = "Europe/Berlin"
drop_lowest = 1

[due]
hw01 = 2026-10-05T23:59:00
hw02-second = 2026-10-12T23:59:00
hw03 = 2026-11-02T22:59:00Z

[late]
percent_per_day = 10
most_percent = 25
grace_minutes = 15
grace_days = 2

[extensions.ada]
hw02 = 2026-10-19T23:59:00
"""


@pytest.fixture
def read(tmp_path):
    def read(text: str) -> Dates:
        (tmp_path / "dates.toml").write_text(text)
        return read_dates(tmp_path / "dates.toml", HOMEWORKS)

    return read


def handed_in(homework: str, moment: str, student="bo", **more) -> SubmissionResult:
    name = next(name for name in HOMEWORKS if name.startswith(homework))
    return SubmissionResult(
        student=student, homework=name, checks=(), handed_in=moment and f"{moment}+00:00", **more
    )


def test_it_is_read(read):
    dates = read(FILE)
    assert dates.due["hw01-first"] == datetime(2026, 10, 5, 21, 59, tzinfo=UTC)
    assert dates.due["hw03-third"] == datetime(2026, 11, 2, 22, 59, tzinfo=UTC)
    assert dates.due_for("ada", "hw02-second") - dates.due_for("bo", "hw02-second") == timedelta(7)
    assert (dates.percent_per_day, dates.most_percent, dates.drop_lowest) == (10, 25, 1)
    assert read("[excused]\nada = ['hw01', 'hw03-third']").excused["ada"] == {
        "hw01-first", "hw03-third",
    }  # fmt: skip
    assert read("") == Dates()
    assert (
        read_dates(Path("/dev/null"), HOMEWORKS) == Dates()
    )  # as examples/gradescope asks for none


@pytest.mark.parametrize(
    ("moment", "days", "share"),
    [
        ("2026-10-05T21:58:00", 0, 0.0),
        ("2026-10-05T22:14:00", 0, 0.0),  # the last of the 15 minutes
        ("2026-10-05T22:14:01", 1, 0.1),
        ("2026-10-06T21:59:00", 1, 0.1),
        ("2026-10-06T21:59:01", 2, 0.2),
        ("2026-12-24T00:00:00", 80, 0.25),
        ("", 0, 0.0),
        ("9999-12-31T23:59:59", 0, 0.0),  # as a student may have written it: known to be no time
        ("0001-01-01T00:00:00", 0, 0.0),
    ],
)
def test_each_day_begun_costs_up_to_the_most(read, moment, days, share):
    dates = read(FILE.replace("grace_days = 2", ""))
    late = dates.lateness(handed_in("hw01", moment))
    assert (late.days, late.share) == (days, share)
    assert bool(late.words) == bool(days)


@pytest.mark.parametrize(
    ("moment", "days"),
    [
        ("2026-10-25T22:30:00", 1),  # 23:30 by the clock, 24.5 hours after the deadline
        ("2026-10-25T22:59:01", 2),
        ("2026-03-28T22:59:01", 1),
        ("2026-03-29T21:59:01", 1),  # a minute before midnight by the clock, 23 hours after
        ("2026-03-29T22:59:01", 2),
    ],
)
def test_a_day_is_a_day_by_the_clock_where_the_clocks_change(read, moment, days):
    at = "2026-03-28" if moment < "2026-06" else "2026-10-24"
    dates = read(
        FILE.replace("grace_days = 2", "")
        .replace("grace_minutes = 15", "")
        .replace("2026-10-05", at)
    )
    assert dates.lateness(handed_in("hw01", moment)).days == days


def test_grace_days_are_used_up_from_the_first_homework_on(read):
    dates = read(FILE)
    first = handed_in("hw01", "2026-10-06T12:00:00")  # one day
    second = handed_in("hw02", "2026-10-14T12:00:00")  # two
    third = handed_in("hw03", "2026-11-03T12:00:00")  # one
    everything = [third, second, first]
    shares = [dates.lateness(made, everything).share for made in (first, second, third)]
    assert shares == [0.0, 0.1, 0.1]
    assert dates.lateness(second, everything).words == (
        "Handed in 1 day 14 hours after the deadline, 12 October 2026, 23:59 (CEST). "
        "2 days late, 1 grace day used: 10 % of the points to be had are taken off."
    )


def test_an_excused_homework_uses_up_no_grace_days(read):
    first, second = (
        handed_in(*late)
        for late in (("hw01", "2026-10-07T12:00:00"), ("hw02", "2026-10-14T12:00:00"))
    )
    dates = read(f"{FILE}[excused]\nbo = ['hw01']\n")
    assert dates.lateness(second, [first, second]).share == 0.0


def test_where_only_late_is_known_a_day_counts(read):
    dates = read(FILE.replace("grace_days = 2", ""))
    late = handed_in("hw02", "", marked_late=True)
    assert dates.lateness(late).days == 1
    assert dates.lateness(handed_in("hw02", "", "ada", marked_late=True)).days == 0  # extended
    unset = Dates().lateness(late)
    assert (unset.words, unset.share) == ("Marked as late where it was handed in.", 0.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[due]\nhw01 = 2026-02-30T12:00:00Z", "2026-10-12T23:59:00"),
        (
            "[due]\nhw01 = 2026-10-05",
            "[due] hw01 is 2026-10-05; expected, for example, 2026-10-12T23",
        ),
        ("[due]\nhw01 = 2026-10-05T12:00:00", '[due] hw01 has no time zone: set time_zone = "'),
        ("[due]\nhw09 = 2026-10-05T12:00:00Z", "[due] hw09: no such homework; known: hw01-first"),
        (
            "[due]\nhw01 = 0001-01-01T00:00:00Z",
            "0001-01-01 00:00:00+00:00; expected a year",
        ),
        ("time_zone = 'Berlin'", "time_zone is 'Berlin'; expected, for example, \"Europe/Berlin\""),
        ("[late]\npercent_per_dya = 10", "percent_per_dya means nothing here; do you mean percent"),
        (
            "[late]\npercent_per_day = 110",
            "percent_per_day is 110, expected a number from 0 to 100",
        ),
        (
            "[due]\nhw01 = 2026-10-05T23:59:00Z\nhw01-first = 2026-10-06T23:59:00Z",
            "[due] has two dates for hw01-first: keep one line of them",
        ),
        ("[late]\ngrace_days = 1.5", "grace_days is 1.5, expected a whole number"),
        ("[extensions]\nada = 3", "ada is 3, expected a table"),
        ("[extensions.ada]\nhw01 = 2026-10-05T12:00:00Z", "hw01-first has no date in [due]"),
        ("[excused]\nada = 'hw01'", "[excused] ada is 'hw01'; expected, for example, [\"hw01\","),
        ("[due", "table declaration"),
    ],
)
def test_invalid_dates_are_rejected_in_one_line(read, text, words):
    with pytest.raises(DatesError) as told:
        read(text)
    assert words in str(told.value)
    assert str(told.value).count("dates.toml") == 1
    assert "\n" not in str(told.value)


def test_nbgrader_has_the_same_dates_and_penalties(tmp_path):
    """The gradebook's due dates, and the penalties of nbgrader's plugin, are those of our pages."""
    due = datetime(2026, 10, 5, 12, tzinfo=UTC)
    later = due + timedelta(days=7)
    dates = Dates(
        due={HOMEWORK.id: due}, extensions={"ben": {HOMEWORK.id: later}}, percent_per_day=10
    )
    for student in ("ada", "ben"):
        folder = tmp_path / "class" / student / HOMEWORK.id
        folder.mkdir(parents=True)
        (folder / f"{HOMEWORK.id}.ipynb").write_bytes(notebook(("double", "pass")))
        (folder / "timestamp.txt").write_text("2026-10-06 18:00:00 UTC")
    results = [result(name, handed_in="2026-10-06T18:00:00+00:00") for name in ("ada", "ben")]
    for _ in range(2):  # new rows, then rows that are there
        record_in_gradebook(
            results, tmp_path / "class", HOMEWORK, course_folder=tmp_path / "nbgrader",
            dates=dates, lateness=dates.lateness,
        )  # fmt: skip
        with Gradebook(f"sqlite:///{tmp_path}/nbgrader/gradebook.db") as gradebook:
            ada, ben = (gradebook.find_submission(HOMEWORK.id, name) for name in ("ada", "ben"))
            assert ada.late_submission_penalty == pytest.approx(1.2)
            assert ben.late_submission_penalty == 0
            assert ada.total_seconds_late == timedelta(days=1, hours=6).total_seconds()
            assert ben.total_seconds_late == 0

    (tmp_path / "dates.toml").write_text(
        "[due]\nhw00 = 2026-10-05T12:00:00Z\n[late]\npercent_per_day = 10\n"
    )
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / f"{HOMEWORK.id}.py").touch()
    db_url = f"sqlite:///{tmp_path}/nbgrader/gradebook.db"

    def penalties(root) -> list[float]:
        """Return the late penalties that ``nbgrader autograde`` records for ada and ben."""
        config = Config()
        configure(config)
        config.DatedPenalties.root = str(root)
        for student in ("ada", "ben"):
            where = {"student": student, "assignment": HOMEWORK.id, "notebook": HOMEWORK.id}
            AssignLatePenalties(config=config).preprocess(
                new_notebook(), {"nbgrader": where | {"db_url": db_url}}
            )
        with Gradebook(db_url) as gradebook:
            found = [gradebook.find_submission(HOMEWORK.id, name) for name in ("ada", "ben")]
            return [submission.late_submission_penalty for submission in found]

    (tmp_path / "elsewhere" / "solutions").mkdir(parents=True)
    assert penalties(tmp_path / "elsewhere") == [0, 0]  # no dates there
    assert penalties(tmp_path) == pytest.approx([1.2, 0])


HW = "hw03-self-attention"


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Return a folder with stored results, ``out``, and ``dates.toml``.

    Bo was late; Ada was as late, but has an extension.
    """
    made = [result(student, handed_in="2026-10-06T18:00:00+00:00") for student in ("ada", "bo")]
    store_results(tmp_path / "out", [dataclasses.replace(one, homework=HW) for one in made])
    (tmp_path / "dates.toml").write_text(
        "[due]\nhw03 = 2026-10-05T12:00:00Z\n[late]\npercent_per_day = 10\n"
        "[extensions.ada]\nhw03 = 2026-10-12T12:00:00Z\n"
        "[extensions.zoe]\nhw03 = 2026-10-12T12:00:00Z\n"
    )
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    return tmp_path


def test_every_command_shows_the_dates(graded):
    out, dates = graded / "out", ("--dates", graded / "dates.toml")
    for command in ("report", "feedback"):
        outcome = run(command, "hw03", "--out", out, *dates)
        assert outcome.exit_code == 0, outcome.output
        assert outcome.stderr.count("students without a submission: zoe") == 1
    assert "bo,hw03-self-attention,late,late,-1.2,0," in (out / "grades.csv").read_text()
    assert "ada,hw03-self-attention,late" not in (out / "grades.csv").read_text()
    assert (out / "course.csv").read_text().splitlines()[1:] == ["ada,3.0,,100.0", "bo,1.8,,60.0"]
    for name, taken in (("ada", False), ("bo", True)):
        page = (out / "feedback" / name / f"{HW}.html").read_text()
        assert ("−1.2 points" in page) is taken
        assert ("−1.2 points" in (out / "feedback" / name / "index.html").read_text()) is taken
    assert "late, −1.2" in (out / "report.html").read_text()
    run("export", "hw03", "--out", out, *dates, "--to", "gradescope", "--file", graded / "g")
    scores = {p.parent.name: json.loads(p.read_text())["score"] for p in graded.glob("g/*/*.json")}
    assert scores == {"ada": 3.0, "bo": 1.8}


@pytest.mark.parametrize("command", ["report", "feedback", "grade", "export"])
def test_dates_that_cannot_be_are_refused_before_anything_is_done(graded, command):
    (graded / "dates.toml").write_text("[late]\npercent_per_dya = 1")
    (graded / "class" / "ada" / HW).mkdir(parents=True)
    places = {
        "grade": ["--submissions", graded / "class"],
        "export": ["--to", "gradescope", "--file", graded / "x"],
    }
    before = sorted(graded.rglob("*"))
    where = ("--out", graded / "out", "--dates", graded / "dates.toml", *places.get(command, []))
    assert "do you mean percent_per_day?" in refused(run(command, "hw03", *where))
    assert sorted(graded.rglob("*")) == before
