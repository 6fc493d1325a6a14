"""A rule of an exercise: which code breaks it, what it costs, and what the staff is told."""

# ruff: noqa: E501 -- one line a case

import dataclasses

import pytest

from autograder.homework_source.homework import Cell, CellKind, Homework
from autograder.judging.results import Flag, FlagKind, Status
from autograder.judging.student_process import ProcessEnded, StudentProcess
from autograder.sandbox.worker.reader.reading import read
from autograder.sandbox.worker.reader.statement_reader import SHELL
from tests.daily import with_proofs

SETUP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn"
RULES = {"norm": ["torch.nn.LayerNorm", "torch.nn.functional.layer_norm", "course_lib.norms.norm"]}

TAKEN = "from torch.nn import LayerNorm\n"
OWN = "class LayerNorm(nn.Module):\n  def __init__(self): super(LayerNorm, self).__init__()\n"

BREACHES = {
    "a module by a text": (
        "import importlib\ndef norm(x):\n"
        "    return importlib.import_module('torch.nn').LayerNorm(2)(x)",
        3,
    ),
    "a module by another name of what imports": (
        "from importlib import import_module as load\nfound = load(name='torch.nn')\n"
        "def norm(x): return found.LayerNorm(2)(x)",
        3,
    ),
    "an attribute by its text": (
        "def norm(x): return vars(nn)['LayerNorm'](2)(x) + F.__dict__['relu'](x)",
        1,
    ),
    "a name of it by a text": (
        "import pkgutil\nfound = pkgutil.resolve_name('torch.nn:LayerNorm')\n"
        "def norm(x): return found(2)(x)",
        3,
    ),
    "a module in the list of them": (
        "import sys\ndef norm(x): return sys.modules['torch.nn.functional'].layer_norm(x, (2,))",
        2,
    ),
    "a function": ("def norm(x):\n    return F.layer_norm(x, x.shape[-1:])", 2),
    "a class": ("class norm(nn.LayerNorm):\n    pass", 1),
    "the whole of it": ("norm = nn.LayerNorm(4)", 1),
    "an import under its name": ("x = 1\nfrom torch.nn import LayerNorm as norm", 2),
    "what the edition withholds": ("try:\n    from course_lib.norms import norm\nexcept: pass", 2),
    "another name for a module": ("G = F\ndef norm(x):\n    return G.layer_norm(x, (4,))", 3),
    "a function that helps": ("def norm(x): return h(x)\ndef h(x): return nn.LayerNorm(4)(x)", 2),
    "a value that helps": ("layer = nn.LayerNorm(4)\ndef norm(x):\n    return layer(x)", 1),
    "a global of a function": ("def f():\n  global h\n  h = F.layer_norm\ndef norm(x): h(x)", 3),
    "an import inside": ("def norm(x):\n    from torch import layer_norm as f\n    return f(x)", 3),
    "a star": ("from torch.nn import *\ndef norm(x):\n    return LayerNorm(4)(x)", 3),
    "its own module": ("import torch.nn.modules.normalization as n\nnorm = n.LayerNorm", 2),
    "an operator": ("def norm(x):\n    return torch.ops.aten.layer_norm(x, (4,))", 2),
    "the kernel below it": ("def norm(x): return torch.native_layer_norm(x, (4,))", 1),
    "the operator below it": ("def norm(x): return torch.ops.aten.native_layer_norm(x)", 1),
    "a method of it": ("class norm: pass\nnorm.forward = nn.LayerNorm.forward", 2),
    "setattr": ("class norm: pass\nsetattr(norm, 'forward', nn.LayerNorm.forward)", 2),
    "getattr": ("def norm(x):\n    return getattr(nn, 'LayerNorm')(4)(x)", 2),
    "a cell magic": ("%%time\nx = 1\nnorm = nn.LayerNorm(4)", 3),
    "a line magic in a cell magic": ("%%time\n%matplotlib inline\nnorm = nn.LayerNorm(4)", 3),
    "a magic without its sign": ("time norm = nn.LayerNorm(4)", 1),
    "the same in a cell magic": ("%%capture\ntime norm = nn.LayerNorm(4)", 2),
    "a line magic": ("x = 1\n%time norm = nn.LayerNorm(4)", 2),
    "an imported base": ("from torch.nn import LayerNorm as norm\nclass norm(norm): pass", 2),
    "await": ("import asyncio\nawait asyncio.sleep(0)\nnorm = nn.LayerNorm(4)", 3),
    "a hint that calls": ("def norm(x: nn.LayerNorm(4)):\n    return norm(x)", 1),
    "a hint that names": ("def f(x: (n := nn.LayerNorm)): pass\ndef norm(x): n(4)(x)", 1),
    "in a magic": ("class norm: pass\n%cd {setattr(norm, 'f', nn.LayerNorm)} {'a:b'}", 2),
    "an item": ("kept = {}\nkept['f'] = nn.LayerNorm(4)\ndef norm(x):\n  kept['x'] = x\n  return kept['f'](x)", 2),
    "an item that is added to": ("kept = {}\nkept['y'] = nn.LayerNorm(4)\ndef norm(x): kept['y'] += x", 2),
    "an item of an item": ("kept = {}\nkept['f'] = nn.LayerNorm(4)\ndef norm(x): kept['f'][x] = x", 2),
    "an item by another name": ("kept = {}\nfor key in 'fg': kept[key] = nn.LayerNorm(4)\ndef norm(x):\n  kept['x'] = x\n  return kept['f'](x)", 2),
    "an item of a dictionary in a dictionary": ("kept = {'a': {}}\nkept['a']['f'] = nn.LayerNorm(4)\ndef norm(x):\n  return kept['a']['f'](x)", 2),
    "an item of what may be another": ("kept = {}\nkept['f'] = nn.LayerNorm(4)\nif len('a'): kept = {}\ndef norm(x): return kept['f'](x)", 2),
    "an item of what is the same": ("kept = {}\nkept['f'] = nn.LayerNorm(4)\nkept = kept\ndef norm(x): return kept['f'](x)", 2),
    "an item of what is copied": ("old = {}\nold['f'] = nn.LayerNorm(4)\nkept = {**old}\ndef norm(x): return kept['f'](x)", 2),
    "what is appended": ("kept = []\nkept.append(nn.LayerNorm(4))\ndef norm(x): return kept[0](x)", 2),
    "what is added later": ("kept = []\ndef norm(x): return kept[0](x)\nfor _ in 'a': kept.insert(0, nn.LayerNorm(4))", 3),
    "what a dictionary is made larger by": ("kept = {}\nkept.update(f=nn.LayerNorm(4))\ndef norm(x): return kept['f'](x)", 2),
    "what is put where it may be": ("kept = {}\ndef norm(x): return kept.setdefault('f', nn.LayerNorm(4))(x)", 2),
    "a method put in": ("class Log: pass\nlog = Log()\nout = []\nlog.append = lambda x: out.insert(0, F.layer_norm(x, (4,)))\ndef norm(x):\n  log.append(x)\n  return out[0]", 4),
    "a method put into what is plain": ("from types import SimpleNamespace\nlog = SimpleNamespace()\nlog.append = nn.LayerNorm(4)\ndef norm(x): log.append(x)", 3),
    "a class put in": ("class Log: pass\nclass Bad:\n  def __setattr__(self, name, x): F.layer_norm(x)\nlog = Log()\nlog.__class__ = Bad\ndef norm(x): log.x = x", 3),
    "an item of two keys": ("kept = {}\nkept['a'] = {}\nkept['b'] = kept['a']\nkept['a']['f'] = nn.LayerNorm(4)\ndef norm(x): return kept['b']['f'](x)", 4),
    "an item of a class that answers for others": ("class Kept(dict):\n  def __missing__(self, k): return self['theirs']\nkept = Kept()\nkept['theirs'] = nn.LayerNorm(4)\ndef norm(x): return kept['mine'](x)", 4),
    "all items": ("kept = {}\nkept['f'] = nn.LayerNorm(4)\ndef norm(x):\n  return [f(x) for f in kept.values()][0]", 2),
    "an item by a number": ("kept = [0, 1]\nkept[1] = nn.LayerNorm(4)\ndef norm(x): return kept[True](x)", 2),
    "an attribute": ("class Kept: pass\nKept.f = nn.LayerNorm(4)\ndef norm(x):\n  Kept.x = x\n  return Kept.f(x)", 2),
    "an attribute of an attribute": ("class Kept: pass\nKept.f = nn.LayerNorm(4)\ndef norm(x): Kept.f.x = x", 2),
    "an attribute that is added to": ("class Kept: pass\nKept.f = nn.LayerNorm(4)\ndef norm(x): Kept.f += x", 2),
    "an item of a class of one's own": ("class Kept:\n  def __setitem__(self, x, y): F.layer_norm(x)\nkept = Kept()\ndef norm(x): kept[x] = x", 2),
    "what is put where the exercise is": ("class norm: pass\nnorm = [norm]\nnorm[0] = nn.LayerNorm(4)", 3),
    "a default": ("def norm(x, layer: object = nn.LayerNorm(4)):\n    return layer(x)", 1),
    "blank lines first": ("\n\nnorm = nn.LayerNorm(4)", 3),
    "a star that covers": ("class LayerNorm: pass\nfrom torch.nn import *\ndef norm(x): LayerNorm(4)(x)", 3),
    "a star under its name": ("def layer_norm(x): pass\nfrom torch import *\nnorm = layer_norm", 3),
    "a star of what nobody knows": ("from torch.x import *\ndef norm(x): return LayerNorm(x)", 2),
    "a global that changes": ("from torch import layer_norm as f\ndef norm(x):\n  global f\n  f = f(x, (4,))", 4),
    "an import as a global": ("def f():\n  global h\n  from torch import layer_norm as h\ndef norm(x): h(x)", 3),
    "a class's names are not its methods'": (f"{TAKEN}class norm:\n  LayerNorm = None\n  def f(s, x): LayerNorm(4)(x)", 4),
    "a class attribute": (f"{TAKEN}class norm:\n  LayerNorm = LayerNorm", 3),
    "an import of a class's": ("class norm:\n  from torch.nn import LayerNorm\n  f = LayerNorm(4)", 3),
    "a name of a comprehension's": (f"{TAKEN}def norm(x):\n  [LayerNorm for LayerNorm in ()]\n  LayerNorm(4)(x)", 4),
    "an outer function's import": ("def norm(x):\n  from torch.nn import LayerNorm\n  def f(): return LayerNorm(4)", 3),
    "nonlocal": ("def norm(x):\n  from torch import layer_norm as f\n  def g():\n    nonlocal f\n    f = f(x)", 5),
    "a walrus": ("def norm(x): return (f := nn.LayerNorm)(4)(x)", 1),
    "a walrus in a comprehension": ("[f := nn.LayerNorm(4) for _ in '1']\ndef norm(x): return f(x)", 1),
    "del": (f"{TAKEN}f = LayerNorm(4)\ng = f\ndel f\ndef norm(x): return g(x)", 2),
    "except as": ("try: 1 / 0\nexcept OSError as e:\n  e.f = nn.LayerNorm\n  f = e\ndef norm(x): f.f(4)(x)", 3),
    "an except's type": ("try: f = 1\nexcept nn.LayerNorm as norm: pass", 2),
    "a target of for": ("for f in [nn.LayerNorm(4)]: pass\ndef norm(x): return f(x)", 1),
    "what for hands on": ("for f in [nn.LayerNorm(4)]:\n  for g in [f]:\n    norm = g", 1),
    "what a loop hands on": ("f = None\nfor i in '12':\n  norm = f\n  f = nn.LayerNorm(4)", 4),
    "with as": ("with nn.LayerNorm(4) as f: pass\ndef norm(x): return f(x)", 1),
    "a capture": ("match nn.LayerNorm(4):\n  case f: pass\ndef norm(x): return f(x)", 1),
    "a lambda": (f"{TAKEN}norm = lambda x: LayerNorm(4)(x)", 2),
    "a lambda's default": ("norm = lambda x, f=nn.LayerNorm(4): f(x)", 1),
    "a default of its own name": (f"{TAKEN}def norm(x, LayerNorm=LayerNorm(4)): return LayerNorm(x)", 2),
    "a decorator": ("def f(g): return nn.LayerNorm(4)\n@f\ndef norm(x): return x", 1),
    "a decorator of its own name": ("from torch.nn import LayerNorm as norm\n@norm\ndef norm(x): return x", 2),
    "under if": ("if True:\n  x = 1\n  norm = nn.LayerNorm(4)", 3),
    "under else": ("if 1 > 2: f = None\nelse: f = nn.LayerNorm(4)\ndef norm(x): return f(x)", 2),
    "tried": ("try: from torch.nn import LayerNorm as f\nexcept OSError: f = None\ndef norm(x): f(4)(x)", 3),
    "covered perhaps": ("def norm(x): return nn.LayerNorm(4)(x)\nif len(''):\n  def norm(x): return x", 1),
    "covered in a function": ("norm = nn.LayerNorm(4)\ndef f():\n  global norm\n  norm = 1", 1),
    "kept before it is covered": ("def f(x): nn.LayerNorm(4)(x)\ng = f\nf = 1\ndef norm(x): return g(x)", 1),
    "covered later": ("def f(x): return x\ndef norm(x): return f(x)\nf = nn.LayerNorm(4)", 3),
    "imported later": (f"def norm(x): return LayerNorm(4)(x)\n{TAKEN}", 1),
    "one of a pair": ("f, eps = nn.LayerNorm(4), 1\ndef norm(x): return f(x)", 1),
    "a pair turned round": ("f, g = nn.LayerNorm(4), 1\nf, g = g, f\ndef norm(x): return g(x)", 1),
    "isinstance of one's own": ("def isinstance(x, f): return f(4)(x)\nnorm = isinstance(1, nn.LayerNorm)", 2),
    "a name in isinstance": ("isinstance(1, (f := nn.LayerNorm))\ndef norm(x): return f(4)(x)", 1),
    "cast of one's own": ("def cast(f, x): return f(4)(x)\ndef norm(x): return cast(nn.LayerNorm, x)", 2),
}  # fmt: skip

