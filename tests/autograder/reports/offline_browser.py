"""Opens pages in Chromium; reports requests, console messages and findings of axe."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page


@contextlib.contextmanager
def opened(
    browser: Browser, file: Path, *, scheme: str = "light", width: int = 1200, **options
) -> Iterator[Page]:
    """Yield a page that shows a file; afterwards check that it requested and logged nothing."""
    told: list[str] = []
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": width, "height": 800}, **options
    )
    page.set_default_timeout(300_000)
    page.on("request", lambda request: told.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
    try:
        page.goto(file.as_uri())
        yield page
        page.wait_for_timeout(100)
    finally:
        page.close()
    assert told == [file.as_uri()]


# Describe failures only, and repeat none of the page's requests.
LEAN = {"preload": False, "resultTypes": ["violations"]}


def serious_findings(page: Page) -> list[str]:
    """Return the findings that axe calls serious or critical."""
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:200]}"
        for found in Axe().run(page, options=LEAN).response["violations"]
        if found["impact"] in ("serious", "critical")
    ]


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
