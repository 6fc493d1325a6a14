"""What grading kept, for the commands that write it again or in another form."""

from pathlib import Path

from autograder.class_folders import RESULTS
from autograder.class_run.result_store import ResultStore
from autograder.cli.bad_input import BadInputError
from autograder.cli.project import ROOT
from autograder.homework_source.book_headings import with_headings
from autograder.homework_source.homework import Homework, resolve_homework
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult


def stored_results(homework: str, out: Path) -> tuple[list[SubmissionResult], Homework]:
    """Read what grading kept.

    Args:
        homework: Its number, such as ``hw03``, or its id.
        out: Where the class was graded into.

    Returns:
        The results, at least one, and the homework.

    Raises:
        BadInputError: There are none.
        HomeworkError: There is no such homework.
    """
    homework_id = resolve_homework(homework, ROOT)
    results = ResultStore(out / RESULTS / homework_id).read_all()
    if not results:
        raise BadInputError(f"{out} holds no results of {homework_id}: grade it first")
    return results, with_headings(load_homework(homework_id, ROOT), ROOT)
