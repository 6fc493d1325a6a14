# %% [markdown]
# # Homework 4: Transformer blocks
#
# Attention, which you wrote last time, can't tell `DOG BITES MAN` from `MAN BITES DOG`. It also does
# nothing but average, and thirty attentions on top of one another explode or fall asleep. Here you
# write four small blocks that mend this, and a stack of them learns the names of moons, and dreams up new ones.
#
# | part | you write | points |
# |---|---|---|
# | 1 | `position_angles`, `SinusoidalPositions`, `shift_matrix`, `RotaryPositions` | 8 |
# | 2 | `FeedForward`: each token by itself | 2 |
# | 3 | `layer_norm`, `rms_norm`, `LayerNorm`, and `layer_norm_backward`, by hand | 6 |
# | 4 | `diagnose_layer_norm`: the museum of mistakes | 2 |
# | 5 | `Residual`, with the norm before or after | 3 |
# | 6 | a question, answered in words | 3 |
#
# **Time:** about three hours if you have read [Positional encoding](book:positional-encoding), [Feed-forward layers](book:feed-forward),
# [Layer normalisation](book:layer-normalization) and [Residual connections](book:residual-connections). Write your code where a cell
# says `YOUR CODE HERE`; leave arguments as they are, and let gradients flow back.
# [For students](book:for-students) explains how grading works and how to hand in.

# %% setup="imports"
import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.feed_forward import Activation
from course_lib.layers.residual import NormPosition, check_norm_position
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_close, assert_equal, assert_gradients, assert_keeps_inputs
from course_lib.testing import assert_parameters, assert_raises, call_beside, load_parameters
from course_lib.validation import check_at_least, check_width

prepare_notebook()  # test cells say how they ended

# %% [markdown]
# ## Part 1: positions
#
# Think of a row of clock hands. With each token every hand moves on by its own angle, the first by
# a whole radian, each next one more slowly. At position $t$, hand $i$ of `width / 2` stands at
#
# $$\frac{t}{\mathrm{base}^{\,2i / \mathrm{width}}}, \qquad i = 0, 1, \dots, \mathrm{width}/2 - 1.$$
#
# See [Sinusoidal positions](book:positional-encoding#sinusoidal-positions). **Digits:** a million tokens on, the fast hand has turned a
# million radians. Float32 has hardly one digit behind the point there: compute *everything* in `dtype`.


# %% solution="position_angles" of="course_lib.layers.positional"
def position_angles():
    """Return the angle of each hand at each position, in radians, ``(length, width / 2)``.

    ``positions`` is ``(length,)``. A ``width`` that is not positive and even raises ValueError.
    """


# %% test="position_angles-values" points=1 read="positional-encoding#sinusoidal-positions"
# Each hand turns at its own speed
# The first of two hands turns by 1 / 10000^0 = 1 radian a token, the second by 1 / 10000^(2/4).
expected = torch.tensor([[0.0, 0.0], [1.0, 0.01], [7.0, 0.07]], dtype=torch.float64)
assert_close(position_angles(torch.tensor([0, 1, 7]), 4), expected, what="angles")
### BEGIN HIDDEN TESTS
for width, base in ((2, 10_000.0), (8, 10_000.0), (10, 500.0)):
    positions = torch.randint(3, 50, (6,))
    assert_matches(position_angles, reference.position_angles, positions, width, base=base)
### END HIDDEN TESTS

# %% test="position_angles-digits" points=1 read="positional-encoding#sinusoidal-positions"
# A million tokens on no digit is lost, the dtype is as asked, and an odd width raises ValueError
far = torch.tensor([1_000_000])
sines = torch.tensor([[math.sin(1e6), math.sin(1e4)]], dtype=torch.float64)  # radians; two hands
assert_close(position_angles(far, 4).sin(), sines, what="sines of the angles")
assert_equal(position_angles(far, 4, dtype=torch.float32).dtype, torch.float32, what="dtype")
assert_raises(ValueError, position_angles, far, 5)
### BEGIN HIDDEN TESTS
far = torch.randint(900_000, 1_000_000, (3,))
sines = reference.position_angles(far, 16).sin()
assert_close(position_angles(far, 16).sin(), sines, what="sines of the angles")
for dtype in (torch.float32, torch.float64):
    assert_equal(position_angles(far, 2, dtype=dtype).dtype, dtype, what="dtype")
for width in (5, 0, -2):
    assert_raises(ValueError, position_angles, far, width)
### END HIDDEN TESTS

# %% variants="position_angles"
# fmt: off
right("loops", '''
def position_angles(positions, width, *, base=10000.0, dtype=torch.float64):
    if width <= 0 or width % 2 == 1:
        raise ValueError(f"width {width}")
    table = torch.zeros(len(positions), width // 2, dtype=dtype, device=positions.device)
    for row, t in enumerate(positions.tolist()):
        for i in range(width // 2):
            table[row, i] = t / base ** (2 * i / width)
    return table
''')
right("by tricks", '''
def position_angles(positions, width, *, base=10_000.0, dtype=torch.float64):
    if width % 2 != 0 or not width > 0:
        raise ValueError("width")
    speeds = [base ** -(k / width) for k in range(0, width, 2)]
    speeds = torch.tensor(speeds, dtype=torch.float64, device=positions.device)
    return (positions.double()[..., None] * speeds).to(dtype)
''')
ANGLES = "positions.to(dtype)[:, None] * frequencies"
SPEEDS = "1 / base ** (evens / width)"
EVENS = "torch.arange(0, width, 2,"
OWN = "position / base^(2i / width)."
DIGITS = "You lose digits; make positions, exponents and the logarithm in dtype before you compute with them."
for name, answer in (
    ("ones", "(0 * positions.to(dtype)[:, None] + 1).expand(-1, width // 2)"),
    ("hands that stand still, the same angles", "(0 * positions.to(dtype)[:, None] + 1) * frequencies"),
):
    wrong(f"{name} at every position", (ANGLES, answer), lost="*",
        hint=f"You return the same angles for every position; an angle is {OWN}")
for name, edit, hint in (
    ("hands that get faster", ("1 / base", "base"),
     f"You let the hands get faster; divide: {OWN}"),
    ("the exponent is i / width", (EVENS, "torch.arange(0, width // 2,"),
     "You take i / width as exponent; it is 2i / width: 0, 2/width, 4/width, ..."),
    ("the exponent is divided by half the width", ("evens / width", "evens / (width // 2)"),
     "You divide the exponent by width / 2; divide it by width."),
    ("the hands are numbered from 1", (EVENS, "torch.arange(2, width + 2, 2,"),
     "You number the hands from 1; from 0 on, the first one turns a radian a token."),
    ("the base is fixed", ("base **", "10_000.0 **"),
     "You fix the base; use the argument base."),
    ("natural exponents without the logarithm", (SPEEDS, "torch.exp(-evens / width)"),
     "You raise e, not base, to the exponent; multiply the exponent by log(base)."),
    ("a row for each hand", (ANGLES, f"({ANGLES}).T"),
     "You return a row for each hand; return one for each position."),
    ("the angles of only the first position", ("positions.to(dtype)[:, None]", "positions.to(dtype)[:1, None]"),
     "You return one row alone; return one for each position."),
    ("angles that go round at a whole turn", (ANGLES, f"{ANGLES} % (2 * math.pi)"),
     "You take away whole turns; return the angles as they are."),
):
    wrong(name, edit, lost="values", hint=hint)
for name, edits in (
    ("everything in float32, cast at the end",
     (("dtype=dtype)  # 2i", "dtype=torch.float32)  # 2i"),
      (ANGLES, "(positions.to(torch.float32)[:, None] * frequencies).to(dtype)"))),
    ("float32 speeds", (("dtype=dtype)  # 2i", "dtype=torch.float32)  # 2i"),)),
    ("the logarithm in float32", ((SPEEDS, "torch.exp(evens * -torch.log(torch.tensor(base)) / width)"),)),
):
    wrong(name, *edits, lost="digits", hint=DIGITS)
wrong("always float64", (ANGLES, "positions[:, None] * frequencies"),
    ("dtype=dtype)  # 2i", "dtype=torch.float64)  # 2i"), lost="digits",
    hint="You always return float64; compute in dtype.")
wrong("an odd width is let through", ("width < 2 or width % 2 != 0", "width < 2"), lost="digits",
    hint="You accept an odd width, half a hand; raise ValueError.")
wrong("any width is let through", ("width < 2 or width % 2 != 0", "False"), lost="digits",
    hint="You accept any width; raise ValueError unless it is positive and even.")
same("device=positions.device", "where a tensor is made matters on a GPU only")
same("width < 1", "a width of 1 is odd")
same("must be of type int", "errors are tested in position_angles and FeedForward only")
same("_check_even(''", "the words of an error")
# fmt: on

# %% [markdown]
# ### Sines and cosines
#
# A hand's point in the plane is $(\sin, \cos)$ of its angle. The vector of a position lays the
# points of all hands side by side, sine, cosine, sine, cosine, ..., and is *added* to the token's
# embedding. In half precision an angle has few digits left: bfloat16 can't tell position 1001 from
# 1000. So compute angles in float64, and cast their sines and cosines to the dtype of `x`, here and
# in the rotary positions further on.


# %% solution="SinusoidalPositions" of="course_lib.layers.positional"
class SinusoidalPositions:
    """Add sines and cosines of the position; nothing is learned, and no position is too far."""

    def forward():
        """Add to ``x``, ``(batch, length, d_model)``, the vectors of its positions from ``offset`` on."""

    def vectors():
        """Return the vectors that ``forward`` adds, ``(length, d_model)``, from ``offset`` on."""


