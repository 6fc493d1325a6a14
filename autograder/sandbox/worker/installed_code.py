"""Which code is installed: Python's, the libraries', the course's; none of it is the student's.

Whose a code is, its file's name says, and that is whatever it was compiled with. So what is run as
a module under the name of an installed file is held against that file.
"""

import _imp
import functools
import os
import sys
from collections.abc import Iterable, Iterator
from marshal import loads  # by this name: who calls it otherwise was handed it, see ``events``
from pathlib import Path
from types import CodeType

from .inspection import file_of
from .library_code import library_files

_FROZEN = "<frozen "
_PYC_HEADER = 16  # bytes before the code
# As they were before any of the student's code ran, which may put others in their place.
_stat, _open, _read, _close = os.stat, os.open, os.read, os.close
_frozen, _tag = _imp.get_frozen_object, sys.implementation.cache_tag
_READABLE = os.O_RDONLY
_PIECE = 1 << 20

# The files of modules that were loaded before any of the student's code ran: device and number,
# since one file has many names.
_loaded: set[tuple[int, int]] = set()


@functools.cache
def places() -> tuple[str, ...]:
    """Return the folders from which Python imports, and in which students can't write.

    Asked before any of the student's code runs, which could name others.
    """
    found = {place for place in sys.path if place and place != str(Path.cwd())}
    found |= {str(file.parent) for file in library_files()} | {str(Path(__file__).parent)}
    return tuple(f"{place}/" for place in sorted(found))


def is_installed(file: str) -> bool:
    """Whether a file of this name is none of the student's.

    Args:
        file: As code names it.
    """
    return file.startswith(_FROZEN) or (file.endswith(".py") and file.startswith(places()))


def remember_loaded(files: Iterable[str]) -> None:
    """Remember what was loaded, see ``is_loaded``.

    Args:
        files: Names of files.
    """
    _loaded.update(filter(None, map(_identity, files)))


def is_loaded(file: str) -> bool:
    """Whether it is one of the files that were remembered, by whatever name."""
    return _identity(file) in _loaded


def is_forged(code: CodeType) -> bool:
    """Whether a module's code has the name of an installed file, in which other code stands."""
    file = file_of(code)
    return is_installed(file) and all(own != code for own in _codes_in(file))


def _codes_in(file: str) -> Iterator[CodeType]:
    """Yield the code of an installed file: as it was compiled before, and as it is compiled now."""
    try:
        if file.startswith(_FROZEN):
            yield _frozen(file[len(_FROZEN) : -1])
            return
        folder, _, name = file.rpartition("/")
        try:
            cached = _contents(f"{folder}/__pycache__/{name[:-3]}.{_tag}.pyc")
            yield loads(cached[_PYC_HEADER:])  # noqa: S302 -- of a folder that no student writes in
        except (OSError, EOFError, ValueError, TypeError):  # not there, or half of it
            pass
        yield compile(_contents(file), file, "exec", dont_inherit=True)
    except (OSError, ImportError, SyntaxError, ValueError):
        return  # there is no such file


def _contents(file: str) -> bytes:
    descriptor = _open(file, _READABLE)
    try:
        found = b""
        while piece := _read(descriptor, _PIECE):
            found += piece
    finally:
        _close(descriptor)
    return found


def _identity(file: str) -> tuple[int, int] | None:
    try:
        found = _stat(file)
    except (OSError, ValueError):  # there is none, or can be none
        return None
    return found.st_dev, found.st_ino
