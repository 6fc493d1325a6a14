"""The reach of a worker, its end, and the layouts of Python in which the sandbox works."""

import contextlib
import errno
import os
import shutil
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
from autograder.sandbox.worker.wire import WireClosed
from autograder.sandbox.zygote import SandboxError, Zygote
from tests.autograder.conftest import peer_of
from tests.autograder.sandbox.conftest import run

pytestmark = pytest.mark.sandbox

ROOT = sandbox_module._WORKER_PACKAGE.parents[2]
OUTLIVES = "import ctypes; found = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)"  # its parent


# ---- files, network, environment ----


@pytest.mark.parametrize("path", ["/x", "/dev/x", "/grading/x", "/usr/x", "/etc/x", "/proc/x"])
def test_only_tmp_can_be_written(worker, path):
    peer, _ = worker()
    with pytest.raises(RemoteError):
        run(peer, f"open({path!r}, 'w'); found = 1")


HIDDEN = [
    f"{ROOT}/solutions", f"{ROOT}/course_lib", f"{ROOT}/.git", os.path.expanduser("~/.ssh"),
    f"{sys.prefix}/share/jupyter", str(Path(Exchange.root.default_value).parent), "/dev/console",
]  # fmt: skip
PROBES = {
    "hidden places": (f"[os.path.exists(p) for p in {HIDDEN!r}]", [False] * len(HIDDEN)),
    "our packages": ("sorted(os.listdir('/grading'))", ["course_lib", "course_worker"]),
    "other processes": ("[os.getpid(), os.listdir('/proc')]", [1, []]),
    "the user's name": ("__import__('getpass').getuser()", "student"),
    "mounts": (
        "[libc.umount2(b'/tmp', 2), libc.mount(b'proc', b'/tmp', b'proc', 0, None),"
        " libc.chroot(b'/tmp')]",
        [-1, -1, -1],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), PROBES.values(), ids=PROBES)
def test_worker_sees_itself_alone(worker, expression, expected):
    worker()
    peer, _ = worker()
    source = f"import ctypes, os\nlibc = ctypes.CDLL(None)\nfound = {expression}"
    assert run(peer, source) == expected


def test_only_files_of_the_system_and_python_are_shown(worker):
    """Settings with passwords lie in folders beside these."""
    peer, _ = worker()
    places = Path("/usr/local/share"), Path("/usr/local"), Path(sys.prefix), Path(sys.base_prefix)
    listed = f"os.listdir(p) if os.path.isdir(p) else [] for p in {list(map(str, places))!r}"
    shares, *others = map(set, run(peer, f"import os; found = [{listed}]"))
    assert shares <= {"fonts"}
    for names in others:
        assert not names & {"etc", "src", "games", "var", "conda-meta", "envs", "pkgs"}


def test_network_is_missing(worker):
    peer, _ = worker()
    for call in ("create_connection(('127.0.0.1', 22), 1)", "getaddrinfo('localhost', 22)"):
        with pytest.raises(RemoteError):
            run(peer, f"import socket; found = socket.{call}")


def test_environment_holds_no_secrets(worker):
    peer, _ = worker()
    assert set(run(peer, "import os; found = list(os.environ)")) <= {
        "PATH", "LANG", "HOME", "COURSE_DEVICE", "MPLBACKEND", "OMP_NUM_THREADS", "PWD",
        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH",
        "LC_CTYPE", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR",
        "TORCHINDUCTOR_COMPILE_THREADS", "SHELL", "GLIBC_TUNABLES", "USER",
    }  # fmt: skip


# ---- other workers ----

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


def test_sockets_of_other_workers_cannot_be_reached(worker):
    listener, caller = worker()[0], worker()[0]
    run(listener, LISTENER)
    assert run(caller, CALLER) == "refused"
    assert run(listener, CALLER) == "reached"


