"""The directives ``course-versions`` and ``course-times``: versions and running times.

Running times are known once all chapters have run, so their table is a placeholder until the pages
are written. myst-nb writes pages with the mark ``has_exec_table`` again when a time changes.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

PACKAGES = {
    "torch": "all computations",
    "numpy": "arrays in figures",
    "matplotlib": "static figures",
    "jupyter-book": "the site",
    "sphinx": "the site",
    "myst-nb": "runs the chapters",
    "nbgrader": "homework",
}
"""The packages in the table of versions, and their use."""


def version_lines(now: datetime) -> list[str]:
    """Return the versions as a Markdown table; ``now`` is the time of the build, in UTC."""
    return [
        "| package | version | for |",
        "| --- | --- | --- |",
        f"| Python | {platform.python_version()} | everything |",
        *(f"| {name} | {version(name)} | {purpose} |" for name, purpose in PACKAGES.items()),
        "",
        f"Built on {now:%d %B %Y at %H:%M} UTC, on {platform.system()}.",
    ]


class VersionsDirective(SphinxDirective):
    """Shows the versions of Python and packages and the time of the build; takes no arguments."""

    def run(self) -> list[nodes.Node]:
        """Return a container with the table."""
        lines = version_lines(datetime.now(UTC))
        return [nodes.container("", *self.parse_text_to_nodes("\n".join(lines)))]


class times_placeholder(nodes.General, nodes.Element):
    """Stands for the table of the chapters' running times until pages are written."""


class TimesDirective(SphinxDirective):
    """Shows the table of the chapters' running times; takes no arguments."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder of the table."""
        NbMetadataCollector.set_doc_data(self.env, self.env.docname, "has_exec_table", True)
        return [times_placeholder()]


def times_table(rows: Sequence[tuple[nodes.Node, float, datetime]]) -> nodes.table:
    """Return a table of running times, whose last row is their sum.

    ``rows`` are (link to the chapter, seconds, time of the run).
    """

    def row(*cells: nodes.Node) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))

    body = [
        row(name, nodes.Text(f"{seconds:.1f}"), nodes.Text(f"{ran:%Y-%m-%d}"))
        for name, seconds, ran in rows
    ]
    total = sum(seconds for _, seconds, _ in rows)
    body.append(row(nodes.strong(text="all"), nodes.Text(f"{total:.0f}"), nodes.Text("")))
    heads = row(*(nodes.Text(head) for head in ("chapter", "seconds", "ran on")))
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (60, 20, 20)), cols=3)
    group += [nodes.thead("", heads), nodes.tbody("", *body)]
    return nodes.table("", group, classes=["colwidths-auto"])


class FillInTimes(SphinxPostTransform):
    """Replaces each ``times_placeholder`` by the table of the chapters' running times."""

    default_priority = 8  # before references are resolved, at 10

    def run(self, **kwargs: object) -> None:
        """Replace the placeholders of a page by the table."""
        for placeholder in list(self.document.findall(times_placeholder)):
            placeholder.replace_self(times_table(list(self._rows())))

    def _rows(self) -> Iterator[tuple[nodes.Node, float, datetime]]:
        data = NbMetadataCollector.get_doc_data(self.env)
        for page in self.env.toctree_includes.get(self.config.root_doc, []):
            ran = data.get(page, {}).get("exec_data")
            if ran and ran["runtime"] is not None:
                title = nodes.inline(text=self.env.titles[page].astext())
                target = {"reftype": "doc", "refdomain": "std", "reftarget": f"/{page}"}
                link = addnodes.pending_xref(
                    "", title, refdoc=self.env.docname, refexplicit=True, refwarn=True, **target
                )
                yield link, ran["runtime"], datetime.fromtimestamp(ran["mtime"], UTC)


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_node(times_placeholder)
    app.add_directive("course-versions", VersionsDirective)
    app.add_directive("course-times", TimesDirective)
    app.add_post_transform(FillInTimes)
