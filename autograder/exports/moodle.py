"""Moodle: its grading worksheet, and a zip of feedback files."""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping

from autograder.exports.mark import Mark, decimal
from autograder.reports.csv_text import csv_text, inert, inert_html
from autograder.reports.status_words import format_points


def moodle_csv(marks: Iterable[Mark], maximum: float | None = None) -> str:
    """Return a grading worksheet as CSV; points are scaled to Moodle's ``maximum``, if it is known.

    Its times of last change are empty, so that grades that were changed in Moodle stay.
    """
    header = (
        "Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)",
        "Feedback comments",
    )  # fmt: skip
    rows = (
        (
            inert(f"Participant {m.lms_id}"),
            inert(m.name or m.student),
            decimal(m.score * maximum / m.max_score if maximum else m.score),
            decimal(maximum or m.max_score),
            "",
            _in_words(m),
        )
        for m in marks
    )
    return csv_text(header, rows, end="\r\n")


def _in_words(mark: Mark) -> str:
    """Return a mark's points and comment as HTML, for Moodle's column of comments."""
    points = f"{format_points(mark.score)} of {format_points(mark.max_score)} points"
    return f"{points}. {inert_html(mark.comment)}" if mark.comment else points


def moodle_feedback(marks: Iterable[Mark], pages: Mapping[str, bytes], name: str) -> bytes:
    """Return a zip of students' pages for Moodle's "Upload multiple feedback files in a zip".

    Moodle reads the number between the first two underscores of a folder's name.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for mark in marks:
            person = re.sub(r"[\W_]+", " ", mark.name or mark.student).strip() or "Student"
            folder = f"{person}_{mark.lms_id}_assignfeedback_file_"
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}"), pages[mark.student])
    return packed.getvalue()