def test_terminals_of_other_workers_cannot_be_reached_and_are_few(worker):
    one, other = worker()[0], worker()[0]
    source = "import os; ends = os.openpty(); name = os.ttyname(ends[1]); found = name"
    name = run(one, source)
    writing = f"""
import os
try:
    handle = os.open({name!r}, os.O_RDWR | os.O_NOCTTY)
    found = os.write(handle, b"words")
except OSError as error:
    found = 0
"""
    assert [run(other, writing), run(one, writing)] == [0, 5]
    all_of_them = """
import os
found, kept = "all", []
try:
    while len(kept) < 100:
        kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError:
    found = len(kept)
"""
    assert run(other, all_of_them) == 32


def test_files_of_one_worker_are_gone_for_the_next(worker):
    look = "import os; found = os.listdir('/tmp') + os.listdir('/dev/shm')"
    first, _ = worker()
    at_first = run(first, look)  # nothing, but for Python itself where that lies in /tmp
    leave = "for p in ('/tmp/x', '/dev/shm/x'): open(p, 'w').write('mine')"
    assert sorted(run(first, f"{leave}\n{look}")) == sorted([*at_first, "x", "x"])
    assert run(worker()[0], look) == at_first


def test_wire_belongs_to_the_workers_own_network(worker):
    """In a common network no two workers could bind sockets of the same name."""
    source = """
import os, socket, stat
def is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
ends = [n for n in map(int, range(3, 64)) if is_socket(n)]
for end in ends:
    socket.socket(fileno=os.dup(end)).bind("\\0the same for all")
found = len(ends)
"""
    assert [run(worker()[0], source) for _ in range(2)] == [1, 1]
    with socket.socket(socket.AF_UNIX) as ours:
        ours.bind("\0the same for all")


# ---- the end of a worker ----


def inner_process(sandbox) -> psutil.Process:
    """Return the first process in the namespaces of the sandbox's only worker."""
    inside = psutil.Process(sandbox._process.pid).children(recursive=True)
    scores = {p: Path(f"/proc/{p.pid}/oom_score_adj").read_text().strip() for p in inside}
    (inner,) = (process for process, score in scores.items() if score == "1000")
    return inner


def test_kernel_ends_the_worker_first_when_memory_is_short(worker, sandbox):
    peer, _ = worker()
    assert run(peer, "found = 1") == 1
    assert inner_process(sandbox)
    with pytest.raises(RemoteError):
        run(peer, "open('/proc/self/oom_score_adj', 'w').write('0'); found = 1")


def test_processes_end_with_their_worker(worker, sandbox):
    """They end even if they left the worker's process group or outlive their parent."""
    forking = psutil.Process(sandbox._process.pid)
    before = {process.pid for process in forking.children(recursive=True)}
    peer, started = worker()
    source = f"""
{OUTLIVES}
import os, signal, subprocess
subprocess.Popen(["setsid", "sleep", "4321"])
os.kill(0, signal.SIGTERM)  # the group, and whoever watches from outside
os.kill(1, 9)  # the first process of a namespace is immune
found = 1
"""
    assert run(peer, source) == 1
    assert run(peer, "found = 2") == 2
    sandbox.stop(started)
    after = {process.pid for process in forking.children(recursive=True)}
    assert after <= before


def test_exit_code_is_returned(worker, sandbox):
    peer, started = worker()
    with pytest.raises(WireClosed):
        run(peer, "import os; os._exit(3)")
    assert sandbox.stop(started, grace=300) == 3


@pytest.mark.parametrize("greedy", [False, True])
def test_worker_whose_outer_process_was_killed_is_watched_and_ended(worker, sandbox, greedy):
    peer, started = worker()
    run(peer, OUTLIVES)
    inner = inner_process(sandbox)
    time.sleep(0.5)  # its processes are looked at five times a second
    inner.parent().kill()
    if greedy:
        program = "held = b'1' * (1000 << 20); import time; time.sleep(60)"
        start = f"subprocess.Popen([sys.executable, '-c', {program!r}])"
        with pytest.raises(WireClosed):
            run(peer, f"import subprocess, sys, time\n{start}\n{start}\ntime.sleep(60)")
    else:
        sandbox.stop(started)
    inner.wait(timeout=10)


