"""nbgrader's late penalties, computed from the course's dates."""

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

from nbgrader.api import SubmittedAssignment
from nbgrader.plugins import BasePlugin
from traitlets import Unicode

from autograder.homework_source.homework import all_homeworks
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness
from autograder.term.dates import DATES_FILE, Dates, read_dates


class DatedPenalties(BasePlugin):
    """Deducts for lateness by dates.toml; set as ``c.AssignLatePenalties.plugin_class``."""

    root = Unicode(".", help="Folder of the course project, with solutions").tag(config=True)
    dates = Unicode("", help="The course's dates; dates.toml in root if empty").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to deduct; None if the course has no dates.

        nbgrader's own ``total_seconds_late`` knows no extensions or grace days, and is ignored.
        """
        dates = configured_dates(self.root, self.dates)
        if dates is None:
            return None
        submissions = self.parent.gradebook.student_submissions(student_id)
        homework_id = self.parent.assignment_id
        max_score = {s.name: s.max_score for s in submissions}[homework_id]
        return lateness_among(submissions, homework_id, dates).share * float(max_score)


def configured_dates(root: str, file: str) -> Dates | None:
    """Read the course's dates from ``file``, or dates.toml in ``root``; None if there is none.

    Raises:
        DatesError: The file is malformed.
    """
    path = Path(file) if file else Path(root) / DATES_FILE
    return read_dates(path, all_homeworks(Path(root))) if path.is_file() else None


def lateness_among(
    submissions: Sequence[SubmittedAssignment], homework_id: str, dates: Dates
) -> Lateness:
    """Return how late a homework is, given all submissions of its student in the gradebook."""
    handed_in = {s.name: _result(s) for s in submissions}
    return dates.lateness(handed_in[homework_id], handed_in.values())


def _result(submission: SubmittedAssignment) -> SubmissionResult:
    moment = submission.timestamp
    return SubmissionResult(
        student=submission.student_id,
        homework=submission.name,
        checks=(),
        handed_in=moment.replace(tzinfo=UTC).isoformat() if moment else "",
    )
