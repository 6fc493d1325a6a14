"""The book's MyST as Markdown that every notebook program reads.

Directives become quotations, lists, formulas and code, and roles become text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from course_book.directives.choices import parse_choices
from course_book.markup.formulas import ROLES, macros
from course_book.notebooks.page_references import PageReferences

CELL_BREAK = "+++"
"""The line at which a new cell begins."""

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


@dataclass
class _Directive:
    """A directive's parsed source; ``body`` are the lines of its content."""

    name: str
    argument: str
    options: dict[str, str]
    body: list[str]


def plain_formula(formula: str) -> str:
    """Return a LaTeX formula with the book's macros expanded, without the colours of roles."""
    formula = _ROLE_MACRO.sub("", formula)
    for name, meaning in macros().items():
        if "#1" not in meaning:
            written = meaning.replace("\\", r"\\")
            formula = re.sub(rf"{re.escape(name)}(?![A-Za-z])", written, formula)
    return formula


def to_plain_markdown(text: str, page: PageReferences) -> str:
    """Return a page's MyST as plain Markdown, with a line ``+++`` where a new cell should begin."""
    lines = list(_blocks(text.splitlines(), page))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _blocks(lines: Sequence[str], page: PageReferences) -> Iterator[str]:
    text: list[str] = []
    position = 0
    while position < len(lines):
        opened = _FENCE.match(lines[position])
        if not opened:
            if not _LABEL_OR_COMMENT.match(lines[position]):
                text.append(lines[position])
            position += 1
            continue
        yield from _inline(text, page)
        text = []
        end = _closing(lines, position, opened["fence"])
        if match := _DIRECTIVE.match(opened["rest"]):
            body = [line.removeprefix(opened["indent"]) for line in lines[position + 1 : end]]
            directive = _read(match, body)
            yield from ("", *_CONVERTERS.get(directive.name, _content)(directive, page), "")
        else:
            yield from lines[position : end + 1]
        position = end + 1
    yield from _inline(text, page)


def _closing(lines: Sequence[str], start: int, fence: str) -> int:
    """Return the index of the line that closes the fence opened at ``start``.

    It is ``len(lines)`` if no line does.
    """
    for position in range(start + 1, len(lines)):
        line = lines[position].strip()
        if line.startswith(fence) and set(line) == {fence[0]}:
            return position
    return len(lines)


def _read(match: re.Match[str], body: list[str]) -> _Directive:
    options = {}
    while body and (option := _OPTION.match(body[0])):
        options[option["key"]] = option["value"]
        body = body[1:]
    return _Directive(match["name"], match["argument"], options, body)


def _inline(lines: Sequence[str], page: PageReferences) -> list[str]:
    def plain(match: re.Match[str]) -> str:
        if match["role"]:
            return page.role(match["role"], match["content"])
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


def _box(directive: _Directive, page: PageReferences) -> Iterator[str]:
    title = directive.argument if directive.name == "admonition" else directive.name.capitalize()
    yield from _quoted(title, list(_blocks(directive.body, page)))


def _folded(summary: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>")


def _question(directive: _Directive, page: PageReferences) -> Iterator[str]:
    question, predicts = parse_choices(directive.body), directive.name == "predict"
    named = list(zip("abcdefghij", question.mixed_answers, strict=False))
    answers = (f"- **{x}.** {' '.join(_inline(answer.text.lines, page))}" for x, answer in named)
    asked = [*_blocks(question.text.lines, page), "", *answers]
    yield from _quoted("Predict first" if predicts else "Check yourself", asked)
    yield ""
    if predicts:
        right = ", ".join(letter for letter, answer in named if answer.right)
        first, *rest = list(_blocks(question.reveal.lines, page)) or [""]
        yield from _folded("What happens", [f"**{right}.** {first}", *rest])
        return
    verdicts: list[str] = []
    for letter, answer in named:
        first, *rest = list(_blocks(answer.why.lines, page)) or [""]
        verdicts += [f"**{letter}.** {'Right' if answer.right else 'Wrong'}. {first}", *rest, ""]
    yield from _folded("Right or wrong?", verdicts[:-1])


def _included(directive: _Directive, page: PageReferences) -> Iterator[str]:
    code = page.included(directive.argument, directive.options).rstrip().splitlines()
    if caption := directive.options.get("caption"):
        yield from (f"*{caption}:*", "")
    listing = [f"```{directive.options.get('language', '')}", *code, "```"]
    summary = page.fold_summary(directive.options)
    yield from _folded(summary, listing) if summary else listing


def _formula(directive: _Directive, page: PageReferences) -> Iterator[str]:
    label = directive.options.get("label")
    tag = rf" \tag{{{page.equation(label)}}}" if label else ""
    body = plain_formula("\n".join(directive.body).strip())
    yield from ("$$", *f"{body}{tag}".splitlines(), "$$")


def _figure(directive: _Directive, page: PageReferences) -> Iterator[str]:
    caption = " ".join(line for line in _blocks(directive.body, page) if line)
    how = "Interactive" if directive.name == "interactive" else "Drawn"
    yield f"> *{how} in the book:* {caption}"


def _boundary(directive: _Directive, page: PageReferences) -> Iterator[str]:
    """Yield ``+++`` where an exercise or a solution begins or ends, and a heading at its begin."""
    yield CELL_BREAK
    if directive.name == "exercise-start":
        title = " ".join(_inline([directive.argument], page))
        yield from (f"#### Exercise: {title}" if title else "#### Exercise", "")
    elif directive.name == "solution-start":
        yield from ("##### Solution", "")


def _content(directive: _Directive, page: PageReferences) -> Iterator[str]:
    """Yield a directive's content as plain Markdown, below the title if it is a card."""
    if directive.body and directive.argument and directive.name.endswith("card"):
        yield from (f"**{directive.argument}**", "")
    yield from _blocks(directive.body, page)


_CONVERTERS: dict[str, Callable[[_Directive, PageReferences], Iterator[str]]] = {
    **dict.fromkeys(
        ("admonition", "note", "tip", "hint", "important", "warning", "caution", "danger"), _box
    ),
    "predict": _question,
    "quiz": _question,
    "literalinclude": _included,
    "math": _formula,
    "interactive": _figure,
    "diagram": _figure,
    **dict.fromkeys(
        ("exercise-start", "exercise-end", "solution-start", "solution-end"), _boundary
    ),
}
