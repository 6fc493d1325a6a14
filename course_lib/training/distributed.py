"""Distributed data parallelism: several processes train one model, each on its own batches.

``torchrun`` starts the processes, on one machine or on several. Inside ``process_group``, ``train``
divides the batches of each update among them and averages their gradients; outside, or without
``torchrun``, there is one process.

    torchrun --nproc-per-node 2 -m course_lib.recipes.language_modelling train ...
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Generic, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

Batch = TypeVar("Batch")


@contextmanager
def process_group(device: str | None = None) -> Iterator[torch.device]:
    """Join the other processes that ``torchrun`` started; yield the device of this process.

    ``device`` is ``cpu`` or ``cuda``, a GPU of its own for each process; None takes a GPU if there
    is one. A missing GPU or another name raises a ``ValueError``.

    Source: Li et al. (2020), section 3.
    """
    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    kind = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but there is no CUDA device at hand")
    if not dist.is_torchelastic_launched():
        yield torch.device(kind)
        return
    own = torch.device(kind)
    if kind == "cuda":
        own = torch.device(kind, int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(own)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    try:
        yield own
    finally:
        dist.destroy_process_group()


def world_size() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    """Return this process's number, from 0; process 0 writes files and shows progress."""
    return dist.get_rank() if dist.is_initialized() else 0


def all_reduce_sum(tensor: Tensor) -> Tensor:
    """Return the sum of the processes' tensors."""
    if world_size() == 1:
        return tensor
    total = tensor.clone()
    dist.all_reduce(total)
    return total


def broadcast(value: float, device: torch.device) -> float:
    """Return the first process's ``value`` in all processes."""
    if world_size() == 1:
        return value
    shared = torch.tensor(value, dtype=torch.float64, device=device)
    dist.broadcast(shared, src=0)
    return shared.item()


def all_gather(tensor: Tensor, device: torch.device) -> list[Tensor]:
    """Exchange tensors on ``device``; return those of all processes, by rank, on the CPU."""
    if world_size() == 1:
        return [tensor]
    own = tensor.to(device)
    gathered = [torch.empty_like(own) for _ in range(world_size())]
    dist.all_gather(gathered, own)
    return [other.cpu() for other in gathered]


def barrier() -> None:
    """Wait for all processes."""
    if world_size() > 1:
        dist.barrier()


class _Loss(nn.Module, Generic[Batch]):
    """A model and its loss as one module, for ``DistributedDataParallel`` to wrap."""

    def __init__(
        self, model: nn.Module, compute_loss: Callable[[nn.Module, Batch], Tensor]
    ) -> None:
        super().__init__()
        self.model = model
        self.compute_loss = compute_loss

    def forward(self, batch: Batch) -> Tensor:
        return self.compute_loss(self.model, batch)


def data_parallel(
    model: nn.Module, compute_loss: Callable[[nn.Module, Batch], Tensor]
) -> Callable[[Batch], Tensor]:
    """Return a function from batch to loss whose gradient is averaged over the processes.

    ``DistributedDataParallel`` copies the first process's weights to all at the start, and
    exchanges each gradient as soon as it is computed; the loss must use every parameter.

    Source: Li et al. (2020), section 3.2.
    """
    loss = _Loss(model, compute_loss)
    return DistributedDataParallel(loss) if world_size() > 1 else loss


def no_sync(loss: Callable[[Batch], Tensor]) -> AbstractContextManager[None]:
    """Return a context in which ``backward`` of a ``data_parallel`` loss exchanges no gradients."""
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()
