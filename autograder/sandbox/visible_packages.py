"""Leaves in the sandbox only the packages that students have.

The judge's Python holds more than theirs: some of it solves exercises, such as tokenizers, or is
the judge's own tool. An import hook could be undone by the code that it is to stop: so the files
themselves are covered.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from autograder.sandbox.worker.student_packages import STUDENT_PACKAGES

_ABSENT = str(Path(__file__).parent / "worker" / "absent.py")
_WITH_PYTHON = ("pip", "setuptools")  # an environment is made with them


@functools.cache
def cover_packages(
    folders: tuple[str, ...], wanted: tuple[str, ...] = STUDENT_PACKAGES
) -> tuple[str, ...]:
    """Cover every installed package but some, and what those require.

    Args:
        folders: Where packages are installed.
        wanted: The packages to leave.

    Returns:
        Arguments of bubblewrap, to come after the mounts of these folders.
    """
    everywhere = {_plain(d.name): d for d in distributions(path=list(folders))}
    left = _required([*wanted, *_WITH_PYTHON], everywhere)
    mounts: list[str] = []
    for folder in map(Path, folders):
        installed = {_plain(d.name): d for d in distributions(path=[str(folder)])}
        shared = {name for kept in installed.keys() & left for name in _files(installed[kept])}
        covered = {name for other in installed.keys() - left for name in _files(installed[other])}
        for path in sorted(folder / name for name in covered - shared):
            if path.is_dir():
                # An empty folder would be a package to Python.
                mounts += ["--perms", "0755", "--tmpfs", str(path)]
                mounts += ["--ro-bind", _ABSENT, str(path / "__init__.py")]
                mounts += ["--remount-ro", str(path)]
            elif path.suffix == ".py":
                mounts += ["--ro-bind", _ABSENT, str(path)]
            elif path.suffix == ".so":
                mounts += ["--ro-bind", "/dev/null", str(path)]
    return tuple(mounts)


def _required(names: Iterable[str], installed: Mapping[str, Distribution]) -> set[str]:
    """Return packages with all that they require, as far as it is installed."""
    from packaging.requirements import Requirement  # not in an environment that is made anew

    found: set[str] = set()
    waiting = [(_plain(name), frozenset[str]()) for name in names]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if name not in installed or (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(name)
        for text in installed[name].requires or []:
            needed = Requirement(text)
            of = ({"extra": extra} for extra in ("", *extras))
            if needed.marker is None or any(map(needed.marker.evaluate, of)):
                waiting.append((_plain(needed.name), frozenset(needed.extras)))
    return found


def _files(package: Distribution) -> set[str]:
    """Return the names of a package's files and folders, beside which others are installed."""
    record = package.read_text("RECORD") or ""
    names = {re.split("[/,]", line.strip('"'), maxsplit=1)[0] for line in record.splitlines()}
    return {name for name in names if name and not name.endswith(".dist-info")} - {
        "..", "__pycache__", "bin", "etc", "share",
    }  # fmt: skip


def _plain(name: str) -> str:
    """Return the name under which an index knows a package."""
    return re.sub("[-_.]+", "-", name).lower()
