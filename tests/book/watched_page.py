"""Pages opened in Chromium, with a record of their requests and console messages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.book import small_book
from tests.book.contents import book_pages

PATIENCE = 300_000  # milliseconds; the machine may be busy

_PAGE = re.compile(r"/book/(?P<name>[\w-]+)\.html")

expect.set_options(timeout=PATIENCE)


def depends_on_page(page: str, *others: str) -> pytest.MarkDecorator:
    """Mark a test that depends on one built page, its styles and scripts, and some other files."""
    built = "build/book/_build/html"
    return pytest.mark.depends_on(
        *(f"{built}/book/{page}.html", f"{built}/_images", "_config.yml", "scripts/chromium.py"),
        *("book/_ext", "book/_static", "book/_templates", "tests/book/*.py", *others),
    )


@dataclass
class Watched:
    """An open page with a record of the visit."""

    page: Page
    # errors and warnings of the console, exceptions, failed requests, requests to other hosts
    problems: list[str] = field(default_factory=list)
    weighed: dict[str, int] = field(default_factory=dict)  # bytes of each answer, by address
    awaited: set[str] = field(default_factory=set)  # addresses without an answer yet

    @property
    def weights(self) -> dict[str, int]:
        """Bytes of each answer by address, without compression, once all have arrived."""
        self.settle()
        return self.weighed

    def settle(self) -> None:
        """Wait for all answers: a script may run in the page before its file is recorded."""
        for _ in range(PATIENCE // 10):
            if not self.awaited:
                return
            self.page.wait_for_timeout(10)
        pytest.fail(f"no answer came for {', '.join(sorted(self.awaited))}")


@contextmanager
def opened(
    browser: Browser, address: str, *, script_before: str = "", **options: Any
) -> Iterator[Watched]:
    """Open a page in a fresh context without other hosts.

    Args:
        browser: A running browser.
        address: An http or file address.
        script_before: JavaScript that runs before any of the page's own.
        options: Options of Playwright's ``new_context``.
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

    def log(message: Any) -> None:
        if message.type in ("error", "warning"):
            watched.problems.append(f"console: {message.text}")

    def fail(request: Any) -> None:
        # A page that is left or reloaded aborts its requests.
        if request.failure != "net::ERR_ABORTED":
            watched.problems.append(f"failed request: {request.url} ({request.failure})")
        watched.awaited.discard(request.url)

    def weigh(request: Any) -> None:
        watched.awaited.discard(request.url)
        response = request.response()
        if response.status >= 400:
            watched.problems.append(f"status {response.status}: {response.url}")
        elif home[0] == "http":
            with suppress(Error):  # the browser forgets the files of a page that is left
                watched.weighed[response.url] = len(response.body())

    page.on("console", log)
    page.on("pageerror", lambda error: watched.problems.append(f"exception: {error}"))
    context.on("requestfailed", fail)  # of other windows too
    context.on("requestfinished", weigh)
    page.goto(address, wait_until="load")
    try:
        yield watched
        watched.settle()
    finally:
        context.close()


def lift_veils(page: Page) -> None:
    """Show the answers to all predictions."""
    page.evaluate(
        "document.querySelectorAll('.course-veil__line button').forEach((button) => button.click())"
    )


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
