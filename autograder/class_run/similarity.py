"""Flags near-identical submissions, for a TA to look at; it never changes a mark.

Names, comments, strings and layout are removed from the code, and the rest is cut into overlapping
pieces. Two submissions are compared by their common pieces. Pieces of the released stub and pieces
that many submissions have do not count.
"""

import builtins
import dataclasses
import keyword
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
import numpy as np

from autograder.class_run.submissions import UnreadableError, find_notebook, read_notebook
from autograder.homework_source.homework import CellKind, Homework, HomeworkError
from autograder.judging.notebook_file import SubmissionError
from autograder.judging.results import Flag, FlagKind, SubmissionResult
from autograder.judging.submission import read_submission
from autograder.teams import read_teams

SHARE = 0.9
"""Two submissions are similar if they share this part of the shorter one's pieces."""

_PIECE = 25  # characters of reduced code: about a line
_SAMPLED = 4  # one of this many pieces is kept
_FEWEST_PIECES = 20  # that a compared solution has at least: a few lines
_COMMON_TO = 10  # submissions: a piece in this many belongs to the exercise
_COMMON_SHARE = 0.05  # the same limit in a large class, as a share of it
_MOST_NAMES = 8  # of students in a flag
_LONGER = 2  # times as many pieces: such a submission contains others, which may differ
_BLOCK = 8192  # pieces compared at a time, so that memory does not grow with them
# Python's tokenizer takes hours for some long lines, and stops at a syntax error.
_TOKEN = re.compile(
    r"""
    ^[ \t]*+[!%?,;/][^\r\n]*?(?:'{3}|"{3})[^\r\n]*  # a magic with a quote
    |=[ \t]*+[!%][^\r\n]*  # a magic that is assigned
    |(?i:[bfrtu]{0,2})(?:  # a text
        "{3}(?:[^"\\]++|\\.|"(?!""))*+(?:"{3})?
        |'{3}(?:[^'\\]++|\\.|'(?!''))*+(?:'{3})?
        |"(?:[^"\\\r\n]++|\\.)*+"?
        |'(?:[^'\\\r\n]++|\\.)*+'?
    )
    |\#[^\r\n]*  # a comment
    |(?P<name>[^\W\d]\w*)
    |(?P<other>\d[\w.]*|[^\s\\;])  # a number, or a part of an operator
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class Similar:
    """Two submissions that are nearly the same; pieces are short stretches of their code.

    Attributes:
        student_a: The first student in the alphabet.
        student_b: The other one.
        share: Share of the shorter one's pieces that both have.
        cells: The grade_ids of the shorter one's cells that share more than half of their pieces.
        longer: The student with at least twice as many pieces as the other; empty if there is none.
    """

    student_a: str
    student_b: str
    share: float
    cells: tuple[str, ...]
    longer: str = ""


def find_similar(
    solutions: Mapping[str, Mapping[str, str]], stubs: Mapping[str, str]
) -> list[Similar]:
    """Return the pairs of near-identical submissions, the most similar first.

    ``solutions`` maps student to grade_id to source, ``stubs`` maps grade_id to source.
    """
    students = sorted(solutions)
    handed_out = frozenset[int]().union(*map(_cut, stubs.values()))
    cells = {
        student: {cell: _cut(source) - handed_out for cell, source in solutions[student].items()}
        for student in students
    }
    own = [frozenset[int]().union(*cells[student].values()) for student in students]
    spread = _spread(own)
    most = max(_COMMON_TO, int(_COMMON_SHARE * len(students)))
    own = [frozenset(p for p in pieces if spread[p] < most) for pieces in own]
    shared = _count_shared(own)
    found = []
    for a, b in zip(*np.nonzero(np.triu(shared, 1)), strict=True):
        short, long = sorted((a, b), key=lambda n: len(own[n]))
        count = len(own[short])
        if count >= _FEWEST_PIECES and shared[a, b] >= SHARE * count:
            both = own[a] & own[b]
            alike = [
                cell
                for cell, pieces in cells[students[short]].items()
                if len(pieces & both) * 2 > len(pieces & own[short])
            ]
            found.append(
                Similar(
                    student_a=students[a], student_b=students[b],
                    share=float(shared[a, b]) / count, cells=tuple(alike),
                    longer=students[long] if len(own[long]) >= _LONGER * count else "",
                )
            )  # fmt: skip
    return sorted(found, key=lambda pair: (-pair.share, pair.student_a, pair.student_b))


def flag_similar(
    results: Sequence[SubmissionResult], submissions: Path, homework: Homework, released: Path
) -> list[SubmissionResult]:
    """Return the results in order, with flags on near-identical submissions of different teams.

    ``released`` is the notebook with the stubs.
    """
    solutions = {
        result.student: _solution_cells(submissions / result.student / homework.id, homework)
        for result in results
        if not result.error
    }
    stubs = _released_cells(released)
    teams = read_teams(submissions, homework.id)
    pairs = [
        pair
        for pair in find_similar(solutions, stubs)
        if teams.get(pair.student_a, "") != teams.get(pair.student_b)
    ]
    flags = _flags(pairs)
    return [
        dataclasses.replace(
            result,
            flags=(
                *(flag for flag in result.flags if flag.kind is not FlagKind.SIMILAR),
                *flags.get(result.student, []),
            ),
        )
        for result in results
    ]


def _flags(pairs: Sequence[Similar]) -> dict[str, list[Flag]]:
    """Return each student's flags, which name the similar submissions."""
    even = [pair for pair in pairs if not pair.longer]
    flags: dict[str, list[Flag]] = {}
    for student, group in _groups(even).items():
        flags.setdefault(student, []).append(_flag(_words(student, group), group))
    for longer in sorted({pair.longer for pair in pairs if pair.longer}):
        held = [pair for pair in pairs if pair.longer == longer]
        others = [name for name in _names(held) if name != longer]
        words = f"nearly all of {_listed(others)} stands in it: {_told_cells(held)}"
        flags.setdefault(longer, []).append(_flag(words, held))
        for pair in held:
            (shorter,) = {pair.student_a, pair.student_b} - {longer}
            words = f"{pair.share:.0%} of it stands in {longer}: {_told_cells([pair])}"
            flags.setdefault(shorter, []).append(_flag(words, held))
    return flags


def _flag(words: str, group: Sequence[Similar]) -> Flag:
    return Flag(kind=FlagKind.SIMILAR, text=words, students=_names(group), cells=_cells(group))


def _groups(pairs: Sequence[Similar]) -> dict[str, list[Similar]]:
    """Return for each student all pairs linked to the student, directly or through others."""
    groups: dict[str, list[Similar]] = {}  # students of one group share a list
    for pair in pairs:
        one, other = groups.get(pair.student_a, []), groups.get(pair.student_b, [])
        joined = [*one, *(other if other is not one else []), pair]
        for member in joined:
            groups[member.student_a] = groups[member.student_b] = joined
    return groups


def _names(group: Sequence[Similar]) -> tuple[str, ...]:
    return tuple(sorted({name for pair in group for name in (pair.student_a, pair.student_b)}))


def _cells(group: Sequence[Similar]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell for pair in group for cell in pair.cells))


