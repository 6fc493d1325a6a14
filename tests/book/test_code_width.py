"""The code that readers see fits its column on a small laptop."""

from pathlib import Path

import jupytext
import pytest

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = sorted(path.stem for path in BOOK.glob("*.md") if "kernelspec:" in path.read_text())
COLUMNS = 88
"""What a window of 1280 pixels shows without scrolling sideways."""


@pytest.mark.parametrize("chapter", CHAPTERS)
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
