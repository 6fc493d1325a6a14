"""Deselects tests that have passed since the last change of their dependencies.

A test names its dependencies by ``@pytest.mark.depends_on("course_lib", "solutions/*.py")``: files,
folders or patterns from the root. Every test also depends on its own file, each ``conftest.py``
above it, pytest's settings, Python, its packages and some programs. ``pytest
--leave-out-unchanged`` deselects unchanged tests and prints their number. Tests that are marked
``proof``, and tests that open other files of the project in their own process, always run.

A stamp is a file below ``build/stamps/tests``: its name is a digest of the dependencies, its lines
are the tests that passed with them. Each process of pytest-xdist reads stamps when it starts and
writes them when it ends. Stamps that were not read for a month are removed.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

STAMPS = Path("build", "stamps", "tests")
ALWAYS = ("pyproject.toml", "tests/unchanged.py", "tests/processor_time.py")
MONTH = 30 * 24 * 3600  # in seconds
PROGRAMS = ("bwrap", "chromium", "google-chrome", "git", "make")


@cache
def surroundings() -> str:
    """Return a text that describes the parts of this machine that tests depend on."""
    packages = sorted(p.name for p in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    found = [Path(path) for name in PROGRAMS if (path := shutil.which(name))]
    programs = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in found]
    chosen = sorted(item for item in os.environ.items() if item[0].startswith("COURSE_"))
    machine = (sys.version, sys.flags, platform.platform(), os.cpu_count())
    return repr((machine, programs, chosen, packages))


def found_now(root: Path, pattern: str) -> frozenset[Path]:
    """Return the files below ``root`` that match a pattern, and all files in matching folders."""
    found = set(root.glob(pattern))
    beneath = {path for folder in found for path in folder.rglob("*")}
    return frozenset(p for p in found | beneath if p.suffix != ".pyc" and p.is_file())


def digest_now(path: Path) -> str:
    """Return the digest of a file's content, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


Find = Callable[[Path, str], frozenset[Path]]


class Group:
    """Tests with the same dependencies, and the file (stamp) that lists those that passed.

    Args:
        root: The project's folder.
        find: Function like ``found_now``.
        digest: Function like ``digest_now``.
        patterns: The patterns of the dependencies, from the root.
    """

    def __init__(
        self, root: Path, find: Find, digest: Callable[[Path], str], patterns: frozenset[str]
    ) -> None:
        self.root, self.patterns = root, patterns
        self.files = self.find(find)
        whole = hashlib.sha256(surroundings().encode())
        for path in self.files:
            whole.update(f"{path.relative_to(root)}\0{digest(path)}".encode())
        self.stamp = root / STAMPS / whole.hexdigest()
        lines: list[str] = []
        with suppress(FileNotFoundError):
            lines = self.stamp.read_text("utf-8").splitlines()
            self.stamp.touch()
        self.passed_before = frozenset(lines)
        self.passed: list[str] = []
        self.has_failed = False

    def find(self, find: Find) -> list[Path]:
        """Return the files of all dependencies; ``find`` is a function like ``found_now``."""
        return sorted(set().union(*(find(self.root, pattern) for pattern in self.patterns)))

    def was_left_alone(self, since: int) -> bool:
        """Return whether no dependency was added, removed or changed since a time (nanoseconds)."""
        there = self.find(found_now)
        return there == self.files and all(path.stat().st_ctime_ns < since for path in there)

    def unnamed(self, opened: set[str]) -> set[Path]:
        """Return the opened files (their names) that are the project's, but no dependencies."""
        seen = opened.copy()  # a test's threads may open more files meanwhile
        paths = {path for name in seen if (path := Path(name).absolute()).is_file()}
        ours = {path for path in paths if path.is_relative_to(self.root) and path.suffix != ".pyc"}
        made = re.compile(r"build|dist|\..*")
        ours = {path for path in ours if not made.fullmatch(path.relative_to(self.root).parts[0])}
        return ours - set(self.files)

    def write(self) -> None:
        """Append the passed tests to the stamp, or remove the stamp if a test has failed."""
        if self.has_failed:
            self.stamp.unlink(missing_ok=True)
            return
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        with self.stamp.open("ab", buffering=0) as lines:  # other processes append too
            lines.write("".join(f"{test}\n" for test in self.passed).encode())


