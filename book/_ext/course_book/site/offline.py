"""A light site without requests to other hosts: the book's styles and scripts, less of the theme.

``css/icons.css`` replaces the theme's icon script (1.5 MB), whose tag the template
``static/webpack-macros.html`` leaves out. ``js/page.js`` replaces the theme's search for elements
that scroll, which measures and changes each in turn, and so lays a long chapter out many times.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

STYLES = tuple(
    f"css/{name}.css"
    for name in (
        *("palette", "typography", "layout", "icons", "content", "choices", "veils", "figures"),
        *("diagrams", "previews", "search", "search-meaning", "print"),
    )
)
SCRIPTS = tuple(
    f"js/{name}.js"
    for name in ("page", "memory", "choices", "veils", "progress", "search", "paper")
)
UNUSED = (
    *("scripts/fontawesome.js", "scripts/fontawesome.js.LICENSE.txt", "vendor/fontawesome"),
    *("sphinx-thebe.js", "sphinx_highlight.js", "locales"),
)
"""Files of the theme in ``_static`` that no page loads."""
THEME_SCRIPT = "scripts/pydata-sphinx-theme.js"
SCROLL_SEARCH = re.compile(r'document\.querySelectorAll\(\["pre",[^\]]*\]\.join\(", "\)\)')
"""The theme's search for elements that scroll."""
FOLD_ON_PHONES = 'if (innerWidth < 769) togglebuttonSelector += ", .course-goals";'
"""Adds the box of a chapter's goals to what sphinx_togglebutton folds."""
REPLACED = "[/* js/page.js */]"


def is_site(app: Sphinx) -> bool:
    """Return whether the build writes HTML with the book's theme."""
    return app.builder.format == "html" and app.config.html_theme == "sphinx_book_theme"


def _add_assets(app: Sphinx) -> None:
    for priority, style in enumerate(STYLES, start=900):  # after the theme's own
        app.add_css_file(style, priority=priority)
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")
    app.add_js_file(None, body=FOLD_ON_PHONES, priority=900)  # after the selector


def _fix_scripts(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Defer all scripts except ``documentation_options.js``; drop ``sphinx_highlight.js``."""
    context["script_files"][:] = [
        script
        for script in context["script_files"]
        if "sphinx_highlight" not in str(script.filename)
    ]
    for script in context["script_files"]:  # shared by all pages
        name = script.filename or ""
        if Path(name.partition("?")[0]).name == "documentation_options.js":
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
    if is_site(app):
        script = SCROLL_SEARCH.sub(REPLACED, (static / THEME_SCRIPT).read_text("utf-8"))
        if REPLACED not in script:
            logger.warning("%s searches for elements that scroll in another way now", THEME_SCRIPT)
        (static / THEME_SCRIPT).write_text(script, "utf-8")


def setup(app: Sphinx) -> None:
    """Add the styles and scripts of every page, and drop the files that no page needs."""
    # Jupyter Book always sets this option of sphinx_comments, which would load foreign scripts.
    app.add_config_value("comments_config", {}, "", types=[dict])
    app.connect("builder-inited", _add_assets)
    app.connect("html-page-context", _fix_scripts, priority=900)
    app.connect("build-finished", _drop_unused)