ALLOWED = {
    "of one's own": "class norm(nn.Module):\n    def forward(self, x): return x - x.mean(-1)",
    "a comparison": "def norm(x): return x\nassert norm(1) != nn.LayerNorm(4)",
    "a comparison by name": "def norm(x): return x\ntheirs = nn.LayerNorm(4)\nprint(theirs, norm)",
    "a local of the same name": "x = nn.LayerNorm(4)\ndef norm(x):\n    return [x for _ in x]",
    "isinstance": "def norm(x): return isinstance(x, (nn.LayerNorm, nn.Linear))",
    "a type hint": "def norm(x: nn.LayerNorm) -> list[nn.LayerNorm]:\n    y: nn.LayerNorm = x",
    "a method of one's own": "class norm:\n    def layer_norm(self): return self.layer_norm()",
    "a function of one's own": "def layer_norm(x): return x\ndef norm(x): return layer_norm(x)",
    "a module of like name": "from torch.nn.utils import rnn\ndef norm(x): rnn.pad_sequence(x)",
    "covered by one's own": "from torch.nn import LayerNorm as norm\ndef norm(x): return x",
    "in a magic": "def norm(x): return x\n%cd {nn.LayerNorm}\n!ls {x:>3} {",
    "a text": "def norm(x):\n    '''As nn.LayerNorm.'''\n    return x  # F.layer_norm",
    "no Python": "norm = nn.LayerNorm(",
    "one's own after an import": f"{TAKEN}{OWN}def norm(x): return LayerNorm()(x)",
    "one's own after a star": f"from torch.nn import *\n{OWN}def norm(x): return LayerNorm()(x)",
    "one's own below": f"from torch.nn import *\nclass norm:\n  f = lambda s: LayerNorm()\n{OWN}",
    "one's own before a star without it": f"{OWN}from torch.nn.functional import *\nnorm = LayerNorm()",
    "one's own before a star that nobody knows": f"{OWN}from torch.x import *\nnorm = LayerNorm()",
    "a function after a star": "from torch import *\ndef layer_norm(x): pass\ndef norm(x): layer_norm(x)",
    "a module of a star's": "from torch.nn.functional import *\ntorch.backends.cudnn.deterministic = True",
    "a local variable": f"{TAKEN}def norm(x):\n  LayerNorm = x - 1\n  return LayerNorm",
    "a local after a star": "from torch import *\ndef norm(x):\n  layer_norm = x\n  return layer_norm",
    "a parameter": f"{TAKEN}def norm(LayerNorm, *a): return LayerNorm(a)",
    "a parameter of a lambda's": f"{TAKEN}norm = lambda LayerNorm: LayerNorm(4)",
    "a target of one's own": f"{TAKEN}def norm(x):\n  for LayerNorm in x: LayerNorm()",
    "with, except and match": f"""{TAKEN}def norm(x):
  with open(x) as LayerNorm: LayerNorm()
  try: LayerNorm()
  except OSError as LayerNorm: LayerNorm()
  match x:
    case [LayerNorm, *_]: LayerNorm()
    case (_, *LayerNorm) | {{1: _, **LayerNorm}}: LayerNorm()""",
    "a name of a comprehension's": f"{TAKEN}def norm(x): return [LayerNorm() for LayerNorm in x]",
    "an outer function's": f"{TAKEN}def norm(LayerNorm):\n  def f(): return LayerNorm()\n  return f()",
    "a function in it": f"{TAKEN}def norm(x):\n  def LayerNorm(): return LayerNorm()\n  return LayerNorm()",
    "a class's own": f"{TAKEN}class norm:\n  LayerNorm = 1\n  width = LayerNorm + 1",
    "another method's import": f"class norm:\n  def f(s):\n    {TAKEN}  def g(s, LayerNorm): LayerNorm()",
    "a parameter within": f"def norm(x):\n  {TAKEN}  return lambda LayerNorm: LayerNorm()",
    "beside it in a pair": "eps, theirs = 1e-5, nn.LayerNorm(4)\ndef norm(x): return x * eps",
    "beside it in a block": "if True:\n  eps = 1e-5\n  theirs = nn.LayerNorm(4)\ndef norm(x): return x * eps",
    "beside it in a loop": "for i in [1]:\n  n = 2\n  y = nn.LayerNorm(n)\ndef norm(x): return x * n",
    "covered": "def f(x): return nn.LayerNorm(4)(x)\nf(1)\ndef f(x): return x\ndef norm(x): return f(x)",
    "written anew": "def norm(x): return nn.LayerNorm(4)(x)\nprint(norm(1))\ndef norm(x): return x",
    "issubclass": "def norm(x): return issubclass(x, nn.LayerNorm)",
    "isinstance of a list": "KINDS = nn.LayerNorm, nn.Linear\ndef norm(x): return isinstance(x, KINDS)",
    "class": "def norm(x): return x.__class__ is nn.LayerNorm or nn.Linear == x.__class__",
    "type": "def norm(x): return type(x) is nn.LayerNorm or type(x) in (nn.LayerNorm, nn.Linear)",
    "a case": "def norm(x):\n  match x:\n    case nn.LayerNorm(): return 1",
    "cast": "import typing as t\ndef norm(x): return t.cast(nn.LayerNorm, x)",
    "beside it in a dictionary": "seen = {}\ndef norm(x):\n  seen['mine'] = x\n  return x\nnorm(1)\nseen['theirs'] = F.layer_norm(1, (4,))\nprint(seen)",
    "beside it in one of its dictionaries": "from collections import defaultdict\nseen = defaultdict(dict)\ndef norm(x):\n  seen['mine']['out'] = x\n  return x\nseen['theirs']['out'] = F.layer_norm(1, (4,))",
    "beside it in attributes": "class Debug: pass\ndef norm(x):\n  Debug.mine = x\n  return x\nDebug.theirs = F.layer_norm(1, (4,))",
    "beside an item": "DEBUG = {'on': False, 'calls': 0}\ndef norm(x):\n  DEBUG['calls'] += 1\n  if DEBUG['on']: print(x)\n  return x\nDEBUG['theirs'] = F.layer_norm(1, (4,))",
    "what had its name before": "seen = {}\nseen['theirs'] = F.layer_norm(1, (4,))\nfor k in 'ab': seen[k] = F.layer_norm(1, (4,))\nseen = {'on': False}\ndef norm(x):\n  if seen['on']: print(x)\n  return x",
    "beside it in a list": "log = []\ndef norm(x):\n  log.append(x.shape)\n  return x\nlog.append(F.layer_norm(1, (4,)))\nfor each in log: print(each)",
    "its name, kept": "label = nn.LayerNorm.__name__\ndef norm(x):\n  assert x, f'not like {label}'\n  return x",
    "its name": "print(nn.LayerNorm.__name__)\ndef norm(x):\n  assert x, f'not like {nn.LayerNorm.__name__}'\n  return x",
    "settings": "import sys\nsys.dont_write_bytecode = True\nsys.tracebacklimit = 3\ndef norm(x): return torch.sqrt(x)",
    "settings of a compiler": "import torch._dynamo\ntorch._dynamo.config.suppress_errors = True\ntorch._inductor.config.max_autotune = False\ndef norm(x): return torch.sqrt(x)",
    "a name for a hint": "Layer = nn.LayerNorm | None\ndef norm(x: Layer) -> Layer: return x",
}  # fmt: skip


