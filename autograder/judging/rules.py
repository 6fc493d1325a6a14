"""Rules of exercises: the layers and functions of PyTorch that a solution must not use.

The worker's recorder reports the forbidden names that ran during a check; the exercise of that
check then loses its points. The worker's reader finds code that accesses internals of Python or
PyTorch; such code is flagged and costs no points.
"""

from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.results import Flag, FlagKind
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import Submission
from autograder.sandbox.worker.peer import RemoteError

_MAX_FLAGS = 20  # of one submission
_READ_SECONDS = 20.0


def rules_of(homework: Homework) -> dict[str, tuple[str, ...]]:
    """Return the names that each exercise forbids, by its grade_id, if it forbids any."""
    return {
        cell.grade_id: cell.forbids
        for cell in homework.cells
        if cell.kind is CellKind.SOLUTION and cell.forbids
    }


def breach_flag(exercise: str, name: str) -> Flag:
    """Return the flag for the staff: a check of an exercise ran a forbidden name."""
    text = f"{exercise} uses {name}, which it forbids: its checks are lost"
    return Flag(kind=FlagKind.DELEGATION, text=text, cell=exercise)


def breach_message(exercise: str, name: str) -> str:
    """Return the message to the student: a check of an exercise ran a forbidden name."""
    return (
        f"Your {exercise} uses {name}. This exercise asks you to write {exercise} without it, so "
        "its checks earn nothing. Comparing your results with it in a cell of your own is allowed."
    )


def flag_prying(process: StudentProcess, submission: Submission) -> tuple[Flag, ...]:
    """Return flags for code that accesses internals; ``process`` must not have run student code."""
    cells = [
        (step.label, step.source)
        for step in submission.steps
        if step.cell is None or step.kind is CellKind.SOLUTION
    ]
    try:
        with process.limited(_READ_SECONDS):
            found = process.ask("course_worker.reader:read", cells)
    except (ProcessEnded, RemoteError) as error:
        text = f"its code could not be read ({error})"
        return (Flag(kind=FlagKind.HOSTILE, text=text),)
    return tuple(
        Flag(kind=FlagKind.HOSTILE, text=f"pries into {name}", cell=cell, line=line)
        for name, cell, line in found[:_MAX_FLAGS]
    )