class Unchanged:
    """The pytest plugin that deselects unchanged tests, one object in each process."""

    def __init__(self, config: pytest.Config) -> None:
        self.started = time.time_ns()
        self.leaves_out = config.getoption("leave_out_unchanged")
        # Cached, because many groups have the same folders.
        self.group = cache(partial(Group, config.rootpath, cache(found_now), cache(digest_now)))
        self.groups: dict[str, Group] = {}
        self.left_out = 0
        self.opened: set[str] = set()
        sys.addaudithook(self.notice)

    def notice(self, event: str, arguments: tuple[object, ...]) -> None:
        """Record the files that this process opens; an audit hook (``sys.addaudithook``)."""
        if event == "open" and isinstance(arguments[0], str):
            self.opened.add(arguments[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Find each test's dependencies, and deselect tests that passed with them."""
        for item in items:
            if patterns := depends_on(item, config.rootpath):
                self.groups[item.nodeid] = self.group(patterns)
        if self.leaves_out:
            unchanged = {item for item in items if self.has_passed(item.nodeid)}
            self.left_out = len(unchanged)
            config.hook.pytest_deselected(items=list(unchanged))
            items[:] = [item for item in items if item not in unchanged]

    def has_passed(self, test: str) -> bool:
        """Return whether a test, given its id, has passed with its present dependencies."""
        return test in self.groups and test in self.groups[test].passed_before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Discard the pass of a test that opened a project file outside its dependencies."""
        self.opened.clear()
        yield
        group = self.groups.get(item.nodeid)
        if group and item.nodeid in group.passed and group.unnamed(self.opened):
            group.passed.remove(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome of a test's setup, call or teardown."""
        if group := self.groups.get(report.nodeid):
            group.has_failed |= report.failed
            if report.when == "call" and report.passed and not self.has_passed(report.nodeid):
                group.passed.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the stamps, and remove old ones."""
        for old in (session.config.rootpath / STAMPS).glob("*"):
            with suppress(FileNotFoundError):  # another process removed it
                if old.stat().st_mtime < time.time() - MONTH:
                    old.unlink()
        for group in set(self.groups.values()):
            if group.has_failed or (group.passed and group.was_left_alone(self.started)):
                group.write()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Read the number of deselected tests from a process of pytest-xdist; all have the same."""
        self.left_out = getattr(node, "workeroutput", {}).get("left_out", self.left_out)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of deselected tests."""
        if self.left_out:
            terminalreporter.write_line(
                f"{self.left_out:,} tests left out, because their dependencies have not changed"
                " since they passed. To run all: make test ALL=1"
            )


@cache
def is_there(root: Path, pattern: str) -> bool:
    """Return whether a pattern matches any file or folder below ``root``."""
    return any(root.glob(pattern))


def depends_on(item: pytest.Item, root: Path) -> frozenset[str]:
    """Return the patterns of a test's dependencies; empty if they are unknown."""
    marks = list(item.iter_markers("depends_on"))
    if not marks or item.get_closest_marker("proof"):
        return frozenset()
    named = {path for mark in marks for path in mark.args}
    missing = {path for path in named if not is_there(root, path)}
    if any(path.startswith("build/") for path in missing):
        return frozenset()  # not built yet
    assert not missing, f"{item.nodeid} depends on {missing}, which do not exist"
    above = [folder for folder in item.path.parents if folder.is_relative_to(root)]
    beside = [item.path, *(folder / "conftest.py" for folder in above)]
    return frozenset([*named, *ALWAYS, *(str(path.relative_to(root)) for path in beside)])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--leave-out-unchanged``."""
    words = "leave out tests that have passed since the last change of their dependencies"
    parser.addoption("--leave-out-unchanged", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the plugin."""
    line = "depends_on(*paths): all files that the test depends on, for --leave-out-unchanged"
    config.addinivalue_line("markers", line)
    config.pluginmanager.register(Unchanged(config))
