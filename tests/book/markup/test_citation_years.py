"""Publications of the same authors and year: told apart wherever the book names them."""

from importlib.metadata import entry_points

import nbformat
import pytest
from bs4 import BeautifulSoup
from pybtex import plugin
from pybtex.database import parse_string

from tests.book.small_book import depends_on_small_book

pytestmark = depends_on_small_book


def _years(bibtex):
    from course_book.markup.citation_years import DistinctYears

    entries = parse_string(bibtex, "bibtex").entries.values()
    years = {entry.key: entry.fields.get("year") for entry in entries}
    told = {entry.key: entry.fields.get("year") for entry in DistinctYears().sort(entries)}
    assert years == {entry.key: entry.fields.get("year") for entry in entries}
    return told


def test_letters_follow_the_order_of_the_bibliography():
    assert _years(
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
def test_what_is_cited_differently_keeps_its_year(other):
    years = _years(
        "@misc{x, author={Liu, A and Bo, B and Zu, C}, title={T}, year=2018}"
        f"@misc{{y, {other}}}"
    )
    assert years["x"] == "2018"
    assert years["y"] in {"2018", "2019", None}


def test_installed_packages_are_searched_once_for_each_part(monkeypatch):
    from course_book.markup.citation_years import setup

    searched = []

    def search(**wanted):
        searched.append(wanted)
        return entry_points(**wanted)

    monkeypatch.setattr(plugin, "entry_points", search)
    setup(None)
    searched.clear()
    for _ in range(3):
        plugin.find_plugin("pybtex.backends", "docutils")
    assert len(searched) == 1


def test_text_and_bibliography_have_the_letters(published):
    book = published / "book"
    text = BeautifulSoup((book / "citations.html").read_text(), "lxml").select_one("section p").text
    assert text == "Mikolov et al. [2013b] and [Mikolov et al., 2013a]; Mikolov et al. [2010]."
    listed = BeautifulSoup((book / "bibliography.html").read_text(), "lxml")
    entries = [entry.text for entry in listed.select("div.citation")]
    (first,) = (entry for entry in entries if "2013a" in entry)
    (second,) = (entry for entry in entries if "2013b" in entry)
    assert "Efficient estimation" in first
    assert "Distributed representations" in second


def test_the_notebook_has_the_letters(published):
    notebook = nbformat.read(published / "_sources" / "book" / "citations.ipynb", as_version=4)
    *_, text, cited = (cell.source for cell in notebook.cells)
    assert "Mikolov et al. (2013b) and (Mikolov et al., 2013a); Mikolov et al. (2010)" in text
    assert "- Mikolov et al. (2013b), *Distributed" in cited
