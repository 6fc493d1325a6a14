"""What a run leaves behind, and where.

    recipe.json          what is trained, the recipe's name, the seed
    circumstances.json   machine, versions, command
    subwords.json        the vocabulary
    state.pt             all that going on needs; see ``course_lib.checkpoint``
    weights/             the weights at each evaluation, safetensors
    model.safetensors    the averaged weights, once the run is over
    history.json         losses, thinned
    curves.svg           the same, drawn
    translations/        what the model made of a test set, a line a sentence
    summary.json         scores, time, versions, command
    README.md            the model card

A run goes on from ``state.pt``; a finished model needs no more than the recipe, the vocabulary and
``model.safetensors``.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from course_lib.recipes.run_record import keep_recipe, write_json
from course_lib.recipes.translation.presets import Recipe

_POINTS = 400  # most losses in history.json


class RunError(Exception):
    """A run that can't be begun, gone on with, or used; the message says why."""


class RunFolder:
    """The folder of one run.

    Args:
        path: It need not exist.

    Attributes:
        path: As given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def state(self) -> Path:
        """The file that going on needs."""
        return self.path / "state.pt"

    @property
    def subwords(self) -> Path:
        """The vocabulary's file."""
        return self.path / "subwords.json"

    @property
    def model(self) -> Path:
        """The averaged weights' file."""
        return self.path / "model.safetensors"

    def begin(self, preset: str, recipe: Recipe, seed: int) -> None:
        """Make the folder, or see that the run in it is this one.

        Args:
            preset: What the recipe is called.
            recipe: What is trained.
            seed: Of weights, dropout and batches.

        Raises:
            RunError: It holds another run, or can't be written.
        """
        try:
            (self.path / "weights").mkdir(parents=True, exist_ok=True)
            keep_recipe(self.path, recipe, preset=preset, seed=seed)
        except ValueError as error:
            raise RunError(f"{error} with --out, or remove this one") from error
        except OSError as error:
            raise RunError(f"{self.path} can't be written: {error.strerror}") from error

    def recipe(self) -> Recipe:
        """Read what was trained here.

        Returns:
            The recipe.

        Raises:
            RunError: There is no run, or its record is spoilt.
        """
        noted = self.read("recipe.json")
        values = {name: value for name, value in noted.items() if name not in ("preset", "seed")}
        try:
            return Recipe(**values)
        except (TypeError, ValueError) as error:
            raise RunError(f"{self.path / 'recipe.json'} is no recipe: {error}") from error

    def read(self, name: str) -> dict[str, Any]:
        """Read a JSON file.

        Args:
            name: Its name in the folder.

        Returns:
            What it holds.

        Raises:
            RunError: It is not there, or no JSON.
        """
        path = self.path / name
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise RunError(f"no run in {self.path}: {name}: {error.strerror}") from error
        except ValueError as error:
            raise RunError(f"{path} is no JSON: {error}") from error
        return found

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file, whole or not at all.

        Args:
            name: Its name in the folder.
            content: Plain data.
        """
        write_json(self.path / name, content)

    def keep_weights(self, model: nn.Module, step: int) -> None:
        """Keep the weights after some updates.

        Args:
            model: Whose.
            step: How many updates were done.
        """
        save_weights(model, self._weights_at(step))

    def kept_weights(self, step: int) -> dict[str, Tensor]:
        """Read the weights after some updates.

        Args:
            step: How many.

        Returns:
            Tensors by name.

        Raises:
            RunError: They are not there, or spoilt.
        """
        return load_weights(self._weights_at(step))

    def progress(self) -> dict[str, Any]:
        """Read how far the run has come.

        Returns:
            ``losses`` and ``gradient_norms``, one number a step; ``evaluations``, pairs of steps
            done and validation loss in nats; ``seconds`` and ``cpu_seconds``.

        Raises:
            RunError: Nothing was kept yet, or it can't be read.
        """
        if not self.state.exists():
            raise RunError(f"{self.path} has no {self.state.name}: nothing was kept yet")
        try:
            state = torch.load(self.state, map_location="cpu", weights_only=True, mmap=True)
            progress: dict[str, Any] = state["progress"]
        except Exception as error:  # torch.load has no error of its own for a file that is none
            raise RunError(f"{self.state} is no state of a run: {error}") from error
        return progress

    def write_history(self, progress: Mapping[str, Any]) -> dict[str, Any]:
        """Write losses and evaluations, the losses as means over as many steps as keep them few.

        Args:
            progress: As ``progress`` read it.

        Returns:
            What was written.
        """
        losses, norms = progress["losses"], progress["gradient_norms"]
        every = -(-len(losses) // _POINTS)
        starts = range(0, len(losses), every)
        history = {
            "steps": len(losses),
            "steps_in_a_mean": every,
            "training_loss": [round(_mean(losses[start : start + every]), 4) for start in starts],
            "gradient_norm": [round(_mean(norms[start : start + every]), 4) for start in starts],
            "validation_loss": [[step, round(value, 5)] for step, value in progress["evaluations"]],
            "unit": "nats a token; training with smoothing and dropout, validation without",
        }
        self.write("history.json", history)
        return history

    def _weights_at(self, step: int) -> Path:
        return self.path / "weights" / f"step-{step:06d}.safetensors"


def save_weights(model: nn.Module, path: Path) -> None:
    """Write a model's weights, those that are shared once, whole or not at all.

    Args:
        model: Whose.
        path: The file, safetensors.
    """
    seen: set[int] = set()
    tensors = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            tensors[name] = tensor.detach().cpu().contiguous()
        seen.add(tensor.data_ptr())
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    save_file(tensors, unfinished)
    unfinished.replace(path)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read weights.

    Args:
        path: The file, safetensors.

    Returns:
        Tensors by name.

    Raises:
        RunError: It is not there, or no safetensors.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} holds no weights: {error}") from error


def put_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model its weights; those that it shares need to be there once.

    Args:
        model: Gets them.
        weights: Tensors by name.

    Raises:
        RunError: They are of another model.
    """
    own = model.state_dict()
    pointers = {own[name].data_ptr() for name in weights if name in own}
    missing = [name for name, tensor in own.items() if tensor.data_ptr() not in pointers]
    wrong = [name for name in weights if name not in own or own[name].shape != weights[name].shape]
    if missing or wrong:
        raise RunError(
            f"these weights are of another model: {(missing + wrong)[:3]} do not fit the recipe"
        )
    model.load_state_dict(dict(weights), strict=False)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
