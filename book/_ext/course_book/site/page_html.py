"""Corrections to the HTML that docutils, Sphinx and Pygments write."""

from typing import Any

from docutils import nodes
from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

REPLACEMENTS = {
    # WAI-ARIA has deprecated this role, and a list may not hold it.
    'role="doc-biblioentry"': 'role="listitem"',
    # The empty corner of a table with headings on two sides is no heading.
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    # The visible words name the folded code.
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # Folded on phones: js/togglebutton.js finds it by this class.
    '<div class="tip admonition">\n<p class="admonition-title">What you will be able': (
        '<div class="course-goals tip admonition">\n'
        '<p class="admonition-title">What you will be able'
    ),
    # A signature on several lines is a list of definitions without terms.
    "<dl>\n<dd>": '<dl role="presentation">\n<dd>',
}
PLAIN = {"n", "nn", "nx", "p", "w"}
"""Classes of tokens that have the colour of plain text in both of the book's styles."""


class LeanFormatter(HtmlFormatter):
    """Pygments' formatter without elements around plain tokens: thousands in a long chapter."""

    def _get_css_classes(self, ttype: Any) -> str:
        classes: str = super()._get_css_classes(ttype)
        return "" if classes in PLAIN else classes


def _replace(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    for written, better in REPLACEMENTS.items() if "body" in context else ():
        context["body"] = context["body"].replace(written, better)


def setup(app: Sphinx) -> None:
    """Have the replacements applied to the HTML of each page before it is written."""
    PygmentsBridge.html_formatter = LeanFormatter
    app.connect("html-page-context", _replace)
