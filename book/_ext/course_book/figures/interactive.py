"""The directive ``interactive``: a figure that a script draws from data of the chapter.

A code cell shows the data as ``<script type="application/json" id="...">``, and the directive's
option ``:data:`` names the id. The page holds a table of the data, which the script replaces, for
readers without scripts. ``:page:`` names another chapter whose cell shows the data.

Large data, such as models, have the attribute ``data-deferred``. The build moves them into a
classic script under ``_static/models``, which also loads from ``file://`` and sets
``window.courseModels[id]``, and leaves its address and its size in the page.
"""

import hashlib
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

from course_book.figures.registry import FIGURES

logger = logging.getLogger(__name__)
DEFERRED = re.compile(
    r'<script type="application/json" id="(?P<name>[\w-]+)" data-deferred>(?P<json>.*?)</script>',
    re.DOTALL,
)


class interactive_figure(nodes.General, nodes.Element):
    """An interactive figure, with its caption as children.

    Attributes: ``figure`` (its name), ``data`` (id of its JSON), ``page`` (the other document that
    shows the data, or empty), ``first`` (a suggested action); ``table`` and ``scripts`` (HTML) and
    ``note`` are set once the data are found.
    """


class InteractiveDirective(SphinxDirective):
    """Shows the figure that its argument names, with its content as caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = dict.fromkeys(
        ("data", "name", "page", "try"), directives.unchanged_required
    )

    def run(self) -> list[nodes.Node]:
        """Return the figure's node."""
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
            first=self.options.get("try", ""),
        )
        self.set_source_info(node)
        self.add_name(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]

    def _page(self) -> str:
        """Return the document that the option ``page`` names; empty without the option."""
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
    """Finds and checks the data of each figure, and makes the table for readers without scripts."""

    default_priority = 400  # after MyST-NB has chosen among a cell's outputs

    def run(self, **kwargs: Any) -> None:
        """Set table and note of the page's figures; report and remove those without valid data."""
        for node in list(self.document.findall(interactive_figure)):
            try:
                data = FIGURES[node["figure"]].model_validate_json(self._find(node))
                node["table"], node["note"] = data.table(), data.note
            except (ValueError, LookupError, RuntimeError) as error:  # the last one is PyTorch's
                logger.error(
                    "interactive %s: data %r: %s",
                    *(node["figure"], node["data"], error),
                    location=node,
                    type="course_book",
                )
                node.parent.remove(node)

    def _find(self, node: interactive_figure) -> str:
        """Return the JSON that a code cell shows for a figure, on this page or on another one.

        Data of another page, and the models that they name, are also put into the figure's
        attribute ``scripts``, since the figure's script looks for them on this page.
        """
        page, name = node["page"], node["data"]
        document = self.env.get_doctree(page) if page else self.document
        texts = [raw.astext() for raw in document.findall(nodes.raw)]
        script = re.compile(
            rf'<script\b[^>]*\bid="{re.escape(name)}"[^>]*>(?P<json>.*?)</script>', re.DOTALL
        )
        for match in filter(None, map(script.search, texts)):
            if page:
                models = [model for text in texts for model in DEFERRED.finditer(text)]
                used = [model for model in models if f'"{model["name"]}"' in match["json"]]
                site = Path(self.app.outdir)
                scripts = [match[0], *(move_deferred(model, site) for model in used)]
                node["scripts"] = "\n".join(scripts)
            return match["json"]
        raise ValueError(
            f"no code cell of {page or 'the page'} shows "
            f'<script type="application/json" id="{name}">'
        )


def move_deferred(match: re.Match[str], site: Path) -> str:
    """Write a figure's large data into a JavaScript file; return HTML with its address and size.

    ``match`` is a match of the pattern ``DEFERRED``, ``site`` the folder of the built pages.
    """
    name = match["name"]
    data = json.dumps(json.loads(match["json"]), separators=(",", ":"))
    script = f'(window.courseModels ??= {{}})["{name}"] = {data};\n'.encode("ascii")
    file = site / "_static" / "models" / f"{name}.js"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(script)
    digest = hashlib.sha256(script).hexdigest()[:8]  # against stale browser caches
    place = {"file": f"_static/models/{name}.js?v={digest}", "bytes": len(script)}
    return f'<script type="application/json" id="{name}">{json.dumps(place)}</script>'


class MoveDeferred(SphinxPostTransform):
    """Moves data with the attribute ``data-deferred`` out of pages into JavaScript files."""

    default_priority = 410  # after MyST-NB has chosen among a cell's outputs
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Move the page's data with the attribute ``data-deferred`` into JavaScript files."""
        site = Path(self.app.outdir)
        for raw in list(self.document.findall(nodes.raw)):
            if DEFERRED.search(raw.astext()):
                text = DEFERRED.sub(lambda match: move_deferred(match, site), raw.astext())
                raw.replace_self(nodes.raw("", text, format="html"))


def _visit(self: HTML5Translator, node: interactive_figure) -> None:
    name = node["figure"]
    wide = " full-width" if FIGURES[name].wide else ""  # the theme's class
    identity = f' id="{escape(node["ids"][0])}"' if node["ids"] else ""
    note = f'<p class="course-interactive__note">{escape(node["note"])}</p>' if node["note"] else ""
    first = (
        f'<p class="course-interactive__try"><strong>Try this:</strong> {escape(node["first"])}</p>'
        if node["first"]
        else ""
    )
    self.body.append(
        f'<figure class="course-interactive{wide}"{identity} data-course-figure="{name}"'
        f' data-course-data="{escape(node["data"])}">\n{first}\n'
        '<div class="course-interactive__stage">'
        '<p class="course-interactive__off">Scripts are off: this table shows the same.</p>'
        f"{node['table']}{note}</div>\n{node['scripts']}<figcaption>\n"
    )


def _depart(self: HTML5Translator, node: interactive_figure) -> None:
    self.body.append("</figcaption>\n</figure>\n")


def setup(app: Sphinx) -> None:
    """Register the directive and the transforms."""
    app.add_node(interactive_figure, html=(_visit, _depart))
    app.add_directive("interactive", InteractiveDirective)
    app.add_post_transform(FillFigures)
    app.add_post_transform(MoveDeferred)
