"""The folder of a run: its recipe, weights, losses and results, as files.

    recipe.json          the recipe, the seed, and other values that decide the outcome
    checkpoint.pt        the state from which the run is resumed
    model.safetensors    the trained weights
    history.json         training losses, as means over a few steps, and evaluations
    summary.json         results, time, versions, command

A translation run also has ``circumstances.json`` (machine, versions, command), ``subwords.json``
(the vocabulary), ``weights/`` (after each evaluation), ``translations/`` of test sets,
``analysis.json``, ``curves.svg`` and a model card, ``README.md``; pre-training has ``vocab.txt``,
``pretraining.json`` and ``finetuning/``, language modelling ``samples.txt``.
"""

import dataclasses
import datetime
import importlib.util
import json
import math
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.atomic_write import atomic_write
from course_lib.training.distributed import world_size
from course_lib.training.loop import TrainingHistory

Recipe = TypeVar("Recipe")

_MAX_POINTS = 400  # losses in history.json


class RunError(ValueError):
    """A run can't be started, resumed or used; the message has the reason."""


def require(*packages: str) -> None:
    """If packages are missing, exit with the command that installs them."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"This recipe needs {', '.join(missing)}. Install with:\n"
            f"    pip install {' '.join(missing)}"
        )


# ---- files ----


def write_json(path: Path, data: object) -> None:
    """Write plain data as JSON, atomically; NaN and infinity become ``null``."""
    text = json.dumps(_finite(data), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, f"{text}\n")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically; make its folder."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of a run; a missing or malformed file raises a ``RunError``."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"no run in {path.parent}: {path.name}: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{path} is no JSON: {error}") from error
    return data


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights atomically, shared tensors once."""
    own = model.state_dict()
    names = {_memory(tensor): name for name, tensor in reversed(own.items())}
    tensors = {  # copies: safetensors takes no views that overlap
        name: own[name].to("cpu", copy=True, memory_format=torch.contiguous_format)
        for name in names.values()
    }
    with atomic_write(path) as unfinished:
        save_file(tensors, unfinished)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read weights by name, on the CPU; a missing or malformed file raises a ``RunError``."""
    if not path.is_file():
        raise RunError(f"{path} is not there: train first")
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} holds no weights: {error}") from error


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load weights that ``save_weights`` wrote; those of another model raise a ``RunError``."""
    own = model.state_dict()
    given = {_memory(own[name]) for name in weights if name in own}
    missing = [name for name, tensor in own.items() if _memory(tensor) not in given]
    wrong = [name for name in weights if name not in own or own[name].shape != weights[name].shape]
    if missing or wrong:
        raise RunError(
            f"these weights are of another model: {(missing + wrong)[:3]} do not fit the recipe"
        )
    model.load_state_dict(dict(weights), strict=False)


