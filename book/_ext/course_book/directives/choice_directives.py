"""The directives ``quiz`` and ``predict``: the reader answers, and is told at once.

``quiz``: every answer says why it is right or wrong; several right ones make checkboxes.
``predict``: asked before an experiment; the text after the answers is what comes of it, shown once
the reader has committed to an answer, and kept.
"""

import hashlib
import re
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course_book.directives import choice_nodes
from course_book.directives.answer_counts import note_question
from course_book.directives.choices import (
    Answer,
    ChoicesError,
    Passage,
    Question,
    parse_choices,
    require_reasons,
)

logger = logging.getLogger(__name__)

_LABEL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _labels(env: BuildEnvironment) -> dict[str, str]:
    """Return the page of every label in the book."""
    if not hasattr(env, "course_choice_labels"):
        env.course_choice_labels = {}  # type: ignore[attr-defined]
    return env.course_choice_labels  # type: ignore[attr-defined]


def _spoken_formula(paragraph: nodes.paragraph) -> str:
    """Return a name for an answer that is nothing but formulas; empty for one with words.

    MathML alone gives an input no name in some browsers: LaTeX without its signs has to do.
    """
    words = [
        text
        for text in paragraph.findall(nodes.Text)
        if text.strip() and not isinstance(text.parent, nodes.math)
    ]
    if words:
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
                self.name,
                error.message,
                location=(self.env.docname, line),
                type="course_book",
                subtype=self.kind,
            )
            return []

    def check(self, question: Question) -> None:
        """Check what this kind of question asks for beyond the rest."""
        raise NotImplementedError

    def _take_label(self) -> str:
        label = self.options.get("label", "")
        if not _LABEL.fullmatch(label):
            raise ChoicesError(
                f"':label:' must be lower-case words joined by hyphens, got {label!r}", -1
            )
        labels = _labels(self.env)
        if label in labels:
            raise ChoicesError(f"the label {label!r} is already used in {labels[label]!r}", -1)
        labels[label] = self.env.docname
        return label

    def _build(self, question: Question, label: str) -> nodes.Node:
        # An edited question must not show the answer that a reader gave to the old one.
        version = hashlib.sha256("\n".join(self.content).encode()).hexdigest()[:8]
        root = choice_nodes.choices(
            label=label, kind=self.kind, multiple=question.multiple, version=version
        )
        self.set_source_info(root)
        note_question(self.env, label, version)
        legend, *rest = self._parse(question.text)
        if not isinstance(legend, nodes.paragraph):
            raise ChoicesError("a question begins with a paragraph", question.text.line)
        root += choice_nodes.choices_question("", "", *legend.children)
        root += rest
        for number, answer in enumerate(question.mixed_answers, start=1):
            root += self._build_answer(answer, label, number, question.multiple)
        if question.reveal:
            root += choice_nodes.choices_reveal("", *self._parse(question.reveal))
        return root

    def _build_answer(self, answer: Answer, label: str, number: int, multiple: bool) -> nodes.Node:
        content = self._parse(answer.text)
        if len(content) != 1 or not isinstance(content[0], nodes.paragraph):
            raise ChoicesError("an answer is one paragraph of text", answer.text.line)
        input_id = f"{label}-answer-{number}"
        node = choice_nodes.choices_answer(
            right=answer.right,
            input_id=input_id,
            name=label,
            multiple=multiple,
            spoken=_spoken_formula(content[0]),
        )
        node += choice_nodes.choices_text("", "", *content[0].children, input_id=input_id)
        if answer.why:
            node += choice_nodes.choices_why(
                "", *self._parse(answer.why), right=answer.right, input_id=input_id
            )
        return node

    def _parse(self, passage: Passage) -> list[nodes.Node]:
        container = nodes.Element()
        source = StringList(passage.lines, source=self.env.docname)
        self.state.nested_parse(source, self.content_offset + passage.line, container)
        return container.children


class QuizDirective(_ChoicesDirective):
    """A question whose every answer explains itself."""

    kind = "quiz"

    def check(self, question: Question) -> None:
        """Require a reason under every answer, and nothing after the answers."""
        require_reasons(question)
        if question.reveal:
            raise ChoicesError(
                "text follows the answers; an explanation belongs, indented and after '> ', "
                "under the answer that it explains",
                question.reveal.line,
            )


class PredictDirective(_ChoicesDirective):
    """A question before an experiment, whose outcome is revealed after answering."""

    kind = "predict"

    def check(self, question: Question) -> None:
        """Require one right answer and the text to reveal."""
        if question.multiple:
            raise ChoicesError("a prediction has exactly one right answer", 0)
        if not question.reveal:
            raise ChoicesError(
                "no text after the answers: say what happens, at the margin, below them", 0
            )


def _forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    labels = _labels(env)
    for label in [label for label, page in labels.items() if page == docname]:
        del labels[label]


def _merge_pages(
    app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment
) -> None:
    labels = _labels(env)
    for label, page in _labels(other).items():
        if page not in docnames:
            continue
        if labels.setdefault(label, page) != page:
            logger.error(
                "the label %r is used in %r and in %r",
                label,
                labels[label],
                page,
                location=page,
                type="course_book",
            )


def setup(app: Sphinx) -> None:
    """Register the directives.

    Args:
        app: The Sphinx application.
    """
    choice_nodes.setup(app)
    app.add_directive("quiz", QuizDirective)
    app.add_directive("predict", PredictDirective)
    app.connect("env-purge-doc", _forget_page)
    app.connect("env-merge-info", _merge_pages)
