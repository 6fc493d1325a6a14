"""Writes all files of grading that people read: feedback, report, grades, log of the marks."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from autograder.class_folders import CHANGES, GRADES, LOG, REPORT, SIMILAR, submitted_in
from autograder.files import staging, write_atomically
from autograder.homework_source.homework import Homework
from autograder.judging.results import SubmissionResult
from autograder.marks.changes import Change
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert
from autograder.reports.feedback import feedback_path, render_feedback
from autograder.reports.grades import write_grades
from autograder.reports.mark_log import write_marks
from autograder.reports.report import render_report
from autograder.reports.similar_code import render_similar


@contextlib.contextmanager
def staging_report(out: Path) -> Iterator[Path]:
    """Yield a folder whose files move to ``out`` at the end, as those of ``staging`` do.

    If the folder has no similar.html, an outdated one in ``out`` is removed.
    """
    with staging(out) as stage:
        yield stage
        is_alike = (stage / SIMILAR).exists()
    if not is_alike:
        (out / SIMILAR).unlink(missing_ok=True)


def write_outputs(
    standings: Sequence[Standing],
    homework: Homework,
    folder: Path,
    *,
    changes: Sequence[Change] | None = None,
    book_url: str = "",
    out: Path | None = None,
    pages_of: Sequence[Standing] | None = None,
) -> None:
    """Write all outputs of a class into an empty folder.

    ``out`` is the class's folder, with the log to continue and the submitted notebooks. If
    ``pages_of`` is given, only its feedback is written; changes.csv is written if ``changes`` is.
    """
    pages = standings if pages_of is None else pages_of
    write_feedback(pages, homework, folder, book_url=book_url)
    write_grades(standings, folder / GRADES)
    write_report(standings, homework, folder, out=out, changes=changes or ())
    if changes is not None:
        _write_changes(changes, homework.id, folder / CHANGES)
    if out and (out / LOG).exists():
        shutil.copyfile(out / LOG, folder / LOG)
    write_marks(standings, folder / LOG, now=datetime.now(UTC))


def write_report(
    standings: Sequence[Standing],
    homework: Homework,
    folder: Path,
    *,
    out: Path | None = None,
    changes: Sequence[Change] = (),
    before: Sequence[SubmissionResult] = (),
) -> None:
    """Write the page about a class, and a page of near-identical code if some was flagged.

    ``out`` is the class's folder, ``before`` the results of another class to compare with.
    """
    page = render_report(standings, homework, changes=changes, before=before)
    write_atomically(folder / REPORT, page)
    results = [standing.result for standing in standings]
    if out and (page := render_similar(results, submitted_in(out))):
        write_atomically(folder / SIMILAR, page)


def write_feedback(
    standings: Sequence[Standing],
    homework: Homework,
    folder: Path,
    *,
    book_url: str = "",
    on_page: Callable[[str], None] = lambda student: None,
) -> None:
    """Write each student's feedback page; after each, call ``on_page`` with the student's id."""
    for standing in standings:
        page = folder / feedback_path(standing.result)
        page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(page, render_feedback(standing, homework, book_url=book_url))
        on_page(standing.student)


def _write_changes(changes: Sequence[Change], homework_id: str, path: Path) -> None:
    rows = (
        (
            inert(change.student),
            inert(homework_id),
            inert(change.check),
            *("" if s is None else round(s, 6) for s in (change.old_score, change.new_score)),
            inert(change.reason),
        )
        for change in changes
    )
    header = ("student", "homework", "check", "old_score", "new_score", "reason")
    write_atomically(path, csv_text(header, rows))
