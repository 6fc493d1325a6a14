"""Previews of terms and publications, by pointer and by keyboard."""

import pytest

from tests.book.small_book import depends_on_small_book
from tests.book.watched_page import opened

pytestmark = [
    pytest.mark.browser,
    depends_on_small_book,
    pytest.mark.depends_on("scripts/chromium.py"),
]

TERM = "a[href='glossary.html#term-loss']"


@pytest.fixture(scope="module")
def page(chromium, published):
    """The small book's first page."""
    with opened(chromium, (published / "book" / "intro.html").as_uri()) as watched:
        yield watched.page


@pytest.fixture
def preview(page):
    """The box of previews, which is hidden when the test begins."""
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    box = page.locator("#course-preview")
    box.wait_for(state="hidden")
    return box


def test_pointing_at_a_term_shows_its_meaning(page, preview):
    link = page.locator(TERM).first
    link.hover()
    preview.wait_for(state="visible")
    assert "How wrong a model is, in nats" in preview.inner_text()
    assert preview.locator(".katex").count() == 1
    assert preview.locator("a, [id]").count() == 0
    assert link.get_attribute("aria-describedby") == "course-preview"
    preview.hover()  # the pointer may enter it
    page.wait_for_timeout(400)
    assert preview.is_visible()
    page.mouse.move(0, 0)
    preview.wait_for(state="hidden")
    assert link.get_attribute("aria-describedby") is None


def test_focus_shows_a_publication_and_escape_closes_it(page, preview):
    page.locator(TERM).first.focus()
    page.keyboard.press("Tab")
    preview.wait_for(state="visible")
    assert "Attention is all you need" in preview.inner_text()
    assert preview.inner_text().endswith("https://arxiv.org/abs/1706.03762.")
    page.keyboard.press("Escape")
    preview.wait_for(state="hidden")


def test_the_preview_stays_within_the_window(page, preview):
    page.set_viewport_size({"width": 320, "height": 500})
    page.locator(TERM).last.hover()
    preview.wait_for(state="visible")
    box = preview.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 500


def test_the_preview_leaves_with_its_link(page, preview):
    page.evaluate("document.body.style.minHeight = '3000px'")
    page.locator(TERM).first.focus()
    page.keyboard.press("Tab")
    preview.wait_for(state="visible")
    above = preview.bounding_box()["y"]
    page.evaluate("window.scrollBy(0, 20)")
    page.wait_for_function(  # goes with it
        f"Math.abs(document.querySelector('#course-preview').getBoundingClientRect().y"
        f" - {above - 20}) <= 1"
    )
    page.evaluate("window.scrollBy(0, 2000)")
    preview.wait_for(state="hidden")


def test_links_still_lead_there(page, preview):
    page.locator(TERM).first.click()
    assert page.url.endswith("glossary.html#term-loss")
    assert page.locator("template[data-course-preview]").count() == 0


def test_a_tap_shows_a_meaning_in_place_and_another_one_follows_the_link(chromium, published):
    address = (published / "book" / "intro.html").as_uri()
    with opened(chromium, address, has_touch=True, viewport={"width": 390, "height": 844}) as phone:
        link = phone.page.locator(TERM).first
        link.tap()
        phone.page.locator("#course-preview").wait_for(state="visible")
        assert phone.page.url == address
        link.tap()
        phone.page.wait_for_url("**/glossary.html#term-loss")
