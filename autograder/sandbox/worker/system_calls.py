"""Blocks system calls that reach beyond a worker or use memory that no process is charged for.

These are calls for memory outside of processes, tracing, keys, new namespaces and all sockets but
Unix ones, and calls newer than Linux 5.0, except for a few that libraries try first.
"""

import ctypes
import errno
import os
import socket
import struct

_PR_SET_SECCOMP, _FILTER = 22, 2  # SECCOMP_MODE_FILTER
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_LOAD, _AND, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # instructions of BPF
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_OTHER_ABI = 0x40000000  # x32's calls, on x86_64
_CLONE_NEW = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name: number on x86_64, number on aarch64
_REFUSED = {
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "io_setup": (206, 0),
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
    "sendfile": (40, 71),
    "unshare": (272, 97),
    "seccomp": (317, 277),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "syslog": (103, 116),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
_CLONE, _SOCKETS = (56, 220), ((41, 198), (53, 199))  # socket, socketpair
_NEWER = 424  # from here on all architectures have the same numbers
_NEWER_ALLOWED = {
    "pidfd_send_signal": 424, "pidfd_open": 434, "close_range": 436, "openat2": 437,
    "faccessat2": 439, "epoll_pwait2": 441, "futex_waitv": 449, "fchmodat2": 452,
}  # fmt: skip


def filter_system_calls() -> None:
    """Install the filter for this process and its children, for good.

    Requires ``PR_SET_NO_NEW_PRIVS``. On machines other than x86_64 and aarch64 nothing is blocked.
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
    """Return the filter for a machine, as BPF instructions.

    Each is (operation, jump if true, jump if false, operand).
    """
    column = list(_ARCHITECTURES).index(machine)
    refuse, allow = (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)
    load_number, load_argument = (_LOAD, 0, 0, _NUMBER), (_LOAD, 0, 0, _FIRST_ARGUMENT)
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUALS, 1, 0, _ARCHITECTURES[machine]), refuse]
    steps += [load_number, (_AT_LEAST, 0, 1, _OTHER_ABI), refuse]
    for numbers in _REFUSED.values():
        steps += [(_EQUALS, 0, 1, numbers[column]), refuse]
    for number in _NEWER_ALLOWED.values():
        steps += [(_EQUALS, 0, 1, number), allow]
    steps += [(_AT_LEAST, 0, 1, _NEWER), refuse]
    is_new_namespace = [(_AND, 0, 0, _CLONE_NEW), (_AT_LEAST, 0, 1, 1), refuse]
    steps += [(_EQUALS, 0, 4, _CLONE[column]), load_argument, *is_new_namespace, load_number]
    for numbers in _SOCKETS:
        is_other_family = [(_EQUALS, 1, 0, int(socket.AF_UNIX)), refuse]
        steps += [(_EQUALS, 0, 4, numbers[column]), load_argument, *is_other_family, load_number]
    return [*steps, allow]
