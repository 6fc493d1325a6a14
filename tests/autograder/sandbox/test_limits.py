"""Each limit can be set, ends one check, and the message says which it was."""

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from autograder.gradebook.judge_settings import configured_judge
from autograder.judging import check_limits
from autograder.judging.check_limits import TimeLimits
from autograder.judging.judge import Judge
from autograder.judging.results import Status
from autograder.sandbox.sandbox import Sandbox
from autograder.sandbox.worker import usage, zygote
from autograder.sandbox.worker.isolation import Limits
from tests.autograder.conftest import DOUBLE, notebook

SMALL = Limits(memory_mb=512, scratch_mb=8, processes=40, open_files=64, output_characters=100)


@pytest.fixture(scope="module")
def judge(library):
    limits = TimeLimits(check_seconds=2.0, submission_seconds=600.0)
    sandbox = Sandbox(library, limits=SMALL)
    yield Judge(DOUBLE, sandbox, limits=limits)
    sandbox.close()


@pytest.mark.sandbox
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("greedy", "said"),
    [
        ("while True: pass", "stopped after 2 s"),
        ("torch.empty(1 << 30).fill_(1)", "limit on memory"),
        ("open('/tmp/big', 'wb').write(bytes(9 << 20))", "limit on disk space"),
        ("import psutil; psutil.virtual_memory()", "Measure in a cell of your own"),
        ("[open('/dev/null') for _ in range(99)].clear()", "limit on open files"),
        (
            "[threading.Thread(target=threading.Event().wait, daemon=True).start()"
            " for _ in range(99)]",
            "limit on processes and threads",
        ),
    ],
    ids=["time", "memory", "disk", "the machine", "files", "processes"],
)
def test_a_limit_ends_one_check_and_says_which(judge, greedy, said):
    source = f"""
import threading
import torch
def double(x):
    if x.dim() == 1 and x.requires_grad:
        {greedy}
    return 2 * x
"""
    result = judge.grade(notebook(("double", source)), "ada")
    ended = {check.check: check for check in result.checks}
    assert said in ended["double-gradient"].message + ended["double-gradient"].hint
    assert ended["double-values"].score == ended["double-values"].max_score


@pytest.fixture
def impatient(sandbox):
    return Judge(DOUBLE, sandbox, limits=TimeLimits(check_seconds=0.3, submission_seconds=600.0))


@pytest.mark.usefixtures("patient")
def test_time_without_the_processor_costs_nothing(grade):
    source = "import time\ndef double(x):\n    time.sleep(0.6)\n    return 2 * x"
    result = grade(("double", source), seconds=0.5)
    assert result.score == 5.0, [check.message for check in result.checks]


def test_code_that_waits_is_ended_by_the_clock(impatient):
    source = "import time\ndef double(x):\n    time.sleep(99)"
    check = impatient.grade(notebook(("double", source)), "ada").checks[0]
    assert check.status is Status.TIMEOUT
    assert "1.2 s had passed, and most of them it had waited" in check.message


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "waits",
    ["os.wait()", "[os.waitpid(os.fork() or f(0.05), 0) for _ in range(99)]"],
    ids=["one", "one-after-another"],
)
def test_the_time_of_the_processes_that_it_starts_counts(impatient, waits):
    source = f"""
import os, time
def f(seconds):
    while time.process_time() < seconds:
        pass
    os._exit(0)
def double(x):
    if not os.fork():
        f(99)
    {waits}
"""
    check = impatient.grade(notebook(("double", source)), "ada").checks[0]
    assert "stopped after 0.3 s" in check.message


def test_a_crowd_of_processes_uses_up_its_time_at_once(sandbox, monkeypatch):
    monkeypatch.setattr(check_limits, "FIRST_SECONDS", 30.0)
    judge = Judge(DOUBLE, sandbox, limits=TimeLimits(check_seconds=30.0, submission_seconds=60.0))
    source = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # their time is added to nobody's
def double(x):
    for _ in range(30):
        if not os.fork():
            os.setsid()  # Linux gives each session the same share
            os.execv("/bin/sh", ["sh", "-c", "while :; do :; done"])
    while True: pass
