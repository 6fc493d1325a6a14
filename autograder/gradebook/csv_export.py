"""``nbgrader export`` writes a table that a spreadsheet reads as it stands, and runs nothing of.

nbgrader 0.9.6 puts commas between what students are called, whatever that holds: an id with commas
has other marks in its row than its student, and one that begins with ``=`` is a formula.
"""

from pathlib import Path

from nbgrader.api import Assignment, Gradebook, MissingEntry, Student
from nbgrader.plugins import CsvExportPlugin

from autograder.reports.csv_text import csv_text, inert

_COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class QuotedCsv(CsvExportPlugin):
    """What ``c.ExportApp.plugin_class`` names: nbgrader's columns, as ``csv`` writes them."""

    def export(self, gradebook: Gradebook) -> None:
        """Write a row for each student and assignment that is asked for.

        Args:
            gradebook: nbgrader's.
        """
        place = Path(self.to or "grades.csv")
        students, assignments = set(map(str, self.student)), set(map(str, self.assignment))
        rows = [
            _row(gradebook, assignment, student)
            for assignment in gradebook.assignments
            if not assignments or assignment.name in assignments
            for student in gradebook.students
            if not students or student.id in students
        ]
        place.write_text(csv_text(_COLUMNS, rows), encoding="utf-8")
        self.log.info("Exported %s rows to %s", len(rows), place)


def _row(gradebook: Gradebook, assignment: Assignment, student: Student) -> list[object]:
    named = (student.id, student.last_name, student.first_name, student.email)
    called = [inert(name or "") for name in named]
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:  # nothing was handed in
        moment, marks = "", (0.0, 0.0, 0.0)
    else:
        penalty = submission.late_submission_penalty
        score = max(0.0, submission.score - penalty)
        moment, marks = submission.timestamp or "", (submission.score, penalty, score)
    due = assignment.duedate or ""
    return [assignment.name, due, moment, *called, *marks, assignment.max_score]
