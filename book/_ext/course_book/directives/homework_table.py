"""The directive ``homework-table``: what each homework is worth and how long it takes.

Both stand in the homework's source: points on its cells, the time in its introduction.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_TITLE = re.compile(r"^# # Homework \d+: (.+)$", flags=re.MULTILINE)
_TIME = re.compile(r"^# \*\*Time:\*\* about (.+? (?:hours?|minutes?))\b", flags=re.MULTILINE)
_EXPECTED = (
    "its title, '# # Homework 3: Masks', in its first cell",
    "'# **Time:** about two hours', or minutes, in its introduction",
    "points, such as points=2, on the first line of each test",
)
_CELL = re.compile(r"^# %% .*?\b(test|written)=\"[^\"]+\" points=([\d.]+)", flags=re.MULTILINE)


def homework_row(homework: str, source: str) -> str:
    """Return a homework's row of the table.

    Args:
        homework: Its id, such as ``hw03-self-attention``.
        source: Its source, a py:percent file.

    Returns:
        A row of a Markdown table.

    Raises:
        ValueError: It does not say its title or its time, or asks for nothing; the message says
            what is expected.
    """
    title, time, cells = _TITLE.search(source), _TIME.search(source), _CELL.findall(source)
    if not (title and time and cells):
        said = (title, time, cells)
        missing = [what for what, found in zip(_EXPECTED, said, strict=True) if not found]
        raise ValueError(f"{homework} must say {'; and '.join(missing)}")
    points = {kind: sum(float(p) for k, p in cells if k == kind) for kind in ("test", "written")}
    checks = sum(kind == "test" for kind, _ in cells)
    return (
        f"| {title[1]} `{homework}` | {time[1]} | {checks} "
        f"| {points['test']:g} | {points['written']:g} |"
    )


class HomeworkTableDirective(SphinxDirective):
    """All homework."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
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
        container = nodes.container(classes=["course-homework"])
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, container)
        return [container]


def setup(app: Sphinx) -> None:
    """Register the directive.

    Args:
        app: The Sphinx application.
    """
    app.add_directive("homework-table", HomeworkTableDirective)
