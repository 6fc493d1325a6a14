"""Makes each homework's table of submissions, from the variants in its source.

A homework that has none yet has a module of this folder, named as the homework:
``hw07_bleu.py`` belongs to ``hw07-bleu`` and may hold:

- ``SAMPLE_CLASS``: a class of students of every kind; ``make course`` grades hw03's.
- ``MISTAKES``: further submissions: right ones in other styles, and wrong ones with one named
  mistake each; see ``submissions.right`` and ``submissions.mistake``. May be missing.
- ``DELIGHT``: what the last cell prints once the homework is solved.
- ``EQUIVALENT``: for each mutant that no test can tell from the solution, a piece of the line that
  it leads to, and the reason; see ``mutants.py``. May be missing.
- ``SECONDS``: how long a check may take in the judge; 15 if missing.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.homework_source import source
from autograder.homework_source.homework import Homework, HomeworkError, all_homeworks
from autograder.homework_source.instructors_notebook import instructors_notebook

from .made_class import make_sample_class, submission_of
from .submissions import Submission

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a homework's module holds.

    Attributes:
        homework_id: Such as ``hw03-self-attention``.
        sample_class: As ``SAMPLE_CLASS``.
        mistakes: As ``MISTAKES``.
        delight: As ``DELIGHT``.
        equivalent: As ``EQUIVALENT``.
        seconds: As ``SECONDS``.
    """

    homework_id: str
    sample_class: tuple[Submission, ...]
    mistakes: tuple[Submission, ...]
    delight: str
    equivalent: Mapping[str, str]
    seconds: float

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """The sample class and the mistakes."""
        return self.sample_class + self.mistakes


@cache
def load_table(homework_id: str) -> Table:
    """Return a homework's table.

    Raises:
        HomeworkError: It has no variants, and no module here.
    """
    homework = load_homework(homework_id)
    if homework.variants:
        return Table(
            homework_id=homework_id,
            sample_class=make_sample_class(homework),
            mistakes=tuple(submission_of(v) for v in homework.variants if v.source),
            delight=next((cell.prints for cell in homework.cells if cell.prints), ""),
            equivalent={v.name: v.hint for v in homework.variants if not v.source},
            seconds=15.0,
        )
    name = homework_id.replace("-", "_")
    if not table_file(homework_id).is_file():
        raise HomeworkError(f"{homework_id} has no sample class")
    module = importlib.import_module(f"{__package__}.{name}")
    return Table(
        homework_id=homework_id,
        sample_class=module.SAMPLE_CLASS,
        mistakes=getattr(module, "MISTAKES", ()),
        delight=getattr(module, "DELIGHT", ""),
        equivalent=getattr(module, "EQUIVALENT", {}),
        seconds=getattr(module, "SECONDS", 15.0),
    )


def tabled_homeworks() -> list[str]:
    """Return the ids of the homeworks that have a table, in order."""
    return [
        homework
        for homework in all_homeworks(ROOT)
        if load_homework(homework).variants or table_file(homework).is_file()
    ]


def table_file(homework_id: str) -> Path:
    """Return where the table of a homework without variants is."""
    return Path(__file__).with_name(f"{homework_id.replace('-', '_')}.py")


@cache
def load_homework(homework_id: str) -> Homework:
    """Read a homework."""
    return source.load_homework(homework_id, ROOT)


def solved_notebook(homework_id: str) -> bytes:
    """Return the instructor's notebook, as a student might hand it in."""
    return instructors_notebook(load_homework(homework_id)).encode()


def released_notebook(homework_id: str) -> Path:
    """Return the file of the student notebook."""
    return ROOT / "assignments" / homework_id / f"{homework_id}.ipynb"


@cache
def read_released(homework_id: str) -> NotebookNode:
    """Read the student notebook."""
    return nbformat.read(released_notebook(homework_id), as_version=4)
