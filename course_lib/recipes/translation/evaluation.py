"""How good a run is, finished or not: translations, scores, and the page that says so."""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from sacrebleu.metrics.bleu import BLEU

from course_lib.data.corpora.readers import Multi30kSplit, read_multi30k
from course_lib.plotting.curves import plot_curves
from course_lib.recipes.run_record import environment, read_json, write_json, write_text
from course_lib.recipes.translation.averaging import best_steps
from course_lib.recipes.translation.model_card import model_card
from course_lib.recipes.translation.run_folder import RunFolder
from course_lib.recipes.translation.training_run import validation_loss
from course_lib.recipes.translation.translator import load_translator


def evaluate_run(
    folder: RunFolder,
    split: Multi30kSplit,
    *,
    device: torch.device,
    beam_size: int | None = None,
    step: int | None = None,
    on_done: Callable[[int], object] = lambda count: None,
) -> dict[str, Any]:
    """Translate a test set with what a run has come to, and write down how it went.

    Writes ``translations/<name>.txt``, where the name is that of the test set and says what is not
    as in the recipe, ``summary.json``, ``history.json``, ``curves.svg`` and
    ``README.md``. What other test sets gave stays in the summary.

    Args:
        folder: The run.
        split: The test set.
        device: On what.
        beam_size: Of the search; the recipe's if None.
        step: Evaluate the weights that were kept after so many updates; the run's own if None.
        on_done: Called with the number of sentences after each batch.

    Returns:
        The summary.

    Raises:
        RunError: There is no run, or nothing to evaluate yet.
        DownloadError: The corpus could not be had.
    """
    recipe = folder.recipe()
    summary = _summary(folder)  # before the weights are used: the run may be going on meanwhile
    translator = load_translator(folder, device, step=step)
    pairs = read_multi30k(split, recipe.src, recipe.tgt)
    beam_size = recipe.beam_size if beam_size is None else beam_size
    cpu, wall = time.process_time(), time.perf_counter()
    translations = translator.translate(
        [src for src, _ in pairs],
        beam_size=beam_size,
        length_alpha=recipe.length_alpha,
        on_done=on_done,
    )
    scored = score(translations, [tgt for _, tgt in pairs]) | {
        "sentences": len(pairs),
        "beam_size": beam_size,
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "wall_seconds": round(time.perf_counter() - wall, 1),
        "command": environment(device)["command"],
    }
    name = _name(split, None if beam_size == recipe.beam_size else beam_size, step)
    folder.write_translations(name, translations)

    loss = validation_loss(translator.model, translator.subwords, recipe, device)
    summary["parameters"] = sum(weight.numel() for weight in translator.model.parameters())
    summary["scores"][name] = scored | {"validation_loss": round(loss, 5)}
    write_json(folder.path / "summary.json", summary)
    write_text(folder.path / "README.md", model_card(summary))
    _draw(folder)
    return summary


def score(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Score translations twice: as they are, and lower-cased.

    Papers on this corpus give BLEU on lower-cased text that Moses' tokeniser split. The second
    score is as near to it as sacreBLEU comes: lower-cased, split by its own ``13a``.

    Args:
        translations: One a source sentence.
        references: Likewise.

    Returns:
        Under ``cased`` and ``lowercased`` each: ``bleu``, from 0 to 100; ``signature``; and
        ``details``, the precisions and lengths.

    Raises:
        ValueError: There are none, or the numbers differ.

    Source: Post (2018), section 2; Papineni et al. (2002).
    """
    if not translations or len(translations) != len(references):
        raise ValueError(
            "translations and references must be as many, and some, got "
            f"{len(translations)} and {len(references)}"
        )
    scores = {}
    for name, lowercase in (("cased", False), ("lowercased", True)):
        metric = BLEU(lowercase=lowercase)
        result = metric.corpus_score(list(translations), [list(references)])
        scores[name] = {
            "bleu": round(result.score, 2),
            "signature": str(metric.get_signature()),
            "details": str(result),
        }
    return scores


def _name(split: str, beam_size: int | None, step: int | None) -> str:
    """Name an evaluation: the test set, and what is not as in the recipe."""
    beam = "" if beam_size is None else f", beam {beam_size}"
    return split + beam + ("" if step is None else f", step {step}")


def _summary(folder: RunFolder) -> dict[str, Any]:
    """Put together what the folder knows; scores are those of earlier evaluations."""
    progress = folder.progress()
    history = folder.write_history(progress)
    written = folder.path / "summary.json"
    earlier = read_json(written) if written.exists() else {}
    if earlier.get("steps_done") != history["steps"]:
        earlier = {}  # of an unfinished run that has gone on since
    losses = progress["evaluations"]
    recipe, finished = folder.recipe(), folder.model.exists()
    return {
        "recipe": read_json(folder.path / "recipe.json"),
        "finished": finished,
        "steps_done": history["steps"],
        "stopped_early": finished and history["steps"] < recipe.steps,
        "validation_loss_best": round(min(value for _, value in losses), 5),
        "weights_of_steps": best_steps(losses, recipe.averaged if finished else 1),
        "cpu_seconds": round(progress["cpu_seconds"], 1),
        "wall_seconds": round(progress["seconds"], 1),
        **read_json(folder.path / "circumstances.json"),
        "scores": cast(dict[str, Any], earlier.get("scores", {})),
    }


def _draw(folder: RunFolder) -> None:
    """Draw training and validation loss."""
    history = read_json(folder.path / "history.json")
    every = history["steps_in_a_mean"]
    losses = history["training_loss"]
    steps = [min((number + 0.5) * every, history["steps"]) for number in range(len(losses))]
    validation = history["validation_loss"]
    picture = plot_curves(
        {
            "training, smoothed": (steps, losses),
            "validation": ([step for step, _ in validation], [loss for _, loss in validation]),
        },
        x_label="step",
        y_label="loss (nats a token)",
        alt=f"Over {history['steps']} steps the training loss falls from {losses[0]:.2f} to "
        f"{losses[-1]:.2f}, the validation loss from {validation[0][1]:.2f} to "
        f"{min(loss for _, loss in validation):.2f} at best.",
    )
    picture.save(folder.path / "curves.svg")
