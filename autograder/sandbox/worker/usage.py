"""Measures and kills a worker together with all processes that it started."""

import contextlib
import os
import re
from pathlib import Path

import psutil

_HELD = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap|VmPTE|HugetlbPages):\s+(\d+) kB", re.MULTILINE)


class Usage:
    """Measures and kills a worker's processes.

    Args:
        pid: The worker's process id.
        most_bytes: The memory that all its processes may hold together.
        isolated: Whether the worker is in namespaces of its own, with one process around them.

    Attributes:
        was_greedy: Whether the worker was killed because it exceeded the memory limit.
    """

    def __init__(self, pid: int, *, most_bytes: int, isolated: bool) -> None:
        self.pid = pid
        self.was_greedy = False
        self._isolated = isolated
        self._most_bytes = most_bytes
        self._inherited = _held(os.getpid())
        self._inner: psutil.Process | None = None  # the first process inside the namespaces

    def seconds(self) -> float:
        """Return the processor time in seconds used so far, by ended processes too."""
        used = 0.0
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system + times.children_user + times.children_system
        return used

    def is_greedy(self) -> bool:
        """Return whether the worker's processes hold more memory than ``most_bytes``.

        Pages that a process shares with the one it was forked from are not counted.
        """
        held = sum(max(_held(p.pid) - self._inherited, 0) for p in self._processes())
        return held > self._most_bytes

    def kill(self) -> None:
        """Kill the worker and the processes that it started.

        The process around an isolated worker ends by itself, when all inside are gone.
        """
        found = self._processes()
        inside = [process for process in found if process.pid != self.pid]
        for process in reversed(inside if inside and self._isolated else found):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def _processes(self) -> list[psutil.Process]:
        """Return the worker's processes, parents before children.

        The first process inside the namespaces is remembered, because it can outlive its parent.
        """
        found = _tree(self.pid)
        if self._isolated and not self._inner:
            self._inner = found[1] if len(found) > 1 else None
        if self._inner and self._inner not in found and self._inner.is_running():
            found += _tree(self._inner.pid)
        return found


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _held(pid: int) -> int:
    """Return a process's memory in bytes, without files' pages, with swap and page tables.

    If its first thread has ended, the other threads give the number.
    """
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if held := _HELD.findall((thread / "status").read_bytes()):
                    return 1024 * sum(map(int, held))
    return 0
