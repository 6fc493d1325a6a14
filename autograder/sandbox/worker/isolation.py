"""Moves the current process into namespaces of its own, with limits and no privileges.

Called in a fresh fork, before any student code runs. The sandbox around the forking process already
hides the network and the files; this module separates submissions: each has its own processes,
/tmp, shared memory, sockets and terminals.
"""

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from .system_calls import filter_system_calls

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_OWN_NAMESPACES = _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWNET
_MS_RDONLY = 0x1
_MS_BIND_REC = 0x1000 | 0x4000
_MS_NOSUID = 0x2
_MS_NOSUID_NODEV = _MS_NOSUID | 0x4
_MS_MOVE = 0x2000
_MS_SEALED = _MS_RDONLY | _MS_NOSUID_NODEV | 0x20 | 0x1000  # for an existing mount, from now on
_MS_REC_PRIVATE = 0x4000 | 0x40000
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_STUDENT_ID = 1000
NO_CORE = 1  # byte; with 0, a machine that pipes cores to a program would still start it, as root
_LOCKED_BYTES = 1 << 16  # locked pages of files are charged to no process
_NAMED_THREADS = 500  # the most that a worker can have started before CUDA starts
_TERMINALS = 32  # the whole machine has about four thousand

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Resource limits of one worker.

    Attributes:
        memory_mb: Address space in MiB, in addition to that of the forking process.
        scratch_mb: Size of /tmp and of /dev/shm, in MiB each.
        processes: Processes and threads.
        open_files: Open file descriptors.
        output_characters: Text that one cell may show; the rest is dropped without an error.
    """

    memory_mb: int = 4096
    scratch_mb: int = 256
    processes: int = 256
    open_files: int = 256
    output_characters: int = 4000


def enter_own_namespaces(limits: Limits) -> None:
    """Fork a process into new user, PID, mount, IPC and network namespaces; return only in it.

    The calling process stays outside. It waits, then ends with the same status as the inner one. On
    SIGTERM, or when its parent ends, it kills the inner process and all that this one started.
    """
    user, group, parent = os.geteuid(), os.getegid(), os.getppid()
    _check(_libc.unshare(_OWN_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_STUDENT_ID} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{_STUDENT_ID} {group} 1")
    inner = os.fork()
    if inner:
        _end_as(inner, parent)
    # If the machine is out of memory, the kernel ends these, and not the judge.
    Path("/proc/self/oom_score_adj").write_text("1000")
    os.setsid()  # a signal to the own process group must not reach the process outside
    die_with_parent()
    _check(_libc.mount(b"none", b"/", None, _MS_REC_PRIVATE, None), "mount /")
    size = f"size={limits.scratch_mb}m,nr_inodes=20000".encode()
    python = _python_below_tmp()
    for scratch in (b"/tmp", b"/dev/shm"):
        _check(_libc.mount(b"tmpfs", scratch, b"tmpfs", _MS_NOSUID_NODEV, size), "mount tmpfs")
    own = f"ptmxmode=0666,mode=0600,max={_TERMINALS}".encode()
    _check(_libc.mount(b"devpts", b"/dev/pts", b"devpts", _MS_NOSUID, own), "mount devpts")
    for folder, handle in python.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        source = f"/proc/self/fd/{handle}".encode()
        _check(_libc.mount(source, folder.encode(), None, _MS_BIND_REC, None), f"mount {folder}")
        os.close(handle)
    _cover_proc()
    os.chdir("/tmp")  # noqa: S108


def _cover_proc() -> None:
    """Cover /proc with an empty folder: its open files use memory that no process is charged for.

    For CUDA, the process's memory map and a place for the threads' names stay.
    """
    if os.environ.get("COURSE_DEVICE") != "cuda":
        _check(_libc.mount(b"tmpfs", b"/proc", b"tmpfs", _MS_RDONLY, b"size=0"), "mount /proc")
        return
    proc = Path("/tmp/proc")  # noqa: S108 -- the worker's own
    proc.mkdir()
    size = f"size=64k,nr_inodes={_NAMED_THREADS + 10},mode=755".encode()
    _check(_libc.mount(b"tmpfs", bytes(proc), b"tmpfs", _MS_NOSUID_NODEV, size), "mount tmpfs")
    tasks = proc / "self" / "task"
    (tasks / "1").mkdir(parents=True)
    (tasks / "1" / "comm").symlink_to("/dev/null")
    for thread in range(2, _NAMED_THREADS + 1):
        (tasks / str(thread)).symlink_to("1")
    maps = proc / "self" / "maps"
    maps.touch()
    _check(_libc.mount(b"/proc/self/maps", bytes(maps), None, _MS_BIND_REC, None), "mount maps")
    _check(_libc.mount(bytes(proc), b"/proc", None, _MS_MOVE, None), "move /proc")
    _check(_libc.mount(None, b"/proc", None, _MS_SEALED, None), "seal /proc")
    proc.rmdir()


def mapped_bytes() -> int:
    """Return the size of this process's address space; reads /proc."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def drop_privileges(limits: Limits, mapped: int) -> None:
    """Set the resource limits, give up every capability and filter system calls, for good.

    ``mapped`` are the bytes of address space in use, which the memory limit does not count.
    """
    memory = mapped + (limits.memory_mb << 20)
    if os.environ.get("COURSE_DEVICE") == "cuda":  # CUDA maps more than the machine's memory
        memory = resource.RLIM_INFINITY  # used memory is still watched
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, NO_CORE),
        (resource.RLIMIT_FSIZE, limits.scratch_mb << 20),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_MEMLOCK, _LOCKED_BYTES),
        (resource.RLIMIT_RTPRIO, 0),
    ):
        hard = resource.getrlimit(kind)[1]  # a lower one can't be raised
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    no_capabilities = (ctypes.c_uint32 * 6)()
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(NO_NEW_PRIVS)")
    _check(_libc.capset(header, no_capabilities), "capset")
    # So that the zygote may read its memory; ptrace is refused to the worker's own processes.
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(DUMPABLE)")
    filter_system_calls()


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process the signal ``how`` when its parent ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0), "prctl(PDEATHSIG)")


def let_descriptors_travel() -> None:
    """Raise the soft limit on open files; it also limits descriptors sent through sockets."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _python_below_tmp() -> dict[str, int]:
    """Return open descriptors of the folders of this Python below /tmp, which a mount will hide."""
    tmp = "/tmp/"  # noqa: S108
    folders = {os.path.realpath(folder) for folder in (sys.prefix, sys.base_prefix)}
    hidden = sorted(folder for folder in folders if folder.startswith(tmp))
    return {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in hidden}


def _end_as(inner: int, parent: int) -> None:
    # The inner process can turn off its death signal, so its parent kills it.
    handle = os.pidfd_open(inner)
    signal.signal(signal.SIGTERM, lambda *_: signal.pidfd_send_signal(handle, signal.SIGKILL))
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before
        signal.raise_signal(signal.SIGTERM)
    _, status = os.waitpid(inner, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (NO_CORE, NO_CORE))
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _check(result: int, step: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{step}: {os.strerror(number)}")
