"""Fine-tuning: a pre-trained model and the same model with random weights, on the same tasks.

``finetuning/`` in the run's folder has a file for each task, start (pre-trained or random weights)
and seed; ``summary.json`` has their means, and the gains of pre-training.
"""

import dataclasses
import functools
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.bert_pretraining import join_sentences
from course_lib.data.corpora.readers import MinimalPair, read_banking77, read_blimp
from course_lib.models.bert_heads import BertForPreTraining, BertForSequenceClassification
from course_lib.recipes.pretraining_data import (
    CachedTokenizer,
    Example,
    LabelledBatch,
    PretrainingRecipe,
    collate,
    length_of,
)
from course_lib.recipes.run_folder import (
    RunFolder,
    environment,
    load_weights,
    read_json,
    read_weights,
    write_json,
)
from course_lib.recipes.training_recipe import EpochBatches
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.training.loop import TrainingConfig, train
from course_lib.training.schedules import warmup_cosine
from course_lib.validation import check_at_least

Start = Literal["pre-trained", "random"]
STARTS: tuple[Start, ...] = ("pre-trained", "random")
FEW = 10
"""Examples of each class in the few-shot task."""


# ---- tasks ----


class LabelledText(NamedTuple):
    """A text and its class, from 0."""

    text: str
    label: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """Texts to fine-tune on and texts to test on.

    Attributes:
        name: The task's name.
        num_labels: Number of classes.
        epochs: Epochs of fine-tuning.
        training: Texts to fine-tune on.
        test: Texts to test on.
        pairs: Whether ``test`` alternates acceptable and unacceptable sentences of pairs.
    """

    name: str
    num_labels: int
    epochs: int
    training: tuple[LabelledText, ...]
    test: tuple[LabelledText, ...]
    pairs: bool = False


def read_tasks(recipe: PretrainingRecipe) -> list[Task]:
    """Return three tasks: Banking77, Banking77 with ten questions of each intent, and BLiMP."""
    training, test = read_banking77("train"), read_banking77("test")
    few = first_of_each(training, FEW)
    return [
        intents("banking77", training, test, epochs=recipe.banking_epochs),
        intents(f"banking77, {FEW} of each intent", few, test, epochs=recipe.few_shot_epochs),
        acceptability(read_blimp(), recipe),
    ]


def intents(
    name: str,
    training: Sequence[tuple[str, str]],
    test: Sequence[tuple[str, str]],
    *,
    epochs: int,
) -> Task:
    """Make a task of pairs of a text and its class; number the classes in alphabetical order.

    A class of ``test`` that is not in ``training`` raises a ``ValueError``.
    """
    numbers = {label: number for number, label in enumerate(sorted({c for _, c in training}))}
    unknown = {label for _, label in test} - numbers.keys()
    if unknown:
        raise ValueError(f"test must have the classes of training, got {min(unknown)!r} too")
    parts = [
        tuple(LabelledText(text, numbers[label]) for text, label in part)
        for part in (training, test)
    ]
    return Task(name=name, num_labels=len(numbers), epochs=epochs, training=parts[0], test=parts[1])


