# %% [markdown]
# # Homework 1: From one sequence to another
#
# A stonemason in Rome takes your order, a year, and carves `1984` as `MCMLXXXIV`. Four symbols come
# in, nine go out; no symbol in stands for one symbol out. Translation is like that. **A
# sequence-to-sequence network reads to the end, remembers all of it in one vector, and then
# writes.** Here you write one; it becomes a stonemason.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `GRUCell`: one step of remembering | 6 |
# | 2 | `read_both_ways`: a deep encoder that reads in both directions | 5 |
# | 3 | `Decoder`: one that writes, and learns with teacher forcing | 3 |
# | 4 | `greedy_search`, `beam_search`, `diagnose`: choose, and find the fault | 8 |
# | 5 | a question, answered in words | 2 |
#
# **Time:** about four hours, after [Recurrent networks](book:recurrent-networks),
# [Sequence to sequence](book:sequence-to-sequence) and [Decoding](book:decoding). Change no tensor
# or list that you are given. [For students](book:for-students) explains grading and handing in.
# **The rule:** an exercise that leads to PyTorch's `nn.RNN`, `nn.GRU`, `nn.GRUCell`, or to
# `torch.rnn_tanh`, `torch.gru`, `torch.gru_cell` beneath them, loses the points of its tests.

# %% setup="imports"
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import (
    assert_close,
    assert_equal,
    assert_gradients,
    assert_parameters,
    assert_raises,
    assert_shape,
    load_parameters,
)
from course_lib.validation import check_at_least

prepare_notebook()  # test cells say how they ended

# %% [markdown]
# ## Part 1: one step of remembering
#
# A recurrent **cell** reads a vector $x$ and its last state $h$, and returns the next state.
# [The plain cell](book:recurrent-networks#plain-cell) writes its state anew at each step, and so it
# forgets. [The gated recurrent unit](book:recurrent-networks#gated-recurrent-unit) keeps as much
# as its **gates** say, sigmoids between 0 and 1. Texts disagree on which side $z$ stands: here, as
# in PyTorch, $z$ near 1 **keeps** the old state. The reset gate acts **after** the product with $U_n$,
# and on that product's bias too. All three $W$ live in one `nn.Linear`, in the order $r, z, n$, and
# so do all three $U$: `chunk` cuts the product. `check_at_least(1, d_input=d_input)` raises the error.

# %% solution="GRUCell" of="course_lib.layers.recurrent_cells" forbids="torch.nn.GRU torch.nn.GRUCell torch.gru torch.gru_cell"

# %% test="GRUCell-parameters" points=1 read="recurrent-networks#gated-recurrent-unit"
# The cell has two projections, each three states wide
weights = {"input_projection.weight": (15, 3), "hidden_projection.weight": (15, 5)}
biases = {"input_projection.bias": (15,), "hidden_projection.bias": (15,)}
assert_parameters(GRUCell(3, 5), weights | biases)
assert_parameters(GRUCell(3, 5, bias=False), weights)
assert_raises(ValueError, GRUCell, 3, 0)
### BEGIN HIDDEN TESTS
for bias in (True, False):
    cell, ours = GRUCell(4, 4, bias=bias), reference.GRUCell(4, 4, bias=bias)
    assert_parameters(cell, {name: tensor.shape for name, tensor in ours.named_parameters()})
different = {cell.get_parameter(name).sum().item() for name in weights}
assert_equal(len(different), 2, what="number of different weights")
assert_equal(GRUCell(2, 7).d_hidden, 7, what="d_hidden")
for widths in ((0, 7), (2, 0), (-1, 7), (2, -3)):
    assert_raises(ValueError, GRUCell, *widths)
### END HIDDEN TESTS

# %% test="GRUCell-update" points=2 read="recurrent-networks#gated-recurrent-unit"
# The update gate mixes the candidate and the old state; near 1 it keeps the old one
cell = GRUCell(1, 1)
biases = torch.tensor([0.0, math.log(3.0), math.atanh(0.5)])  # of r, z and n
load_parameters(cell, {"input_projection.bias": biases})  # all else is zero
# z is sigmoid(log 3), that is 3/4, the candidate is 1/2, and the old state 8: 1/8 + 6.
assert_close(cell(torch.zeros(1, 1), torch.tensor([[8.0]])), torch.tensor([[6.125]]))
### BEGIN HIDDEN TESTS
cell, ours = GRUCell(6, 6), reference.GRUCell(6, 6)
state = {name: tensor.detach().clone() for name, tensor in ours.named_parameters()}
for name in ("hidden_projection.weight", "hidden_projection.bias"):
    state[name][12:] = 0.0  # the reset gate has nothing to reset
for each in (cell, ours):
    load_parameters(each, state)
assert_matches(cell, ours, torch.randn(4, 6), torch.randn(4, 6))
### END HIDDEN TESTS

# %% test="GRUCell-reset" points=2 read="recurrent-networks#gated-recurrent-unit"
# The reset gate acts on the old state's part in the candidate, after the product
cell = GRUCell(1, 2)
bias = torch.tensor([math.log(3.0), -math.log(3.0), 0.0, 0.0, 0.0, 0.0])
weight = torch.tensor([[0.0, 0.0]] * 4 + [[0.0, 1.0], [1.0, 0.0]])  # U_n exchanges two numbers
load_parameters(cell, {"input_projection.bias": bias, "hidden_projection.weight": weight})
# r is (3/4, 1/4), z is 1/2. U_n makes (0.4, 0.8) of the state, of which r leaves (0.3, 0.2).
hidden = torch.tensor([[0.8, 0.4]])
expected = (torch.tensor([[0.3, 0.2]]).tanh() + hidden) / 2
assert_close(cell(torch.zeros(1, 1), hidden), expected)
### BEGIN HIDDEN TESTS
cell, ours = GRUCell(6, 6), reference.GRUCell(6, 6)
state = {name: tensor.detach().clone() for name, tensor in ours.named_parameters()}
for tensor in state.values():
    tensor[6:12] = 0.0  # the update gate is 1/2, whichever way round it is used
    tensor[12:] *= 0.05  # next to 0 nothing shows of the tanh
for each in (cell, ours):
    load_parameters(each, state)
assert_matches(cell, ours, torch.randn(4, 6), torch.randn(4, 6))
### END HIDDEN TESTS

# %% test="GRUCell-values" points=1 read="recurrent-networks#gated-recurrent-unit"
# The next state is the one that PyTorch's cell computes, and gradients flow back
theirs, cell = nn.GRUCell(3, 5), GRUCell(3, 5)
names = [f"{part}_projection.{kind}" for kind in ("weight", "bias") for part in ("input", "hidden")]
load_parameters(cell, dict(zip(names, theirs.state_dict().values(), strict=True)))
x, hidden = torch.randn(2, 3), torch.randn(2, 5)
assert_close(cell(x, hidden), theirs(x, hidden))
assert_gradients(cell, x, hidden)
### BEGIN HIDDEN TESTS
for bias in (True, False):
    cell, ours = GRUCell(6, 6, bias=bias), reference.GRUCell(6, 6, bias=bias)
    load_parameters(cell, ours)
    for batch in (4, 1):
        assert_matches(cell, ours, torch.randn(batch, 6), torch.randn(batch, 6))
x, hidden = torch.randn(4, 6), torch.randn(4, 6)
assert_matches(cell.eval(), ours, x, hidden)
assert_matches(cell.double(), ours.double(), x.double(), hidden.double())
assert_keeps_inputs(cell, x.double(), hidden.double())
assert_gradients(cell, x.double(), hidden.double())
### END HIDDEN TESTS

# %% variants="GRUCell"
# fmt: off
right("gate by gate, by slices of the weights", '''
class GRUCell(nn.Module):
    def __init__(self, d_input: int, d_hidden: int, bias: bool = True):
        super().__init__()
        if not (d_input > 0 and d_hidden > 0):
            raise ValueError("widths")
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, 3 * d_hidden, bias)
        self.hidden_projection = nn.Linear(d_hidden, 3 * d_hidden, bias)

    def gate(self, projection, number, x):
        rows = slice(number * self.d_hidden, (number + 1) * self.d_hidden)
        bias = None if projection.bias is None else projection.bias[rows]
        return F.linear(x, projection.weight[rows], bias)

    def forward(self, x, hidden):
        r, z = (
            torch.sigmoid(
                self.gate(self.input_projection, i, x)
                + self.gate(self.hidden_projection, i, hidden)
            )
            for i in (0, 1)
        )
        n = torch.tanh(
            self.gate(self.input_projection, 2, x)
            + r * self.gate(self.hidden_projection, 2, hidden)
        )
        return n + z * (hidden - n)
''')
right("both gates at once, by unflatten, and a buffer", '''
class GRUCell(nn.Module):
    def __init__(self, d_input, d_hidden, *, bias=True):
        nn.Module.__init__(self)
        assert_wide(d_input)
        assert_wide(d_hidden)
        self.d_input, self.d_hidden = d_input, d_hidden
        self.hidden_projection = nn.Linear(d_hidden, d_hidden * 3, bias=bias)
        self.input_projection = nn.Linear(d_input, d_hidden * 3, bias=bias)

    def forward(self, x, hidden):
        from_x = self.input_projection(x).unflatten(-1, (3, -1))
        from_h = self.hidden_projection(hidden).unflatten(-1, (3, -1))
        r, z = (from_x + from_h)[:, :2].sigmoid().unbind(1)
        n = (from_x[:, 2] + from_h[:, 2] * r).tanh()
        return n - n * z + hidden * z


def assert_wide(width):
    if width < 1:
        raise ValueError(f"{width} is no width")
''')
RESET = "reset = torch.sigmoid(reset_x + reset_h)"
UPDATE = "update = torch.sigmoid(update_x + update_h)"
CANDIDATE = "torch.tanh(candidate_x + reset * candidate_h)"
STATE = "(1 - update) * candidate + update * hidden"
ATTRIBUTE = "        self.d_hidden = d_hidden\n"
OF_X, OF_STATE = (f"reset_{a}, update_{a}, candidate_{a}" for a in "xh")

# ---- parameters ----
BIAS = "You do not hand bias on; give bias=bias to both nn.Linear."
wrong("one bias only", ("nn.Linear(d_hidden, 3 * d_hidden, bias=bias)",
    "nn.Linear(d_hidden, 3 * d_hidden, bias=False)"), lost="parameters", hint=BIAS)
wrong("a bias whether wanted or not", ("nn.Linear(d_hidden, 3 * d_hidden, bias=bias)",
    "nn.Linear(d_hidden, 3 * d_hidden)"), lost="parameters", hint=BIAS)
wrong("widths unchecked", ("        check_at_least(1, d_input=d_input, d_hidden=d_hidden)\n", ""),
    lost="parameters", hint="You accept widths of 0 or less; raise ValueError, as check_at_least does.")
wrong("one width unchecked", ("d_input=d_input, d_hidden=d_hidden)", "d_input=d_input)"),
    lost="parameters", hint="You check one width only; raise ValueError for d_hidden too.")
wrong("d_hidden forgotten", (ATTRIBUTE, ""),
    lost="parameters", hint="You do not keep d_hidden; the docstring lists it among the attributes.")
wrong("one more layer", (ATTRIBUTE, ATTRIBUTE + "        self.reset_projection = nn.Linear(9, 9)\n"),
    lost="parameters", hint="You have parameters that are too many; two nn.Linear hold all six matrices.")
wrong("both start alike", ("3 * d_hidden, bias=bias)\n\n", "3 * d_hidden, bias=bias)\n"
    "        if d_input == d_hidden:\n"
    "            self.hidden_projection.load_state_dict(self.input_projection.state_dict())\n\n"),
    lost="parameters", hint="You copy a projection, and a copy starts as its original; make two nn.Linear.")
wrong("nn.Module not set up", ("        super().__init__()\n", ""), lost="parameters update reset values",
    hint="You do not call super().__init__() first; without it an nn.Module holds no layers.")
for name in ("input", "hidden"):
    wrong(f"another name for {name}_projection", ("class GRUCell(nn.Module):",
        "class GRUCell(nn.Module):\n"
        "    def __setattr__(self, name, value):\n"
        f"        super().__setattr__(name.replace('{name}_projection', 'w_{name[0]}'), value)\n\n"
        "    def __getattr__(self, name):\n"
        f"        return super().__getattr__(name.replace('{name}_projection', 'w_{name[0]}'))\n"),
        lost="parameters", hint=f"You call {name}_projection by another name; use the docstring's.")

# ---- update ----
wrong("update gate the other way round", (STATE, "update * candidate + (1 - update) * hidden"), lost="update",
    hint="You exchange z and 1 - z; where z is near 1, keep the old state.")
wrong("candidate added whole", (STATE, "candidate + update * hidden"), lost="update",
    hint="You add the candidate whole; its share is 1 - z.")
wrong("old state added whole", (STATE, "(1 - update) * candidate + hidden"), lost="update",
    hint="You add the old state whole; z says how much of it is kept.")
