"""The directives ``course-versions`` and ``course-times``: what this build was made with and ran.

Times are known once all chapters have run, so their table is a placeholder until the pages are
written. myst-nb remembers for each page how long it ran, and rewrites pages with the mark
``has_exec_table`` when that changes.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from docutils import nodes
from docutils.statemachine import StringList
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
"""Each package that a reader may want to know the version of, and what it is there for."""


def version_lines(now: datetime) -> list[str]:
    """Return what this build is made with, as a Markdown table.

    Args:
        now: The time of the build, in UTC.

    Returns:
        The table's lines.
    """
    lines = ["| package | version | for |", "| --- | --- | --- |"]
    lines.append(f"| Python | {platform.python_version()} | everything |")
    lines += [
        f"| {name} | {importlib.metadata.version(name)} | {purpose} |"
        for name, purpose in PACKAGES.items()
    ]
    return [*lines, "", f"Built on {now:%d %B %Y at %H:%M} UTC, on {platform.system()}."]


class VersionsDirective(SphinxDirective):
    """What this build is made with."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        container = nodes.container()
        lines = StringList(version_lines(datetime.now(UTC)), source=self.env.docname)
        self.state.nested_parse(lines, 0, container)
        return [container]


class TimesPlaceholder(nodes.General, nodes.Element):
    """Where the table of times will stand."""


class TimesDirective(SphinxDirective):
    """How long each chapter ran."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder, and ask to be written anew when a time changes."""
        NbMetadataCollector.set_doc_data(self.env, self.env.docname, "has_exec_table", True)
        return [TimesPlaceholder()]


def _row(cells: Sequence[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def times_table(rows: Sequence[tuple[nodes.Node, float, datetime]]) -> nodes.table:
    """Return the table of times.

    Args:
        rows: For each chapter its name, its seconds and when it ran.

    Returns:
        The table, with the sum in its last row.
    """
    total = sum(seconds for _, seconds, _ in rows)
    body = [
        _row([name, nodes.Text(f"{seconds:.1f}"), nodes.Text(f"{ran:%Y-%m-%d}")])
        for name, seconds, ran in rows
    ]
    body.append(_row([nodes.strong(text="all"), nodes.Text(f"{total:.0f}"), nodes.Text("")]))
    heads = [nodes.Text(head) for head in ("chapter", "seconds", "ran on")]
    group = nodes.tgroup("", cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in (60, 20, 20)]
    group += [nodes.thead("", _row(heads)), nodes.tbody("", *body)]
    return nodes.table("", group, classes=["colwidths-auto"])


class FillInTimes(SphinxPostTransform):
    """Put the table into the placeholder's place."""

    default_priority = 8  # before references are resolved, at 10

    def run(self, **kwargs: object) -> None:
        """Replace the placeholders of a page."""
        for placeholder in list(self.document.findall(TimesPlaceholder)):
            placeholder.replace_self(times_table(list(self._rows())))

    def _rows(self) -> list[tuple[nodes.Node, float, datetime]]:
        data = NbMetadataCollector.get_doc_data(self.env)
        rows = []
        for page in self.env.toctree_includes.get(self.config.root_doc, []):
            ran = data.get(page, {}).get("exec_data")
            if ran and ran["runtime"] is not None:
                link = addnodes.pending_xref(
                    "",
                    nodes.inline(text=self.env.titles[page].astext()),
                    refdoc=self.env.docname,
                    reftarget=f"/{page}",
                    reftype="doc",
                    refdomain="std",
                    refexplicit=True,
                    refwarn=True,
                )
                rows.append((link, ran["runtime"], datetime.fromtimestamp(ran["mtime"], UTC)))
        return rows


def setup(app: Sphinx) -> None:
    """Register the directives.

    Args:
        app: The Sphinx application.
    """
    app.add_node(TimesPlaceholder)
    app.add_directive("course-versions", VersionsDirective)
    app.add_directive("course-times", TimesDirective)
    app.add_post_transform(FillInTimes)
