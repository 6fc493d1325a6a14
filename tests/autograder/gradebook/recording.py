"""Records finished results in a gradebook, and with it all that grading writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.gradebook.writer import GradebookWriter
from autograder.homework_source.homework import Homework
from autograder.judging.results import SubmissionResult
from autograder.reports.class_outputs import write_outputs
from tests.autograder.conftest import notebook
from tests.autograder.graded_class import HOMEWORK, standings_of, store_results


def record_in_gradebook(
    results: Sequence[SubmissionResult], submissions: Path, homework: Homework, **options: Any
) -> None:
    """Record results of a homework; ``options`` are those of ``GradebookWriter``."""
    with GradebookWriter(submissions, homework, **options) as recorder:
        for result in results:
            recorder.record(result)


def write_graded_class(folder: Path, results: Sequence[SubmissionResult]) -> Path:
    """Write into ``folder`` a class with these results: submissions, and all that grading writes.

    Return the folder of the latter, ``folder / "out"``.
    """
    out = folder / "out"
    for made in results:
        handed_in = folder / "class" / made.student / HOMEWORK.id / f"{HOMEWORK.id}.ipynb"
        handed_in.parent.mkdir(parents=True)
        handed_in.write_bytes(notebook(("double", made.student)))
    store_results(out, results, HOMEWORK.id)
    write_outputs(standings_of(results), HOMEWORK, out)
    record_in_gradebook(results, folder / "class", HOMEWORK, course_folder=out / "nbgrader")
    return out