def first_of_each(texts: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Return the first ``count`` texts of each class, with their classes, in order."""
    counts: Counter[str] = Counter()
    first = []
    for text, label in texts:
        counts[label] += 1
        if counts[label] <= count:
            first.append((text, label))
    return first


def acceptability(pairs: Sequence[MinimalPair], recipe: PretrainingRecipe) -> Task:
    """Make a task of single sentences of BLiMP: class 1 if acceptable, 0 if not.

    The first pairs of each paradigm are for training, the last for the test. Test pairs that share
    a sentence with the training, or have the same sentence twice, are left out.

    Source: Warstadt et al. (2019), CoLA, for the task; Warstadt et al. (2020) for the sentences.
    """
    by_paradigm: dict[str, list[MinimalPair]] = {}
    for pair in pairs:
        by_paradigm.setdefault(pair.paradigm, []).append(pair)
    training = [p for group in by_paradigm.values() for p in group[: recipe.blimp_training_pairs]]
    test = [p for group in by_paradigm.values() for p in group[-recipe.blimp_test_pairs :]]
    trained_on = {sentence for pair in training for sentence in (pair.good, pair.bad)}
    fresh = [p for p in test if p.good != p.bad and not trained_on & {p.good, p.bad}]
    return Task(
        name="blimp",
        num_labels=2,
        epochs=recipe.blimp_epochs,
        training=_sentences(training),
        test=_sentences(fresh),
        pairs=True,
    )


def _sentences(pairs: Sequence[MinimalPair]) -> tuple[LabelledText, ...]:
    """Return the sentences of pairs: a good one with class 1, its bad one with class 0, ..."""
    both = [(LabelledText(pair.good, 1), LabelledText(pair.bad, 0)) for pair in pairs]
    return tuple(itertools.chain.from_iterable(both))


# ---- fine-tuning ----


class Score(NamedTuple):
    """A model's accuracy on a task's test texts.

    Attributes:
        accuracy: Share of texts classified correctly, 0 to 1.
        pair_accuracy: Share of pairs in which the acceptable sentence scores higher, 0 to 1; None
            if the task has no pairs.
    """

    accuracy: float
    pair_accuracy: float | None


def run_finetuning(
    recipe: PretrainingRecipe,
    path: Path,
    tasks: Sequence[Task],
    *,
    seeds: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Fine-tune on each task from pre-trained and random weights; return the summary.

    ``seeds`` is the number of seeds; each task is learned from both starts with each.

    Results in the folder are not computed again. A folder without a pre-trained model, or with
    results of other settings, raises a ``RunError``.
    """
    check_at_least(1, seeds=seeds)
    results = path / "finetuning"
    RunFolder(results).save_recipe(recipe)
    # Seed by seed, so that a stopped run can compare both starts in all tasks.
    for seed, task, start in itertools.product(range(seeds), tasks, STARTS):
        name = re.sub(r"\W+", "-", f"{task.name} {start} {seed}")
        result_path = results / f"{name}.json"
        if not result_path.exists():
            result = fine_tune(
                task, start, recipe, path, seed=seed, device=device, progress=progress
            )
            write_json(result_path, result)
        write_json(path / "summary.json", summarise(path, recipe, device))
    return read_json(path / "summary.json")


def fine_tune(
    task: Task,
    start: Start,
    recipe: PretrainingRecipe,
    path: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Fine-tune once, from the weights of the run at ``path`` or random ones.

    Return scores, times and settings by name.
    """
    pretrained = load_pretrained(path, recipe, device)
    vocabulary = Vocabulary.read(path / "vocab.txt")
    words = CachedTokenizer(vocabulary)
    training, test = (
        [label_example(text, words, vocabulary, recipe.model.max_length) for text in part]
        for part in (task.training, task.test)
    )
    batches = EpochBatches(training, length_of, max_tokens=recipe.finetuning_tokens, seed=seed)
    steps = task.epochs * batches.per_epoch

    torch.manual_seed(seed)
    model = BertForSequenceClassification(pretrained.bert.config, task.num_labels).to(device)
    if start == "pre-trained":
        model.bert.load_state_dict(pretrained.bert.state_dict())
    history = train(
        model,
        lambda number: collate(batches.draw(number), device),
        label_loss,
        TrainingConfig(
            steps=steps,
            learning_rate=recipe.finetuning_rate,
            weight_decay=recipe.weight_decay,
            precision=recipe.precision,
        ),
        schedule=functools.partial(
            warmup_cosine, warmup_steps=max(1, steps // 10), total_steps=steps + 1
        ),
        progress=progress,
    )
    score = score_model(model, test, recipe, device, pairs=task.pairs)
    return {
        "task": task.name,
        "start": start,
        "seed": seed,
        **score._asdict(),
        "training_texts": len(training),
        "test_texts": len(test),
        "epochs": task.epochs,
        "steps": steps,
        "last_losses": [round(loss, 4) for loss in history.losses[-5:]],
        "finetuning_rate": recipe.finetuning_rate,
        "wall_seconds": round(history.seconds, 1),
        "cpu_seconds": round(history.cpu_seconds, 1),
        **environment(device),
    }


def load_pretrained(
    path: Path, recipe: PretrainingRecipe, device: torch.device
) -> BertForPreTraining:
    """Return the pre-trained model of a finished run."""
    weights = read_weights(RunFolder(path).model)
    vocab_size = len(Vocabulary.read(path / "vocab.txt"))
    model = BertForPreTraining(dataclasses.replace(recipe.model, vocab_size=vocab_size))
    load_weights(model, weights)
    return model.to(device)


def label_loss(model: nn.Module, batch: LabelledBatch) -> Tensor:
    """Return the mean loss of classifying texts (nats)."""
    return F.cross_entropy(model(batch.token_ids, batch.segment_ids), batch.labels)


def label_example(
    text: LabelledText, words: CachedTokenizer, vocabulary: Vocabulary, max_length: int
) -> Example:
    """Make an example of a text, cut to ``max_length`` tokens, and its class."""
    cls_id, sep_id = vocabulary.encode(["[CLS]", "[SEP]"])
    joined = join_sentences(
        words.encode(text.text), cls_id=cls_id, sep_id=sep_id, max_length=max_length
    )
    return Example(joined, text.label)


@torch.no_grad()
def score_model(
    model: nn.Module,
    test: Sequence[Example],
    recipe: PretrainingRecipe,
    device: torch.device,
    *,
    pairs: bool,
) -> Score:
    """Score a classifier on test examples in evaluation mode; ``pairs`` is that of the ``Task``."""
    model.eval()
    size = max(1, recipe.max_tokens // recipe.model.max_length)
    logits = []
    for start in range(0, len(test), size):
        batch = collate(test[start : start + size], device)
        logits.append(model(batch.token_ids, batch.segment_ids).float().cpu())
    all_logits = torch.cat(logits)  # (texts, classes)
    labels = torch.tensor([example.label for example in test])
    pair_accuracy = None
    if pairs:
        acceptable = (all_logits[:, 1] - all_logits[:, 0]).view(-1, 2)  # (pairs, good and bad)
        pair_accuracy = (acceptable[:, 0] > acceptable[:, 1]).double().mean().item()
    return Score((all_logits.argmax(dim=-1) == labels).double().mean().item(), pair_accuracy)


def summarise(path: Path, recipe: PretrainingRecipe, device: torch.device) -> dict[str, Any]:
    """Return scores of fine-tuning by task, measure and start, the times and the recipe."""
    paths = sorted((path / "finetuning").glob("*.json"))
    results = [read_json(result) for result in paths if result.name != "recipe.json"]
    pretraining = read_json(path / "pretraining.json")
    tasks: dict[str, Any] = {}
    for name in sorted({result["task"] for result in results}):
        measures = [
            measure
            for measure in Score._fields
            if any(r["task"] == name and r[measure] is not None for r in results)
        ]
        tasks[name] = {measure: _compare(results, name, measure) for measure in measures}
    seconds = sum(r["cpu_seconds"] for r in results)
    return {
        "tasks": tasks,
        "pretraining": pretraining,
        "finetuning_cpu_seconds": round(seconds, 1),
        "total_cpu_seconds": round(pretraining["cpu_seconds"] + seconds, 1),
        "recipe": dataclasses.asdict(recipe),
        **environment(device),
    }


def _compare(results: Sequence[dict[str, Any]], task: str, measure: str) -> dict[str, Any]:
    """Summarise one measure of a task over the seeds, for each way to start.

    ``measure`` names a field of ``Score``. The keys are the starts, each with its ``_spread``, and
    ``gain``: the spread of pre-trained minus random, over the seeds that both have.
    """
    by_start = {
        start: {r["seed"]: r[measure] for r in results if r["task"] == task and r["start"] == start}
        for start in STARTS
    }
    compared: dict[str, Any] = {start: _spread(list(by_start[start].values())) for start in STARTS}
    both = by_start["pre-trained"].keys() & by_start["random"].keys()
    gains = [by_start["pre-trained"][seed] - by_start["random"][seed] for seed in sorted(both)]
    return compared | {"gain": _spread(gains)}


def _spread(values: list[float]) -> dict[str, Any]:
    """Return ``mean``, ``deviation`` (standard; None for too few) and ``values``, all rounded."""
    return {
        "mean": round(statistics.mean(values), 4) if values else None,
        "deviation": round(statistics.stdev(values), 4) if len(values) > 1 else None,
        "values": [round(value, 4) for value in values],
    }
