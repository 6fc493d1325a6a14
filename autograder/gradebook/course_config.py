"""The nbgrader_config.py of a course folder; ``jupyter lab`` there opens formgrader on it."""

from pathlib import Path

from autograder.files import write_atomically
from autograder.gradebook.database import gradebook_url, without_password

CONFIG = "nbgrader_config.py"
_HEADER = '"""Rewritten by each grading, as long as this line stays."""'
_OWN_HEADER = '"""nbgrader in this course: students\' code is run by the trusted judge."""'
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
_EXCHANGE = """c.CourseDirectory.course_id = {course_id!r}
c.ExchangeFactory.collect = "autograder.gradebook.exchange_collect.CollectNotebooks"
"""


def write_course_config(
    course_folder: Path, root: Path, db_url: str = "", dates: Path | None = None
) -> None:
    """Write nbgrader's configuration into the course folder of a graded class.

    An earlier file is replaced only if it still has the first line that was written into it.
    A password in ``db_url`` is not written: PostgreSQL reads ``~/.pgpass``.
    """
    path = course_folder / CONFIG
    if path.exists() and not path.read_text(encoding="utf-8").startswith(_HEADER):
        return
    course_folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _settings(_HEADER, course_folder, root, db_url, dates))


def write_exchange_config(
    course_folder: Path,
    root: Path,
    *,
    course_id: str,
    exchange: Path | None,
    db_url: str = "",
    dates: Path | None = None,
) -> None:
    """Write the configuration of a course that uses nbgrader's exchange.

    ``exchange`` is the exchange's folder; nbgrader's default if None.
    """
    text = _settings(_OWN_HEADER, course_folder, root, db_url, dates)
    text += _EXCHANGE.format(course_id=course_id)
    if exchange:
        text += f"c.Exchange.root = {str(exchange.resolve())!r}\n"
    write_atomically(course_folder / CONFIG, text)


def _settings(header: str, course_folder: Path, root: Path, db_url: str, dates: Path | None) -> str:
    return _TEXT.format(
        header=header,
        root=str(root.resolve()),
        dates=str(dates.resolve()) if dates else "",
        folder=str(course_folder.resolve()),
        db_url=without_password(gradebook_url(course_folder, db_url)),
    )
