"""What answers a prediction is veiled until the reader has made it, or asks to be shown.

That is all that follows the question up to the next heading or question: the experiment, and what
is said of it. ``js/veils.js`` lifts the veil; without scripts, on paper and for search there is
none.
"""

from itertools import dropwhile, takewhile
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from course_book.directives.choice_nodes import choices


class veiled(nodes.General, nodes.Element):
    """What answers a prediction: attribute question, its label."""


class VeilAnswers(SphinxPostTransform):
    """Puts what answers each prediction of a page into an element of its own."""

    default_priority = 850
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Veil the answers of a page."""
        for question in list(self.document.findall(choices)):
            if question["kind"] == "predict":
                _veil(question)


def _veil(question: choices) -> None:
    parent = question.parent
    start = parent.index(question) + 1
    following = takewhile(lambda node: not _ends_answer(node), parent[start:])
    answer = list(dropwhile(_is_unseen, reversed(list(following))))[::-1]
    if answer:
        parent[start : start + len(answer)] = [veiled("", *answer, question=question["label"])]


def _ends_answer(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section | choices)


def _is_unseen(node: nodes.Node) -> bool:
    """Whether a node only names what comes after it."""
    return isinstance(node, nodes.target | nodes.comment)


def _visit(self: HTML5Translator, node: veiled) -> None:
    self.body.append(
        f'<div class="course-veil" data-course-after="{node["question"]}">\n'
        '<p class="course-veil__line"><span class="course-veil__words">'
        "What happens is shown here once you have predicted.</span> "
        '<button type="button">Show anyway</button></p>\n'
        '<div class="course-veil__content" tabindex="-1">\n'
    )


def _depart(self: HTML5Translator, node: veiled) -> None:
    self.body.append("</div>\n</div>\n")


def setup(app: Sphinx) -> None:
    """Register the node and what makes it.

    Args:
        app: The Sphinx application.
    """
    app.add_node(veiled, html=(_visit, _depart))
    app.add_post_transform(VeilAnswers)
