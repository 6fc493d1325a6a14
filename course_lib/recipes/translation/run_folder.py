"""What a run leaves behind, and where.

    recipe.json          what is trained, the recipe's name, the seed
    circumstances.json   machine, versions, command
    subwords.json        the vocabulary
    state.pt             all that going on needs; see ``course_lib.training.checkpoint``
    weights/             the weights at each evaluation, safetensors
    model.safetensors    the averaged weights, once the run is over
    history.json         losses, thinned
    curves.svg           the same, drawn
    translations/        what the model made of a test set, a line a sentence
    analysis.json        what the scores don't say, once it was asked for
    summary.json         scores, time, versions, command
    README.md            the model card

A run goes on from ``state.pt``; a finished model needs no more than the recipe, the vocabulary and
``model.safetensors``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.recipes.run_record import RunError, load_recipe, write_json, write_text
from course_lib.recipes.translation.presets import TranslationRecipe
from course_lib.recipes.weights import read_weights, save_weights

_POINTS = 400  # most losses in history.json


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

    def recipe(self) -> TranslationRecipe:
        """Read what was trained here.

        Returns:
            The recipe.

        Raises:
            RunError: There is no run, or its record is spoilt.
        """
        recipe, _ = load_recipe(self.path, TranslationRecipe, "preset", "seed")
        return recipe

    def save_weights(self, model: nn.Module, step: int) -> None:
        """Keep the weights after some updates.

        Args:
            model: Whose.
            step: How many updates were done.
        """
        save_weights(model, self._weights_at(step))

    def read_weights(self, step: int) -> dict[str, Tensor]:
        """Read the weights after some updates.

        Args:
            step: How many.

        Returns:
            Tensors by name.

        Raises:
            RunError: They are not there, or spoilt.
        """
        return read_weights(self._weights_at(step))

    def write_translations(self, split: str, translations: Sequence[str]) -> None:
        """Write what the model made of a test set.

        Args:
            split: The test set.
            translations: A line each.
        """
        write_text(self._translations_of(split), "\n".join(translations) + "\n")

    def translations(self, split: str) -> list[str]:
        """Read what the model made of a test set.

        Args:
            split: The test set.

        Returns:
            A line each.

        Raises:
            RunError: It was not evaluated on that set.
        """
        path = self._translations_of(split)
        try:
            return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except FileNotFoundError as error:
            raise RunError(f"{path} is not there: evaluate the run on {split} first") from error

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
        write_json(self.path / "history.json", history)
        return history

    def _translations_of(self, split: str) -> Path:
        return self.path / "translations" / f"{split}.txt"

    def _weights_at(self, step: int) -> Path:
        return self.path / "weights" / f"step-{step:06d}.safetensors"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
