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
    """Read ``config.json`` of a folder."""
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold config.json, {folder} does not")
    return read_json_object(path)


def require(config: Mapping[str, Any], supported: Mapping[str, object], path: Path) -> None:
    """Check that settings, if given, have the one value that our model supports.

    ``path`` is their file, or the folder of their ``config.json``; the ValueError names it.
    """
    path = path / "config.json" if path.is_dir() else path
    for name, value in supported.items():
        if config.get(name, value) != value:
            raise ValueError(f"{name} in {path} must be {value!r}, got {config[name]!r}")


def rename(name: str, names: Mapping[str, str]) -> str:
    """Replace the beginning of a tensor's name: ``names`` maps regular expressions to replacements.

    A name that no pattern matches is kept, so that ``load_exactly`` reports it.
    """
    for pattern, ours in names.items():
        renamed, count = re.subn(f"^{pattern}", ours, name)
        if count:
            return renamed
    return name


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a checkpoint on the CPU, keyed by their names in the file.

    They are in ``model.safetensors``; in the shards that ``model.safetensors.index.json`` names, as
    large models are saved; or in ``pytorch_model.bin``.
    """
    for name in ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"):
        path = folder / name
        if path.is_file():
            return _read_shards(path) if path.suffix == ".json" else _read_tensor_file(path)
    raise FileNotFoundError(
        f"folder must hold model.safetensors or pytorch_model.bin, {folder} does not"
    )


def drop_repeated(tensors: dict[str, Tensor], repeated: Mapping[str, str]) -> None:
    """Remove tensors that repeat others; where the original is missing, rename the copy to it.

    ``repeated`` maps the name of each copy to that of its original. A copy that differs is a
    ``ValueError``.
    """
    for name, original in repeated.items():
        copy = tensors.pop(name, None)
        if copy is not None and not torch.equal(copy, tensors.setdefault(original, copy)):
            raise ValueError(f"{name} must equal {original}, as the model shares them; they differ")


def load_exactly(model: nn.Module, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Load tensors with the names of the model's ``state_dict()``; switch to evaluation mode.

    The model takes the tensors' dtype. A tensor that is missing, left over, of another shape or of
    integers is a ``ValueError``, which names the folder.
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


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a file of JSON that holds an object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} must be JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(content).__name__}")
    return content


def read_tokenizer_json(folder: Path | str) -> tuple[Path, dict[str, Any]]:
    """Return path and content of ``tokenizer.json``, a file of the package ``tokenizers``."""
    path = Path(folder) / "tokenizer.json"
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold tokenizer.json, {folder} does not")
    return path, read_json_object(path)


def in_order(vocab: Mapping[str, int], path: Path) -> tuple[str, ...]:
    """Return the tokens of a vocabulary in the order of their ids, which must leave no gap."""
    tokens = tuple(sorted(vocab, key=vocab.__getitem__))
    if [vocab[token] for token in tokens] != list(range(len(tokens))):
        raise ValueError(f"vocab in {path} must number its tokens from 0 on")
    return tokens


def _read_tensor_file(path: Path) -> dict[str, Tensor]:
    """Read one file of tensors; a file that holds anything else is a ValueError."""
    try:
        if path.suffix == ".safetensors":
            return dict(load_file(path))
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch.load has no error of its own for a file that is broken
        # Only one OSError, EINVAL, means a malformed file: reading a truncated one seeks below 0.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise ValueError(f"the weights in {path} must be plain tensors: {error}") from error


def _read_shards(index: Path) -> dict[str, Tensor]:
    """Read the tensors of all files that an index names."""
    weight_map = read_json_object(index).get("weight_map")
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
