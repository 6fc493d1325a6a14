"""The directive ``course-api``: what course_lib offers, chapter by chapter, out of its docstrings.

Its arguments name the first and the last chapter of a stretch of ``COURSE_MAP``. Which modules
there are, and which names are public, is asked of the library itself, so a page can't fall
behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from course_book.directives.chapters import chapter_titles

if TYPE_CHECKING:
    from course_lib.course_map import MapRow

_CLASS_OF = re.compile(r"type\[~course_lib\.[\w.]+\.(\w+)\]")


def stretch(rooms: Sequence[MapRow], first: str, last: str) -> list[MapRow]:
    """Return the part of the map that reaches from one chapter to another.

    Args:
        rooms: The map, as in ``course_lib.course_map.COURSE_MAP``.
        first: The first chapter.
        last: The last chapter, which belongs to the stretch too.

    Returns:
        Its rows.

    Raises:
        ValueError: A chapter is unknown, or they are in the wrong order.
    """
    chapters = [room.chapter for room in rooms]
    for chapter in (first, last):
        if chapter not in chapters:
            raise ValueError(f"no chapter {chapter!r} in the map; it has {sorted(set(chapters))}")
    start, end = chapters.index(first), len(chapters) - chapters[::-1].index(last)
    if start >= end:
        raise ValueError(f"{first!r} comes after {last!r}")
    return list(rooms[start:end])


def link_chapter(lines: list[str], titles: Mapping[str, str]) -> None:
    """Make one paragraph of a docstring's line "Source: ...", its chapters linked.

    Args:
        lines: The docstring's lines, changed in place.
        titles: The title of each chapter that the book has, by the chapter's name.
    """
    for start, line in enumerate(lines):
        if line.startswith("Source: "):
            end = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
            text = " ".join(part.strip() for part in lines[start:end])
            for name, title in titles.items():
                text = text.replace(f'chapter "{title}"', f"chapter :doc:`{title} </book/{name}>`")
            lines[start:end] = [text]
            return


def _lines(rooms: Sequence[MapRow], titles: Mapping[str, str]) -> Iterator[str]:
    chapter = None
    for room in rooms:
        if room.chapter != chapter:
            chapter = room.chapter
            yield from (f"## {titles.get(chapter, chapter.replace('-', ' ').capitalize())}", "")
            if chapter in titles:
                yield from (f"Chapter: {{doc}}`/book/{chapter}`.", "")
        yield from (f"### {room.module}", "")
        yield from ("```{eval-rst}", f".. automodule:: course_lib.{room.module}")
        yield from ("   :members:", "   :ignore-module-all:", "   :no-value:", "```", "")
        if room.homework:
            yield from (f"Written by you in homework `{room.homework}`.", "")


class CourseApiDirective(SphinxDirective):
    """The modules of a stretch of chapters, a section each."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Write the sections."""
        from course_lib.course_map import COURSE_MAP  # found only once the extension is set up

        titles = _titles_in_book(self.env)
        try:
            rooms = stretch(COURSE_MAP, *self.arguments)
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        lines = StringList(list(_lines(rooms, titles)), source=self.env.docname)
        # MyST puts a heading, and what follows it, into the page's own section.
        self.state.nested_parse(lines, 0, nodes.container(), match_titles=True)
        return []


def _skip_fields(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    # Fields of named tuples are described by their class, under "Attributes".
    return True if type(member).__name__ == "_tuplegetter" else None


def hide_first_colon(lines: list[str], what: str) -> None:
    """Keep napoleon from taking for a type what stands before a colon in a sentence.

    Types stand in our signatures. "Returns: The batch: one row a sentence" names none, nor does
    the docstring of a constant or a property. napoleon reads a line that begins with a colon as
    one without.

    Args:
        lines: The docstring's lines, changed in place.
        what: Of what kind of object, as autodoc calls it.
    """
    firsts = [i + 1 for i, line in enumerate(lines) if line.strip() in ("Returns:", "Yields:")]
    if what in ("data", "attribute", "property"):
        firsts.append(0)
    for i in firsts:
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        lines[i] = f"{indent}: {lines[i].lstrip()}"


def show_commands(lines: list[str], what: str) -> None:
    """Show what is set in, in a module's docstring, as it is typed: every dash, line by line.

    Args:
        lines: The docstring's lines, changed in place.
        what: Of what kind of object, as autodoc calls it.
    """
    if what != "module":
        return
    for i in reversed(range(1, len(lines))):
        above = next((line for line in reversed(lines[:i]) if line.strip()), "")
        begins = lines[i].startswith("    ") and not lines[i - 1].strip()
        if begins and not above.startswith("    ") and not above.endswith("::"):
            lines[i:i] = [".. code-block:: text", ""]


def _prepare(
    app: Sphinx, what: str, name: str, member: Any, options: Any, lines: list[str]
) -> None:
    hide_first_colon(lines, what)
    show_commands(lines, what)
    link_chapter(lines, _titles_in_book(app.env))


def _titles_in_book(env: BuildEnvironment) -> dict[str, str]:
    """Leave out the chapters that the table of contents leaves out: they make no page."""
    titles = env.config.course_titles
    return {name: titles[name] for name in titles if f"book/{name}" in env.found_docs}


def _find_titles(app: Sphinx, config: Config) -> None:
    config.course_titles = chapter_titles(Path(app.srcdir) / "book")


def _shorten(
    app: Sphinx,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    arguments: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    if what == "class" and getattr(thing, "_is_protocol", False):
        return "", None  # a protocol is never made, so (*args, **kwargs) would mislead
    # autodoc shortens the names of classes, but not within type[...].
    return arguments and _CLASS_OF.sub(r"type[\1]", arguments), returns


def setup(app: Sphinx) -> None:
    """Register the directive, and autodoc, which reads the docstrings.

    Args:
        app: The Sphinx application.
    """
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_directive("course-api", CourseApiDirective)
    app.add_config_value("course_titles", {}, "env", types=[dict])  # a new title is read everywhere
    app.connect("config-inited", _find_titles)
    app.connect("autodoc-skip-member", _skip_fields)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-process-docstring", _prepare, priority=400)  # before napoleon, at 500
