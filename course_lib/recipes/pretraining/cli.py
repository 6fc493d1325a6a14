"""The commands: pretrain, finetune."""

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
from course_lib.recipes.pretraining.finetune import run_finetuning
from course_lib.recipes.pretraining.presets import PRESETS, PretrainingRecipe
from course_lib.recipes.pretraining.pretrain import run_pretraining
from course_lib.recipes.pretraining.tasks import read_tasks
from course_lib.recipes.run_record import load_recipe, with_settings
from course_lib.training.distributed import rank

app = recipe_app("Pre-train a small BERT from scratch, fine-tune it.")


@app.command()
def pretrain(
    folder: Folder,
    preset: Annotated[str, typer.Option(help=f"What to train: {', '.join(PRESETS)}.")] = "cpu",
    settings: Settings = None,
    seed: Seed = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Pre-train a model; the same command goes on with a run that was cut off.

    Under torchrun several processes train together: --set accumulation=N shares N batches out.
    """
    with computing(device, threads) as own:
        recipe = chosen_recipe(PRESETS, preset, settings)
        summary = run_pretraining(recipe, folder, seed=seed, device=own)
        first = rank() == 0
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
    settings: Settings = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Fine-tune what was pre-trained, and the same model that was not; show what was gained."""
    with computing(device, threads) as own:
        pretrained, _ = load_recipe(folder, PretrainingRecipe, "seed")
        recipe = with_settings(pretrained, settings or [])
        summary = run_finetuning(recipe, folder, read_tasks(recipe), seeds=seeds, device=own)
    for task, measures in summary["tasks"].items():
        for measure, compared in measures.items():
            typer.echo(
                f"{task}, {measure.replace('_', ' ')}: pre-trained "
                f"{compared['pre-trained']['mean']:.1%}, random {compared['random']['mean']:.1%}"
            )
