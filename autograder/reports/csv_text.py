"""Writes CSV whose cells no spreadsheet runs as formulas."""

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence

from autograder.clean_text import one_line

# Spreadsheets run cells that start with one of these signs, also in their full-width forms.
_FORMULA_STARTS = "=+\\-@＝＋－＠﹦﹢﹣﹫−"
# Programs skip quotes and spaces before the sign; in much of Europe a semicolon separates cells.
_FORMULA = re.compile(rf"(^|;)(?=[ \"'\xa0\u3000]*[{_FORMULA_STARTS}])")


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]], *, end: str = "\n") -> str:
    """Return a table as CSV (RFC 4180); pass untrusted text through ``inert`` first."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator=end)
    lines.writerow(header)
    lines.writerows(rows)
    return text.getvalue()


def inert(text: str) -> str:
    """Return a text as one line, with an apostrophe before each start of a possible formula."""
    return _FORMULA.sub(r"\1'", one_line(text, limit=2000))


def inert_html(text: str) -> str:
    """Return a text as one line of HTML; its lines are made ``inert`` and joined by ``<br>``."""
    lines = (html.escape(inert(line), quote=False) for line in text.splitlines())
    return _FORMULA.sub(r"\1<wbr>", "<br>".join(lines))  # nothing begins with = after &lt;
