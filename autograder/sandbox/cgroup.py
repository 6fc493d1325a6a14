"""Control groups (cgroup v2): the kernel's wall around what a worker's processes hold together.

There is one where the group that grading runs in was delegated to it: by systemd (``systemd-run
--user --scope --property=Delegate=yes``), or because it is all that a container sees. Elsewhere
``course_worker.usage`` watches alone.
"""

import contextlib
import itertools
import os
import time
from pathlib import Path

from autograder.sandbox.worker.isolation import Limits

MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = {"memory", "pids"}
_JUDGES = "judges"  # who is no worker: a group that holds groups may hold no process
_WORKER = "worker-{}"
_DELEGATED = ("user.delegate", "trusted.delegate")  # as systemd marks what it gives away
_REMOVAL_SECONDS = 1.0

_numbers = itertools.count()


def delegated_group(mount: Path = MOUNT) -> Path | None:
    """Return the group below which workers may have theirs; None if none is delegated."""
    try:
        text = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        own = next(line[4:] for line in text.splitlines() if line.startswith("0::/"))
        group = mount / own
        group = group.parent if group.name == _JUDGES else group
        controllers = (group / "cgroup.controllers").read_text(encoding="utf-8").split()
    except (OSError, StopIteration):
        return None
    may = set(controllers) >= _CONTROLLERS and os.access(group / "cgroup.subtree_control", os.W_OK)
    # The system's root has no such file, nor has a kernel that can't limit swap. The processes of
    # the root, and those of a login, are not ours to move.
    is_ours = (group / "memory.swap.max").exists() and (group == mount or _is_marked(group))
    return group if may and is_ours else None


def _is_marked(group: Path) -> bool:
    for name in _DELEGATED:
        with contextlib.suppress(OSError):
            return os.getxattr(group, name) == b"1"
    return False


def claim(group: Path) -> None:
    """Make room for workers' groups: whoever is in this one moves into one of their own.

    What a killed run left of its workers' groups is removed.

    Raises:
        OSError: The kernel refused.
    """
    for left_over in group.glob(_WORKER.format("*")):
        with contextlib.suppress(OSError):  # another run's, at work
            left_over.rmdir()
    (group / _JUDGES).mkdir(exist_ok=True)
    for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
        with contextlib.suppress(ProcessLookupError):  # ended since
            (group / _JUDGES / "cgroup.procs").write_text(pid, encoding="ascii")
    enabled = " ".join(f"+{name}" for name in sorted(_CONTROLLERS))
    (group / "cgroup.subtree_control").write_text(enabled, encoding="ascii")


def _settings(limits: Limits) -> dict[str, int]:
    return {
        # Files on a worker's /tmp and /dev/shm are memory too.
        "memory.max": limits.memory_mb + 2 * limits.scratch_mb << 20,
        "memory.swap.max": 0,
        "memory.oom.group": 1,
        "pids.max": 2 * limits.processes,
    }


class WorkerGroup:
    """The group of one worker; empty until a process enters.

    Args:
        parent: A claimed group.
        limits: What the worker's processes may use together.

    Raises:
        OSError: The kernel refused.
    """

    def __init__(self, parent: Path, limits: Limits) -> None:
        self._folder = parent / _WORKER.format(f"{os.getpid()}-{next(_numbers)}")
        self._folder.mkdir()
        for name, value in _settings(limits).items():
            (self._folder / name).write_text(str(value), encoding="ascii")
        # Whoever is given this and writes 0 has entered, with all that it will fork: the kernel
        # asks whether he who opened it may do so.
        self.entrance = os.open(self._folder / "cgroup.procs", os.O_WRONLY)

    def remove(self) -> None:
        """Remove the group; its processes have been killed, and are gone in a moment."""
        os.close(self.entrance)
        gives_up = time.monotonic() + _REMOVAL_SECONDS
        while time.monotonic() < gives_up:
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.01)
