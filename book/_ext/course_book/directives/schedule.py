"""The directive ``schedule``: the chapters, the hours and the homework of each week of a course.

Each line is a week, ``chapter chapter | homework``. Unused chapters and homework are listed below
the table. Unknown chapters, and homework before its chapters, stop the build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_book.directives.chapters import reading_minutes, titles_in_book

if TYPE_CHECKING:
    from course_lib.course_map import MapRow


class Week(NamedTuple):
    """A week of a plan: names of chapters to read, and ids of homework handed out at its end."""

    chapters: tuple[str, ...]
    homework: tuple[str, ...]


def read_plan(lines: Sequence[str]) -> list[Week]:
    """Return the weeks of a plan, from the lines of the directive's content."""
    parts = [line.partition("|") for line in lines if line.strip()]
    return [Week(tuple(read.split()), tuple(homework.split())) for read, _, homework in parts]


def rows_in_book(
    rows: Sequence[MapRow], weeks: Sequence[Week], pages: Collection[str]
) -> list[MapRow]:
    """Return the rows of ``COURSE_MAP`` whose chapter is in the book (``pages``) or in the plan."""
    planned = {chapter for week in weeks for chapter in week.chapters}
    return [row for row in rows if row.chapter in planned or row.chapter in pages]


def check_plan(weeks: Sequence[Week], rows: Sequence[MapRow], pages: Collection[str] = ()) -> None:
    """Check that a plan can be followed.

    Args:
        weeks: The plan.
        rows: The rows of ``COURSE_MAP``.
        pages: Further chapters of the book, without a row.

    Raises:
        ValueError: A chapter or a homework is unknown or repeated, or a homework comes before one
            of its chapters.
    """
    known = {*pages, *(row.chapter for row in rows)}
    chapters_of: dict[str, set[str]] = {}
    for row in rows:
        if row.homework:
            chapters_of.setdefault(row.homework, set()).add(row.chapter)
    read: set[str] = set()
    given: set[str] = set()
    for number, week in enumerate(weeks, 1):
        for chapter in week.chapters:
            if chapter not in known or chapter in read:
                raise ValueError(f"week {number}: {chapter!r} is unknown, or comes twice")
            read.add(chapter)
        for homework in week.homework:
            if homework not in chapters_of or homework in given:
                raise ValueError(
                    f"week {number}: {homework!r} is unknown to COURSE_MAP, or comes twice"
                )
            if missing := chapters_of[homework] - read:
                raise ValueError(f"week {number}: {homework} needs {sorted(missing)} first")
            given.add(homework)


def plan_lines(
    weeks: Sequence[Week],
    rows: Sequence[MapRow],
    titles: Mapping[str, str],
    minutes: Mapping[str, int],
) -> list[str]:
    """Return a plan as a Markdown table, with a list of unused chapters and homework.

    Args:
        weeks: The plan.
        rows: The rows of ``COURSE_MAP``.
        titles: The titles of the book's chapters by name; chapters without one are not linked.
        minutes: The minutes to read each chapter, by name.
    """

    def linked(chapters: Iterable[str]) -> str:
        return ", ".join(
            f"{{doc}}`/book/{name}`" if name in titles else name.replace("-", " ")
            for name in chapters
        )

    def listed(homework: Iterable[str]) -> str:
        return ", ".join(f"`{name.split('-')[0]}`" for name in homework)

    lines = ["| Week | Chapters | Hours to read | Homework |", "| --- | --- | --- | --- |"]
    for number, (chapters, homework) in enumerate(weeks, 1):
        hours = sum(minutes.get(name, 0) for name in chapters) / 60
        lines.append(f"| {number} | {linked(chapters)} | {hours:.1f} | {listed(homework)} |")
    read = {name for week in weeks for name in week.chapters}
    given = {name for week in weeks for name in week.homework}
    skipped = dict.fromkeys(row.chapter for row in rows if row.chapter not in read)
    withheld = dict.fromkeys(r.homework for r in rows if r.homework and r.homework not in given)
    if parts := [part for part in (linked(skipped), listed(withheld)) if part]:
        lines += ["", f"Left out: {', '.join(parts)}."]
    return lines


class ScheduleDirective(SphinxDirective):
    """Shows a plan of a course, whose weeks are the lines of its content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a container with the table and the list of unused chapters and homework."""
        from course_lib.course_map import COURSE_MAP  # on sys.path once the extension is set up

        self.env.note_dependency(str(Path(self.env.srcdir) / "course_lib" / "course_map.py"))
        titles, minutes = titles_in_book(self.env), {}
        for name in titles:
            file = Path(self.env.srcdir) / "book" / f"{name}.md"
            self.env.note_dependency(str(file))
            minutes[name] = reading_minutes(file.read_text("utf-8"))
        weeks = read_plan(list(self.content))
        rows = rows_in_book(COURSE_MAP, weeks, titles)
        try:
            check_plan(weeks, rows, titles)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        table = self.parse_text_to_nodes("\n".join(plan_lines(weeks, rows, titles, minutes)))
        return [nodes.container("", *table, classes=["course-schedule"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("schedule", ScheduleDirective)
