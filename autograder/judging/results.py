"""What grading finds: plain, documented data that every report is made from.

Points are floats; durations are seconds. Texts may hold what a student wrote: escape them wherever
they are shown. Nothing here holds hidden source, hidden values or seeds, but for
``SubmissionResult.seed``, which is the staff's.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from autograder.homework_source.homework import Cell, Homework

UNUSABLE = "What your code returned could not be used by the check"  # begins such a message
STOPPED = "Your code was stopped after"  # begins such a message
NOTHING_HANDED_IN = "Nothing was handed in"  # begins the reason why such a one is not graded
OTHER_HOMEWORK = f"{NOTHING_HANDED_IN} for this homework"  # likewise
UNWRITTEN = "is not written yet"  # in the message where a stub was called


Forgiven = tuple[tuple[str, tuple[str, ...]], ...]
"""Mistakes in words, each with the checks that charge it."""


class Status(enum.StrEnum):
    """How a check ended."""

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
        title: What is checked, in words, from the first line of the cell.
        status: How it ended.
        score: Points earned, between 0 and ``max_score``; 0 for a written answer not yet graded.
        max_score: Points of the cell.
        message: What went wrong, for the student: shapes, dtypes, words; empty for a pass.
        hint: What to look at; empty if the check knows nothing more.
        traceback: The traceback of the student's own code, if it raised; else empty.
        read: Where in the book to read on, as ``chapter#anchor``; else empty.
        seconds: How long the check took.
        tried_with: Earlier exercises whose reference took the place of the student's when the
            check was run a second time, see ``second_try``; empty if it was not.
        charged_in: The check that the same mistake costs, where this one counts as passed for
            that reason, see ``charging``; else empty.
        transcript: What its assertions saw, if it failed, see ``transcript``; in no file.
        forgave: Mistakes that it passed over, each with the checks that charge it, see
            ``forgiven``; in no file.
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
    forgave: Forgiven = ()


@dataclass(frozen=True, kw_only=True)
class CellFailure:
    """A cell of the student's that did not run to its end when the notebook was run.

    Attributes:
        cell: grade_id of a solution cell, or ``extra cell N`` for one that the student added.
        status: ERROR, TIMEOUT, CRASH or INVALID.
        message: What happened, in words.
        traceback: The traceback of the student's own code, if there is one.
    """

    cell: str
    status: Status
    message: str
    traceback: str = ""


@dataclass(frozen=True, kw_only=True)
class CellOutput:
    """Something that a cell showed, for a person who grades by hand.

    Attributes:
        cell: Label of the cell, as in ``CellFailure``.
        text: What it printed, if it is a text.
        png: In base64, if it is a picture.
    """

    cell: str
    text: str = ""
    png: str = ""


class FlagKind(enum.StrEnum):
    """What a remark for the staff is about."""

    DELEGATION = "delegation"  # the code leads to what its exercise forbids
    FORGED = "forged"  # what is the instructor's was changed in the notebook
    HOSTILE = "hostile"  # the code touches what no solution has business with
    INTERRUPTED = "interrupted"  # grading failed on the course's side
    MISNAMED = "misnamed"  # handed in under another file name
    UNRECORDED = "unrecorded"  # not in nbgrader's gradebook
    SIMILAR = "similar"  # nearly the same as another's


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A remark for the staff; it changes no mark by itself.

    Attributes:
        kind: What it is about.
        text: What was seen, in words.
        cell: Label of the cell, as in ``CellFailure``; empty if it is about no cell.
        line: Line in the cell, from 1; 0 if it is about no line.
        students: All who are nearly the same, if it is about that.
        cells: The cells in which they are.
    """

    kind: FlagKind
    text: str
    cell: str = ""
    line: int = 0
    students: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place in words; empty if there is none."""
        line = f", line {self.line}" if self.line else ""
        return f"{self.cell}{line}"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What is certain while a notebook is graded: another judge can go on from there.

    Attributes:
        results: By check.
        lost: For each exercise that broke its rule, the status of its checks and what to tell the
            student.
        flags: Remarks for the staff about what ran.
    """

    results: Mapping[str, CheckResult] = field(default_factory=dict)
    lost: Mapping[str, tuple[Status, str]] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()

    def __or__(self, later: "Progress") -> "Progress":
        """Return this and what came later, which holds where they differ."""
        return Progress(
            results={**self.results, **later.results},
            lost={**self.lost, **later.lost},
            flags=tuple(dict.fromkeys((*self.flags, *later.flags))),
        )


