"""grades.csv: every check of every submission, a row each, and one for what lateness takes off."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.atomic_write import write_atomically
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert

COLUMNS = ("student", "homework", "check", "status", "score", "max_score", "message", "comment")

LATE = "late"
"""Where the name and the status of a check stand, in the row of what lateness takes off."""


def write_grades(standings: Sequence[Standing], path: Path) -> None:
    """Write the grades as CSV (RFC 4180, UTF-8), whole or not at all."""
    graded = (standing for standing in standings if not standing.result.interrupted)
    rows = (row for standing in graded for row in _rows(standing))
    write_atomically(path, csv_text(COLUMNS, rows))


def _rows(standing: Standing) -> Iterator[tuple[object, ...]]:
    whose = (inert(standing.student), inert(standing.result.homework))
    said = dict(standing.comments)
    for check in standing.result.checks:
        by_hand = check.check in standing.by_hand
        comments = (said.pop(name, "") for name in (check.exercise, check.check))
        yield (
            *whose,
            inert(check.check),
            "by hand" if by_hand else check.status.value,
            round(check.score, 6),
            round(check.max_score, 6),
            inert(check.message or ("" if by_hand else standing.result.error)),
            inert(" ".join(words for words in comments if words)),
        )
    if standing.lateness.words:
        taken = (round(-standing.penalty, 6), 0, inert(standing.lateness.words), "")
        yield (*whose, LATE, LATE, *taken)
