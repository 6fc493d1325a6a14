"""Citations as lists that screen readers understand.

docutils marks entries of a list of citations as ``doc-biblioentry``. WAI-ARIA has deprecated that
role, and an entry of that role does not count as an item of its list.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _repair(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Sphinx) -> None:
    """Repair each page before it is written.

    Args:
        app: The Sphinx application.
    """
    app.connect("html-page-context", _repair)
