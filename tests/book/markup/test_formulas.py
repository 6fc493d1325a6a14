"""Formulas: KaTeX's files are of one version, and lines break in the right places."""

import re
from pathlib import Path

import pytest
from course_book.markup.formulas import _start_server
from sphinxcontrib import katex

VENDORED = Path(__file__).parents[3] / "book" / "_static" / "katex"


def test_style_fonts_and_renderer_are_of_one_version():
    style = (VENDORED / "katex.min.css").read_text()
    assert f'content:"{katex.katex_version}"' in style
    assert "MIT License" in (VENDORED / "LICENSE").read_text()
    named = set(re.findall(r"url\(([^)]+)\)", style))
    assert named == {f"fonts/{font.name}" for font in (VENDORED / "fonts").iterdir()}


def test_a_server_that_is_slow_to_listen_is_waited_for(tmp_path, monkeypatch):
    late = (
        "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); "
        "time.sleep(0.3); s.listen(); s.accept()"
    )
    command = staticmethod(lambda socket: ["python3", "-c", late, str(socket)])
    monkeypatch.setattr(katex.KaTeXServer, "build_command", command)
    process, connection = _start_server(tmp_path, timeout=300)
    connection.close()
    assert process.wait(timeout=300) == 0


def test_a_formula_is_joined_to_its_neighbours_without_a_space(build_page):
    built = build_page("# Page\n\nAn ($n$), an $n$-gram; $n$ **words**, the $m$th, $k$.\n")
    page = built.page.select_one("section p")
    for formula in page.select("span.math"):
        formula.replace_with("x")
    assert [joined.text for joined in page.select(".course-joined")] == ["(x),", "x-", "xth", "x."]
    assert page.text == "An (x), an x-gram; x words, the xth, x."


BREAKS = """width => {
  const box = document.querySelector("section p");
  box.style.width = `${width}px`;
  const formula = box.querySelector(".math");
  const [first, second] = [...box.querySelectorAll(".base")].map((b) => b.getBoundingClientRect());
  const place = (text, sign) => {
    const range = document.createRange();
    range.setStart(text, text.data.lastIndexOf(sign));
    range.setEnd(text, text.data.lastIndexOf(sign) + 1);
    return range.getBoundingClientRect();
  };
  const [before, after] = [place(formula.previousSibling, "("), place(formula.nextSibling, ",")];
  const parts = [before, first, second, after];
  return parts.slice(1).map((part, i) => parts[i].right > part.left + 1);
}"""


@pytest.mark.browser
def test_lines_break_within_a_formula_but_not_before_its_comma(build_page, chromium):
    page = chromium.new_page()
    page.set_content(build_page("# Page\n\nWe begin with ($x+yyyy$, and go on.\n").html)
    for style in ("katex/katex.min.css", "css/typography.css"):
        page.add_style_tag(content=(VENDORED.parent / style).read_text())
    breaks = [page.evaluate(BREAKS, width) for width in range(60, 260, 2)]
    bracket, within, comma = (any(sides) for sides in zip(*breaks, strict=True))
    assert (bracket, within, comma) == (False, True, False)
    page.close()