def read_one(source):
    return read([("setup", SETUP, False), ("norm", source, True)], RULES)


@pytest.mark.parametrize("name", BREACHES)
def test_code_that_leads_to_a_forbidden_name_is_found_with_its_line(name):
    source, line = BREACHES[name]
    (found,) = {(exercise, cell, at) for exercise, _, cell, at in read_one(source)[0]}
    assert found == ("norm", "norm", line)


@pytest.mark.parametrize("name", ALLOWED)
def test_code_that_only_mentions_it_is_not(name):
    assert read_one(ALLOWED[name])[:2] == ([], [])


def test_what_stands_after_an_exercises_last_check_is_no_part_of_it():
    solution = ("norm", "def norm(x): return f(x)\ndef f(x): return x", True)
    check, later = (
        ("norm", None, False),
        ("extra", f"f = nn.LayerNorm(4)\n{TAKEN[:-1]} as norm", True),
    )
    assert not read([("setup", SETUP, False), solution, check, later], RULES)[0]
    for order in ([solution, later, check], [solution, check, later, check], [solution, later]):
        assert read([("setup", SETUP, False), *order], RULES)[0]


def test_a_line_that_is_a_magic_and_python_is_read_as_both():
    solution = ("norm", "class norm: pass", True)
    line = 'ls -"{setattr(norm, 1, nn.LayerNorm)}"'
    assert read([("setup", SETUP, False), solution, ("extra", line, True)], RULES)[0]


