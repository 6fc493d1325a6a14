"""The recipes' commands: shared options, exit codes and error messages."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import torch
import typer

from course_lib.recipes.run_folder import with_settings
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
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option(help="Where to compute; auto takes a GPU if there is one."),
]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads; 0 leaves that to PyTorch.")]


def recipe_app(summary: str) -> typer.Typer:
    """Make a command-line application without commands; ``summary`` begins its help."""
    return typer.Typer(
        help=f"{summary} The same command resumes a run that was stopped. Exit codes: 0 done, "
        f"{_WRONG_INPUT} the input is wrong, {_INTERRUPTED} interrupted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def preset_option(presets: Mapping[str, object]) -> Any:
    """Make the option ``--preset``; its help lists the names of the presets."""
    return typer.Option(help=f"The recipe: {', '.join(presets)}.")


def chosen_recipe(
    presets: Mapping[str, Recipe], preset: str, settings: Sequence[str] | None
) -> Recipe:
    """Return the recipe for the values of ``--preset`` and ``--set``; reject invalid ones."""
    if preset not in presets:
        raise ValueError(f"--preset must be one of {', '.join(presets)}, got {preset!r}")
    return with_settings(presets[preset], settings or [])


@contextmanager
def computing(device: Device, threads: int) -> Iterator[torch.device]:
    """Yield this process's device, and join the other processes of ``torchrun``.

    ``threads`` is the number of CPU threads; 0 leaves it to PyTorch. Expected
    errors inside the ``with`` block become a line on stderr and an exit code.
    """
    try:
        if threads:
            torch.set_num_threads(threads)
        with process_group(None if device == "auto" else device) as own:
            yield own
    except KeyboardInterrupt:
        typer.echo("Stopped. The same command resumes the run.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except (ValueError, OSError, DivergenceError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.filename is not None:  # without the errno
            message = f"{error.filename}: {error.strerror}"
        typer.echo(message, err=True)
        raise typer.Exit(_WRONG_INPUT) from error
