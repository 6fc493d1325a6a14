"""What a worker can reach, and what it leaves behind."""

import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from autograder.sandbox import sandbox as sandbox_module
from autograder.sandbox.sandbox import Sandbox, check_sandbox
from autograder.sandbox.worker import zygote
from autograder.sandbox.worker.isolation import Limits
from autograder.sandbox.worker.peer import RemoteError
from autograder.sandbox.worker.wire import WireClosed
from autograder.sandbox.zygote import SandboxError, Zygote
from tests.autograder.conftest import peer_of

pytestmark = pytest.mark.sandbox


@pytest.fixture
def worker(sandbox):
    """Start workers and call functions in them by name."""
    started = []

    def start():
        worker = sandbox.start()
        started.append(worker)
        return peer_of(worker), worker

    yield start
    for worker in started:
        sandbox.stop(worker)


def run(peer, source):
    """Run statements in the worker; returns what they left in ``found``."""
    peer.call("worker.shell:run_cell", ("probe", source))
    return peer.call("worker.shell:lookup", ("found",))


@pytest.mark.parametrize("path", ["/x", "/dev/x", "/grading/x", "/usr/x", "/etc/x", "/proc/x"])
def test_nothing_outside_tmp_can_be_written(worker, path):
    peer, _ = worker()
    with pytest.raises(RemoteError):
        run(peer, f"open({path!r}, 'w'); found = 1")


def test_the_course_and_home_are_not_there(worker):
    peer, _ = worker()
    root = str(sandbox_module._WORKER_PACKAGE.parents[2])
    hidden = [
        f"{root}/solutions",
        f"{root}/course_lib",
        f"{root}/.git",
        os.path.expanduser("~/.ssh"),
    ]
    assert run(peer, f"import os; found = [os.path.exists(p) for p in {hidden!r}]") == [False] * 4
    assert run(peer, "found = sorted(os.listdir('/grading'))") == ["course_lib", "worker"]


def test_there_is_no_network(worker):
    peer, _ = worker()
    for call in ("create_connection(('127.0.0.1', 22), 1)", "getaddrinfo('localhost', 22)"):
        with pytest.raises(RemoteError):
            run(peer, f"import socket; found = socket.{call}")