"""
    check = judge.grade(notebook(("double", source)), "ada").checks[0]
    assert "stopped after 30 s" in check.message
    assert check.seconds < 12  # two processors alone would need 15 s for it


@pytest.mark.sandbox
def test_processes_that_hold_too_much_together_are_ended(judge):
    """Each of them keeps to the limit on one process."""
    source = """
import os, time
def double(x):
    if x.dim() == 1 and x.requires_grad:
        for _ in range(4):
            if not os.fork():
                held = bytearray(300 << 20)
                held[::4096] = bytes([1]) * len(held[::4096])
                time.sleep(60)
        time.sleep(60)
    return 2 * x
"""
    assert_ended_for_memory(judge, source)


def assert_ended_for_memory(judge, source):
    values, gradient = judge.grade(notebook(("double", source)), "ada").checks[:2]
    assert values.status is Status.PASS
    assert gradient.status is Status.CRASH
    assert "too much memory" in gradient.message


@pytest.mark.sandbox
def test_what_a_process_holds_whose_first_thread_has_ended_counts(judge):
    source = """
import ctypes, os, threading, time
def hold():
    time.sleep(0.2)  # until the first thread has ended
    held = bytearray(300 << 20)
    held[::4096] = bytes([1]) * len(held[::4096])
    time.sleep(60)
def double(x):
    if x.dim() == 1 and x.requires_grad:
        for _ in range(4):
            if not os.fork():
                threading.Thread(target=hold).start()
                ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)
        time.sleep(60)
    return 2 * x
"""
    assert_ended_for_memory(judge, source)


@pytest.mark.sandbox
def test_what_is_on_its_way_in_sockets_counts(library):
    """It belongs to no process."""
    source = """
import os, socket, time
def fill():
    kept = []
    try:
        while True:
            kept += socket.socketpair()
            for one in kept[-2:]:
                one.setblocking(False)
                try:
                    while True:
                        one.send(bytes(1 << 16))
                except BlockingIOError:
                    pass
    except OSError:
        time.sleep(60)
def double(x):
    if x.dim() == 1 and x.requires_grad:
        for _ in range(24):
            if not os.fork():
                fill()
        time.sleep(60)
    return 2 * x
"""
    with contextlib.closing(Sandbox(library, limits=replace(SMALL, open_files=256))) as sandbox:
        limits = TimeLimits(check_seconds=30.0, submission_seconds=600.0)
        assert_ended_for_memory(Judge(DOUBLE, sandbox, limits=limits), source)


@pytest.mark.sandbox
def test_what_waits_in_sockets_that_nobody_holds_counts(library):
    """One descriptor stands for thousands of connections that it has not accepted."""
    source = """
import socket, time
def fill():
    waits = socket.socket(socket.AF_UNIX)
    waits.bind("\\0waits")
    waits.listen(4096)
    waits.setblocking(False)
    for _ in range(4096):
        with socket.socket(socket.AF_UNIX) as one:
            one.setblocking(False)
            try:
                one.connect("\\0waits")
                while True:
                    one.send(bytes(1 << 16))
            except BlockingIOError:
                pass
    time.sleep(60)
def double(x):
    if x.dim() == 1 and x.requires_grad:
        fill()
    return 2 * x
"""
    with contextlib.closing(Sandbox(library, limits=SMALL)) as sandbox:
        limits = TimeLimits(check_seconds=30.0, submission_seconds=600.0)
        assert_ended_for_memory(Judge(DOUBLE, sandbox, limits=limits), source)


@pytest.mark.sandbox
@pytest.mark.usefixtures("patient")
def test_what_the_kernel_keeps_of_mappings_counts(library, monkeypatch):
    """Of each mapping a record for each process that it comes from, and of none of them a page.

    Whose fork each is, nobody can see: who forked them has ended.
    """
    source = """
