"""What the judge says where a student's code leads to what its exercise forbids.

What reading the code finds decides. What a running worker reports is the word of a process that a
student could have tampered with: it only adds remarks for the staff.
"""

from typing import Any

from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.results import Flag, FlagKind
from autograder.judging.student_process import StudentProcess

MAX_FLAGS = 20  # that one submission gets of one kind of look at it
MAX_NAME = 80  # characters of a name in a flag


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
    place = f"Line {line} of {'the cell ' if cell == exercise else ''}{cell}"
    return (
        f"{place} leads to {name}. This exercise asks you to write {exercise} without it, so its "
        "checks earn nothing. Comparing your results with it in a cell of your own is allowed."
    )


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
        for call in process.recorded()[:MAX_FLAGS]
        if _is_call(call) and call[0] in rules.get(call[3], known)
    )
    return tuple(
        Flag(
            kind=FlagKind.DELEGATION,
            text=f"{name}, which an exercise forbids, was called while a check ran",
            cell=cell[:MAX_NAME],
            line=line,
        )
        for name, cell, line in dict.fromkeys(noted)
    )


def _is_call(call: Any) -> bool:
    """Whether it is what ``worker.recorder`` notes: a hostile process may report anything."""
    return type(call) is tuple and [type(part) for part in call] == [str, str, int, str]
