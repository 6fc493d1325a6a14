"""Listings of code that students write in a homework: folded, one click away."""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.environment import BuildEnvironment

from course_book.site.html_element import element

_EXERCISE = re.compile(r'^# %% solution="(?P<name>\w+)"(?P<rest>.*)$', flags=re.MULTILINE)
_WITHHELD = re.compile(r"\bcourse_lib\.[\w.]*\.(\w+)")


def homework_of(pyobject: str, solutions: Path) -> Path | None:
    """Return the source of the first homework in which students write a function or class.

    An exercise of it has the definition's name, or names the definition in its header.

    Args:
        pyobject: The option of ``literalinclude``, such as ``MultiHeadAttention.forward``.
        solutions: The folder of the sources.
    """
    name = pyobject.partition(".")[0]
    for source in sorted(solutions.glob("hw*.py")):
        for exercise in _EXERCISE.finditer(source.read_text(encoding="utf-8")):
            if name and name in (exercise["name"], *_WITHHELD.findall(exercise["rest"])):
                return source
    return None


def summary(pyobject: str, homework: Path) -> str:
    """Return the HTML shown for a folded listing; it names the homework with this source file."""
    name, number = escape(pyobject.partition(".")[0]), int(homework.name[2:4])
    return f"You write <code>{name}</code> yourself in homework {number}: show the library's"


def fold_if_graded(
    listing: list[nodes.Node], pyobject: str, env: BuildEnvironment
) -> list[nodes.Node]:
    """Return a listing's nodes, folded if students write the code (``pyobject``) in a homework."""
    homework = homework_of(pyobject, Path(env.srcdir) / "solutions")
    if homework is None:
        return listing
    env.note_dependency(str(homework))
    start = f'<details class="course-listing"><summary>{summary(pyobject, homework)}</summary>\n'
    return [element(start, *listing, end="</details>")]