def test_workers_end_with_the_process_that_they_were_forked_from(library):
    sandbox = Sandbox(library, limits=Limits(memory_mb=512))
    around = psutil.Process(sandbox._process.pid)
    other = peer_of(sandbox.start())
    run(other, "found = 1")  # all that it starts is there then
    before = set(around.children(recursive=True))
    of_another_judge = Zygote(sandbox.share(), sandbox.limits, sandbox.groups)
    (copy,) = set(around.children(recursive=True)) - before
    second = peer_of(of_another_judge.start())  # a worker ends when its connection is closed
    run(second, OUTLIVES)
    end = time.monotonic() + 300
    while len(workers := copy.children(recursive=True)) < 2:  # the second is about to start
        assert time.monotonic() < end
        time.sleep(0.01)
    copy.kill()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert run(other, "found = 2") == 2
    sandbox.close()
    assert alive == []


def test_fork_that_the_machine_refuses_ends_no_other_worker(monkeypatch):
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


# ---- the forking process ----


@pytest.mark.usefixtures("sandbox")
def test_module_that_cannot_be_preloaded_ends_nothing(library):
    unwell = library / "course_lib" / "unwell.py"
    unwell.write_text("raise RuntimeError('no compiler here')")
    with contextlib.closing(Sandbox(library, limits=Limits(memory_mb=512))) as sandbox:
        sandbox.preload(["course_lib.unwell", "course_lib.nowhere"])
        assert run(peer_of(sandbox.start()), "found = 1") == 1
    unwell.unlink()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.start()


@pytest.mark.usefixtures("sandbox")
def test_worker_does_not_see_the_graders_terminal(library):
    """bubblewrap mounts its standard output as /dev/console if that is a terminal."""
    ours, theirs = os.openpty()
    stdout = os.dup(1)
    os.dup2(theirs, 1)
    try:
        made = Sandbox(library, limits=Limits(memory_mb=512))
    finally:
        os.dup2(stdout, 1)
    with contextlib.closing(made) as sandbox:
        listed = run(peer_of(sandbox.start()), "import os\nfound = sorted(os.listdir('/dev'))")
    for descriptor in (ours, theirs, stdout):
        os.close(descriptor)
    assert "null" in listed
    assert "console" not in listed


@pytest.mark.proof
def test_code_without_isolation_runs_in_its_own_process(tmp_path):
    (tmp_path / "course_lib").mkdir()
    with contextlib.closing(Sandbox(tmp_path, limits=Limits(), isolated=False)) as sandbox:
        started = sandbox.start()
        assert peer_of(started).call("os:getpid") != os.getpid()
        sandbox.stop(started)


# ---- layouts of Python and of the course ----


@pytest.fixture
def mixed_layout(sandbox, tmp_path, monkeypatch):
    """Yield the folder of a Python in which the course is installed, and a students' library.

    The folder also has a project with a Python of its own; all these files are secret.
    """
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


def test_course_among_the_files_of_python_is_covered(mixed_layout):
    tree, library = mixed_layout
    check_sandbox()
    with contextlib.closing(Sandbox(library, limits=Limits())) as sandbox:
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


def test_python_in_tmp_is_shown_to_workers():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        venv.create(folder, symlinks=True, with_pip=False)
        program = "from autograder.sandbox.sandbox import check_sandbox; check_sandbox()"
        command = [f"{folder}/bin/python", "-c", program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_unusable_sandbox_is_explained(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))
    with pytest.raises(SandboxError, match=r"No permissions.*sysctl"):
        check_sandbox()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for start in (check_sandbox, lambda: Sandbox(tmp_path, limits=Limits())):
        with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
            start()


def test_project_that_is_pythons_own_folder_is_rejected(monkeypatch, tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(file_system, "_all_folders", lambda: {tmp_path.resolve()})
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/bwrap")
    for start in (check_sandbox, lambda: Sandbox(tmp_path, limits=Limits())):
        with pytest.raises(SandboxError, match="folder of its own"):
            start()
