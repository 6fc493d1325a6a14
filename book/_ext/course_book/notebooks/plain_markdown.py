"""The book's MyST as Markdown that any notebook program reads.

Directives become quotations, lists, formulas and code; roles become the text that stands for them.
What a directive or role refers to is asked of a ``Context``, which knows the rest of the book.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from course_book.directives.choices import Answer, parse_choices
from course_book.markup.formulas import ROLES, macros

CELL_BREAK = "+++"
"""A line that says: here a new cell begins."""

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,}|:{3,})(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"^\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)$")
_OPTION = re.compile(r"^:(?P<key>[\w-]+):\s*(?P<value>.*)$")
_LABEL_OR_COMMENT = re.compile(r"^(?:\([\w-]+\)=|%.*)$")
_INLINE = re.compile(
    r"\{(?P<role>[A-Za-z][\w:-]*)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)"
    r"|(?<!`)(?P<code>`+)(?!`).+?(?<!`)(?P=code)(?!`)"
    r"|(?P<math>\$\$.+?\$\$|\$(?!\s)(?:[^$\\]|\\.)+?\$)"
    r"|\[(?P<span>[^\]]+)\]\{\.[\w -]+\}",
    re.DOTALL,
)
_ROLE_MACRO = re.compile(rf"\\(?:{'|'.join(ROLES)})(?![A-Za-z])")


class Context(Protocol):
    """What a page's Markdown refers to beyond itself."""

    def role(self, name: str, content: str) -> str:
        """Return the Markdown that stands for a role.

        Args:
            name: Of the role, such as ``cite:t``.
            content: What stands between its backticks.
        """
        ...

    def included(self, file: str, options: dict[str, str]) -> str:
        """Return the code that ``literalinclude`` shows.

        Args:
            file: Its path from the page.
            options: Of the directive.
        """
        ...

    def folded_behind(self, options: dict[str, str]) -> str:
        """Return the line, in HTML, behind which ``literalinclude`` is folded; empty if none.

        Args:
            options: Of the directive.
        """
        ...

    def equation(self, label: str) -> str:
        """Return a formula's number, as ``3``.

        Args:
            label: Of the formula.
        """
        ...


@dataclass
class _Directive:
    """A directive as it is written."""

    name: str
    argument: str
    options: dict[str, str] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)


def plain_formula(formula: str) -> str:
    """Write a formula without the book's own macros.

    Args:
        formula: LaTeX; colours of roles are dropped.

    Returns:
        LaTeX that needs no macro.
    """
    formula = _ROLE_MACRO.sub("", formula)
    for name, meaning in macros().items():
        if "#1" not in meaning:
            written = meaning.replace("\\", r"\\")
            formula = re.sub(rf"{re.escape(name)}(?![A-Za-z])", written, formula)
    return formula


def to_plain_markdown(text: str, context: Context) -> str:
    """Turn MyST into plain Markdown.

    Args:
        text: The MyST.
        context: What it refers to.

    Returns:
        Markdown; lines ``+++`` say where a new cell had better begin.
    """
    lines = list(_blocks(text.splitlines(), context))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _blocks(lines: Sequence[str], context: Context) -> Iterator[str]:
    text: list[str] = []
    position = 0
    while position < len(lines):
        opened = _FENCE.match(lines[position])
        if not opened:
            if not _LABEL_OR_COMMENT.match(lines[position]):
                text.append(lines[position])
            position += 1
            continue
        yield from _inline(text, context)
        text = []
        end = _closing(lines, position, opened["fence"])
        directive = _DIRECTIVE.match(opened["rest"])
        if directive:
            body = [line.removeprefix(opened["indent"]) for line in lines[position + 1 : end]]
            yield ""
            yield from _convert(_read(directive, body), context)
            yield ""
        else:
            yield from lines[position : end + 1]
        position = end + 1
    yield from _inline(text, context)


def _closing(lines: Sequence[str], start: int, fence: str) -> int:
    """Return the index of the line that closes a fence; of the last line if none does."""
    for position in range(start + 1, len(lines)):
        line = lines[position].strip()
        if line.startswith(fence) and set(line) == {fence[0]}:
            return position
    return len(lines)


def _read(match: re.Match[str], body: list[str]) -> _Directive:
    directive = _Directive(match["name"], match["argument"])
    while body and (option := _OPTION.match(body[0])):
        directive.options[option["key"]] = option["value"]
        body = body[1:]
    directive.body = body
    return directive


