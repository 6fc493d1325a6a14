"""nbgrader's late penalties by the course's dates, for ``nbgrader autograde`` and formgrader."""

from dataclasses import replace
from datetime import UTC
from pathlib import Path

from nbgrader.api import SubmittedAssignment
from nbgrader.plugins import BasePlugin
from traitlets import Unicode

from autograder.homework_source.homework import all_homeworks
from autograder.judging.results import SubmissionResult
from autograder.marks.dates import DATES_FILE, read_dates


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
        root = Path(self.root)
        path = Path(self.dates) if self.dates else root / DATES_FILE
        if not path.is_file():
            return None
        dates = read_dates(path, all_homeworks(root))
        submissions = self.parent.gradebook.student_submissions(student_id)
        handed_in = {s.name: _result(s, student_id) for s in submissions}
        result = handed_in[self.parent.assignment_id]
        max_score = {s.name: s.max_score for s in submissions}[result.homework]
        return dates.lateness(result, handed_in.values()).share * float(max_score)


def _result(submission: SubmittedAssignment, student: str) -> SubmissionResult:
    """Return what lateness needs of a submission in the gradebook."""
    moment = submission.timestamp
    result = SubmissionResult(student=student, homework=submission.name, checks=())
    return replace(result, handed_in=moment.replace(tzinfo=UTC).isoformat()) if moment else result
