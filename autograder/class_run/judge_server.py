"""The process that judges are forked from: it imports PyTorch once, as the sandbox starts.

Its parent sends one JSON object a request over a Unix socket, and gets one answer each. With a
request ``judge`` comes the socket over which the new judge gets its work, see ``judge_process``.
"""

import contextlib
import gc
import itertools
import json
import os
import resource
import signal
import socket
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autograder.clean_text import one_line
from autograder.sandbox.cgroup import claim, delegated_group
from autograder.sandbox.sandbox import Sandbox
from autograder.sandbox.worker.isolation import Limits, die_with_parent, mapped_bytes
from autograder.sandbox.zygote import SandboxError, Zygote

_FILES = resource.RLIMIT_NOFILE


def main(descriptor: int, library: str, device: str, isolation: str) -> None:
    """Answer requests for judges on the socket ``descriptor`` until the other end closes.

    ``library`` is the folder of the students' library, which may be filled later, ``device`` a
    device of PyTorch; ``isolation`` is ``isolated`` for a sandbox.
    """
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    groups = _claim_groups()  # before other processes exist, which it would have to move
    try:
        sandbox = Sandbox(
            Path(library), limits=Limits(), device=device, isolated=isolation == "isolated"
        )
    except SandboxError as error:
        if control.recv(65536):  # no request comes if the command was rejected before it
            control.sendall(json.dumps({"sandbox": str(error)}).encode())
        return
    sandbox.groups = groups
    _import_everything()
    judges: set[int] = set()
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not data:
            break
        judges -= {pid for pid in judges if os.waitpid(pid, os.WNOHANG)[0]}
        answer = _answer(json.loads(data), descriptors, sandbox)
        if "judge" in answer:
            judges.add(answer["judge"])
        try:
            control.sendall(json.dumps(answer).encode())
        except BrokenPipeError:  # the parent ended meanwhile
            break
    for pid in judges:  # the sandbox ends when nobody needs it any more
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    sandbox.close()
    os._exit(0)  # taking all modules apart would take half as long as importing them


def _import_everything() -> None:
    gc.disable()  # looking for garbage meanwhile takes a fifth of the time
    import torch

    import course_lib.testing
    from autograder.judging import judge  # noqa: F401

    torch.set_num_threads(1)
    # Import modules here that each check would otherwise import.
    course_lib.testing.assert_close(torch.ones(1), torch.ones(1))
    gc.collect()
    gc.freeze()
    gc.enable()


def _claim_groups() -> Path | None:
    """Claim the cgroup delegated to this account, for workers; return its folder, or None."""
    with contextlib.suppress(OSError):
        if group := delegated_group():
            claim(group)
            return group
    return None


def _answer(request: dict[str, Any], descriptors: list[int], sandbox: Sandbox) -> dict[str, Any]:
    try:
        if "preload" in request:
            sandbox.preload(request["preload"])
            return {}
        shared = sandbox.share()
    except SandboxError as error:
        for descriptor in descriptors:
            os.close(descriptor)
        return {"sandbox": str(error)}
    try:
        pid = os.fork()
    except OSError as error:  # the running judges go on
        os.close(descriptors[0])
        shared.close()
        return {"sandbox": f"no judge can be started: {error.strerror}"}
    if not pid:
        _close_all_but(descriptors[0], shared.fileno())
        zygote = Zygote(shared, sandbox.limits, sandbox.groups)
        _become_judge(Connection(descriptors[0]), zygote, request["judge"] << 20)
    os.close(descriptors[0])
    shared.close()
    return {"judge": pid}


def _close_all_but(*kept: int) -> None:
    """Close all other descriptors but 0 to 2, so that no socket of the server stays open here."""
    for low, high in itertools.pairwise((2, *sorted(kept), resource.getrlimit(_FILES)[0])):
        os.closerange(low + 1, high)


def _become_judge(connection: "Connection[Any, Any]", zygote: Zygote, memory: int) -> None:
    """Judge submissions until the parent is gone; never returns. ``memory`` is in bytes."""
    try:
        die_with_parent()
        _judge(connection, zygote, memory)
    except (EOFError, OSError):  # the parent is gone
        os._exit(0)
    except BaseException as error:
        cause = f"{type(error).__name__}: {error}"
        os.write(2, f"judge: {one_line(cause, 1000)}\n".encode())  # it may quote a student's code
        with contextlib.suppress(OSError):
            connection.send(("broken", cause))
        os._exit(70)


def _judge(connection: "Connection[Any, Any]", zygote: Zygote, memory: int) -> None:
    from autograder.judging.judge import Judge

    homework, options = connection.recv()
    zygote.limits = options.worker_limits
    if options.device == "cpu":  # CUDA maps more than the machine has
        most = mapped_bytes() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    judge = Judge(
        homework, zygote, limits=options.limits, isolated=options.isolated, device=options.device
    )  # fmt: skip
    judge.prepare()
    while True:
        gc.collect()  # between submissions, so that garbage takes no memory from the next
        notebook, student, seed, known, taken = connection.recv()
        try:
            result = judge.grade(
                notebook, student, seed=seed, known=known, taken=taken,
                on_cell=lambda label: connection.send(("cell", label)),
                on_check=lambda check: connection.send(("check", check)),
                on_progress=lambda progress: connection.send(("progress", progress)),
            )  # fmt: skip
        except SandboxError as error:
            connection.send(("sandbox", str(error)))
        else:
            connection.send(("result", result))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