# %% test="SinusoidalPositions-pattern" points=1 read="positional-encoding#sinusoidal-positions"
# Sine and cosine take turns, and are added to each token from offset on
six = SinusoidalPositions(6)(torch.zeros(1, 1, 6))  # at position 0 all angles are 0
assert_close(six, torch.tensor([[[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]]), what="the vector of position 0")
layer = SinusoidalPositions(2)  # a single hand, which turns a radian a token
x = torch.tensor([[[1.0, 5.0], [2.0, 6.0]]])
expected = torch.tensor([[[1.0, 6.0], [2 + math.sin(1), 6 + math.cos(1)]]])
assert_close(layer(x), expected)
expected = torch.tensor([[[1 + math.sin(3), 5 + math.cos(3)], [2 + math.sin(4), 6 + math.cos(4)]]])
assert_close(layer(x, offset=3), expected, what="result with offset=3")
### BEGIN HIDDEN TESTS
for width in (4, 10):
    layer, ours = SinusoidalPositions(width), reference.SinusoidalPositions(width)
    assert_matches(layer, ours, torch.zeros(3, 1, width))
layer, ours = SinusoidalPositions(2), reference.SinusoidalPositions(2)
for offset in (0, int(torch.randint(2, 9, ()))):
    assert_matches(layer, ours, torch.randn(4, 5, 2), offset=offset)
### END HIDDEN TESTS

# %% test="SinusoidalPositions-values" points=1 read="positional-encoding#sinusoidal-positions"
# All hands turn at their own speeds, however far, in the dtype of x
layer, nothing = SinusoidalPositions(4), torch.zeros(1, 1, 4)
by_hand = [math.sin(3.0), math.cos(3.0), math.sin(0.03), math.cos(0.03)]
assert_close(layer(nothing, offset=3), torch.tensor([[by_hand]]), what="vector of position 3")
far = [math.sin(1e5), math.cos(1e5), math.sin(1e3), math.cos(1e3)]  # in float64, position 100,000
output = layer(nothing.double(), offset=100_000)
assert_close(output.float(), torch.tensor([[far]]), what="vector far from the start")
assert_keeps_inputs(layer, nothing)
### BEGIN HIDDEN TESTS
layer, ours = SinusoidalPositions(12), reference.SinusoidalPositions(12)
x, offset = torch.randn(3, 7, 12), int(torch.randint(1, 20, ()))
for training in (True, False):
    assert_matches(layer.train(training), ours, x, offset=offset)
assert_gradients(layer, x)
assert_parameters(layer, {})
for dtype in (torch.float32, torch.float64):  # a layer may keep vectors, but not for another dtype
    output = layer(x.to(dtype), offset=100_000 + offset)
    assert_equal(output.dtype, dtype, what="dtype")
expected = ours(x.double(), offset=100_000 + offset)
assert_close(output.float(), expected.float(), what="result far from the start")
for dtype in (torch.bfloat16, torch.float16):
    assert_matches(layer, ours, torch.zeros(2, 3, 12, dtype=dtype), offset=5001)
assert_keeps_inputs(layer, x)
### END HIDDEN TESTS

# %% variants="SinusoidalPositions"
# fmt: off
right("loops", '''
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        if d_model < 1 or d_model % 2:
            raise ValueError("d_model must be even")
        self.width = d_model

    def forward(self, x, offset=0):
        vectors = self.vectors(x.shape[1], offset=offset)
        return torch.stack([sentence + vectors.to(x) for sentence in x])

    def vectors(self, length, offset=0, dtype=torch.float32):
        if offset < 0:
            raise ValueError("offset")
        rows = []
        for t in range(offset, offset + length):
            row = []
            for i in range(self.width // 2):
                angle = t / 10000 ** (2 * i / self.width)
                row += [math.sin(angle), math.cos(angle)]
            rows.append(row)
        return torch.tensor(rows, dtype=torch.float64).to(dtype)
''')
right("by tricks", '''
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        if not (d_model > 0 and d_model % 2 == 0):
            raise ValueError("even and positive")
        self.register_buffer("phase", torch.arange(d_model) % 2 * math.pi / 2, persistent=False)

    def forward(self, x, *, offset=0):
        return self.vectors(x.size(-2), offset=offset, device=x.device, dtype=x.dtype) + x

    def vectors(self, length, *, offset=0, device=None, dtype=torch.float32):
        if offset < 0:
            raise ValueError("offset")
        positions = torch.arange(offset, offset + length, device=device)
        angles = position_angles(positions, len(self.phase)).repeat_interleave(2, dim=1)
        quarter = torch.arange(len(self.phase), device=device) % 2 * (math.pi / 2)
        return (angles + quarter.double()).sin().to(dtype)  # cos(a) = sin(a + pi / 2)
''')
right("speeds in a buffer", '''
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.register_buffer("speeds", position_angles(torch.ones(1), d_model)[0])

    def forward(self, x, *, offset=0):
        angles = torch.arange(offset, offset + x.size(1))[:, None] * self.speeds
        vectors = torch.zeros(x.size(1), x.size(2), dtype=x.dtype)
        vectors[:, 0::2], vectors[:, 1::2] = angles.sin(), angles.cos()
        return x + vectors
''')
PLACES = "torch.arange(offset, offset + length, device=device)"
PAIRS = "torch.stack((angles.sin(), angles.cos()), dim=-1)"
VECTORS = "pairs.flatten(-2).to(dtype)"
ADDED = "self.vectors(x.size(1), offset=offset, device=x.device, dtype=x.dtype)"
OF_EACH = "position_angles(positions, self.d_model, dtype=_exact_enough(dtype))"
TURNS = "they take turns: sin, cos, sin, cos."
for name, edits, hint in (
    ("sine and cosine swapped", ((PAIRS, "torch.stack((angles.cos(), angles.sin()), dim=-1)"),),
     "You swap sine and cosine; entry 2i is the sine."),
    ("all sines, then all cosines", ((PAIRS, PAIRS.replace("-1", "-2")),),
     f"You lay all sines before all cosines; {TURNS}"),
    ("all cosines, then all sines", ((PAIRS, "torch.stack((angles.cos(), angles.sin()), dim=-2)"),),
     f"You lay all cosines before all sines; {TURNS}"),
    ("sines alone", ((PAIRS, "torch.stack((angles.sin(), angles.sin()), dim=-1)"),),
     "You use sines alone; each hand gives a sine and a cosine."),
    ("cosines alone", ((PAIRS, "torch.stack((angles.cos(), angles.cos()), dim=-1)"),),
     "You use cosines alone; each hand gives a sine and a cosine."),
    ("x as it came", ((f"x + {ADDED}", "x + 0"),), "You add nothing to x; add the vectors of its positions."),
    ("positions in place of x", ((f"x + {ADDED}", f"0 * x + {ADDED}"),),
     "You return the positions alone; add them to x."),
    ("positions multiplied", ((f"x + {ADDED}", f"x * {ADDED}"),), "You multiply by the positions; add them."),
    ("x scaled as well", ((f"x + {ADDED}", f"x * self.d_model**0.5 + {ADDED}"),),
     "You scale x, which is the embedding's business; just add."),
    ("x added twice", ((f"x + {ADDED}", f"2 * x + {ADDED}"),), "You add x twice; add it once."),
    ("offset not used", ((PLACES, PLACES.replace("offset, offset + ", "")),),
     "You do not use offset; the first token stands at position offset."),
    ("positions from 1", ((PLACES, PLACES.replace("offset, offset", "offset + 1, offset + 1")),),
     "You begin at position 1; without an offset the first position is 0."),
    ("positions backwards", ((PLACES, f"{PLACES}.flip(0)"),), "You let the positions run backwards."),
    ("sentences counted for tokens", ((ADDED, ADDED.replace("size(1)", "size(0)")),),
     "You count the sentences of the batch; take the length from x.size(1)."),
    ("a vector for each sentence", ((ADDED, f"{ADDED.replace('size(1)', 'size(0)')}[:, None]"),),
     "You count the sentences of the batch; take the length from x.size(1)."),
    ("hands numbered from 1, here alone", ((PAIRS, PAIRS.replace("angles", "(angles * 1e4 ** (-2 / self.d_model))")),),
     "You turn each hand at the speed of the next; use position_angles as it is."),
    ("the same vector for every token", ((VECTORS, "pairs[:1].flatten(-2).to(dtype)"),),
     "You add the same vector to every token; each has a position of its own."),
    ("not a number", ((VECTORS, f"{VECTORS} / 0 * 0"),), "You return NaN; look where it comes from."),
):
    wrong(name, *edits, lost="pattern", hint=hint)
KEEP = ("        self.d_model = d_model\n", "        self.d_model, self.kept = d_model, {}\n")
HALF = "You compute angles in half precision; compute them in float64, and cast their sines and cosines."
for name, edits, hint in (
    ("offset not used in evaluation", ((ADDED, ADDED.replace("=offset", "=self.training * offset")),),
     "You use offset in training only; it counts in evaluation too."),
    ("added in place", ((f"x + {ADDED}", f"x.add_({ADDED})"),),
     "You change the caller's x; x += ... and x.add_(...) do, x + ... makes a new tensor."),
    ("always float32", ((f"x + {ADDED}", f"x.float() + {ADDED}"),),
     "You cast x to float32; the result has the dtype of x."),
    ("float64, as the angles are", ((VECTORS, "pairs.flatten(-2)"),),
     "You return float64; cast the sines and cosines to the dtype of x."),
    ("angles in the dtype of x", ((OF_EACH, "position_angles(positions, self.d_model, dtype=dtype)"),), HALF),
    ("float16 taken for exact enough", ((OF_EACH, "position_angles(positions, self.d_model, "
        "dtype=torch.float32 if dtype == torch.bfloat16 else dtype)"),), HALF),
    ("angles cast before the sine", ((PAIRS, PAIRS.replace("angles", "angles.to(dtype)")),), HALF),
    ("float32 angles for float64", ((OF_EACH, "position_angles(positions, self.d_model, dtype=torch.float32)"),),
     "You compute the angles in float32, which far from the start has few digits; take float64."),
    ("vectors kept for all dtypes", (KEEP, (f"return x + {ADDED}",
        f"key = x.size(1), offset\n        if key not in self.kept:\n            self.kept[key] = {ADDED}\n"
        "        return x + self.kept[key].to(x.dtype)")),
     "You keep vectors of one dtype for all; far from the start another needs more digits."),
    ("a scale that is learned", (("        self.d_model = d_model\n", "        self.d_model = d_model\n"
        "        self.scale = nn.Parameter(torch.ones(1))\n"), (VECTORS, f"self.scale.to(dtype) * {VECTORS}")),
     "You learn a scale; nothing is learned here, it is all computed."),
    ("a table of 5,000 positions", (("        self.d_model = d_model\n", "        self.d_model = d_model\n"
        "        angles = position_angles(torch.arange(5_000), d_model)\n"
        f"        self.register_buffer('table', {PAIRS}.flatten(-2))\n"),
        (VECTORS, "self.table[offset : offset + length].to(dtype)")),
     "You keep a table that ends; no position is too far, so compute the vectors when they are asked for."),
    ("speeds of twice the width", ((OF_EACH, "position_angles(positions, 2 * self.d_model)[:, : self.d_model // 2]"),),
     "You take the speeds of another width; the width is d_model."),
    ("x detached", ((f"x + {ADDED}", f"x.detach() + {ADDED}"),),
     "You cut the gradient of x: detach(), .data and no_grad() do; leave them out."),
):
    wrong(name, *edits, lost="values", hint=hint)
same("length, device=device)", "where a tensor is made matters on a GPU only")
same("_exact_enough(dtype)", "float64 is exact enough")
same("torch.promote_types(torch.float32, ", "the same dtype")
same("offset: int=", "forward hands offset on always")
for piece in ("must be positive and even", "_check_even(", "width % ", "_check_offset(", "offset must", "offset < ", "check_width("):
    same(piece, "errors are tested in position_angles and FeedForward only")
# fmt: on

# %% [markdown]
# ### A fixed distance is a fixed matrix
#
# Three tokens on, the first hand has turned by three radians, *wherever it stood before*; to turn a
# point is to multiply it by a matrix. Find the block of one hand from
# $\sin(a + b) = \sin a \cos b + \cos a \sin b$ and $\cos(a + b) = \cos a \cos b - \sin a \sin b$: it
# gets $(\sin a, \cos a)$, the sine first. The blocks of all hands stand on the diagonal
# (`torch.block_diag`). See [A shift is a rotation](book:positional-encoding#shift-matrix).


# %% solution="shift_matrix" of="course_lib.layers.positional"
def shift_matrix():
    """Return the matrix that moves every position vector ``offset`` tokens on.

    It is ``(d_model, d_model)``, in float64.
    """


# %% test="shift_matrix-one-hand" points=1 read="positional-encoding#shift-matrix"
# With one hand, the matrix moves position 2 by 3 tokens, to position 5
position_2 = torch.tensor([math.sin(2), math.cos(2)], dtype=torch.float64)
position_5 = torch.tensor([math.sin(5), math.cos(5)], dtype=torch.float64)
assert_close(shift_matrix(3, 2) @ position_2, position_5, what="position 2, moved by 3")
### BEGIN HIDDEN TESTS
for offset in (int(torch.randint(1, 9, ())), -int(torch.randint(1, 9, ())), 0):
    assert_matches(shift_matrix, reference.shift_matrix, offset, 2)
### END HIDDEN TESTS

# %% test="shift_matrix-all-hands" points=1 read="positional-encoding#shift-matrix"
# Each hand has its own block on the diagonal, and all else is zero
# Two hands turn by 1 and by 0.01 radians a token.
s, c, slow_s, slow_c = math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)
rows = [[c, s, 0, 0], [-s, c, 0, 0], [0, 0, slow_c, slow_s], [0, 0, -slow_s, slow_c]]
assert_close(shift_matrix(1, 4), torch.tensor(rows, dtype=torch.float64), what="matrix")
### BEGIN HIDDEN TESTS
for d_model in (4, 10):
    offset = int(torch.randint(2, 20, ()))
    assert_matches(shift_matrix, reference.shift_matrix, offset, d_model)
    assert_matches(shift_matrix, reference.shift_matrix, -offset, d_model)
### END HIDDEN TESTS

# %% variants="shift_matrix"
# fmt: off
right("loops", '''
def shift_matrix(offset, d_model):
    if d_model < 2 or d_model % 2:
        raise ValueError(d_model)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = offset / 10000 ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1] = math.sin(angle)
        matrix[i + 1, i] = -math.sin(angle)
    return matrix
''')
right("by tricks", '''
def shift_matrix(offset, d_model):
    angles = position_angles(torch.tensor([offset]), d_model).flatten()
    even = torch.arange(0, d_model, 2)
    matrix = torch.diag(angles.cos().repeat_interleave(2))
    matrix[even, even + 1] = angles.sin()
    matrix[even + 1, even] = -angles.sin()
    return matrix
''')
BLOCKS = "torch.stack((cos, sin, -sin, cos), dim=-1)"
PLACE = "torch.tensor([offset])"
OWN_ANGLES = "position_angles(torch.tensor([offset]), d_model)[0]"
DIAGONAL = "torch.block_diag(*blocks)"
for name, old, new, hint in (
    ("transposed", BLOCKS, "torch.stack((cos, -sin, sin, cos), dim=-1)",
     "You move back; swap the signs of the two sines, or transpose."),
    ("the offset negated", PLACE, "torch.tensor([-offset])", "You move back; the angle belongs to offset."),
    ("a sign forgotten", BLOCKS, "torch.stack((cos, sin, sin, cos), dim=-1)",
     "You forget a sign; cos(a + b) = cos a cos b - sin a sin b."),
    ("sine and cosine swapped", BLOCKS, "torch.stack((sin, cos, -cos, sin), dim=-1)",
     "You swap sine and cosine; sin(a + b) = cos b sin a + sin b cos a."),
    ("rows swapped", BLOCKS, "torch.stack((-sin, cos, cos, sin), dim=-1)",
     "You give (cos, sin); the sine comes first."),
    ("always a shift by one", PLACE, "torch.tensor([1])", "You move by 1; offset says how far."),
    ("float32", DIAGONAL, f"{DIAGONAL}.float()", "You return float32; the matrix is float64."),
    ("the blocks, not put together", DIAGONAL, "blocks",
     "You return the blocks one by one; torch.block_diag puts them on a diagonal."),
):
    wrong(name, (old, new), lost="one-hand", hint=hint)
for name, old, new, hint in (
    ("every hand at the first one's angle", OWN_ANGLES,
     "torch.full((d_model // 2,), float(offset), dtype=torch.float64)",
     "You turn every block by the first hand's angle; block i turns by the angle of hand i."),
    ("angles of another width", OWN_ANGLES, "position_angles(torch.tensor([offset]), 2 * d_model)[0][: d_model // 2]",
     "You take the angles of another width; the width is d_model."),
    ("blocks in the other order", DIAGONAL, "torch.block_diag(*blocks.flip(0))",
     "You put the blocks in another order; block i belongs to hand i."),
    ("halves in place of pairs", DIAGONAL, "torch.cat((torch.cat((torch.diag(cos), torch.diag(sin)), 1), "
     "torch.cat((-torch.diag(sin), torch.diag(cos)), 1)))",
     "You pair the first half with the second; neighbours make a pair, rows and columns 2i and 2i + 1."),
):
    wrong(name, (old, new), lost="all-hands", hint=hint)
same("d_model)[-1]", "there is one row")
same("dim=--1", "the last of two dimensions")
# fmt: on

# %% [markdown]
# ### Rotary positions
#
# The second way *turns* queries and keys: entries $2i$ and $2i + 1$ are a point in the plane, and hand
# $i$'s angle turns it from the first axis towards the second:
# $$(x, y) \mapsto (x \cos\theta - y \sin\theta,\; x \sin\theta + y \cos\theta)$$
#
# In their product only the difference of their positions is left: see [Rotary positions](book:positional-encoding#rotary-positions).


# %% solution="RotaryPositions" withholds="course_lib.layers.positional.RotaryPositions"
class RotaryPositions(nn.Module):
    """Turn queries and keys by their positions, pair by pair of their entries."""

    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        self.head_dim, self.base = head_dim, base

    def forward(self, x, *, offset=0):
        """Turn each vector of ``x`` by its position, counted from ``offset`` on.

        ``x`` is ``(..., length, head_dim)``, with any number of dimensions before the last two,
        heads among them; so is the result, of the same dtype.
        """
        ### BEGIN SOLUTION
        positions = torch.arange(offset, offset + x.size(-2), device=x.device)
        angles = position_angles(positions, self.head_dim, base=self.base)
        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)  # (length, head_dim / 2)
        first, second = x[..., 0::2], x[..., 1::2]  # (..., length, head_dim / 2) each
        turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
        return turned.flatten(-2)
        ### END SOLUTION


