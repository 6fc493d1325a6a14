# %% [markdown]
# # Homework 1: From one sequence to another
#
# A stonemason in Rome takes your order: a year, in the digits that you know. He carves it in his
# own: `1984` becomes `MCMLXXXIV`. Four symbols come in, nine go out; no symbol in stands for one
# symbol out. Translation is like that. **A sequence-to-sequence network reads to the end, remembers
# what it has read in one vector, and then writes.**
#
# Here you write all of it: the cells that remember, the encoder that reads, the decoder that
# writes, and the searches that choose among all that it could write. In the last cell your network
# becomes the stonemason, and carves years that it has never seen.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `RNNCell` and `GRUCell`: one step of remembering | 6 |
# | 2 | `read_both_ways`: a deep encoder that reads in both directions | 5 |
# | 3 | `Decoder`: one that writes, and learns with teacher forcing | 3 |
# | 4 | `greedy_search`, `beam_search`, `diagnose`: choose, and find out what went wrong | 8 |
# | 5 | a question, answered in words | 2 |
#
# **Time:** about four hours if you have read the chapters
# [Recurrent networks](book:recurrent-networks),
# [Sequence to sequence](book:sequence-to-sequence) and [Decoding](book:decoding); parts 2 and 4
# take most of it. Nothing here needs a GPU.
#
# **Afterwards you can** write a recurrent network down to its gates, run it over padded sequences
# in both directions, say what teacher forcing is and what it is not, search with a beam, and tell
# whether a bad output is the fault of the search or of the model.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, order, errors. You may add cells, and functions and methods of your own.
# - What your code is given belongs to whoever calls it: no tensor and no list may be changed in
#   place. Work on a copy, or on what you compute.
# - The test cells check one thing each, and each is worth its own points. Run them as often as you
#   like: one that passes says so, one that fails says first what is wrong, and mostly gives a
#   hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers, shapes
#   and dtypes, and with all errors that the docstring promises. It asks for nothing that the text
#   and the docstring do not promise.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.
#
# **The rule of this homework:** what you hand in is yours. A cell, an encoder or a decoder that
# leads to PyTorch's `nn.RNN`, `nn.RNNCell`, `nn.GRU`, `nn.GRUCell` or to the functions beneath them
# (`torch.rnn_tanh`, `torch.rnn_tanh_cell`, `torch.gru`, `torch.gru_cell`) loses the points of its
# tests; so does a cell that leads to `course_lib`'s `RNNCell` or `GRUCell`, and a search that leads
# to its `greedy`, `beam_search`, `diagnose` or `score_sequences`, which your copy of it leaves out.
# Comparing your cells with PyTorch's in a cell of your own is a good idea, and some tests here do
# just that.
#
# **If you are stuck,** print shapes, and try one sequence of two steps with paper and pencil.

# %% setup="imports"
import math
import os
from itertools import permutations, product
from numbers import Integral, Real

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import as_number, as_pair
from course_lib.gradient_checks import (
    assert_gradients,
    assert_gradients_like,
    assert_slopes,
    take_gradients,
)
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    assert_shape,
    call_beside,
    forgive,
)
from course_lib.validation import check_at_least

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end
in_place = "operators that end in = and methods that end in _ change a tensor in place"
nothing_else = "forward returns the next state, one tensor, and nothing else"
without = "the next state without biases, in evaluation"
as_zeros = "the same comes as with biases of zero, and as in training"


def give(cell, weights, paid_in="GRUCell-parameters"):
    """Give your cell these weights. A bias that it lacks is zero in them."""
    own = cell.state_dict()
    with torch.no_grad():
        for name in weights.keys() - own.keys():
            if name.endswith("bias"):
                forgive("a bias is missing", paid_in)
                weights[name].zero_()
    cell.load_state_dict({name: weights[name] for name in own if name in weights})


def copy_without_biases(unbiased, biased):
    """Give a cell of yours without biases the weights of one with them, whose biases become 0."""
    for cell in (biased, unbiased):
        state = {name: x if x.dim() > 1 else 0 * x for name, x in biased.state_dict().items()}
        cell.load_state_dict({name: state[name] for name in cell.state_dict()})


def in_order(weights, of_input, of_state):
    """Lay the three parts of a gated cell's weights in other orders than r, z, n."""
    orders = {"input_projection": of_input, "hidden_projection": of_state}
    return {
        name: torch.cat([tensor.chunk(3)[part] for part in orders[name.partition(".")[0]]])
        for name, tensor in weights.items()
    }


def next_state(cell, weights, x, hidden, expected):
    """Give the next state, in whatever order your cell cuts its parts.

    Where none leads to what is expected, the one that it should be.
    """
    for orders in product(permutations(range(3)), repeat=2):
        give(cell, in_order(weights, *orders))
        found = first_of(cell(x.clone(), hidden.clone()))
        if is_near(found, expected):
            if orders != (tuple(range(3)),) * 2:
                forgive("the gates are cut in another order than r, z, n", "GRUCell-values")
            return found
    give(cell, weights)
    return first_of(cell(x.clone(), hidden.clone()))


def first_of(result):
    """Give what a cell returned, or the first of several things."""
    if not (isinstance(result, tuple) and result):
        return result
    forgive("something else is returned beside the next state", "GRUCell-values")
    return result[0]


def is_near(found, expected):
    """Whether a tensor is what is expected, but for rounding, and for its dtype."""
    fits = isinstance(found, Tensor) and found.shape == expected.shape
    return fits and torch.allclose(found.to(expected), expected, rtol=1e-4, atol=1e-5)


# %% [markdown]
# ## Part 1: one step of remembering
#
# A recurrent **cell** reads one vector $x$ and its own last state $h$, and returns its next state.
# The plain one is a layer with two inputs:
#
# $$h' = \tanh(W x + U h + b)$$
#
# See [The plain cell](book:recurrent-networks#plain-cell) in the chapter *Recurrent networks*.
# (There a vector is a row, and $x W$ is what $W x$ is here.) Two `nn.Linear` do the work; each has
# a bias of its own, which is one more than the formula needs and the same as in PyTorch, so that
# your cell and PyTorch's can be compared number by number.

# %% solution="RNNCell" of="course_lib.layers.recurrent_cells" forbids="torch.nn.RNN torch.nn.RNNCell torch.rnn_tanh torch.rnn_tanh_cell"

# %% test="RNNCell-parameters" points=1 read="recurrent-networks#plain-cell"
# The cell has its two projections, and refuses widths that make no sense
cell = RNNCell(3, 5)
assert_shape(cell.input_projection.weight, (5, 3), what="weight of input_projection")
assert_shape(cell.hidden_projection.weight, (5, 5), what="weight of hidden_projection")
assert_equal(cell.d_hidden, 5, what="d_hidden")
assert_raises(ValueError, RNNCell, 0, 5, hint="a width of 0 makes no sense: raise ValueError")
### BEGIN HIDDEN TESTS
from course_lib.layers.recurrent_cells import RNNCell as ReferenceCell

hint = "bias is True where nothing else is asked for, and is handed on to each nn.Linear"
assert_equal("input_projection.bias" in RNNCell(4, 4).state_dict(), True, what="a bias", hint=hint)
for bias in (True, False):
    actual = RNNCell(4, 4, bias=bias).state_dict()
    expected = ReferenceCell(4, 4, bias=bias).state_dict()
    if set(actual) != set(expected):
        raise CheckFailure(
            f"with bias={bias} the parameters are {sorted(actual)}, expected {sorted(expected)}",
            hint="two nn.Linear with the docstring's names; hand bias on to each of them",
        )
    for name, tensor in expected.items():
        assert_shape(actual[name], tensor.shape, what=name)
    if torch.equal(actual["input_projection.weight"], actual["hidden_projection.weight"]):
        raise CheckFailure(
            "both projections start with the same weights", hint="make a new nn.Linear for each"
        )
cell = RNNCell(2, 7)
assert_shape(cell.input_projection.weight, (7, 2), what="weight of input_projection")
assert_shape(cell.hidden_projection.weight, (7, 7), what="weight of hidden_projection")
assert_equal(cell.d_hidden, 7, what="d_hidden")
hint = "a width of 0 or less makes no sense: raise ValueError"
assert_shape(RNNCell(1, 1).input_projection.weight, (1, 1), what="weight of a cell one wide")
for widths in ((0, 7), (2, 0), (-1, 7), (2, -3)):
    assert_raises(ValueError, RNNCell, *widths, hint=hint)
### END HIDDEN TESTS

# %% test="RNNCell-values" points=1 read="recurrent-networks#plain-cell"
# The next state is the one that PyTorch's cell computes, gradients flow back, inputs stay
theirs = nn.RNNCell(3, 5).to(device)
ours = RNNCell(3, 5).to(device)
weights = {
    "input_projection.weight": theirs.weight_ih,
    "input_projection.bias": theirs.bias_ih,
    "hidden_projection.weight": theirs.weight_hh,
    "hidden_projection.bias": theirs.bias_hh,
}
give(ours, weights, "RNNCell-parameters")
x, hidden = torch.randn(2, 3).to(device), torch.randn(2, 5).to(device)
from_input = F.linear(x, theirs.weight_ih, theirs.bias_ih)
from_hidden = F.linear(hidden, theirs.weight_hh, theirs.bias_hh)
assert_keeps_inputs(ours, x, hidden, hint=in_place)
assert_shape(ours(x, hidden), (2, 5), what="the next state", hint=nothing_else)
assert_close(
    ours(x, hidden),
    theirs(x, hidden),
    what="the next state",
    mistakes={
        "tanh is missing": from_input + from_hidden,
        "the last state is not used": torch.tanh(from_input),
        "the input is not used": torch.tanh(from_hidden),
    },
    hint="one tanh, around the sum of both projections: W reads x, U the state",
)
### BEGIN HIDDEN TESTS
theirs = nn.RNNCell(6, 6).double().to(device)
ours = RNNCell(6, 6).double().to(device)
weights = {
    "input_projection.weight": theirs.weight_ih,
    "input_projection.bias": theirs.bias_ih,
    "hidden_projection.weight": theirs.weight_hh,
    "hidden_projection.bias": theirs.bias_hh,
}
give(ours, weights, "RNNCell-parameters")
x, hidden = torch.randn(2, 4, 6).double().to(device)
from_input = F.linear(x, theirs.weight_ih, theirs.bias_ih)
from_hidden = F.linear(hidden, theirs.weight_hh, theirs.bias_hh)
both = from_input + from_hidden
assert_keeps_inputs(ours, x, hidden, hint=in_place)
assert_close(
    ours(x, hidden),
    theirs(x, hidden),
    what="the next state",
    mistakes={
        "tanh is missing": both,
        "the last state is not used": torch.tanh(from_input),
        "the input is not used": torch.tanh(from_hidden),
        "the projections are multiplied; add them": torch.tanh(from_input * from_hidden),
        "one tanh around the sum of both, not one around each": from_input.tanh()
        + from_hidden.tanh(),
        "this is the sigmoid; the plain cell takes tanh": torch.sigmoid(both),
        "this is the ReLU; the plain cell takes tanh": torch.relu(both),
        "each projection belongs to its own input: W to x, U to the state": torch.tanh(
            F.linear(hidden, theirs.weight_ih, theirs.bias_ih)
            + F.linear(x, theirs.weight_hh, theirs.bias_hh)
        ),
    },
)


def gradients_of(cell):
    """Return the gradients of a random weighting of the next state."""
    leaves = [tensor.clone().requires_grad_() for tensor in (x, hidden)]
    state = cell(*leaves)
    assert_shape(state, (4, 6), what="the next state")
    if not state.requires_grad:
        raise CheckFailure("no gradient flows back", hint="detach() and .data cut the gradient")
    (state * upstream).sum().backward()
    return [leaf.grad for leaf in leaves]


upstream = torch.randn(4, 6).double().to(device)
for name, ours_grad, theirs_grad in zip(
    ("x", "the state"), gradients_of(ours), gradients_of(theirs), strict=True
):
    hint = "detach() and .data cut the gradient: backpropagation through time needs it"
    assert_close(ours_grad, theirs_grad, what=f"gradient of {name}", hint=hint)
slopes = call_beside(take_gradients, ours)
for name in ours.state_dict().keys() & weights.keys():
    what, hint = (
        f"gradient of {name}",
        ".data and no_grad() cut the gradient: the cell learns by it",
    )
    assert_close(slopes.get(name), weights[name].grad, what=what, hint=hint)
unbiased, biased = RNNCell(6, 6, bias=False).double().to(device), ours
copy_without_biases(unbiased, biased)
unbiased.eval()
alone = unbiased(x[:1], hidden[:1])
assert_shape(alone, (1, 6), what="the next state of a batch of one", hint="squeeze() takes it away")
assert_close(unbiased(x, hidden), biased(x, hidden), what=without, hint=as_zeros)
### END HIDDEN TESTS

# %% [markdown]
# The plain cell writes its whole state anew at each step, and so it forgets. The **gated recurrent
# unit** decides what to keep, number by number. A **gate** is a sigmoid, between 0 and 1:
#
# $$r = \sigma(W_r x + U_r h) \qquad z = \sigma(W_z x + U_z h)$$
# $$n = \tanh\bigl(W_n x + r \odot (U_n h)\bigr) \qquad h' = (1 - z) \odot n + z \odot h$$
#
# [The gated recurrent unit](book:recurrent-networks#gated-recurrent-unit) in the chapter says what
# each is good for. Three things to keep in mind:
#
# - Texts disagree on which side $z$ stands. Here, as in PyTorch, $z$ near 1 **keeps** the old
#   state.
# - The reset gate acts **after** the product with $U_n$, and on that product's bias too.
# - All three $W$ live in one `nn.Linear`, one below the other, in the order $r, z, n$; so do all
#   three $U$. One product, then cut it in three: `chunk` does that.

# %% solution="GRUCell" of="course_lib.layers.recurrent_cells" forbids="torch.nn.GRU torch.nn.GRUCell torch.gru torch.gru_cell"

# %% test="GRUCell-parameters" points=1 read="recurrent-networks#gated-recurrent-unit"
# The cell has its two projections, each three states wide
cell = GRUCell(3, 5)
assert_shape(cell.input_projection.weight, (15, 3), what="weight of input_projection")
assert_shape(cell.hidden_projection.weight, (15, 5), what="weight of hidden_projection")
assert_equal(cell.d_hidden, 5, what="d_hidden")
assert_raises(ValueError, GRUCell, 3, 0, hint="a width of 0 makes no sense: raise ValueError")
### BEGIN HIDDEN TESTS
from course_lib.layers.recurrent_cells import GRUCell as ReferenceCell

hint = "bias is True where nothing else is asked for, and is handed on to each nn.Linear"
assert_equal("input_projection.bias" in GRUCell(4, 4).state_dict(), True, what="a bias", hint=hint)
for bias in (True, False):
    actual = GRUCell(4, 4, bias=bias).state_dict()
    expected = ReferenceCell(4, 4, bias=bias).state_dict()
    if set(actual) != set(expected):
        raise CheckFailure(
            f"with bias={bias} the parameters are {sorted(actual)}, expected {sorted(expected)}",
            hint="two nn.Linear with the docstring's names; hand bias on to each of them",
        )
    for name, tensor in expected.items():
        assert_shape(actual[name], tensor.shape, what=name)
    if torch.equal(actual["input_projection.weight"], actual["hidden_projection.weight"]):
        raise CheckFailure(
            "both projections start with the same weights", hint="make a new nn.Linear for each"
        )
cell = GRUCell(2, 7)
assert_shape(cell.input_projection.weight, (21, 2), what="weight of input_projection")
assert_shape(cell.hidden_projection.weight, (21, 7), what="weight of hidden_projection")
assert_equal(cell.d_hidden, 7, what="d_hidden")
hint = "a width of 0 or less makes no sense: raise ValueError"
for widths in ((0, 7), (2, 0), (-1, 7), (2, -3)):
    assert_raises(ValueError, GRUCell, *widths, hint=hint)
### END HIDDEN TESTS

