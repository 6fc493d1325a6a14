"""Reports the result of each test cell of a notebook: one line if it passes, else the likely cause.

A test cell begins with a comment, its title, and contains an assertion.
"""

import os
import re
import sys
import traceback
from types import TracebackType
from typing import Any

import torch

from course_lib.likely_mistakes import find_mistake, read_file
from course_lib.testing import CheckFailure, observe_notebook
from course_lib.usual_errors import hint_for, is_unwritten

_TEST = re.compile(r"# (.+)\n(?:.*\n)*?.*\b(?:assert|CheckFailure)")

_USUAL = (
    RuntimeError,
    IndexError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    NameError,
)

_passes: dict[str, bool] = {}  # by title: the tests that ran in this session, as they ended last


class _Test:
    """The test cell that is running, if there is one.

    Attributes:
        title: Its title; empty where no test runs.
        count: How many of its assertions held so far.
    """

    title = ""
    count = 0


def prepare_notebook() -> None:
    """Prepare a homework's notebook: from now on each test cell reports its result.

    Tensors are made on the device that the environment variable ``COURSE_DEVICE`` names, the CPU
    if there is none. PyTorch computes with one thread: for small tensors more would only wait for
    each other.
    """
    torch.set_num_threads(1)
    device = os.environ.get("COURSE_DEVICE", "cpu")
    if device != "cpu":
        torch.set_default_device(device)
    report_tests()


def report_tests() -> None:
    """Report the result of each test cell of this notebook; without IPython, do nothing.

    A cell that passes prints one line. A cell that fails prints the expected and the actual value,
    the likely mistake, the line of the code under test, the section to read, and earlier tests
    that fail too. A cell that needs an unwritten exercise says so. A frequent error of PyTorch or
    Python is followed by a hint, in other cells too.
    """
    shell = _shell()
    if shell and _tell not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("pre_run_cell", _begin)
        shell.events.register("post_run_cell", _tell)
        shell.set_custom_exc((Exception,), _show)
        observe_notebook(_observe)


def _shell() -> Any:
    """Return IPython's shell; None outside IPython."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _begin(info: Any) -> None:
    test = _TEST.match(info.raw_cell or "")
    _Test.title, _Test.count = test[1] if test else "", 0


def _observe(seen: Any, failure: CheckFailure | None) -> None:
    if failure is None:
        _Test.count += 1
        return
    about = read_file().get(_Test.title, {})
    failure.hint = find_mistake(about, _Test.count, seen) or failure.hint
    failure.read = about.get("read", "")
    raise failure


def _tell(result: Any) -> None:
    error, title = result.error_in_exec, _Test.title
    _Test.title = ""
    if isinstance(error, _USUAL) and (hint := hint_for(str(error))) and not _is_shown(error):
        print(f"Hint: {hint}")
    if not title:
        return
    _passes[title] = result.success
    if result.success:
        print(f"Passed: {title}")
    elif isinstance(error, NotImplementedError) and is_unwritten(str(error)):
        del _passes[title]  # not written yet, so it does not count as failing
    elif failing := _failing_before(title):
        print(f"“{failing}” fails too: if this test depends on it, begin there.")


def _is_shown(error: BaseException) -> bool:
    """Return whether an error has already been shown together with its likely mistake."""
    return bool(getattr(error, "_has_hint", False))


def _failing_before(title: str) -> str:
    """Return the title of the first failing test before the test ``title``; empty if none fails."""
    before = list(_passes)[: list(_passes).index(title)]
    return next((other for other in before if not _passes[other]), "")


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show an error, in few lines if a test or an unwritten exercise raised it."""
    frames = [frame for frame, _ in traceback.walk_tb(trace)]
    own = [f for f in frames[1:] if f.f_globals.get("__name__") == "__main__"]
    lines: list[str] = []
    is_stub = isinstance(error, NotImplementedError) and is_unwritten(str(error))
    if is_stub and frames and frames[-1] in own:
        lines = [f"{own[-1].f_code.co_qualname.partition('.')[0]} is not written yet."]
    elif about := read_file().get(_Test.title):
        if not isinstance(error, CheckFailure):
            lines = _lines(error, about, trace)
        elif not error.read:  # no assertion has raised it
            error.hint = find_mistake(about, _Test.count, error) or error.hint
            error.read = about["read"]
    if lines:
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _lines(error: BaseException, about: dict[str, Any], trace: TracebackType) -> list[str]:
    """Describe an error: message, likely mistake, place, section to read.

    ``about`` is the test's entry in what ``likely_mistakes.read_file`` returns.
    """
    lines = [f"{type(error).__name__}: {error}"]
    hint = find_mistake(about, _Test.count, error)
    if hint:
        error._has_hint = True  # type: ignore[attr-defined]
        lines.append(f"Hint: {hint}")
    own = [f for f in traceback.extract_tb(trace) if "ipykernel" in f.filename]
    for frame in own:
        where = "this cell" if frame.name == "<module>" else f"the cell of {frame.name}"
        lines.append(f"(line {frame.lineno} of {where}: {frame.line})")
    if about.get("read"):
        lines.append(f"Read: {about['read']}")
    return lines
