"""Canvas: a CSV for its gradebook, and comments as JSON for its API."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from autograder.clean_text import clean_text, one_line
from autograder.exports.mark import Mark, comment_of, decimal
from autograder.judging.results import Status
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert
from autograder.reports.status_words import STATUS_WORDS, format_points

_MOST_CHARACTERS = 16_000  # of a comment; Canvas takes more
_USER = re.compile(r"[0-9]+")  # Canvas's number of a person


def canvas_mark(mark: Mark) -> Mark:
    """Return the mark; an ``lms_id`` that can't be a person's number at Canvas becomes empty."""
    return mark if _USER.fullmatch(mark.lms_id) else replace(mark, lms_id="")


def canvas_csv(marks: Iterable[Mark], column: str) -> str:
    """Return a CSV for Canvas's gradebook.

    ``column`` is the assignment as Canvas's own export heads it, such as ``Homework 3 (98765)``.
    """
    header = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", inert(column))
    rows = (
        (
            inert(m.name or m.student), inert(m.lms_id), "", "", inert(m.section), decimal(m.score),
        )
        for m in marks
    )  # fmt: skip
    return csv_text(header, rows, end="\r\n")


def canvas_feedback(marks: Iterable[Mark], texts: Mapping[str, str]) -> str:
    """Return points and comments as JSON for ``POST .../submissions/update_grades``.

    ``texts`` maps students to comments.
    """
    grades = {
        mark.lms_id: {"posted_grade": decimal(mark.score), "text_comment": texts[mark.student]}
        for mark in marks
    }
    return json.dumps({"grade_data": grades}, indent=2, ensure_ascii=False)


def feedback_in_words(standing: Standing) -> str:
    """Return a submission's feedback as a few lines of text."""
    result = standing.result
    points = f"{format_points(standing.score)} of {format_points(standing.max_score)} points"
    cells = [f"- {f.cell}: {one_line(f.message, 300)}" for f in result.cell_failures]
    failed = ["Cells that did not run to their end:", *cells] if cells else []
    lines = [result.error] if result.error else [*failed, *_went_wrong(standing)]
    said = filter(None, (points, *lines, comment_of(standing)))
    return clean_text("\n".join(said), _MOST_CHARACTERS)


def _went_wrong(standing: Standing) -> Iterator[str]:
    for number, check in enumerate(standing.result.checks, 1):
        if check.status in (Status.PASS, Status.MANUAL) or check.check in standing.by_hand:
            continue
        said = one_line(check.message or STATUS_WORDS[check.status].fallback, 300)
        hint = f" Hint: {one_line(check.hint, 300)}" if check.hint else ""
        end = "" if said.endswith((".", "!", "?", "…")) or not hint else "."
        yield f"{number}. {check.title or check.check}: {said}{end}{hint}"
