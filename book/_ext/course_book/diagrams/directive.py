"""The directive ``diagram``: a drawing of the catalogue whose boxes are links.

Sphinx resolves the links as it does all references, so the build fails where a target is missing.
"""

from collections.abc import Iterator
from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from course_book.diagrams.catalogue import (  # noqa: F401  # each registers its diagrams
    attention,
    grids,
    layers,
    recurrent,
    sequences,
    transformers,
)
from course_book.diagrams.drawing import draw
from course_book.diagrams.labels import plain
from course_book.diagrams.parts import About
from course_book.diagrams.sketch import DIAGRAMS


class diagram_figure(nodes.General, nodes.Element):
    """A diagram (attribute ``diagram``: its name) with its key and its caption as children."""


class diagram_key(nodes.General, nodes.Element):
    """The key: a list of the boxes with links to sections and code; hidden unless ``shown``."""


class DiagramDirective(SphinxDirective):
    """Shows the diagram that its argument names, with its content as caption.

    The option ``key`` shows the list of the boxes and their code.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"key": directives.flag, "name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the diagram's node."""
        name = self.arguments[0]
        if name not in DIAGRAMS:
            raise self.error(f"diagram: no diagram {name!r}; there are {sorted(DIAGRAMS)}")
        node = diagram_figure(diagram=name)
        self.set_source_info(node)
        self.add_name(node)
        node += diagram_key("", *self._key(name), shown="key" in self.options)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]

    def _key(self, name: str) -> Iterator[nodes.list_item]:
        """Yield the entries of a diagram's key: one for all boxes with equal names and links."""
        alike: dict[tuple[str, About], set[str]] = {}
        for diagram in DIAGRAMS[name].variants.values():
            for box in diagram.boxes:
                if box.about.section or box.about.code:
                    title = box.about.name or plain(box.text)
                    alike.setdefault((title, box.about), set()).add(box.id)
        for (title, about), ids in alike.items():
            words = nodes.paragraph()
            if about.section:
                words += self._reference("std", "ref", about.section, nodes.inline("", title))
            else:
                words += nodes.inline("", title)
            if about.code:
                words += nodes.Text(" ")
                short = nodes.literal("", about.code.rpartition(".")[2])
                words += self._reference("py", "obj", about.code, short)
            yield nodes.list_item("", words, boxes=sorted(ids))

    def _reference(self, domain: str, kind: str, target: str, words: nodes.Node) -> nodes.Node:
        refers = {"refdomain": domain, "reftype": kind, "reftarget": target}
        reference = addnodes.pending_xref(
            "", words, refexplicit=True, refwarn=True, refdoc=self.env.docname, **refers
        )
        self.set_source_info(reference)
        return reference


def _addresses(node: diagram_figure) -> dict[str, str]:
    """Return the address that each box links to, by its id: the first link of its key's entry."""
    found: dict[str, str] = {}
    for item in node.findall(nodes.list_item):
        for reference in item.findall(nodes.reference):
            address = reference.get("refuri") or f"#{reference['refid']}"
            found |= {box: address for box in item["boxes"] if box not in found}
    return found


def _choice(identity: str, legend: str, names: list[str]) -> str:
    radios = "".join(
        f'<span><input type="radio" name="{identity}" id="{identity}-{index}" value="{index}"'
        f"{' checked' if index == 0 else ''}>"
        f'<label for="{identity}-{index}">{escape(name)}</label></span>'
        for index, name in enumerate(names)
    )
    return f'<fieldset class="course-radios"><legend>{escape(legend)}</legend>{radios}</fieldset>'


def _visit(self: HTML5Translator, node: diagram_figure) -> None:
    drawing, addresses = DIAGRAMS[node["diagram"]], _addresses(node)
    identity = node["ids"][0] if node["ids"] else f"diagram-{node['diagram']}"
    drawn = "".join(
        f'<div class="course-diagram__variant">{draw(each, f"{identity}-{index}-drawn", addresses)}'
        "</div>"
        for index, each in enumerate(drawing.variants.values())
    )
    choice = _choice(identity, drawing.legend, list(drawing.variants)) if drawing.legend else ""
    self.body.append(
        f'<figure class="course-diagram" id="{identity}">\n<div class="course-diagram__sheet">'
        f'<div class="course-diagram__view">{choice}'
        f'<div class="course-diagram__variants">{drawn}</div></div>\n'
    )


def _depart(self: HTML5Translator, node: diagram_figure) -> None:
    self.body.append("</figcaption>\n</figure>\n")


def _visit_key(self: HTML5Translator, node: diagram_key) -> None:
    if not node["shown"]:
        self.body.append("</div>\n<figcaption>\n")
        raise nodes.SkipNode
    self.body.append('<ul class="course-diagram__key">\n')


def _depart_key(self: HTML5Translator, node: diagram_key) -> None:
    self.body.append("</ul>\n</div>\n<figcaption>\n")


def setup(app: Sphinx) -> None:
    """Register the directive and its nodes."""
    app.add_node(diagram_figure, html=(_visit, _depart))
    app.add_node(diagram_key, html=(_visit_key, _depart_key))
    app.add_directive("diagram", DiagramDirective)