def test_too_many_magics_in_a_cell_keep_no_other_from_being_read(monkeypatch):
    monkeypatch.setattr("IPython.core.inputtransformer2.TRANSFORM_LOOP_LIMIT", 3)
    many, norm = ("many", "%time\n" * 4, True), ("norm", "norm = nn.LayerNorm(4)", True)
    breaches, _, unread = read([("setup", SETUP, False), many, norm], RULES)
    assert breaches
    assert [label for label, *_ in unread] == ["many"]


def test_changes_to_what_is_not_theirs_and_prying_are_found():
    source = """
import sys
torch.allclose = lambda *a: True
sys.displayhook = print
setattr(torch, "equal", 1)
frame = sys._getframe()
open("/proc/1/mem")
torch.backends.cudnn.deterministic = True
torch.manual_seed(0)
import ctypes, os, socket, subprocess
socket.socket()
os.kill(1, 9)
ctypes.CDLL(None)
os.fork()
subprocess.run("id")
"""
    assert read_one(source)[1] == [
        ("changes", "torch.allclose", "norm", 3),
        ("changes", "sys.displayhook", "norm", 4),
        ("changes", "torch.equal", "norm", 5),
        ("pries", "sys._getframe", "norm", 6),
        ("pries", "/proc/", "norm", 7),
        ("pries", "socket.socket", "norm", 11),
        ("pries", "os.kill", "norm", 12),
        ("pries", "ctypes.CDLL", "norm", 13),
        ("pries", "os.fork", "norm", 14),
        ("pries", "subprocess.run", "norm", 15),
    ]


