"""A run from the corpus to the averaged weights."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.data.batching import Batch
from course_lib.data.corpora.readers import read_multi30k
from course_lib.recipes.epoch_batches import EpochBatches
from course_lib.recipes.run_record import environment, save_recipe, write_json
from course_lib.recipes.translation.averaging import average_weights, best_steps
from course_lib.recipes.translation.presets import TranslationRecipe
from course_lib.recipes.translation.run_folder import RunFolder
from course_lib.recipes.translation.sentence_batches import IdPair, collate, in_order, length_of
from course_lib.recipes.translation.subwords import PAD_ID, Subwords
from course_lib.recipes.translation.translation_models import (
    batch_logits,
    build_model,
    mean_loss,
)
from course_lib.recipes.weights import load_weights, save_weights
from course_lib.training.loop import train
from course_lib.training.losses import label_smoothed_cross_entropy

_VALIDATION_TOKENS = 2048  # of a batch


def train_run(
    preset: str,
    recipe: TranslationRecipe,
    seed: int,
    folder: RunFolder,
    device: torch.device,
) -> None:
    """Train, or go on with, a run; at its end write the averaged weights.

    Args:
        preset: What the recipe is called.
        recipe: What to train.
        seed: Of weights, dropout and batches.
        folder: Where to keep it. A run that is in it goes on from its last evaluation, on the CPU
            with the same outcome to the bit as if it had never stopped.
        device: Where to train.

    Raises:
        RunError: The folder holds another run.
        OSError: The folder can't be written.
        DownloadError: The corpus could not be had.
        DivergenceError: The loss became infinite or NaN.
    """
    training_text = read_multi30k("train", recipe.src, recipe.tgt)
    validation_text = read_multi30k("val", recipe.src, recipe.tgt)
    save_recipe(folder.path, recipe, preset=preset, seed=seed)
    if folder.model.exists():
        return
    write_json(folder.path / "circumstances.json", environment(device))
    subwords = _vocabulary(folder, recipe, training_text)

    batches = EpochBatches(
        _encode(subwords, training_text, longest=recipe.max_tokens - 1),
        length_of,
        max_tokens=recipe.max_tokens,
        seed=seed,
    )
    validation = in_order(
        _encode(subwords, validation_text, longest=_VALIDATION_TOKENS - 1),
        max_tokens=_VALIDATION_TOKENS,
    )
    torch.manual_seed(seed)
    model = build_model(recipe, len(subwords)).to(device)
    if recipe.compiled:
        model.compile(dynamic=True)

    before = len(folder.progress()["evaluations"]) if folder.state.exists() else 0
    numbers = itertools.count(before + 1)

    def evaluate(trained: nn.Module) -> float:
        folder.save_weights(trained, next(numbers) * recipe.evaluate_every)
        return mean_loss(trained, validation, device)

    train(
        model,
        lambda number: collate(batches.draw(number)).to(device),
        partial(_smoothed_loss, smoothing=recipe.smoothing),
        recipe.training_config(),
        schedule=recipe.learning_rate_share,
        evaluate=evaluate,
        checkpoint=folder.state,
    )
    steps = best_steps(folder.progress()["evaluations"], recipe.averaged)
    load_weights(model, average_weights(folder.read_weights(step) for step in steps))
    save_weights(model, folder.model)


def validation_loss(
    model: nn.Module, subwords: Subwords, recipe: TranslationRecipe, device: torch.device
) -> float:
    """Measure a model on the validation set, without smoothing.

    Args:
        model: In evaluation mode.
        subwords: Its vocabulary.
        recipe: Whose languages.
        device: Where the model is.

    Returns:
        Nats a token.

    Raises:
        DownloadError: The corpus could not be had.
    """
    pairs = _encode(
        subwords, read_multi30k("val", recipe.src, recipe.tgt), longest=_VALIDATION_TOKENS - 1
    )
    return mean_loss(model, in_order(pairs, max_tokens=_VALIDATION_TOKENS), device)


def _smoothed_loss(model: nn.Module, batch: Batch, *, smoothing: float) -> Tensor:
    # Under autocast the logits are of low precision, and a sum over the vocabulary needs better.
    return label_smoothed_cross_entropy(
        batch_logits(model, batch).float(),
        batch.tgt_output,
        smoothing=smoothing,
        ignore_index=PAD_ID,
    )


def _vocabulary(
    folder: RunFolder, recipe: TranslationRecipe, pairs: Sequence[tuple[str, str]]
) -> Subwords:
    """Learn the vocabulary, or take the one that an earlier part of the run learned."""
    if folder.subwords.exists():
        return Subwords.load(folder.subwords)
    subwords = Subwords.train(
        (sentence for pair in pairs for sentence in pair), vocab_size=recipe.vocab_size
    )
    subwords.save(folder.subwords)
    return subwords


def _encode(subwords: Subwords, pairs: Sequence[tuple[str, str]], *, longest: int) -> list[IdPair]:
    """Turn pairs into ids, leaving out those that no batch can hold."""
    sides: list[Any] = [subwords.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    return [
        (src, tgt) for src, tgt in zip(*sides, strict=True) if max(len(src), len(tgt)) <= longest
    ]
