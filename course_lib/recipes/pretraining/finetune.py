"""Fine-tuning: the pre-trained model and the same one with random weights, on the same tasks.

Beside the files of ``pretrain.py`` a folder then holds ``finetuning/``, ``recipe.json`` and a file
for each task, start and seed, and ``summary.json``, their means and what pre-training gains.
"""

import dataclasses
import functools
import itertools
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.bert_pretraining import join_sentences
from course_lib.models.bert_heads import BertForSequenceClassification
from course_lib.recipes.epoch_batches import EpochBatches
from course_lib.recipes.pretraining.batches import Example, LabelledBatch, collate, length_of
from course_lib.recipes.pretraining.presets import PretrainingRecipe
from course_lib.recipes.pretraining.pretrain import load_pretrained
from course_lib.recipes.pretraining.tasks import LabelledText, Task
from course_lib.recipes.pretraining.texts import CachedTokenizer
from course_lib.recipes.run_record import (
    environment,
    history_data,
    read_json,
    save_recipe,
    write_json,
)
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece
from course_lib.training.loop import TrainingConfig, train
from course_lib.training.schedules import warmup_cosine
from course_lib.validation import check_at_least

Start = Literal["pre-trained", "random"]
STARTS: tuple[Start, ...] = ("pre-trained", "random")


class Score(NamedTuple):
    """How a model did on a task's test texts.

    Attributes:
        accuracy: Share of texts given their class, 0 to 1.
        pair_accuracy: Of a task of pairs the share in which the right sentence is found more
            acceptable than the wrong one, 0 to 1; else None.
    """

    accuracy: float
    pair_accuracy: float | None


