"""A page for each file of the library that a chapter shows a part of: the whole file, coloured."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_LISTED = "course_listed_files"


def note_listed(env: BuildEnvironment, file: Path) -> None:
    """Ask for the page of a file that the page being read shows a part of.

    Args:
        env: Of the book.
        file: From the book's root.
    """
    data: dict[str, Any] = env.metadata[env.docname]
    data.setdefault(_LISTED, []).append(file.as_posix())


def page_of(file: Path) -> str:
    """Return the name of a file's page.

    Args:
        file: From the book's root.
    """
    return file.with_suffix("").as_posix()


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    listed: set[str] = set()
    for data in app.env.metadata.values():
        listed.update(data.get(_LISTED, []))
    highlighter = app.builder.highlighter  # type: ignore[attr-defined]  # only HTML asks for pages
    for file in sorted(listed):
        code = (Path(app.srcdir) / file).read_text(encoding="utf-8")
        shown = highlighter.highlight_block(code, "python")
        body = f"<h1><code>{escape(file)}</code></h1>\n{shown}"
        yield page_of(Path(file)), {"title": file, "body": body}, "page.html"


def setup(app: Sphinx) -> None:
    """Write the pages with those of the book.

    Args:
        app: The Sphinx application.
    """
    app.connect("html-collect-pages", _pages)
