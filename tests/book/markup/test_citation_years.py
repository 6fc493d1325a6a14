"""Publications of the same authors and year have letters wherever the book names them."""

import nbformat
import pytest
from bs4 import BeautifulSoup
from course_book.markup.citation_years import DistinctYears
from pybtex.database import parse_string

from tests.book.small_book import depends_on_small_book

pytestmark = depends_on_small_book


def years(bibtex):
    """Return the year that each entry of a bibliography gets, by its key."""
    entries = parse_string(bibtex, "bibtex").entries.values()
    return {entry.key: entry.fields.get("year") for entry in DistinctYears().sort(entries)}


def test_letters_follow_the_order_of_the_bibliography():
    assert years(
        "@misc{x, author={Liu, A and Bo, B and Zu, C}, title={T}, year=2018}"
        "@misc{y, author={Liu, A and Bo, B and Cy, C}, title={T}, year=2018}"
        "@misc{z, author={Liu, A and Bo, B and Cy, C}, title={S}, year=2018}"
    ) == {"z": "2018a", "y": "2018b", "x": "2018c"}


@pytest.mark.parametrize(
    "other",
    [
        "author={Liu, A and Bo, B and Cy, C}, title={T}, year=2019",
        "author={Liu, A and Bo, B}, title={T}, year=2018",
        "author={Liu, A and Bo, B and Cy, C}, title={T}",
    ],
)
def test_an_unambiguous_year_has_no_letter(other):
    one = "@misc{x, author={Liu, A and Bo, B and Zu, C}, title={T}, year=2018}"
    assert years(f"{one}@misc{{y, {other}}}")["x"] == "2018"


def test_text_bibliography_and_notebook_have_the_letters(published):
    book = published / "book"
    text = BeautifulSoup((book / "citations.html").read_text(), "lxml").select_one("section p").text
    assert text == "Mikolov et al. [2013b] and [Mikolov et al., 2013a]; Mikolov et al. [2010]."
    listed = BeautifulSoup((book / "bibliography.html").read_text(), "lxml")
    entries = [entry.text for entry in listed.select("div.citation")]
    assert any("2013a" in entry and "Efficient estimation" in entry for entry in entries)
    assert any("2013b" in entry and "Distributed repr" in entry for entry in entries)
    notebook = nbformat.read(published / "_sources" / "book" / "citations.ipynb", as_version=4)
    *_, text, cited = (cell.source for cell in notebook.cells)
    assert "Mikolov et al. (2013b) and (Mikolov et al., 2013a); Mikolov et al. (2010)" in text
    assert "- Mikolov et al. (2013b), *Distributed" in cited
