"""What all commands take for a submission's mark: results joined with what stands beside them."""

from collections.abc import Sequence
from pathlib import Path

from autograder.gradebook.hand_grades import read_hand_grades
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Standing, stand


def standings_of(results: Sequence[SubmissionResult], out: Path, db_url: str) -> list[Standing]:
    """Join results with what was given by hand.

    Args:
        results: Of one homework.
        out: Where the class was graded into.
        db_url: The gradebook's database; a file in ``out`` if empty.

    Returns:
        How each submission stands, in the order of the results.
    """
    if not results:
        return []
    given = read_hand_grades(results[0].homework, out / "nbgrader", db_url)
    return [stand(result, given.get(result.student)) for result in results]
