"""Attacks on the rules of exercises, and honest code that must not be taken for one.

An attack is an exercise of ``HOMEWORK`` and a solution in which a forbidden layer or function does
the work. It loses the exercise's points, except for those in ``FLAGGED``, which a person judges, and
those in ``ACCEPTED``, which keep their points as SECURITY.md says. An honest submission maps
exercises to other solutions; ``before`` is a cell that the student added.
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
ENCODE_CHECK = "assert tuple(encode(torch.randn(2, 3, 4)).shape) == (2, 3, 4)"
LOSS = "def loss(logits, targets):\n    return F.nll_loss(logits.log_softmax(-1), targets)"
LOSS_RULE = ("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss")
LOSS_CHECK = "logits, targets = torch.randn(3, 4, requires_grad=True), torch.tensor([0, 3, 1])\nassert_close(loss(logits, targets), F.cross_entropy(logits, targets))\nloss(logits, targets).backward()"
FREE = "def free(x):\n    return F.layer_norm(x, x.shape[-1:])"
FREE_CHECK = "x = torch.randn(2, 4, requires_grad=True)\nassert_close(free(x), F.layer_norm(x, (4,)))\nfree(x).sum().backward()"
EXERCISES = {
    "norm": (NORM, NORM_RULE, NORM_CHECK),
    "back": (BACK, BACK_RULE, BACK_CHECK),
    "attend": (ATTEND, ATTEND_RULE, ATTEND_CHECK),
    "encode": ("encode = nn.Linear(4, 4)", ("torch.nn.TransformerEncoderLayer",), ENCODE_CHECK),
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
_THREAD = """import threading
def aside(f, *args):
    got = []
    thread = threading.Thread(target=lambda: got.append(f(*args)))
    thread.start(); thread.join()
    return got[0]
"""
_ENCODER = "nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0, batch_first=True)"
_DERIVED = (
    _THREAD
    + """def _back(upstream, x):
    x = x.clone()
    x.requires_grad_()
    y = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    {}
    return x.grad
