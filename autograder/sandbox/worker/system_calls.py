"""Refuses the system calls whose effects reach beyond a worker, or that no limit counts.

Memory that no process holds: a file in memory, a System V segment, semaphores and messages keep
their pages when nobody maps them, and there may be as many as there are descriptors or identifiers.
So do pages that are spliced into a pipe, or sent from a file, where a byte holds a page, or a huge
one, that the file has given up; shared memory without a file, which stays when a process gives back
its pages; tables of BPF and of a process's own futexes; what happens to files and nobody reads; and
the rings of io_uring, which moreover does what it is asked past this filter. (What is in /dev/shm
and in /tmp is bounded by their size, but for what is kept with a file beside its pages: lists of
who may use it, which are attributes, and where its pages should lie.) Asynchronous I/O, of which
there is so much for the whole machine: a database may want it. Filters for packets and system
calls, which are compiled into memory that the whole machine shares; rules of Landlock. More than
the usual room for what is on its way in a socket. Locks on parts of a file, of which there may be
any number (a whole file's, by ``flock``, are as many as descriptors). A lease on a file, which lets
everybody who opens it wait for most of a minute. Tracing: who is traced can be held where no signal
ends it. Keys: those of a user are the same in all of that user's processes, and asking for one may
start a program outside. Namespaces of one's own, in which it would be root. All sockets but Unix
streams (and, for CUDA, packets in order): who sends a descriptor by another kind may wait past the
point where it is asked how many of its user's are on their way, and that many are then too many for
the judge; some no network namespace holds, such as those to a virtual machine's host, of some the
machine's memory is one for all, and for each kind that it does not know the kernel starts a program
outside, as it does for what a terminal is to speak. Another limit on cores than
``isolation.NO_CORE``. What looks at the machine: its log, its counters, who opens which file. Pages
for which whoever reads them waits, the kernel too. And what is newer than Linux 5.0, but for a few
that programs ask for first: libraries do without the others.
"""

import ctypes
import errno
import os
import resource
import struct

_PR_SET_SECCOMP, _PR_FUTEX_HASH = 22, 78
_PR_SCHED_CORE = 62  # nobody else may use the other half of a processor then
_FILTER = 2  # SECCOMP_MODE_FILTER
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # BPF's instructions
_NUMBER, _ARCHITECTURE = 0, 4  # where they stand in what the kernel asks
_FIRST, _SECOND, _THIRD, _FOURTH = 16, 24, 32, 40  # and where arguments do
_ALL = 0xFFFFFFFF
_OTHER_ABI = 0x40000000  # x32's calls, on x86_64
_F_SETLEASE, _F_SETDELEG = 1024, 1040
_F_NOTIFY = 1026
_TIOCSETD = 0x5423
_IOCTL_KIND, _OF_NETWORKS, _OF_FILE_SYSTEMS = 0xFF00, 0x8900, 0x6600
_LOCK_PARTS = 6, 7, 37, 38  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
_SOCKET_KIND, _SOCK_DGRAM = 0xF, 2  # a stream is 1
_AF_UNSPEC, _AF_INET = 0, 2  # before and behind Unix sockets, all that anybody needs
_SOCKET, _ATTACH_FILTER, _ATTACH_BPF = 1, 26, 50  # SOL_SOCKET, SO_ATTACH_FILTER, SO_ATTACH_BPF
_BUFFERS = 7, 8  # SO_SNDBUF and SO_RCVBUF
_SHARED_WITHOUT_FILE = 0x21  # MAP_SHARED and MAP_ANONYMOUS
_HUGE_PAGES = 0x40000  # of a pool of the machine's, kept for who asks before he uses them
_CLONE_NEW = 0x7E020000  # any of CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {
    "x86_64": {
        "memfd_create": 319, "shmget": 29, "semget": 64, "msgget": 68,
        "unshare": 272, "io_setup": 206, "bpf": 321,
        "vmsplice": 278, "seccomp": 317, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311,
        "add_key": 248, "request_key": 249, "keyctl": 250,
        "syslog": 103, "perf_event_open": 298, "fanotify_init": 300, "userfaultfd": 323,
        "splice": 275, "tee": 276, "sendfile": 40, "inotify_init": 253, "inotify_init1": 294,
        "mbind": 237,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
    },
    "aarch64": {
        "memfd_create": 279, "shmget": 194, "semget": 190, "msgget": 186,
        "unshare": 97, "io_setup": 0, "bpf": 280,
        "vmsplice": 75, "seccomp": 277, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271,
        "add_key": 217, "request_key": 218, "keyctl": 219,
        "syslog": 116, "perf_event_open": 241, "fanotify_init": 262, "userfaultfd": 282,
        "splice": 76, "tee": 77, "sendfile": 71, "inotify_init1": 26,
        "mbind": 235,
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
    },
}  # fmt: skip
_NEWER = 424  # from here on all architectures have the same numbers
_NEWER_ALLOWED = {
    "pidfd_send_signal": 424, "pidfd_open": 434, "close_range": 436, "openat2": 437,
    "faccessat2": 439, "epoll_pwait2": 441, "futex_waitv": 449, "fchmodat2": 452,
}  # fmt: skip
"""No other: not clone3, whose flags can't be looked at, nor what kernels to come will have."""
_ANSWERS = {  # where they are refused, for libraries to do without; others are of no such kernel
    "sendfile": errno.ENOTSOCK,
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), errno.ENOTSUP),
}
_CONDITIONAL = {
    "x86_64": {
        "fcntl": 72, "clone": 56, "socket": 41, "socketpair": 53, "prctl": 157, "setsockopt": 54,
        "mmap": 9, "setrlimit": 160, "prlimit64": 302, "ioctl": 16,
    },
    "aarch64": {
        "fcntl": 25, "clone": 220, "socket": 198, "socketpair": 199, "prctl": 167,
        "setsockopt": 208, "mmap": 222, "setrlimit": 164, "prlimit64": 261,
        "ioctl": 29,
    },
}  # fmt: skip
_REFUSED_IF = [  # by these bits of their arguments: what they are, or from where on
    *(
        ("fcntl", [(_SECOND, _ALL, _EQUALS, command)])
        for command in (_F_SETLEASE, _F_SETDELEG, _F_NOTIFY, *_LOCK_PARTS)
    ),
    ("clone", [(_FIRST, _CLONE_NEW, _AT_LEAST, 1)]),
    *(
        (call, [(_FIRST, _ALL, comparison, family)])
        for call in ("socket", "socketpair")
        for comparison, family in ((_EQUALS, _AF_UNSPEC), (_AT_LEAST, _AF_INET))
    ),
    ("socketpair", [(_SECOND, _SOCKET_KIND, _AT_LEAST, _SOCK_DGRAM)]),
    *(
        ("prctl", [(_FIRST, _ALL, _EQUALS, option)])
        for option in (_PR_SET_SECCOMP, _PR_FUTEX_HASH, _PR_SCHED_CORE)
    ),
    ("setrlimit", [(_FIRST, _ALL, _EQUALS, resource.RLIMIT_CORE)]),
    ("prlimit64", [(_SECOND, _ALL, _EQUALS, resource.RLIMIT_CORE)]),
    ("ioctl", [(_SECOND, _ALL, _EQUALS, _TIOCSETD)]),
    *(
        ("ioctl", [(_SECOND, _IOCTL_KIND, _EQUALS, kind)])
        for kind in (_OF_NETWORKS, _OF_FILE_SYSTEMS)
    ),
    *(
        ("setsockopt", [(_SECOND, _ALL, _EQUALS, _SOCKET), (_THIRD, _ALL, _EQUALS, option)])
        for option in (_ATTACH_FILTER, _ATTACH_BPF, *_BUFFERS)
    ),
]
_REFUSED_WITHOUT_GPU = [
    ("socket", [(_SECOND, _SOCKET_KIND, _AT_LEAST, _SOCK_DGRAM)]),
    *(
        ("mmap", [(_FOURTH, flags, _EQUALS, flags)])
        for flags in (_SHARED_WITHOUT_FILE, _HUGE_PAGES)
    ),
]
"""A driver may want them."""

