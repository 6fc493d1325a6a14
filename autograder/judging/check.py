"""Runs one test cell in the judge; its message to the student reveals no hidden value."""

import ast
import builtins
import contextlib
import functools
import hashlib
import io
import random
import re
import time
import traceback
from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np
import torch

from autograder.homework_source.cell_text import regions
from autograder.homework_source.homework import Cell
from autograder.judging.results import UNUSABLE, CheckResult, Status
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.judging.transcript import Recorder
from autograder.judging.unwritten import unwritten
from autograder.sandbox.worker.peer import Proxy, RemoteError
from autograder.sandbox.zygote import SandboxError
from course_lib.testing import CheckFailure, observed_by
from course_lib.usual_errors import hint_for, is_unwritten

_MAX_MESSAGE = 400
_MAX_WORDS = 4_000  # of a check's own message
_NOT_INSTALLED = (
    "You import {0}, which is not installed where work is graded, so the cell that imports it "
    "ended there; use the packages that README.md names."
)
_NO_GRADIENT = "does not require grad and does not have a grad_fn"  # from torch's backward()
# Patterns of exceptions that a limit causes, and advice.
_LIMIT_HINTS = (
    (
        r"MemoryError|not enough memory|can't allocate memory|Cannot allocate memory",
        "The limit on memory was reached. Is a tensor much larger than the task needs, or does a "
        "list keep every step?",
    ),
    (
        r"\[Errno 28\]|\[Errno 27\]|No space left|File too large",
        "The limit on disk space was reached. Nothing needs to be written to files here.",
    ),
    (
        r"\[Errno 11\]|can't start new thread|BlockingIOError",
        "The limit on processes and threads was reached. Nothing needs to be started here.",
    ),
    (
        r"\[Errno 24\]|Too many open files",
        "The limit on open files was reached. Close what you open: use a with block.",
    ),
    (
        r"'/proc/|NoSuchProcess",
        "Your code cannot measure the machine here: there is no /proc where homework is graded. "
        "Measure in a cell of your own.",
    ),
)


class CheckNamespace(dict[str, Any]):
    """The globals of a test cell; undefined names are looked up in the student's process.

    Args:
        trusted: Names that setup cells defined in the judge.
        process: The student's process.
    """

    def __init__(self, trusted: dict[str, Any], process: StudentProcess) -> None:
        super().__init__(trusted)
        self._process = process
        self._found: dict[str, Proxy] = {}

    def __missing__(self, name: str) -> Any:
        if name in self._found:
            return self._found[name]
        if hasattr(builtins, name):  # Python looks there next
            raise KeyError(name)
        value = self._process.lookup(name)
        # Functions and classes are cached; variables may change.
        if isinstance(value, Proxy) and value.__remote_type__ in ("function", "type"):
            self._found[name] = value
        return value


def run_check(
    cell: Cell,
    process: StudentProcess,
    trusted: dict[str, Any],
    *,
    seed: int,
    seconds: float,
    has_variants: bool = False,
) -> CheckResult:
    """Run a test cell against the student's process.

    Args:
        cell: The instructor's test cell, hidden tests included.
        process: The student's process.
        trusted: Names that setup cells defined in the judge.
        seed: Seeds every random generator before the cell runs.
        seconds: Time limit.
        has_variants: Whether the result will be compared with variants. If so, the check continues
            after a failed assertion, and a failed result has a transcript.

    Returns:
        The outcome, safe to show to the student.

    Raises:
        SandboxError: The sandbox failed; this is not a result of the student's code.
    """
    started = time.monotonic()
    file = f"<check {cell.grade_id}>"
    namespace = CheckNamespace(trusted, process)
    score, found = 0.0, {}
    recorder = Recorder(file)
    observed = observed_by(recorder) if has_variants else contextlib.nullcontext()
    try:
        seed_everything(seed, cell.grade_id)
        process.complaint = None
        with (
            process.limited(seconds),
            contextlib.redirect_stdout(io.StringIO()),
            observed,
        ):
            partial = _execute(cell.source, file, namespace)
        if recorder.failure:
            raise recorder.failure
        score = cell.points if partial is None else min(max(partial, 0.0), cell.points)
        found = _describe_score(score, cell.points)
    except ProcessEnded as ended:
        found = {"status": ended.status, "message": ended.message}
    except SandboxError:  # not the student's fault
        raise
    except Exception as error:
        if isinstance(error, RemoteError) and process.complaint:
            error = process.complaint.with_traceback(error.__traceback__)
        last = None if error is recorder.failure else error
        error = recorder.failure or error  # the first failure
        lines = recorder.lines or _lines(error, file)
        found = _explain(error, cell, lines, cells=process.cells)
        if process.not_installed and isinstance(error, NameError | NotImplementedError):
            found["hint"] = _NOT_INSTALLED.format(", ".join(dict.fromkeys(process.not_installed)))
        if has_variants:
            found["transcript"] = recorder.transcript(last)
    return CheckResult(
        check=cell.grade_id, exercise=cell.exercise, title=cell.title, score=score,
        max_score=cell.points, read=cell.read, seconds=time.monotonic() - started, **found,
    )  # fmt: skip


