"""The untrusted process that runs one student's code; it is restarted when it ends."""

import contextlib
import re
import signal
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from autograder.clean_text import one_line
from autograder.judging.results import STOPPED, CellFailure, Status
from autograder.sandbox.time_limit import TimeLimit, by_the_clock
from autograder.sandbox.worker.peer import Peer, RemoteError
from autograder.sandbox.worker.wire import Wire, WireClosed, WireError
from autograder.sandbox.zygote import SandboxError, Worker, Zygote
from course_lib.testing import CheckFailure

_NO_MODULE = re.compile(r"No module named '([A-Za-z_]\w{0,60})")
_GRACE_SECONDS = 0.5
_START_SECONDS = 60.0
_SHOW_SECONDS = 10.0  # for drawing a cell's plots


class ProcessEnded(Exception):  # noqa: N818 -- it says what happened
    """The student's process was terminated, or ended by itself.

    Attributes:
        status: TIMEOUT, CRASH or INVALID.
        message: The reason, in words for the student.
    """

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class StudentProcess:
    """Runs a student's cells and looks up objects; runs the cells again after a restart.

    Args:
        sandbox: Starts the process.
        seconds: Time limit of each cell, see ``TimeLimit``.
        submission_seconds: Limit of the elapsed time of everything.
        began: Start of that time, as ``time.monotonic``; now, if None.

    Attributes:
        complaint: The failure of a check's callback that the student's code called, or None. The
            student's process only sees an error without a message.
        not_installed: Packages that the student's cells could not import.
    """

    def __init__(
        self,
        sandbox: Zygote,
        *,
        seconds: float,
        submission_seconds: float,
        began: float | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        self._end = (time.monotonic() if began is None else began) + submission_seconds
        self._submission_seconds = submission_seconds
        self._cells: list[tuple[str, str]] = []
        self._worker: Worker | None = None
        self._peer: Peer | None = None
        self.complaint: CheckFailure | None = None
        self.not_installed: list[str] = []

    def run_cell(self, label: str, source: str) -> CellFailure | None:
        """Run a cell; return the failure that stopped it, or None.

        A cell that ended the process is not run again after the restart.
        """
        try:
            with self.limited(self._seconds):
                self._alive().call("course_worker.shell:run_cell", (label, source))
        except RemoteError as error:
            self._cells.append((label, source))
            if missing := _NO_MODULE.match(error.message):
                self.not_installed.append(missing[1])
            return CellFailure(
                cell=label, status=Status.ERROR, message=str(error), traceback=error.traceback
            )
        except ProcessEnded as ended:
            return CellFailure(cell=label, status=ended.status, message=ended.message)
        self._cells.append((label, source))
        return None

    @property
    def cells(self) -> dict[str, str]:
        """The sources of the cells that have run, by label; the last counts if labels repeat."""
        return dict(self._cells)

    def take_shown(self) -> Any:
        """Return the last cell's outputs, which are untrusted; None if the process fails."""
        if self._peer is None:
            return None
        try:
            with self.limited(_SHOW_SECONDS):
                return self._peer.call("course_worker.outputs:take_shown", ())
        except (RemoteError, ProcessEnded):
            return None

    def lookup(self, name: str) -> Any:
        """Return the student's object with this name; call it inside ``limited``.

        Raises:
            NameError: There is none.
        """
        return self._alive().call("course_worker.shell:lookup", (name,))

    def ask(self, function: str, *args: Any) -> Any:
        """Return the result of ``module:function`` in the worker; call this inside ``limited``."""
        return self._alive().call(function, args)

    def record(self, names: Sequence[str]) -> None:
        """Start recording the runs of these forbidden functions, classes and modules."""
        with contextlib.suppress(RemoteError), self.limited(_SHOW_SECONDS):
            self.ask("course_worker.recorder:begin", list(names))

    def recorded(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that ran since ``record``; none if the process has ended."""
        if self._peer is None:
            return []
        try:
            with self.limited(_SHOW_SECONDS):
                found = self.ask("course_worker.recorder:end")
        except RemoteError:
            return []
        return [name for name in names if isinstance(found, list) and name in found]

    def used(self) -> float:
        """Return the processor time in seconds that it and its children have used so far."""
        return self._sandbox.used(self._worker) if self._worker else 0.0

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Limit the time of all calls to the process inside the block.

        Raises:
            ProcessEnded: The time ran out, the process died, or it broke the protocol. The next
                call restarts it.
        """
        peer = self._alive()
        limit = self._begin_limit(peer, seconds)
        try:
            yield
        finally:
            # Even if a test cell caught the exception, the connection is unusable.
            if peer.failure is not None:
                raise self._ended(peer.failure, limit) from peer.failure

    def _begin_limit(self, peer: Peer, seconds: float) -> TimeLimit:
        assert self._worker is not None
        limit = TimeLimit(seconds, partial(self._used, self._worker), end=self._end)
        peer.wire.time_left = limit.left
        return limit

    def _used(self, worker: Worker) -> float:
        try:
            return self._sandbox.used(worker)
        except SandboxError as error:  # closes the connection even if a cell catches it
            raise WireClosed("the sandbox is gone") from error

    def _ended(self, failure: Exception, limit: TimeLimit) -> ProcessEnded:
        if isinstance(failure, TimeoutError):
            self.stop(grace=0.0)
            return ProcessEnded(Status.TIMEOUT, self._explain_timeout(limit))
        exit_code = self.stop()
        if isinstance(failure, WireClosed):
            return ProcessEnded(Status.CRASH, _explain_crash(exit_code))
        reason = one_line(str(failure))
        return ProcessEnded(Status.INVALID, f"The answer of your code can't be read: {reason}.")

    def stop(self, *, grace: float = _GRACE_SECONDS) -> int | None:
        """End the process; return its exit code if it ended by itself within ``grace`` seconds."""
        worker, self._worker, self._peer = self._worker, None, None
        return self._sandbox.stop(worker, grace=grace) if worker else None

    def _alive(self) -> Peer:
        if self._peer is None:
            if time.monotonic() > self._end:
                raise ProcessEnded(Status.TIMEOUT, self._notebook_timeout())
            self._worker = self._sandbox.start()
            self._peer = Peer(Wire(self._worker.connection), describe_error=self._hide_error)
            self._expect_answer(self._peer)
            self._run_cells_again(self._peer)
        return self._peer

    def _hide_error(self, error: BaseException) -> dict[str, Any]:
        # An error in the judge may reveal hidden values to the student's process.
        if isinstance(error, CheckFailure):
            self.complaint = error
        nothing = {"message": "", "traceback": ""}
        return {"type_name": "RuntimeError", "bases": ["RuntimeError"], **nothing}

    def _expect_answer(self, peer: Peer) -> None:
        """Check that the worker answers before it runs student code."""
        peer.wire.time_left = by_the_clock(_START_SECONDS)
        try:
            peer.call("builtins:bool", (True,))
        except (TimeoutError, WireClosed, WireError) as error:
            exit_code = self.stop()
            raise SandboxError(f"a worker did not start (exit code {exit_code})") from error

    def _run_cells_again(self, peer: Peer) -> None:
        for label, source in self._cells:
            limit = self._begin_limit(peer, self._seconds)
            try:
                peer.call("course_worker.shell:run_cell", (label, source))
            except RemoteError:
                continue  # the cell failed in its first run too
            except (TimeoutError, WireClosed, WireError) as failure:
                raise self._ended(failure, limit) from failure

    def _explain_timeout(self, limit: TimeLimit) -> str:
        if time.monotonic() > self._end:
            return self._notebook_timeout()
        if limit.is_used_up:
            return (
                f"{STOPPED} {limit.seconds:g} s. Look for a loop that never "
                "ends, or for loops over positions where one matrix product would do."
            )
        return (
            f"Your code was stopped: it had not ended after {limit.clock_seconds:g} s by the "
            "clock. Look for a loop that never ends, for a sleep, or for a lock, a queue or a "
            "process that it waits for. If there is none, the machine was too busy: tell the "
            "course's staff."
        )

    def _notebook_timeout(self) -> str:
        return (
            f"Grading stopped: the whole notebook may take {self._submission_seconds:g} s, and "
            "that time is over."
        )


def _explain_crash(exit_code: int | None) -> str:
    if exit_code is None:
        return "The process of your code closed its connection to the judge."
    if exit_code == -signal.SIGKILL:
        return "The process of your code was killed: it probably used too much memory."
    if exit_code < 0:
        known = -exit_code in set(signal.Signals)  # real-time signals have no names
        name = signal.Signals(-exit_code).name if known else f"signal {-exit_code}"
        return f"The process of your code was ended by {name}: an invalid memory access or abort."
    return (
        f"The process of your code ended itself (exit code {exit_code}): a submission must not "
        "call os._exit or end the interpreter."
    )
