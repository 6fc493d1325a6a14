"""Styles that are not ours: what can be used stays, in its order, and nothing else."""

import pytest
from course_book.site.used_styles import used_rules, words_of

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
