"""Runs the command line: ``python -m autograder``."""

from autograder.quick_imports import skip_imports

if __name__ == "__main__":
    skip_imports()

from autograder.cli.app import app
from autograder.cli.terminal import fit_streams

if __name__ == "__main__":
    fit_streams()
    app(prog_name="python -m autograder")
