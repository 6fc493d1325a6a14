"""Figures in the browser: each is named by the constants NAME and PAGE of the test's module."""

import pytest

from tests.book import living_figures as living
from tests.book.watched_page import opened


@pytest.fixture(scope="module")
def figure(request, chromium, site):
    """The figure NAME of the page PAGE, opened from a folder, once for all tests of a module."""
    address = (site / "book" / f"{request.module.PAGE}.html").as_uri()
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        yield watched.page.locator(f"[data-course-figure={request.module.NAME}]").first
    assert watched.problems == []


@pytest.fixture(scope="module")
def awake(request, chromium, served):
    """The figure NAME that runs a model, started: no model was loaded before, and little at all."""
    name = request.module.NAME
    with living.opened_for(chromium, served, name, **living.DESKTOP) as watched:
        living.assert_little_is_loaded(watched, name)
        yield living.start(watched.page, name)
