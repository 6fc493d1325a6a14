"""Chapters run again exactly when something changes that their outputs depend on."""

import subprocess
import sys
from pathlib import Path

import pytest
from course_book.execution import library_digest

ROOT = Path(__file__).parents[2]
PAGE = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---
# Page

```{code-cell} python
import sys
from course_lib.answer import ANSWER
print("the answer is", ANSWER, "by", sys.prefix)
```
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "answer.py").write_text("ANSWER = 41\n")
    (tmp_path / "index.md").write_text(PAGE)
    return tmp_path


def build(book: Path) -> tuple[str, str]:
    options = [
        "extensions=myst_nb,sphinxcontrib.katex,course_book",
        "html_math_renderer=katex",
        "katex_prerender=1",
        "nb_execution_mode=cache",
        "nb_execution_raise_on_error=1",
        "exclude_patterns=out",
    ]
    flags = [flag for option in options for flag in ("-D", option)]
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, str(ROOT / "book" / "_ext")]
    built = subprocess.run(
        [*command, "-C", *flags, "-d", "out/doctrees", ".", "out/html"],
        cwd=book,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    return (book / "out" / "html" / "index.html").read_text(), built.stdout + built.stderr


def test_a_change_of_the_library_runs_the_chapter_again(book):
    html, log = build(book)
    assert f"the answer is 41 by {sys.prefix}" in html
    assert "Executing notebook" in log

    _, log = build(book)
    assert "Executing notebook" not in log

    (book / "course_lib" / "answer.py").write_text("ANSWER = 42\n")
    html, log = build(book)
    assert "the answer is 42" in html
    assert "Executing notebook" in log
    assert len(list((book / "out" / "chapter-outputs").iterdir())) == 1


def test_the_digest_knows_names_and_contents(tmp_path):
    library, runs = tmp_path / "course_lib", tmp_path / "runs"
    library.mkdir()
    first = library / "one.py"
    first.write_text("x = 1")
    digests = [library_digest(library, runs)]
    first.write_text("x = 2")
    digests.append(library_digest(library, runs))
    first.rename(library / "two.py")
    digests.append(library_digest(library, runs))
    runs.mkdir()
    (runs / "summary.json").write_text("{}")
    digests.append(library_digest(library, runs))
    (library / "__pycache__").mkdir()
    (library / "__pycache__" / "two.cpython-311.pyc").write_bytes(b"x")
    assert len(set(digests)) == 4
    assert library_digest(library, runs) == digests[-1]


def test_a_missing_library_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="course_lib not found at"):
        library_digest(tmp_path / "course_lib", tmp_path / "runs")


def test_a_change_of_styles_or_scripts_reaches_the_built_site(site):
    """Sphinx copies them only if a page has changed, too; our digest makes it do so."""
    source = ROOT / "book" / "_static"
    ours = [file for file in source.rglob("*") if file.is_file()]
    assert len(ours) > 20
    for file in ours:
        built = site / "_static" / file.relative_to(source)
        assert built.read_bytes() == file.read_bytes(), file
