"""A model's weights in a safetensors file; a tensor that several layers share is there once."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.atomic_write import atomic_write
from course_lib.recipes.run_record import RunError


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, whole or not at all.

    Args:
        model: Whose.
        path: The file; its folder is made if it is not there.

    Raises:
        OSError: It can't be written; what was there before still is.
    """
    own = model.state_dict()
    names = {_memory(tensor): name for name, tensor in reversed(own.items())}
    tensors = {  # copies: safetensors takes no views that overlap
        name: own[name].to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name in names.values()
    }
    with atomic_write(path) as unfinished:
        save_file(tensors, unfinished)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read weights.

    Args:
        path: The file.

    Returns:
        Tensors by name, on the CPU.

    Raises:
        RunError: It is not there, or no safetensors.
    """
    if not path.is_file():
        raise RunError(f"{path} is not there: train first")
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} holds no weights: {error}") from error


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model its weights; those that it shares need to be there once.

    Args:
        model: Gets them.
        weights: Tensors by name.

    Raises:
        RunError: They are of another model.
    """
    own = model.state_dict()
    given = {_memory(own[name]) for name in weights if name in own}
    missing = [name for name, tensor in own.items() if _memory(tensor) not in given]
    wrong = [name for name in weights if name not in own or own[name].shape != weights[name].shape]
    if missing or wrong:
        raise RunError(
            f"these weights are of another model: {(missing + wrong)[:3]} do not fit the recipe"
        )
    model.load_state_dict(dict(weights), strict=False)


def _memory(tensor: Tensor) -> tuple[object, ...]:
    """Say what a tensor reads: two that share a weight agree in all of it, a view does not."""
    return (
        tensor.untyped_storage().data_ptr(),
        tensor.storage_offset(),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
    )
