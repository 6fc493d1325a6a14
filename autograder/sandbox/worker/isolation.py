"""Shuts the current process into namespaces of its own, with limits and no privileges.

Linux only. Called in a fresh fork, before any of a student's code runs. The sandbox around the
forking process (see ``sandbox.py``) already hides the network and the file system; this keeps
one submission from another: own processes, own /tmp, own shared memory, own sockets and terminals,
nothing left behind.
"""

import ctypes
import errno
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
_MS_SEALED = _MS_RDONLY | _MS_NOSUID_NODEV | 0x20 | 0x1000  # a mount that is there, from now on
_MS_REC_PRIVATE = 0x4000 | 0x40000
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_KEYCTL = 250 if os.uname().machine == "x86_64" else 219  # the system call's number
_KEYCTL_JOIN_SESSION_KEYRING = 1
_STUDENT_ID = 1000
NO_CORE = 1  # byte; where a machine pipes cores to a program, 0 starts it all the same, as root
_LOCKED_BYTES = 1 << 16  # those of files count for no process
_NAMED_THREADS = 500  # so many processes and threads can a worker have begun when CUDA starts
_TERMINALS = 32  # the whole machine has about four thousand

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one worker may use.

    Attributes:
        memory_mb: Address space beyond what the forking process already maps, in MiB.
        scratch_mb: Size of /tmp and of /dev/shm, in MiB each.
        processes: Processes and threads.
        open_files: Open file descriptors.
        output_characters: Text that one cell may show; the rest is left out and costs nothing.
    """

    memory_mb: int = 4096
    scratch_mb: int = 256
    processes: int = 256
    open_files: int = 256
    output_characters: int = 4000


def enter_own_namespaces(limits: Limits) -> None:
    """Move into new user, PID, mount, IPC and network namespaces; returns in their first process.

    The network has no interface that is up, not even to itself. Workers' own processes have Unix
    sockets.

    The caller's process stays outside: it waits, then ends the way the inner one ended. SIGTERM
    makes it end the inner one, and with that one's namespace all that was started there. So does
    the end of the process that forked it: nobody would watch it any more.
    """
    user, group, parent = os.geteuid(), os.getegid(), os.getppid()
    _check(_libc.unshare(_OWN_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{_STUDENT_ID} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{_STUDENT_ID} {group} 1")
    inner = os.fork()
    if inner:
        _end_as(inner, parent)
    # Many small processes can fill the machine: the kernel then ends these, not the judge, nor the
    # process around them.
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
    """Show no /proc: what the kernel writes there for who reads it, it keeps while it is open.

    But with a GPU what CUDA does not start without: what is mapped, and a place where each thread
    writes its name. These have numbers of this namespace, which the /proc around it does not know.
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
    """Return the address space that this process maps; to be read while there is a /proc."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def drop_privileges(limits: Limits, mapped: int) -> None:
    """Set the resource limits and give up every capability, for good."""
    memory = mapped + (limits.memory_mb << 20)
    if os.environ.get("COURSE_DEVICE") == "cuda":  # CUDA maps far more than there is
        memory = resource.RLIM_INFINITY  # what is held is watched all the same
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
    # Who watches may count what it maps. No other process of its own may look into it all the same.
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(DUMPABLE)")
    filter_system_calls()


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel send this process a signal when the one that forked it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0), "prctl(PDEATHSIG)")


def let_descriptors_travel() -> None:
    """Raise this process's soft limit on open files as far as it goes.

    So many descriptors its user may have on their way through sockets when it sends one, those of
    all workers counted; each of these can have some ten thousand of them there.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def leave_keyring() -> None:
    """Begin a session keyring of one's own, and an empty one.

    Namespaces leave a process the keyring from which it was started, with the passwords and tickets
    of whoever runs the judge, and the kernel uses them, for files on a network say. (A worker can't
    ask for keys itself: the calls are refused.) Where there are no keys, in most containers,
    nothing is left behind.
    """
    if _libc.syscall(_KEYCTL, _KEYCTL_JOIN_SESSION_KEYRING, None) < 0:
        number = ctypes.get_errno()
        if number not in (errno.ENOSYS, errno.EPERM):  # a system or a container without keys
            raise OSError(number, f"keyctl: {os.strerror(number)}")


def _python_below_tmp() -> dict[str, int]:
    """Open this Python's folders that a new /tmp would hide: a course may lie in /tmp."""
    tmp = "/tmp/"  # noqa: S108
    folders = {os.path.realpath(folder) for folder in (sys.prefix, sys.base_prefix)}
    hidden = sorted(folder for folder in folders if folder.startswith(tmp))
    return {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in hidden}


def _end_as(inner: int, parent: int) -> None:
    # The inner process can refuse to die with its parent: so its parent kills it.
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


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("the judge's worker runs on Linux only")
