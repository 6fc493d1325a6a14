"""What ``nbgrader autograde`` converts: never a student's file, but what the judge reads in it.

nbgrader 0.9.6 reads the file with readers of its own, as large as it is. Over what it does not
expect there, such as a cell that was copied, or metadata of another version, it ends, and nobody
behind that student is graded.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import OverwriteCells

from autograder.class_run.submissions import read_notebook
from autograder.gradebook.errors import GradebookError
from autograder.gradebook.graded_notebook import transplant
from autograder.gradebook.preprocessor import HANDED_IN, TrustedJudge
from autograder.homework_source.source import load_homework


class RestoredCells(OverwriteCells):
    """Puts in the instructor's cells, without a warning for each: in it what was hidden is new.

    What a student changed in theirs never came here.
    """

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        """Say nothing.

        Args:
            name: The cell's id.
            attr: What is another there than in the notebook that was handed out.
            old: As it should be.
            new: As it is.
        """


class HandedInNotebook(NotebookExporter):
    """What ``c.Autograde.exporter_class`` names: the released notebook with a student's sources.

    nbgrader converts twice: what was handed in, and then what came of it.
    """

    _handed_in = b""

    def from_filename(
        self, filename: str, resources: Any = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert a notebook.

        Args:
            filename: What was handed in, or what came of it.
            resources: nbgrader's, with ids.
            kw: For nbconvert.

        Returns:
            The text of the notebook's file, and the resources.

        Raises:
            UnreadableError, SubmissionError: What was handed in is no notebook, or too large:
                nbgrader names its student, and goes on.
            GradebookError: There is no released notebook.
        """
        place = Path(filename)
        if place.parent == self._folder("submitted_directory", resources):
            self._handed_in = read_notebook(place)
            notebook = self._transplanted(place.name, resources)
            return self.from_notebook_node(notebook, resources=resources, **kw)
        resources["nbgrader"][HANDED_IN] = self._handed_in
        return super().from_filename(filename, resources=resources, **kw)

    def _transplanted(self, name: str, resources: Any) -> NotebookNode:
        assignment = resources["nbgrader"]["assignment"]
        homework = load_homework(assignment, Path(TrustedJudge(config=self.config).root))
        path = self._folder("release_directory", resources, student=".") / name
        try:
            released = nbformat.read(path, as_version=4)
        except (OSError, ValueError) as error:
            raise GradebookError(
                f"{path} can't be read; make it with: nbgrader generate_assignment {assignment}"
            ) from error
        return transplant(released, self._handed_in, homework)

    def _folder(self, step: str, resources: Any, student: str = "") -> Path:
        """Return where nbgrader keeps an assignment in one of its steps."""
        ids = resources["nbgrader"]
        folders = self.parent.coursedir
        student = student or ids["student"]
        return Path(folders.format_path(getattr(folders, step), student, ids["assignment"]))
