"""A translation run from the corpus to the averaged weights, and a translator that uses them."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.data.batching import Batch, token_batches
from course_lib.data.corpora.readers import read_multi30k
from course_lib.generation.beam_search import beam_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.recipes.run_folder import (
    RunError,
    RunFolder,
    environment,
    load_weights,
    read_weights,
    save_weights,
    write_json,
)
from course_lib.recipes.training_recipe import EpochBatches
from course_lib.recipes.translation_model import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    Subwords,
    TranslationRecipe,
    batch_logits,
    build_model,
    mean_loss,
    step_model,
)
from course_lib.training.loop import train
from course_lib.training.losses import label_smoothed_cross_entropy

IdPair = tuple[list[int], list[int]]
"""Token ids of a source and of its translation, without start and end tokens."""

_VALIDATION_TOKENS = 2048  # in a batch
_MAX_TOKENS = 1500  # in a batch of sources to translate
_MAX_LENGTH = 400  # tokens of a source, far more than any caption has


# ---- batches ----


def length_of(pair: IdPair) -> int:
    """Return a pair's length in a batch: that of its longer side with the end token."""
    src, tgt = pair
    return max(len(src), len(tgt)) + 1


def collate(pairs: Sequence[IdPair]) -> Batch:
    """Batch pairs with the recipe's padding, start and end tokens."""
    return Batch.collate(pairs, pad_id=PAD_ID, bos_id=BOS_ID, eos_id=EOS_ID)


def in_order(pairs: Sequence[IdPair], *, max_tokens: int) -> list[Batch]:
    """Divide a corpus into batches in order of length, on the CPU."""
    lengths = [length_of(pair) for pair in pairs]
    return [
        collate([pairs[index] for index in indices])
        for indices in token_batches(lengths, max_tokens=max_tokens)
    ]


# ---- averaged weights ----


def best_steps(evaluations: Sequence[tuple[int, float]], count: int) -> list[int]:
    """Return the steps of the ``count`` lowest validation losses, ascending.

    ``evaluations`` are pairs of a step and its loss.
    """
    return sorted(step for step, _ in sorted(evaluations, key=lambda pair: pair[1])[:count])


