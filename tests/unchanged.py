"""Leaves out tests that have passed since anything that they depend on was changed.

A test names that with ``@pytest.mark.depends_on("course_lib", "solutions/*.py")``: from the root,
each a file, a folder or a pattern. Counted without being named are its own file, each
``conftest.py`` above it, pytest's settings, Python, its packages and what of the machine tests use.
``pytest --leave-out-unchanged`` leaves such tests out, and says how many. What is marked ``proof``
always runs, and so does what opens another file of the project in its own process.

A stamp is a file below ``build/stamps/tests``: its name is a digest of all these, its lines are the
tests that passed so. Each process of pytest-xdist reads stamps at its start, and writes at its end.
One that nobody has read for a month is thrown away.
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
    """Describe what of this machine a test may notice."""
    packages = sorted(p.name for p in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    found = [Path(path) for name in PROGRAMS if (path := shutil.which(name))]
    programs = [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in found]
    chosen = sorted(item for item in os.environ.items() if item[0].startswith("COURSE_"))
    machine = (sys.version, sys.flags, platform.platform(), os.cpu_count())
    return repr((machine, programs, chosen, packages))


def found_now(root: Path, pattern: str) -> frozenset[Path]:
    """Find the files that a pattern means, in its folders too."""
    found = set(root.glob(pattern))
    beneath = {path for folder in found for path in folder.rglob("*")}
    return frozenset(p for p in found | beneath if p.suffix != ".pyc" and p.is_file())


def digest_now(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


Find = Callable[[Path, str], frozenset[Path]]


class Group:
    """Tests that depend on the same files, as these were when the process began."""

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
        """List its files, with a way to find those of one pattern."""
        return sorted(set().union(*(find(self.root, pattern) for pattern in self.patterns)))

    def was_left_alone(self, since: int) -> bool:
        """Whether no file has come, gone or been touched since a moment, in nanoseconds."""
        there = self.find(found_now)
        return there == self.files and all(path.stat().st_ctime_ns < since for path in there)

    def unnamed(self, opened: set[str]) -> set[Path]:
        """Return which of these are files of the project and not of this group."""
        seen = opened.copy()  # at once: a test's threads may open more meanwhile
        paths = {path for name in seen if (path := Path(name).absolute()).is_file()}
        ours = {path for path in paths if path.is_relative_to(self.root) and path.suffix != ".pyc"}
        made = re.compile(r"build|dist|\..*")
        ours = {path for path in ours if not made.fullmatch(path.relative_to(self.root).parts[0])}
        return ours - set(self.files)

    def write(self) -> None:
        """Stamp what passed; a failure takes the stamp away."""
        if self.has_failed:
            self.stamp.unlink(missing_ok=True)
            return
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        with self.stamp.open("ab", buffering=0) as lines:  # not torn: other processes add too
            lines.write("".join(f"{test}\n" for test in self.passed).encode())


class Unchanged:
    """The plugin, in one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.started = time.time_ns()
        self.leaves_out = config.getoption("leave_out_unchanged")
        # Many groups name the same folders: each is read once.
        self.group = cache(partial(Group, config.rootpath, cache(found_now), cache(digest_now)))
        self.groups: dict[str, Group] = {}
        self.left_out = 0
        self.opened: set[str] = set()
        sys.addaudithook(self.notice)

    def notice(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note which files this process opens."""
        if event == "open" and isinstance(arguments[0], str):
            self.opened.add(arguments[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Find what each test depends on; take out those that passed with just that."""
        for item in items:
            if patterns := depends_on(item, config.rootpath):
                self.groups[item.nodeid] = self.group(patterns)
        if self.leaves_out:
            unchanged = {item for item in items if self.has_passed(item.nodeid)}
            self.left_out = len(unchanged)
            config.hook.pytest_deselected(items=list(unchanged))
            items[:] = [item for item in items if item not in unchanged]

    def has_passed(self, test: str) -> bool:
        return test in self.groups and test in self.groups[test].passed_before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Count nothing as passed that opened a file of the project that it does not name."""
        self.opened.clear()
        yield
        group = self.groups.get(item.nodeid)
        if group and item.nodeid in group.passed and group.unnamed(self.opened):
            group.passed.remove(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a part of a test ended."""
        if group := self.groups.get(report.nodeid):
            group.has_failed |= report.failed
            if report.when == "call" and report.passed and not self.has_passed(report.nodeid):
                group.passed.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the stamps, and throw old ones away."""
        for old in (session.config.rootpath / STAMPS).glob("*"):
            with suppress(FileNotFoundError):  # by another process
                if old.stat().st_mtime < time.time() - MONTH:
                    old.unlink()
        for group in set(self.groups.values()):
            if group.has_failed or (group.passed and group.was_left_alone(self.started)):
                group.write()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Hear from a process of pytest-xdist what it left out: each leaves out the same."""
        self.left_out = getattr(node, "workeroutput", {}).get("left_out", self.left_out)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many were left out."""
        if self.left_out:
            terminalreporter.write_line(
                f"{self.left_out:,} tests left out: since they passed, nothing that they depend on"
                " has changed. All of them: make test ALL=1"
            )


@cache
def is_there(root: Path, pattern: str) -> bool:
    return any(root.glob(pattern))


def depends_on(item: pytest.Item, root: Path) -> frozenset[str]:
    """Return patterns of all that a test depends on; none if that is not known."""
    marks = list(item.iter_markers("depends_on"))
    if not marks or item.get_closest_marker("proof"):
        return frozenset()
    named = {path for mark in marks for path in mark.args}
    missing = {path for path in named if not is_there(root, path)}
    if any(path.startswith("build/") for path in missing):
        return frozenset()  # not built yet
    assert not missing, f"{item.nodeid} depends on {missing}, and nothing is called so"
    above = [folder for folder in item.path.parents if folder.is_relative_to(root)]
    beside = [item.path, *(folder / "conftest.py" for folder in above)]
    return frozenset([*named, *ALWAYS, *(str(path.relative_to(root)) for path in beside)])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Leaving out is for who asks for it."""
    words = "leave out tests that have passed since what they depend on was changed"
    parser.addoption("--leave-out-unchanged", action="store_true", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Start with no test known."""
    line = "depends_on(*paths): all files that decide how it ends, for --leave-out-unchanged"
    config.addinivalue_line("markers", line)
    config.pluginmanager.register(Unchanged(config))
