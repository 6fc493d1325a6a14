"""A site that needs no other host: our styles and scripts, and nothing that the theme fetches.

The theme's icon script (1.5 MB) is replaced by ``css/icons.css``; the template
``static/webpack-macros.html`` leaves its tag out, and here the files themselves are dropped.
"""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

STYLES = (
    "css/palette.css",
    "css/typography.css",
    "css/layout.css",
    "css/icons.css",
    "css/content.css",
    "css/choices.css",
    "css/veils.css",
    "css/figures.css",
    "css/diagrams.css",
    "css/previews.css",
    "css/print.css",
)
SCRIPTS = ("js/page.js", "js/memory.js", "js/choices.js", "js/veils.js", "js/progress.js")
UNUSED = (
    "scripts/fontawesome.js",
    "scripts/fontawesome.js.LICENSE.txt",
    "vendor/fontawesome",
    "sphinx-thebe.js",
    "locales",
)
"""What the theme copies into ``_static`` and no page asks for; and the maps of its scripts."""


def is_site(app: Sphinx) -> bool:
    """Is it HTML that is built, with the book's theme?

    Args:
        app: The Sphinx application.
    """
    return app.builder.format == "html" and app.config.html_theme == "sphinx_book_theme"


def _add_assets(app: Sphinx) -> None:
    for priority, style in enumerate(STYLES, start=900):  # after the theme's own
        app.add_css_file(style, priority=priority)
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")


def _fix_search(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if pagename == "search":
        app.add_js_file("js/search.js", loading_method="defer")
    # A page opened as a file may not fetch others: there search goes without its summaries.
    app.add_js_file(
        None,
        body="if (location.protocol === 'file:') "
        "DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;",
    )


def _defer_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Let a page be seen before its scripts run; they still run in their order.

    Only the options come first, which a script within the page changes, and for the search, whose
    own scripts don't wait, what these call. Pages share these objects.
    """
    first = ("documentation_options.js", *(["doctools.js"] if pagename == "search" else []))
    for script in context["script_files"]:
        name = script.filename or ""
        if Path(name.partition("?")[0]).name in first:
            script.attributes.pop("defer", None)
        elif name:
            script.attributes["defer"] = "defer"


def _drop_unused(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for path in [*(static / name for name in UNUSED), *static.rglob("*.map")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Add the book's styles and scripts to every page and drop what no page needs.

    Args:
        app: The Sphinx application.
    """
    # Jupyter Book always sets this, for sphinx_comments, which would load scripts from elsewhere.
    app.add_config_value("comments_config", {}, "", types=[dict])
    app.connect("builder-inited", _add_assets)
    app.connect("html-page-context", _fix_search)
    app.connect("html-page-context", _defer_scripts, priority=900)
    app.connect("build-finished", _drop_unused)
