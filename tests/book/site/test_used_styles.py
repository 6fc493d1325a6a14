"""The theme's styles: what can be used stays, in its order, and nothing else."""

import pytest
from course_book.site.used_styles import STYLES as THEME_STYLES
from course_book.site.used_styles import used_rules, words_of

from tests.book.small_book import depends_on_small_book

STYLES = """/* a comment */
:root{--ink:black}
.card,.carousel .item{color:red}
a.card>b:hover,[data-x] *{margin:0}
.btn:not(.carousel){top:0}
#sidebar.open{left:0}
@media (min-width:600px){.carousel{top:1px}}
@media print{.card{top:2px}.carousel{top:3px}}
@font-face{font-family:x;src:url(x.woff2)}
@keyframes turn{from{top:0}to{top:1px}}
"""


def test_rules_are_kept_by_the_classes_and_ids_that_occur():
    pages = ['<p class="card btn">a <b>word</b></p>', 'side.id = "sidebar"; add("open")']
    expected = """:root{--ink:black}.card{color:red}a.card>b:hover,[data-x] *{margin:0}
.btn:not(.carousel){top:0}#sidebar.open{left:0}@media print{.card{top:2px}}
@font-face{font-family:x;src:url(x.woff2)}@keyframes turn{from{top:0}to{top:1px}}"""
    words = words_of(pages)
    assert used_rules(STYLES, words) == expected.replace("\n", "")
    assert used_rules(used_rules(STYLES, words), words) == used_rules(STYLES, words)


@pytest.mark.parametrize("missing", ["card", "btn", "sidebar", "open"])
def test_a_class_that_occurs_nowhere_takes_its_rules_along(missing):
    words = {"card", "btn", "sidebar", "open", "carousel", "item"}
    rules = used_rules(STYLES, words - {missing})
    assert f".{missing}" not in rules
    assert f"#{missing}" not in rules
    assert len(rules) < len(used_rules(STYLES, words))


@depends_on_small_book
def test_the_book_loads_a_third_of_the_theme_at_most(published):
    static = published / "_static"
    sizes = {name: len((static / name).read_text()) for name in THEME_STYLES}
    assert 40_000 < sizes["styles/pydata-sphinx-theme.css"] < 130_000, sizes
    theme = (static / "styles/pydata-sphinx-theme.css").read_text()
    assert "html[data-theme=dark]" in theme
    assert ".bd-sidebar-primary" in theme
    assert ".carousel-inner" not in theme
