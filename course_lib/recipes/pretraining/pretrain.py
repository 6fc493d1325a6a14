"""Pre-training: from plain text to a model that knows words, in one folder.

A folder holds ``recipe.json``, ``vocab.txt``, ``checkpoint.pt`` from which the run is taken up,
``model.safetensors``, ``history.json`` and ``pretraining.json``, the summary.
"""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.bert_pretraining import NOT_MASKED
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.recipes.epoch_batches import EpochBatches
from course_lib.recipes.pretraining.batches import (
    Example,
    MaskedBatch,
    collate,
    length_of,
    mask_batch,
    paired_examples,
)
from course_lib.recipes.pretraining.presets import PretrainingRecipe
from course_lib.recipes.pretraining.texts import (
    CachedTokenizer,
    Corpus,
    learn_vocabulary,
    read_texts,
)
from course_lib.recipes.run_record import (
    history_data,
    save_recipe,
    training_record,
    write_json,
)
from course_lib.recipes.weights import load_weights, read_weights, save_weights
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece
from course_lib.training.distributed import barrier, rank
from course_lib.training.loop import train

HELD_OUT_EVERY = 50
"""One document in so many is held out, to look at."""


class PretrainingScores(NamedTuple):
    """How well a model guesses on texts that were held out.

    Attributes:
        token_loss: Of masked tokens (nats).
        token_accuracy: Share of masked tokens guessed, 0 to 1.
        next_loss: Of pairs (nats).
        next_accuracy: Share of pairs told apart, 0 to 1.
    """

    token_loss: float
    token_accuracy: float
    next_loss: float
    next_accuracy: float

    @property
    def total_loss(self) -> float:
        """What pre-training makes small: the sum of both losses."""
        return self.token_loss + self.next_loss


def run_pretraining(
    recipe: PretrainingRecipe,
    folder: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
    corpora: list[Corpus] | None = None,
) -> dict[str, Any]:
    """Pre-train, or go on with a run that was cut off, and write down what came of it.

    Args:
        recipe: What to train.
        folder: For the run's files. One that holds a run of this recipe is gone on with.
        seed: Of weights, batches, masks and dropout.
        device: Where to train.
        progress: Show a progress bar; None shows it where a person is watching, on a terminal.
        corpora: The text; that of ``texts.read_texts`` if None.

    Returns:
        What ``pretraining.json`` holds.

    Raises:
        RunError: The folder holds a run of another recipe.
        ValueError: There is too little text.
        DownloadError: A corpus could not be had.
    """
    corpora = read_texts() if corpora is None else corpora
    if rank() == 0:
        save_recipe(folder, recipe, seed=seed)
        _keep_vocabulary(folder, corpora, recipe)
    barrier()
    vocabulary = Vocabulary.read(folder / "vocab.txt")
    training, held_out = _examples(corpora, vocabulary, recipe, seed)
    batches = EpochBatches(training, length_of, max_tokens=recipe.max_tokens, seed=seed)

    torch.manual_seed(seed)
    model = BertForPreTraining(recipe.model_config(len(vocabulary))).to(device)
    if recipe.compiled:
        model.bert.compile()
    score = functools.partial(
        score_pretraining,
        held_out=held_out,
        vocabulary=vocabulary,
        recipe=recipe,
        device=device,
    )
    history = train(
        model,
        lambda number: mask_batch(
            collate(batches.draw(number), device), vocabulary, seed * 1_000_003 + number
        ),
        pretraining_losses,
        recipe.training_config(),
        num_items=num_predictions,
        schedule=recipe.schedule,
        evaluate=lambda trained: score(trained).total_loss,
        checkpoint=folder / "checkpoint.pt",
        progress=progress,
    )
    summary = {
        "what": "pre-training on captions, plays and questions; guesses on held-out documents",
        "text": "Multi30k train.en, tiny Shakespeare (first nine tenths), Banking77 train",
        "examples": len(training),
        **{name: round(value, 4) for name, value in score(model)._asdict().items()},
        **training_record(history, model, recipe, seed=seed, device=device),
    }
    if rank() == 0:
        save_weights(model, folder / "model.safetensors")
        write_json(folder / "history.json", history_data(history))
        write_json(folder / "pretraining.json", summary)
    return summary


