"""Test cells in a notebook say how they ended: in one line, or in what is wrong and where to begin.

A test cell begins with a comment that says what it tests, its title, and holds an assertion.
"""

import re
import sys
import traceback
from types import TracebackType
from typing import Any

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


def tell_what_passes() -> None:
    """Have the test cells of this notebook say how they ended; without IPython, do nothing.

    One that runs to its end says so. One that fails names the first earlier one that fails too. One
    that meets a cell that is not written yet says that, instead of a traceback. Under an error of
    PyTorch's or Python's that is a usual one stands a hint, in other cells too.
    """
    shell = _shell()
    if shell and _tell not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _tell)
        shell.set_custom_exc((NotImplementedError,), _show_unwritten)


def _shell() -> Any:
    """Return IPython's shell, if this is one."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None


def _tell(result: Any) -> None:
    error = result.error_in_exec
    if isinstance(error, _USUAL) and (hint := hint_for(str(error))):
        print(f"Hint: {hint}")
    test = _TEST.match(result.info.raw_cell or "")
    if not test:
        return
    title = test[1]
    _passes[title] = result.success
    if result.success:
        print(f"Passed: {title}")
    elif isinstance(error, NotImplementedError) and is_unwritten(str(error)):
        del _passes[title]  # nothing to mend yet
    elif failing := _failing_before(title):
        print(f"“{failing}” fails too: if this test stands on that, begin there.")


def _failing_before(title: str) -> str:
    """Return the first test that ran before this one and fails; empty if there is none."""
    before = list(_passes)[: list(_passes).index(title)]
    return next((other for other in before if not _passes[other]), "")


def _show_unwritten(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show an error; that of a cell that is not written yet in one line."""
    last = list(traceback.walk_tb(trace))[-1][0]
    if last.f_globals.get("__name__") == "__main__" and is_unwritten(str(error)):
        name = last.f_code.co_qualname.partition(".")[0]
        error._render_traceback_ = lambda: [f"{name} is not written yet."]  # type: ignore[attr-defined]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
