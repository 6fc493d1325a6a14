"""The command: train, sample."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from course_lib.data_parallel import process_number, processes
from course_lib.download import DownloadError
from course_lib.recipes.language_modelling.presets import PRESETS
from course_lib.recipes.language_modelling.run import run_training, write_text
from course_lib.recipes.run_record import with_settings

app = typer.Typer(help="A language model of Shakespeare's plays.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="Where the run's files lie.")]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]
Device = Annotated[str | None, typer.Option(help="cpu or cuda; a GPU if there is one.")]


@app.command()
def train(
    folder: Folder,
    preset: Annotated[str, typer.Option(help=f"One of {', '.join(PRESETS)}.")] = "cpu",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a value: name=value.")
    ] = None,
    seed: Seed = 0,
    device: Device = None,
) -> None:
    """Train a model; the same command goes on with a run that was cut off.

    Under torchrun several processes train together: --set accumulation=N shares N batches out.
    """
    if preset not in PRESETS:
        raise typer.BadParameter(f"there are {', '.join(PRESETS)}, got {preset!r}")
    try:
        recipe = with_settings(PRESETS[preset], settings or [])
        with processes(device) as own:
            summary = run_training(recipe, folder, seed=seed, device=own)
            first = process_number() == 0
    except (ValueError, DownloadError) as error:
        raise SystemExit(str(error)) from error
    if first:
        typer.echo(
            f"validation loss {summary['validation_loss_nats']:.4f} nats a character after "
            f"{summary['at_step']} steps; {summary['cpu_seconds']:.0f} CPU seconds, "
            f"{summary['wall_seconds']:.0f} by the clock; see {folder}"
        )


@app.command()
def sample(
    folder: Folder,
    length: Annotated[int, typer.Option(help="Characters to write.")] = 500,
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "\n",
    temperature: Annotated[float, typer.Option(help="Below 1: more cautious.")] = 0.8,
    seed: Seed = 0,
    device: Device = None,
) -> None:
    """Let a trained model write."""
    try:
        with processes(device) as own:
            text = write_text(
                folder,
                length=length,
                seed=seed,
                device=torch.device(own),
                prompt=prompt,
                temperature=temperature,
            )
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from error
    typer.echo(text)
