"""Which system calls a worker is refused, and that libraries do without them."""

import os

import pytest

from tests.autograder.sandbox.conftest import run

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    "family",
    [0, 2, 10, 16, 9, 31, 38, 40],  # none, IP, IPv6, netlink, X.25, Bluetooth, the kernel's, a VM's
)
def test_sockets_other_than_unix_are_refused(worker, family):
    """Others lead past the network's namespace, share the machine's memory, or load modules."""
    peer, _ = worker()
    source = f"""
import errno, socket
found = None
try:
    found = socket.socket({family}, socket.SOCK_STREAM).fileno()
except OSError as error:
    found = errno.errorcode[error.errno]
"""
    assert run(peer, source) == "ENOSYS"


@pytest.mark.parametrize(
    "call",
    [
        "unshare(0x10000000)",  # CLONE_NEWUSER
        "syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0)",
        "syscall(435, (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17), 64)",  # clone3
    ],
    ids=["unshare", "clone", "clone3"],
)
def test_new_namespaces_are_refused(worker, call):
    peer, _ = worker()
    call = call.format(clone={"x86_64": 56, "aarch64": 220}[os.uname().machine])
    source = f"""
import ctypes, os, threading
me = os.getpid()
found = ctypes.CDLL(None).{call}
if os.getpid() != me:
    os._exit(0)
thread = threading.Thread(target=print); thread.start(); thread.join()  # for which clone is called
"""
    assert run(peer, source) == -1


@pytest.mark.parametrize(
    "call",
    [
        "memfd_create(b'x', 0)",
        "shmget(0, 4096, 0o1600)",
        "semget(0, 250, 0o1600)",
        "msgget(0, 0o1600)",
        "syscall(425, 8, ctypes.create_string_buffer(120))",  # io_uring_setup
        "syscall({'x86_64': 206, 'aarch64': 0}[os.uname().machine], 1, (ctypes.c_ulong * 1)(0))",
        "syscall({'x86_64': 278, 'aarch64': 75}[os.uname().machine], 1, 0, 0, 0)",  # vmsplice
        "syscall({'x86_64': 317, 'aarch64': 277}[os.uname().machine], 1, 0, FILTER)",  # seccomp
        "syscall(444, ctypes.create_string_buffer(b'\\x01', 8), 8, 0)",  # landlock_create_ruleset
        "splice(FILE, None, PIPE[1], None, 1, 0)",  # a byte that holds a page
        "tee(PIPE[0], os.pipe()[1], 1, 0)",
        "sendfile(PAIR[0].fileno(), FILE, None, 1)",
    ],
)
def test_memory_outside_of_processes_is_refused(worker, call):
    """Its pages would stay where nobody maps them, and nothing would count them."""
    peer, _ = worker()
    source = """
import ctypes, os, socket, struct
ALLOW = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
FILTER = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(ALLOW)))
FILE = os.open("/tmp/locked", os.O_RDWR | os.O_CREAT)
os.write(FILE, b"something")
os.lseek(FILE, 0, 0)
os.ftruncate(FILE, 4096)
PAIR, PIPE = socket.socketpair(), os.pipe()
os.write(PIPE[1], b"something")
"""
    assert run(peer, f"{source}found = ctypes.CDLL(None).{call}") == -1


def test_newer_calls_are_refused_but_for_those_that_programs_ask_for_first(worker):
    peer, _ = worker()
    source = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def is_refused(number):
    libc.syscall(number, -1, -1, -1, -1, -1, -1)
    return ctypes.get_errno() == errno.ENOSYS
found = [n for n in range(424, 1024) if not is_refused(n)]
os.close(os.pidfd_open(os.getpid()))
"""
    assert set(run(peer, source)) <= {
        424,
        434,
        436,
        437,
        439,
        441,
        449,
        452,
    }  # as kernels have them


def test_files_are_copied_as_anywhere(worker):
    """Where what is refused is what libraries try first."""
    peer, _ = worker()
    source = """
import os, shutil, socket
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


@pytest.mark.parametrize(
    "call",
    [
        "syscall({'x86_64': 103, 'aarch64': 116}[machine], 10, 0, 0)",  # syslog: its size
        "syscall({'x86_64': 298, 'aarch64': 241}[machine], EVENT, 0, -1, -1, 0)",  # perf_event_open
        "syscall({'x86_64': 300, 'aarch64': 262}[machine], 0x200, 0)",  # fanotify_init
        "syscall({'x86_64': 323, 'aarch64': 282}[machine], 1)",  # userfaultfd: of its own faults
    ],
)
def test_reading_the_machines_state_is_refused(worker, call):
    peer, _ = worker()
    source = f"""
import ctypes, errno, os
machine = os.uname().machine
EVENT = (ctypes.c_ulong * 16)(1 | 112 << 32)  # PERF_TYPE_SOFTWARE
libc = ctypes.CDLL(None, use_errno=True)
found = libc.{call}, errno.errorcode[ctypes.get_errno()]
"""
    assert run(peer, source) == (-1, "ENOSYS")


def test_tracing_is_refused(worker):
    """Who is traced can be held where no signal ends it, and whoever waits for its end with it."""
    peer, _ = worker()
    source = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
found = libc.ptrace(0, 0, 0, 0), errno.errorcode[ctypes.get_errno()]
"""
    assert run(peer, source) == (-1, "ENOSYS")
