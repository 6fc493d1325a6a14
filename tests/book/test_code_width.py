"""The code of chapters fits its column on a small laptop."""

import re
from pathlib import Path

import jupytext
import pytest

from tests.book.contents import pages_with_code

BOOK = Path(__file__).parents[2] / "book"
COLUMNS = 88  # in a window of 1280 pixels


@pytest.mark.parametrize("chapter", pages_with_code())
def test_no_line_of_code_is_cut(chapter):
    notebook = jupytext.read(BOOK / f"{chapter}.md", fmt="md:myst")
    wide = [
        line
        for cell in notebook.cells
        if cell.cell_type == "code"
        and not {"remove-cell", "remove-input"} & set(cell.metadata.get("tags", []))
        for line in cell.source.splitlines()
        if len(line) > COLUMNS
    ]
    assert wide == []


@pytest.mark.parametrize("chapter", pages_with_code())
def test_included_code_is_cut_at_words_not_at_numbers_of_lines(chapter):
    """A longer docstring must not shift the lines that a chapter shows."""
    text = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    included = re.findall(r"^```\{literalinclude\}.*\n((?::.*\n)*)", text, re.MULTILINE)
    assert not [options for options in included if ":lines:" in options]
