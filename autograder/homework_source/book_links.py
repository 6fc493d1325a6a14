"""Links from homework to the book, and the headings that they lead to."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

from autograder.homework_source.homework import Homework

_LINK = re.compile(r"\[([^\]]+)\]\(book:([a-z0-9-]+)(#[a-z0-9-]+)?\)")
_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
_FORMATTING = re.compile(r"[`*$]")
_NOT_PLAIN = re.compile(r"[\\{}]|\]\(")


def project_address(name: str, root: Path) -> str:
    """Return an address in ``[project.urls]`` of ``pyproject.toml``; empty if it is not there."""
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return str(settings.get("project", {}).get("urls", {}).get(name, ""))


def book_address(root: Path) -> str:
    """Return the book's address, without a slash at its end; empty if the project names none."""
    return project_address("Book", root).rstrip("/")


def expand_book_links(text: str, root: Path) -> str:
    """Return a text with ``[words](book:chapter#anchor)`` as links; in italics if no address."""
    address = book_address(root)
    return _LINK.sub(rf"[\1]({address}/\2.html\3)" if address else r"*\1*", text)


def with_headings(homework: Homework, root: Path) -> Homework:
    """Return the homework with the book headings that its checks refer to."""
    places = {cell.read for cell in homework.checks if cell.read}
    return replace(homework, headings={read: find_headings(read, root) for read in places})


def find_headings(read: str, root: Path) -> tuple[str, str]:
    """Return the headings of the chapter and the section of ``chapter#anchor``.

    A heading that is missing or contains markup is made from the name of the chapter or anchor.
    Without an anchor the section is empty.
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
    """Return the name of a chapter or an anchor in words: ``beam-search`` as ``Beam search``."""
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _plain_heading(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    heading = _FORMATTING.sub("", _ROOT.sub(r"√\1", match[1])).strip() if match else ""
    return "" if _NOT_PLAIN.search(heading) else heading