# %% test="GRUCell-update" points=1 read="recurrent-networks#gated-recurrent-unit"
# The update gate mixes the candidate and the old state; near 1 it keeps the old one
cell = GRUCell(1, 1).to(device)
weights = {
    "input_projection.weight": torch.zeros(3, 1),
    "input_projection.bias": torch.tensor([0.0, math.log(3.0), math.atanh(0.5)]),  # r, z, n
    "hidden_projection.weight": torch.zeros(3, 1),
    "hidden_projection.bias": torch.zeros(3),
}
# z is sigmoid(log 3), that is 3/4, and the candidate is 1/2. The old state is 8.
x, hidden = torch.zeros(1, 1).to(device), torch.tensor([[8.0]]).to(device)
expected = torch.tensor([[0.25 * 0.5 + 0.75 * 8.0]]).to(device)
assert_close(
    next_state(cell, weights, x, hidden, expected),
    expected,
    what="the next state",
    mistakes={
        "z and 1 - z have changed places": torch.tensor([[0.75 * 0.5 + 0.25 * 8.0]]).to(device),
    },
    hint="h' = (1 - z) * n + z * h, with a sigmoid for z and a tanh for n",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.recurrent_cells import GRUCell as ReferenceCell

# Where U_n and its bias are zero, the reset gate has nothing to reset.
reference = ReferenceCell(6, 6).to(device)
state = reference.state_dict()
state["hidden_projection.weight"][12:] = 0.0
state["hidden_projection.bias"][12:] = 0.0
student = GRUCell(6, 6).to(device)
give(student, state)  # a bias that it lacks is zero from here on
x, hidden = torch.randn(2, 4, 6).to(device)
parts_of_x = F.linear(x, state["input_projection.weight"], state["input_projection.bias"])
parts_of_h = F.linear(hidden, state["hidden_projection.weight"], state["hidden_projection.bias"])
(_, z_x, n_x), (_, z_h, _) = parts_of_x.chunk(3, dim=-1), parts_of_h.chunk(3, dim=-1)
z, n = torch.sigmoid(z_x + z_h), torch.tanh(n_x)
expected = reference(x, hidden)
assert_close(
    next_state(student, state, x, hidden, expected),
    expected,
    what="the next state where the reset gate has no effect",
    hint="h' = (1 - z) * n + z * h, with z = sigmoid(W_z x + U_z h)",
    mistakes={
        "z and 1 - z have changed places: z near 1 keeps the old state": z * n + (1 - z) * hidden,
        "the candidate is added whole; give it what z leaves, 1 - z": n + z * hidden,
        "the old state is added whole; z says how much of it is kept": (1 - z) * n + hidden,
        "the old state is missing: z says how much of it is kept": (1 - z) * n,
        "the candidate is a tanh": (1 - z) * n_x + z * hidden,
        "the candidate is a tanh, not a sigmoid": (1 - z) * torch.sigmoid(n_x) + z * hidden,
        "z looks at the input alone; it sees the state too": (1 - torch.sigmoid(z_x)) * n
        + torch.sigmoid(z_x) * hidden,
        "a gate is a sigmoid; z is not between 0 and 1": (1 - z_x - z_h) * n + (z_x + z_h) * hidden,
    },
)
### END HIDDEN TESTS

# %% test="GRUCell-reset" points=1 read="recurrent-networks#gated-recurrent-unit"
# The reset gate acts on what the candidate takes from the old state, after the product
cell = GRUCell(1, 2).to(device)
weights = {
    "input_projection.weight": torch.zeros(6, 1),
    "input_projection.bias": torch.tensor([math.log(3.0), -math.log(3.0), 0.0, 0.0, 0.0, 0.0]),
    "hidden_projection.weight": torch.tensor(
        [[0.0, 0.0]] * 4 + [[0.0, 1.0], [1.0, 0.0]]  # U_n lets the two numbers change places
    ),
    "hidden_projection.bias": torch.zeros(6),
}
# r is (3/4, 1/4) and z 1/2. U_n makes (0.04, 0.08) of the state (0.08, 0.04): the gate leaves
# (0.03, 0.02) of it, so little that tanh, which has a test of its own, changes nothing.
x, hidden = torch.zeros(1, 1).to(device), torch.tensor([[0.08, 0.04]]).to(device)
expected = (torch.tensor([[0.03, 0.02]]).tanh().to(device) + hidden) / 2
assert_close(
    next_state(cell, weights, x, hidden, expected),
    expected,
    what="the next state",
    mistakes={
        "reset after the product with U_n, not before": (
            torch.tensor([[0.01, 0.06]]).tanh().to(device) + hidden
        )
        / 2,
        "the reset gate does nothing": (torch.tensor([[0.04, 0.08]]).tanh().to(device) + hidden)
        / 2,
    },
    hint="n = tanh(W_n x + r * (U_n h))",
)
### BEGIN HIDDEN TESTS
from course_lib.layers.recurrent_cells import GRUCell as ReferenceCell

# With zeros for W_z and U_z the update gate is 1/2, whichever way round it is used.
reference = ReferenceCell(6, 6).to(device)
state = reference.state_dict()
for name in state:
    state[name][6:12] = 0.0
    state[name][12:] *= 0.01  # so little comes in the tanh that it changes nothing
state["hidden_projection.weight"][12:] *= 5
student = GRUCell(6, 6).to(device)
give(student, state)  # a bias that it lacks is zero from here on
x, hidden = torch.randn(2, 4, 6).to(device)
hidden *= 0.1
parts_of_x = F.linear(x, state["input_projection.weight"], state["input_projection.bias"])
parts_of_h = F.linear(hidden, state["hidden_projection.weight"], state["hidden_projection.bias"])
(r_x, _, n_x), (r_h, _, n_h) = parts_of_x.chunk(3, dim=-1), parts_of_h.chunk(3, dim=-1)
r = torch.sigmoid(r_x + r_h)
candidate_weight, candidate_bias = (
    state["hidden_projection.weight"][12:],
    state["hidden_projection.bias"][12:],
)


def with_candidate(inside):
    """Return the next state that this candidate, before its tanh, leads to."""
    return (torch.tanh(inside) + hidden) / 2


expected = reference(x, hidden)
assert_close(
    next_state(student, state, x, hidden, expected),
    expected,
    what="the next state where the update gate is 1/2",
    hint="n = tanh(W_n x + r * (U_n h)), with r = sigmoid(W_r x + U_r h)",
    mistakes={
        "the state is reset before the product with U_n; reset what comes of it": with_candidate(
            n_x + F.linear(r * hidden, candidate_weight, candidate_bias)
        ),
        "the reset gate does nothing": with_candidate(n_x + n_h),
        "the reset gate acts on the input too; W_n x is added as it is": with_candidate(
            r * (n_x + n_h)
        ),
        "the reset gate acts on the input; it belongs to U_n h": with_candidate(r * n_x + n_h),
        "r and 1 - r have changed places": with_candidate(n_x + (1 - r) * n_h),
        "r looks at the input alone; it sees the state too": with_candidate(
            n_x + torch.sigmoid(r_x) * n_h
        ),
        "the bias of U_n h is reset too": with_candidate(
            n_x + r * (n_h - candidate_bias) + candidate_bias
        ),
        "the candidate does not see the old state": with_candidate(n_x),
    },
)
### END HIDDEN TESTS


# %% test="GRUCell-values" points=1 read="recurrent-networks#gated-recurrent-unit"
# The next state is the one that PyTorch's cell computes, gradients flow back, inputs stay
def weights_of(theirs):
    """Name the weights of PyTorch's cell as yours are named."""
    return {
        "input_projection.weight": theirs.weight_ih,
        "input_projection.bias": theirs.bias_ih,
        "hidden_projection.weight": theirs.weight_hh,
        "hidden_projection.bias": theirs.bias_hh,
    }


def goes_wrong(of_state, of_update, of_candidate):
    """Whether your cell goes wrong once its weights are scaled so that one gate has no effect."""
    theirs, ours = nn.GRUCell(6, 6).double().to(device), GRUCell(6, 6).double().to(device)
    weights = weights_of(theirs)
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor[6:12] *= of_update
            tensor[12:] *= of_state if name.startswith("hidden") else of_candidate
    give(ours, weights)  # a bias that it lacks is zero from here on
    x, hidden = torch.randn(2, 4, 6).double().to(device)
    expected = theirs(x, 0.1 * hidden)
    found = next_state(ours, weights, x, 0.1 * hidden, expected)
    assert_shape(found, (4, 6), what="the next state")
    return not is_near(found, expected)


def assert_next_state(ours, theirs, x, hidden):
    """Check the next state, but for one gate that is wrong alone."""
    weights = weights_of(theirs)
    give(ours, weights)
    expected = theirs(x, hidden)
    found = ours(x.clone(), hidden.clone())
    assert_shape(found, expected.shape, what="the next state", hint=nothing_else)
    hint = "h' = (1 - z) * n + z * h, with the gates z and r of the docstring"
    if not is_near(found, expected):
        anyhow = next_state(ours, weights, x, hidden, expected)
        if is_near(anyhow, expected):
            hint = "the gates are cut in another order; it is r, z, n"
        elif goes_wrong(0, 1, 1) != goes_wrong(0.05, 0, 0.01):
            # Where the reset gate has no effect, and where the update gate has none.
            forgive("one of the gates is wrong", "GRUCell-update", "GRUCell-reset")
            expected = found.to(expected)
    assert_close(found, expected, what="the next state", hint=hint)


theirs, ours = nn.GRUCell(3, 5).to(device), GRUCell(3, 5).to(device)
x, hidden = torch.randn(2, 3).to(device), torch.randn(2, 5).to(device)
assert_keeps_inputs(ours, x, hidden, hint=in_place)
assert_next_state(ours, theirs, x, hidden)
### BEGIN HIDDEN TESTS
theirs, ours = nn.GRUCell(6, 6).double().to(device), GRUCell(6, 6).double().to(device)
x, hidden = torch.randn(2, 4, 6).double().to(device)
assert_keeps_inputs(ours, x, hidden, hint=in_place)
assert_next_state(ours, theirs, x, hidden)
upstream = torch.randn(4, 6).double().to(device)
give(ours, weights_of(theirs))


def loss(x, hidden):
    """Weight the numbers of the next state by chance."""
    state = ours(x, hidden)
    assert_shape(state, (4, 6), what="the next state")
    return (state * upstream).sum()


if not loss(x.requires_grad_(), hidden.requires_grad_()).requires_grad:
    raise CheckFailure("no gradient flows back", hint="detach() and .data cut the gradient")
cut = "detach() and .data cut the gradient: gates learn by it too"
assert_gradients(loss, {"x": x.detach(), "the state": hidden.detach()}, hint=cut)
own = {name: tensor.clone() for name, tensor in ours.state_dict().items()}


def loss_of_parameters(*tensors):
    """Put parameters into the cell, and weight the numbers of its next state by chance."""
    ours.load_state_dict(dict(zip(own, tensors, strict=True)))
    return loss(x.detach(), hidden.detach())


call_beside(take_gradients, ours)  # of what was done before
loss(x.detach(), hidden.detach()).backward()
slopes = call_beside(take_gradients, ours)
assert_slopes(loss_of_parameters, own, {name: slopes.get(name) for name in own}, hint=cut)
unbiased, biased = GRUCell(6, 6, bias=False).double().to(device), ours
copy_without_biases(unbiased, biased)
unbiased.eval()
alone = unbiased(x[:1], hidden[:1])
assert_shape(alone, (1, 6), what="the next state of a batch of one", hint="squeeze() takes it away")
assert_close(unbiased(x, hidden), biased(x, hidden), what=without, hint=as_zeros)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: read, forwards and backwards
#
# An encoder runs cells over a sequence. Read from left to right, the state at a word knows what
# came before it; read from right to left, what comes after. So we do both, lay the two states side
# by side, and let the next layer read those:
#
# ```
#             x_1       x_2       x_3       (padding)
# forward   0 -> f_1 ---> f_2 ---> f_3 -----> f_3         its last state:  f_3
# backward    b_1 <----- b_2 <---- b_3 <------ 0          its last state:  b_1
# memory    [f_1; b_1] [f_2; b_2] [f_3; b_3]   [0; 0]
# context   [f_3; b_1]
# ```
#
# See [Both directions](book:recurrent-networks#both-directions) and
# [Sequences of different lengths](book:recurrent-networks#padding-and-lengths) in the chapter.
# Three things go wrong easily:
#
# - $b_1$ belongs **beside** $f_1$, although it was computed last.
# - The backward cell meets the padding *first*. A state must pass through padding unchanged: at
#   such a step keep the old one. `torch.where` chooses row by row.
# - The context is made of two states at *opposite* ends of the sequence.
#
# The cells come as arguments. Ours are PyTorch's, so a slip in your `GRUCell` costs you nothing
# here; yours may be used in just the same way, and in the last cell they are.

# %% setup="given-cells"
complaints = []  # what the things below were asked for in vain


def require(holds, words):
    """Refuse to be called like this, and remember why."""
    if not holds:
        complaints.append(words)
        raise CheckFailure(words)


def attempt(function, *args, **kwargs):
    """Call your function. If it calls something of ours in the wrong way, say what was wrong."""
    complaints.clear()
    try:
        return function(*args, **kwargs)
    finally:
        if complaints:
            raise CheckFailure(complaints[0])


def pair_from(result, names):
    """Return both parts of a result, or say that it is no pair."""
    return as_pair(result, "the result should be a pair", hint=f"return {names}")


IN_READING_ORDER = "the backward states stand in the order of reading"
OF_ENCODER = [f"read_both_ways-{name}" for name in ("forward", "backward", "padding", "context")]


def read(function, x, lengths, layers, d_hidden, strict=False):
    """Let your encoder read copies, and look at the shape of its memory.

    That batch comes first, that the two states stand one after the other, that a cell gets x and
    then its state, and that a context comes too, behind the memory, one test alone wants, which is
    strict.
    """
    for cell in (cell for pair in layers for cell in pair):
        cell.is_strict = strict
    result = attempt(function, x.clone(), lengths.clone(), layers, d_hidden)
    alone = not strict and isinstance(result, Tensor) and result.dim() == 3
    if alone:
        forgive("the context is not returned", *OF_ENCODER)
    memory, context = (result, None) if alone else pair_from(result, "memory, context")
    batch, length = x.shape[:2]
    hint = "for each sequence and step two states, one after the other: stack(dim=1), cat(dim=-1)"
    if isinstance(context, Tensor) and (context.dim(), memory.dim()) == (3, 2):
        hint = "return memory, context: the memory first"
        if not strict:
            forgive("the context comes before the memory", *OF_ENCODER)
            memory, context = context, memory
    if not strict and isinstance(memory, Tensor) and memory.shape == (batch, length, d_hidden):
        forgive("the two states are added", *OF_ENCODER)
        memory, both = by_halves(function, x, lengths, layers, d_hidden)
        summed = isinstance(context, Tensor) and context.shape == (batch, d_hidden)
        return memory, both if summed else context
    if not strict and isinstance(memory, Tensor) and memory.shape == (length, batch, 2 * d_hidden):
        if length != batch:  # else both are 1
            forgive("the batch comes second", *OF_ENCODER)
        memory = memory.transpose(0, 1)
    assert_shape(memory, (batch, length, 2 * d_hidden), what="memory", hint=hint)
    return memory, context


def by_halves(function, x, lengths, layers, d_hidden):
    """Read twice, with one cell of the pair silent each time: so both halves of a sum are known."""
    forward_cell, backward_cell = layers[0]
    halves = []
    for pair in ((forward_cell, silent), (silent, backward_cell)):
        result = attempt(function, x.clone(), lengths.clone(), [pair, *layers[1:]], d_hidden)
        halves.append(pair_from(result, "memory, context"))
    memories, contexts = zip(*halves, strict=True)
    return torch.cat(memories, dim=-1), torch.cat(contexts, dim=-1)


def silent(x, hidden):
    """Be a cell that remembers nothing."""
    return torch.zeros_like(hidden)


def turned_back(memory, d_hidden):
    """Turn the backward half of a memory round, in which it stands in the order of reading."""
    return torch.cat([memory[..., :d_hidden], memory[..., d_hidden:].flip(1)], dim=-1)


def after_padding(memory, length, d_hidden):
    """Give what is left of a memory in the order of reading, if so much is read, padding first."""
    late = F.pad(memory[..., d_hidden:], (0, 0, length - memory.size(1), 0))[:, : memory.size(1)]
    return torch.cat([memory[..., :d_hidden], late], dim=-1)


def last_state(cell, steps, d_hidden):
    """Run a cell over steps, from zeros, and give its last state."""
    hidden = torch.zeros(len(steps[0]), d_hidden).to(steps[0])
    for step in steps:
        hidden = cell(step, hidden)
    return hidden


def logits_and_state(result, vocab_size):
    """Give both parts of what step returns, the logits first."""
    pair = pair_from(result, "logits, state")
    widths = [part.shape[-1:] if isinstance(part, Tensor) else () for part in pair]
    if widths[0] == (vocab_size,) or widths[1] != (vocab_size,):
        return tuple(pair)
    forgive("the state comes before the logits", "Decoder-step")
    return pair[1], pair[0]


class GivenCell:
    """A cell that is right, and looks at what it is called with."""

    def __init__(self, cell, d_input, d_hidden):
        self.cell = cell.to(device)
        self.x_width, self.width = d_input, d_hidden
        self.is_strict = False

    def __call__(self, x, hidden):
        """Take one step."""
        if not self.is_strict and [t.shape[-1:] for t in (x, hidden)] == [
            (self.width,),
            (self.x_width,),
        ]:
            forgive("a cell is given its state before x", *OF_ENCODER)
            x, hidden = hidden, x
        for name, tensor, width in (("an x", x, self.x_width), ("a state", hidden, self.width)):
            is_tensor = isinstance(tensor, Tensor)
            require(is_tensor, f"a cell was called with a {type(tensor).__name__} for {name}")
            fits = tensor.dim() == 2 and tensor.size(1) == width
            shape = tuple(tensor.shape)
            require(fits, f"a cell was called with {name} of shape {shape}, not (batch, {width})")
        require(len(x) == len(hidden), "a cell was called with an x and a state of other batches")
        same = x.dtype == hidden.dtype
        require(same, f"x is {x.dtype} but the state {hidden.dtype}; see new_zeros")
        return self.cell(x, hidden)


def make_layers(num_layers, d_input, d_hidden):
    """Make a pair of cells for each layer."""
    widths = [d_input] + [2 * d_hidden] * (num_layers - 1)
    return [
        tuple(GivenCell(nn.GRUCell(width, d_hidden), width, d_hidden) for _ in range(2))
        for width in widths
    ]


def gradient_at(leaf, result, upstream):
    """Return the gradient that upstream, at the result, sends to the leaf; zeros if it is cut."""
    slope = None
    if result.requires_grad:
        (slope,) = torch.autograd.grad(result, leaf, upstream, retain_graph=True, allow_unused=True)
    return torch.zeros_like(leaf) if slope is None else slope


# %% solution="read_both_ways" forbids="torch.nn.RNN torch.nn.GRU torch.rnn_tanh torch.gru"
def read_both_ways(
    x: Tensor, lengths: Tensor, layers: list[tuple[nn.Module, nn.Module]], d_hidden: int
) -> tuple[Tensor, Tensor]:
    """Read sequences in both directions, layer upon layer.

    Every state starts from zeros, of the dtype and on the device of ``x``. At padding a state stays
    what it was, and the memory is zero. So what comes out for a sequence does not depend on what it
    is padded with, nor to what length. ``x`` and ``lengths`` are not changed.

    Args:
        x: ``(batch, len, d_input)``, float32 or float64, filled up at the end.
        lengths: ``(batch,)``, int64, from 1 to len: how many steps of each sequence are real.
        layers: For each layer a pair of cells: one for reading forwards, one for backwards. A cell
            is called as ``cell(x_t, hidden)``, with ``(batch, width)`` and ``(batch, d_hidden)``,
            and returns the next state, ``(batch, d_hidden)``; nothing else is known of it. The
            first layer reads ``x``, each other one the memory of the layer below.
        d_hidden: Width of each cell's state.

    Returns:
        Of the top layer: the memory ``(batch, len, 2 * d_hidden)``, at each step the forward state
        and then the backward state; and the context ``(batch, 2 * d_hidden)``, the forward state
        at the last real step and then the backward state at the first step.
    """
    ### BEGIN SOLUTION
    is_real = torch.arange(x.size(1), device=x.device) < lengths[:, None]  # (batch, len)
    memory = x
    for pair in layers:
        states, last = [], []
        for cell, backward in zip(pair, (False, True), strict=True):
            hidden = x.new_zeros(x.size(0), d_hidden)
            by_step = [hidden] * x.size(1)
            for t in reversed(range(x.size(1))) if backward else range(x.size(1)):
                hidden = torch.where(is_real[:, t, None], cell(memory[:, t], hidden), hidden)
                by_step[t] = hidden
            states.append(torch.stack(by_step, dim=1))  # (batch, len, d_hidden)
            last.append(hidden)
        memory = torch.cat(states, dim=-1).masked_fill(~is_real[:, :, None], 0.0)
        context = torch.cat(last, dim=-1)
    return memory, context
    ### END SOLUTION


# %% test="read_both_ways-forward" points=1 read="recurrent-networks#plain-cell"
# The first half of the memory holds the states from left to right
layers = make_layers(1, d_input=3, d_hidden=4)
x, lengths = torch.randn(2, 5, 3).to(device), torch.tensor([5, 5]).to(device)
memory, context = read(read_both_ways, x, lengths, layers, 4, strict=True)
forward_cell, backward_cell = layers[0]
first = forward_cell(x[:, 0], torch.zeros(2, 4).to(device))
hint = "the forward half comes first: begin with zeros, and hand each state on to the next step"
assert_close(memory[:, 0, :4], first, what="the forward state at the first step", hint=hint)
second = forward_cell(x[:, 1], first)
assert_close(memory[:, 1, :4], second, what="the forward state at the second step", hint=hint)


### BEGIN HIDDEN TESTS
def states_of(cell, steps, new_state=lambda old, new: new):
    """Run a cell over vectors, from zeros, and return its states."""
    states, hidden = [], torch.zeros(len(steps[0]), cell.width).to(steps[0])
    for step in steps:
        states.append(cell(step, hidden))
        hidden = new_state(hidden, states[-1])
    return torch.stack(states, dim=1)


layers = make_layers(1, d_input=3, d_hidden=4)
forward_cell, backward_cell = layers[0]
for cell in layers[0]:
    cell.cell.double()
x = torch.randn(3, 6, 3).double().to(device).requires_grad_()
lengths = torch.tensor([6, 6, 6]).to(device)
memory, _ = read(read_both_ways, x, lengths, layers, 4, strict=True)
actual, expected = memory[..., :4], states_of(forward_cell, x.unbind(1))
before = torch.cat([torch.zeros_like(expected[:, :1]), expected[:, :-1]], dim=1)
backward = states_of(backward_cell, x.flip(1).unbind(1))
assert_close(
    actual,
    expected,
    what="the forward half of the memory",
    hint="start from zeros; at each step the cell reads x[:, t] and its own last state",
    mistakes={
        "the forward half comes first, then the backward half": backward.flip(1),
        "at each step the cell starts from zeros: hand its state on": states_of(
            forward_cell, x.unbind(1), lambda old, new: old
        ),
        "at each step this is the state before reading; store the one after": before,
        "the forward cell reads from right to left": states_of(
            forward_cell, x.flip(1).unbind(1)
        ).flip(1),
        "the two cells of a pair have changed places: the first reads forwards": states_of(
            backward_cell, x.unbind(1)
        ),
    },
)
upstream = torch.randn(3, 6, 4).double().to(device)
gradients = []
for half in (actual, expected):
    if not half.requires_grad:
        raise CheckFailure("no gradient flows back", hint="detach() and no_grad() cut it")
    gradients.append(torch.autograd.grad((half * upstream).sum(), x, retain_graph=True)[0])
hint = "detach() between two steps cuts backpropagation through time"
assert_close(gradients[0], gradients[1], what="gradient of x", hint=hint)
### END HIDDEN TESTS

# %% test="read_both_ways-backward" points=1 read="recurrent-networks#both-directions"
# The second half holds the states from right to left, each beside its own step
layers = make_layers(1, d_input=3, d_hidden=4)
x, lengths = torch.randn(2, 5, 3).to(device), torch.tensor([5, 5]).to(device)
memory, context = read(read_both_ways, x, lengths, layers, 4)
forward_cell, backward_cell = layers[0]
states = [backward_cell(x[:, 4], torch.zeros(2, 4).to(device))]  # of the steps 4, 3, 2, 1, 0
for t in (3, 2, 1, 0):
    states.append(backward_cell(x[:, t], states[-1]))
in_reading_order = "the states stand in the order of reading; put each beside its own step"
hint = "the backward cell begins with zeros at the last step, and reads to the left"
assert_close(
    memory[:, 4, 4:],
    states[0],
    what="the backward state at the last step",
    mistakes={in_reading_order: states[4]},
    hint=hint,
)
assert_close(memory[:, 0, 4:], states[4], what="the backward state at the first step", hint=hint)


### BEGIN HIDDEN TESTS
def states_of(cell, steps, new_state=lambda old, new: new):
    """Run a cell over vectors, from zeros, and return its states."""
    states, hidden = [], torch.zeros(len(steps[0]), cell.width).to(steps[0])
    for step in steps:
        states.append(cell(step, hidden))
        hidden = new_state(hidden, states[-1])
    return torch.stack(states, dim=1)


layers = make_layers(1, d_input=3, d_hidden=4)
forward_cell, backward_cell = layers[0]
x, lengths = torch.randn(3, 6, 3).to(device), torch.tensor([6, 6, 6]).to(device)
x.requires_grad_()
memory, _ = read(read_both_ways, x, lengths, layers, 4)
in_reading_order = states_of(backward_cell, x.flip(1).unbind(1))
actual, expected = memory[..., 4:], in_reading_order.flip(1)
assert_close(
    actual,
    expected,
    what="the backward half of the memory",
    hint="begin with zeros at the last step, and put each state where its step stands",
    mistakes={
        "the states stand in the order of reading; put each beside its own step": in_reading_order,
        "the backward cell reads from left to right": states_of(backward_cell, x.unbind(1)),
        "the forward half comes first, then the backward half": states_of(
            forward_cell, x.unbind(1)
        ),
        "both directions use the forward cell": states_of(forward_cell, x.flip(1).unbind(1)).flip(
            1
        ),
        "at each step the cell starts from zeros: hand its state on": states_of(
            backward_cell, x.unbind(1), lambda old, new: old
        ),
    },
)
upstream = torch.randn(3, 6, 4).to(device)
gradients = []
for half in (actual, expected):
    if not half.requires_grad:
        raise CheckFailure("no gradient flows back", hint="detach() and no_grad() cut it")
    gradients.append(torch.autograd.grad((half * upstream).sum(), x, retain_graph=True)[0])
hint = "detach() between two steps cuts backpropagation through time"
assert_close(gradients[0], gradients[1], what="gradient of x", hint=hint)
### END HIDDEN TESTS

# %% test="read_both_ways-padding" points=1 read="recurrent-networks#padding-and-lengths"
# A sequence is read as if it were alone, whatever it is padded with, and x stays as it is
layers = make_layers(1, d_input=3, d_hidden=4)
x, lengths = torch.randn(2, 5, 3).to(device), torch.tensor([3, 5]).to(device)
memory, context = read(read_both_ways, x, lengths, layers, 4)
alone, _ = read(read_both_ways, x[:1, :3], lengths[:1], layers, 4)
by_reading = turned_back(memory, 4), turned_back(alone, 4)
if torch.allclose(by_reading[0][:1, :3], by_reading[1], atol=1e-6):
    memory, alone = by_reading
    forgive(IN_READING_ORDER, *OF_ENCODER[:2])
late = after_padding(alone, 5, 4)
if torch.allclose(memory[:1, :3], late, atol=1e-6):
    alone = late
    forgive(IN_READING_ORDER, *OF_ENCODER[:2])
hint = "the backward cell meets the padding first: at padding, keep the old state"
put_back = "this is another sequence: put the rows back, by order.argsort() if order sorted them"
hint = put_back if torch.allclose(memory[1:, :3], alone, atol=1e-6) else hint
assert_close(memory[:1, :3], alone, what="the memory of a sequence that is padded", hint=hint)
not_in_x = f"set padding to zero in the memory, not in x: {in_place}"
attempt(assert_keeps_inputs, read_both_ways, x, lengths, layers, 4, hint=not_in_x)
nothing = torch.zeros(1, 2, 8).to(device)
hint = "set the memory to zero where there is padding"
assert_close(memory[:1, 3:], nothing, what="the memory at padding", hint=hint)
### BEGIN HIDDEN TESTS
layers = make_layers(1, d_input=8, d_hidden=4)
# There is padding after each; and who sorts them, and sorts once more to go back, is not back.
lengths = torch.tensor([[4, 5, 1, 6], [1, 6, 4, 5], [6, 4, 1, 5]])[int(torch.randint(3, ()))]
x = torch.randn(4, 7, 8).to(device)
lengths = lengths.to(device)
attempt(assert_keeps_inputs, read_both_ways, x, lengths, layers, 4, hint=not_in_x)
memory, _ = read(read_both_ways, x, lengths, layers, 4)
all_alone = []
for row, length in enumerate(lengths.tolist()):
    alone = slice(row, row + 1)
    all_alone += [read(read_both_ways, x[alone, :length], lengths[alone], layers, 4)[0]]
for row, length in enumerate(lengths.tolist()):
    own, expected = memory[row : row + 1], all_alone[row]
    by_reading = turned_back(own, 4), turned_back(expected, 4)
    late = after_padding(expected, 7, 4)
    if torch.allclose(own[:, :length], expected, atol=1e-6):
        pass
    elif torch.allclose(by_reading[0][:, :length], by_reading[1], atol=1e-6):
        own, expected = by_reading
        forgive(IN_READING_ORDER, *OF_ENCODER[:2])
    elif torch.allclose(own[:, :length], late, atol=1e-6):
        expected = late
        forgive(IN_READING_ORDER, *OF_ENCODER[:2])
    if bool((expected == 0).all()):
        raise CheckFailure(
            "the memory is zero where there is something to remember",
            hint="step t, counted from 0, is real where t < the sequence's length",
        )
    hint = "the backward cell meets the padding first: at padding, keep the old state"
    others = [F.pad(other, (0, 0, 0, 7 - other.size(1))) for other in all_alone]
    if any(torch.allclose(own, other, atol=1e-6) for other in others):
        hint = put_back
    assert_close(own[:, :length], expected, what="memory of a padded sequence", hint=hint)
    nothing = torch.zeros(1, 7 - length, 8).to(device)
    hint = "set the memory to zero where there is padding"
    assert_close(own[:, length:], nothing, what="memory at padding", hint=hint)
rest, _ = read(read_both_ways, x[-1:], lengths[-1:], layers, 4)
hint = "a sequence alone has padding too: it is read as far as its length says"
assert_close(rest, memory[-1:], what="memory of a padded sequence alone", hint=hint)
### END HIDDEN TESTS

# %% test="read_both_ways-context" points=1 read="sequence-to-sequence#the-context"
# The context joins the last state of each direction
layers = make_layers(1, d_input=3, d_hidden=4)
x, lengths = torch.randn(2, 5, 3).to(device), torch.tensor([5, 5]).to(device)
memory, context = read(read_both_ways, x, lengths, layers, 4)
if context is None:
    raise CheckFailure("no context comes beside the memory", hint="return memory, context")
assert_shape(context, (2, 8), what="context")
forward_cell, backward_cell = layers[0]
at_last = last_state(forward_cell, x.unbind(1), 4)
at_first = last_state(backward_cell, x.flip(1).unbind(1), 4)
expected = torch.cat([at_last, at_first], dim=-1)
joined = torch.cat([memory[:, 4, :4], memory[:, 0, 4:]], dim=-1)  # the same, if memory is right
assert_close(
    context,
    joined if torch.allclose(context, joined, atol=1e-6) else expected,
    what="context",
    mistakes={
        "both halves are taken at the last step; backwards, the last is the first": memory[:, 4],
        "the forward half comes first": torch.cat([at_first, at_last], dim=-1),
        "both halves are taken at the first step; forwards, the last is the last": memory[:, 0],
    },
    hint="the forward state at the last real step, and then the backward state at the first step",
)
### BEGIN HIDDEN TESTS
layers = make_layers(1, d_input=8, d_hidden=4)
forward_cell, backward_cell = layers[0]
lengths = torch.tensor([[4, 5, 1, 6], [1, 6, 4, 5], [6, 4, 1, 5]])[int(torch.randint(3, ()))]
x = torch.randn(4, 6, 8).to(device).requires_grad_()
upstream = torch.randn(4, 8).to(device)
for used in (torch.tensor([6, 6, 6, 6]), lengths):
    memory, context = read(read_both_ways, x, used.to(device), layers, 4)
    assert_shape(context, (4, 8), what="context")
    if bool((context == context[0, 0]).all()):
        raise CheckFailure(
            "all numbers of the context are the same where there is something to remember",
            hint="it joins the last state of each direction, and those are not zero",
        )
    rows, last = torch.arange(4), used - 1
    at_last, at_first = memory[rows, last], memory[:, 0]
    ends = []
    for row, length in enumerate(used.tolist()):
        steps = x[row : row + 1, :length]
        ends.append([last_state(forward_cell, steps.unbind(1), 4)])
        ends[-1].append(last_state(backward_cell, steps.flip(1).unbind(1), 4))
    expected = torch.cat([torch.cat(pair, dim=-1) for pair in ends])
    joined = torch.cat([at_last[:, :4], at_first[:, 4:]], dim=-1)
    ends_in_memory = (
        (memory[rows, last, :4], expected[:, :4]),
        (memory[:, 0, 4:], expected[:, 4:]),
    )
    if torch.allclose(context, joined, atol=1e-6):
        expected = joined
    elif used is lengths and not all(torch.allclose(*p, atol=1e-6) for p in ends_in_memory):
        forgive("padding is read as if it were real", *OF_ENCODER[:3])
        continue
    assert_close(
        context,
        expected,
        what="context",
        hint="at padding, a state stays what it was: then the last state is the one at the last "
        "real step",
        mistakes={
            "both halves are taken at the last step; backwards, the last is the first": at_last,
            "both halves are taken at the first step": at_first,
            "the forward half comes first": torch.cat([at_first[:, 4:], at_last[:, :4]], dim=-1),
            "at padding a state stays what it was; here it gets lost there": torch.cat(
                [memory[:, -1, :4], at_first[:, 4:]], dim=-1
            ),
            "the context is the last state of each direction, not the mean": memory.mean(1),
            "each half is taken at the wrong end": torch.cat(
                [at_first[:, :4], at_last[:, 4:]], dim=-1
            ),
        },
    )
    if not expected.requires_grad:
        forgive("no gradient flows back from the memory", *OF_ENCODER[:2])
        continue
    if not context.requires_grad:
        raise CheckFailure(
            "no gradient flows back from the context",
            hint="detach() cuts it, and then the encoder can't learn from the decoder",
        )
    assert_close(
        gradient_at(x, context, upstream),
        gradient_at(x, expected, upstream),
        what="gradient that the context sends to x",
        hint="detach() cuts the gradient: the context is made of two states as they are",
    )
### END HIDDEN TESTS

# %% test="read_both_ways-layers" points=1 read="recurrent-networks#deep-networks"
# Each layer reads the memory of the layer below
layers = make_layers(2, d_input=3, d_hidden=4)
x, lengths = torch.randn(2, 5, 3).to(device), torch.tensor([5, 5]).to(device)
below, _ = read(read_both_ways, x, lengths, layers[:1], 4)
expected, _ = read(read_both_ways, below, lengths, layers[1:], 4)
memory, context = read(read_both_ways, x, lengths, layers, 4)
assert_close(
    memory,
    expected,
    what="memory of two layers",
    mistakes={"one layer only": below},
    hint="a layer starts from zeros, and reads the memory of the layer below",
)
### BEGIN HIDDEN TESTS
layers = make_layers(3, d_input=8, d_hidden=4)  # x is as wide as a memory
x, lengths = torch.randn(2, 5, 8).to(device), torch.tensor([5, 5]).to(device)
x.requires_grad_()
first, first_context = read(read_both_ways, x, lengths, layers[:1], 4)
second, second_context = read(read_both_ways, first, lengths, layers[1:2], 4)
third, third_context = read(read_both_ways, second, lengths, layers[2:], 4)
from_x, _ = read(read_both_ways, x, lengths, layers[2:], 4)
memory, context = read(read_both_ways, x, lengths, layers, 4)
if torch.equal(first, second):
    raise CheckFailure("every layer gives the same memory", hint="use the cells of its own pair")
one_layer_only = "only the first layer has read"
assert_close(
    memory,
    third,
    what="memory of three layers",
    hint="a layer starts from zeros, and reads the memory of the layer below",
    mistakes={
        one_layer_only: first,
        "the top layer reads x; it should read the memory of the layer below": from_x,
        "one layer is missing": second,
    },
)
if third_context is None:
    forgive("the context is not returned", *OF_ENCODER)
else:
    assert_close(
        context,
        third_context,
        what="context of three layers",
        hint="the context is that of the top layer",
        mistakes={
            "this is the context of the first layer; return that of the top one": first_context,
        },
    )
if not third.requires_grad:
    forgive("no gradient flows back from the memory", *OF_ENCODER[:2])
else:
    upstream = torch.randn(2, 5, 8).to(device)
    assert_close(
        gradient_at(x, memory, upstream),
        gradient_at(x, third, upstream),
        what="gradient that the top layer sends to x",
        hint="detach() between two layers cuts the gradient: the layers below learn nothing",
    )
lengths = torch.tensor([5, 3]).to(device)
first, _ = read(read_both_ways, x, lengths, layers[:1], 4)
alone, _ = read(read_both_ways, x[1:, :3], lengths[1:], layers[:1], 4)
if not torch.allclose(first[1:, :3], alone, atol=1e-6):
    forgive("in a single layer, padding is read as if it were real", *OF_ENCODER[:3])
else:
    second, _ = read(read_both_ways, first, lengths, layers[1:2], 4)
    third, third_context = read(read_both_ways, second, lengths, layers[2:], 4)
    memory, context = read(read_both_ways, x, lengths, layers, 4)
    hint = "at padding, keep the old state in every layer"
    assert_close(memory, third, what="memory of three layers, with padding", hint=hint)
    if third_context is not None:
        hint = "in every layer the last state is the one at the last real step"
        what = "context of three layers, with padding"
        assert_close(context, third_context, what=what, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: write
#
# The decoder is a language model with a **context**: at each step it reads the token written last
# and the context, and says what may come next. In the chapter *Sequence to sequence*,
# [Two networks and one vector](book:sequence-to-sequence#two-networks) has the picture and
# [The decoder](book:sequence-to-sequence#the-decoder) the formula.
#
# While it learns, it does not read what it has written itself, which at first is nonsense. It reads
# the true tokens, whatever it would have guessed:
# [Teacher forcing](book:sequence-to-sequence#teacher-forcing). So `forward` gets all of them at
# once, the start token first, and gives the logits of the token *after* each.
#
# Build it from your own `GRUCell`. The tests hold your decoder against its own parts, so a slip in
# the cell costs you nothing here as long as the cell runs.


# %% solution="Decoder" forbids="torch.nn.GRU torch.nn.GRUCell torch.gru torch.gru_cell"
class Decoder(nn.Module):
    """Write a sequence, knowing of the source its context alone.

    ::

        s_0 = tanh(B c)                           the bridge
        s_t = cell([y_{t-1}; c], s_{t-1})
        logits of y_t = V [s_t; y_{t-1}; c]

    with c the context, y_{t-1} the embedding of the token before, and [;] one vector after the
    other.

    Args:
        vocab_size: Number of token ids.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the state.
        d_memory: Width of the context.

    Attributes:
        embedding: ``nn.Embedding(vocab_size, d_embedding)``.
        bridge: ``nn.Linear(d_memory, d_hidden)``, B.
        cell: ``GRUCell(d_embedding + d_memory, d_hidden)``.
        output: ``nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)``, V.
    """

    def __init__(self, vocab_size: int, d_embedding: int, d_hidden: int, d_memory: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        ### END SOLUTION

    def start(self, context: Tensor) -> Tensor:
        """Make the state before the first token.

        Args:
            context: ``(batch, d_memory)``.

        Returns:
            ``(batch, d_hidden)``.
        """
        ### BEGIN SOLUTION
        return torch.tanh(self.bridge(context))
        ### END SOLUTION

    def step(self, tokens: Tensor, state: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Read one token in each sequence, and say what may follow it.

        Args:
            tokens: ``(batch,)``, int64, the token written last.
            state: ``(batch, d_hidden)``, the state before reading it.
            context: ``(batch, d_memory)``.

        Returns:
            Logits of the next token ``(batch, vocab_size)``, and the new state
            ``(batch, d_hidden)``.
        """
        ### BEGIN SOLUTION
        written = torch.cat([self.embedding(tokens), context], dim=-1)
        state = self.cell(written, state)
        return self.output(torch.cat([state, written], dim=-1)), state
        ### END SOLUTION

    def forward(self, tgt: Tensor, context: Tensor) -> Tensor:
        """Score sequences, each token given the true ones before it (teacher forcing).

        Args:
            tgt: ``(batch, tgt_len)``, int64: the start token, then the target without its last.
            context: ``(batch, d_memory)``.

        Returns:
            Logits ``(batch, tgt_len, vocab_size)``; at position t those of the token after
            ``tgt[:, t]``.
        """
        ### BEGIN SOLUTION
        state = self.start(context)
        logits = []
        for tokens in tgt.unbind(dim=1):
            after, state = self.step(tokens, state, context)
            logits.append(after)
        return torch.stack(logits, dim=1)
        ### END SOLUTION


# %% test="Decoder-start" points=1 read="sequence-to-sequence#the-decoder"
# The decoder has its parts, and its first state comes from the context, which stays as it is
decoder = Decoder(vocab_size=11, d_embedding=3, d_hidden=4, d_memory=6).to(device)
assert_shape(decoder.embedding.weight, (11, 3), what="weight of embedding")
assert_shape(decoder.bridge.weight, (4, 6), what="weight of bridge")
assert_shape(decoder.output.weight, (11, 4 + 3 + 6), what="weight of output")
hint = "the bridge makes the first state from the context"
context = torch.randn(2, 6).to(device)
of_gates = "self.cell = GRUCell(d_embedding + d_memory, d_hidden)"
gates = decoder.cell.input_projection.weight
assert_shape(gates, (3 * 4, 3 + 6), what="weight of the cell's input_projection", hint=of_gates)
assert_shape(decoder.start(context), (2, 4), what="the first state", hint=hint)
assert_keeps_inputs(decoder.start, context, hint=in_place)
### BEGIN HIDDEN TESTS
decoder = Decoder(7, 5, 5, 5).to(device)
for name, shape in (
    ("embedding.weight", (7, 5)),
    ("bridge.weight", (5, 5)),
    ("bridge.bias", (5,)),
    ("output.weight", (7, 15)),
    ("output.bias", (7,)),
):
    part, _, parameter = name.partition(".")
    assert_shape(getattr(getattr(decoder, part), parameter), shape, what=name)
    if name not in decoder.state_dict():
        raise CheckFailure(f"{name} is not among the decoder's parameters")
if not any(name.startswith("cell.") for name in decoder.state_dict()):
    raise CheckFailure("the decoder has no cell", hint="self.cell = GRUCell(...)")
gates = decoder.cell.input_projection.weight
assert_shape(gates, (15, 10), what="weight of the cell's input_projection", hint=of_gates)
context = torch.randn(3, 5).to(device)
assert_keeps_inputs(decoder.start, context, hint=in_place)
context.requires_grad_()
weight, bias = decoder.bridge.weight, decoder.bridge.bias
first, expected = decoder.start(context.clone()), torch.tanh(F.linear(context, weight, bias))
assert_close(
    first,
    expected,
    what="the first state",
    mistakes={
        "tanh is missing": F.linear(context, weight, bias),
        "start from the context, not from zeros": torch.zeros(3, 5).to(device),
        "the context goes through the bridge": context,
        "the context goes through the bridge first, then tanh": torch.tanh(context),
        "this is the sigmoid; the bridge ends in a tanh": torch.sigmoid(
            F.linear(context, weight, bias)
        ),
    },
)
upstream = torch.randn_like(expected)
assert_close(
    gradient_at(context, first, upstream),
    gradient_at(context, expected, upstream),
    what="gradient of the context",
    hint="detach() and .data cut the gradient: the encoder learns from the decoder, by the context",
)
if bool((decoder.embedding.weight == 0).all(dim=-1).any()):
    like_any = "id 0 is a token like any other: nn.Embedding without padding_idx"
    raise CheckFailure("a token's embedding is zero", hint=like_any)
what = "the first state of a batch of one"
assert_shape(decoder.start(context[:1]), (1, 5), what=what, hint="squeeze() takes all")
### END HIDDEN TESTS

# %% test="Decoder-step" points=1 read="sequence-to-sequence#the-decoder"
# One step reads a token and the context, and scores the next token
decoder = Decoder(vocab_size=11, d_embedding=3, d_hidden=4, d_memory=6).to(device)
context, state = torch.randn(2, 6).to(device), torch.randn(2, 4).to(device)
in_order = "logits, state: step returns the logits first, and then the new state"
result = decoder.step(torch.tensor([7, 0]).to(device), state, context)
logits, new_state = pair_from(result, in_order)
hint = f"return {in_order}"
assert_shape(logits, (2, 11), what="logits", hint=hint)
assert_shape(new_state, (2, 4), what="the new state", hint=hint)
### BEGIN HIDDEN TESTS
decoder = Decoder(7, 5, 5, 5).to(device)
tokens = torch.randint(7, (4,)).to(device)
context, state = torch.randn(4, 5).to(device), torch.randn(4, 5).to(device)
context.requires_grad_()
y, weight, bias = decoder.embedding(tokens), decoder.output.weight, decoder.output.bias
for part, shape, what in (
    (y, (4, 5), "the embedding"), (weight, (7, 15), "weight of output"), (bias, (7,), "its bias")
):  # fmt: skip
    assert_shape(part, shape, what=what)
expected_state = decoder.cell(torch.cat([y, context], dim=-1), state.clone())
assert_shape(expected_state, (4, 5), what="the cell's state")
result = decoder.step(tokens.clone(), state.clone(), context.clone())
logits, new_state = pair_from(result, in_order)
assert_close(
    new_state,
    expected_state,
    what="the new state",
    hint="the cell reads [y; c], the token's embedding and then the context",
    mistakes={
        "the context comes after the embedding": decoder.cell(
            torch.cat([context, y], dim=-1), state
        ),
        "this is the state before the step; return the new one": state,
        "this is the first state: go on from the state that is given": decoder.cell(
            torch.cat([y, context], dim=-1), torch.tanh(decoder.bridge(context))
        ),
    },
)


def logits_of(*parts):
    """Return the logits that these vectors, side by side, lead to."""
    return F.linear(torch.cat(parts, dim=-1), weight, bias)


expected = logits_of(expected_state, y, context)
assert_close(
    logits,
    expected,
    what="logits",
    hint="the output layer reads [s; y; c]: the new state, the embedding, the context",
    mistakes={
        "the output layer reads the old state; give it the new one": logits_of(state, y, context),
        "the order is state, embedding, context": logits_of(y, context, expected_state),
        "the order is state, embedding, then context": logits_of(expected_state, context, y),
        "these are probabilities; return logits": torch.softmax(expected, dim=-1),
        "these are log-probabilities; return logits": torch.log_softmax(expected, dim=-1),
    },
)
assert_keeps_inputs(decoder.step, tokens, state, context.detach(), hint=in_place)


def by_hand(tokens, context):
    """Put the logits and the new state together from the decoder's parts."""
    y = decoder.embedding(tokens)
    new = decoder.cell(torch.cat([y, context], dim=-1), state.clone())
    return torch.cat([decoder.output(torch.cat([new, y, context], dim=-1)), new], dim=-1)


assert_gradients_like(
    by_hand,
    lambda tokens, context: torch.cat(
        pair_from(decoder.step(tokens, state.clone(), context), in_order), dim=-1
    ),
    {"tokens": tokens, "context": context},
    modules={name: (getattr(decoder, name),) * 2 for name in ("embedding", "cell", "output")},
    hint="detach() and .data cut the gradient: all parts learn from every step, and the encoder "
    "learns from every step, by the context",
)
one = (each[:1].clone() for each in (tokens, state, context))
for part, width in zip(pair_from(decoder.step(*one), in_order), (7, 5), strict=True):
    assert_shape(part, (1, width), what="what comes of a batch of one", hint="squeeze() takes all")
### END HIDDEN TESTS

# %% test="Decoder-forward" points=1 read="sequence-to-sequence#teacher-forcing"
# With teacher forcing each step reads the true token, and hands its state on
decoder = Decoder(vocab_size=11, d_embedding=3, d_hidden=4, d_memory=6).to(device)
context = torch.randn(2, 6).to(device)
tgt = torch.tensor([[1, 7, 7], [1, 4, 0]]).to(device)
assert_keeps_inputs(decoder, tgt, context, hint=in_place)
logits = decoder(tgt, context)
hint = "one row of logits for each token of tgt; stack them along dim=1"
assert_shape(logits, (2, 3, 11), what="logits", hint=hint)
result = decoder.step(torch.tensor([1, 1]).to(device), decoder.start(context), context)
first, _ = logits_and_state(result, vocab_size=11)
hint = "the first step reads tgt[:, 0], and goes on from start(context)"
assert_close(logits[:, 0], first, what="logits of the first token", hint=hint)
### BEGIN HIDDEN TESTS
decoder = Decoder(7, 5, 5, 5).to(device)
with torch.no_grad():  # the first tokens have not faded by the last step
    for parameter in ("bridge", "output"):
        getattr(decoder, parameter).weight.mul_(3)
tgt, context = torch.randint(7, (4, 6)).to(device), torch.randn(4, 5).to(device)
assert_keeps_inputs(decoder, tgt, context, hint=in_place)
context.requires_grad_()


def by_steps(next_tokens, next_state=lambda old, new: new, state=None, context=context):
    """Return the logits of one step after another."""
    tokens, state = tgt[:, 0], decoder.start(context) if state is None else state
    logits = []
    for t in range(6):
        result = decoder.step(tokens.clone(), state.clone(), context.clone())
        after, new = logits_and_state(result, vocab_size=7)
        for part, width in ((after, 7), (new, 5)):
            assert_shape(part, (4, width), what="result of step")
        logits.append(after)
        state = next_state(state, new)
        tokens = next_tokens(t + 1, after) if t < 5 else None
    return torch.stack(logits, dim=1)


def the_true_one(t, logits):
    """Read the target, whatever the logits say."""
    return tgt[:, t]


expected = by_steps(the_true_one)
if bool((expected == expected[:, :1]).all()):
    raise CheckFailure(
        "every step gives the same logits", hint="hand the new state on to the next step"
    )
zeros = torch.zeros(4, 5).to(device)
mistakes = {
    "each step reads its own guess; with teacher forcing it reads tgt[:, t]": by_steps(
        lambda t, logits: logits.argmax(-1)
    ),
    "each step starts from the first state; hand the new state on": by_steps(
        the_true_one, lambda old, new: old
    ),
    "the first state is zeros; begin with start(context)": by_steps(the_true_one, state=zeros),
    "the time goes backwards": expected.flip(1),
    "each step reads the start token": by_steps(lambda t, logits: tgt[:, 0]),
}
hint = "begin with start(context); then step by step with tgt[:, t], handing the state on"
for what, is_training in (("logits", True), ("logits in evaluation", False)):
    logits = decoder.train(is_training)(tgt.clone(), context.clone())
    assert_close(logits, expected, what=what, hint=hint, mistakes=mistakes)
decoder.train()
alone = tgt[:1, 0].clone(), decoder.start(context[:1].clone()), context[:1].clone()
of_one = [each.shape for each in logits_and_state(decoder.step(*alone), vocab_size=7)]
for batch, length in ((4, 1), (1, 6), (1, 1)):
    if batch == 1 and of_one != [(1, 7), (1, 5)]:
        forgive("of a batch of one something else comes", "Decoder-start", "Decoder-step")
        break
    one = decoder(tgt[:batch, :length].clone(), context[:batch].clone())
    hint = "a single token keeps its dimension, as does a batch of one: squeeze() takes both"
    assert_shape(one, (batch, length, 7), what="logits where a size is 1", hint=hint)
upstream = torch.randn(4, 7).to(device)
(logits[:, -1] * upstream).sum().backward(retain_graph=True)
slope = decoder.bridge.weight.grad
if slope is None or not bool(slope.abs().sum() > 0):
    raise CheckFailure(
        "from the last step no gradient reaches the bridge",
        hint="detach() between two steps cuts backpropagation through time",
    )
assert_gradients_like(
    lambda tgt, context: by_steps(the_true_one, context=context),
    decoder,
    {"tgt": tgt, "context": context},
    modules={
        name: (getattr(decoder, name),) * 2 for name in ("bridge", "embedding", "cell", "output")
    },
    hint="hand on the context as it is: detach() hides from the encoder what went wrong",
)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: search
#
# A decoder gives each sequence a probability, and there are more sequences than atoms in the sea.
# Which one should it write? **Greedy search** takes the most probable token, again and again.
# **Beam search** keeps several beginnings in play. The chapter *Decoding* tells the story in
# [Greedy search](book:decoding#greedy-search) and [Beam search](book:decoding#beam-search).
#
# All your searches need of a model is one function: give it the beginnings of some sequences, one a
# row, and it returns the logits of the next token for each. So they work for any model. The tests
# use tiny languages, whose every sentence can be counted. Here is one, with five words.
#
# Probabilities of sentences are small, and soon too small for a float; so searches add up
# [log-probabilities](book:decoding#log-probabilities). Make them with `log_softmax`: the logarithm
# of `softmax` is $-\infty$ for all that is less probable than about $10^{-45}$.

# %% setup="tiny-languages"
BOS, EOS = 0, 1
in_nats = "a float, in nats"
of_a_row = "a token is its place in a row of logits, from 0 to vocab_size - 1"


class TinyLanguage:
    """A language whose next token depends on the tokens so far, by a rule."""

    def __init__(self, vocab_size, logits_after, bos=BOS):
        self.num_words = vocab_size
        self.logits_after = logits_after
        self.bos = bos
        self.asked = {}  # for each length, the beginnings that it was asked about

    def __call__(self, tokens):
        """Return the logits of the token after each beginning."""
        require(isinstance(tokens, Tensor), f"the model was given a {type(tokens).__name__}")
        is_table = tokens.dim() == 2 and tokens.dtype == torch.int64 and tokens.numel() > 0
        given = f"{tokens.dtype} of shape {tuple(tokens.shape)}"
        require(is_table, f"the model was given {given}, not int64 of shape (n, len)")
        starts = bool((tokens[:, 0] == self.bos).all())
        require(starts, "the model was given a beginning that does not begin with bos_id")
        known = bool(((tokens >= 0) & (tokens < self.num_words)).all())
        require(known, f"the model was given a token that is not in the vocabulary; {of_a_row}")
        require(tokens.size(1) < 100, "your search does not stop; see max_new_tokens")
        rows = len(tokens)
        require(rows < 10_000, f"the model was given {rows} beginnings at once; see beam_size")
        self.asked.setdefault(tokens.size(1), set()).update(map(tuple, tokens.tolist()))
        return self.logits_after(tokens.to(device))

    def tokens_from(self, written):
        """Return tokens as a list of ints, or say what is wrong with them.

        Tensors will do here.
        """
        if isinstance(written, Tensor):
            forgive("tokens are tensors", "greedy_search-tokens", "beam_search-results")
            written = written.tolist()
        if not isinstance(written, list | tuple):
            raise CheckFailure("the tokens are no list", hint="a list of ints, in one dimension")
        tokens = [t.item() if isinstance(t, Tensor) and t.numel() == 1 else t for t in written]
        if not all(isinstance(token, Integral) for token in tokens):
            raise CheckFailure("a token is no int", hint="argmax and max give places as ints")
        if not all(0 <= token < self.num_words for token in tokens):
            raise CheckFailure("a token is not in the vocabulary", hint=of_a_row)
        return tokens

    @property
    def most_in_play(self):
        """The largest number of beginnings of one length that it was asked about."""
        return max(map(len, self.asked.values()), default=0)


def language_of(vocab_size, probable, boastful=(), bos=BOS):
    """Make a language from its most probable pairs of tokens; the others share what is left.

    Logits need not be normalised: after boastful tokens all of them are large.
    """
    after = torch.arange(9.0, 9.0 + vocab_size).repeat(vocab_size, 1)  # uneven shares
    after[:, bos] = 1e-6  # nobody says <start> in the middle of a sentence
    given = torch.zeros(vocab_size, vocab_size)
    for (before, token), probability in probable.items():
        given[before, token], after[before, token] = probability, 0.0
    after *= (1 - given.sum(dim=1, keepdim=True)) / after.sum(dim=1, keepdim=True)
    logits = (after + given).log()
    logits[list(boastful)] += 9.0
    logits = logits.to(device)
    return TinyLanguage(vocab_size, lambda tokens: logits[tokens[:, -1]], bos)


def random_language(vocab_size, sharpness=1.5, ends_at=None, lead=50.0, bos=BOS):
    """Make a language at random, in which every token matters, however long ago it was.

    If ``ends_at`` is given, the end token never comes before the token of that number, and then
    leads all others.
    """
    table = sharpness * torch.randn(97, vocab_size) + 2 * torch.randn(97, 1)
    table[:, bos] -= 20
    table = table.to(device)

    def logits_after(tokens):
        places = torch.arange(1, tokens.size(1) + 1).to(device)
        logits = table[(tokens * places * places).sum(dim=1) % 97].clone()
        if ends_at is not None:
            highest = logits[:, EOS + 1 :].amax(dim=1)
            logits[:, EOS] = highest + lead if tokens.size(1) >= ends_at else highest - 50.0
        return logits

    return TinyLanguage(vocab_size, logits_after, bos)


def stubborn_language(second, third):
    """Make a language of two words in which all but the end is next to impossible.

    Args:
        second: Log-probability of the first word, before the end.
        third: That of the second word.
    """
    row = torch.tensor([-900.0, 0.0, second, third]).to(device)
    return TinyLanguage(4, lambda tokens: row.repeat(len(tokens), 1))


def assert_plain(value, what):
    """Check that a number, or a list of numbers, is Python's own."""
    if any(isinstance(v, Tensor) for v in [value, *(value if isinstance(value, list) else [])]):
        in_words = "int(), float(), item() and tolist() make numbers of tensors"
        raise CheckFailure(f"{what} should be plain numbers, without a tensor", hint=in_words)


def assert_ints(tokens, what):
    """Check that tokens are a list of Python's own ints."""
    assert_plain(tokens, what)
    if not isinstance(tokens, list):
        hint = "a list of ints is expected: list() makes one of a tuple"
        raise CheckFailure(f"{what} are no list", hint=hint)


def pairs_in(results, language, strict=False):
    """Return results as pairs of a list of ints and a number, or say what else they are."""
    is_list = isinstance(results, list | tuple)
    if not is_list or not all(isinstance(r, list | tuple) and len(r) == 2 for r in results):
        raise CheckFailure("the results should be a list of pairs: tokens and score")
    if not results:
        raise CheckFailure(
            "there is no result", hint="at the last length, the best unfinished sequences go too"
        )
    if any(isinstance(tokens, Real) for tokens, _ in results):
        if strict:
            raise CheckFailure("in each pair the tokens come first, and then the score")
        forgive("the score comes before the tokens", "beam_search-results")
        results = [(tokens, score) for score, tokens in results]
    return [
        (language.tokens_from(tokens), as_number(score, what="a score", hint=in_nats))
        for tokens, score in results
    ]


def written_by(results, language, limit):
    """Return the tokens of each result.

    The start token goes, should all have it; where none has the end token, what is shorter than
    the limit gets it.
    """
    rows = [tokens for tokens, _ in pairs_in(results, language)]
    if all(row[:1] == [BOS] for row in rows):
        forgive("the start token is written", "beam_search-best")
        rows = [row[1:] for row in rows]
    if any(EOS in row for row in rows) or all(len(row) >= limit for row in rows):
        return rows
    forgive("the end token is left out", "beam_search-best")
    return [[*row, EOS] if len(row) < limit else row for row in rows]


# "the" 0.5, "a" 0.4; after "the", "cat" 0.35; after "a", "cat" 0.9; after "cat", the end 0.9.
WORDS = ["<start>", "<end>", "the", "a", "cat"]
telegrams = language_of(
    5, {(BOS, 2): 0.5, (BOS, 3): 0.4, (2, 4): 0.35, (3, 4): 0.9, (4, EOS): 0.9}, boastful=[2]
)


# %% solution="greedy_search" withholds="course_lib.generation.greedy_search.greedy course_lib.generation.beam_search.beam_search"
def greedy_search(next_logits, *, bos_id: int, eos_id: int, max_new_tokens: int):
    """Write the most probable token, again and again, until the end token.

    Args:
        next_logits: The model. Called as ``next_logits(tokens)`` with beginnings of sequences,
            ``(n, len)``, int64, each with ``bos_id`` first; returns the logits of the token after
            each, ``(n, vocab_size)``.
        bos_id: The token that every sequence begins with; it is not written.
        eos_id: The end token; in some vocabularies it is the same as ``bos_id``.
        max_new_tokens: Most tokens to write, the end token among them.

    Returns:
        The tokens written, a list of ints, the end token last if it came; and their
        log-probability all together, a float, in nats.

    Raises:
        ValueError: ``max_new_tokens`` is not positive.
    """
    ### BEGIN SOLUTION
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    written: list[int] = []
    total = 0.0
    while len(written) < max_new_tokens and written[-1:] != [eos_id]:
        logits = next_logits(torch.tensor([[bos_id, *written]]))
        log_probability, token = logits[0].log_softmax(dim=-1).max(dim=-1)
        written.append(int(token))
        total += float(log_probability)
    return written, total
    ### END SOLUTION


# %% test="greedy_search-tokens" points=1 read="decoding#greedy-search"
# The most probable token is written at each step, up to the end token or the limit
def tokens_of(language, eos_id=EOS, limit=6):
    """Return what your search gives for tokens, and the same as a list of ints."""
    how = {"bos_id": language.bos, "eos_id": eos_id, "max_new_tokens": limit}
    result = attempt(greedy_search, language, **how)
    tokens, _ = pair_from(result, "tokens, log-probability")
    return tokens, language.tokens_from(tokens)


tokens, ints = tokens_of(telegrams)
assert_equal(
    " ".join(WORDS[token] for token in ints),
    "the cat <end>",
    what="the sentence",
    mistakes={
        "the end token is a token too: keep it": "the cat",
        "the start token is not written: leave it out": "<start> the cat <end>",
    },
    hint="take the largest logit at each step, and stop after the end token",
)
assert_ints(tokens, "the tokens")
_, short = tokens_of(telegrams, limit=2)
hint = "write max_new_tokens tokens where the end does not come sooner, and no more"
assert_equal(len(short), 2, what="the number of tokens when two are allowed", hint=hint)
### BEGIN HIDDEN TESTS
from course_lib.generation.greedy_search import greedy as reference_search
from course_lib.generation.step_models import UncachedModel


def reference_of(logits_after, limit, eos_id=EOS, bos_id=BOS):
    """Return the reference's tokens for a language."""
    model = UncachedModel(lambda tokens: logits_after(tokens)[:, None])
    prompt = torch.tensor([[bos_id]]).to(device)
    return list(reference_search(model, prompt, eos_id=eos_id, max_new_tokens=limit)[0].tokens)


for limit, ends_at in ((1, 9), (4, 9), (12, 5), (5, 5), (12, None)):
    language = random_language(6, ends_at=ends_at, lead=0.7)
    rule = language.logits_after

    expected = reference_of(rule, limit)
    tokens, ints = tokens_of(language, limit=limit)
    assert_equal(
        ints,
        expected,
        what="tokens",
        hint="give the model the start token and all that is written; take the largest logit",
        mistakes={
            "the start token is not written: leave it out": [BOS, *expected],
            "the end token is a token too: keep it": [t for t in expected if t != EOS],
            "it goes on after the end token": reference_of(rule, limit, eos_id=None),
            "this is the least probable token; take the largest logit": reference_of(
                lambda tokens, rule=rule: -rule(tokens), limit
            ),
            "one token too many: the end token counts too": reference_of(rule, limit + 1),
            "one token too few: max_new_tokens of them may be written": expected[:-1],
        },
    )
    assert_ints(tokens, "the tokens")
hint = "with max_new_tokens=0, or less, raise ValueError"
for limit in (0, -1):
    how = {"bos_id": BOS, "eos_id": EOS, "max_new_tokens": limit}
    assert_raises(ValueError, greedy_search, telegrams, **how, hint=hint)
# The start token may be any; so may the end token, here the most probable one after some steps.
language = random_language(6, ends_at=99, bos=3)
expected = reference_of(language.logits_after, 5, eos_id=None, bos_id=3)
last = expected[-1]
expected = expected[: expected.index(last) + 1]
_, ints = tokens_of(language, eos_id=last, limit=9)
hint = "stop at eos_id, whatever number it is"
assert_equal(ints, expected, what="tokens", hint=hint)
language = random_language(6, ends_at=4, bos=EOS)
_, ints = tokens_of(language)
expected = reference_of(language.logits_after, 6, bos_id=EOS)
hint = "a model may have one token for both ends: stop where eos_id is written, not where it begins"
assert_equal(ints, expected, what="tokens where bos_id is eos_id", hint=hint)
### END HIDDEN TESTS

# %% test="greedy_search-score" points=1 read="decoding#log-probabilities"
# The log-probability is that of all tokens together, the end token among them
result = attempt(greedy_search, telegrams, bos_id=BOS, eos_id=EOS, max_new_tokens=6)
_, score = pair_from(result, "tokens, log-probability")
probability = 0.5 * 0.35 * 0.9  # "the", then "cat", then the end
assert_close(
    as_number(score, what="the log-probability", hint=in_nats),
    torch.tensor(math.log(probability)),
    what="log-probability",
    mistakes={
        "this is the probability; take its logarithm": torch.tensor(probability),
        "the end token counts too": torch.tensor(math.log(0.5 * 0.35)),
        "only the last token counts; add up all": torch.tensor(math.log(0.9)),
        "this is the mean; add up": torch.tensor(math.log(probability) / 3),
        # After "the" all logits are larger by 9.
        "these are logits; take their log_softmax": torch.tensor(math.log(probability) + 9.0),
    },
    hint="add up the log_softmax of each of them",
)
assert_plain(score, "the log-probability")
### BEGIN HIDDEN TESTS
for limit, ends_at in ((3, 9), (12, 5)):
    language = random_language(6, ends_at=ends_at, lead=0.7)
    result = attempt(greedy_search, language, bos_id=BOS, eos_id=EOS, max_new_tokens=limit)
    theirs, score = pair_from(result, "tokens, log-probability")
    tokens, terms, bare = [], [], []
    while len(tokens) < limit and tokens[-1:] != [EOS]:
        logits = language(torch.tensor([[BOS, *tokens]]))[0].cpu().double()
        tokens.append(int(logits.argmax()))
        terms.append(logits.log_softmax(dim=-1).max())
        bare.append(logits.max())
    terms, bare = torch.stack(terms), torch.stack(bare)
    if len(language.tokens_from(theirs)) == limit - 1 and tokens[-1] != EOS:
        tokens, terms, bare = tokens[:-1], terms[:-1], bare[:-1]
        forgive("one token too few is written", "greedy_search-tokens")
    last_missing = "the last token counts too, also where it is the end token"
    assert_close(
        as_number(score, what="the log-probability", hint=in_nats),
        terms.sum().float(),
        what="log-probability",
        hint="add up the log_softmax of each of them",
        mistakes={
            "these are logits; log_softmax makes log-probabilities of them": bare.sum().float(),
            "this is the mean; add up": terms.mean().float(),
            "this is the probability; take its logarithm": terms.sum().exp().float(),
            "add up log-probabilities, not probabilities": terms.exp().sum().float(),
            last_missing: terms[:-1].sum().float(),
            "only the last token counts; add up all": terms[-1].float(),
            "the logarithm is the natural one": (terms.sum() / math.log(2)).float(),
            "log-probabilities are negative": -terms.sum().float(),
            "add log-probabilities up; they are not multiplied": terms.prod().float(),
        },
    )
    assert_plain(score, "the log-probability")
# Of a great many words the most probable one is improbable, too.
row = torch.zeros(200_000)
row[2] = 0.1
babel = TinyLanguage(len(row), lambda tokens: row.to(device).repeat(len(tokens), 1))
product = "a product of so many probabilities is 0 to a float: add up their logarithms"
try:
    result = attempt(greedy_search, babel, bos_id=BOS, eos_id=EOS, max_new_tokens=70)
except ValueError:  # of math.log(0)
    raise CheckFailure("70 improbable tokens have no logarithm", hint=product) from None
_, score = pair_from(result, "tokens, log-probability")
score = as_number(score, what="the log-probability", hint=in_nats)
if not bool(score.isfinite()):
    raise CheckFailure("the log-probability of 70 tokens is not finite", hint=product)
### END HIDDEN TESTS

# %% [markdown]
# Greedy search says *the*, and only then finds out how little it can go on with. A beam of two sees
# further. At each length:
#
# 1. **Extend** every beginning in play by every token. These are the *candidates*; each has the
#    log-probability of its tokens.
# 2. **Set aside.** Look at the `beam_size` most probable candidates. Those of them that end in the
#    end token are finished, and go to the results. At the last length, all of them go.
# 3. **Go on.** The `beam_size` most probable candidates that do *not* end stay in play, or all of
#    them where there are fewer.
#
# Then comes the next length, up to `max_new_tokens`. Stop sooner only where nothing in play can
# still get among the best `beam_size` results. (The chapter's search is asked for one result, and
# may stop as soon as nothing can beat that.)
#
# Each token makes a sequence less probable, so what is short wins too easily. The results are
# therefore ranked by log-probability over length to the power `alpha`: see
# [Short is cheap](book:decoding#length-normalisation). It comes into play at the very end, nowhere
# before: candidates of one length need no normalising.


# %% solution="beam_search" withholds="course_lib.generation.greedy_search.greedy course_lib.generation.beam_search.beam_search course_lib.generation.diagnosis.score_sequences"
def beam_search(
    next_logits, *, beam_size: int, bos_id: int, eos_id: int, max_new_tokens: int, alpha: float
):
    """Look for the sequences with the highest score, log-probability over length to the alpha.

    Each length goes as above, up to ``max_new_tokens``: extend, set aside, go on.

    Args:
        next_logits: The model. Called as ``next_logits(tokens)`` with the beginnings in play,
            ``(n, len)``, int64, each with ``bos_id`` first, n at most ``beam_size``; returns the
            logits of the token after each, ``(n, vocab_size)``.
        beam_size: Number of beginnings to keep in play.
        bos_id: The token that every sequence begins with; it is not written.
        eos_id: The end token.
        max_new_tokens: Most tokens to write, the end token among them.
        alpha: What the length is raised to; 0 leaves the log-probability as it is. The length is
            the number of tokens written, the end token among them.

    Returns:
        The best ``beam_size`` results, or all if there are fewer, best first: a list of pairs of
        tokens (a list of ints) and score (a float).
    """
    ### BEGIN SOLUTION
    in_play: list[tuple[float, list[int]]] = [(0.0, [])]
    results: list[tuple[float, list[int]]] = []
    for length in range(1, max_new_tokens + 1):
        beginnings = torch.tensor([[bos_id, *written] for _, written in in_play])
        steps = next_logits(beginnings).log_softmax(dim=-1).tolist()  # (n, vocab_size)
        candidates = [
            (total + term, [*written, token])
            for (total, written), terms in zip(in_play, steps, strict=True)
            for token, term in enumerate(terms)
        ]
        candidates.sort(reverse=True)
        for total, tokens in candidates[:beam_size]:
            if tokens[-1] == eos_id or length == max_new_tokens:
                results.append((total / length**alpha, tokens))
        in_play = [c for c in candidates if c[1][-1] != eos_id][:beam_size]
    results.sort(reverse=True)
    return [(tokens, score) for score, tokens in results[:beam_size]]
    ### END SOLUTION


# %% test="beam_search-best" points=1 read="decoding#beam-search"
# A beam finds what greedy search overlooks
pairs = {(BOS, 2): 0.5, (BOS, 3): 0.4, (2, 4): 0.35, (3, 4): 0.9, (4, EOS): 0.9}
letters = language_of(5, pairs)  # as telegrams, with logits that are log-probabilities already
results = attempt(
    beam_search, letters, beam_size=2, bos_id=BOS, eos_id=EOS, max_new_tokens=3, alpha=0.0
)
found = max(pairs_in(results, letters), key=lambda pair: float(pair[1]))  # in whatever order
best = "a cat <end>"  # 0.4 * 0.9 * 0.9, more than anything that begins with "the"
assert_equal(
    " ".join(WORDS[token] for token in found[0]),
    best,
    what="the best sentence",
    mistakes={
        "this is one path alone: keep two beginnings in play": "the cat <end>",
        "the start token is not written: leave it out": f"<start> {best}",
        "the end token is a token too: keep it": "a cat",
    },
    hint="add up log_softmax; set aside what ends, at any length",
)
### BEGIN HIDDEN TESTS
from course_lib.generation.beam_search import beam_search as reference_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import UncachedModel


def reference_tokens(language, beam_size, eos_id=EOS, limit=6):
    """Return the reference's best tokens, with alpha 0."""

    (found,) = reference_search(
        UncachedModel(lambda tokens: language.logits_after(tokens)[:, None]),
        torch.tensor([[language.bos]]).to(device),
        beam_size=beam_size,
        eos_id=eos_id,
        max_new_tokens=limit,
        length_penalty=PowerPenalty(0.0),
    )
    return list(found[0].tokens)


def searched(language, beam_size, limit, added, alpha, order, eos_id=EOS):
    """Go the three steps with something else added up, or with results in another order."""
    in_play, results = [(0.0, [])], []
    for length in range(1, limit + 1):
        logits = language.logits_after(
            torch.tensor([[language.bos, *x] for _, x in in_play]).to(device)
        )
        candidates = [
            (total + term, [*tokens, token])
            for (total, tokens), row in zip(in_play, added(logits).tolist(), strict=True)
            for token, term in enumerate(row)
        ]
        candidates.sort(reverse=True)
        for total, tokens in candidates[:beam_size]:
            if tokens[-1] == eos_id or length == limit:
                results.append((total / length**alpha, tokens))
        in_play = [c for c in candidates if c[1][-1] != eos_id][:beam_size]
    return [tokens for _, tokens in sorted(order(results)[:beam_size], reverse=True)]


OF_SCORES = "what is added up, what it is divided by, or the order of results is another"
SEARCHES = [
    (added, alpha, order)
    for order in (list, sorted, lambda results: sorted(results, reverse=True))
    for added in (lambda x: x.log_softmax(-1), lambda x: x, lambda x: x.softmax(-1))
    for alpha in (0.0, 1.0)
]


# In the first language greedy search takes the wrong first word. In the second one, two beginnings
# are in play where a third would win: they must be the two best of all, not one of each word. In
# the third one the better sentence ends later, in the fourth one sooner.
a, b, c, d, e, f = (2 + torch.randperm(6)).tolist()
garden_path = {(BOS, a): 0.5, (BOS, b): 0.4, (a, c): 0.2, (b, c): 0.9, (c, EOS): 0.9}
narrow_gate = {
    (BOS, a): 0.5, (BOS, b): 0.35, (a, c): 0.45, (a, d): 0.4, (b, e): 0.3, (b, f): 0.28,
    (e, EOS): 0.95, (c, EOS): 0.2, (d, EOS): 0.2,
}  # fmt: skip
late_winner = {(BOS, EOS): 0.3, (BOS, a): 0.6, (a, c): 0.9, (c, EOS): 0.9}
early_winner = {(BOS, EOS): 0.5, (BOS, a): 0.45, (a, c): 0.9, (c, EOS): 0.9}
for beam_size, language in (
    (2, language_of(8, late_winner)),
    (2, language_of(8, early_winner)),
    (2, language_of(8, garden_path)),
    (1, language_of(8, garden_path)),
    (2, language_of(8, narrow_gate)),
    (3, random_language(6, ends_at=4)),
    (4, random_language(6, ends_at=6)),
):
    expected = reference_tokens(language, beam_size)
    results = attempt(
        beam_search, language, beam_size=beam_size, bos_id=BOS, eos_id=EOS,
        max_new_tokens=6, alpha=0.0,
    )  # fmt: skip
    best, _ = max(pairs_in(results, language), key=lambda pair: float(pair[1]))
    others = (searched(language, beam_size, 6, *how)[0] for how in SEARCHES)
    if best != expected and best in others:
        forgive(OF_SCORES, "beam_search-normalisation", "beam_search-results")
        continue
    hint = "extend all in play by all tokens, and keep the best of all these candidates together"
    if max(language.asked) < 6 and len(best) < len(expected):
        hint = "the search stopped too soon: what was in play could still get among the results"
    assert_equal(
        best,
        expected,
        what="the best sequence",
        hint=hint,
        mistakes={
            "the start token is not written: leave it out": [BOS, *expected],
            "the end token is a token too: keep it": [t for t in expected if t != EOS],
            "this is the path of greedy search": reference_tokens(language, 1),
        },
    )
# Start and end token may be any; here they are the last of the vocabulary.
pairs = {(6, 0): 0.5, (6, 1): 0.4, (0, 2): 0.2, (1, 2): 0.9, (2, 7): 0.9}
language = language_of(8, pairs, bos=6)
expected = reference_tokens(language, 2, eos_id=7)  # 1, 2, and 7 for the end
results = attempt(
    beam_search, language, beam_size=2, bos_id=6, eos_id=7, max_new_tokens=6, alpha=0.0
)
hint = "a sequence ends with eos_id, whatever number it is"
best, _ = max(pairs_in(results, language), key=lambda pair: float(pair[1]))
scores = [float(score) for _, score in pairs_in(results, language)]
others = [searched(language, 2, 6, *how, eos_id=7)[0] for how in SEARCHES]
if best not in others or scores == sorted(scores, reverse=True):
    assert_equal(best, expected, what="the best sequence for eos_id=7", hint=hint)
else:
    forgive(OF_SCORES, "beam_search-normalisation", "beam_search-results")
### END HIDDEN TESTS

# %% test="beam_search-results" points=1 read="decoding#beam-search"
# All results come back, best first, finished or stopped by the limit
pairs = {(BOS, 2): 0.5, (BOS, 3): 0.4, (2, 4): 0.35, (3, 4): 0.9, (4, EOS): 0.9}
letters = language_of(5, pairs)
results = attempt(
    beam_search, letters, beam_size=2, bos_id=BOS, eos_id=EOS, max_new_tokens=2, alpha=0.0
)
pairs_in(results, letters, strict=True)
sentences = [
    " ".join(WORDS[token] for token in tokens) for tokens in written_by(results, letters, 2)
]
# Two words are allowed: both are cut short, and have the probabilities 0.36 and 0.175.
expected = ["a cat", "the cat"]
hint = "at the last length, the beam_size most probable candidates are the results"
if sorted(sentences) == sorted(expected):
    hint = "these are the right ones in another order: sort them by their scores, best first"
assert_equal(sentences, expected, what="the sentences of two words", hint=hint)
for tokens, score in results:
    assert_ints(tokens, "the tokens of a result")
    assert_plain(score, "the score of a result")
### BEGIN HIDDEN TESTS
from course_lib.generation.beam_search import beam_search as reference_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import UncachedModel


def searched(language, beam_size, limit, added, alpha, ranked=True, every_ending=False):
    """Go the three steps with something else added up, divided by, or set aside."""
    in_play, results = [(0.0, [])], []
    for length in range(1, limit + 1):
        logits = language.logits_after(torch.tensor([[BOS, *x] for _, x in in_play]).to(device))
        candidates = [
            (total + term, [*tokens, token])
            for (total, tokens), row in zip(in_play, added(logits).tolist(), strict=True)
            for token, term in enumerate(row)
        ]
        candidates.sort(reverse=True)
        for total, tokens in candidates if every_ending else candidates[:beam_size]:
            if tokens[-1] == EOS or length == limit:
                results.append((total / length**alpha, tokens))
        in_play = [c for c in candidates if c[1][-1] != EOS][:beam_size]
    results = sorted(results, reverse=True) if ranked else results
    return [tokens for _, tokens in results[:beam_size]]


OF_SCORES = "what is added up, or what it is divided by, is another"
SEARCHES = [
    (added, alpha)
    for added in (lambda x: x.log_softmax(-1), lambda x: x, lambda x: x.softmax(-1))
    for alpha in (0.0, 1.0)
]


among_the_best = "a candidate that ends counts only if it is among the best beam_size"
# First: where one of the best two ends, two others go on. Second: what ends counts only among the
# best two. Third: only the best two of all go on. Fourth: the best ends after two others. Fifth:
# where two of the best three end, three others go on. Sixth: two have ended, and what the limit
# stops is better.
a, b, c, d, e, f = (2 + torch.randperm(6)).tolist()
room = {(BOS, EOS): 0.4, (BOS, a): 0.35, (BOS, b): 0.2, (b, c): 0.9, (c, EOS): 0.9}
narrow_gate = {
    (BOS, a): 0.5, (BOS, b): 0.35, (a, c): 0.45, (a, d): 0.4, (b, e): 0.3, (b, f): 0.28,
    (e, EOS): 0.95, (c, EOS): 0.2, (d, EOS): 0.2,
}  # fmt: skip
too_late = {(BOS, a): 0.5, (BOS, b): 0.3, (BOS, EOS): 0.18, (a, c): 0.4, (c, EOS): 0.8}
third = {(BOS, a): 0.6, (BOS, EOS): 0.3, (a, c): 0.75, (a, EOS): 0.2, (c, EOS): 0.9}
two_ends = {
    (BOS, a): 0.45, (BOS, b): 0.44, (BOS, c): 0.08, (a, EOS): 0.5, (a, d): 0.3, (b, EOS): 0.5,
    (b, e): 0.29, (c, f): 0.98, (d, EOS): 0.2, (e, EOS): 0.2, (f, EOS): 0.95,
}  # fmt: skip
cut_short = {(BOS, a): 0.8, (BOS, EOS): 0.12, (a, b): 0.7, (a, EOS): 0.25, (b, c): 0.95}


def lets_go(language, beam_size):
    """Say whether as many go on as can, at each length that the search came to."""
    others = language.num_words - 1  # than the end token
    can_go_on, lengths = 1, range(2, max(language.asked, default=0) + 1)
    for length in lengths:
        can_go_on = min(beam_size, can_go_on * others)
        if len(language.asked.get(length, ())) < can_go_on:
            return False
    return True


for language, beam_size, limit in (
    (language_of(8, room), 2, 5),
    (language_of(8, too_late), 2, 3),
    (language_of(8, narrow_gate), 2, 5),
    (language_of(8, third), 2, 5),
    (language_of(8, two_ends), 3, 3),
    (language_of(8, cut_short), 2, 3),
    (random_language(3, sharpness=1.0), 5, 5),
    (random_language(6, sharpness=1.0), 5, 4),
    (random_language(5, ends_at=9), 4, 1),
):
    rule = language.logits_after
    (found,) = reference_search(
        UncachedModel(lambda tokens, rule=rule: rule(tokens)[:, None]),
        torch.tensor([[BOS]]).to(device),
        beam_size=beam_size,
        eos_id=EOS,
        max_new_tokens=limit,
        length_penalty=PowerPenalty(0.0),
        num_results=beam_size,
    )
    results = attempt(
        beam_search, language, beam_size=beam_size, bos_id=BOS, eos_id=EOS,
        max_new_tokens=limit, alpha=0.0,
    )  # fmt: skip
    pairs_in(results, language, strict=True)
    tokens = written_by(results, language, limit)
    expected = [list(hypothesis.tokens) for hypothesis in found]
    others = (searched(language, beam_size, limit, *how) for how in SEARCHES)
    if tokens != expected and tokens in others:
        forgive(OF_SCORES, "beam_search-normalisation")
        continue
    if any(EOS in written[:-1] for written in tokens):
        raise CheckFailure(
            "a sequence goes on after the end token",
            hint="what is finished leaves the beam and is not extended",
        )
    # What it asked the model about tells where it went wrong.
    why = ""
    if tokens != expected and max(language.asked, default=0) < limit:
        why = "the search stopped too soon: what was in play could still get among the results"
    elif tokens != expected and not lets_go(language, beam_size):
        why = "what is finished takes no room: the beam_size best that do not end stay in play"
    if len(tokens) < len(expected):
        raise CheckFailure(
            f"there are {len(tokens)} results, expected {len(expected)}",
            hint=why
            or "finished sequences are kept; at the last length, the beam_size best go too; and "
            "what is finished leaves room for others to stay in play",
        )
    if len(tokens) > len(expected):
        raise CheckFailure(
            f"there are {len(tokens)} results, expected {len(expected)}",
            hint="return the best beam_size results; a candidate that ends counts only if it is "
            "among the best beam_size",
        )
    in_order = "sort them by their scores, best first, and only then cut them off"
    scores = [float(score) for _, score in pairs_in(results, language)]
    if tokens != expected and scores != sorted(scores, reverse=True):
        raise CheckFailure("the results are not in order", hint=in_order)
    hint = "three steps for each length: extend, set aside, go on; do it on paper for a beam of two"
    if all(EOS in x for x in tokens) and not all(EOS in x for x in expected):
        hint = "at the last length the best unfinished ones go too, whatever has ended before"
    as_they_came = searched(language, beam_size, limit, *SEARCHES[0], ranked=False)
    all_that_end = searched(language, beam_size, limit, *SEARCHES[0], every_ending=True)
    mistakes = {} if why else {in_order: as_they_came, among_the_best: all_that_end}
    assert_equal(tokens, expected, what="results", hint=why or hint, mistakes=mistakes)
    for tokens, score in results:
        assert_ints(tokens, "the tokens of a result")
        assert_plain(score, "the score of a result")
### END HIDDEN TESTS

# %% test="beam_search-pruning" points=1 read="decoding#beam-search"
# No more than beam_size beginnings are in play
telegrams.asked.clear()
results = attempt(
    beam_search, telegrams, beam_size=2, bos_id=BOS, eos_id=EOS, max_new_tokens=5, alpha=0.0
)
pairs_in(results, telegrams)
if telegrams.most_in_play > 2:
    raise CheckFailure(
        f"{telegrams.most_in_play} beginnings are in play, with a beam of 2",
        hint="keep the beam_size best of all candidates, not of each beginning",
    )
### BEGIN HIDDEN TESTS
for vocab_size, beam_size in ((8, 3), (12, 5), (8, 1)):
    language = random_language(vocab_size, ends_at=7)
    results = attempt(
        beam_search, language, beam_size=beam_size, bos_id=BOS, eos_id=EOS,
        max_new_tokens=6, alpha=0.0,
    )  # fmt: skip
    if language.most_in_play > beam_size:
        raise CheckFailure(
            f"{language.most_in_play} beginnings are in play, with a beam of {beam_size}",
            hint="keep the beam_size best of all candidates, not of each beginning",
        )
    if len(pairs_in(results, language)) > beam_size:
        raise CheckFailure(f"{len(results)} results, with a beam of {beam_size}")
    # Nothing ends in this language: as many as may be in play must be, to the last.
    endless = random_language(vocab_size, ends_at=9)
    results = attempt(
        beam_search, endless, beam_size=beam_size, bos_id=BOS, eos_id=EOS,
        max_new_tokens=4, alpha=0.0,
    )  # fmt: skip
    if endless.most_in_play < beam_size:
        raise CheckFailure(
            f"only {endless.most_in_play} beginnings are in play, with a beam of {beam_size}",
            hint="the beam_size most probable candidates stay in play",
        )
    if len(pairs_in(results, endless)) != beam_size:
        raise CheckFailure(
            f"{len(results)} results where nothing ends, with a beam of {beam_size}",
            hint="at the last length, the beam_size best candidates go to the results",
        )
### END HIDDEN TESTS

# %% test="beam_search-normalisation" points=1 read="decoding#length-normalisation"
# The score is the log-probability over length to the alpha, and ranks the results
plain = language_of(4, {(BOS, 2): 0.9, (2, 3): 0.9, (3, EOS): 0.9})  # one sentence of three tokens
results = attempt(
    beam_search, plain, beam_size=1, bos_id=BOS, eos_id=EOS, max_new_tokens=3, alpha=1.0
)
total = 3 * math.log(0.9)
assert_close(
    pairs_in(results, plain)[0][1],
    torch.tensor(total / 3),
    what="score of the sentence",
    mistakes={
        "these are log-probabilities; divide them by length ** alpha": torch.tensor(total),
        "the end token counts in the length": torch.tensor(total / 2),
        "the start token does not count in the length": torch.tensor(total / 4),
    },
    hint="each score is log-probability / length ** alpha; the best comes first",
)


def assert_finite_scores(language):
    """Check the scores in a language where a probability is too small for a float."""
    results = attempt(
        beam_search, language, beam_size=3, bos_id=BOS, eos_id=EOS, max_new_tokens=2, alpha=0.0
    )
    if not all(score.isfinite() for _, score in pairs_in(results, language)):
        raise CheckFailure("the score of an improbable sentence is not finite", hint=too_small)


too_small = "exp(-200) is 0 to a float, and the log of 0 is -inf: log_softmax never takes exp alone"
assert_finite_scores(stubborn_language(-200.0, -300.0))


### BEGIN HIDDEN TESTS
def of_length(tokens, language, normalised=True):
    """Return the log-probability of tokens in a language, or the sum of their logits."""
    total = 0.0
    for t, token in enumerate(tokens):
        logits = language(torch.tensor([[BOS, *tokens[:t]]]))[0].cpu().double()
        total += float((logits.log_softmax(-1) if normalised else logits)[token])
    return total


def best_of(language, limit, alpha):
    """Give the tokens of your first result, of two."""
    results = attempt(
        beam_search, language, beam_size=2, bos_id=BOS, eos_id=EOS, max_new_tokens=limit,
        alpha=alpha,
    )  # fmt: skip
    return written_by(results, language, limit)[0]


# Whether there is an order where alpha is 0: here the second result is the best.
late = language_of(5, {(BOS, EOS): 0.2, (BOS, 2): 0.7, (2, 3): 0.95, (3, EOS): 0.95})
in_order = best_of(late, 5, 0.0) == [2, 3, EOS]
# And whether it stops at two results although a third is better than the second.
crowded = language_of(
    6, {(BOS, EOS): 0.4, (BOS, 2): 0.35, (2, EOS): 0.45, (2, 3): 0.5, (3, EOS): 0.95}
)
best_of(crowded, 5, 0.0)
goes_on = in_order and max(crowded.asked) > 2
if not goes_on:
    mistake = "the results are in no order, or the search stops too soon"
    forgive(mistake, "beam_search-results", "beam_search-best")
for alpha in (0.0, 0.6, 2.0, 1.0):
    language = random_language(6, sharpness=0.5)
    results = attempt(
        beam_search, language, beam_size=4, bos_id=BOS, eos_id=EOS,
        max_new_tokens=6, alpha=alpha,
    )  # fmt: skip
    if isinstance(results, list) and not results:
        unfinished = "what is unfinished at the limit is left out"
        forgive(unfinished, "beam_search-results", "beam_search-pruning", "beam_search-best")
        continue
    lists = written_by(results, language, 6)
    scores = torch.stack([score for _, score in pairs_in(results, language)])
    totals = torch.tensor([of_length(tokens, language) for tokens in lists])
    bare = torch.tensor([of_length(tokens, language, normalised=False) for tokens in lists])
    lengths = torch.tensor([float(len(tokens)) for tokens in lists])
    longest = torch.tensor(6.0)
    assert_close(
        scores,
        totals / lengths**alpha,
        what="scores",
        hint="divide the log-probability by length ** alpha, the end token counted",
        mistakes={
            "these are sums of logits; log_softmax is missing": bare / lengths**alpha,
            "these are log-probabilities; divide them by length ** alpha": totals,
            "divided by the length; raise it to the power alpha": totals / lengths,
            "divided by alpha times the length": totals / (alpha * lengths),
            "divided by max_new_tokens ** alpha; take each one's own length": totals
            / longest**alpha,
            "multiplied by length ** alpha; divide": totals * lengths**alpha,
            "the end token counts in the length": totals
            / torch.tensor([float(len([t for t in x if t != EOS])) for x in lists]) ** alpha,
            "the start token does not count in the length": totals / (lengths + 1) ** alpha,
        },
    )
    if in_order and not torch.equal(scores, scores.sort(descending=True).values):
        raise CheckFailure(
            "the results are not ranked by their scores",
            hint="normalise first, then sort, best first",
        )

# A short sentence is more probable, a long one better token by token.
uneven = language_of(5, {(BOS, EOS): 0.5, (BOS, 2): 0.45, (2, 3): 0.9, (3, 4): 0.9, (4, EOS): 0.9})
hint = "rank all results at the end, by log-probability over length ** alpha"
for alpha, expected in ((0.0, [EOS]), (1.0, [2, 3, 4, EOS])) if goes_on else ():
    best = best_of(uneven, 4, alpha)
    assert_equal(best, expected, what=f"the best sequence for alpha {alpha}", hint=hint)
# The winner is behind for three steps: it needs its whole length to overtake what has ended. In the
# second language, whose odds depend on the length alone, it falls behind both results.
patient = language_of(
    6,
    {
        (BOS, EOS): 0.5, (BOS, 2): 0.45, (2, EOS): 0.5, (2, 3): 0.4,
        (3, 4): 0.97, (4, 5): 0.97, (5, EOS): 0.97,
    },
)  # fmt: skip
odds = [[0.5, 0.45, 0.05], [0.65, 0.05, 0.3], [0.1, 0.85, 0.05], *[[0.01, 0.98, 0.01]] * 4]
odds = F.pad(torch.tensor([*odds, [0.98, 0.01, 0.01]]), (1, 0), value=1e-9).to(device)


def of_length_alone(tokens):
    """Give the same logits to all beginnings, but for what has ended."""
    has_ended = (tokens == EOS).any(dim=1, keepdim=True)
    return torch.where(has_ended, 0.0, odds[tokens.size(1) - 1].log())


slow = TinyLanguage(4, of_length_alone)
late_winners = [(patient, [2, 3, 4, 5, EOS]), (slow, [2, 3, 2, 2, 2, 2, 2, EOS])]
both_end = language_of(
    6,
    {
        (BOS, 2): 0.45, (2, EOS): 0.5, (2, 4): 0.3, (4, EOS): 0.2,
        (BOS, 3): 0.44, (3, EOS): 0.5, (3, 5): 0.29, (5, EOS): 0.95,
    },
)  # fmt: skip
best_of(both_end, 3, 1.0)
if both_end.asked.get(3, set()) >= {(BOS, 2, 4), (BOS, 3, 5)}:
    late_winners.append((both_end, [3, 5, EOS]))
else:
    mistake = "where the best two end, no other two go on"
    forgive(mistake, "beam_search-results", "beam_search-pruning", "beam_search-best")
for language, winner in late_winners if goes_on else ():
    assert_equal(
        best_of(language, len(winner), 1.0),
        winner,
        what="the best sequence where the winner is late",
        hint="what is in play may still grow: the best that it can get is its log-probability "
        "over max_new_tokens ** alpha; stop only where results beat that, or not at all",
    )
assert_finite_scores(stubborn_language(*(-150 - 100 * torch.rand(2)).tolist()))
### END HIDDEN TESTS

# %% [markdown]
# When the output is wrong, who is to blame? You have the output of a search and a right answer, the
# **reference**. Ask the model for its scores of both:
#
# - It likes the reference better: the **search** is at fault, since it should have come back with
#   something at least as good. A wider beam may help.
# - It likes its own output as much or better: the **model** is at fault. However well you search,
#   it would not choose the reference.
#
# See [Search or model: who is at fault?](book:decoding#search-or-model) in the chapter.


# %% solution="diagnose" withholds="course_lib.generation.diagnosis.diagnose course_lib.generation.diagnosis.score_sequences"
def diagnose(next_logits, *, output: list[int], reference: list[int], bos_id: int, alpha: float):
    """Say whether the search or the model is at fault for an output.

    Args:
        next_logits: The model, as for ``greedy_search``.
        output: The tokens that a search returned, without the start token; not changed.
        reference: The tokens of a right answer, without the start token; not changed.
        bos_id: The token that every sequence begins with.
        alpha: The score is log-probability over length to the alpha, as the search's.

    Returns:
        The verdict and the two scores, ``(verdict, output_score, reference_score)``: a string and
        two floats. The verdict is
        ``"none"`` if the output is the reference; ``"search"`` if the reference has the higher
        score; ``"model"`` if it does not.
    """
    ### BEGIN SOLUTION
    scores = []
    for tokens in (output, reference):
        sequence = torch.tensor([[bos_id, *tokens]])
        total = 0.0
        for t, token in enumerate(tokens, start=1):
            total += float(next_logits(sequence[:, :t])[0].log_softmax(dim=-1)[token])
        scores.append(total / len(tokens) ** alpha)
    output_score, reference_score = scores
    if output == reference:
        return "none", output_score, reference_score
    fault = "search" if reference_score > output_score else "model"
    return fault, output_score, reference_score
    ### END SOLUTION


# %% test="diagnose-scores" points=1 read="decoding#search-or-model"
# Both sequences get the model's score
settings = {"output": [2, 4, EOS], "reference": [3, 4, EOS], "bos_id": BOS, "alpha": 0.0}
hint = "insert, append and += change a list in place: bos_id goes in front of a copy"
attempt(assert_keeps_inputs, diagnose, telegrams, **settings, hint=hint)


def scores_from(language, output, reference, alpha):
    """Return both scores that your function gives, or say what it returns in place of them."""
    how = {"bos_id": language.bos, "alpha": alpha}
    result = attempt(diagnose, language, output=[*output], reference=[*reference], **how)
    if not (isinstance(result, tuple | list) and len(result) == 3):
        in_words = "return verdict, output_score, reference_score"
        raise CheckFailure("the result should be three things", hint=in_words)
    return torch.stack([as_number(score, what="a score", hint=in_nats) for score in result[1:]])


_, of_reference = scores_from(telegrams, [2, 4, EOS], [3, 4, EOS], alpha=0.0)
assert_close(
    of_reference,
    torch.tensor(math.log(0.4 * 0.9 * 0.9)),
    what="score of 'a cat <end>'",
    mistakes={
        "the two scores have changed places": torch.tensor(math.log(0.5 * 0.35 * 0.9)),
        "the first token counts too": torch.tensor(math.log(0.9 * 0.9)),
        "the last token counts too": torch.tensor(math.log(0.4 * 0.9)),
        "only the last token counts; add up all": torch.tensor(math.log(0.9)),
        "with alpha 0 length does not count": torch.tensor(math.log(0.4 * 0.9 * 0.9) / 3),
    },
    hint="for each token, log_softmax of the logits after all tokens before it, bos_id first",
)
too_small = "exp(-200) is 0 to a float, and the log of 0 is -inf: log_softmax never takes exp alone"
scores = scores_from(stubborn_language(-200.0, -300.0), [2], [3], alpha=0.0)
what = "scores of two improbable sentences"
assert_close(scores, torch.tensor([-200.0, -300.0]), what=what, hint=too_small)
### BEGIN HIDDEN TESTS
second, third = (-150 - 100 * torch.rand(2)).tolist()
scores = scores_from(stubborn_language(second, third), [2], [3], alpha=0.0)
assert_close(scores, torch.tensor([second, third]), what=what, hint=too_small)
hint = "insert, append and += change a list in place: bos_id goes in front of a copy"
attempt(assert_keeps_inputs, diagnose, telegrams, **settings, hint=hint)
for alpha, bos in ((0.0, BOS), (0.7, 6), (1.0, 6)):
    language = random_language(7, bos=bos)
    pair = [torch.randint(2, 6, (length,)).tolist() for length in (3, 5)]
    pair[1].append(EOS)
    terms, bare = [], []
    for tokens in pair:
        logits = [
            language(torch.tensor([[bos, *tokens[:t]]]))[0].cpu().double()
            for t in range(len(tokens))
        ]
        at_tokens = zip(logits, tokens, strict=True)
        terms.append(torch.stack([row.log_softmax(-1)[token] for row, token in at_tokens]))
        at_tokens = zip(logits, tokens, strict=True)
        bare.append(torch.stack([row[token] for row, token in at_tokens]))

    def scores_of(terms, alpha=alpha, count=len):
        """Return the two scores."""
        return torch.tensor([float(t.sum()) / count(t) ** alpha for t in terms])

    assert_close(
        scores_from(language, *pair, alpha),
        scores_of(terms),
        what="scores of output and reference",
        hint="for each token, log_softmax of the logits after all tokens before it, bos_id first",
        mistakes={
            "the two scores have changed places": scores_of(terms).flip(0),
            "these are sums of logits; log_softmax is missing": scores_of(bare),
            "not divided by length ** alpha": scores_of(terms, alpha=0.0),
            "divided by the length; raise it to the power alpha": scores_of(terms, alpha=1.0),
            "the first token counts too: its beginning is the start token alone": scores_of(
                [t[1:] for t in terms], count=lambda t: len(t) + 1
            ),
            "the last token counts too": scores_of(
                [t[:-1] for t in terms], count=lambda t: len(t) + 1
            ),
            "the start token does not count in the length": scores_of(
                terms, count=lambda t: len(t) + 1
            ),
        },
    )
    both = "both scores come beside the verdict, whichever it is"
    assert_close(
        scores_from(language, pair[0], pair[0], alpha),
        scores_of([terms[0], terms[0]]),
        what="scores where the output is the reference",
        hint=both,
    )
### END HIDDEN TESTS


# %% test="diagnose-verdict" points=1 read="decoding#search-or-model"
# The verdict names what is at fault
def assert_verdict(language, output, reference, expected, why, alpha=0.0):
    """Check a verdict: the right one, or what follows from the scores beside it."""
    result = attempt(
        diagnose, language, output=[*output], reference=[*reference], bos_id=BOS, alpha=alpha
    )
    if not (isinstance(result, tuple | list) and len(result) == 3):
        in_words = "return verdict, output_score, reference_score"
        raise CheckFailure("the result should be three things", hint=in_words)
    verdict = result[0]
    of_output, of_reference = (
        as_number(score, what="a score", hint=in_nats) for score in result[1:]
    )
    by_scores = "search" if of_reference > of_output else "model"
    told.add(by_scores)
    hint = "the verdicts are 'none', 'search' and 'model', in small letters"
    if output != reference and verdict == by_scores:
        if verdict != expected:  # it follows from your scores
            forgive("the scores are others", "diagnose-scores")
        return
    if verdict in ("none", "search", "model"):
        hint = f"{verdict!r} is wrong here: {why}"
    assert_equal(verdict, expected, what="the verdict", hint=hint)


told = set()  # what the scores said
cat, the_cat = [3, 4, EOS], [2, 4, EOS]  # the model likes "a cat" better than "the cat"
of_search = "the model likes the reference better, so the search is at fault"
of_model = "the model likes its own output better, so the model is at fault"
of_none = "the output is the reference, and nothing is at fault"
assert_verdict(telegrams, the_cat, cat, "search", of_search)
assert_verdict(telegrams, cat, the_cat, "model", of_model)
assert_verdict(telegrams, cat, cat, "none", of_none)
### BEGIN HIDDEN TESTS
# After any tokens the model likes token 2 best, then 3, then 4 and 5 alike; log-softmax is done.
odds = torch.tensor([0.01, 0.19, 0.4, 0.2, 0.1, 0.1]).log().to(device)
simple = TinyLanguage(6, lambda tokens: odds.repeat(len(tokens), 1))
assert_verdict(simple, [3], [2], "search", of_search)
assert_verdict(simple, [2], [3], "model", of_model)
assert_verdict(simple, [2, 4], [2, 4], "none", of_none)
tied = "equal scores: a better search would not help, so the model is at fault"
assert_verdict(simple, [2, 4], [2, 5], "model", tied)
assert_verdict(simple, [4, 5], [5, 4], "model", tied)
by_length = "compare scores, each divided by its own length ** alpha"
assert_verdict(simple, [4], [2, 2, 2], "search", by_length, alpha=1.0)
bare = "compare scores, and with alpha 0 length does not count"
assert_verdict(simple, [4], [2, 2, 2, 2], "model", bare)
given_all = "each token is scored given those before"
assert_verdict(telegrams, the_cat, cat, "search", given_all)
assert_verdict(telegrams, cat, the_cat, "model", given_all)
if told != {"search", "model"}:
    alike = "no score of a reference is the higher one, or each is: score each list of tokens"
    raise CheckFailure(f"your scores always say {told.pop()!r}", hint=alike)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: in your own words

# %% [markdown] written="wider-beam" points=2 read="decoding#search-or-model"
# ### The wider beam that made things worse
#
# A team translates with a beam of 4 and no length normalisation. Somebody tries a beam of 200 and
# expects better translations. They get worse: many are cut short, some are empty. Answer in five
# sentences or fewer. Did the wider beam search better or worse than the narrow one, and how would
# `diagnose` show it? Where does the liking for short outputs come from, and what would you change?
#
# ### BEGIN SOLUTION
# The wide beam searched *better*: it found outputs that the model gives a higher score, and the
# empty translation is one of them. So `diagnose` says "model" for more of the errors than before:
# the model likes its own short output better than the reference. The narrow beam had hidden this,
# because it dropped the improbable start of an early end. Short outputs win because each further
# token multiplies in a probability below 1; the score is a sum of negative terms, and fewer terms
# make a larger sum. Normalise by length (`alpha` near 1) or otherwise correct the model's liking;
# a narrow beam helps by accident, not for a reason.
#
# **Marking guide**, one point each:
#
# 1. *Search against model*: the wider beam finds higher scores, so the fault is the model's (its
#    score), with what `diagnose` says. "The search got worse" earns nothing here, whatever follows.
# 2. *Length*: a sum of negative log-probabilities favours few terms, and the remedy follows from
#    that: length normalisation, a reward for each token, or a change in training. Half a point for
#    the remedy without the reason. "Use a smaller beam" alone is no remedy.
# ### END SOLUTION

# %% [markdown]
# ## And now: carved in stone
#
# Below, everything comes together. Your `read_both_ways` reads the digits of a year with your
# `GRUCell`s, your `Decoder` learns to carve it, with teacher forcing, and your searches let it
# write. It never sees the years of the last test; nobody tells it that there are such things as
# subtraction or place value. It takes ten seconds, or thirty on a busy machine.
#
# Afterwards, add a cell of your own: `carve(2025)`, the year you were born in, any number from 1 to
# 3999. What does it do with 4000, or with 0?

# %% demo="delight"
import matplotlib.pyplot as plt

ROMAN = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
         (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]  # fmt: skip
LETTERS = "..IVXLCDM"  # the first two stand for BOS and EOS


def in_roman(number):
    """Write a number as a Roman would: the truth."""
    written = ""
    for value, letters in ROMAN:
        written += letters * (number // value)
        number %= value
    return written


class Stonemason(nn.Module):
    """Read digits, write Roman numerals."""

    def __init__(self, d_embedding=16, d_hidden=64):
        super().__init__()
        self.d_hidden = d_hidden
        self.digits = nn.Embedding(10, d_embedding)
        pair = [GRUCell(d_embedding, d_hidden), GRUCell(d_embedding, d_hidden)]
        self.layers = nn.ModuleList([nn.ModuleList(pair)])
        self.decoder = Decoder(len(LETTERS), d_embedding, d_hidden, 2 * d_hidden)

    def read(self, numbers):
        """Sum up each number in a context."""
        digits = [[int(digit) for digit in str(number)] for number in numbers]
        lengths = torch.tensor([len(row) for row in digits])
        src = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in digits], batch_first=True)
        _, context = read_both_ways(self.digits(src), lengths, self.layers, self.d_hidden)
        return context

    def next_logits(self, number):
        """Return what the searches ask for: a function from beginnings to logits."""
        context = self.read([number])
        return lambda tokens: self.decoder(tokens, context.expand(len(tokens), -1))[:, -1]


torch.manual_seed(0)
numbers = (torch.randperm(3999) + 1).tolist()
unseen, known = numbers[:500], numbers[500:]
mason = Stonemason()
steps = 300
optimizer = torch.optim.Adam(mason.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps)
for step in range(steps):
    batch = [known[i] for i in torch.randint(len(known), (64,))]
    targets = [[*(LETTERS.index(x) for x in in_roman(n)), EOS] for n in batch]
    tgt = nn.utils.rnn.pad_sequence([torch.tensor(t) for t in targets], True, padding_value=-100)
    before = torch.cat([torch.full((64, 1), BOS), tgt[:, :-1].clamp(min=EOS)], dim=1)
    logits = mason.decoder(before, mason.read(batch))
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())  # -100 does not count
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(mason.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f} nats a letter")


@torch.no_grad()
def carve(number, beam_size=3):
    """Let the mason carve a number; print what else was in the beam, and who is to blame."""
    model = mason.next_logits(number)
    results = beam_search(
        model, beam_size=beam_size, bos_id=BOS, eos_id=EOS, max_new_tokens=17, alpha=1.0
    )
    shown = ["".join(LETTERS[t] for t in tokens if t != EOS) for tokens, _ in results]
    print(f"{number}  ->  {shown[0]}     also in the beam: {', '.join(shown[1:])}")
    if shown[0] != in_roman(number):
        truth = [*(LETTERS.index(letter) for letter in in_roman(number)), EOS]
        verdict, *_ = diagnose(model, output=results[0][0], reference=truth, bos_id=BOS, alpha=1.0)
        print(f"      it should be {in_roman(number)}: the {verdict} is at fault")
    return shown[0]


with torch.no_grad():
    right = 0
    for number in unseen[:100]:
        tokens, _ = greedy_search(
            mason.next_logits(number), bos_id=BOS, eos_id=EOS, max_new_tokens=17
        )
        right += "".join(LETTERS[t] for t in tokens if t != EOS) == in_roman(number)
print(f"\nof 100 numbers that it has never seen, it carves {right} as a Roman would\n")
stone = [carve(year) for year in (unseen[0], unseen[1], 1984, 2026, 3888)]

figure, axes = plt.subplots(figsize=(6, 3.4), facecolor="#d8d2c4")
axes.axis("off")
for line, inscription in enumerate(stone):
    for shift, color in ((0.004, "#f4f0e6"), (0.0, "#6b6355")):  # light falls in from above
        axes.text(0.5 + shift, 0.92 - 0.21 * line - 3 * shift, inscription, color=color,
                  family="serif", fontsize=21, ha="center", va="center")  # fmt: skip
plt.show()
