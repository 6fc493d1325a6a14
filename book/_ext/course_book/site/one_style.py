"""One stylesheet for all pages: a page is seen only when each of those that it names has come.

What Sphinx, its theme and the extensions bring is left out where no page can use it (the theme
brings all of Bootstrap); a figure's own style stays a file of its own, for the pages that show it.
"""

import posixpath
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from course_book.site.offline import STYLES as OUR_STYLES
from course_book.site.offline import is_site
from course_book.site.used_styles import used_rules, words_of

NAME = "book.css"
OTHER_STYLES = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "togglebutton.css",
    "copybutton.css",
    "mystnb.*.css",
    "exercise.css",
    "sphinx-design.min.css",
    "katex/katex.min.css",
    "katex-math.css",
)
"""Those that are not ours, in the order in which Sphinx would load them."""
_ADDRESS = re.compile(r"url\((?P<quote>[\"']?)(?!data:|#|/|\w+:)(?P<path>[^)\"']+)(?P=quote)\)")
_CHARSET = '@charset "UTF-8";'


def joined(static: Path, names: Iterable[str]) -> str:
    """Return stylesheets as one that stands above them all.

    Args:
        static: The folder that it is to stand in.
        names: Of the files, relative to it; each may be a pattern, and is the newest file
            that matches.

    Raises:
        FileNotFoundError: No file is called so.
    """
    return "".join(_moved(static, name) for name in names)


def _moved(static: Path, name: str) -> str:
    # A build before an upgrade may have left another one.
    path = max(static.glob(name), key=lambda found: found.stat().st_mtime, default=None)
    if path is None:
        raise FileNotFoundError(f"{static} has no {name}; what does the theme call it now?")
    folder = path.parent.relative_to(static).as_posix()

    def from_above(address: re.Match[str]) -> str:
        return f"url({posixpath.normpath(posixpath.join(folder, address['path']))})"

    return _ADDRESS.sub(from_above, path.read_text("utf-8").replace(_CHARSET, "")) + "\n"


def _name_it(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Leave a page the styles of its figures, beside the one for all.

    That one is named in ``static/webpack-macros.html``, with what changes when a part of it does.
    """
    if not is_site(app):
        return
    styles = {str(style.filename): style for style in context["css_files"]}
    own = [name for name in styles if name.startswith("_static/figures/")]
    parts = "".join(name for name in styles if name not in own)
    context["book_style"] = f"_static/{NAME}?v={zlib.crc32(parts.encode()):08x}"
    context["css_files"] = [styles[name] for name in own]


def _write(app: Sphinx, error: Exception | None) -> None:
    if error or not is_site(app):
        return
    out = Path(app.outdir)
    static = out / "_static"
    sources = [*out.rglob("*.html"), *static.rglob("*.js")]
    words = words_of(source.read_text(encoding="utf-8") for source in sources)
    others = used_rules(joined(static, OTHER_STYLES), words)
    (static / NAME).write_text(_CHARSET + others + joined(static, OUR_STYLES), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Let pages load one stylesheet, and write it once all are written.

    Args:
        app: The Sphinx application; ``offline`` is set up.
    """
    app.connect("html-page-context", _name_it, priority=900)
    app.connect("build-finished", _write, priority=900)  # the theme writes pygments.css then
