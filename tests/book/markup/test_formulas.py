"""KaTeX at build time: the files that pages load are those of the version that renders."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from course_book.markup.formulas import _start_server
from sphinxcontrib import katex

VENDORED = Path(__file__).parents[3] / "book" / "_static" / "katex"


def test_style_and_renderer_are_of_one_version():
    style = (VENDORED / "katex.min.css").read_text()
    assert f'content:"{katex.katex_version}"' in style
    assert "MIT License" in (VENDORED / "LICENSE").read_text()


def test_every_font_of_the_style_is_here_and_no_other():
    style = (VENDORED / "katex.min.css").read_text()
    named = set(re.findall(r"url\(([^)]+)\)", style))
    assert named == {f"fonts/{font.name}" for font in (VENDORED / "fonts").iterdir()}


def test_connects_to_a_server_that_is_slow_to_listen(tmp_path, monkeypatch):
    late = (
        "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); "
        "time.sleep(0.3); s.listen(); s.accept()"
    )

    def command(socket):
        return ["python3", "-c", late, str(socket)]

    monkeypatch.setattr(katex.KaTeXServer, "build_command", staticmethod(command))
    process, connection = _start_server(tmp_path, timeout=300)
    connection.close()
    assert process.wait(timeout=300) == 0


def test_a_formula_is_joined_to_what_belongs_to_it_alone(build_page):
    html = build_page("# Page\n\nAn ($n$), an $n$-gram; $n$ **words**, the $m$th, $k$.\n").html
    page = BeautifulSoup(html, "lxml").select_one("section p")
    for formula in page.select("span.math"):
        formula.replace_with("x")
    assert [joined.text for joined in page.select(".course-joined")] == ["(x),", "x-", "xth", "x."]
    assert page.text == "An (x), an x-gram; x words, the xth, x."


def _breaks_around(page, width):
    """Return whether a line ends after the bracket, within the formula, before the comma."""
    return page.evaluate(
        """width => {
          const box = document.querySelector("section p");
          box.style.width = `${width}px`;
          const formula = box.querySelector(".math");
          const bases = [...box.querySelectorAll(".base")];
          const [first, second] = bases.map((base) => base.getBoundingClientRect());
          const place = (text, sign) => {
            const range = document.createRange();
            range.setStart(text, text.data.lastIndexOf(sign));
            range.setEnd(text, text.data.lastIndexOf(sign) + 1);
            return range.getBoundingClientRect();
          };
          const bracket = place(formula.previousSibling, "(");
          const comma = place(formula.nextSibling, ",");
          const inOrder = [bracket, first, second, comma];
          return inOrder.slice(1).map((part, i) => inOrder[i].right > part.left + 1);
        }""",
        width,
    )


@pytest.mark.browser
def test_lines_break_within_a_formula_but_not_before_its_comma(build_page, chromium):
    page = chromium.new_page()
    page.set_content(build_page("# Page\n\nWe begin with ($x+yyyy$, and go on.\n").html)
    for style in ("katex/katex.min.css", "css/typography.css"):
        page.add_style_tag(content=(VENDORED.parent / style).read_text())
        breaks = [_breaks_around(page, width) for width in range(60, 260, 2)]
        without_ours = style.startswith("katex")  # as it would be without the rule
        assert [any(sides) for sides in zip(*breaks, strict=True)] == [
            without_ours, True, without_ours,
        ]  # fmt: skip
    page.close()
