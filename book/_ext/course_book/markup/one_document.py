"""Every part of a page belongs to the page's own document.

Docstrings are read as documents of their own, and docutils tells only the uppermost of their parts
where they have gone. The others would keep that document, and with it all that Sphinx knows of the
book, 13 MB in the file of every page: read again and again, it would take half of the time in which
a book is written.
"""

from docutils import nodes
from sphinx.application import Sphinx


def adopt(app: Sphinx, document: nodes.document) -> None:
    """Tell all parts of a page which document is theirs.

    Args:
        app: The Sphinx application.
        document: The page.
    """
    for node in document.findall():
        node.document = document


def setup(app: Sphinx) -> None:
    """Register the handler; others that run when a page has been read may add to it before.

    Args:
        app: The Sphinx application.
    """
    app.connect("doctree-read", adopt, priority=950)
