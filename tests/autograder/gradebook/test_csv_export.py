"""``nbgrader export``: a row for each student, whatever they are called, and no formula."""

import csv
from datetime import datetime

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import ExportApp
from traitlets.config import Config

from autograder.gradebook.csv_export import QuotedCsv
from autograder.homework_source.nbgrader_settings import configure
from autograder.releasing.generated_assignment import create_tables

HW = "hw00-double"
FORGED = "mallory,Doe,M,m@x.org,22.0,0.0,22.0,22.0,"
MOMENT = datetime(2026, 10, 1, 12)


@pytest.fixture
def gradebook(tmp_path):
    address = f"sqlite:///{tmp_path}/gradebook.db"
    create_tables(address)
    with Gradebook(address) as made:
        made.add_assignment(HW)
        for student, last in (("ada", "Löve, lace"), (FORGED, None), ("=1-1", '=HYPERLINK("x")')):
            made.add_student(student, last_name=last)
        made.add_submission(HW, "ada", timestamp=MOMENT)
        yield made


def exported(gradebook, tmp_path, **chosen) -> list[dict[str, str]]:
    place = tmp_path / "grades.csv"
    config = Config(ExportPlugin=chosen | {"to": str(place)})
    QuotedCsv(config=config).export(gradebook)
    with place.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_student_has_a_row_of_their_own_and_nothing_is_a_formula(gradebook, tmp_path):
    rows = {row["student_id"]: row for row in exported(gradebook, tmp_path)}
    assert set(rows) == {"ada", FORGED, "'=1-1"}
    assert rows["ada"]["last_name"] == "Löve, lace"
    assert rows["ada"]["timestamp"] == str(MOMENT)
    assert rows["'=1-1"]["last_name"].startswith("'=")
    for row in rows.values():
        assert None not in row
        assert (row["assignment"], row["score"], row["max_score"]) == (HW, "0.0", "0.0")


def test_only_who_is_asked_for_is_written(gradebook, tmp_path):
    assert [row["student_id"] for row in exported(gradebook, tmp_path, student=["ada"])] == ["ada"]
    assert exported(gradebook, tmp_path, assignment=["hw01-other"]) == []


def test_nbgrader_export_writes_it():
    config = Config()
    configure(config)
    app = ExportApp(config=config)
    assert app.plugin_class is QuotedCsv
