"""A class leaves no process, file or descriptor behind, and equal submissions get equal marks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.proof
@pytest.mark.sandbox
def test_a_class_leaves_nothing_behind():
    """Twice the sample class; ``python -m benchmarks.class_of_1000`` takes it sixty times."""
    command = [sys.executable, "-m", "benchmarks.class_of_1000", "--submissions", "32"]
    done = subprocess.run(
        [*command, "--time-limit", "4"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "32 submissions" in done.stdout