wrong("old state forgotten", (STATE, "(1 - update) * candidate"), lost="update",
    hint="You leave out the old state; add z * h.")
wrong("candidate alone", (STATE, "candidate"), lost="update",
    hint="You return the candidate; mix it with the old state by z.")
wrong("candidate without tanh", (CANDIDATE, "candidate_x + reset * candidate_h"), lost="update",
    hint="You leave out the tanh of the candidate; it comes around the sum.")
wrong("candidate with a sigmoid", (CANDIDATE, "torch.sigmoid(candidate_x + reset * candidate_h)"), lost="update",
    hint="You take a sigmoid for the candidate; take tanh.")
wrong("update gate without sigmoid", (UPDATE, "update = update_x + update_h"), lost="update",
    hint="You leave out the sigmoid of z; a gate is between 0 and 1.")
wrong("update gate with a tanh", (UPDATE, "update = torch.tanh(update_x + update_h)"), lost="update",
    hint="You take tanh for z; a gate is a sigmoid.")
wrong("update gate blind to the state", (UPDATE, "update = torch.sigmoid(update_x)"), lost="update",
    hint="You let z look at the input alone; add U_z h.")
wrong("update gate blind to the input", (UPDATE, "update = torch.sigmoid(update_h)"), lost="update",
    hint="You let z look at the state alone; add W_z x.")
wrong("always zeros", (f"return {STATE}", "return 0 * hidden"), lost="update reset values",
    hint="You return zeros; return (1 - z) * n + z * h.")
wrong("the state as it was", (f"return {STATE}", "return 1 * hidden"), lost="update reset values",
    hint="You return the state as it was; return (1 - z) * n + z * h.")

# ---- reset ----
wrong("reset before the product, as in the paper", (CANDIDATE,
    "torch.tanh(candidate_x + F.linear(reset * hidden, "
    "*(p[2 * self.d_hidden :] for p in self.hidden_projection.parameters())))"), lost="reset",
    hint="You reset the state before the product with U_n, as the paper does; reset the product, r * (U_n h).")
wrong("no reset", (CANDIDATE, "torch.tanh(candidate_x + candidate_h)"), lost="reset",
    hint="You do not use the reset gate; multiply U_n h by r.")
wrong("reset on the input too", (CANDIDATE, "torch.tanh(reset * (candidate_x + candidate_h))"), lost="reset",
    hint="You reset the input too; add W_n x as it is.")
wrong("reset on the input", (CANDIDATE, "torch.tanh(reset * candidate_x + candidate_h)"), lost="reset",
    hint="You reset the input; r belongs to U_n h.")
wrong("reset the other way round", (CANDIDATE, "torch.tanh(candidate_x + (1 - reset) * candidate_h)"),
    lost="reset", hint="You exchange r and 1 - r; multiply U_n h by r.")
wrong("candidate without the state", (CANDIDATE, "torch.tanh(candidate_x)"), lost="reset",
    hint="You leave the old state out of the candidate; add r * (U_n h).")
wrong("candidate without the input", (CANDIDATE, "torch.tanh(reset * candidate_h)"), lost="reset",
    hint="You leave the input out of the candidate; add W_n x.")
wrong("bias of the candidate not reset", (CANDIDATE,
    "torch.tanh(candidate_x + reset * F.linear(hidden, self.hidden_projection.weight[2 * self.d_hidden :])"
    " + (0 if self.hidden_projection.bias is None else self.hidden_projection.bias[2 * self.d_hidden :]))"),
    lost="reset", hint="You add the bias of U_n after the reset gate; reset it too.")
wrong("reset gate without sigmoid", (RESET, "reset = reset_x + reset_h"), lost="reset",
    hint="You leave out the sigmoid of r; a gate is between 0 and 1.")
wrong("reset gate blind to the state", (RESET, "reset = torch.sigmoid(reset_x)"), lost="reset",
    hint="You let r look at the input alone; add U_r h.")
wrong("reset gate blind to the input", (RESET, "reset = torch.sigmoid(reset_h)"), lost="reset",
    hint="You let r look at the state alone; add W_r x.")

# ---- values ----
ORDER = "You cut the three parts in another order; it is r, z, n."
for name, edits in {
    "gates of the state in the order z, r, n": [(OF_STATE, "update_h, reset_h, candidate_h")],
    "gates of x in the order z, r, n": [(OF_X, "update_x, reset_x, candidate_x")],
    "gates of x in the order z, n, r": [(OF_X, "update_x, candidate_x, reset_x")],
    "all in the order z, r, n": [(OF_X, "update_x, reset_x, candidate_x"),
                                 (OF_STATE, "update_h, reset_h, candidate_h")],
    "all in the order n, r, z": [(OF_X, "candidate_x, reset_x, update_x"),
                                 (OF_STATE, "candidate_h, reset_h, update_h")],
}.items():
    wrong(name, *edits, lost="values", hint=ORDER)
wrong("input and state exchanged", ("self.input_projection(x)", "self.input_projection(hidden)"),
    ("self.hidden_projection(hidden)", "self.hidden_projection(x)"), lost="values",
    hint="You exchange x and the state; input_projection reads x, hidden_projection reads the state.")
wrong("biases needed", ("self.input_projection(x)",
    "(F.linear(x, self.input_projection.weight) + self.input_projection.bias)"), lost="values",
    hint="You need a bias that is not there with bias=False; call the projection instead.")
wrong("without biases the state as it was", (f"return {STATE}",
    f"return {STATE} if self.input_projection.bias is not None else 1 * hidden"), lost="values",
    hint="You compute something else with bias=False; only the biases go.")
wrong("candidate alone in evaluation", (STATE, f"{STATE} if self.training else candidate"), lost="values",
    hint="You compute something else in evaluation; this cell has no dropout.")
wrong("always float32", (f"return {STATE}", f"return ({STATE}).float()"), lost="values",
    hint="You cast to float32; keep the dtype that comes in.")
wrong("the batch squeezed", (f"return {STATE}", f"return ({STATE}).squeeze(0)"), lost="values",
    hint="You squeeze() away a batch of one; it stays (1, d_hidden).")
wrong("the state twice", (f"return {STATE}", f"return {STATE}, hidden"), lost="values",
    hint="You return a pair, as PyTorch's layers do; return the next state alone.")
CUT = "You cut the gradient: detach(), .data and no_grad() do; leave them out."
wrong("old state cut off", (STATE, "(1 - update) * candidate + update * hidden.detach()"), lost="values", hint=CUT)
wrong("all is cut off", (STATE, f"({STATE}).detach()"), lost="values", hint=CUT)
wrong("a weight cut off", ("self.hidden_projection(hidden)",
    "F.linear(hidden, self.hidden_projection.weight.data, self.hidden_projection.bias)"), lost="values", hint=CUT)
for number, name in enumerate(("x", "hidden"), 1):
    wrong(f"argument {number} changed in place", ("        return (1 - update)",
        f"        {name}.data.mul_({'0' if name == 'x' else '0.5'})\n        return (1 - update)"), lost="values",
        hint="You change an argument in place; operators that end in = and methods that end in _ do.")
wrong("dropout", (f"return {STATE}", f"return F.dropout({STATE}, 0.1, self.training)"), lost="values",
    hint="You drop values at random")
same("chunk(3, dim=--1)", "the last of two dimensions")
# fmt: on

# %% [markdown]
# ## Part 2: read, forwards and backwards
#
# An encoder reads from left to right, to know the words before each one, and from right to left,
# to know those after it: see [Both directions](book:recurrent-networks#both-directions) and
# [Sequences of different lengths](book:recurrent-networks#padding-and-lengths).
#
# ```
#             x_1       x_2       x_3       (padding)
# forward   0 -> f_1 ---> f_2 ---> f_3 -----> f_3         its last state:  f_3
# backward    b_1 <----- b_2 <---- b_3 <------ 0          its last state:  b_1
# memory    [f_1; b_1] [f_2; b_2] [f_3; b_3]   [0; 0]     context:  [f_3; b_1]
# ```
#
# The backward cell meets the padding *first*, and a state must pass through padding unchanged:
# `torch.where` chooses row by row. The cells come as arguments; those of the tests below add up
# their inputs, the backward one ten times.


