"""Honest habits cost no points: noise, magics, cells of one's own."""

# ruff: noqa: E501 -- one line a habit

import pytest
from ipykernel.zmqshell import KernelMagics
from IPython.core.shellapp import InteractiveShellApp

from autograder.sandbox.worker.shell import FRONT_ENDS_MAGICS

pytestmark = pytest.mark.sandbox

RIGHT = "def double(x):\n    return x + x"

HABITS = {
    "prints inside": (("double", "def double(x):\n    print('shape', x.shape, flush=True)\n    return 2 * x"),),
    "a lot of output": ("for i in range(20_000):\n    print('step', i)",),
    "logging": ("import logging, sys, warnings\nlogging.basicConfig(level=0)\nlogging.error('x')\nwarnings.warn('careful')\nprint('oops', file=sys.stderr)",),
    "a progress bar": ("from tqdm.auto import tqdm\nfor i in tqdm(range(9)):\n    pass",),
    "a plot": ("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",),
    "%time": (("double", "%time x = 1\ndef double(x):\n    return 2 * x"),),
    "%%time": (("double", "%%time\ndef double(x):\n    return 2 * x"),),
    "a cell that says nothing": ("%%time\n# later", "# later", "%%capture said\n\n"),
    "%timeit": ("%timeit -n1 -r1 sum(range(9))",),
    "%load_ext autoreload": ("%load_ext autoreload\n%autoreload 2",),
    "braces for the shell": ("!mkdir -p made/{a,b}\nopen('made/a/x', 'w').close()",),
    "a file called as one of Python's": ("%%writefile secrets.py\nkey = 1", "import secrets\nassert secrets.token_hex(2)"),
    "a worker.py of one's own": ("%%writefile worker.py\ndef lower(x):\n    return x", "from worker import lower\nassert lower(1) == 1"),
    "!ls": ("!ls\nfiles = !ls /\nassert files",),
    "%%bash": ("%%bash\necho hello",),
    "%pip": ("%pip --version",),
    "magics without a sign": ("pip --version", "matplotlib inline", "load_ext autoreload", "autoreload 2", "mkdir -p a/b", "cd a/b", "timeit -n1 -r1 sum([1])", "ls /tmp", "who", "  ls -l\n"),
    "%time without a sign": ("time two = 1 + 1", ("double", "def double(x):\n    return two * x")),
    "%run without a sign": ("%%writefile helper.py\ndef twice(x): return 2 * x", "run helper.py", ("double", "def double(x):\n    return twice(x)")),
    "names that magics have too": ("def run(x): return x\ntime = 3", "time", "run (time)", "assert run(time) - 3 == 0"),
    "magics of a notebook's kernel": (("double", f"%autosave 60\n%clear\n%edit\n{RIGHT}"),),
    "a backend of one's own": (("double", f"%matplotlib widget\n{RIGHT}"), "%matplotlib ipympl\n%matplotlib inline\n%matplotlib"),
    "every value shown": ("from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'\n1\n2",),
    "a module in a folder of one's own": ("import os\nos.mkdir('mine')\n%cd mine\nopen('helper.py', 'w').write('def twice(x): return 2 * x')", ("double", "from helper import twice\ndef double(x):\n    return twice(x)")),
    "a parser of arguments": (("double", f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-f')\nparser.parse_args()\n{RIGHT}"),),
    "a script of one's own": ("%%python\nopen('made.py', 'w').write('two = 2')", ("double", "from made import two\ndef double(x):\n    return two * x")),
    "a module that is written anew": ("%load_ext autoreload\n%autoreload 2\nopen('own.py', 'w').write('two = 1')", "import own, os, time", "open('own.py', 'w').write('two = 2  # now')\nos.utime('own.py', (time.time() + 9,) * 2)", ("double", "def double(x):\n    return own.two * x")),
    "%store": (("double", f"seed = 3\n%store seed\n{RIGHT}"), "store seed"),
    "help": ("double?\n?print\nhelp(len)",),
    "a display": ("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))",),
    "a last value": ("1 + 1",),
    "exit": ("exit()", "quit"),
    "a helper before": ("def twice(x):\n    return x * 2", ("double", "def double(x):\n    return twice(x)")),
    "a helper after": (("double", "def double(x):\n    return twice(x)"), "def twice(x):\n    return 2 * x"),
    "own asserts that hold": (("double", f"{RIGHT}\nassert double(2) == 4"), "assert double(3) == 6"),
    "own asserts that fail": ("assert 1 == 2, 'not yet'",),
    "a cell with an error": ("1 / 0",),
    "a cell that is no Python": ("to do: write more",),
    "a callable object": (("double", "class D:\n    def __call__(self, x): return 2 * x\ndouble = D()"),),
    "async": ("import asyncio\nawait asyncio.sleep(0)",),
    "a file of one's own": ("open('notes.txt', 'w').write('x')\nassert open('notes.txt').read() == 'x'",),
    "settings": ("import sys, torch\nsys.dont_write_bytecode, sys.tracebacklimit = True, 3\ntorch.set_printoptions(precision=2)\ntorch.set_num_threads(1)",),
    "spaces and CRLF": (("double", "\r\n\r\ndef double(x):\r\n    return 2 * x\r\n\r\n"),),
    "other letters": (("double", "def double(größe):\n    '''倍 🙂'''\n    return 2 * größe"),),
}  # fmt: skip


@pytest.mark.parametrize("habit", HABITS)
def test_honest_habit_costs_no_points_and_raises_no_flag(grade, habit):
    cells = HABITS[habit]
    if not any(isinstance(cell, tuple) for cell in cells):
        cells = (("double", RIGHT), *cells)
    result = grade(*cells)
    assert result.score == 5.0, result.checks
    assert {flag.kind.value for flag in result.flags} <= {"forged"}  # the small notebook is partial
    failing = habit in ("own asserts that fail", "a cell with an error", "a cell that is no Python")
    assert bool(result.cell_failures) == failing, result.cell_failures


def test_worker_has_all_magics_of_a_notebook_kernel():
    assert set(KernelMagics.magics["line"]) <= set(FRONT_ENDS_MAGICS)
    assert not KernelMagics.magics["cell"]
    extensions = InteractiveShellApp.class_traits()["default_extensions"]
    assert extensions.default(InteractiveShellApp) == ["storemagic"]  # of which `%store` is
