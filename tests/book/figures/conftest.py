"""Figures in the browser: each is named by the constants NAME and PAGE of the test's module."""

import pytest

from tests.book.watched_page import opened


@pytest.fixture(scope="module")
def figure(request, chromium, site):
    """The figure NAME of the page PAGE, opened from a folder, once for all tests of a module."""
    address = (site / "book" / f"{request.module.PAGE}.html").as_uri()
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        yield watched.page.locator(f"[data-course-figure={request.module.NAME}]").first
    assert watched.problems == []
