"""The theme's script without its search for what scrolls, which lays out the whole page at once.

``js/page.js`` marks what scrolls as it comes near.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from course_book.site.offline import is_site

LOGGER = logging.getLogger(__name__)
SCRIPT = "scripts/pydata-sphinx-theme.js"
_SEARCH = re.compile(r'document\.querySelectorAll\(\["pre",[^\]]*\]\.join\(", "\)\)')
_NOTHING = "[/* js/page.js */]"


def without_search(script: str) -> str:
    """Return the script with nothing found where it looks for what scrolls.

    Args:
        script: The theme's, or what this function made of it.

    Raises:
        ValueError: It doesn't look for that.
    """
    leaner = _SEARCH.sub(_NOTHING, script)
    if leaner.count(_NOTHING) != 1:
        raise ValueError(f"{SCRIPT} looks for what scrolls in another way than it did")
    return leaner


def _shorten(app: Sphinx, error: Exception | None) -> None:
    if error or not is_site(app):
        return
    path = Path(app.outdir) / "_static" / SCRIPT
    try:
        path.write_text(without_search(path.read_text("utf-8")), "utf-8")
    except ValueError as problem:
        LOGGER.warning("%s", problem)


def setup(app: Sphinx) -> None:
    """Take the search out of the theme's script.

    Args:
        app: The Sphinx application.
    """
    app.connect("build-finished", _shorten)
