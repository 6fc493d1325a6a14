"""The directive ``schedule``: which chapters and which homework in which week, and how long.

One line a week, ``chapter chapter | homework``. What of the book a plan leaves out is listed under
it. A plan that knows no such chapter, or asks for homework before its chapters are read, stops the
build.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_book.directives.chapters import chapter_titles, reading

if TYPE_CHECKING:
    from course_lib.course_map import MapRow


class Week(NamedTuple):
    """A week of a plan.

    Attributes:
        chapters: What is read.
        homework: What is handed out at its end.
    """

    chapters: tuple[str, ...]
    homework: tuple[str, ...]


def read_plan(lines: Sequence[str]) -> list[Week]:
    """Read a plan.

    Args:
        lines: One a week: chapters, then, behind a bar, homework.

    Returns:
        The weeks.
    """
    halves = [line.partition("|") for line in lines if line.strip()]
    return [Week(tuple(read.split()), tuple(homework.split())) for read, _, homework in halves]


def rows_in_book(
    rooms: Sequence[MapRow], weeks: Sequence[Week], pages: Collection[str]
) -> list[MapRow]:
    """Leave out of the map what neither the book nor a plan has.

    Args:
        rooms: The map, as in ``course_lib.course_map.COURSE_MAP``.
        weeks: The plan.
        pages: Chapters that the book has.

    Returns:
        The rows of the others: no homework waits for a chapter that is left out of the book.
    """
    planned = {chapter for week in weeks for chapter in week.chapters}
    return [room for room in rooms if room.chapter in planned or room.chapter in pages]


def check_plan(weeks: Sequence[Week], rooms: Sequence[MapRow], pages: Collection[str] = ()) -> None:
    """Refuse a plan that can't be followed.

    Args:
        weeks: The plan.
        rooms: The map, as in ``course_lib.course_map.COURSE_MAP``.
        pages: Further chapters that the book has, without a room of their own.

    Raises:
        ValueError: A chapter or a homework is unknown or comes twice, or a homework comes before
            a chapter that it belongs to.
    """
    known = {*pages, *(room.chapter for room in rooms)}
    chapters_of: dict[str, set[str]] = {}
    for room in rooms:
        if room.homework:
            chapters_of.setdefault(room.homework, set()).add(room.chapter)
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
    rooms: Sequence[MapRow],
    titles: Mapping[str, str],
    minutes: Mapping[str, int],
) -> list[str]:
    """Return a plan as a Markdown table, and what it leaves out.

    Args:
        weeks: The plan.
        rooms: The map, as in ``course_lib.course_map.COURSE_MAP``.
        titles: The title of each chapter that the book has; only these are linked.
        minutes: How long each of them takes to read.

    Returns:
        The lines.
    """

    def linked(chapters: Sequence[str]) -> str:
        return ", ".join(
            f"{{doc}}`/book/{name}`" if name in titles else name.replace("-", " ")
            for name in chapters
        )

    def listed(homework: Sequence[str]) -> str:
        return ", ".join(f"`{name.split('-')[0]}`" for name in homework)

    lines = ["| Week | Chapters | Hours to read | Homework |", "| --- | --- | --- | --- |"]
    for number, (chapters, homework) in enumerate(weeks, 1):
        hours = sum(minutes.get(name, 0) for name in chapters) / 60
        lines.append(f"| {number} | {linked(chapters)} | {hours:.1f} | {listed(homework)} |")
    read = {name for week in weeks for name in week.chapters}
    given = {name for week in weeks for name in week.homework}
    skipped = dict.fromkeys(room.chapter for room in rooms if room.chapter not in read)
    withheld = dict.fromkeys(r.homework for r in rooms if r.homework and r.homework not in given)
    if skipped or withheld:
        parts = [part for part in (linked(list(skipped)), listed(list(withheld))) if part]
        lines += ["", f"Left out: {', '.join(parts)}."]
    return lines


class ScheduleDirective(SphinxDirective):
    """A plan of a course."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from course_lib.course_map import COURSE_MAP  # found only once the extension is set up

        self.env.note_dependency(str(Path(self.env.srcdir) / "course_lib" / "course_map.py"))
        book = Path(self.env.srcdir) / "book"
        in_book = self.env.found_docs  # a file that the table of contents leaves out makes no page
        titles = {
            name: title for name, title in chapter_titles(book).items() if f"book/{name}" in in_book
        }
        minutes = {}
        for name in titles:
            self.env.note_dependency(str(book / f"{name}.md"))
            minutes[name] = reading((book / f"{name}.md").read_text("utf-8")).minutes
        weeks = read_plan(list(self.content))
        rooms = rows_in_book(COURSE_MAP, weeks, titles)
        try:
            check_plan(weeks, rooms, titles)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        container = nodes.container(classes=["course-schedule"])
        lines = plan_lines(weeks, rooms, titles, minutes)
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, container)
        return [container]


def setup(app: Sphinx) -> None:
    """Register the directive.

    Args:
        app: The Sphinx application.
    """
    app.add_directive("schedule", ScheduleDirective)
