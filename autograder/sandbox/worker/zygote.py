"""The forking process (zygote): imports everything once, then forks a worker for each submission.

It answers a judge's requests over a Unix socket, one JSON object a line. A request ``start`` comes
with a socket, over which the new worker sends the judge one end of a connection that it makes, and
with the file to enter a control group, if there is one. A request ``share`` comes with the socket
on which a copy of this process answers another judge. The process runs no student code, starts no
thread and does not use the GPU, so that its forks are safe.
"""

import contextlib
import errno
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .isolation import (
    Limits,
    drop_privileges,
    enter_own_namespaces,
    let_descriptors_travel,
    mapped_bytes,
)
from .usage import Usage

_TRIES = 10  # to end a worker, of one second each
_LOOK_SECONDS = 0.2  # between two measurements of the workers' memory
_NO_PROCESS_MORE = (
    "the machine starts no process more: grade with fewer workers, or raise the limit on the "
    "processes of a user or container (ulimit -u, pids.max), or on memory"
)
_Seen = TypeVar("_Seen")


def main() -> None:
    """Serve the socket whose descriptor is the first argument, until the judge closes it."""
    control = socket.socket(fileno=int(sys.argv[1]))
    isolated = sys.argv[2] == "isolated"
    sys.argv[1:] = ["-f", "kernel.json"]  # as in an IPython kernel, because some cells read them
    let_descriptors_travel()
    gc.disable()  # garbage collection takes a fifth of the import time
    _import_everything()
    control.sendall(b'{"ready": true}\n')
    _Zygote(control, isolated).serve()
    os._exit(0)  # a normal exit takes half as long as importing the modules


def _import_everything() -> None:
    import torch
    from tqdm import tqdm

    from . import reader, recorder  # noqa: F401
    from .peer import Peer  # noqa: F401
    from .shell import make_shell

    torch.set_num_threads(1)
    _run_eagerly()
    make_shell()
    tqdm.monitor_interval = 0  # a progress bar starts no thread
    reader.read([("", "%time x = 1")])  # fills the caches of the parsers
    # Makes PyTorch read the processor's features now, because a worker has no /proc.
    torch.nn.functional.embedding_bag(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1))
    _settle()


def _run_eagerly() -> None:
    """Make ``torch.compile`` and TorchScript return the model itself.

    A compiler takes longer to start than the time limit of a check.
    """
    import torch
    import torch._decomp.decompositions_for_jvp  # uses TorchScript when imported

    def compile(model: Any = None, **how: Any) -> Any:
        return compile if model is None else model  # without a model it is a decorator

    torch.compile = compile
    torch.jit._state.disable()


def _settle() -> None:
    """Freeze the garbage collector's objects, so that forks don't copy their memory pages."""
    gc.collect()
    gc.freeze()
    gc.enable()


