"""The search answers while a reader types, offline too, and leads with the right section."""

import re
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from tests.book.watched_page import depends_on_page, opened

BUILT = "build/book/_build/html"
pytestmark = [
    pytest.mark.browser,
    depends_on_page("masking", f"{BUILT}/_static/search-entries.js", f"{BUILT}/search.html"),
]

QUERIES = yaml.safe_load(Path(__file__).with_name("search_queries.yaml").read_text())
LEAST = {"tuned": (0.8, 0.95), "held_out": (0.6, 0.8)}
"""Least shares of queries whose section comes first, and among the first three."""
FIND = """async (query) => {
  const load = (path) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `../_static/${path}`;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
  for (const path of ["minisearch/minisearch.js", "js/search-index.js", "search-entries.js"])
    if (!window.index) await load(path);
  window.index ||= new courseSearch.Index(courseSearchEntries, MiniSearch);
  return window.index.find(query).map(({ entry }) => entry);
}"""


@pytest.fixture(params=["server", "folder"])
def search(request, chromium, site):
    """A page whose search is open."""
    address = request.getfixturevalue("served") if request.param == "server" else site.as_uri()
    with opened(chromium, f"{address}/book/masking.html") as watched:
        watched.page.keyboard.press("Control+k")
        yield watched.page


def results(page):
    """Return the results in the dialog of a page's search."""
    return page.locator("#pst-search-dialog .course-search-result")


def test_results_come_while_typing_and_lead_to_their_place(search):
    search.keyboard.type("masks in attention")
    first = results(search).first
    expect(first).to_contain_text("Masks in attention")
    expect(search.get_by_role("status").first).to_have_text(f"{results(search).count()} results")
    search.keyboard.press("ArrowDown")
    expect(first).to_be_focused()
    search.keyboard.press("Enter")
    search.wait_for_url("**/self-attention.html#masks-in-attention")


def test_a_result_on_the_same_page_closes_the_dialog(search):
    search.keyboard.type("measuring a leak")
    search.keyboard.press("Enter")
    search.wait_for_url("**/masking.html#measuring-a-leak")
    expect(search.locator("#pst-search-dialog")).not_to_be_visible()


@pytest.mark.parametrize(
    ("query", "title", "excerpt"),
    [
        ("how to hand in homework", "Submit", ""),
        ("mask", "Masking", "A mask says which keys"),
        ("unpack the archive", "Open a homework", "your own machine | unpack the archive"),
        ("scaled_dot_product_attention", "", "Average the values"),
    ],
)
def test_the_first_result_has_the_place_and_its_words(search, query, title, excerpt):
    search.keyboard.type(query)
    first = results(search).first
    expect(first.locator(".course-search-title")).to_contain_text(title)
    assert first.inner_text().split("\n")[-1].startswith(excerpt)


def test_a_formula_in_a_title_is_drawn(search):
    search.keyboard.type("why divide by")
    expect(results(search).first.locator(".katex")).to_have_count(1)


def test_formulas_and_answers_in_excerpts_are_drawn_apart(search):
    search.keyboard.type("why divide by sqrt d_k")
    first = results(search).first.locator(".course-search-text")
    expect(first.locator("mark", has_text="dk").locator("sub")).to_have_text("k")
    expect(first).to_contain_text("typically? · about 64 · about 1")
    expect(results(search).locator("sup").first).to_have_text("Q")
    for text in results(search).all_inner_texts():
        assert not re.search(r"[\\^]", text), text


@pytest.mark.parametrize(
    ("query", "beginnings"),
    [
        ("how to hand in homework", ("submi", "homework")),
        ("mask", ("mask",)),
        ("BPE", ("byte", "pair", "encoding")),
        ("atenntion", ("attention",)),
    ],
)
def test_only_words_that_a_query_found_are_marked(search, query, beginnings):
    search.keyboard.type(query)
    expect(search.locator("#pst-search-dialog mark").first).to_be_visible()
    for word in search.locator("#pst-search-dialog mark").all_inner_texts():
        assert word.lower().startswith(beginnings), word


def test_nothing_found_is_said(search):
    search.keyboard.type("xqzzyw")
    expect(search.get_by_role("status").first).to_have_text("Nothing found for “xqzzyw”.")


def test_the_search_page_answers_the_query_of_its_address(chromium, served):
    with opened(chromium, f"{served}/search.html?q=beam") as watched:
        first = watched.page.locator(".bd-search-container .course-search-result").first
        expect(first).to_contain_text("Beam search")
        first.click()
        watched.page.wait_for_url("**/book/decoding.html#beam-search")


@pytest.mark.parametrize("half", QUERIES)
def test_the_right_section_is_found_first(chromium, served, half):
    ranks = {}
    with opened(chromium, f"{served}/book/masking.html") as watched:
        for query, wanted in QUERIES[half].items():
            found = [e for e in watched.page.evaluate(FIND, query) if e["kind"] == "section"]
            places = [f"{Path(e['page']).stem}#{e['anchor']}" for e in found]
            fitting = [places.index(place) for place in wanted if place in places]
            ranks[query] = min(fitting, default=len(places)) + 1
    late = {query: rank for query, rank in ranks.items() if rank > 1}
    first, among_three = LEAST[half]
    assert 1 - len(late) / len(ranks) >= first, late
    assert sum(rank <= 3 for rank in ranks.values()) / len(ranks) >= among_three, late