import subprocess, sys, time
FORKS = '''
import ctypes, mmap, os, time
pages = mmap.mmap(-1, 65000 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages[0] = 1
first = ctypes.addressof(ctypes.c_char.from_buffer(pages))
protect = ctypes.CDLL(None).mprotect
for page in range(1, 65000, 2):
    protect(ctypes.c_void_p(first + page * 4096), 4096, 1)
for _ in range(16):
    if os.fork():
        break
    if os.fork():
        os._exit(0)
time.sleep(60)
'''
def double(x):
    if x.dim() == 1 and x.requires_grad:
        subprocess.run([sys.executable, "-I", "-S", "-c", FORKS])
        time.sleep(60)
    return 2 * x
"""
    monkeypatch.setattr(check_limits, "FIRST_SECONDS", 60.0)  # of the processor, for forks
    smaller = replace(SMALL, memory_mb=256)
    with contextlib.closing(Sandbox(library, limits=smaller)) as sandbox:
        limits = TimeLimits(check_seconds=60.0, submission_seconds=600.0)
        assert_ended_for_memory(Judge(DOUBLE, sandbox, limits=limits), source)


def test_mappings_count_where_the_first_thread_has_ended():
    source = """
import ctypes, threading, time
def stay():
    time.sleep(0.5)
    print("ready", flush=True)
    input()
    import os
    os._exit(0)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)
"""
    program = [sys.executable, "-I", "-S", "-c", source]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert not Path(f"/proc/{process.pid}/maps").read_bytes()
        assert usage._mappings(process.pid, time.monotonic() + 60.0) > 10
        process.communicate(b"\n")


def test_mappings_that_nobody_may_count_are_as_many_as_there_may_be(monkeypatch):
    opened = Path.open

    def refused(path, *given, **named):
        if path.name == "maps":
            raise PermissionError
        return opened(path, *given, **named)

    soon = time.monotonic() + 60.0
    assert 20 < usage._mappings(os.getpid(), soon) < 20_000
    most = int(Path("/proc/sys/vm/max_map_count").read_bytes())
    assert usage._mappings(os.getpid(), time.monotonic()) == most
    monkeypatch.setattr(Path, "open", refused)
    assert usage._mappings(os.getpid(), soon) == most


def test_nobody_waits_for_mappings_that_take_long_to_look_at(tmp_path):
    """A line of it holds the file's path, in which a line's end takes four letters."""
    source = """
import mmap, os, sys
for _ in range(5_000):
    os.mkdir("\\n" * 255)
    os.chdir("\\n" * 255)
with open("f", "wb") as file:
    file.write(bytes(4096))
with open("f", "rb") as file:
    kept = [mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) for _ in range(1_000)]
print("ready", flush=True)
sys.stdin.read()
"""
    program = [sys.executable, "-I", "-S", "-c", source]
    with subprocess.Popen(
        program, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as mapping:
        mapping.stdout.readline()
        held = usage._records([psutil.Process(mapping.pid)], 1 << 40)
        mapping.stdin.close()
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)
    most = int(Path("/proc/sys/vm/max_map_count").read_bytes())
    assert held == most * (usage._MAPPING + usage._ANCESTOR)  # it was not waited for


@pytest.mark.sandbox
def test_forks_of_forks_may_stand_deep(judge):
    source = """
import subprocess, sys, time
FORKS = '''
import os, time
for _ in range(16):
    if os.fork():
        break
time.sleep(2)
'''
def double(x):
    if x.dim() == 1 and x.requires_grad:
        program = subprocess.Popen([sys.executable, "-I", "-S", "-c", FORKS])
        time.sleep(1)
        program.kill()
    return 2 * x
"""
    checks = judge.grade(notebook(("double", source)), "ada").checks[:2]
    assert [check.status for check in checks] == [Status.PASS] * 2


@pytest.mark.sandbox
def test_beyond_the_limit_on_output_nothing_is_kept_and_nothing_is_lost(judge):
    source = "for number in range(999):\n    print(number)\ndef double(x):\n    return 2 * x"
    result = judge.grade(notebook(("double", source)), "ada")
    assert result.score == 5.0
    (shown,) = result.outputs
    assert len(shown.text) == 100
    assert shown.text.endswith("…")


@pytest.mark.sandbox
def test_kernels_that_ask_what_the_processor_can_do_work(judge):
    source = """
