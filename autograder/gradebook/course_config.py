"""The nbgrader_config.py of a graded course: ``jupyter lab`` there opens formgrader on it."""

from pathlib import Path

from autograder.atomic_write import write_atomically
from autograder.gradebook.database import gradebook_url, without_password

_HEADER = '"""Written anew by each grading, as long as this line stands."""'
_TEXT = """{header}

from pathlib import Path

from autograder.homework_source.nbgrader_settings import configure, project_settings

root = {root!r}
c = get_config()  # noqa: F821 -- nbgrader defines it
configure(c)
c.TrustedJudge = project_settings(Path(root)).TrustedJudge  # the limits that grading has
c.TrustedJudge.root = root
c.DatedPenalties.root = root
c.DatedPenalties.dates = {dates!r}
c.CourseDirectory.root = {folder!r}
c.CourseDirectory.db_url = {db_url!r}
"""


def write_course_config(
    course_folder: Path, root: Path, db_url: str = "", dates: Path | None = None
) -> None:
    """Write the configuration, unless somebody has taken it over.

    Args:
        course_folder: nbgrader's course folder.
        root: The project's folder.
        db_url: The gradebook's database; a file in the course folder if empty. A password in it
            is not written down: PostgreSQL reads ``~/.pgpass``.
        dates: The course's dates; those in the project's folder if None.

    Raises:
        OSError: It can't be written.
    """
    path = course_folder / "nbgrader_config.py"
    if path.exists() and not path.read_text(encoding="utf-8").startswith(_HEADER):
        return
    text = _TEXT.format(
        header=_HEADER,
        root=str(root.resolve()),
        dates=str(dates.resolve()) if dates else "",
        folder=str(course_folder.resolve()),
        db_url=without_password(gradebook_url(course_folder, db_url)),
    )
    course_folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
