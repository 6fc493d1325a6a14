"""A homework's id, such as ``hw03-self-attention``, is a link to its notebook where it stands.

Where the released notebook says at its top on which services it can be opened, the first link of a
page says so too.
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
_DOOR = re.compile(r"\[(?:!\[)?Open in (\w+)(?:\]\([^)]*\))?\]\((https://[^)]*)\)")


def doors(notebook: str) -> list[tuple[str, str]]:
    """Return where a released notebook can be opened, as its first cell says.

    Args:
        notebook: The file's text.

    Returns:
        The name and the address of each service; none if it names none.
    """
    cells = json.loads(notebook).get("cells", [])
    return _DOOR.findall("".join(cells[0]["source"])) if cells else []


class LinkHomework(SphinxTransform):
    """Makes each id a download, if the homework has been released."""

    default_priority = 600

    def apply(self, **kwargs: Any) -> None:
        """Link the ids of a page."""
        told: set[str] = set()
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
                if name not in told:
                    told.add(name)
                    _add_doors(link, doors(path.read_text(encoding="utf-8")))


def _add_doors(link: nodes.Element, found: list[tuple[str, str]]) -> None:
    """Put after a link: (open in ..., ...)."""
    words: list[nodes.Node] = []
    for service, address in found:
        words.append(nodes.Text(", " if words else " (open in "))
        words.append(nodes.reference("", service, refuri=address, internal=False))
    if words:
        place = link.parent.index(link) + 1
        link.parent[place:place] = [*words, nodes.Text(")")]


def setup(app: Sphinx) -> None:
    """Register the transform.

    Args:
        app: The Sphinx application.
    """
    app.add_transform(LinkHomework)
