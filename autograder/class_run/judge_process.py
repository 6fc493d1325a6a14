"""Runs a judge in its own process, so that a result too expensive to compare fails only its check.

A judge that dies, computes for too long or waits longer than a notebook may take is replaced by
another, which continues where it stopped. If that happens while a cell of the student's runs, the
notebook ends there, and only the checks before it count.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import psutil

from autograder.class_run.options import GradingOptions
from autograder.homework_source.homework import Homework
from autograder.judging.results import (
    UNUSABLE,
    CheckResult,
    Flag,
    FlagKind,
    Progress,
    Status,
    SubmissionResult,
    not_earned,
    ungraded,
)
from autograder.judging.second_try import to_try_again
from autograder.sandbox.zygote import SandboxError

_LOOK_SECONDS = 0.2
_MOST_SECONDS = 10.0  # of processor time, for the judge's own part of one check
_ON_A_GPU = 4  # times as long: CUDA has to start, and waiting for it takes processor time
_LATER_SECONDS = 3.0  # likewise, after a judge was ended for the same submission
_SILENT_SECONDS = 120.0  # without a message, beyond the time limit of the notebook
_KILLED = "it was killed from outside, or crashed; has this machine run out of memory?"
_TRIES = 3  # after a judge ends by itself: it may have been killed from outside


@dataclass(frozen=True)
class Started:
    """A judge's process that has just started.

    Attributes:
        connection: Takes its work and returns its results, see ``judge_server``.
        process: The process.
        most_bytes: The memory that it may hold.
    """

    connection: "Connection[Any, Any]"
    process: psutil.Process
    most_bytes: int


class _JudgeEnded(Exception):  # noqa: N818 -- it says what happened
    """A judge's process has ended.

    Attributes:
        check: The check that it worked on; empty if none.
        cell: The student's cell that ran; empty if none.
        by_us: Whether ``JudgeProcess`` stopped it, for too much time or memory, or for silence.

    Args:
        cause: Why it ended, for the message; by default, that it was killed.
    """

    def __init__(self, check: str, cell: str, *, by_us: bool, cause: str = "") -> None:
        where = f" while it ran {check}" if check else ""
        super().__init__(f"a judge ended{where}: {cause or _KILLED}")
        self.check = check
        self.cell = cell
        self.by_us = by_us


class JudgeProcess:
    """Has submissions graded by a ``Judge`` in another process, which ``start`` starts."""

    def __init__(
        self, homework: Homework, options: GradingOptions, start: Callable[[], Started]
    ) -> None:
        self._homework = homework
        self._options = options
        self._start = start
        self._judge: Started | None = None
        self._known = Progress()

    def grade(self, notebook: bytes, student: str, *, seed: int) -> SubmissionResult:
        """Grade one notebook, see ``Judge.grade``.

        Raises:
            SandboxError: The sandbox broke down, or every judge ends at this notebook.
        """
        self._known = Progress()
        began = time.monotonic()
        ends: Counter[str] = Counter()
        while True:
            try:
                taken = time.monotonic() - began
                return self._ask(notebook, student, seed, taken, is_first=not ends)
            except _JudgeEnded as ended:
                self.close()
                ends[ended.check or ended.cell] += 1
                is_theirs = ended.by_us or ends[ended.check or ended.cell] == _TRIES
                if ended.check and is_theirs:
                    self._known |= Progress(results={ended.check: self._lost(ended.check)})
                elif ended.cell and is_theirs:
                    return self._given_up(student, ended.cell, seed)
                elif ends[""] == _TRIES:
                    raise SandboxError(str(ended)) from None

    def close(self) -> None:
        """End the judge's process; the next submission starts another."""
        judge, self._judge = self._judge, None
        if judge:
            with contextlib.suppress(psutil.NoSuchProcess):
                judge.process.kill()
            judge.connection.close()

    def _ask(
        self,
        notebook: bytes,
        student: str,
        seed: int,
        taken: float,
        *,
        is_first: bool,
    ) -> SubmissionResult:
        most_seconds = _MOST_SECONDS if is_first else _LATER_SECONDS
        most_seconds *= _ON_A_GPU if self._options.device == "cuda" else 1
        check = cell = ""
        try:
            judge = self._alive()
            judge.connection.send((notebook, student, seed, self._known, taken))
            began, silent = _used(judge.process), 0.0
            most_silent = self._options.limits.submission_seconds + _SILENT_SECONDS
            while True:
                if not judge.connection.poll(_LOOK_SECONDS):
                    silent += _LOOK_SECONDS  # not by the clock: the machine may have been suspended
                    if silent > most_silent or self._costs_too_much(judge, began + most_seconds):
                        raise _JudgeEnded(check, cell, by_us=True)
                    continue
                kind, what = judge.connection.recv()
                silent = 0.0
                if not (kind == "cell" and cell and what):  # consecutive cells count as one
                    began = _used(judge.process)
                if kind == "cell":
                    check, cell = "", what
                elif kind == "check":
                    check, cell = what, ""
                elif kind == "progress":
                    check, self._known = "", self._known | what
                elif kind == "sandbox":
                    self.close()
                    raise SandboxError(what)
                elif kind == "broken":
                    raise _JudgeEnded(check, cell, by_us=False, cause=what)
                else:
                    result: SubmissionResult = what
                    return result
        except (EOFError, ConnectionError, psutil.NoSuchProcess) as error:
            raise _JudgeEnded(check, cell, by_us=False) from error

    def _alive(self) -> Started:
        if self._judge is None:
            self._judge = self._start()
            self._judge.connection.send((self._homework, self._options))
        return self._judge

    def _costs_too_much(self, judge: Started, most_seconds: float) -> bool:
        """Return whether a judge exceeds ``most_seconds`` of processor time or its memory limit."""
        held = int(judge.process.memory_info().rss)
        return _used(judge.process) > most_seconds or held > judge.most_bytes

    def _given_up(self, student: str, cell: str, seed: int) -> SubmissionResult:
        words = (
            f"Grading stopped: your notebook kept the judge itself busy while its cell {cell} ran. "
            "Does it write to connections or files that are not its own?"
        )
        given_up = ungraded(self._homework, student, words, seed=seed)
        found = [self._known.results.get(check.check, check) for check in given_up.checks]
        flag = Flag(kind=FlagKind.HOSTILE, text="keeps the judge busy", cell=cell)
        return replace(
            given_up,
            checks=tuple(found),
            flags=(*self._known.flags, flag),
            sandboxed=self._options.isolated,
            error="",
        )

    def _lost(self, check: str) -> CheckResult:
        results = self._known.results
        known = results.get(check)
        if known and not known.tried_with:  # it was tried a second time
            again = to_try_again(self._homework, results)
            return replace(known, tried_with=again.get(check, ()))
        cell = next(cell for cell in self._homework.checks if cell.grade_id == check)
        message = (
            f"{UNUSABLE}: that would have taken too much time or memory. How large are the "
            "tensors and the numbers in it?"
        )
        lost = not_earned(cell, Status.FAIL, message)
        return replace(lost, tried_with=known.tried_with) if known else lost


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
