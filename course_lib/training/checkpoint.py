"""Checkpoints: a training run on disk, from which it goes on to the bit.

A checkpoint is written whole or not at all, and read without running anything that it holds.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.atomic_write import atomic_write


class CheckpointError(ValueError):
    """A checkpoint that can't be used; the message says which and why."""


def save_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Write a run's state; one that is there is replaced only by a whole new one.

    Args:
        path: The file. Its folder is made if it is not there.
        model: The model whose parameters and buffers to save.
        optimizer: The optimizer whose state to save.
        progress: Plain data about the run: numbers, texts, lists, dicts, tensors.

    Raises:
        OSError: It can't be written; the old file is left as it is.
    """
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": random_state(),
        "progress": progress,
    }
    # Given a path, torch.save would also write the temporary name into the file.
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        torch.save(state, file)


def load_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore a run's state from a checkpoint, random numbers included.

    Args:
        path: A file that ``save_checkpoint`` wrote.
        model: Gets the weights; of the same shape as the one that was saved.
        optimizer: Gets its state.

    Returns:
        The ``progress`` that was saved.

    Raises:
        CheckpointError: The file is no checkpoint, or one of another model.
    """
    try:
        # On the CPU, where AdamW counts its steps: on a GPU it would wait for each count. The model
        # and the optimizer move the tensors to their parameters.
        state = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        # Keep this optimizer's kernel (fused or not), which depends on the machine.
        for group in state["optimizer"]["param_groups"]:
            group["fused"] = optimizer.param_groups[0].get("fused")
        optimizer.load_state_dict(state["optimizer"])
        restore_random_state(state["random"])
        progress: dict[str, Any] = state["progress"]
    except OSError as error:
        raise CheckpointError(f"{path} can't be read: {error}") from error
    except Exception as error:  # torch.load has no error of its own for a file that is none
        raise CheckpointError(f"{path} is no checkpoint of this model: {error}") from error
    return progress


def random_state() -> dict[str, torch.Tensor]:
    """Return the state of PyTorch's random numbers by device, on the CPU."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, torch.Tensor]) -> None:
    """Restore what ``random_state`` returned."""
    torch.set_rng_state(state["cpu"].cpu())
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu())
