"""The commands: train, sample."""

from typing import Annotated

import typer

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
from course_lib.recipes.language_modelling.presets import PRESETS
from course_lib.recipes.language_modelling.run import generate_text, run_training
from course_lib.training.distributed import rank

app = recipe_app("Train a language model of Shakespeare's plays, let it write.")


@app.command()
def train(
    folder: Folder,
    preset: Annotated[str, typer.Option(help=f"What to train: {', '.join(PRESETS)}.")] = "cpu",
    settings: Settings = None,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a model; the same command goes on with a run that was cut off.

    Under torchrun several processes train together: --set accumulation=N shares N batches out.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        summary = run_training(recipe, folder, seed=seed, device=own)
        first = rank() == 0
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
    prompt: Annotated[
        str, typer.Option(help="What the text begins with.", show_default="a new line")
    ] = "\n",
    temperature: Annotated[float, typer.Option(help="Below 1: more cautious.")] = 0.8,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Let a trained model write."""
    with computing(device, threads) as own:
        text = generate_text(
            folder, length=length, seed=seed, device=own, prompt=prompt, temperature=temperature
        )
    typer.echo(text)
