"""A preview runs and writes one chapter, whatever the others are like, and harms no built book."""

from pathlib import Path

import pytest

from scripts.preview_chapter import find_chapter
from tests.book import builds

ROOT = Path(__file__).parents[3]
PAGE = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---
# {title}

See {{doc}}`{other}`.

```{{code-cell}} python
from myst_nb import glue
open("{title}.ran", "a").write("once ")
glue("answer", 6 * 7)
```

The answer of {title} is {{glue:text}}`answer`.
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "course_lib").mkdir()
    contents = "\n```{toctree}\nother\n```\n"
    (tmp_path / "index.md").write_text(PAGE.format(title="Mine", other="other") + contents)
    (tmp_path / "other.md").write_text(PAGE.format(title="Another", other="index"))
    return tmp_path


def build(book: Path, *arguments: str) -> str:
    options = [
        *("extensions=myst_nb,sphinxcontrib.katex,course_book", "nb_execution_mode=cache"),
        *("html_math_renderer=katex", "katex_prerender=1", "exclude_patterns=out,course_lib"),
    ]
    flags = [flag for option in options for flag in ("-D", option)]
    status, log = builds.build(
        "sphinx", "-C", "-W", "--keep-going", *flags, *arguments, folder=book
    )
    assert status == 0, log
    return log


def contents(out: Path) -> dict[Path, bytes]:
    """All that there is of the book itself and of the other chapter's outputs."""
    folders = (out / "trees", out / "html", *out.glob("chapter-outputs/other"))
    assert len(folders) == 3
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return {file: file.read_bytes() for file in files}


@pytest.mark.depends_on("book/_ext")
def test_one_chapter_is_run_and_written_and_others_need_not_even_run(book):
    """The other's code has changed, so a book would run it, and without it an answer is missing."""
    preview = ["-D", "course_preview=index", "-d", "out/preview-trees", ".", "out/preview"]
    build(book, *preview, "index.md")
    page = (book / "out" / "preview" / "index.html").read_text()
    assert "The answer of Mine is" in page
    assert "42" in page
    assert ">Another</span>" in page  # the link says the other's title, and so knows the page
    assert (book / "Mine.ran").read_text() == "once "
    assert not (book / "Another.ran").exists()
    assert not (book / "out" / "preview" / "other.html").exists()

    build(book, "-d", "out/trees", ".", "out/html")
    assert (book / "Mine.ran").read_text() == "once "  # found what the preview has computed
    assert (book / "Another.ran").read_text() == "once "

    built = contents(book / "out")
    (book / "index.md").write_text((book / "index.md").read_text().replace("Mine is", "Mine was"))
    log = build(book, *preview, "index.md")
    assert "reading sources... [100%] index" in log
    assert "other" not in log
    assert contents(book / "out") == built  # whose outputs outlived the preview


@pytest.mark.parametrize("name", ["decoding", "decoding.md", "book/decoding.md"])
def test_a_chapter_is_found_by_its_name_or_its_file(name):
    assert find_chapter(name, ROOT) == "book/decoding"


def test_no_chapter_is_told_with_those_there_are():
    with pytest.raises(
        SystemExit, match=r"^'decodign' is not in _toc\.yml, which has: intro, lang"
    ):
        find_chapter("decodign", ROOT)
