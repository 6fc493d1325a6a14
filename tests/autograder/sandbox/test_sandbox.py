"""What a worker can reach, and what it leaves behind."""

import contextlib
import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from nbgrader.exchange.default.exchange import Exchange

from autograder.sandbox import file_system
from autograder.sandbox import sandbox as sandbox_module
from autograder.sandbox.sandbox import Sandbox, check_sandbox
from autograder.sandbox.worker import zygote
from autograder.sandbox.worker.isolation import Limits
from autograder.sandbox.worker.peer import RemoteError
from autograder.sandbox.worker.usage import Usage
from autograder.sandbox.worker.wire import WireClosed
from autograder.sandbox.zygote import SandboxError, Zygote
from tests.autograder.conftest import peer_of
from tests.autograder.sandbox.conftest import run

pytestmark = pytest.mark.sandbox


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
    assert run(peer, "found = sorted(os.listdir('/grading'))") == ["course_lib", "course_worker"]


def test_what_lies_beside_the_files_of_the_system_and_python_is_not_there(worker):
    """Such as nbgrader's exchange, in its usual place, and settings with passwords in them."""
    peer, _ = worker()
    places = Path("/usr/local/share"), Path("/usr/local"), Path(sys.prefix), Path(sys.base_prefix)
    listed = f"os.listdir(p) if os.path.isdir(p) else [] for p in {list(map(str, places))!r}"
    found = run(peer, f"import os; found = [{listed}]")
    shares, *others = map(set, found)
    assert shares <= {"fonts"}
    for names in others:
        assert not names & {"etc", "src", "games", "var", "conda-meta", "envs", "pkgs"}
    assert run(peer, f"found = os.path.exists('{sys.prefix}/share/jupyter')") is False
    exchange = Exchange.root.default_value
    assert not any(map(Path(exchange).is_relative_to, file_system._shown_folders()))
    assert run(peer, f"found = os.path.exists({str(Path(exchange).parent)!r})") is False


def test_there_is_no_network(worker):
    peer, _ = worker()
    for call in ("create_connection(('127.0.0.1', 22), 1)", "getaddrinfo('localhost', 22)"):
        with pytest.raises(RemoteError):
            run(peer, f"import socket; found = socket.{call}")


def test_environment_holds_no_secrets(worker, monkeypatch):
    peer, _ = worker()
    names = set(run(peer, "import os; found = list(os.environ)"))
    assert names <= {
        "PATH", "LANG", "HOME", "COURSE_DEVICE", "MPLBACKEND", "OMP_NUM_THREADS", "PWD",
        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH",
        "LC_CTYPE", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR",
        "TORCHINDUCTOR_COMPILE_THREADS", "SHELL", "GLIBC_TUNABLES", "USER",
    }  # fmt: skip


def test_whoever_asks_for_the_users_name_is_told_one(worker):
    peer, _ = worker()  # PyTorch 2.11 does when it is imported whole, as optimizers have it
    assert run(peer, "import getpass; found = getpass.getuser()") == "student"


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


def test_when_memory_is_short_the_kernel_ends_the_worker_first(worker, sandbox):
    peer, _ = worker()
    assert run(peer, "found = 1") == 1
    mine = psutil.Process(sandbox._process.pid).children(recursive=True)
    scores = [Path(f"/proc/{p.pid}/oom_score_adj").read_text().strip() for p in mine]
    assert scores.count("1000") == 1  # not the process around it, which ends it
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


@pytest.mark.parametrize("greedy", [False, True])
def test_a_worker_whose_process_around_it_is_killed_is_watched_and_ended(worker, sandbox, greedy):
    peer, started = worker()
    run(
        peer, "import ctypes; found = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)"
    )  # not with its parent
    inside = psutil.Process(sandbox._process.pid).children(recursive=True)
    inner = next(p for p in inside if Path(f"/proc/{p.pid}/oom_score_adj").read_text() == "1000\n")
    time.sleep(0.5)  # its processes are looked at five times a second
    inner.parent().kill()
    if greedy:
        program = "held = b'1' * (700 << 20); import time; time.sleep(60)"
        start = f"subprocess.Popen([sys.executable, '-c', {program!r}])"
        with pytest.raises(WireClosed):
            run(peer, f"import subprocess, sys, time\n{start}\n{start}\ntime.sleep(60)")
    else:
        sandbox.stop(started)
    inner.wait(timeout=10)


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


def test_a_process_that_the_machine_refuses_ends_none_that_runs(monkeypatch):
    def refuse():
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(zygote.os, "fork", refuse)
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor() as pool:
        serving = pool.submit(zygote._Zygote(theirs, isolated=False).serve)
        asking = Zygote(ours, Limits())
        group = Mock(entrance=ours.fileno())
        monkeypatch.setattr(asking, "_make_group", lambda: group)
        for ask in (asking.start, asking.share, asking.start):  # and goes on answering
            with pytest.raises(SandboxError, match="no process more"):
                ask()
        ours.shutdown(socket.SHUT_RDWR)
        serving.result(timeout=10)
    assert group.remove.call_count == 2  # each start's


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


@pytest.mark.usefixtures("sandbox")
def test_what_cant_be_imported_in_advance_ends_nothing(library):
    unwell = library / "course_lib" / "unwell.py"
    unwell.write_text("raise RuntimeError('no compiler here')")
    with contextlib.closing(Sandbox(library, limits=Limits(memory_mb=512))) as sandbox:
        sandbox.preload(["course_lib.unwell", "course_lib.nowhere"])
        started = sandbox.start()
        assert run(peer_of(started), "found = 1") == 1
        sandbox.stop(started)
    unwell.unlink()


BEGINNING = """import asyncio
%time half = 0.5
async def nothing(): return half
found = await nothing()
def fail():
    raise KeyError(found)
half
"""


@pytest.mark.usefixtures("sandbox")
def test_the_terminal_of_whoever_grades_is_not_there(library):
    """bubblewrap would put it where a console is."""
    ours, theirs = os.openpty()
    stdout = os.dup(1)
    os.dup2(theirs, 1)
    try:
        made = Sandbox(library, limits=Limits(memory_mb=512))
    finally:
        os.dup2(stdout, 1)
    with contextlib.closing(made) as sandbox:
        started = sandbox.start()
        listed = run(peer_of(started), "import os\nfound = sorted(os.listdir('/dev'))")
        sandbox.stop(started)
    for descriptor in (ours, theirs, stdout):
        os.close(descriptor)
    assert "null" in listed
    assert "console" not in listed


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


def test_a_worker_that_is_slow_to_end_is_killed_and_keeps_nobody_waiting():
    awake, asleep = os.pipe()
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(asleep, b".")
        while True:
            time.sleep(60)
    os.read(awake, 1)
    usage = Usage(pid, most_bytes=1 << 30, isolated=True)
    zygote._kill(usage)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


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
        shown = {*file_system._all_folders(), tree, project / ".venv"}
        monkeypatch.setattr(file_system, "_all_folders", lambda: shown)
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
    monkeypatch.setattr(file_system, "_all_folders", lambda: {tmp_path.resolve()})
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
