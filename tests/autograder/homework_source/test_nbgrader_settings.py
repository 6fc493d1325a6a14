"""nbgrader's configuration finds its modules, however Python was started."""

import shutil
from pathlib import Path

import pytest
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.cli import grading
from autograder.cli.commands import doctor
from autograder.gradebook.course_config import write_course_config
from autograder.gradebook.plugins import TrustedJudge
from autograder.homework_source.nbgrader_settings import configure
from tests.autograder.command_line import refused, run

ROOT = Path(__file__).parents[3]


def test_nbgrader_finds_its_tools_in_an_environment_on_top_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))  # it has no programs
    assert not shutil.which("alembic")
    configure(Config())
    assert shutil.which("alembic")


def load(folder: Path):
    return PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()


def test_a_graded_course_has_the_limits_of_the_project_and_its_own_places(tmp_path: Path) -> None:
    project, graded = tmp_path / "the 'project' \"here\"", tmp_path / "out" / "nbgrader"
    project.mkdir()
    write_course_config(graded, project)
    assert TrustedJudge(config=load(graded)).memory_mb == 4096  # none are set, nor is a file there
    settings = project / "nbgrader_config.py"
    settings.write_text(
        "c = get_config()\n"
        "c.TrustedJudge.memory_mb = 512\n"
        "c.TrustedJudge.root = 'elsewhere'\n"
        "c.CourseDirectory.db_url = 'postgresql://h/x'\n"
        "c.CourseDirectory.submitted_directory = 'elsewhere'\n"
    )
    config = load(graded)
    judge = TrustedJudge(config=config)
    assert (judge.memory_mb, judge.root) == (512, str(project))
    assert config.CourseDirectory == {
        "course_id": "default_course",
        "root": str(graded),
        "db_url": f"sqlite:///{graded}/gradebook.db",
    }
    settings.write_text("c = get_config()\nc.TrustedJudge.memory_mb = 1024\n")
    assert TrustedJudge(config=load(graded)).memory_mb == 1024  # also without grading again
    settings.unlink()
    assert TrustedJudge(config=load(graded)).memory_mb == 4096


@pytest.mark.parametrize(
    ("command", "line", "said"),
    [
        ("regrade", "check_second = 5",
         ": c.TrustedJudge.check_second is not a setting; did you mean check_s"),
        ("grade", "x = 5", ": c.TrustedJudge.x is not a setting; known: check_seconds, "),
        ("grade", "check_seconds = 0",
         ": c.TrustedJudge.check_seconds is 0, expected a float of at least "),
        ("grade", "submission_seconds = -1.0",
         "submission_seconds is -1.0, expected a float of at least 0"),
        ("grade", "memory_mb = 0",
         ": c.TrustedJudge.memory_mb is 0, expected an int of at least 1"),
        ("grade", "output_characters = 9.5",
         "output_characters is 9.5, expected an int of at least 1"),
        ("grade", "check_seconds = 'five'",
         "check_seconds is 'five', expected a float of at least 0.1"),
        ("grade", "isolated = 'no'", ": c.TrustedJudge.isolated is 'no', expected a boolean"),
        ("grade", "check_seconds = = 5",
         " can't be read as Python: SyntaxError: invalid syntax (nbgrader_"),
        ("grade", "check_seconds = five",
         " can't be read as Python: NameError: name 'five' is not defined"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_told_in_one_line(tmp_path, monkeypatch, command, line, said):
    homework = "hw00-doubling"
    for file in (f"solutions/{homework}.py", f"assignments/{homework}/{homework}.ipynb"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    settings = tmp_path / "nbgrader_config.py"
    settings.write_text(f"c = get_config()\nc.TrustedJudge.{line}\n")
    monkeypatch.setattr(grading, "ROOT", tmp_path)
    places = ("--submissions", tmp_path / "class", "--out", tmp_path / "out")
    elsewhere = ("--scheduler", "tcp://127.0.0.1:1", "--trusted-network")
    told = refused(run(command, "hw00", *places, *elsewhere))
    assert told.startswith(f"Error: {settings}")
    assert said in told
    assert not (tmp_path / "out").exists()


def test_doctor_tells_of_settings_that_cannot_be_read(tmp_path, monkeypatch):
    works = doctor.Finding(subject="sandbox", state="ok", found="")
    monkeypatch.setattr(doctor, "_sandbox", lambda: works)
    (tmp_path / "nbgrader_config.py").write_text("c = \n")
    (found,) = (f for f in [doctor._database(tmp_path, "")] if f.subject == "database")
    assert found.state == "missing"
    assert "can't be read as Python" in found.fix
