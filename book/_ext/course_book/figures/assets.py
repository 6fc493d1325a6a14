"""The figures' scripts and styles: copied into the site, and loaded by pages that show them."""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_book.figures.interactive import interactive_figure
from course_book.figures.registry import FIGURES, SHARED_SCRIPTS


def figure_assets() -> dict[str, Path]:
    """Return where each script and style lies, by its address under ``_static/figures``."""
    here = Path(__file__).parent
    assets = {script: here / script for script in SHARED_SCRIPTS}
    for name, figure in FIGURES.items():
        folder = here / name.replace("-", "_")
        assets |= {file: folder / file for file in (f"{name}.js", f"{name}.css")}
        assets |= {f"{name}/{part}": folder / part for part in figure.parts}
    return assets


def _copy(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    for address, file in figure_assets().items():
        copy = Path(app.outdir) / "_static" / "figures" / address
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _load(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None:
        return
    names = {node["figure"] for node in doctree.findall(interactive_figure)}
    if not names:
        return
    scripts = [f"figures/{script}" for script in SHARED_SCRIPTS]
    for name in sorted(names):
        scripts += [f"figures/{name}/{part}" for part in FIGURES[name].parts]
        scripts.append(f"figures/{name}.js")
        app.add_css_file(f"figures/{name}.css", priority=950)
    for script in [*scripts, "js/figures.js"]:
        app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Copy what the figures need; a page loads only what those that it shows need.

    Args:
        app: The Sphinx application.
    """
    app.connect("builder-inited", _copy)  # before pages are written: they name each file's digest
    app.connect("html-page-context", _load)
