"""Data classes of grading's results, from which all reports are made.

Points are floats, durations are seconds. Texts may contain student text, so escape them for
display. Only ``SubmissionResult.seed`` is secret: no field contains hidden source or values.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from autograder.homework_source.homework import Cell, Homework

# Beginnings of messages.
UNUSABLE = "Your code returned a value that the check could not use"
STOPPED = "Your code was stopped after"
NOTHING_HANDED_IN = "Nothing was handed in"
OTHER_HOMEWORK = f"{NOTHING_HANDED_IN} for this homework"
UNWRITTEN = "is not written yet"  # part of the message if the code called a stub
UNREAD = "Python cannot read"  # part of the message if the code's cell has a syntax error


class Status(enum.StrEnum):
    """The outcome of a check."""

    PASS = "pass"  # noqa: S105 -- a mark, not a password
    PARTIAL = "partial"
    FAIL = "fail"
    ERROR = "error"  # the student's code raised an exception
    TIMEOUT = "timeout"
    CRASH = "crash"  # the student's process ended: killed, out of memory, os._exit, segfault
    INVALID = "invalid"  # the notebook could not be read, or its process broke the protocol
    MANUAL = "manual"  # a written answer, to be graded by hand


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The outcome of one test cell, or of one written answer.

    Attributes:
        check: grade_id of the test cell, such as ``MultiHeadAttention-gradients``.
        exercise: grade_id of the solution cell it belongs to, such as ``MultiHeadAttention``.
        title: Description of the check, from the first line of the cell.
        status: Its outcome.
        score: Points earned, between 0 and ``max_score``; 0 for a written answer not yet graded.
        max_score: Maximum points.
        message: Explanation of a failure for the student; empty for a pass.
        hint: Advice for the student; may be empty.
        traceback: The traceback of the student's own code, if it raised; else empty.
        read: The section of the book to read, as ``chapter#anchor``; may be empty.
        seconds: Duration.
        tried_with: Earlier exercises that the reference replaced in a second try, see
            ``second_try``; empty without one.
        charged_in: The check that deducts points for the same mistake, if this one therefore counts
            as passed, see ``charging``; else empty.
        transcript: Values that its assertions saw, if it failed, see ``transcript``; not stored.
    """

    check: str
    exercise: str
    title: str
    status: Status
    score: float
    max_score: float
    message: str = ""
    hint: str = ""
    traceback: str = ""
    read: str = ""
    seconds: float = 0.0
    tried_with: tuple[str, ...] = ()
    charged_in: str = ""
    transcript: tuple[Any, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class TensorData:
    """A tensor in a transcript, as plain data: processes that only read results import no PyTorch.

    Attributes:
        shape: Its shape.
        dtype: PyTorch's name of its dtype.
        device: The type of its device.
        entries: The bytes of its entries, or of some if there are many.
        entry_type: NumPy's name of their type.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    entries: bytes
    entry_type: str


@dataclass(frozen=True, kw_only=True)
class CellFailure:
    """A student's cell that failed when the notebook was run.

    Attributes:
        cell: grade_id of a solution cell, or ``extra cell N`` for one that the student added.
        status: ERROR, TIMEOUT, CRASH or INVALID.
        message: Description of the failure.
        traceback: The traceback of the student's own code; may be empty.
    """

    cell: str
    status: Status
    message: str
    traceback: str = ""


@dataclass(frozen=True, kw_only=True)
class CellOutput:
    """One output of a cell, for the person who grades by hand.

    Attributes:
        cell: Label of the cell, as in ``CellFailure``.
        text: The text, if it is text.
        png: The image in base64, if it is an image.
    """

    cell: str
    text: str = ""
    png: str = ""


class FlagKind(enum.StrEnum):
    """The subject of a remark for the staff."""

    DELEGATION = "delegation"  # the code ran a layer that its exercise forbids
    FORGED = "forged"  # an instructor's cell was changed
    HOSTILE = "hostile"  # the code accesses internals that no solution needs
    INTERRUPTED = "interrupted"  # grading failed on the course's side
    MISNAMED = "misnamed"  # handed in under another file name
    UNRECORDED = "unrecorded"  # not in nbgrader's gradebook
    SIMILAR = "similar"  # nearly the same as another student's


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A remark for the staff; it changes no mark by itself.

    Attributes:
        kind: Its subject.
        text: Description.
        cell: Label of the cell, as in ``CellFailure``; may be empty.
        line: Line in the cell, from 1; 0 for none.
        students: For similar submissions, their students.
        cells: For similar submissions, the similar cells.
    """

    kind: FlagKind
    text: str
    cell: str = ""
    line: int = 0
    students: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The cell and line as text; may be empty."""
        line = f", line {self.line}" if self.line else ""
        return f"{self.cell}{line}"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Results so far of a notebook that is being graded; another judge can continue from them.

    Attributes:
        results: By check.
        lost: For each exercise that ran a forbidden name, the status of its checks and the message
            to the student.
        flags: Remarks for the staff.
    """

    results: Mapping[str, CheckResult] = field(default_factory=dict)
    lost: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()

    def __or__(self, later: "Progress") -> "Progress":
        """Return the results of both; ``later`` takes precedence."""
        return Progress(
            results={**self.results, **later.results},
            lost={**self.lost, **later.lost},
            flags=tuple(dict.fromkeys((*self.flags, *later.flags))),
        )


@dataclass(frozen=True, kw_only=True)
class SubmissionResult:
    """The result of grading one notebook.

    Attributes:
        student: The student's id (the folder's name).
        homework: The homework's id, such as ``hw03-self-attention``.
        title: The homework's heading; empty in results of earlier versions.
        checks: One result per check, in the notebook's order; complete even if the notebook is
            invalid or missing.
        cell_failures: The student's cells that failed.
        outputs: Outputs of the student's cells.
        flags: Remarks for the staff; never shown to students.
        seconds: Duration of grading.
        seed: Seed of the hidden inputs; for the staff only.
        sandboxed: Whether the student's code ran inside the sandbox.
        error: The reason why nothing could be graded, for the student; else empty.
        handed_in: Time of submission, in UTC and ISO 8601; empty if unknown.
        marked_late: Whether the platform marked the submission as late.
    """

    student: str
    homework: str
    checks: tuple[CheckResult, ...]
    cell_failures: tuple[CellFailure, ...] = ()
    outputs: tuple[CellOutput, ...] = ()
    flags: tuple[Flag, ...] = ()
    seconds: float = 0.0
    seed: int = 0
    sandboxed: bool = True
    error: str = ""
    handed_in: str = ""
    marked_late: bool = False
    title: str = ""

    @property
    def score(self) -> float:
        """Points earned; written answers that are not yet graded count 0."""
        return sum(check.score for check in self.checks)

    @property
    def max_score(self) -> float:
        """Maximum points, written answers included."""
        return sum(check.max_score for check in self.checks)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to grade: no notebook, an unreadable or an unchanged one."""
        judged = [check for check in self.checks if check.status is not Status.MANUAL]
        unwritten = all(UNWRITTEN in check.message for check in judged)
        return bool(self.error) or (bool(judged) and unwritten)

    @property
    def is_unreadable(self) -> bool:
        """Whether the submission is not a readable notebook."""
        return bool(self.error) and not self.error.startswith(NOTHING_HANDED_IN)

    @property
    def interrupted(self) -> bool:
        """Whether grading failed on the course's side, so that the points don't count."""
        return any(flag.kind is FlagKind.INTERRUPTED for flag in self.flags)

    def to_json(self) -> dict[str, Any]:
        """Return plain data that ``from_json`` restores."""
        data = asdict(self)
        for check in data["checks"]:
            del check["transcript"]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SubmissionResult":
        """Restore a result from the data of ``to_json``.

        Args:
            data: Data read from a file, which may contain anything.

        Raises:
            Exception: The data did not come from ``to_json``; the type of exception varies.
        """
        checks = tuple(
            CheckResult(
                **{
                    **check,
                    "status": Status(check["status"]),
                    "tried_with": tuple(check.get("tried_with", ())),
                }
            )
            for check in data["checks"]
        )
        failures = tuple(
            CellFailure(**{**failure, "status": Status(failure["status"])})
            for failure in data["cell_failures"]
        )
        flags = tuple(
            Flag(
                **{
                    **flag,
                    "kind": FlagKind(flag["kind"]),
                    "students": tuple(flag.get("students", ())),
                    "cells": tuple(flag.get("cells", ())),
                }
            )
            for flag in data["flags"]
        )
        outputs = tuple(CellOutput(**output) for output in data.get("outputs", ()))
        found = {"checks": checks, "cell_failures": failures, "flags": flags, "outputs": outputs}
        made = cls(**{**data, **found})
        for part in (made, *checks, *failures, *flags, *outputs):
            _check_types(part)
        if made.handed_in and datetime.fromisoformat(made.handed_in).tzinfo is None:
            raise ValueError(f"handed_in has no time zone: {made.handed_in}")
        return made


_PLAIN: dict[type, tuple[type, ...]] = {
    str: (str,), int: (int,), bool: (bool,), float: (float, int)
}  # fmt: skip


def _check_types(part: Any) -> None:
    """Reject a field whose value does not have the annotated type."""
    for name, kind in type(part).__annotations__.items():
        value = getattr(part, name)
        fits = True
        if kind in _PLAIN:
            fits = isinstance(value, _PLAIN[kind]) and (kind is bool) == isinstance(value, bool)
        elif kind == tuple[str, ...]:
            fits = all(isinstance(text, str) for text in value)
        if not fits or (kind is float and not math.isfinite(value)):
            raise TypeError(f"{name} is {value!r}, expected {kind}")


def not_earned(cell: Cell, status: Status, message: str = "") -> CheckResult:
    """Return the result, 0 points, of an instructor's cell that did not run.

    ``status`` is the reason, and ``message`` explains it to the student.
    """
    return CheckResult(
        check=cell.grade_id, exercise=cell.exercise, title=cell.title, status=status, score=0.0,
        max_score=cell.points, message=message, read=cell.read,
    )  # fmt: skip


def interrupted(homework: Homework, student: str, cause: str) -> SubmissionResult:
    """Return the result of a submission that could not be graded through the course's fault.

    ``cause`` explains the failure to the staff.
    """
    reason = "Grading was interrupted on the course's side; it will be run again."
    flag = Flag(kind=FlagKind.INTERRUPTED, text=cause)
    return replace(ungraded(homework, student, reason), flags=(flag,))


def ungraded(homework: Homework, student: str, reason: str, *, seed: int = 0) -> SubmissionResult:
    """Return the result of a submission that can't be run: every check is INVALID, with 0 points.

    ``reason`` explains it to the student; ``seed`` is that of the hidden inputs it would have had.
    """
    checks = tuple(not_earned(cell, Status.INVALID, reason) for cell in homework.checks)
    return SubmissionResult(
        student=student,
        homework=homework.id,
        title=homework.title,
        checks=checks,
        error=reason,
        seed=seed,
    )