def _words(student: str, group: Sequence[Similar]) -> str:
    names, cells = _names(group), _told_cells(group)
    if len(names) == 2:
        (other,) = set(names) - {student}
        return f"{group[0].share:.0%} the same as {other}: {cells}"
    return f"one of {len(names)} that are nearly the same, {_listed(names)}: {cells}"


def _told_cells(group: Sequence[Similar]) -> str:
    return ", ".join(_cells(group))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _released_cells(notebook: Path) -> dict[str, str]:
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except (OSError, ValueError) as error:
        raise HomeworkError(f"{notebook} cannot be read as a notebook: {error}") from error
    return {c.metadata.nbgrader.grade_id: c.source for c in cells if "nbgrader" in c.metadata}


def _solution_cells(folder: Path, homework: Homework) -> dict[str, str]:
    try:
        steps = read_submission(read_notebook(find_notebook(folder, homework.id)), homework).steps
    except (UnreadableError, SubmissionError):  # it may have gone since it was graded
        return {}
    return {s.label: s.source for s in steps if s.kind is CellKind.SOLUTION}


def _cut(source: str) -> frozenset[int]:
    """Cut a source into overlapping pieces; return the checksums of a sample of the pieces.

    A piece is sampled by its text alone, so in all sources that contain it or in none.
    """
    reduced = "".join(_reduced(source)).encode()
    starts = range(len(reduced) - _PIECE + 1)
    sums = (zlib.crc32(reduced[start : start + _PIECE]) for start in starts)
    return frozenset(checksum for checksum in sums if checksum % _SAMPLED == 0)


def _reduced(source: str) -> Iterator[str]:
    """Yield a source's tokens, with a letter in place of each name that a copier could change.

    A name after ``def`` becomes ``F``, one after ``class`` ``O``, any other ``V``. Keywords and
    built-in names stay.
    """
    before = ""
    for found in _TOKEN.finditer(source):
        name, other = unicodedata.normalize("NFKC", found["name"] or ""), found["other"]
        if name and not keyword.iskeyword(name):
            given = before != "." and hasattr(builtins, name)
            letter = {"def": "F", "class": "O"}.get(before, "V")
            yield name if given else letter
        elif name or other:
            yield name or other
        before = name or other or before


def _spread(own: Sequence[frozenset[int]]) -> Counter[int]:
    """Return how many submissions have each piece of code, by the piece's checksum.

    ``own`` has the checksums of each submission's pieces. A group of near copies counts as one
    submission: otherwise a piece would seem common because many copied it. A group of half the
    class or more counts fully: then the exercise has one natural solution.
    """
    sizes = np.array([len(pieces) for pieces in own], dtype=np.float32)
    shared = _count_shared(own)
    np.fill_diagonal(shared, sizes)
    alike = shared >= SHARE * (sizes[:, None] + sizes - shared)
    groups: dict[int, list[frozenset[int]]] = {}
    for leader, pieces in zip(alike.argmax(axis=1), own, strict=True):
        groups.setdefault(int(leader), []).append(pieces)
    spread: Counter[int] = Counter()
    for members in groups.values():
        once = 2 * len(members) < len(own)
        for pieces in [frozenset[int]().union(*members)] if once else members:
            spread.update(pieces)
    return spread


def _count_shared(own: Sequence[frozenset[int]]) -> np.ndarray:
    """Return how many pieces of code each two submissions share: ``(students, students)``.

    ``own`` has the checksums of each submission's pieces, see ``_cut``.
    """
    held = Counter(piece for pieces in own for piece in pieces)
    pieces = [piece for piece, count in held.items() if count > 1]
    shared = np.zeros((len(own), len(own)), dtype=np.float32)
    for start in range(0, len(pieces), _BLOCK):
        place = {piece: n for n, piece in enumerate(pieces[start : start + _BLOCK])}
        has = np.zeros((len(own), len(place)), dtype=np.float32)
        for row, mine in enumerate(own):
            has[row, [place[piece] for piece in mine if piece in place]] = 1
        shared += has @ has.T
    return shared
