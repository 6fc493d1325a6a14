"""Grading one notebook: cell kinds, partial credit, crashes, messages to the student."""

import contextlib
import dataclasses
import json
import re
import socket

import psutil
import pytest
import torch

from autograder.homework_source.homework import Cell, CellKind
from autograder.judging import student_process
from autograder.judging.check import CheckNamespace
from autograder.judging.check_limits import TimeLimits
from autograder.judging.judge import Judge
from autograder.judging.results import FlagKind, Status
from autograder.marks.standing import stand
from autograder.reports.feedback import render_feedback
from autograder.sandbox.worker.peer import Peer, Proxy
from autograder.sandbox.zygote import SandboxError, Worker
from course_lib import testing
from tests.autograder.conftest import DOUBLE, notebook, with_sources
from tests.daily import with_proofs

pytestmark = pytest.mark.sandbox

RIGHT = ("double", "def double(x):\n    return x + x")


def statuses(result):
    return [check.status.value for check in result.checks]


COMPILED = {
    "decorator": "@torch.compile(mode='max-autotune', dynamic=True)\n{0}",
    "function": "{0}\ndouble = torch.compile(double, fullgraph=True)",
    "module": """
class Double(torch.nn.Module):
    def forward(self, x):
        return x + x
double = Double()
double.compile(mode='reduce-overhead')""",
    "script": "@torch.jit.script\n{0}",
    "trace": "{0}\ndouble = torch.jit.trace(double, torch.ones(2, 3))",
}


@pytest.mark.parametrize("how", COMPILED)
def test_compiled_solution_earns_full_marks(grade, how):
    rule = ("torch.nn.functional.layer_norm",)  # turns the recorder on
    cells = [dataclasses.replace(c, forbids=rule * (c.grade_id == "double")) for c in DOUBLE.cells]
    homework = dataclasses.replace(DOUBLE, cells=tuple(cells))
    result = grade(("double", COMPILED[how].format(RIGHT[1])), homework=homework, seconds=2.0)
    assert statuses(result) == ["pass", "pass", "manual"], result
    assert [flag.text for flag in result.flags if flag.kind is not FlagKind.FORGED] == []


def test_hidden_failure_shows_a_hint_and_no_values(grade):
    result = grade(("double", "def double(x):\n    return x * 2 if x.size(0) < 3 else x * 3"))
    assert statuses(result) == ["fail", "fail", "manual"]
    check = result.checks[0]
    assert check.hint == "you tripled"
    assert "12 of 12 entries differ" in check.message
    assert not re.search(r"\d\.\d", check.message)  # no decimal number
    assert check.read == "doubling#twice"
    assert check.title == "It doubles"


def test_visible_failure_shows_values(grade):
    check = grade(("double", "def double(x):\n    return x * 3")).checks[0]
    assert "got 3, expected 2" in check.message


def test_namespace_caches_functions_but_not_variables():
    asked = []

    class Process:
        def lookup(self, name):
            asked.append(name)
            return (
                len(asked) if name == "count" else Proxy(Peer(None, describe_error=dict), 1, name)
            )

    names = CheckNamespace({}, Process())
    assert names["function"] is names["function"]
    assert [names["count"], names["count"]] == [2, 3]
    assert names["Thing"] is not names["Thing"]  # an object may have changed
    with pytest.raises(KeyError):
        names["print"]


@pytest.mark.parametrize("hidden", [False, True])
def test_failure_in_a_checks_callback_is_shown_with_its_hint(grade, hidden):
    source = """
from course_lib.testing import CheckFailure
def take_ids(ids):
    if ids.is_floating_point():
        raise CheckFailure("these are no ids", detail="but 0.125", hint="hand them on as they are")
double(take_ids)
"""
    if hidden:
        source = f"### BEGIN HIDDEN TESTS{source}### END HIDDEN TESTS\n"
    calls = ("double", "import torch\ndef double(ask):\n    ask(torch.zeros(2))")
    check = grade(calls, homework=with_sources({"double-values": source})).checks[0]
    told = "these are no ids" if hidden else "these are no ids\nbut 0.125"
    assert (check.status, check.message) == (Status.FAIL, told)
    assert check.hint == "hand them on as they are"


