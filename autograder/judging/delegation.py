"""What the judge says where a student's code leads to what its exercise forbids.

Reading finds what stands in the code; the running worker reports what the code came to.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.results import Flag, FlagKind, Status
from autograder.judging.student_process import StudentProcess
from autograder.sandbox.worker.operators import (
    COMPILED,
    FORGED,
    FULL,
    LEFT,
    MOST_NOTES,
    PROCESS,
    PRYING,
    RELOADED,
    TRACED,
    TRACES,
    UNDONE,
    forbids,
)

MAX_FLAGS = 20  # that one submission gets of one kind of look at it
MAX_NAME = 80  # characters of a name in a flag
_MAX_LINE = 10_000  # of a cell: larger ones are no lines
_HOSTILE = {
    PRYING: "pries into the code of functions, the collector's objects or Python's own events",
    TRACED: "makes a graph of what exercises forbid",
    TRACES: "would have itself traced while it is checked, as debuggers do",
    UNDONE: "takes away what notes what runs",
    RELOADED: "loads PyTorch's modules once more",
    FORGED: "calls code of its own after a file of Python's or a library's",
    LEFT: "a thread, timer or trace function of one cell is at work while others begin",
}
_MALFORMED = "what its process notes of what runs can't be read"
_FULL_FLAG = "more that is forbidden ran in a check of {0} than can be noted: its checks are lost"
_FULL_WORDS = (
    "While {0} was checked, what exercises of this homework forbid was called in more ways than "
    "can be noted, so its checks earn nothing."
)


def rules_of(homework: Homework) -> dict[str, list[str]]:
    """Return the forbidden names of each exercise that has a rule."""
    return {
        cell.grade_id: list(cell.forbids)
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION and cell.forbids
    }


def breach_flag(exercise: str, name: str, cell: str, line: int) -> Flag:
    """Tell the staff that an exercise leads to a name that it forbids, and where."""
    text = f"{exercise} leads to {name}, which it forbids: its checks are lost"
    return Flag(kind=FlagKind.DELEGATION, text=text, cell=cell, line=line)


def breach_words(exercise: str, name: str, cell: str, line: int) -> str:
    """Tell the student the same."""
    place = f"{'The' if not line else f'Line {line} of the'} cell {exercise}"
    if cell != exercise:
        place = f"Line {line} of {cell}"
    return (
        f"{place} leads to {name}. This exercise asks you to write {exercise} without it, so its "
        "checks earn nothing. Comparing your results with it in a cell of your own is allowed."
    )


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a student's process notes of the forbidden, after a check.

    Attributes:
        lost: For each exercise that ran what it forbids, the status of its checks and what to tell
            the student.
        flags: Remarks for the staff.
    """

    lost: dict[str, tuple[Status, str]]
    flags: tuple[Flag, ...]


def read_recorded(
    process: StudentProcess,
    homework: Homework,
    checked: str,
    *,
    told_where: bool,
    had_company: bool,
) -> Recorded:
    """Ask the student's process what of the forbidden ran in a check.

    A process can keep this from us, but accuse nobody but its own student: so what it says counts.
    Of its words none are told: names are those of the rule, places those of the notebook.

    Args:
        process: Where the check has just run.
        homework: Whose rules hold.
        checked: The exercise that the check is about.
        told_where: Whether the student is told the place; it may be chosen to tell something else.
        had_company: Whether other processes lived beside it when the check began: these may have
            ended, and what is asked of the student's process tells it that the check is over.

    Returns:
        What is lost, and what the staff should look at. What one exercise forbids may be used by
        another: where it is not certain whose work ran, nothing is lost.

    Raises:
        ProcessEnded: It does not answer.
    """
    exercises = {c.grade_id: c.forbids for c in homework.cells if c.kind is CellKind.SOLUTION}
    lost: dict[str, tuple[Status, str]] = {}
    flags: dict[Flag, None] = {}
    if not any(exercises.values()):
        return Recorded(lost=lost, flags=())
    noted = process.recorded()[:MOST_NOTES]
    had_company |= process.woke_with_company()
    if exercises.get(checked) and (had_company or process.has_company()):  # which note nothing
        noted = [[PROCESS, "", 0, "", []], *noted]
    if not all(map(_is_note, noted)):
        flags[Flag(kind=FlagKind.HOSTILE, text=_MALFORMED, cell=checked, line=0)] = None
    for name, cell, line, owner, inside in filter(_is_note, noted):
        exercise = owner if _is_about(exercises.get(owner, ()), name) else checked
        rule = exercises.get(exercise, ())
        if rule and name == FULL:
            lost.setdefault(exercise, (Status.FAIL, _FULL_WORDS.format(exercise)))
            flags[Flag(kind=FlagKind.DELEGATION, text=_FULL_FLAG.format(exercise))] = None
        known = cell in process.labels and 0 < line <= _MAX_LINE
        place = (cell, line) if known else (exercise, 0)
        if name in _HOSTILE:
            where = ("", 0) if name == LEFT else place  # once: it is so for all cells that follow
            text = _HOSTILE[name]
            flags[Flag(kind=FlagKind.HOSTILE, text=text, cell=where[0], line=where[1])] = None
        if not _is_about(rule, name):
            continue
        others = exercises.keys() & {owner, *inside} - {exercise}
        if name in (COMPILED, PROCESS) or (exercise != owner and others):
            text = f"{_in_words(rule, name)} ran in a check of {exercise}, which may stand on it"
            flags[Flag(kind=FlagKind.DELEGATION, text=text, cell=place[0], line=place[1])] = None
        elif exercise not in lost:
            told, shown = _in_words(rule, name), place if told_where else (exercise, 0)
            lost[exercise] = (Status.FAIL, breach_words(exercise, told, *shown))
            flags[breach_flag(exercise, told, *place)] = None
    return Recorded(lost=lost, flags=tuple(flags))


def _is_about(rule: Collection[str], noted: str) -> bool:
    """Whether an exercise with this rule has to answer for what was noted."""
    return bool(rule) and (noted in (COMPILED, PROCESS) or forbids(rule, noted))


def _in_words(rule: Collection[str], noted: str) -> str:
    """Return what was noted as the rule calls it."""
    if noted in (COMPILED, PROCESS):
        return noted
    return next((name for name in rule if forbids([name], noted)), "what it may not use")


def _is_note(note: Any) -> bool:
    """Whether it is what ``recorder`` notes there: a hostile process may report anything."""
    return (
        type(note) is list
        and [type(part) for part in note] == [str, str, int, str, list]
        and all(type(cell) is str for cell in note[4])
    )
