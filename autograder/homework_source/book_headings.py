"""What the chapters and sections of the book are called, for those who are sent there."""

import re
from dataclasses import replace
from pathlib import Path

from autograder.homework_source.homework import Homework

_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
_FORMATTING = re.compile(r"[`*$]")
_NOT_PLAIN = re.compile(r"[\\{}]|\]\(")


def with_headings(homework: Homework, root: Path) -> Homework:
    """Give a homework the headings of the places to which its checks lead.

    Args:
        homework: The homework.
        root: The project's folder, which holds ``book``.

    Returns:
        The same with its ``headings``.
    """
    places = {cell.read for cell in homework.checks if cell.read}
    return replace(homework, headings={read: find_headings(read, root) for read in places})


def find_headings(read: str, root: Path) -> tuple[str, str]:
    """Find the headings of a place in the book.

    Args:
        read: The place, as ``chapter#anchor`` or ``chapter``.
        root: The project's folder, which holds ``book``.

    Returns:
        The headings of the chapter and of the section. One that can't be found, stands before no
        heading, or holds links or more than a simple formula, is put in words from its name; the
        section of a place without an anchor is empty.
    """
    chapter, _, anchor = read.partition("#")
    try:
        text = (root / "book" / f"{chapter}.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    section = rf"^\({re.escape(anchor)}\)=\n+#+ +(.+)$"
    return (
        _plain_heading(r"^# +(.+)$", text) or name_in_words(chapter),
        _plain_heading(section, text) or name_in_words(anchor),
    )


def name_in_words(name: str) -> str:
    """Put the name of a chapter or of an anchor in words: ``beam-search`` gives ``Beam search``."""
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _plain_heading(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    heading = _FORMATTING.sub("", _ROOT.sub(r"√\1", match[1])).strip() if match else ""
    return "" if _NOT_PLAIN.search(heading) else heading
