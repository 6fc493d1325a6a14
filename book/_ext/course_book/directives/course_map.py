"""The directive ``course-map``: the table chapter, module, homework, from ``course_lib``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from course_lib.course_map import MapRow


def map_lines(rooms: Sequence[MapRow], chapters: Sequence[str]) -> list[str]:
    """Return the course's map as a Markdown table, one row a chapter.

    Args:
        rooms: The map, as in ``course_lib.course_map.COURSE_MAP``.
        chapters: Names of the chapters that the book has; only these are linked.

    Returns:
        The table's lines. Chapters keep the map's order; the modules, each a link to the library's
        reference, and the homeworks of a chapter stand together in its row.
    """
    lines = ["| Chapter | Modules of `course_lib` | Homework |", "| --- | --- | --- |"]
    for chapter in dict.fromkeys(room.chapter for room in rooms):
        its_rooms = [room for room in rooms if room.chapter == chapter]
        title = f"{{doc}}`/book/{chapter}`" if chapter in chapters else chapter.replace("-", " ")
        modules = ", ".join(
            f"{{py:mod}}`{room.module} <course_lib.{room.module}>`"
            for room in its_rooms
            if room.module
        )
        homeworks = dict.fromkeys(room.homework for room in its_rooms if room.homework)
        lines.append(f"| {title} | {modules} | {', '.join(f'`{name}`' for name in homeworks)} |")
    return lines


class CourseMapDirective(SphinxDirective):
    """The course's map."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from course_lib.course_map import COURSE_MAP  # found only once the extension is set up

        self.env.note_dependency(str(Path(self.env.srcdir) / "course_lib" / "course_map.py"))
        # Those of the table of contents: a file that it leaves out makes no page.
        chapters = [page.removeprefix("book/") for page in self.env.found_docs]
        container = nodes.container(classes=["course-map"])
        lines = StringList(map_lines(COURSE_MAP, chapters), source=self.env.docname)
        self.state.nested_parse(lines, 0, container)
        return [container]


def setup(app: Sphinx) -> None:
    """Register the directive.

    Args:
        app: The Sphinx application.
    """
    app.add_directive("course-map", CourseMapDirective)