class RunFolder:
    """The folder ``path`` of one run, which need not exist yet.

    ``checkpoint`` is the path of its training state, ``model`` that of its weights.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = path / "checkpoint.pt"
        self.model = path / "model.safetensors"

    def save_recipe(self, recipe: Any, **others: object) -> None:
        """Write ``recipe.json`` with the recipe and other values by name.

        If the folder has a run with other values, raise a ``RunError``.
        """
        path = self.path / "recipe.json"
        wanted = dataclasses.asdict(recipe) | others
        if not path.exists():
            write_json(path, wanted)
            return
        wanted, found = _flat(wanted), _flat(read_json(path))
        for name in wanted.keys() | found.keys():
            if found.get(name) != wanted.get(name):
                raise RunError(
                    f"{self.path} holds a run with {name}={found.get(name)!r}, this one has "
                    f"{wanted.get(name)!r}: name another folder, or remove this one"
                )

    def load_recipe(self, kind: type[Recipe], *others: str) -> tuple[Recipe, dict[str, Any]]:
        """Read ``recipe.json``; return a recipe of class ``kind``, and the other values by name.

        ``others`` are the names that ``save_recipe`` was given.
        """
        path = self.path / "recipe.json"
        values = read_json(path)
        try:
            found = {name: values.pop(name) for name in others}
            if "model" in values:
                values["model"] = get_type_hints(kind)["model"](**values["model"])
            return kind(**values), found
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{path} is no recipe: {error}") from error

    def weights_at(self, step: int) -> Path:
        """Return the path of the weights after ``step`` updates."""
        return self.path / "weights" / f"step-{step:06d}.safetensors"

    def translations_of(self, split: str) -> Path:
        """Return the path of the translations of a test set, one a line."""
        return self.path / "translations" / f"{split}.txt"

    def progress(self) -> dict[str, Any]:
        """Return the values of the run's ``TrainingHistory`` so far, from its checkpoint."""
        if not self.checkpoint.exists():
            raise RunError(f"{self.path} has no {self.checkpoint.name}: nothing was kept yet")
        try:
            state = torch.load(self.checkpoint, map_location="cpu", weights_only=True, mmap=True)
            progress: dict[str, Any] = state["progress"]
        except Exception as error:  # torch.load has no error of its own for a malformed file
            raise RunError(f"{self.checkpoint} is no state of a run: {error}") from error
        return progress

    def write_history(self, progress: Mapping[str, Any]) -> dict[str, Any]:
        """Write and return ``history.json``: evaluations, and losses averaged over some steps."""
        losses, norms = progress["losses"], progress["gradient_norms"]
        every = -(-len(losses) // _MAX_POINTS)
        starts = range(0, len(losses), every)
        history = {
            "steps": len(losses),
            "steps_in_a_mean": every,
            "training_loss": [round(_mean(losses[start : start + every]), 4) for start in starts],
            "gradient_norm": [round(_mean(norms[start : start + every]), 4) for start in starts],
            "validation_loss": [[step, round(value, 5)] for step, value in progress["evaluations"]],
            "unit": "nats a token; training with smoothing and dropout, validation without",
        }
        write_json(self.path / "history.json", history)
        return history


# ---- circumstances ----


def environment(device: torch.device) -> dict[str, object]:
    """Return command, date, device and versions of this run, as plain data."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return {
        "command": shlex.join(["python", "-m", _module(), *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": f"{device.type}: {name}",
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{package: _version(package) for package in ("torch", "tokenizers", "seq2seq-to-bert")},
    }


def training_record(
    history: TrainingHistory, model: nn.Module, recipe: Any, *, seed: int, device: torch.device
) -> dict[str, Any]:
    """Return steps, evaluations, model size, times, recipe and environment as plain data."""
    return {
        "steps": len(history.losses),
        "finished": len(history.losses) == recipe.steps,
        "evaluations": [[step, round(value, 4)] for step, value in history.evaluations],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "wall_seconds": round(history.seconds, 1),
        "cpu_seconds": round(history.cpu_seconds, 2),
        "processes": world_size(),
        "seed": seed,
        "recipe": dataclasses.asdict(recipe),
        **environment(device),
    }


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Return a recipe with changed values, or values of its model's config, as ``name=value``.

    An unknown name, or a value of another type or out of range, raises a ``ValueError``.
    """
    fields: Any = recipe
    model = getattr(fields, "model", None)
    current = {f.name: getattr(fields, f.name) for f in dataclasses.fields(fields)}
    current.pop("model", None)
    of_model = {} if model is None else dataclasses.asdict(model)
    known = current | of_model
    changes: dict[str, Any] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise ValueError(f"settings must name one of {', '.join(known)}, got {setting!r}")
        kind = type(known[name])
        try:
            changes[name] = {"true": True, "false": False}[text] if kind is bool else kind(text)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name} must be of type {kind.__name__}, got {text!r}") from error
    own = {name: value for name, value in changes.items() if name in current}
    if model is not None:
        config = {name: value for name, value in changes.items() if name in of_model}
        own["model"] = dataclasses.replace(model, **config)
    return dataclasses.replace(fields, **own)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe's values with the entries of its dictionary ``model`` on the same level."""
    return {name: value for name, value in values.items() if name != "model"} | dict(
        values.get("model", {})
    )


def _finite(data: object) -> object:
    """Return plain data in which None replaces NaN and infinity."""
    if isinstance(data, Mapping):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _memory(tensor: Tensor) -> tuple[object, ...]:
    """Return a key that is equal for tensors that share all of their memory."""
    return (
        tensor.untyped_storage().data_ptr(),
        tensor.storage_offset(),
        tensor.shape,
        tensor.stride(),
        tensor.dtype,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _module() -> str:
    """Return the name of the module that runs as ``python -m``, or ``?``."""
    specification = getattr(sys.modules["__main__"], "__spec__", None)
    return "?" if specification is None else specification.name.removesuffix(".__main__")


def _version(package: str) -> str:
    """Return the version of a package, or ``not installed``."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Return the name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
