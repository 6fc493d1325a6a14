"""A preview: one chapter is run, read and written, and what the rest of the book says is kept.

It has an environment and a folder of its own (``scripts/preview_chapter.py``), so that whatever
becomes of it, the book is none the worse. Pages that its environment doesn't know yet, or that have
changed, are read for the labels to which the chapter may refer. Their code is not run, and what
they lack without it is not told: it is the book's matter. So is the search, which stays as it was.
"""

import logging
from collections.abc import Iterable

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_UNRUN = "course_unrun"


def previewed(app: Sphinx) -> str:
    """Return the page that a preview shows; empty where the whole book is built."""
    page: str = app.config.course_preview
    return page


def is_asked_for(app: Sphinx, page: str) -> bool:
    """Whether a page is to be as the whole book has it.

    Args:
        app: The Sphinx application.
        page: Its name.

    Returns:
        True of each page, unless there is a preview of another.
    """
    return previewed(app) in ("", page)


def execution_mode(app: Sphinx, page: str) -> str:
    """Return how the code of a page comes to its outputs, as myst-nb calls it.

    Args:
        app: The Sphinx application.
        page: Its name.

    Returns:
        What the configuration says, but "off" for what a preview leaves unrun.
    """
    mode: str = app.config.nb_execution_mode
    return "off" if page in getattr(app, _UNRUN, ()) else mode


def leave_unrun(app: Sphinx, pages: Iterable[str]) -> None:
    """Let pages be read without outputs.

    Args:
        app: The Sphinx application.
        pages: Those whose code would have to be run.
    """
    setattr(app, _UNRUN, frozenset(pages))


class _OthersAreQuiet(logging.Filter):
    """Lets through what is said while the page of the preview is read, or none is."""

    def __init__(self) -> None:
        super().__init__()
        self.reading_another = False

    def filter(self, record: logging.LogRecord) -> bool:
        return not (self.reading_another and record.levelno >= logging.WARNING)


def _leave_search(app: Sphinx) -> None:
    if previewed(app):
        app.builder.search = False  # type: ignore[attr-defined]  # of the builder of HTML


def _begin(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    if not previewed(app):
        return []
    quiet = _OthersAreQuiet()
    for handler in logging.getLogger("sphinx").handlers:  # Sphinx has its own while it reads
        handler.addFilter(quiet)

    def hush(app: Sphinx, page: str, source: list[str]) -> None:
        quiet.reading_another = not is_asked_for(app, page)

    def end(app: Sphinx, env: BuildEnvironment) -> None:
        quiet.reading_another = False

    app.connect("source-read", hush)
    app.connect("env-updated", end)
    return [previewed(app)]


def setup(app: Sphinx) -> None:
    """Let a build show one page.

    Args:
        app: The Sphinx application.
    """
    app.add_config_value("course_preview", "", "", types=[str])
    app.connect("builder-inited", _leave_search)
    app.connect("env-get-outdated", _begin)