def average_weights(all_weights: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of several models' weights by name, computed in float64.

    Source: Vaswani et al. (2017), section 6.1; Polyak and Juditsky (1992).
    """
    sums: dict[str, Tensor] = {}
    dtypes = {}
    count = 0
    for weights in all_weights:
        if count == 0:
            dtypes = {name: tensor.dtype for name, tensor in weights.items()}
            sums = {name: tensor.double() for name, tensor in weights.items()}
        elif weights.keys() != sums.keys():
            raise ValueError("all_weights must have the same names")
        else:
            for name, tensor in weights.items():
                sums[name] = sums[name] + tensor.double()
        count += 1
    if count == 0:
        raise ValueError("all_weights must hold at least one set of weights, got none")
    return {name: (total / count).to(dtypes[name]) for name, total in sums.items()}


# ---- training ----


def load_run(path: Path) -> tuple[RunFolder, TranslationRecipe]:
    """Return the folder and the recipe of a run; a folder without one raises a ``RunError``."""
    folder = RunFolder(path)
    recipe, _ = folder.load_recipe(TranslationRecipe, "preset", "seed")
    return folder, recipe


def train_run(
    preset: str,
    recipe: TranslationRecipe,
    seed: int,
    path: Path,
    device: torch.device,
) -> None:
    """Train a model, or resume the run in a folder; at the end write the averaged weights.

    A run resumes from its last evaluation, on the CPU with exactly the same outcome.
    The name ``preset`` is only recorded.
    """
    training_text = read_multi30k("train", recipe.src, recipe.tgt)
    validation_text = read_multi30k("val", recipe.src, recipe.tgt)
    folder = RunFolder(path)
    folder.save_recipe(recipe, preset=preset, seed=seed)
    if folder.model.exists():
        return
    write_json(path / "circumstances.json", environment(device))
    subwords = _vocabulary(path / "subwords.json", recipe, training_text)

    batches = EpochBatches(
        _encode(subwords, training_text, max_length=recipe.max_tokens - 1),
        length_of,
        max_tokens=recipe.max_tokens,
        seed=seed,
    )
    validation = _validation_batches(subwords, validation_text)
    torch.manual_seed(seed)
    model = build_model(recipe, len(subwords)).to(device)
    if recipe.compiled:
        model.compile(dynamic=True)

    before = len(folder.progress()["evaluations"]) if folder.checkpoint.exists() else 0
    numbers = itertools.count(before + 1)

    def evaluate(trained: nn.Module) -> float:
        save_weights(trained, folder.weights_at(next(numbers) * recipe.evaluate_every))
        return mean_loss(trained, validation, device)

    train(
        model,
        lambda number: collate(batches.draw(number)).to(device),
        partial(_smoothed_loss, smoothing=recipe.smoothing),
        recipe.training_config(),
        schedule=recipe.learning_rate_share,
        evaluate=evaluate,
        checkpoint=folder.checkpoint,
    )
    steps = best_steps(folder.progress()["evaluations"], recipe.averaged)
    averaged = average_weights(read_weights(folder.weights_at(step)) for step in steps)
    load_weights(model, averaged)
    save_weights(model, folder.model)


def validation_loss(
    model: nn.Module, subwords: Subwords, recipe: TranslationRecipe, device: torch.device
) -> float:
    """Return a model's mean loss on the validation set, without smoothing (nats a token)."""
    text = read_multi30k("val", recipe.src, recipe.tgt)
    return mean_loss(model, _validation_batches(subwords, text), device)


def _validation_batches(subwords: Subwords, text: Sequence[tuple[str, str]]) -> list[Batch]:
    """Encode and batch pairs of sentences, the same way each time."""
    pairs = _encode(subwords, text, max_length=_VALIDATION_TOKENS - 1)
    return in_order(pairs, max_tokens=_VALIDATION_TOKENS)


def _smoothed_loss(model: nn.Module, batch: Batch, *, smoothing: float) -> Tensor:
    """Return the mean loss over the target tokens of a batch (nats)."""
    # Under autocast logits have low precision, and the sum over the vocabulary needs float32.
    return label_smoothed_cross_entropy(
        batch_logits(model, batch).float(),
        batch.tgt_output,
        smoothing=smoothing,
        ignore_index=PAD_ID,
    )


def _vocabulary(
    path: Path, recipe: TranslationRecipe, pairs: Sequence[tuple[str, str]]
) -> Subwords:
    """Read the vocabulary at ``path``; if there is none, learn it from pairs and write it."""
    if path.exists():
        return Subwords.load(path)
    subwords = Subwords.train(
        (sentence for pair in pairs for sentence in pair), vocab_size=recipe.model.src_vocab_size
    )
    subwords.save(path)
    return subwords


def _encode(
    subwords: Subwords, pairs: Sequence[tuple[str, str]], *, max_length: int
) -> list[IdPair]:
    """Turn pairs of sentences into ids; leave out pairs longer than ``max_length`` tokens."""
    sides: list[Any] = [subwords.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    return [
        (src, tgt) for src, tgt in zip(*sides, strict=True) if max(len(src), len(tgt)) <= max_length
    ]


# ---- translating ----


class Translator:
    """A trained model with its vocabulary, in evaluation mode on a device."""

    def __init__(
        self, model: nn.Module, subwords: Subwords, device: torch.device | str = "cpu"
    ) -> None:
        self.model = model.eval()
        self.subwords = subwords
        self._device = device

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int,
        length_alpha: float,
        on_done: Callable[[int], object] = lambda count: None,
    ) -> list[str]:
        """Translate sentences by beam search; an empty sentence has an empty translation.

        ``length_alpha`` is the exponent of the length penalty. After each batch call ``on_done``
        with its number of sentences. More than 400 tokens in a sentence raise a ``ValueError``.
        """
        sources = [[*ids, EOS_ID] for ids in self.subwords.encode(sentences)]
        translations = [""] * len(sentences)
        filled = [number for number, sentence in enumerate(sentences) if sentence.strip()]
        longest = max((len(sources[number]) for number in filled), default=0)
        if longest > _MAX_LENGTH:
            raise ValueError(f"a sentence has {longest} tokens, more than {_MAX_LENGTH}: split it")
        for chosen in _groups(filled, lambda number: len(sources[number])):
            src = torch.tensor([sources[number] for number in chosen], device=self._device)
            with torch.no_grad():
                found = beam_search(
                    step_model(self.model, src),
                    torch.full((len(chosen), 1), BOS_ID, device=self._device),
                    beam_size=beam_size,
                    eos_id=EOS_ID,
                    max_new_tokens=2 * src.size(1) + 10,
                    length_penalty=PowerPenalty(length_alpha),
                )
            for number, hypotheses in zip(chosen, found, strict=True):
                translations[number] = self.subwords.decode(hypotheses[0].tokens)
            on_done(len(chosen))
        return translations


def _groups(numbers: list[int], length_of: Callable[[int], int]) -> Iterator[list[int]]:
    """Yield batches of sentences' numbers; ``length_of`` gives the same length for all in one."""
    for length, group in itertools.groupby(sorted(numbers, key=length_of), key=length_of):
        same = list(group)
        size = max(1, _MAX_TOKENS // length)
        yield from (same[start : start + size] for start in range(0, len(same), size))


def load_translator(
    path: Path, device: torch.device | str = "cpu", *, step: int | None = None
) -> Translator:
    """Return a translator with a run's averaged weights.

    If the run is not finished, take those of its best evaluation; with ``step`` those of that step.
    """
    folder, recipe = load_run(path)
    try:
        subwords = Subwords.load(path / "subwords.json")
    except (OSError, ValueError) as error:
        raise RunError(f"{path} has no vocabulary: {error}") from error
    model = build_model(recipe, len(subwords))
    weights_path = folder.model
    if step is not None:
        weights_path = folder.weights_at(step)
    elif not folder.model.exists():
        evaluations = folder.progress()["evaluations"]
        if not evaluations:
            raise RunError(f"{path} has no weights yet: train further")
        (best,) = best_steps(evaluations, 1)  # early weights would spoil a mean
        weights_path = folder.weights_at(best)
    load_weights(model, read_weights(weights_path))
    return Translator(model.to(device), subwords, device)
