"""What a worker takes of the machine: its processes' time, their memory, what too many want."""

import contextlib
import functools
import os
import re
import resource
import time
from pathlib import Path
from typing import NamedTuple

import psutil

AT_ONCE = 8
"""So many of a worker's threads may be at work at once; more would take others' share."""

FREE_SOCKETS = 128
"""So many sockets of a worker's processes together count for no memory."""

_HELD = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap|VmPTE|HugetlbPages):\s+(\d+) kB", re.MULTILINE)
_SLAB = re.compile(rb"^SUnreclaim:\s+(\d+) kB", re.MULTILINE)
_MAPS_SECONDS = 0.1  # for a worker's mappings to be counted: their files' paths have no length
_MAPPING, _ANCESTOR = 256, 64  # bytes that the kernel keeps of a mapping, and for each ancestor
_SOCKETS = re.compile(rb"^sockets: used (\d+)", re.MULTILINE)


class Usage:
    """The processor time and the memory of a worker and of all that it started.

    Threads beyond ``AT_ONCE`` that are at work, or wait for their turn, count as if each of them
    had a processor: a thousand that share one keep everybody else from it, and would seem to use no
    more than a single one.

    Memory is what its processes hold, page tables too, beyond the pages that this one, from which
    they are forked, shares with them; or the pages that they had a fault for, if these are more.
    Who runs another program shares nothing, and huge pages have few faults: so no more is believed
    to be shared than the limit once again. What a process of the student's shares with its own
    forks counts for each of them. What is on its way in a socket no process holds: beyond
    ``FREE_SOCKETS``, each counts as full, also those that nobody has a descriptor of, as they are
    closed, and what they sent is not read, or wait to be accepted. Nor does any process hold what
    the kernel keeps of each mapping, and of each process that it was forked from: where the
    kernel's own memory has grown since the worker began, as much of it counts as they explain.

    Args:
        pid: The worker.
        most_bytes: The memory that all its processes may hold together.
        isolated: Whether it has a network of its own, and one of its processes is around it.

    Attributes:
        was_greedy: Whether it was ended for what it held.
    """

    def __init__(self, pid: int, *, most_bytes: int, isolated: bool) -> None:
        self.pid = pid
        self.isolated = isolated
        self._most_bytes = most_bytes
        self._slab = _slab()
        self._inherited = _holdings(os.getpid()).anonymous
        self._crowd = 0.0  # seconds
        self._looked = time.monotonic()
        self.was_greedy = False
        self._inner: psutil.Process | None = None  # the first inside, while the outer one lives

    def seconds(self) -> float:
        """Return what was used so far, by those that have ended too."""
        used, at_work = 0.0, 0
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # ended since
                times = process.cpu_times()
                used += times.user + times.system + times.children_user + times.children_system
                at_work += _states(process.pid).count(b"R")
        now = time.monotonic()
        self._crowd += max(at_work - AT_ONCE, 0) * (now - self._looked)
        self._looked = now
        return used + self._crowd

    def company(self) -> int:
        """Count the processes that a worker has started and that live."""
        if self._inner and not _has_children(self._inner.pid):
            return 0  # the first in its namespace is, in the end, the parent of all others
        processes = self._processes()
        own = self._own()
        others = [_states(process.pid) for process in processes if process.pid not in own]
        return sum(any(state not in b"ZX" for state in states) for states in others)

    def is_greedy(self) -> bool:
        """Whether its processes hold more memory than they may."""
        processes = self._processes()
        holdings = [_holdings(process.pid) for process in processes]
        shared = sum(min(self._inherited, max(own.anonymous - own.faulted, 0)) for own in holdings)
        sockets = max(map(_sockets, self._own()), default=0) if self.isolated else 0
        held = sum(own.anonymous for own in holdings) - min(shared, self._most_bytes)
        room = self._most_bytes - held - max(sockets - FREE_SOCKETS, 0) * _bytes_of_a_socket()
        if room < 0 or self._grown() <= room:
            return room < 0
        return _records(processes, room) > room

    def kill(self) -> None:
        """Kill what it started, one by one, and the worker."""
        for process in reversed(self._processes()):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def kill_inner(self) -> None:
        """Kill the first process inside, and with its namespace all others, where it is known."""
        if self._inner:
            with contextlib.suppress(psutil.NoSuchProcess):  # it knows it by its beginning, too
                self._inner.kill()

    def _own(self) -> list[int]:
        """Return the processes that are ours: the one around the worker, and the first inside."""
        return [self.pid, self._inner.pid] if self._inner else [self.pid]

    def _processes(self) -> list[psutil.Process]:
        """Return its processes, parents before their children.

        The first inside lives on where the one around it was killed and it would not end with that.
        """
        found = _tree(self.pid)
        if self.isolated and not self._inner:
            self._inner = found[1] if len(found) > 1 else None
        if self._inner and self._inner not in found:
            found += _tree(self._inner.pid) if self._inner.is_running() else []
        return found

    def _grown(self) -> int:
        """Return how much more memory the kernel keeps than at some time since the worker began."""
        now = _slab()
        self._slab = min(self._slab, now)
        return now - self._slab


