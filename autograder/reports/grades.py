"""grades.csv: a row for every check of every submission, and one for a deduction for lateness."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.files import write_atomically
from autograder.marks.standing import Standing
from autograder.reports.csv_text import csv_text, inert

COLUMNS = ("student", "homework", "check", "status", "score", "max_score", "message", "comment")

LATE = "late"  # name and status in the row of a deduction


def write_grades(standings: Sequence[Standing], path: Path) -> None:
    """Write grades.csv; an interrupted submission has no rows."""
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
