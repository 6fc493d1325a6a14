"""Listings of the library: condensed code, with the rest one click away.

``literalinclude`` shows a definition without its contract and checks (``condensed_code``). Both are
folded below it, with a link to a page with the whole file.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.util.osutil import relative_uri

from course_book.markup.condensed_code import CondensedCode, condensed
from course_book.markup.graded_listings import fold_if_graded
from course_book.site.html_element import element

LIBRARY = "course_lib"
_LISTED = "course_listed_files"


class CondensingInclude(LiteralInclude):
    """Sphinx's directive ``literalinclude``, which condenses definitions of ``course_lib``."""

    def run(self) -> list[nodes.Node]:
        """Return the listing and the links below it, folded if students write the code."""
        made: list[nodes.Node] = super().run()
        file = Path(self.env.relfn2path(self.arguments[0])[1]).relative_to(self.env.srcdir)
        if file.parts[0] != LIBRARY:
            return made
        block = next(block for node in made for block in node.findall(nodes.literal_block))
        code = condensed(block.astext())
        block.rawsource, block[:] = code.shown, [nodes.Text(code.shown)]
        data: dict[str, Any] = self.env.metadata[self.env.docname]
        data.setdefault(_LISTED, []).append(file.as_posix())
        pyobject = self.options.get("pyobject", "")
        address = relative_uri(f"{self.env.docname}.html", f"{_page_of(file)}.html")
        foot = element(
            '<div class="course-listing-foot">\n',
            *self._contract(code, file, pyobject),
            end=f'<a href="{escape(address)}">Whole file</a>\n</div>',
        )
        return fold_if_graded([*made, foot], pyobject, self.env)

    def _contract(self, code: CondensedCode, file: Path, pyobject: str) -> Iterator[nodes.Node]:
        parts: dict[str, list[nodes.Node]] = {}
        if code.has_contract and pyobject:
            parts["contract"] = self._described(file, pyobject)
        if code.checks:
            block = nodes.literal_block(code.checks, code.checks, language="python")
            parts["checks of arguments"] = [block]
        if parts:
            summary = " and ".join(parts).capitalize()
            start = f'<details class="course-contract"><summary>{summary}</summary>\n'
            content = (node for part in parts.values() for node in part)
            yield element(start, *content, end="</details>")

    def _described(self, file: Path, pyobject: str) -> list[nodes.Node]:
        """Return autodoc's description of the definition ``pyobject`` in a library's file."""
        module = _page_of(file).replace("/", ".")
        _, is_member, name = pyobject.rpartition(".")
        kind = "class" if name[0].isupper() else "method" if is_member else "function"
        described = [f".. auto{kind}:: {module}.{pyobject}", "   :no-index:"]
        described += ["   :members:"] * (kind == "class")
        lines = ["````{eval-rst}", *described, "````"]
        container = nodes.container("", *self.parse_text_to_nodes("\n".join(lines)))
        return list(next(container.findall(addnodes.desc_content)).children)


def _page_of(file: Path) -> str:
    return file.with_suffix("").as_posix()


def _file_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield (name, template's variables, template) of a page for each file with a listing.

    The page shows the whole file, highlighted.
    """
    listed = {file for data in app.env.metadata.values() for file in data.get(_LISTED, [])}
    highlighter = app.builder.highlighter  # type: ignore[attr-defined]  # of the HTML builder
    for file in sorted(listed):
        code = (Path(app.srcdir) / file).read_text(encoding="utf-8")
        shown = highlighter.highlight_block(code, "python")
        body = f"<h1><code>{escape(file)}</code></h1>\n{shown}"
        yield _page_of(Path(file)), {"title": file, "body": body}, "page.html"


def setup(app: Sphinx) -> None:
    """Register the directive and the pages of files."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("literalinclude", CondensingInclude, override=True)
    app.connect("html-collect-pages", _file_pages)