# %% solution="read_both_ways" forbids="torch.nn.RNN torch.nn.GRU torch.rnn_tanh torch.gru"
def read_both_ways(x: Tensor, lengths: Tensor, layers: list, d_hidden: int):
    """Read sequences in both directions, layer upon layer.

    Every state starts from zeros, of the dtype of ``x``. At padding a state stays as it was, and
    the memory is zero.

    Args:
        x: ``(batch, len, d_input)``, filled up at the end with padding.
        lengths: ``(batch,)``, from 1 to len: how many steps of each sequence are real.
        layers: For each layer a forward and a backward cell, called as ``cell(x_t, hidden)``, with
            ``(batch, width)`` and ``(batch, d_hidden)``, for the next state. The first layer reads
            ``x``, each other one the memory of the layer below.
        d_hidden: Width of each cell's state.

    Returns:
        Of the top layer the memory ``(batch, len, 2 * d_hidden)``, at each step the forward state
        and then the backward state; and the context ``(batch, 2 * d_hidden)``, both last states.
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
adding = (lambda x, h: h + x, lambda x, h: h + 10 * x)  # a cell for each direction
x = torch.tensor([[[1.0], [2.0], [4.0]]])
memory, _ = read_both_ways(x, torch.tensor([3]), [adding], 1)
assert_shape(memory, (1, 3, 2), what="memory")
assert_close(memory[..., 0], torch.tensor([[1.0, 3.0, 7.0]]), what="forward states")
### BEGIN HIDDEN TESTS
layers = [(nn.GRUCell(3, 4).double(), nn.GRUCell(3, 4).double())]
x, lengths = torch.randn(3, 6, 3).double(), torch.tensor([6, 6, 6])
memory, _ = read_both_ways(x, lengths, layers, 4)
expected, _ = reference.read_both_ways(x, lengths, layers, 4)
assert_shape(memory, (3, 6, 8), what="memory")
assert_close(memory[..., :4], expected[..., :4], what="forward states")
assert_gradients(lambda x: read_both_ways(x, lengths, layers, 4)[0][..., :4], x)
### END HIDDEN TESTS

# %% test="read_both_ways-backward" points=1 read="recurrent-networks#both-directions"
# The second half holds the states from right to left, each beside its own step
adding = (lambda x, h: h + x, lambda x, h: h + 10 * x)  # a cell for each direction
x = torch.tensor([[[1.0], [2.0], [4.0]]])
memory, _ = read_both_ways(x, torch.tensor([3]), [adding], 1)
assert_close(memory[..., 1], torch.tensor([[70.0, 60.0, 40.0]]), what="backward states")
### BEGIN HIDDEN TESTS
layers = [(nn.GRUCell(3, 4), nn.GRUCell(3, 4))]
x, lengths = torch.randn(3, 6, 3), torch.tensor([6, 6, 6])
memory, _ = read_both_ways(x, lengths, layers, 4)
expected, _ = reference.read_both_ways(x, lengths, layers, 4)
assert_close(memory[..., 4:], expected[..., 4:], what="backward states")
assert_gradients(lambda x: read_both_ways(x, lengths, layers, 4)[0][..., 4:], x)
### END HIDDEN TESTS

# %% test="read_both_ways-padding" points=1 read="recurrent-networks#padding-and-lengths"
# A sequence is read as if it were alone, with any padding
adding = (lambda x, h: h + x, lambda x, h: h + 10 * x)  # a cell for each direction
x = torch.tensor([[[1.0], [2.0], [4.0]], [[3.0], [5.0], [9.0]]])
memory, _ = read_both_ways(x, torch.tensor([3, 2]), [adding], 1)  # the 9 is padding
assert_close(memory[1], torch.tensor([[3.0, 80.0], [8.0, 50.0], [0.0, 0.0]]))
### BEGIN HIDDEN TESTS
layers = [(nn.GRUCell(3, 4), nn.GRUCell(3, 4))]
for lengths in ([4, 5, 1, 6], [1, 6, 4, 5], [6, 4, 1, 5]):
    x, lengths = torch.randn(4, 7, 3), torch.tensor(lengths)
    assert_keeps_inputs(read_both_ways, x, lengths, layers, 4)
    for rows in (slice(None), slice(0, 1), slice(2, 3)):
        memory, _ = read_both_ways(x[rows], lengths[rows], layers, 4)
        expected, _ = reference.read_both_ways(x[rows], lengths[rows], layers, 4)
        assert_close(memory, expected, what="memory")
### END HIDDEN TESTS

# %% test="read_both_ways-context" points=1 read="sequence-to-sequence#the-context"
# The context joins the last state of each direction
adding = (lambda x, h: h + x, lambda x, h: h + 10 * x)  # a cell for each direction
x = torch.tensor([[[1.0], [2.0], [4.0]], [[3.0], [5.0], [9.0]]])
_, context = read_both_ways(x, torch.tensor([3, 2]), [adding], 1)
assert_close(context, torch.tensor([[7.0, 70.0], [8.0, 80.0]]), what="context")
### BEGIN HIDDEN TESTS
layers = [(nn.GRUCell(3, 4), nn.GRUCell(3, 4))]
for lengths in ([6, 6, 6, 6], [4, 5, 1, 6], [1, 6, 4, 5], [6, 4, 1, 5]):
    x, lengths = torch.randn(4, 6, 3), torch.tensor(lengths)
    _, context = read_both_ways(x, lengths, layers, 4)
    assert_close(context, reference.read_both_ways(x, lengths, layers, 4)[1], what="context")
lengths = torch.full((4,), 6)
assert_gradients(lambda x: read_both_ways(x, lengths, layers, 4)[1], x)
### END HIDDEN TESTS

# %% test="read_both_ways-layers" points=1 read="recurrent-networks#deep-networks"
# Each layer reads the memory of the layer below
adding = (lambda x, h: h + x.sum(-1, True), lambda x, h: h + 10 * x.sum(-1, True))
x = torch.tensor([[[1.0], [2.0], [4.0]]])
memory, context = read_both_ways(x, torch.tensor([3]), [adding, adding], 1)
# The memory of the first layer adds up to 71, 63 and 47 at the three steps.
assert_close(memory, torch.tensor([[[71.0, 1810.0], [134.0, 1100.0], [181.0, 470.0]]]))
assert_close(context, torch.tensor([[181.0, 1810.0]]), what="context")
### BEGIN HIDDEN TESTS
layers = [(nn.GRUCell(8, 4), nn.GRUCell(8, 4)) for _ in range(3)]  # x is as wide as a memory
x = torch.randn(3, 5, 8)
for lengths in (torch.tensor([5, 5, 5]), torch.tensor([5, 3, 1])):
    assert_matches(read_both_ways, reference.read_both_ways, x, lengths, layers, 4)
assert_gradients(lambda x: read_both_ways(x, torch.tensor([5, 5, 5]), layers, 4), x)
### END HIDDEN TESTS

# %% variants="read_both_ways"
# fmt: off
right("forwards over each sequence, and forwards over each one turned round", '''
def reverse(x, lengths):
    places = torch.arange(x.size(1), device=x.device)[None, :].expand(x.size(0), -1)
    turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    return x.gather(1, turned[..., None].expand_as(x))


def read_one_way(cell, x, d_hidden):
    hidden = torch.zeros(x.size(0), d_hidden, dtype=x.dtype, device=x.device)
    states = []
    for x_t in x.unbind(1):
        hidden = cell(x_t, hidden)
        states.append(hidden)
    return torch.stack(states, 1)


def read_both_ways(x, lengths, layers, d_hidden):
    real = (torch.arange(x.size(1), device=x.device) < lengths[:, None])[..., None].to(x.dtype)
    for forward_cell, backward_cell in layers:
        ahead = read_one_way(forward_cell, x, d_hidden)
        back = reverse(read_one_way(backward_cell, reverse(x, lengths), d_hidden), lengths)
        x = torch.cat([ahead, back], -1) * real
    rows = torch.arange(len(x), device=x.device)
    return x, torch.cat([x[rows, lengths - 1, :d_hidden], x[:, 0, d_hidden:]], -1)
''')
right("one sequence at a time, so without padding", '''
def read_both_ways(x, lengths, layers, d_hidden):
    memories, contexts = [], []
    for sequence, length in zip(x, lengths.tolist()):
        words = sequence[:length].split(1)
        for ahead, back in layers:
            forwards, backwards = [], []
            hidden = sequence.new_zeros(1, d_hidden)
            for word in words:
                hidden = ahead(word, hidden)
                forwards.append(hidden)
            hidden = sequence.new_zeros(1, d_hidden)
            for word in words[::-1]:
                hidden = back(word, hidden)
                backwards.insert(0, hidden)
            words = [torch.cat(pair, dim=1) for pair in zip(forwards, backwards)]
        padding = sequence.new_zeros(len(sequence) - length, 2 * d_hidden)
        memories.append(torch.cat([*words, padding]))
        contexts.append(torch.cat([forwards[-1], backwards[0]], dim=1)[0])
    return torch.stack(memories), torch.stack(contexts)
''')
KEEP = "torch.where(is_real[:, t, None], cell(memory[:, t], hidden), hidden)"
ZEROS = "            hidden = x.new_zeros(x.size(0), d_hidden)\n"
STATES, LAST, PAIR = "torch.cat(states, dim=-1)", "torch.cat(last, dim=-1)", "return memory, context"
STEPS = "reversed(range(x.size(1))) if backward else range(x.size(1))"
FILL = ".masked_fill(~is_real[:, :, None], 0.0)"
IS_REAL = "< lengths[:, None]"

# ---- forward ----
wrong("both from right to left", (STEPS, "reversed(range(x.size(1)))"), lost="forward",
    hint="You read from right to left twice; the first cell of a pair reads from left to right.")
wrong("memory backward first", (STATES, "torch.cat(states[::-1], dim=-1)"), lost="forward",
    hint="You put the backward state first; the forward state comes first.")
wrong("the cells of a pair exchanged", ("zip(pair,", "zip(pair[::-1],"), lost="forward",
    hint="You exchange the two cells of a pair; the first one reads forwards.")
wrong("starts from ones", ("x.new_zeros(x", "x.new_ones(x"), lost="forward",
    hint="You start from ones; start from zeros.")
wrong("starts from x", (ZEROS, "            hidden = x[:, 0, :1].expand(-1, d_hidden)\n"), lost="forward",
    hint="You start from x; start from zeros.")
wrong("starts from zeros at each step", (KEEP, KEEP.replace("t], hidden)", "t], torch.zeros_like(hidden))")),
    lost="forward", hint="You start from zeros at each step; hand the state on.")
wrong("always float32", ("x.new_zeros(x.size(0), d_hidden)", "torch.zeros(x.size(0), d_hidden)"),
    lost="forward", hint="You always make float32; x.new_zeros(...) has the dtype of x.")
wrong("the state before reading", (f"                hidden = {KEEP}\n                by_step[t] = hidden\n",
    f"                by_step[t] = hidden\n                hidden = {KEEP}\n"), lost="forward",
    hint="You store the state before reading a step; store the one after.")
wrong("context and memory exchanged", (PAIR, "return context, memory"), lost="forward",
    hint="You return the context first; the memory comes first.")
wrong("the memory alone", (PAIR, "return memory"), lost="forward",
    hint="You return the memory alone; the context comes after it.")
wrong("a list of states", (PAIR, "return list(memory.unbind(1)), context"), lost="forward",
    hint="You return a list for the memory; torch.stack(states, dim=1) makes a tensor of it.")
wrong("both directions summed", (STATES, "sum(states)"), lost="forward",
    hint="You add the two states; lay them side by side: torch.cat(..., dim=-1).")
wrong("both directions summed, the context too", (STATES, "sum(states)"), (LAST, "sum(last)"), lost="forward",
    hint="You add the two states; lay them side by side: torch.cat(..., dim=-1).")
wrong("states cut for a width of steps", (STATES, f"{STATES}.mT"), lost="forward",
    hint="You exchange the last two dimensions; memory is (batch, len, 2 * d_hidden).")
wrong("steps before batch", (PAIR, "return memory.transpose(0, 1), context"), lost="forward",
    hint="You put the steps before the batch; stack the states along dim=1.")
wrong("cell called with x and state exchanged", ("cell(memory[:, t], hidden)", "cell(hidden, memory[:, t])"),
    lost="forward", hint="You call a cell with the state first; call cell(x_t, hidden).")
CUT = "You cut the gradient: detach(), .data and no_grad() do; leave them out."
wrong("detached at each step", (KEEP, KEEP.replace("t], hidden)", "t], hidden.detach())")), lost="forward", hint=CUT)
wrong("no gradient at all", ("def read_both_ways", "@torch.no_grad()\ndef read_both_ways"), lost="forward", hint=CUT)
wrong("NaN everywhere", (PAIR, "return memory / 0 * 0, context / 0 * 0"), lost="*",
    hint="You return NaN; look where it comes from.")
wrong("ones for any input", "def read_both_ways(x, lengths, layers, d_hidden):\n"
    "    memory = torch.ones(*x.shape[:2], 2 * d_hidden)\n    return memory, memory[:, 0]\n", lost="*",
    hint="You return the same for any input; call the cells.")

# ---- backward ----
wrong("both from left to right", (STEPS, "range(x.size(1))"), lost="backward",
    hint="You read from left to right twice; the second cell of a pair reads from right to left.")
wrong("the forward cell for both", ("zip(pair,", "zip((pair[0], pair[0]),"), lost="backward",
    hint="You use the forward cell for both directions; the second cell of a pair reads backwards.")
wrong("backward states in reading order", ("by_step[t] = hidden",
    "by_step[x.size(1) - 1 - t if backward else t] = hidden"), lost="backward",
    hint="You leave the backward states in the order of reading; put each beside its own step.")
wrong("a state handed from cell to cell", (ZEROS, ""), ("    memory = x\n",
    "    memory = x\n    hidden = x.new_zeros(x.size(0), d_hidden)\n"), lost="backward",
    hint="You begin a direction with the last state of another; each begins with zeros.")

# ---- padding ----
wrong("the state runs on through the padding", (KEEP, "cell(memory[:, t], hidden)"), lost="padding",
    hint="You read the padding as if it were real; there keep the old state: torch.where.")
wrong("the state is zeroed at padding", (KEEP, "cell(memory[:, t], hidden) * is_real[:, t, None]"),
    lost="context", hint="You set the state to zero at padding; there it stays as it was.")
wrong("padding in the memory", (FILL, ""), lost="padding",
    hint="You leave states in the memory at padding; set it to zero there.")
wrong("one token too many is real", (IS_REAL, "<= lengths[:, None]"), lost="padding",
    hint="You read a step too many; step t, counted from 0, is real where t < length.")
wrong("one token too few is real", (IS_REAL, "< lengths[:, None] - 1"), lost="padding",
    hint="You read a step too few; step t, counted from 0, is real where t < length.")
wrong("lengths unused", (IS_REAL, "< torch.full_like(lengths, x.size(1))[:, None]"), lost="padding",
    hint="You do not use lengths; step t is real where t < length.")
wrong("lengths unused in a batch of one", (IS_REAL,
    "< (lengths if len(x) > 1 else torch.full_like(lengths, x.size(1)))[:, None]"), lost="padding",
    hint="You do not use lengths in a batch of one; a sequence alone has padding too.")
wrong("padding read in the backward direction", (KEEP, KEEP.replace("is_real[:, t, None],",
    "is_real[:, t, None] | torch.tensor(backward),")), lost="padding",
    hint="You read the padding backwards; the backward cell meets it first, and keeps its state there.")
wrong("padding zeroed in x", ("    memory = x\n", "    x[~is_real] = 0.0\n    memory = x\n"), lost="padding",
    hint="You set padding to zero in x, which is not yours; set it to zero in the memory.")
wrong("the memory ends with the longest sequence", ("for pair in layers:",
    "x = memory = x[:, : int(lengths.max())]\n    is_real = is_real[:, : x.size(1)]\n    for pair in layers:"),
    lost="padding", hint="You cut the memory at the longest sequence; it is as long as x.")
BACK = "You sort the rows and do not put them back; order.argsort() undoes order."
SORTED = ("    memory = x\n", "    lengths, order = lengths.sort(descending=True)\n"
          "    x, is_real = x[order], is_real[order]\n    memory = x\n")
for name, pair, lost in (
    ("put back by the same order", "memory[order], context[order]", "padding"),
    ("not put back", "memory, context", "padding"),
    ("the context put back by the same order", "memory[order.argsort()], context[order]", "context"),
    ("the context not put back", "memory[order.argsort()], context", "context"),
):
    wrong(f"sorted, {name}", SORTED, (PAIR, f"return {pair}"), lost=lost, hint=BACK)

# ---- context ----
wrong("context from the last place", (LAST, "memory[:, -1]"), lost="context",
    hint="You take both halves at the last place; backwards, the last step is the first.")
wrong("context from the last real place", (LAST, "memory[torch.arange(len(x)), lengths - 1]"), lost="context",
    hint="You take both halves at the last step; backwards, the last step is the first.")
wrong("forward half from the last place", (LAST,
    "torch.cat([memory[:, -1, :d_hidden], memory[:, 0, d_hidden:]], dim=-1)"), lost="context",
    hint="You take the forward state at the last place, which may be padding; take the last real step.")
wrong("context from the first place", (LAST, "memory[:, 0]"), lost="context",
    hint="You take both halves at the first place; forwards, the last step is the last.")
wrong("context is the mean", (LAST, "memory.mean(dim=1)"), lost="context",
    hint="You return the mean; join the last state of each direction.")
wrong("context backward first", (LAST, "torch.cat(last[::-1], dim=-1)"), lost="context",
    hint="You put the backward half of the context first; the forward half comes first.")
wrong("context detached", (PAIR, "return memory, context.detach()"), lost="context", hint=CUT)
wrong("half of the context detached", (LAST, "torch.cat([last[0], last[1].detach()], dim=-1)"), lost="context", hint=CUT)

# ---- layers ----
wrong("padding kept apart in the first layer alone", (KEEP, KEEP.replace("is_real[:, t, None]",
    "is_real[:, t, None] | torch.tensor(memory is not x)")), lost="layers",
    hint="You read padding in the upper layers; keep the old state there in every layer.")
wrong("context of several layers from the last place", (PAIR, "if len(layers) > 1:\n        context = torch.cat("
    f"[memory[:, -1, :d_hidden], memory[:, 0, d_hidden:]], dim=-1)\n    {PAIR}"), lost="layers",
    hint="You take the context of several layers at the last place; take the last real step.")
wrong("context of the first layer", (f"        context = {LAST}\n",
    f"        if pair is layers[0]:\n            context = {LAST}\n"), lost="layers",
    hint="You return the context of the first layer; return that of the top one.")
wrong("the first layer only", ("for pair in layers:", "for pair in layers[:1]:"), lost="layers",
    hint="You run the first layer only; each layer reads the memory of the one below.")
wrong("the top layer only", ("for pair in layers:", "for pair in layers[-1:]:"), lost="layers",
    hint="You run the top layer only; it reads the memory of the one below.")
wrong("every layer reads x", ("cell(memory[:, t], hidden)", "cell(x[:, t], hidden)"), lost="layers",
    hint="You let every layer read x; each reads the memory of the one below.")
wrong("every layer with the cells of the first", ("zip(pair,", "zip(layers[0],"), lost="layers",
    hint="You use the cells of the first layer in all; each has a pair of its own.")
wrong("detached between two layers", (KEEP, KEEP.replace("memory[:, t]",
    "memory[:, t] if memory is x else memory[:, t].detach()")), lost="layers", hint=CUT)
wrong("dropout", (STATES, f"F.dropout({STATES}, 0.1)"), lost="forward", hint="You drop values at random")
same("+    is_real = torch.arange(x.size(1)) <", "where it is made shows on a GPU alone")
same("zip(pair, (False, True)):", "a pair is two")
same("zip(pair, (False, True), strict=False)", "a pair is two")
same("masked_fill_(", "in place, but in a memory that nothing else holds yet")
same("torch.cat(last, dim=--1)", "the last of two dimensions")
# fmt: on

# %% [markdown]
# ## Part 3: write
#
# The decoder is a language model with a **context**: at each step it reads the token written last
# and the context, and predicts the next: see [The decoder](book:sequence-to-sequence#the-decoder).
# While it learns, it reads the true tokens, not its own guesses:
# [Teacher forcing](book:sequence-to-sequence#teacher-forcing). Build it from your own `GRUCell`.


# %% solution="Decoder" forbids="torch.nn.GRU torch.nn.GRUCell torch.gru torch.gru_cell"
class Decoder(nn.Module):
    """Write a sequence, knowing of the source its context alone.

    ::

        s_0 = tanh(B c)                           the bridge, from the context c
        s_t = cell([y_{t-1}; c], s_{t-1})         with the embedding y of the token before
        logits of y_t = V [s_t; y_{t-1}; c]

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
        """Return the state before the first token, (batch, d_hidden)."""
        ### BEGIN SOLUTION
        return torch.tanh(self.bridge(context))
        ### END SOLUTION

    def step(self, tokens: Tensor, state: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits after tokens, (batch, vocab_size), and the new state."""
        ### BEGIN SOLUTION
        written = torch.cat([self.embedding(tokens), context], dim=-1)
        state = self.cell(written, state)
        return self.output(torch.cat([state, written], dim=-1)), state
        ### END SOLUTION

    def forward(self, tgt: Tensor, context: Tensor) -> Tensor:
        """Score sequences, each token given the true ones before it (teacher forcing).

        Args:
            tgt: ``(batch, tgt_len)``: the start token, then the target without its last.
            context: ``(batch, d_memory)``.

        Returns:
            Logits ``(batch, tgt_len, vocab_size)``, at t those of the token after ``tgt[:, t]``.
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
# The decoder has its parts, and its first state comes from the context
decoder = Decoder(vocab_size=11, d_embedding=3, d_hidden=1, d_memory=2)
assert_shape(decoder.cell.input_projection.weight, (3, 3 + 2), what="W of the cell")
assert_shape(decoder.output.weight, (11, 1 + 3 + 2), what="weight of output")
load_parameters(decoder, {"bridge.weight": math.atanh(0.5) * torch.tensor([[2.0, -1.0]])})
context = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
assert_close(decoder.start(context), torch.tensor([[0.5], [-0.5]]), what="first state")
### BEGIN HIDDEN TESTS
decoder, ours = Decoder(7, 5, 4, 6), reference.Decoder(7, 5, 4, 6)
assert_parameters(decoder, {name: tensor.shape for name, tensor in ours.named_parameters()})
empty = bool((decoder.embedding.weight == 0).all(dim=-1).any())
assert_equal(empty, False, what="whether a token has an embedding of zeros")
load_parameters(decoder, ours)
for batch in (3, 1):
    assert_matches(decoder.start, ours.start, torch.randn(batch, 6))
assert_keeps_inputs(decoder.start, torch.randn(3, 6))
assert_gradients(decoder.start, torch.randn(3, 6), module=decoder)
### END HIDDEN TESTS

# %% test="Decoder-step" points=1 read="sequence-to-sequence#the-decoder"
# One step reads a token and the context, and scores the next token
decoder = Decoder(vocab_size=2, d_embedding=1, d_hidden=1, d_memory=1)
state = {"embedding.weight": torch.tensor([[2.0], [3.0]])}
state["output.weight"] = torch.tensor([[1.0, 0.0, 0.0], [1.0, 10.0, 100.0]])
load_parameters(decoder, state)  # all else is zero: so z is 1/2, and the cell halves its state
logits, new = decoder.step(torch.tensor([1]), torch.tensor([[8.0]]), torch.tensor([[5.0]]))
assert_close(new, torch.tensor([[4.0]]), what="new state")
assert_close(logits, torch.tensor([[4.0, 4.0 + 10 * 3 + 100 * 5]]), what="logits")
### BEGIN HIDDEN TESTS
decoder, ours = Decoder(7, 5, 5, 5), reference.Decoder(7, 5, 5, 5)
load_parameters(decoder, ours)
for tokens in (torch.tensor([3, 0, 6, 3]), torch.tensor([4])):
    state, context = torch.randn(len(tokens), 5), torch.randn(len(tokens), 5)
    assert_matches(decoder.step, ours.step, tokens, state, context)
    assert_keeps_inputs(decoder.step, tokens, state, context)
    assert_gradients(
        lambda s, c, tokens=tokens: decoder.step(tokens, s, c), state, context, module=decoder
    )
### END HIDDEN TESTS

# %% test="Decoder-forward" points=1 read="sequence-to-sequence#teacher-forcing"
# With teacher forcing each step reads the true token, and hands its state on
decoder = Decoder(vocab_size=2, d_embedding=1, d_hidden=1, d_memory=1)
state = {"embedding.weight": torch.tensor([[2.0], [3.0]])}
state |= {"bridge.bias": torch.tensor([math.atanh(0.8)])}  # the first state is 0.8
state |= {"output.weight": torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])}
load_parameters(decoder, state)  # all else is zero: the cell halves its state at each step
logits = decoder(torch.tensor([[0, 1, 0]]), torch.tensor([[5.0]]))
assert_close(logits, torch.tensor([[[0.4, 2.0], [0.2, 3.0], [0.1, 2.0]]]), what="logits")
### BEGIN HIDDEN TESTS
decoder, ours = Decoder(7, 5, 5, 5), reference.Decoder(7, 5, 5, 5)
load_parameters(decoder, ours)
for batch, length in ((4, 6), (4, 1), (1, 6), (1, 1)):
    tgt, context = torch.randint(7, (batch, length)), torch.randn(batch, 5)
    assert_matches(decoder, ours, tgt, context)
