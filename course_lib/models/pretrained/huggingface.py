"""Checkpoints in Hugging Face's format: a folder with settings in JSON, and tensors.

Only plain data is read: JSON, and tensors by safetensors or ``torch.load(weights_only=True)``.
"""

import errno
import json
import re
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
    return _read_json_object(path)


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
        folder: Holds ``model.safetensors``; or ``model.safetensors.index.json`` and the shards
            that it names, as large models are saved; or ``pytorch_model.bin``.

    Returns:
        The tensors, on the CPU.

    Raises:
        FileNotFoundError: There is none of these files, or a shard is missing.
        ValueError: A file is broken, or holds more than tensors, or others than the index says.
    """
    for name in ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"):
        path = folder / name
        if path.is_file():
            return _read_shards(path) if path.suffix == ".json" else _read_tensor_file(path)
    raise FileNotFoundError(
        f"folder must hold model.safetensors or pytorch_model.bin, {folder} does not"
    )


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
        ValueError: The model lacks a tensor, has no place for one, or has one of another shape;
            or one holds integers, as quantised weights do.
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
        if not tensors[name].is_floating_point():
            raise ValueError(f"{name} must be floating-point, got {tensors[name].dtype}")
    model.to(next(iter(tensors.values())).dtype).load_state_dict(tensors)
    model.eval()


def _read_json_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(content).__name__}")
    return content


def _read_tensor_file(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return dict(load_file(path))
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch.load has no error of its own for a file that is broken
        # Of OSErrors only this one says so: a jump to before the beginning of a file cut short.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise ValueError(f"the weights in {path} must be plain tensors: {error}") from error


def _read_shards(index: Path) -> dict[str, Tensor]:
    weight_map = _read_json_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(f"weight_map in {index} must name a shard for each tensor")
    tensors: dict[str, Tensor] = {}
    for shard in dict.fromkeys(map(str, weight_map.values())):
        if not re.fullmatch(r"[\w.-]+\.safetensors", shard):  # no way out of the folder
            raise ValueError(f"a shard in {index} must be a .safetensors beside it, got {shard!r}")
        path = index.with_name(shard)
        if not path.is_file():
            raise FileNotFoundError(f"folder must hold {shard}, which {index} names; it does not")
        found = _read_tensor_file(path)
        promised = {name for name, place in weight_map.items() if place == shard}
        if found.keys() != promised:
            raise ValueError(
                f"{path} must hold the tensors that {index.name} says; they differ in "
                f"{', '.join(sorted(found.keys() ^ promised)[:4])}"
            )
        tensors |= found
    return tensors