def test_usual_error_of_pytorch_gets_a_hint_in_hidden_tests_too(grade):
    source = "def double(x):\n    return x @ x if x.dim() == 2 else 2 * x"
    check = grade(("double", source)).checks[0]
    assert "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)" in check.message
    assert "needs the same k in both factors" in check.hint


def test_exception_raised_by_student_code_has_no_hint(grade):
    result = grade(("double", "def double(x):\n    raise ValueError('index out of my range')"))
    assert result.checks[0].hint == ""


def test_partial_score_earns_partial_credit(grade):
    result = grade(("double", "def double(x):\n    return 2 * x.detach()"))
    assert statuses(result) == ["pass", "fail", "manual"]
    assert result.score == 2.0
    cut = result.checks[1]
    assert cut.message == "No gradient flows back."
    assert "detach()" in cut.hint


def test_traceback_contains_only_the_students_frames(grade):
    source = "def helper(x):\n    return x.nothing\ndef double(x):\n    return helper(x)"
    check = grade(("double", source)).checks[0]
    assert check.status is Status.ERROR
    assert "AttributeError" in check.message
    assert check.traceback == (
        "Cell double, line 4, in double\n    return helper(x)\n"
        "Cell double, line 2, in helper\n    return x.nothing"
    )


def test_visible_helper_hides_values_of_the_hidden_part(grade):
    source = """# It doubles
from course_lib.testing import assert_close
def held(x):
    assert_close(double(x), 2 * x)
held(torch.zeros(2))
### BEGIN HIDDEN TESTS
held(torch.full((3,), 1234.5))
### END HIDDEN TESTS
"""
    homework = with_sources({"double-values": source})
    check = grade(("double", "def double(x):\n    return 3 * x"), homework=homework).checks[0]
    assert check.status is Status.FAIL
    assert not re.search(r"\d\.\d", check.message), check.message


def test_cell_that_uses_a_demos_variable_has_not_failed(grade):
    demo = Cell(kind=CellKind.DEMO, grade_id="fun", source="trained = double(torch.ones(1))")
    homework = dataclasses.replace(DOUBLE, cells=(*DOUBLE.cells, demo))
    solved = ("double", "def double(x):\n    return 2 * x")
    result = grade(solved, ("", "trained + 1"), ("", "untrained + 1"), homework=homework)
    failed = [failure.message for failure in result.cell_failures]
    assert failed == ["NameError: name 'untrained' is not defined"]


STUB = "def double(x):\n    raise NotImplementedError('write me')"


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        ((("double", f"{STUB}\n    return 2 * x"),), "delete it"),
        ((("", "def double(x):\n    return 2 * x"), ("double", STUB)), "write it there"),
        ((("double", STUB), ("", "def double_all(x):\n    return 2 * x"), ("", "def (")), ""),
    ],
)
def test_unwritten_solution_gets_a_plain_message_and_a_hint_if_its_code_is_elsewhere(
    grade, cells, hint
):
    result = grade(*cells)
    first = result.checks[0]
    assert (result.score, first.message, first.traceback) == (0, "double is not written yet.", "")
    assert hint in first.hint
    assert bool(hint) == bool(first.hint)


def test_not_implemented_error_of_pytorch_does_not_count_as_unwritten(grade):
    double = "import torch\n\ndef double(x):\n    return torch.arange(3).softmax(0)"
    (first, *_) = grade(("double", double)).checks
    assert "not implemented for 'Long'" in first.message
    assert "is a .float() missing" in first.hint


def test_message_names_the_unwritten_exercise_that_another_one_calls(grade):
    stub = ("factor_of", "def factor_of(x):\n    raise NotImplementedError('write me')")
    asked = Cell(kind=CellKind.SOLUTION, grade_id="factor_of", source="")
    homework = dataclasses.replace(DOUBLE, cells=(asked, *DOUBLE.cells))
    double = ("double", "def double(x):\n    return factor_of(x) * x")
    result = grade(stub, double, homework=homework)
    assert result.score == 0
    assert result.checks[0].message == "factor_of is not written yet, and double needs it here."


