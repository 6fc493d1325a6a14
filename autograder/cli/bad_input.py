"""What the person at the keyboard can fix: one line that says what, and exit code 2."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import typer

from autograder.clean_text import one_line, without_sql
from course_lib.atomic_write import UNFINISHED


class BadInputError(ValueError):
    """An argument that can't be used; the message says why."""


def not_written(place: Path, error: OSError) -> BadInputError:
    """Say what can't be written, by the name that a person knows."""
    named = Path(str(error.filename2 or error.filename or place))
    shown = place if any(part.startswith(UNFINISHED) for part in named.parts) else named
    return BadInputError(f"{shown} can't be written: {error.strerror or error}")


@contextlib.contextmanager
def told_in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that are no bug into one line on stderr."""
    known: tuple[type[Exception], ...] = (BadInputError, *kinds)
    try:
        yield
    except known as error:
        typer.echo(f"Error: {one_line(without_sql(str(error)), 1000)}", err=True)
        raise typer.Exit(2) from None
