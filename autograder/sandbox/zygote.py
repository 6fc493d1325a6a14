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
    """A process that will run one student's code.

    Attributes:
        connection: The judge's end of the socket that the worker answers on.
        pid: Its number in the sandbox, for ``Zygote.stop``.
        group: Its control group, where there is one.
    """

    connection: socket.socket
    pid: int
    group: WorkerGroup | None = None


class Zygote:
    """Gives out workers, and ends them.

    Args:
        control: The socket.
        limits: What each worker may use; also an attribute.
        groups: The claimed group below which each worker gets one of its own; None if there is
            none. Also an attribute.
    """

    def __init__(self, control: socket.socket, limits: Limits, groups: Path | None = None) -> None:
        let_descriptors_travel()
        self._control = control
        self.limits = limits
        self.groups = groups

    def start(self) -> Worker:
        """Fork a worker.

        Raises:
            SandboxError: The forking process is gone, or the machine starts no process more.
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
        """Return the group of a new worker; none where the kernel refuses: it is watched anyhow."""
        with contextlib.suppress(OSError):
            return WorkerGroup(self.groups, self.limits) if self.groups else None
        return None

    def stop(self, worker: Worker, *, grace: float = 0.0) -> int | None:
        """End a worker and all it started; return its exit code, None if it had to be killed.

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
        """Return the seconds of processor time that a worker and all it started have used."""
        return float(self._ask({"used": worker.pid})["seconds"])

    def preload(self, modules: Sequence[str]) -> None:
        """Import what workers will need, once for all that are started from now on."""
        self._ask({"preload": list(modules)})

    def prepare(self, forbidden: Sequence[str]) -> None:
        """Prepare the recorder of forbidden names once for all workers started from now on."""
        self._ask({"watch": list(forbidden)})

    def share(self) -> socket.socket:
        """Fork the forking process itself; another judge makes its ``Zygote`` of this socket."""
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
            self._control.close()  # a late one would answer the next question with this answer
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
    """Return the end that a worker sends of a pair of its own, or nothing but the old one.

    A socket belongs to the network in which it was made: one of the judge's would show the worker
    the machine's.
    """
    handed.settimeout(_PATIENCE)
    with contextlib.suppress(OSError):
        if ends := socket.recv_fds(handed, 1, 1)[1]:
            handed.close()
            return socket.socket(fileno=ends[0])
    return handed  # the worker has ended, or can't begin: its first answer tells