tgt, context = torch.randint(7, (4, 6)), torch.randn(4, 5)
assert_matches(decoder.eval(), ours, tgt, context)
assert_keeps_inputs(decoder, tgt, context)
assert_gradients(lambda context: decoder(tgt, context), context, module=decoder)
### END HIDDEN TESTS

# %% variants="Decoder"
# fmt: off
right("all tokens embedded at once, and all states scored at once", '''
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory):
        super().__init__()
        width = d_embedding + d_memory
        self.cell = GRUCell(width, d_hidden)
        self.output = nn.Linear(width + d_hidden, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)

    def start(self, context):
        return self.bridge(context).tanh()

    def step(self, tokens, state, context):
        y = self.embedding(tokens)
        state = self.cell(torch.hstack([y, context]), state)
        return self.output(torch.hstack([state, y, context])), state

    def forward(self, tgt, context):
        batch, tgt_len = tgt.shape
        y = self.embedding(tgt)
        c = context.unsqueeze(1).expand(batch, tgt_len, context.size(-1))
        inputs = torch.cat((y, c), dim=2)
        states = [self.start(context)]
        for t in range(tgt_len):
            states.append(self.cell(inputs[:, t], states[-1]))
        return self.output(torch.cat((torch.stack(states[1:], dim=1), inputs), dim=2))
''')
right("as little as will do; the layers in another order", '''
class Decoder(nn.Module):
    def __init__(self, vocab_size: int, d_embedding: int, d_hidden: int, d_memory: int):
        super().__init__()
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.bridge = nn.Linear(d_memory, d_hidden)
        self.embedding = nn.Embedding(vocab_size, d_embedding)

    def start(self, context):
        return torch.tanh(F.linear(context, self.bridge.weight, self.bridge.bias))

    def step(self, tokens, state, context):
        read = torch.cat([self.embedding.weight[tokens], context], 1)
        new = self.cell(read, state)
        return self.output(torch.cat([new, read], 1)), new

    def forward(self, tgt, context):
        state, logits = self.start(context), None
        for t in range(tgt.shape[1]):
            scores, state = self.step(tgt[:, t], state, context)
            scores = scores[:, None]
            logits = scores if logits is None else torch.cat([logits, scores], dim=1)
        return logits
''')
right("logits put into a tensor made beforehand", (
    "        state = self.start(context)\n        logits = []\n"
    "        for tokens in tgt.unbind(dim=1):\n"
    "            after, state = self.step(tokens, state, context)\n"
    "            logits.append(after)\n"
    "        return torch.stack(logits, dim=1)",
    "        logits = context.new_zeros(*tgt.shape, self.output.out_features)\n"
    "        state = self.start(context)\n"
    "        for t in range(tgt.size(1)):\n"
    "            logits[:, t], state = self.step(tgt[:, t], state, context)\n"
    "        return logits"))
BRIDGE = "torch.tanh(self.bridge(context))"
WRITTEN = "torch.cat([self.embedding(tokens), context], dim=-1)"
SCORED = "self.output(torch.cat([state, written], dim=-1))"
STEP = "after, state = self.step(tokens, state, context)"
STACK = "torch.stack(logits, dim=1)"
CELL, ANSWER = "state = self.cell(written, state)", f"return {SCORED}, state"
CUT = "You cut the gradient: detach(), .data and no_grad() do; the encoder learns by the context."

# ---- start ----
wrong("a plain cell", ("class Decoder(nn.Module):", "from course_lib.layers.recurrent_cells import RNNCell\n\n\n"
    "class Decoder(nn.Module):"), ("self.cell = GRUCell(", "self.cell = RNNCell("), lost="start",
    hint="You use the plain cell; build the decoder from your GRUCell.")
wrong("bridge without tanh", (BRIDGE, "self.bridge(context)"), lost="start",
    hint="You leave out the tanh of the first state; it comes around the bridge.")
wrong("bridge with a sigmoid", (BRIDGE, "torch.sigmoid(self.bridge(context))"), lost="start",
    hint="You take a sigmoid for the first state; take tanh.")
wrong("tanh before the bridge", (BRIDGE, "self.bridge(torch.tanh(context))"), lost="start",
    hint="You take the tanh before the bridge; it comes after.")
wrong("starts from zeros", (BRIDGE, "torch.zeros_like(self.bridge(context))"), lost="start",
    hint="You start from zeros; the bridge makes the first state from the context.")
wrong("starts from the context itself", (BRIDGE, "context"), lost="start",
    hint="You start from the context itself; it goes through the bridge.")
wrong("embedding with padding", ("self.embedding = nn.Embedding(vocab_size, d_embedding)",
    "self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=0)"), lost="start",
    hint="You give the embedding a padding_idx; id 0 is a token like any other here.")
