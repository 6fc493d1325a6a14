"""The judge's end of the socket to a forking process; ``course_worker.zygote`` is the other end."""

import contextlib
import json
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.sandbox.cgroup import WorkerGroup
from autograder.sandbox.worker.isolation import Limits, let_descriptors_travel

_PATIENCE = 60.0  # seconds for a worker to begin, on a busy machine


class SandboxError(RuntimeError):
    """The sandbox can't be set up, or is gone; the message says how to fix it."""


@dataclass(frozen=True)
class Worker:
    """A process that runs one student's code.

    Attributes:
        connection: The judge's end of the socket that the worker answers on.
        pid: Its process id in the sandbox, for ``Zygote.stop``.
        group: Its control group; None if it has none.
    """

    connection: socket.socket
    pid: int
    group: WorkerGroup | None = None


class Zygote:
    """Starts and stops workers through the forking process.

    Args:
        control: The socket to the forking process.
        limits: Resource limits of each worker; also an attribute.
        groups: The claimed control group in which each worker's group is made; None if there is
            none. Also an attribute.
    """

    def __init__(self, control: socket.socket, limits: Limits, groups: Path | None = None) -> None:
        let_descriptors_travel()
        self._control = control
        self.limits = limits
        self.groups = groups

    def start(self) -> Worker:
        """Return a new worker, forked from the forking process.

        Raises:
            SandboxError: The forking process is gone, or can't start another process.
        """
        ours, theirs = socket.socketpair()
        group = self._make_group()
        with theirs:
            entrance = [group.entrance] if group else []
            try:
                answer = self._ask({"start": asdict(self.limits)}, [theirs.fileno(), *entrance])
            except SandboxError:
                ours.close()
                if group:
                    group.remove()
                raise
        return Worker(connection=_made_there(ours), pid=answer["worker"], group=group)

    def _make_group(self) -> WorkerGroup | None:
        """Return a control group for a new worker; None if the kernel refuses.

        The forking process limits its memory in any case.
        """
        with contextlib.suppress(OSError):
            return WorkerGroup(self.groups, self.limits) if self.groups else None
        return None

    def stop(self, worker: Worker, *, grace: float = 0.0) -> int | None:
        """End a worker and all processes it started; return its exit code.

        The code is None if the worker had to be killed after ``grace`` seconds.

        Raises:
            SandboxError: The forking process is gone, and the worker with it.
        """
        worker.connection.close()
        try:
            ended: int | None = self._ask({"stop": worker.pid, "grace": grace})["ended"]
        finally:
            if worker.group:
                worker.group.remove()
        return ended

    def used(self, worker: Worker) -> float:
        """Return the processor time in seconds of a worker and all processes it started."""
        return float(self._ask({"used": worker.pid})["seconds"])

    def preload(self, modules: Sequence[str]) -> None:
        """Import modules in the forking process, for all workers started from now on."""
        self._ask({"preload": list(modules)})

    def prepare(self, forbidden: Sequence[str]) -> None:
        """Prepare the recorder of forbidden names once for all workers started from now on."""
        self._ask({"watch": list(forbidden)})

    def share(self) -> socket.socket:
        """Fork the forking process itself; return the socket for another judge's ``Zygote``."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._ask({"share": True}, [theirs.fileno()])
        return ours

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        try:
            line = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(self._control, [line], descriptors)
            self._control.sendall(line[sent:])
            answer = self._read_answer()
        except (OSError, EOFError) as error:
            self._control.close()  # a late answer would be taken for that to the next request
            raise SandboxError("the forking process is gone") from error
        if "refused" in answer:
            raise SandboxError(answer["refused"])
        return answer

    def _read_answer(self) -> dict[str, Any]:
        line = bytearray()
        while not line.endswith(b"\n"):
            data = self._control.recv(4096)
            if not data:
                raise EOFError("the forking process hung up")
            line += data
        answer: dict[str, Any] = json.loads(line)
        return answer


def _made_there(handed: socket.socket) -> socket.socket:
    """Return the socket that a worker sends over ``handed``, or ``handed`` if it sends none.

    The worker makes a pair of sockets itself. A socket belongs to the network namespace in which it
    was made, so a socket of the judge would give the worker access to the machine's network.
    """
    handed.settimeout(_PATIENCE)
    with contextlib.suppress(OSError):
        if ends := socket.recv_fds(handed, 1, 1)[1]:
            handed.close()
            return socket.socket(fileno=ends[0])
    return handed  # the worker has ended or can't begin: the first request will fail
