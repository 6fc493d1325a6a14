"""A chapter's title, and an estimate of the time to read it, from its source."""

import math
import re
from pathlib import Path

from sphinx.environment import BuildEnvironment

WORDS_A_MINUTE = 120  # prose with formulas, read with a pencil
CODE_LINES_A_MINUTE = 12  # lines that a page shows unfolded
MINUTES_A_QUESTION = 2
MINUTES_A_FIGURE = 5  # interactive ones

_TITLE = re.compile(r"^\([\w-]+\)=\n# (.+)$", flags=re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}|:{3,})(\{[\w:-]+\})?.*?^\1\s*$", flags=re.MULTILINE | re.DOTALL)
_QUESTIONS = ("{quiz}", "{predict}")
_FOLDED = re.compile(r"^(?::tags:|tags:) \[(?:remove|hide)-", flags=re.MULTILINE)


def chapter_titles(book: Path) -> dict[str, str]:
    """Return the title of each page with a label in the folder ``book``, by the file's stem."""
    found = {file.stem: _TITLE.search(file.read_text("utf-8")) for file in book.glob("*.md")}
    return {stem: match[1] for stem, match in sorted(found.items()) if match}


def titles_in_book(env: BuildEnvironment) -> dict[str, str]:
    """Return the titles of the pages in the table of contents, by their files' stems."""
    titles = env.config.course_titles
    return {name: titles[name] for name in titles if f"book/{name}" in env.found_docs}


def reading_minutes(source: str) -> int:
    """Return the minutes to read a chapter's MyST source and answer its questions.

    Exercises are not counted.
    """
    prose = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL)
    prose = re.sub(r"^```\{solution-start\}.*?\{solution-end\}", "", prose, flags=re.M | re.S)
    blocks = list(_FENCE.finditer(prose))
    questions = [block[0] for block in blocks if block[2] in _QUESTIONS]
    text = re.sub(r"\$\$.*?\$\$", "", " ".join([_FENCE.sub("", prose), *questions]), flags=re.S)
    code = [block[0] for block in blocks if block[2] == "{code-cell}"]
    shown = "\n".join("\n".join(c.splitlines()[1:-1]) for c in code if not _FOLDED.search(c))
    return math.ceil(
        len(re.findall(r"[^\W\d_]{2,}", text)) / WORDS_A_MINUTE
        + len([line for line in shown.splitlines() if line.strip()]) / CODE_LINES_A_MINUTE
        + len(questions) * MINUTES_A_QUESTION
        + sum(block[2] == "{interactive}" for block in blocks) * MINUTES_A_FIGURE
    )