wrong("the first state squeezed", (BRIDGE, f"{BRIDGE}.squeeze()"), lost="start",
    hint="You squeeze() away a batch of one; the first state is (batch, d_hidden).")
wrong("the context changed in place", (BRIDGE, "torch.tanh(self.bridge(context.tanh_()))"), lost="start",
    hint="You change the context in place; methods that end in _ do.")
wrong("the bridge reads a detached context", (BRIDGE, "torch.tanh(self.bridge(context.detach()))"),
    lost="start", hint=CUT)
wrong("output reads the state alone", ("self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)",
    "self.output = nn.Linear(d_hidden, vocab_size)"), (SCORED, "self.output(state)"), lost="start",
    hint="You let the output layer read the state alone; it reads the embedding and the context too.")
wrong("the cell reads the embedding alone", ("self.cell = GRUCell(d_embedding + d_memory, d_hidden)",
    "self.cell = GRUCell(d_embedding, d_hidden)"), (CELL, "state = self.cell(self.embedding(tokens), state)"), lost="start",
    hint="You let the cell read the embedding alone; it reads the context too.")
for name in ("embedding", "bridge", "cell", "output"):
    wrong(f"another name for {name}", ("class Decoder(nn.Module):", "class Decoder(nn.Module):\n"
        "    def __setattr__(self, name, value):\n"
        f"        super().__setattr__('my_{name}' if name == '{name}' else name, value)\n\n"
        "    def __getattr__(self, name):\n"
        f"        return super().__getattr__('my_{name}' if name == '{name}' else name)\n"),
        lost="start", hint=f"You call {name} by another name; use the docstring's.")

# ---- step ----
wrong("cell in the other order", (CELL,
    "state = self.cell(torch.cat([context, self.embedding(tokens)], dim=-1), state)"), lost="step",
    hint="You give the cell the context first; the embedding comes first.")
wrong("both in the other order", (WRITTEN, "torch.cat([context, self.embedding(tokens)], dim=-1)"), lost="step",
    hint="You put the context before the embedding; the embedding comes first.")
wrong("output in another order", (SCORED, "self.output(torch.cat([written, state], dim=-1))"), lost="step",
    hint="You give the output layer the state last; the order is state, embedding, context.")
wrong("output of the old state", (CELL, "new = self.cell(written, state)"),
    (ANSWER, f"return {SCORED}, new"), lost="step",
    hint="You give the output layer the old state; give it the new one.")
wrong("the old state returned", (CELL, "new = self.cell(written, state)"),
    (SCORED, "self.output(torch.cat([new, written], dim=-1))"), lost="step",
    hint="You return the state before the step; return the new one.")
wrong("the first state at each step", (CELL, "state = self.cell(written, self.start(context))"), lost="step",
    hint="You begin each step with the first state; go on from the state that is given.")
wrong("probabilities for logits", (ANSWER, f"return {SCORED}.softmax(-1), state"), lost="step",
    hint="You return probabilities; return logits, without a softmax.")
wrong("log-probabilities for logits", (ANSWER, f"return {SCORED}.log_softmax(-1), state"), lost="step",
    hint="You return log-probabilities; return logits, without log_softmax.")
wrong("step returns the logits alone", (ANSWER, f"return {SCORED}"), lost="step",
    hint="You return the logits alone; return logits, state.")
wrong("the state first", (ANSWER, f"return state, {SCORED}"), lost="step",
    hint="You return the state first; return logits, state.")
wrong("logits with a dimension more", (ANSWER, f"return {SCORED}[:, None], state"), lost="step",
    hint="You return logits with a dimension too many; they are (batch, vocab_size).")
wrong("the batch squeezed", (ANSWER, f"return {SCORED}.squeeze(0), state"), lost="step",
    hint="You squeeze() away a batch of one; logits are (batch, vocab_size).")
wrong("the state changed in place", (CELL, "old, state = state, self.cell(written, state)\n"
    "        old.data.mul_(0.5)"), lost="step", hint="You change the state that you are given; make a new one.")
wrong("a step reads a detached context", (WRITTEN, WRITTEN.replace("context]", "context.detach()]")),
    lost="step", hint=CUT)
wrong("a step cuts off the embedding", (WRITTEN, WRITTEN.replace("(tokens)", "(tokens).detach()")),
    lost="step", hint=CUT)
wrong("a step cuts off the state", (CELL, "state = self.cell(written, state.detach())"), lost="step", hint=CUT)
wrong("a step cuts off the output layer", (SCORED,
    "F.linear(torch.cat([state, written], dim=-1), self.output.weight.detach(), self.output.bias)"),
    lost="step", hint=CUT)
wrong("dropout", (WRITTEN, "torch.cat([F.dropout(self.embedding(tokens), 0.1), context], dim=-1)"),
    lost="step", hint="You drop values at random")

# ---- forward ----
OWN = "You let each step read its own guess; with teacher forcing it reads tgt[:, t]."
wrong("reads its own guesses", ("for tokens in tgt.unbind(dim=1):", "tokens = tgt[:, 0]\n        for _ in tgt[0]:"),
    ("logits.append(after)", "logits.append(after)\n            tokens = after.argmax(-1)"), lost="forward", hint=OWN)
wrong("reads its own guesses in evaluation", (STEP,
    f"tokens = tokens if self.training or not logits else after.argmax(-1)\n            {STEP}"),
    lost="forward", hint=OWN)
wrong("the state is not handed on", (STEP, "after, _ = self.step(tokens, state, context)"), lost="forward",
    hint="You begin each step with the first state; hand the new state on.")
wrong("zeros for a first state in forward", ("state = self.start(context)",
    "state = torch.zeros_like(self.start(context))"), lost="forward",
    hint="You begin with zeros in forward; begin with start(context).")
wrong("reads the start token each time", (STEP, STEP.replace("tokens,", "tgt[:, 0],")), lost="forward",
    hint="You let each step read the start token; step t reads tgt[:, t].")
wrong("from the last token to the first", ("tgt.unbind(dim=1)", "tgt.flip(1).unbind(dim=1)"), lost="forward",
    hint="You go from the last token to the first; go from the first to the last.")
wrong("the last step only", (STACK, "logits[-1]"), lost="forward",
    hint="You return the logits of the last step; stack those of all steps.")
wrong("the last token left out", ("tgt.unbind(dim=1)", "tgt[:, :-1].unbind(dim=1)"), lost="forward",
    hint="You leave out the last token; there is a row of logits for each token of tgt.")
wrong("steps before batch", (STACK, "torch.stack(logits)"), lost="forward",
    hint="You put the steps before the batch; stack along dim=1.")
for dim in (0, 1):
    wrong(f"logits without dimension {dim} where its size is 1", (STACK, f"{STACK}.squeeze({dim})"), lost="forward",
        hint="You squeeze() away dimensions of 1; a single token keeps its own, as does a batch of one.")
wrong("detached at each step", (STEP, STEP.replace("state, context", "state.detach(), context")),
    lost="forward", hint=CUT)
wrong("starts from a detached context", ("state = self.start(context)", "state = self.start(context.detach())"),
    lost="forward", hint=CUT)
wrong("hands its steps a detached context", (STEP, STEP.replace("state, context", "state, context.detach()")),
    lost="forward", hint=CUT)
wrong("forward detaches its embeddings", (STEP,
    "written = torch.cat([self.embedding(tokens).detach(), context], dim=-1)\n"
    "            state = self.cell(written, state)\n"
    "            after = self.output(torch.cat([state, written], dim=-1))"), lost="forward", hint=CUT)
same("context], dim=--1)", "the last of two dimensions")
same("written], dim=--1)", "the last of two dimensions")
# fmt: on

# %% [markdown]
# ## Part 4: search
#
# There are more sequences than atoms in the sea. [Greedy search](book:decoding#greedy-search) writes
# the most probable token, again and again; [Beam search](book:decoding#beam-search) keeps several
# beginnings in play. All that they need of a model is a function from beginnings, one a row, to the
# logits of the next token of each. That of the tests has five words, *start*, *end*, *the*, *a* and
# *cat*: `ODDS` holds, for each, how probable each is after it, in percent. Probabilities of sentences
# are soon too small for a float: add up [log-probabilities](book:decoding#log-probabilities).

# %% setup="telegrams"
BOS, EOS = 0, 1
ODDS = [[0, 4, 50, 40, 6], [20] * 5, [0, 31, 29, 5, 35], [0, 4, 3, 3, 90], [0, 90, 4, 3, 3]]


def telegrams(tokens):
    return torch.tensor(ODDS)[tokens[:, -1]].log()


# %% solution="greedy_search" withholds="course_lib.generation.greedy_search.greedy course_lib.generation.beam_search.beam_search"
def greedy_search(next_logits, *, bos_id: int, eos_id: int, max_new_tokens: int):
    """Write the most probable token, again and again, until the end token.

    Args:
        next_logits: The model, from beginnings of sequences ``(n, len)``, int64, each with
            ``bos_id`` first, to the logits of the token after each, ``(n, vocab_size)``.
        bos_id: The start token, which is not written.
        eos_id: The end token; in some vocabularies it is the same as ``bos_id``.
        max_new_tokens: Most tokens to write, the end token among them; at least 1.

    Returns:
        The tokens written, a list of ints, the end token last if it came; and their
        log-probability all together, a float, in nats.
    """
    ### BEGIN SOLUTION
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
tokens, _ = greedy_search(telegrams, bos_id=BOS, eos_id=EOS, max_new_tokens=6)
assert_equal(tokens, [2, 4, EOS], what="tokens")  # the, cat, end
tokens, _ = greedy_search(telegrams, bos_id=BOS, eos_id=EOS, max_new_tokens=2)
assert_equal(tokens, [2, 4], what="tokens when two are allowed")
### BEGIN HIDDEN TESTS
table = 2 * torch.randn(97, 6)


def language(tokens):
    if tokens.size(1) > 30:
        raise RuntimeError("the search does not stop")
    places = torch.arange(1, tokens.size(1) + 1) ** 2
    return table[(tokens * places).sum(dim=1) % 97]


for limit in (1, 9):
    for eos_id in range(6):  # 5 is the start token too
        how = {"bos_id": 5, "eos_id": eos_id, "max_new_tokens": limit}
        tokens, _ = greedy_search(language, **how)
        assert_equal(tokens, reference.greedy_search(language, **how)[0], what="tokens")
### END HIDDEN TESTS

# %% test="greedy_search-score" points=1 read="decoding#log-probabilities"
# The log-probability is that of all tokens together, the end token among them
_, score = greedy_search(telegrams, bos_id=BOS, eos_id=EOS, max_new_tokens=6)
expected = math.log(0.5 * 0.35 * 0.9)  # the, cat, end
assert_equal(score, expected, what="log-probability", rel_tol=1e-5)
### BEGIN HIDDEN TESTS
table = 2 * torch.randn(97, 6)


def language(tokens):
    if tokens.size(1) > 30:
        raise RuntimeError("the search does not stop")
    places = torch.arange(1, tokens.size(1) + 1) ** 2
    return table[(tokens * places).sum(dim=1) % 97]


for eos_id in range(6):
    how = {"bos_id": 5, "eos_id": eos_id, "max_new_tokens": 7}
    _, score = greedy_search(language, **how)
    expected = reference.greedy_search(language, **how)[1]
    assert_equal(score, expected, what="log-probability", rel_tol=1e-5)
# Of a great many words the most probable one is improbable, too.
row = torch.zeros(5_000)
row[2] = 0.1
many = {"bos_id": BOS, "eos_id": EOS, "max_new_tokens": 90}
_, score = greedy_search(lambda tokens: row.repeat(len(tokens), 1), **many)
expected = 90 * row.log_softmax(dim=0)[2].item()
assert_equal(score, expected, what="log-probability of 90 tokens", rel_tol=1e-5)
### END HIDDEN TESTS

# %% variants="greedy_search"
# fmt: off
right("tensors all the way", '''
def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):
    if max_new_tokens <= 0:
        raise ValueError(max_new_tokens)
    tokens = torch.full((1, 1), bos_id)
    score = 0.0
    for _ in range(max_new_tokens):
        log_probabilities = F.log_softmax(next_logits(tokens), dim=-1)
        best = log_probabilities.argmax(dim=-1, keepdim=True).cpu()
        score += log_probabilities.max().item()
        tokens = torch.cat([tokens, best], dim=1)
        if best.item() == eos_id:
            break
    return tokens[0, 1:].tolist(), score
''')
right("one token, and a call of itself for the others", '''
def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):
    if max_new_tokens < 1:
        raise ValueError("at least one")

    def go_on(prefix, left):
        p = torch.softmax(next_logits(torch.tensor([prefix]))[-1].double(), dim=0).tolist()
        token = p.index(max(p))
        if token == eos_id or left == 1:
            return [token], math.log(p[token])
        rest, score = go_on(prefix + [token], left - 1)
        return [token] + rest, math.log(p[token]) + score

    return go_on([bos_id], max_new_tokens)
''')
PICK, ADD = "logits[0].log_softmax(dim=-1).max(dim=-1)", "total += float(log_probability)"
GIVEN, RETURN = "torch.tensor([[bos_id, *written]])", "return written, total"
right("a tuple of tokens", (RETURN, "return tuple(written), total"))