def test_missing_solution_is_named(grade):
    result = grade(("other", "x = 1"))
    assert result.score == 0
    assert "'double' is not defined" in result.checks[0].message
    assert result.flags[0].text.endswith("none of its cells is of this homework")


def test_syntax_error_names_its_line_and_the_checks_that_need_the_cell(grade):
    result = grade(("double", "def double(x)\n    return 2"))
    assert result.score == 0
    (failure,) = result.cell_failures
    assert failure.cell == "double"
    assert failure.message == (
        "Python cannot read this cell: expected ':', in line 1. Checks 1, 2 need it."
    )
    for check in result.checks[:2]:
        assert check.message == (
            "Python cannot read the cell double, which this check needs: expected ':', in line 1."
        )
        assert (check.hint, check.traceback, check.tried_with) == ("", "", ())


def test_syntax_error_in_an_added_cell_is_named_where_it_is_needed(grade):
    double = ("double", "def double(x):\n    return helper(x)")
    result = grade("def helper(x:\n    return 2 * x", double, "x = = 1")
    needed, other = result.cell_failures
    assert needed.message.endswith("Checks 1, 2 need it.")
    assert "the cell extra cell 1, which this check needs" in result.checks[0].message
    assert other.message == "Python cannot read this cell: invalid syntax, in line 1."


ENDLESS = """while True:
            try:
                while True: pass
            except BaseException: pass"""


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        (ENDLESS, "timeout", "stopped after 1 s"),
        ("import os; os._exit(0)", "crash", "ended itself"),
        ("import os; os.abort()", "crash", "ended by"),
        ("import ctypes; ctypes.string_at(0)", "crash", "SIGSEGV"),
        ("import sys; sys.exit(0)", "error", "SystemExit"),
        ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
        ("return bytearray(9 << 30)", "error", "MemoryError"),
        ("def f(n): return f(n + 1)\n        return f(0)", "error", "RecursionError"),
    ],
    ids=["endless", "exit", "abort", "segfault", "sys.exit", "interrupt", "memory", "recursion"],
)  # fmt: skip
@pytest.mark.usefixtures("patient")
def test_crash_costs_one_check(grade, monkeypatch, ending, status, words):
    if status == "crash":  # the exit code may arrive late
        monkeypatch.setattr(student_process, "_GRACE_SECONDS", 60.0)
    source = f"""
def double(x):
    if x.dtype.is_floating_point and not x.requires_grad:
        {ending}
    return 2 * x"""
    result = grade(("double", source), seconds=1.0)
    assert statuses(result) == [status, "pass", "manual"]
    assert words in result.checks[0].message + result.checks[0].traceback


def test_cell_that_ended_the_process_does_not_run_again(grade):
    result = grade(RIGHT, "import os; os._exit(5)")
    assert result.score == 5.0
    assert [(f.cell, f.status.value) for f in result.cell_failures] == [("extra cell 1", "crash")]


def test_each_rerun_cell_has_its_own_limit(grade):
    slow = "import time\ntime.sleep(0.45)"
    ends_once = """
def double(x):
    if not x.requires_grad:
        __import__("os")._exit(0)
    return 2 * x"""
    # 1.6 s each by the clock: less than they take together.
    result = grade(slow, slow, slow, slow, ("double", ends_once), seconds=0.4)
    assert statuses(result) == ["crash", "pass", "manual"]


def test_whole_notebook_has_a_time_limit(sandbox):
    source = "import time\ndef double(x):\n    time.sleep(60)"
    limits = TimeLimits(check_seconds=1.0, submission_seconds=1.5)
    result = Judge(DOUBLE, sandbox, limits=limits).grade(
        notebook(("double", source)), "ada", seed=1
    )
    assert statuses(result) == ["timeout", "timeout", "manual"]
    assert "whole notebook" in result.checks[1].message


