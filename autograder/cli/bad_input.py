"""What the person at the keyboard can fix: one line that says what, and exit code 2."""

import contextlib
from collections.abc import Iterator

import typer

from autograder.clean_text import one_line, without_sql


class BadInputError(ValueError):
    """An argument that can't be used; the message says why."""


@contextlib.contextmanager
def told_in_one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that are no bug into one line on stderr.

    Args:
        kinds: The errors, besides ``BadInputError``.

    Raises:
        Exit: With code 2, in their place.
    """
    known: tuple[type[Exception], ...] = (BadInputError, *kinds)
    try:
        yield
    except known as error:
        typer.echo(f"Error: {one_line(without_sql(str(error)), 1000)}", err=True)
        raise typer.Exit(2) from None
