"""The path of the browser that prints the book and runs its tests."""

import shutil


def chromium_path() -> str:
    """Return the path of Chromium, or else of Google Chrome.

    Raises:
        FileNotFoundError: Neither is installed.
    """
    for name in ("chromium", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("no Chromium: apt-get install chromium, or install Google Chrome")
