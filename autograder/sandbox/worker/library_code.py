"""Which code of course_lib names something itself, and so answers for calling it."""

import functools
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType


@functools.cache
def library_code(words: re.Pattern[str]) -> set[CodeType]:
    """Return the code of those modules of course_lib that name this themselves.

    They answer for what they call by name. Others only call what they were handed. Read from the
    files as they were handed out: what a module holds by now, or what calls itself one, may be the
    student's.
    """
    found: set[CodeType] = set()
    for file, text in library_texts():
        if not words.search(text):
            continue
        codes = list(_with_inner(compile(text, file, "exec", dont_inherit=True)))
        if words.search(" ".join(name for code in codes for name in code.co_names)):
            found.update(codes)
    return found


@functools.cache
def library_texts() -> tuple[tuple[str, str], ...]:
    """Return the files of course_lib with their texts, but for what tests stand on."""
    return tuple(
        (str(file), file.read_text(encoding="utf-8"))
        for file in library_files()
        if file.name != "testing.py"
    )


@functools.cache
def library_files() -> tuple[Path, ...]:
    """Return the files of course_lib; where they lie is asked before the student's code runs."""
    library = importlib.util.find_spec("course_lib")
    folders = (library and library.submodule_search_locations) or ()
    return tuple(file for folder in folders for file in sorted(Path(folder).rglob("*.py")))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
