"""The commands: train, evaluate, analyse, translate."""

import sys
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from tqdm import tqdm

from course_lib.data.corpora.readers import Multi30kSplit, read_multi30k
from course_lib.recipes.command_line import (
    Device,
    Folder,
    Seed,
    Settings,
    Threads,
    chosen_recipe,
    computing,
    recipe_app,
)
from course_lib.recipes.run_record import RunError
from course_lib.recipes.translation.analysis import analyse_run
from course_lib.recipes.translation.evaluation import evaluate_run
from course_lib.recipes.translation.presets import PRESETS
from course_lib.recipes.translation.run_folder import RunFolder
from course_lib.recipes.translation.training_run import train_run
from course_lib.recipes.translation.translator import load_translator

_SPLITS = get_args(Multi30kSplit)
_TEST = "test_2016_flickr"

Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; the recipe's by default.")]

app = recipe_app("Train a translation model on Multi30k, score it, use it.")


@app.command()
def train(
    preset: Annotated[str, typer.Option(help=f"What to train: {', '.join(PRESETS)}.")] = "cpu",
    seed: Seed = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; runs/translation/<preset>-seed<seed>.")
    ] = None,
    settings: Settings = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model, average its weights, score it on test_2016_flickr.

    A folder that holds a part of this run is taken up where it stopped.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        folder = RunFolder(out or Path("runs") / "translation" / f"{preset}-seed{seed}")
        train_run(preset, recipe, seed, folder, own)
    evaluate(folder.path, _TEST, device, threads)


@app.command()
def evaluate(
    run: Folder,
    split: Annotated[str, typer.Option(help=f"One of {', '.join(_SPLITS)}.")] = _TEST,
    device: Device = "auto",
    threads: Threads = 0,
    beam_size: Beam = None,
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Take the weights kept after so many updates, by themselves."),
    ] = None,
) -> None:
    """Translate a test set and score it with sacreBLEU; write summary, curves and model card.

    A run that is not finished is evaluated as far as it has come.
    """
    with computing(device, threads) as own:
        folder = RunFolder(run)
        recipe = folder.recipe()
        name = cast(Multi30kSplit, split)
        with _bar(len(read_multi30k(name, recipe.src, recipe.tgt))) as bar:
            summary = evaluate_run(
                folder, name, device=own, beam_size=beam_size, step=step, on_done=bar.update
            )
    if not summary["finished"]:
        typer.echo(f"The run is not finished: {summary['steps_done']} steps are done.")
    for test_set, entry in summary["scores"].items():
        for kind in ("cased", "lowercased"):
            bleu, signature = entry[kind]["bleu"], entry[kind]["signature"]
            typer.echo(f"{test_set} {kind}: {bleu:.2f}  {signature}")
    typer.echo(f"Written to {folder.path}")


@app.command()
def analyse(
    run: Folder,
    split: Annotated[str, typer.Option(help=f"One of {', '.join(_SPLITS)}.")] = _TEST,
    sentences: Annotated[
        list[int] | None,
        typer.Option("--sentence", min=1, help="Line whose attention to show. Again for more."),
    ] = None,
) -> None:
    """Look closer at the translations of a test set; write analysis.json. Evaluate it first."""
    with computing("cpu", 0):
        analysis = analyse_run(RunFolder(run), cast(Multi30kSplit, split), sentences or [])
    typer.echo("words of a source    sentences   BLEU   length")
    for row in analysis["by_length"]:
        typer.echo(
            f"{row['words']:17} {row['sentences']:12} {row['bleu']:6.2f} {row['length_ratio']:8.2f}"
        )
    typer.echo("times in training        words   found")
    for row in analysis["by_frequency"]:
        typer.echo(f"{row['times']:17} {row['words']:12} {row['recall']:7.1%}")
    said = analysis["said_twice"]
    typer.echo(
        f"Two words said twice: {said['translations']:.1%} of the translations, "
        f"{said['references']:.1%} of the references"
    )
    typer.echo(f"Written to {run / 'analysis.json'}")


@app.command()
def translate(
    run: Folder,
    file: Annotated[
        Path | None, typer.Argument(help="Text, a sentence a line; standard input if left out.")
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    beam_size: Beam = None,
) -> None:
    """Translate a text to standard output, a line a line."""
    with computing(device, threads) as own:
        sentences = _read_sentences(file)
        folder = RunFolder(run)
        recipe = folder.recipe()
        translator = load_translator(folder, own)
        with _bar(sum(bool(sentence.strip()) for sentence in sentences)) as bar:
            translations = translator.translate(
                sentences,
                beam_size=recipe.beam_size if beam_size is None else beam_size,
                length_alpha=recipe.length_alpha,
                on_done=bar.update,
            )
    sys.stdout.write("\n".join(translations) + "\n")


def _read_sentences(file: Path | None) -> list[str]:
    name = "standard input" if file is None else str(file)
    try:
        text = sys.stdin.read() if file is None else file.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{name} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{name} is no text in UTF-8: {error}") from error
    if not text.strip():
        raise RunError(f"{name} holds no text: nothing to translate")
    return text.removesuffix("\n").split("\n")


def _bar(sentences: int) -> tqdm:
    """Show on a terminal how many are translated."""
    return tqdm(total=sentences, desc="Translating", unit="sentence", leave=False, disable=None)
