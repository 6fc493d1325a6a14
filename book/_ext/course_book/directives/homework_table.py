"""The directive ``homework-table``: the time and the points of each homework, from its source."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_TITLE = re.compile(r"^# # Homework \d+: (.+)$", flags=re.MULTILINE)
_TIME = re.compile(r"^# \*\*Time:\*\* about (.+? (?:hours?|minutes?))\b", flags=re.MULTILINE)
_CELL = re.compile(r"^# %% .*?\b(test|written)=\"[^\"]+\" points=([\d.]+)", flags=re.MULTILINE)


def homework_row(homework: str, source: str) -> str:
    """Return a homework's line of the Markdown table, from its id and its py:percent source.

    Raises:
        ValueError: Title, time or points are missing.
    """
    title, time, cells = _TITLE.search(source), _TIME.search(source), _CELL.findall(source)
    if not (title and time and cells):
        raise ValueError(
            f"{homework} needs a title ('# # Homework 3: Masks'), a time in its introduction ('# "
            "**Time:** about two hours') and tests with points ('points=2')"
        )
    points = {kind: sum(float(p) for k, p in cells if k == kind) for kind in ("test", "written")}
    checks = sum(kind == "test" for kind, _ in cells)
    return (
        f"| {title[1]} `{homework}` | {time[1]} | {checks} "
        f"| {points['test']:g} | {points['written']:g} |"
    )


class HomeworkTableDirective(SphinxDirective):
    """Shows the table of all homework in ``solutions``; takes no arguments."""

    def run(self) -> list[nodes.Node]:
        """Return a container with the table."""
        lines = [
            "| Homework | Time | Checks | Points by the judge | Points by hand |",
            "| --- | --- | --- | --- | --- |",
        ]
        solutions = Path(self.env.srcdir) / "solutions"
        self.env.note_dependency(str(solutions))  # a new file changes the folder
        for file in sorted(solutions.glob("*.py")):
            self.env.note_dependency(str(file))
            try:
                lines.append(homework_row(file.stem, file.read_text("utf-8")))
            except ValueError as problem:
                raise self.error(str(problem)) from problem
        table = self.parse_text_to_nodes("\n".join(lines))
        return [nodes.container("", *table, classes=["course-homework"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("homework-table", HomeworkTableDirective)
