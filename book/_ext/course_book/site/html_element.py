"""A node for HTML that docutils has no node for."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class html_element(nodes.General, nodes.TextElement):
    """Nodes between two pieces of raw HTML, its attributes ``start`` and ``end``.

    The attribute ``name`` is for transforms that look for it.
    """


def element(start: str, *content: nodes.Node, end: str, name: str = "") -> html_element:
    """Return nodes between two pieces of HTML, as one node with a name for transforms."""
    return html_element("", "", *content, start=start, end=f"{end}\n", name=name)


def _visit(self: HTML5Translator, node: html_element) -> None:
    self.body.append(node["start"])


def _depart(self: HTML5Translator, node: html_element) -> None:
    self.body.append(node["end"])


def setup(app: Sphinx) -> None:
    """Register the node."""
    app.add_node(html_element, html=(_visit, _depart))
