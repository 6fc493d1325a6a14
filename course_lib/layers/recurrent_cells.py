"""Recurrent cells, one step of a recurrent network: the plain cell, the GRU and the LSTM.

A cell reads a vector and its own last state, and returns its next state. The letters are PyTorch's,
so that weights can be copied to and from ``torch.nn``.

Dimensions: batch; d_input (width of the input); d_hidden (width of the state).
"""

import torch
from torch import Tensor, nn

from course_lib.validation import check_at_least


class RNNCell(nn.Module):
    """The plain recurrent step, ``h' = tanh(W x + U h + b)``.

    Arguments, attributes and errors are those of ``GRUCell``, but the projections W and U have
    ``d_hidden`` outputs.

    >>> cell, hidden = RNNCell(d_input=3, d_hidden=4), torch.zeros(2, 4)
    >>> cell(torch.randn(2, 3), hidden).shape
    torch.Size([2, 4])

    Source: Elman (1990); chapter "Recurrent networks".
    """

    def __init__(self, d_input: int, d_hidden: int, *, bias: bool = True) -> None:
        super().__init__()
        check_at_least(1, d_input=d_input, d_hidden=d_hidden)
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, d_hidden, bias=bias)
        self.hidden_projection = nn.Linear(d_hidden, d_hidden, bias=bias)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Return the state after this step, with the shapes of ``GRUCell.forward``."""
        return torch.tanh(self.input_projection(x) + self.hidden_projection(hidden))


class GRUCell(nn.Module):
    """The gated recurrent unit: a reset gate forgets, an update gate limits the change of state.

    ::

        reset     r  = sigmoid(W_r x + U_r h)
        update    z  = sigmoid(W_z x + U_z h)
        candidate n  = tanh(W_n x + r * (U_n h))
        state     h' = (1 - z) * n + z * h

    As in PyTorch, the reset gate acts after the product with U_n, and an update gate near 1 keeps
    the old state. The paper resets before the product; some texts swap the two roles of z.

    >>> cell, hidden = GRUCell(d_input=3, d_hidden=4), torch.zeros(2, 4)
    >>> cell(torch.randn(2, 3), hidden).shape
    torch.Size([2, 4])

    Args:
        d_input: Width of the input.
        d_hidden: Width of the hidden state.
        bias: Whether both projections have biases.

    Attributes:
        input_projection: ``nn.Linear(d_input, 3 * d_hidden)``: W_r, W_z, W_n, one below the other.
        hidden_projection: ``nn.Linear(d_hidden, 3 * d_hidden)``: U_r, U_z, U_n likewise.
        d_hidden: Width of the hidden state.

    Raises:
        ValueError: A width is not positive.

    Source: Cho et al. (2014), section 2.3; chapter "Recurrent networks".
    """

    def __init__(self, d_input: int, d_hidden: int, *, bias: bool = True) -> None:
        super().__init__()
        check_at_least(1, d_input=d_input, d_hidden=d_hidden)
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, 3 * d_hidden, bias=bias)
        self.hidden_projection = nn.Linear(d_hidden, 3 * d_hidden, bias=bias)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """Return the state after this step, ``(batch, d_hidden)``.

        ``x`` is the input of this step, ``(batch, d_input)``; ``hidden`` is the state after the
        step before, ``(batch, d_hidden)``.
        """
        # Each (batch, 3 * d_hidden), split into three of (batch, d_hidden).
        reset_x, update_x, candidate_x = self.input_projection(x).chunk(3, dim=-1)
        reset_h, update_h, candidate_h = self.hidden_projection(hidden).chunk(3, dim=-1)
        reset = torch.sigmoid(reset_x + reset_h)
        update = torch.sigmoid(update_x + update_h)
        candidate = torch.tanh(candidate_x + reset * candidate_h)
        return (1 - update) * candidate + update * hidden


class LSTMCell(nn.Module):
    """The long short-term memory: a memory that is added to, behind three gates.

    ::

        input gate  i  = sigmoid(W_i x + U_i h)
        forget gate f  = sigmoid(W_f x + U_f h)
        candidate   g  = tanh(W_g x + U_g h)
        output gate o  = sigmoid(W_o x + U_o h)
        memory      c' = f * c + i * g
        state       h' = o * tanh(c')

    Arguments, attributes and errors are those of ``GRUCell``, but the projections have
    ``4 * d_hidden`` outputs: those of i, f, g and o, one below the other.

    >>> cell, state = LSTMCell(d_input=3, d_hidden=4), (torch.zeros(2, 4), torch.zeros(2, 4))
    >>> hidden, memory = cell(torch.randn(2, 3), state)
    >>> hidden.shape, memory.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000); chapter
        "Recurrent networks".
    """

    def __init__(self, d_input: int, d_hidden: int, *, bias: bool = True) -> None:
        super().__init__()
        check_at_least(1, d_input=d_input, d_hidden=d_hidden)
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, 4 * d_hidden, bias=bias)
        self.hidden_projection = nn.Linear(d_hidden, 4 * d_hidden, bias=bias)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return hidden state and memory after this step, each ``(batch, d_hidden)``.

        ``x`` is the input of this step, ``(batch, d_input)``; ``state`` holds hidden state and
        memory after the step before. If their shapes differ, that is a ValueError.
        """
        hidden, memory = state
        if hidden.shape != memory.shape:
            raise ValueError(
                "hidden state and memory must be of one shape, "
                f"got {tuple(hidden.shape)} and {tuple(memory.shape)}"
            )
        gates = self.input_projection(x) + self.hidden_projection(hidden)  # (batch, 4 * d_hidden)
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
        memory = torch.sigmoid(forget_gate) * memory + torch.sigmoid(input_gate) * candidate.tanh()
        hidden = torch.sigmoid(output_gate) * torch.tanh(memory)
        return hidden, memory