# ---- tokens ----
wrong("nothing where the start token is the end token", (" and written[-1:] != [eos_id]",
    " and [bos_id, *written][-1] != eos_id"), lost="tokens",
    hint="You stop at the start token where it is the end token too; stop where eos_id is written.")
wrong("end token left out", (RETURN, "return [t for t in written if t != eos_id], total"), lost="tokens",
    hint="You leave the end token out; it is a token too.")
wrong("start token written", (RETURN, "return [bos_id, *written], total"), lost="tokens",
    hint="You return the start token too; return the tokens after it.")
wrong("goes on after the end", (" and written[-1:] != [eos_id]", ""), lost="tokens",
    hint="You go on after the end token; stop there.")
wrong("no limit", ("len(written) < max_new_tokens and ", ""), lost="tokens",
    hint="You write more than max_new_tokens tokens; stop at the limit.")
wrong("one token too many", ("len(written) < max_new_tokens", "len(written) <= max_new_tokens"), lost="tokens",
    hint="You write a token too many; the end token counts too.")
wrong("one token too few", ("len(written) < max_new_tokens", "len(written) < max_new_tokens - 1"), lost="tokens",
    hint="You write a token too few; max_new_tokens of them are allowed.")
wrong("the least probable", (PICK, PICK.replace("max(", "min(")), lost="tokens",
    hint="You take the least probable token; take the most probable one.")
wrong("drawn by chance", (PICK, "logits[0].log_softmax(dim=-1)[(x := int(logits[0].softmax(-1).multinomial(1)))], x"),
    lost="tokens score", hint="You draw a token by chance; take the most probable one.")
wrong("the end token is always 1", ("!= [eos_id]", "!= [1]"), lost="tokens",
    hint="You take 1 for the end token; use eos_id.")
wrong("the start token is always 0", (GIVEN, "torch.tensor([[0, *written]])"), lost="tokens",
    hint="You take 0 for the start token; use bos_id.")
wrong("the model gets the last token alone", (GIVEN, "torch.tensor([[bos_id, *written][-1:]])"), lost="tokens",
    hint="You give the model the last token alone; give it all that is written, bos_id first.")
wrong("the model gets no start token", (GIVEN, "torch.tensor([written or [bos_id]])"), lost="tokens",
    hint="You give the model no start token; bos_id comes before all that is written.")
wrong("the model gets a flat list", (GIVEN, "torch.tensor([bos_id, *written])"), lost="tokens score",
    hint="You give the model a single dimension; tokens are (n, len), so with one beginning (1, len).")
wrong("tokens are tensors", ("written.append(int(token))", "written.append(token)"), lost="tokens",
    hint="You return tensors for tokens; int() makes a number of one.")
wrong("all tokens in one tensor", (RETURN, "return torch.tensor(written), total"), lost="tokens",
    hint="You return a tensor of tokens; tolist() makes a list of ints.")
wrong("probabilities for tokens", ("written.append(int(token))", "written.append(float(log_probability))"),
    lost="tokens score", hint="You take a probability for the token; max() gives both, the place second.")
wrong("the tokens alone", (RETURN, "return written"), lost="tokens score",
    hint="You return the tokens alone; return tokens, log-probability.")

# ---- score ----
wrong("logits added up", (PICK, "logits[0].max(dim=-1)"), lost="score",
    hint="You add up logits; log_softmax makes log-probabilities of them.")
wrong("probabilities added up", (ADD, "total += float(log_probability.exp())"), lost="score",
    hint="You add up probabilities; add up their logarithms.")
wrong("the probability", (RETURN, "return written, math.exp(total)"), lost="score",
    hint="You return the probability; return its logarithm.")
wrong("the mean", (RETURN, "return written, total / len(written)"), lost="score",
    hint="You return the mean; add up.")
wrong("the last term alone", (ADD, "total = float(log_probability)"), lost="score",
    hint="You count the last token only; add up all.")
wrong("bits for nats", (ADD, "total += float(log_probability) / math.log(2)"), lost="score",
    hint="You take the logarithm to base 2; nats are by the natural one.")
wrong("positive", (ADD, "total -= float(log_probability)"), lost="score",
    hint="You return the negative; a log-probability is at most 0.")
wrong("probabilities multiplied", ("total = 0.0", "total = 1.0"), (ADD, "total *= float(log_probability.exp())"),
    (RETURN, "return written, math.log(total)"), lost="score",
    hint="You multiply probabilities, and the product of many is 0 to a float; add up logarithms.")
wrong("log-probabilities multiplied", ("total = 0.0", "total = 1.0"), (ADD, "total *= float(log_probability)"),
    lost="score", hint="You multiply log-probabilities; add them up.")
wrong("the score is a tensor", (RETURN, "return written, torch.tensor(total)"), lost="score",
    hint="You return a tensor for the log-probability; float() makes a number of it.")
wrong("the score is NaN", (RETURN, "return written, math.nan"), lost="score",
    hint="You return NaN; look where it comes from.")
wrong("the end does not count", (ADD, "total += float(log_probability) if token != eos_id else 0.0"), lost="score",
    hint="You leave the end token out of the sum; it counts too.")
same("max(dim=-0)", "the last of one dimension")
same("logits[0].log_softmax(dim=-0)", "the last of one dimension")
same("logits[-1].log_softmax", "the last of one row")
# fmt: on

# %% [markdown]
# A beam sees further than greedy search. At each length, up to `max_new_tokens`:
#
# 1. **Extend** every beginning in play by every token. These are the *candidates*; each has the
#    log-probability of its tokens.
# 2. **Set aside.** Look at the `beam_size` most probable candidates. Those of them that end in the
#    end token are finished, and go to the results. At the last length, all of them go.
# 3. **Go on.** The `beam_size` most probable candidates that do *not* end stay in play.
#
# Stop sooner only where nothing in play can get among the best `beam_size` results. Then rank them by
# log-probability over length to the `alpha`: [Short is cheap](book:decoding#length-normalisation).


