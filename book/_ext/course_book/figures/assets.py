"""The figures' scripts and styles: copied into the site, and loaded by pages that show them."""

import json
import shutil
from hashlib import sha256
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
        assets |= {script: _source(script) for script in (*figure.shared, *figure.deferred)}
    return assets


def _source(script: str) -> Path:
    """Return where a script lies that is named by its address."""
    folder, name = script.split("/")
    return Path(__file__).parent / folder.replace("-", "_") / name


def deferred_addresses(figure: str) -> list[str]:
    """Return the addresses of the scripts that a figure loads when they are wanted.

    Each names the file's digest, so that no browser mixes an old script with new ones.
    """
    digests = {
        script: sha256(_source(script).read_bytes()).hexdigest()[:8]
        for script in FIGURES[figure].deferred
    }
    return [f"_static/figures/{script}?v={digest}" for script, digest in digests.items()]


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
    scripts += dict.fromkeys(
        f"figures/{script}" for name in sorted(names) for script in FIGURES[name].shared
    )
    for name in sorted(names):
        scripts += [f"figures/{name}/{part}" for part in FIGURES[name].parts]
        scripts.append(f"figures/{name}.js")
        if addresses := deferred_addresses(name):
            body = f'(window.courseDeferred ??= {{}})["{name}"] = {json.dumps(addresses)};'
            app.add_js_file(None, body=body)
    styles = [style for name in sorted(names) for style in (*FIGURES[name].styles, name)]
    for style in dict.fromkeys(styles):
        app.add_css_file(f"figures/{style}.css", priority=950)
    for script in [*scripts, "js/figures.js"]:
        app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> None:
    """Copy what the figures need; a page loads only what those that it shows need.

    Args:
        app: The Sphinx application.
    """
    app.connect("builder-inited", _copy)  # before pages are written: they name each file's digest
    app.connect("html-page-context", _load)
