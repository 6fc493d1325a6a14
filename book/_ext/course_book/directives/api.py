"""The directive ``course-api``: a reference of packages of ``course_lib``, from their docstrings.

Its arguments name packages or modules; all modules of a package are described.
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
from sphinx.util.docutils import SphinxDirective

from course_book.directives.chapters import chapter_titles, titles_in_book

if TYPE_CHECKING:
    from course_lib.course_map import MapRow

_CLASS_OF = re.compile(r"type\[~course_lib\.[\w.]+\.(\w+)\]")


def package_modules(folder: Path, package: str) -> list[str]:
    """Return the names of a package and of all its modules and packages, without ``__main__``.

    Args:
        folder: The folder of ``course_lib``.
        package: A package or module of ``course_lib``, such as ``models.pretrained``.

    Raises:
        ValueError: The library has no such package.
    """
    path = folder / package.replace(".", "/")
    if not (path / "__init__.py").is_file():
        if not path.with_suffix(".py").is_file():
            raise ValueError(f"course_lib has no package {package!r}")
        return [package]
    files = (file.relative_to(folder).with_suffix("").parts for file in path.rglob("*.py"))
    names = (parts[:-1] if parts[-1] == "__init__" else parts for parts in files)
    return sorted(".".join(parts) for parts in names if parts[-1] != "__main__")


def _lines(
    modules: Sequence[str], rows: Sequence[MapRow], titles: Mapping[str, str]
) -> Iterator[str]:
    row_of = {row.module: row for row in rows}
    for module in modules:
        yield from (f"## {module}", "", "```{eval-rst}", f".. automodule:: course_lib.{module}")
        yield from ("   :members:", "   :ignore-module-all:", "```", "")
        row = row_of.get(module)
        if row and row.chapter in titles:
            written = f" Written by you in homework `{row.homework}`." if row.homework else ""
            yield from (f"Chapter: {{doc}}`/book/{row.chapter}`.{written}", "")


class CourseApiDirective(SphinxDirective):
    """Adds a section with autodoc's description for each module of the named packages."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Parse the sections into the page's own section, and return no further nodes."""
        from course_lib.course_map import COURSE_MAP  # on sys.path once the extension is set up

        folder = Path(self.env.srcdir) / "course_lib"
        for file in folder.rglob("*.py"):  # docstrings are inherited and refer to each other
            self.env.note_dependency(str(file))
        try:
            packages = self.arguments[0].split()
            modules = [m for package in packages for m in package_modules(folder, package)]
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        lines = list(_lines(modules, COURSE_MAP, titles_in_book(self.env)))
        # MyST puts headings into the section of the page.
        content = StringList(lines, source=self.env.docname)
        self.state.nested_parse(content, 0, nodes.container(), match_titles=True)
        return []


def link_chapter(lines: list[str], titles: Mapping[str, str]) -> None:
    """Join the paragraph "Source: ..." of a docstring, given by lines, into one line, in place.

    A chapter's title in it becomes a link; ``titles`` has the titles by the chapters' file stems.
    """
    for start, line in enumerate(lines):
        if line.startswith("Source: "):
            end = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
            text = " ".join(part.strip() for part in lines[start:end])
            for name, title in titles.items():
                text = text.replace(f'chapter "{title}"', f"chapter :doc:`{title} </book/{name}>`")
            lines[start:end] = [text]
            return


def hide_first_colon(lines: list[str], what: str) -> None:
    """Keep napoleon from reading the words before a sentence's colon as a type.

    Napoleon takes a line that starts with a colon for one without a type. The docstring's lines are
    changed in place; ``what`` is the kind of object, as autodoc calls it.
    """
    firsts = [i + 1 for i, line in enumerate(lines) if line.strip() in ("Returns:", "Yields:")]
    if what in ("data", "attribute", "property"):
        firsts.append(0)
    for i in firsts:
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        lines[i] = f"{indent}: {lines[i].lstrip()}"


def show_commands(lines: list[str], what: str) -> None:
    """Make indented lines of a module's docstring a literal block, in place.

    ``what`` is the kind of object, as autodoc calls it; docstrings of others stay as they are.
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
    link_chapter(lines, titles_in_book(app.env))


def _find_names(app: Sphinx, config: Config) -> None:
    config.course_titles = chapter_titles(Path(app.srcdir) / "book")
    library = Path(app.srcdir) / "course_lib"
    config.course_modules = sorted(str(file.relative_to(library)) for file in library.rglob("*.py"))


def _skip_fields(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    # Their class describes the fields of named tuples, under "Attributes".
    return True if type(member).__name__ == "_tuplegetter" else None


def _shorten(
    app: Sphinx, what: str, name: str, thing: Any, options: Any,
    arguments: str | None, returns: str | None,
) -> tuple[str | None, str | None]:  # fmt: skip
    if what == "class" and getattr(thing, "_is_protocol", False):
        return "", None  # nobody constructs a protocol with its (*args, **kwargs)
    # autodoc shortens names of classes, but not within type[...].
    return arguments and _CLASS_OF.sub(r"type[\1]", arguments), returns


def setup(app: Sphinx) -> None:
    """Register the directive, and autodoc, which reads the docstrings."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_directive("course-api", CourseApiDirective)
    # Sphinx reads all pages again after a new title or module.
    app.add_config_value("course_titles", {}, "env", types=[dict])
    app.add_config_value("course_modules", [], "env", types=[list])
    app.connect("config-inited", _find_names)
    app.connect("autodoc-skip-member", _skip_fields)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-process-docstring", _prepare, priority=400)  # before napoleon, at 500