def pretraining_losses(model: nn.Module, batch: MaskedBatch) -> Tensor:
    """Compute the losses of both tasks, whose sum is ``bert_heads.pretraining_loss``.

    Args:
        model: A ``BertForPreTraining``.
        batch: Masked pairs.

    Returns:
        ``(2,)``, nats: the mean over the tokens to guess, which alone are held against all pieces
        (0 if there are none), and the mean over the pairs.
    """
    token_logits, next_logits, labels = _logits(model, batch)
    token_loss = F.cross_entropy(token_logits, labels, reduction="sum") / max(1, len(labels))
    return torch.stack([token_loss, F.cross_entropy(next_logits, batch.next_labels)])


def num_predictions(batch: MaskedBatch) -> Tensor:
    """Count what ``pretraining_losses`` are the means of.

    Args:
        batch: Masked pairs.

    Returns:
        ``(2,)``: tokens to guess, pairs.
    """
    pairs = batch.next_labels.new_tensor(len(batch.next_labels))
    return torch.stack([(batch.labels != NOT_MASKED).sum(), pairs])


@torch.no_grad()
def score_pretraining(
    model: nn.Module,
    held_out: list[Example],
    vocabulary: Vocabulary,
    recipe: PretrainingRecipe,
    device: torch.device,
) -> PretrainingScores:
    """Let a model guess on held-out pairs, masked always in the same places.

    Args:
        model: A ``BertForPreTraining``; it is used in evaluation mode.
        held_out: The pairs.
        vocabulary: Of the tokeniser.
        recipe: Says how large batches are.
        device: Where to compute.

    Returns:
        Means over masked tokens, and over pairs.
    """
    was_training = model.training
    model.eval()
    sums, tokens = torch.zeros(4, dtype=torch.float64), 0
    ordered = sorted(held_out, key=length_of)
    size = max(1, recipe.max_tokens // recipe.max_length)
    for start in range(0, len(ordered), size):
        batch = mask_batch(collate(ordered[start : start + size], device), vocabulary, start)
        token_logits, next_logits, labels = _logits(model, batch)
        tokens += len(labels)
        sums += torch.tensor(
            [
                F.cross_entropy(token_logits, labels, reduction="sum"),
                (token_logits.argmax(dim=-1) == labels).sum(),
                F.cross_entropy(next_logits, batch.next_labels, reduction="sum"),
                (next_logits.argmax(dim=-1) == batch.next_labels).sum(),
            ],
            dtype=torch.float64,
        )
    model.train(was_training)
    counts = torch.tensor([tokens, tokens, len(ordered), len(ordered)])
    return PretrainingScores(*(sums / counts).tolist())


def load_pretrained(
    folder: Path, recipe: PretrainingRecipe, device: torch.device
) -> BertForPreTraining:
    """Load the model of a finished run.

    Args:
        folder: Of the run.
        recipe: Of the run.
        device: Where to put it.

    Returns:
        The model.

    Raises:
        RunError: The folder holds no trained model.
    """
    weights = read_weights(folder / "model.safetensors")
    model = BertForPreTraining(recipe.model_config(len(Vocabulary.read(folder / "vocab.txt"))))
    load_weights(model, weights)
    return model.to(device)


def _logits(model: nn.Module, batch: MaskedBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Give logits of the tokens to guess and of the pairs, and the true tokens."""
    assert isinstance(model, BertForPreTraining)
    output = model.bert(batch.token_ids, batch.segment_ids)
    chosen = batch.labels != NOT_MASKED  # (batch, length)
    return (
        model.masked_language_model(output.hidden[chosen]),  # (chosen, vocab_size)
        model.next_sentence(output.pooled),  # (batch, 2)
        batch.labels[chosen],
    )


def _keep_vocabulary(folder: Path, corpora: list[Corpus], recipe: PretrainingRecipe) -> None:
    path = folder / "vocab.txt"
    if not path.exists():
        texts = (stretch for corpus in corpora for document in corpus for stretch in document)
        learn_vocabulary(texts, recipe.vocab_size).write(path)


def _examples(
    corpora: list[Corpus], vocabulary: Vocabulary, recipe: PretrainingRecipe, seed: int
) -> tuple[list[Example], list[Example]]:
    """Make the inputs to train on, and those held out; no document is in both."""
    words = CachedTokenizer(WordPiece(vocabulary=vocabulary))
    training: list[Example] = []
    held_out: list[Example] = []
    for corpus in corpora:
        kept = [doc for number, doc in enumerate(corpus) if number % HELD_OUT_EVERY != 0]
        for documents, examples in ((kept, training), (corpus[::HELD_OUT_EVERY], held_out)):
            examples += paired_examples(
                documents, words, vocabulary, max_length=recipe.max_length, seed=seed
            )
    return training, held_out
