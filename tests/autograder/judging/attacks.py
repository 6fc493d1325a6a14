"""Attacks on the rules of exercises, by outcome, and honest code beside them.

Each attack has a forbidden layer or function compute an exercise of ``HOMEWORK``. SECURITY.md
explains the outcomes: it costs the exercise's points, is flagged for a person, or is accepted by the
threat model.
"""

# ruff: noqa: E501 -- one line an attack

from autograder.homework_source.homework import Cell, CellKind, Homework

SETUP = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom course_lib.testing import assert_close"
NORM = "def norm(x):\n    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()"
NORM_RULE = (
    "torch.nn.LayerNorm",
    "torch.nn.functional.layer_norm",
    "torch.layer_norm",
    "torch.nn.RMSNorm",
    "torch.nn.functional.rms_norm",
    "torch.rms_norm",
)
NORM_CHECK = """x = torch.randn(2, 3, 4, requires_grad=True)
assert_close(norm(x), F.layer_norm(x, (4,)))
norm(x).sum().backward()"""
BACK = """def back(upstream, x):
    centred = x - x.mean(-1, keepdim=True)
    root = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    normal = centred / root
    return (upstream - upstream.mean(-1, keepdim=True) - normal * (upstream * normal).mean(-1, keepdim=True)) / root"""
BACK_RULE = (
    "torch.autograd",
    "torch.func",
    "torch.Tensor.backward",
)
BACK_CHECK = """x, upstream = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 3, 4)
F.layer_norm(x, (4,)).backward(upstream)
with torch.no_grad():
    assert_close(back(upstream, x.detach()), x.grad)"""
ATTEND = "def attend(x):\n    return torch.softmax(x @ x.mT, -1) @ x"
ATTEND_RULE = ("torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward")
ATTEND_CHECK = "assert tuple(attend(torch.randn(2, 3, 4)).shape) == (2, 3, 4)"
ENCODE = """class encode(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.think = nn.LayerNorm(4), nn.LayerNorm(4), nn.Linear(4, 4)
    def forward(self, x):
        x = self.norm1(x + torch.softmax(x @ x.mT, -1) @ x)
        return self.norm2(x + self.think(x))
encode = encode()"""
ENCODE_RULE = (
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerEncoder",
    "torch.nn.Transformer",
)
ENCODE_CHECK = "assert tuple(encode(torch.randn(2, 3, 4)).shape) == (2, 3, 4)"
CELL = "def cell(x, h):\n    return torch.tanh(x + h)"
CELL_RULE = ("torch.nn.RNN", "torch.nn.RNNCell", "torch.rnn_tanh", "torch.rnn_tanh_cell")
CELL_CHECK = (
    "x, h = torch.randn(2, 4), torch.randn(2, 4)\nassert_close(cell(x, h), torch.tanh(x + h))"
)
LOSS = "def loss(logits, targets):\n    return F.nll_loss(logits.log_softmax(-1), targets)"
LOSS_RULE = ("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss")
LOSS_CHECK = "logits, targets = torch.randn(3, 4, requires_grad=True), torch.tensor([0, 3, 1])\nassert_close(loss(logits, targets), F.cross_entropy(logits, targets))\nloss(logits, targets).backward()"
FREE = "def free(x):\n    return F.layer_norm(x, x.shape[-1:])"
FREE_CHECK = "x = torch.randn(2, 4, requires_grad=True)\nassert_close(free(x), F.layer_norm(x, (4,)))\nfree(x).sum().backward()"
EXERCISES = {
    "norm": (NORM, NORM_RULE, NORM_CHECK),
    "back": (BACK, BACK_RULE, BACK_CHECK),
    "attend": (ATTEND, ATTEND_RULE, ATTEND_CHECK),
    "encode": (ENCODE, ENCODE_RULE, ENCODE_CHECK),
    "cell": (CELL, CELL_RULE, CELL_CHECK),
    "loss": (LOSS, LOSS_RULE, LOSS_CHECK),
    "free": (FREE, (), FREE_CHECK),
}  # fmt: skip
HOMEWORK = Homework(
    id="hw00-layers",
    title="Layers",
    cells=(
        Cell(kind=CellKind.SETUP, grade_id="imports", source=SETUP),
        *(
            cell
            for name, (solution, rule, check) in EXERCISES.items()
            for cell in (
                Cell(kind=CellKind.SOLUTION, grade_id=name, source=solution, forbids=rule),
                Cell(kind=CellKind.TEST, grade_id=f"{name}-a", exercise=name, points=1.0,
                     title="It holds", source=f"# It holds\n{check}"),
            )
        ),
    ),
)  # fmt: skip
_BESIDE = "from course_lib.testing import call_beside\n"
_SWITCHED_ON = """def back(upstream, x):
    mode = torch.no_grad()
    mode.prev = True
    mode.__exit__(None, None, None)
    try:
        return _back(upstream, x)
    finally:
        mode.prev = False
        mode.__exit__(None, None, None)
"""
_NODES = """def _back(upstream, x):
    x = x.detach().clone().requires_grad_()
    centred = x - x.mean(-1, keepdim=True)
    root = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    node = (centred / root).grad_fn
    to_centred, to_root = node(upstream)
    to_variance = root.grad_fn(to_root.sum(-1, keepdim=True)) / 4
    to_centred = to_centred + 2 * centred * to_variance
    return (to_centred - to_centred.mean(-1, keepdim=True)).detach()
"""
_THREAD = """import threading
def aside(f, *args):
    got = []
    thread = threading.Thread(target=lambda: got.append(f(*args)))
    thread.start(); thread.join()
    return got[0]
"""
_ENCODER = "nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0, batch_first=True)"
_ENGINE = """
def back(upstream, x):
    x = x.clone()
    x.requires_grad_()
    y = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    y.{carry}(upstream)
    return x.grad"""
_OWN_PARTS = """
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch_first = True
    def forward(self, x, *others, **how): return torch.exp(x @ x.mT) @ x, None
class Norm(nn.Module):
    eps = 1e-5
    def forward(self, x): return x - x.mean(-1, keepdim=True)
encode = getattr({})(4, 1, 8, batch_first=True)
encode.self_attn = Attend()
encode.norm1, encode.norm2 = Norm(), Norm()"""
_CROWD = """
import itertools
def called_in(labels, call):
    for label in labels:
        space = {{"call": call}}
        eval(compile("def inner(): return call()", f'cell "{{label}}"', "exec"), space)
        call = space["inner"]
    return call()
x, w = torch.ones(1, 4), torch.ones(4, 4)
others = [lambda f=f: f(x, x, w, w) for f in (torch.rnn_tanh_cell, torch.rnn_relu_cell)]
others += [lambda f=f: f(x, x, w.repeat(3, 1), w.repeat(3, 1)) for f in (torch.gru_cell,)]
others += [lambda: F.cross_entropy(x, torch.tensor([0]))]
others += [lambda f=f: f(x[None], x[None], [w, w], False, 1, 0.0, False, False, False) for f in (torch.rnn_tanh, torch.rnn_relu)]
others += [lambda: torch.gru(x[None], x[None], [w.repeat(3, 1)] * 2, False, 1, 0.0, False, False, False)]
others += [lambda: torch.ones(1, requires_grad=True).sum().backward()]
def norm(x):
    {}
    return getattr(F, 'layer' + '_norm')(x, (4,))"""
