"""The directive ``interactive``: a figure that a script draws from data the chapter computed.

A chapter's code cell shows the data as ``<script type="application/json" id="...">``; the
directive names it. The page holds a table of the data in the figure's place, which the script
replaces, so that a reader without scripts misses the movement and no content. ``:page:`` names
another chapter whose cell shows the data: what is large, its deferred models, both pages load from
the same files.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from course_book.figures.deferred import DEFERRED, move_deferred
from course_book.figures.registry import FIGURES

logger = logging.getLogger(__name__)


class interactive_figure(nodes.General, nodes.Element):
    """The figure; its children are the caption.

    Attributes: figure, data, page, fallback, first, table, note, scripts.
    """


class InteractiveDirective(SphinxDirective):
    """A figure by name, with a caption as its content; ``:try:`` says what to do first."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "data": directives.unchanged_required,
        "fallback": directives.unchanged_required,
        "name": directives.unchanged_required,
        "page": directives.unchanged_required,
        "try": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return the figure's node.

        Raises:
            docutils.parsers.rst.DirectiveError: The figure is not known, or data is not named.
        """
        name = self.arguments[0]
        if name not in FIGURES:
            raise self.error(f"interactive: no figure {name!r}; there are {sorted(FIGURES)}")
        if "data" not in self.options:
            raise self.error("interactive: ':data:' must name the JSON that a code cell shows")
        node = interactive_figure(
            figure=name,
            data=self.options["data"],
            page=self._page(),
            scripts="",
            fallback=self.options.get("fallback", ""),
            first=self.options.get("try", ""),
        )
        self.set_source_info(node)
        self.add_name(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]

    def _page(self) -> str:
        """The document that shows the data, empty for this one, which is read again with it."""
        if "page" not in self.options:
            return ""
        page, file = self.env.relfn2path(f"{self.options['page']}.md")
        if not Path(file).is_file():
            raise self.error(
                f"interactive: ':page:' must name a chapter, got {self.options['page']!r}"
            )
        self.env.note_dependency(page)
        return page.removesuffix(".md")


class FillFigures(SphinxPostTransform):
    """Find each figure's data in its page, check it, and make the table of it."""

    default_priority = 400  # after MyST-NB has chosen among a cell's outputs

    def run(self, **kwargs: Any) -> None:
        """Fill every figure of the page."""
        for node in list(self.document.findall(interactive_figure)):
            try:
                data = FIGURES[node["figure"]].model.from_json(self._find(node))
            except ValueError as error:
                logger.error(
                    "interactive %s: data %r: %s",
                    node["figure"],
                    node["data"],
                    error,
                    location=node,
                    type="course_book",
                )
                node.parent.remove(node)
                continue
            node["table"], node["note"] = data.table(), data.note
            self._check_fallback(node)

    def _find(self, node: interactive_figure) -> Any:
        """Read the figure's data; those of another page, and its models, come along as scripts."""
        page, name = node["page"], node["data"]
        document = self.env.get_doctree(page) if page else self.document
        texts = [raw.astext() for raw in document.findall(nodes.raw)]
        script = re.compile(
            rf'<script\b[^>]*\bid="{re.escape(name)}"[^>]*>(?P<json>.*?)</script>', re.DOTALL
        )
        for match in filter(None, map(script.search, texts)):
            if page:
                node["scripts"] = self._brought_along(match, texts)
            return json.loads(match["json"])
        where = page or "the page"
        raise ValueError(
            f'no code cell of {where} shows <script type="application/json" id="{name}">'
        )

    def _brought_along(self, data: re.Match[str], texts: list[str]) -> str:
        """The data of another page as a script, and the places of the models that they name."""
        found = [model for text in texts for model in DEFERRED.finditer(text)]
        named = [model for model in found if f'"{model["name"]}"' in data["json"]]
        return "\n".join(
            [data[0], *(move_deferred(model, Path(self.app.outdir)) for model in named)]
        )

    def _check_fallback(self, node: interactive_figure) -> None:
        label = node["fallback"]
        if label and nodes.make_id(label) not in self.document.ids:
            logger.error(
                "interactive %s: no static figure %r in the page",
                node["figure"],
                label,
                location=node,
                type="course_book",
            )


def _visit(self: HTML5Translator, node: interactive_figure) -> None:
    name, fallback = node["figure"], nodes.make_id(node["fallback"])
    # over the margin, from which the theme then takes the page's contents
    wide = " full-width" if FIGURES[name].wide else ""
    identity = f' id="{escape(node["ids"][0])}"' if node["ids"] else ""
    see = (
        f'<p class="course-interactive__off">Scripts are off: <a href="#{fallback}">a still '
        "figure</a> and this table show the same.</p>"
        if fallback
        else '<p class="course-interactive__off">Scripts are off: this table shows the same.</p>'
    )
    note = f'<p class="course-interactive__note">{escape(node["note"])}</p>' if node["note"] else ""
    first = escape(node["first"])
    first = f'<p class="course-interactive__try"><strong>Try this:</strong> {first}</p>\n'
    self.body.append(
        f'<figure class="course-interactive{wide}"{identity} data-course-figure="{name}"'
        f' data-course-data="{escape(node["data"])}" data-course-fallback="{fallback}">\n'
        f"{first if node['first'] else ''}"
        f'<div class="course-interactive__stage">{see}{node["table"]}{note}</div>\n'
        f"{node['scripts']}<figcaption>\n"
    )


def _depart(self: HTML5Translator, node: interactive_figure) -> None:
    self.body.append("</figcaption>\n</figure>\n")


def setup(app: Sphinx) -> None:
    """Register the directive.

    Args:
        app: The Sphinx application.
    """
    app.add_node(interactive_figure, html=(_visit, _depart))
    app.add_directive("interactive", InteractiveDirective)
    app.add_post_transform(FillFigures)