import torch
torch.nn.EmbeddingBag(3, 2)(torch.tensor([[0, 1]]))
torch.ao.nn.quantized.dynamic.Linear(2, 2)(torch.ones(1, 2))
def double(x):
    return 2 * x
"""
    result = judge.grade(notebook(("double", source)), "ada")
    assert result.cell_failures == ()
    assert result.score == 5.0


def test_the_whole_notebook_has_a_limit_of_its_own(sandbox):
    limits = TimeLimits(check_seconds=30.0, submission_seconds=1.0)
    source = "def double(x):\n    while True: pass"
    result = Judge(DOUBLE, sandbox, limits=limits).grade(notebook(("double", source)), "ada")
    assert "the whole notebook may take 1 s" in result.checks[0].message


def test_limits_are_configured_where_nbgrader_is(tmp_path):
    defaults = configured_judge(tmp_path)
    assert defaults.worker_limits == Limits()
    assert defaults.time_limits == TimeLimits()
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\n"
        "c.TrustedJudge.check_seconds = 7.0\n"
        "c.TrustedJudge.submission_seconds = 70.0\n"
        "c.TrustedJudge.memory_mb = 512\n"
        "c.TrustedJudge.scratch_mb = 8\n"
        "c.TrustedJudge.processes = 40\n"
        "c.TrustedJudge.open_files = 64\n"
        "c.TrustedJudge.output_characters = 100\n"
    )
    configured = configured_judge(tmp_path)
    assert configured.worker_limits == SMALL
    assert configured.time_limits == TimeLimits(check_seconds=7.0, submission_seconds=70.0)


@pytest.mark.parametrize(("processes", "is_greedy"), [(13, False), (15, True)])
def test_what_many_processes_seem_to_share_counts(monkeypatch, processes, is_greedy):
    """Who runs another program shares nothing with the forking process."""
    seems = usage._Holdings(anonymous=150 << 20, faulted=1 << 20)
    monkeypatch.setattr(usage, "_tree", lambda pid: [psutil.Process()] * processes)  # 150 MB each
    monkeypatch.setattr(usage, "_holdings", lambda pid: seems)
    assert usage.Usage(7, most_bytes=1 << 30, isolated=False).is_greedy() is is_greedy


@pytest.mark.sandbox
def test_a_process_whose_name_no_encoding_knows_is_looked_at(judge):
    source = """
import shutil, subprocess, time
shutil.copy("/bin/sleep", b"/tmp/\\xff\\xfe")
subprocess.Popen([b"/tmp/\\xff\\xfe", "60"])
time.sleep(1)
def double(x):
    return 2 * x
"""
    values, _ = judge.grade(notebook(("double", source)), "ada").checks[:2]
    assert values.status is Status.PASS


def test_who_cant_be_looked_at_is_ended_alone(monkeypatch):
    ended = []
    monkeypatch.setattr(zygote, "_end", lambda usage: ended.append(usage.pid))
    monkeypatch.setattr(usage.Usage, "is_greedy", lambda self: self.pid == 8 and 1 / 0)
    forking = zygote._Zygote(None, True)
    forking._workers = {pid: usage.Usage(pid, most_bytes=1, isolated=False) for pid in (7, 8, 9)}
    forking._end_the_greedy()
    assert ended == [8]


def test_what_is_swapped_out_counts_and_so_do_page_tables(tmp_path, monkeypatch):
    """A process can ask for it, page by page; and for tables of one page in many places."""
    folder = tmp_path / "7"
    (folder / "task" / "7").mkdir(parents=True)
    held = "VmPeak:\t90 kB\nRssAnon:\t 5 kB\nVmSwap:\t 3 kB\nVmPTE:\t 2 kB\n"
    (folder / "task" / "7" / "status").write_text(held)
    (folder / "stat").write_text("7 (python) S 1 7 7 0 -1 0 12 0 0 0")
    monkeypatch.setattr(usage, "Path", lambda path: tmp_path / Path(path).relative_to("/proc"))
    assert usage._holdings(7).anonymous == 10 << 10
