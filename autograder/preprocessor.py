"""Where the judge meets nbgrader: a preprocessor in the place of ``Execute``.

It leaves in each test cell the outputs that nbgrader's own ``SaveAutoGrades`` reads.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float, Unicode

from .course import Course, open_judge
from .graded_notebook import write_outcomes
from .judge import TimeLimits
from .results import SubmissionResult


class TrustedJudge(NbGraderPreprocessor):
    """Grades a submitted notebook with the judge and writes what it found into the test cells."""

    root = Unicode(".", help="Folder of the course project, with course_lib and solutions").tag(
        config=True
    )
    check_seconds = Float(30.0, help="Time limit of one check, or one cell, in seconds").tag(
        config=True
    )
    submission_seconds = Float(600.0, help="Time limit of a whole notebook, in seconds").tag(
        config=True
    )
    isolated = Bool(True, help="Run students' code inside the sandbox").tag(config=True)
    device = Unicode("cpu", help="cpu or cuda").tag(config=True)

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
        student = resources["nbgrader"]["student"]
        write_outcomes(
            notebook, self._grade(notebook, student, resources["nbgrader"]["assignment"])
        )
        return notebook, resources

    def _grade(self, notebook: NotebookNode, student: str, homework_id: str) -> SubmissionResult:
        judge = open_judge(
            Course.load(homework_id, Path(self.root)),
            limits=TimeLimits(
                check_seconds=self.check_seconds, submission_seconds=self.submission_seconds
            ),
            isolated=self.isolated,
            device=self.device,
        )
        return judge.grade(nbformat.writes(notebook).encode(), student)
