"""python -m autograder. Dask's workers import it too: all but the call stands elsewhere."""

from autograder.cli.app import app

if __name__ == "__main__":
    app(prog_name="python -m autograder")