class _Zygote:
    """Answers the requests of one judge.

    Args:
        control: The socket to the judge.
        isolated: Whether workers get namespaces of their own.
    """

    def __init__(self, control: socket.socket, isolated: bool) -> None:
        self._control = control
        self._isolated = isolated
        self._workers: dict[int, Usage] = {}
        self._copies: set[int] = set()  # process ids of copies of this process for other judges
        self._looked = time.monotonic()

    def serve(self) -> None:
        """Answer requests until the judge closes the socket, then end all workers."""
        while True:
            wait = _LOOK_SECONDS if self._workers else None
            if select.select([self._control], [], [], wait)[0]:
                data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 2)
                while data and not data.endswith(b"\n"):
                    data += (more := self._control.recv(65536))
                    data = data if more else b""
                if not data:
                    break
                answer = self._answer(json.loads(data), descriptors)
                self._control.sendall(json.dumps(answer).encode() + b"\n")
            if time.monotonic() - self._looked >= _LOOK_SECONDS:
                self._end_the_greedy()
                self._looked = time.monotonic()
        for usage in self._workers.values():
            _end(usage)

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        if "preload" in request:
            return _preload(request["preload"])
        if "watch" in request:
            return _prepare(request["watch"])
        if "used" in request:
            return {"seconds": self._look(request["used"], Usage.seconds, 0.0)}
        if "stop" in request:
            return {"ended": self._stop(request["stop"], request["grace"])}
        try:
            if "share" in request:
                return self._share(descriptors[0])
            return self._start(Limits(**request["start"]), *descriptors)
        except OSError as error:  # a fork failed; other workers continue
            if error.errno not in (errno.EAGAIN, errno.ENOMEM):
                raise
            return {"refused": _NO_PROCESS_MORE}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _share(self, descriptor: int) -> dict[str, Any]:
        self._copies -= {pid for pid in self._copies if os.waitpid(pid, os.WNOHANG)[0]}
        if pid := os.fork():
            self._copies.add(pid)
            return {}
        self._control.close()
        _Zygote(socket.socket(fileno=descriptor), self._isolated).serve()
        os._exit(0)

    def _start(self, limits: Limits, descriptor: int, *entrances: int) -> dict[str, Any]:
        pid = os.fork()
        if pid == 0:
            for entrance in entrances:  # of a control group; without permission, stay outside
                with contextlib.suppress(OSError):
                    os.write(entrance, b"0")
            _become_worker(descriptor, limits, self._isolated, self._control)
        self._workers[pid] = Usage(pid, most_bytes=limits.memory_mb << 20, isolated=self._isolated)
        return {"worker": pid}

    def _stop(self, pid: int, grace: float) -> int | None:
        usage = self._workers.pop(pid, None)
        if not usage:
            return None
        # A worker that has ended may not be reaped yet: give it a moment before killing it.
        ended = _wait(pid, grace)
        if ended is None:
            _end(usage)
        usage.kill()  # the inner process may outlive the one around it
        return -signal.SIGKILL if usage.was_greedy else ended

    def _end_the_greedy(self) -> None:
        """Kill the workers whose processes together exceed the memory limit."""
        for pid, usage in self._workers.items():
            if self._look(pid, Usage.is_greedy, False):
                usage.was_greedy = True
                usage.kill()  # reaped when the judge asks to stop it

    def _look(self, pid: int, look: Callable[[Usage], _Seen], otherwise: _Seen) -> _Seen:
        """Return the measurement ``look`` of a worker's usage; kill the worker if it fails.

        ``otherwise`` is returned if it fails, or if there is no such worker.
        """
        usage = self._workers.get(pid)
        try:
            return look(usage) if usage else otherwise
        except Exception:
            self._workers[pid].kill()
            return otherwise


def _preload(modules: list[str]) -> dict[str, Any]:
    gc.disable()
    for name in modules:
        with contextlib.suppress(Exception):  # the cell that imports it will raise the error
            importlib.import_module(name)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].get_backend()
    _settle()
    return {}


def _prepare(watched: list[str]) -> dict[str, Any]:
    from . import recorder

    recorder.prepare(watched)
    _settle()
    return {}


def _wait(pid: int, seconds: float) -> int | None:
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle], [], [], seconds)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if ready else None


def _end(usage: Usage) -> None:
    """Kill and reap a worker; give up after ten tries."""
    for _ in range(_TRIES):
        usage.kill()
        if _wait(usage.pid, 1.0) is not None:
            return


def _become_worker(descriptor: int, limits: Limits, isolated: bool, control: socket.socket) -> None:
    """Turn this fork into a worker, which answers the judge over ``descriptor``; never return.

    ``control`` is the forking process's socket, which the worker closes.
    """
    try:
        control.close()
        os.closerange(3, descriptor)  # the student's code must not use this process's open files
        os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.setpgid(0, 0)
        if isolated:
            mapped = mapped_bytes()  # the worker has no /proc
            enter_own_namespaces(limits)
        connection = _own_socket(descriptor)  # before the limit on open files is lowered
        if isolated:
            drop_privileges(limits, mapped)
        _answer_judge(connection, limits)
    except BaseException as error:
        os.write(2, f"worker: {type(error).__name__}: {error}\n".encode())
        os._exit(70)
    os._exit(0)


def _own_socket(handed: int) -> socket.socket:
    """Return one end of a new pair of sockets, after sending the judge the other over ``handed``.

    The pair belongs to the worker's own network namespace.
    """
    ours, theirs = socket.socketpair()
    with socket.socket(fileno=handed) as judge, theirs:
        socket.send_fds(judge, [b"\0"], [theirs.fileno()])
    return ours


def _answer_judge(connection: socket.socket, limits: Limits) -> None:
    from .outputs import keep_text
    from .peer import Peer
    from .shell import describe_error
    from .wire import Wire, WireClosed

    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    keep_text(limits.output_characters)
    wire = Wire(connection)
    peer = Peer(wire, describe_error=describe_error, is_asked_by_name=True, contains=BaseException)
    with contextlib.suppress(WireClosed):
        peer.serve()


if __name__ == "__main__":
    main()
