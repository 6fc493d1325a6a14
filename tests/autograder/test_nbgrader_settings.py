"""nbgrader's configuration: what it needs is there, however Python was started."""

import subprocess
import sys
from pathlib import Path

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
