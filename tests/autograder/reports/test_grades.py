import contextlib
import csv
import os

import pytest

from autograder.files import staging
from autograder.judging.results import Status
from autograder.reports.grades import COLUMNS, write_grades
from tests.autograder.graded_class import make_class, result, standings_of


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_for_each_check_of_each_submission(tmp_path):
    results = make_class()
    write_grades(standings_of(results), tmp_path / "grades.csv")
    rows = read(tmp_path / "grades.csv")
    assert tuple(rows[0]) == COLUMNS
    assert [(row["student"], row["check"]) for row in rows] == [
        (made.student, check.check) for made in results for check in made.checks
    ]
    assert rows[4] == {
        "student": "ben",
        "homework": "hw00-double",
        "check": "double-values",
        "status": "fail",
        "score": "0.0",
        "max_score": "2.0",
        "message": "result differs in 3 of 4 places",
        "comment": "",
    }
    assert sum(float(row["score"]) for row in rows) == sum(made.score for made in results)


@pytest.mark.parametrize("start", ["=", "+", " -", '"@', "\u3000＝"])
def test_a_formula_behind_a_semicolon_is_made_inert(tmp_path, start):
    text = f"x;{start}cmd|' /C calc'!A0;y"  # where that parts cells, as in much of Europe
    write_grades(standings_of([result("ada", Status.FAIL, message=text)]), tmp_path / "grades.csv")
    cells = list(
        csv.reader((tmp_path / "grades.csv").read_text("utf-8").splitlines(), delimiter=";")
    )
    assert [row[1].startswith("'") for row in cells if len(row) > 1] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        '"=1',
        "＝1",
        "\x1b[0m=1",
        "\u3000=1",
        "\ufe66cmd",  # small, as East Asian fonts have it
        "\u22121+1",
    ],
)
def test_a_formula_is_made_inert(tmp_path, text):
    made = result(text, Status.FAIL, message=text)
    write_grades(standings_of([made]), tmp_path / "grades.csv")
    row = read(tmp_path / "grades.csv")[0]
    for cell in (row["student"], row["message"]):
        assert cell.startswith("'")
        assert not cell.lstrip("'\" \u3000").startswith(("\t", "\r", "\n"))


def test_a_write_that_fails_leaves_the_old_grades_and_nothing_else(tmp_path, monkeypatch):
    write_grades(standings_of([result("ada")]), tmp_path / "grades.csv")
    before = (tmp_path / "grades.csv").read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_grades(standings_of(make_class()), tmp_path / "grades.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]
    assert (tmp_path / "grades.csv").read_bytes() == before


def test_staging_moves_all_files_or_none(tmp_path):
    out = tmp_path / "out"
    with staging(out) as stage:
        (stage / "feedback" / "ada").mkdir(parents=True)
        (stage / "feedback" / "ada" / "hw1.html").write_text("new")
    with contextlib.suppress(KeyboardInterrupt), staging(out) as stage:
        (stage / "report.html").write_text("half")
        raise KeyboardInterrupt
    with staging(out) as stage:  # what another homework wrote stays
        (stage / "feedback" / "ada").mkdir(parents=True)
        (stage / "feedback" / "ada" / "hw2.html").write_text("newer")
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert files == {"feedback/ada/hw1.html", "feedback/ada/hw2.html"}
