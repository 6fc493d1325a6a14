"""The directive ``course-map``: the table of chapters, modules and homework of ``course_lib``."""

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


def map_lines(rows: Sequence[MapRow], chapters: Sequence[str]) -> list[str]:
    """Return the course's map as a Markdown table, a row for each chapter.

    Args:
        rows: The map, ``course_lib.course_map.COURSE_MAP``.
        chapters: Names of the book's chapters; others are not linked.
    """
    lines = ["| Chapter | Modules of `course_lib` | Homework |", "| --- | --- | --- |"]
    for chapter in dict.fromkeys(row.chapter for row in rows):
        own = [row for row in rows if row.chapter == chapter]
        title = f"{{doc}}`/book/{chapter}`" if chapter in chapters else chapter.replace("-", " ")
        modules = ", ".join(
            f"{{py:mod}}`{row.module} <course_lib.{row.module}>`" for row in own if row.module
        )
        homework = dict.fromkeys(f"`{row.homework}`" for row in own if row.homework)
        lines.append(f"| {title} | {modules} | {', '.join(homework)} |")
    return lines


class CourseMapDirective(SphinxDirective):
    """The course's map."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        from course_lib.course_map import COURSE_MAP  # on sys.path once the extension is set up

        self.env.note_dependency(str(Path(self.env.srcdir) / "course_lib" / "course_map.py"))
        chapters = [page.removeprefix("book/") for page in self.env.found_docs]
        container = nodes.container(classes=["course-map"])
        lines = StringList(map_lines(COURSE_MAP, chapters), source=self.env.docname)
        self.state.nested_parse(lines, 0, container)
        return [container]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("course-map", CourseMapDirective)
