"""The book's own Sphinx extension: quizzes, live figures, an offline site, honest caching.

``diagrams``, ``figures``, ``directives``, ``markup`` and ``site`` stand side by side;
``notebooks`` imports the last three.
"""

from typing import Any

from sphinx.application import Sphinx

from course_book.diagrams import directive as diagram
from course_book.directives import (
    answer_counts,
    api,
    choice_directives,
    course_map,
    homework_table,
    schedule,
    status,
    veils,
)
from course_book.figures import assets, deferred, interactive
from course_book.markup import (
    citation_years,
    exercises,
    formulas,
    glossary_terms,
    graded_listings,
    homework_links,
    joined_formulas,
    library_files,
    listings,
    one_document,
)
from course_book.notebooks import (
    chapter_notebooks,
    kernels,
    launch,
    outputs_cache,
    preview,
    side_by_side,
)
from course_book.site import (
    accessible_html,
    book_digests,
    lean_listings,
    lean_scripts,
    offline,
    one_style,
    page_dates,
    previews,
    published,
    unfinished,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application.

    Returns:
        The extension's metadata.
    """
    parts = (
        *(unfinished, book_digests, kernels, preview, outputs_cache, side_by_side),
        *(formulas, joined_formulas, citation_years, glossary_terms),
        *(graded_listings, homework_links, library_files, listings, one_document),
        *(choice_directives, veils, diagram, answer_counts),
        *(interactive, deferred, assets, exercises),
        *(course_map, api, schedule, homework_table, status),
        *(offline, accessible_html, lean_listings, previews, chapter_notebooks, launch),
        *(page_dates, published, one_style, lean_scripts),
    )
    for part in parts:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
