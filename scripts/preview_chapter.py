"""Build one chapter, to look at while it is written: ``make preview CHAPTER=decoding``.

Its code alone is run, its page alone is written, beside those of the book as it was last built; so
links lead to the other chapters. The book itself stays as it is.
"""

import shutil
import sys
import time
from pathlib import Path

from sphinx.application import ENV_PICKLE_FILENAME

from scripts.contents import book_pages

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "build" / "book" / "_build"
SITE = BUILT / "preview"
PAGES = SITE.with_name(".preview-doctrees")


def find_chapter(name: str, root: Path) -> str:
    """Return a chapter's page, such as ``book/decoding``, given its name or its file.

    Raises:
        SystemExit: The project's table of contents names no such chapter.
    """
    chapter, known = Path(name).name.removesuffix(".md"), book_pages(root)
    if chapter not in known:
        raise SystemExit(f"{name!r} is not in _toc.yml, which has: {', '.join(known)}")
    return f"book/{chapter}"


def begin_with_the_book() -> None:
    """Copy the book's last complete build to the preview's folders, unless it is there already."""
    index, taken = BUILT / "html" / "index.html", PAGES / "taken-over"
    # An unfinished preview is no reason to read all pages again ...
    (PAGES / "unfinished").unlink(missing_ok=True)
    # ... but after a failure Sphinx has dropped its environment.
    known = taken.exists() and (PAGES / ENV_PICKLE_FILENAME).exists()
    whole = index.exists() and not (BUILT / ".doctrees" / "unfinished").exists()
    if not whole or (known and taken.stat().st_mtime > index.stat().st_mtime):
        return
    for folder, copy in ((BUILT / "html", SITE), (BUILT / ".doctrees", PAGES)):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
    taken.touch()


def main(name: str) -> int:
    """Build the preview of a chapter; return 1 if its page has a warning or can't be built."""
    from jupyter_book.sphinx import build_sphinx  # takes a second

    page, began = find_chapter(name, ROOT), time.monotonic()
    begin_with_the_book()
    wrong = build_sphinx(
        ROOT,
        SITE,
        doctreedir=PAGES,
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides={
            "course_preview": page,
            "external_toc_path": str(ROOT / "_toc.yml"),
            "latex_individualpages": False,
            "nitpicky": True,
        },
        filenames=[str(ROOT / f"{page}.md")],
        warningiserror=True,
        keep_going=True,
    )
    if wrong:
        return 1
    site = SITE.relative_to(ROOT)
    print(f"{time.monotonic() - began:.0f} s: {site}/{page}.html, or: make serve SITE={site}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