def run_finetuning(
    recipe: PretrainingRecipe,
    folder: Path,
    tasks: Sequence[Task],
    *,
    seeds: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Fine-tune on each task from both starts with each seed; what was done already is kept.

    Args:
        recipe: Of the pre-training run.
        folder: Of the pre-training run.
        tasks: On what.
        seeds: How many seeds.
        device: Where to train.
        progress: Show progress bars; None shows them where a person is watching, on a terminal.

    Returns:
        What ``summary.json`` holds.

    Raises:
        RunError: The folder holds no pre-trained model, or results of other settings.
        ValueError: ``seeds`` is smaller than 1.
    """
    check_at_least(1, seeds=seeds)
    results = folder / "finetuning"
    save_recipe(results, recipe)
    # Seed by seed, so that a run that is cut off has all tasks from both starts.
    for seed, task, start in itertools.product(range(seeds), tasks, STARTS):
        name = re.sub(r"\W+", "-", f"{task.name} {start} {seed}")
        path = results / f"{name}.json"
        if not path.exists():
            result = fine_tune(
                task, start, recipe, folder, seed=seed, device=device, progress=progress
            )
            write_json(path, result)
        write_json(folder / "summary.json", summarise(folder, recipe, device))
    return read_json(folder / "summary.json")


def fine_tune(
    task: Task,
    start: Start,
    recipe: PretrainingRecipe,
    folder: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Fine-tune once and test.

    Args:
        task: On what.
        start: From the folder's weights, or from random ones.
        recipe: Of the pre-training run.
        folder: Of the pre-training run.
        seed: Of the head's weights (of all, if they are random), of batches and dropout.
        device: Where to train.
        progress: Show a progress bar.

    Returns:
        Plain data: the score, and what it cost.

    Raises:
        RunError: The folder holds no pre-trained model.
    """
    pretrained = load_pretrained(folder, recipe, device)
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    words = CachedTokenizer(WordPiece(vocabulary=vocabulary))
    training, test = (
        [label_example(text, words, vocabulary, recipe.max_length) for text in part]
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
        "last_losses": history_data(history)["losses"][-5:],
        "finetuning_rate": recipe.finetuning_rate,
        "wall_seconds": round(history.seconds, 1),
        "cpu_seconds": round(history.cpu_seconds, 1),
        **environment(device),
    }


def label_loss(model: nn.Module, batch: LabelledBatch) -> Tensor:
    """Compute the mean loss of telling the classes.

    Args:
        model: A ``BertForSequenceClassification``.
        batch: Labelled texts.

    Returns:
        A scalar (nats).
    """
    return F.cross_entropy(model(batch.token_ids, batch.segment_ids), batch.labels)


def label_example(
    text: LabelledText, words: CachedTokenizer, vocabulary: Vocabulary, max_length: int
) -> Example:
    """Make the input of one text.

    Args:
        text: The text with its class.
        words: Splits it.
        vocabulary: Of the tokeniser.
        max_length: Most tokens; the rest is cut off.

    Returns:
        The input with its class.
    """
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
    """Test a model.

    Args:
        model: A ``BertForSequenceClassification``; it is used in evaluation mode.
        test: Texts with their classes, of a task of pairs right and wrong ones in turn.
        recipe: Says how large batches are.
        device: Where to compute.
        pairs: Whether it is a task of pairs.

    Returns:
        The score.
    """
    model.eval()
    size = max(1, recipe.max_tokens // recipe.max_length)
    logits = []
    for start in range(0, len(test), size):
        batch = collate(test[start : start + size], device)
        logits.append(model(batch.token_ids, batch.segment_ids).float().cpu())
    all_logits = torch.cat(logits)  # (texts, classes)
    labels = torch.tensor([example.label for example in test])
    pair_accuracy = None
    if pairs:
        acceptable = (all_logits[:, 1] - all_logits[:, 0]).view(-1, 2)  # (pairs, right and wrong)
        pair_accuracy = (acceptable[:, 0] > acceptable[:, 1]).double().mean().item()
    return Score((all_logits.argmax(dim=-1) == labels).double().mean().item(), pair_accuracy)


def summarise(folder: Path, recipe: PretrainingRecipe, device: torch.device) -> dict[str, Any]:
    """Put all results of a folder together.

    Args:
        folder: Of the run.
        recipe: Of the run.
        device: That it ran on.

    Returns:
        By task and start means and spreads over the seeds, and what pre-training gains.
    """
    paths = sorted((folder / "finetuning").glob("*.json"))
    results = [read_json(path) for path in paths if path.name != "recipe.json"]
    pretraining = read_json(folder / "pretraining.json")
    tasks: dict[str, Any] = {}
    for name in sorted({result["task"] for result in results}):
        measures = [
            measure
            for measure in Score._fields
            if any(r["task"] == name and r[measure] is not None for r in results)
        ]
        tasks[name] = {measure: _compare(results, name, measure) for measure in measures}
    return {
        "tasks": tasks,
        "pretraining": pretraining,
        "finetuning_cpu_seconds": round(sum(r["cpu_seconds"] for r in results), 1),
        "total_cpu_seconds": round(
            pretraining["cpu_seconds"] + sum(r["cpu_seconds"] for r in results), 1
        ),
        "recipe": dataclasses.asdict(recipe),
        **environment(device),
    }


def _compare(results: Sequence[dict[str, Any]], task: str, measure: str) -> dict[str, Any]:
    """Give means of both starts, and the gain over the seeds that both have."""
    by_start = {
        start: {r["seed"]: r[measure] for r in results if r["task"] == task and r["start"] == start}
        for start in STARTS
    }
    compared: dict[str, Any] = {start: _spread(list(by_start[start].values())) for start in STARTS}
    both = by_start["pre-trained"].keys() & by_start["random"].keys()
    gains = [by_start["pre-trained"][seed] - by_start["random"][seed] for seed in sorted(both)]
    return compared | {"gain": _spread(gains)}


def _spread(values: list[float]) -> dict[str, Any]:
    return {
        "mean": round(statistics.mean(values), 4) if values else None,
        "deviation": round(statistics.stdev(values), 4) if len(values) > 1 else None,
        "values": [round(value, 4) for value in values],
    }