def _tree(pid: int) -> list[psutil.Process]:
    try:
        worker = psutil.Process(pid)
        return [worker, *worker.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _slab() -> int:
    """Return the memory that the kernel keeps for itself, of the whole machine, in bytes."""
    found = _SLAB.search(Path("/proc/meminfo").read_bytes())
    return 1024 * int(found[1]) if found else 0


def _records(processes: list[psutil.Process], enough: int) -> int:
    """Return the bytes that the kernel keeps of what processes map; no further than is asked for.

    As if each of them were a fork of all others: who was whose, the dead don't tell.
    """
    held = 0
    until = time.monotonic() + _MAPS_SECONDS
    for process in processes:
        if held > enough:
            break
        held += _mappings(process.pid, until) * (_MAPPING + _ANCESTOR * len(processes))
    return held


def _mappings(pid: int, until: float) -> int:
    """Count what a process maps; if it lets nobody look, or that takes long, what it may."""
    try:
        # Where its first thread has ended, the others tell.
        for thread in _threads(pid):
            if count := _lines(thread / "maps", until):
                return count
    except (PermissionError, TimeoutError):
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    except OSError:  # ended since
        pass
    return 0


def _lines(path: Path, until: float) -> int:
    count = 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), path.open("rb", 0) as file:
        while part := file.read(1 << 20):
            count += part.count(b"\n")
            if time.monotonic() > until:
                raise TimeoutError
    return count


def _has_children(pid: int) -> bool:
    """Whether a process has children, of any of its threads; true where the kernel doesn't tell."""
    try:
        return any((thread / "children").read_bytes() for thread in _threads(pid))
    except OSError:
        return True


def _threads(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def _states(pid: int) -> list[bytes]:
    """Return the states of a process's threads: its first may have ended, and others live."""
    states = []
    with contextlib.suppress(OSError):  # it has ended since
        for thread in _threads(pid):
            with contextlib.suppress(OSError):  # likewise
                stat = (thread / "stat").read_bytes()
                states.append(stat.rpartition(b")")[2].split()[0])
    return states


@functools.cache
def _bytes_of_a_socket() -> int:
    """Return what may be on its way in one; who would like more is refused."""
    try:
        return int(Path("/proc/sys/net/core/wmem_default").read_text())
    except OSError:
        return 212_992  # as the kernel has it, unless somebody changes it


def _sockets(pid: int) -> int:
    """Count the sockets of a process's network."""
    try:
        found = _SOCKETS.search(Path(f"/proc/{pid}/net/sockstat").read_bytes())
    except OSError:  # ended since
        return 0
    return int(found[1]) if found else 0


class _Holdings(NamedTuple):
    """What a process holds: bytes that no file backs, and those that it had faults for."""

    anonymous: int = 0
    faulted: int = 0


def _holdings(pid: int) -> _Holdings:
    """Look up what a process holds.

    What is swapped out counts: a process may ask for that. Where its first thread has ended, the
    others tell what it holds.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        threads = _threads(pid)
    except OSError:  # ended since
        return _Holdings()
    faulted = int(stat[7]) * resource.getpagesize()
    for thread in threads:
        with contextlib.suppress(OSError):  # likewise
            status = (thread / "status").read_bytes()  # a name in it may be in any encoding
            if held := _HELD.findall(status):
                return _Holdings(1024 * sum(map(int, held)), faulted)
    return _Holdings(faulted=faulted)
