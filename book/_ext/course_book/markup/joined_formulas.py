"""Formulas on one line with the bracket before them and the comma after them.

A browser may break a line beside a formula's inline blocks, even before a comma. So a formula and
its neighbours stand in an element without line breaks, except between the formula's own parts.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

JOINED = "course-joined"  # the class in css/typography.css
_OPENING = re.compile(r"[(\[{\"'“‘«]+$")
_GOING_ON = re.compile(r"^(?:\w+|[^\w\s]+)")  # ")," and the "th" of "n-th"


class JoinFormulas(SphinxPostTransform):
    """Puts each formula into one element with the letters and signs that touch it."""

    default_priority = 800
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Join the formulas of a page."""
        for formula in list(self.document.findall(nodes.math)):
            _join(formula)


def _join(formula: nodes.math) -> None:
    siblings = formula.parent
    place = siblings.index(formula)
    before = _text(siblings[place - 1]) if place else ""
    after = _text(siblings[place + 1]) if place + 1 < len(siblings) else ""
    opening, going_on = _OPENING.search(before), _GOING_ON.search(after)
    if not (opening or going_on):
        return
    joined = nodes.inline(classes=[JOINED])
    siblings[place] = joined
    if opening:
        siblings[place - 1] = nodes.Text(before[: opening.start()])
        joined += nodes.Text(opening[0])
    joined += formula
    if going_on:
        siblings[place + 1] = nodes.Text(after[going_on.end() :])
        joined += nodes.Text(going_on[0])


def _text(node: nodes.Node) -> str:
    return node.astext() if isinstance(node, nodes.Text) else ""


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(JoinFormulas)