@pytest.mark.parametrize(
    "family",
    [2, 10, 16, 9, 31, 38, 40],  # IP, IPv6, netlink, X.25, Bluetooth, the kernel's, a VM's host
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


def test_environment_holds_no_secrets(worker, monkeypatch):
    peer, _ = worker()
    names = set(run(peer, "import os; found = list(os.environ)"))
    assert names <= {
        "PATH", "LANG", "HOME", "COURSE_DEVICE", "MPLBACKEND", "OMP_NUM_THREADS", "PWD",
        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH",
        "LC_CTYPE", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR",
        "TORCHINDUCTOR_COMPILE_THREADS",
    }  # fmt: skip


def test_no_other_process_can_be_seen(worker):
    worker()
    peer, _ = worker()
    source = "import os; found = [os.getpid(), [p for p in os.listdir('/proc') if p.isdigit()]]"
    pid, visible = run(peer, source)
    assert pid == 1
    assert set(visible) <= {"1"}


LISTENER = """
import socket
heard = socket.socket(socket.AF_UNIX)
heard.bind("\\0meeting")
found = heard.listen()
"""
CALLER = """
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0meeting")
    found = "reached"
except ConnectionRefusedError:
    found = "refused"
"""


def test_workers_of_one_run_cant_talk_by_sockets(worker):
    listener, _ = worker()
    caller, _ = worker()
    run(listener, LISTENER)
    assert run(caller, CALLER) == "refused"
    assert run(listener, CALLER) == "reached"  # what is its own stays whole


def test_workers_of_one_run_cant_talk_by_terminals(worker):
    one, _ = worker()
    other, _ = worker()
    source = "import os; ends = os.openpty(); name = os.ttyname(ends[1]); found = name"
    name = run(one, source)
    reading = f"""
import os
try:
    handle = os.open({name!r}, os.O_RDWR | os.O_NOCTTY)
    found = os.write(handle, b"words")
except OSError as error:
    found = 0
"""
    assert run(other, reading) == 0
    assert run(one, reading) == 5


def test_no_privilege_can_be_regained(worker):
    peer, _ = worker()
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
tmp = b"/tmp"
found = [libc.umount2(tmp, 2), libc.mount(b"proc", tmp, b"proc", 0, None), libc.chroot(tmp)]
"""
    assert run(peer, source) == [-1, -1, -1]


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


def test_when_memory_is_short_the_kernel_ends_the_worker_first(worker, sandbox):
    peer, _ = worker()
    assert run(peer, "found = 1") == 1
    mine = psutil.Process(sandbox._process.pid).children(recursive=True)
    scores = [Path(f"/proc/{p.pid}/oom_score_adj").read_text().strip() for p in mine]
    assert scores.count("1000") == 2  # the worker, and the process around it
    with pytest.raises(RemoteError):
        run(peer, "open('/proc/self/oom_score_adj', 'w').write('0'); found = 1")


def test_files_of_one_worker_are_gone_for_the_next(worker):
    look = "import os; found = os.listdir('/tmp') + os.listdir('/dev/shm')"
    first, _ = worker()
    at_first = run(first, look)  # nothing, but for Python itself where that lies in /tmp
    leave = "for p in ('/tmp/x', '/dev/shm/x'): open(p, 'w').write('mine')"
    assert sorted(run(first, f"{leave}\n{look}")) == sorted([*at_first, "x", "x"])
    second, _ = worker()
    assert run(second, look) == at_first


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of system calls")
def test_keys_of_the_staffs_and_of_other_workers_cant_be_read(tmp_path):
    """A user's keys are the same in all namespaces; asking for one may start a program outside."""
    call, add, request, keyctl, session, users = ctypes.CDLL(None).syscall, 248, 249, 250, -3, -4

    def begin():
        call(keyctl, 1, None)  # a keyring of this thread's, and of what it starts
        staffs = call(add, b"user", b"staffs", b"password", 8, session)
        if staffs < 0:
            pytest.skip("no keys here")
        return staffs, Sandbox(tmp_path, limits=Limits())

    (tmp_path / "course_lib").mkdir()
    with ThreadPoolExecutor(1) as thread:  # the sandbox ends with the thread that began it
        staffs, sandbox = thread.submit(begin).result()
        source = f"""
import ctypes
call = ctypes.CDLL(None).syscall
found = [
    call({keyctl}, 11, {staffs}, ctypes.create_string_buffer(8), 8),  # read
    call({keyctl}, 10, {session}, b"user", b"staffs", 0),  # search
    call({keyctl}, 8, {users}, {session}),  # link
    call({add}, b"user", b"left", b"solutions", 9, {users}),
    call({request}, b"user", b"staffs", b"", {session}),
]
"""
        assert run(peer_of(sandbox.start(), 20), source) == [-1] * 5
        sandbox.close()


def test_processes_die_with_their_worker(worker, sandbox):
    peer, started = worker()
    source = """
import subprocess
found = subprocess.Popen(["setsid", "sleep", "4321"]).pid
"""
    run(peer, source)

    def sleepers():
        return [p for p in psutil.process_iter(["cmdline"]) if "4321" in (p.info["cmdline"] or [])]

    assert len(sleepers()) >= 1
    sandbox.stop(started)
    deadline = time.monotonic() + 300
    while sleepers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sleepers() == []


def test_a_worker_that_outlives_its_parent_and_leaves_its_group_is_ended(worker, sandbox):
    forking = psutil.Process(sandbox._process.pid)
    before = {process.pid for process in forking.children(recursive=True)}
    peer, started = worker()
    source = """
import ctypes, os, signal
death_signal_refused = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
try:
    os.setsid()
except OSError:
    pass
os.kill(0, signal.SIGTERM)  # the group, and whoever watches from outside
found = 1
"""
    assert run(peer, source) == 1
    assert run(peer, "found = 2") == 2
    sandbox.stop(started)
    after = {process.pid for process in forking.children(recursive=True)}
    assert after <= before


def test_workers_end_with_the_process_that_they_were_forked_from(library):
    """Nobody else would end them, and they would run on for as long as the judges do."""
    sandbox = Sandbox(library, limits=Limits(memory_mb=512))
    around = psutil.Process(sandbox._process.pid)
    other = peer_of(sandbox.start())
    run(other, "found = 1")  # all that it starts is there then
    before = set(around.children(recursive=True))
    of_another = Zygote(
        sandbox.share(), sandbox.limits, sandbox.groups
    )  # as each judge has its own
    (copy,) = set(around.children(recursive=True)) - before
    peer = peer_of(of_another.start())
    run(
        peer, "import ctypes; found = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)"
    )  # not with its parent
    workers = copy.children(recursive=True)
    assert len(workers) == 2
    copy.kill()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert run(other, "found = 2") == 2
    sandbox.close()
    assert alive == []


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


def test_the_wire_is_of_the_workers_own_network(worker):
    """Names that are bound to it are nobody else's, and it shows no network of the machine's."""
    peers = [worker()[0] for _ in range(2)]
    source = """
import os, socket, stat
ends = [n for n in map(int, range(3, 64)) if _is_socket(n)]
for end in ends:
    socket.socket(fileno=os.dup(end)).bind("\\0the same for all")
found = len(ends)
"""
    is_socket = """
import os, stat
def _is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
"""
    assert [run(peer, is_socket + source) for peer in peers] == [1, 1]
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind("\0the same for all")


def test_whatever_is_on_its_way_the_judge_can_send(library):
    """The kernel holds what a user has on its way against the limit of who sends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        sandbox = Sandbox(library, limits=Limits(memory_mb=512))
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        peer = peer_of(sandbox.start())
        run(peer, "found = 1")  # the forking process has begun
        inside = psutil.Process(sandbox._process.pid).children(recursive=True)
        limits = [Path(f"/proc/{process.pid}/limits").read_text() for process in inside]
        sandbox.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert any(re.search(rf"Max open files\s+{hard}\s+{hard} ", text) for text in limits)


def test_there_is_no_proc(worker):
    peer, _ = worker()
    assert run(peer, "import os; found = os.listdir('/proc')") == []


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


def test_nobody_takes_all_the_terminals_of_the_machine(worker):
    peer, _ = worker()
    source = """
import os
found, kept = "all", []
try:
    while len(kept) < 100:
        kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError:
    found = len(kept)
"""
    assert run(peer, source) == 32


def test_a_process_whose_first_thread_has_ended_is_company(worker, sandbox):
    peer, started = worker()
    source = """
import ctypes, os, threading, time
found = 1
if not os.fork():
    threading.Thread(target=time.sleep, args=[600]).start()
    ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)