def test_what_the_worker_itself_stands_on_is_not_theirs_either():
    source = """
import inspect, json, operator, pdb, sys, time, weakref
from importlib import import_module
from torch import _jit_internal
import matplotlib.pyplot as plt, own
json.dumps = print
json.JSONEncoder.encode = print
vars(operator)["attrgetter"] = print
json.__dict__["loads"] = print
import_module.__defaults__ = ()
inspect.getmembers(norm)[0].cell_contents
(x for x in ()).gi_frame, pdb.Pdb, get_ipython().ask_exit.__builtins__
time.clock = pdb.set_trace
inspect.signature(norm, eval_str=True)
weakref.finalize._exitfunc()
sys.modules["json"] = own
_jit_internal.get_closure(norm)
from torch.utils._sympy.symbol import make_symbol
make_symbol(norm)
norm.__wrapped__ = json
setattr(norm, "__wrapped__", norm.__wrapped__)
sys.modules["own.helpers"] = None
del sys.modules["own"]
plt.rcParams["figure.dpi"] = 100
plt.figure().dpi = 100
plt.show = print
own.setting = own.__dict__["other"] = 1
vars(json)["dumps"]
torch._assert(True, "")
torch._logging.set_logs(dynamo=True)
json.JSONEncoder.default = print
nn.modules.batchnorm._BatchNorm
"""
    assert read_one(source)[1] == [
        ("changes", "json.dumps", "norm", 6),
        ("changes", "json.JSONEncoder.encode", "norm", 7),
        ("changes", "operator.attrgetter", "norm", 8),
        ("changes", "json.loads", "norm", 9),
        ("changes", "importlib.import_module.__defaults__", "norm", 10),
        ("pries", "inspect.getmembers", "norm", 11),
        ("pries", "cell_contents", "norm", 11),
        ("pries", "pdb.Pdb", "norm", 12),
        ("pries", f"{SHELL}.ask_exit.__builtins__", "norm", 12),
        ("pries", "gi_frame", "norm", 12),
        ("pries", "eval_str", "norm", 14),
        ("pries", "weakref.finalize._exitfunc", "norm", 15),
        ("changes", "sys.modules.json", "norm", 16),
        ("pries", "torch._jit_internal.get_closure", "norm", 17),
        ("pries", "torch.utils._sympy.symbol.make_symbol", "norm", 19),
        ("pries", "__wrapped__", "norm", 20),
    ]


