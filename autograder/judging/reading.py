"""What reading a notebook's code found: broken rules, hostile code, and what is no Python.

It is read in a fresh worker before any of the student's code runs there, so that the answer can be
trusted.
"""

from dataclasses import dataclass, field

from autograder.homework_source.homework import CellKind, Homework
from autograder.judging.delegation import MAX_FLAGS, MAX_NAME, breach_flag, breach_words, rules_of
from autograder.judging.results import CellFailure, Flag, FlagKind, Status
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.submission import Step, Submission
from autograder.sandbox.worker.peer import RemoteError

_SECONDS = 20.0


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
    cells = [_as_read(step) for step in submission.steps]
    try:
        with process.limited(_SECONDS):
            breaches, suspicions, unread = process.ask(
                "course_worker.reader.reading:read", cells, rules
            )
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
        lost.setdefault(exercise, (Status.FAIL, breach_words(exercise, name, cell, line)))
        flags.append(breach_flag(exercise, name, cell, line))
    for kind, name, cell, line in suspicions:
        text = f"{kind} {'into ' if kind == 'pries' else ''}{name[:MAX_NAME]}"
        flags.append(Flag(kind=FlagKind.HOSTILE, text=text, cell=cell, line=line))
    failures = {
        label: CellFailure(cell=label, status=Status.ERROR, message=message, traceback=traceback)
        for label, message, traceback in unread
    }
    return Reading(lost=lost, flags=tuple(flags[:MAX_FLAGS]), unread=failures)


def _as_read(step: Step) -> tuple[str, str | None, bool]:
    """Return a step as the reader is told of it: of a test only which exercise it is about."""
    if step.kind is CellKind.TEST and step.cell:
        return step.cell.exercise, None, False
    return step.label, step.source, step.kind is CellKind.SOLUTION
