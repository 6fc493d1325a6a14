"""python -m autograder."""

from autograder.quick_imports import spare

if __name__ == "__main__":
    spare()

from autograder.cli.app import app

if __name__ == "__main__":
    app(prog_name="python -m autograder")
