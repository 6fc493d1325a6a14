"""A small BERT from scratch: pre-train it, fine-tune it, compare it with random weights.

python -m course_lib.recipes.pretraining pretrain|finetune
"""

from course_lib.recipes.run_folder import require

require("tokenizers", "typer")

import functools
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import torch.nn.functional as F
import typer
from torch import Tensor, nn

from course_lib.data.bert_pretraining import NOT_MASKED
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.recipes.command_line import (
    Device,
    Folder,
    Seed,
    Settings,
    Threads,
    chosen_recipe,
    computing,
    preset_option,
    recipe_app,
)
from course_lib.recipes.finetuning import read_tasks, run_finetuning
from course_lib.recipes.pretraining_data import (
    PRESETS,
    CachedTokenizer,
    Corpus,
    Example,
    MaskedBatch,
    PretrainingRecipe,
    collate,
    learn_vocabulary,
    length_of,
    mask_batch,
    paired_examples,
    read_texts,
)
from course_lib.recipes.run_folder import (
    RunFolder,
    save_weights,
    training_record,
    with_settings,
    write_json,
)
from course_lib.recipes.training_recipe import EpochBatches
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.training.distributed import barrier, rank
from course_lib.training.loop import train

HELD_OUT_EVERY = 50
"""Every 50th document is held out for evaluation."""


class PretrainingScores(NamedTuple):
    """Losses and accuracies of a model on held-out text.

    Attributes:
        token_loss: Mean loss over the masked tokens (nats).
        token_accuracy: Share of masked tokens predicted correctly, 0 to 1.
        next_loss: Mean loss of classifying the pairs (nats).
        next_accuracy: Share of pairs classified correctly, 0 to 1.
    """

    token_loss: float
    token_accuracy: float
    next_loss: float
    next_accuracy: float


def run_pretraining(
    recipe: PretrainingRecipe,
    path: Path,
    *,
    seed: int,
    device: torch.device,
    progress: bool | None = None,
    corpora: list[Corpus] | None = None,
) -> dict[str, Any]:
    """Pre-train a model, or resume the run at ``path``; write files, return ``pretraining.json``.

    The text is ``corpora``, or the result of ``read_texts`` if None.
    """
    corpora = read_texts() if corpora is None else corpora
    folder, vocabulary_path = RunFolder(path), path / "vocab.txt"
    if rank() == 0:
        folder.save_recipe(recipe, seed=seed)
        if not vocabulary_path.exists():
            texts = (stretch for corpus in corpora for document in corpus for stretch in document)
            learn_vocabulary(texts, recipe.model.vocab_size).write(vocabulary_path)
    barrier()
    vocabulary = Vocabulary.read(vocabulary_path)
    training, held_out = split_examples(corpora, vocabulary, recipe, seed)
    batches = EpochBatches(training, length_of, max_tokens=recipe.max_tokens, seed=seed)

    torch.manual_seed(seed)
    model = BertForPreTraining(replace(recipe.model, vocab_size=len(vocabulary))).to(device)
    if recipe.compiled:
        model.bert.compile()
    score = functools.partial(
        score_pretraining, held_out=held_out, vocabulary=vocabulary, recipe=recipe, device=device
    )

    def evaluate(trained: nn.Module) -> float:
        scores = score(trained)
        return scores.token_loss + scores.next_loss

    history = train(
        model,
        lambda number: mask_batch(
            collate(batches.draw(number), device), vocabulary, seed * 1_000_003 + number
        ),
        pretraining_losses,
        recipe.training_config(),
        num_items=num_predictions,
        schedule=recipe.learning_rate_share,
        evaluate=evaluate,
        checkpoint=folder.checkpoint,
        progress=progress,
    )
    summary = {
        "what": "pre-training on captions, plays and questions; predictions on held-out documents",
        "text": "Multi30k train.en, tiny Shakespeare (first nine tenths), Banking77 train",
        "examples": len(training),
        **{name: round(value, 4) for name, value in score(model)._asdict().items()},
        **training_record(history, model, recipe, seed=seed, device=device),
    }
    if rank() == 0:
        save_weights(model, folder.model)
        folder.write_history(vars(history))
        write_json(path / "pretraining.json", summary)
    return summary


