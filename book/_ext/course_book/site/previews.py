"""Previews of links: the meaning of a term, or a publication, at the link itself.

A page with links to entries of the glossary or the bibliography holds copies of them in
``<template>`` elements. ``js/previews.js`` shows one while its link is pointed at or has the focus.
"""

import posixpath
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from pybtex.plugin import find_plugin
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinxcontrib.bibtex.transforms import node_text_transform


class Entries:
    """The glossary's terms and the bibliography's entries as HTML, after all pages are read."""

    def __init__(self, app: Sphinx) -> None:
        assert isinstance(app.builder, StandaloneHTMLBuilder)
        self.builder = app.builder
        self.env = app.env
        terms = app.env.domaindata["std"]["objects"].items()
        self.glossaries = {place[0] for (kind, _), place in terms if kind == "term"}
        self.citations: dict[tuple[str, str], Any] = {
            (citation.bibliography_key.docname, citation.citation_id): citation.formatted_entry
            for citation in app.env.domaindata.get("cite", {}).get("citations", [])
        }
        self._meanings: dict[str, dict[str, nodes.Element]] = {}

    def html(self, docname: str, label: str) -> str:
        """Return the HTML of the entry with the id ``label`` on a page; empty if there is none."""
        entry: nodes.Element | None = None
        if publication := self.citations.get((docname, label)):
            # Not from its page: resolving that page again would write each entry twice.
            paragraph = find_plugin("pybtex.backends", "docutils")().paragraph(publication)
            node_text_transform(paragraph)  # addresses
            entry = _bare([paragraph])
        elif docname in self.glossaries:
            if docname not in self._meanings:
                document = self.env.get_and_resolve_doctree(docname, self.builder)
                self._meanings[docname] = dict(_meanings(document))
            entry = self._meanings[docname].get(label)
        return self.builder.render_partial(entry)["fragment"].strip() if entry else ""


def _meanings(document: nodes.document) -> Iterator[tuple[str, nodes.Element]]:
    for item in document.findall(nodes.definition_list_item):
        meaning = _bare(item.children[-1].children)
        for term in item.findall(nodes.term):
            yield from ((label, meaning) for label in term["ids"])


def _bare(children: list[nodes.Node]) -> nodes.Element:
    """Return copies of the nodes without ids and links; links would be relative to another page."""
    copy = nodes.container("", *(child.deepcopy() for child in children))
    for reference in list(copy.findall(nodes.reference)):
        reference.replace_self(reference.children)
    for element in copy.findall(nodes.Element):
        element["ids"] = []
    return copy


def _add_previews(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None:
        return
    if not hasattr(app, "course_entries"):
        app.course_entries = Entries(app)  # type: ignore[attr-defined]
    templates = {}
    for reference in doctree.findall(nodes.reference):
        address = reference.get("refuri", "")
        if not reference.get("internal") or address in templates or "#" not in address:
            continue
        path, label = address.split("#", 1)
        page = posixpath.normpath(posixpath.join(posixpath.dirname(pagename), path))
        if html := app.course_entries.html(page.removesuffix(".html"), label):  # type: ignore[attr-defined]
            templates[address] = html
    if templates:
        context["body"] += "\n".join(
            f'<template data-course-preview="{escape(address)}">{html}</template>'
            for address, html in templates.items()
        )
        app.add_js_file("js/previews.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Add hidden copies of the terms and publications to which a page links, for its previews."""
    app.connect("html-page-context", _add_previews)