def test_a_module_is_known_through_whichever_other_it_is_reached():
    source = """
from torch.nn.functional import torch as theirs
def norm(x): return F.torch.jit.script(x)
keys = F.torch._C.DispatchKeySet
getattr(nn.functional, "torch").library.get_kernel("aten::layer_norm", "XLA")
theirs.ops.aten.relu
torch.os.fork()
torch.sys._getframe()
nn.modules.module.torch.allclose = print
F.torch.backends.cudnn.deterministic = True
torch.os.path.exists(torch.os.sys.path[0])
import posix
posix.fork()
"""
    assert read_one(source)[1] == [
        ("pries", "torch._C.DispatchKeySet", "norm", 4),
        ("pries", "torch.library.get_kernel", "norm", 5),
        ("pries", "torch.ops.aten.relu", "norm", 6),
        ("pries", "os.fork", "norm", 7),
        ("pries", "sys._getframe", "norm", 8),
        ("changes", "torch.allclose", "norm", 9),
        ("pries", "posix.fork", "norm", 13),
        ("hides behind", "torch.jit", "norm", 3),
    ]


def test_a_text_that_is_a_program_is_read_too():
    """It may be written to a file, and imported."""
    source = """
from pathlib import Path
Path("own.py").write_text('''
from torch import _C as c
import ctypes, torch
ctypes.CDLL(None)
torch.nn.functional.relu = c.relu
open("b.py", "w").write("import socket; socket.socket()")
''')
print("to import ctypes is no program:", "import math; math.pi", "import (", "course_worker")
"""
    assert read_one(source)[1] == [
        ("pries", "course_worker", "norm", 10),
        ("pries", "ctypes.CDLL", "norm", 6),
        ("changes", "torch.nn.functional.relu", "norm", 7),
        ("pries", "torch._C.relu", "norm", 7),
        ("pries", "socket.socket", "norm", 8),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from importlib import import_module as load\nname = 'other'\nload(name)",
        "import importlib\nname = 'other'\nimportlib.import_module(name=name)",
        "open('own.py', 'w').write('import other\\ndef norm(x): return other.norm(x)')",
        "%%writefile own.py\nfrom other.norms import *\ndef norm(x): return mean(x)",
    ],
)
def test_a_package_that_is_forbidden_is_told_however_it_is_imported(source):
    """Nothing says that it runs: what it computes needs no operator."""
    rules = {"norm": ["other"]}
    found = read([("setup", SETUP, False), ("own", source, True)], rules)[1]
    assert [(kind, name) for kind, name, *_ in found] == [("hides behind", "other")]
    harmless = "def norm(x):\n    'Like no other.'\n    print('other means', 'others')"
    assert read([("setup", SETUP, False), ("norm", harmless, True)], rules) == ([], [], [])


