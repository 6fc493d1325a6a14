"""The book's Sphinx extension: questions, figures, diagrams, listings, notebooks, a light site.

``diagrams``, ``figures``, ``directives`` and ``markup`` stand side by side above ``site``;
``notebooks`` imports the last two as well.
"""

from typing import Any

from sphinx.application import Sphinx

PARTS = {
    "site": (
        "html_element rebuilding offline page_html previews published search_entries meaning"
        " stylesheet"
    ),
    "notebooks": "kernels preview outputs_cache side_by_side chapter_notebooks launch",
    "markup": (
        "formulas joined_formulas citation_years glossary_terms homework_links listings"
        " page_repairs"
    ),
    "directives": "choice_directives veils course_map api schedule homework_table status",
    "diagrams": "directive",
    "figures": "interactive assets weights",
}
"""The modules with a ``setup`` of their own, by their package."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all parts of the extension with Sphinx."""
    for package, modules in PARTS.items():
        for module in modules.split():
            app.setup_extension(f"course_book.{package}.{module}")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