def seed_everything(seed: int, label: str) -> None:
    """Seed every random generator from ``seed`` and a ``label``, such as a check's grade_id."""
    digest = hashlib.sha256(f"{seed}/{label}".encode()).digest()
    derived = int.from_bytes(digest[:8], "big") >> 1  # 63 bits
    # torch.manual_seed also seeds an unused GPU, but takes a slow stack trace for it.
    seed_torch = torch if torch.cuda.device_count() else torch.default_generator
    seed_torch.manual_seed(derived)
    random.seed(derived)
    np.random.seed(derived % 2**32)


def _execute(source: str, file: str, namespace: CheckNamespace) -> float | None:
    """Execute a cell; return the value of its last line if that is a number."""
    body, last = _compile(source, file)
    exec(body, namespace)  # noqa: S102 -- the instructor's own code
    value: Any = eval(last, namespace) if last else None  # noqa: S307 -- likewise
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value == value else None


@functools.cache
def _compile(source: str, file: str) -> tuple[CodeType, CodeType | None]:
    """Compile a cell, once for all submissions; a last line that is an expression separately."""
    tree = ast.parse(source, filename=file)
    *body, last = tree.body or [ast.Pass(lineno=1, col_offset=0)]
    if not isinstance(last, ast.Expr):
        return compile(tree, file, "exec"), None
    alone = compile(ast.Expression(last.value), file, "eval")
    return compile(ast.Module(body, []), file, "exec"), alone


def _describe_score(score: float, points: float) -> dict[str, Any]:
    if score >= points:
        return {"status": Status.PASS}
    message = f"Partly right: {score:g} of {points:g} points."
    return {"status": Status.PARTIAL if score > 0 else Status.FAIL, "message": message}


def _explain(
    error: Exception, cell: Cell, lines: set[int], *, cells: Mapping[str, str]
) -> dict[str, Any]:
    # True also if a helper in the visible part failed and the hidden part called it.
    hidden = any(line in region for region in regions(cell) for line in lines)
    if isinstance(error, CheckFailure):
        summary, detail = error.summary, error.detail
        if hidden:
            detail = ""
        message = "\n".join(_cut(part) for part in (summary, detail) if part)
        return {"status": Status.FAIL, "message": message, "hint": error.hint}
    if isinstance(error, RemoteError):
        return _explain_remote(error, cell, cells)
    if isinstance(error, AssertionError):
        return {"status": Status.FAIL, "message": _cut(str(error)) or f"Not so: {cell.title}."}
    if isinstance(error, RuntimeError) and _NO_GRADIENT in str(error):
        hint = hint_for(_NO_GRADIENT)
        return {"status": Status.FAIL, "message": "No gradient flows back.", "hint": hint}
    # Trusted code failed on a value of the student's code; its message may reveal hidden values.
    return {
        "status": Status.FAIL,
        "message": f"{UNUSABLE} ({type(error).__name__}). Does it return exactly what its "
        "docstring promises?",
    }


def _explain_remote(error: RemoteError, cell: Cell, cells: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(error, NotImplementedError) and is_unwritten(error.message):
        return {"status": Status.FAIL, **unwritten(error.traceback, cell.exercise, cells)}
    message = error.message
    message = message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + " …"
    return {
        "status": Status.ERROR,
        "message": f"Your code raised {error.type_name}: {message}",
        "hint": _limit_hint(f"{error.type_name}: {message}") or hint_for(message),
        "traceback": error.traceback,
    }


def _limit_hint(raised: str) -> str:
    return next((hint for pattern, hint in _LIMIT_HINTS if re.search(pattern, raised)), "")


def _cut(text: str) -> str:
    """Return a shortened message, because a student's process may have sent megabytes of text."""
    return text if len(text) <= _MAX_WORDS else text[:_MAX_WORDS] + " …"


def _lines(error: BaseException, file: str) -> set[int]:
    """Return the numbers of the lines of ``file`` in an error's traceback."""
    return {f.lineno or 0 for f in traceback.extract_tb(error.__traceback__) if f.filename == file}
