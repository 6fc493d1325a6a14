"""Listings of what students are to write themselves: folded, one press away."""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

_EXERCISE = re.compile(r'^# %% solution="(?P<name>\w+)"(?P<rest>.*)$', flags=re.MULTILINE)
_WITHHELD = re.compile(r"\bcourse_lib\.[\w.]*\.(\w+)")


class folded_listing(nodes.General, nodes.Element):
    """A listing behind a line: attribute summary, HTML."""


def homework_of(pyobject: str, solutions: Path) -> Path | None:
    """Find the homework in which students write a function or class, or a method of it.

    Args:
        pyobject: As ``literalinclude`` takes it, such as ``MultiHeadAttention.forward``.
        solutions: The folder of the homeworks' sources.

    Returns:
        The first one's source, which names it as an exercise, or withholds course_lib's; else None.
    """
    name = pyobject.partition(".")[0]
    for source in sorted(solutions.glob("hw*.py")):
        for exercise in _EXERCISE.finditer(source.read_text(encoding="utf-8")):
            if name and name in (exercise["name"], *_WITHHELD.findall(exercise["rest"])):
                return source
    return None


def summary(pyobject: str, homework: Path) -> str:
    """Return the line behind which a listing is folded, as HTML."""
    name, number = escape(pyobject.partition(".")[0]), int(homework.name[2:4])
    return f"You write <code>{name}</code> yourself in homework {number}: show the library's"


def fold_if_graded(
    listing: list[nodes.Node], pyobject: str, env: BuildEnvironment
) -> list[nodes.Node]:
    """Put a listing behind a line if students write it.

    Args:
        listing: What shows it.
        pyobject: As ``literalinclude`` takes it.
        env: Of the book.

    Returns:
        The listing as it was, or behind a line.
    """
    homework = homework_of(pyobject, Path(env.srcdir) / "solutions")
    if homework is None:
        return listing
    env.note_dependency(str(homework))
    return [folded_listing("", *listing, summary=summary(pyobject, homework))]


def _visit(self: HTML5Translator, node: folded_listing) -> None:
    summary = f"<summary>{node['summary']}</summary>"
    self.body.append(f'<details class="course-listing">{summary}\n')


def _depart(self: HTML5Translator, node: folded_listing) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    """Register the node.

    Args:
        app: The Sphinx application.
    """
    app.add_node(folded_listing, html=(_visit, _depart))
