"""Starts judge processes; PyTorch and the sandbox, slow to start, are started once and shared."""

import atexit
import contextlib
import hashlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from autograder.class_run.judge_process import JudgeProcess, Started
from autograder.class_run.options import GradingOptions
from autograder.homework_source.homework import CellKind, Homework
from autograder.sandbox.worker.isolation import let_descriptors_travel
from autograder.sandbox.zygote import SandboxError

if TYPE_CHECKING:  # slow to import, and judges should start at once
    from autograder.class_run.course import Course

_ROOT = Path(__file__).parents[2]
_LEAST_MB = 1024  # per judge or worker
_START_SECONDS = 180.0
_MOST_SERVERS = 2  # kept for the next request: each holds hundreds of MiB
_THAT_RUN = (CellKind.SETUP, CellKind.SOLUTION, CellKind.TEST)
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


class JudgePool:
    """Starts judges, and the servers that fork them; all run until ``close``, or the program ends.

    Args:
        scratch: Folder for the students' libraries; the system's temporary folder if None.

    Attributes:
        seed: Seed of the hidden inputs of all students without a seed of their own; drawn once.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self.seed = secrets.randbits(62)
        self._scratch = scratch
        self._servers: dict[str, _Server] = {}  # the least recently used first
        self._last: tuple[object, list[JudgeProcess]] = None, []
        atexit.register(self.close)

    def prepare(self, *, isolated: bool, device: str) -> None:
        """Start a server for judges that will be requested later, without waiting for it."""
        self._server("", isolated=isolated, device=device)

    def preload(self, homework: Homework) -> None:
        """Begin to import the modules that a homework needs, except those of ``course_lib``."""
        modules = [name for name in needed_modules(homework) if name.split(".")[0] != "course_lib"]
        for server in self._servers.values():
            server.begin_preload(modules)

    def open(self, course: "Course", options: GradingOptions, *, others: int = 0) -> JudgeProcess:
        """Return a new judge; ``others`` is how many more judges share the machine's memory.

        Raises:
            SandboxError: The sandbox does not start.
        """
        memory_mb = min(options.worker_limits.memory_mb, _share_of_memory(others + 1))
        limits = replace(options.worker_limits, memory_mb=memory_mb)
        library = repr(sorted(course.library.items()))
        key = hashlib.sha256(library.encode()).hexdigest()
        server = self._server(key, isolated=options.isolated, device=options.device)
        server.fill(course.library)
        server.preload(needed_modules(course.homework))
        return JudgeProcess(
            course.homework,
            replace(options, worker_limits=limits),
            lambda: server.start_judge(memory_mb),
        )

    def acquire_one(self, course: "Course", options: GradingOptions) -> JudgeProcess:
        """Return the judge of the last call, or a new one for another course or options."""
        others = (os.cpu_count() or 1) - 1  # judges in other processes
        return self.acquire(1, course, options, others=others)[0]

    def acquire(
        self, count: int, course: "Course", options: GradingOptions, *, others: int
    ) -> list[JudgeProcess]:
        """Return ``count`` judges: the last call's, or new ones if an argument is different.

        ``others`` is how many more judges share the machine's memory with each.
        """
        key = (count, course, options, others)
        if self._last[0] != key:
            for judge in self._last[1]:
                judge.close()
            self._last = key, [self.open(course, options, others=others) for _ in range(count)]
            for name in list(self._servers)[:-_MOST_SERVERS]:
                self._servers.pop(name).close()
        return self._last[1]

    def close(self) -> None:
        """End the judges and the sandbox, and remove unpacked files; may be called twice."""
        with contextlib.ExitStack() as closing:  # also after an error of another
            for server in self._servers.values():
                closing.callback(server.close)
            self._servers.clear()

    def _server(self, key: str, *, isolated: bool, device: str) -> "_Server":
        kind = f"{isolated} {device}"
        server = self._servers.pop(f"{key} {kind}", None) or self._servers.pop(f" {kind}", None)
        server = server or _Server(self._scratch, isolated=isolated, device=device)
        self._servers[f"{key} {kind}"] = server
        return server


class _Server:
    """A process that judges are forked from, see ``judge_server``; restarted when it is gone.

    Its folder with the students' library is made in ``scratch``, as in ``JudgePool``.
    """

    def __init__(self, scratch: Path | None, *, isolated: bool, device: str) -> None:
        let_descriptors_travel()
        self._folder = tempfile.TemporaryDirectory(prefix="student-edition-", dir=scratch)
        self._library = Path(self._folder.name)
        self._arguments = [str(self._library), device, "isolated" if isolated else "open"]
        self._preloaded: list[str] = []
        self._closed = False
        self._is_used = False
        self._refused: SandboxError | None = None  # raised by the next request
        self._lock = threading.RLock()  # judges may be started by several threads
        (self._library / "course_lib").mkdir()
        self._launch()

    def _launch(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_START_SECONDS)
        paths = [str(_ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
        with theirs:
            program = ["-P", "-m", "autograder.class_run.judge_server", str(theirs.fileno())]
            self._process = subprocess.Popen(  # noqa: S603 -- our own program
                [sys.executable, *program, *self._arguments],
                env=os.environ | environment, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def fill(self, library: dict[str, str]) -> None:
        """Write the files of the students' library, by path, that are not there yet."""
        self._is_used = True
        for name, text in library.items():
            path = self._library / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    def preload(self, modules: Sequence[str]) -> None:
        """Have the sandbox import modules before it gives out the next worker."""
        with self._lock:
            self._preloaded = sorted({*self._preloaded, *modules})
            self._ask({"preload": list(modules)})

    def begin_preload(self, modules: Sequence[str]) -> None:
        """Preload without waiting; an error is raised by the next request."""

        def preload() -> None:
            with self._lock:
                try:
                    self.preload(modules)
                except SandboxError as error:
                    self._refused = error

        threading.Thread(target=preload, daemon=True).start()

    def start_judge(self, memory_mb: int) -> Started:
        """Fork a judge that may hold this much memory beyond the server's own."""
        ours, theirs = socket.socketpair()
        with theirs:
            answer = self._ask({"judge": memory_mb}, [theirs.fileno()])
        process = psutil.Process(answer["judge"])
        most = process.memory_info().rss + (memory_mb << 20)
        return Started(Connection(ours.detach()), process, most)

    def close(self) -> None:
        """Stop the server, its judges and its sandbox."""
        self._closed = True
        self._control.close()  # hanging up ends it
        if not self._is_used:  # it may still be importing, and would end late
            self._process.kill()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        with self._lock:
            if self._closed:
                raise SandboxError("the judges are closed")
            if refused := self._refused:
                self._refused = None
                raise refused
            if self._process.poll() is not None:  # killed from outside
                self._control.close()
                self._launch()
                self._exchange({"preload": self._preloaded})
            return self._exchange(request, descriptors)

    def _exchange(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
            data = self._control.recv(65536)
        except OSError as error:
            raise SandboxError(f"the judges' server does not answer: {error}") from error
        if not data:
            raise SandboxError("the judges' server is gone")
        answer: dict[str, Any] = json.loads(data)
        if "sandbox" in answer:
            raise SandboxError(answer["sandbox"])
        return answer


def needed_modules(homework: Homework) -> list[str]:
    """Return the modules that a homework's cells need, so that they can be imported beforehand."""
    text = "\n".join(cell.source for cell in homework.cells if cell.kind in _THAT_RUN)
    own = "\n".join(cell.source for cell in homework.cells if cell.kind is CellKind.SOLUTION)
    named = set(re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE))
    if re.search(r"\bbackward\(|\bautograd\b", own):
        named.add("torch.fx.experimental.symbolic_shapes")  # by a backward pass of a solution's own
    if "optim" in text:
        named.add("torch._dynamo")  # by the first optimizer
    return sorted(named | {"course_lib.testing"})


def _share_of_memory(judges: int) -> int:
    """Return the MiB that each of ``judges`` judges, and each one's worker, may hold here."""
    total = psutil.virtual_memory().total
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
        total = min(total, int(_CGROUP_LIMIT.read_text()))
    return max((total >> 20) // (2 * judges), _LEAST_MB)
