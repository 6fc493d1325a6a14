"""Highlighted code without the elements that change nothing.

Pygments puts names, punctuation and spaces into elements of their own, which both of the book's
styles show in the colour of all other text. In a long chapter they are thousands.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_LISTING = re.compile(r"<pre>.*?</pre>", flags=re.DOTALL)
_PLAIN = re.compile(r'<span class="(?:n|nn|nx|p|w)">([^<]*)</span>')


def without_plain_spans(html: str) -> str:
    """Return a page whose listings have elements only where they have another colour.

    Args:
        html: Of a page, or of a part of it.
    """
    return _LISTING.sub(lambda listing: _PLAIN.sub(r"\1", listing.group()), html)


def _unwrap(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if "body" in context:
        context["body"] = without_plain_spans(context["body"])


def setup(app: Sphinx) -> None:
    """Unwrap the listings of each page before it is written.

    Args:
        app: The Sphinx application.
    """
    app.connect("html-page-context", _unwrap)
