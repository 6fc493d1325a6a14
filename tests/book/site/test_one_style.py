"""Do pages load one stylesheet, with all that they need, and nothing else but a figure's own?"""

import os
import re

import pytest
from course_book.site.offline import STYLES
from course_book.site.one_style import NAME, OTHER_STYLES, joined

from tests.book.small_book import depends_on_small_book

LINK = re.compile(
    r'<link [^>]*href="([^"]+)" rel="stylesheet"|rel="stylesheet"[^>]* href="([^"]+)"'
)


def test_what_a_stylesheet_names_is_found_from_where_it_comes_to_stand(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "main.1f.css").write_text(
        '@charset "UTF-8";@font-face{src:url(fonts/a.woff2)}'
        ".a{mask:url(\"data:image/svg+xml,%3Csvg (1)'%3E\")}.b{x:url('../b.png')}.c{x:url(#c)}"
    )
    (tmp_path / "last.css").write_text(".d{x:url(d.png)}")
    (tmp_path / "letters" / "main.0a.css").write_text(".from-before-an-upgrade{}")
    os.utime(tmp_path / "letters" / "main.0a.css", (1, 1))
    assert joined(tmp_path, ["letters/main.*.css", "last.css"]) == (
        "@font-face{src:url(letters/fonts/a.woff2)}"
        '.a{mask:url("data:image/svg+xml,%3Csvg (1)\'%3E")}.b{x:url(b.png)}.c{x:url(#c)}\n'
        ".d{x:url(d.png)}\n"
    )


def test_a_stylesheet_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no styles/theme\.css"):
        joined(tmp_path, ["styles/theme.css"])


@depends_on_small_book
def test_a_page_loads_the_one_stylesheet(published):
    pages = [*published.glob("book/*.html"), published / "search.html"]
    for page in pages:
        (address,) = [before or after for before, after in LINK.findall(page.read_text())]
        assert re.fullmatch(rf"(\.\./)?_static/{re.escape(NAME)}\?v=[0-9a-f]{{8}}", address), page
    assert len(pages) > 3


@depends_on_small_book
def test_it_holds_all_styles_in_their_order_and_a_third_of_the_theme(published):
    static = published / "_static"
    style = (static / NAME).read_text()
    ours = [(static / name).read_text() for name in STYLES]
    places = [style.index(text) for text in ours if "url(" not in text]
    assert places == sorted(places)
    assert len(places) > 5
    others = len(style) - sum(map(len, ours))
    assert 80_000 < others < sum(len(joined(static, [name])) for name in OTHER_STYLES) / 2.5
    assert "html[data-theme=dark]" in style
    assert 'html[data-theme="light"] .highlight' in style  # code's colours, of the theme as well
    assert ".bd-sidebar-primary" in style
    assert ".carousel-inner" not in style
    for address in re.findall(r"url\((?!data|\"|#)([^)]+)\)", style):
        assert (static / address.partition("?")[0]).exists() or "fontawesome" in address
