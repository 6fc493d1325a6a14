"""What a link leads to, shown on the spot: a term's meaning, a publication.

A page that links to entries of the glossary or the bibliography carries copies of them in inert
``<template>`` elements; ``js/previews.js`` shows one while its link is pointed at or has the focus.
Nothing is fetched, so it works from a file too.
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
    """The terms and publications of the book, as HTML."""

    def __init__(self, app: Sphinx) -> None:
        """Find the pages that hold entries.

        Args:
            app: The Sphinx application, all pages read.
        """
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
        """Return an entry; empty if there is none of this label.

        Args:
            docname: The page that holds it.
            label: The entry's id there.
        """
        if publication := self.citations.get((docname, label)):
            # Not from its page: resolving that once more would write each entry twice.
            backend = find_plugin("pybtex.backends", "docutils")()
            paragraph = backend.paragraph(publication)
            node_text_transform(paragraph)  # addresses
            entry: nodes.Element | None = _bare([paragraph])
        else:
            entry = self._terms(docname).get(label)
        return self.builder.render_partial(entry)["fragment"].strip() if entry else ""

    def _terms(self, docname: str) -> dict[str, nodes.Element]:
        if docname not in self.glossaries:
            return {}
        if docname not in self._meanings:
            document = self.env.get_and_resolve_doctree(docname, self.builder)
            self._meanings[docname] = dict(_meanings(document))
        return self._meanings[docname]


def _meanings(document: nodes.document) -> Iterator[tuple[str, nodes.Element]]:
    for item in document.findall(nodes.definition_list_item):
        meaning = _bare(item.children[-1].children)
        for term in item.findall(nodes.term):
            yield from ((label, meaning) for label in term["ids"])


def _bare(children: list[nodes.Node]) -> nodes.Element:
    """Return copies without links, which would lead astray elsewhere, and without ids."""
    copy = nodes.container("", *(child.deepcopy() for child in children))
    for reference in list(copy.findall(nodes.reference)):
        reference.replace_self(reference.children)
    for element in copy.findall(nodes.Element):
        element["ids"] = []
    return copy


class _Previews:
    """Adds to each page the entries that it links to."""

    def __init__(self) -> None:
        self.entries: Entries | None = None

    def add(
        self,
        app: Sphinx,
        pagename: str,
        template: str,
        context: dict[str, Any],
        doctree: nodes.document | None,
    ) -> None:
        if doctree is None:
            return
        self.entries = self.entries or Entries(app)
        templates = {}
        for reference in doctree.findall(nodes.reference):
            address = reference.get("refuri", "")
            if not reference.get("internal") or address in templates or "#" not in address:
                continue
            path, label = address.split("#", 1)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(pagename), path))
            if html := self.entries.html(path.removesuffix(".html"), label):
                templates[address] = html
        if templates:
            context["body"] += "\n".join(
                f'<template data-course-preview="{escape(address)}">{html}</template>'
                for address, html in templates.items()
            )
            app.add_js_file("js/previews.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Give each page the entries that its links lead to.

    Args:
        app: The Sphinx application.
    """
    app.connect("html-page-context", _Previews().add)
