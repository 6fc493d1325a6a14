"""Recurrent networks, written out and fused, beside ``torch.nn``'s with the same weights.

python -m benchmarks.recurrent
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.measure import Comparison, compare, devices, table
from course_lib.layers.recurrent import FusedRecurrent, Recurrent
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell

PEERS = {RNNCell: nn.RNN, GRUCell: nn.GRU, LSTMCell: nn.LSTM}
BATCH, LENGTH = 16, 30
D_INPUT, D_HIDDEN = 64, 128


def rows() -> list[Comparison]:
    """Time forward and backward of fused networks and of those with a loop in Python.

    Each kind is timed with each cell; some also with padded sequences or two layers.
    """
    found = []
    for device in devices():
        for cell in PEERS:
            found.append(row(FusedRecurrent, cell, "fused", device))
        found.append(row(FusedRecurrent, LSTMCell, "fused, lengths", device, with_lengths=True))
        found.append(row(FusedRecurrent, LSTMCell, "fused, 2 layers", device, num_layers=2))
        for cell in PEERS:
            found.append(row(Recurrent, cell, "written out", device, target=None))
        found.append(
            row(Recurrent, LSTMCell, "written out, lengths", device, with_lengths=True, target=None)
        )
    return found


def row(
    kind: type[Recurrent],
    cell: type[nn.Module],
    way: str,
    device: str,
    *,
    num_layers: int = 1,
    with_lengths: bool = False,
    target: float | None = 0.95,  # the same kernel, so 1 up to noise
) -> Comparison:
    """Time forward and backward of a bidirectional network beside ``torch.nn``'s.

    Args:
        kind: The class of our network.
        cell: The class of its cell, a key of ``PEERS``.
        way: How the network computes, in words for the row's description.
        device: ``cpu`` or ``cuda``.
        num_layers: Number of layers.
        with_lengths: Whether the sequences have different lengths.
        target: Required ratio; None for none.
    """
    torch.manual_seed(0)
    options = {"num_layers": num_layers, "bidirectional": True}
    ours = kind(D_INPUT, D_HIDDEN, cell=cell, **options).to(device)
    theirs = PEERS[cell](D_INPUT, D_HIDDEN, batch_first=True, **options).to(device)
    copy_weights(ours, theirs)
    x = torch.randn(BATCH, LENGTH, D_INPUT, device=device, requires_grad=True)
    lengths = torch.randint(5, LENGTH + 1, (BATCH,)) if with_lengths else None

    def run_theirs() -> Tensor:
        if lengths is None:
            return theirs(x)[0]
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(theirs(packed)[0], batch_first=True, total_length=LENGTH)[0]

    def run_ours() -> Tensor:
        return ours(x, lengths=lengths)[0]

    torch.testing.assert_close(run_ours(), run_theirs(), rtol=1e-4, atol=1e-4)
    name = cell.__name__.removesuffix("Cell")
    sizes = f"batch {BATCH}, {LENGTH} steps, {D_INPUT} to 2 x {D_HIDDEN}"
    return compare(
        f"{name} {way}: forward and backward, {sizes}",
        trained(ours, x, run_ours),
        f"`torch.nn.{name}`",
        trained(theirs, x, run_theirs),
        pairs=9 if kind is Recurrent else 25,
        target=target,
        device=device,
    )


def copy_weights(ours: Recurrent, theirs: nn.RNNBase) -> None:
    """Copy our weights to PyTorch's network; both list a cell's weights in the same order."""
    sources = [
        getattr(projection, name)
        for cell in ours.cells
        for name in ("weight", "bias")
        for projection in (cell.input_projection, cell.hidden_projection)
    ]
    with torch.no_grad():
        for parameter, source in zip(theirs.parameters(), sources, strict=True):
            parameter.copy_(source)


def trained(network: nn.Module, x: Tensor, run: Callable[[], Tensor]) -> Callable[[], None]:
    """Return a function that calls ``run``, then backpropagates to the parameters and to ``x``."""

    def step() -> None:
        network.zero_grad()
        x.grad = None
        run().sum().backward()

    return step


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
