"""Finds near-identical submissions, for a TA to look at. It never changes a mark.

Code is reduced to what renaming, comments, texts and layout can't hide; that is cut into
overlapping pieces. Two submissions are compared by the pieces that both have. Pieces
of the released stub are left out, and so are pieces that many share: the exercise itself makes
those alike.
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
"""Two submissions that have this share of the shorter one's pieces in common are reported."""

_PIECE = 25  # characters of reduced code: about a line
_SAMPLED = 4  # one piece of so many is looked at
_FEWEST_PIECES = 20  # less than a few lines of one's own prove nothing
_COMMON_TO = 10  # submissions with the same piece: then it is the exercise's
_COMMON_SHARE = 0.05  # likewise, of a large class
_DIGESTS, _DIGESTED = 12, 6  # digests of a submission, and the pieces that each is made from
_MOST_NAMES = 8  # of those who are similar to each other
_LONGER = 2  # times as many pieces: who holds those of several is not what makes them similar
_PRIME = (1 << 31) - 1
_BLOCK = 8192  # pieces compared at a time, so that memory does not grow with them
# Python's own tokenizer takes hours for some long lines, and stops at what is no Python. This looks
# at no character often, and tells a quote in a magic from one that begins a text.
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
    """Two submissions that are nearly the same.

    Attributes:
        student_a: One student's id, the first in the alphabet.
        student_b: The other's.
        share: Of the pieces that the shorter of the two has of its own, those that both have.
        cells: grade_ids of the cells in which they have most in common, in the notebook's order.
        longer: Which of the two has twice as many pieces, and so only holds the other's; empty if
            neither.
    """

    student_a: str
    student_b: str
    share: float
    cells: tuple[str, ...]
    longer: str = ""


def find_similar(
    solutions: Mapping[str, Mapping[str, str]], stubs: Mapping[str, str]
) -> list[Similar]:
    """Compare every submission with every other."""
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
    held = Counter(piece for pieces in own for piece in pieces)
    shared = _count_shared(own, [piece for piece, count in held.items() if count > 1])
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
    """Add a flag to each result whose submission is nearly another's."""
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
    """Say to whom each submission is similar: of more than two, to all of them the same."""
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
    """Return for each student the pairs of all that are similar to each other."""
    groups: dict[str, list[Similar]] = {}  # shared by all of a group
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
    """Return checksums of the pieces, of a sample that is the same for equal pieces."""
    reduced = "".join(_reduced(source)).encode()
    starts = range(len(reduced) - _PIECE + 1)
    sums = (zlib.crc32(reduced[start : start + _PIECE]) for start in starts)
    return frozenset(checksum for checksum in sums if checksum % _SAMPLED == 0)


def _reduced(source: str) -> Iterator[str]:
    """Yield each token, or a letter for what could be called otherwise."""
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
    """Count how many have each piece; copies count once, unless half of the class are the same.

    Else copies of one solution would hide each other, once there are enough of them.
    """
    spread: Counter[int] = Counter()
    for group in _near_copies(own):
        members = [own[n] for n in group]
        if 2 * len(group) >= len(own):
            spread.update(piece for pieces in members for piece in pieces)
        else:
            spread.update(frozenset[int]().union(*members))
    return spread


def _near_copies(own: Sequence[frozenset[int]]) -> list[list[int]]:
    """Group who has nearly the same pieces as another.

    Compared are those for whom one of several digests of a few pieces is the same (min-hashing):
    nearly surely all who have nine tenths of their pieces in common.
    """
    leaders: dict[tuple[int, bytes], int] = {}
    groups: dict[int, list[int]] = {}
    generator = np.random.default_rng(0)
    factors = generator.integers(1, 1 << 31, size=(_DIGESTS * _DIGESTED, 1), dtype=np.uint64) | 1
    for n, pieces in enumerate(own):
        if not pieces:
            continue
        mixed = np.fromiter(pieces, dtype=np.uint64) * factors % _PRIME
        digests = mixed.min(axis=1).reshape(_DIGESTS, _DIGESTED)
        keys = [(place, digest.tobytes()) for place, digest in enumerate(digests)]
        alike = {leaders[key] for key in keys if key in leaders}
        leader = next(
            (a for a in sorted(alike) if len(own[a] & pieces) >= SHARE * len(own[a] | pieces)), n
        )
        groups.setdefault(leader, []).append(n)
        for key in keys:
            leaders.setdefault(key, leader)
    return list(groups.values())


def _count_shared(own: Sequence[frozenset[int]], pieces: Sequence[int]) -> np.ndarray:
    """Count for every two submissions the pieces that both have: ``(students, students)``."""
    shared = np.zeros((len(own), len(own)), dtype=np.float32)
    for start in range(0, len(pieces), _BLOCK):
        place = {piece: n for n, piece in enumerate(pieces[start : start + _BLOCK])}
        has = np.zeros((len(own), len(place)), dtype=np.float32)
        for row, mine in enumerate(own):
            has[row, [place[piece] for piece in mine if piece in place]] = 1
        shared += has @ has.T
    return shared
