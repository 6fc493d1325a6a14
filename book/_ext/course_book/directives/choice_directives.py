"""The directives ``quiz`` and ``predict``: questions with immediate answers.

``quiz``: each answer has a reason why it is right or wrong; several right answers make checkboxes.
``predict``: asked before an experiment; the text after the answers, on the outcome, is shown once
the reader has answered. Without scripts reasons and outcome are folded. ``js/choices.js`` judges
the answers, ``js/progress.js`` counts the answered questions of each page.
"""

import hashlib
import json
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course_book.directives.choices import (
    Answer,
    ChoicesError,
    Passage,
    Question,
    parse_choices,
    require_reasons,
)
from course_book.site.html_element import element

logger = logging.getLogger(__name__)

_KICKER = {"quiz": "Check yourself", "predict": "Predict first"}
_SEVERAL = ' <span class="course-choices__hint">Several answers are right.</span>'
_FOOT = (
    '<div class="course-choices__foot"><p class="course-choices__status" role="status"></p>'
    '<button type="button" class="course-choices__again" hidden>Start again</button></div>\n'
    "</fieldset>\n</div>"
)
_REVEAL = '<details class="course-choices__reveal"><summary>What happens</summary>\n<div>\n'
_WHY = '<details class="course-choice__why"><summary>Right or wrong?</summary>\n'

_LABEL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_QUESTIONS = "course_questions"
_SCRIPT = "js/questions.js"


def _spoken_formula(paragraph: nodes.paragraph) -> str:
    r"""Return the accessible name of an answer that has formulas alone; empty for one with words.

    The name is the formula's LaTeX without commands and braces: ``x 2`` for ``\mathbf{x}^2``. Some
    screen readers would otherwise announce such an answer without any name.
    """
    if any(
        text.strip() and not isinstance(text.parent, nodes.math)
        for text in paragraph.findall(nodes.Text)
    ):
        return ""
    without_commands = re.sub(r"\\[a-zA-Z]+|\\.", " ", paragraph.astext())
    return " ".join(re.sub(r"[{}_^]", " ", without_commands).split())


class _ChoicesDirective(SphinxDirective):
    has_content = True
    option_spec: ClassVar = {"label": directives.unchanged_required}
    kind: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        try:
            label = self._take_label()
            question = parse_choices(list(self.content))
            self.check(question)
            return [self._build(question, label)]
        except ChoicesError as error:
            line = self.lineno  # of the directive; its content is counted from there
            if error.line >= 0:
                line += self.content_offset + error.line + 1
            logger.error(
                "%s: %s",
                *(self.name, error.message),
                location=(self.env.docname, line),
                type="course_book",
                subtype=self.kind,
            )
            return []

    def check(self, question: Question) -> None:
        """Raise ``ChoicesError`` if a question breaks a rule of the directive."""
        raise NotImplementedError

    def _take_label(self) -> str:
        label = self.options.get("label", "")
        if not _LABEL.fullmatch(label):
            raise ChoicesError(
                f"':label:' must be lower-case words joined by hyphens, got {label!r}", -1
            )
        for page in self.env.metadata:
            if label in self.env.metadata[page].get(_QUESTIONS, ()):
                raise ChoicesError(f"the label {label!r} is already used in {page!r}", -1)
        return label

    def _build(self, question: Question, label: str) -> nodes.Node:
        # An edited question must not show a reader's answer to the old one.
        version = hashlib.sha256("\n".join(self.content).encode()).hexdigest()[:8]
        data: dict[str, Any] = self.env.metadata[self.env.docname]
        data.setdefault(_QUESTIONS, {})[label] = version
        legend, *rest = self._parse(question.text)
        if not isinstance(legend, nodes.paragraph):
            raise ChoicesError("a question begins with a paragraph", question.text.line)
        legend_start = '<legend class="course-choices__question">'
        content = [element(legend_start, *legend.children, end="</legend>"), *rest]
        for number, answer in enumerate(question.mixed_answers, start=1):
            content.append(self._build_answer(answer, label, number, question.multiple))
        if question.reveal:
            reveal = self._parse(question.reveal)
            content.append(element(_REVEAL, *reveal, end="</div></details>"))
        start = (
            f'<div class="course-choices course-choices--{self.kind}" id="{label}"'
            f' data-course-choices="{self.kind}" data-version="{version}">\n'
            f'<p class="course-choices__kicker">{_KICKER[self.kind]}'
            f"{_SEVERAL if question.multiple else ''}</p>\n<fieldset>\n"
        )
        root = element(start, *content, end=_FOOT, name=f"{self.kind} {label}")
        self.set_source_info(root)
        return root

    def _build_answer(self, answer: Answer, label: str, number: int, multiple: bool) -> nodes.Node:
        content = self._parse(answer.text)
        if len(content) != 1 or not isinstance(content[0], nodes.paragraph):
            raise ChoicesError("an answer is one paragraph of text", answer.text.line)
        identity = f"{label}-answer-{number}"
        spoken = _spoken_formula(content[0])
        name = f' aria-label="{escape(spoken)}"' if spoken else ""
        start = (
            f'<div class="course-choice" data-right="{str(answer.right).lower()}">\n'
            f'<input type="{"checkbox" if multiple else "radio"}" id="{identity}"'
            f' name="{label}"{name}>'
        )
        parts = [element(f'<label for="{identity}">', *content[0].children, end="</label>")]
        if answer.why:
            verdict = "Right." if answer.right else "Wrong."
            why = (
                f'{_WHY}<div id="{identity}-why"><p class="course-choice__verdict">{verdict}</p>\n'
            )
            parts.append(element(why, *self._parse(answer.why), end="</div></details>"))
        return element(start, *parts, end="</div>")

    def _parse(self, passage: Passage) -> list[nodes.Node]:
        offset = self.content_offset + passage.line
        return self.parse_text_to_nodes("\n".join(passage.lines), offset=offset)


class QuizDirective(_ChoicesDirective):
    """The directive ``quiz``: a question whose answers each have a reason."""

    kind = "quiz"

    def check(self, question: Question) -> None:
        """Raise ``ChoicesError`` if an answer has no reason, or if text follows the answers."""
        require_reasons(question)
        if question.reveal:
            raise ChoicesError(
                "text follows the answers; an explanation belongs, indented and after '> ', "
                "under the answer that it explains",
                question.reveal.line,
            )


class PredictDirective(_ChoicesDirective):
    """The directive ``predict``: a question before an experiment, with a text on the outcome."""

    kind = "predict"

    def check(self, question: Question) -> None:
        """Raise ``ChoicesError`` unless one answer is right and text follows the answers."""
        if question.multiple:
            raise ChoicesError("a prediction has exactly one right answer", 0)
        if not question.reveal:
            raise ChoicesError(
                "no text after the answers: say what happens, at the margin, below them", 0
            )


def _write_questions(app: Sphinx, env: BuildEnvironment) -> None:
    """Write a JavaScript file with the label and the digest of each question, by page.

    It must exist before pages are written, since they name its checksum.
    """
    if app.builder.format != "html":
        return
    asked = {
        page: data[_QUESTIONS] for page, data in sorted(env.metadata.items()) if _QUESTIONS in data
    }
    script = Path(app.outdir) / "_static" / _SCRIPT
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"window.courseQuestions = {json.dumps(asked)};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the directives and the script with all questions."""
    app.add_directive("quiz", QuizDirective)
    app.add_directive("predict", PredictDirective)
    app.add_js_file(_SCRIPT, loading_method="defer")
    app.connect("env-updated", _write_questions)
