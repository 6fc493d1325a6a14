"""Leave a chapter or a homework out of the course: ``make leave-out CHAPTER=bleu HW=hw07``.

Lines of the contents, the plans and the course's map go, and a homework's files. A chapter's page
and the library stay. Links to the chapter become words.
"""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from scripts import contents

ROOT = Path(__file__).parent.parent
_ROLE = re.compile(
    r"\{(?P<role>doc|ref|numref|eq)\}`(?:(?P<text>[^`<]+?) *<(?P<of>[^`>]+)>|(?P<bare>[^`<]+))`"
)
_LABEL = re.compile(r"^\((?P<label>[\w-]+)\)=\n#+ (?P<heading>.+)$", flags=re.MULTILINE)
_OTHER_LABEL = re.compile(
    r"^\s*:?(?:label|name): *([\w-]+) *$|^```\{\w+-start\}.*\n:label: ([\w-]+)", re.M
)


def words_of(page: str) -> dict[str, str]:
    """Return for each label in a chapter's source, ``page``, the words that replace links to it.

    They are the heading below the label, or the chapter's title if the label is not a heading's.
    """
    headings = {label["label"]: label["heading"] for label in _LABEL.finditer(page)}
    title = next(iter(headings.values()), "")
    others = {name: title for found in _OTHER_LABEL.findall(page) for name in found if name}
    return others | headings


def unlinked(page: str, words: dict[str, str], chapter: str) -> str:
    """Return a page's text with its links to a chapter replaced by words in italics.

    ``words`` maps the chapter's labels to the words for links without a text of their own.
    """

    def replace(link: re.Match[str]) -> str:
        target = link["of"] or link["bare"]
        label = target.removeprefix("/book/") if link["role"] == "doc" else target
        if label not in words or (link["role"] == "doc" and label != chapter):
            return link[0]
        return f"*{link['text'] or words[label]}*"

    return _ROLE.sub(replace, page)


def check_chapter(name: str, root: Path) -> None:
    """Raise ``SystemExit`` if the project's table of contents has no chapter of this name."""
    there = contents.chapters((root / contents.TOC).read_text(encoding="utf-8"))
    if name not in there:
        raise SystemExit(f"{name!r} is no chapter of _toc.yml: {', '.join(there)}")


def leave_out_chapter(name: str, root: Path) -> None:
    """Remove a chapter from a project's table of contents and timetables, and links to it.

    Raises:
        SystemExit: The book has no such chapter.
    """
    check_chapter(name, root)
    words = words_of((root / "book" / f"{name}.md").read_text(encoding="utf-8"))
    changes: dict[str, Callable[[str], str]] = {
        f"book/{page.name}": lambda text: unlinked(text, words, name)
        for page in (root / "book").glob("*.md")
        if page.stem != name
    }
    changes[contents.PLANS] = lambda page: contents.unplanned(unlinked(page, words, name), name)
    changes[contents.TOC] = lambda text: contents.without_chapter(text, name)
    contents.change(root, changes)


def leave_out_homework(name: str, root: Path) -> str:
    """Remove a homework and its files from a project, and return its id.

    ``name`` is the id, or the number, such as ``hw07``.

    Raises:
        SystemExit: There is no such homework.
    """
    homework = contents.find_homework(name, root)
    (root / "solutions" / f"{homework}.py").unlink()
    for made in ("assignments", "build/source", "build/student"):
        shutil.rmtree(root / made / homework, ignore_errors=True)
    changes = {
        contents.MAP: lambda rows: contents.without_homework(rows, homework),
        contents.PLANS: lambda page: contents.unplanned(page, homework),
    }
    contents.change(root, changes)
    return homework


def main(chapter: str, homework: str) -> None:
    """Leave out a chapter and a homework, or one of them where the other name is empty.

    Print what was removed, and what remains to be done by hand.
    """
    if chapter:
        check_chapter(chapter, ROOT)
    if homework:
        print(f"{leave_out_homework(homework, ROOT)} is out, with its files")
    if chapter:
        leave_out_chapter(chapter, ROOT)
        print(
            f"{chapter} is out of the book; book/{chapter}.md and the library stay. Read what "
            "git diff shows: where a page led to it, words remain"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