# %% test="RotaryPositions-one-hand" points=1 read="positional-encoding#rotary-positions"
# A pair of entries is turned by its position, from offset on
x = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])  # three tokens, turned by 0, 1 and 2
sin, cos = math.sin, math.cos
expected = torch.tensor([[[1.0, 0.0], [cos(1), sin(1)], [-sin(2), cos(2)]]])
assert_close(RotaryPositions(2)(x), expected)
expected = torch.tensor([[[cos(4), sin(4)], [cos(5), sin(5)], [-sin(6), cos(6)]]])
assert_close(RotaryPositions(2)(x, offset=4), expected, what="result with offset=4")
assert_keeps_inputs(RotaryPositions(2), x)
### BEGIN HIDDEN TESTS
layer, ours = RotaryPositions(2), reference.RotaryPositions(2)
for shape in ((5, 2), (3, 5, 2), (2, 3, 5, 2)):
    for offset in (0, int(torch.randint(2, 9, ()))):
        x = torch.randn(shape)
        assert_matches(layer, ours, x, offset=offset)
split_off = call_beside(call_strided, layer, x, dims=(1, 2))  # heads, by transpose(1, 2)
assert_close(split_off, ours(x), what="result for heads that transpose() has split off")
assert_keeps_inputs(layer, x)
### END HIDDEN TESTS

# %% test="RotaryPositions-all-hands" points=1 read="positional-encoding#rotary-positions"
# Neighbours make pairs, each at its own speed, in the dtype of x
x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0]])  # two tokens of two pairs each
# The pairs of the second token are turned by 1 and by 1 / base^(2/4), which is 0.01, or 0.1.
for base, slow in ((10_000.0, 0.01), (100.0, 0.1)):
    expected = [math.cos(1), math.sin(1), math.cos(slow), math.sin(slow)]
    output = RotaryPositions(4, base=base)(x)
    assert_close(output, torch.tensor([[1.0, 0.0, 1.0, 0.0], expected]), what=f"with base={base}")
### BEGIN HIDDEN TESTS
for head_dim, base in ((4, 10_000.0), (6, 500.0)):
    layer, ours = (
        RotaryPositions(head_dim, base=base),
        reference.RotaryPositions(head_dim, base=base),
    )
    for training in (True, False):
        assert_matches(layer.train(training), ours, torch.randn(2, 3, 5, head_dim), offset=4)
    assert_gradients(layer, torch.randn(3, 5, head_dim))
layer, ours = RotaryPositions(12), reference.RotaryPositions(12)
x, far = torch.randn(5, 12), int(torch.randint(100_000, 110_000, ()))
for dtype in (torch.float32, torch.float64):  # a layer may keep sines, but not for another dtype
    output = layer(x.to(dtype), offset=far)
    assert_equal(output.dtype, dtype, what="dtype")
expected = ours(x.double(), offset=far)
assert_close(output.float(), expected.float(), what="result far from the start")
assert_matches(layer, ours, x.double()[1:], offset=far)  # nor for another length
for dtype in (torch.bfloat16, torch.float16):
    assert_matches(layer, ours, torch.ones(2, 3, 12, dtype=dtype), offset=5001)
### END HIDDEN TESTS

# %% variants="RotaryPositions"
# fmt: off
right("loops", '''
class RotaryPositions(nn.Module):
    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        if head_dim <= 0 or head_dim % 2 != 0 or base <= 1:
            raise ValueError("head_dim or base")
        self.head_dim, self.base = head_dim, base

    def forward(self, x, *, offset=0):
        if offset < 0:
            raise ValueError(offset)
        rows = []
        for place in range(x.shape[-2]):
            entries = []
            for i in range(0, self.head_dim, 2):
                angle = (place + offset) / self.base ** (i / self.head_dim)
                a, b = x[..., place, i], x[..., place, i + 1]
                entries += [a * math.cos(angle) - b * math.sin(angle)]
                entries += [a * math.sin(angle) + b * math.cos(angle)]
            rows.append(torch.stack(entries, dim=-1))
        return torch.stack(rows, dim=-2)
''')
right("by tricks", '''
class RotaryPositions(nn.Module):
    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        if head_dim < 2 or head_dim % 2 or base <= 1.0:
            raise ValueError((head_dim, base))
        self.head_dim, self.base = head_dim, base

    def _angles(self, x, offset):
        if offset < 0:
            raise ValueError(offset)
        steps = torch.arange(x.size(-2), device=x.device) + offset
        return position_angles(steps, self.head_dim, base=self.base).repeat_interleave(2, dim=-1)

    def forward(self, x, *, offset=0):
        angles = self._angles(x, offset)
        quarter_turn = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
        return x * angles.cos().to(x) + quarter_turn * angles.sin().to(x)
''')
right("as in LLaMA", '''
class RotaryPositions(nn.Module):
    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        self.register_buffer("speeds", position_angles(torch.ones(1), head_dim, base=base)[0])

    def forward(self, x, *, offset=0):
        angles = torch.arange(offset, offset + x.size(-2))[:, None] * self.speeds
        turns = torch.polar(torch.ones_like(angles), angles)
        wide = x.to(angles.dtype).reshape(*x.shape[:-1], -1, 2)
        return torch.view_as_real(torch.view_as_complex(wide) * turns).flatten(-2).type_as(x)
''')
TURNED = "torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)"
PLACES = "torch.arange(offset, offset + x.size(-2), device=x.device)"
SINES = "sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)"
OF_EACH = "position_angles(positions, self.head_dim, base=self.base)"
RESULT = "return turned.flatten(-2)"
PAIR = "(x, y) becomes (x cos - y sin, x sin + y cos)."
for name, edits, hint in (
    ("turned the other way round", ((TURNED, "torch.stack((first * cos + second * sin, second * cos - first * sin), dim=-1)"),),
     f"You turn the other way round; {PAIR}"),
    ("sine and cosine swapped", ((TURNED, "torch.stack((first * sin - second * cos, first * cos + second * sin), dim=-1)"),),
     f"You swap sine and cosine; {PAIR}"),
    ("a sign forgotten", ((TURNED, "torch.stack((first * cos + second * sin, first * sin + second * cos), dim=-1)"),),
     f"You forget a sign; {PAIR}"),
    ("the second line takes the turned first entry", ((f"turned = {TURNED}",
        "first = first * cos - second * sin\n        turned = torch.stack((first, first * sin + second * cos), dim=-1)"),),
     "You take the first entry as turned for the second line; take it as it was."),
    ("offset not used", ((PLACES, PLACES.replace("offset, offset + ", "")),),
     "You do not use offset; the first token stands at position offset."),
    ("positions along the second dimension", ((PLACES, PLACES.replace("size(-2)", "size(min(1, x.dim() - 2))")),),
     "You count positions along the second dimension; count them along the last but one, x.size(-2)."),
    ("positions added, nothing turned", ((TURNED, "torch.stack((first + sin, second + cos), dim=-1)"),),
     f"You add positions; this layer turns: {PAIR}"),
    ("x as it came", ((RESULT, "return x + 0"),), f"You turn nothing; {PAIR}"),
    ("written into x", ((RESULT, "x[...] = turned.flatten(-2)\n        return x"),),
     "You write into the caller's x; write into a new tensor."),
    ("heads taken for sentences, by view", (("        first, second = x", "        shape, x = x.shape, x.view(-1, *x.shape[-2:])\n"
        "        first, second = x"), (RESULT, f"{RESULT}.view(shape)")),
     "You call view() on a tensor from transpose(); call reshape()."),
    ("a dimension too much", ((RESULT, f"{RESULT}[:, None]"),), "You return a dimension too many."),
):
    wrong(name, *edits, lost="one-hand", hint=hint)
KEPT = ("if getattr(self, 'kept', None) != (x.size(-2), offset):\n"
        "            self.kept = x.size(-2), offset\n"
        "            self.of_both = angles.sin().to(x.dtype), angles.cos().to(x.dtype)\n        ")
