"""One stylesheet for all pages, without the rules that no page can use.

A browser draws a page once all of its stylesheets have arrived, and the theme brings all of
Bootstrap. The styles of figures stay files of their own, for the pages that show the figures.
"""

import re
import zlib
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import tinycss2
from docutils import nodes
from sphinx.application import Sphinx
from tinycss2.ast import Node

from course_book.site.offline import STYLES, is_site

NAME = "book.css"
OTHER_STYLES = (
    *("basic.css", "styles/pydata-sphinx-theme.css", "pygments.css"),
    *("styles/sphinx-book-theme.css", "togglebutton.css", "copybutton.css", "mystnb.*.css"),
    *("exercise.css", "sphinx-design.min.css", "katex/katex.min.css", "katex-math.css"),
)
"""The styles of the theme and of other extensions, in the order in which Sphinx loads them."""
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_NAMED = re.compile(r"[.#]([\w-]+)")
_COMMA = re.compile(r",(?![^(]*\))")
_ARGUMENTS = re.compile(r"\([^)]*\)|\[[^]]*\]")


def read_style(static: Path, name: str) -> str:
    """Return the text of a stylesheet, with fonts' addresses relative to the folder ``static``.

    ``name`` is the file's path in ``static``, or a pattern, of which the newest file is read.

    Raises:
        FileNotFoundError: No file matches.
    """
    path = max(static.glob(name), key=lambda found: found.stat().st_mtime, default=None)
    if path is None:
        raise FileNotFoundError(f"{static} has no {name}: did the theme rename it?")
    folder = path.parent.relative_to(static).as_posix()
    return path.read_text("utf-8").replace("url(fonts/", f"url({folder}/fonts/") + "\n"


def used_rules(stylesheet: str, words: Set[str]) -> str:
    """Return CSS without selectors that name a class or an id outside ``words``.

    Names within ``:not()``, ``:is()`` and the like don't count. ``words`` are those of all pages
    and scripts, among them each class and id in use.
    """
    rules = tinycss2.parse_stylesheet(stylesheet, skip_comments=True, skip_whitespace=True)
    return "".join(_used(rules, words))


def _used(rules: list[Node], words: Set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = _COMMA.split(tinycss2.serialize(rule.prelude))
            used = [s.strip() for s in selectors if _names(s) <= words]
            if used:
                yield f"{','.join(used)}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if inside := "".join(_used(inner, words)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
        else:
            yield rule.serialize()


def _names(selector: str) -> set[str]:
    """Return the classes and ids that an element must have to match a selector."""
    return set(_NAMED.findall(_ARGUMENTS.sub("", selector)))


def _leave_figure_styles(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Remove all stylesheets from a page except its figures'.

    ``static/webpack-macros.html`` adds the common one.
    """
    if not is_site(app):
        return
    styles = {str(style.filename): style for style in context["css_files"]}
    own = [name for name in styles if name.startswith("_static/figures/")]
    others = "".join(name for name in styles if name not in own)  # with their checksums
    context["book_style"] = f"_static/{NAME}?v={zlib.crc32(others.encode()):08x}"
    context["css_files"] = [styles[name] for name in own]


def _write(app: Sphinx, error: Exception | None) -> None:
    if error or not is_site(app):
        return
    out = Path(app.outdir)
    static = out / "_static"
    sources = [*out.rglob("*.html"), *static.rglob("*.js")]
    words = {word for source in sources for word in _WORD.findall(source.read_text("utf-8"))}
    others = used_rules("".join(read_style(static, name) for name in OTHER_STYLES), words)
    ours = "".join(read_style(static, name) for name in STYLES)
    (static / NAME).write_text(f'@charset "UTF-8";{others}{ours}', encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Make pages load one common stylesheet, which is written after all pages."""
    app.connect("html-page-context", _leave_figure_styles, priority=900)
    app.connect("build-finished", _write, priority=900)  # the theme writes pygments.css then
