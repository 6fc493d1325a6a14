"""nbgrader's configuration: what it needs is there, however Python was started."""

import subprocess
import sys
from pathlib import Path

from traitlets.config.loader import PyFileConfigLoader

from autograder.course_config import write_course_config
from autograder.preprocessor import TrustedJudge

ROOT = Path(__file__).parents[2]


def test_nbgrader_finds_its_tools_in_an_environment_that_is_not_activated() -> None:
    program = (
        "from traitlets.config import Config\n"
        "from autograder.nbgrader_settings import configure\n"
        "from nbgrader.api import get_alembic_version\n"
        "configure(Config())\n"
        "print(get_alembic_version())"
    )
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=bare, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


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
