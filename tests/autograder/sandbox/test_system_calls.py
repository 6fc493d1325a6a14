"""Which system calls a worker is refused, and that libraries do without them."""

import os

import pytest

from tests.autograder.sandbox.conftest import run

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    "family",
    [0, 2, 10, 16, 9, 31, 38, 40],  # none, IP, IPv6, netlink, X.25, Bluetooth, the kernel's, a VM's
)
def test_no_sockets_can_be_had_but_unix_ones(worker, family):
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
def test_no_namespace_can_be_made_in_which_it_would_be_root(worker, call):
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
        "mmap(None, 4096, 3, 0x21, -1, 0)",  # shared, without a file
        "mmap(None, 4096, 1, 1, os.open('/dev/zero', 0), 0)",  # likewise
        "prctl(22, 2, FILTER, 0, 0)",  # PR_SET_SECCOMP
        "syscall({'x86_64': 317, 'aarch64': 277}[os.uname().machine], 1, 0, FILTER)",  # seccomp
        "setsockopt(SOCKET.fileno(), 1, 26, FILTER, 16)",  # SO_ATTACH_FILTER
        "setsockopt(SOCKET.fileno(), 1, 7, ctypes.byref(ctypes.c_int(1 << 24)), 4)",  # SO_SNDBUF
        "syscall(444, ctypes.create_string_buffer(b'\\x01', 8), 8, 0)",  # landlock_create_ruleset
        "prctl(78, 1, 4, 0)",  # PR_FUTEX_HASH
        "inotify_init()",
        "syscall({'x86_64': 237, 'aarch64': 235}[os.uname().machine], AREA, 4096, 1, NODES, 2, 0)",
        "inotify_init1(0)",
        "socket(1, 2, 0)",  # datagrams, and what has their order as well
        "socketpair(1, 5 | 0o2000000, 0, (ctypes.c_int * 2)())",
        "fcntl(FILE, 6, ctypes.byref(LOCK))",  # F_SETLK
        "fcntl(FILE, 37, ctypes.byref(LOCK))",  # F_OFD_SETLK
        "splice(FILE, None, PIPE[1], None, 1, 0)",  # a byte that holds a page
        "tee(PIPE[0], os.pipe()[1], 1, 0)",
        "sendfile(PAIR[0].fileno(), FILE, None, 1)",
        "setxattr(b'/tmp/locked', b'system.posix_acl_access', ACL, 28, 0)",
        "lsetxattr(b'/tmp/locked', b'system.posix_acl_access', ACL, 28, 0)",
        "fsetxattr(FILE, b'system.posix_acl_access', ACL, 28, 0)",
        "syscall(463, -100, b'/tmp/locked', 0, b'system.posix_acl_access', SET, 16)",  # setxattrat
    ],
)
def test_memory_that_no_process_holds_cant_be_had(worker, call):
    """Its pages would stay where nobody maps them, and nothing would count them."""
    peer, _ = worker()
    source = """
import ctypes, mmap, os, socket, struct
ALLOW = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
FILTER = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(ALLOW)))
SOCKET = socket.socket(socket.AF_UNIX)
SOCKET.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
FILE = os.open("/tmp/locked", os.O_RDWR | os.O_CREAT)
LOCK = (ctypes.c_long * 4)(1, 0, 1)  # F_WRLCK, from the start, one byte
os.write(FILE, b"something")
os.lseek(FILE, 0, 0)
os.ftruncate(FILE, 4096)
MAPPED, NODES = mmap.mmap(FILE, 4096), ctypes.byref(ctypes.c_ulong(1))  # for mbind
AREA = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(MAPPED)))
PAIR, PIPE = socket.socketpair(), os.pipe()
os.write(PIPE[1], b"something")
ALL = 0xFFFFFFFF
LIST = struct.pack("<I" + "HHI" * 3, 2, 1, 6, ALL, 4, 6, ALL, 32, 0, ALL)  # owner, group, others
ACL = ctypes.create_string_buffer(LIST, 28)
SET = ctypes.create_string_buffer(struct.pack("@PIi", ctypes.addressof(ACL), 28, 0), 16)
"""
    assert run(peer, f"{source}found = ctypes.CDLL(None).{call}") == -1


