"""Leaves in the sandbox only the packages that students have.

The judge's Python holds more than theirs: some of it solves exercises, such as tokenizers, or is
the judge's own tool. An import hook could be undone by the code that it is to stop: so the files
themselves are not there.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from autograder.sandbox.student_packages import STUDENT_PACKAGES

_WITH_PYTHON = ("pip", "setuptools")  # an environment is made with them
_OF_WORKERS = ("ipython", "psutil")  # run them, also where no notebook server brings them along


@functools.cache
def show_packages(
    folders: tuple[str, ...], wanted: tuple[str, ...] = STUDENT_PACKAGES
) -> tuple[str, ...]:
    """Return mounts that leave, in each folder, the wanted packages and all that they require."""
    installed = {folder: _installed(folder) for folder in folders}
    everywhere = {package.name: package for folder in folders for package in installed[folder]}
    left = _required([*wanted, *_WITH_PYTHON, *_OF_WORKERS], everywhere)
    mounts: list[str] = []
    for folder in folders:
        theirs = [package.files() for package in installed[folder] if package.name in left]
        if None in theirs:
            continue  # not by pip: nothing says which files are whose
        mounts += ["--perms", "0755", "--tmpfs", folder]
        for name in sorted({name for names in theirs for name in names or ()}):
            path = str(Path(folder) / name)
            mounts += ["--ro-bind-try", path, path]
        mounts += ["--remount-ro", folder]
    return tuple(mounts)


@dataclass(frozen=True)
class _Package:
    """An installed package.

    Attributes:
        name: Under which an index knows it.
        requires: What it says that it needs.
        distribution: The rest.
    """

    name: str
    requires: tuple[str, ...]
    distribution: Distribution

    def files(self) -> set[str] | None:
        """Return the names of its files and folders, beside which others are installed.

        None if nothing says which they are.
        """
        record = self.distribution.read_text("RECORD")
        if record is None:
            return None
        names = {line.strip('"').partition(",")[0].partition("/")[0] for line in record.split("\n")}
        return names - {"", "..", "__pycache__"}


def _installed(folder: str) -> list[_Package]:
    """Return the packages in a folder; not what an interrupted installation left without a name.

    Only the first lines of what they say of themselves are read, and only once: the parser of
    importlib.metadata would take half a second for all.
    """
    packages = []
    for distribution in distributions(path=[folder]):
        head = (distribution.read_text("METADATA") or "").partition("\n\n")[0]
        if names := re.findall(r"^Name: *(.+)", head, re.MULTILINE):
            requires = re.findall(r"^Requires-Dist: *(.+)", head, re.MULTILINE)
            packages.append(_Package(_plain(names[0].strip()), tuple(requires), distribution))
    return packages


def _required(names: Iterable[str], installed: Mapping[str, _Package]) -> set[str]:
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
        for text in installed[name].requires:
            if _plain(re.split(r"[^\w.-]", text, maxsplit=1)[0]) not in installed:
                continue  # most are: reading them takes longest
            needed = Requirement(text)
            of = ({"extra": extra} for extra in ("", *extras))
            if needed.marker is None or any(map(needed.marker.evaluate, of)):
                waiting.append((_plain(needed.name), frozenset(needed.extras)))
    return found


def _plain(name: str) -> str:
    """Return the name under which an index knows a package."""
    return re.sub("[-_.]+", "-", name).lower()
