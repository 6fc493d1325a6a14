"""What the recipes' commands share: their options, and how they say what went wrong."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import torch
import typer

from course_lib.recipes.run_record import with_settings
from course_lib.training.distributed import process_group
from course_lib.training.loop import DivergenceError

Recipe = TypeVar("Recipe")

_WRONG_INPUT = 2
_INTERRUPTED = 130

Folder = Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a value of the recipe: dropout=0.1. Again for more."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option(help="Where to compute; auto takes a GPU that is there."),
]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads; 0 leaves that to PyTorch.")]


def recipe_app(summary: str) -> typer.Typer:
    """Make a recipe's command line, still without commands.

    Args:
        summary: What the recipe does, in a sentence.

    Returns:
        What takes the commands.
    """
    return typer.Typer(
        help=f"{summary} A run that was stopped goes on by the same command. Exit codes: 0 done, "
        f"{_WRONG_INPUT} the input is wrong, {_INTERRUPTED} interrupted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def chosen_recipe(
    presets: Mapping[str, Recipe], preset: str, settings: Sequence[str] | None
) -> Recipe:
    """Give the recipe that ``--preset`` and ``--set`` ask for.

    Args:
        presets: Recipes by name.
        preset: The name of one.
        settings: Changes of its values, each ``name=value``.

    Returns:
        The recipe.

    Raises:
        ValueError: There is no such preset, or a setting makes no sense.
    """
    if preset not in presets:
        raise ValueError(f"--preset must be one of {', '.join(presets)}, got {preset!r}")
    return with_settings(presets[preset], settings or [])


@contextmanager
def computing(device: Device, threads: int) -> Iterator[torch.device]:
    """Do a command's work: where it is asked to, and with a line on stderr if it goes wrong.

    Args:
        device: Where to.
        threads: On the CPU; 0 leaves that to PyTorch.

    Yields:
        The device of this process, of those that ``torchrun`` may have started.

    Raises:
        Exit: The work was interrupted, or something about its input is wrong.
    """
    try:
        if threads:
            torch.set_num_threads(threads)
        with process_group(None if device == "auto" else device) as own:
            yield own
    except KeyboardInterrupt:
        typer.echo("Stopped. The same command goes on from what was kept.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except (ValueError, OSError, DivergenceError) as error:
        typer.echo(_in_words(error), err=True)
        raise typer.Exit(_WRONG_INPUT) from error


def _in_words(error: Exception) -> str:
    """Give an error's message, without the number that the operating system's errors have."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
