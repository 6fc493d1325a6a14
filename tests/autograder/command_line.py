"""Runs commands of ``python -m autograder`` inside the tests' process."""

from pathlib import Path

from typer.testing import CliRunner, Result

from autograder.cli.app import app


def run(*arguments: object, **options) -> Result:
    """Run ``autograder`` with arguments; ``options`` are those of ``CliRunner.invoke``."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def refused(outcome: Result) -> str:
    """Check that a command ended with exit code 2 and one line of error output; return the line."""
    assert (outcome.exit_code, outcome.stdout) == (2, ""), outcome.output
    (line,) = outcome.stderr.splitlines()
    return line


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, by its path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