@dataclass(frozen=True, kw_only=True)
class SubmissionResult:
    """Everything that grading one notebook found.

    Attributes:
        student: The student's id (the folder's name).
        homework: The homework's id, such as ``hw03-self-attention``.
        title: The homework's heading; empty in results of earlier versions.
        checks: One result a check, in the notebook's order; complete also when the notebook is
            invalid or missing.
        cell_failures: Cells that did not run to their end.
        outputs: What the student's cells showed when they were run.
        flags: Remarks for the staff; never shown to students.
        seconds: How long grading took.
        seed: Seed of the inputs that were drawn; for the staff alone.
        sandboxed: Whether the student's code ran inside the sandbox.
        error: Why nothing could be graded, in words for the student; else empty.
        handed_in: When, in UTC and ISO 8601; empty if that is not known.
        marked_late: Whether the platform that it was handed in to calls it late.
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
        """Points earned, written answers not yet graded counting 0."""
        return sum(check.score for check in self.checks)

    @property
    def max_score(self) -> float:
        """Points to be had, written answers included."""
        return sum(check.max_score for check in self.checks)

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing: no notebook, an unreadable one, or one as it was handed out."""
        judged = [check for check in self.checks if check.status is not Status.MANUAL]
        unwritten = all(UNWRITTEN in check.message for check in judged)
        return bool(self.error) or (bool(judged) and unwritten)

    @property
    def is_unreadable(self) -> bool:
        """Whether something was handed in that is no notebook."""
        return bool(self.error) and not self.error.startswith(NOTHING_HANDED_IN)

    @property
    def interrupted(self) -> bool:
        """Whether grading failed on the course's side: the points are no mark of the student's."""
        return any(flag.kind is FlagKind.INTERRUPTED for flag in self.flags)

    def to_json(self) -> dict[str, Any]:
        """Return plain data that ``from_json`` restores."""
        data = asdict(self)
        for check in data["checks"]:
            del check["forgave"], check["transcript"]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SubmissionResult":
        """Restore what ``to_json`` returned.

        Args:
            data: That; a file may hold anything in its place.

        Raises:
            Exception: Of one kind or another, if it is nothing that ``to_json`` returns.
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
    """Refuse a field of a text, of texts or of a number that holds anything else."""
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
    """Return the result of a check that did not run.

    Args:
        cell: The instructor's cell.
        status: Why not.
        message: In words for the student.

    Returns:
        No points.
    """
    return CheckResult(
        check=cell.grade_id, exercise=cell.exercise, title=cell.title, status=status, score=0.0,
        max_score=cell.points, message=message, read=cell.read,
    )  # fmt: skip


def interrupted(homework: Homework, student: str, cause: str) -> SubmissionResult:
    """Return the result of a submission that the course failed to grade: it is no mark.

    Args:
        homework: The instructor's notebook.
        student: The student's id.
        cause: What went wrong, in words for the staff.
    """
    reason = "Grading was interrupted on the course's side; it will be run again."
    flag = Flag(kind=FlagKind.INTERRUPTED, text=cause)
    return replace(ungraded(homework, student, reason), flags=(flag,))


def ungraded(homework: Homework, student: str, reason: str, *, seed: int = 0) -> SubmissionResult:
    """Return the result of a submission that can't be run.

    Args:
        homework: The instructor's notebook.
        student: The student's id.
        reason: Why, in words for the student.
        seed: The seed it would have been graded with.

    Returns:
        A result in which every check is INVALID and earns nothing.
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