def test_nothing_is_kept_for_a_worker_that_it_does_not_use(worker):
    """Huge pages of the machine's pool, pages that stay in memory, a place before all others."""
    peer, _ = worker()
    source = """
import ctypes, errno, resource
libc = ctypes.CDLL(None, use_errno=True)
def is_refused(call, *given):
    ctypes.set_errno(0)
    call(*given)
    return ctypes.get_errno() == errno.ENOSYS
found = [is_refused(libc.mmap, None, 2 << 20, 3, 0x40022, -1, 0), is_refused(libc.prctl, 62, 1)]
found += [is_refused(libc.process_vm_readv, 1, None, 0, None, 0, 0)]
found += [is_refused(libc.process_vm_writev, 1, None, 0, None, 0, 0)]
kinds = (resource.RLIMIT_MEMLOCK, resource.RLIMIT_RTPRIO)
found += [resource.getrlimit(kind)[1] for kind in kinds]
"""
    assert run(peer, source) == [*[True] * 4, 1 << 16, 0]


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
open("/tmp/from", "w").write("all of it" * 10_000)
os.chmod("/tmp/from", 0o640)
shutil.copy2("/tmp/from", "/tmp/to")
shutil.copytree("/tmp", "/dev/shm/tree")
ours, theirs = socket.socketpair()
with open("/tmp/from", "rb") as file:
    sent = ours.sendfile(file, 0, 100)
found = [os.stat("/tmp/to").st_size, os.stat("/dev/shm/tree/to").st_mode & 0o777, sent]
"""
    assert run(peer, source) == [90_000, 0o640, 100]


@pytest.mark.parametrize("asked", [0x5423, 0x8940, 0x8982, 0x8912, 0x6617, 0xC0406618])
def test_no_line_no_network_and_no_file_system_is_asked_for_more(worker, asked):
    """The kernel looks for modules for lines and bridges; keys of file systems are the staff's."""
    peer, _ = worker()
    source = f"""
import ctypes, errno, os, socket
pair, line, folder = socket.socketpair(), os.openpty()[1], os.open("/grading", 0)
libc = ctypes.CDLL(None, use_errno=True)
place = {{0x54: line, 0x89: pair[0].fileno(), 0x66: folder}}[{asked} >> 8 & 255]
found = [libc.ioctl(place, ctypes.c_ulong({asked}), ctypes.create_string_buffer(80))]
found.append(ctypes.get_errno() == errno.ENOSYS)
"""
    assert run(peer, source) == [-1, True]


def test_no_crash_starts_a_program_outside(worker):
    """As root, where the machine pipes cores to one: it does so by a limit of 0 too."""
    peer, _ = worker()
    source = """
import ctypes, os, resource
limits = (ctypes.c_ulong * 2)()
ctypes.CDLL(None).syscall({'x86_64': 97, 'aarch64': 163}[os.uname().machine], 4, limits)
found = list(limits)
try:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except OSError:
    found.append("refused")
"""
    assert run(peer, source) == [1, 1, "refused"]


@pytest.mark.parametrize(
    "call",
    [
        "syscall({'x86_64': 103, 'aarch64': 116}[machine], 10, 0, 0)",  # syslog: its size
        "syscall({'x86_64': 298, 'aarch64': 241}[machine], EVENT, 0, -1, -1, 0)",  # perf_event_open
        "syscall({'x86_64': 300, 'aarch64': 262}[machine], 0x200, 0)",  # fanotify_init
        "fcntl(os.open('/usr', 0), 1026, 1)",  # F_NOTIFY
        "syscall({'x86_64': 323, 'aarch64': 282}[machine], 1)",  # userfaultfd: of its own faults
    ],
)
def test_nobody_looks_at_the_machine(worker, call):
    peer, _ = worker()
    source = f"""
import ctypes, errno, os
machine = os.uname().machine
EVENT = (ctypes.c_ulong * 16)(1 | 112 << 32)  # PERF_TYPE_SOFTWARE
libc = ctypes.CDLL(None, use_errno=True)
found = libc.{call}, errno.errorcode[ctypes.get_errno()]
"""
    assert run(peer, source) == (-1, "ENOSYS")


def test_nobody_traces(worker):
    """Who is traced can be held where no signal ends it, and whoever waits for its end with it."""
    peer, _ = worker()
    source = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
found = libc.ptrace(0, 0, 0, 0), errno.errorcode[ctypes.get_errno()]
"""
    assert run(peer, source) == (-1, "ENOSYS")


def test_nobody_is_kept_from_a_file_by_a_lease(worker):
    """Who opens a file on which somebody else has one waits for it, 45 seconds as a rule."""
    peer, _ = worker()
    source = """
import errno, fcntl, os
file = os.open("/tmp/mine", os.O_CREAT | os.O_RDWR)
found = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_RDWR
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as error:
    found = found, errno.errorcode[error.errno]
"""
    assert run(peer, source) == (os.O_RDWR, "ENOSYS")
