"""Metadata of pages: dates, descriptions, social tags, a sitemap, links to report and edit.

Dates come from git. Tags and sitemap need ``html: baseurl`` in ``_config.yml``, the links
``repository: url``; without them no page names another host.
"""

import shutil
import subprocess
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

PREVIEW = "_static/social-preview.png"
PREVIEW_ALT = (
    "A model learns to read backwards: its attention after 1, 15 and 100 steps of training"
)
DESCRIPTION_LENGTH = 200


def last_changes(root: Path) -> dict[str, str]:
    """Return the day of the last commit of each file below ``root``, such as ``2026-03-01``.

    The keys are paths from ``root``. There are none without git, and for a shallow clone, whose
    only commit seems to have changed every file.
    """
    git = shutil.which("git")

    def ask(*arguments: str) -> str:
        command = [str(git), "-C", str(root), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return answer.stdout if answer.returncode == 0 else ""

    if git is None or ask("rev-parse", "--is-shallow-repository").strip() != "false":
        return {}
    days: dict[str, str] = {}
    day = ""
    for line in ask("log", "--format=%x00%cs", "--name-only", "--relative", "--", ".").splitlines():
        if line.startswith("\0"):
            day = line[1:]
        elif line:
            days.setdefault(line, day)
    return days


def description(document: nodes.document) -> str:
    """Return a page's first paragraph as plain text, at most 200 characters, cut at a word."""
    for paragraph in document.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            if len(text) <= DESCRIPTION_LENGTH:
                return text
            return text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0] + " …"
    return ""


def social_tags(*, title: str, text: str, address: str, site: str, base: str) -> str:
    """Return the Open Graph tags of a page as HTML.

    ``title``, ``text`` and ``address`` are the page's; ``site`` and ``base`` are the title and the
    address of the book.
    """
    tags = {
        "og:type": "article",
        "og:site_name": site,
        "og:title": title,
        "og:description": text,
        "og:url": address,
        "og:image": base + PREVIEW,
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": PREVIEW_ALT,
    }
    lines = [
        f'<meta property="{name}" content="{escape(content)}" />' for name, content in tags.items()
    ]
    return "\n".join([*lines, '<meta name="twitter:card" content="summary_large_image" />'])


def bibtex_entry(key: str, **fields: str) -> str:
    """Return a BibTeX entry of a part of a book; empty fields are left out."""
    lines = [f"  {name:<9} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@incollection{{{key},", *lines, "}"])


def _configure(app: Sphinx, config: Config) -> None:
    config.course_last_changes = last_changes(Path(app.srcdir))
    if config.html_baseurl:
        config.html_baseurl = config.html_baseurl.rstrip("/") + "/"


def _day(app: Sphinx, page: str) -> str | None:
    file = Path(app.env.doc2path(page)).relative_to(app.srcdir).as_posix()
    return app.config.course_last_changes.get(file)


def _add_to_page(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None:
        return
    context["course_last_change"] = _day(app, pagename)
    options = app.config.html_theme_options
    if repository := options.get("repository_url", "").rstrip("/").removesuffix(".git"):
        issue = {"title": f"On the page {pagename}", "body": "What is wrong or unclear? Where?"}
        branch = options.get("repository_branch", "main")
        context["course_feedback"] = f"{repository}/issues/new?{urlencode(issue)}"
        context["course_edit"] = f"{repository}/edit/{branch}/{pagename}.md"
    text, base = description(doctree), app.config.html_baseurl
    tags = [f'<meta name="description" content="{escape(text)}" />'] if text else []
    title, site = app.env.titles[pagename].astext(), app.config.html_title
    address = base + app.builder.get_target_uri(pagename) if base else ""
    author = app.config.author
    context["course_citation"] = bibtex_entry(
        pagename.rpartition("/")[2],
        author=f"{{{author[:1].upper()}{author[1:]}}}",
        title=title,
        booktitle=site,
        year=(context["course_last_change"] or app.config.copyright)[:4],
        url=address,
    )
    if base:
        tags.append(social_tags(title=title, text=text, address=address, site=site, base=base))
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def _write_sitemap(app: Sphinx, error: Exception | None) -> None:
    base = app.config.html_baseurl
    if error is not None or app.builder.format != "html" or not base:
        return
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
    ]
    for page in sorted(app.env.found_docs):
        day = _day(app, page)
        changed = f"<lastmod>{day}</lastmod>" if day else ""
        address = escape(base + app.builder.get_target_uri(page))
        lines.append(f"<url><loc>{address}</loc>{changed}</url>")
    sitemap = "\n".join([*lines, "</urlset>\n"])
    (Path(app.outdir) / "sitemap.xml").write_text(sitemap, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Add the metadata to each page, and write the sitemap."""
    app.add_config_value("course_last_changes", {}, "", types=[dict])
    app.connect("config-inited", _configure)
    app.connect("html-page-context", _add_to_page)
    app.connect("build-finished", _write_sitemap)
