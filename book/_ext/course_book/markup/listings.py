"""Listings of the library: what carries the idea stands in sight, the rest one press away.

``literalinclude`` shows a definition in short (``condensed_code``). Below it, folded, stand its
contract, set like the library's reference, and the checks of its arguments; and a link leads to the
whole file.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.writers.html5 import HTML5Translator

from course_book.markup.condensed_code import CondensedCode, condensed
from course_book.markup.graded_listings import fold_if_graded
from course_book.markup.library_files import note_listed, page_of

LIBRARY = "course_lib"


class listing_foot(nodes.General, nodes.Element):
    """What stands below a listing: attribute page, of the whole file."""


class contract(nodes.General, nodes.Element):
    """What is folded below a listing: attribute summary."""


class CondensingInclude(LiteralInclude):
    """``literalinclude`` that shows a definition of the library in short."""

    def run(self) -> list[nodes.Node]:
        """Return the listing and its foot, behind a line if students write it."""
        made: list[nodes.Node] = super().run()
        file = self._file()
        if file.parts[0] != LIBRARY:
            return made
        block = next(block for node in made for block in node.findall(nodes.literal_block))
        code = condensed(block.astext())
        block.rawsource, block[:] = code.shown, [nodes.Text(code.shown)]
        note_listed(self.env, file)
        pyobject = self.options.get("pyobject", "")
        foot = listing_foot("", *self._contract(code, file, pyobject), page=page_of(file))
        return fold_if_graded([*made, foot], pyobject, self.env)

    def _file(self) -> Path:
        path = Path(self.env.relfn2path(self.arguments[0])[1])
        return path.relative_to(self.env.srcdir)

    def _contract(self, code: CondensedCode, file: Path, pyobject: str) -> list[nodes.Node]:
        parts: dict[str, list[nodes.Node]] = {}
        if code.has_contract and pyobject:
            parts["contract"] = self._described(file, pyobject)
        if code.checks:
            block = nodes.literal_block(code.checks, code.checks, language="python")
            parts["checks of arguments"] = [block]
        if not parts:
            return []
        content = [node for part in parts.values() for node in part]
        return [contract("", *content, summary=" and ".join(parts).capitalize())]

    def _described(self, file: Path, pyobject: str) -> list[nodes.Node]:
        """Return what the library's reference says of a definition."""
        module = page_of(file).replace("/", ".")
        _, is_member, name = pyobject.rpartition(".")
        kind = "class" if name[0].isupper() else "method" if is_member else "function"
        described = [f".. auto{kind}:: {module}.{pyobject}", "   :no-index:"]
        described += ["   :members:"] * (kind == "class")
        lines = ["````{eval-rst}", *described, "````"]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.env.docname), 0, container)
        content = next(container.findall(addnodes.desc_content))
        return list(content.children)


def _visit_foot(self: HTML5Translator, node: listing_foot) -> None:
    self.body.append('<div class="course-listing-foot">\n')


def _depart_foot(self: HTML5Translator, node: listing_foot) -> None:
    address = self.builder.get_relative_uri(self.builder.current_docname, node["page"])
    self.body.append(f'<a href="{escape(address)}">Whole file</a>\n</div>\n')


def _visit_contract(self: HTML5Translator, node: contract) -> None:
    self.body.append(
        f'<details class="course-contract"><summary>{escape(node["summary"])}</summary>\n'
    )


def _depart_contract(self: HTML5Translator, node: contract) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    """Register the directive and its nodes.

    Args:
        app: The Sphinx application.
    """
    app.setup_extension("sphinx.ext.autodoc")
    app.add_node(listing_foot, html=(_visit_foot, _depart_foot))
    app.add_node(contract, html=(_visit_contract, _depart_contract))
    app.add_directive("literalinclude", CondensingInclude, override=True)
