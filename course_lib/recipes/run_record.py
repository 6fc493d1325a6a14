"""What a run leaves beside its weights: files that say what was done, and what came of it."""

import dataclasses
import datetime
import json
import math
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from course_lib.atomic_write import atomic_write
from course_lib.training.distributed import world_size
from course_lib.training.loop import TrainingHistory

Recipe = TypeVar("Recipe")


class RunError(ValueError):
    """A run that can't be begun, gone on with, or used; the message says why."""


def write_json(path: Path, data: object) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file; its folder is made if it is not there.
        data: Plain data. JSON knows no NaN and no infinity: they become ``null``.

    Raises:
        OSError: It can't be written; what was there before still is.
    """
    text = json.dumps(_finite(data), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, f"{text}\n")


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file; its folder is made if it is not there.
        text: All of it.

    Raises:
        OSError: It can't be written; what was there before still is.
    """
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of a run.

    Args:
        path: The file, in the run's folder.

    Returns:
        What it holds.

    Raises:
        RunError: It is not there, or no JSON.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"no run in {path.parent}: {path.name}: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{path} is no JSON: {error}") from error
    return found


def save_recipe(folder: Path, recipe: Any, **others: object) -> None:
    """Note what a folder's run is, or hold a run that goes on to what was noted.

    Args:
        folder: Of the run.
        recipe: A dataclass of plain values.
        others: What else decides the outcome, such as the seed.

    Raises:
        RunError: The folder holds a run of another recipe, or its record is spoilt.
        OSError: It can't be written.
    """
    path = folder / "recipe.json"
    wanted = dataclasses.asdict(recipe) | others
    if not path.exists():
        write_json(path, wanted)
        return
    noted = read_json(path)
    for name in wanted.keys() | noted.keys():
        if noted.get(name) != wanted.get(name):
            raise RunError(
                f"{folder} holds a run with {name}={noted.get(name)!r}, this one has "
                f"{wanted.get(name)!r}: name another folder, or remove this one"
            )


def load_recipe(folder: Path, kind: type[Recipe], *others: str) -> tuple[Recipe, dict[str, Any]]:
    """Read what a folder's run is.

    Args:
        folder: Of the run.
        kind: The recipe's class.
        others: Names of what else ``save_recipe`` noted.

    Returns:
        The recipe, and the others by name.

    Raises:
        RunError: There is no run, or its record is spoilt.
    """
    path = folder / "recipe.json"
    noted = read_json(path)
    try:
        found = {name: noted.pop(name) for name in others}
        return kind(**noted), found
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} is no recipe: {error}") from error


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Change some values of a recipe.

    Args:
        recipe: A dataclass whose fields are numbers, texts and truth values.
        settings: Each ``name=value``, such as ``steps=100``.

    Returns:
        The changed recipe.

    Raises:
        ValueError: A name is unknown, or a value is of another type or out of range.
    """
    names = [field.name for field in dataclasses.fields(recipe)]  # type: ignore[arg-type]
    changes: dict[str, object] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in names:
            raise ValueError(f"settings must name one of {', '.join(names)}, got {setting!r}")
        current = getattr(recipe, name)
        try:
            changes[name] = (
                {"true": True, "false": False}[text]
                if isinstance(current, bool)
                else (type(current)(text))
            )
        except (KeyError, ValueError) as error:
            kind = type(current).__name__
            raise ValueError(f"{name} must be of type {kind}, got {text!r}") from error
    return dataclasses.replace(recipe, **changes)  # type: ignore[type-var]


def environment(device: torch.device) -> dict[str, object]:
    """Say by which command, when, on what and with what a run was made.

    Args:
        device: That it ran on.

    Returns:
        Plain data.
    """
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
    """Say what was trained, how far, and what it took.

    Args:
        history: What ``train`` returned.
        model: That was trained.
        recipe: A dataclass of plain values, ``steps`` among them.
        seed: Of the run.
        device: That it ran on.

    Returns:
        Plain data.
    """
    return {
        "steps": len(history.losses),
        "finished": len(history.losses) == recipe.steps,
        "evaluations": history_data(history)["evaluations"],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "wall_seconds": round(history.seconds, 1),
        "cpu_seconds": round(history.cpu_seconds, 2),
        "processes": world_size(),
        "seed": seed,
        "recipe": dataclasses.asdict(recipe),
        **environment(device),
    }


def history_data(history: TrainingHistory) -> dict[str, Any]:
    """Give a history as plain data, to four digits behind the point.

    Args:
        history: What ``train`` returned.

    Returns:
        By field.
    """
    return {
        "losses": [round(loss, 4) for loss in history.losses],
        "gradient_norms": [round(norm, 4) for norm in history.gradient_norms],
        "evaluations": [[step, round(value, 4)] for step, value in history.evaluations],
        "seconds": round(history.seconds, 1),
        "cpu_seconds": round(history.cpu_seconds, 2),
        "stopped_early": history.stopped_early,
    }


def _finite(data: object) -> object:
    """Put None in the place of numbers that are none, such as a norm that overflowed."""
    if isinstance(data, Mapping):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _module() -> str:
    """Name the package that ``python -m`` was given."""
    specification = getattr(sys.modules["__main__"], "__spec__", None)
    return "?" if specification is None else specification.name.removesuffix(".__main__")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
