# %% [markdown]
# # Homework 4: Transformer blocks
#
# Attention, which you wrote last time, can't tell these two apart:
#
# ```
# DOG BITES MAN
# MAN BITES DOG
# ```
#
# It sees a bag of words. It also does nothing but average, and thirty attentions on top of one
# another either explode or fall asleep. Four small blocks mend all of that, and a Transformer is
# nothing but attention and these: **positions**, a **feed-forward** layer, **normalisation**, and a
# **residual** road past each of them. Here you write the four. In the last cell they are stacked,
# and the stack learns the names of the moons of our planets, and dreams up new ones.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | positions: `position_angles`, `SinusoidalPositions`, `shift_matrix`, `RotaryPositions` | 8 |
# | 2 | `FeedForward`: what each token does on its own | 2 |
# | 3 | `layer_norm`, `rms_norm`, `LayerNorm`, and `layer_norm_backward`, by hand | 6 |
# | 4 | `diagnose_layer_norm`: the museum of mistakes | 2 |
# | 5 | `Residual`, with the norm before or after | 3 |
# | 6 | a question, answered in words | 3 |
#
# **Time:** about three hours if you have read the chapters
# [Positional encoding](book:positional-encoding), [Feed-forward layers](book:feed-forward),
# [Layer normalisation](book:layer-normalization) and
# [Residual connections](book:residual-connections). Part 1 takes an hour, the backward pass half an
# hour. Nothing here needs a GPU.
#
# **Afterwards you can** tell a model where its words stand, in two ways; say why a fixed distance
# is a fixed matrix; write a normalisation forwards and backwards; find a wrong one by its behaviour
# alone; and choose where on the road it should stand.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, dtypes, attributes, errors. Your functions leave the tensors that they are
#   given as they are. Gradients flow back through what a model is made of: `detach()`, `.item()`,
#   `float(...)` and `no_grad()` cut them. You may add cells, and functions and methods of your own.
# - The test cells check one thing each, and each is worth its own points. Run them as often as you
#   like: one that passes says so, one that fails says first what is wrong, and mostly gives a
#   hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers, shapes
#   and dtypes, and with all errors that the docstring promises. It asks for nothing beyond the
#   docstring, the text and the part that you see.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.

# %% setup="imports"
import math
import os
from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import checked
from course_lib.gradient_checks import assert_gradients_like
from course_lib.layers.feed_forward import Activation
from course_lib.layers.residual import NormPosition, check_norm_position
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    assert_shape,
    call_beside,
    call_strided,
    call_without_dropout,
    forgive,
)
from course_lib.validation import check_at_least, check_width

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end


# %% [markdown]
# ## Part 1: positions
#
# Think of a row of clock hands. With each token every hand moves on by its own angle: the first by
# a whole radian, each next one more slowly, the last hardly at all. Where the hands point says
# which token it is, as the hands of a clock say what time it is.
#
# Hand $i$ of `width / 2` hands stands, at position $t$, at the angle
#
# $$\frac{t}{\mathrm{base}^{\,2i / \mathrm{width}}}, \qquad i = 0, 1, \dots, \mathrm{width}/2 - 1.$$
#
# See [Sinusoidal positions](book:positional-encoding#sinusoidal-positions). Everything in this part
# stands on these angles, so they are a function of their own.
#
# **Digits.** A million tokens on, the fast hand has turned a million radians. In float32 that
# leaves hardly one digit behind the point. So compute *everything* in `dtype`, from the positions
# and the speeds on; a result that is cast at the end has lost its digits before.

# %% solution="position_angles" of="course_lib.layers.positional"