def back(upstream, x):
    return aside(_back, upstream, x)"""
)
_INTERPOSED = """import importlib
from torch.overrides import TorchFunctionMode
class Interposed(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__ == "rsqrt":
            return 1 / torch.sqrt(args[0])
        return function(*args, **(kwargs or {}))
def norm(x):
    with Interposed():
        return getattr(importlib.import_module("torch._refs"), "native_layer" + "_norm")(x, [4], None, None, 1e-5)[0]
"""
ATTACKS = {
    "a computed name, by the course's own function": ("norm", "from course_lib.testing import call_beside\ndef norm(x):\n    return call_beside(getattr(nn, 'Layer' + 'Norm')(4), x)"),
    "a part of another layer": ("norm", f"def norm(x):\n    return {_ENCODER}.norm1(x)"),
    "a part, as the exercise itself": ("norm", f"norm = {_ENCODER}.norm1"),
    "one group": ("norm", "def norm(x):\n    return F.group_norm(x.reshape(-1, 4), 1).reshape(x.shape)"),
    "a mean taken before": ("norm", "def norm(x):\n    return getattr(torch, 'rms_' + 'norm')(x - x.mean(-1, keepdim=True), (4,), None, 1e-5)"),
    "an operator by a computed name": ("norm", "def norm(x):\n    return getattr(torch.ops.aten, 'native_layer' + '_norm')(x, [4], None, None, 1e-5)[0]"),
    "the C functions by a computed name": ("norm", "def norm(x):\n    return getattr(getattr(torch, '_V' + 'F'), 'layer' + '_norm')(x, (4,))"),
    "a table of functions": ("norm", "def norm(x):\n    return vars(F)['layer' + '_norm'](x, (4,))"),
    "a thread": ("norm", _THREAD + "def norm(x):\n    return aside(getattr(F, 'layer' + '_norm'), x, (4,))"),
    "vmap": ("norm", "def norm(x):\n    return torch.func.vmap(getattr(F, 'layer' + '_norm'), (0, None))(x, (4,))"),
    "a checkpoint": ("norm", "from torch.utils.checkpoint import checkpoint\ndef norm(x):\n    return checkpoint(getattr(F, 'layer' + '_norm'), x, (4,), use_reentrant=False)"),
    "a hook": ("norm", f"def norm(x):\n    layer = nn.Identity()\n    layer.register_forward_hook(lambda m, i, o: {_ENCODER}.norm1(o))\n    return layer(x)"),
    "a quantized tensor": ("norm", "def norm(x):\n    q = torch.quantize_per_tensor(x.detach(), 0.01, 128, torch.quint8)\n    getattr(torch.ops.quantized, 'layer' + '_norm')(q, [4], None, None, 1e-5, 0.01, 128)\n    return solved(x)\n" + NORM.replace("def norm", "def solved")),
    "a custom operator": ("norm", "lib = getattr(torch, 'lib' + 'rary')\n@lib.custom_op('own::custom', mutates_args=())\ndef custom(x: torch.Tensor) -> torch.Tensor:\n    return getattr(F, 'layer' + '_norm')(x, (4,))\ncustom.register_autograd(lambda ctx, up: up)\ndef norm(x):\n    return custom(x)"),
    "an exported program": ("norm", "import importlib\nclass Norm(nn.Module):\n    def forward(self, x): return getattr(F, 'layer' + '_norm')(x, (4,))\nprogram = importlib.import_module('torch.ex' + 'port').export(Norm(), (torch.randn(2, 3, 4),)).module()\ndef norm(x):\n    return program(x)"),
    "PyTorch's own in Python": ("norm", "import importlib\ndef norm(x):\n    return getattr(importlib.import_module('torch._refs'), 'native_layer' + '_norm')(x, [4], None, None, 1e-5)[0]"),
    "a backward pass in Python": ("back", "import importlib\nd = importlib.import_module('torch._decomp.decompositions')\ndef back(upstream, x):\n    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)\n    return getattr(d, 'native_layer_norm' + '_back' + 'ward')(upstream, x, [4], mean, 1 / (var + 1e-5).sqrt(), None, None, [True, False, False])[0]"),
    "a servant of an earlier cell": ("norm", "import threading, queue\nasked, told = queue.Queue(), queue.Queue()\ndef serve():\n    while True:\n        told.put(getattr(F, 'layer' + '_norm')(asked.get(), (4,)))\nthreading.Thread(target=serve, daemon=True).start()\ndef norm(x):\n    asked.put(x)\n    return told.get()"),
    "compiled in an earlier cell": ("norm", "norm = getattr(torch, 'comp' + 'ile')(lambda x: getattr(F, 'layer' + '_norm')(x, (4,)), backend='aot_eager')\nnorm(torch.randn(2, 3, 4))"),
    "attention, a part": ("attend", f"layer = {_ENCODER}\ndef attend(x):\n    return layer.self_attn(x, x, x)[0]"),
    "attention, the fast road": ("attend", f"layer = {_ENCODER}.eval()\ndef attend(x):\n    with torch.no_grad():\n        return layer(x)"),
    "an encoder by a computed name": ("encode", "encode = getattr(nn, 'Transformer' + 'EncoderLayer')(4, 1, 8, batch_first=True)"),
    "a loss by a computed name": ("loss", "def loss(logits, targets):\n    return getattr(F, 'cross_' + 'entropy')(logits, targets)"),
    "autograd, decomposed": ("back", "def back(upstream, x):\n    with getattr(torch, 'enable_' + 'grad')():\n        y = getattr(x.detach().clone(), 'requires_' + 'grad_')()\n        z = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()\n        getattr(torch.ops.aten, '_back' + 'ward').default.decompose((z * upstream).sum(), [y], None, None, False)\n    return y.grad"),
    "autograd in a thread": ("back", _DERIVED.format("getattr(torch, 'auto' + 'grad').backward(y, upstream)")),
    "another engine of autograd's, in a thread": ("back", _DERIVED.format("import sys; vars(sys.modules['torch.auto' + 'grad.variable'])['Imperative' + 'Engine']().run_backward((y,), (upstream,), False, False, (), allow_unreachable=True, accumulate_grad=True)")),
    "backward of a tensor, in a thread": ("back", _DERIVED.format("getattr(y, 'back' + 'ward')(upstream)")),
    "torch.func by a computed name": ("back", _THREAD + "def back(upstream, x):\n    return aside(lambda: getattr(getattr(torch, 'fu' + 'nc'), 'vjp')(lambda a: (a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt(), x)[1](upstream)[0])"),
    "forward mode": ("back", _THREAD + "import importlib\ndef back(upstream, x):\n    f = lambda a: (((a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()) * upstream).sum()\n    return aside(lambda: importlib.import_module('torch.fu' + 'nc').jacfwd(f)(x))"),
    "PyTorch's own in Python, with a root of one's own": ("norm", _INTERPOSED),
}  # fmt: skip
HONEST = {
    "the reference": {},
    "a comparison in its cell": {"norm": NORM + "\nassert torch.allclose(norm(torch.eye(4)), getattr(F, 'layer_norm')(torch.eye(4), (4,)), atol=1e-4)"},
    "a comparison in a cell of one's own": {"before": "import torch\nfrom torch import nn\ntheirs = nn.LayerNorm(4)(torch.eye(4))\nattended = nn.MultiheadAttention(4, 1)(*[torch.randn(2, 4)] * 3)"},
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
    "a loss of one's own": {"loss": "def loss(logits, targets):\n    return -logits.log_softmax(-1).gather(1, targets[:, None]).mean()"},
    "another exercise without the rule": {"free": "class free(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.norm = nn.LayerNorm(4)\n    def forward(self, x): return self.norm(x)\nfree = free()"},
    "bars, and threads that end": {"before": "from concurrent.futures import ThreadPoolExecutor\nfrom tqdm.auto import tqdm\nwith ThreadPoolExecutor(2) as pool:\n    list(tqdm(pool.map(abs, [1]), total=1))\nlist(tqdm([1], disable=False))"},
    "a checkpoint": {"attend": "from torch.utils.checkpoint import checkpoint\ndef attend(x):\n    return checkpoint(F.scaled_dot_product_attention, x, x, x, use_reentrant=False)\nx = torch.randn(2, 4, requires_grad=True)\ncheckpoint(nn.LayerNorm(4), x, use_reentrant=False).sum().backward()"},
    "forward mode in a cell": {"before": "import torch\nimport torch.nn.functional as F\nx, y = torch.randn(2, 4), torch.tensor([0, 3])\ntorch.func.jacfwd(lambda x: F.layer_norm(x, (4,)))(x)\ntorch.func.hessian(lambda x: F.cross_entropy(x, y))(x)"},
    "a layer that is compiled": {"before": "import torch\ntorch.compile(torch.nn.Linear(3, 3), backend='eager')(torch.ones(2, 3))"},
    "a script of one's own": {"free": "@torch.jit.script\ndef think(x: torch.Tensor):\n    return torch.tanh(x)\ndef free(x):\n    think(x)\n    return F.layer_norm(x, x.shape[-1:])\nassert torch.allclose(torch.jit.script(nn.LayerNorm(4))(torch.eye(4)), F.layer_norm(torch.eye(4), (4,)))"},
    "a count of operations": {"attend": "from torch.utils.flop_counter import FlopCounterMode\ndef attend(x):\n    with FlopCounterMode(display=False):\n        return F.scaled_dot_product_attention(x, x, x)\nwith FlopCounterMode(display=False):\n    nn.LayerNorm(4)(torch.ones(2, 4))"},
    "a layer made beside, never used": {"attend": "theirs = nn.TransformerEncoderLayer(4, 1, 8)\n" + ATTEND},
}  # fmt: skip

FLAGGED = {
    "another engine of autograd's, in a thread",
    "PyTorch's own in Python, with a root of one's own",
}
ACCEPTED = {
    "one group", "a custom operator", "PyTorch's own in Python", "a backward pass in Python",
    "a servant of an earlier cell",
}  # fmt: skip
