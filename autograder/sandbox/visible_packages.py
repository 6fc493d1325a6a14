"""Leaves in the sandbox only the packages that students have.

The judge's Python holds more than theirs: some of it solves exercises, such as tokenizers, or is
the judge's own tool. An import hook could be undone by the code that it is to stop: so the files
themselves are not there.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from autograder.sandbox.student_packages import STUDENT_PACKAGES

_WITH_PYTHON = ("pip", "setuptools")  # an environment is made with them


@functools.cache
def show_packages(
    folders: tuple[str, ...], wanted: tuple[str, ...] = STUDENT_PACKAGES
) -> tuple[str, ...]:
    """Cover the folders in which packages are installed with some of them, and what those require.

    Args:
        folders: Where packages are installed, each mounted already.
        wanted: The packages to leave.

    Returns:
        Arguments of bubblewrap, to come after the mounts of these folders.
    """
    everywhere = {_plain(d.name): d for d in _installed(folders)}
    left = _required([*wanted, *_WITH_PYTHON], everywhere)
    mounts: list[str] = []
    for folder in map(Path, folders):
        installed = [d for d in _installed((str(folder),)) if _plain(d.name) in left]
        if any(d.read_text("RECORD") is None for d in installed):
            continue  # not by pip: nothing says which files are whose
        names = sorted({name for package in installed for name in _files(package)})
        mounts += ["--perms", "0755", "--tmpfs", str(folder)]
        for path in (folder / name for name in names):
            mounts += ["--ro-bind-try", str(path), str(path)]
        mounts += ["--remount-ro", str(folder)]
    return tuple(mounts)


def _installed(folders: tuple[str, ...]) -> Iterator[Distribution]:
    """Yield the packages in folders; not what an interrupted installation left without a name."""
    return (d for d in distributions(path=list(folders)) if d.read_text("METADATA") is not None)


def _required(names: Iterable[str], installed: Mapping[str, Distribution]) -> set[str]:
    """Return packages with all that they require, as far as it is installed."""
    from packaging.requirements import Requirement  # not in an environment that is made again

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
    return names - {"", "..", "__pycache__"}


def _plain(name: str) -> str:
    """Return the name under which an index knows a package."""
    return re.sub("[-_.]+", "-", name).lower()
