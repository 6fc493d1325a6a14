"""The points that stand in nbgrader's gradebook: by machine, by hand, with late penalties."""

import warnings
from dataclasses import dataclass
from pathlib import Path

from autograder.gradebook.database import gradebook_url


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the gradebook says about a submission.

    Attributes:
        score: Points.
        waiting: Whether something is still to be graded by hand.
    """

    score: float
    waiting: bool


def read_standings(homework_id: str, course_folder: Path, db_url: str = "") -> dict[str, Standing]:
    """Read a homework's points from the gradebook.

    Args:
        homework_id: Such as ``hw03-self-attention``.
        course_folder: nbgrader's course folder.
        db_url: The gradebook's database; the file in the course folder if empty.

    Returns:
        Student to standing; empty if there is no gradebook, or no such homework in it.
    """
    from nbgrader.api import Gradebook, MissingEntry

    if not db_url and not (course_folder / "gradebook.db").is_file():
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries trouble the newest SQLAlchemy
        with Gradebook(gradebook_url(course_folder, db_url)) as gradebook:
            try:
                submissions = gradebook.submission_dicts(homework_id)
            except MissingEntry:
                return {}
    return {
        entry["student"]: Standing(
            score=float(entry["score"] or 0.0), waiting=bool(entry["needs_manual_grade"])
        )
        for entry in submissions
    }
