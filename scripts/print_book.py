"""Print the built book as one PDF: ``python -m scripts.print_book FILE [PAGE ...]``.

Chromium lays the pages out as the style sheet for paper says. Scripts are off, so every figure
stands as its table or still picture, and nothing is folded. Links between pages lead to the place
in the PDF; the outline lists chapters and sections. A PDF in the site's folder is linked from the
title page.
"""

import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page

from scripts.chromium import running_chromium
from scripts.contents import book_pages

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "book" / "_build" / "html"
TIMEOUT = 600_000  # milliseconds; several hundred pages with formulas

ARTICLE = """page => {
  const article = document.querySelector("article.bd-article");
  const own = (label) => `${page}--${label}`;
  article.querySelectorAll("script, template, .headerlink").forEach((part) => part.remove());
  article.querySelectorAll("[id]").forEach((part) => (part.id = own(part.id)));
  article.querySelectorAll("[for]").forEach((part) => (part.htmlFor = own(part.htmlFor)));
  for (const part of article.querySelectorAll("use, [clip-path]")) {
    for (const name of ["href", "xlink:href", "clip-path"]) {
      const value = part.getAttribute(name);
      if (value) part.setAttribute(name, value.replace("#", `#${own("")}`));
    }
  }
  for (const link of article.querySelectorAll("a[href]")) {
    const [, path, label] = link.getAttribute("href").match(/^([^#]*)#?(.*)$/);
    if (/^[a-z-]*\\.html$/.test(path) || !path) {
      const target = path ? path.replace(".html", "") : page;
      link.setAttribute("href", `#${target}--${label}`);
    }
  }
  window.courseCollectAnswers(article);
  article.id = `${page}--`;
  article.querySelectorAll("details").forEach((part) => (part.open = true));
  return article.outerHTML;
}"""
STYLES = "() => [...document.querySelectorAll('link[rel=stylesheet]')].map((link) => link.href)"
ASSEMBLE = """({ articles, styles }) => {
  for (const href of styles) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href });
    document.head.append(link);
  }
  document.documentElement.dataset.theme = "light";
  document.body.innerHTML = `<main class="course-book-on-paper">${articles.join("")}</main>`;
  return Promise.all([
    document.fonts.ready,
    ...[...document.images].map((image) => ((image.loading = "eager"), image.decode())),
  ]).then(() => document.title = document.querySelector("h1").textContent);
}"""
FOOTER = (
    '<div style="font: 8pt sans-serif; width: 100%; text-align: center">'
    '<span class="pageNumber"></span></div>'
)


def print_book(site: Path, pages: list[str], file: Path) -> None:
    """Write pages of the book into one PDF.

    Args:
        site: The folder of the built book.
        pages: Names of pages in ``site/book``, without a suffix, at least one.
        file: The PDF; if it lies in ``site``, the title page gets a link to it.

    Raises:
        FileNotFoundError: A page is not built, or there is no Chromium.
    """
    for name in pages:
        if not (site / "book" / f"{name}.html").is_file():
            raise FileNotFoundError(f"page {name!r} is not built in {site}; first: make book")
    with running_chromium() as browser:
        page = assembled(browser, site, pages)
        file.parent.mkdir(parents=True, exist_ok=True)
        page.pdf(
            path=file,
            format="A4",
            margin={"top": "18mm", "bottom": "20mm", "left": "16mm", "right": "16mm"},
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
            outline=True,
            tagged=True,
        )
    if file.resolve().is_relative_to(site.resolve()):
        link_from_title_page(site, file)


def link_from_title_page(site: Path, file: Path) -> None:
    """Link the PDF below the heading of the built title page, in place of an earlier link."""
    title_page = site / "book" / f"{book_pages(ROOT)[0]}.html"
    text = re.sub('<p class="course-pdf">.*?</p>', "", title_page.read_text("utf-8"))
    address = file.resolve().relative_to(site.resolve()).as_posix()
    size = f"{file.stat().st_size / 1e6:.0f} MB"
    link = f'<p class="course-pdf"><a href="../{address}">The whole book as one PDF</a>, {size}</p>'
    before, article = text.split('class="bd-article"', 1)  # the page has a heading for paper before
    article = article.replace("</h1>", f"</h1>{link}", 1)
    title_page.write_text(f'{before}class="bd-article"{article}', "utf-8")


def assembled(browser: Browser, site: Path, pages: list[str]) -> Page:
    """Return an open page without scripts that joins the text of pages of the built book.

    Ids begin with the name of the page that they come from.
    """
    context = browser.new_context(java_script_enabled=False, color_scheme="light")
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    articles, styles = [], {}
    for name in reversed(pages):  # ends on the first, whose folder the others share
        page.goto((site / "book" / f"{name}.html").as_uri(), wait_until="domcontentloaded")
        styles.update(dict.fromkeys(page.evaluate(STYLES)))
        page.evaluate((site / "_static" / "js" / "paper.js").read_text("utf-8"))
        articles.insert(0, page.evaluate(ARTICLE, name))
    page.evaluate(ASSEMBLE, {"articles": articles, "styles": list(styles)})
    page.wait_for_load_state("networkidle")
    return page


if __name__ == "__main__":
    print_book(SITE, sys.argv[2:] or book_pages(ROOT), Path(sys.argv[1]))
