"""Listings without the elements that change nothing."""

from course_book.site.lean_listings import without_plain_spans


def test_only_elements_without_a_colour_of_their_own_are_unwrapped():
    code = '<span class="k">def</span><span class="w"> </span><span class="nf">f</span>'
    code += '<span class="p">(</span><span class="n">x</span><span class="p">):</span>'
    html = f'<span class="n">a</span><pre>{code}\n</pre><span class="p">b</span>'
    expected = '<span class="k">def</span> <span class="nf">f</span>(x):\n'
    assert without_plain_spans(html) == (
        f'<span class="n">a</span><pre>{expected}</pre><span class="p">b</span>'
    )
