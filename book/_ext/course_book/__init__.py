"""The book's own Sphinx extension: quizzes, live figures, an offline site, honest caching."""

from typing import Any

from sphinx.application import Sphinx

from course_book import (
    choice_directives,
    citations,
    course_map,
    execution,
    formulas,
    interactive,
    offline,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application.

    Returns:
        The extension's metadata.
    """
    parts = (execution, offline, formulas, choice_directives, interactive, course_map, citations)
    for part in parts:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
