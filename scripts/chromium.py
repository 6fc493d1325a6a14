"""The browser that prints the book and runs its tests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def chromium_path() -> str:
    """Return the path of Chromium, or else of Google Chrome.

    Raises:
        FileNotFoundError: Neither is installed.
    """
    for name in ("chromium", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("no Chromium: apt-get install chromium, or install Google Chrome")


@contextmanager
def running_chromium(*arguments: str) -> "Iterator[Browser]":
    """Yield a headless browser started with these command-line arguments; close it at the end.

    Raises:
        FileNotFoundError: No browser is installed.
    """
    from playwright.sync_api import sync_playwright  # the tests need the path without it

    path, as_root = chromium_path(), ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*as_root, *arguments])
        yield browser
        browser.close()
