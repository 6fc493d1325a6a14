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
    """Return the mark of a test that depends on a built page and its scripts, and on other files.

    ``page`` is the page's name, such as ``masking``.
    """
    built = "build/book/_build/html"
    return pytest.mark.depends_on(
        *(f"{built}/book/{page}.html", f"{built}/_images", "_config.yml", "scripts/chromium.py"),
        *("book/_ext", "book/_static", "book/_templates", "tests/book/*.py", *others),
    )


@dataclass
class Watched:
    """An open page with a record of the visit.

    Attributes:
        page: The page.
        problems: Errors and warnings of the console, exceptions, failed requests, and requests to
            other hosts, in words.
        weighed: Bytes of each response so far, by its address.
        awaited: Addresses that were requested and have no response yet.
    """

    page: Page
    problems: list[str] = field(default_factory=list)
    weighed: dict[str, int] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)

    @property
    def weights(self) -> dict[str, int]:
        """Bytes of each response by address, uncompressed, once all requests have a response."""
        self.settle()
        return self.weighed

    def settle(self) -> None:
        """Wait for all responses: a script may run in the page before its file is recorded."""
        for _ in range(PATIENCE // 10):
            if not self.awaited:
                return
            self.page.wait_for_timeout(10)
        pytest.fail(f"no answer came for {', '.join(sorted(self.awaited))}")


@contextmanager
def opened(
    browser: Browser,
    address: str,
    *,
    is_clean: bool = True,
    script_before: str = "",
    **options: Any,
) -> Iterator[Watched]:
    """Open a page in a fresh context, in which requests to other hosts fail, and yield it.

    Args:
        browser: A running browser.
        address: An http or file address; the test is skipped if a fork's book lacks the page.
        is_clean: Whether to assert at the end that the visit had no problems.
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
        assert not (is_clean and watched.problems), watched.problems
    finally:
        context.close()


def lift_veils(page: Page) -> None:
    """Press the button that shows the hidden answer to each prediction of a page."""
    page.evaluate(
        "document.querySelectorAll('.course-veil__line button').forEach((button) => button.click())"
    )


def scrolls_sideways(page: Page) -> int:
    """Return by how many pixels a page is wider than its window; at most 0 if it fits."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
