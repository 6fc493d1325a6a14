"""Limits the memory and processes of a worker by a control group (cgroup v2).

A worker gets one if the group in which grading runs was delegated: by systemd (``systemd-run --user
--scope --property=Delegate=yes``), or because it is the only one that a container sees. Elsewhere
only ``course_worker.usage`` limits the memory.
"""

import contextlib
import itertools
import os
import time
from pathlib import Path

from autograder.sandbox.worker.isolation import Limits

MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = {"memory", "pids"}
_JUDGES = "judges"  # a group with subgroups may hold no process, so judges have one too
_WORKER = "worker-{}"
_DELEGATED = ("user.delegate", "trusted.delegate")  # systemd's marks of a delegated group
_REMOVAL_SECONDS = 1.0

_numbers = itertools.count()


def delegated_group(mount: Path = MOUNT) -> Path | None:
    """Return the control group in which workers' groups can be made; None if none is delegated."""
    try:
        text = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        own = next(line[4:] for line in text.splitlines() if line.startswith("0::/"))
        group = mount / own
        group = group.parent if group.name == _JUDGES else group
        controllers = (group / "cgroup.controllers").read_text(encoding="utf-8").split()
    except (OSError, StopIteration):
        return None
    may = set(controllers) >= _CONTROLLERS and os.access(group / "cgroup.subtree_control", os.W_OK)
    # The system's root group lacks this file, and so does a kernel that can't limit swap. ``claim``
    # must not move the processes of the root group or of a login.
    is_ours = (group / "memory.swap.max").exists() and (group == mount or _is_marked(group))
    return group if may and is_ours else None


def _is_marked(group: Path) -> bool:
    for name in _DELEGATED:
        with contextlib.suppress(OSError):
            return os.getxattr(group, name) == b"1"
    return False


def claim(group: Path) -> None:
    """Prepare a delegated group for workers' groups: move its processes into a subgroup.

    Workers' groups left by a killed run are removed.

    Raises:
        OSError: The kernel refused.
    """
    for left_over in group.glob(_WORKER.format("*")):
        with contextlib.suppress(OSError):  # it belongs to another run
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
    """The control group of one worker; empty until a process enters.

    Args:
        parent: A claimed group.
        limits: Limits of the worker's processes together.

    Raises:
        OSError: The kernel refused.
    """

    def __init__(self, parent: Path, limits: Limits) -> None:
        self._folder = parent / _WORKER.format(f"{os.getpid()}-{next(_numbers)}")
        self._folder.mkdir()
        for name, value in _settings(limits).items():
            (self._folder / name).write_text(str(value), encoding="ascii")
        # A process that writes 0 to this file enters the group, with its later children. The kernel
        # checks the rights of the process that opened the file, not of the one that writes.
        self.entrance = os.open(self._folder / "cgroup.procs", os.O_WRONLY)

    def remove(self) -> None:
        """Remove the group; wait up to a second for its killed processes to end."""
        os.close(self.entrance)
        gives_up = time.monotonic() + _REMOVAL_SECONDS
        while time.monotonic() < gives_up:
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.01)
