"""Distributed data parallelism: several processes train one model, each on its own batches.

``torchrun`` starts the processes, on one machine or on many, and tells each its number. Inside
``process_group``, ``train`` deals the batches of each update out to them and averages their
gradients; outside, or without ``torchrun``, there is one process and nothing to do.

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
    """Join the processes that ``torchrun`` started; stay alone if it did not.

    Args:
        device: ``cpu`` or ``cuda``; None takes a GPU if there is one. With GPUs each process has
            its own.

    Yields:
        The device of this process.

    Raises:
        ValueError: ``device`` is neither, or there is no GPU.

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
    own = (
        torch.device(kind, int(os.environ["LOCAL_RANK"])) if kind == "cuda" else torch.device(kind)
    )
    if own.type == "cuda":
        torch.cuda.set_device(own)
    dist.init_process_group("nccl" if own.type == "cuda" else "gloo")
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
    """Sum a tensor over the processes."""
    if world_size() == 1:
        return tensor
    total = tensor.clone()
    dist.all_reduce(total)
    return total


def broadcast(value: float, device: torch.device) -> float:
    """Return the first process's number in all of them."""
    if world_size() == 1:
        return value
    shared = torch.tensor(value, dtype=torch.float64, device=device)
    dist.broadcast(shared, src=0)
    return shared.item()


def all_gather(tensor: Tensor, device: torch.device) -> list[Tensor]:
    """Return the tensors of all processes, in order, on the CPU."""
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
    """A model with its loss, which is what ``DistributedDataParallel`` has to wrap."""

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
    """Make a loss whose gradient is averaged over the processes.

    With several processes ``DistributedDataParallel`` sends the first one's weights to all at the
    start, and each gradient as soon as it is there; every parameter must be used by the loss.

    Source: Li et al. (2020), section 3.2.
    """
    loss = _Loss(model, compute_loss)
    return DistributedDataParallel(loss) if world_size() > 1 else loss


def no_sync(loss: Callable[[Batch], Tensor]) -> AbstractContextManager[None]:
    """Return a context in which ``backward`` of a ``data_parallel`` loss sends no gradients."""
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()
