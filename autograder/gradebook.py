"""Records a class's results in an nbgrader course: gradebook, submitted and autograded notebooks.

Only one process writes it. nbgrader is given notebooks made from the released one, in which only
the sources of the student's cells are theirs: whatever else was handed in never reaches it.
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from .class_run import find_submissions
from .homework import CellKind, Homework, read_source_notebook
from .nbgrader_settings import configure
from .results import SubmissionResult
from .source import build_source_notebook
from .submission import read_submission, read_written_answers


class GradebookError(RuntimeError):
    """nbgrader refused; the message holds its log."""


def record_in_gradebook(
    results: Sequence[SubmissionResult],
    submissions: Path,
    homework_id: str,
    *,
    root: Path,
    course_folder: Path,
    db_url: str = "",
    on_recorded: Callable[[str], None] = lambda student: None,
) -> None:
    """Write the results where nbgrader, and so formgrader, finds them.

    Manual grades and comments that are already there stay.

    Args:
        results: The class's results.
        submissions: Where the notebooks were handed in, laid out as nbgrader's.
        homework_id: Such as ``hw03-self-attention``.
        root: The project's folder.
        course_folder: nbgrader's course folder; made if it is not there.
        db_url: SQLAlchemy address of the database, such as ``postgresql://host/gradebook``;
            ``gradebook.db`` in the course folder if empty.
        on_recorded: Called with each student's id when it is recorded.

    Raises:
        GradebookError: nbgrader refused some; the message names them. All others are recorded.
    """
    source = build_source_notebook(homework_id, root)
    homework = read_source_notebook(source)
    _copy(source, course_folder / "source" / homework_id / source.name)
    _succeed(_api(course_folder, root, {}, db_url).generate_assignment(homework_id))
    released = nbformat.read(course_folder / "release" / homework_id / source.name, as_version=4)
    handed_in = find_submissions(submissions, homework_id)
    refused: dict[str, GradebookError] = {}
    for result in results:
        notebook = nbformat.from_dict(released)
        if not result.error:
            notebook = transplant(released, handed_in[result.student].read_bytes(), homework)
        target = course_folder / "submitted" / result.student / homework_id / source.name
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
        try:
            found: dict[str, object] = {result.student: result.to_json()}
            _record(_api(course_folder, root, found, db_url), result)
        except GradebookError as error:  # one student's trouble is not the next one's
            refused[result.student] = error
        on_recorded(result.student)
    if refused:
        student, reason = next(iter(refused.items()))
        raise GradebookError(f"not recorded: {', '.join(refused)}; {student}: {reason}")


def transplant(released: NotebookNode, handed_in: bytes, homework: Homework) -> NotebookNode:
    """Put a student's sources into a copy of the released notebook.

    Args:
        released: The student notebook as released.
        handed_in: The bytes of the student's notebook; nothing about them is trusted.
        homework: The instructor's notebook.

    Returns:
        The released notebook with the student's solutions, written answers and own code cells.

    Raises:
        SubmissionError: The bytes are no notebook.
    """
    submission = read_submission(handed_in, homework)
    answers = read_written_answers(handed_in, homework)
    answers |= {
        s.label: s.source for s in submission.steps if s.cell and s.kind is CellKind.SOLUTION
    }
    own_cells: dict[str, list[str]] = {}
    place = ""
    for step in submission.steps:
        if step.cell is None:
            own_cells.setdefault(place, []).append(step.source)
        else:
            place = step.label
    cells = [nbformat.v4.new_code_cell(source) for source in own_cells.get("", [])]
    for cell in nbformat.from_dict(released).cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.source = answers.get(grade_id, cell.source)
        cells.append(cell)
        if grade_id:
            cells += [nbformat.v4.new_code_cell(source) for source in own_cells.get(grade_id, [])]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells, metadata=released.metadata)


def _record(api: NbGraderAPI, result: SubmissionResult) -> None:
    if any(sign in result.student for sign in "*?[+"):
        raise GradebookError("nbgrader takes *, ?, [ and + in a student's id for a pattern")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's queries trouble the newest SQLAlchemy
        _succeed(api.autograde(result.homework, result.student))


def _api(course_folder: Path, root: Path, results: dict[str, object], db_url: str) -> NbGraderAPI:
    config = Config()
    configure(config)
    config.TrustedJudge.results = results
    config.TrustedJudge.root = str(root)
    config.CourseDirectory.root = str(course_folder.resolve())
    if db_url:
        config.CourseDirectory.db_url = db_url
    # nbgrader repeats its log to the terminal; here it is read from the answer instead.
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())


def _succeed(answer: dict[str, object]) -> None:
    if not answer["success"]:
        raise GradebookError(str(answer.get("error") or answer.get("log")))
