"""Questions with answers to choose from: the Markdown of authors, parsed into plain data.

A question comes first, then a list of answers, ``[x]`` marking a right one. A quotation below an
answer is the reason why it is right or wrong::

    What does the softmax of equal scores look like?

    - [x] all weights are equal
          > Equal scores have equal exponentials.
    - [ ] one weight is 1
          > Only a score far above the others does that.

Text after the list, not indented, is shown once the reader has answered. Readers meet the answers
in an order that depends on a hash of the text, the same in every build.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_ANSWER = re.compile(r"^[-*] \[(?P<mark>[ xX])\](?:\s+(?P<text>.*))?$")
_ALMOST_ANSWER = re.compile(r"^\s*[-*+]\s*\[[^\]]?\]|^[-*+]\s*\[[^\]]*\](?![({:])")
_ABOUT_THE_OTHERS = re.compile(
    r"(both|either|neither|none|all (of|about|three|four))\b", re.IGNORECASE
)


class ChoicesError(ValueError):
    """A malformed question.

    Args:
        message: The fault, and the expected form.
        line: Index of the faulty line in the directive's content; -1 for the directive's option.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line + 1}: {message}")
        self.message = message
        self.line = line


@dataclass
class Passage:
    """Markdown lines of a question, an answer, a reason, or the text after the answers.

    Attributes:
        line: Index of the first line in the directive's content.
        lines: The lines without indentation; a passage of blank lines counts as missing.
    """

    line: int
    lines: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(line.strip() for line in self.lines)


@dataclass
class Answer:
    """An answer to choose.

    Attributes:
        right: Whether it is right.
        text: The answer.
        why: The reason why it is right or wrong; may be empty.
    """

    right: bool
    text: Passage
    why: Passage


@dataclass
class Question:
    """A question with its answers.

    Attributes:
        text: The question.
        answers: The answers, in the author's order.
        reveal: The text that is shown once the reader has answered; may be empty.
    """

    text: Passage
    answers: list[Answer]
    reveal: Passage

    @property
    def multiple(self) -> bool:
        """Whether more than one answer is right."""
        return sum(answer.right for answer in self.answers) > 1

    @property
    def mixed_answers(self) -> list[Answer]:
        """The answers in the order that readers see; *both*, *none* and the like are last."""

        def place(answer: Answer) -> tuple[bool, str]:
            text = "\n".join([*answer.text.lines, *self.text.lines])
            last = _ABOUT_THE_OTHERS.match(answer.text.lines[0]) is not None
            return last, hashlib.sha256(text.encode()).hexdigest()

        return sorted(self.answers, key=place)


def parse_choices(lines: Sequence[str]) -> Question:
    """Parse the Markdown lines of a question.

    Raises:
        ChoicesError: There is no question, fewer than two answers, none that is right, an answer
            without text or given twice, or a line that only resembles an answer.
    """
    question, answers, reveal = Passage(0), [], Passage(len(lines))
    for number, line in enumerate(lines):
        match = _ANSWER.match(line)
        if match and not reveal:
            text = Passage(number, [match["text"] or ""])
            answers.append(Answer(match["mark"] != " ", text, Passage(number)))
        elif _ALMOST_ANSWER.match(line):
            raise ChoicesError(
                f"{line.strip()!r} looks like an answer; answers are one list, begin at the margin "
                "with '- [ ] ' or '- [x] ', and stand before the text to reveal",
                number,
            )
        elif reveal or (answers and line.strip() and not line.startswith((" ", "\t"))):
            reveal.line = reveal.line if reveal else number
            reveal.lines.append(line)
        elif answers:
            _continue_answer(answers[-1], number, line)
        else:
            question.lines.append(line)
    _check(question, answers)
    return Question(question, answers, reveal)


def require_reasons(question: Question) -> None:
    """Raise ``ChoicesError`` if an answer has no reason."""
    for answer in question.answers:
        if not answer.why:
            raise ChoicesError(
                f"the answer {answer.text.lines[0]!r} has no explanation; write one under it, "
                "indented, after '> '",
                answer.text.line,
            )


def _continue_answer(answer: Answer, number: int, line: str) -> None:
    content = line.strip()
    if content.startswith(">"):
        if not answer.why:
            answer.why.line = number
        answer.why.lines.append(content[1:].removeprefix(" "))
    elif answer.why and content:
        raise ChoicesError(
            f"{content!r} follows an explanation; begin each of its lines with '> '", number
        )
    elif content:
        answer.text.lines.append(content)


def _check(question: Passage, answers: list[Answer]) -> None:
    if not question:
        raise ChoicesError("no question stands before the answers", 0)
    if len(answers) < 2:
        raise ChoicesError(
            f"a question needs at least two answers ('- [ ] ...'), found {len(answers)}", 0
        )
    for answer in answers:
        if not answer.text:
            raise ChoicesError("an answer has no text", answer.text.line)
    if not any(answer.right for answer in answers):
        raise ChoicesError("no answer is marked right ('- [x] ...')", answers[0].text.line)
    seen = set()
    for answer in answers:
        words = " ".join(answer.text.lines)
        if words in seen:
            raise ChoicesError(f"the answer {words!r} is given twice", answer.text.line)
        seen.add(words)
