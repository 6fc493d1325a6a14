"""Corrections to the HTML of pages."""

from course_book.site.page_html import LeanFormatter
from pygments import highlight
from pygments.lexers import PythonLexer


def test_plain_tokens_have_no_element_of_their_own():
    html = highlight("def f(x):", PythonLexer(), LeanFormatter(nowrap=True))
    assert html.strip() == '<span class="k">def</span> <span class="nf">f</span>(x):'
