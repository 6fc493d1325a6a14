"""Whether a student's code leads to what its exercise forbids: as it is read, and as it runs.

Reading is the judge's own: it happens in a fresh worker before any of the student's code runs
there, and decides. What a running worker reports is the word of a process that a student could
have tampered with: it only adds remarks for the staff.
"""

from dataclasses import dataclass, field
from typing import Any

from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.results import CellFailure, Flag, FlagKind, Status
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import Submission
from autograder.sandbox.worker.peer import RemoteError

_SECONDS = 20.0
_MAX_FLAGS = 20
_MAX_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What reading a notebook found.

    Attributes:
        lost: For each exercise that broke its rule, the status of its checks and what to tell the
            student.
        flags: Remarks for the staff.
        unread: The cells that are no Python, which must not run: what nobody can read, a changed
            interpreter may yet understand.
    """

    lost: dict[str, tuple[Status, str]]
    flags: tuple[Flag, ...]
    unread: dict[str, CellFailure] = field(default_factory=dict)


def rules_of(homework: Homework) -> dict[str, list[str]]:
    """Return the forbidden names of each exercise that has a rule."""
    return {
        cell.grade_id: list(cell.forbids)
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION and cell.forbids
    }


def read_code(process: StudentProcess, submission: Submission, homework: Homework) -> Reading:
    """Read a notebook's code without running it.

    Args:
        process: A process in which nothing of the student's has run.
        submission: The notebook.
        homework: Whose rules hold.

    Returns:
        Which exercises are lost, and what the staff should look at.
    """
    rules = rules_of(homework)
    cells = [
        (step.label, step.source, step.kind is CellKind.SOLUTION)
        for step in submission.steps
        if step.kind is not CellKind.TEST
    ]
    try:
        with process.limited(_SECONDS):
            breaches, suspicions, unread = process.ask("worker.reading:read", cells, rules)
    except (ProcessEnded, RemoteError) as error:
        words = "Python itself can't read your notebook: it is too large, or nested too deep."
        flag = Flag(kind=FlagKind.HOSTILE, text=f"its code could not be read ({error})")
        # A crash may have come from outside: as such it is given another try.
        crashed = isinstance(error, ProcessEnded) and error.status is Status.CRASH
        status = Status.CRASH if crashed else Status.INVALID
        return Reading(lost=dict.fromkeys(rules, (status, words)), flags=(flag,))
    lost: dict[str, tuple[Status, str]] = {}
    flags: list[Flag] = []
    for exercise, name, cell, line in breaches:
        lost.setdefault(exercise, (Status.FAIL, _words(exercise, name, cell, line)))
        text = f"{exercise} leads to {name}, which it forbids: its checks are lost"
        flags.append(Flag(kind=FlagKind.DELEGATION, text=text, cell=cell, line=line))
    for kind, name, cell, line in suspicions:
        text = f"{kind} {'into ' if kind == 'pries' else ''}{name[:_MAX_NAME]}"
        flags.append(Flag(kind=FlagKind.HOSTILE, text=text, cell=cell, line=line))
    failures = {
        label: CellFailure(cell=label, status=Status.ERROR, message=message, traceback=traceback)
        for label, message, traceback in unread
    }
    return Reading(lost=lost, flags=tuple(flags[:_MAX_FLAGS]), unread=failures)


def recorded_flags(process: StudentProcess, homework: Homework) -> tuple[Flag, ...]:
    """Ask the student's process which forbidden functions were called.

    Args:
        process: Where a check has just run.
        homework: Whose rules hold.

    Returns:
        Remarks for the staff; none if the process does not say. What one exercise forbids may
        be called by another.
    """
    exercises = (cell for cell in homework.cells if cell.kind is CellKind.SOLUTION)
    rules = {cell.grade_id: set(cell.forbids) for cell in exercises}
    known = set().union(*rules.values())
    noted = (
        call[:3]
        for call in process.recorded()[:_MAX_FLAGS]
        if _is_call(call) and call[0] in rules.get(call[3], known)
    )
    return tuple(
        Flag(
            kind=FlagKind.DELEGATION,
            text=f"{name}, which an exercise forbids, was called while a check ran",
            cell=cell[:_MAX_NAME],
            line=line,
        )
        for name, cell, line in dict.fromkeys(noted)
    )


def _is_call(call: Any) -> bool:
    """Whether it is what ``worker.recorder`` notes: a hostile process may report anything."""
    return type(call) is tuple and [type(part) for part in call] == [str, str, int, str]


def _words(exercise: str, name: str, cell: str, line: int) -> str:
    place = f"Line {line} of {'the cell ' if cell == exercise else ''}{cell}"
    return (
        f"{place} leads to {name}. This exercise asks you to write {exercise} without it, so its "
        "checks earn nothing. Comparing your results with it in a cell of your own is allowed."
    )
