"""Adds and removes chapters and homework in all files that list them.

These are the table of contents (``_toc.yml``), the course's map (``course_lib/course_map.py``) and
the plans of weeks (``book/for-teachers.md``). A function that changes a file takes its text, and
returns the new text.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

TOC, MAP, PLANS = "_toc.yml", "course_lib/course_map.py", "book/for-teachers.md"
BESIDE = ("api-", "for-", "status", "notation", "glossary", "bibliography", "intro")
"""Beginnings of the names of pages that are not chapters."""
_PAGE = re.compile(r"^ +- file: book/(?P<name>\S+)\n", flags=re.MULTILINE)
_EMPTY_PART = re.compile(r"^  - caption: .*\n    chapters:\n(?! +- file)", flags=re.MULTILINE)
_ROW = re.compile(r"^    MapRow\(.*\),\n", flags=re.MULTILINE)
_PLAN = re.compile(r"(?<=^```\{schedule\}\n).*?(?=\n```$)", flags=re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def check_name(name: str) -> str:
    """Return the name of a chapter or homework, if it can be a file name, a label and a link.

    Raises:
        SystemExit: It can't be all three.
    """
    if not _NAME.fullmatch(name):
        raise SystemExit(f"{name!r} is no name: small letters, digits and hyphens, as word-order")
    return name


def title_of(name: str) -> str:
    """Return a title for a name: ``Word order`` for ``word-order``."""
    return name.replace("-", " ").capitalize()


def chapters(toc: str) -> list[str]:
    """Return the names of the chapters in the text of ``_toc.yml``, in order."""
    return [page["name"] for page in _PAGE.finditer(toc) if not page["name"].startswith(BESIDE)]


def book_pages(root: Path) -> list[str]:
    """Return the names of all pages of the project's book, such as ``masking``, in order."""
    text = (root / TOC).read_text(encoding="utf-8")
    return re.findall(r"^ *(?:- file|root): book/(\S+)$", text, flags=re.MULTILINE)


def find_homework(name: str, root: Path) -> str:
    """Return the id of a project's homework, given its id or its number, such as ``hw07``.

    Raises:
        SystemExit: There is no such homework.
    """
    there = sorted(path.stem for path in (root / "solutions").glob("hw*.py"))
    for homework in there:
        if name in (homework, homework.partition("-")[0]):
            return homework
    raise SystemExit(f"{name!r} is no homework of solutions/: {', '.join(there)}")


def with_chapter(toc: str, name: str) -> str:
    """Return the text of ``_toc.yml`` with a chapter after its last chapter."""
    *_, last = (page for page in _PAGE.finditer(toc) if not page["name"].startswith(BESIDE))
    return f"{toc[: last.end()]}{last[0].replace(last['name'], name)}{toc[last.end() :]}"


def without_chapter(toc: str, name: str) -> str:
    """Return the text of ``_toc.yml`` without a chapter, and without its part if it was alone."""
    kept = _PAGE.sub(lambda page: "" if page["name"] == name else page[0], toc)
    return _EMPTY_PART.sub("", kept)


def with_row(course_map: str, chapter: str, homework: str = "") -> str:
    """Return the text of ``course_map.py`` with a row for a chapter, and maybe its homework."""
    *_, last = _ROW.finditer(course_map)
    fields = ", ".join(f'"{field}"' for field in ("", chapter, homework)[: 3 if homework else 2])
    return f"{course_map[: last.end()]}    MapRow({fields}),\n{course_map[last.end() :]}"


def without_homework(course_map: str, homework: str) -> str:
    """Return the text of ``course_map.py`` without a homework's id.

    A row with library modules stays; one with only this homework is removed.
    """
    own = re.sub(rf'^    MapRow\("", "[\w-]+", "{homework}"\),\n', "", course_map, flags=re.M)
    return own.replace(f', "{homework}")', ")")


def planned(page: str, *, chapter: str = "", homework: str = "") -> str:
    """Return the text of ``for-teachers.md`` with a chapter or homework in its first timetable.

    It is added to the last week. The first timetable has all chapters and homework.
    """

    def add(plan: re.Match[str]) -> str:
        *weeks, last = plan[0].splitlines()
        read, _, due = last.partition("|")
        halves = (f"{read} {chapter}", f"{due} {homework}")
        return "\n".join([*weeks, _week(*halves)])

    return _PLAN.sub(add, page, count=1)


def unplanned(page: str, name: str) -> str:
    """Return the text of ``for-teachers.md`` without a chapter or homework in any timetable.

    Weeks that are then empty are removed too.
    """

    def remove(plan: re.Match[str]) -> str:
        halves = (week.partition("|")[::2] for week in plan[0].splitlines())
        weeks = (_week(*(_without(half, name) for half in week)) for week in halves)
        return "\n".join(week for week in weeks if week)

    return _PLAN.sub(remove, page)


def _without(names: str, name: str) -> str:
    return " ".join(word for word in names.split() if word != name)


def _week(read: str, due: str) -> str:
    halves = [" ".join(half.split()) for half in (read, due)]
    return " | ".join(halves) if halves[1] else halves[0]


def change(root: Path, changes: Mapping[str, Callable[[str], str]]) -> None:
    """Change files of a project, then update the README's table of chapters.

    ``changes`` has for each file, by its path from the root, a function from old to new text.
    """
    texts = {name: made((root / name).read_text("utf-8")) for name, made in changes.items()}
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    # A new process imports the changed map.
    subprocess.run([sys.executable, "-m", "scripts.course_map"], cwd=root, check=True)
