"""The directive ``course-map``: the table of chapters, modules and homework of ``course_lib``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from course_lib.course_map import MapRow


def map_lines(rows: Sequence[MapRow], chapters: Sequence[str]) -> list[str]:
    """Return the rows of ``COURSE_MAP`` as a Markdown table, a line for each chapter.

    ``chapters`` are the names of the book's chapters, which are linked.
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
    """Shows the table of chapters with their modules and homework; takes no arguments."""

    def run(self) -> list[nodes.Node]:
        """Return a container with the table."""
        from course_lib.course_map import COURSE_MAP  # on sys.path once the extension is set up

        self.env.note_dependency(str(Path(self.env.srcdir) / "course_lib" / "course_map.py"))
        chapters = [page.removeprefix("book/") for page in self.env.found_docs]
        table = self.parse_text_to_nodes("\n".join(map_lines(COURSE_MAP, chapters)))
        return [nodes.container("", *table, classes=["course-map"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("course-map", CourseMapDirective)
