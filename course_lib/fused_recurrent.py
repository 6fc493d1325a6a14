"""The recurrent network on PyTorch's kernels: the same parameters, the same numbers, faster.

Dimensions: batch; len (steps); d_input; d_hidden; directions; num_layers.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from course_lib.recurrent import Recurrent, State
from course_lib.recurrent_cells import GRUCell, LSTMCell, RNNCell

_KERNELS: dict[type[nn.Module], Callable[..., Any]] = {
    RNNCell: torch.rnn_tanh,
    GRUCell: torch.gru,
    LSTMCell: torch.lstm,
}


class FusedRecurrent(Recurrent):
    """``Recurrent``, with all steps, layers and directions in one call of a kernel.

    It is built and called like ``Recurrent``, and their state dicts are interchangeable. It costs
    what ``torch.nn.RNN``, ``GRU`` and ``LSTM`` cost, which call the same kernels; sequences of
    different lengths are packed first. On CUDA, cuDNN gathers the weights at each call.

    Args:
        d_input: Width of the input at each step.
        d_hidden: Width of each cell's hidden state.
        cell: The kind of cell: ``RNNCell``, ``GRUCell`` or ``LSTMCell``.
        num_layers: Number of layers; each reads the outputs of the layer below.
        bidirectional: Whether each layer also runs from the last step to the first.
        bias: Whether the cells have biases.

    Raises:
        ValueError: As ``Recurrent``, or ``cell`` is not one of ``RNNCell``, ``GRUCell`` and
            ``LSTMCell``.

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
            raise ValueError(f"cell must be RNNCell, GRUCell or LSTMCell, got {cell}")
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
        """Read the sequences, as ``Recurrent`` does.

        Args:
            x: ``(batch, len, d_input)``.
            initial: The state before the first step, ``(num_layers * directions, batch,
                d_hidden)``; with the LSTM a pair of such tensors. Zeros if None.
            lengths: ``(batch,)``, integers from 1 to len: how many steps of each sequence are real.
                All of them if None.

        Returns:
            The hidden states of the top layer, ``(batch, len, directions * d_hidden)``, and the
            last state of every cell, in the form of ``initial``.

        Raises:
            ValueError: A length is not from 1 to len, or a tensor has another shape.
            TypeError: ``lengths`` does not hold integers.
        """
        self._is_real(x, lengths)  # its checks
        state = self._initial_state(x, initial)
        # Weights and biases, cell by cell, in the order that the kernels ask for.
        weights = [
            getattr(projection, name)
            for cell in self.cells
            for name in (["weight", "bias"] if self._bias else ["weight"])
            for projection in (cell.input_projection, cell.hidden_projection)
        ]
        # cuDNN keeps what backward needs only if it is told that this is training. There is no
        # dropout, so in evaluation too whether gradients are wanted is what tells.
        keeps = torch.is_grad_enabled()
        sizes = (self._bias, self.num_layers, 0.0, keeps, self.directions == 2)
        if lengths is None:
            outputs, *final = self._kernel(x, state, weights, *sizes, True)  # True: batch first
            return outputs, self._as_state(final)

        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        state = self._rows(state, packed.sorted_indices)
        data, *final = self._kernel(packed.data, packed.batch_sizes, state, weights, *sizes)
        outputs, _ = pad_packed_sequence(
            PackedSequence(
                data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
            ),
            batch_first=True,
            total_length=x.size(1),
        )  # (batch, len, directions * d_hidden)
        return outputs, self._rows(self._as_state(final), packed.unsorted_indices)

    def _as_state(self, tensors: list[Tensor]) -> State:
        return (tensors[0], tensors[1]) if len(tensors) == 2 else tensors[0]

    def _rows(self, state: State, indices: Tensor | None) -> State:
        """Choose rows along the batch of ``(num_layers * directions, batch, d_hidden)``."""
        assert indices is not None  # enforce_sorted=False always gives them
        if isinstance(state, tuple):
            return state[0].index_select(1, indices), state[1].index_select(1, indices)
        return state.index_select(1, indices)
