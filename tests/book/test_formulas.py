"""KaTeX at build time: the files that pages load are those of the version that renders."""

import re
from pathlib import Path

from course_book.formulas import _start_server
from sphinxcontrib import katex

VENDORED = Path(__file__).parents[2] / "book" / "_static" / "katex"


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
    process, connection = _start_server(tmp_path, timeout=30)
    connection.close()
    assert process.wait(timeout=30) == 0
