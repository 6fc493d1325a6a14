"""What a pre-trained model is put to: intents of questions, and grammar."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.data.corpora.readers import MinimalPair, read_banking77, read_blimp
from course_lib.recipes.pretraining.presets import PretrainingRecipe

FEW = 10
"""Examples of each class where there are few."""


class LabelledText(NamedTuple):
    """A text and its class.

    Attributes:
        text: The text.
        label: The class, from 0.
    """

    text: str
    label: int


@dataclass(frozen=True, kw_only=True)
class Task:
    """Texts to fine-tune on and texts to test on.

    Attributes:
        name: Of the task.
        num_labels: Number of classes.
        epochs: Times that fine-tuning goes through the texts.
        training: Texts to fine-tune on.
        test: Texts to test on; of a task of pairs right and wrong sentences in turn.
        pairs: Whether it is a task of pairs.
    """

    name: str
    num_labels: int
    epochs: int
    training: tuple[LabelledText, ...]
    test: tuple[LabelledText, ...]
    pairs: bool = False


def read_tasks(recipe: PretrainingRecipe) -> list[Task]:
    """Read all tasks.

    Args:
        recipe: Says how much of them, and how often.

    Returns:
        Banking77, Banking77 with ten questions of each intent, BLiMP.

    Raises:
        DownloadError: A corpus could not be had.
    """
    training, test = read_banking77("train"), read_banking77("test")
    return [
        intents("banking77", training, test, epochs=recipe.banking_epochs),
        intents(
            f"banking77, {FEW} of each intent",
            first_of_each(training, FEW),
            test,
            epochs=recipe.few_shot_epochs,
        ),
        acceptability(read_blimp(), recipe),
    ]


def intents(
    name: str,
    training: Sequence[tuple[str, str]],
    test: Sequence[tuple[str, str]],
    *,
    epochs: int,
) -> Task:
    """Make a task of texts with the names of their classes.

    Args:
        name: Of the task.
        training: Pairs of a text and its class.
        test: Likewise.
        epochs: Times to go through the former.

    Returns:
        The task; classes are numbered in alphabetical order.

    Raises:
        ValueError: A class of ``test`` is not in ``training``.
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
    """Keep the first few texts of each class.

    Args:
        texts: Pairs of a text and its class.
        count: How many of each.

    Returns:
        Those pairs, in order.
    """
    seen: Counter[str] = Counter()
    kept = []
    for text, label in texts:
        seen[label] += 1
        if seen[label] <= count:
            kept.append((text, label))
    return kept


def acceptability(pairs: Sequence[MinimalPair], recipe: PretrainingRecipe) -> Task:
    """Make a task of single sentences: 1 if one can say so, 0 if not.

    Of each paradigm the first pairs are to train on, the last to test on. A test pair with a
    sentence that is trained on is left out, and so is one of two equal sentences.

    Args:
        pairs: Of BLiMP.
        recipe: Says how many of each paradigm.

    Returns:
        The task.

    Source: Warstadt et al. (2019), CoLA, for the task; Warstadt et al. (2020) for the sentences.
    """
    by_paradigm: dict[str, list[MinimalPair]] = {}
    for pair in pairs:
        by_paradigm.setdefault(pair.paradigm, []).append(pair)
    training = [p for group in by_paradigm.values() for p in group[: recipe.blimp_training_pairs]]
    test = [p for group in by_paradigm.values() for p in group[-recipe.blimp_test_pairs :]]
    seen = {sentence for pair in training for sentence in (pair.good, pair.bad)}
    fresh = [p for p in test if p.good != p.bad and not seen & {p.good, p.bad}]
    return Task(
        name="blimp",
        num_labels=2,
        epochs=recipe.blimp_epochs,
        training=_sentences(training),
        test=_sentences(fresh),
        pairs=True,
    )


def _sentences(pairs: Sequence[MinimalPair]) -> tuple[LabelledText, ...]:
    both = [(LabelledText(pair.good, 1), LabelledText(pair.bad, 0)) for pair in pairs]
    return tuple(text for right_and_wrong in both for text in right_and_wrong)
