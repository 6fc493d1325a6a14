"""Where the browser is that prints the book, and that its tests look at pages with."""

import shutil


def chromium_path() -> str:
    """Return the path of Chromium, or of Google Chrome where that is what there is.

    Raises:
        FileNotFoundError: Neither is installed.
    """
    for name in ("chromium", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise FileNotFoundError("no Chromium: apt-get install chromium, or install Google Chrome")
