"""Gives ``nbgrader autograde`` a safe copy of each submission in place of the student's file.

nbgrader 0.9.6 reads the submitted file with its own readers, however large it is. It stops at
malformed metadata or a copied cell, and then grades no later student.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import OverwriteCells

from autograder.class_run.submissions import read_notebook, refuse_other_homework
from autograder.gradebook.errors import GradebookError
from autograder.gradebook.graded_notebook import transplant
from autograder.gradebook.preprocessor import HANDED_IN, TrustedJudge
from autograder.homework_source.homework import Homework
from autograder.homework_source.source import load_homework


class RestoredCells(OverwriteCells):
    """Restores the instructor's cells without a warning about each restored hidden test."""

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        """Log nothing."""


class HandedInNotebook(NotebookExporter):
    """Puts the student's sources into the released notebook; set as ``Autograde.exporter_class``.

    nbgrader converts each notebook twice: the submission first, and then the result of that.
    """

    _handed_in = b""

    def from_filename(
        self, filename: str, resources: Any = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert a notebook."""
        place = Path(filename)
        if place.parent == self._folder("submitted_directory", resources):
            assignment = resources["nbgrader"]["assignment"]
            homework = load_homework(assignment, Path(TrustedJudge(config=self.config).root))
            self._handed_in = read_notebook(place)
            refuse_other_homework(self._handed_in, homework)
            notebook = self._transplanted(place.name, resources, homework)
            return self.from_notebook_node(notebook, resources=resources, **kw)
        resources["nbgrader"][HANDED_IN] = self._handed_in
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