for name, edits, hint in (
    ("halves in place of neighbours", (("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
        (f"turned = {TURNED}", f"turned = {TURNED.replace('dim=-1', 'dim=-2')}")),
     "You pair entries i and i + head_dim / 2; here neighbours make a pair."),
    ("the turned entries laid one after the other", ((TURNED, TURNED.replace("dim=-1", "dim=-2")),),
     "You lay the turned halves one after the other; entries take turns: stack along the last dimension."),
    ("the base is fixed", ((", base=self.base", ""),), "You fix the base; hand self.base on to position_angles."),
    ("positions from 0 on in evaluation", ((PLACES, PLACES.replace("offset, offset", "offset * self.training, offset * self.training")),),
     "You use offset in training only; it counts in evaluation too."),
    ("always float32", ((RESULT, f"{RESULT}.float()"),), "You return float32; return the dtype of x."),
    ("float64, as the angles are", ((RESULT, f"{RESULT}.double()"),),
     "You return float64; cast the sines and cosines to the dtype of x."),
    ("sines kept for all dtypes", ((SINES, f"{KEPT}sin, cos = self.of_both"),),
     "You keep sines of one dtype for all; another needs its own."),
    ("digits kept for all dtypes", ((SINES, f"{KEPT}sin, cos = (each.to(x.dtype) for each in self.of_both)"),),
     "You keep sines of one dtype for all; another needs its own digits."),
    ("sines kept for all lengths", ((SINES, KEPT.replace("x.size(-2), offset", "x.dtype, offset") + "sin, cos = self.of_both"),),
     "You keep sines of one length for all; another needs its own."),
    ("angles in the dtype of x", ((OF_EACH, OF_EACH.replace("self.base", "self.base, dtype=x.dtype")),),
     "You compute angles in half precision; compute them in float64, and cast their sines and cosines."),
    ("float16 taken for exact enough", ((OF_EACH, OF_EACH.replace("self.base",
        "self.base, dtype=torch.float32 if x.dtype == torch.bfloat16 else x.dtype")),),
     "You compute angles in half precision; compute them in float64, and cast their sines and cosines."),
    ("float32 angles for float64", ((OF_EACH, OF_EACH.replace("self.base", "self.base, dtype=torch.float32")),),
     "You compute the angles in float32, which far from the start has few digits; take float64."),
    ("every pair at the first one's angle", ((SINES, f"angles = angles[:, :1]\n        {SINES}"),),
     "You turn every pair by the first hand's angle; pair i turns by the angle of hand i."),
    ("x detached", (("        first, second = x", "        x = x.detach()\n        first, second = x"),),
     "You cut the gradient of x: detach(), .data and no_grad() do; leave them out."),
):
    wrong(name, *edits, lost="all-hands", hint=hint)
same("device=x.device", "where a tensor is made matters on a GPU only")
same("x[..., ::2]", "the same slice")
# fmt: on

# %% [markdown]
# ## Part 2: the feed-forward layer
#
# Attention carries; this layer thinks, each token for itself: widen, bend, bring back. `F.relu`,
# `F.gelu` and `F.silu` give you the functions; look up `approximate` for `"gelu_tanh"`. Dropout acts
# on the *inner* activations, in training only: `nn.Dropout` takes care of that.


# %% solution="FeedForward" of="course_lib.layers.feed_forward" withholds="course_lib.layers.feed_forward.GatedFeedForward"
class FeedForward:
    """Widen each token's vector, bend it, bring it back: ``W2 f(W1 x + b1) + b2``.

    ``up_projection`` is an ``nn.Linear(d_model, d_ff)``, ``down_projection`` one that leads back;
    ``bias`` says whether they have biases. ``activation`` is "relu", "gelu", "gelu_tanh" or "silu";
    any other raises ValueError. ``dropout`` is the share of the inner activations that training
    sets to zero.
    """

    def forward():
        """Return the result for each token of ``x``, ``(..., d_model)``."""


# %% test="FeedForward-values" points=1 read="feed-forward#the-formula"
# Widen, bend, bring back
layer = FeedForward(1, 2).eval()
state = {"up_projection.weight": torch.tensor([[1.0], [-1.0]])}  # all else is zero
state["down_projection.weight"] = torch.tensor([[1.0, 1.0]])  # max(0, x) + max(0, -x) = |x|
load_parameters(layer, state | {"down_projection.bias": torch.tensor([-0.5])})
x = torch.tensor([[3.0], [-2.0], [-4.0]])
assert_close(layer(x), torch.tensor([[2.5], [1.5], [3.5]]))  # |x| - 0.5
assert_raises(ValueError, FeedForward, 1, 2, activation="swish")
### BEGIN HIDDEN TESTS
x = torch.randn(2, 3, 6)
for activation in ("relu", "gelu", "gelu_tanh", "silu"):
    layer = FeedForward(6, 10, activation=activation).eval()
    ours = reference.FeedForward(6, 10, activation=activation).eval()
    assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
    load_parameters(layer, ours)
    assert_matches(layer, ours, x)
weights = {"up_projection.weight": (10, 6), "down_projection.weight": (6, 10)}
assert_parameters(FeedForward(6, 10, bias=False), weights)
layer.train()  # with silu, which has no kink
assert_gradients(lambda x: call_beside(call_without_dropout, layer, x), x, module=layer)
layer.eval()
assert_accepts_noncontiguous(layer, x)
assert_matches(layer, ours, x[0, 0])
assert_keeps_inputs(layer, x)
for name in ("swish", "RELU", ""):
    assert_raises(ValueError, FeedForward, 4, 8, activation=name)
### END HIDDEN TESTS

# %% test="FeedForward-dropout" points=1 read="feed-forward#the-formula"
# In training, and only then, dropout sets inner activations to zero and scales the others up
layer, ones = FeedForward(64, 64, dropout=0.2), torch.ones(64)
state = {"up_projection.bias": ones, "down_projection.bias": ones}  # each inner activation is 1,
load_parameters(layer, state | {"down_projection.weight": torch.eye(64)})  # and 1 is added
x = torch.zeros(50, 64)
# Dropped, an activation leaves the bias alone, 1. Kept, it is 1 / (1 - 0.2) = 1.25, and the bias.
for output, values in ((layer.eval()(x), [2.0]), (layer.train()(x), [1.0, 2.25])):
    assert_equal(sorted({round(v, 2) for v in output.flatten().tolist()}), values, what="values")
### BEGIN HIDDEN TESTS
dropped = [(layer(x) == 1).float() for _ in range(2)]
assert_equal(bool(0.15 < dropped[0].mean() < 0.25), True, what="whether a fifth is dropped")
others = (dropped[1], dropped[0][:1], dropped[0][:, :1])
is_new = not any((dropped[0] == other).all() for other in others)
assert_equal(is_new, True, what="whether each call, token and activation is dropped by itself")
layer, x = FeedForward(64, 64, activation="gelu", dropout=0.5), torch.ones(50, 64)
eye = torch.eye(64)
load_parameters(layer, {"up_projection.weight": eye, "down_projection.weight": eye})
for output, values in ((layer.eval()(x), [0.84]), (layer.train()(x), [0.0, 1.68])):  # twice F.gelu
    assert_equal(sorted({round(v, 2) for v in output.flatten().tolist()}), values, what="values")
layer = FeedForward(4, 8)
x = torch.randn(50, 4)
is_same = bool((layer.train()(x) == layer.eval()(x)).all())
assert_equal(is_same, True, what="whether nothing is dropped unless dropout is given")
### END HIDDEN TESTS

# %% variants="FeedForward"
# fmt: off
right("loops", '''
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0, bias=True):
        super().__init__()
        if min(d_model, d_ff) < 1:
            raise ValueError("sizes")
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        elif activation == "gelu_tanh":
            self.activation = nn.GELU("tanh")
        elif activation == "silu":
            self.activation = nn.SiLU()
        else:
            raise ValueError(activation)
        self.up_projection = nn.Linear(d_model, d_ff, bias)
        self.down_projection = nn.Linear(d_ff, d_model, bias)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = self.up_projection(x)
        x = self.activation(x)
        x = self.dropout(x)
        x = self.down_projection(x)
        return x
''')
right("by tricks", '''
class FeedForward(nn.Module):
    FUNCTIONS = {
        "relu": torch.relu,
        "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
        "gelu_tanh": lambda x: x / 2 * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
        "silu": lambda x: x * torch.sigmoid(x),
    }

    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0, bias=True):
        super().__init__()
        if activation not in self.FUNCTIONS or d_model < 1 or d_ff < 1:
            raise ValueError((d_model, d_ff, activation))
        self.activation = self.FUNCTIONS[activation]
        self.drop = nn.Dropout(dropout)
        self.up_projection = nn.Linear(d_model, d_ff, bias)
        self.down_projection = nn.Linear(d_ff, d_model, bias)

    def forward(self, x):
        inner = self.activation(F.linear(x, self.up_projection.weight, self.up_projection.bias))
        return F.linear(self.drop(inner), self.down_projection.weight, self.down_projection.bias)
''')
INNER = "self.activation(self.up_projection(x))"
OUTER = "self.down_projection(self.dropout(inner))"
BEGIN = "        inner = self.act"
for name, edits, hint in (
    ("nothing bends", ((INNER, "self.up_projection(x)"),), "You bend nothing; apply the activation between the two."),
    ("bent after the down_projection", ((INNER, "self.up_projection(x)"), (OUTER, f"self.activation({OUTER})")),
     "You bend after down_projection; the activation comes before it."),
    ("bent twice", ((OUTER, f"self.activation({OUTER})"),), "You bend twice; nothing comes after down_projection."),
    ("residual added here", ((OUTER, f"x + {OUTER}"),), "You add x, which is another layer's business; leave it out."),
    ("gelu and its approximation swapped", (('"gelu":', '"other":'), ('"gelu_tanh":', '"gelu":'), ('"other":', '"gelu_tanh":')),
     "You exchange gelu and its approximation; gelu_tanh has approximate=\"tanh\"."),
    ("always relu", (("_FUNCTIONS[activation]", "F.relu"),), "You always bend by relu; use activation."),
    ("gelu_tanh forgets approximate", (('partial(F.gelu, approximate="tanh")', "F.gelu"),),
     "You take gelu for gelu_tanh; give it approximate=\"tanh\"."),
    ("silu is a sigmoid", (('"silu": F.silu', '"silu": torch.sigmoid'),), "You take the sigmoid for silu; it is x times the sigmoid of x."),
    ("an unknown function becomes relu", (("_FUNCTIONS[activation]", "_FUNCTIONS.get(activation, F.relu)"),
        ("if activation not in _FUNCTIONS:", "if False:")),
     "You accept an unknown activation; raise ValueError."),
    ("an unknown function raises KeyError", (("if activation not in _FUNCTIONS:", "if False:"),),
     "You let an unknown activation end in KeyError; raise ValueError."),
    ("one row a token, by view", ((BEGIN, f"        shape, x = x.shape, x.view(-1, x.size(-1))\n{BEGIN}"),
        (OUTER, f"{OUTER}.view(shape)")), "You call view() on tensors that may not be contiguous; call reshape()."),
    ("one token alone not thought of", ((BEGIN, f"        _, *_, width = x.shape\n{BEGIN}"),),
     "You expect two dimensions or more; x is (..., d_model), one token alone included."),
    ("other names", (("self.up_projection = ", "self.first = "), ("self.down_projection = ", "self.second = "),
        (INNER, "self.activation(self.first(x))"), (OUTER, "self.second(self.dropout(inner))")),
     "You call the two layers by other names; use up_projection and down_projection."),
    ("a bias left out", (("(d_ff, d_model, bias=bias)", "(d_ff, d_model, bias=False)"),),
     "You leave out a bias; hand bias on to both nn.Linear."),
    ("always with biases", (("(d_model, d_ff, bias=bias)", "(d_model, d_ff)"), ("(d_ff, d_model, bias=bias)", "(d_ff, d_model)")),
     "You do not hand bias on; both nn.Linear get it."),
    ("no biases where nothing is said", (("bias: bool = True", "bias: bool = False"),),
     "You change a default; keep the signature as it is."),
    ("detached", (("self.dropout(inner)", "self.dropout(inner.detach())"),),
     "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
    ("detached in training", (("self.dropout(inner)", "self.dropout(inner.detach() if self.training else inner)"),),
     "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
):
    wrong(name, *edits, lost="values", hint=hint)
ANEW = "You drop the same again; draw for each call, each token and each activation: nn.Dropout does."
for name, edits, hint in (
    ("dropout in evaluation too", ((OUTER, "self.down_projection(F.dropout(inner, self.dropout.p))"),),
     "You drop in evaluation too; give F.dropout training=self.training, or use nn.Dropout."),
    ("no dropout at all", ((OUTER, "self.down_projection(inner)"),), "You drop nothing; dropout acts on the inner activations."),
    ("dropout on the output", ((OUTER, "self.dropout(self.down_projection(inner))"),),
     "You drop the output; dropout acts on the inner activations."),
    ("dropout on the input", ((INNER, "self.activation(self.up_projection(self.dropout(x)))"), (OUTER, "self.down_projection(inner)")),
     "You drop the input; dropout acts on the inner activations."),
    ("dropout on the input as well", ((INNER, "self.activation(self.up_projection(self.dropout(x)))"),),
     "You drop the input as well; dropout acts once, on the inner activations."),
    ("dropout before the activation", ((INNER, "self.activation(self.dropout(self.up_projection(x)))"), (OUTER, "self.down_projection(inner)")),
     "You drop before the activation; dropout comes after it."),
    ("dropout drawn once for all tokens", ((OUTER, "self.down_projection(inner * self.dropout(torch.ones_like(inner[0])))"),), ANEW),
    ("dropout of whole tokens", ((OUTER, "self.down_projection(inner * self.dropout(torch.ones_like(inner[..., :1])))"),), ANEW),
    ("dropout drawn once and kept", ((f"return {OUTER}",
        "if self.training and getattr(self, 'kept', inner[:0]).shape != inner.shape:\n"
        "            self.kept = self.dropout(torch.ones_like(inner))\n"
        "        return self.down_projection(inner * self.kept if self.training else inner)"),), ANEW),
    ("dropout that does not scale up", ((f"return {OUTER}", "scale = 1 - self.dropout.p if self.training else 1\n"
        "        return self.down_projection(scale * self.dropout(inner))"),),
     "You leave kept activations as they are; scale them up by 1 / (1 - dropout), as nn.Dropout does."),
    ("dropout fixed at a tenth", (("nn.Dropout(dropout)", "nn.Dropout(0.1)"),), "You fix the share; hand dropout on."),
    ("dropout fixed at a half", (("nn.Dropout(dropout)", "nn.Dropout(0.5)"),), "You fix the share; hand dropout on."),
    ("the share that is kept", (("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),),
     "You take dropout for the share that is kept; it is the share that is dropped."),
    ("all is dropped where no share is given", (("nn.Dropout(dropout)", "nn.Dropout(dropout or 1.0)"),),
     "You drop where no share is given; dropout starts at 0."),
    ("a tenth where no share is given", (("nn.Dropout(dropout)", "nn.Dropout(dropout or 0.1)"),),
     "You drop where no share is given; dropout starts at 0."),
):
    wrong(name, *edits, lost="dropout", hint=hint)
same("check_at_least(", "errors are tested in position_angles and FeedForward only")
# fmt: on

# %% [markdown]
# ## Part 3: normalisation
#
# Normalisation takes each token's vector *by itself*, moves its mean to 0, scales its variance to 1,
# and gives the model two dials an entry, a weight $g$ and a bias $b$. With $d$ for `d_model`,
#
# $$y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot g + b, \qquad
# \mu = \frac1d \sum_j x_j, \qquad \sigma^2 = \frac1d \sum_j (x_j - \mu)^2.$$
#
# `rms_norm` subtracts no mean and adds no bias: it divides by the root of the mean square plus
# $\varepsilon$ ([RMSNorm: half of it is enough](book:layer-normalization#rms-norm)). **The rule:** write both out; a function that
# calls PyTorch's `LayerNorm`, `RMSNorm`, `layer_norm`, `rms_norm`, `group_norm`, `instance_norm` or `batch_norm` loses its points.


# %% solution="layer_norm" of="course_lib.layers.normalization" forbids="torch.nn.LayerNorm torch.nn.functional.layer_norm torch.layer_norm torch.nn.RMSNorm torch.nn.functional.rms_norm torch.rms_norm torch.nn.functional.group_norm torch.nn.functional.instance_norm torch.nn.functional.batch_norm" withholds="course_lib.layers.normalization.RMSNorm"
def layer_norm():
    """Normalise each token of ``x``, ``(..., d_model)``; scale it by weight and add bias."""


# %% test="layer_norm-values" points=1 read="layer-normalization#which-mean"
# Each token has mean 0 and variance 1, then a weight and a bias
x = torch.tensor([[[1.0, 3.0], [10.0, 30.0]]])  # means 2 and 20, deviations 1 and 10
weight, bias = torch.tensor([2.0, 4.0]), torch.tensor([5.0, 7.0])
# Normalised, both tokens are -1 and 1; times 2 and 4, plus 5 and 7.
assert_close(layer_norm(x, weight, bias), torch.tensor([[[3.0, 11.0], [3.0, 11.0]]]))
assert_keeps_inputs(layer_norm, x, weight, bias)
### BEGIN HIDDEN TESTS
weight, bias = torch.randn(5), torch.randn(5)
for shape in ((3, 5), (2, 3, 5), (2, 2, 3, 5), (5,)):
    x = torch.randn(shape) + torch.tensor([10.0, 0, 0, 0, 0])  # no variance is small
    for dtype in (torch.float32, torch.float64):
        inputs = (t.to(dtype) for t in (x, weight, bias))
        assert_matches(layer_norm, reference.layer_norm, *inputs)
x = torch.randn(2, 3, 5)
assert_accepts_noncontiguous(layer_norm, x, weight, bias)
assert_gradients(layer_norm, x, weight, bias)
assert_keeps_inputs(layer_norm, x, weight, bias)
### END HIDDEN TESTS

# %% test="layer_norm-eps" points=1 read="layer-normalization#which-mean"
# Epsilon is added to the variance, under the root
x = torch.tensor([[-2.0, 2.0], [4.0, 4.0]])  # variances 4 and 0: with an eps of 5 the roots are 3
expected = torch.tensor([[-2 / 3, 2 / 3], [0.0, 0.0]])  # and the root of 5
assert_close(layer_norm(x, torch.ones(2), torch.zeros(2), eps=5.0), expected)
### BEGIN HIDDEN TESTS
x, weight, bias = torch.randn(6, 8), torch.ones(8), torch.zeros(8)
assert_matches(layer_norm, reference.layer_norm, x, weight, bias, eps=2.0 + float(torch.rand(())))
assert_matches(layer_norm, reference.layer_norm, 3e-3 * x, weight, bias)  # variances like eps
constants = 10 * (1 + torch.rand(400, 1)).expand(400, 8)[:, :7]
output = layer_norm(constants, weight[:7], bias[:7])
assert_equal(bool(output.isfinite().all()), True, what="whether constant vectors stay finite")
assert_gradients(lambda x: layer_norm(x, weight, bias, eps=1.0), torch.full((2, 3, 8), 5.0))
### END HIDDEN TESTS

# %% variants="layer_norm"
# fmt: off
right("loops", '''
def layer_norm(x, weight, bias, *, eps=1e-5):
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        d = len(token)
        mean = sum(token) / d
        variance = sum((entry - mean) ** 2 for entry in token) / d if d < 100 else token.var(
            unbiased=False
        )
        rows.append(weight * (token - mean) / (variance + eps) ** 0.5 + bias)
    return torch.stack(rows).reshape(x.shape)
''')
right("by tricks", '''
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    wide = x.double()
    centred = wide - wide.mean(-1, keepdim=True)
    norm = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
    normal = centred / torch.sqrt(norm**2 / x.size(-1) + eps)
    return (normal * weight + bias).to(x.dtype)
''')
MEAN = "mean = x.mean(dim=-1, keepdim=True)"
VARIANCE = "(x - mean).square().mean(dim=-1, keepdim=True)"
ROOT = "torch.sqrt(variance + eps)"
NORMAL = f"(x - mean) / {ROOT} * weight + bias"
LAST = "let them run over the last dimension alone."
for name, edits, hint in (
    ("unbiased variance", ((VARIANCE, "x.var(dim=-1, keepdim=True)"),),
     "You divide the variance by d_model - 1; divide it by d_model: correction=0."),
    ("one row a token, by view", ((MEAN, "mean = x.view(-1, x.size(-1)).mean(dim=-1).view(*x.shape[:-1], 1)"),),
     "You call view() on tensors that may not be contiguous; call reshape()."),
    ("one token alone not thought of", (("    mean = ", "    _, *_, width = x.shape\n    mean = "),),
     "You expect two dimensions or more; x is (..., d_model), one token alone included."),
    ("the root forgotten", ((ROOT, "(variance + eps)"),), "You divide by the variance; divide by its root."),
    ("the mean not subtracted", ((NORMAL, NORMAL.replace("(x - mean)", "x")),),
     "You do not subtract the mean; divide x - mean."),
    ("the mean square for the variance", ((VARIANCE, "x.square().mean(dim=-1, keepdim=True)"),),
     "You take the mean square for the variance; subtract the mean before you square."),
    ("over the tokens", ((MEAN, MEAN.replace("-1", "-2")), (VARIANCE, VARIANCE.replace("-1", "-2"))),
     f"You let means run over the tokens; {LAST}"),
    ("over tokens and entries", ((MEAN, MEAN.replace("-1", "(-2, -1)")), (VARIANCE, VARIANCE.replace("-1", "(-2, -1)"))),
     f"You let means run over tokens and entries; {LAST}"),
    ("over the whole batch", ((MEAN, "mean = x.mean()"), (VARIANCE, "(x - mean).square().mean()")),
     f"You let means run over the whole batch; {LAST}"),
    ("over the sentences", ((MEAN, MEAN.replace("-1", "0")), (VARIANCE, VARIANCE.replace("-1", "0"))),
     f"You let means run over the sentences; {LAST}"),
    ("keepdim forgotten", ((MEAN, "mean = x.mean(dim=-1)"), (VARIANCE, "(x - mean).square().mean(dim=-1)")),
     "You lose the last dimension of the means, so they meet the wrong tokens; keepdim=True keeps it."),
    ("the variance not divided out", ((NORMAL, "(x - mean) * weight + bias"),), "You do not divide by the root of the variance."),
    ("weight and bias forgotten", ((" * weight + bias", ""),), "You use neither weight nor bias; multiply, then add."),
    ("weight forgotten", ((" * weight", ""),), "You do not use weight; multiply by it before you add the bias."),
    ("bias forgotten", ((" + bias", ""),), "You do not use bias; add it at the end."),
    ("weight and bias exchanged", ((" * weight + bias", " * bias + weight"),), "You exchange weight and bias."),
    ("bias before weight", ((NORMAL, f"((x - mean) / {ROOT} + bias) * weight"),), "You add the bias before you multiply; multiply first."),
    ("the weight on the bias", ((NORMAL, f"(x - mean) / {ROOT} + weight * bias"),),
     "You multiply the bias by the weight; multiply the normalised vector."),
    ("x centred in place", ((VARIANCE, "x.sub_(mean).square().mean(dim=-1, keepdim=True)"), (NORMAL, f"x / {ROOT} * weight + bias")),
     "You change the caller's x; x -= mean and x.sub_(mean) do, x - mean makes a new tensor."),
    ("always float32", ((".to(dtype)", ".float()"),),
     "You cast to float32; keep the dtype of x."),
    ("the spread detached", ((ROOT, "torch.sqrt(variance.detach() + eps)"),),
     "You cut a part of the gradient: detach(), .data and no_grad() do; leave them out."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("eps outside the root", ((ROOT, "(torch.sqrt(variance) + eps)"),), "You add eps to the root; add it to the variance, under the root."),
    ("the deviation, and then its square", ((ROOT, "torch.sqrt(variance.sqrt() ** 2 + eps)"),),
     "You take a root of the variance without eps, which has no slope at 0; add eps first."),
    ("squares first", ((VARIANCE, "x.square().mean(dim=-1, keepdim=True) - mean.square()"),),
     "You take E[x^2] - E[x]^2, which may fall below zero; subtract the mean before you square."),
    ("no eps", ((ROOT, "torch.sqrt(variance)"),), "You do not use eps; add it to the variance, under the root."),
    ("eps fixed", ((ROOT, "torch.sqrt(variance + 1e-5)"),), "You fix eps; use the argument."),
    ("eps a floor", ((ROOT, "torch.sqrt(variance.clamp(min=eps))"),), "You use eps as the least variance; add it to the variance."),
    ("eps squared", ((ROOT, "torch.sqrt(variance + eps**2)"),), "You square eps; add it as it is."),
    ("another eps at the start", (("eps: float = 1e-5", "eps: float = 1e-3"),), "You start with another eps; it is 1e-5 unless given."),
):
    wrong(name, *edits, lost="eps", hint=hint)
same("x = x.to(torch.promote_types(", "no promise is made of float16")
# fmt: on


# %% solution="rms_norm" of="course_lib.layers.normalization" forbids="torch.nn.LayerNorm torch.nn.functional.layer_norm torch.layer_norm torch.nn.RMSNorm torch.nn.functional.rms_norm torch.rms_norm torch.nn.functional.group_norm torch.nn.functional.instance_norm torch.nn.functional.batch_norm" withholds="course_lib.layers.normalization.RMSNorm"
def rms_norm():
    """Divide each token of ``x`` by the root of its mean square plus eps; scale it by weight."""


# %% test="rms_norm-values" points=1 read="layer-normalization#rms-norm"
# Each token has mean square 1, then a weight; its mean is left alone
x = torch.tensor([[[3.0, 3.0], [-5.0, 5.0]]])  # mean squares 9 and 25, roots 3 and 5
weight = torch.tensor([2.0, 10.0])
assert_close(rms_norm(x, weight), torch.tensor([[[2.0, 10.0], [-2.0, 10.0]]]))
assert_keeps_inputs(rms_norm, x, weight)
### BEGIN HIDDEN TESTS
x, weight = torch.randn(2, 3, 6) + 1, torch.randn(6)
x[0, 0] = 0.0  # its mean square is 0: only eps is left
for inputs in (x, x[0], x[1, 1], x.double(), 1e-3 * x):
    for how in ({}, {"eps": 2.0}):
        assert_matches(rms_norm, reference.rms_norm, inputs, weight.to(inputs.dtype), **how)
assert_accepts_noncontiguous(rms_norm, x, weight)
assert_gradients(rms_norm, torch.randn(2, 3, 6), weight)
assert_gradients(lambda x: rms_norm(x, weight, eps=1.0), 0 * x)
assert_keeps_inputs(rms_norm, x, weight)
### END HIDDEN TESTS

# %% variants="rms_norm"
# fmt: off
right("loops", '''
def rms_norm(x, weight, *, eps=1e-6):
    rows = [
        token / torch.sqrt(token @ token / len(token) + eps) * weight
        for token in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)
''')
right("by tricks", '''
def rms_norm(x, weight, *, eps=1e-6):
    norm = x.norm(dim=-1, keepdim=True)
    return weight * x / torch.hypot(norm / x.size(-1) ** 0.5, torch.tensor(eps**0.5).to(x))
''')
right("as in LLaMA", '''
def rms_norm(x, weight, *, eps=1e-6):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * root).type_as(x) * weight
''')
SQUARE = "x.square().mean(dim=-1, keepdim=True)"
ROOT = "torch.sqrt(mean_square + eps)"
RESULT = f"x / {ROOT} * weight"
BEGIN = "    mean_square ="
LAST = "let it run over the last dimension alone."
for name, edits, hint in (
    ("the mean subtracted", ((RESULT, f"(x - x.mean(-1, keepdim=True)) / {ROOT} * weight"),), "You subtract the mean; here it stays."),
    ("the deviation", ((SQUARE, "x.var(dim=-1, keepdim=True, correction=0)"),),
     "You divide by the deviation; divide by the root of the mean square."),
    ("no weight", ((" * weight", ""),), "You do not use weight; multiply by it."),
    ("one row a token, by view", ((BEGIN, f"    shape, x = x.shape, x.view(-1, x.size(-1))\n{BEGIN}"),
        (f"({RESULT})", f"({RESULT}).view(shape)")),
     "You call view() on tensors that may not be contiguous; call reshape()."),
    ("one token alone not thought of", ((BEGIN, f"    _, *_, width = x.shape\n{BEGIN}"),),
     "You expect two dimensions or more; x is (..., d_model), one token alone included."),
    ("the root forgotten", ((ROOT, "(mean_square + eps)"),), "You forget the root; divide by the root of the mean square."),
    ("eps outside", ((ROOT, "(torch.sqrt(mean_square) + eps)"),), "You add eps to the root; add it to the mean square."),
    ("the norm", ((SQUARE, SQUARE.replace("mean", "sum")),), "You divide by the norm; divide by the root of the mean square."),
    ("over the tokens", ((SQUARE, SQUARE.replace("-1", "-2")),), f"You let the mean run over the tokens; {LAST}"),
    ("over everything", ((SQUARE, "x.square().mean()"),), f"You let the mean run over all tokens; {LAST}"),
    ("keepdim forgotten", ((SQUARE, "x.square().mean(dim=-1)"),),
     "You lose the last dimension of the means, so they meet the wrong tokens; keepdim=True keeps it."),
    ("the root, and then its square", ((ROOT, "torch.sqrt(mean_square.sqrt() ** 2 + eps)"),),
     "You take a root without eps, which has no slope at 0; add eps first."),
    ("no eps", ((ROOT, "torch.sqrt(mean_square)"),), "You do not use eps; add it to the mean square."),
    ("eps fixed", ((ROOT, "torch.sqrt(mean_square + 1e-6)"),), "You fix eps; use the argument."),
    ("eps fixed at 1e-5", ((ROOT, "torch.sqrt(mean_square + 1e-5)"),), "You fix eps; use the argument."),
    ("another eps at the start", (("eps: float = 1e-6", "eps: float = 1e-5"),), "You start with another eps; it is 1e-6 unless given."),
    ("the mean of the sizes", ((SQUARE, "x.abs().mean(dim=-1, keepdim=True).square()"),),
     "You average sizes; average the squares, then take the root."),
    ("x divided in place", ((RESULT, f"x.div_({ROOT}) * weight"),),
     "You change the caller's x; x /= ... and x.div_(...) do, x / ... makes a new tensor."),
    ("weight under the root", ((RESULT, "x / torch.sqrt((mean_square + eps) / weight)"),),
     "You put the weight under the root; multiply by it outside."),
    ("always float32", ((".to(dtype)", ".float()"),), "You cast to float32; keep the dtype of x."),
    ("each root a plain number", ((RESULT, "torch.stack([t / math.sqrt(float(t @ t) / len(t) + eps) * weight\n"
        "        for t in x.reshape(-1, x.shape[-1])]).reshape(x.shape)"),),
     "You cut a part of the gradient: .item(), float() and detach() do; leave them out."),
):
    wrong(name, *edits, lost="values", hint=hint)
# fmt: on


# %% solution="LayerNorm" of="course_lib.layers.normalization"
class LayerNorm:
    """Keep weight and bias, ``(d_model,)``, as parameters that at first change nothing."""

    def forward():
        """Normalise each token of ``x``: call your ``layer_norm`` or ``F.layer_norm``."""


# %% test="LayerNorm-parameters" points=1 read="layer-normalization#which-mean"
# Weight and bias are parameters that start by changing nothing
layer, x = LayerNorm(2), torch.tensor([[1.0, 3.0], [30.0, 10.0]])
assert_parameters(layer, {"weight": (2,), "bias": (2,)})
assert_close(layer(x), torch.tensor([[-1.0, 1.0], [1.0, -1.0]]), what="result at the start")
load_parameters(layer, {"weight": torch.tensor([2.0, 4.0]), "bias": torch.tensor([5.0, 7.0])})
assert_close(layer(x), torch.tensor([[3.0, 11.0], [7.0, 3.0]]))
### BEGIN HIDDEN TESTS
for how in ({}, {"eps": 3.0}):
    layer, ours = LayerNorm(5, **how), reference.LayerNorm(5, **how)
    assert_parameters(layer, {"weight": (5,), "bias": (5,)})
    for x in (torch.randn(2, 3, 5) + 1, 3e-3 * torch.randn(2, 5), torch.randn(5)):
        assert_matches(layer, ours, x)
    load_parameters(ours, {"weight": 1 + torch.rand(5), "bias": torch.rand(5)})
    load_parameters(layer, ours)
    x = torch.randn(2, 3, 5) + 1
    for training in (True, False):
        assert_matches(layer.train(training), ours, x)
        assert_matches(layer, ours, x[:1])
    assert_accepts_noncontiguous(layer, x)
    assert_gradients(layer, torch.randn(2, 3, 5))
    assert_matches(layer.double(), ours.double(), x.double())
### END HIDDEN TESTS

# %% variants="LayerNorm"
# fmt: off
right("loops", '''
class LayerNorm(nn.Module):
    def __init__(self, d_model, *, eps=1e-5):
        super().__init__()
        if d_model <= 0 or eps <= 0:
            raise ValueError("positive, please")
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.full((d_model,), 1.0)))
        self.register_parameter("bias", nn.Parameter(torch.full((d_model,), 0.0)))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.weight * centred / (centred**2).mean(-1, keepdim=True).add(self.eps).sqrt() + (
            self.bias
        )
''')
right("by tricks", '''
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        for value in (d_model, eps):
            if value <= 0:
                raise ValueError(value)
        self.weight = nn.Parameter(torch.zeros(d_model) + 1)
        self.bias = nn.Parameter(torch.empty(d_model).fill_(0))
        self.eps = eps

    def forward(self, x):
        shape = self.weight.shape
        return nn.functional.layer_norm(x, shape, self.weight, self.bias, eps=self.eps)
''')
FUSED = "F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)"
ONES, ZEROS = "nn.Parameter(torch.ones(d_model))", "nn.Parameter(torch.zeros(d_model))"
PARAMETERS = "make it an nn.Parameter, which alone is trained and saved."
EACH = "each token has a mean and a variance of its own."
for name, edits, hint in (
    ("weight starts at 0", ((ONES, "nn.Parameter(0 * torch.ones(d_model))"),), "You start weight at 0; at 1 it changes nothing."),
    ("bias starts at 1", ((ZEROS, "nn.Parameter(torch.full((d_model,), 1.0))"),), "You start bias at 1; at 0 it changes nothing."),
    ("random weight", ((ONES, "nn.Parameter(torch.randn(d_model))"),), "You draw weight at random; at 1 it changes nothing."),
    ("weight and bias are no parameters", ((ONES, "torch.ones(d_model)"), (ZEROS, "torch.zeros(d_model)")),
     f"You keep weight and bias as plain tensors; {PARAMETERS}"),
    ("the weight is no parameter", ((ONES, "torch.ones(d_model)"),), f"You keep weight as a plain tensor; {PARAMETERS}"),
    ("the bias is no parameter", ((ZEROS, "torch.zeros(d_model)"),), f"You keep bias as a plain tensor; {PARAMETERS}"),
    ("a buffer in place of a parameter", ((f"self.weight = {ONES}", 'self.register_buffer("weight", torch.ones(d_model))'),),
     f"You keep weight as a buffer; {PARAMETERS}"),
    ("means over the whole batch", ((FUSED, "F.layer_norm(x, x.shape, eps=self.eps) * self.weight + self.bias"),),
     f"You let means run over the whole batch; {EACH}"),
    ("in evaluation by the mean and variance of training", ((f"return {FUSED}", "if self.training:\n"
        f"            self.mean, self.variance = x.detach().mean(), x.detach().var()\n            return {FUSED}\n"
        "        return (x - self.mean) / (self.variance + self.eps).sqrt() * self.weight + self.bias"),),
     f"You keep the mean and variance of the last x in training; {EACH}"),
    ("the mean stays", ((FUSED, "F.rms_norm(x, x.shape[-1:], self.weight, self.eps) + self.bias"),),
     "You do not subtract the mean; use the formula of layer_norm."),
    ("unbiased variance", ((FUSED, "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + self.eps).sqrt() * self.weight"
        " + self.bias"),), "You divide the variance by d_model - 1; divide it by d_model: correction=0."),
    ("other names", (("self.weight = ", "self.gain = "), (FUSED, "F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)")),
     "You call weight by another name; use weight and bias."),
    ("one weight for all entries", ((ONES, "nn.Parameter(torch.ones(1))"),
        (FUSED, "F.layer_norm(x, x.shape[-1:], self.weight.expand(x.size(-1)), self.bias, self.eps)")),
     "You keep one weight for all entries; each entry has its own."),
    ("weight forgotten in forward", ((FUSED, FUSED.replace("self.weight, self.bias", "None, self.bias")),), "You do not use weight; hand it on in forward."),
    ("bias forgotten in forward", ((FUSED, FUSED.replace("self.bias", "None")),), "You do not use bias; hand it on in forward."),
    ("eps not handed on", ((FUSED, FUSED.replace(", self.eps", "")),), "You do not use eps; hand it on in forward."),
    ("another eps at the start", (("eps: float = 1e-5", "eps: float = 1e-3"),), "You start with another eps; it is 1e-5 unless given."),
    ("always float32", ((FUSED, "layer_norm(x.float(), self.weight.float(), self.bias.float(), eps=self.eps)"),), "You cast to float32; keep the dtype of x."),
    ("one row a token, by view", ((FUSED, f"{FUSED.replace('(x,', '(x.view(-1, x.size(-1)),')}.view(x.shape)"),),
     "You call view() on tensors that may not be contiguous; call reshape()."),
    ("one token alone not thought of", ((f"return {FUSED}", f"_, *_, width = x.shape\n        return {FUSED}"),),
     "You expect two dimensions or more; x is (..., d_model), one token alone included."),
    ("detached", ((FUSED, FUSED.replace("(x,", "(x.detach(),")),), "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
):
    wrong(name, *edits, lost="parameters", hint=hint)
for piece in ("eps must", "eps <", "_check_eps("):
    same(piece, "errors are tested in position_angles and FeedForward only")
# fmt: on

# %% [markdown]
# ### Backwards, by hand
#
# Write $\hat x = (x - \mu) / s$ with $s = \sqrt{\sigma^2 + \varepsilon}$, and $u$ for the gradient of
# $y$, `upstream`. The gradients of $g$ and $b$ are sums over *all* tokens. An entry of $x$ that moves
# takes mean and variance with it, and so all entries: with $v = u \odot g$,
#
# $$\frac{\partial L}{\partial x} = \frac1s \Big(v - \frac1d \sum_j v_j
#   - \hat x \, \frac1d \sum_j v_j \hat x_j\Big).$$
#
# See [The backward pass, by hand](book:layer-normalization#backward-by-hand). **The rule:** `torch.autograd`, `torch.func` and `backward` cost you the points.


# %% solution="layer_norm_backward" forbids="torch.autograd torch.func torch.Tensor.backward"
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    """Return the gradients of x, weight and bias of ``layer_norm``, in this order.

    ``upstream``, the gradient of its result, is of the shape of ``x``: ``(..., d_model)``.
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    root = torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + eps)  # (..., 1)
    normal = centred / root  # (..., d_model)
    tokens = (-1, x.size(-1))  # all tokens of all sentences below one another
    gain_gradient = (upstream * normal).reshape(tokens).sum(dim=0)  # (d_model,)
    bias_gradient = upstream.reshape(tokens).sum(dim=0)  # (d_model,)
    inner = upstream * weight  # (..., d_model), the gradient to the normalised vector
    through_mean = inner.mean(dim=-1, keepdim=True)  # (..., 1)
    through_variance = normal * (inner * normal).mean(dim=-1, keepdim=True)  # (..., d_model)
    return (inner - through_mean - through_variance) / root, gain_gradient, bias_gradient
    ### END SOLUTION


# %% test="layer_norm_backward-dials" points=1 read="layer-normalization#backward-by-hand"
# The gradients of weight and bias are sums over all tokens
x = torch.tensor([[1.0, 3.0], [30.0, 10.0]])  # normalised: -1 and 1, then 1 and -1
upstream = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
_, of_weight, of_bias = layer_norm_backward(upstream, x, torch.ones(2))
assert_close(of_weight, torch.tensor([2.0, -3.0]), what="gradient of weight")  # -1 + 3, 2 - 5
assert_close(of_bias, torch.tensor([4.0, 7.0]), what="gradient of bias")
### BEGIN HIDDEN TESTS
for shape, dtype in (((4,), torch.float32), ((3, 4), torch.float64), ((2, 3, 4), torch.float32)):
    x, upstream = torch.randn(2, *shape, dtype=dtype)
    given = upstream, x, 0.5 + torch.rand(4, dtype=dtype)
    _, *expected = reference.layer_norm_backward(*given, eps=0.5)
    _, *dials = layer_norm_backward(*given, eps=0.5)
    assert_equal(len(dials), 2, what="number of gradients besides that of x")
    for name, actual, gradient in zip(("weight", "bias"), dials, expected, strict=True):
        assert_close(actual, gradient, what=f"gradient of {name}")
### END HIDDEN TESTS

# %% test="layer_norm_backward-input" points=1 read="layer-normalization#backward-by-hand"
# The gradient of x goes through the mean and the variance as well
x, upstream = torch.tensor([[-1.0, 1.0]]), torch.tensor([[1.0, 0.0]])
weight = torch.tensor([2.0, 1.0])
# With an eps of 3, s is 2 and x normalised is -1/2 and 1/2. v is 2 and 0, its mean is 1, the mean of
# its products with x normalised is -1/2. So 2 - 1 - 1/4 and 0 - 1 + 1/4 are divided by s.
expected = torch.tensor([[0.375, -0.375]])
assert_close(layer_norm_backward(upstream, x, weight, eps=3.0)[0], expected, what="gradient of x")
### BEGIN HIDDEN TESTS
for shape, dtype in (((4, 5), torch.float64), ((2, 5), torch.float32), ((2, 3, 5), torch.float64)):
    x, upstream = torch.randn(2, *shape, dtype=dtype)
    given = upstream, x, 0.5 + torch.rand(5, dtype=dtype)
    expected = reference.layer_norm_backward(*given, eps=0.5)[0]
    assert_close(layer_norm_backward(*given, eps=0.5)[0], expected, what="gradient of x")
given = upstream, 1e-3 * x, given[2]  # the variance is about as large as eps
small = reference.layer_norm_backward(*given)[0]
assert_close(layer_norm_backward(*given)[0], small, what="gradient of a small x")
turned = call_beside(call_strided, layer_norm_backward, *given)[0]
assert_close(turned, small, what="gradient of an x that is not contiguous")
assert_keeps_inputs(layer_norm_backward, *given)
constants = 10 * (1 + torch.rand(400, 1)).repeat(1, 7)
gradient = layer_norm_backward(torch.randn(400, 7), constants, torch.ones(7))[0]
assert_equal(bool(gradient.isfinite().all()), True, what="whether constant vectors stay finite")
### END HIDDEN TESTS

# %% variants="layer_norm_backward"
# fmt: off
right("loops", '''
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    d = x.shape[-1]
    x_rows, u_rows = x.reshape(-1, d), upstream.reshape(-1, d)
    gain_gradient, bias_gradient = torch.zeros_like(weight), torch.zeros_like(weight)
    rows = []
    for token, u in zip(x_rows, u_rows):
        s = (token.var(correction=0) + eps) ** 0.5
        normal = (token - token.mean()) / s
        gain_gradient = gain_gradient + u * normal
        bias_gradient = bias_gradient + u
        # The Jacobian, written out: (I - 1/d - normal normal^T / d) / s
        jacobian = torch.eye(d).to(token) - 1 / d - torch.outer(normal, normal) / d
        rows.append(jacobian @ (u * weight) / s)
    return torch.stack(rows).reshape(x.shape), gain_gradient, bias_gradient
''')
right("by tricks", '''
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    def project_out(v, direction):
        return v - direction * (v * direction).mean(-1, keepdim=True)

    s = torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps)
    normal = (x - x.mean(-1, keepdim=True)) / s
    v = project_out(project_out(upstream * weight, torch.ones_like(x)), normal)
    others = list(range(x.dim() - 1))
    total = (lambda t: t.sum(others)) if others else (lambda t: t)
    return v / s, total(upstream * normal), total(upstream)
''')
GAIN, BIAS = "(upstream * normal).reshape(tokens).sum(dim=0)", "upstream.reshape(tokens).sum(dim=0)"
X = "(inner - through_mean - through_variance) / root"
SPREAD = "centred.square().mean(dim=-1, keepdim=True)"
SUMS = "sum over all dimensions but the last."
for name, edits, hint in (
    ("weight's summed over the entries", ((GAIN, "(upstream * normal).sum(dim=-1)"),), f"You sum over each token's entries; {SUMS}"),
    ("bias's summed over the entries", ((BIAS, "upstream.sum(dim=-1)"),), f"You sum over each token's entries; {SUMS}"),
    ("sums over the first dimension alone", ((GAIN, "(upstream * normal).sum(dim=0)"), (BIAS, "upstream.sum(dim=0)")),
     f"You sum over the first dimension alone; {SUMS}"),
    ("float32 for weight and bias", ((f"{X}, gain_gradient, bias_gradient", f"{X}, gain_gradient.float(), bias_gradient.float()"),),
     "You return float32; keep the dtype of x."),
    ("weight and bias exchanged", ((f"{X}, gain_gradient, bias_gradient", f"{X}, bias_gradient, gain_gradient"),),
     "You exchange the gradients of weight and bias; the order is x, weight, bias."),
    ("averages over the tokens", ((GAIN, GAIN.replace("sum", "mean")), (BIAS, BIAS.replace("sum", "mean"))),
     "You average over the tokens; take the sum."),
    ("the average of the bias's gradient alone", ((BIAS, BIAS.replace("sum", "mean")),), "You average over the tokens; take the sum."),
    ("the gradient of weight takes x as it came", ((GAIN, GAIN.replace("normal", "x")),), "You multiply by x; multiply by the normalised x."),
    ("the gradient of weight without x", ((GAIN, BIAS),), "You leave out the normalised x; multiply upstream by it."),
    ("the gradient of bias times the weight", ((BIAS, "(upstream * weight).reshape(tokens).sum(dim=0)"),),
     "You multiply the gradient of bias by the weight; it is the sum of upstream alone."),
    ("the gradient of weight times the weight", ((GAIN, f"{GAIN} * weight"),),
     "You multiply the gradient of weight by the weight; it does not occur in its own gradient."),
    ("the gradient of x alone", ((f"{X}, gain_gradient, bias_gradient", X),), "You return the gradient of x alone; return three gradients."),
    ("unbiased variance", ((SPREAD, "x.var(dim=-1, keepdim=True)"),), "You divide the variance by d_model - 1; divide it by d_model."),
    ("eps fixed", ((" + eps)", " + 1e-5)"),), "You fix eps; use the argument."),
    ("no eps", ((" + eps)", ")"),), "You do not use eps; add it to the variance."),
    ("eps outside the root", ((f"torch.sqrt({SPREAD} + eps)", f"(torch.sqrt({SPREAD}) + eps)"),), "You add eps to the root; add it to the variance."),
    ("means over the tokens", (("x.mean(dim=-1", "x.mean(dim=-2"), (SPREAD, SPREAD.replace("-1", "-2")),
        ("inner.mean(dim=-1", "inner.mean(dim=-2"), ("(inner * normal).mean(dim=-1", "(inner * normal).mean(dim=-2")),
     "You let means run over the tokens; let them run over the last dimension."),
):
    wrong(name, *edits, lost="dials", hint=hint)
for name, edits, hint in (
    ("view of a tensor that is not contiguous", ((BIAS, BIAS.replace("reshape", "view")),),
     "You call view() on tensors that may not be contiguous; call reshape()."),
    ("mean of squares less square of the mean", ((SPREAD, "(x.square().mean(dim=-1, keepdim=True) - x.mean(dim=-1, keepdim=True).square())"),),
     "You take E[x^2] - E[x]^2, which may fall below zero; subtract the mean before you square."),
    ("mean and variance taken for constants", ((X, "inner / root"),), "You take mean and variance for constants; two terms are missing."),
    ("the way through the variance forgotten", ((X, "(inner - through_mean) / root"),), "You forget the way through the variance; subtract xhat * mean(v * xhat)."),
    ("the way through the mean forgotten", ((X, "(inner - through_variance) / root"),), "You forget the way through the mean; subtract the mean of v."),
    ("the weight forgotten", (("inner = upstream * weight", "inner = upstream"),), "You forget the weight; v is upstream times weight."),
    ("not divided by s", ((X, X.removesuffix(" / root")),), "You do not divide by s, the root."),
    ("divided by the variance", ((X, f"{X}**2"),), "You divide by the square of s; divide by s."),
    ("multiplied by s", ((X, X.replace("/", "*")),), "You multiply by s; divide by it."),
    ("a sign", ((X, X.replace("- through_variance", "+ through_variance")),), "You add the way through the variance; subtract it."),
    ("both signs", ((X, X.replace("-", "+")),), "You add the two corrections; subtract both."),
    ("sums for means", (("inner.mean(dim", "inner.sum(dim"), ("(inner * normal).mean(dim", "(inner * normal).sum(dim")),
     "You take sums; take means over the entries."),
    ("upstream scaled in place", (("upstream * weight", "upstream.mul_(weight)"),),
     "You change the caller's upstream; upstream *= weight and mul_() do."),
):
    wrong(name, *edits, lost="input", hint=hint)
# fmt: on

# %% [markdown]
# ## Part 4: the museum of mistakes
#
# Three layer normalisations, found in the wild, each wrong in its own way: see
# [A museum of mistakes](book:layer-normalization#normalisation-mistakes). Find the mistakes with your eyes
# first. Then write a detective that finds them *without* eyes: it can only call a function, on inputs that you choose so that each mistake shows. A small
# vector? A large eps? The same token in other company? The hidden test has innocent suspects too.


# %% setup="museum"
# Found in a blog post about a famous paper, in a package with many stars, in a lecture's handout
exhibit_a = lambda x, weight, bias, eps: (
    (x - x.mean(-1, True)) / (x.std(-1, correction=0, keepdim=True) + eps) * weight + bias
)
exhibit_b = lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-2:], eps=eps) * weight + bias
exhibit_c = lambda x, weight, bias, eps: (
    (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps).sqrt() * weight + bias
)


# %% solution="diagnose_layer_norm"
def diagnose_layer_norm(norm):
    """Name the mistake of ``norm``, of which it has at most one.

    ``norm(x, weight, bias, eps=...)`` takes x ``(batch, length, d_model)``. The verdict is "right",
    "divides by d_model - 1", "eps outside the root", "mixes the tokens" where a token's result
    depends on others, or "keeps the mean" where x itself is divided.
    """
    ### BEGIN SOLUTION
    weight, bias = torch.ones(2), torch.zeros(2)
    crowd = torch.tensor([[[0.0, 2.0], [5.0, 9.0]], [[-3.0, 1.0], [8.0, 2.0]]])
    alone = norm(crowd[:1, :1], weight, bias, eps=1e-5)
    if not torch.allclose(norm(crowd, weight, bias, eps=1e-5)[:1, :1], alone, atol=1e-4):
        return "mixes the tokens"
    if not torch.allclose(norm(crowd[:1, :1] + 10, weight, bias, eps=1e-5), alone, atol=1e-4):
        return "keeps the mean"
    # -1 and 1: the variance is 1, or 2 where d_model - 1 divides; an eps of 3 is plain to see.
    entry = norm(torch.tensor([[[-1.0, 1.0]]]), weight, bias, eps=3.0)[0, 0, 1].item()
    divisors = {
        "right": math.sqrt(1 + 3),
        "divides by d_model - 1": math.sqrt(2 + 3),
        "eps outside the root": 1 + 3,
    }
    return min(divisors, key=lambda verdict: abs(1 / divisors[verdict] - entry))
    ### END SOLUTION


# %% test="diagnose_layer_norm-exhibits" points=1 read="layer-normalization#normalisation-mistakes"
# The detective names the mistakes of the three exhibits
verdicts = [diagnose_layer_norm(exhibit) for exhibit in (exhibit_a, exhibit_b, exhibit_c)]
# Each of the three is wrong in its own way.
assert_equal("right" in verdicts, False, what="whether one of the three is called right")
assert_equal(len(set(verdicts)), 3, what="number of different mistakes")
### BEGIN HIDDEN TESTS
expected = ["eps outside the root", "mixes the tokens", "divides by d_model - 1"]
assert_equal(verdicts, expected, what="verdicts")
### END HIDDEN TESTS

# %% test="diagnose_layer_norm-suspects" points=1 read="layer-normalization#normalisation-mistakes"
# Suspects that it has not met are told apart, and the innocent go free
of_torch = lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps)
rms = lambda x, weight, bias, eps: F.rms_norm(x, weight.shape, weight, eps) + bias
assert_equal(diagnose_layer_norm(of_torch), "right", what="verdict on PyTorch's own")
assert_equal(diagnose_layer_norm(rms), "keeps the mean", what="verdict on RMSNorm with a bias")
### BEGIN HIDDEN TESTS
what = "verdict on a suspect"


def over(*dims, correction=0):
    """Normalise over these dimensions."""

    def norm(x, weight, bias, *, eps=1e-5):
        variance, mean = torch.var_mean(x, dims, keepdim=True, correction=correction)
        return (x - mean) * (variance + eps).rsqrt() * weight + bias

    return norm


def in_steps(x, weight, bias, *, eps=1e-5):
    """Normalise one token at a time."""
    tokens = [reference.layer_norm(token, weight, bias, eps=eps) for token in x.flatten(0, 1)]
    return torch.stack(tokens).view(x.shape)


def scaled(x, weight, bias, *, eps=1e-5):
    """Divide by the deviation, and nothing else."""
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * weight + bias


for suspect, verdict in (
    (in_steps, "right"),
    (over(-1), "right"),
    (over(1, 2), "mixes the tokens"),
    (over(1), "mixes the tokens"),
    (over(0), "mixes the tokens"),
    (over(0, 1, 2), "mixes the tokens"),
    (scaled, "keeps the mean"),
    (lambda x, weight, bias, eps: reference.rms_norm(x, weight, eps=eps) + bias, "keeps the mean"),
    (exhibit_a, "eps outside the root"),
    (over(-1, correction=1), "divides by d_model - 1"),
):
    assert_equal(diagnose_layer_norm(suspect), verdict, what=what)
### END HIDDEN TESTS

# %% variants="diagnose_layer_norm"
# fmt: off
right("loops", '''
def diagnose_layer_norm(norm):
    x = torch.tensor([[[1.0, 2.0, 6.0], [7.0, -4.0, 0.0]], [[9.0, 2.0, 2.0], [0.0, 1.0, 0.0]]])
    ones, zeros = torch.ones(3), torch.zeros(3)
    got = norm(x, ones, zeros, eps=0.7)
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True)
    expectations = {
        "right": centred / (variance + 0.7).sqrt(),
        "divides by d_model - 1": centred / (variance * 3 / 2 + 0.7).sqrt(),
        "eps outside the root": centred / (variance.sqrt() + 0.7),
        "keeps the mean": x / (variance + 0.7).sqrt(),
    }
    for verdict, expected in expectations.items():
        if torch.allclose(got, expected, atol=1e-4):
            return verdict
    if torch.allclose(got, x / (x.pow(2).mean(-1, keepdim=True) + 0.7).sqrt(), atol=1e-4):
        return "keeps the mean"
    return "mixes the tokens"
''')
right("by tricks", '''
def diagnose_layer_norm(norm):
    weight, bias = torch.ones(2), torch.zeros(2)
    token = torch.tensor([[[1.0, 3.0]]])
    batch = torch.cat((token, token + torch.tensor([10.0, -20.0])), dim=1)
    batch = torch.cat((batch, 3 * batch))

    def first(x, eps=1e-8):
        return norm(x, weight, bias, eps=eps)[0, 0]

    if not torch.allclose(first(batch), first(token), atol=1e-3):
        return "mixes the tokens"
    if abs(first(token).sum()) > 1e-3:
        return "keeps the mean"
    if abs(first(token)[1] - 1) > 1e-3:
        return "divides by d_model - 1"
    if abs(first(token, 8.0)[1] - 1 / 3) > 1e-3:
        return "eps outside the root"
    return "right"
''')
CROWD = "norm(crowd, weight, bias, eps=1e-5)[:1, :1]"
MEAN_TEST = ("    if not torch.allclose(norm(crowd[:1, :1] + 10, weight, bias, eps=1e-5), alone, atol=1e-4):\n"
             '        return "keeps the mean"\n')
TWO, ONE = "exhibits suspects", "exhibits"
SHOW = "choose inputs on which each mistake is plain to see."
for name, edits, lost, hint in (
    ("always right", ('def diagnose_layer_norm(norm):\n    return "right"\n',), TWO, f"You call everything right; {SHOW}"),
    ("a verdict of its own", ('def diagnose_layer_norm(norm):\n    return "unbiased variance"\n',), TWO,
     "You return a verdict of your own; return one of the docstring's, word for word."),
    ("nothing returned", ("def diagnose_layer_norm(norm):\n    norm\n",), TWO, "You return nothing; return one of the docstring's verdicts."),
    ("eps too small to see", (("eps=3.0)", "eps=1e-5)"), ("math.sqrt(1 + 3)", "1.00001"), ("math.sqrt(2 + 3)", "math.sqrt(2)"),
        ('root": 1 + 3', 'root": 1.00002')), ONE, "You choose an eps too small to be seen; take one as large as the variance."),
    ("sentences never mixed", ((CROWD, "norm(crowd[:1], weight, bias, eps=1e-5)[:, :1]"),), "suspects",
     "You never show a token in a batch of several sentences; means may run over them."),
    ("tokens never mixed", ((CROWD, "norm(crowd[:, :1], weight, bias, eps=1e-5)[:1]"),), ONE,
     "You never show a token beside others of its sentence; means may run over them."),
    ("one token alone, always", ((CROWD, "alone"),), ONE, "You never show a token in company; means may run over other tokens."),
    ("the mean not looked at", ((MEAN_TEST, ""),), "suspects", "You do not look at the mean; add the same to all entries, and nothing may change."),
    ("a suspect without a mean", (("norm(crowd[:1, :1] + 10, weight", "norm(crowd[:1, :1], weight"),), "suspects",
     "You do not look at the mean; add the same to all entries, and nothing may change."),
    ("eps and Bessel exchanged", (('"divides by d_model - 1": math.sqrt(2 + 3)', '"divides by d_model - 1": 1 + 3'),
        ('"eps outside the root": 1 + 3', '"eps outside the root": math.sqrt(2 + 3)')), ONE,
     "You exchange two verdicts; work out the result of each mistake by hand."),
    ("Bessel not known", (('        "divides by d_model - 1": math.sqrt(2 + 3),\n', ""),), ONE, "You never find d_model - 1; work out its result."),
    ("eps not known", (('        "eps outside the root": 1 + 3,\n', ""),), ONE, "You never find eps outside the root; work out its result."),
):
    wrong(name, *edits, lost=lost, hint=hint)
for piece in ("alone = norm(", "crowd = torch.tensor(", "alone, atol=", "norm(crowd[:1, :1] - 10", "norm(crowd[:1, :1] + 9",
              "norm(crowd[:1, :1] + 11", "norm(crowd[:, :1] + 10", "norm(crowd[:1, :] + 10", "norm(crowd[:2, :1] + 10",
              "norm(crowd[:1, :2] + 10", "divisors = {'right'", "[-1, 0, 1].item()", "[0, -1, 1].item()"):
    same(piece, "any input that tells the mistakes apart will do")
# fmt: on

# %% [markdown]
# ## Part 5: the road past each layer
#
# A layer that should hand on its input has to learn how; if its output is *added* to its input, it
# is born able to. The norm stands after the sum, `"post"`, $\mathrm{norm}(x + f(x))$, or before the
# layer, `"pre"`, $x + f(\mathrm{norm}(x))$. Dropout acts on the layer's output, before it is added.
# See [Pre-norm and post-norm](book:residual-connections#pre-and-post-norm).


# %% solution="Residual" of="course_lib.layers.residual"
class Residual:
    """Add a sublayer's output to its input, and normalise.

    ``norm_position`` is "pre" or "post", ``norm`` a module; ``dropout`` is the share of the
    sublayer's output that training sets to zero.
    """

    def forward():
        """Run ``sublayer``, which keeps the shape ``(..., d_model)``, on ``x`` and add its output."""


# %% test="Residual-post" points=1 read="residual-connections#pre-and-post-norm"
# With post, the sum is normalised
norm = call_beside(nn.Tanh, beside=Residual)  # nn.Tanh(): any module will do, if its effect shows
layer, x = Residual(norm, norm_position="post").eval(), torch.tensor([[0.1, -0.2]])
# The sublayer adds twice x to x, and the norm makes tanh of the sum.
expected = torch.tensor([[math.tanh(0.3), -math.tanh(0.6)]])
assert_close(layer(x, lambda y: 2 * y), expected)
assert_keeps_inputs(layer, x, torch.square)
### BEGIN HIDDEN TESTS
ours = reference.Residual(nn.Tanh(), norm_position="post").eval()
x, shift, read = torch.randn(3, 5, 4), torch.randn(4), []
sublayer = lambda y: read.append(1) or y**2 + shift
assert_matches(layer, ours, x, lambda y: y**2 + shift)
in_training = call_beside(call_without_dropout, layer.train(), x, sublayer)
assert_close(in_training, ours(x, lambda y: y**2 + shift), what="result in training")
assert_equal(len(read), 1, what="number of times that the sublayer runs")
assert_gradients(lambda x: call_beside(call_without_dropout, layer, x, torch.square), x)
assert_keeps_inputs(layer, x, torch.square)
for position in ("pre", "post"):
    dials = call_beside(nn.LayerNorm, 4, beside=Residual)
    own = [name for name, _ in Residual(dials, norm_position=position).named_parameters()]
    assert_equal(len(own), 2, what="number of parameters, which are those of its norm")
### END HIDDEN TESTS

# %% test="Residual-pre" points=1 read="residual-connections#pre-and-post-norm"
# With pre, the sublayer reads the normalised x, and the road itself stays free
norm = call_beside(nn.Tanh, beside=Residual)  # nn.Tanh()
layer, x = Residual(norm, norm_position="pre").eval(), torch.tensor([[0.1, -0.2]])
expected = torch.tensor([[0.1 + 2 * math.tanh(0.1), -0.2 - 2 * math.tanh(0.2)]])
assert_close(layer(x, lambda y: 2 * y), expected)
assert_keeps_inputs(layer, x, torch.square)
### BEGIN HIDDEN TESTS
ours = reference.Residual(nn.Tanh(), norm_position="pre").eval()
x, shift = torch.randn(3, 5, 4), torch.randn(4)
sublayer = lambda y: y**2 + shift
assert_matches(layer, ours, x, sublayer)
in_training = call_beside(call_without_dropout, layer.train(), x, sublayer)
assert_close(in_training, ours(x, sublayer), what="result in training")
assert_gradients(lambda x: call_beside(call_without_dropout, layer, x, torch.square), x)
assert_keeps_inputs(layer, x, torch.square)
### END HIDDEN TESTS

# %% test="Residual-dropout" points=1 read="residual-connections#pre-and-post-norm"
# In training, and only then, dropout acts on the sublayer's output, never on the road
norm = call_beside(nn.Identity, beside=Residual)  # nn.Identity(), which changes nothing
layer, x = Residual(norm, norm_position="pre", dropout=0.2), torch.full((50, 64), 10.0)
# The sublayer's output is 1, and 10 is added. Dropped it is 0; kept 1 / (1 - 0.2) = 1.25.
one = torch.ones_like
for output, values in ((layer.eval()(x, one), [11.0]), (layer.train()(x, one), [10.0, 11.25])):
    assert_equal(sorted({round(v, 2) for v in output.flatten().tolist()}), values, what="values")
### BEGIN HIDDEN TESTS
says = lambda y: 2 - y / 10  # 1 where 10 is read, and something else where anything else is
for position in ("pre", "post"):
    layer = Residual(norm, norm_position=position, dropout=0.2)
    for training, values in ((False, [11.0]), (True, [10.0, 11.25])):
        output = layer.train(training)(x, says)
        found = sorted({round(v, 2) for v in output.flatten().tolist()})
        assert_equal(found, values, what=f"values with {position}")
    again = layer(x, says)
    is_new = not any((output == other).all() for other in (again, output[:1], output[:, :1]))
    assert_equal(is_new, True, what="whether each call, token and entry is dropped by itself")
    share = (output == output.min()).float().mean()
    assert_equal(bool(0.15 < share < 0.25), True, what="whether a fifth is dropped")
    never = Residual(norm, norm_position=position)
    is_same = bool((never.train()(x, says) == never.eval()(x, says)).all())
    assert_equal(is_same, True, what="whether nothing is dropped unless dropout is given")
### END HIDDEN TESTS

# %% variants="Residual"
# fmt: off
right("loops", '''
class Residual(nn.Module):
    def __init__(self, norm, *, norm_position, dropout=0.0):
        super().__init__()
        if norm_position not in ("pre", "post"):
            raise ValueError(norm_position)
        self.add_module("norm", norm)
        self.norm_position, self.first = norm_position, norm_position == "pre"
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        read = self.norm(x) if self.first else x
        total = x + self.dropout(sublayer(read))
        return total if self.first else self.norm(total)
''')
right("by tricks", '''
class Residual(nn.Module):
    def __init__(self, norm, *, norm_position, dropout=0.0):
        super().__init__()
        before, after = (norm, nn.Identity()) if norm_position == "pre" else (nn.Identity(), norm)
        self.before, self.after, self.dropout = before, after, nn.Dropout(dropout)
        self.norm_position = norm_position

    def forward(self, x, sublayer):
        return self.after(x + self.dropout(sublayer(self.before(x))))
''')
POST = "self.norm(x + self.dropout(sublayer(x)))"
PRE = "x + self.dropout(sublayer(self.norm(x)))"
IF = 'if self.norm_position == "pre":'
right("added to in place", (f"return {PRE}", "out = self.dropout(sublayer(self.norm(x)))\n            out += x\n            return out"),
    (f"return {POST}", "out = self.dropout(sublayer(x))\n        out += x\n        return self.norm(out)"))
ADD, NORM_PLACE = "add x as it came.", '"pre" normalises the input of the sublayer, "post" the sum.'
CUT, PLACE = "You cut the gradient: detach(), .data and no_grad() do; leave them out.", (
    "You change the caller's x; x += ... and x.add_(...) do, x + ... makes a new tensor.")
for name, edits, lost, hint in (
    ("x not added after the sublayer", ((POST, "self.norm(self.dropout(sublayer(x)))"),), "post", f"You do not add x with post; {ADD}"),
    ("x not added before it", ((PRE, "self.dropout(sublayer(self.norm(x)))"),), "pre", f"You do not add x with pre; {ADD}"),
    ("x never added", ((POST, "self.norm(self.dropout(sublayer(x)))"), (PRE, "self.dropout(sublayer(self.norm(x)))")),
     "post pre", f"You do not add x; {ADD}"),
    ("pre and post exchanged", ((IF, IF.replace("pre", "post")),), "post pre", f"You exchange pre and post; {NORM_PLACE}"),
    ("always post", ((IF, "if False:"),), "pre", f"You let post stand for pre too; {NORM_PLACE}"),
    ("always pre", ((IF, "if True:"),), "post", f"You let pre stand for post too; {NORM_PLACE}"),
    ("both made, and one of them chosen", ((f"{IF}\n            return {PRE}\n        return {POST}",
        f"pre = {PRE}\n        post = {POST}\n        return pre if self.norm_position == 'pre' else post"),),
     "post", "You run the sublayer twice; make only the result that is asked for."),
    ("the normalised x is added", ((PRE, f"self.norm(x) + {PRE.removeprefix('x + ')}"),), "pre", f"You add the normalised x; {ADD}"),
    ("the sublayer's output normalised", ((PRE, "x + self.norm(self.dropout(sublayer(x)))"),), "pre",
     "You normalise the sublayer's output; normalise its input."),
    ("the sublayer's output alone normalised, after", ((POST, "x + self.norm(self.dropout(sublayer(x)))"),), "post",
     "You normalise the sublayer's output alone; normalise the sum."),
    ("no norm after the sum", ((POST, "x + self.dropout(sublayer(x))"),), "post", f"You leave out the norm with post; {NORM_PLACE}"),
    ("no norm before the sublayer", ((PRE, "x + self.dropout(sublayer(x))"),), "pre", f"You leave out the norm with pre; {NORM_PLACE}"),
    ("normalised twice", ((PRE, f"self.norm({PRE})"),), "pre", f"You normalise twice; {NORM_PLACE}"),
    ("x normalised in place of the sum", ((POST, "self.norm(x) + self.dropout(sublayer(x))"),), "post",
     "You normalise x, not the sum."),
    ("the norm is no part of the layer", (("self.norm = norm", "self.norms = [norm]"), (PRE, PRE.replace("self.norm(", "self.norms[0](")),
        (POST, POST.replace("self.norm(", "self.norms[0]("))), "post",
     "You keep the norm in a list, where its parameters are not found; assign it to an attribute."),
    ("detached in training", ((PRE, "x + self.dropout(sublayer(self.norm(x)).detach() if self.training else sublayer(self.norm(x)))"),), "pre", CUT),
    ("detached in training before the norm", ((POST,
        "self.norm(x.detach() + self.dropout(sublayer(x)) if self.training else x + self.dropout(sublayer(x)))"),), "post", CUT),
    ("detached", ((PRE, f"{PRE}.detach()"),), "pre", CUT),
    ("added in place", ((PRE, "x.add_(self.dropout(sublayer(self.norm(x))))"),), "pre", PLACE),
    ("added in place before the norm", ((POST, "self.norm(x.add_(self.dropout(sublayer(x))))"),), "post", PLACE),
):
    wrong(name, *edits, lost=lost, hint=hint)
ROAD, SAYS = "You drop the road; drop the sublayer's output alone.", "You drop entries of the sublayer's input; drop entries of its output."
ANEW = "You drop the same again; draw for each call, each token and each entry: nn.Dropout does."
FIXED = "You fix the share; hand dropout on."
for name, edits, hint in (
    ("dropout on the sum", ((PRE, "self.dropout(x + sublayer(self.norm(x)))"),), ROAD),
    ("dropout on the road", ((PRE, "self.dropout(x) + sublayer(self.norm(x))"),), ROAD),
    ("dropout after the norm", ((POST, "self.dropout(self.norm(x + sublayer(x)))"),), ROAD),
    ("dropout on the sublayer's input", ((PRE, "x + sublayer(self.dropout(self.norm(x)))"),), SAYS),
    ("dropout on the sublayer's input as well", ((PRE, "x + self.dropout(sublayer(self.dropout(self.norm(x))))"),), SAYS),
    ("dropout on the sublayer's input as well, with post", ((POST, "self.norm(x + self.dropout(sublayer(self.dropout(x))))"),), SAYS),
    ("dropout drawn once for all tokens", ((PRE, "x + sublayer(self.norm(x)) * self.dropout(x[:1] * 0 + 1)"),), ANEW),
    ("dropout drawn once and kept", ((PRE, "x + sublayer(self.norm(x)) * (self.kept(x) if self.training else 1)"),
        ("    def forward(", "    def kept(self, x):\n        if getattr(self, 'drawn', x[:0]).shape != x.shape:\n"
         "            self.drawn = self.dropout(torch.ones_like(x))\n        return self.drawn\n\n    def forward(")), ANEW),
    ("no dropout", ((PRE, "x + sublayer(self.norm(x))"),), "You drop nothing with pre; drop entries of the sublayer's output."),
    ("no dropout after", ((POST, "self.norm(x + sublayer(x))"),), "You drop nothing with post; drop entries of the sublayer's output."),
    ("dropout in evaluation too", ((PRE, "x + F.dropout(sublayer(self.norm(x)), self.dropout.p)"),),
     "You drop in evaluation too; give F.dropout training=self.training, or use nn.Dropout."),
    ("dropout fixed at a tenth", (("nn.Dropout(dropout)", "nn.Dropout(0.1)"),), FIXED),
    ("dropout fixed at a half", (("nn.Dropout(dropout)", "nn.Dropout(0.5)"),), FIXED),
    ("the share that is kept", (("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),),
     "You take dropout for the share that is kept; it is the share that is dropped."),
    ("all is dropped where no share is given", (("nn.Dropout(dropout)", "nn.Dropout(dropout or 1.0)"),),
     "You drop where no share is given; dropout starts at 0."),
    ("a tenth where no share is given", (("dropout: float = 0.0", "dropout: float = 0.1"),), "You drop where no share is given; dropout starts at 0."),
):
    wrong(name, *edits, lost="dropout", hint=hint)
same("check_norm_position(", "errors are tested in position_angles and FeedForward only")
# fmt: on

# %% [markdown] written="before-or-after" points=3 read="residual-connections#pre-and-post-norm"
# ### A hundred layers
#
# Two friends stack a hundred residual layers each. Ana takes pre-norm and leaves out the norm at the
# end. Ben takes post-norm and trains without warm-up. In seven sentences or fewer:
#
# 1. What is the derivative of $x + f(\mathrm{norm}(x))$? What does it say of Ana's first layer?
# 2. Why may Ben's first layers get next to no gradient, or his training diverge?
# 3. If each of Ana's layers adds something independent with variance 1, how large is the output of
#    her stack, and what would the missing norm do about it?
#
# ### BEGIN SOLUTION
# The derivative is the identity plus $f'$ times the norm's. Multiplied over a hundred layers it
# still holds the bare identity, so the loss's gradient reaches the first layer unweakened, with the
# corrections of the layers added. Ben's norms stand on the road itself: each
# gradient goes through a hundred norms' derivatives, each of which divides by the size of the sum
# it normalises (about $\sqrt 2$ at the start) and takes two directions out; so the gradient shrinks
# with depth, while the last layers get large gradients, and large first steps throw them off.
# Warm-up prevents this. On Ana's road variances add up: after a hundred layers the variance is
# about 101 and the entries about 10, growing as the root of the depth. No one has normalised that
# sum, so logits come out ten times too large; the final norm brings them back to size 1.
#
# **Marking guide**, one point each:
#
# 1. *Pre*: $I + f'(\dots)$, and that the identity (or the product that contains it) carries the
#    gradient to the first layer. Half a point for "the gradient flows through the residual" with no
#    derivative.
# 2. *Post*: the norm stands on the road, so every gradient passes through every norm's derivative;
#    shrinking with depth, or uneven sizes that make large first steps dangerous. Half a point for
#    "post-norm needs warm-up" alone.
# 3. *Variance*: 100 or 101, entries of about 10, and that the last norm brings the sum back
#    to size 1. Half a point for "it grows".
#
# Not wrong, and worth a remark: deep post-norm does train with care (warm-up, small starts), and
# often ends better than pre-norm at moderate depth.
# ### END SOLUTION

# %% [markdown]
# ## And now: name a moon
#
# Below, your blocks are stacked. For some six seconds the stack reads names of moons and guesses each
# next letter. Then it goes on by itself, and names moons that no telescope has found. Play with it:
# more steps, `"post"` for `"pre"`, a bolder temperature than 0.7.

# %% demo="moons" prints="Moons to be found:"
from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.masks import causal_mask

MOONS = """
phobos deimos europa ganymede callisto amalthea himalia elara pasiphae sinope lysithea carme ananke
leda thebe adrastea metis callirrhoe themisto megaclite taygete chaldene harpalyke kalyke iocaste mimas
enceladus tethys dione rhea titan hyperion iapetus phoebe janus helene telesto calypso atlas pandora ariel umbriel
titania oberon miranda cordelia ophelia bianca cressida desdemona juliet portia rosalind triton nereid naiad thalassa
despina galatea
""".split()
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the full stop begins and ends a name
LONGEST = max(map(len, MOONS)) + 1


class Block(nn.Module):
    def __init__(self, d_model, norm_position="pre"):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads=4)
        self.thought = FeedForward(d_model, 4 * d_model, activation="gelu")
        how = {"norm_position": norm_position, "dropout": 0.1}
        self.roads = nn.ModuleList(Residual(LayerNorm(d_model), **how) for _ in range(2))

    def forward(self, x):
        x = self.roads[0](x, lambda y: self.attention(y, y, y, causal_mask(y.size(1))))
        return self.roads[1](x, self.thought)


torch.manual_seed(4)
blocks = SinusoidalPositions(32), Block(32), Block(32), LayerNorm(32)
dreamer = nn.Sequential(nn.Embedding(27, 32), *blocks, nn.Linear(32, 27))
spelt = [f".{name}".ljust(LONGEST + 1, ".") for name in MOONS]
names = torch.tensor([[LETTERS.index(letter) for letter in name] for name in spelt])
known = torch.arange(LONGEST) <= torch.tensor([len(name) for name in MOONS])[:, None]
optimizer = torch.optim.Adam(dreamer.parameters(), lr=0.003)
for _ in range(126):
    loss = F.cross_entropy(dreamer(names[:, :-1])[known], names[:, 1:][known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dreamer.eval()
ids = torch.zeros(60, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(LONGEST):
        odds = (dreamer(ids)[:, -1] / 0.7).softmax(-1)
        ids = torch.cat((ids, torch.multinomial(odds, 1)), dim=1)
dreamt = {"".join(LETTERS[i] for i in row).split(".")[1].capitalize() for row in ids.tolist()}
print("Moons to be found:", *sorted(dreamt - {name.capitalize() for name in MOONS})[:15])
