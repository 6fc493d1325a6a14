"""Links from a notebook to the book, written as ``[words](book:chapter#anchor)``."""

import re
import tomllib
from pathlib import Path

_LINK = re.compile(r"\[([^\]]+)\]\(book:([a-z0-9-]+)(#[a-z0-9-]+)?\)")


def expand_book_links(text: str, root: Path) -> str:
    """Turn links to the book into addresses, or into plain words where the book has no address.

    The address stands in ``pyproject.toml``, under ``[project.urls]`` as ``Book``: see
    ``book_address``. A link that leads nowhere would be worse than none.

    Args:
        text: Markdown.
        root: The project's folder.

    Returns:
        The text with each link expanded; without an address, its words in italics.
    """
    address = book_address(root)
    if not address:
        return _LINK.sub(r"*\1*", text)
    return _LINK.sub(rf"[\1]({address}/\2.html\3)", text)


def book_address(root: Path) -> str:
    """Return where the project says that its book is, without a slash at the end; empty if nowhere.

    Args:
        root: The project's folder, whose ``pyproject.toml`` may say it.
    """
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    return str(settings.get("project", {}).get("urls", {}).get("Book", "")).rstrip("/")
