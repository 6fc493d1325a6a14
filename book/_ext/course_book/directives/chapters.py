"""What can be told from a chapter's source: its title, and how long it takes to read."""

import math
import re
from pathlib import Path
from typing import NamedTuple

WORDS_A_MINUTE = 120  # of prose with formulas, read with a pencil
CODE_LINES_A_MINUTE = 12  # of those that a page shows at once
MINUTES_A_QUESTION = 2
MINUTES_A_FIGURE = 5  # that reacts

_TITLE = re.compile(r"^\([\w-]+\)=\n# (.+)$", flags=re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}|:{3,})(\{[\w:-]+\})?.*?^\1\s*$", flags=re.MULTILINE | re.DOTALL)
_QUESTIONS = ("{quiz}", "{predict}")
_FOLDED = re.compile(r"^(?::tags:|tags:) \[(?:remove|hide)-", flags=re.MULTILINE)


class Reading(NamedTuple):
    """What a chapter asks of its reader.

    Attributes:
        words: Words of prose, questions included; code and folded solutions apart.
        code_lines: Lines of the cells that are shown; those folded or removed apart.
        questions: Questions that are answered at once.
        figures: Figures that react.
        exercises: Exercises with a folded solution.
    """

    words: int
    code_lines: int
    questions: int
    figures: int
    exercises: int

    @property
    def minutes(self) -> int:
        """Time to read it and to answer its questions, without the exercises."""
        text = self.words / WORDS_A_MINUTE + self.code_lines / CODE_LINES_A_MINUTE
        return math.ceil(
            text + MINUTES_A_QUESTION * self.questions + MINUTES_A_FIGURE * self.figures
        )


def chapter_titles(book: Path) -> dict[str, str]:
    """Return the title of each page of the book that has a label.

    Args:
        book: The folder of the pages.

    Returns:
        For each file's stem its title.
    """
    found = {file.stem: _TITLE.search(file.read_text("utf-8")) for file in book.glob("*.md")}
    return {stem: match[1] for stem, match in sorted(found.items()) if match}


def reading(source: str) -> Reading:
    """Return what a chapter asks of its reader.

    Args:
        source: The chapter, MyST Markdown.

    Returns:
        The counts.
    """
    prose = re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL)
    prose = re.sub(r"^```\{solution-start\}.*?\{solution-end\}", "", prose, flags=re.M | re.S)
    blocks = list(_FENCE.finditer(prose))
    counts = {name: sum(block[2] == name for block in blocks) for name in _QUESTIONS}
    kept = [block[0] for block in blocks if block[2] in _QUESTIONS]
    text = " ".join([_FENCE.sub("", prose), *kept])
    return Reading(
        words=len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\$\$.*?\$\$", "", text, flags=re.S))),
        code_lines=sum(
            len([line for line in block[0].splitlines()[1:-1] if line.strip()])
            for block in blocks
            if block[2] == "{code-cell}" and not _FOLDED.search(block[0])
        ),
        questions=sum(counts.values()),
        figures=sum(block[2] == "{interactive}" for block in blocks),
        exercises=prose.count("```{exercise-start}"),
    )