def test_what_cannot_be_followed_is_told_where_an_exercise_with_a_rule_leads_to_it():
    source = """
import inspect
def norm(x): return helper(x)
def helper(x): return eval("F.layer_norm")(x), torch.jit.script(norm), inspect.getsource(helper)
def other(x): return exec("x"), torch.compile(x)
def compile(x): return x
y = compile(1)
forward = nn.Linear.forward.__code__
forward = getattr(nn.Linear.forward, "__closure__")
norm(1).__globals__
__import__("x")
import builtins
builtins.exec("y")
"""
    assert read_one(source)[1] == [
        ("pries", "torch.nn.Linear.forward.__code__", "norm", 8),
        ("pries", "torch.nn.Linear.forward.__closure__", "norm", 9),
        ("pries", "__globals__", "norm", 10),
        ("hides behind", "torch.jit", "norm", 4),
        ("hides behind", "inspect.getsource", "norm", 4),
        ("hides behind", "eval", "norm", 4),
        ("hides behind", "__import__", "norm", 11),
        ("hides behind", "exec", "norm", 13),
    ]


def test_what_the_shell_is_given_to_run_is_told():
    source = """
def norm(x): return x
get_ipython().push({"norm": F})
shell = get_ipython()
shell.ex("norm = F")
%cd {exec("norm = F")}
get_ipython().run_line_magic("matplotlib", "inline")
get_ipython().ast_node_interactivity = "all"
"""
    assert read_one(source)[1] == [
        ("hides behind", "get_ipython().push", "norm", 3),
        ("hides behind", "get_ipython().ex", "norm", 5),
        ("hides behind", "exec", "norm", 6),
    ]


TWICE = """# It doubles
### BEGIN HIDDEN TESTS
x = torch.randn(3)
assert bool((double(x) == 2 * x).all())
### END HIDDEN TESTS"""
RULED = Homework(
    id="hw00-double",
    title="Doubling",
    cells=(
        Cell(kind=CellKind.SETUP, grade_id="imports", source="import torch"),
        Cell(
            kind=CellKind.SOLUTION,
            grade_id="double",
            source="def double(x):\n    return 2 * x",
            forbids=("torch.nn.functional.dropout", "torch.nn.Identity"),
        ),
        Cell(kind=CellKind.TEST, grade_id="double-a", exercise="double", points=2.0,
             title="It doubles", source=TWICE),
        Cell(kind=CellKind.SOLUTION, grade_id="half", source="def half(x):\n    return x / 2"),
        Cell(kind=CellKind.TEST, grade_id="half-a", exercise="half", points=1.0, title="It halves",
             source="# It halves\nassert half(4) == 2"),
    ),
)  # fmt: skip
HALF = ("half", "def half(x):\n    return x / 2")
DELEGATED = """import torch.nn.functional as F
def double(x):
    return 2 * F.dropout(x, 0.0)"""
HIDDEN_FROM_THE_READER = DELEGATED.replace("F.dropout", 'eval("F.drop" + "out")')


def delegations(result):
    return [flag for flag in result.flags if flag.kind is FlagKind.DELEGATION]


@pytest.mark.sandbox
def test_a_broken_rule_costs_the_exercise_and_nothing_else(grade):
    result = grade(("double", DELEGATED), HALF, homework=RULED)
    assert [check.score for check in result.checks] == [0, 1]
    told = result.checks[0].message
    assert told.startswith("Line 3 of the cell double leads to torch.nn.functional.dropout. ")
    words = "double leads to torch.nn.functional.dropout, which it forbids: its checks are lost"
    assert delegations(result) == [
        Flag(kind=FlagKind.DELEGATION, text=words, cell="double", line=3)
    ]


@pytest.mark.sandbox
def test_a_call_that_reading_does_not_see_costs_the_same(grade):
    result = grade(("double", HIDDEN_FROM_THE_READER), HALF, homework=RULED)
    assert [check.score for check in result.checks] == [0, 1]
    told = result.checks[0].message
    assert told.startswith("Line 3 of the cell double leads to torch.nn.functional.dropout. ")
    (flag,) = delegations(result)
    assert (flag.cell, flag.line) == ("double", 3)


