"""Sentences of the chapters that no cell can check: kinds of wording, and tables beside claims."""

import re
from pathlib import Path

import pytest

from tests.book.contents import in_book, pages_with_code

BOOK = Path(__file__).parents[2] / "book"
SHARE = r"\{glue:text\}`[^`]*%`"
BOUND = r"or (more|less|fewer)|at (most|least)"


@pytest.fixture(scope="module", params=pages_with_code())
def chapter(request) -> str:
    """The source of each chapter."""
    return (BOOK / f"{request.param}.md").read_text(encoding="utf-8")


def test_chapters_are_named_not_counted(chapter):
    """A plan of six weeks leaves chapters out, so that "the last chapter" may be another one."""
    assert re.findall(r"\b(?:last|next|previous) chapters?\b|\bchapters? before\b", chapter) == []


def test_no_share_is_a_bound(chapter):
    """A share near 1 would read "100% or more"; name the worst seed instead."""
    bounded = rf"{SHARE}(?=[^.;:]{{0,25}}\b(?:{BOUND})\b)|\bat (?:most|least) {SHARE}"
    assert [match[0] for match in re.finditer(bounded, chapter)] == []


def test_no_built_page_says_more_than_all(site):
    said = re.compile(rf"\b(?:100|0)(?:\.0+)?%(?:</span>)?\s+(?:{BOUND})\b")
    pages = sorted(site.glob("book/*.html"))
    assert len(pages) > 20
    wrong = {
        page.stem: found[0]
        for page in pages
        if (found := said.search(page.read_text(encoding="utf-8")))
    }
    assert wrong == {}


@in_book("bert")
def test_gap_between_the_kinds_of_mnli():
    text = (BOOK / "bert.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*?\| (\d\d\.\d) / (\d\d\.\d) \|", text, re.MULTILINE)
    gaps = [round(float(matched) - float(mismatched), 1) for matched, mismatched in rows]
    assert len(gaps) == 5
    least, most = re.search(r"between (\d\.\d) and (\d\.\d) points in these rows", text).groups()
    assert (float(least), float(most)) == (min(gaps), max(gaps))
    assert "most for BERT Base" in text
    assert gaps.index(max(gaps)) == 3  # its row
