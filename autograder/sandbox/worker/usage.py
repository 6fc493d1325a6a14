"""What a worker takes of the processor: what its processes use, and what too many of them want."""

import contextlib
import time
from pathlib import Path

import psutil

AT_ONCE = 8
"""So many of a worker's threads may be at work at once; more would take others' share."""


class Usage:
    """The processor time of a worker and of all that it started.

    Threads beyond ``AT_ONCE`` that are at work, or wait for their turn, count as if each of them
    had a processor: a thousand that share one keep everybody else from it, and would seem to use no
    more than a single one.

    Args:
        pid: The worker.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._crowd = 0.0  # seconds
        self._looked = time.monotonic()

    def seconds(self) -> float:
        """Return what was used so far, by those that have ended too."""
        used, at_work = 0.0, 0
        for process in _tree(self._pid):
            with contextlib.suppress(psutil.NoSuchProcess):  # ended since
                times = process.cpu_times()
                used += times.user + times.system + times.children_user + times.children_system
                at_work += _at_work(process.pid)
        now = time.monotonic()
        self._crowd += max(at_work - AT_ONCE, 0) * (now - self._looked)
        self._looked = now
        return used + self._crowd


def _tree(pid: int) -> list[psutil.Process]:
    try:
        worker = psutil.Process(pid)
        return [worker, *worker.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _at_work(pid: int) -> int:
    """Count the threads of a process that run or could run."""
    count = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # ended since
            count += thread.read_bytes().rpartition(b")")[2].split()[0] == b"R"
    return count
