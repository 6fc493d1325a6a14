"""The packages that students install for a homework; a worker finds no others.

The judge's Python has more. Some of them solve exercises, such as tokenizers, or are the judge's
own tools. Student code could remove an import hook, so the files themselves are hidden.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

NOTEBOOK_SERVER = "jupyterlab"
STUDENT_PACKAGES = ("torch", "numpy", "matplotlib", "safetensors", "tqdm", NOTEBOOK_SERVER)
"""Packages that notebooks and the student edition of course_lib import, and the server."""

_WITH_PYTHON = ("pip", "setuptools")  # installed in every new environment
_OF_WORKERS = ("ipython", "psutil")  # a worker imports these itself

_Packages = Mapping[str, tuple[list[str], Distribution]]
"""Requirements and files of each package, by its normalized name."""


@functools.cache
def show_packages(
    folders: tuple[str, ...], wanted: tuple[str, ...] = STUDENT_PACKAGES
) -> tuple[str, ...]:
    """Return bubblewrap's arguments that hide all packages in ``folders`` that students lack.

    Visible stay the ``wanted`` packages, their requirements, and the worker's own. A folder with a
    needed package that was not installed by pip stays as it is.
    """
    installed = {folder: _installed(folder) for folder in folders}
    everywhere = {name: package for each in installed.values() for name, package in each.items()}
    left = _required([*wanted, *_WITH_PYTHON, *_OF_WORKERS], everywhere)
    mounts: list[str] = []
    for folder, packages in installed.items():
        records = [
            distribution.read_text("RECORD")
            for name, (_, distribution) in packages.items()
            if name in left
        ]
        if None in records:
            continue  # not installed by pip: the owners of the files are not known
        mounts += ["--perms", "0755", "--tmpfs", folder]
        for name in sorted({name for record in records for name in _files(record or "")}):
            path = str(Path(folder) / name)
            mounts += ["--ro-bind-try", path, path]
        mounts += ["--remount-ro", folder]
    return tuple(mounts)


def _files(record: str) -> set[str]:
    """Return a package's top-level files and folders, given the text of its RECORD."""
    names = {line.strip('"').partition(",")[0].partition("/")[0] for line in record.split("\n")}
    return names - {"", "..", "__pycache__"}


def _installed(folder: str) -> _Packages:
    """Return the packages in a folder, except for those without a name.

    Only the first lines of their metadata are read: importlib's parser takes half a second for all.
    """
    packages = {}
    for distribution in distributions(path=[folder]):
        head = (distribution.read_text("METADATA") or "").partition("\n\n")[0]
        if names := re.findall(r"^Name: *(.+)", head, re.MULTILINE):
            requires = re.findall(r"^Requires-Dist: *(.+)", head, re.MULTILINE)
            packages[_normalized(names[0].strip())] = requires, distribution
    return packages


def _required(names: Iterable[str], installed: _Packages) -> set[str]:
    """Return which of these packages, and of all that they require, are ``installed``."""
    from packaging.requirements import Requirement  # an old environment may lack it

    waiting = [(_normalized(name), frozenset[str]()) for name in names]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if name not in installed or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in installed[name][0]:
            if _normalized(re.split(r"[^\w.-]", text, maxsplit=1)[0]) not in installed:
                continue  # true of most, and parsing takes longest
            needed = Requirement(text)
            environments = ({"extra": extra} for extra in ("", *extras))
            if needed.marker is None or any(map(needed.marker.evaluate, environments)):
                waiting.append((_normalized(needed.name), frozenset(needed.extras)))
    return {name for name, _ in seen}


def _normalized(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()
