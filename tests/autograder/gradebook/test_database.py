"""The gradebook on SQLite and on a real PostgreSQL: the same rows, and plain error messages."""

import pytest
from nbgrader.api import Gradebook

from autograder.gradebook.database import (
    DatabaseError,
    check_database,
    configured_url,
    gradebook_url,
)
from autograder.homework_source.homework import CellKind
from autograder.judging.results import Status, ungraded
from tests.autograder.command_line import refused, run
from tests.autograder.conftest import ROOT
from tests.autograder.gradebook.private_postgres import missing_postgres, running_postgres
from tests.autograder.gradebook.recording import record_in_gradebook
from tests.autograder.gradebook.test_gradebook import HOMEWORK, hand_in, result_of
from tests.daily import with_proofs
from tests.homework.tables import load_homework, solved_notebook


@pytest.fixture(scope="module")
def postgres():
    if missing := missing_postgres():
        pytest.skip(missing)
    with running_postgres() as url:
        yield url


DATABASES = ["sqlite", "postgresql", "postgresql+psycopg"]


@pytest.fixture(params=with_proofs(DATABASES, DATABASES[1:2]))
def db_url(request, tmp_path) -> str:
    """The address of an empty gradebook."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/elsewhere.db"
    url = request.getfixturevalue("postgres")
    _empty(url)
    return url.replace("postgresql", request.param)


def _empty(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def test_grades_are_recorded_and_manual_ones_stay(tmp_path, db_url):
    homework = load_homework(HOMEWORK)
    for student, data in (("zoë", solved_notebook(HOMEWORK)), ("bo", b"{not a notebook")):
        hand_in(tmp_path / "class", student, data)
    results = [
        ungraded(homework, "bo", "The file is not a notebook."),
        result_of(homework, "zoë", {0: (Status.FAIL, 0.0), 1: (Status.PARTIAL, 0.5)}),
    ]

    def record():
        record_in_gradebook(
            results, tmp_path / "class", homework,
            course_folder=tmp_path / "nbgrader", db_url=db_url,
        )  # fmt: skip

    record()
    automatic = sum(c.points for c in homework.checks if c.kind is CellKind.TEST)
    lost = homework.checks[0].points + homework.checks[1].points - 0.5
    written = next(c.grade_id for c in homework.checks if c.kind is CellKind.WRITTEN)
    with Gradebook(db_url) as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(HOMEWORK)}
        assert scores == {"zoë": automatic - lost, "bo": 0}
        gradebook.find_grade(written, HOMEWORK, HOMEWORK, "zoë").manual_score = 2.0
        gradebook.find_comment(written, HOMEWORK, HOMEWORK, "zoë").manual_comment = "¡olé! %s"
        gradebook.db.commit()
    record()
    with Gradebook(db_url) as gradebook:
        assert gradebook.find_grade(written, HOMEWORK, HOMEWORK, "zoë").manual_score == 2.0
        comment = gradebook.find_comment(written, HOMEWORK, HOMEWORK, "zoë")
        assert comment.comment == "¡olé! %s"
    assert not (tmp_path / "nbgrader" / "gradebook.db").exists()


def test_database_is_named(postgres, tmp_path):
    assert check_database(postgres).startswith("PostgreSQL 1")
    assert check_database(gradebook_url(tmp_path)).startswith("SQLite 3")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ta:secret@127.0.0.1:1/x", "is the server running"),
        ("sqlite:////no/such/folder/gradebook.db", "unable to open database file"),
        ("my secret gradebook", "expected, for example, postgresql://"),
        ("postgresql+nodriver://ta:secret@h/x", "pip install -r requirements.txt"),
    ],
)
def test_unusable_database_is_rejected_before_grading(tmp_path, url, words):
    with pytest.raises(DatabaseError, match=words) as error:
        check_database(url)
    assert "secret" not in str(error.value)
    (tmp_path / "class" / "ada" / HOMEWORK).mkdir(parents=True)
    out = tmp_path / "out"
    places = ("--submissions", tmp_path / "class", "--out", out)
    line = refused(run("grade", "hw03", *places, "--db", url))
    assert words in line
    assert "secret" not in line
    assert not out.exists()


def test_missing_database_or_user_is_explained(postgres):
    with pytest.raises(DatabaseError, match="createdb nothere"):
        check_database(postgres.replace("/gradebook?", "/nothere?"))
    with pytest.raises(DatabaseError, match="createuser bob"):
        check_database(postgres.replace("ta@", "bob@"))


def test_configuration_may_name_the_database(tmp_path):
    config = tmp_path / "nbgrader_config.py"
    assert configured_url(tmp_path) == ""
    config.write_text("c = get_config()\nc.CourseDirectory.db_url = 'postgresql://h/x'\n")
    assert configured_url(tmp_path) == "postgresql://h/x"
    assert configured_url(ROOT) == ""
