"""The weights of SmolLM2, where ``make weights`` installed them: copied into the site."""

import json
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_book.figures.interactive import interactive_figure

FIGURE = "language-model"


def _add(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Copy SmolLM2's weights to the site, and name their file in a page that runs the model."""
    if doctree is None:
        return
    if not any(node["figure"] == FIGURE for node in doctree.findall(interactive_figure)):
        return
    # on sys.path once the extension is set up
    from course_lib.models.pretrained.installed import smollm2_file

    try:
        file = smollm2_file()
    except FileNotFoundError:
        return
    copy = Path(app.outdir) / "_static" / "models" / file.name
    if not copy.exists() or copy.stat().st_size != file.stat().st_size:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    place = {"file": f"_static/models/{file.name}", "bytes": file.stat().st_size}
    app.add_js_file(None, body=f"window.courseWeights = {json.dumps(place)};")


def setup(app: Sphinx) -> None:
    """Have SmolLM2's weights added to the site when the page that uses them is written."""
    app.connect("html-page-context", _add)
