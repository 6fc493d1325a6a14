"""Makes the first code cell of a notebook, which installs course_lib if it is missing.

Colab and Kaggle open a notebook without the other files of its folder.
"""

from collections.abc import Iterable

from autograder.homework_source.homework import Cell, CellKind
from autograder.sandbox.student_packages import NOTEBOOK_SERVER, STUDENT_PACKAGES

GRADE_ID = "fetch-edition"
MARKER = "EDITION"
"""A file in a student edition of the library that names its homework."""

FOLDED = """**Run everything from the top.** The folded cell comes first: where this notebook is
alone, as on Colab, it installs the course's library; beside that it does nothing. Work is graded
with {packages} and Python's own modules: other packages are not installed there."""
"""Explains the folded cell to students, at the end of the text above it."""

_TITLE = "# @title The course's library, where it is not beside this notebook: else nothing happens"
_BY_PIP = """\
import importlib.util

if importlib.util.find_spec("course_lib") is None:
    %pip install --quiet {wheel}#sha256={sha256}"""
_BY_HAND = """\
import importlib.util, sys, zipfile

if importlib.util.find_spec("course_lib") is None:
    zipfile.ZipFile("{number}.zip").extractall()  # upload it first, as you got it from your course
    sys.path.insert(0, "{homework}")"""


def needs(cells: Iterable[Cell]) -> list[str]:
    """Return the packages that a homework's cells need, except for the notebook server."""
    own = [name for cell in cells for name in cell.installs]
    return [*(name for name in STUDENT_PACKAGES if name != NOTEBOOK_SERVER), *own]


def fetch_cell(homework_id: str, *, wheel: str = "", sha256: str = "") -> Cell:
    """Return the ungraded cell that installs a homework's edition of course_lib if it is missing.

    The cell installs the ``wheel`` at this https address, with this checksum; without an address
    it asks students to upload the zip that they were given.
    """
    how = _BY_PIP if wheel else _BY_HAND
    number = homework_id.partition("-")[0]
    text = how.format(wheel=wheel, sha256=sha256, number=number, homework=homework_id)
    source = f"{_TITLE}\n{text}"
    return Cell(kind=CellKind.FETCH, grade_id=GRADE_ID, source=source, where="the release")
