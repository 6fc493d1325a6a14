"""A pre-trained model's folder, as Hugging Face's hub has it: settings in JSON, and tensors.

Only plain data is read: JSON, and tensors by safetensors or ``torch.load(weights_only=True)``.
"""

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json``.

    Args:
        folder: The folder.

    Returns:
        What it says.

    Raises:
        FileNotFoundError: The folder has none.
        ValueError: It is no JSON object.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold config.json, {folder} does not")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(config).__name__}")
    return config


def require(config: Mapping[str, Any], supported: Mapping[str, object], folder: Path) -> None:
    """Refuse a model that computes something else than ours.

    Args:
        config: What ``read_config`` gave.
        supported: For each setting the one value that ours can do; a setting that is not in
            ``config`` has it.
        folder: Named in the message.

    Raises:
        ValueError: A setting has another value.
    """
    for name, value in supported.items():
        if config.get(name, value) != value:
            raise ValueError(
                f"{name} in {folder / 'config.json'} must be {value!r}, got {config[name]!r}"
            )


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read the weights, under the names that they have in the file.

    Args:
        folder: Holds ``model.safetensors``, or else ``pytorch_model.bin``.

    Returns:
        The tensors, on the CPU.

    Raises:
        FileNotFoundError: There is neither file.
        ValueError: The file is broken, or holds more than tensors.
    """
    safe, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    try:
        if safe.is_file():
            return dict(load_file(safe))
        if pickled.is_file():
            return dict(torch.load(pickled, map_location="cpu", weights_only=True))
    except Exception as error:  # torch.load has no error of its own for a file that is broken
        # Of OSErrors only this one says so: a jump to before the beginning of a file cut short.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise ValueError(f"the weights in {folder} must be plain tensors: {error}") from error
    raise FileNotFoundError(f"folder must hold {safe.name} or {pickled.name}, {folder} does not")


def drop_repeated(tensors: dict[str, Tensor], repeated: Mapping[str, str]) -> None:
    """Take out tensors that say again what others say.

    Args:
        tensors: Under their names in the file; changed in place.
        repeated: For the name of each such tensor the name of the one that it repeats. If only the
            former is there, it takes the latter's name.

    Raises:
        ValueError: Two that ours shares differ.
    """
    for name, original in repeated.items():
        copy = tensors.pop(name, None)
        if copy is not None and not torch.equal(copy, tensors.setdefault(original, copy)):
            raise ValueError(f"{name} must equal {original}, as the model shares them; they differ")


def load_exactly(model: nn.Module, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Give a model its weights, and put it into evaluation mode.

    Args:
        model: Changed in place; it takes the dtype of the tensors.
        tensors: Under the names that ``model`` has for them.
        folder: Named in messages.

    Raises:
        ValueError: The model lacks a tensor, has no place for one, or has one of another shape.
    """
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    for problem, names in (
        ("lacks", expected.keys() - tensors.keys()),
        (f"has no place in {type(model).__name__} for", tensors.keys() - expected.keys()),
    ):
        if names:
            raise ValueError(f"the checkpoint in {folder} {problem} {', '.join(sorted(names)[:4])}")
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(
                f"{name} must have shape {tuple(shape)} by config.json, "
                f"got {tuple(tensors[name].shape)}"
            )
    first = next(tensor for tensor in tensors.values() if tensor.is_floating_point())
    model.to(first.dtype).load_state_dict(tensors)
    model.eval()