"""
    run(peer, source)
    time.sleep(0.5)  # until it has ended
    assert sandbox.company(started) == 1


def test_a_worker_that_is_slow_to_end_is_killed_and_keeps_nobody_waiting():
    awake, asleep = os.pipe()
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(asleep, b".")
        while True:
            time.sleep(60)
    os.read(awake, 1)
    zygote._kill(pid, isolated=True)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


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


@pytest.mark.parametrize(
    ("source", "exit_code"), [("import os; os._exit(3)", 3), ("import os; os.kill(1, 9)", None)]
)
def test_how_a_worker_ended_is_told(worker, sandbox, source, exit_code):
    peer, started = worker()
    if exit_code is None:
        assert run(peer, source + "; found = 1") == 1  # the first process of a namespace is immune
        return
    with pytest.raises(WireClosed):
        run(peer, source)
    assert sandbox.stop(started, grace=300) == exit_code


def test_a_python_that_lies_in_tmp_is_there_for_workers():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        venv.create(folder, symlinks=True, with_pip=False)
        program = "from autograder.sandbox.sandbox import check_sandbox; check_sandbox()"
        command = [f"{folder}/bin/python", "-c", program]
        root = sandbox_module._WORKER_PACKAGE.parents[2]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def mixed_layout(sandbox, tmp_path, monkeypatch):
    """A Python's folder with the course installed in it, and the project with another Python."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # a worker has a /tmp of its own
        tree = Path(name).resolve()
        tree.chmod(0o755)
        packages, project = tree / "lib" / "site-packages", tree / "src" / "app"
        for path in (
            packages / "course_lib" / "attention.py",
            packages / "autograder" / "check.py",
            packages / "other" / "module.py",
            project / "pyproject.toml",
            project / "solutions" / "hw01.py",
            project / "course_lib" / "attention.py",
            project / ".venv" / "pyvenv.cfg",
            project / ".venv" / "site-packages" / "course_lib" / "attention.py",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("secret = 1")
        pythons = {*sandbox_module._python_folders(), tree, project / ".venv"}
        monkeypatch.setattr(sandbox_module, "_python_folders", lambda: pythons)
        for place in (packages, project, project / ".venv" / "site-packages"):
            monkeypatch.syspath_prepend(place)
        library = tmp_path / "library"
        (library / "course_lib").mkdir(parents=True)
        (library / "course_lib" / "__init__.py").write_text("released = 1")
        yield tree, library


def test_a_course_among_the_files_of_python_is_covered(mixed_layout):
    tree, library = mixed_layout
    check_sandbox()
    sandbox = Sandbox(library, limits=Limits())
    peer = peer_of(sandbox.start())
    source = f"import pathlib; found = sorted(map(str, pathlib.Path({str(tree)!r}).rglob('*')))"
    assert [str(Path(path).relative_to(tree)) for path in run(peer, source)] == [
        "lib",
        "lib/site-packages",
        "lib/site-packages/autograder",
        "lib/site-packages/course_lib",
        "lib/site-packages/other",
        "lib/site-packages/other/module.py",
        "src",
        "src/app",
        "src/app/.venv",
        "src/app/.venv/pyvenv.cfg",
        "src/app/.venv/site-packages",
        "src/app/.venv/site-packages/course_lib",
    ]
    assert run(peer, "import course_lib; found = course_lib.released") == 1
    for folder in ("src/app", "lib/site-packages/course_lib"):
        with pytest.raises(RemoteError, match="Read-only"):
            run(peer, f"open('{tree}/{folder}/x', 'w'); found = 1")
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.start()


def test_a_project_that_is_pythons_own_folder_is_refused(monkeypatch, tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sandbox_module, "_python_folders", lambda: {tmp_path.resolve()})
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/bwrap")
    with pytest.raises(SandboxError, match="folder of its own"):
        check_sandbox()
    with pytest.raises(SandboxError, match="folder of its own"):
        Sandbox(tmp_path, limits=Limits())


def test_without_bubblewrap_the_command_to_run_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        check_sandbox()
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        Sandbox(tmp_path, limits=Limits())


def test_a_refusing_kernel_is_explained(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))
    with pytest.raises(SandboxError, match=r"No permissions.*sysctl"):
        check_sandbox()


@pytest.mark.proof
def test_without_isolation_code_still_runs_in_its_own_process(tmp_path):
    (tmp_path / "course_lib").mkdir()
    sandbox = Sandbox(tmp_path, limits=Limits(), isolated=False)
    started = sandbox.start()
    assert peer_of(started).call("os:getpid") != os.getpid()
    sandbox.stop(started)
    sandbox.close()
