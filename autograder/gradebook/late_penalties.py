"""nbgrader's late penalties by the course's dates, for ``nbgrader autograde`` and formgrader."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from nbgrader.api import SubmittedAssignment
from nbgrader.plugins import BasePlugin
from traitlets import Unicode

from autograder.homework_source.homework import all_homeworks
from autograder.judging.results import SubmissionResult
from autograder.marks.dates import DATES_FILE, Dates, read_dates
from autograder.marks.lateness import Lateness


class DatedPenalties(BasePlugin):
    """What ``c.AssignLatePenalties.plugin_class`` names: takes off what dates.toml says."""

    root = Unicode(".", help="Folder of the course project, with solutions").tag(config=True)
    dates = Unicode("", help="The course's dates; dates.toml in root if empty").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Say what lateness takes off.

        Args:
            student_id: The student.
            score: Points of the notebook.
            total_seconds_late: By the gradebook; what counts is when the homework was handed in.

        Returns:
            Points; None if there are no dates.
        """
        dates = configured_dates(self.root, self.dates)
        if dates is None:
            return None
        submissions = self.parent.gradebook.student_submissions(student_id)
        homework_id = self.parent.assignment_id
        max_score = {s.name: s.max_score for s in submissions}[homework_id]
        return lateness_among(submissions, homework_id, dates).share * float(max_score)


def configured_dates(root: str, file: str) -> Dates | None:
    """Read the course's dates.

    Args:
        root: Folder of the course project.
        file: Where they are said; dates.toml in root if empty.

    Returns:
        What it says; None if there is no such file.

    Raises:
        DatesError: It can't be used.
    """
    path = Path(file) if file else Path(root) / DATES_FILE
    return read_dates(path, all_homeworks(Path(root))) if path.is_file() else None


def lateness_among(
    submissions: Sequence[SubmittedAssignment], homework_id: str, dates: Dates
) -> Lateness:
    """Say how late a submission is.

    Args:
        submissions: All of its student's that are in the gradebook.
        homework_id: Which of them.
        dates: When homework is due, and what being late costs.
    """
    handed_in = {s.name: _result(s, s.student_id) for s in submissions}
    return dates.lateness(handed_in[homework_id], handed_in.values())


def _result(submission: SubmittedAssignment, student: str) -> SubmissionResult:
    """Return what lateness needs of a submission in the gradebook."""
    moment = submission.timestamp
    result = SubmissionResult(student=student, homework=submission.name, checks=())
    return replace(result, handed_in=moment.replace(tzinfo=UTC).isoformat()) if moment else result
