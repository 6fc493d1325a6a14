"""The book's own Sphinx extension: quizzes, live figures, an offline site, honest caching."""

from typing import Any

from sphinx.application import Sphinx

from course_book import (
    accessible_html,
    api,
    chapter_notebooks,
    choice_directives,
    citation_years,
    course_map,
    execution,
    exercises,
    formulas,
    glossary_terms,
    homework_table,
    interactive,
    joined_formulas,
    launch,
    offline,
    page_dates,
    previews,
    published,
    schedule,
    side_by_side,
    status,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application.

    Returns:
        The extension's metadata.
    """
    parts = (
        *(execution, side_by_side, formulas, joined_formulas, citation_years, glossary_terms),
        *(choice_directives, interactive, exercises),
        *(course_map, api, schedule, homework_table, status),
        *(offline, accessible_html, previews, chapter_notebooks, launch, page_dates, published),
    )
    for part in parts:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