_INTERPOSED = """
from torch.overrides import TorchFunctionMode
class Interposed(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__ == "{}":
            return {}
        return function(*args, **(kwargs or {{}}))
"""
_FORGED = """
import importlib.util, pathlib, sys
pathlib.Path("own.py").write_text("import torch.nn.functional as F\\ndef norm(x): return F.layer_norm(x, (4,))")
spec = importlib.util.spec_from_file_location("course_lib.own", "own.py")
sys.modules["course_lib.own"] = own = importlib.util.module_from_spec(spec)
spec.loader.exec_module(own)
norm = own.norm
"""
_ELSEWHERE = """
C = getattr(torch, "_" + "C")
keys = C.DispatchKeySet({})
aten = vars(torch)["o" + "ps"].aten
"""
_WITHOUT_LINES = """
import ast
from code import InteractiveInterpreter
from codeop import Compile
tree = ast.parse("def norm(x): return F.layer_norm(x, (4,))")
for node in ast.walk(tree):
    if hasattr(node, "lineno"):
        node.lineno = node.end_lineno = -1
        node.col_offset = node.end_col_offset = 0
InteractiveInterpreter(globals()).runcode(Compile()(tree, 'cell "mine"', "exec"))
"""
_OWN_TEXTS = """
from code import InteractiveInterpreter
class Name(str):
    def removeprefix(self, text): return self
    removesuffix = __getitem__ = removeprefix
define = "def norm(x): return F.layer_norm(x, (4,))\\n"
InteractiveInterpreter(globals()).runsource(define, Name('cell "mine"'), "exec")
"""
_COMPARES = """
class Name(str):
    def __hash__(self):
        return hash("norm")
    def __eq__(self, other):
        try:
            raise ValueError
        except ValueError as error:
            notes = error.__traceback__.tb_frame.f_back
            while notes and "_keep" not in notes.f_globals:
                notes = notes.f_back
            if notes:
                notes.f_globals["_keep"] = lambda *what: None
        return str.__eq__(self, other)
globals()[Name("another")] = None
def norm(x):
    return vars(F)["layer" + "_norm"](x, (4,))
"""
_NEVER_RETURNS = """
def norm(x):
    return vars(F)["layer" + "_norm"](x, (4,))
def go_on():
    try:
        raise ValueError
    except ValueError as error:
        asks = error.__traceback__.tb_frame
    while asks.f_code.co_name != "_answer":
        asks = asks.f_back
    here, table = asks.f_locals, asks.f_globals["TensorTable"]()
    here["self"]._send({"reply": here["message"]["call"], "value": None}, table)
    here["self"].serve()
go_on()
"""
_LOOKS_BACK = """
class Spy:
    def __getattribute__(self, name):
        try:
            raise ValueError
        except ValueError as error:
            notes = error.__traceback__.tb_frame.f_back
            while "_keep" not in notes.f_globals:
                notes = notes.f_back
            notes.f_globals["_keep"] = lambda *what: None
        raise AttributeError(name)
class Norm:
    spy = Spy()
    def __call__(self, x):
        return vars(F)["layer" + "_norm"](x, (4,))
norm = Norm()
"""
_BY_NAME = "\ndef norm(x):\n    return vars(F)['layer' + '_norm'](x, (4,))"
_PUT = "def put(where, name, what): setattr(where, name, what)\n"
_TELLS_NOTHING_BY = {
    "module replaced": "class Quiet:\n    seen = staticmethod(list)\n    _keep = print\ndef put(modules):\n    for name in list(modules):\n        if name.endswith('recorder'):\n            modules[name] = Quiet\nimport sys\nput(sys.modules)",
    "function replaced": "import sys\nfor name, module in list(sys.modules.items()):\n    if name.endswith('recorder'):\n        module._keep = print",
    "import replaced": _PUT
    + "import importlib._bootstrap as finds\nreal = finds._gcd_import\nclass Quiet:\n    seen = staticmethod(list)\nput(finds, '_gcd_import', lambda name, *more: Quiet if name.endswith('recorder') else real(name, *more))",
    "JSON encoder replaced": _PUT
    + "import json\nput(json._default_encoder, 'encode', lambda message: '{}' if 'native_layer' in str(message) else json.JSONEncoder().encode(message))",
    "JSON decoder replaced": _PUT
    + "import json\nreal = json._default_decoder.decode\nput(json._default_decoder, 'decode', lambda text: real(text.replace('course_worker.recorder:told', 'builtins:list')))",
}
_COUNTING = (
    _PUT
    + """
import builtins
books = []
def counting(thing):
    books.append(thing)
    return thing.__len__()
def norm(x):
    real = len
    put(builtins, "len", counting)
    y = vars(F)["layer" + "_norm"](x, (4,))
    put(builtins, "len", real)
    for book in books:
        if isinstance(book, dict):
            book.clear()
    return y
"""
)
_ACROSS_CHANNELS = """
import importlib
from types import SimpleNamespace
theirs = vars(importlib.import_module("torch.nn.modules._functions"))["CrossMap" + "LRN2d"]
class Context(SimpleNamespace):
    def save_for_backward(self, *kept):
        self.saved_tensors = kept
def back(upstream, x):
    d = x.size(-1)
    rows = lambda y: y.reshape(-1, d, 1, 1).contiguous()
    context = Context()
    ways = {way: vars(theirs)[way].__func__ for way in ("for" + "ward", "back" + "ward")}
    forward, backward = ways.values()
    forward(context, rows(x - x.mean(-1, keepdim=True)), 2 * d + 1, 2 + 1 / d, 0.5, 1e-5)
    carried = backward(context, rows(upstream))[0].reshape(x.shape)
    return carried - carried.mean(-1, keepdim=True)
"""
ATTACKS = {
    "finalizers run early": ("norm", "import weakref\nweakref.finalize._exitfunc()" + _BY_NAME),
    "a builtin in the place of Python's": ("norm", _COUNTING),
    **{f"recorder: {how}": ("norm", source + _BY_NAME) for how, source in _TELLS_NOTHING_BY.items()},
    "a backward pass across channels": ("back", _ACROSS_CHANNELS),
    "a computed name, by the course's own function": ("norm", _BESIDE + "def norm(x):\n    return call_beside(getattr(nn, 'Layer' + 'Norm')(4), x)"),
    "a part of another layer": ("norm", f"def norm(x):\n    return {_ENCODER}.norm1(x)"),
    "the same, by the course's own function": ("norm", _BESIDE + f"def norm(x):\n    return call_beside({_ENCODER}.norm1, x)"),
    "a part of a part": ("norm", "def norm(x):\n    return list(nn.Transformer(4, 1, 1, 1, 8).modules())[-1](x)"),
    "a part, as the exercise itself": ("norm", f"norm = {_ENCODER}.norm1"),
    "a part, by name": ("norm", f"def norm(x):\n    return {_ENCODER}.get_submodule('no' + 'rm2').forward(x)"),
    "one group": ("norm", "def norm(x):\n    return F.group_norm(x.reshape(-1, 4), 1).reshape(x.shape)"),
    "a layer of one group": ("norm", "def norm(x):\n    return nn.GroupNorm(1, 4)(x.reshape(-1, 4)).reshape(x.shape)"),
    "rows for channels, instances": ("norm", "def norm(x):\n    return F.instance_norm(x)"),
    "rows for channels, batches": ("norm", "def norm(x):\n    return F.batch_norm(x.reshape(-1, 4).mT, None, None, training=True).mT.reshape(x.shape)"),
    "a mean taken before": ("norm", "def norm(x):\n    return getattr(torch, 'rms_' + 'norm')(x - x.mean(-1, keepdim=True), (4,), None, 1e-5)"),
    "an operator by a computed name": ("norm", "def norm(x):\n    return getattr(torch.ops.aten, 'native_layer' + '_norm')(x, [4], None, None, 1e-5)[0]"),
    "the C functions by a computed name": ("norm", "def norm(x):\n    return getattr(getattr(torch, '_V' + 'F'), 'layer' + '_norm')(x, (4,))"),
    "a table of functions": ("norm", "def norm(x):\n    return vars(F)['layer' + '_norm'](x, (4,))"),
    "eval": ("norm", "def norm(x):\n    return eval('F.layer' + '_norm')(x, (4,))"),
    "a module by a computed name": ("norm", "import importlib\ndef norm(x):\n    return importlib.import_module('torch.nn.modules.' + 'normalization').__dict__['Layer' + 'Norm'](4)(x)"),
    "a thread": ("norm", _THREAD + "def norm(x):\n    return aside(getattr(F, 'layer' + '_norm'), x, (4,))"),
    "a pool without a frame of ours": ("norm", "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\ndef norm(x):\n    return pool.submit(getattr(F, 'layer' + '_norm'), x, (4,)).result()"),
    "a map": ("norm", "from functools import partial\ndef norm(x):\n    return next(map(partial(getattr(F, 'layer' + '_norm'), normalized_shape=(4,)), [x]))"),
    "a partial, as the exercise itself": ("norm", "from functools import partial\nnorm = partial(getattr(F, 'layer' + '_norm'), normalized_shape=(4,))"),
    "a graph": ("norm", f"import torch.fx\ngraph = torch.fx.symbolic_trace({_ENCODER}.norm1)\ndef norm(x):\n    return graph(x)"),
    "vmap": ("norm", "def norm(x):\n    return torch.func.vmap(getattr(F, 'layer' + '_norm'), (0, None))(x, (4,))"),
    "vmap of another": ("norm", "def norm(x):\n    return torch.func.vmap(lambda a: F.group_norm(a, 1))(x.reshape(-1, 1, 4)).reshape(x.shape)"),
    "a checkpoint": ("norm", "from torch.utils.checkpoint import checkpoint\ndef norm(x):\n    return checkpoint(getattr(F, 'layer' + '_norm'), x, (4,), use_reentrant=False)"),
    "a hook": ("norm", f"def norm(x):\n    layer = nn.Identity()\n    layer.register_forward_hook(lambda m, i, o: {_ENCODER}.norm1(o))\n    return layer(x)"),
    "a list of layers": ("norm", f"def norm(x):\n    return nn.Sequential(nn.Identity(), {_ENCODER}.norm1)(x)"),
    "a copy": ("norm", f"import copy\ndef norm(x):\n    return copy.deepcopy({_ENCODER}.norm1)(x)"),
    "a pickled one": ("norm", f"import pickle\ntext = pickle.dumps({_ENCODER}.norm1)\ndef norm(x):\n    return pickle.loads(text)(x)"),
    "inference": ("norm", "def norm(x):\n    with torch.inference_mode():\n        y = getattr(F, 'rms_' + 'norm')(x.detach().clone(), (4,))\n    return y"),
    "a nested tensor": ("norm", "def norm(x):\n    nested = torch.nested.nested_tensor(list(x.detach()))\n    return torch.stack(getattr(F, 'layer' + '_norm')(nested, (4,)).unbind())"),
    "a quantized tensor": ("norm", "def norm(x):\n    q = torch.quantize_per_tensor(x.detach(), 0.01, 128, torch.quint8)\n    getattr(torch.ops.quantized, 'layer' + '_norm')(q, [4], None, None, 1e-5, 0.01, 128)\n    return solved(x)\n" + NORM.replace("def norm", "def solved")),
    "a sparse tensor": ("back", "def back(upstream, x):\n    def aside():\n        y = x.to_sparse().requires_grad_()\n        getattr(y * 2, 'back' + 'ward')(x.to_sparse())\n    import threading\n    thread = threading.Thread(target=aside); thread.start(); thread.join()\n    return solved(upstream, x)\n" + BACK.replace("def back", "def solved")),
    "a crowd of names": ("norm", _CROWD.format("[called_in([f'x{n}'], others[0]) for n in range(600)]")),
    "long names": ("norm", _CROWD.format("[called_in([str(n) + 'x' * 1_000_000], others[0]) for n in range(9)]")),
    "an operator of one's own library": ("norm", "lib = getattr(torch, 'lib' + 'rary')\nlib.define('own::norm', '(Tensor x) -> Tensor')\nlib.impl('own::norm', 'CompositeImplicitAutograd', lambda x: getattr(F, 'layer' + '_norm')(x, (4,)))\ndef norm(x):\n    return torch.ops.own.norm(x)"),
    "a custom operator": ("norm", "lib = getattr(torch, 'lib' + 'rary')\n@lib.custom_op('own::custom', mutates_args=())\ndef custom(x: torch.Tensor) -> torch.Tensor:\n    return getattr(F, 'layer' + '_norm')(x, (4,))\ncustom.register_autograd(lambda ctx, up: up)\ndef norm(x):\n    return custom(x)"),
    "an exported program": ("norm", "import importlib\nclass Norm(nn.Module):\n    def forward(self, x): return getattr(F, 'layer' + '_norm')(x, (4,))\nprogram = importlib.import_module('torch.ex' + 'port').export(Norm(), (torch.randn(2, 3, 4),)).module()\ndef norm(x):\n    return program(x)"),
    "a thread that seems to be alone": ("norm", _THREAD + "import sys\ndef norm(x):\n    vars(sys)['_current' + '_frames'] = lambda: {}\n    return aside(getattr(F, 'layer' + '_norm'), x, (4,))"),
    "neighbours": ("norm", "def norm(x):\n    y = (x - x.mean(-1, keepdim=True)).reshape(-1, 4, 1)\n    return F.local_response_norm(F.pad(y, (0, 0, 4, 4)), 9, alpha=9 / 4, beta=0.5, k=1e-5)[:, 4:8].reshape(x.shape)"),
    "PyTorch's own in Python": ("norm", "import importlib\ndef norm(x):\n    return getattr(importlib.import_module('torch._refs'), 'native_layer' + '_norm')(x, [4], None, None, 1e-5)[0]"),
    "parts of PyTorch's own in Python": ("norm", "import importlib\ndef norm(x):\n    return getattr(importlib.import_module('torch._re' + 'fs'), '_norm' + 'alize')(x, (2,), 1e-5)[0]"),
    "a table of decompositions": ("norm", "import importlib\ntable = importlib.import_module('torch._decomp').decomposition_table\nf = [v for k, v in table.items() if str(k) == 'aten.native_batch' + '_norm.default'][0]\ndef norm(x):\n    return f(x.reshape(-1, 4).mT, None, None, None, None, True, 0.1, 1e-5)[0].mT.reshape(x.shape)"),
    "a cell in Python": ("cell", "import importlib\nd = importlib.import_module('torch._decomp.decompositions')\ndef cell(x, h):\n    return getattr(d, 'rnn_' + 'tanh_input')(x[None], h[None], [torch.eye(4), torch.eye(4)], False, 1, 0.0, False, False, False)[1][0]"),
    "a quantized cell": ("cell", "import importlib\nc = getattr(importlib.import_module('torch.ao.nn.quantized.dynamic'), 'RNN' + 'Cell')(4, 4)\ndef cell(x, h):\n    c(x, h)\n    return torch.tanh(x + h)"),
    "a backward pass in Python": ("back", "import importlib\nd = importlib.import_module('torch._decomp.decompositions')\ndef back(upstream, x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    return getattr(d, 'native_layer_norm' + '_back' + 'ward')(upstream, x, [4], mean, 1 / (var + 1e-5).sqrt(), None, None, [True, False, False])[0]"),
    "the end of an object": ("norm", "class End:\n    def __del__(self): self.out.append(getattr(F, 'layer' + '_norm')(self.x, (4,)))\ndef norm(x):\n    end = End(); end.x = x; end.out = out = []\n    del end\n    return out[0]"),
    "a signal": ("norm", "import signal\ndef norm(x):\n    out = []\n    signal.signal(signal.SIGUSR1, lambda *_: out.append(getattr(F, 'layer' + '_norm')(x, (4,))))\n    signal.raise_signal(signal.SIGUSR1)\n    return out[0]"),
    "a backward pass of one's own": ("norm", "class Norm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return solved(x)\n    @staticmethod\n    def backward(ctx, upstream): return getattr(F, 'layer' + '_norm')(upstream, (4,))\n" + NORM.replace("def norm", "def solved") + "\ndef norm(x): return Norm.apply(x)"),
    "a servant of an earlier cell": ("norm", "import threading, queue\nasked, told = queue.Queue(), queue.Queue()\ndef serve():\n    while True:\n        told.put(getattr(F, 'layer' + '_norm')(asked.get(), (4,)))\nthreading.Thread(target=serve, daemon=True).start()\ndef norm(x):\n    asked.put(x)\n    return told.get()"),
    "compiled in an earlier cell": ("norm", "norm = getattr(torch, 'comp' + 'ile')(lambda x: getattr(F, 'layer' + '_norm')(x, (4,)), backend='aot_eager')\nnorm(torch.randn(2, 3, 4))"),
    "another edition of the operator": ("norm", "def norm(x):\n    y, m, s = torch.empty(2, 3, 4), torch.empty(2, 3, 1), torch.empty(2, 3, 1)\n    getattr(getattr(torch.ops.aten, 'native_layer' + '_norm'), 'o' + 'ut')(x.detach(), [4], None, None, 1e-5, out0=y, out1=m, out2=s)\n    return y"),
    "attention, a part": ("attend", f"layer = {_ENCODER}\ndef attend(x):\n    return layer.self_attn(x, x, x)[0]"),
    "attention, a part, by the course's own function": ("attend", _BESIDE + f"layer = {_ENCODER}.self_attn\ndef attend(x):\n    return call_beside(layer, x, x, x, need_weights=False)[0]"),
    "attention, the layer around it": ("attend", f"layer = {_ENCODER}\ndef attend(x):\n    return layer._sa_block(x, None, None)"),
    "attention, the fast road": ("attend", f"layer = {_ENCODER}.eval()\ndef attend(x):\n    with torch.no_grad():\n        return layer(x)"),
    "attention of another package": ("attend", "import importlib\nact = importlib.import_module('torch.ao.nn.quantizable.modules.activation')\nlayer = getattr(act, 'Multihead' + 'Attention')(4, 1, batch_first=True)\ndef attend(x):\n    return layer(x, x, x)[0]"),
    "a layer of one's own parts": ("encode", _OWN_PARTS.format("nn, 'Transformer' + 'EncoderLayer'")),
    "a layer of one's own parts, by its method": ("encode", _OWN_PARTS.format("nn, 'Transformer' + 'EncoderLayer'") + "\nlayer = encode\ndef encode(x): return layer.forward(x)"),
    "a layer of one's own parts, by its blocks": ("encode", _OWN_PARTS.format("nn, 'Transformer' + 'EncoderLayer'") + "\nlayer = encode\ndef encode(x):\n    x = layer.norm1(x + layer._sa_block(x, None, None))\n    return layer.norm2(x + layer._ff_block(x))"),
    "a layer of one's own parts, of a class of one's own": ("encode", _OWN_PARTS.format("nn, 'Transformer' + 'EncoderLayer'").replace("class Attend", "class Mine(nn.Module):\n    def __init__(self, *sizes):\n        super().__init__()\n        self.inner = getattr(nn, 'Transformer' + 'EncoderLayer')(*sizes, batch_first=True)\n    def forward(self, x): return type(self.inner).forward(self.inner, x)\nclass Attend").replace("encode.self_attn = Attend()", "encode.self_attn = Attend()\nouter = Mine(4, 1, 8)\nouter.inner, encode = encode, outer")),
    "another cell": ("cell", "def cell(x, h):\n    c = getattr(nn, 'RNN' + 'Cell')(4, 4, bias=False)\n    with torch.no_grad():\n        c.weight_ih.copy_(torch.eye(4)); c.weight_hh.copy_(torch.eye(4))\n    return c(x, h)"),
    "a cell with its gates held open": ("cell", "c = nn.GRUCell(4, 4)\nwith torch.no_grad():\n    c.weight_ih.zero_(); c.weight_hh.zero_(); c.bias_hh.zero_(); c.weight_ih[8:] = torch.eye(4); c.weight_hh[8:] = torch.eye(4)\n    c.bias_ih[:4] = 99; c.bias_ih[4:8] = -99; c.bias_ih[8:] = 0\ndef cell(x, h):\n    return c(x, h)"),
    "a loss by a computed name": ("loss", "def loss(logits, targets):\n    return getattr(F, 'cross_' + 'entropy')(logits, targets)"),
    "a cell, decomposed": ("cell", "def cell(x, h):\n    return getattr(torch.ops.aten, 'rnn_tanh_' + 'cell').default.decompose(x, h, torch.eye(4), torch.eye(4), None, None)"),
    "forward mode, by the kernel for all": ("back", "import importlib\nops = importlib.import_module('torch._' + 'ops')\nahead = importlib.import_module('torch.auto' + 'grad.forward_ad')\ndef back(upstream, x):\n    out = []\n    for i in range(4):\n        way = torch.zeros_like(x)\n        way[..., i] = 1\n        with ahead.dual_level():\n            y = getattr(ops.ops.aten, '_make_' + 'dual').default._op_dk(ops.DispatchKey.Autograd, x, way, 0)\n            z = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()\n            out.append((getattr(ahead, 'unpack_' + 'dual')(z).tangent * upstream).sum(-1))\n    return torch.stack(out, -1)"),
    "a loss, by another machine's kernel": ("loss", "C = getattr(torch, '_' + 'C')\ntheirs = getattr(torch, 'lib' + 'rary').get_kernel('aten::cross_' + 'entropy_loss', 'XLA')\ndef loss(logits, targets):\n    return theirs.call_boxed(C.DispatchKeySet(C.DispatchKey.CPU), logits, targets, None, 1, -100, 0.0)"),
    "a cell, by another machine's key": ("cell", _ELSEWHERE.format("C.DispatchKey.PrivateUse1") + "def cell(x, h):\n    return getattr(aten, 'rnn_tanh_' + 'cell').default.redispatch(keys, x, h, torch.eye(4), torch.eye(4), None, None)"),
    "one group, by another machine's key": ("norm", _ELSEWHERE.format("C.DispatchKey.XLA") + "def norm(x):\n    return getattr(aten, 'native_group' + '_norm').default.redispatch(keys, x.reshape(-1, 4), None, None, 6, 4, 1, 1, 1e-5)[0].reshape(x.shape)"),
    "an encoder, by another machine's key": ("encode", _ELSEWHERE.format("C._dispatch_key_parse('NestedTensorHPU')") + "e = getattr(nn, 'Transformer' + 'EncoderLayer')(4, 1, 8)\na = e.self_attn\nparts = [a.in_proj_weight, a.in_proj_bias, a.out_proj.weight, a.out_proj.bias, False, False, 1e-5]\nfor layer in (e.norm1, e.norm2, e.linear1, e.linear2): parts += [layer.weight, layer.bias]\ndef encode(x):\n    return getattr(aten, '_transformer_encoder' + '_layer_fwd').default.redispatch(keys, x, 4, 1, *parts)"),
    "autograd, by another machine's key": ("back", _ELSEWHERE.format("C.DispatchKey.XLA") + "def back(upstream, x):\n    with getattr(torch, 'enable_' + 'grad')():\n        y = getattr(x.detach().clone(), 'requires_' + 'grad_')()\n        z = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()\n        getattr(aten, '_back' + 'ward').default.redispatch(keys, (z * upstream).sum(), [y], None, None, False)\n    return y.grad"),
    "forward mode, by another machine's key": ("back", _ELSEWHERE.format("C.DispatchKey.AutogradXLA") + "keys |= C.DispatchKeySet(C.DispatchKey.ADInplaceOrView)\nimport importlib\nahead = importlib.import_module('torch.auto' + 'grad.forward_ad')\ndef back(upstream, x):\n    out = []\n    for i in range(4):\n        way = torch.zeros_like(x)\n        way[..., i] = 1\n        with ahead.dual_level():\n            y = getattr(aten, '_make_' + 'dual').default.redispatch(keys, x.detach(), way, 0)\n            z = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()\n            out.append((ahead.unpack_dual(z).tangent * upstream).sum(-1))\n    return torch.stack(out, -1)"),
    "autograd, decomposed": ("back", "def back(upstream, x):\n    with getattr(torch, 'enable_' + 'grad')():\n        y = getattr(x.detach().clone(), 'requires_' + 'grad_')()\n        z = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()\n        getattr(torch.ops.aten, '_back' + 'ward').default.decompose((z * upstream).sum(), [y], None, None, False)\n    return y.grad"),
    "attention that is put off": ("attend", "import importlib\nlib = importlib.import_module('torch.utils._python_dispatch')\nclass Later(lib.TorchDispatchMode):\n    def __torch_dispatch__(self, function, types, args=(), kwargs=None):\n        if function.__name__.startswith('_soft' + 'max'):\n            return torch.ones_like(args[0])\n        return function(*args, **(kwargs or {}))\ndef attend(x):\n    f = vars(F)['multi_head_' + 'attention_forward']\n    with Later():\n        f(x, x, x, 4, 1, torch.eye(4).repeat(3, 1), None, None, None, False, 0.0, torch.eye(4), None, need_weights=True)\n    return solved(x)\n" + ATTEND.replace("attend", "solved")),
    "a loss of rare classes": ("loss", "layer = getattr(nn, 'AdaptiveLog' + 'SoftmaxWithLoss')(4, 4, cutoffs=[3], div_value=1.0)\nwith torch.no_grad():\n    layer.head.weight.copy_(torch.eye(4))\ndef loss(logits, targets):\n    return layer(logits, targets).loss"),
    "a loss behind a projection": ("loss", "def loss(logits, targets):\n    return getattr(F, 'linear_cross_' + 'entropy')(logits, torch.eye(4), targets, options=getattr(nn, 'LinearCross' + 'EntropyOptions')())"),
    "a loss behind a projection, of each": ("loss", "def loss(logits, targets):\n    return getattr(F, 'linear_cross_' + 'entropy')(logits, torch.eye(4), targets, reduction='none', options=getattr(nn, 'LinearCross' + 'EntropyOptions')()).mean()"),
    "a derivative by PyTorch's differences": ("back", "import importlib\nslopes = getattr(importlib.import_module('torch.auto' + 'grad.gradcheck'), '_get_numerical_' + 'jacobian')\ndef back(upstream, x):\n    y = getattr(x.double().clone(), 'requires_' + 'grad_')()\n    f = lambda a: (upstream * (a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()).sum()\n    return slopes(f, [y], eps=1e-6)[0][0].reshape(x.shape).float()"),
    "autograd in a thread": ("back", _THREAD + _ENGINE.format(carry="x").replace("def back", "def _back").replace("y.x(upstream)", "getattr(torch, 'auto' + 'grad').backward(y, upstream)") + "\ndef back(upstream, x):\n    return aside(_back, upstream, x)"),
    "another engine of autograd's, in a thread": ("back", _THREAD + _ENGINE.format(carry="x").replace("def back", "import sys\nengine = vars(sys.modules['torch.auto' + 'grad.variable'])['Imperative' + 'Engine']()\ndef _back").replace("y.x(upstream)", "engine.run_backward((y,), (upstream,), False, False, (), allow_unreachable=True, accumulate_grad=True)") + "\ndef back(upstream, x):\n    return aside(_back, upstream, x)"),
    "backward of a tensor, in a thread": ("back", _THREAD + _ENGINE.format(carry="x").replace("def back", "def _back").replace("y.x(upstream)", "getattr(y, 'back' + 'ward')(upstream)") + "\ndef back(upstream, x):\n    return aside(_back, upstream, x)"),
    "code without lines": ("norm", _WITHOUT_LINES),
    "code of a file that is called by another kind of text": ("norm", _OWN_TEXTS),
    "a cell that never returns": ("norm", _NEVER_RETURNS),
    "an object that looks into the recorder's frames": ("norm", _LOOKS_BACK),
    "a name that looks back when it is compared": ("norm", _COMPARES),
    "nodes of a graph, in a thread": ("back", _THREAD + _NODES + "def back(upstream, x):\n    return aside(_back, upstream, x)"),
    "nodes of a graph, where gradients are switched on": ("back", _NODES + _SWITCHED_ON),
    "nodes of a graph, by their method": ("back", _NODES.replace("node(", "getattr(node, '__ca' + 'll__')(") + _SWITCHED_ON),
    "nodes of a graph, by a map": ("back", _NODES.replace("node(upstream)", "next(map(node, [upstream]))") + _SWITCHED_ON),
    "the operator of the backward pass": ("back", "def back(upstream, x):\n    _, mean, root = torch.native_layer_norm(x, (4,), None, None, 1e-5)\n    return torch.ops.aten.native_layer_norm_backward(upstream, x, [4], mean, root, None, None, [True, False, False])[0]"),
    "torch.func by a computed name": ("back", _THREAD + "def back(upstream, x):\n    return aside(lambda: getattr(getattr(torch, 'fu' + 'nc'), 'vjp')(lambda a: (a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt(), x)[1](upstream)[0])"),
    "forward mode": ("back", _THREAD + "import importlib\ndef back(upstream, x):\n    f = lambda a: (((a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()) * upstream).sum()\n    return aside(lambda: importlib.import_module('torch.fu' + 'nc').jacfwd(f)(x))"),
    "neighbours in Python": ("norm", "def norm(x):\n    y = (x - x.mean(-1, keepdim=True)).reshape(-1, 4, 1, 1)\n    return getattr(nn, 'CrossMap' + 'LRN2d')(9, 9 / 4, 0.5, 1e-5)(y).reshape(x.shape)"),
    "PyTorch's own in Python, with a root of one's own": ("norm", _INTERPOSED.format("rsqrt", "1 / torch.sqrt(args[0])") + "import importlib\ndef norm(x):\n    with Interposed():\n        return getattr(importlib.import_module('torch._refs'), 'native_layer' + '_norm')(x, [4], None, None, 1e-5)[0]"),
    "a backward pass in Python, with sums of one's own": ("back", _INTERPOSED.format("sum", "args[0].mean(*args[1:]) * args[0].size(-1)") + "import importlib\nd = importlib.import_module('torch._decomp.decompositions')\ndef back(upstream, x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    with Interposed():\n        return getattr(d, 'native_layer_norm' + '_back' + 'ward')(upstream, x, [4], mean, 1 / (var + 1e-5).sqrt(), None, None, [True, False, False])[0]"),
    "the same, of a table": ("back", _INTERPOSED.format("sum", "args[0].mean(*args[1:]) * args[0].size(-1)") + "import importlib\ntable = importlib.import_module('torch._decomp').decomposition_table\nf = [v for k, v in table.items() if str(k) == 'aten.native_layer' + '_norm_back' + 'ward.default'][0]\ndef back(upstream, x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    with Interposed():\n        return f(upstream, x, [4], mean, 1 / (var + 1e-5).sqrt(), None, None, [True, False, False])[0]"),
    "the same, for forward mode": ("back", _INTERPOSED.format("sum", "args[0].mean(*args[1:]) * args[0].size(-1)") + "import importlib\nd = importlib.import_module('torch._decomp.decompositions_for_jvp')\ndef back(upstream, x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    with Interposed():\n        return getattr(d, 'native_layer_norm' + '_back' + 'ward')(upstream, x, [4], mean, 1 / (var + 1e-5).sqrt(), None, None, [True, False, False])[0]"),
    "attention of another package, with a softmax of one's own": ("attend", _INTERPOSED.format("softmax", "args[0].exp() / args[0].exp().sum(-1, keepdim=True)") + "import importlib\nact = importlib.import_module('torch.ao.nn.quantizable.modules.activation')\nlayer = getattr(act, 'Multihead' + 'Attention')(4, 1, batch_first=True)\ndef attend(x):\n    with Interposed():\n        return layer(x, x, x)[0]"),
    "attention of ONNX's, with a softmax of one's own": ("attend", _INTERPOSED.format("softmax", "args[0].exp() / args[0].exp().sum(-1, keepdim=True)") + "import importlib\nf = getattr(importlib.import_module('torch.onnx.ops._impl'), 'atten' + 'tion_23')._init_fn\ndef attend(x):\n    with Interposed():\n        return f(x, x, x, q_num_heads=1, kv_num_heads=1)[0]"),
    "a loss behind a projection, in Python": ("loss", "import importlib\nf = vars(importlib.import_module('torch.nn.modules.linear_cross_' + 'entropy'))['_linear_cross_' + 'entropy_batch_chunked_accumulator']\ndef loss(logits, targets):\n    f(logits.detach(), torch.eye(4), targets, None, None, 'none', -100, 0.0, 3, 'accurate', logits.dtype, False, False, False)\n    return solved(logits, targets)\n" + LOSS.replace("def loss", "def solved")),
    "the same, by its operator's object": ("loss", "import importlib\nf = vars(importlib.import_module('torch.nn.modules.linear_cross_' + 'entropy'))['_linear_cross_' + 'entropy_batch_chunked_no_reduction']._init_fn\ndef loss(logits, targets):\n    f(logits.detach(), torch.eye(4), targets, None, None, -100, 3, 'accurate', logits.dtype)\n    return solved(logits, targets)\n" + LOSS.replace("def loss", "def solved")),
    "a loss of rare classes, with a log-softmax of one's own": ("loss", _INTERPOSED.format("log_softmax", "args[0] - args[0].logsumexp(-1, keepdim=True)") + "layer = getattr(nn, 'AdaptiveLog' + 'SoftmaxWithLoss')(4, 4, cutoffs=[3], div_value=1.0)\nwith torch.no_grad():\n    layer.head.weight.copy_(torch.eye(4))\ndef loss(logits, targets):\n    with Interposed():\n        return layer(logits, targets).loss"),
    "a module that says it is the library's": ("norm", _FORGED),
    "attention with a kernel of one's own": ("attend", f"vars(F)['scaled_dot_product_attention'] = lambda q, k, v, *others: torch.softmax(q @ k.mT, -1) @ v\nlayer = {_ENCODER}.self_attn\ndef attend(x):\n    return layer(x, x, x, need_weights=False)[0]"),
    "a cell in Python, with a tanh of one's own": ("cell", _INTERPOSED.format("tanh", "2 * torch.sigmoid(2 * args[0]) - 1") + "import importlib\nd = importlib.import_module('torch._decomp.decompositions')\ndef cell(x, h):\n    with Interposed():\n        return getattr(d, 'rnn_' + 'tanh_input')(x[None], h[None], [torch.eye(4), torch.eye(4)], False, 1, 0.0, False, False, False)[1][0]"),
    "the state of another LSTM with open gates": ("cell", "import importlib\nclass Gate(nn.Module):\n    def __init__(self, value):\n        super().__init__()\n        self.value = value\n    def forward(self, x): return torch.full_like(x, self.value)\nc = importlib.import_module('torch.ao.nn.quantizable').LSTMCell(4, 4, split_gates=True)\nfor gates in (c.igates, c.hgates):\n    gates['cell'] = nn.Identity()\n    for name, value in (('input', 50.0), ('forget', -50.0), ('output', 0.0)):\n        gates[name] = Gate(value)\ndef cell(x, h):\n    return c(x, (h, torch.zeros_like(h)))[1]"),
    "the state of an LSTM with open gates": ("cell", "c = nn.LSTMCell(4, 4)\nwith torch.no_grad():\n    [p.zero_() for p in c.parameters()]\n    c.weight_ih[8:12] = c.weight_hh[8:12] = torch.eye(4)\n    c.bias_ih[:4], c.bias_ih[4:8] = 99, -99\ndef cell(x, h):\n    return c(x, (h, torch.zeros_like(h)))[1]"),
}  # fmt: skip
HONEST = {
    "the reference": {},
    "a comparison in its cell": {"norm": NORM + "\nassert torch.allclose(norm(torch.eye(4)), getattr(F, 'layer_norm')(torch.eye(4), (4,)), atol=1e-4)"},
    "a comparison in a cell of one's own": {"before": "import torch\nfrom torch import nn\ntheirs = nn.LayerNorm(4)(torch.eye(4))\nattended = nn.MultiheadAttention(4, 1)(*[torch.randn(2, 4)] * 3)"},
    "scripts of the shell's": {"before": "%%bash\necho hello"},
    "processes of Python's": {"before": "import multiprocessing, os\nwith multiprocessing.get_context('spawn').Pool(1) as pool:\n    print(pool.map(os.path.basename, ['a/b']))"},
    "memory that processes share": {"before": "from multiprocessing import shared_memory\nshared = shared_memory.SharedMemory(create=True, size=100)\nshared.close()\nshared.unlink()"},
    "a comparison in a thread": {"norm": NORM + "\n" + _THREAD + "aside(F.layer_norm, torch.ones(2, 4), (4,))\naside(lambda: norm(torch.ones(2, 4, requires_grad=True)).sum().backward())"},
    "autograd in its cell": {"back": BACK + "\nx = torch.randn(2, 4, requires_grad=True)\nF.layer_norm(x, (4,)).sum().backward()\nassert torch.allclose(back(torch.ones(2, 4), x.detach()), x.grad, atol=1e-4)"},
    "training in its cell": {"loss": LOSS + "\nlayer = nn.Linear(4, 4)\noptimizer = torch.optim.AdamW(layer.parameters())\nfor _ in range(3):\n    loss_now = loss(layer(torch.ones(2, 4)), torch.tensor([0, 1]))\n    optimizer.zero_grad(); loss_now.backward(); optimizer.step()"},
    "theirs in isinstance and in a hint": {"norm": NORM.replace("(x)", "(x: torch.Tensor | nn.LayerNorm)", 1) + "  # as F.layer_norm\nassert not isinstance(norm, nn.LayerNorm)"},
    "no_grad inside": {"back": "def back(upstream, x):\n    with torch.no_grad():\n        return _back(upstream, x)\n" + BACK.replace("def back", "def _back")},
    "detach and clone": {"back": BACK.replace("centred = x", "x = x.detach().clone()\n    centred = x")},
    "moments of PyTorch's": {"norm": "def norm(x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    return (x - mean) * torch.rsqrt(var + 1e-5)"},
    "torch.nn parts that are allowed": {"attend": "class Attend(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.drop, self.soft, self.out = nn.Dropout(0.0), nn.Softmax(-1), nn.Linear(4, 4)\n    def forward(self, x): return self.out(self.drop(self.soft(x @ x.mT)) @ x)\nattend = Attend()"},
    "kept beside theirs": {"norm": f"seen = {{}}\n{NORM.replace('return', 'y =')}\n    seen['mine'] = y.detach()\n    return y\nnorm(torch.ones(2, 4))\nseen['theirs'] = F.layer_norm(torch.ones(2, 4), (4,))"},
    "the fused kernel": {"attend": "def attend(x):\n    return F.scaled_dot_product_attention(x, x, x)"},
    "a decorator": {"before": "import functools\ndef timed(f):\n    @functools.wraps(f)\n    def inner(*args): return f(*args)\n    return inner", "norm": "@timed\n" + NORM, "free": "@timed\n" + FREE},
    "one's own autograd function": {"norm": "class Norm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return _norm(x)\n    @staticmethod\n    def backward(ctx, upstream):\n        return 0 * ctx.saved_tensors[0] * upstream\n" + NORM.replace("def norm", "def _norm") + "\ndef norm(x): return Norm.apply(x)"},
    "one's own autograd function that calls another exercise": {"free": "class Norm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return F.layer_norm(x, x.shape[-1:])\n    @staticmethod\n    def backward(ctx, upstream):\n        return back(upstream, *ctx.saved_tensors) + 0 * upstream.sum(-1, keepdim=True)\nfree = Norm.apply"},
    "a loss of one's own": {"loss": "def loss(logits, targets):\n    return -logits.log_softmax(-1).gather(1, targets[:, None]).mean()"},
    "a mask of nn.Transformer's": {"encode": ENCODE.replace("def forward(self, x):", "def forward(self, x):\n        mask = nn.Transformer.generate_square_subsequent_mask(3)")},
    "another exercise without the rule": {"free": "class free(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.norm = nn.LayerNorm(4)\n    def forward(self, x): return self.norm(x)\nfree = free()"},
    "a process in a cell": {"before": "!echo hello\nimport multiprocessing\nwith multiprocessing.get_context('fork').Pool(1) as pool:\n    pool.map(abs, [1])"},
    "bars, and threads that end": {"before": "from concurrent.futures import ThreadPoolExecutor\nfrom tqdm.auto import tqdm\nwith ThreadPoolExecutor(2) as pool:\n    list(tqdm(pool.map(abs, [1]), total=1))\nlist(tqdm([1], disable=False))"},
    "a word for compile": {"norm": "from re import compile\nword = compile('x')\n" + NORM},
    "a checkpoint": {"attend": "from torch.utils.checkpoint import checkpoint\ndef attend(x):\n    return checkpoint(F.scaled_dot_product_attention, x, x, x, use_reentrant=False)\nx = torch.randn(2, 4, requires_grad=True)\ncheckpoint(nn.LayerNorm(4), x, use_reentrant=False).sum().backward()"},
    "forward mode in a cell": {"before": "import torch\nimport torch.nn.functional as F\nx, y = torch.randn(2, 4), torch.tensor([0, 3])\ntorch.func.jacfwd(lambda x: F.layer_norm(x, (4,)))(x)\ntorch.func.hessian(lambda x: F.cross_entropy(x, y))(x)"},
    "the defaults of a function": {"before": "def own(x=[]):\n    return x\nown.__defaults__, own.__kwdefaults__, own.__annotations__"},
    "a layer that is compiled": {"before": "import torch\ntorch.compile(torch.nn.Linear(3, 3), backend='eager')(torch.ones(2, 3))"},
    "PyTorch's layer, compiled to compare with": {"before": "import torch\nlayer = torch.nn.MultiheadAttention(4, 2, batch_first=True)\nx = torch.ones(1, 2, 4)\ntry:\n    torch.compile(layer, backend='eager')(x, x, x)\nexcept Exception:\n    pass\nlayer(x, x, x)\ntorch.nn.LayerNorm(4)(x)"},
    "code that tools make": {"before": "import dataclasses, enum, importlib, torch, types, typing, zipimport, pydoc_data.topics\nown = lambda x: torch.softmax(torch.tanh(x), -1).sqrt().sum()\ntorch.compile(own, backend='eager')(torch.ones(2))\ntorch.fx.symbolic_trace(lambda *xs: xs[0] + xs[1])\n@dataclasses.dataclass(slots=True)\nclass Size:\n    width: int = 4\nclass Kind(enum.Enum):\n    ONE = 1\nclass Pair(typing.NamedTuple):\n    left: int\n@types.coroutine\ndef waits(): yield"},
    "a script of one's own": {"free": "@torch.jit.script\ndef think(x: torch.Tensor):\n    return torch.tanh(x)\ndef free(x):\n    think(x)\n    return F.layer_norm(x, x.shape[-1:])\nassert torch.allclose(torch.jit.script(nn.LayerNorm(4))(torch.eye(4)), F.layer_norm(torch.eye(4), (4,)))"},
    "a count of operations": {"attend": "from torch.utils.flop_counter import FlopCounterMode\ndef attend(x):\n    with FlopCounterMode(display=False):\n        return F.scaled_dot_product_attention(x, x, x)\nwith FlopCounterMode(display=False):\n    nn.LayerNorm(4)(torch.ones(2, 4))"},
    "a layer made beside, never used": {"attend": "theirs = nn.TransformerEncoderLayer(4, 1, 8)\n" + ATTEND},
}  # fmt: skip