def _inline(lines: Sequence[str], context: Context) -> list[str]:
    def plain(match: re.Match[str]) -> str:
        if match["role"]:
            return context.role(match["role"], match["content"])
        if match["math"]:
            return plain_formula(match[0])
        return match["span"] or match[0]

    return _INLINE.sub(plain, "\n".join(lines)).splitlines()


# ---- directives ----


def _quoted(title: str, lines: Sequence[str]) -> Iterator[str]:
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    yield f"> **{title}**"
    yield ">"
    yield from (f"> {line}".rstrip() for line in text.splitlines())


def _box(directive: _Directive, context: Context) -> Iterator[str]:
    title = directive.argument if directive.name == "admonition" else directive.name.capitalize()
    yield from _quoted(title, list(_blocks(directive.body, context)))


def _folded(summary: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>")


def _answers(answers: Sequence[Answer], context: Context) -> Iterator[str]:
    for letter, answer in zip("abcdefghij", answers, strict=False):
        yield f"- **{letter}.** {' '.join(_inline(answer.text.lines, context))}"


def _question(directive: _Directive, context: Context) -> Iterator[str]:
    question = parse_choices(directive.body)
    kicker = "Predict first" if directive.name == "predict" else "Check yourself"
    yield from _quoted(
        kicker,
        [
            *_blocks(question.text.lines, context),
            "",
            *_answers(question.mixed_answers, context),
        ],
    )
    yield ""
    named = list(zip("abcdefghij", question.mixed_answers, strict=False))
    if directive.name == "predict":
        right = ", ".join(letter for letter, answer in named if answer.right)
        # Without an explanation: the directive has said so, with its line.
        first, *rest = list(_blocks(question.reveal.lines, context)) or [""]
        yield from _folded("What happens", [f"**{right}.** {first}", *rest])
        return
    verdicts: list[str] = []
    for letter, answer in named:
        first, *rest = list(_blocks(answer.why.lines, context)) or [""]
        verdict = "Right." if answer.right else "Wrong."
        verdicts += [f"**{letter}.** {verdict} {first}", *rest, ""]
    yield from _folded("Right or wrong?", verdicts[:-1])


def _included(directive: _Directive, context: Context) -> Iterator[str]:
    code = context.included(directive.argument, directive.options)
    if caption := directive.options.get("caption"):
        yield f"*{caption}:*"
        yield ""
    line = context.folded_behind(directive.options)
    if line:
        yield from (f"<details><summary>{line}</summary>", "")
    yield f"```{directive.options.get('language', '')}"
    yield from code.rstrip().splitlines()
    yield "```"
    if line:
        yield from ("", "</details>")


def _formula(directive: _Directive, context: Context) -> Iterator[str]:
    label = directive.options.get("label")
    tag = rf" \tag{{{context.equation(label)}}}" if label else ""
    body = plain_formula("\n".join(directive.body).strip())
    yield from ("$$", *f"{body}{tag}".splitlines(), "$$")


def _figure(directive: _Directive, context: Context) -> Iterator[str]:
    caption = " ".join(line for line in _blocks(directive.body, context) if line)
    how = "Interactive" if directive.name == "interactive" else "Drawn"
    yield f"> *{how} in the book:* {caption}"


def _exercise(directive: _Directive, context: Context) -> Iterator[str]:
    title = " ".join(_inline([directive.argument], context))
    yield from (CELL_BREAK, f"#### Exercise: {title}" if title else "#### Exercise", "")


def _solution(directive: _Directive, context: Context) -> Iterator[str]:
    yield from (CELL_BREAK, "##### Solution", "")


def _end(directive: _Directive, context: Context) -> Iterator[str]:
    yield CELL_BREAK


def _content(directive: _Directive, context: Context) -> Iterator[str]:
    """Any other directive: its title and its content."""
    if directive.body and directive.argument and directive.name.endswith("card"):
        yield f"**{directive.argument}**"
        yield ""
    yield from _blocks(directive.body, context)


_CONVERTERS: dict[str, Callable[[_Directive, Context], Iterator[str]]] = {
    **dict.fromkeys(
        ("admonition", "note", "tip", "hint", "important", "warning", "caution", "danger"), _box
    ),
    "predict": _question,
    "quiz": _question,
    "literalinclude": _included,
    "math": _formula,
    "interactive": _figure,
    "diagram": _figure,
    "exercise-start": _exercise,
    "solution-start": _solution,
    "exercise-end": _end,
    "solution-end": _end,
}


def _convert(directive: _Directive, context: Context) -> Iterator[str]:
    yield from _CONVERTERS.get(directive.name, _content)(directive, context)
