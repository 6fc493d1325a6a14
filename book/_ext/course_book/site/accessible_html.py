"""What docutils and Sphinx write, mended where screen readers would be told something wrong."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

REPAIRS = {
    # WAI-ARIA has deprecated this role, and an entry of it counts as no item of its list.
    'role="doc-biblioentry"': 'role="listitem"',
    # The corner of a table that has headings on two sides is itself no heading.
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    # What stands in sight on folded code is its name.
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # A signature on several lines is laid out as a list of definitions without terms.
    "<dl>\n<dd>": '<dl role="presentation">\n<dd>',
}


def _repair(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if "body" in context:
        for written, meant in REPAIRS.items():
            context["body"] = context["body"].replace(written, meant)


def setup(app: Sphinx) -> None:
    """Repair each page before it is written.

    Args:
        app: The Sphinx application.
    """
    app.connect("html-page-context", _repair)