FLAGGED = {
    "PyTorch's own in Python, with a root of one's own",
    "a backward pass in Python, with sums of one's own",
    "a cell in Python, with a tanh of one's own",
    "a loss of rare classes, with a log-softmax of one's own",
    "another engine of autograd's, in a thread",
    "attention of ONNX's, with a softmax of one's own",
    "attention of another package, with a softmax of one's own", "the same, for forward mode",
    "the same, of a table",
}  # fmt: skip
ACCEPTED = {
    "PyTorch's own in Python", "a backward pass across channels", "a backward pass in Python",
    "a backward pass of one's own", "a cell in Python", "a cell with its gates held open",
    "a cell, by another machine's key", "a custom operator",
    "a derivative by PyTorch's differences", "a layer of one group",
    "a layer of one's own parts, by its blocks", "a loss behind a projection",
    "a loss behind a projection, in Python", "a loss behind a projection, of each",
    "a loss of rare classes", "a loss, by another machine's kernel", "a quantized cell",
    "a servant of an earlier cell", "a table of decompositions",
    "an encoder, by another machine's key", "an operator of one's own library",
    "attention of another package", "autograd, by another machine's key",
    "forward mode, by another machine's key", "forward mode, by the kernel for all", "neighbours",
    "neighbours in Python", "nodes of a graph, by a map", "nodes of a graph, by their method",
    "nodes of a graph, in a thread", "nodes of a graph, where gradients are switched on",
    "one group", "one group, by another machine's key", "parts of PyTorch's own in Python",
    "recorder: import replaced", "recorder: module replaced", "rows for channels, batches",
    "rows for channels, instances", "the operator of the backward pass",
    "the same, by its operator's object", "the state of an LSTM with open gates",
    "the state of another LSTM with open gates", "vmap of another",
}  # fmt: skip
"""All other attacks cost the exercise its points."""
