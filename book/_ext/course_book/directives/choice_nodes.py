"""The HTML of questions with answers: complete without scripts, brought to life by choices.js.

Without scripts every reason stands folded under its answer. The names of the classes and ``data-``
attributes are what ``js/choices.js`` and ``css/choices.css`` go by.
"""

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class choices(nodes.General, nodes.Element):
    """A question: attributes label, kind ('quiz' or 'predict'), multiple, version."""


class choices_question(nodes.General, nodes.TextElement):
    """The question's first paragraph, which names the group of inputs."""


class choices_answer(nodes.General, nodes.Element):
    """One answer: attributes right, input_id, name, multiple, spoken (a name, or empty)."""


class choices_text(nodes.General, nodes.TextElement):
    """What an input stands for: attribute input_id."""


class choices_why(nodes.General, nodes.Element):
    """Why an answer is right or wrong: attributes right, input_id."""


class choices_reveal(nodes.General, nodes.Element):
    """What is shown after answering."""


_KICKER = {"quiz": "Check yourself", "predict": "Predict first"}
_MULTIPLE_HINT = "Several answers are right."


def _visit_choices(self: HTML5Translator, node: choices) -> None:
    label, kind = escape(node["label"]), node["kind"]
    hint = (
        f' <span class="course-choices__hint">{_MULTIPLE_HINT}</span>' if node["multiple"] else ""
    )
    self.body.append(
        f'<div class="course-choices course-choices--{kind}" id="{label}"'
        f' data-course-choices="{kind}" data-version="{node["version"]}">\n'
        f'<p class="course-choices__kicker">{_KICKER[kind]}{hint}</p>\n<fieldset>\n'
    )


def _depart_choices(self: HTML5Translator, node: choices) -> None:
    self.body.append(
        '<div class="course-choices__foot">'
        '<p class="course-choices__status" role="status"></p>'
        '<button type="button" class="course-choices__again" hidden>Start again</button>'
        "</div>\n</fieldset>\n</div>\n"
    )


def _visit_question(self: HTML5Translator, node: choices_question) -> None:
    self.body.append('<legend class="course-choices__question">')


def _depart_question(self: HTML5Translator, node: choices_question) -> None:
    self.body.append("</legend>\n")


def _visit_answer(self: HTML5Translator, node: choices_answer) -> None:
    kind = "checkbox" if node["multiple"] else "radio"
    right = "true" if node["right"] else "false"
    name = f' aria-label="{escape(node["spoken"])}"' if node["spoken"] else ""
    self.body.append(
        f'<div class="course-choice" data-right="{right}">\n'
        f'<input type="{kind}" id="{escape(node["input_id"])}" name="{escape(node["name"])}"{name}>'
    )


def _depart_answer(self: HTML5Translator, node: choices_answer) -> None:
    self.body.append("</div>\n")


def _visit_text(self: HTML5Translator, node: choices_text) -> None:
    self.body.append(f'<label for="{escape(node["input_id"])}">')


def _depart_text(self: HTML5Translator, node: choices_text) -> None:
    self.body.append("</label>\n")


def _visit_why(self: HTML5Translator, node: choices_why) -> None:
    verdict = "Right." if node["right"] else "Wrong."
    self.body.append(
        '<details class="course-choice__why"><summary>Right or wrong?</summary>\n'
        f'<div id="{escape(node["input_id"])}-why">'
        f'<p class="course-choice__verdict">{verdict}</p>\n'
    )


def _depart_why(self: HTML5Translator, node: choices_why) -> None:
    self.body.append("</div></details>\n")


def _visit_reveal(self: HTML5Translator, node: choices_reveal) -> None:
    self.body.append(
        '<details class="course-choices__reveal"><summary>What happens</summary>\n<div>\n'
    )


def _depart_reveal(self: HTML5Translator, node: choices_reveal) -> None:
    self.body.append("</div></details>\n")


def setup(app: Sphinx) -> None:
    """Register the nodes.

    Args:
        app: The Sphinx application.
    """
    visitors: dict[type[nodes.Element], tuple[Any, Any]] = {
        choices: (_visit_choices, _depart_choices),
        choices_question: (_visit_question, _depart_question),
        choices_answer: (_visit_answer, _depart_answer),
        choices_text: (_visit_text, _depart_text),
        choices_why: (_visit_why, _depart_why),
        choices_reveal: (_visit_reveal, _depart_reveal),
    }
    for node, html in visitors.items():
        app.add_node(node, html=html)
