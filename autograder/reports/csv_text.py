"""CSV that we write: its text, and cells that no spreadsheet runs."""

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence

from autograder.clean_text import one_line

# A spreadsheet takes a cell that starts with one of these, or with its twin of another width, for a
# formula. (Tab, carriage return and newline are gone by then.)
_FORMULA_STARTS = "=+\\-@＝＋－＠﹦﹢﹣﹫−"
# What a program skips before the sign, quotes and spaces of any width, hides no sign here. Where a
# comma parts no cells, as in much of Europe, a semicolon does.
_FORMULA = re.compile(rf"(^|;)(?=[ \"'\xa0\u3000]*[{_FORMULA_STARTS}])")


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]], *, end: str = "\n") -> str:
    """Put a table into CSV (RFC 4180)."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator=end)
    lines.writerow(header)
    lines.writerows(rows)
    return text.getvalue()


def inert(text: str) -> str:
    """Flatten a text and keep spreadsheets from running it."""
    return _FORMULA.sub(r"\1'", one_line(text, limit=2000))


def inert_html(text: str) -> str:
    """Write a text as HTML that shows it line by line, and keep spreadsheets from running it."""
    lines = (html.escape(inert(line), quote=False) for line in text.splitlines())
    return _FORMULA.sub(r"\1<wbr>", "<br>".join(lines))  # nothing begins with = after &lt;