# %% test="position_angles-values" points=1 read="positional-encoding#sinusoidal-positions"
# Each hand turns at its own speed
t = torch.tensor([[0.0], [1.0], [7.0]], dtype=torch.float64).to(device)
slower = torch.tensor([1.0, 0.01], dtype=torch.float64).to(device)  # 1 / 10000^0, 1 / 10000^(2/4)
assert_close(
    position_angles(t[:, 0].long(), 4),
    t * slower,
    what="the angles of positions 0, 1 and 7",
    hint="a row a position, a column a hand: position / base^(2i / width)",
    mistakes={
        "the exponent runs over 0, 2/width, 4/width, ...: here over 0 and 1/2": t * slower.sqrt(),
        "the exponent is 2i / width: divide by width, not by width / 2": t * slower**2,
        "the hands get faster: divide the position by base^(2i / width)": t / slower,
        "the hands are numbered from 0: the first one turns a radian a token": t * slower * 0.01,
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.positional import position_angles as reference_angles

positions = torch.randint(3, 50, (6,)).to(device)
for width, base in ((2, 10_000.0), (8, 10_000.0), (10, 500.0)):
    expected = reference_angles(positions, width, base=base)
    hands = torch.arange(width // 2, dtype=torch.float64, device=device)
    t = positions.double()[:, None]
    assert_close(
        position_angles(positions, width, base=base),
        expected,
        what=f"the angles for width={width} and base={base:g}",
        hint="a row a position, a column a hand: position / base^(2i / width)",
        mistakes={
            "the hands get faster: divide the position by base^(2i / width)": (
                t * base ** (2 * hands / width)
            ),
            "the exponent is half too small: 2i / width, with i from 0 to width / 2 - 1": (
                t / base ** (hands / width)
            ),
            "the exponent is 2i / width: divide by width, not by width / 2": (
                t / base ** (4 * hands / width)
            ),
            "the base is fixed; use the argument base": reference_angles(positions, width),
            "the hands are numbered from 0: the first one turns a radian a token": (
                t / base ** (2 * (hands + 1) / width)
            ),
        },
    )
### END HIDDEN TESTS

# %% test="position_angles-digits" points=1 read="positional-encoding#sinusoidal-positions"
# Digits are kept a million tokens on, dtype is what was asked for, an odd width is refused
in_dtype = "digits are lost: make positions and exponents in dtype before you compute with them"
far = torch.tensor([1_000_000]).to(device)
row = "a row a position, width / 2 hands"
angles = checked(position_angles(far, 6), (1, 3), what="angles", hint=row, dtype=torch.float64)
first, second, third = angles[0]
# Each hand is slower than the one before by the same factor; in float64 that holds to 15 digits.
drift = 1e5 * (first * third / second**2 - 1)
nothing = torch.zeros((), dtype=torch.float64).to(device)
assert_close(drift, nothing, what="the drift of three hands, scaled up", hint=in_dtype)
assert_raises(ValueError, position_angles, far, 3, hint="an odd width has half a hand: ValueError")
### BEGIN HIDDEN TESTS
far = torch.randint(900_000, 1_000_000, (3,)).to(device)
angles = checked(position_angles(far, 16), (3, 8), what="angles", hint=row, dtype=torch.float64)
drift = 1e5 * (angles[:, :-2] * angles[:, 2:] / angles[:, 1:-1] ** 2 - 1)
nothing = torch.zeros(3, 6, dtype=torch.float64).to(device)
assert_close(drift, nothing, what="the drift of the hands, scaled up", hint=in_dtype)
if torch.equal(angles[:, 0], angles[:, 1]) or torch.equal(angles, position_angles(far + 1, 16)):
    hint = "each hand turns at its own speed: position / base^(2i / width)"
    raise CheckFailure("all hands, or all positions, have the same angles", hint=hint)
# Hands whose speeds are all off by the same share do not drift apart; their sines tell.
hands = torch.arange(8, dtype=torch.float64, device=device)
exact = far.double()[:, None] / 10_000.0 ** (hands / 8)
if not torch.allclose(angles, exact, rtol=1e-4):
    forgive("far on the angles are others", "position_angles-values")
else:
    also_base = f"{in_dtype}; the logarithm of base, too"
    assert_close(angles.sin(), exact.sin(), what="the sines of the angles", hint=also_base)
for dtype in (torch.float32, torch.float64):
    angles = position_angles(far, 2, dtype=dtype)
    as_asked = "the result has the dtype asked for"
    checked(angles, (3, 1), what=f"angles with dtype={dtype}", hint=as_asked, dtype=dtype)
for width in (5, 0, -2):
    hint = "width must be positive and even: raise ValueError for anything else"
    assert_raises(ValueError, position_angles, far, width, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ### Sines and cosines
#
# A hand's point in the plane is $(\sin, \cos)$ of its angle. The vector of a position lays the
# points of all hands side by side: sine, cosine, sine, cosine, ... It is *added* to the token's
# embedding, and the sum has the dtype that `x` had. `offset` is the position of the first token: 0,
# unless the tokens before it have been read already.
#
# In half precision an angle has few digits left: bfloat16 can't tell position 1001 from 1000. So
# for an `x` in bfloat16 or float16 compute the angles in float32 or more, and cast the sines and
# cosines. (A whole model may be in half precision too: `model.bfloat16()` rounds its parameters and
# buffers.) The same goes for the rotary positions further on.
#
# To lay two tensors side by side entry by entry, `torch.stack((a, b), dim=-1).flatten(-2)` does it;
# or write into `vectors[..., 0::2]` and `vectors[..., 1::2]`.

# %% solution="SinusoidalPositions" of="course_lib.layers.positional"

# %% test="SinusoidalPositions-pattern" points=1 read="positional-encoding#sinusoidal-positions"
# Sine and cosine take turns, and are added to each token from offset on
layer = SinusoidalPositions(6)
assert_close(
    layer.vectors(1, device=device),
    torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]).to(device),  # all hands at angle 0
    what="the vector of position 0",
    hint="a row a position, and position 0 comes first: all its sines are 0, all its cosines 1",
    mistakes={
        "sines alone: each hand gives a sine and a cosine": torch.zeros(1, 6).to(device),
        "sine and cosine are swapped: entry 2i is the sine": (
            torch.tensor([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]).to(device)
        ),
        "first all sines, then all cosines: they take turns, sin, cos, sin, cos": (
            torch.tensor([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]).to(device)
        ),
        "first all cosines, then all sines: they take turns, sin, cos, sin, cos": (
            torch.tensor([[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]]).to(device)
        ),
        "cosines alone: each hand gives a sine and a cosine": torch.ones(1, 6).to(device),
    },
)
x = torch.randn(2, 3, 2).to(device)
t = torch.tensor([0.0, 1.0, 2.0]).to(device)
one_hand = torch.stack((t.sin(), t.cos()), dim=-1)  # a radian a token


def at(*places):
    """Give the vectors of other positions than 0, 1 and 2."""
    other = torch.tensor(places).to(device)
    return torch.stack((other.sin(), other.cos()), dim=-1)


assert_close(
    SinusoidalPositions(2)(x.clone()),
    x + one_hand,
    what="the output with one hand",
    hint="token t gets (sin t, cos t) added, in each sentence of the batch",
    mistakes={
        "nothing is added to x": x,
        "the first position is 0, not 1": x + at(1.0, 2.0, 3.0),
        "every token gets the vector of position 0; each has a position of its own": (
            x + at(0.0, 0.0, 0.0)
        ),
        "positions count the sentences of the batch: take the length from x.size(1)": (
            x + at(0.0, 1.0)[:, None]
        ),
        "the positions run backwards": x + at(2.0, 1.0, 0.0),
        "the hand turns at the speed of another: see the exponent in position_angles": (
            x + at(0.0, 1e-4, 2e-4)
        ),
        "x is added twice": 2 * x + one_hand,
        "the positions take the place of x; add them to it": one_hand.expand(2, 3, 2),
        "the positions are multiplied; add them": x * one_hand,
        "x is scaled: that is the embedding's business, just add": x * 2**0.5 + one_hand,
    },
)
### BEGIN HIDDEN TESTS
swapped = "sine and cosine are swapped: entry 2i is the sine"
halves = "first all sines, then all cosines: they take turns, sin, cos, sin, cos"
early_hint = "the first position is 0, not 1"
for width in (4, 10):
    one, none = torch.ones(1, width // 2).to(device), torch.zeros(1, width // 2).to(device)
    assert_close(
        SinusoidalPositions(width).vectors(1, device=device),
        torch.stack((none, one), dim=-1).flatten(-2),
        what="the vector of position 0",
        mistakes={
            swapped: torch.stack((one, none), dim=-1).flatten(-2),
            halves: torch.cat((none, one), dim=-1),
            "first all cosines, then all sines": torch.cat((one, none), dim=-1),
            "sines alone: each hand gives a sine and a cosine": torch.zeros(1, width).to(device),
            "cosines alone: each hand gives a sine and a cosine": torch.ones(1, width).to(device),
        },
        hint="at angle 0 all sines are 0 and all cosines 1",
    )
layer = SinusoidalPositions(2)
x = torch.randn(4, 5, 2).to(device)
for offset in (0, int(torch.randint(2, 9, ()))):
    t = torch.arange(offset, offset + 5, device=device, dtype=torch.float32)
    expected = torch.stack((t.sin(), t.cos()), dim=-1)
    from_zero = torch.stack(((t - offset).sin(), (t - offset).cos()), dim=-1)
    early = torch.stack(((t + 1).sin(), (t + 1).cos()), dim=-1)
    assert_close(
        layer.vectors(5, offset=offset, device=device),
        expected,
        what=f"vectors of one hand with offset={offset}",
        hint="the vector of position t is (sin t, cos t), t from offset on",
        mistakes={
            swapped: torch.stack((t.cos(), t.sin()), dim=-1),
            "offset is not used: the first token stands at position offset": from_zero,
            early_hint: early,
        },
    )
    assert_close(
        layer(x.clone(), offset=offset),
        x + expected,
        what=f"output with offset={offset}",
        hint="add vectors(...) to x, the same for each sentence of the batch",
        mistakes={
            "nothing is added to x": x,
            early_hint: x + early,
            "x is added twice": 2 * x + expected,
            "every token gets the vector of the first; each has a position of its own": (
                x + expected[:1]
            ),
            "the positions take the place of x; add them to it": expected.expand(4, 5, 2),
            "forward does not hand offset on": x + from_zero,
            "x is scaled: that is the embedding's business, just add": x * 2**0.5 + expected,
            "the positions are multiplied; add them": x * expected,
        },
    )
### END HIDDEN TESTS

# %% test="SinusoidalPositions-values" points=1 read="positional-encoding#sinusoidal-positions"
# All hands turn at their own speeds, in the dtype of x; what makes no sense is refused
layer = SinusoidalPositions(4)
by_hand = torch.tensor([[math.sin(3.0), math.cos(3.0), math.sin(0.03), math.cos(0.03)]])
hint = "if the pattern is right, it is the speeds: see position_angles, with width d_model"
position_3 = layer.vectors(1, offset=3, device=device)
assert_close(position_3, by_hand.to(device), what="the vector of position 3", hint=hint)
no_table = "no length is too long: make the vectors when they are asked for, not a table of them"
assert_shape(
    layer.vectors(2, offset=100_000, device=device),
    (2, 4),
    what="the vectors of positions 100,000 and 100,001",
    hint=no_table,
)
in_place = "x += ... changes the caller's tensor"
assert_keeps_inputs(layer, torch.randn(2, 3, 4).to(device), hint=in_place)
odd = "raise ValueError when half a hand would be left over"
assert_raises(ValueError, SinusoidalPositions, 5, hint=odd)
### BEGIN HIDDEN TESTS
from course_lib.layers.positional import SinusoidalPositions as ReferencePositions

x = torch.randn(3, 7, 12).to(device)
offset = int(torch.randint(1, 20, ()))
assert_close(
    SinusoidalPositions(12).eval()(x.clone(), offset=offset),
    ReferencePositions(12)(x, offset=offset),
    what="the output",
    hint=hint,
)
assert_gradients_like(ReferencePositions(12), SinusoidalPositions(12), {"x": x})
layer = SinusoidalPositions(12)
if any(parameter.requires_grad for parameter in layer.parameters()):
    raise CheckFailure("the layer has parameters", hint="nothing is learned: it is all computed")
far = 100_000 + offset
layer(x.clone(), offset=far)  # what it may keep of this does not do for another dtype
for dtype in (torch.float64, torch.bfloat16):
    output = layer(x.to(dtype))
    same = "the output has the dtype of x"
    checked(output, (3, 7, 12), what=f"output for x in {dtype}", hint=same, dtype=dtype)
vectors = layer.vectors(7, offset=far, device=device, dtype=torch.float64)
assert_shape(vectors, (7, 12), what="vectors far from the start", hint=no_table)
exact = ReferencePositions(12).vectors(7, offset=far, device=device, dtype=torch.float64)
hint = "in the dtype that was asked for"
checked(vectors, (7, 12), what="vectors far from the start", hint=hint, dtype=torch.float64)
digits = "for float64 compute the angles in float64: far from the start float32 has few digits"
if not torch.allclose(vectors, exact, rtol=0, atol=1e-5):
    # Digits that position_angles has lost are lost there.
    angles = position_angles(torch.arange(far, far + 7, device=device), 12)
    checked(angles, (7, 6), what="angles", dtype=torch.float64)
    exact = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
    if not torch.allclose(vectors, exact, rtol=0, atol=1e-5):
        raise CheckFailure("vectors far from the start have lost digits in float64", hint=digits)
nowhere = torch.zeros(2, 7, 12, dtype=torch.float64).to(device)
output = layer(nowhere.clone(), offset=far)
checked(output, (2, 7, 12), what="output far from the start", hint=hint, dtype=torch.float64)
if not torch.allclose(output, nowhere + exact, rtol=0, atol=1e-5):
    hint = "forward asks vectors(...) for the offset and the dtype of x"
    raise CheckFailure("the output far from the start has lost digits in float64", hint=hint)
expected = ReferencePositions(12)(torch.zeros(2, 3, 12).to(device), offset=5001)
for dtype in (torch.bfloat16, torch.float16):
    nothing = torch.zeros(2, 3, 12, dtype=dtype).to(device)
    for layer, hint in (
        (SinusoidalPositions(12), "compute the angles in float32 or more, and cast their sines"),
        (SinusoidalPositions(12).to(dtype), "a model in half precision rounds its buffers too"),
    ):
        output = layer(nothing.clone(), offset=5001)
        checked(output, (2, 3, 12), what=f"output in {dtype}", dtype=dtype)
        if not torch.allclose(output.float(), expected, atol=0.05):
            what = f"for x in {dtype}, the output at positions 5001 to 5003"
            raise CheckFailure(f"{what} differs from what is expected", hint=hint)
assert_keeps_inputs(SinusoidalPositions(12), x, hint=in_place)
hint = "d_model must be positive and even, offset not negative: raise ValueError"
for d_model in (7, 0):
    assert_raises(ValueError, SinusoidalPositions, d_model, hint=hint)
layer = SinusoidalPositions(12)
assert_raises(ValueError, layer, x, offset=-1, hint=hint)
assert_raises(ValueError, layer.vectors, 3, offset=-1, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ### A fixed distance is a fixed matrix
#
# Three tokens on, the first hand has turned by three radians, *wherever it stood before*. To turn a
# point is to multiply it by a matrix. So one matrix moves every position vector three tokens on,
# and a layer that wants to look three tokens back needs to learn nothing but that matrix.
#
# Find the block of one hand from $\sin(a + b) = \sin a \cos b + \cos a \sin b$ and
# $\cos(a + b) = \cos a \cos b - \sin a \sin b$: you know $b$, and $(\sin a, \cos a)$ is what the
# matrix gets. Mind that the sine comes first. The blocks of all hands stand on the diagonal;
# `torch.block_diag` puts them there. The chapter does it in
# [A shift is a rotation](book:positional-encoding#shift-matrix).

# %% solution="shift_matrix" of="course_lib.layers.positional"

# %% test="shift_matrix-one-hand" points=1 read="positional-encoding#shift-matrix"
# With one hand, the matrix moves every position vector by offset
turn = shift_matrix(3, 2)
one_matrix = "one matrix (d_model, d_model)"
assert_shape(turn, (2, 2), what="shift_matrix(3, 2)", hint=one_matrix)
checked(turn, (2, 2), what="the matrix", hint="the result is float64", dtype=torch.float64)
here = torch.tensor([math.sin(2.0), math.cos(2.0)], dtype=torch.float64)
there = torch.tensor([math.sin(5.0), math.cos(5.0)], dtype=torch.float64)
back = torch.tensor([math.sin(-1.0), math.cos(-1.0)], dtype=torch.float64)
forth = torch.tensor([math.sin(1.0), math.cos(1.0)], dtype=torch.float64)
next_one = torch.tensor([math.sin(3.0), math.cos(3.0)], dtype=torch.float64)
assert_close(
    turn @ here,
    there,
    what="position 2, moved by 3",
    hint="it gets (sin a, cos a) and gives (sin(a + b), cos(a + b)); here b is 3 radians",
    mistakes={
        "it moves back: the signs of the two sines are swapped, or it is transposed": back,
        "it gives (cos, sin); the sine comes first": there.flip(0),
        "a sign: cos(a + b) = cos a cos b - sin a sin b": torch.stack((there[0], forth[1])),
        "sine and cosine are swapped": forth.flip(0),
        "it moves by 1; offset says how far": next_one,
    },
)
### BEGIN HIDDEN TESTS
for offset in (int(torch.randint(1, 9, ())), -int(torch.randint(1, 9, ())), 0):
    sin, cos = math.sin(offset), math.cos(offset)
    expected = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    assert_close(
        shift_matrix(offset, 2),
        expected,
        what=f"the block for offset={offset}",
        hint="the vector it gets is (sin a, cos a), the vector it gives (sin(a + b), cos(a + b))",
        mistakes={
            "it moves back: transposed, or the signs of the sines swapped": expected.T,
            "it gives (cos, sin); the sine comes first": expected.flip(0),
            "it turns and mirrors: one of the two sines is negative": (
                torch.tensor([[cos, sin], [sin, cos]], dtype=torch.float64)
            ),
            "sine and cosine are swapped": (
                torch.tensor([[sin, cos], [-cos, sin]], dtype=torch.float64)
            ),
        },
    )
### END HIDDEN TESTS

# %% test="shift_matrix-all-hands" points=1 read="positional-encoding#shift-matrix"
# With many hands each has its own block, and nothing stands outside the blocks
moved = shift_matrix(5, 8)
one_matrix = "one matrix (d_model, d_model)"
assert_shape(moved, (8, 8), what="shift_matrix(5, 8)", hint=one_matrix)
outside = torch.block_diag(*[torch.ones(2, 2)] * 4) == 0
assert_close(
    moved.double()[outside],
    torch.zeros(48).double(),
    what="what stands outside the 2 x 2 blocks",
    hint="neighbours make a pair: hand i's block stands in rows and columns 2i and 2i + 1",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.positional import shift_matrix as reference_matrix

# Which way a block moves, and in what dtype, is told where there is one hand; whether the angles
# keep more digits than float32's, at position_angles.
block = shift_matrix(1, 2)
assert_shape(block, (2, 2), what="the block of one hand", hint=one_matrix)
moves_back = torch.allclose(block.float(), reference_matrix(-1, 2).float(), atol=1e-5)
if moves_back:
    forgive("the matrix moves back", "shift_matrix-one-hand")
for d_model in (4, 10):
    offset = int(torch.randint(-20, 20, ()))
    moving = shift_matrix(offset, d_model)
    assert_shape(moving, (d_model,) * 2, what="the matrix", hint=one_matrix)
    assert_close(
        moving.float(),
        reference_matrix(-offset if moves_back else offset, d_model).float(),
        what="the matrix",
        hint="block i turns by the angle of hand i at position offset: position_angles gives it",
    )
hint = "d_model must be positive and even: raise ValueError for anything else"
for d_model in (5, 0):
    assert_raises(ValueError, shift_matrix, 1, d_model, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ### Rotary positions
#
# The second way adds nothing. It *turns* queries and keys: entries $2i$ and $2i + 1$ are a point in
# the plane, and hand $i$'s angle turns it, the usual way round (from the first axis towards the
# second):
#
# $$(x, y) \mapsto (x \cos\theta - y \sin\theta,\; x \sin\theta + y \cos\theta)$$
#
# A query turned by its position and a key turned by its own have a product in which only the
# difference of the two angles is left: see
# [Rotary positions](book:positional-encoding#rotary-positions). Note what the docstring says of
# `x`: there may be any number of dimensions before the last two, heads among them. What comes out
# has the dtype that `x` had.

# %% solution="RotaryPositions" of="course_lib.layers.positional"

# %% test="RotaryPositions-one-hand" points=1 read="positional-encoding#rotary-positions"
# A pair of entries is turned by its position, from offset on
x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).to(device)  # three tokens, head_dim 2
sin, cos = math.sin, math.cos
output = RotaryPositions(2)(x.clone())
assert_shape(output, (3, 2), what="the output", hint="a vector for each token")
assert_close(
    output.float(),
    torch.tensor([[1.0, 0.0], [cos(1), sin(1)], [-sin(2), cos(2)]]).to(device),
    what="the output",
    hint="(x, y) becomes (x cos - y sin, x sin + y cos)",
    mistakes={
        "turned the other way round": (
            torch.tensor([[1.0, 0.0], [cos(1), -sin(1)], [sin(2), cos(2)]]).to(device)
        ),
        "the second line needs the first entry as it was, not as turned": torch.tensor(
            [[1.0, 0.0], [cos(1), cos(1) * sin(1)], [-sin(2), cos(2) - sin(2) ** 2]]
        ).to(device),
        "positions are added; this layer turns": (
            torch.tensor([[1.0, 1.0], [1 + sin(1), cos(1)], [sin(2), 1 + cos(2)]]).to(device)
        ),
    },
)
### BEGIN HIDDEN TESTS
layer = RotaryPositions(2)


def turned(x, angle):
    """Turn every point of x."""
    (first, second), sin, cos = x.unbind(-1), angle.sin(), angle.cos()
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)


for shape in ((5, 2), (3, 5, 2), (2, 3, 5, 2)):
    x = torch.randn(shape).to(device)
    for offset in (0, int(torch.randint(2, 9, ()))):
        t = torch.arange(offset, offset + 5, device=device, dtype=torch.float32)
        expected = turned(x, t)
        from_turned = expected[..., 0] * t.sin() + x[..., 1] * t.cos()
        output = layer(x.clone(), offset=offset)
        what = f"the output for x of shape {shape} with offset={offset}"
        assert_shape(output, shape, what=what, hint="a vector for each token")
        assert_close(
            output.float(),
            expected,
            what=what,
            hint="positions count along the last but one dimension, x.size(-2)",
            mistakes={
                "turned the other way round": turned(x, -t),
                "offset is not used: the first token stands at position offset": (
                    turned(x, t - offset)
                ),
                "the second line needs the first entry as it was, not as turned": (
                    torch.stack((expected[..., 0], from_turned), dim=-1)
                ),
                "positions are added; this layer turns": (
                    x + torch.stack((t.sin(), t.cos()), dim=-1)
                ),
            },
        )
assert_keeps_inputs(layer, x, hint="writing into x[..., 0::2] changes the caller's tensor")
what = "the output for heads that were split off by transpose"
strided, hint = call_beside(call_strided, layer, x, dims=(1, 2)), "reshape() takes any tensor"
assert_close(strided, layer(x.clone()), what=what, hint=hint)
### END HIDDEN TESTS

# %% test="RotaryPositions-all-hands" points=1 read="positional-encoding#rotary-positions"
# Neighbours make pairs, each at its own speed, so that products depend on distance alone
layer = RotaryPositions(8)
query, key = torch.randn(8).to(device), torch.randn(8).to(device)
queries, keys = layer(query.repeat(6, 1)), layer(key.repeat(6, 1))  # the same at six places
same = "the output has the dtype of x: cast the sines and cosines to it"
for turned_vectors in (queries, keys):
    checked(turned_vectors, (6, 8), hint=same)
near, far = queries[1] @ keys[0], queries[5] @ keys[4]
hint = "turn each pair by its hand's angle, and do nothing else"
assert_close(far, near, what="the product of a query and the key before it, further on", hint=hint)
hint = "what is turned keeps its length"
length = query.norm().expand(6)
assert_close(queries.norm(dim=-1), length, what="the length of each vector", hint=hint)


def assert_kept(layer, **given):
    """Check that the layer keeps what it was given."""
    for name, value in given.items():
        hint = f"keep it as it was given, as the docstring says: self.{name} = {name}"
        assert_equal(getattr(layer, name, None), value, what=f"the attribute {name}", hint=hint)


assert_kept(RotaryPositions(8, base=500.0), head_dim=8, base=500.0)
### BEGIN HIDDEN TESTS
from course_lib.layers.positional import RotaryPositions as ReferencePositions

points = torch.tensor([[1.0, 0.0], [1.0, 0.0]]).to(device)
one_hand = RotaryPositions(2)(points.clone())
assert_shape(one_hand, (2, 2), what="the output with one hand")
# Which way a hand turns is told where there is one.
there_and_back = ReferencePositions(2)(points) * torch.tensor([1.0, -1.0]).to(device)
backwards = torch.allclose(one_hand.float(), there_and_back, atol=1e-5)
if backwards:
    forgive("a hand turns the other way round", "RotaryPositions-one-hand")


def turn_all(x, base=10_000.0, offset=0):
    """Turn each vector by its position, the way that the layer turns one hand."""
    width = x.size(-1)
    mirror = torch.tensor([1, -1 if backwards else 1]).repeat(width // 2).to(device)
    return mirror * ReferencePositions(width, base=base)(mirror * x, offset=offset)


for head_dim, base in ((4, 10_000.0), (6, 500.0)):
    x = torch.randn(2, 3, 5, head_dim).to(device)
    expected = turn_all(x, base, offset=4)
    layer = RotaryPositions(head_dim, base=base).train(head_dim == 4)  # and in evaluation
    # For a rotation of entries i and i + head_dim / 2, as some models have it:
    regrouped = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
    assert_close(
        layer(x.clone(), offset=4),
        expected,
        what=f"the output for head_dim={head_dim}, base={base:g}",
        hint="hand i turns entries 2i and 2i + 1; its angle is that of position_angles for the "
        "width head_dim and this base",
        mistakes={
            "the base is fixed; hand yours on to position_angles": (
                turn_all(x, offset=4) if base != 10_000 else torch.full_like(x, torch.nan)
            ),
            "the pairs are i and i + head_dim / 2; here neighbours make a pair": (
                turn_all(regrouped, base, offset=4)
                .unflatten(-1, (-1, 2))
                .transpose(-2, -1)
                .flatten(-2)
            ),
            "the turned halves are laid one after the other; entries take turns": torch.cat(
                (expected[..., 0::2], expected[..., 1::2]), dim=-1
            ),
        },
    )
    assert_gradients_like(partial(turn_all, base=base), layer, {"x": x})
x = torch.randn(3, 5, 6).to(device)
hint = "base is 10,000 unless it is given"
assert_close(
    RotaryPositions(6)(x.clone()), turn_all(x), what="the output without a base", hint=hint
)
layer = RotaryPositions(4)
for dtype in (torch.float64, torch.bfloat16):
    x = torch.randn(2, 3, 4, dtype=dtype).to(device)
    checked(layer(x), (2, 3, 4), what=f"output for {dtype}", hint=same, dtype=dtype)
x = torch.randn(5, 6, dtype=torch.float64).to(device)
far = int(torch.randint(100_000, 110_000, ()))
layer = RotaryPositions(6)
layer(x.float(), offset=far)  # what it may keep of this does not do for another dtype
output = layer(x.clone(), offset=far)
checked(output, (5, 6), what="the output far from the start", dtype=torch.float64)
exact = turn_all(x, offset=far)
if not torch.allclose(output, exact, rtol=0, atol=1e-5):
    # Digits that position_angles has lost are lost there.
    angles = position_angles(torch.arange(far, far + 5, device=device), 6)
    checked(angles, (5, 3), what="angles", dtype=torch.float64)
    angles = -angles if backwards else angles
    turned = torch.view_as_complex(x.view(5, 3, 2)) * torch.polar(torch.ones_like(angles), angles)
    exact = torch.view_as_real(turned).flatten(-2)
    if not torch.allclose(output, exact, rtol=0, atol=1e-5):
        hint = "for x in float64 compute the angles in float64: far off, float32 has few digits"
        raise CheckFailure("the output far from the start has lost digits in float64", hint=hint)
expected = turn_all(torch.ones(2, 3, 12).to(device), offset=5001)
for dtype in (torch.bfloat16, torch.float16):
    ones = torch.ones(2, 3, 12, dtype=dtype).to(device)
    for layer, hint in (
        (RotaryPositions(12), "compute the angles in float32 or more, and cast their sines"),
        (RotaryPositions(12).to(dtype), "a model in half precision rounds its buffers too"),
    ):
        output = layer(ones.clone(), offset=5001)
        checked(output, (2, 3, 12), what=f"the output in {dtype}", dtype=dtype)
        if not torch.allclose(output.float(), expected, atol=0.05):
            what = f"for x in {dtype}, the output at positions 5001 to 5003"
            raise CheckFailure(f"{what} differs from what is expected", hint=hint)
x, layer = torch.randn(2, 3, 4).to(device), RotaryPositions(4, base=1.5)
assert_shape(layer(x), (2, 3, 4), what="the output for base=1.5")
assert_kept(layer, head_dim=4, base=1.5)
hint = "head_dim must be positive and even, base above 1, offset not negative: raise ValueError"
for head_dim in (3, 0):
    assert_raises(ValueError, RotaryPositions, head_dim, hint=hint)
assert_raises(ValueError, RotaryPositions, 4, base=1.0, hint=hint)
assert_raises(ValueError, RotaryPositions(4), torch.randn(3, 4).to(device), offset=-1, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: the feed-forward layer
#
# Attention carries; this layer thinks. Each token for itself, all with the same weights: widen,
# bend, bring back. See [Feed-forward layers](book:feed-forward).
#
# The function in the middle has four choices, `"relu"`, `"gelu"`, `"gelu_tanh"` and `"silu"`;
# `F.relu`, `F.gelu` and `F.silu` give you all of them (look up `approximate` for the third).
# Dropout acts on the *inner* activations. `nn.Dropout` knows by itself whether the layer is
# training (`layer.train()`, `layer.eval()`), if you make it in `__init__`.

# %% solution="FeedForward" of="course_lib.layers.feed_forward"

# %% test="FeedForward-values" points=1 read="feed-forward#the-formula"
# Widen, bend, bring back: with each of the four functions
layer = FeedForward(1, 2).to(device).eval()  # dropout has a test of its own
layer.load_state_dict(
    {
        "up_projection.weight": torch.tensor([[1.0], [-1.0]]),
        "up_projection.bias": torch.tensor([0.0, 0.0]),
        "down_projection.weight": torch.tensor([[1.0, 1.0]]),  # max(0, x) + max(0, -x) = |x|
        "down_projection.bias": torch.tensor([-0.5]),
    }
)
x = torch.tensor([[3.0], [-2.0], [1.0], [-4.0]]).to(device)
assert_close(
    layer(x),
    torch.tensor([[2.5], [1.5], [0.5], [3.5]]).to(device),
    what="the output",
    hint="up_projection, activation, down_projection, in this order",
    mistakes={
        "nothing bends: apply the activation between the two": (
            torch.tensor([[-0.5], [-0.5], [-0.5], [-0.5]]).to(device)
        ),
        "the activation comes before the down_projection, not after it": torch.zeros(4, 1).to(
            device
        ),
        "the residual is another layer's business: do not add x": (
            torch.tensor([[5.5], [-0.5], [1.5], [-0.5]]).to(device)
        ),
    },
)
assert_raises(ValueError, FeedForward, 4, 8, activation="swish", hint="there are four: ValueError")
the_function = (
    "the attribute activation is the function itself, as the docstring says, not its name"
)
bending = torch.tensor([-2.0, -0.5, 0.0, 3.0]).to(device)
kept = getattr(layer, "activation", None)
if not callable(kept):
    raise CheckFailure("the attribute activation is no function", hint=the_function)
what = "what the attribute activation gives for relu"
assert_close(kept(bending), F.relu(bending), what=what, hint=the_function)
### BEGIN HIDDEN TESTS
from course_lib.layers.feed_forward import FeedForward as ReferenceLayer

x = torch.randn(2, 3, 6).to(device)
for activation in ("relu", "gelu", "gelu_tanh", "silu"):
    reference = ReferenceLayer(6, 10, activation=activation).to(device)
    student = FeedForward(6, 10, activation=activation).to(device).eval()
    if set(student.state_dict()) != set(reference.state_dict()):
        raise CheckFailure(
            f"the parameters are {sorted(student.state_dict())}, "
            f"expected {sorted(reference.state_dict())}",
            hint="two nn.Linear with the docstring's names, up_projection and down_projection",
        )
    student.load_state_dict(reference.state_dict())
    inner = reference.up_projection(x)
    functions = {
        "relu": F.relu,
        "gelu": F.gelu,
        "gelu_tanh": lambda y: F.gelu(y, approximate="tanh"),
        "silu": F.silu,
    }
    others = {
        f"{activation} was asked for, this is {name}": reference.down_projection(function(inner))
        for name, function in functions.items()
        if name != activation
    }
    assert_close(
        student(x),
        reference(x),
        what=f"the output with {activation}",
        hint="down_projection(activation(up_projection(x)))",
        mistakes={
            "nothing bends: apply the activation between the two": reference.down_projection(inner),
            "the activation comes before the down_projection, not after it": (
                functions[activation](reference.down_projection(inner))
            ),
            "bent twice: nothing comes after the down_projection": (
                functions[activation](reference(x))
            ),
            "the residual is another layer's business: do not add x": x + reference(x),
            **others,
        },
    )
    in_training = partial(call_beside, call_without_dropout, student.train())
    assert_gradients_like(reference, in_training, {"x": x}, modules={"": (reference, student)})
    kept = getattr(student, "activation", None)
    if not callable(kept):
        raise CheckFailure("the attribute activation is no function", hint=the_function)
    what = f"what the attribute activation gives for {activation}"
    assert_close(kept(bending), functions[activation](bending), what=what, hint=the_function)
student.eval()
strided, hint = call_beside(call_strided, student, x), "reshape() takes any tensor"
assert_close(strided, student(x), what="output for an x that is not contiguous", hint=hint)
alone, hint = x[0, 0], "there may be no dimension before the last: x is (..., d_model)"
assert_close(student(alone), student(x)[0, 0], what="output for one token alone", hint=hint)
for arguments in ((0, 8), (4, 0), (4, -1)):
    assert_raises(ValueError, FeedForward, *arguments, hint="sizes are at least 1: ValueError")
for name in ("swish", "RELU", ""):
    assert_raises(ValueError, FeedForward, 4, 8, activation=name, hint="ValueError if unknown")
### END HIDDEN TESTS

# %% test="FeedForward-dropout" points=1 read="feed-forward#the-formula"
# In training, and only then, dropout sets inner activations to zero and scales the others up
layer = FeedForward(64, 64, dropout=0.2).to(device)
layer.load_state_dict(
    {
        "up_projection.weight": torch.zeros(64, 64),
        "up_projection.bias": torch.ones(64),  # every inner activation is 1
        "down_projection.weight": torch.eye(64),
        "down_projection.bias": torch.ones(64),
    }
)
x = torch.zeros(50, 64).to(device)
layer.eval()
off = "layer.eval() switches nn.Dropout off; F.dropout needs training=self.training"
assert_close(layer(x), torch.full_like(x, 2.0), what="output in evaluation", hint=off)
### BEGIN HIDDEN TESTS
layer.eval()
assert_close(layer(x), torch.full_like(x, 2.0), what="output in evaluation", hint=off)
layer.train()
output = checked(layer(x), (50, 64), what="output in training")
values = set(output.detach().flatten().round(decimals=3).tolist())
hint = {
    (2.0,): "dropout acts on the inner activations, and nothing is dropped from them",
    (0.0, 2.5): "dropout acts on the output; it belongs on the inner activations",
    (1.0, 2.0): "what is kept is scaled up by 1 / (1 - dropout); nn.Dropout does it",
    (1.0, 6.0): "dropout is the share that is dropped, not the share that is kept",
}.get(tuple(sorted(values)), "dropout acts on the inner activations, before the down_projection")
if len(values) == 2 and min(values) == 1 and max(values) not in (2, 2.25, 6):
    hint = "another share than dropout is dropped: hand dropout on"
if values != {1.0, 2.25}:  # dropped: the bias alone; kept: 1 / (1 - 0.2), and the bias
    raise CheckFailure("the values of the output in training are not those of dropout", hint=hint)
again = checked(layer(x), (50, 64), what="output in training")
if any(bool((output == other).all()) for other in (again, output[:1], output[:, :1])):
    hint = "dropout is drawn anew in each call, for each token and each of its activations"
    raise CheckFailure("the same is dropped twice", hint=hint)
share = (output == 1).float().mean().item()
if not 0.15 < share < 0.25:
    raise CheckFailure("another share than dropout is set to zero", hint="hand dropout on")
# The ReLU of what is scaled up is what is scaled up; only a curve tells which of the two is first.
# And this layer reads what it gets: of that, too, nothing may be dropped.
x = torch.ones(50, 64).to(device)
layer = FeedForward(64, 64, activation="gelu", dropout=0.5).to(device)
layer.load_state_dict(
    {
        "up_projection.weight": torch.eye(64),
        "up_projection.bias": torch.zeros(64),
        "down_projection.weight": torch.eye(64),
        "down_projection.bias": torch.ones(64),
    }
)
layer.eval()
kept = float(F.gelu(torch.ones(())))
output = checked(layer(x), (50, 64), what="output with gelu")
if torch.allclose(output, torch.full_like(x, 1 + kept), atol=1e-3):  # the values' own check
    layer.train()
    output = checked(layer(x), (50, 64), what="output with gelu, in training")
    right = ((output - 1).abs() < 0.01) | ((output - 1 - 2 * kept).abs() < 0.01)
    if not bool(right.all()):
        raise CheckFailure(
            "with gelu, the values of the output in training are not those of dropout",
            hint="dropout comes after the activation, once, and before the down_projection",
        )
layer = FeedForward(4, 8).to(device).eval()
x = torch.randn(5, 4).to(device)
output = checked(layer(x), (5, 4), what="output in evaluation")
what = "output in training, without dropout given"
assert_close(layer.train()(x), output, what=what, hint="dropout starts at 0")
assert_raises(ValueError, FeedForward, 4, 8, dropout=1.5, hint="a share is from 0 to 1: ValueError")
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: normalisation
#
# Sums of many layers grow. Normalisation takes each token's vector *by itself*, moves its mean to
# 0, scales its variance to 1, and then gives the model two dials an entry, a weight and a bias:
#
# $$y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot g + b, \qquad
# \mu = \frac1d \sum_j x_j, \qquad \sigma^2 = \frac1d \sum_j (x_j - \mu)^2$$
#
# with $d$ for `d_model`. See [Layer normalisation](book:layer-normalization). Three things to
# keep in mind:
#
# - $\mu$ and $\sigma^2$ belong to *one token*: means run over the last dimension alone.
# - The variance divides by $d$. `x.var()` and `x.std()` divide by $d - 1$ unless you stop them.
# - $\varepsilon$ stands *under* the root.
#
# `rms_norm` does less: no mean is subtracted, no bias added; it divides by the root of the mean
# square. [RMSNorm: half of it is enough](book:layer-normalization#rms-norm) says why.
#
# **The rule of this part:** `layer_norm` and `rms_norm` are the formulas, written out. One that
# leads to PyTorch's own `LayerNorm`, `RMSNorm`, `layer_norm` or `rms_norm`, or to the course
# library's `RMSNorm`, loses the points of its tests; so does one that has `group_norm`,
# `instance_norm` or `batch_norm` do the work. Comparing yours with PyTorch's, in a cell of your own,
# is a good idea. (`LayerNorm`, further down, may use what it likes.)

# %% solution="layer_norm" of="course_lib.layers.normalization" forbids="torch.nn.LayerNorm torch.nn.functional.layer_norm torch.layer_norm torch.nn.RMSNorm torch.nn.functional.rms_norm torch.rms_norm torch.nn.functional.group_norm torch.nn.functional.instance_norm torch.nn.functional.batch_norm" withholds="course_lib.layers.normalization.RMSNorm"

# %% test="layer_norm-values" points=1 read="layer-normalization#which-mean"
# Each token has mean 0 and variance 1, then a weight and a bias
x = torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]).to(device)  # means 2 and 20, deviations 1 and 10
weight, bias = torch.tensor([2.0, 2.0]).to(device), torch.tensor([5.0, 7.0]).to(device)
assert_close(
    layer_norm(x.clone(), weight, bias),
    torch.tensor([[[3.0, 9.0], [3.0, 9.0]]]).to(device),  # -1 and 1, times 2, plus 5 and 7
    what="output",
    hint="mean and variance run over the last dimension alone; keepdim=True keeps each beside its "
    "own token",
    mistakes={
        "the mean is not subtracted": torch.tensor([[[7.0, 13.0]]]).expand(1, 2, 2).to(device),
        "mean square instead of variance: subtract the mean before you square": (
            torch.tensor([[[5 - 2 / 5**0.5, 7 + 2 / 5**0.5]]]).expand(1, 2, 2).to(device)
        ),
        "means run over the tokens; they belong over the last dimension": (
            torch.tensor([[[3.0, 5.0], [7.0, 9.0]]]).to(device)
        ),
        "means run over tokens and entries; take the last dimension alone": (
            (x - x.mean()) / x.std(unbiased=False) * weight + bias
        ),
        "the bias is added before the weight multiplies": (
            torch.tensor([[[8.0, 16.0]]]).expand(1, 2, 2).to(device)
        ),
        "the variance divides by d_model - 1; divide by d_model": (
            torch.tensor([[[5 - 2**0.5, 7 + 2**0.5]]]).expand(1, 2, 2).to(device)
        ),
        "weight and bias are missing": torch.tensor([[[-1.0, 1.0]]]).expand(1, 2, 2).to(device),
        "the weight is missing": torch.tensor([[[4.0, 8.0]]]).expand(1, 2, 2).to(device),
        "the bias is missing": torch.tensor([[[-2.0, 2.0]]]).expand(1, 2, 2).to(device),
        "the weight multiplies what is normalised, not the bias": (
            torch.tensor([[[9.0, 15.0]]]).expand(1, 2, 2).to(device)
        ),
        "weight and bias have changed places": (
            torch.tensor([[[-3.0, 9.0]]]).expand(1, 2, 2).to(device)
        ),
        "divided by the variance; take its root": (
            torch.tensor([[[3.0, 9.0], [4.8, 7.2]]]).to(device)
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.normalization import layer_norm as reference_norm

weight, bias = torch.randn(5).to(device), torch.randn(5).to(device)


def over(x, *dims):
    """Normalise over these dimensions."""
    spread = x.var(dims, keepdim=True, unbiased=False).sqrt()
    return (x - x.mean(dims, keepdim=True)) / spread * weight + bias


for shape in ((3, 5), (2, 3, 5), (2, 2, 3, 5)):
    x = torch.randn(shape).to(device)
    x[..., 0] += 10  # so that no variance is small: eps is the other check's business
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    normal = (x - mean) / variance.sqrt()
    mistakes = {
        "the variance divides by d_model - 1; divide by d_model (unbiased=False)": (
            (x - mean) / x.var(-1, keepdim=True).sqrt() * weight + bias
        ),
        "weight and bias are missing": normal,
        "the bias is missing": normal * weight,
        "the weight is missing": normal + bias,
        "the weight multiplies what is normalised, not the bias": normal + bias * weight,
        "weight and bias have changed places": normal * bias + weight,
        "the bias is added before the weight multiplies": (normal + bias) * weight,
        "divided by the variance; take its root": (x - mean) / variance * weight + bias,
        "the mean is not subtracted": x / variance.sqrt() * weight + bias,
        "x is not centred where it is divided: mean square instead of variance": (
            (x - mean) / x.square().mean(-1, keepdim=True).sqrt() * weight + bias
        ),
        "the variance is not divided out": (x - mean) * weight + bias,
        "means run over the tokens; they belong over the last dimension": over(x, -2),
        "means run over tokens and entries; take the last dimension alone": over(x, -2, -1),
        "means run over the whole batch": over(x, *range(x.dim())),
        "means run over the sentences of the batch; take the last dimension": over(x, 0),
    }
    assert_close(
        layer_norm(x.clone(), weight, bias),
        reference_norm(x, weight, bias),
        what=f"output for x of shape {shape}",
        hint="mean and variance run over the last dimension alone, with keepdim=True",
        mistakes=mistakes,
    )
assert_keeps_inputs(layer_norm, x, weight, bias, hint="x -= mean changes the caller's tensor")
strided, hint = call_beside(call_strided, layer_norm, x, weight, bias), "reshape() takes any tensor"
what, expected = "output for an x that is not contiguous", reference_norm(x, weight, bias)
assert_close(strided, expected, what=what, hint=hint)
alone, hint = x[0, 0, 0], "there may be no dimension before the last: x is (..., d_model)"
what, expected = "output for one token alone", reference_norm(alone, weight, bias)
assert_close(layer_norm(alone.clone(), weight, bias), expected, what=what, hint=hint)
assert_gradients_like(reference_norm, layer_norm, {"x": x, "weight": weight, "bias": bias})
same = "the output has the dtype of x"
for dtype in (torch.float64, torch.bfloat16):
    output = layer_norm(x.to(dtype), weight.to(dtype), bias.to(dtype))
    checked(output, (2, 2, 3, 5), what=f"output for x in {dtype}", hint=same, dtype=dtype)
### END HIDDEN TESTS

# %% test="layer_norm-eps" points=1 read="layer-normalization#which-mean"
# Epsilon is added to the variance, which is never below zero, under the root
x = torch.tensor([[-2.0, 2.0], [0.0, 0.0]]).to(device)
x = x.repeat(1, 10_000)  # so wide that d_model - 1 is as good as d_model
weight, bias = torch.ones(20_000).to(device), torch.zeros(20_000).to(device)
# The variances are 4 and 0. With an eps of 5 the first root is 3.
over_tokens = "means run over the tokens; they belong over the last dimension"
assert_close(
    layer_norm(x, weight, bias, eps=5.0),
    x / 3,
    what="output",
    hint="the variance of a constant vector is 0: add eps to it, under the root",
    mistakes={
        "eps is added to the root; add it to the variance, under the root": x / 7,
        "eps is fixed; use the argument eps": x / 2,
        "eps is squared: it is added to the variance as it is": x / 29**0.5,
        "eps is the least that the variance may be; add it to the variance": x / 5**0.5,
        "the root is missing: divide by sqrt(variance + eps)": x / 9,
        over_tokens: (x - x.mean(0)) / 6**0.5,
        "weight and bias have changed places": torch.ones_like(x),
        "means run over tokens and entries; they belong over the last dimension": x / 7**0.5,
    },
)
### BEGIN HIDDEN TESTS
# Half of the entries are -a, half are a: the mean is 0, so the size of the entries is all that can
# change. And in so wide a vector d_model - 1 is as good as d_model.
sizes = (0.5 + torch.rand(6, 1)).to(device)
x = sizes * torch.tensor([-1.0, 1.0]).repeat(5_000).to(device)  # (6, 10000)
x = torch.cat((x, -x))
weight, bias = torch.ones(10_000).to(device), torch.zeros(10_000).to(device)


def shrunk(divisor):
    """Divide each token."""
    return x / torch.cat((divisor, divisor))


eps = 2.0 + float(torch.rand(()))
added = "divide by sqrt(variance + eps)"
output = checked(layer_norm(x, weight, bias, eps=eps), (12, 10_000), hint=added)
expected = shrunk((sizes**2 + eps).sqrt())
mistakes = {
    "eps is added to the root; add it to the variance, under the root": shrunk(sizes + eps),
    "eps is fixed; use the argument eps": shrunk((sizes**2 + 1e-5).sqrt()),
    "eps is the least that the variance may be; add it to the variance": shrunk(
        (sizes**2).clamp(min=eps).sqrt()
    ),
    "the root is missing: divide by sqrt(variance + eps)": shrunk(sizes**2 + eps),
    "means run over other tokens too; they belong over the last dimension": x
    / ((sizes**2).mean() + eps) ** 0.5,
    "eps is subtracted": shrunk((sizes**2 - eps).abs().sqrt()),
    "eps is squared: it is added to the variance as it is": (shrunk((sizes**2 + eps**2).sqrt())),
}
if not torch.allclose(output, expected, rtol=1e-3):
    known = [words for words, y in mistakes.items() if torch.allclose(output, y, rtol=1e-3)]
    raise CheckFailure("eps does not act as the formula says", hint=(known or [added])[0])
x = 3e-3 * x.sign()  # variances of 9e-6, about as much as eps
output = checked(layer_norm(x, weight, bias), (12, 10_000), hint=added)
if not torch.allclose(output, x / (9e-6 + 1e-5) ** 0.5, rtol=1e-3):
    raise CheckFailure(
        "output for small x, without an eps given, differs from what is expected",
        hint="eps is 1e-5 unless it is given",
    )
constant = torch.full((2, 3, 4), 5.0).to(device)
weight, bias = torch.ones(4).to(device), torch.full((4,), 2.0).to(device)
hint = "the variance of a constant vector is 0: add eps to it"
checked(layer_norm(constant, weight, bias), (2, 3, 4), what="output for constants", hint=hint)
constant.requires_grad_()
output = layer_norm(constant.clone(), weight, bias)
if output.requires_grad:  # the other check asks whether there is a way back
    upstream = torch.randn(2, 3, 4).to(device)
    (slopes,) = torch.autograd.grad(output, constant, upstream, allow_unused=True)
    hint = "sqrt() has no slope at 0: add eps before the root"
    if slopes is not None:
        checked(slopes, (2, 3, 4), what="gradient of constants", hint=hint)
constants = 10 * (1 + torch.rand(400, 1)).expand(400, 7).to(device)
weight, bias = torch.ones(7).to(device), torch.zeros(7).to(device)
hint = "subtract the mean before you square: the difference E[x^2] - E[x]^2 may fall below zero"
checked(layer_norm(constants, weight, bias), (400, 7), what="output for constants", hint=hint)
### END HIDDEN TESTS

# %% solution="rms_norm" of="course_lib.layers.normalization" forbids="torch.nn.LayerNorm torch.nn.functional.layer_norm torch.layer_norm torch.nn.RMSNorm torch.nn.functional.rms_norm torch.rms_norm torch.nn.functional.group_norm torch.nn.functional.instance_norm torch.nn.functional.batch_norm" withholds="course_lib.layers.normalization.RMSNorm"

# %% test="rms_norm-values" points=1 read="layer-normalization#rms-norm"
# Each token has mean square 1, then a weight; its mean is left alone
x = torch.tensor([[[3.0, 3.0], [-5.0, 5.0]]]).to(device)  # mean squares 9 and 25
weight = torch.tensor([2.0, 10.0]).to(device)
assert_close(
    rms_norm(x.clone(), weight),
    torch.tensor([[[2.0, 10.0], [-2.0, 10.0]]]).to(device),
    what="output",
    hint="divide by the root of the mean square, which runs over the last dimension alone",
    mistakes={
        "this divides by the deviation; take the root of the mean square": (
            torch.tensor([[[6000.0, 30000.0], [-2.0, 10.0]]]).to(device)  # 0 and eps, the root
        ),
        "the weight is missing": torch.tensor([[[1.0, 1.0], [-1.0, 1.0]]]).to(device),
        "the root is missing": torch.tensor([[[2 / 3, 10 / 3], [-0.4, 2.0]]]).to(device),
        "means run over other tokens too; take the last dimension alone": x / 17**0.5 * weight,
        "each token needs its own mean square: keepdim=True keeps it there": (
            torch.tensor([[[2.0, 6.0], [-10 / 3, 10.0]]]).to(device)
        ),
        "the weight stands outside the root": (
            torch.tensor([[[1.0, 1.0], [-1.0, 1.0]]]).to(device) * weight.sqrt()
        ),
        "the mean is subtracted; here it stays": (
            torch.tensor([[[0.0, 0.0], [-2.0, 10.0]]]).to(device)
        ),
        "divided by the norm; divide by the root of the mean square": (
            torch.tensor([[[2.0, 10.0], [-2.0, 10.0]]]).to(device) / 2**0.5
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.layers.normalization import rms_norm as reference_norm

weight = torch.randn(6).to(device)
x = (torch.randn(2, 3, 6) + 1).to(device)
x[0, 0] = 0.0  # whose mean square is nothing but eps
for eps in (1e-6, 2.0):
    square = x.square().mean(-1, keepdim=True)
    assert_close(
        rms_norm(x.clone(), weight, eps=eps),
        reference_norm(x, weight, eps=eps),
        what=f"output for eps={eps:g}",
        hint="x / sqrt(mean of x * x over the last dimension + eps) * weight",
        mistakes={
            "the mean is subtracted; here it stays": (
                (x - x.mean(-1, keepdim=True)) / (square + eps).sqrt() * weight
            ),
            "this divides by the deviation; take the root of the mean square": (
                x / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt() * weight
            ),
            "the weight is missing": x / (square + eps).sqrt(),
            "the root is missing": x / (square + eps) * weight,
            "eps is missing: add it to the mean square": x / square.sqrt() * weight,
            "eps is fixed; use the argument eps": x / (square + 1e-6).sqrt() * weight,
            "eps is added to the root; add it to the mean square": (
                x / (square.sqrt() + eps) * weight
            ),
            "divided by the norm; divide by the root of the mean square": (
                x / (square * 6 + eps).sqrt() * weight
            ),
            "means run over the tokens; take the last dimension": (
                x / (x.square().mean(-2, keepdim=True) + eps).sqrt() * weight
            ),
        },
    )
small = 1e-3 * x  # mean squares of about 1e-6
expected = reference_norm(small, weight)
hint = "eps is 1e-6 unless it is given"
assert_close(rms_norm(small.clone(), weight), expected, what="output for small x", hint=hint)
zero = rms_norm(torch.zeros(2, 6).to(device), weight)
assert_close(zero, torch.zeros(2, 6).to(device), what="output for zeros", hint="eps is missing")
assert_keeps_inputs(rms_norm, x, weight, hint="x /= ... changes the caller's tensor")
x = (torch.randn(2, 3, 6) + 1).to(device)
strided, hint = call_beside(call_strided, rms_norm, x, weight), "reshape() takes any tensor"
what, expected = "output for an x that is not contiguous", reference_norm(x, weight)
assert_close(strided, expected, what=what, hint=hint)
alone, hint = x[0, 0], "there may be no dimension before the last: x is (..., d_model)"
what, expected = "output for one token alone", reference_norm(alone, weight)
assert_close(rms_norm(alone.clone(), weight), expected, what=what, hint=hint)
assert_gradients_like(reference_norm, rms_norm, {"x": x, "weight": weight})
assert_gradients_like(reference_norm, rms_norm, {"x": 0 * x, "weight": weight})
same = "the output has the dtype of x"
for dtype in (torch.float64, torch.bfloat16):
    output = rms_norm(x.to(dtype), weight.to(dtype))
    checked(output, (2, 3, 6), what=f"output for x in {dtype}", hint=same, dtype=dtype)
### END HIDDEN TESTS

# %% [markdown]
# ### As a layer
#
# A layer keeps weight and bias as parameters. In the first step of training they must change
# nothing.
# The formula is yours by now, so `forward` may call your `layer_norm` or PyTorch's
# `F.layer_norm`, as you like.

# %% solution="LayerNorm" of="course_lib.layers.normalization"

# %% test="LayerNorm-parameters" points=1 read="layer-normalization#which-mean"
# Gain and bias are parameters that start by changing nothing, and eps is kept
layer = LayerNorm(4).to(device)
trained = "self.weight = nn.Parameter(torch.ones(d_model)), self.bias likewise with zeros: only a "
trained += "parameter is trained, saved, and moved from device to device"
for name in ("weight", "bias"):
    if not isinstance(getattr(layer, name, None), nn.Parameter):
        raise CheckFailure(f"{name} is no parameter of the layer", hint=trained)
hint = "a weight for each entry; at first it must change nothing, so each is 1"
assert_close(layer.weight, torch.ones(4).to(device), what="weight at the start", hint=hint)
hint = "a bias for each entry; at first it must change nothing, so each is 0"
assert_close(layer.bias, torch.zeros(4).to(device), what="bias at the start", hint=hint)
as_given = "keep it as it was given, as the docstring says: self.eps = eps"
kept = getattr(LayerNorm(4, eps=0.5), "eps", None)
assert_equal(kept, 0.5, what="the attribute eps", hint=as_given)
checked(layer(torch.randn(2, 3, 4).to(device)), (2, 3, 4)).square().sum().backward()
hint = "make it an nn.Parameter and use it in forward"
assert_shape(layer.weight.grad, (4,), what="gradient of weight", hint=hint)
### BEGIN HIDDEN TESTS
for name in ("weight", "bias"):
    if not isinstance(getattr(layer, name, None), nn.Parameter):
        raise CheckFailure(f"{name} is no parameter of the layer", hint=trained)
if set(layer.state_dict()) != {"weight", "bias"}:
    raise CheckFailure(f"the parameters are {sorted(layer.state_dict())}", hint=trained)
hint = "weight starts at 1, bias at 0"
assert_close(layer.weight, torch.ones(4).to(device), what="weight at the start", hint=hint)
assert_close(layer.bias, torch.zeros(4).to(device), what="bias at the start", hint=hint)
# -1 and 1 in a wide vector: neither the mean nor d_model - 1 is at stake here.
x = torch.tensor([-1.0, 1.0]).repeat(10_000).to(device)[None].requires_grad_()
for eps in (1e-5, 3.0):
    layer = LayerNorm(20_000, eps=eps).to(device)
    assert_equal(getattr(layer, "eps", None), eps, what="the attribute eps", hint=as_given)
    weight, bias = torch.rand(20_000) + 1, torch.rand(20_000)
    layer.load_state_dict({"weight": weight, "bias": bias})
    output = checked(layer(x), (1, 20_000))
    expected = x / (1 + eps) ** 0.5 * weight.to(device) + bias.to(device)
    if not torch.allclose(output, expected, rtol=1e-3, atol=1e-3):
        raise CheckFailure(
            f"output for eps={eps:g} differs from what is expected",
            hint="forward hands weight, bias and eps on to layer_norm",
        )
output.square().sum().backward()
hint = "make it an nn.Parameter and use it in forward"
for name in ("weight", "bias"):
    assert_shape(getattr(layer, name).grad, (20_000,), what=f"gradient of {name}", hint=hint)
hint = "detach(), .data, .item(), float() and no_grad() cut the gradient"
assert_shape(x.grad, (1, 20_000), what="gradient of x", hint=hint)
x = x.detach()
output = checked(
    LayerNorm(20_000).to(device)(3e-3 * x), (1, 20_000)
)  # a variance of 9e-6, about as much as eps
if not torch.allclose(output, 3e-3 * x / (9e-6 + 1e-5) ** 0.5, rtol=1e-3):
    raise CheckFailure("another eps than 1e-5 at the start", hint="it is 1e-5 unless given")
reference, layer = nn.LayerNorm(5).double().to(device), LayerNorm(5).double().to(device)
for each in (reference, layer):
    each.load_state_dict({"weight": weight[:5], "bias": bias[:5]})
x = (torch.randn(2, 3, 5) + 1).double().to(device)
same = "a layer in float64 gives float64 for float64"
output, expected = checked(layer(x), (2, 3, 5), dtype=torch.float64, hint=same), reference(x)
if torch.allclose(output, expected, rtol=1e-4, atol=1e-4):
    assert_gradients_like(reference, layer, {"x": x})
    strided, hint = call_beside(call_strided, layer, x), "reshape() takes any tensor"
    assert_close(strided, expected, what="output for an x that is not contiguous", hint=hint)
    alone, hint = layer(x[0, 0]), "there may be no dimension before the last: x is (..., d_model)"
    assert_close(alone, expected[0, 0], what="output for one token alone", hint=hint)
    hint = "nothing is kept of what was read in training: each token has a mean of its own"
    assert_close(layer.eval()(x[:1]), expected[:1], what="output in evaluation", hint=hint)
elif torch.allclose(output, layer_norm(x.clone(), reference.weight, reference.bias)):
    forgive("the layer's formula is that of layer_norm", "layer_norm-values", "layer_norm-eps")
else:
    raise CheckFailure(
        "output for x of shape (2, 3, 5) differs from what is expected",
        hint="each token by itself, by the formula of layer_norm",
    )
hint = "d_model and eps must be positive: raise ValueError"
assert_raises(ValueError, LayerNorm, 0, hint=hint)
assert_raises(ValueError, LayerNorm, 4, eps=0.0, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ### Backwards, by hand
#
# Once in your life you should do it without autograd. Write $\hat x = (x - \mu) / s$ with
# $s = \sqrt{\sigma^2 + \varepsilon}$, so that $y = \hat x \odot g + b$. The loss sends back
# $u = \partial L / \partial y$, the `upstream` gradient. Then:
#
# - $g$ and $b$ serve *all* tokens, so their gradients are sums over all tokens. There may be one
#   token alone, of shape `(d_model,)`: then nothing is summed.
# - With $v = u \odot g$ the gradient of $\hat x$, two things happen on the way to $x$. Whoever
#   moves one entry moves the mean, and with it all entries; and moves the variance, and with it
#   all entries. What is left is
#
# $$\frac{\partial L}{\partial x} = \frac1s \Big(v - \frac1d \sum_j v_j
#   - \hat x \, \frac1d \sum_j v_j \hat x_j\Big).$$
#
# The part of $v$ along the constant vector is taken out, and so is the part along $\hat x$: no
# gradient can ask for what normalisation takes away. The chapter goes through it step by step in
# [The backward pass, by hand](book:layer-normalization#backward-by-hand).
#
# **The rule:** by hand means without autograd. A function that uses anything of `torch.autograd` or
# `torch.func`, or that calls `backward`, loses the points of its tests. To compare yours with
# autograd's, in a cell of your own, is the best of tests.


# %% solution="layer_norm_backward" forbids="torch.autograd torch.func torch.Tensor.backward"
def layer_norm_backward(
    upstream: Tensor, x: Tensor, weight: Tensor, *, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """Carry a gradient back through ``layer_norm``, without autograd.

    Args:
        upstream: ``(..., d_model)``, the gradient of the loss to the output.
        x: ``(..., d_model)``, what ``layer_norm`` was given.
        weight: ``(d_model,)``, likewise.
        eps: Likewise.

    Returns:
        The gradients of the loss to ``x`` ``(..., d_model)``, to ``weight`` ``(d_model,)`` and to
        ``bias`` ``(d_model,)``, in this order.

    Source: Ba et al. (2016), equation 4, by the chain rule; chapter "Layer normalisation".
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
x = torch.tensor([[1.0, 3.0], [30.0, 10.0]]).to(device)  # normalised: -1 and 1, then 1 and -1
upstream = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).to(device)
with torch.no_grad():
    gradients = layer_norm_backward(upstream, x, torch.ones(2).to(device), eps=1e-12)
order = "return the gradients to x, weight and bias, in this order"
over_tokens = "this sums over each token's entries; sum over the tokens, sum(dim=0)"
if not (isinstance(gradients, tuple | list) and len(gradients) == 3):
    raise CheckFailure("three gradients should be returned", hint=order)
assert_close(
    gradients[1],
    torch.tensor([2.0, -3.0]).to(device),  # -1 + 3 and 2 - 5
    what="gradient of weight",
    hint="sum upstream * normalised x over all dimensions but the last",
    mistakes={
        order: torch.tensor([4.0, 7.0]).to(device),
        "an average over the tokens; it is a sum": torch.tensor([1.0, -1.5]).to(device),
        over_tokens: torch.tensor([1.0, -2.0]).to(device),
        "multiply by the normalised x, not by x": (upstream * x).sum(0),
        "the variance divides by d_model": torch.tensor([2.0, -3.0]).to(device) / 2**0.5,
        "means run over the tokens; they belong over the last dimension": (
            upstream * (x - x.mean(0)) / x.std(0, unbiased=False)
        ).sum(0),
    },
)
assert_close(
    gradients[2],
    torch.tensor([4.0, 7.0]).to(device),
    what="gradient of bias",
    hint="sum upstream over all dimensions but the last",
    mistakes={
        "an average over the tokens; it is a sum": torch.tensor([2.0, 3.5]).to(device),
        over_tokens: torch.tensor([3.0, 8.0]).to(device),
        order: torch.tensor([2.0, -3.0]).to(device),
    },
)
with torch.no_grad():
    alone = layer_norm_backward(upstream[0], x[0], torch.ones(2).to(device), eps=1e-12)[1]
assert_close(
    alone,
    torch.tensor([-1.0, 2.0]).to(device),
    what="gradient of weight of one token alone",
    hint="reshape(-1, d_model).sum(0) suits any shape; .sum(()) would add up the entries as well",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.normalization import layer_norm as reference_norm


def gradients_by_autograd(upstream, x, weight, eps):
    """Return what autograd makes of the same."""
    leaves = [t.clone().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
    reference_norm(*leaves, eps=eps).backward(upstream)
    return [leaf.grad for leaf in leaves]


for shape, dtype in (((4,), torch.float32), ((3, 4), torch.float64), ((2, 3, 4), torch.float32)):
    x, upstream = torch.randn(2, *shape, dtype=dtype).to(device)
    weight = (0.5 + torch.rand(4, dtype=dtype)).to(device)
    _, gain_gradient, bias_gradient = gradients_by_autograd(upstream, x, weight, 0.5)
    with torch.no_grad():
        gradients = layer_norm_backward(upstream, x, weight, eps=0.5)
    if not (isinstance(gradients, tuple | list) and len(gradients) == 3):
        raise CheckFailure("three gradients should be returned", hint=order)
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    count = x.numel() // 4  # tokens
    across = 0 if x.dim() == 1 else -2
    spread = (x.var(across, keepdim=True, unbiased=False) + 0.5).sqrt()
    assert_close(
        gradients[1],
        gain_gradient,
        what=f"gradient of weight for x of shape {shape}",
        hint="sum upstream * normalised x over all dimensions but the last",
        mistakes={
            "the normalised x is missing: multiply upstream by it": bias_gradient,
            "multiply by the normalised x, not by x": ((upstream * x).reshape(-1, 4).sum(0)),
            "weight itself does not occur in its own gradient": gain_gradient * weight,
            "an average over the tokens; it is a sum": gain_gradient / count,
            "eps stands under the root": (
                (upstream * (x - mean) / (variance.sqrt() + 0.5)).reshape(-1, 4).sum(0)
            ),
            "eps is fixed; use the argument eps": (
                (upstream * (x - mean) / (variance + 1e-5).sqrt()).reshape(-1, 4).sum(0)
            ),
            "the variance divides by d_model": (
                (upstream * (x - mean) / (variance * 4 / 3 + 0.5).sqrt()).reshape(-1, 4).sum(0)
            ),
            "means run over the tokens; they belong over the last dimension": (
                (upstream * (x - x.mean(across, keepdim=True)) / spread).reshape(-1, 4).sum(0)
            ),
        }
        | ({order: bias_gradient} if len(shape) > 1 else {}),
    )
    assert_close(
        gradients[2],
        bias_gradient,
        what=f"gradient of bias for x of shape {shape}",
        hint="sum upstream over all dimensions but the last",
        mistakes={
            "an average over the tokens; it is a sum": bias_gradient / count,
            "the weight comes after the bias on no road: upstream alone": bias_gradient * weight,
            order: gain_gradient,
        },
    )
### END HIDDEN TESTS

# %% test="layer_norm_backward-input" points=1 read="layer-normalization#backward-by-hand"
# The gradient of x goes through the mean and the variance as well
x, upstream = torch.randn(2, 3, 5).to(device), torch.randn(2, 3, 5).to(device)
weight = (0.5 + torch.rand(5)).to(device)
with torch.no_grad():
    x_gradient = layer_norm_backward(upstream, x, weight)[0]
hint = "three gradients are returned, that of x first, in the shape of x"
checked(x_gradient, (2, 3, 5), what="gradient of x", hint=hint)
in_words = "adding the same to all entries of a token changes nothing: subtract the mean of v"
if bool((x_gradient.sum(-2).abs() < 1e-4).all()):
    in_words = "means run over the tokens; they belong over the last dimension"
size = x_gradient.abs().sum(-1).clamp(min=1)  # large numbers are rounded more
assert_close(
    x_gradient.sum(-1) / size,
    torch.zeros(2, 3).to(device),
    what="the sum of each token's gradient",
    hint=in_words,
)
### BEGIN HIDDEN TESTS
from course_lib.layers.normalization import layer_norm as reference_norm


def mean(t, dim=-1):
    """Average, over the entries of each token if nothing else is said."""
    return t.mean(dim, keepdim=True)


def gradient(x, v, root, *, by_mean=1, by_variance=1, dim=-1):
    """Return the gradient to x, with more or less of it left out."""
    normal = (x - mean(x, dim)) / root
    return (v - by_mean * mean(v, dim) - by_variance * normal * mean(v * normal, dim)) / root


for shape, dtype in (((4, 5), torch.float64), ((2, 6), torch.float32), ((2, 3, 6), torch.float64)):
    x, upstream = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
    weight = 0.5 + torch.rand(shape[-1], dtype=dtype)
    x, upstream, weight = x.to(device), upstream.to(device), weight.to(device)
    leaf = x.clone().requires_grad_()
    reference_norm(leaf, weight, torch.zeros_like(weight), eps=0.5).backward(upstream)
    with torch.no_grad():
        x_gradient = layer_norm_backward(upstream, x, weight, eps=0.5)[0]
    variance = mean(x**2) - mean(x) ** 2
    v, root = upstream * weight, (variance + 0.5).sqrt()
    assert_close(
        x_gradient,
        leaf.grad,
        what=f"gradient of x of shape {shape}",
        hint="(v - mean(v) - xhat * mean(v * xhat)) / s, each mean over the last dimension",
        mistakes={
            "mean and variance are no constants: two terms are missing": (
                gradient(x, v, root, by_mean=0, by_variance=0)
            ),
            "the way through the variance is missing": gradient(x, v, root, by_variance=0),
            "the way through the mean is missing": gradient(x, v, root, by_mean=0),
            "v is upstream times weight; the weight is missing": gradient(x, upstream, root),
            "the division by s is missing": gradient(x, v, root) * root,
            "divide by s, the root, not by its square": gradient(x, v, root) / root,
            "divide by s; this multiplies by it": gradient(x, v, root) * root**2,
            "the variance divides by d_model": (
                gradient(x, v, (x.var(-1, keepdim=True) + 0.5).sqrt())
            ),
            "eps stands under the root": gradient(x, v, variance.sqrt() + 0.5),
            "eps is not used": gradient(x, v, variance.sqrt()),
            "eps is fixed; use the argument eps": gradient(x, v, (variance + 1e-5).sqrt()),
            "means run over the tokens; they belong over the last dimension": gradient(
                x, v, (x.var(-2, keepdim=True, unbiased=False) + 0.5).sqrt(), dim=-2
            ),
            "the signs of the two corrections: both are subtracted": (
                gradient(x, v, root, by_mean=-1, by_variance=-1)
            ),
            "a sign: what goes through the variance is subtracted": (
                gradient(x, v, root, by_variance=-1)
            ),
            "take means, not sums, over the entries": (
                gradient(x, v, root, by_mean=shape[-1], by_variance=shape[-1])
            ),
        },
    )
# The root is small, so the gradient is large, and float32 would not do for its smallest entries.
small, weight, upstream = (1e-3 * x).double().requires_grad_(), weight.double(), upstream.double()
reference_norm(small, weight, torch.zeros_like(weight)).backward(upstream)
with torch.no_grad():
    x_gradient = layer_norm_backward(upstream, small.detach(), weight)[0]
    strided = call_beside(call_strided, layer_norm_backward, upstream, small.detach(), weight)
hint = "eps is 1e-5 unless it is given"
assert_close(x_gradient, small.grad, what="gradient of a small x", hint=hint)
hint = "view() needs contiguous tensors; reshape() does not"
assert_close(strided[0], x_gradient, what="gradient of an x that is not contiguous", hint=hint)
hint = "upstream *= weight is in place"
assert_keeps_inputs(layer_norm_backward, upstream, small.detach(), weight, hint=hint)
constants = 10 * (1 + torch.rand(400, 1)).repeat(1, 7).to(device)
with torch.no_grad():
    upstream, weight = torch.randn_like(constants), torch.ones(7).to(device)
    x_gradient = layer_norm_backward(upstream, constants, weight)[0]
hint = "subtract the mean before you square: the difference E[x^2] - E[x]^2 may fall below zero"
checked(x_gradient, (400, 7), what="gradient of constants", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: the museum of mistakes
#
# Three layer normalisations that were found in the wild. Each is wrong in its own way, each trains,
# more or less, and each was copied from notebook to notebook. Look at them first, and find the
# mistake with your eyes.
#
# Then write a detective that finds it *without* eyes: `diagnose_layer_norm` gets a function that it
# can only call, and names what is wrong with it. You choose the inputs; choose them so that each
# mistake shows. A small vector? A large eps? The same token in other company? See
# [A museum of mistakes](book:layer-normalization#normalisation-mistakes).
#
# | verdict | what is meant |
# |---|---|
# | `"right"` | nothing is wrong |
# | `"divides by d_model - 1"` | the variance is the unbiased one |
# | `"eps outside the root"` | the deviation plus eps divides |
# | `"mixes the tokens"` | what a token becomes depends on the other tokens, or other sentences |
# | `"keeps the mean"` | `x` itself is divided: by the deviation or the root of the mean square |
#
# The hidden test shows your detective suspects that it has not met, each with at most one of these
# mistakes, and innocent ones among them. All are called as `norm(x, weight, bias, eps=...)` with
# `x` of shape `(batch, length, d_model)`.

# %% setup="museum"
VERDICTS = (
    "right",
    "divides by d_model - 1",
    "eps outside the root",
    "mixes the tokens",
    "keeps the mean",
)


def exhibit_a(x, weight, bias, *, eps=1e-5):
    """Found in a blog post about reading a famous paper."""
    mean = x.mean(-1, keepdim=True)
    deviation = (x - mean).square().mean(-1, keepdim=True).sqrt()
    return weight * (x - mean) / (deviation + eps) + bias


def exhibit_b(x, weight, bias, *, eps=1e-5):
    """Found in a package with many stars."""
    variance, mean = torch.var_mean(x, dim=(-2, -1), correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps) * weight + bias


def exhibit_c(x, weight, bias, *, eps=1e-5):
    """Found in a lecture's handout."""
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


# %% solution="diagnose_layer_norm"
def diagnose_layer_norm(norm: Callable[..., Tensor]) -> str:
    """Name the mistake of a layer normalisation that can only be called.

    Args:
        norm: Called as ``norm(x, weight, bias, eps=...)`` with x ``(batch, length, d_model)``,
            weight and bias ``(d_model,)``; gives ``(batch, length, d_model)``. It has at most one
            of the mistakes.

    Returns:
        One of ``VERDICTS``.
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
hint = "return one of VERDICTS, word for word"
for verdict in verdicts:
    what = "whether the verdict is one of the table's"
    assert_equal(verdict in VERDICTS, True, what=what, hint=hint)
hint = "each of the three is wrong: choose inputs on which its mistake is plain to see"
assert_equal("right" in verdicts, False, what="whether one of the three is called right", hint=hint)
hint = "each has a mistake of its own: what tells apart the two that get the same verdict?"
assert_equal(len(set(verdicts)), 3, what="the number of different mistakes", hint=hint)
### BEGIN HIDDEN TESTS
for name, exhibit, mistake in (
    ("exhibit_a", exhibit_a, "eps outside the root"),
    ("exhibit_b", exhibit_b, "mixes the tokens"),
    ("exhibit_c", exhibit_c, "divides by d_model - 1"),
):
    if diagnose_layer_norm(exhibit) != mistake:
        raise CheckFailure(
            f"the verdict on {name} is not the right one",
            hint="read its code again: what does it divide by, and over which dimensions?",
        )
### END HIDDEN TESTS

# %% test="diagnose_layer_norm-suspects" points=1 read="layer-normalization#normalisation-mistakes"
# Suspects that it has not met are told apart, and the innocent go free
verdict = diagnose_layer_norm(lambda x, weight, bias, *, eps=1e-5: x * weight + bias)
hint = "return one of VERDICTS, word for word"
assert_equal(verdict in VERDICTS, True, what="whether a verdict is one of the table's", hint=hint)
innocent = [lambda x, weight, bias, *, eps=1e-5: F.layer_norm(x, weight.shape, weight, bias, eps)]
hint = "nothing is wrong with it: what does your detective hold against it?"
assert_equal(
    diagnose_layer_norm(innocent[0]), "right", what="the verdict on PyTorch's own", hint=hint
)
verdict = diagnose_layer_norm(
    lambda x, weight, bias, *, eps=1e-5: F.rms_norm(x, weight.shape, weight, eps) + bias
)
hint = "it divides x itself by the root of the mean square: its mean is still there"
assert_equal(verdict, "keeps the mean", what="the verdict on an RMSNorm with a bias", hint=hint)
### BEGIN HIDDEN TESTS
from course_lib.layers.normalization import layer_norm as reference_norm


def in_steps(x, weight, bias, *, eps=1e-5):
    """Normalise one token at a time."""
    tokens = [reference_norm(token, weight, bias, eps=eps) for token in x.flatten(0, 1)]
    return torch.stack(tokens).view(x.shape)


def over(*dims):
    """Normalise over these dimensions."""

    def norm(x, weight, bias, *, eps=1e-5):
        centred = x - x.mean(dims, keepdim=True)
        return centred * (centred.square().mean(dims, keepdim=True) + eps).rsqrt() * weight + bias

    return norm


def root_mean_square(x, weight, bias, *, eps=1e-5):
    """Divide by the root of the mean square."""
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weight + bias


def scaled(x, weight, bias, *, eps=1e-5):
    """Divide by the deviation, and nothing else."""
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * weight + bias


def deviation(x, weight, bias, *, eps=1e-5):
    """Add to the deviation."""
    spread, mean = torch.std_mean(x, -1, keepdim=True, correction=0)
    return (x - mean) * weight / (spread + eps) + bias


def bessel(x, weight, bias, *, eps=1e-5):
    """Divide the squares' sum by one less than there are."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().sum(-1, keepdim=True) / (x.size(-1) - 1)
    return centred * weight / (variance + eps) ** 0.5 + bias


for title, suspect, verdict in (
    ("PyTorch's own", innocent[0], "right"),
    ("one that takes token by token", in_steps, "right"),
    ("one that has the formula", over(-1), "right"),
    ("one that averages over the sentence", over(1, 2), "mixes the tokens"),
    ("one that averages each entry over the sentence", over(1), "mixes the tokens"),
    ("one that averages each entry over the batch", over(0), "mixes the tokens"),
    ("one that averages over everything", over(0, 1, 2), "mixes the tokens"),
    ("one that divides by the root of the mean square", root_mean_square, "keeps the mean"),
    ("one that divides by the deviation alone", scaled, "keeps the mean"),
    ("one that adds to the deviation", deviation, "eps outside the root"),
    ("one that knows Bessel", bessel, "divides by d_model - 1"),
):
    if diagnose_layer_norm(suspect) != verdict:
        raise CheckFailure(
            f"a suspect gets the wrong verdict: {title}",
            hint="choose inputs on which this one and the right one differ, and no other does",
        )
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: the road past each layer
#
# A layer that must hand on all it was given has to learn how; one whose output is *added* to what
# it was given is born able to: $x + f(x)$. The normalisation can stand in two places:
#
# - **post:** $\mathrm{norm}(x + f(x))$, as in the first Transformer;
# - **pre:** $x + f(\mathrm{norm}(x))$, as in nearly all since: the road itself stays free.
#
# Dropout acts on what the layer says, before it is added. See
# [Pre-norm and post-norm](book:residual-connections#pre-and-post-norm). `check_norm_position`,
# imported above, raises the ValueError that the docstring promises. The sublayer comes with each
# call: an attention needs masks, which only the caller knows.

# %% solution="Residual" of="course_lib.layers.residual"

# %% test="Residual-post" points=1 read="residual-connections#pre-and-post-norm"
# With post, the sum is normalised
norm = call_beside(nn.Tanh, beside=Residual)  # any module will do, as long as one sees its effect
x = torch.randn(2, 3, 4).to(device)
layer = Residual(norm, norm_position="post").eval()  # dropout has a test of its own
as_given = "keep it as it was given, as the docstring says: self.norm_position = norm_position"
for position in ("pre", "post"):
    kept = getattr(Residual(norm, norm_position=position), "norm_position", None)
    assert_equal(kept, position, what="the attribute norm_position", hint=as_given)
in_place = "x += ... and x.add_(...) change the caller's tensor; x + ... makes a new one"
assert_keeps_inputs(layer, x, torch.square, hint=in_place)
assert_close(
    layer(x.clone(), lambda y: 2 * y),
    torch.tanh(3 * x),
    what="output",
    hint="the sublayer reads x, the norm the sum",
    mistakes={
        "x itself is not added": torch.tanh(2 * x),
        "the norm is missing": 3 * x,
        "this is pre; post normalises the sum": x + 2 * torch.tanh(x),
        "x is normalised, the sum is not": torch.tanh(x) + 2 * x,
        "the sublayer's output alone is normalised; post normalises the sum": x + torch.tanh(2 * x),
        "normalised twice, before the sublayer and after the sum": torch.tanh(
            x + 2 * torch.tanh(x)
        ),
    },
)
### BEGIN HIDDEN TESTS
x = torch.randn(3, 5, 4).to(device).requires_grad_()
shift, read = torch.randn(4).to(device), []
assert_equal(kept, "post", what="the attribute norm_position", hint=as_given)
assert_keeps_inputs(layer, torch.randn(3, 5, 4).to(device), torch.square, hint=in_place)


def sublayer(y):
    """Note what is read."""
    read.append(y)
    return y**2 + shift


output = call_beside(call_without_dropout, layer.train(), x, sublayer)
hint = "the sublayer runs once: what it keeps of a call must not be of another"
assert_equal(len(read), 1, what="the number of times that the sublayer runs", hint=hint)
assert_close(
    output,
    torch.tanh(x + x**2 + shift),
    what="output",
    hint="norm(x + sublayer(x))",
    mistakes={
        "x itself is not added": torch.tanh(x**2 + shift),
        "the norm is missing": x + x**2 + shift,
        "this is pre; post normalises the sum": x + torch.tanh(x) ** 2 + shift,
        "x is normalised, the sum is not": torch.tanh(x) + x**2 + shift,
        "the sublayer's output alone is normalised: x + norm(sublayer(x))": (
            x + torch.tanh(x**2 + shift)
        ),
        "normalised twice, before the sublayer and after the sum": (
            torch.tanh(x + torch.tanh(x) ** 2 + shift)
        ),
    },
)
output.sum().backward()
expected = x.detach().clone().requires_grad_()
torch.tanh(expected + expected**2 + shift).sum().backward()
assert_close(x.grad, expected.grad, what="gradient of x", hint="do not detach, nor change in place")
dials = call_beside(nn.LayerNorm, 4, beside=Residual)
for position in ("pre", "post"):
    names = Residual(dials, norm_position=position).state_dict()
    if {name.rpartition(".")[-1] for name in names} != {"weight", "bias"}:
        raise CheckFailure(
            f"with {position}, the layer holds other parameters than those of its norm",
            hint="self.norm = norm: a module in a list or a function is no part of the layer",
        )
for name in ("", "middle", "Post"):
    hint = "check_norm_position(norm_position) raises it"
    assert_raises(ValueError, Residual, norm, norm_position=name, hint=hint)
### END HIDDEN TESTS

# %% test="Residual-pre" points=1 read="residual-connections#pre-and-post-norm"
# With pre, the sublayer reads what is normalised, and the road itself stays free
norm = call_beside(nn.Tanh, beside=Residual)
x = torch.randn(2, 3, 4).to(device)
layer = Residual(norm, norm_position="pre").eval()  # dropout has a test of its own
in_place = "x += ... and x.add_(...) change the caller's tensor; x + ... makes a new one"
assert_keeps_inputs(layer, x, torch.square, hint=in_place)
assert_close(
    layer(x.clone(), lambda y: 2 * y),
    x + 2 * torch.tanh(x),
    what="output",
    hint="the sublayer reads the normalised x",
    mistakes={
        "x itself is not added": 2 * torch.tanh(x),
        "the normalised x is added; add x as it came": 3 * torch.tanh(x),
        "this is post; pre normalises what the sublayer reads": torch.tanh(3 * x),
        "the norm is missing": 3 * x,
        "the sublayer's output is normalised; normalise what it reads": x + torch.tanh(2 * x),
        "normalised twice, before the sublayer and after the sum": torch.tanh(
            x + 2 * torch.tanh(x)
        ),
    },
)
### BEGIN HIDDEN TESTS
x = torch.randn(3, 5, 4).to(device).requires_grad_()
shift = torch.randn(4).to(device)
assert_keeps_inputs(layer, torch.randn(3, 5, 4).to(device), torch.square, hint=in_place)
output = call_beside(call_without_dropout, layer.train(), x, lambda y: y**2 + shift)
assert_close(
    output,
    x + torch.tanh(x) ** 2 + shift,
    what="output",
    hint="x + sublayer(norm(x))",
    mistakes={
        "x itself is not added": torch.tanh(x) ** 2 + shift,
        "the normalised x is added; add x as it came": torch.tanh(x) + torch.tanh(x) ** 2 + shift,
        "this is post; pre normalises what the sublayer reads": torch.tanh(x + x**2 + shift),
        "the norm is missing": x + x**2 + shift,
        "the sublayer's output is normalised; normalise what it reads": (
            x + torch.tanh(x**2 + shift)
        ),
        "normalised twice, before the sublayer and after the sum": (
            torch.tanh(x + torch.tanh(x) ** 2 + shift)
        ),
    },
)
output.sum().backward()
expected = x.detach().clone().requires_grad_()
(expected + torch.tanh(expected) ** 2 + shift).sum().backward()
assert_close(x.grad, expected.grad, what="gradient of x", hint="do not detach, nor change in place")
### END HIDDEN TESTS

# %% test="Residual-dropout" points=1 read="residual-connections#pre-and-post-norm"
# In training, and only then, dropout acts on what the sublayer says, never on the road
layer = Residual(call_beside(nn.Identity, beside=Residual), norm_position="pre", dropout=0.2)
x = torch.full((50, 64), 10.0).to(device)
layer.eval()
off = "layer.eval() switches nn.Dropout off; F.dropout needs training=self.training"
output = checked(layer(x.clone(), torch.ones_like), (50, 64), what="output in evaluation")
if bool((output != output.max()).any()):
    raise CheckFailure("in evaluation something is dropped", hint=off)


### BEGIN HIDDEN TESTS
def says(y):
    """Say 1 where 10 is read, and something else where anything else is."""
    return 2 - y / 10


for position in ("pre", "post"):
    norm = call_beside(nn.Identity, beside=Residual)
    layer = Residual(norm, norm_position=position, dropout=0.2)
    layer.eval()
    output_off = checked(layer(x.clone(), says), (50, 64))
    if bool((output_off != output_off.max()).any()):
        raise CheckFailure("in evaluation something is dropped", hint=off)
    layer.train()
    output = checked(layer(x.clone(), says), (50, 64), what="output in training")
    values = sorted(set(output.flatten().round(decimals=4).tolist()))
    what_it_says = "dropout acts on what the sublayer says, once, and not on what it reads"
    hint = {
        (11.0,): "nothing is dropped: dropout acts on what the sublayer says",
        (0.0, 13.75): "the sum is dropped, and with it the road; drop the sublayer's output alone",
        (1.0, 13.5): "the road is dropped; drop the sublayer's output",
        (10.0, 11.0): "what is kept is scaled up by 1 / (1 - dropout); nn.Dropout does it",
        (10.0, 15.0): "dropout is the share that is dropped, not the share that is kept",
        (10.75, 12.0): what_it_says,
        (10.0, 10.9375, 12.5): what_it_says,
    }.get(tuple(values), "x + dropout(sublayer(...)), for both positions of the norm")
    if len(values) == 2 and values[0] == 10 and values[1] not in (11, 11.25, 15):
        hint = "another share than dropout is dropped: hand dropout on"
    by_itself = float(output_off.max()) == 1
    if by_itself:
        forgive("x is not added", f"Residual-{position}")
    if values != ([0.0, 1.25] if by_itself else [10.0, 11.25]):
        raise CheckFailure(f"with {position} the output in training is not right", hint=hint)
    again = checked(layer(x.clone(), says), (50, 64), what="output in training")
    if any(bool((output == other).all()) for other in (again, output[:1], output[:, :1])):
        hint = "dropout is drawn anew in each call, for each token and each of its entries"
        raise CheckFailure("the same is dropped twice", hint=hint)
    if not 0.15 < (output == values[0]).float().mean().item() < 0.25:
        raise CheckFailure("another share than dropout is dropped", hint="hand dropout on")
    never = Residual(norm, norm_position=position).train()
    output = checked(never(x.clone(), says), (50, 64), what="output in training")
    if not torch.allclose(output, output_off):
        zero = "dropout is 0 unless it is given"
        raise CheckFailure("without dropout given something is dropped", hint=zero)
assert_raises(
    ValueError, Residual, norm, norm_position="pre", dropout=-0.5, hint="a share is from 0 to 1"
)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 6: in your own words

# %% [markdown] written="before-or-after" points=3 read="residual-connections#pre-and-post-norm"
# ### A hundred layers
#
# Two friends stack a hundred residual layers each. Ana takes pre-norm and, to save a line, leaves
# out the norm at the end of the stack. Ben takes post-norm and trains without warm-up. In seven
# sentences or fewer:
#
# 1. What is the derivative of $x + f(\mathrm{norm}(x))$, and what does it say about the gradient
#    that reaches Ana's first layer?
# 2. Why may Ben's first layers get next to no gradient, or his training diverge?
# 3. Suppose that each of Ana's layers adds something independent with variance 1. How large is what
#    leaves her stack, and what does the missing line do about it?
#
# ### BEGIN SOLUTION
# The derivative is the identity plus $f'$ times the norm's. Multiplied over a hundred layers it
# still holds the bare identity, so whatever the layers do, the loss's gradient reaches the first
# layer unweakened, with their corrections added. Ben's norms stand on the road itself: each
# gradient goes through a hundred norms' derivatives, each of which divides by the size of the sum
# it normalises (about $\sqrt 2$ at the start) and takes two directions out; so what arrives shrinks
# with depth, while the last layers get large gradients, and large first steps throw them off. That
# is what warm-up is for. On Ana's road variances add up: after a hundred layers the variance is
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
# 3. *Variance*: 100 or 101, entries of about 10, and that the last norm is what brings the sum back
#    to size 1. Half a point for "it grows".
#
# Not wrong, and worth a remark: deep post-norm does train with care (warm-up, small starts), and
# often ends better than pre-norm at moderate depth.
# ### END SOLUTION

# %% [markdown]
# ## And now: name a moon
#
# Below, your blocks are stacked: positions, then twice an attention (that of the last homework)
# and a feed-forward layer, each on its residual road, with a norm before it. For some six seconds
# the stack reads the names of the moons of our planets, letter by letter, always guessing the next
# one. Then nobody tells it letters any more: it goes on by itself, and names moons that no
# telescope has found. Which planet might each belong to?
#
# Afterwards play with it: more steps, and it learns the old names by heart; `"post"` for `"pre"`;
# `dream(boldness=1.5)` in a cell of your own.

# %% demo="moons"
import matplotlib.pyplot as plt

from course_lib.layers.attention import MultiHeadAttention
from course_lib.layers.masks import causal_mask

NAMES = """
moon phobos deimos io europa ganymede callisto amalthea himalia elara pasiphae sinope lysithea carme
ananke leda thebe adrastea metis callirrhoe themisto megaclite taygete chaldene harpalyke kalyke
iocaste erinome isonoe praxidike autonoe thyone hermippe aitne eurydome euanthe euporie orthosie
sponde kale pasithee hegemone mneme aoede thelxinoe arche kallichore helike carpo eukelade cyllene
kore herse dia mimas enceladus tethys dione rhea titan hyperion iapetus phoebe janus epimetheus
helene telesto calypso atlas prometheus pandora pan ymir paaliaq tarvos ijiraq suttungr kiviuq
mundilfari albiorix skathi erriapus siarnaq thrymr narvi methone pallene polydeuces daphnis aegir
bebhionn bergelmir bestla farbauti fenrir fornjot hati hyrrokkin kari loge skoll surtur anthe
jarnsaxa greip tarqeq aegaeon ariel umbriel titania oberon miranda cordelia ophelia bianca cressida
desdemona juliet portia rosalind belinda puck caliban sycorax prospero setebos stephano trinculo
francisco margaret ferdinand perdita mab cupid triton nereid naiad thalassa despina galatea larissa
proteus halimede psamathe sao laomedeia neso hippocamp charon nix hydra kerberos styx
"""
MOONS = sorted(NAMES.split())
LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the full stop begins and ends a name
LONGEST = max(map(len, MOONS)) + 1


class Block(nn.Module):
    """Let the letters listen to those before them, then think."""

    def __init__(self, d_model, norm_position):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads=4)
        self.thought = FeedForward(d_model, 4 * d_model, activation="gelu")
        self.first_road = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=0.1)
        self.second_road = Residual(LayerNorm(d_model), norm_position=norm_position, dropout=0.1)

    def forward(self, x, mask):
        x = self.first_road(x, lambda y: self.attention(y, y, y, mask))
        return self.second_road(x, self.thought)


class Dreamer(nn.Module):
    """Say which letter comes next."""

    def __init__(self, d_model=32, num_layers=2, norm_position="pre"):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), d_model)
        self.positions = SinusoidalPositions(d_model)
        self.blocks = nn.ModuleList(Block(d_model, norm_position) for _ in range(num_layers))
        self.norm = LayerNorm(d_model)
        self.write = nn.Linear(d_model, len(LETTERS))

    def forward(self, letter_ids):
        mask = causal_mask(letter_ids.size(1))
        x = self.positions(self.letters(letter_ids))
        for block in self.blocks:
            x = block(x, mask)
        return self.write(self.norm(x))


def spell(name):
    """Turn a name into letter ids: a full stop, the letters, full stops up to the longest."""
    return [LETTERS.index(letter) for letter in f".{name}".ljust(LONGEST + 1, ".")]


torch.manual_seed(4)
dreamer = Dreamer()
names = torch.tensor([spell(name) for name in MOONS])
known = torch.arange(LONGEST) <= torch.tensor([len(name) for name in MOONS])[:, None]
optimizer = torch.optim.Adam(dreamer.parameters(), lr=0.003)
losses = []
for step in range(126):
    logits = dreamer(names[:, :-1])
    loss = F.cross_entropy(logits[known], names[:, 1:][known])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 25 == 0:
        print(f"step {step:3d}: loss {loss.item():.2f} nats a letter")
dreamer.eval()


@torch.no_grad()
def dream(boldness=0.7):
    """Name a moon, letter by letter."""
    letter_ids = [0]
    while len(letter_ids) <= LONGEST and (len(letter_ids) == 1 or letter_ids[-1] != 0):
        logits = dreamer(torch.tensor([letter_ids]))[0, -1]
        letter_ids.append(int(torch.multinomial((logits / boldness).softmax(-1), 1)))
    return "".join(LETTERS[i] for i in letter_ids).strip(".").capitalize()


dreamt = {dream() for _ in range(60)}
new = sorted(name for name in dreamt if len(name) > 2 and name.lower() not in MOONS)
print("Moons to be found:", ", ".join(new[:15]))

plt.figure(figsize=(5, 2.5))
plt.plot(losses)
plt.axhline(math.log(len(LETTERS)), color="grey", linestyle=":", label="guessing")
plt.xlabel("step")
plt.ylabel("nats a letter")
plt.title("Your layers learn to spell")
plt.legend()
plt.show()
