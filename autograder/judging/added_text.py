"""Finds the text that a student added to the instructor's cells.

A cell is split into parts at lines without indentation, and the parts are compared with the
instructor's. Python's parser only gets single lines of a student's text, because a long one could
exhaust it.
"""

import ast
import functools
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.homework_source.cell_text import ANSWER_STUB, students_text, without_magics
from autograder.homework_source.homework import Cell, CellKind, Homework

LOCKED = (CellKind.SETUP, CellKind.TEST, CellKind.DEMO, CellKind.FETCH)
"""Kinds of the instructor's code cells."""

_CONTINUES = re.compile(r"[\s)\]}]|$|(?:elif|else|except|finally)\b")
_DEFINES = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_IMPORTS = re.compile(r"(?:from|import) ")
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTES = re.compile("\"\"\"|'''")
_TEXT = re.compile("[bfru]{0,2}[\"']", re.IGNORECASE)
_BADGES = ("[![Open in ", "[Open in ")  # a release adds them below the title
_MAX_LINE = 2_000  # characters; longer lines are not parsed


@dataclass(frozen=True, kw_only=True)
class Added:
    """The text that a student added to a cell.

    Attributes:
        code: Statements that can run in the student's process: they use no variables of a locked
            cell that only runs in the judge.
        words: Comments, strings and prose.
    """

    code: str
    words: str


NOTHING_ADDED = Added(code="", words="")


def find_added(source: str, cell: Cell, homework: Homework) -> Added:
    """Find the text that a student added to ``cell``, a locked one, in its submitted ``source``."""
    official = _parts_of(cell) | _parts_of_all(homework.cells)
    parts = [part for part in _parts(source) if bare(part) not in official]
    made = frozenset() if cell.kind is CellKind.SETUP else names_made(students_text(cell))
    code = [part for part in parts if not _is_words(part) and made.isdisjoint(_needs(part))]
    lines = _lines_of_all(homework.cells)
    words = (line for part in parts for line in _words(part) if line.strip() not in lines)
    return Added(code="\n".join(code), words="\n".join(words))


def added_lines(text: str, homework: Homework) -> set[str]:
    """Return the stripped lines of a text that are not in the instructor's notebook."""
    lines = {line.strip() for line in text.splitlines() if not line.startswith(_BADGES)}
    return lines - _lines_of_all(homework.cells)


def added_code(text: str, homework: Homework) -> str:
    """Return the code in a student's text: without prose, and without the instructor's code."""
    parts = (part for part in _parts(text) if bare(part) not in _parts_of_all(homework.cells))
    return "\n".join(part for part in parts if not _is_words(part))


def defined_names(source: str) -> list[str]:
    """Return the functions and classes that a text defines without indentation."""
    return _DEFINES.findall(source)


def is_text(source: str) -> bool:
    """Return whether a cell contains only comments, string literals and prose."""
    return all(map(_is_words, _parts(source)))


def find_locked(source: str, homework: Homework) -> Cell | None:
    """Return the locked cell that a text contains most of; None if it contains half of none."""
    parts = set(map(bare, _parts(source)))
    locked = [cell for cell in homework.cells if cell.kind in LOCKED]
    shares = Counter({cell: _share(parts, cell) for cell in locked})
    found = shares.most_common(1)
    return found[0][0] if found and found[0][1] > 0.5 else None


def bare(source: str) -> str:
    """Return a text without spaces at line ends and empty lines, which editors may change."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())


@functools.lru_cache(maxsize=1_000)
def names_made(source: str) -> frozenset[str]:
    """Return the global names that the instructor's code assigns or imports."""
    python = ast.unparse(without_magics(source))
    symbols = symtable.symtable(python, "cell", "exec").get_symbols()
    return frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())


def _words(part: str) -> Iterator[str]:
    if _is_words(part):
        yield part
    else:
        yield from (line for line in part.split("\n") if "#" in line)


def _is_words(part: str) -> bool:
    """Return whether a part of a text is a comment, a string literal, or a line of prose."""
    part = part.strip()
    return part.startswith("#") or _TEXT.match(part) is not None or _is_prose(part)


def _needs(part: str) -> set[str]:
    """Return the names that a statement uses; for a definition, only the name that it defines."""
    if defined := _DEFINES.search(part):
        return {defined[1]}
    return set() if _IMPORTS.match(part) else set(_NAME.findall(part))


def _is_prose(part: str) -> bool:
    if "\n" in part or len(part) > _MAX_LINE or part.startswith(("%", "!", "?")):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(part)
    except SyntaxError:
        return True
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def _share(parts: set[str], cell: Cell) -> float:
    """Return the share, from 0 to 1, of a cell's text that is in ``parts`` of another text."""
    own = _students_parts(cell)
    return sum(map(len, own & parts)) / max(sum(map(len, own)), 1)


@functools.lru_cache(maxsize=1_000)
def _students_parts(cell: Cell) -> frozenset[str]:
    return frozenset(map(bare, _parts(students_text(cell))))


@functools.lru_cache(maxsize=1_000)
def _parts_of(cell: Cell) -> frozenset[str]:
    return _students_parts(cell) | set(map(bare, _parts(cell.source)))


@functools.lru_cache(maxsize=8)
def _parts_of_all(cells: Sequence[Cell]) -> frozenset[str]:
    """Return the statements and lines of prose of all cells but the solutions.

    Imports are included only if a setup cell has them.
    """
    return frozenset(
        part
        for cell in cells
        if cell.kind is not CellKind.SOLUTION
        for part in _parts_of(cell)
        if cell.kind is CellKind.SETUP or not _IMPORTS.match(part)
    )


@functools.lru_cache(maxsize=8)
def _lines_of_all(cells: Sequence[Cell]) -> frozenset[str]:
    lines = {line.strip() for cell in cells for line in students_text(cell).splitlines()}
    return frozenset(lines | {"", ANSWER_STUB})


def _parts(source: str) -> list[str]:
    """Split a text into its top-level statements and lines of prose.

    It is split at lines without indentation that are not inside a triple-quoted string.
    """
    parts: list[list[str]] = []
    quotes, decorates = "", False
    for line in source.split("\n"):
        if not parts or not (quotes or decorates or _CONTINUES.match(line)):
            parts.append([])
            decorates = line.startswith("@")
        elif decorates:
            decorates = not _DEFINES.match(line)
        parts[-1].append(line)
        for found in () if line.startswith("#") else _QUOTES.findall(line):
            quotes = "" if quotes == found else quotes or found
    return ["\n".join(part) for part in parts if any(map(str.strip, part))]
