"""Recurrent networks: cells run over sequences, in both directions, in layers.

``Recurrent`` takes one step after the other, as it is taught. ``FusedRecurrent`` is the same
network in one call of PyTorch's kernels.

Dimensions: batch; len (steps); d_input; d_hidden; directions (1, or 2 if bidirectional);
num_layers.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from course_lib.validation import check_at_least

State = Tensor | tuple[Tensor, Tensor]
"""A hidden state; with the LSTM, a hidden state and a memory."""

_KERNELS: dict[type[nn.Module], Callable[..., Any]] = {
    RNNCell: torch.rnn_tanh,
    GRUCell: torch.gru,
    LSTMCell: torch.lstm,
}


class Recurrent(nn.Module):
    """Run a cell over each sequence of a batch, from zero or a given state.

    Steps beyond a sequence's length leave the state unchanged, and their outputs are zero. So
    padding does not change a sequence's outputs, and the backward direction starts at its last
    real step.

    >>> network = Recurrent(d_input=3, d_hidden=4, bidirectional=True)
    >>> outputs, final = network(torch.randn(2, 5, 3), lengths=torch.tensor([5, 2]))
    >>> outputs.shape, final.shape
    (torch.Size([2, 5, 8]), torch.Size([2, 2, 4]))

    Args:
        d_input: Width of the input at each step.
        d_hidden: Width of each cell's hidden state.
        cell: The kind of cell: ``RNNCell``, ``GRUCell`` or ``LSTMCell``.
        num_layers: Number of layers; each reads the outputs of the layer below.
        bidirectional: Whether each layer also runs from the last step to the first.
        bias: Whether the cells have biases.

    Attributes:
        cells: One cell for each layer and direction, layer by layer, forward before backward.
        num_layers: Number of layers.
        directions: 2 if bidirectional, else 1.
        d_input: Width of the input at each step.
        d_hidden: Width of each cell's hidden state.

    Raises:
        TypeError: A width or ``num_layers`` is no int, or ``cell`` no class.
        ValueError: A width or ``num_layers`` is not positive.

    Source: Schuster and Paliwal (1997), both directions; Graves et al. (2013), layers; chapter
        "Recurrent networks".
    """

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        *,
        cell: type[RNNCell] | type[GRUCell] | type[LSTMCell] = GRUCell,
        num_layers: int = 1,
        bidirectional: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_at_least(1, d_input=d_input, d_hidden=d_hidden, num_layers=num_layers)
        if not callable(cell):
            raise TypeError(f"cell must be a class such as GRUCell, got {cell!r}")
        self.num_layers = num_layers
        self.directions = 2 if bidirectional else 1
        self.d_input = d_input
        self.d_hidden = d_hidden
        self.cells = nn.ModuleList(
            cell(d_input if layer == 0 else d_hidden * self.directions, d_hidden, bias=bias)
            for layer in range(num_layers)
            for _ in range(self.directions)
        )

    def forward(
        self, x: Tensor, initial: State | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Read the sequences.

        Args:
            x: ``(batch, len, d_input)``.
            initial: The state before the first step, ``(num_layers * directions, batch,
                d_hidden)``, in the order of ``cells``; with the LSTM a pair of such tensors. Zeros
                if None.
            lengths: ``(batch,)``, integers from 1 to len: how many steps of each sequence are real.
                All of them if None.

        Returns:
            The hidden states of the top layer, ``(batch, len, directions * d_hidden)``, forward
            before backward; and the last state of every cell, in the form of ``initial``. The last
            state of a backward cell is the one at the sequence's first step.

        Raises:
            ValueError: A length is not from 1 to len, or a tensor has another shape.
            TypeError: ``lengths`` is no tensor of integers.
        """
        self._check_inputs(x, lengths)
        is_real = None  # or (batch, len), True at real steps
        if lengths is not None:
            is_real = torch.arange(x.size(1), device=x.device) < lengths.to(x.device)[:, None]
            x = x.masked_fill(~is_real[:, :, None], 0.0)  # NaN too
        state = self._initial_state(x, initial)
        states = [_each(itemgetter(index), state) for index in range(len(self.cells))]
        outputs = x
        for layer in range(self.num_layers):
            both = []
            for direction in range(self.directions):
                index = layer * self.directions + direction
                states[index], hidden = self._run(
                    self.cells[index], outputs, states[index], is_real, backward=direction == 1
                )
                both.append(hidden)
            outputs = torch.cat(both, dim=-1)  # (batch, len, directions * d_hidden)
        return outputs, _each(lambda *parts: torch.stack(parts), *states)

    def _run(
        self, cell: nn.Module, x: Tensor, state: State, is_real: Tensor | None, *, backward: bool
    ) -> tuple[State, Tensor]:
        """Run one cell over ``(batch, len, width)``; return its last state and all its outputs.

        ``is_real`` is boolean ``(batch, len)``, False at padding, or None without padding. The
        outputs are ``(batch, len, d_hidden)``.
        """
        steps = x.unbind(dim=1)  # len of (batch, width)
        hidden = list(steps)  # to be overwritten, each by (batch, d_hidden)
        for t in reversed(range(len(steps))) if backward else range(len(steps)):
            new = cell(steps[t], state)
            if is_real is not None:
                real = is_real[:, t, None]  # (batch, 1)
                new = _each(lambda a, b, real=real: torch.where(real, a, b), new, state)
            state = new
            hidden[t] = state[0] if isinstance(state, tuple) else state
        outputs = torch.stack(hidden, dim=1)  # (batch, len, d_hidden)
        if is_real is not None:
            outputs = outputs.masked_fill(~is_real[:, :, None], 0.0)
        return state, outputs

    def _check_inputs(self, x: Tensor, lengths: Tensor | None) -> None:
        """Raise the errors that ``forward`` documents for ``x`` and ``lengths``."""
        if x.dim() != 3 or 0 in x.shape:
            raise ValueError(f"x must be (batch, len, d_input), none of them 0, got {x.shape}")
        batch, length, width = x.shape
        if width != self.d_input:
            raise ValueError(f"x must have d_input={self.d_input}, got {width}")
        if lengths is None:
            return
        if not isinstance(lengths, Tensor):
            raise TypeError(f"lengths must be a tensor of integers, got {lengths!r}")
        if lengths.is_floating_point() or lengths.dtype == torch.bool:
            raise TypeError(f"lengths must hold integers, got {lengths.dtype}")
        if lengths.shape != (batch,):
            raise ValueError(f"lengths must have shape ({batch},), got {tuple(lengths.shape)}")
        if bool((lengths < 1).any()) or bool((lengths > length).any()):
            raise ValueError(f"lengths must be from 1 to {length}, got {lengths.tolist()}")

    def _initial_state(self, x: Tensor, initial: State | None) -> State:
        """Return the given state, checked, or zeros."""
        shape = (len(self.cells), x.size(0), self.d_hidden)
        has_memory = isinstance(self.cells[0], LSTMCell)
        if initial is None:
            zeros = x.new_zeros(shape)
            return (zeros, zeros) if has_memory else zeros
        if isinstance(initial, tuple) != has_memory:
            raise ValueError(
                f"initial must be {'a pair of tensors' if has_memory else 'one tensor'} for "
                f"{type(self.cells[0]).__name__}, got {type(initial).__name__}"
            )
        for given in initial if isinstance(initial, tuple) else (initial,):
            if given.shape != shape:
                raise ValueError(f"initial must have shape {shape}, got {tuple(given.shape)}")
        return initial


