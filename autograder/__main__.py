"""Runs the command line: ``python -m autograder``."""

from autograder.quick_imports import spare

if __name__ == "__main__":
    spare()

from autograder.cli.app import app
from autograder.cli.terminal import fit_streams

if __name__ == "__main__":
    fit_streams()
    app(prog_name="python -m autograder")