# %% solution="beam_search" withholds="course_lib.generation.greedy_search.greedy course_lib.generation.beam_search.beam_search course_lib.generation.diagnosis.score_sequences"
def beam_search(
    next_logits, *, beam_size: int, bos_id: int, eos_id: int, max_new_tokens: int, alpha: float
):
    """Look for the sequences with the highest score, log-probability over length to the alpha.

    Args:
        next_logits, bos_id, eos_id, max_new_tokens: As for ``greedy_search``.
        beam_size: Number of beginnings to keep in play.
        alpha: The power of the length, which is the number of tokens written, the end token too.

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
# A beam finds outputs that greedy search overlooks
how = {"beam_size": 2, "bos_id": BOS, "eos_id": EOS, "alpha": 0.0}
results = beam_search(telegrams, max_new_tokens=3, **how)
# "a cat end" has 0.4 * 0.9 * 0.9, more than any that begins with "the".
assert_equal(results[0][0], [3, 4, EOS], what="best tokens")
### BEGIN HIDDEN TESTS
for number in range(40):
    table = 4 * torch.rand(97, 1) * torch.randn(97, 5)

    def language(tokens, table=table):
        places = torch.arange(1, tokens.size(1) + 1) ** 2
        return table[(tokens * places).sum(dim=1) % 97]

    how = {"beam_size": 1 + number % 3, "bos_id": 4, "eos_id": number % 5, "alpha": 0.0}
    results = beam_search(language, max_new_tokens=4, **how)
    expected = reference.beam_search(language, max_new_tokens=4, **how)
    assert_equal(results[0][0], expected[0][0], what="best tokens")
### END HIDDEN TESTS

# %% test="beam_search-results" points=2 read="decoding#beam-search"
# All results come back, best first, finished or stopped by the limit
how = {"beam_size": 2, "bos_id": BOS, "eos_id": EOS, "alpha": 0.0}
results = beam_search(telegrams, max_new_tokens=2, **how)
# Two words are allowed: "a cat" has 0.36, "the cat" has 0.175.
assert_equal([tokens for tokens, _ in results], [[3, 4], [2, 4]], what="tokens")
### BEGIN HIDDEN TESTS
for number in range(40):
    table, grows = torch.randn(97, 4), number % 2

    def language(tokens, table=table, grows=grows):
        places, length = torch.arange(1, tokens.size(1) + 1) ** 2, tokens.size(1)
        ends = 4.0 * grows * (length == 2) * F.one_hot(torch.tensor(EOS), 4)
        return length**grows * table[(tokens * places).sum(dim=1) % 97] + ends

    how = {"beam_size": 2 + number % 3, "bos_id": BOS, "eos_id": EOS, "alpha": float(grows)}
    results = beam_search(language, max_new_tokens=7 if grows else 1 + number % 6, **how)
    expected = reference.beam_search(language, max_new_tokens=7 if grows else 1 + number % 6, **how)
    assert_equal([tokens for tokens, _ in results], [tokens for tokens, _ in expected])
### END HIDDEN TESTS

# %% test="beam_search-normalisation" points=1 read="decoding#length-normalisation"
# The score is the log-probability over length to the alpha, and ranks the results
how = {"beam_size": 2, "bos_id": BOS, "eos_id": EOS, "alpha": 1.0}
(tokens, score), _ = beam_search(telegrams, max_new_tokens=3, **how)
assert_equal(tokens, [3, 4, EOS], what="best tokens")
assert_equal(score, math.log(0.4 * 0.9 * 0.9) / 3, what="score", rel_tol=1e-5)
### BEGIN HIDDEN TESTS
for number in range(40):
    table = torch.randn(97, 4)

    def language(tokens, table=table):
        places, length = torch.arange(1, tokens.size(1) + 1) ** 2, tokens.size(1)
        ends = 4.0 * (length == 2) * F.one_hot(torch.tensor(EOS), 4)
        return length * table[(tokens * places).sum(dim=1) % 97] + ends  # later tokens are surer

    alpha = (0.6, 1.0, 2.0, 0.0)[number % 4]
    how = {"beam_size": 2 + number % 2, "bos_id": BOS, "eos_id": EOS, "alpha": alpha}
    results = beam_search(language, max_new_tokens=7, **how)
    expected = reference.beam_search(language, max_new_tokens=7, **how)
    assert_equal([tokens for tokens, _ in results], [tokens for tokens, _ in expected])
    scores = [score for _, score in results]
    assert_equal(scores, [score for _, score in expected], what="scores", rel_tol=1e-4)
# Scores are finite where a probability is too small for a float.
row = torch.tensor([-900.0, 0.0, -200.0, -300.0])
how = {"beam_size": 3, "bos_id": BOS, "eos_id": EOS, "alpha": 0.0}
results = beam_search(lambda tokens: row.repeat(len(tokens), 1), max_new_tokens=2, **how)
scores = [score for _, score in results]
assert_equal(scores, [0.0, -200.0, -300.0], what="scores of improbable tokens", rel_tol=1e-4)
### END HIDDEN TESTS

# %% variants="beam_search"
# fmt: off
right("tensors and topk", '''
def beam_search(next_logits, *, beam_size, bos_id, eos_id, max_new_tokens, alpha):
    tokens = torch.tensor([[bos_id]])
    totals = torch.zeros(1, dtype=torch.float64)
    found = []
    for length in range(1, max_new_tokens + 1):
        steps = torch.log_softmax(next_logits(tokens).cpu().double(), dim=-1)
        vocab_size = steps.shape[1]
        flat = (totals[:, None] + steps).reshape(-1)
        values, where = flat.topk(min(2 * beam_size, len(flat)))
        candidates = torch.cat(
            [tokens[where.div(vocab_size, rounding_mode="floor")], (where % vocab_size)[:, None]],
            dim=1,
        )
        ended = candidates[:, -1] == eos_id
        for rank in range(min(beam_size, len(values))):
            if ended[rank] or length == max_new_tokens:
                score = values[rank].item() / length**alpha
                found.append((candidates[rank, 1:].tolist(), score))
        tokens, totals = candidates[~ended][:beam_size], values[~ended][:beam_size]
    return sorted(found, key=lambda pair: -pair[1])[:beam_size]
''')
right("a dictionary of beginnings, and the model asked about one at a time", '''
def beam_search(next_logits, *, beam_size, bos_id, eos_id, max_new_tokens, alpha):
    in_play, results = {(): 0.0}, {}
    for length in range(1, max_new_tokens + 1):
        candidates = {}
        for beginning, total in in_play.items():
            logits = next_logits(torch.tensor([(bos_id,) + beginning]))[0]
            log_sum = torch.logsumexp(logits, dim=0)
            for token in range(len(logits)):
                candidates[beginning + (token,)] = total + (logits[token] - log_sum).item()
        ranked = sorted(candidates, key=candidates.get, reverse=True)
        for tokens in ranked[:beam_size]:
            if tokens[-1] == eos_id or length == max_new_tokens:
                results[tokens] = candidates[tokens] / length**alpha
        open_ones = [tokens for tokens in ranked if tokens[-1] != eos_id]
        in_play = {tokens: candidates[tokens] for tokens in open_ones[:beam_size]}
    best = sorted(results.items(), key=lambda item: item[1], reverse=True)
    return [(list(tokens), score) for tokens, score in best[:beam_size]]
''')
COUNTING = "candidates[:beam_size]"
IN_PLAY = "[c for c in candidates if c[1][-1] != eos_id][:beam_size]"
STOP = f"""{IN_PLAY}
        best_left = in_play[0][0] / max_new_tokens**alpha
        if len(results) >= beam_size and sorted(results)[-beam_size][0] >= best_left:
            break"""
RETURN = "[(tokens, score) for score, tokens in results[:beam_size]]"
ENDS, SCORE = "tokens[-1] == eos_id or length == max_new_tokens", "total / length**alpha"
SORT = "    results.sort(reverse=True)\n"
right("stops where nothing in play can win", (IN_PLAY, STOP))
right("tuples of tokens", (RETURN, RETURN.replace("(tokens,", "(tuple(tokens),")))

# ---- best ----
START = "You leave the start token in; return the tokens after it."
wrong("a beam of one", (IN_PLAY, "[c for c in candidates if c[1][-1] != eos_id][:1]"), lost="best",
    hint="You keep one beginning in play; keep beam_size of them.")
wrong("finished outputs are extended", (IN_PLAY, COUNTING), lost="results",
    hint="You extend finished outputs; an output that ends leaves the beam.")
wrong("the end token is always 1", ("tokens[-1] == eos_id", "tokens[-1] == 1"),
    ("c[1][-1] != eos_id", "c[1][-1] != 1"), lost="best",
    hint="You take 1 for the end token; use eos_id.")
wrong("the start token is always 0", ("[[bos_id, *written]", "[[0, *written]"), lost="best",
    hint="You take 0 for the start token; use bos_id.")
wrong("the model gets no start token", ("[bos_id, *written]", "(written or [bos_id])"), lost="best",
    hint="You give the model no start token; bos_id comes before all that is written.")
wrong("the model gets the last token alone", ("[bos_id, *written]", "[bos_id, *written][-1:]"), lost="best",
    hint="You give the model the last token alone; give it all that is written, bos_id first.")
wrong("start token written", (RETURN, RETURN.replace("(tokens,", "([bos_id, *tokens],")), lost="best", hint=START)
wrong("end token left out", (RETURN, RETURN.replace("(tokens,", "([t for t in tokens if t != eos_id],")),
    lost="best", hint="You leave the end token out; it is a token too.")
wrong("one step too few", ("range(1, max_new_tokens + 1)", "range(1, max_new_tokens)"), lost="best",
    hint="You take a step too few; lengths go from 1 to max_new_tokens.")
wrong("tokens counted over all rows", ("for token, term in enumerate(terms)",
    "for token, term in enumerate(terms, start=len(terms) * in_play.index((total, written)))"), lost="best",
    hint="You count tokens over all rows; a token is its place in a row of logits.")
wrong("tokens are floats", (RETURN, RETURN.replace("(tokens,", "([*map(float, tokens)],")), lost="best",
    hint="You return floats for tokens; they are ints.")

# ---- results ----
ROOM = "You let finished outputs take room; the beam_size best that do not end stay in play."
SOON = "You stop too soon; an output in play could still get among the results."
LAST = "You leave out the outputs that the limit stops; at the last length, the beam_size best candidates all go."
wrong("finished outputs take room", (IN_PLAY,
    f"[c for c in {COUNTING} if c[1][-1] != eos_id]\n        if not in_play:\n            break"),
    lost="results", hint=ROOM)
wrong("the first that is finished takes no room", (IN_PLAY,
    "[c for c in candidates[: beam_size + 1] if c[1][-1] != eos_id][:beam_size]\n"
    "        if not in_play:\n            break"), lost="results", hint=ROOM)
wrong("stops where all of the best end", (IN_PLAY,
    f"{IN_PLAY}\n        if all(c[1][-1] == eos_id for c in {COUNTING}):\n            break"), lost="normalisation", hint=SOON)
wrong("stops when the beam is full of results", (IN_PLAY,
    f"{IN_PLAY}\n        if len(results) >= beam_size:\n            break"), lost="results", hint=SOON)
wrong("stops when nothing can beat the best", (IN_PLAY,
    f"{IN_PLAY}\n        best_left = in_play[0][0] / max_new_tokens**alpha\n"
    "        if results and max(results)[0] >= best_left:\n            break"), lost="results", hint=SOON)
wrong("every ending counts", (f"for total, tokens in {COUNTING}:", "for total, tokens in candidates:"),
    lost="results", hint="You set every ending aside; it counts only if it is among the best beam_size.")
wrong("every ending counts, unfinished ones at the limit", (f"for total, tokens in {COUNTING}:",
    "for total, tokens in (c for i, c in enumerate(candidates) if i < beam_size or c[1][-1] == eos_id):"),
    lost="results", hint="You set every ending aside; it counts only if it is among the best beam_size.")
wrong("nothing unfinished at the limit", (ENDS, "tokens[-1] == eos_id"), lost="results", hint=LAST)
wrong("unfinished ones only where fewer than beam_size have ended", (ENDS,
    "tokens[-1] == eos_id or length == max_new_tokens and len(results) < beam_size"), lost="results", hint=LAST)
wrong("unfinished ones only where fewer have ended, added at the end", (ENDS, "tokens[-1] == eos_id"),
    (SORT, "    if len(results) < beam_size:\n"
     f"        results += [(total / max_new_tokens**alpha, x) for total, x in in_play]\n{SORT}"),
    lost="results", hint=LAST)
wrong("nothing finished before the limit", (ENDS, "length == max_new_tokens"), lost="results",
    hint="You set nothing aside before the last length; an output that ends goes to the results.")
wrong("worst first", (SORT, "    results.sort()\n"), lost="results",
    hint="You return the worst first; sort by score, best first.")
wrong("unsorted results", (SORT, ""), lost="results", hint="You return results in no order; sort them, best first.")
wrong("cut off before they are sorted", (SORT, f"    results = results[:beam_size]\n{SORT}"), lost="results",
    hint="You cut the results off before you sort them; sort first.")
wrong("one result only", (RETURN, RETURN.replace("[:beam_size]", "[:1]")), lost="results",
    hint="You return one result; return the best beam_size.")
wrong("too many results", (RETURN, RETURN.replace("[:beam_size]", "")), lost="results",
    hint="You return all results; return the best beam_size.")
wrong("scores before tokens", (RETURN, RETURN.replace("(tokens, score)", "(score, tokens)")), lost="results",
    hint="You put the score first; a result is a pair of tokens and score.")
wrong("tokens without scores", (RETURN, "[tokens for _, tokens in results[:beam_size]]"), lost="results",
    hint="You return tokens without scores; a result is a pair of tokens and score.")
wrong("tokens are tensors", (RETURN, RETURN.replace("(tokens,", "([*map(torch.tensor, tokens)],")), lost="results",
    hint="You return tensors for tokens; int() makes a number of one.")

MANY = "You keep too many beginnings; keep the beam_size best of all candidates."
wrong("nothing is dropped", (IN_PLAY, "[c for c in candidates if c[1][-1] != eos_id]"), lost="results", hint=MANY)
wrong("the best of each beginning", (IN_PLAY,
    "[]\n        kept = {}\n        for c in candidates:\n"
    "            group = kept.setdefault(tuple(c[1][:-1]), [])\n"
    "            if c[1][-1] != eos_id and len(group) < beam_size:\n"
    "                group.append(c)\n                in_play.append(c)"), lost="results",
    hint="You keep beam_size beginnings of each; keep the beam_size best of all candidates.")

# ---- normalisation ----
EARLY = ("You stop while something in play can still grow; it can get its log-probability over "
         "max_new_tokens ** alpha.")
wrong("stops where nothing in play is better at its present length", (IN_PLAY, f"""{IN_PLAY}
        worst = sorted(results, reverse=True)[beam_size - 1 : beam_size]
        if worst and candidates[0][0] / length**alpha < worst[0][0]:
            break"""), lost="normalisation", hint=EARLY)
wrong("stops by the length so far", (IN_PLAY, STOP.replace("max_new_tokens**", "length**")),
    lost="normalisation", hint=EARLY)
wrong("stops by the bare log-probability", (IN_PLAY, STOP.replace(" / max_new_tokens**alpha", "")),
    lost="normalisation", hint=EARLY)
wrong("logits added up", (".log_softmax(dim=-1)", ""), lost="normalisation",
    hint="You add up logits; log_softmax makes log-probabilities of them.")
wrong("probabilities added up", (".log_softmax(dim=-1)", ".softmax(dim=-1)"), lost="normalisation",
    hint="You add up probabilities; add up their logarithms.")
wrong("the logarithm of softmax", (".log_softmax(dim=-1)", ".softmax(dim=-1).log()"), lost="normalisation",
    hint="You take the logarithm of softmax, which may be 0 to a float; log_softmax never takes exp alone.")
for name, score, hint in (
    ("not normalised", "total", "You rank by log-probability; divide it by length ** alpha."),
    ("divided by the length", "total / length", "You divide by the length; raise it to the power alpha first."),
    ("divided by alpha times the length", "total / (alpha * length or 1)",
     "You divide by alpha times the length; raise the length to the power alpha."),
    ("multiplied by the length", "total * length**alpha", "You multiply by length ** alpha; divide."),
    ("divided by the limit", "total / max_new_tokens**alpha",
     "You divide by max_new_tokens ** alpha; take the length of each result."),
    ("the start token counts", "total / (length + 1) ** alpha",
     "You count the start token in the length; count the tokens that are written."),
    ("the end does not count", "total / max(length - (tokens[-1] == eos_id), 1) ** alpha",
     "You leave the end token out of the length; it counts too."),
):
    wrong(name, (SCORE, score), lost="normalisation", hint=hint)
wrong("ranked before it is normalised", ("return [(tokens, score) for score",
    "results.sort(key=lambda r: r[0] * len(r[1]) ** alpha, reverse=True)\n"
    "    return [(tokens, score) for score"), lost="normalisation",
    hint="You rank before you normalise; normalise first, then sort.")
wrong("scores are tensors", (RETURN, RETURN.replace("score) for", "torch.tensor(score)) for")),
    lost="normalisation", hint="You return tensors for scores; float() makes a number of one.")
wrong("scores are NaN", (RETURN, "[(tokens, math.nan) for score, tokens in results[:beam_size]]"),
    lost="normalisation", hint="You return NaN for a score; look where it comes from.")
same("zip(in_play, steps) for", "as many rows as were asked for")
same("zip(in_play, steps, strict=False)", "as many rows as were asked for")
same("next_logits(beginnings).log_softmax(dim=--1)", "the last of two dimensions")
# fmt: on

# %% [markdown]
# [Blame the search or the model?](book:decoding#search-or-model) If the model gives a right answer,
# the **reference**, the higher score, the **search** is: it should have come back with something as
# good. If it likes the output as much or better, the **model** is, however well you search.


# %% solution="diagnose" withholds="course_lib.generation.diagnosis.diagnose course_lib.generation.diagnosis.score_sequences"
def diagnose(next_logits, *, output: list[int], reference: list[int], bos_id: int, alpha: float):
    """Say whether the search or the model is at fault for an output.

    Args:
        next_logits, bos_id, alpha: As for ``beam_search``.
        output: The tokens that a search returned, without the start token.
        reference: The tokens of a right answer, without the start token.

    Returns:
        ``(verdict, output_score, reference_score)``: a string and two floats. The verdict is
        ``"none"`` if the output is the reference, ``"search"`` if the reference has the higher
        score, ``"model"`` if it does not.
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
pair = {"output": [2, 4, EOS], "reference": [3, 4, EOS]}
_, *scores = diagnose(telegrams, bos_id=BOS, alpha=1.0, **pair)
expected = [math.log(0.5 * 0.35 * 0.9) / 3, math.log(0.4 * 0.9 * 0.9) / 3]
assert_equal(scores, expected, what="scores", rel_tol=1e-5)
### BEGIN HIDDEN TESTS
table = 2 * torch.randn(97, 7)


def language(tokens):
    places = torch.arange(1, tokens.size(1) + 1) ** 2
    return table[(tokens * places).sum(dim=1) % 97]


first, second = torch.randint(7, (3,)).tolist(), torch.randint(7, (5,)).tolist()
for pair in ((first, second), (second, first), (first, [*first])):
    for alpha in (0.0, 0.7, 1.0):
        how = {"output": pair[0], "reference": pair[1], "bos_id": 6, "alpha": alpha}
        expected = reference.diagnose(language, **how)
        assert_keeps_inputs(diagnose, language, **how)
        _, *scores = diagnose(language, **how)
        assert_equal(scores, list(expected[1:]), what="scores", rel_tol=1e-5)
