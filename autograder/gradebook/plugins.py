"""The judge as nbgrader's plug-ins; ``nbgrader_settings.configure`` names each of these classes.

nbgrader never reads a student's file. 0.9.6 would read one of any size, and stop at malformed
metadata or a copied cell, without grading the next students.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells
from traitlets import Unicode

from autograder.class_folders import LOG
from autograder.class_run.course import Course
from autograder.class_run.judge_process import JudgeProcess
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import check_reference, grade_patiently
from autograder.class_run.submissions import read_notebook, refuse_other_homework
from autograder.clean_text import one_line
from autograder.gradebook.database import GradebookError
from autograder.gradebook.graded_notebook import kept_result, transplant, write_outcomes
from autograder.gradebook.hand_grades import read_hand_grades
from autograder.gradebook.judge_settings import JudgeSettings
from autograder.homework_source.book_links import book_address, with_headings
from autograder.homework_source.homework import Homework, HomeworkError, all_homeworks
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import Lateness, stand
from autograder.reports.feedback import render_feedback
from autograder.reports.mark_log import write_marks
from autograder.term.dates import DATES_FILE, Dates, read_dates

_HANDED_IN = "handed_in"  # key in nbgrader's resources for the bytes of the submitted file


class TrustedJudge(JudgeSettings, NbGraderPreprocessor):
    """Grades a submitted notebook with the judge, in place of nbgrader's ``Execute``.

    It writes into each test cell the output from which ``SaveAutoGrades`` reads the score.
    """

    # shared: nbgrader makes a new preprocessor for each notebook
    _judges = JudgePool()
    _tried: ClassVar[dict[str, HomeworkError | None]] = {}

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the submitted bytes among the resources; log flags and marks.

        Raises:
            HomeworkError: The reference solution does not pass a check.
        """
        root = Path(self.root)
        ids = resources["nbgrader"]
        course = Course.load(load_homework(ids["assignment"], root), root)
        result = self._grade(course, ids[_HANDED_IN], ids["student"])
        for flag in result.flags:
            words = one_line(f"{flag.text} {flag.where}", 400)
            self.log.warning("%s: flag, %s: %s", one_line(result.student), flag.kind, words)
        write_marks([stand(result)], Path(LOG), now=datetime.now(UTC))  # in the course folder
        write_outcomes(notebook, result, course.homework)
        return notebook, resources

    def _grade(self, course: Course, handed_in: bytes, student: str) -> SubmissionResult:
        options = GradingOptions(
            limits=self.time_limits,
            worker_limits=self.worker_limits,
            isolated=self.isolated,
            device=self.device,
        )
        judge = self._judges.acquire_one(course, options)
        self._try_reference(course, judge)
        return grade_patiently(judge, handed_in, student, self._judges.seed)

    def _try_reference(self, course: Course, judge: JudgeProcess) -> None:
        """Raise ``HomeworkError`` if the reference solution fails a check; run once per course."""
        if course.digest not in self._tried:
            notebook = instructors_notebook(course.homework).encode()
            try:
                seed = self._judges.seed
                check_reference(grade_patiently(judge, notebook, "reference", seed))
                self._tried[course.digest] = None
            except HomeworkError as error:
                self._tried[course.digest] = error
        if refused := self._tried[course.digest]:
            raise refused


class RestoredCells(OverwriteCells):
    """Restores the instructor's cells without a warning about each restored hidden test."""

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        """Log no warning about a restored cell."""


class HandedInNotebook(NotebookExporter):
    """Puts the student's sources into the released notebook; set as ``Autograde.exporter_class``.

    nbgrader converts each notebook twice: the submission first, then the result, which stays as it
    is.
    """

    _handed_in = b""

    def from_filename(
        self, filename: str, resources: Any = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert a notebook.

        Raises:
            UnreadableError, SubmissionError: The submission is too large, not a notebook, or of
                another homework. nbgrader names its student and goes on.
            GradebookError: There is no released notebook.
        """
        place = Path(filename)
        if place.parent == self._folder("submitted_directory", resources):
            assignment = resources["nbgrader"]["assignment"]
            homework = load_homework(assignment, Path(TrustedJudge(config=self.config).root))
            self._handed_in = read_notebook(place)
            refuse_other_homework(self._handed_in, homework)
            notebook = self._transplanted(place.name, resources, homework)
            return self.from_notebook_node(notebook, resources=resources, **kw)
        resources["nbgrader"][_HANDED_IN] = self._handed_in
        return super().from_filename(filename, resources=resources, **kw)

    def _transplanted(self, name: str, resources: Any, homework: Homework) -> NotebookNode:
        path = self._folder("release_directory", resources, student=".") / name
        try:
            released = nbformat.read(path, as_version=4)
        except (OSError, ValueError) as error:
            raise GradebookError(
                f"{path} can't be read; make it with: nbgrader generate_assignment {homework.id}"
            ) from error
        return transplant(released, self._handed_in, homework)

    def _folder(self, step: str, resources: Any, student: str = "") -> Path:
        ids = resources["nbgrader"]
        folders = self.parent.coursedir
        student = student or ids["student"]
        return Path(folders.format_path(getattr(folders, step), student, ids["assignment"]))


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
        dates = self.course_dates()
        if dates is None:
            return None
        submissions = self.parent.gradebook.student_submissions(student_id)
        homework_id = self.parent.assignment_id
        max_score = {s.name: s.max_score for s in submissions}[homework_id]
        return _lateness(submissions, homework_id, dates).share * float(max_score)

    def course_dates(self) -> Dates | None:
        """Read the course's dates; None if there are none.

        Raises:
            DatesError: The file is malformed.
        """
        path = Path(self.dates) if self.dates else Path(self.root) / DATES_FILE
        return read_dates(path, all_homeworks(Path(self.root))) if path.is_file() else None


def _lateness(
    submissions: Sequence[SubmittedAssignment], homework_id: str, dates: Dates
) -> Lateness:
    """Return how late a homework is, given all submissions of its student in the gradebook."""
    results = {
        s.name: SubmissionResult(
            student=s.student_id,
            homework=s.name,
            checks=(),
            handed_in=s.timestamp.replace(tzinfo=UTC).isoformat() if s.timestamp else "",
        )
        for s in submissions
    }
    return dates.lateness(results[homework_id], results.values())


class FeedbackPage(HTMLExporter):
    """Renders a graded notebook as feedback; set as ``c.GenerateFeedback.exporter_class``.

    A notebook that the judge did not grade gets nbgrader's own page.
    """

    def from_notebook_node(
        self, nb: NotebookNode, resources: Any = None, **kw: Any
    ) -> tuple[str, Any]:
        """Return a self-contained HTML page, and the resources."""
        result = kept_result(nb)
        if result is None:
            page, resources = super().from_notebook_node(nb, resources, **kw)
            return page, resources
        return self._page(result, resources["nbgrader"]["db_url"]), self._init_resources(resources)

    def _page(self, result: SubmissionResult, db_url: str) -> str:
        root = Path(TrustedJudge(config=self.config).root)
        given = read_hand_grades(result.homework, root, db_url).get(result.student)
        homework = with_headings(load_homework(result.homework, root), root)
        late = None
        if dates := DatedPenalties(config=self.config).course_dates():
            with Gradebook(db_url) as gradebook:
                submissions = gradebook.student_submissions(result.student)
                late = _lateness(submissions, result.homework, dates)
        standing = stand(result, given, late)
        return render_feedback(standing, homework, book_url=book_address(root), alone=True)
