"""Fixtures and hooks of all tests: the data folder, Chromium, skipped tests, seeds."""

import os

# Test processes share the cores, so threads for small tensors would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import functools
import gc
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from autograder.quick_imports import FORMATS
from scripts.chromium import chromium_path, running_chromium

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes; the files of passed tests are removed


def has_room(folder: Path) -> bool:
    """Return whether tests can write into a folder in memory, which is faster than a disk."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    there = os.statvfs(folder)
    free = min(there.f_bavail * there.f_frsize, psutil.virtual_memory().available)
    return free > ROOM and not there.f_flag & os.ST_NOEXEC


if has_room(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

for name in FORMATS:  # importing them takes a second
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]

pytest_plugins = ["tests.unchanged", "pytester"]

ROOT = Path(__file__).parent.parent

# Use the same examples each time, and no deadline, because the machine may be busy.
settings.register_profile(
    "course", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Turn garbage collection off while pytest collects tests: these objects all stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Turn garbage collection on again, for new objects only."""
    gc.freeze()
    gc.enable()


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


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """A headless Chromium without background requests.

    A process has only one, because Playwright can run only once in a thread.
    """
    arguments = ("--disable-background-networking", "--disable-component-update")
    with running_chromium(*arguments) as browser:
        yield browser


@functools.cache
def missing_for(marker: str) -> str:
    """Return why tests with a marker, such as ``gpu``, can't run here; empty if they can."""
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
        tried = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return f"bubblewrap does not work here: {tried.stderr.strip()}" if tried.returncode else ""
    if marker == "gpu":
        import torch

        return "" if torch.cuda.is_available() else "no CUDA device"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test if this machine lacks what one of its markers requires."""
    for marker in ("browser", "sandbox", "gpu"):
        if item.get_closest_marker(marker) and (missing := missing_for(marker)):
            if marker == "sandbox" and os.environ.get("CI"):  # a skip would hide a broken sandbox
                pytest.fail(missing)
            pytest.skip(missing)


def _seed_torch(name: str) -> None:
    """Seed PyTorch by the name of a test or fixture: draws don't depend on earlier tests."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(zlib.crc32(name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef) -> None:
    """Seed PyTorch before each fixture is set up."""
    _seed_torch(fixturedef.argname)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Seed PyTorch before each test is run."""
    _seed_torch(item.nodeid)
