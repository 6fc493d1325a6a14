"""The stylesheet of all pages: every style in its order, without rules that no page can use."""

import os
import re

import pytest
from course_book.site.offline import STYLES
from course_book.site.stylesheet import NAME, OTHER_STYLES, read_style, used_rules

from tests.book.small_book import depends_on_small_book

RULES = """/* a comment */
:root{--ink:black}
.card,.carousel .item{color:red}
a.card>b:hover,[data-x] *{margin:0}
.btn:not(.carousel,.item){top:0}
#sidebar.open{left:0}
@media (min-width:600px){.carousel{top:1px}}
@media print{.card{top:2px}.carousel{top:3px}}
@font-face{font-family:x;src:url(x.woff2)}
@keyframes turn{from{top:0}to{top:1px}}
"""


def test_rules_are_kept_by_the_classes_and_ids_in_use():
    words = {"card", "btn", "sidebar", "open"}
    expected = """:root{--ink:black}.card{color:red}a.card>b:hover,[data-x] *{margin:0}
.btn:not(.carousel,.item){top:0}#sidebar.open{left:0}@media print{.card{top:2px}}
@font-face{font-family:x;src:url(x.woff2)}@keyframes turn{from{top:0}to{top:1px}}"""
    assert used_rules(RULES, words) == expected.replace("\n", "")
    for missing in words:
        rules = used_rules(RULES, words - {missing})
        assert f".{missing}" not in rules
        assert f"#{missing}" not in rules


def test_fonts_are_addressed_from_the_stylesheet_and_the_newest_file_is_read(tmp_path):
    (tmp_path / "katex").mkdir()
    (tmp_path / "katex" / "main.1f.css").write_text("@font-face{src:url(fonts/a.woff2)}")
    (tmp_path / "katex" / "main.0a.css").write_text(".before-an-upgrade{}")
    os.utime(tmp_path / "katex" / "main.0a.css", (1, 1))
    style = read_style(tmp_path, "katex/main.*.css")
    assert style == "@font-face{src:url(katex/fonts/a.woff2)}\n"
    with pytest.raises(FileNotFoundError, match=r"has no styles/theme\.css"):
        read_style(tmp_path, "styles/theme.css")


@depends_on_small_book
def test_pages_load_one_stylesheet_with_all_styles_in_order(published):
    for page in [*published.glob("book/*.html"), published / "search.html"]:
        (link,) = re.findall(r'<link [^>]*rel="stylesheet"[^>]*>', page.read_text())
        assert re.search(rf'href="(\.\./)?_static/{re.escape(NAME)}\?v=[0-9a-f]{{8}}"', link), page
    static = published / "_static"
    style = (static / NAME).read_text()
    ours = [read_style(static, name) for name in STYLES]
    places = [style.index(text) for text in ours]
    assert places == sorted(places)
    others = len(style) - sum(map(len, ours))
    assert 80_000 < others < sum(len(read_style(static, name)) for name in OTHER_STYLES) / 2.5
    assert 'html[data-theme="light"] .highlight' in style
    assert ".bd-sidebar-primary" in style
    assert ".carousel-inner" not in style
    for address in re.findall(r"url\((?!data|\"|#)([^)]+)\)", style):
        assert (static / address.partition("?")[0]).exists() or "fontawesome" in address
