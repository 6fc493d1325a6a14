"""System calls that a worker is refused, and libraries that do without them."""

import pytest

from tests.autograder.sandbox.conftest import run

pytestmark = pytest.mark.sandbox

PREPARED = """
import ctypes, errno, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
def call(x86_64, aarch64, *arguments):
    return libc.syscall(aarch64 if arm else x86_64, *arguments)
ALLOW = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
FILTER = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(ALLOW)))
EVENT = (ctypes.c_ulong * 16)(1 | 112 << 32)  # PERF_TYPE_SOFTWARE
FILE = os.open("/tmp/file", os.O_RDWR | os.O_CREAT)
os.write(FILE, b"something")
os.lseek(FILE, 0, 0)
PAIR, PIPE = socket.socketpair(), os.pipe()
os.write(PIPE[1], b"something")
me = os.getpid()
"""
# Memory in them would stay where no process maps it, and nothing would count it.
MEMORY = [
    "libc.memfd_create(b'x', 0)", "libc.shmget(0, 4096, 0o1600)", "libc.semget(0, 250, 0o1600)",
    "libc.msgget(0, 0o1600)", "call(425, 425, 8, ctypes.create_string_buffer(120))",  # io_uring
    "call(206, 0, 1, (ctypes.c_ulong * 1)(0))",  # io_setup
    "call(278, 75, 1, 0, 0, 0)",  # vmsplice
    "libc.splice(FILE, None, PIPE[1], None, 1, 0)", "libc.tee(PIPE[0], os.pipe()[1], 1, 0)",
    "libc.sendfile(PAIR[0].fileno(), FILE, None, 1)",
    "call(317, 277, 1, 0, FILTER)",  # seccomp
    "call(444, 444, ctypes.create_string_buffer(b'\\x01', 8), 8, 0)",  # landlock_create_ruleset
]  # fmt: skip
OTHERS = [
    "libc.unshare(0x10000000)",  # CLONE_NEWUSER
    "call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)",  # clone
    "call(435, 435, (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17), 64)",  # clone3
    "libc.ptrace(0, 0, 0, 0)",
    "call(248, 217, b'user', b'left', b'solutions', 9, -4)",  # add_key
    "call(249, 218, b'user', b'staffs', b'', -3)",  # request_key
    "call(250, 219, 10, -3, b'user', b'staffs', 0)",  # keyctl: search
    "call(103, 116, 10, 0, 0)",  # syslog: its size
    "call(298, 241, EVENT, 0, -1, -1, 0)",  # perf_event_open
    "call(323, 282, 1)",  # userfaultfd: of its own faults
    # no family, IP, IPv6, netlink, X.25, Bluetooth, the kernel's, a virtual machine's
    *(f"libc.socket({family}, 1, 0)" for family in (0, 2, 10, 16, 9, 31, 38, 40)),
]


@pytest.mark.parametrize("call", MEMORY + OTHERS)
def test_call_is_refused(worker, call):
    peer, _ = worker()
    source = f"""{PREPARED}
found = {call}, errno.errorcode.get(ctypes.get_errno())
if os.getpid() != me:
    os._exit(0)
"""
    assert run(peer, source) == (-1, "ENOSYS")


def test_newer_calls_are_refused_except_those_that_programs_try_first(worker):
    peer, _ = worker()
    source = f"""{PREPARED}
def is_refused(number):
    libc.syscall(number, -1, -1, -1, -1, -1, -1)
    return ctypes.get_errno() == errno.ENOSYS
found = [n for n in range(424, 1024) if not is_refused(n)]
os.close(os.pidfd_open(os.getpid()))
"""
    assert set(run(peer, source)) <= {424, 434, 436, 437, 439, 441, 449, 452}


def test_files_are_copied_and_threads_started_all_the_same(worker):
    peer, _ = worker()
    source = """
import os, shutil, socket, threading
thread = threading.Thread(target=print); thread.start(); thread.join()
os.mkdir("/tmp/own")
open("/tmp/own/from", "w").write("all of it" * 10_000)
os.chmod("/tmp/own/from", 0o640)
shutil.copy2("/tmp/own/from", "/tmp/own/to")
shutil.copytree("/tmp/own", "/dev/shm/tree")
ours, theirs = socket.socketpair()
with open("/tmp/own/from", "rb") as file:
    sent = ours.sendfile(file, 0, 100)
found = [os.stat("/tmp/own/to").st_size, os.stat("/dev/shm/tree/to").st_mode & 0o777, sent]
"""
    assert run(peer, source) == [90_000, 0o640, 100]
