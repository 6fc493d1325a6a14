"""Checkpoints: the state of a training run in a file, from which it can be resumed exactly.

A checkpoint is written atomically, and read without executing code from it.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.atomic_write import atomic_write


class CheckpointError(ValueError):
    """A checkpoint can't be used; the message has its path and the reason."""


def save_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Write model, optimizer, random state and ``progress`` to a file atomically; make its folder.

    ``progress`` is plain data about the run: numbers, strings, lists, dicts, tensors.
    """
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": random_state(),
        "progress": progress,
    }
    # Given a path, torch.save would write the temporary name into the file.
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        torch.save(state, file)


def load_checkpoint(
    path: str | Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore model, optimizer and random state from a checkpoint; return its ``progress``.

    A file that is no checkpoint, or one of another model, raises a ``CheckpointError``.
    """
    try:
        # To the CPU, where AdamW counts its steps: counting on a GPU would wait for it each time.
        # Model and optimizer move the other tensors to their parameters.
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
    except Exception as error:  # torch.load raises many kinds for a malformed file
        raise CheckpointError(f"{path} is no checkpoint of this model: {error}") from error
    return progress


def random_state() -> dict[str, torch.Tensor]:
    """Return the states of PyTorch's generators, ``cpu`` and perhaps ``cuda``, on the CPU."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, torch.Tensor]) -> None:
    """Restore the generator states that ``random_state`` returned."""
    torch.set_rng_state(state["cpu"].cpu())
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu())
