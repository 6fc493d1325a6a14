"""Data that a page loads only when they are asked for: models that figures run.

A chapter's code cell shows them as ``<script type="application/json" id="..." data-deferred>``.
They leave the page for a classic script under ``_static/models``, which loads from a folder as from
a server and sets ``window.courseModels[id]``; in their place the page says where they lie and how
many bytes they are.
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


def model_script(name: str, data: Any) -> bytes:
    """Write the script that holds deferred data.

    Args:
        name: The data's id.
        data: Anything that JSON can hold.

    Returns:
        The script, ASCII.
    """
    written = json.dumps(data, separators=(",", ":"))
    return f'(window.courseModels ??= {{}})["{name}"] = {written};\n'.encode("ascii")


def move_deferred(match: re.Match[str], site: Path) -> str:
    """Write deferred data into a file of the site.

    Args:
        match: What ``DEFERRED`` has found.
        site: The folder of the site.

    Returns:
        A script element that says where they lie, to stand in their place.
    """
    name, script = match["name"], model_script(match["name"], json.loads(match["json"]))
    file = site / "_static" / "models" / f"{name}.js"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(script)
    digest = hashlib.sha256(script).hexdigest()[:8]  # a changed model is no old one's cache
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
    """Register the transform.

    Args:
        app: The Sphinx application.
    """
    app.add_post_transform(MoveDeferred)
