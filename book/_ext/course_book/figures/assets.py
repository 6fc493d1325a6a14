"""The scripts and styles of the figures: copied into the site, loaded by pages with the figure."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_book.figures.interactive import interactive_figure
from course_book.figures.registry import FIGURES

SHARED_SCRIPTS = ("elements.js", "arithmetic.js", "controls.js")
"""Scripts that every figure needs."""


def figure_assets() -> dict[str, Path]:
    """Return the file of each figure's scripts and styles, by address in ``_static/figures``."""
    here = Path(__file__).parent
    files = [file for kind in ("js", "css") for file in here.rglob(f"*.{kind}")]
    return {file.relative_to(here).as_posix().replace("_", "-"): file for file in files}


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
    names = sorted({node["figure"] for node in doctree.findall(interactive_figure)})
    if not names:
        return
    scripts, styles = list(SHARED_SCRIPTS), []
    for name in names:
        figure = FIGURES[name]
        scripts += [*figure.scripts, f"{name}/{name}.js"]
        styles += [*figure.styles, name]
        if figure.deferred:
            addresses = json.dumps([_with_digest(script) for script in figure.deferred])
            body = f'(window.courseDeferred ??= {{}})["{name}"] = {addresses};'
            app.add_js_file(None, body=body)
    for style in dict.fromkeys(styles):
        app.add_css_file(f"figures/{style}/{style}.css", priority=950)
    for script in dict.fromkeys(scripts):
        app.add_js_file(f"figures/{script}", loading_method="defer")
    for script in ("js/figure-tools.js", "js/figures.js"):
        app.add_js_file(script, loading_method="defer")


def _with_digest(script: str) -> str:
    """Return the address in the site of a script, ``folder/file.js``, with a digest of its content.

    The digest keeps browsers from using an older script that they have cached.
    """
    digest = sha256(figure_assets()[script].read_bytes()).hexdigest()[:8]
    return f"_static/figures/{script}?v={digest}"


def setup(app: Sphinx) -> None:
    """Copy figures' scripts and styles before pages are written, which name their checksums."""
    app.connect("builder-inited", _copy)
    app.connect("html-page-context", _load)
