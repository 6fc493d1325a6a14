"""The small book's page with questions: opened once, and reset before each test."""

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


@pytest.fixture
def chapter(visit: Page) -> Page:
    """The page with questions, reloaded without any stored answers."""
    visit.emulate_media(media="screen")
    visit.evaluate("localStorage.clear(); history.replaceState(null, '', location.pathname)")
    visit.reload()
    return visit
