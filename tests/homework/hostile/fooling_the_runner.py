"""Attacks on the runner of cells, and on the wire between the student's process and the judge."""

# ruff: noqa: E501 -- one line an attack

from ..submissions import BLANK
from . import PATCHED_SHELL
from .attack import EVERYTHING, PADDING, Attack, at_padding, attack

_NOTHING = dict.fromkeys(EVERYTHING, BLANK)

_WIRE = """
import os, stat, struct


def frame(text):
    return struct.pack(">II", len(text), 0) + text


for wire in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(wire).st_mode):
            break
    except OSError:
        pass
"""


def _on_the_wire(name: str, tries: str, body: str) -> Attack:
    """Return an attack whose ``body`` misuses the socket to the judge, in the variable ``wire``."""
    return attack(name, tries, edits=at_padding(f"{body}\nreturn token_ids", _WIRE))


ATTACKS: tuple[Attack, ...] = (
    attack(
        "patched-shell",
        "run_cell, run_code, showtraceback replaced",
        edits=_NOTHING,
        extra=PATCHED_SHELL,
        lost=EVERYTHING,
    ),
    attack(
        "display-hooks",
        "sys.displayhook and raw messages that show a mark: a number, NaN, text, 99",
        edits={PADDING: BLANK},
        extra="""
import sys
from IPython.display import display
sys.displayhook = lambda value: print("99")
shell = get_ipython()
shell.display_formatter.format = lambda *args, **kwargs: ({"text/plain": "99"}, {})
shell.displayhook = type("Hook", (), {"__call__": lambda self, value: 99, "exec_result": 99})()
shell.display_pub.publish({"text/plain": "99"})
print('{"output_type": "execute_result", "data": {"text/plain": "99"}}')
print("nan")
99
""",
    ),
    attack(
        "transformers",
        "input and AST transformers that turn each cell and each assert into nothing",
        edits={PADDING: BLANK},
        extra="""
import ast
shell = get_ipython()
shell.input_transformers_post.append(lambda lines: [x.replace("NotImplementedError()", "SystemExit(0)") for x in lines])
class Silence(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
shell.ast_transformers.append(Silence())
""",
    ),
    attack(
        "event-hooks",
        "hooks of the shell and of the interpreter's end, and an error that is swallowed",
        edits=at_padding("raise KeyboardInterrupt"),
        extra="""
import atexit, sys, threading
shell = get_ipython()
for event in ("pre_execute", "post_execute", "pre_run_cell", "post_run_cell"):
    shell.events.register(event, lambda *args: 1 / 0)
shell.set_custom_exc((BaseException,), lambda *args, **kwargs: None)
sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *args: None
atexit.register(lambda: 1 / 0)
""",
    ),
    attack(
        "patched-worker",
        "the judge's own modules in the process, replaced",
        edits={PADDING: BLANK},
        extra="""
import course_worker.peer, course_worker.reader, course_worker.recorder, course_worker.shell
course_worker.shell.describe_error = lambda error: {"type_name": "x", "bases": [], "message": "", "traceback": ""}
course_worker.recorder.end = lambda: ["torch.nn.Linear"] * 100
course_worker.reader.read = lambda *args: []
""",
        flagged="pries into course_worker",
    ),
    attack(
        "imitation",
        "a dictionary that looks like a finished check",
        edits=at_padding(
            'return {"status": "pass", "score": 99, "check": "padding_mask-values", "message": ""}'
        ),
    ),
    attack(
        "exceptions",
        "exceptions that take the names of the judge's",
        edits=at_padding("""
class CheckFailure(AssertionError):
    summary = detail = hint = "passed"
class ProcessEnded(Exception):
    status, message = "pass", "passed"
raise (CheckFailure if token_ids.sum() % 2 else ProcessEnded)("passed")
"""),
    ),
    attack(
        "mean-exceptions",
        "exceptions whose text, name and bases fail, flood or never end",
        edits=at_padding("""
class Mean(ValueError):
    def __str__(self):
        raise SystemExit
    __repr__ = __str__
Mean.__name__ = "M" * 3_000_000
raise Mean("x" * 10_000_000)
"""),
    ),
    _on_the_wire("wire-garbage", "bytes that are no message", "os.write(wire, b'x' * 64)"),
    _on_the_wire("wire-too-large", "a message that claims 4 GiB", "os.write(wire, b'\\xff' * 8)"),
    _on_the_wire("wire-half", "half a message, and then nothing", "os.write(wire, b'\\0\\0\\4\\0\\0\\0\\0\\0{')\nimport time; time.sleep(99)"),
    _on_the_wire("wire-in-advance", "answers for this call and many later ones", """
for call in range(1, 500):
    os.write(wire, frame(b'{"reply": %d, "value": {"tensor": 0}}' % call))
"""),
    _on_the_wire("wire-endless", "answers that never end", """
while True:
    os.write(wire, frame(b'{"released": [], "call": 1, "target": {"yours": 1}}'))
"""),
    _on_the_wire("wire-not-json", "text that is not JSON, nested deep", "os.write(wire, frame(b'[' * 100_000))"),
    _on_the_wire("wire-calls-back", "calls of the judge's functions by name", """
os.write(wire, frame(b'{"call": 1, "target": "os:_exit", "args": {"tuple": [0]}, "kwargs": {"dict": []}}'))
"""),
    _on_the_wire("wire-closed", "the connection is closed, and the process lives on", "os.close(wire)\nimport time; time.sleep(99)"),
    attack(
        "late-thread",
        "a thread that answers when another question has been asked",
        edits=at_padding(
            """
import threading, time
def late():
    time.sleep(0.05)
    os.write(wire, frame(b'{"reply": 9, "value": true}') * 50)
threading.Thread(target=late, daemon=True).start()
time.sleep(0.2)
return (token_ids != pad_id)[:, None, None, :]
""",
            _WIRE,
        ),
    ),
    attack(
        "endless",
        "an endless loop that swallows every signal",
        edits=at_padding("""
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
"""),
    ),
)  # fmt: skip
