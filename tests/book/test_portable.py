"""Does Jupyter Book 2's parser read every page, and report nothing new?"""

import pytest

from scripts import portable


@pytest.mark.depends_on("autograder", "book", "course_lib", "scripts", "_config.yml", "_toc.yml")
@pytest.mark.proof
def test_nothing_new_is_lost_in_jupyter_book_2(capsys):
    assert portable.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["Unknown directive: nowhere", "Cross reference target was not found: term-attention"]
)
def test_new_finding_is_printed_with_its_place(monkeypatch, capsys, text):
    said = f"⚠️  book/bert.md:7 {text}\n⚠️  book/bert.md:8 unknown directive: quiz\n"
    monkeypatch.setattr(portable, "parse", lambda folder: said)
    assert portable.main() == 1
    printed = capsys.readouterr().out
    assert f"book/bert.md:7: {text}" in printed
    assert "book/bert.md:8" not in printed
