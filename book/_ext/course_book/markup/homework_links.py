"""A homework's id, such as ``hw03-self-attention``, links to its released notebook.

The first link of a page also names the services that the notebook's first cell links to.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_HOMEWORK = re.compile(r"hw\d\d-[\w-]+")
_SERVICE = re.compile(r"\[(?:!\[)?Open in (\w+)(?:\]\([^)]*\))?\]\((https://[^)]*)\)")


class LinkHomework(SphinxTransform):
    """Makes each id of a released homework a link that downloads its notebook."""

    default_priority = 600

    def apply(self, **kwargs: Any) -> None:
        """Link the ids of homework in a page."""
        linked: set[str] = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext()
            if not _HOMEWORK.fullmatch(name) or isinstance(literal.parent, nodes.reference):
                continue
            notebook = f"assignments/{name}/{name}.ipynb"
            path = Path(self.env.srcdir) / notebook
            if path.is_file():
                link = addnodes.download_reference("", "", reftarget=f"/{notebook}")
                literal.replace_self(link)
                link += literal
                self.env.note_dependency(str(path))
                if name not in linked:
                    linked.add(name)
                    _add_services(link, path.read_text(encoding="utf-8"))


def _add_services(link: nodes.Element, notebook: str) -> None:
    """Put "(open in Colab, ...)" after a notebook's link, if its first cell links to services."""
    cells = json.loads(notebook).get("cells", [])
    found = _SERVICE.findall("".join(cells[0]["source"])) if cells else []
    words: list[nodes.Node] = []
    for service, address in found:
        words.append(nodes.Text(", " if words else " (open in "))
        words.append(nodes.reference("", service, refuri=address, internal=False))
    if words:
        place = link.parent.index(link) + 1
        link.parent[place:place] = [*words, nodes.Text(")")]


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(LinkHomework)
