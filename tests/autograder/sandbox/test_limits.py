"""Each limit can be set, ends one check, and the message says which it was."""

import dataclasses

import pytest

from autograder.gradebook.judge_settings import configured_judge
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
def test_limit_ends_one_check_and_is_named(judge, greedy, said):
    source = f"""
import threading
import torch
def double(x):
    if x.dim() == 1 and x.requires_grad:
        {greedy}
    return 2 * x
"""
    result = judge.grade(notebook(("double", source)), "ada", seed=1)
    ended = {check.check: check for check in result.checks}
    assert said in ended["double-gradient"].message + ended["double-gradient"].hint
    assert ended["double-values"].score == ended["double-values"].max_score


@pytest.mark.usefixtures("patient")
def test_waiting_time_does_not_count(grade):
    source = "import time\ndef double(x):\n    time.sleep(0.6)\n    return 2 * x"
    result = grade(("double", source), seconds=0.5)
    assert result.score == 5.0, [check.message for check in result.checks]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "waits",
    ["os.fork() or f(99); os.wait()", "[os.waitpid(os.fork() or f(0.05), 0) for _ in range(99)]"],
    ids=["one", "one-after-another"],
)
def test_time_of_child_processes_counts(grade, waits):
    source = f"""
import os, time
def f(seconds):
    while time.process_time() < seconds:
        pass
    os._exit(0)
def double(x):
    {waits}
"""
    check = grade(("double", source), seconds=0.3).checks[0]
    assert "stopped after 0.3 s" in check.message


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "holds",
    [
        "hold()",
        "threading.Thread(target=hold).start(); ctypes.CDLL(None).syscall(EXIT, 0)",
    ],
    ids=["each below the limit", "without their first threads"],
)
def test_memory_of_all_processes_counts_together(judge, holds):
    source = f"""
import ctypes, os, threading, time
EXIT = {{'x86_64': 60, 'aarch64': 93}}[os.uname().machine]  # ends a thread
def hold():
    time.sleep(0.2)  # until the first thread has ended
    held = bytearray(300 << 20)
    held[::4096] = bytes([1]) * len(held[::4096])
    time.sleep(60)
def double(x):
    if x.dim() == 1 and x.requires_grad:
        for _ in range(4):
            if not os.fork():
                {holds}
        time.sleep(60)
    return 2 * x
"""
    values, gradient = judge.grade(notebook(("double", source)), "ada", seed=1).checks[:2]
    assert values.status is Status.PASS
    assert gradient.status is Status.CRASH
    assert "too much memory" in gradient.message


@pytest.mark.sandbox
def test_output_beyond_the_limit_is_cut_and_costs_nothing(judge):
    source = "for number in range(999):\n    print(number)\ndef double(x):\n    return 2 * x"
    result = judge.grade(notebook(("double", source)), "ada", seed=1)
    assert result.score == 5.0
    (shown,) = result.outputs
    assert len(shown.text) == 100
    assert shown.text.endswith("…")


def test_limits_are_configured_in_nbgrader_config(tmp_path):
    defaults = configured_judge(tmp_path)
    assert defaults.worker_limits == Limits()
    assert defaults.time_limits == TimeLimits()
    limits = TimeLimits(check_seconds=7.0, submission_seconds=70.0)
    settings = dataclasses.asdict(SMALL) | dataclasses.asdict(limits)
    lines = [f"c.TrustedJudge.{name} = {value!r}" for name, value in settings.items()]
    (tmp_path / "nbgrader_config.py").write_text("\n".join(["c = get_config()", *lines]))
    configured = configured_judge(tmp_path)
    assert (configured.worker_limits, configured.time_limits) == (SMALL, limits)


@pytest.mark.sandbox
def test_process_with_an_undecodable_name_is_measured(judge):
    source = """
import shutil, subprocess, time
shutil.copy("/bin/sleep", b"/tmp/\\xff\\xfe")
subprocess.Popen([b"/tmp/\\xff\\xfe", "60"])
time.sleep(1)
def double(x):
    return 2 * x
"""
    values, _ = judge.grade(notebook(("double", source)), "ada", seed=1).checks[:2]
    assert values.status is Status.PASS


def test_worker_that_cannot_be_measured_is_ended_alone(monkeypatch):
    ended = []
    monkeypatch.setattr(usage.Usage, "kill", lambda self: ended.append(self.pid))
    monkeypatch.setattr(usage.Usage, "is_greedy", lambda self: self.pid == 8 and 1 / 0)
    forking = zygote._Zygote(None, True)
    forking._workers = {pid: usage.Usage(pid, most_bytes=1, isolated=False) for pid in (7, 8, 9)}
    forking._end_the_greedy()
    assert ended == [8]