@pytest.mark.sandbox
def test_what_one_exercise_forbids_another_may_call(grade):
    hidden = "def same(x):\n    return eval('torch.nn.Identity')()(x)"
    cells = [hidden, ("double", "def double(x):\n    return x + x")]
    half = ("half", "def half(x):\n    return same(x) / 2")
    result = grade(*cells, half, homework=RULED)
    assert (result.score, delegations(result)) == (3, [])
    double = ("double", "def double(x):\n    return 2 * same(x)")
    result = grade(hidden, double, half, homework=RULED)
    (flag,) = delegations(result)
    assert ([check.score for check in result.checks], flag.line) == ([0, 1], 2)


@pytest.mark.sandbox
def test_where_it_is_not_certain_whose_work_ran_nothing_is_lost_and_the_staff_is_told(grade):
    late = "class Late:\n    def __call__(self, x): return 2 * eval('other')(x)"
    other = "def other(x):\n    return eval('torch.nn.Identity')()(x)"
    half = ("half", f"{HALF[1]}\n{other}")
    setup, double, check, *others = RULED.cells
    half_first = dataclasses.replace(RULED, cells=(setup, *others, double, check))
    result = grade(late, half, ("double", "double = Late()"), homework=half_first)
    (flag,) = delegations(result)
    assert (result.score, flag.cell) == (3, "half")
    assert "torch.nn.Identity ran in a check of double" in flag.text


FORGES = """import functools, torch
held = [cell.cell_contents for cell in torch.nn.Identity.forward.__closure__]
(note,) = [each for each in held if type(each) is functools.partial]
note.func.__globals__["seen"].__code__ = (lambda: {}).__code__
"""


@pytest.mark.sandbox
def test_a_process_that_ends_before_it_tells_earns_nothing(grade):
    ends = FORGES.format("__import__('os')._exit(0)")
    result = grade(ends, ("double", HIDDEN_FROM_THE_READER), HALF, homework=RULED)
    assert [check.status for check in result.checks] == [Status.CRASH, Status.CRASH]


@pytest.mark.sandbox
def test_a_comparison_in_a_cell_of_ones_own_is_nobodys_business(grade):
    compare = "assert bool((torch.nn.Identity()(torch.ones(2)) * 2 == double(torch.ones(2))).all())"
    result = grade(("double", "def double(x):\n    return x + x"), compare, HALF, homework=RULED)
    assert result.score == 3
    assert result.cell_failures == ()
    assert delegations(result) == []


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "noted",
    [
        "['x'] * 50",
        "object()",
        "[('torch.nn.Identity', 7, [])]",
        "[('torch.nn.Identity', 'double', 2, [])]",
        "1 / 0",
        "[0] * 99999",
        "bytes(9)",
    ],
)
def test_a_report_from_the_students_process_is_not_believed(grade, noted):
    forger = FORGES.format(noted)
    result = grade(("double", "def double(x):\n    return x + x"), forger, HALF, homework=RULED)
    assert result.score == 3
    assert delegations(result) == []
    assert any("can't be read" in flag.text for flag in result.flags)


GRAMMAR = {
    "an older grammar": ("from __future__ import barry_as_FLUFL", "if 1 <> 2: pass"),
    "a transformer": (
        "ours = lambda lines: ['' if 'no Python' in line else line for line in lines]\n"
        "get_ipython().input_transformers_post.append(ours)",
        "no Python",
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", GRAMMAR)
def test_what_cant_be_read_does_not_run(grade, name):
    change, unreadable = GRAMMAR[name]
    result = grade(change, ("double", f"{DELEGATED}\n{unreadable}"), HALF, homework=RULED)
    assert "SyntaxError" in {f.cell: f.message for f in result.cell_failures}["double"]
    assert result.checks[0].score == 0


TROUBLE = {
    "a stack of signs": "x = " + "-" * 200_000 + "1",
    "open brackets": "x = " + "(" * 5_000,
    "a long chain": "x = " + "a." * 4_000 + "b",
}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", with_proofs(TROUBLE, ["a stack of signs", "a long chain"]))
def test_code_that_troubles_the_reader_hides_nothing_and_stops_nothing(grade, name):
    result = grade(("double", DELEGATED), TROUBLE[name], HALF, homework=RULED, seconds=20.0)
    assert [check.score for check in result.checks] == [0, 1]


@pytest.mark.sandbox
def test_a_reader_that_is_killed_counts_as_a_crash(grade, monkeypatch):
    def killed(process, function, *args):
        raise ProcessEnded(Status.CRASH, "killed")

    monkeypatch.setattr(StudentProcess, "ask", killed)
    result = grade(("double", "def double(x):\n    return x + x"), HALF, homework=RULED)
    assert [check.status for check in result.checks] == [Status.CRASH, Status.PASS]  # graded anew


@pytest.mark.sandbox
def test_a_homework_without_rules_reports_none(grade):
    free = dataclasses.replace(
        RULED, cells=tuple(dataclasses.replace(cell, forbids=()) for cell in RULED.cells)
    )
    result = grade(("double", DELEGATED), HALF, homework=free)
    assert (result.score, delegations(result)) == (3, [])
