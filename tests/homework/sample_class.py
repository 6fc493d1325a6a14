"""Writes a homework's sample class: ``python -m tests.homework.sample_class FOLDER [HOMEWORK]``."""

import importlib
import shutil
import sys
from pathlib import Path

from autograder.homework import (
    Homework,
    HomeworkError,
    read_source_notebook,
    resolve_homework,
)
from autograder.source import build_source_notebook

from .submissions import Submission, write_class

ROOT = Path(__file__).parents[2]


def sample_class(homework_id: str) -> tuple[Submission, ...]:
    """Return the submissions of a homework's sample class.

    Args:
        homework_id: Such as ``hw03-self-attention``; its class stands in a module of this folder
            called ``hw03_self_attention``.

    Returns:
        The class.

    Raises:
        HomeworkError: The homework has no sample class.
    """
    try:
        module = importlib.import_module(f"{__package__}.{homework_id.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise HomeworkError(f"{homework_id} has no sample class") from error
    return module.SAMPLE_CLASS


def load_homework(name: str) -> Homework:
    """Build and read the instructor's notebook."""
    return read_source_notebook(build_source_notebook(name, ROOT))


def released_notebook(homework_id: str) -> Path:
    """Return the file of the student notebook."""
    return ROOT / "assignments" / homework_id / f"{homework_id}.ipynb"


def main(arguments: list[str]) -> int:
    """Write the class and print a line for each submission."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        homework_id = resolve_homework(arguments[1] if arguments[1:] else "hw03", ROOT)
        students, homework = sample_class(homework_id), load_homework(homework_id)
    except HomeworkError as error:
        print(error, file=sys.stderr)
        return 2
    for student in students:  # what an earlier call wrote, and nothing else
        shutil.rmtree(folder / student.student, ignore_errors=True)
    write_class(students, homework, released_notebook(homework_id), folder)
    for student in students:
        print(f"{student.student:8} {student.score(homework):4g}  {student.what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
