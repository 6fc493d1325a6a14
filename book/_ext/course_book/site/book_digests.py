"""Digests of what makes every page: this extension, the book's styles, scripts and templates.

Sphinx builds a page again when its own source has changed; by these it learns of the rest.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def digest_of_files(files: Iterable[Path], root: Path, extra: Iterable[str] = ()) -> str:
    """Return a digest of files' names and contents.

    Args:
        files: The files.
        root: The folder that their names are taken relative to.
        extra: Further strings that the digest depends on.

    Returns:
        16 hexadecimal digits; the same for the same files, whatever their order.
    """
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    for text in extra:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:16]


def _take(app: Sphinx, config: Config) -> None:
    book = Path(__file__).parents[3]
    config.course_book_digest = digest_of_files((book / "_ext").rglob("*.py"), book)
    looks = [*(book / "_static").rglob("*"), *(book / "_templates").rglob("*")]
    looks += [*(book / "_ext").rglob("*.js"), *(book / "_ext").rglob("*.css")]
    looks += [book / "glossary.md", book / "references.bib"]  # of which other pages show parts
    config.course_looks_digest = digest_of_files(filter(Path.is_file, looks), book)


def setup(app: Sphinx) -> None:
    """Let all pages follow these files.

    Args:
        app: The Sphinx application.
    """
    # A changed value with rebuild="env" makes Sphinx read every page again.
    app.add_config_value("course_book_digest", "", "env", types=[str])
    # And with "html" it writes every page again, and copies the styles and scripts, which it
    # otherwise leaves alone as long as no page has changed.
    app.add_config_value("course_looks_digest", "", "html", types=[str])
    app.connect("config-inited", _take)
