"""Two pages printed as one book: answers unfolded, nothing that only a pointer could use."""

import re
import subprocess
import sys

import pytest

from scripts.print_book import ROOT, assembled, link_from_title_page
from tests.book import living_figures as living
from tests.book.watched_page import opened

pytestmark = pytest.mark.browser

PAGES = ["notation", "residual-connections"]


def test_pages_stand_together_unfolded_and_linked(chromium, site):
    page = assembled(chromium, site, PAGES)
    page.emulate_media(media="print")
    assert page.locator("main > article > section > h1").count() == 2
    ids = page.eval_on_selector_all("[id]", "parts => parts.map((part) => part.id)")
    assert len(ids) == len(set(ids))
    links = page.eval_on_selector_all(
        "article a[href^='#notation--'], article a[href^='#residual-connections--']",
        "links => links.map((link) => link.getAttribute('href').slice(1))",
    )
    assert links
    assert set(links) <= set(ids)
    assert page.locator("main details:not([open]), main script, main template").count() == 0
    assert page.locator(".course-choices__reveal > div").first.is_visible()
    assert page.locator(".admonition.solution p").last.is_visible()
    assert page.locator(".course-interactive table").first.is_visible()
    assert page.locator(".course-veil__content > *").first.is_visible()
    quizzes = page.locator(".course-choices--quiz").count()
    assert page.locator(".course-answers li").count() == quizzes > 0
    assert not page.locator(".course-choices--quiz .course-choice__why:visible").all()
    for left_out in (".course-contract", ".course-veil__line", "div.cell details.hide"):
        assert page.locator(left_out).count() > 0
        assert not page.locator(f"{left_out}:visible").all()
    assert not page.locator("button:visible, input[type=range]:visible, .headerlink:visible").all()
    page.context.close()


@pytest.mark.proof
def test_a_pdf_has_pages_and_an_outline(site, tmp_path):
    file = tmp_path / "folder" / "book.pdf"
    # In a process of its own, as by hand: the tests' browser is open in this one.
    command = [sys.executable, "-m", "scripts.print_book", str(file), *PAGES]
    subprocess.run(command, cwd=ROOT, check=True, timeout=1800)
    content = file.read_bytes()
    assert content.startswith(b"%PDF-")
    assert 10 < len(re.findall(rb"/Type /Page\b", content)) < 60
    assert b"/Outlines" in content


ON_PAPER = """() => addEventListener("beforeprint", () => {
  const count = (parts) => document.querySelectorAll(`.course-interactive ${parts}`).length;
  window.onPaper = [document.documentElement.dataset.theme, count("svg"), count(".course-weights")];
})"""


def test_a_page_read_in_the_dark_is_printed_on_white_with_its_figures_as_pictures(chromium, served):
    address = f"{served}/book/feed-forward.html"
    with opened(chromium, address, color_scheme="dark") as watched:
        page = watched.page
        page.evaluate(ON_PAPER)
        page.pdf()
        theme, pictures, tables = page.evaluate("onPaper")
        assert theme == "light"
        assert pictures > 0
        assert tables == 0
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.locator(".course-answers").count() == 0


PAPER = {"width": 673, "height": 980}  # A4 without its margins
CUT = """() => [...document.querySelectorAll(".course-interactive svg, .bd-article table")]
  .filter((part) => part.checkVisibility())
  .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
  .map((part) => part.closest("[id]").id)"""


def test_figures_and_tables_are_whole_on_paper_and_long_listings_go_on_overleaf(chromium, served):
    with opened(chromium, f"{served}/book/decoding.html", reduced_motion="reduce") as watched:
        page = watched.page
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)
        assert page.evaluate(CUT) == []
        assert page.locator("figure[data-course-figure=beam-search] select").first.is_visible()
        style = "listing => getComputedStyle(listing).breakInside"
        assert page.locator("details.course-listing pre").first.evaluate(style) == "auto"


def test_a_model_on_paper_has_its_drawing_without_its_controls(chromium, served):
    address = f"{served}/book/living-transformer.html"
    with opened(chromium, address, reduced_motion="reduce") as watched:
        figure = living.start(watched.page, "living-transformer")
        watched.page.emulate_media(media="print", reduced_motion="no-preference")
        assert figure.locator(".living-drawing").is_visible()
        assert figure.locator(".living-player output").is_visible()
        style = "({ animationName, printColorAdjust }) => [animationName, printColorAdjust]"
        look = figure.locator(".living-look").first
        assert look.evaluate(f"look => ({style})(getComputedStyle(look))") == ["none", "exact"]
        for control in (".living-known", ".living-surgery", "input", "button.course-pill"):
            assert not figure.locator(f"{control}:visible").all()


def test_a_pdf_in_the_site_is_linked_from_its_title_page_once(tmp_path):
    title_page = tmp_path / "book" / "intro.html"
    title_page.parent.mkdir()
    before, after = '<h1>On paper</h1><article class="bd-article"><h1>Title</h1>', "<p>Text</p>"
    title_page.write_text(before + after, "utf-8")
    file = tmp_path / "book.pdf"
    for megabytes in (1, 2):
        file.write_bytes(bytes(megabytes * 1_000_000))
        link_from_title_page(tmp_path, file)
    link = '<p class="course-pdf"><a href="../book.pdf">The whole book as one PDF</a>, 2 MB</p>'
    assert title_page.read_text("utf-8") == before + link + after
