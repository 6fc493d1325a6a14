"""Where the judge meets nbgrader: a preprocessor in the place of ``Execute``.

It leaves in each test cell the outputs that nbgrader's own ``SaveAutoGrades`` reads. What is for
the staff alone goes into nbgrader's log (flags), and into a file of the course folder (all of it).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.class_folders import LOG
from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_patiently
from autograder.clean_text import one_line
from autograder.gradebook.graded_notebook import write_outcomes
from autograder.gradebook.judge_settings import JudgeSettings
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult
from autograder.marks.standing import stand
from autograder.reports.mark_log import write_marks

HANDED_IN = "handed_in"
"""Where nbgrader's resources, with the ids, hold the bytes of the file that was handed in."""


class TrustedJudge(JudgeSettings, NbGraderPreprocessor):
    """Grades a submitted notebook with the judge and writes what it found into the test cells."""

    _judges = JudgePool()  # of all preprocessors: nbgrader makes one for each notebook

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the notebook.

        Args:
            notebook: What is shown of the submission, after nbgrader's sanitising steps.
            resources: nbgrader's resources, with the student's and the assignment's ids, and what
                the judge reads: the file that was handed in.

        Returns:
            The notebook with outputs in its test cells, and the resources.
        """
        root = Path(self.root)
        ids = resources["nbgrader"]
        course = Course.load(load_homework(ids["assignment"], root), root)
        result = self._grade(course, ids[HANDED_IN], ids["student"])
        self._tell_staff(result)
        write_outcomes(notebook, result, course.homework)
        return notebook, resources

    def _tell_staff(self, result: SubmissionResult) -> None:
        for flag in result.flags:
            words = one_line(f"{flag.text} {flag.where}", 400)
            self.log.warning("%s: flag, %s: %s", one_line(result.student), flag.kind, words)
        log = Path(LOG)  # nbgrader works in the course folder
        write_marks([stand(result)], log, now=datetime.now(UTC))

    def _grade(self, course: Course, handed_in: bytes, student: str) -> SubmissionResult:
        options = GradingOptions(
            limits=self.time_limits,
            worker_limits=self.worker_limits,
            isolated=self.isolated,
            device=self.device,
        )
        judge = self._judges.acquire_one(course, options)
        return grade_patiently(judge, handed_in, student)
