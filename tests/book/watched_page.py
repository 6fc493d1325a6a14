"""Pages opened in Chromium, with an eye on all that they ask for and log."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.book import small_book
from tests.book.contents import book_pages

PATIENCE = 300_000
"""Milliseconds for what should come at once: how busy the machine is says nothing of the page."""

_PAGE = re.compile(r"/book/(?P<name>[\w-]+)\.html")

expect.set_options(timeout=PATIENCE)


def depends_on_page(page: str, *others: str) -> pytest.MarkDecorator:
    """Mark a test that has to do with one page of the book, as it is built, and what that loads.

    Styles and scripts are counted where they are written: each build copies them anew.

    Args:
        page: Such as ``bert``.
        others: What the test itself depends on.
    """
    built = "build/book/_build/html"
    return pytest.mark.depends_on(
        *(f"{built}/book/{page}.html", f"{built}/_images", "_config.yml", "scripts/chromium.py"),
        *("book/_ext", "book/_static", "book/_templates", "tests/book/*.py", *others),
    )


@dataclass
class Watched:
    """An open page and what happened in it.

    Attributes:
        page: Playwright's page.
        problems: Errors and warnings of the console, uncaught exceptions, failed requests and
            requests to other hosts (which are cut off).
        weighed: Bytes of each answer that has been read so far, by address.
        awaited: Addresses whose answers have not been read yet.
    """

    page: Page
    problems: list[str] = field(default_factory=list)
    weighed: dict[str, int] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)

    @property
    def weights(self) -> dict[str, int]:
        """Bytes of each answer that was asked for by now, by address, without compression."""
        self.settle()
        return self.weighed

    def settle(self) -> None:
        """Wait for all answers to be read: a script may run in the page before it is read here."""
        while self.awaited:
            self.page.wait_for_timeout(10)


@contextmanager
def opened(
    browser: Browser, address: str, *, script_before: str = "", **options: Any
) -> Iterator[Watched]:
    """Open a page in a fresh context, cut off from every host but its own.

    Args:
        browser: A running browser.
        address: An http or file address.
        script_before: JavaScript that runs before any of the page's own.
        options: Of Playwright's ``new_context``: viewport, color_scheme, java_script_enabled ...

    Yields:
        The watched page, loaded. On leaving, problems are those of the whole visit.
    """
    page_of_book = _PAGE.search(address)
    if page_of_book and page_of_book["name"] not in {*book_pages(), *small_book.PAGES}:
        pytest.skip(f"{page_of_book['name']} is not in _toc.yml")
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    if script_before:
        context.add_init_script(script_before)
    page = context.new_page()
    watched = Watched(page)
    home = urlsplit(address)[:2]

    def guard(route: Route) -> None:
        if urlsplit(route.request.url)[:2] == home or route.request.url.startswith("data:"):
            if route.request.url.startswith("http"):
                watched.awaited.add(route.request.url)
            route.continue_()
        else:
            watched.problems.append(f"foreign request: {route.request.url}")
            route.abort()

    context.route("**/*", guard)
    page.on(
        "console",
        lambda message: (
            watched.problems.append(f"console: {message.text}")
            if message.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda error: watched.problems.append(f"exception: {error}"))

    def fail(request: Any) -> None:
        # A page that is left or loaded anew gives up what it was still waiting for.
        if request.failure != "net::ERR_ABORTED":
            watched.problems.append(f"failed request: {request.url} ({request.failure})")
        watched.awaited.discard(request.url)

    def weigh(response: Any) -> None:
        if response.status >= 400:
            watched.problems.append(f"status {response.status}: {response.url}")
        elif home[0] == "http":
            watched.weighed[response.url] = len(response.body())
        watched.awaited.discard(response.url)

    page.on("requestfailed", fail)
    page.on("requestfinished", lambda request: weigh(request.response()))
    page.goto(address, wait_until="load")
    try:
        yield watched
        watched.settle()
    finally:
        context.close()


def lay_out(page: Page) -> None:
    """Lay out all sections at once, which wait until they come near."""
    page.add_style_tag(content=".bd-article section { content-visibility: visible !important; }")


def lift_veils(page: Page) -> None:
    """Show what waits for a prediction."""
    page.evaluate(
        "document.querySelectorAll('.course-veil__line button').forEach((button) => button.click())"
    )


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
