"""Refuses the system calls that make memory which no process holds, and which no limit counts.

A file in memory, or a System V segment, keeps its pages when nobody maps them: each may be as large
as a process may be, and there may be as many as there are descriptors. What is in /dev/shm and in
/tmp is bounded by their size. Namespaces of one's own would bring other such places.
"""

import ctypes
import errno
import os
import struct

_PR_SET_SECCOMP = 22
_FILTER = 2  # SECCOMP_MODE_FILTER
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF: ld, jeq, jge, ret
_NUMBER, _ARCHITECTURE = 0, 4  # where they stand in what the kernel asks about
_OTHER_ABI = 0x40000000  # x32's calls, on x86_64

_MACHINES = {
    "x86_64": (0xC000003E, {"memfd_create": 319, "memfd_secret": 447, "shmget": 29}),
    "aarch64": (0xC00000B7, {"memfd_create": 279, "memfd_secret": 447, "shmget": 194}),
}


def refuse_hidden_memory() -> None:
    """Refuse these calls to this process and to all that it will start, for good.

    To be called when no new privileges can be had. On machines whose numbers of system calls stand
    not here, nothing is refused.

    Raises:
        OSError: The kernel has no filter for system calls.
    """
    if os.uname().machine not in _MACHINES:
        return
    architecture, refused = _MACHINES[os.uname().machine]
    no_such_call = _ERRNO | errno.ENOSYS  # as of a kernel without them: libraries know what to do
    numbers = sorted(refused.values())
    after = len(numbers) + 1  # from the first comparison to what refuses
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUALS, 0, after + 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, after, 0, _OTHER_ABI),
        *((_EQUALS, after - 1 - i, 0, number) for i, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, no_such_call),
    ]
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, described, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(SECCOMP): {os.strerror(number)}")
