"""Refuses system calls that reach beyond a worker or hold memory that no process is charged for.

- memory outside of processes: files in memory, System V objects, pages in pipes, asynchronous I/O;
- tracing and reading other processes, BPF, performance counters, keys, the kernel's log;
- new namespaces, in which the process would be root;
- sockets other than Unix sockets (and, for CUDA, sequenced packets);
- calls newer than Linux 5.0, except for a few that libraries try first.
"""

import ctypes
import errno
import os
import socket
import struct

_PR_SET_SECCOMP, _FILTER = 22, 2  # SECCOMP_MODE_FILTER
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # instructions of BPF
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_FIRST_ARGUMENT = 16
_OTHER_ABI = 0x40000000  # x32's calls, on x86_64
_CLONE_NEW = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {
    "x86_64": {
        "memfd_create": 319, "shmget": 29, "semget": 64, "msgget": 68, "io_setup": 206,
        "vmsplice": 278, "splice": 275, "tee": 276, "sendfile": 40,
        "unshare": 272, "seccomp": 317, "ptrace": 101, "bpf": 321,
        "process_vm_readv": 310, "process_vm_writev": 311,
        "add_key": 248, "request_key": 249, "keyctl": 250,
        "syslog": 103, "perf_event_open": 298, "fanotify_init": 300, "userfaultfd": 323,
    },
    "aarch64": {
        "memfd_create": 279, "shmget": 194, "semget": 190, "msgget": 186, "io_setup": 0,
        "vmsplice": 75, "splice": 76, "tee": 77, "sendfile": 71,
        "unshare": 97, "seccomp": 277, "ptrace": 117, "bpf": 280,
        "process_vm_readv": 270, "process_vm_writev": 271,
        "add_key": 217, "request_key": 218, "keyctl": 219,
        "syslog": 116, "perf_event_open": 241, "fanotify_init": 262, "userfaultfd": 282,
    },
}  # fmt: skip
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKETS = {"x86_64": (41, 53), "aarch64": (198, 199)}  # socket, socketpair
_NEWER = 424  # from here on all architectures have the same numbers
_NEWER_ALLOWED = {
    "pidfd_send_signal": 424, "pidfd_open": 434, "close_range": 436, "openat2": 437,
    "faccessat2": 439, "epoll_pwait2": 441, "futex_waitv": 449, "fchmodat2": 452,
}  # fmt: skip
_NO_SUCH_CALL = _ERRNO | errno.ENOSYS


def filter_system_calls() -> None:
    """Refuse these calls to this process and its children, for good.

    Requires ``PR_SET_NO_NEW_PRIVS``. On machines other than x86_64 and aarch64 nothing is refused.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        return
    program = b"".join(struct.pack("=HBBI", *step) for step in _program(machine))
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, described, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(SECCOMP): {os.strerror(number)}")


def _program(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter: instruction, jumps if true and if false, operand."""
    refuse = (_RETURN, 0, 0, _NO_SUCH_CALL)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUALS, 1, 0, _ARCHITECTURES[machine]),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _OTHER_ABI),
        refuse,
    ]
    for number in _REFUSED[machine].values():
        steps += [(_EQUALS, 0, 1, number), refuse]
    for number in _NEWER_ALLOWED.values():
        steps += [(_EQUALS, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_AT_LEAST, 0, 1, _NEWER), refuse]
    steps += [  # clone with a flag for a new namespace
        (_EQUALS, 0, 4, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_AND, 0, 0, _CLONE_NEW),
        (_AT_LEAST, 0, 1, 1),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in _SOCKETS[machine]:
        steps += [
            (_EQUALS, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_EQUALS, 1, 0, int(socket.AF_UNIX)),
            refuse,
            (_LOAD, 0, 0, _NUMBER),
        ]
    return [*steps, (_RETURN, 0, 0, _ALLOW)]
