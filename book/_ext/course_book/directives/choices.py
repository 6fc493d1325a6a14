"""Questions with answers to choose from: the text that authors write, read into plain data.

The text is Markdown. A question comes first, then a list of answers, ``[x]`` marking a right one;
under an answer, as a quotation, stands why it is right or wrong::

    What does the softmax of equal scores look like?

    - [x] all weights are equal
          > Equal scores have equal exponentials.
    - [ ] one weight is 1
          > Only a score far above the others does that.

What follows the list, not indented, is revealed once the reader has answered.

Authors write the answers in whatever order comes to mind, and the right one too rarely first. So
the reader meets them in another order, mixed by a hash of the text: the same in every build.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_ANSWER = re.compile(r"^[-*] \[(?P<mark>[ xX])\](?:\s+(?P<text>.*))?$")
_ALMOST_ANSWER = re.compile(r"^\s*[-*+]\s*\[[^\]]?\]|^[-*+]\s*\[[^\]]*\](?![({:])")
_ABOUT_THE_OTHERS = re.compile(
    r"(both|either|neither|none|all (of|about|three|four))\b", re.IGNORECASE
)


class ChoicesError(ValueError):
    """A question that is not written as it should be.

    Attributes:
        message: What is wrong and what was expected.
        line: Where, counted from 0 within the text.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line + 1}: {message}")
        self.message = message
        self.line = line


@dataclass
class Passage:
    """Some Markdown, and where it began.

    Attributes:
        line: Index of its first line within the text.
        lines: Its lines, without the indentation of the answer that it belongs to.
    """

    line: int
    lines: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(line.strip() for line in self.lines)


@dataclass
class Answer:
    """One answer to choose.

    Attributes:
        right: Whether it is right.
        text: What the reader chooses.
        why: Why it is right or wrong; empty if the author gives no reason.
    """

    right: bool
    text: Passage
    why: Passage


@dataclass
class Question:
    """A question with its answers.

    Attributes:
        text: The question.
        answers: What can be chosen, at least two, as written.
        reveal: What is shown after answering; empty if there is nothing.
    """

    text: Passage
    answers: list[Answer]
    reveal: Passage

    @property
    def multiple(self) -> bool:
        """Whether more than one answer is right, so that several may be chosen."""
        return sum(answer.right for answer in self.answers) > 1

    @property
    def mixed_answers(self) -> list[Answer]:
        """The answers in the order in which the reader meets them.

        One that speaks of the others, such as *both* or *none of these*, stays behind them.
        """

        def place(answer: Answer) -> tuple[bool, str]:
            text = "\n".join([*answer.text.lines, *self.text.lines])
            last = _ABOUT_THE_OTHERS.match(answer.text.lines[0]) is not None
            return last, hashlib.sha256(text.encode()).hexdigest()

        return sorted(self.answers, key=place)


def parse_choices(lines: Sequence[str]) -> Question:
    """Read a question.

    Args:
        lines: The Markdown lines.

    Returns:
        The question with its answers.

    Raises:
        ChoicesError: There is no question, fewer than two answers, none that is right, an answer
            without text, or a line that looks like an answer and is none.
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
    """Check that every answer says why it is right or wrong.

    Args:
        question: The question.

    Raises:
        ChoicesError: An answer has no reason.
    """
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
    for text, line in _repeated(answers):
        raise ChoicesError(f"the answer {text!r} is given twice", line)


def _repeated(answers: list[Answer]) -> Iterator[tuple[str, int]]:
    seen = set()
    for answer in answers:
        text = " ".join(answer.text.lines)
        if text in seen:
            yield text, answer.text.line
        seen.add(text)
