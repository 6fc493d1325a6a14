"""Create a chapter: ``make chapter NAME=word-order``.

It writes a page that is complete and passes the book's tests, with a figure, a prediction, an
experiment, an exercise and a quiz, and names it wherever chapters are named.
"""

import sys
from pathlib import Path

from scripts import contents

ROOT = Path(__file__).parent.parent
TEMPLATE = Path(__file__).parent / "templates" / "word-order.md"


def chapter_page(name: str) -> str:
    """Return the text of a new chapter, from the template."""
    page = TEMPLATE.read_text(encoding="utf-8")
    in_code = ("word_order", name.replace("-", "_"))
    words = ((TEMPLATE.stem, name), in_code, ("Word order", contents.title_of(name)))
    for old, new in words:
        page = page.replace(old, new)
    return page


def begin_chapter(name: str, root: Path) -> Path:
    """Write a chapter's page into a project, and return its path.

    It is also added to ``_toc.yml``, ``course_map.py`` and the longest timetable for teachers.

    Raises:
        SystemExit: The name is invalid or taken; nothing is written then.
    """
    page = root / "book" / f"{contents.check_name(name)}.md"
    if page.exists():
        raise SystemExit(f"book/{page.name} is there already; nothing was written")
    if name.startswith(contents.BESIDE):
        raise SystemExit(f"{name!r} begins as a page that is no chapter does")
    page.write_text(chapter_page(name), encoding="utf-8")
    changes = {
        contents.TOC: lambda toc: contents.with_chapter(toc, name),
        contents.MAP: lambda rows: contents.with_row(rows, name),
        contents.PLANS: lambda plans: contents.planned(plans, chapter=name),
    }
    contents.change(root, changes)
    return page


def main(name: str) -> None:
    """Create a chapter in this project, and print the next steps."""
    begin_chapter(name, ROOT)
    print(
        f"book/{name}.md, and its name in _toc.yml, course_lib/course_map.py, README.md and the "
        f"first plan of book/for-teachers.md\nLook at it: make preview CHAPTER={name}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
