"""Makes each homework's table of submissions from the variants in its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.homework_source import source
from autograder.homework_source.homework import Homework, all_homeworks
from autograder.homework_source.instructors_notebook import instructors_notebook

from .made_class import make_sample_class, submission_of
from .submissions import Submission

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Submissions of a homework, and the facts that its tests need.

    Attributes:
        homework_id: The homework's id, such as ``hw03-self-attention``.
        sample_class: A class with students of every kind; ``make course`` grades homework 3's.
        variants: A submission for each variant in the homework's source.
        delight: The line that the last cell prints once the homework is solved.
        equivalent: Pieces of lines that a mutant may change without any effect, each with the
            reason; see ``mutants.py``.
    """

    homework_id: str
    sample_class: tuple[Submission, ...]
    variants: tuple[Submission, ...]
    delight: str
    equivalent: Mapping[str, str]

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """The sample class and the variants."""
        return self.sample_class + self.variants


@cache
def load_table(homework_id: str) -> Table:
    """Return the table of the homework with this id.

    Raises:
        HomeworkError: There is no such homework.
    """
    homework = load_homework(homework_id)
    return Table(
        homework_id=homework_id,
        sample_class=make_sample_class(homework),
        variants=tuple(submission_of(v) for v in homework.variants if v.source),
        delight=next((cell.prints for cell in homework.cells if cell.prints), ""),
        equivalent={v.name: v.hint for v in homework.variants if not v.source},
    )


def tabled_homeworks() -> list[str]:
    """Return the ids of all homework, in order."""
    return all_homeworks(ROOT)


LAST_OF_THE_COURSE = "hw09"


def course_homeworks() -> list[str]:
    """Return the ids of the course's own homework; a teacher's has later numbers."""
    return [homework for homework in tabled_homeworks() if homework[:4] <= LAST_OF_THE_COURSE]


@cache
def load_homework(homework_id: str) -> Homework:
    """Return the homework with this id, read from its source."""
    return source.load_homework(homework_id, ROOT)


def solved_notebook(homework_id: str) -> bytes:
    """Return the solved notebook of a homework as JSON, as a student might hand it in."""
    return instructors_notebook(load_homework(homework_id)).encode()


def released_notebook(homework_id: str) -> Path:
    """Return the path of a homework's student notebook."""
    return ROOT / "assignments" / homework_id / f"{homework_id}.ipynb"


@cache
def read_released(homework_id: str) -> NotebookNode:
    """Return the content of a homework's student notebook."""
    return nbformat.read(released_notebook(homework_id), as_version=4)
