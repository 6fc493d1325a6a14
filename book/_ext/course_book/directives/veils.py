"""Veils: the answer to a prediction is hidden until the reader predicts, or asks for it.

The answer is everything from the question to the next heading or question. ``js/veils.js`` shows
it. Without scripts, on paper and for the search it is never hidden.
"""

from itertools import dropwhile, takewhile
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from course_book.site.html_element import element, html_element

_START = """<div class="course-veil" data-course-after="{label}">
<p class="course-veil__line"><span class="course-veil__words">\
What happens is shown here once you have predicted.</span> \
<button type="button">Show anyway</button></p>
<div class="course-veil__content" tabindex="-1">
"""


class VeilAnswers(SphinxPostTransform):
    """Puts the answer to each prediction into an element that ``js/veils.js`` hides."""

    default_priority = 850
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Wrap the answer to each prediction of the page in an element that can be hidden."""
        for question in list(self.document.findall(html_element)):
            kind, _, label = question["name"].partition(" ")
            if kind == "predict":
                _veil(question, label)


def _veil(question: html_element, label: str) -> None:
    parent = question.parent
    start = parent.index(question) + 1
    following = takewhile(lambda node: not _ends_answer(node), parent[start:])
    # Labels and comments at the end belong to the heading after them.
    unseen = nodes.target | nodes.comment
    answer = list(dropwhile(lambda n: isinstance(n, unseen), reversed(list(following))))[::-1]
    if answer:
        veil = element(_START.format(label=label), *answer, end="</div>\n</div>")
        parent[start : start + len(answer)] = [veil]


def _ends_answer(node: nodes.Node) -> bool:
    if isinstance(node, html_element):
        return str(node["name"]).startswith(("quiz ", "predict "))
    return isinstance(node, nodes.section)


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(VeilAnswers)
