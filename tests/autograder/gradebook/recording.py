"""Records a list of finished results in a gradebook."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.gradebook.writer import GradebookWriter
from autograder.homework_source.homework import Homework
from autograder.judging.results import SubmissionResult


def record_in_gradebook(
    results: Sequence[SubmissionResult], submissions: Path, homework: Homework, **options: Any
) -> None:
    """Record results; ``options`` are those of ``GradebookWriter``."""
    with GradebookWriter(submissions, homework, **options) as recorder:
        for result in results:
            recorder.record(result)