NO_NOTEBOOKS = {
    "blank": (b" \n", "Nothing was handed in: the file is empty"),
    "no cells": (b'{"cells": []}', "Nothing was handed in: the notebook has no cells"),
    "zip": (b"PK\x03\x04", "not valid JSON"),
    "conflict": (b'{"cells": [\n<<<<<<< HEAD\n]}', "Git left a conflict in it"),
    "list": (b"[]", "no list of cells"),
    "format 3": (b'{"worksheets": []}', "no list of cells"),
    "deep": (b"[" * 500_000, "not valid JSON"),
    "large": (b" " * ((20 << 20) + 9), "without its outputs, has 20.1 MiB; the limit is 20 MiB"),
}


@pytest.mark.parametrize(("data", "words"), NO_NOTEBOOKS.values(), ids=NO_NOTEBOOKS)
def test_message_explains_why_a_file_is_not_a_notebook(grade, data, words):
    result = grade(data)
    assert set(statuses(result)) == {"invalid"}
    assert words in result.error
    assert result.score == 0


def test_invalid_cells_are_skipped(grade):
    data = json.loads(notebook(RIGHT))
    data["cells"] += [
        None,
        {"cell_type": "code", "source": ["a = 1\n", 3], "metadata": {"nbgrader": "x"}},
        {"cell_type": "code", "source": "\ud800", "metadata": {"nbgrader": {"grade_id": []}}},
    ]
    assert grade(json.dumps(data).encode()).score == 5.0


def test_forged_test_cells_and_points_have_no_effect(grade):
    forged = notebook(
        ("double", "def double(x):\n    return 3 * x"),
        ("double-values", "pass"),
        ("imports", "factor = 3.0"),
        points=99,
        schema_version=99,
        tags=["skip-execution", "raises-exception"],
    )
    assert grade(forged).score == 0


def test_copied_solution_cell_runs_and_is_flagged(grade):
    result = grade(("double", "def double(x):\n    return 3 * x"), RIGHT)
    assert result.score == 5.0
    assert "the cell double occurs more than once" in [flag.text for flag in result.flags]


