"""A homework whose cells change after work was graded: the gradebook follows.

nbgrader refuses to add or remove cells as soon as a notebook has submissions. A test that is fixed
often does just that, and everybody is graded again anyhow.
"""

from collections.abc import Collection
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    SolutionCell,
    SourceCell,
    TaskCell,
)
from nbgrader.preprocessors import SaveCells
from sqlalchemy.orm import Session


class SaveChangedCells(SaveCells):
    """nbgrader's preprocessor, which adds and removes cells also where work was graded before."""

    def _create_notebook(self, nb: NotebookNode) -> None:
        session = self.gradebook.db
        named = session.query(Notebook).filter(Notebook.name == self.notebook_id)
        notebook = named.filter(Notebook.assignment.has(name=self.assignment_id)).one_or_none()
        if notebook is not None and notebook.submissions:
            try:
                self._follow(notebook)
                session.commit()  # all of it, or nothing
            except BaseException:
                session.rollback()
                raise
        super()._create_notebook(nb)

    def _follow(self, notebook: Notebook) -> None:
        """Make the notebook's cells those that nbgrader is about to write."""
        session = self.gradebook.db
        _remove(session, notebook.source_cells, self.new_source_cells)
        _add(session, notebook, SourceCell, notebook.source_cells, self.new_source_cells)
        for kind, cells, now in (
            (GradeCell, notebook.grade_cells, self.new_grade_cells),
            (SolutionCell, notebook.solution_cells, self.new_solution_cells),
            (TaskCell, notebook.task_cells, self.new_task_cells),
        ):
            _remove(session, cells, now)
            for cell in _add(session, notebook, kind, cells, now):
                _add_rows_of_students(session, notebook, cell)


def _remove(session: Session, cells: Collection[Any], now: Collection[str]) -> None:
    """Remove cells that are no more, with what students had there."""
    for cell in [cell for cell in cells if cell.name not in now]:
        rows = [*cell.grades, *cell.comments] if isinstance(cell, BaseCell) else []
        if any(_given_by_hand(row) for row in rows):
            raise RuntimeError(
                f"points or comments were given by hand in the cell {cell.name!r}, which the "
                "homework no longer has: give the cell its name back, or grade into a new folder"
            )
        for row in [*rows, cell]:
            session.delete(row)


def _given_by_hand(row: Grade | Comment) -> bool:
    if isinstance(row, Comment):
        return row.manual_comment is not None
    return row.manual_score is not None or row.extra_credit is not None


def _add(
    session: Session,
    notebook: Notebook,
    kind: type[Any],
    cells: Collection[Any],
    now: dict[str, dict[str, Any]],
) -> list[Any]:
    """Add the cells that are new, and return them."""
    known = {cell.name for cell in cells}
    new = [kind(name=name, notebook=notebook, **now[name]) for name in now if name not in known]
    session.add_all(new)
    session.flush()
    return new


def _add_rows_of_students(session: Session, notebook: Notebook, cell: BaseCell) -> None:
    """Add, for each student's work that there is, an empty grade, comment or both."""
    for submitted in notebook.submissions:
        place = {"cell_id": cell.id, "notebook_id": submitted.id}
        if isinstance(cell, GradeCell | TaskCell):
            session.add(Grade(**place))
        if isinstance(cell, SolutionCell | TaskCell):
            session.add(Comment(**place))
