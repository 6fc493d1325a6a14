"""Repairs of parsed pages: unique ids of exercises, and nodes assigned to the right page."""

from docutils import nodes
from sphinx.application import Sphinx

REPEATED = {"exercise-content", "solution-content"}
"""Ids that sphinx-exercise gives to all exercises alike."""


def _drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for section in doctree.findall(nodes.section):
        section["ids"] = [name for name in section["ids"] if name not in REPEATED]


def _adopt(app: Sphinx, document: nodes.document) -> None:
    # Docutils leaves parts of docstrings in the documents that they were parsed in. Those hold
    # Sphinx's environment: 13 MB in the file of every page, half of the time to write the book.
    for node in document.findall():
        node.document = document


def setup(app: Sphinx) -> None:
    """Register the repairs; they run after the handlers that add nodes to pages."""
    app.connect("doctree-read", _adopt, priority=950)
    app.connect("doctree-resolved", _drop_repeated_ids)
