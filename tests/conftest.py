"""What all tests share: the data folder, and skips that say what is missing."""

import os

# Tensors are small here, and test processes share the cores: threads would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.chromium import chromium_path

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def course_data() -> Path:
    """The folder of real data: $COURSE_DATA, or shared/data beside the project."""
    named = os.environ.get("COURSE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if named:
            pytest.fail(f"COURSE_DATA names no folder: {named}")
        pytest.skip("no data folder; name one in COURSE_DATA")
    return folder


@functools.cache
def missing_for(marker: str) -> str:
    """Say what this machine lacks for tests with this marker; empty if nothing."""
    if marker == "browser":
        try:
            chromium_path()
        except FileNotFoundError as missing:
            return str(missing)
        return ""
    if marker == "sandbox":
        if not shutil.which("bwrap"):
            return "no bubblewrap: apt-get install bubblewrap"
        command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
        tried = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return f"bubblewrap does not work here: {tried.stderr.strip()}" if tried.returncode else ""
    if marker == "gpu":
        import torch

        return "" if torch.cuda.is_available() else "no CUDA device"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker asks for what is not here, and say what that is."""
    for marker in ("browser", "sandbox", "gpu"):
        if item.get_closest_marker(marker) and (missing := missing_for(marker)):
            pytest.skip(missing)
