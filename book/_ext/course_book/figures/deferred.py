"""Data that a page loads on demand: the models that figures run.

A code cell shows them as ``<script type="application/json" id="..." data-deferred>``. The build
moves them into a classic script under ``_static/models``, which also loads from ``file://`` and
sets ``window.courseModels[id]``, and leaves its address and its size in the page.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DEFERRED = re.compile(
    r'<script type="application/json" id="(?P<name>[\w-]+)" data-deferred>(?P<json>.*?)</script>',
    re.DOTALL,
)


def move_deferred(match: re.Match[str], site: Path) -> str:
    """Write deferred data into a script of the site, and return the element that names it.

    Args:
        match: A match of ``DEFERRED``.
        site: The folder of the site.
    """
    name = match["name"]
    data = json.dumps(json.loads(match["json"]), separators=(",", ":"))
    script = f'(window.courseModels ??= {{}})["{name}"] = {data};\n'.encode("ascii")
    file = site / "_static" / "models" / f"{name}.js"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(script)
    digest = hashlib.sha256(script).hexdigest()[:8]  # against stale browser caches
    place = {"file": f"_static/models/{name}.js?v={digest}", "bytes": len(script)}
    return f'<script type="application/json" id="{name}">{json.dumps(place)}</script>'


class MoveDeferred(SphinxPostTransform):
    """Move deferred data out of the page."""

    default_priority = 410  # after MyST-NB has chosen among a cell's outputs
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Move every deferred script of the page."""
        site = Path(self.app.outdir)
        for raw in list(self.document.findall(nodes.raw)):
            if DEFERRED.search(raw.astext()):
                text = DEFERRED.sub(lambda match: move_deferred(match, site), raw.astext())
                raw.replace_self(nodes.raw("", text, format="html"))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(MoveDeferred)
