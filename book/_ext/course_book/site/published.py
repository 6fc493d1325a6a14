"""What a page tells search engines, those who share it and its reader, once the book is published.

All of it depends on ``_config.yml``: ``html: baseurl`` and ``repository: url``. Where these are
empty, nothing of it is written, and no page names another host.
"""

from datetime import date
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


def description(document: nodes.document) -> str:
    """Return a page's first paragraph, cut at a word.

    Args:
        document: The page.

    Returns:
        At most 200 characters; empty if the page has no paragraph.
    """
    for paragraph in document.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            if len(text) <= DESCRIPTION_LENGTH:
                return text
            return text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0] + " …"
    return ""


def social_tags(*, title: str, text: str, address: str, site: str, base: str) -> str:
    """Return the tags that say what a shared link shows.

    Args:
        title: Of the page.
        text: What it is about.
        address: Of the page.
        site: Title of the book.
        base: Address of the book, with a slash at its end.

    Returns:
        HTML.
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


def sitemap(pages: dict[str, str | None]) -> str:
    """Return the sitemap of the book.

    Args:
        pages: The day of the last change of each page, by its address; None if unknown.

    Returns:
        XML.
    """
    entries = []
    for address, day in pages.items():
        changed = f"<lastmod>{date.fromisoformat(day)}</lastmod>" if day else ""
        entries.append(f"<url><loc>{escape(address)}</loc>{changed}</url>")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *entries,
            "</urlset>\n",
        ]
    )


def feedback_address(repository: str, page: str) -> str:
    """Return where a reader can report what is wrong on a page.

    Args:
        repository: Its address, on GitHub or a service with the same addresses; may be empty.
        page: Name of the page.

    Returns:
        The address of a new issue that names the page; empty without a repository.
    """
    if not repository:
        return ""
    query = urlencode(
        {"title": f"On the page {page}", "body": "What is wrong or unclear, and where:"}
    )
    return f"{repository.rstrip('/').removesuffix('.git')}/issues/new?{query}"


def _end_with_slash(app: Sphinx, config: Config) -> None:
    if config.html_baseurl:
        config.html_baseurl = config.html_baseurl.rstrip("/") + "/"


def _add_to_page(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is None:
        return
    repository = app.config.html_theme_options.get("repository_url", "")
    context["course_feedback"] = feedback_address(repository, pagename)
    text, base = description(doctree), app.config.html_baseurl
    tags = [f'<meta name="description" content="{escape(text)}" />'] if text else []
    if base:
        address = base + app.builder.get_target_uri(pagename)
        title = app.env.titles[pagename].astext()
        site = app.config.html_title
        tags.append(social_tags(title=title, text=text, address=address, site=site, base=base))
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def _write_sitemap(app: Sphinx, error: Exception | None) -> None:
    base = app.config.html_baseurl
    if error is not None or app.builder.format != "html" or not base:
        return
    root = Path(app.srcdir)
    days = app.config.course_last_changes
    pages = {
        base + app.builder.get_target_uri(name): days.get(
            Path(app.env.doc2path(name)).relative_to(root).as_posix()
        )
        for name in sorted(app.env.found_docs)
    }
    (Path(app.outdir) / "sitemap.xml").write_text(sitemap(pages), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Add to pages what depends on where the book is published.

    Args:
        app: The Sphinx application; ``page_dates`` is set up.
    """
    app.connect("config-inited", _end_with_slash)
    app.connect("html-page-context", _add_to_page)
    app.connect("build-finished", _write_sitemap)
