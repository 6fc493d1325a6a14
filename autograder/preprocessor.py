"""Where the judge meets nbgrader: a preprocessor in the place of ``Execute``.

It leaves in each test cell the outputs that nbgrader's own ``SaveAutoGrades`` reads: nothing for a
pass, an error for a fail, a number for partial credit.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Dict, Float, Unicode

from .course import Course, open_judge
from .judge import TimeLimits
from .results import CheckResult, Status, SubmissionResult


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
    results = Dict(help="Results found before, by student id: not graded again").tag(config=True)

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
        found = self.results.get(student)
        if found is None:
            found = self._grade(notebook, student, resources["nbgrader"]["assignment"])
        checks = {check.check: check for check in SubmissionResult.from_json(found).checks}
        for cell in notebook.cells:
            check = checks.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
            if cell.cell_type == "code":
                cell.outputs = _outputs(check) if check else []
        return notebook, resources

    def _grade(self, notebook: NotebookNode, student: str, homework_id: str) -> dict[str, Any]:
        judge = open_judge(
            Course.load(homework_id, Path(self.root)),
            limits=TimeLimits(
                check_seconds=self.check_seconds, submission_seconds=self.submission_seconds
            ),
            isolated=self.isolated,
            device=self.device,
        )
        return judge.grade(nbformat.writes(notebook).encode(), student).to_json()


def _outputs(check: CheckResult) -> list[NotebookNode]:
    if check.status in (Status.PASS, Status.MANUAL):
        return []
    if check.status is Status.PARTIAL:
        data = {"text/plain": f"{check.score:g}"}
        return [nbformat.v4.new_output("execute_result", data, execution_count=None)]
    lines = [part for part in (check.message, check.hint, check.traceback) if part]
    return [
        nbformat.v4.new_output(
            "error", ename=check.status.value, evalue=check.message, traceback=lines
        )
    ]
