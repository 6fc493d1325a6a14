"""Evaluation of a translation run, finished or not: translations, scores, model card."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU

from course_lib.data.corpora.readers import Multi30kSplit, read_multi30k
from course_lib.plotting.curves import plot_curves
from course_lib.recipes.run_folder import (
    RunFolder,
    environment,
    read_json,
    write_json,
    write_text,
)
from course_lib.recipes.translation_model import TranslationRecipe
from course_lib.recipes.translation_run import (
    best_steps,
    load_run,
    load_translator,
    validation_loss,
)

_LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def evaluate_run(
    path: Path,
    split: Multi30kSplit,
    *,
    device: torch.device,
    beam_size: int | None = None,
    step: int | None = None,
    on_done: Callable[[int], object] = lambda count: None,
) -> dict[str, Any]:
    """Translate and score a test set with a run's weights, or with those of a step.

    Write the translations, ``history.json``, ``curves.svg``, ``README.md`` and ``summary.json``;
    return the summary, which keeps the scores of other evaluations. Another beam size than the
    recipe's and the step become part of the evaluation's name. Call ``on_done`` with the number of
    sentences of each batch.
    """
    folder, recipe = load_run(path)
    summary = _summary(folder, recipe)  # before loading weights: the run may still be training
    translator = load_translator(path, device, step=step)
    pairs = read_multi30k(split, recipe.src, recipe.tgt)
    name: str = split
    if beam_size not in (None, recipe.beam_size):
        name += f", beam {beam_size}"
    if step is not None:
        name += f", step {step}"
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
    write_text(folder.translations_of(name), "\n".join(translations) + "\n")

    loss = validation_loss(translator.model, translator.subwords, recipe, device)
    summary["parameters"] = sum(weight.numel() for weight in translator.model.parameters())
    summary["scores"][name] = scored | {"validation_loss": round(loss, 5)}
    write_json(path / "summary.json", summary)
    write_text(path / "README.md", model_card(summary))
    _draw(path)
    return summary


def score(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Score translations with sacreBLEU, as they are and lower-cased.

    Papers on this corpus report BLEU of lower-cased text split by Moses' tokenizer; the second
    score, of text split by ``13a``, is the closest that sacreBLEU has.

    Return under ``cased`` and ``lowercased`` each ``bleu`` (0 to 100), sacreBLEU's ``signature``,
    and ``details``, the precisions and lengths.

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


def _summary(folder: RunFolder, recipe: TranslationRecipe) -> dict[str, Any]:
    """Return the summary of a run so far, with the scores of earlier evaluations."""
    progress = folder.progress()
    history = folder.write_history(progress)
    written = folder.path / "summary.json"
    earlier = read_json(written) if written.exists() else {}
    if earlier.get("steps_done") != history["steps"]:
        earlier = {}  # the run was unfinished then, and has been resumed
    losses = progress["evaluations"]
    finished = folder.model.exists()
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
        "scores": earlier.get("scores", {}),
    }


def _draw(path: Path) -> None:
    """Draw training and validation loss from the run's history to ``curves.svg``."""
    history = read_json(path / "history.json")
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
    picture.save(path / "curves.svg")


def model_card(summary: dict[str, Any]) -> str:
    """Return a model card in Markdown of a summary that ``evaluate_run`` returned."""
    recipe = summary["recipe"]
    src, tgt = _LANGUAGES[recipe["src"]], _LANGUAGES[recipe["tgt"]]
    state = f"{summary['steps_done']} steps"
    if summary["stopped_early"]:
        state += ", when the validation loss no longer fell"
    elif not summary["finished"]:
        state += f" of {recipe['steps']}: **the run is not finished**"
    threads = "one thread" if summary["threads"] == 1 else f"{summary['threads']} threads"
    steps = ", ".join(map(str, summary["weights_of_steps"]))
    weights = f"the mean of those after steps {steps}" if "," in steps else f"those of step {steps}"
    rows = "\n".join(
        f"| {split} | {entry['beam_size']} | {entry['cased']['bleu']:.2f} "
        f"| {entry['lowercased']['bleu']:.2f} |"
        for split, entry in summary["scores"].items()
    )
    signatures = "\n".join(
        sorted(
            {
                f"- {name}: `{entry[name]['signature']}`"
                for entry in summary["scores"].values()
                for name in ("cased", "lowercased")
            }
        )
    )
    return f"""\
# {src} to {tgt}, preset `{recipe["preset"]}`, seed {recipe["seed"]}

A {recipe["architecture"]} model with {summary["parameters"]:,} parameters, trained by \
`course_lib.recipes.translation` on the 29,000 captions of Multi30k, task 1, for {state}. \
Its weights are {weights}.

Training took {summary["cpu_seconds"]:,.0f} CPU seconds in {summary["wall_seconds"]:,.0f} seconds \
on {summary["device"]}, {threads}, in {recipe["precision"]}, with torch {summary["torch"]}, last \
taken up {summary["date"][:10]}.

    {summary["command"]}

## BLEU

| test set | beam | cased | lower-cased |
| --- | ---: | ---: | ---: |
{rows}

{signatures}

Papers give lower-cased BLEU on text that Moses' tokeniser split; the last column is as near as \
sacreBLEU comes to it.

## Limits

It knows captions of photographs and nothing else: short sentences, in the present, about people, \
dogs and streets. It turns other texts into captions. It repeats what its captions take for \
granted, of men and women among other things.

## Data

Multi30k states no licence for its sentences. Its authors provide it for non-commercial research \
and education; use the model accordingly. Elliott, Frank, Sima'an and Specia (2016), Multi30K: \
Multilingual English-German Image Descriptions.
"""
