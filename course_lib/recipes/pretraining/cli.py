"""The command: pretrain, finetune."""

import json
from pathlib import Path
from typing import Annotated

import typer

from course_lib.data_parallel import process_number, processes
from course_lib.download import DownloadError
from course_lib.recipes.pretraining.finetune import run_finetuning
from course_lib.recipes.pretraining.presets import PRESETS, Recipe
from course_lib.recipes.pretraining.pretrain import run_pretraining
from course_lib.recipes.pretraining.tasks import read_tasks
from course_lib.recipes.run_record import with_settings

app = typer.Typer(help="A small BERT from scratch.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="Where the run's files lie.")]
Device = Annotated[str | None, typer.Option(help="cpu or cuda; a GPU if there is one.")]


@app.command()
def pretrain(
    folder: Folder,
    preset: Annotated[str, typer.Option(help=f"One of {', '.join(PRESETS)}.")] = "cpu",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: name=value.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    device: Device = None,
) -> None:
    """Pre-train a model; the same command goes on with a run that was cut off.

    Under torchrun several processes train together: --set accumulation=N shares N batches out.
    """
    if preset not in PRESETS:
        raise typer.BadParameter(f"there are {', '.join(PRESETS)}, got {preset!r}")
    try:
        recipe = with_settings(PRESETS[preset], settings or [])
        with processes(device) as own:
            summary = run_pretraining(recipe, folder, seed=seed, device=own)
            first = process_number() == 0
    except (ValueError, DownloadError) as error:
        raise SystemExit(str(error)) from error
    if first:
        typer.echo(
            f"guesses {summary['token_accuracy']:.1%} of masked tokens and tells "
            f"{summary['next_accuracy']:.1%} of pairs apart after {summary['steps']} steps; "
            f"{summary['cpu_seconds']:.0f} CPU seconds; see {folder}"
        )


@app.command()
def finetune(
    folder: Folder,
    seeds: Annotated[int, typer.Option(help="How many.")] = 3,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: name=value.")
    ] = None,
    device: Device = None,
) -> None:
    """Fine-tune what was pre-trained, and the same model that was not; show what was gained."""
    noted = folder / "recipe.json"
    if not noted.is_file():
        raise SystemExit(f"{folder} holds no run: pretrain first")
    kept = json.loads(noted.read_text(encoding="utf-8"))
    del kept["seed"]
    try:
        recipe = with_settings(Recipe(**kept), settings or [])
        with processes(device) as own:
            summary = run_finetuning(recipe, folder, read_tasks(recipe), seeds=seeds, device=own)
    except (ValueError, FileNotFoundError, DownloadError) as error:
        raise SystemExit(str(error)) from error
    for task, measures in summary["tasks"].items():
        for measure, compared in measures.items():
            typer.echo(
                f"{task}, {measure.replace('_', ' ')}: pre-trained "
                f"{compared['pre-trained']['mean']:.1%}, random {compared['random']['mean']:.1%}"
            )
