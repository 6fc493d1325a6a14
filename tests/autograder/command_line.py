"""Runs commands of ``python -m autograder`` inside the tests' process."""

from typer.testing import CliRunner, Result

from autograder.cli.app import app


def run(*arguments: object, **options) -> Result:
    """Run a command; ``options`` are those of ``CliRunner.invoke``."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def refused(outcome: Result) -> str:
    """Check that a command ended with exit code 2 and one line on stderr; return the line."""
    assert outcome.exit_code == 2, outcome.output
    (line,) = outcome.stderr.splitlines()
    return line
