"""The forking process: imports everything once, then forks a worker for each submission.

It speaks over a Unix socket with the judge: one JSON object a message, one answer each. With
``start`` comes the socket that the new worker will answer on. It runs no code of students, starts
no thread and touches no GPU, so that its forks are sound.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import sys
from dataclasses import fields
from typing import Any

from .isolation import (
    Limits,
    drop_privileges,
    enter_own_namespaces,
    leave_keyring,
    mapped_bytes,
)
from .usage import Usage


def main() -> None:
    """Serve the socket whose descriptor is the first argument, until the judge hangs up."""
    control = socket.socket(fileno=int(sys.argv[1]))
    isolated = sys.argv[2] == "isolated"
    if isolated:
        leave_keyring()
    _import_everything()
    control.sendall(b'{"ready": true}\n')
    workers: dict[int, Usage] = {}
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not data:
            break
        answer = _serve(json.loads(data), descriptors, workers, isolated, control)
        control.sendall(json.dumps(answer).encode() + b"\n")
    for pid in workers:
        _kill(pid, isolated)


def _import_everything() -> None:
    import matplotlib.pyplot as plt
    import numpy.ctypeslib  # noqa: F401 -- safetensors would import it with the first tensor
    import torch
    import torch._dynamo  # what the first optimizer would import
    import torch.fx.experimental.symbolic_shapes  # what the first backward pass would import

    from . import reading, recorder  # noqa: F401
    from .peer import Peer  # noqa: F401
    from .shell import make_shell

    torch.set_num_threads(1)
    plt.get_backend()
    make_shell()
    _import_course_lib()
    reading.read([("", "%time x = 1", True)], {})  # fills the caches of the parsers
    # Looks at the processor once, for all: a worker's own /proc may be empty.
    torch.nn.functional.embedding_bag(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1))
    gc.collect()
    gc.freeze()  # keeps the children from copying pages that the collector would touch


def _import_course_lib() -> None:
    library = importlib.import_module("course_lib")  # the students' edition: not ours to rely on
    for module in pkgutil.walk_packages(library.__path__, "course_lib.", onerror=lambda name: None):
        with contextlib.suppress(ImportError):  # those that are withheld
            importlib.import_module(module.name)


def _serve(
    request: dict[str, Any],
    descriptors: list[int],
    workers: dict[int, Usage],
    isolated: bool,
    control: socket.socket,
) -> dict[str, Any]:
    if "start" in request:
        limits = Limits(**{f.name: request["start"][f.name] for f in fields(Limits)})
        pid = os.fork()
        if pid == 0:
            _become_worker(descriptors[0], limits, isolated, control)
        os.close(descriptors[0])
        workers[pid] = Usage(pid)
        return {"worker": pid}
    if "used" in request:
        usage = workers.get(request["used"])
        return {"seconds": usage.seconds() if usage else 0.0}
    pid = request["stop"]
    if not workers.pop(pid, None):
        return {"ended": None}
    # A worker that has ended may not be reaped yet: give it a moment before killing it.
    ended = _wait(pid, request["grace"])
    if ended is None:
        _kill(pid, isolated)
    return {"ended": ended}


def _wait(pid: int, seconds: float) -> int | None:
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle], [], [], seconds)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if ready else None


def _kill(pid: int, isolated: bool) -> None:
    """End a worker; asked to end, the process around an isolated one ends it first."""
    with contextlib.suppress(ProcessLookupError):
        if isolated:
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _become_worker(descriptor: int, limits: Limits, isolated: bool, control: socket.socket) -> None:
    """Turn this fork into a worker; never returns."""
    try:
        control.close()
        os.closerange(3, descriptor)  # nothing that this process holds is the student's
        os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.setpgid(0, 0)
        if isolated:
            mapped = mapped_bytes()  # the worker's own /proc may be empty
            enter_own_namespaces(limits)
            drop_privileges(limits, mapped)
        _answer_judge(descriptor, limits)
    except BaseException as error:
        os.write(2, f"worker: {type(error).__name__}: {error}\n".encode())
        os._exit(70)
    os._exit(0)


def _answer_judge(descriptor: int, limits: Limits) -> None:
    from .outputs import keep_text
    from .peer import Peer
    from .shell import describe_error
    from .wire import Wire, WireClosed

    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    keep_text(limits.output_characters)
    wire = Wire(socket.socket(fileno=descriptor))
    peer = Peer(wire, describe_error=describe_error, allow_named=True, contains=BaseException)
    try:
        peer.serve()
    except WireClosed:
        return


if __name__ == "__main__":
    main()
