"""Runs the judge inside ``nbgrader autograde``, in place of nbgrader's ``Execute``.

It writes into each test cell the output from which nbgrader's ``SaveAutoGrades`` reads the score.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.class_folders import LOG
from autograder.class_run.course import Course
from autograder.class_run.judge_process import JudgeProcess
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import check_reference, grade_patiently
from autograder.clean_text import one_line
from autograder.gradebook.graded_notebook import write_outcomes
from autograder.gradebook.judge_settings import JudgeSettings
from autograder.homework_source.homework import HomeworkError
from autograder.homework_source.instructors_notebook import instructors_notebook
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import stand
from autograder.reports.mark_log import write_marks

HANDED_IN = "handed_in"
"""Key in nbgrader's resources for the bytes of the submitted file."""


class TrustedJudge(JudgeSettings, NbGraderPreprocessor):
    """Grades a submitted notebook with the judge and writes the outcomes into its test cells."""

    # shared: nbgrader makes a new preprocessor for each notebook
    _judges = JudgePool()
    _tried: ClassVar[dict[str, HomeworkError | None]] = {}

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the bytes in ``resources["nbgrader"][HANDED_IN]``; log flags and marks."""
        root = Path(self.root)
        ids = resources["nbgrader"]
        course = Course.load(load_homework(ids["assignment"], root), root)
        result = self._grade(course, ids[HANDED_IN], ids["student"])
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
        return grade_patiently(judge, handed_in, student)

    def _try_reference(self, course: Course, judge: JudgeProcess) -> None:
        """Refuse to grade by tests that the reference solution does not pass; tried once."""
        if course.digest not in self._tried:
            notebook = instructors_notebook(course.homework).encode()
            try:
                check_reference(grade_patiently(judge, notebook, "reference"))
                self._tried[course.digest] = None
            except HomeworkError as error:
                self._tried[course.digest] = error
        if refused := self._tried[course.digest]:
            raise refused
