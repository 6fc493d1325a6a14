"""Translation of Multi30k: train a model, score it by BLEU, translate with it.

python -m course_lib.recipes.translation train|evaluate|analyse|translate
"""

from course_lib.recipes.run_folder import require

require("tokenizers", "sacrebleu", "typer")

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
    preset_option,
    recipe_app,
)
from course_lib.recipes.run_folder import RunError
from course_lib.recipes.translation_analysis import analyse_run
from course_lib.recipes.translation_evaluation import evaluate_run
from course_lib.recipes.translation_model import PRESETS
from course_lib.recipes.translation_run import load_run, load_translator, train_run

_TEST = "test_2016_flickr"

Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; the recipe's by default.")]
Split = Annotated[str, typer.Option(help=f"One of {', '.join(get_args(Multi30kSplit))}.")]

app = recipe_app("Train a translation model on Multi30k, score it, use it.")


@app.command()
def train(
    preset: Annotated[str, preset_option(PRESETS)] = "cpu",
    seed: Seed = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; runs/translation/<preset>-seed<seed>.")
    ] = None,
    settings: Settings = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model, average its weights, score it on test_2016_flickr.

    A folder that holds a part of this run is resumed.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        folder = out or Path("runs") / "translation" / f"{preset}-seed{seed}"
        train_run(preset, recipe, seed, folder, own)
    evaluate(folder, _TEST, device, threads)


@app.command()
def evaluate(
    folder: Folder,
    split: Split = _TEST,
    device: Device = "auto",
    threads: Threads = 0,
    beam_size: Beam = None,
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Take the weights after so many updates, by themselves."),
    ] = None,
) -> None:
    """Translate a test set and score it with sacreBLEU; write summary, curves and model card.

    A run that is not finished is evaluated as far as it has come.
    """
    with computing(device, threads) as own:
        _, recipe = load_run(folder)
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
    typer.echo(f"Written to {folder}")


@app.command()
def analyse(
    folder: Folder,
    split: Split = _TEST,
    lines: Annotated[
        list[int] | None,
        typer.Option("--sentence", min=1, help="Line whose attention to show. Again for more."),
    ] = None,
) -> None:
    """Analyse the translations of an evaluated test set; write analysis.json."""
    with computing("cpu", 0):
        analysis = analyse_run(folder, cast(Multi30kSplit, split), lines or [])
    typer.echo("words of a source    sentences   BLEU   length")
    for row in analysis["by_length"]:
        typer.echo(
            f"{row['words']:17} {row['sentences']:12} {row['bleu']:6.2f} {row['length_ratio']:8.2f}"
        )
    typer.echo("times in training        words   found")
    for row in analysis["by_frequency"]:
        typer.echo(f"{row['times']:17} {row['words']:12} {row['recall']:7.1%}")
    repeated = analysis["repeated_bigrams"]
    typer.echo(
        f"Sentences with a repeated bigram: {repeated['translations']:.1%} of the translations, "
        f"{repeated['references']:.1%} of the references"
    )
    typer.echo(f"Written to {folder / 'analysis.json'}")


@app.command()
def translate(
    folder: Folder,
    file: Annotated[
        Path | None, typer.Argument(help="Text, a sentence a line; standard input if left out.")
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    beam_size: Beam = None,
) -> None:
    """Translate a text line by line to standard output."""
    with computing(device, threads) as own:
        sentences = _read_sentences(file)
        _, recipe = load_run(folder)
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
    """Return the lines of a file, or of standard input."""
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
    """Return a progress bar for a number of sentences, shown on a terminal only."""
    return tqdm(total=sentences, desc="Translating", unit="sentence", leave=False, disable=None)


if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.translation")