HOSTILE = {
    "always equal": """
class Equal:
    def __eq__(self, other): return True
    __ne__ = __lt__ = __gt__ = lambda self, other: False
    shape = (2,); dtype = "any"
def double(x): return Equal()""",
    "tensor subclass": """
import torch
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return torch.tensor(True)
def double(x): return x.as_subclass(Yes)""",
    "patched torch": """
import torch
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
torch.manual_seed = lambda s: None
torch.randn = lambda *s, **k: torch.zeros(*s)
def double(x): return x""",
    "patched library": """
import course_lib.testing as t
for name in t.__all__: setattr(t, name, lambda *a, **k: None)
import builtins; builtins.AssertionError = type("Never", (BaseException,), {})
def double(x): return x""",
    "patched shell": """
shell = get_ipython()
shell.run_cell = shell.run_code = shell.showtraceback = lambda *a, **k: None
def double(x): return x""",
    "inputs changed": "def double(x):\n    return x.zero_()",
    "NaN": "def double(x):\n    return x * float('nan')",
    "nothing": "def double(x):\n    return None",
    "scalar": "def double(x):\n    return 2.0",
    "empty": "def double(x):\n    return x[:0]",
    "reads the caller": """
import gc, sys
def double(x):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if hasattr(value, "shape") and value is not x: return value
        frame = frame.f_back
    return [o for o in gc.get_objects() if type(o) is type(x)][-1]""",
    "other dtype": "def double(x):\n    return (2 * x).float().half()",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_solution_earns_nothing(grade, name):
    result = grade(("double", HOSTILE[name]))
    assert result.score == 0, result.checks


WIRE_ATTACKS = {
    "garbage": "os.write(fd, b'x' * 64)",
    "an answer in advance": 'os.write(fd, frame(b\'{"reply": 3, "value": 1}\'))',
    "a huge claim": "os.write(fd, b'\\xff' * 8)",
    "endless": '[os.write(fd, frame(b\'{"released": [], "call": 1}\')) for _ in range(100000)]',
    "silence": "os.close(fd)",
}


@pytest.mark.parametrize("name", with_proofs(WIRE_ATTACKS, ["endless"]))
def test_writing_to_the_wire_earns_nothing_and_grading_continues(grade, name):
    source = f"""
import os, stat, struct
def frame(text): return struct.pack(">II", len(text), 0) + text
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): break
    except OSError: pass
def double(x):
    if not x.requires_grad:
        {WIRE_ATTACKS[name]}
        return 3 * x
    return 2 * x"""
    result = grade(("double", source), seconds=2.0)
    assert result.checks[0].score == 0
    assert result.checks[0].status.value in ("invalid", "crash", "timeout", "fail", "error")
    assert len(result.checks) == 3


def test_hidden_inputs_depend_on_the_seed_alone(grade, monkeypatch):
    drawn = []
    monkeypatch.setattr(testing, "assert_close", lambda _, tensor, **hints: drawn.append(tensor))

    def seen(**options):
        drawn.clear()
        grade(RIGHT, **options)
        return [tensor.tolist() for tensor in drawn]

    assert len(seen(seed=3)) == 3
    assert seen(seed=3) == seen(seed=3)
    assert seen(seed=3) != seen(seed=4)


def test_student_code_cannot_see_the_judges_objects(grade):
    source = "def double(x):\n    raise RuntimeError(str(x.tolist()))"
    result = grade(("double", source))
    shown = json.dumps([vars(check) | {"seconds": 0} for check in result.checks], default=str)
    for secret in ("secret", "full_like", "factor", "assert_close", "check.py", str(result.seed)):
        assert secret not in shown


def test_failed_start_of_a_worker_is_a_sandbox_error(sandbox, monkeypatch):
    started = sandbox.start

    def start_and_die():
        worker = started()
        sandbox.stop(worker)
        ours, theirs = socket.socketpair()
        theirs.close()
        return Worker(connection=ours, pid=worker.pid)

    monkeypatch.setattr(sandbox, "start", start_and_die)
    judge = Judge(DOUBLE, sandbox, limits=TimeLimits())
    with pytest.raises(SandboxError, match="did not start"):
        judge.grade(notebook(RIGHT), "ada", seed=1)


WAITS = "import time\ndef double(x):\n    time.sleep(0.3)\n    return 2 * x"


def test_sandbox_failure_during_a_check_is_a_sandbox_error(sandbox, monkeypatch):
    asked = sandbox.used

    def used(worker):
        for process in psutil.Process(sandbox._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return asked(worker)

    monkeypatch.setattr(sandbox, "used", used)
    judge = Judge(DOUBLE, sandbox, limits=TimeLimits())
    with pytest.raises(SandboxError, match="gone"):
        judge.grade(notebook(("double", WAITS)), "ada", seed=1)
    monkeypatch.undo()
    assert judge.grade(notebook(("double", WAITS)), "ada", seed=1).score == 5.0


@pytest.mark.proof
def test_late_reply_of_the_zygote_does_not_answer_the_next_request(sandbox):
    sandbox.stop(sandbox.start())  # it is there
    sandbox._control.settimeout(0)
    with pytest.raises(SandboxError, match="gone"):
        sandbox.start()
    worker = sandbox.start()
    assert sandbox.stop(worker) is None


def test_unchanged_written_answer_gets_a_message(grade):
    question = DOUBLE.checks[-1]
    unanswered = grade(RIGHT).checks[-1]
    assert (unanswered.check, unanswered.status) == (question.grade_id, Status.MANUAL)
    assert unanswered.message.startswith("Nothing is written here")
    assert "Nothing is written here" in render_feedback(stand(grade(RIGHT)), DOUBLE)
    data = json.loads(notebook(RIGHT))
    named = {"nbgrader": {"grade_id": question.grade_id}}
    data["cells"].append({"cell_type": "markdown", "metadata": named, "source": "## Why?\nSo."})
    assert grade(json.dumps(data).encode()).checks[-1].message == ""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_unreachable_gpu_is_a_sandbox_error(sandbox):
    judge = Judge(DOUBLE, sandbox, limits=TimeLimits(), device="cuda")
    with pytest.raises(SandboxError, match=r"CUDA does not start where students' code runs \("):
        judge.grade(notebook(("double", "def double(x): return 2 * x")), "ada", seed=1)