_REFUSED_WITH_GPU = [
    *(("socket", [(_SECOND, _SOCKET_KIND, _EQUALS, kind)]) for kind in (2, 3, 4)),
    ("socket", [(_SECOND, _SOCKET_KIND, _AT_LEAST, 6)]),
]
"""CUDA does not start without a socket of kind 5, packets in order, that others may ask it by."""


def filter_system_calls() -> None:
    """Refuse these calls to this process and to all that it will start, for good.

    To be called when no new privileges can be had. On machines whose system-call numbers are not
    listed here, nothing is refused.

    Raises:
        OSError: The kernel has no filter for system calls.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        return
    program = b"".join(struct.pack("=HBBI", *step) for step in _steps(machine))
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, described, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(SECCOMP): {os.strerror(number)}")


def _steps(machine: str) -> list[tuple[int, int, int, int]]:
    """Write the filter: instruction, how far to jump if so and if not, operand."""
    has_gpu = os.environ.get("COURSE_DEVICE") == "cuda"
    conditions = [*_REFUSED_IF, *(_REFUSED_WITH_GPU if has_gpu else _REFUSED_WITHOUT_GPU)]
    answers = [errno.ENOSYS, *sorted({*_ANSWERS.values()})]
    newer = len(_NEWER_ALLOWED) + 2
    allow = 4 + newer + len(_REFUSED[machine]) + sum(2 + 3 * len(t) for _, t in conditions)
    refuse = allow + 1  # the last steps, one for each answer
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUALS, 0, refuse - 2, _ARCHITECTURES[machine]),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, refuse - 4, 0, _OTHER_ABI),
    ]
    steps.append((_AT_LEAST, 0, newer - 1, _NEWER))
    steps += [
        (_EQUALS, allow - len(steps) - n - 1, 0, number)
        for n, number in enumerate(_NEWER_ALLOWED.values())
    ]
    steps.append((_AT_LEAST, refuse - len(steps) - 1, 0, 0))
    for name, number in _REFUSED[machine].items():
        answer = refuse + answers.index(_ANSWERS.get(name, errno.ENOSYS))
        steps.append((_EQUALS, answer - len(steps) - 1, 0, number))
    for name, tests in conditions:
        to_next = 3 * len(tests)
        steps += [(_LOAD, 0, 0, _NUMBER), (_EQUALS, 0, to_next, _CONDITIONAL[machine][name])]
        for argument, bits, test, value in tests:
            to_next -= 3
            steps += [(_LOAD, 0, 0, argument), (_AND, 0, 0, bits)]
            steps.append((test, 0 if to_next else refuse - len(steps) - 1, to_next, value))
    ends = [_ALLOW, *(_ERRNO | answer for answer in answers)]
    return [*steps, *((_RETURN, 0, 0, end) for end in ends)]
