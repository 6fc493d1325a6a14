"""What a run leaves beside its weights: files that say what was done, and what came of it."""

import dataclasses
import datetime
import json
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch

from course_lib.training import TrainingHistory

Recipe = TypeVar("Recipe")


def write_json(path: Path, data: object) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file; its folder is made if it is not there.
        data: Plain data.

    Raises:
        OSError: It can't be written; what was there before still is.
    """
    text = json.dumps(data, indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        unfinished.write_text(f"{text}\n", encoding="utf-8")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def keep_recipe(folder: Path, recipe: Any, **others: object) -> None:
    """Note what a folder's run is, or hold a run that goes on to what was noted.

    Args:
        folder: Of the run.
        recipe: A dataclass of plain values.
        others: What else decides the outcome, such as the seed.

    Raises:
        ValueError: The folder holds a run of another recipe.
    """
    path = folder / "recipe.json"
    wanted = dataclasses.asdict(recipe) | others
    if not path.exists():
        write_json(path, wanted)
        return
    noted = json.loads(path.read_text(encoding="utf-8"))
    for name in wanted.keys() | noted.keys():
        if noted.get(name) != wanted.get(name):
            raise ValueError(
                f"{folder} holds a run with {name}={noted.get(name)!r}, "
                f"this one has {wanted.get(name)!r}: name another folder"
            )


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
    changes: dict[str, object] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        current = getattr(recipe, name, None)
        if current is None:
            names = ", ".join(field.name for field in dataclasses.fields(recipe))  # type: ignore[arg-type]
            raise ValueError(f"settings must name one of {names}, got {setting!r}")
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


def circumstances(device: torch.device) -> dict[str, object]:
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


def history_data(history: TrainingHistory) -> dict[str, object]:
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
        "cpu_seconds": round(history.cpu_seconds, 1),
        "stopped_early": history.stopped_early,
    }


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
