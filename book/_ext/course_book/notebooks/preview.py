"""A preview: only one chapter is run and written (``scripts/preview_chapter.py``).

Other pages that have changed are read for their labels. Their code is not run, and the warnings
that follow from it are not shown. The search index stays as it was.
"""

import logging
from collections.abc import Iterable

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def is_shown(app: Sphinx, page: str) -> bool:
    """Return whether this build runs and writes a page: in a preview only the previewed one."""
    return app.config.course_preview in ("", page)


def execution_mode(app: Sphinx, page: str) -> str:
    """Return myst-nb's mode for a page: ``off`` if ``leave_unrun`` named it, or else the book's."""
    mode: str = app.config.nb_execution_mode
    return "off" if page in getattr(app, "course_unrun", ()) else mode


def leave_unrun(app: Sphinx, pages: Iterable[str]) -> None:
    """Make ``execution_mode`` return ``off`` for these pages; to call before they are read."""
    app.course_unrun = frozenset(pages)  # type: ignore[attr-defined]


class _ShownPage(logging.Filter):
    """Drops warnings while Sphinx reads a page that the preview does not show."""

    reads_another = False

    def filter(self, record: logging.LogRecord) -> bool:
        return not (self.reads_another and record.levelno >= logging.WARNING)


def _begin(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    if not app.config.course_preview:
        return []
    app.builder.search = False  # type: ignore[attr-defined]  # of the HTML builder
    only = _ShownPage()
    for handler in logging.getLogger("sphinx").handlers:  # Sphinx adds others while it reads
        handler.addFilter(only)
    app.connect(
        "source-read",
        lambda app, page, source: setattr(only, "reads_another", not is_shown(app, page)),
    )
    app.connect("env-updated", lambda app, env: setattr(only, "reads_another", False))
    return [app.config.course_preview]


def setup(app: Sphinx) -> None:
    """Let a build show only the page that the option ``course_preview`` names, if any."""
    app.add_config_value("course_preview", "", "", types=[str])
    app.connect("env-get-outdated", _begin)
