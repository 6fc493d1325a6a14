"""Where the judge meets nbgrader: a preprocessor in the place of ``Execute``.

It leaves in each test cell the outputs that nbgrader's own ``SaveAutoGrades`` reads.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.gradebook.graded_notebook import write_outcomes
from autograder.gradebook.judge_settings import JudgeSettings
from autograder.homework_source.source import load_homework
from autograder.judging.results import SubmissionResult


class TrustedJudge(JudgeSettings, NbGraderPreprocessor):
    """Grades a submitted notebook with the judge and writes what it found into the test cells."""

    _judges = JudgePool()  # of all preprocessors: nbgrader makes one for each notebook

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the notebook.

        Args:
            notebook: The submission, after nbgrader's sanitising steps.
            resources: nbgrader's resources, with the student's and the assignment's ids.

        Returns:
            The notebook with outputs in its test cells, and the resources.
        """
        root = Path(self.root)
        course = Course.load(load_homework(resources["nbgrader"]["assignment"], root), root)
        result = self._grade(course, notebook, resources["nbgrader"]["student"])
        write_outcomes(notebook, result, course.homework)
        return notebook, resources

    def _grade(self, course: Course, notebook: NotebookNode, student: str) -> SubmissionResult:
        options = GradingOptions(
            limits=self.time_limits,
            worker_limits=self.worker_limits,
            isolated=self.isolated,
            device=self.device,
        )
        judge = self._judges.acquire_one(course, options)
        return judge.grade(nbformat.writes(notebook).encode(), student)