# Scores are finite where a probability is too small for a float.
row = torch.tensor([-900.0, 0.0, -200.0, -300.0])
how = {"output": [2], "reference": [3], "bos_id": BOS, "alpha": 0.0}
_, *scores = diagnose(lambda tokens: row.repeat(len(tokens), 1), **how)
assert_equal(scores, [-200.0, -300.0], what="scores of improbable tokens", rel_tol=1e-5)
### END HIDDEN TESTS

# %% test="diagnose-verdict" points=1 read="decoding#search-or-model"
# The verdict names the search, the model, or neither
cat, the_cat = [3, 4, EOS], [2, 4, EOS]  # the model likes "a cat" better than "the cat"
for output, truth, expected in (
    (the_cat, cat, "search"), (cat, the_cat, "model"), (cat, [*cat], "none")
):  # fmt: skip
    verdict, *_ = diagnose(telegrams, output=output, reference=truth, bos_id=BOS, alpha=0.0)
    assert_equal(verdict, expected, what="verdict")
### BEGIN HIDDEN TESTS
odds = torch.tensor([0.01, 0.19, 0.4, 0.2, 0.1, 0.1]).log()
for output, truth, alpha in (
    ([3], [2], 0.0), ([2], [3], 0.0), ([2, 4], [2, 4], 0.0), ([2, 4], [2, 5], 0.0),
    ([4, 5], [5, 4], 0.0), ([4], [2, 2, 2], 1.0), ([4], [2, 2, 2, 2], 0.0), ([2, 3], [3, 2, 1], 0.5),
):  # fmt: skip
    how = {"output": output, "reference": truth, "bos_id": BOS, "alpha": alpha}
    verdict, *_ = diagnose(lambda tokens: odds.repeat(len(tokens), 1), **how)
    expected, *_ = reference.diagnose(lambda tokens: odds.repeat(len(tokens), 1), **how)
    assert_equal(verdict, expected, what=f"verdict on {output} and {truth}")
### END HIDDEN TESTS

# %% variants="diagnose"
# fmt: off
right("cross-entropy, which is the negative log-probability", '''
def diagnose(next_logits, *, output, reference, bos_id, alpha):
    def score(tokens):
        logits = torch.cat([
            next_logits(torch.tensor([[bos_id] + list(tokens[:t])])) for t in range(len(tokens))
        ])
        loss = F.cross_entropy(logits, torch.tensor(tokens, device=logits.device), reduction="sum")
        return -loss.item() / math.pow(len(tokens), alpha)

    mine, theirs = score(output), score(reference)
    if list(output) == list(reference):
        verdict = "none"
    else:
        verdict = "model" if mine >= theirs else "search"
    return verdict, mine, theirs
''')
right("two sums, written out", '''
def diagnose(next_logits, *, output, reference, bos_id, alpha):
    sums = {}
    for name, tokens in (("output", output), ("reference", reference)):
        prefix, sums[name] = [bos_id], 0.0
        for token in tokens:
            logits = next_logits(torch.tensor([prefix]))[0]
            sums[name] += (logits[token] - logits.logsumexp(0)).item()
            prefix.append(token)
        sums[name] /= len(tokens) ** alpha
    if tuple(output) == tuple(reference):
        return ("none", sums["output"], sums["reference"])
    if sums["reference"] > sums["output"]:
        return ("search", sums["output"], sums["reference"])
    return ("model", sums["output"], sums["reference"])
''')
right("the gap between both", (
    '    fault = "search" if reference_score > output_score else "model"\n'
    "    return fault, output_score, reference_score",
    "    gap = output_score - reference_score\n"
    '    return "model" if gap >= 0 else "search", output_score, reference_score'))
TERM = "float(next_logits(sequence[:, :t])[0].log_softmax(dim=-1)[token])"
VERDICT = '"search" if reference_score > output_score else "model"'
BOTH = "return fault, output_score, reference_score"
TOKENS, POWER = "enumerate(tokens, start=1):", "len(tokens) ** alpha"

# ---- verdict ----
wrong("search and model exchanged", (VERDICT, '"model" if reference_score > output_score else "search"'),
    lost="verdict", hint="You exchange search and model; where the model likes the reference better, the search is at fault.")
wrong("a tie blames the search", (VERDICT, '"search" if reference_score >= output_score else "model"'),
    lost="verdict", hint="You blame the search for a tie; it could not have done better, so it is the model.")
wrong("never none", ("if output == reference:", "if False:"), lost="verdict",
    hint="You find fault where the output is the reference; the verdict is none.")
wrong("none where lengths agree", ("if output == reference:", "if len(output) == len(reference):"), lost="verdict",
    hint="You compare lengths; the verdict is none where the tokens agree.")
wrong("none where scores agree", ("if output == reference:", "if output_score == reference_score:"), lost="verdict",
    hint="You say none where scores agree; compare the tokens.")
wrong("compared by length", (VERDICT, '"search" if len(reference) < len(output) else "model"'), lost="verdict",
    hint="You compare lengths; compare scores.")
wrong("compared before they are divided", (VERDICT, '"search" if reference_score * len(reference) ** alpha '
    '> output_score * len(output) ** alpha else "model"'), lost="verdict",
    hint="You compare log-probabilities; compare scores, each divided by its length ** alpha.")
wrong("verdict in capitals", ("return fault,", "return fault.upper(),"), lost="verdict",
    hint="You write the verdict in capitals; it is none, search or model.")
wrong("the verdict alone", (BOTH, "return fault"), ('return "none", output_score, reference_score', 'return "none"'),
    lost="verdict scores", hint="You return the verdict alone; return verdict, output_score, reference_score.")

# ---- scores ----
wrong("scores exchanged", (BOTH, "return fault, reference_score, output_score"), lost="scores",
    hint="You exchange the two scores; the output's comes first.")
wrong("scores taken for each other", ("output_score, reference_score = scores",
    "reference_score, output_score = scores"), lost="scores",
    hint="You exchange the two scores; the output's comes first.")
wrong("the start token is always 0", ("[[bos_id, *tokens]]", "[[0, *tokens]]"), lost="scores",
    hint="You take 0 for the start token; use bos_id.")
wrong("no scores where nothing is at fault", ("    scores = []\n",
    "    if output == reference:\n        return 'none', 0.0, 0.0\n    scores = []\n"), lost="scores",
    hint="You return no scores where nothing is at fault; they come beside each verdict.")
wrong("logits added up", (TERM, TERM.replace(".log_softmax(dim=-1)", "")), lost="scores",
    hint="You add up logits; log_softmax makes log-probabilities of them.")
wrong("probabilities added up", (TERM, TERM.replace("log_softmax", "softmax")), lost="scores",
    hint="You add up probabilities; add up their logarithms.")
wrong("the logarithm of softmax", (TERM, TERM.replace("log_softmax(dim=-1)[token]", "softmax(dim=-1)[token].log()")),
    lost="scores", hint="You take the logarithm of softmax, which may be 0 to a float; take log_softmax.")
wrong("start token put into the lists", ("sequence = torch.tensor([[bos_id, *tokens]])",
    "tokens.insert(0, bos_id)\n        sequence = torch.tensor([tokens])\n        tokens = tokens[1:]"),
    lost="scores", hint="You put bos_id into a list that is not yours; make a new list: [bos_id, *tokens].")
wrong("not normalised", (f" / {POWER}", ""), lost="scores",
    hint="You leave the length out; divide by length ** alpha.")
wrong("always divided by the length", (POWER, "len(tokens)"), lost="scores",
    hint="You divide by the length; raise it to the power alpha first.")
wrong("the start token counts in the length", (POWER, "(len(tokens) + 1) ** alpha"), lost="scores",
    hint="You count the start token in the length; count the tokens after it.")
wrong("the first token left out", (TOKENS, "list(enumerate(tokens, start=1))[1:]:"), lost="scores",
    hint="You leave out the first token; its beginning is the start token alone.")
wrong("the last token left out", (TOKENS, "list(enumerate(tokens, start=1))[:-1]:"), lost="scores",
    hint="You leave out the last token; it counts too.")
wrong("the token is told beforehand", ("sequence[:, :t]", "sequence[:, : t + 1]"), lost="scores",
    hint="You show the model the token that it is asked for; it sees those before.")
wrong("the model gets the last token alone", ("sequence[:, :t]", "sequence[:, t - 1 : t]"), lost="scores",
    hint="You give the model the last token alone; give it all before, bos_id first.")
wrong("all scores alike", ("output_score, reference_score = scores", "output_score, reference_score = 0.0, 0.0"),
    lost="scores verdict", hint="You return the same scores for all; add up the model's log-probability of each token.")
wrong("the score is the last term", ("total += float", "total = float"), lost="scores",
    hint="You count the last token only; add up all.")
wrong("scores are tensors", ("output_score, reference_score = scores",
    "output_score, reference_score = map(torch.tensor, scores)"), lost="scores",
    hint="You return tensors for scores; float() makes a number of one.")
same("[0].log_softmax(dim=-0)[token]", "the last of one dimension")
same("next_logits(sequence[:, :t])[-1]", "the last of one row")
# fmt: on

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
#    score), with the verdict of `diagnose`. "The search got worse" earns nothing here.
# 2. *Length*: a sum of negative log-probabilities favours few terms, and the remedy follows from
#    that: length normalisation, a reward for each token, or a change in training. Half a point for
#    the remedy without the reason. "Use a smaller beam" alone is no remedy.
# ### END SOLUTION

# %% [markdown]
# ## And now: carved in stone
#
# Your encoder reads the digits of a year, and your decoder learns to carve it, in ten seconds. Then
# call `carve(2025)` in a cell of your own. What does it do with 4000, or with 0?

# %% demo="delight" prints="1984  ->  MCMLXXXIV"
import matplotlib.pyplot as plt

DIGITS = ["", "a", "aa", "aaa", "ab", "b", "ba", "baa", "baaa", "ac"]
LETTERS = "..IVXLCDM"  # the first two stand for BOS and EOS


def in_roman(number):
    """Write a number as a Roman would, in token ids: the truth."""
    written = ""
    for digit, letters in zip(f"{number:04}", ("M..", "CDM", "XLC", "IVX"), strict=True):
        written += DIGITS[int(digit)].translate(str.maketrans("abc", letters))
    return [*map(LETTERS.index, written), EOS]


def read(numbers):
    """Sum up each number in a context."""
    rows = [torch.tensor([int(digit) for digit in str(number)]) for number in numbers]
    x = embedding(nn.utils.rnn.pad_sequence(rows, batch_first=True))
    return read_both_ways(x, torch.tensor([*map(len, rows)]), [cells], 64)[1]


torch.manual_seed(0)
numbers = (torch.randperm(3999) + 1).tolist()
unseen, known = numbers[:100], numbers[100:]
embedding, cells = nn.Embedding(10, 16), (GRUCell(16, 64), GRUCell(16, 64))
decoder = Decoder(len(LETTERS), d_embedding=16, d_hidden=64, d_memory=128)
optimizer = torch.optim.Adam(nn.ModuleList([embedding, *cells, decoder]).parameters(), lr=0.01)
for _ in range(300):
    batch = [known[i] for i in torch.randint(len(known), (64,))]
    targets = [torch.tensor(in_roman(number)) for number in batch]
    tgt = nn.utils.rnn.pad_sequence(targets, True, padding_value=-100)  # which does not count
    before = torch.cat([torch.full((64, 1), BOS), tgt[:, :-1].clamp(min=EOS)], dim=1)
    loss = F.cross_entropy(decoder(before, read(batch)).flatten(0, 1), tgt.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def carve(number):
    """Return all that is in the beam, the best first, and the verdict."""
    context, how = read([number]), {"bos_id": BOS, "alpha": 1.0}
    model = lambda tokens: decoder(tokens, context.expand(len(tokens), -1))[:, -1]  # noqa: E731
    results = beam_search(model, beam_size=3, eos_id=EOS, max_new_tokens=17, **how)
    fault, *_ = diagnose(model, output=results[0][0], reference=in_roman(number), **how)
    return ["".join(LETTERS[t] for t in tokens[:-1]) for tokens, _ in results], fault


right = sum(carve(number)[1] == "none" for number in unseen)
print(f"Of 100 numbers that it has never seen, it carves {right} as a Roman would.")
plt.figure(figsize=(6, 2.4)).gca().axis("off")
for line, year in enumerate((1984, 2026, 3888)):
    (stone, *others), fault = carve(year)
    print(f"{year}  ->  {stone}     also in the beam: {', '.join(others)}; at fault: {fault}")
    plt.text(0.5, 0.8 - 0.35 * line, stone, size=21, family="serif", ha="center")
plt.show()
