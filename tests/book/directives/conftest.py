"""The page of the small book that asks questions, opened once, and as nobody has answered it."""

import pytest
from playwright.sync_api import Page

from tests.book.watched_page import opened

CHAPTER = "book/coins.html"
DESKTOP = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def visit(chromium, published):
    address = (published / CHAPTER).as_uri()
    with opened(chromium, address, viewport=DESKTOP) as watched:
        yield watched.page
    assert watched.problems == []


@pytest.fixture
def chapter(visit: Page) -> Page:
    """The page, opened from a folder, with nothing kept."""
    visit.emulate_media(media="screen")
    visit.evaluate("localStorage.clear(); history.replaceState(null, '', location.pathname)")
    visit.reload()
    return visit