class FusedRecurrent(Recurrent):
    """``Recurrent``, with all steps, layers and directions in one call of a kernel.

    It has the arguments and attributes of ``Recurrent``, and their state dicts are interchangeable;
    ``cell`` must be one of the three that have kernels, or it is a ValueError. It costs what
    ``torch.nn.RNN``, ``GRU`` and ``LSTM`` cost, which call the same kernels; sequences of different
    lengths are packed first. On CUDA, cuDNN gathers the weights at each call.

    >>> slow, fast = Recurrent(3, 4, cell=LSTMCell), FusedRecurrent(3, 4, cell=LSTMCell)
    >>> x, _ = torch.randn(2, 5, 3), fast.load_state_dict(slow.state_dict())
    >>> torch.allclose(fast(x)[0], slow(x)[0], atol=1e-6)
    True

    Source: chapter "Recurrent networks".
    """

    def __init__(
        self,
        d_input: int,
        d_hidden: int,
        *,
        cell: type[RNNCell] | type[GRUCell] | type[LSTMCell] = GRUCell,
        num_layers: int = 1,
        bidirectional: bool = False,
        bias: bool = True,
    ) -> None:
        if cell not in _KERNELS:
            raise ValueError(f"cell must be RNNCell, GRUCell or LSTMCell, got {cell!r}")
        super().__init__(
            d_input,
            d_hidden,
            cell=cell,
            num_layers=num_layers,
            bidirectional=bidirectional,
            bias=bias,
        )
        self._kernel = _KERNELS[cell]
        self._bias = bias

    def forward(
        self, x: Tensor, initial: State | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Read the sequences: arguments, results and errors are those of ``Recurrent.forward``."""
        self._check_inputs(x, lengths)
        state = self._initial_state(x, initial)
        # Weights and biases, cell by cell, in the order that the kernels ask for.
        weights = [
            getattr(projection, name)
            for cell in self.cells
            for name in (["weight", "bias"] if self._bias else ["weight"])
            for projection in (cell.input_projection, cell.hidden_projection)
        ]
        # cuDNN keeps what backward needs only if it is told that this is training. There is no
        # dropout, so in evaluation too only the need for gradients matters.
        keeps = torch.is_grad_enabled()
        sizes = (self._bias, self.num_layers, 0.0, keeps, self.directions == 2)
        if lengths is None:
            outputs, *final = self._kernel(x, state, weights, *sizes, True)  # True: batch first
            return outputs, _as_state(final)

        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        assert packed.unsorted_indices is not None  # enforce_sorted=False always gives them
        state = _each(lambda part: part.index_select(1, packed.sorted_indices), state)
        data, *final = self._kernel(packed.data, packed.batch_sizes, state, weights, *sizes)
        outputs, _ = pad_packed_sequence(
            PackedSequence(
                data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
            ),
            batch_first=True,
            total_length=x.size(1),
        )  # (batch, len, directions * d_hidden)
        final_state = _each(
            lambda part: part.index_select(1, packed.unsorted_indices), _as_state(final)
        )
        return outputs, final_state


def _as_state(tensors: list[Tensor]) -> State:
    """Return a state of two tensors, hidden state and memory, or of the hidden state alone."""
    return (tensors[0], tensors[1]) if len(tensors) == 2 else tensors[0]


def _each(function: Callable[..., Tensor], *states: State) -> State:
    """Call a function with the hidden states, and for LSTMs again with the memories."""
    if isinstance(states[0], tuple):
        hidden, memory = zip(*states, strict=True)
        return function(*hidden), function(*memory)
    return function(*states)
