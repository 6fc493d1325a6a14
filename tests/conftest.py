"""What all tests share: the data folder, skips that say what is missing, one draw of chance."""

import os

# Tensors are small here, and test processes share the cores: threads would wait for each other.
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
from scripts.chromium import chromium_path

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # in bytes: of what tests write, that of those that have passed is removed


def has_room(folder: Path) -> bool:
    """Whether tests can work in a folder in memory, where no write waits for a disk."""
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return False
    there = os.statvfs(folder)
    free = min(there.f_bavail * there.f_frsize, psutil.virtual_memory().available)
    return free > ROOM and not there.f_flag & os.ST_NOEXEC


if has_room(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

for name in FORMATS:  # their making takes a second
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]

pytest_plugins = ["tests.unchanged", "pytester"]

ROOT = Path(__file__).parent.parent

# The same examples each time, and no clock: how busy the machine is says nothing of the code.
settings.register_profile(
    "course", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Look for no garbage among what is collected: all of it stays, and it is much."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for it again, but among what comes from now on."""
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
    """A headless Chromium that asks nobody for anything by itself.

    The only one of a process: Playwright runs once in a thread.
    """
    from playwright.sync_api import sync_playwright

    arguments = ["--disable-background-networking", "--disable-component-update"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=arguments)
        yield browser
        browser.close()


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
        tried = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return f"bubblewrap does not work here: {tried.stderr.strip()}" if tried.returncode else ""
    if marker == "gpu":
        import torch

        return "" if torch.cuda.is_available() else "no CUDA device"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose marker asks for what is not here, and say what that is."""
    for marker in ("browser", "sandbox", "gpu"):
        if item.get_closest_marker(marker) and (missing := missing_for(marker)):
            if marker == "sandbox" and os.environ.get("CI"):  # a skip would hide that it fails
                pytest.fail(missing)
            pytest.skip(missing)


def _seed_torch(name: str) -> None:
    """Draw alike whatever ran before in this process; things of two names draw differently."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(zlib.crc32(name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef) -> None:
    """Seed what a fixture draws."""
    _seed_torch(fixturedef.argname)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Seed what a test draws."""
    _seed_torch(item.nodeid)