def pretraining_losses(model: nn.Module, batch: MaskedBatch) -> Tensor:
    """Return the mean losses over masked tokens and over pairs, ``(2,)`` (nats).

    Their sum equals ``bert_heads.pretraining_loss``, without logits for tokens that aren't masked.
    """
    token_logits, next_logits, labels = _logits(model, batch)
    token_loss = F.cross_entropy(token_logits, labels, reduction="sum") / max(1, len(labels))
    return torch.stack([token_loss, F.cross_entropy(next_logits, batch.next_labels)])


def num_predictions(batch: MaskedBatch) -> Tensor:
    """Count the masked tokens and the pairs of a batch, ``(2,)``."""
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
    """Score a model on held-out pairs; each call masks the same tokens."""
    was_training = model.training
    model.eval()
    sums, tokens = torch.zeros(4, dtype=torch.float64), 0
    ordered = sorted(held_out, key=length_of)
    size = max(1, recipe.max_tokens // recipe.model.max_length)
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


def split_examples(
    corpora: list[Corpus], vocabulary: Vocabulary, recipe: PretrainingRecipe, seed: int
) -> tuple[list[Example], list[Example]]:
    """Return examples of the training documents, and examples of the held-out documents."""
    words = CachedTokenizer(vocabulary)
    training: list[Example] = []
    held_out: list[Example] = []
    for corpus in corpora:
        rest = [doc for number, doc in enumerate(corpus) if number % HELD_OUT_EVERY != 0]
        for documents, examples in ((rest, training), (corpus[::HELD_OUT_EVERY], held_out)):
            examples += paired_examples(
                documents, words, vocabulary, max_length=recipe.model.max_length, seed=seed
            )
    return training, held_out


def _logits(model: nn.Module, batch: MaskedBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logits of the masked tokens, the logits of the pairs, and the true tokens."""
    assert isinstance(model, BertForPreTraining)
    output = model.bert(batch.token_ids, batch.segment_ids)
    chosen = batch.labels != NOT_MASKED  # (batch, length)
    return (
        model.masked_language_model(output.hidden[chosen]),  # (chosen, vocab_size)
        model.next_sentence(output.pooled),  # (batch, 2)
        batch.labels[chosen],
    )


# ---- commands ----

app = recipe_app("Pre-train a small BERT from scratch, fine-tune it.")


@app.command()
def pretrain(
    folder: Folder,
    preset: Annotated[str, preset_option(PRESETS)] = "cpu",
    settings: Settings = None,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Pre-train a model; the same command resumes a run that was stopped.

    Under torchrun several processes divide the N batches of --set accumulation=N.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        summary = run_pretraining(recipe, folder, seed=seed, device=own)
        first = rank() == 0
    if first:
        typer.echo(
            f"predicts {summary['token_accuracy']:.1%} of masked tokens and classifies "
            f"{summary['next_accuracy']:.1%} of pairs after {summary['steps']} steps; "
            f"{summary['cpu_seconds']:.0f} CPU seconds; see {folder}"
        )


@app.command()
def finetune(
    folder: Folder,
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = 3,
    settings: Settings = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Fine-tune the pre-trained model, and the same model with random weights; print scores."""
    with computing(device, threads) as own:
        pretrained, _ = RunFolder(folder).load_recipe(PretrainingRecipe, "seed")
        recipe = with_settings(pretrained, settings or [])
        summary = run_finetuning(recipe, folder, read_tasks(recipe), seeds=seeds, device=own)
    for task, measures in summary["tasks"].items():
        for measure, compared in measures.items():
            typer.echo(
                f"{task}, {measure.replace('_', ' ')}: pre-trained "
                f"{compared['pre-trained']['mean']:.1%}, random {compared['random']['mean']:.1%}"
            )


if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.pretraining")
