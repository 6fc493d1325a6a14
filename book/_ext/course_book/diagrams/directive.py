"""The directive ``diagram``: a drawing of the catalogue, whose boxes lead to what they are.

Sections and code are referred to as anywhere in the book, so the build fails where one is missing.
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

from course_book.diagrams.drawing import draw
from course_book.diagrams.labels import plain
from course_book.diagrams.parts import About, Box
from course_book.diagrams.registry import DIAGRAMS


class diagram_figure(nodes.General, nodes.Element):
    """The figure: the references of its boxes, then the caption."""


class diagram_key(nodes.General, nodes.Element):
    """What the boxes are, in a list; shown only where ``shown`` says so."""


class DiagramDirective(SphinxDirective):
    """A diagram by name, with a caption as its content; ``:key:`` lists each box's code."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"key": directives.flag, "name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the figure's node.

        Raises:
            docutils.parsers.rst.DirectiveError: There is no such diagram.
        """
        name = self.arguments[0]
        if name not in DIAGRAMS:
            raise self.error(f"diagram: no diagram {name!r}; there are {sorted(DIAGRAMS)}")
        variants = DIAGRAMS[name].variants.values()
        boxes = {box.id: box for diagram in variants for box in diagram.boxes}
        node = diagram_figure(diagram=name)
        self.set_source_info(node)
        self.add_name(node)
        node += diagram_key("", *self._key(boxes), shown="key" in self.options)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]

    def _key(self, boxes: dict[str, Box]) -> Iterator[nodes.list_item]:
        """An entry for all boxes that are called alike and lead to the same."""
        alike: dict[tuple[str, About], list[str]] = {}
        for box in boxes.values():
            if box.about.section or box.about.code:
                name = box.about.name or plain(box.text)
                alike.setdefault((name, box.about), []).append(box.id)
        for (name, about), ids in alike.items():
            words = nodes.paragraph()
            if about.section:
                words += self._reference("std", "ref", about.section, nodes.inline("", name))
            else:
                words += nodes.inline("", name)
            if about.code:
                words += nodes.Text(" ")
                short = nodes.literal("", about.code.rpartition(".")[2])
                words += self._reference("py", "obj", about.code, short)
            yield nodes.list_item("", words, boxes=ids)

    def _reference(self, domain: str, kind: str, target: str, words: nodes.Node) -> nodes.Node:
        reference = addnodes.pending_xref(
            "",
            words,
            refdomain=domain,
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )
        self.set_source_info(reference)
        return reference


def _addresses(node: diagram_figure) -> dict[str, str]:
    """Where boxes lead: to the first reference of their entry that was found."""
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
    drawings = [
        draw(diagram, f"{identity}-{index}-drawn", addresses)
        for index, diagram in enumerate(drawing.variants.values())
    ]
    drawn = [f'<div class="course-diagram__variant">{svg}</div>' for svg in drawings]
    choice = _choice(identity, drawing.legend, list(drawing.variants)) if drawing.legend else ""
    self.body.append(
        f'<figure class="course-diagram" id="{identity}">\n<div class="course-diagram__sheet">'
        f'<div class="course-diagram__view">{choice}'
        f'<div class="course-diagram__variants">{"".join(drawn)}</div></div>\n'
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
    """Register the directive.

    Args:
        app: The Sphinx application.
    """
    app.add_node(diagram_figure, html=(_visit, _depart))
    app.add_node(diagram_key, html=(_visit_key, _depart_key))
    app.add_directive("diagram", DiagramDirective)
