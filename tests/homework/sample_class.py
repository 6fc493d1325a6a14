"""Writes a homework's sample class: ``python -m tests.homework.sample_class FOLDER [HOMEWORK]``."""

import shutil
import sys
from pathlib import Path

from autograder.homework_source.homework import HomeworkError, resolve_homework

from .submissions import write_class
from .tables import ROOT, load_homework, load_table, released_notebook


def main(arguments: list[str]) -> int:
    """Write a sample class's submissions, print a line for each, and return the exit status."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        homework_id = resolve_homework(arguments[1] if arguments[1:] else "hw03", ROOT)
        students, homework = load_table(homework_id).sample_class, load_homework(homework_id)
    except HomeworkError as error:
        print(error, file=sys.stderr)
        return 2
    for student in students:  # the files of an earlier call only
        shutil.rmtree(folder / student.student, ignore_errors=True)
    write_class(students, homework, released_notebook(homework_id), folder)
    for student in students:
        print(f"{student.student:8} {student.score(homework):4g}  {student.what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
