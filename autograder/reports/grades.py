"""grades.csv: every check of every submission, a row each, and one for what lateness takes off."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from autograder.atomic_write import write_atomically
from autograder.clean_text import one_line
from autograder.marks.standing import Standing

COLUMNS = ("student", "homework", "check", "status", "score", "max_score", "message", "comment")

LATE = "late"
"""Where the name and the status of a check stand, in the row of what lateness takes off."""

# A spreadsheet takes a cell that starts with one of these, or with its twin of another width, for a
# formula. (Tab, carriage return and newline are gone by then.)
_FORMULA_STARTS = "=+\\-@＝＋－＠﹦﹢﹣﹫−"
# What a program skips before the sign, quotes and spaces of any width, hides no sign here. Where a
# comma parts no cells, as in much of Europe, a semicolon does.
_FORMULA = re.compile(rf"(^|;)(?=[ \"'\xa0\u3000]*[{_FORMULA_STARTS}])")


def write_grades(standings: Sequence[Standing], path: Path) -> None:
    """Write the grades as CSV (RFC 4180, UTF-8), whole or not at all.

    Args:
        standings: The submissions, in the order of the rows.
        path: The file; one that exists is replaced.

    Raises:
        OSError: It could not be written.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for standing in standings:
        whose = (inert(standing.student), inert(standing.result.homework))
        said = dict(standing.comments)
        for check in standing.result.checks:
            by_hand = check.check in standing.by_hand
            comments = (said.pop(name, "") for name in (check.exercise, check.check))
            rows.writerow(
                (
                    *whose,
                    inert(check.check),
                    "by hand" if by_hand else check.status.value,
                    round(check.score, 6),
                    round(check.max_score, 6),
                    inert(check.message or ("" if by_hand else standing.result.error)),
                    inert(" ".join(words for words in comments if words)),
                )
            )
        if standing.lateness.words:
            taken = (round(-standing.penalty, 6), 0, inert(standing.lateness.words), "")
            rows.writerow((*whose, LATE, LATE, *taken))
    write_atomically(path, text.getvalue())


def inert(text: str) -> str:
    """Flatten a text and keep spreadsheets from running it: for every CSV that we write.

    Args:
        text: Any text.

    Returns:
        One line; with an apostrophe before what would be read as a formula.
    """
    return _FORMULA.sub(r"\1'", one_line(text, limit=2000))
