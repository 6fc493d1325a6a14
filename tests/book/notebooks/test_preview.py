"""A preview runs and writes one chapter, and leaves the built book as it is."""

from pathlib import Path

import pytest

from scripts.preview_chapter import find_chapter
from tests.book.builds import start_sphinx
from tests.book.small_book import WITH_CODE

ROOT = Path(__file__).parents[3]
PAGE = """# {title}

See {{doc}}`{other}`.

```{{code-cell}} python
from myst_nb import glue
open("{title}.ran", "a").write("once ")
glue("answer", 6 * 7)
```

The answer of {title} is {{glue:text}}`answer`.
"""


def build(book: Path, *arguments: str) -> str:
    """Run Sphinx with these arguments in a book, and return its output."""
    options = {"nb_execution_mode": "cache", "exclude_patterns": "out,course_lib"}
    status, log = start_sphinx("-W", "--keep-going", *arguments, folder=book, **options).wait()
    assert status == 0, log
    return log


def contents(out: Path) -> dict[Path, bytes]:
    """Return the contents of all files of the built book and of the outputs of ``other``."""
    folders = (out / "trees", out / "html", *out.glob("chapter-outputs/other"))
    assert len(folders) == 3
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return {file: file.read_bytes() for file in files}


@pytest.mark.depends_on("book/_ext")
def test_only_the_previewed_chapter_is_run_and_written(tmp_path):
    (tmp_path / "course_lib").mkdir()
    index, out = tmp_path / "index.md", tmp_path / "out"
    toctree = "\n```{toctree}\nother\n```\n"
    index.write_text(WITH_CODE + PAGE.format(title="Mine", other="other") + toctree)
    (tmp_path / "other.md").write_text(WITH_CODE + PAGE.format(title="Another", other="index"))
    preview = ["-D", "course_preview=index", "-d", "out/preview-trees", ".", "out/preview"]
    build(tmp_path, *preview, "index.md")
    page = (out / "preview" / "index.html").read_text()
    assert "The answer of Mine is" in page
    assert "42" in page
    assert ">Another</span>" in page  # the link has the other's title
    assert (tmp_path / "Mine.ran").read_text() == "once "
    assert not (tmp_path / "Another.ran").exists()
    assert not (out / "preview" / "other.html").exists()

    build(tmp_path, "-d", "out/trees", ".", "out/html")
    assert (tmp_path / "Mine.ran").read_text() == "once "  # the preview's outputs are cached
    assert (tmp_path / "Another.ran").read_text() == "once "

    built = contents(out)
    index.write_text(index.read_text().replace("Mine is", "Mine was"))
    log = build(tmp_path, *preview, "index.md")
    assert "reading sources... [100%] index" in log
    assert "other" not in log
    assert contents(out) == built


def test_a_chapter_is_found_by_its_name_or_its_file():
    for name in ("decoding", "decoding.md", "book/decoding.md"):
        assert find_chapter(name, ROOT) == "book/decoding"
    with pytest.raises(SystemExit, match=r"^'decodign' is not in _toc\.yml, which has: intro, la"):
        find_chapter("decodign", ROOT)
