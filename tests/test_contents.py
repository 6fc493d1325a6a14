"""Chapters and homework come in and go out of every place that lists them, and of nothing else."""

import importlib
import shutil
from pathlib import Path

import pytest
from course_book.directives.schedule import check_plan, read_plan

from course_lib import course_map as course_map_module
from scripts import contents, leave_out, own_chapter, own_homework

ROOT = Path(__file__).parent.parent
TOC = """root: book/intro
parts:
  - caption: Sequences
    chapters:
      - file: book/bleu
      - file: book/masking
  - caption: Pre-training
    chapters:
      - file: book/bert
  - caption: Beside the chapters
    chapters:
      - file: book/notation
"""
PLANS = """```{schedule}
masking bleu | hw07-bleu
bert
```

```{schedule}
bleu
masking bleu | hw07-bleu
```
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """What of the project these scripts read and change, where they may change it."""
    kept = [contents.TOC, contents.MAP, contents.PLANS, "README.md", "scripts/course_map.py"]
    kept += ["course_lib/__init__.py"]
    kept += [f"solutions/{path.name}" for path in (ROOT / "solutions").glob("hw*.py")]
    kept += [f"book/{path.name}" for path in (ROOT / "book").glob("*.md")]
    for name in dict.fromkeys(kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "tests" / "homework").mkdir(parents=True)
    return tmp_path


def rows(root: Path) -> list[tuple[str, ...]]:
    """The course's map as it is in a folder."""
    spec = importlib.util.spec_from_file_location("changed_map", root / contents.MAP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [tuple(row) for row in module.COURSE_MAP]


def first_plan(root: Path) -> list[str]:
    page = (root / contents.PLANS).read_text(encoding="utf-8")
    return page.partition("```{schedule}\n")[2].partition("\n```")[0].splitlines()


# ---- one text at a time ----


def test_a_chapter_comes_last_and_goes_with_its_part():
    longer = contents.with_chapter(TOC, "word-order")
    assert contents.chapters(longer) == ["bleu", "masking", "bert", "word-order"]
    assert contents.without_chapter(longer, "word-order") == TOC
    shorter = contents.without_chapter(TOC, "bert")
    assert "Pre-training" not in shorter
    assert contents.chapters(shorter) == ["bleu", "masking"]


def test_a_name_goes_from_all_plans_and_comes_into_the_first():
    assert contents.unplanned(contents.unplanned(PLANS, "bleu"), "hw07-bleu") == (
        "```{schedule}\nmasking\nbert\n```\n\n```{schedule}\nmasking\n```\n"
    )
    longer = contents.planned(PLANS, chapter="word-order", homework="hw09-angles")
    assert longer == PLANS.replace("\nbert\n", "\nbert word-order | hw09-angles\n")


@pytest.mark.parametrize(
    "name", ["", "Word-order", "word_order", "9-lives", "a/b", "-a", "a--b", "é"]
)
def test_what_can_be_no_file_label_and_link_is_no_name(name):
    with pytest.raises(SystemExit, match="small letters, digits and hyphens, as word-order"):
        contents.check_name(name)


# ---- a chapter and a homework of one's own ----


def test_a_chapter_is_begun_everywhere(root):
    page = own_chapter.begin_chapter("bag-of-words", root).read_text(encoding="utf-8")
    assert "(bag-of-words)=\n# Bag of words\n" in page
    assert not [old for old in ("word-order", "word_order", "Word order") if old in page]
    assert contents.chapters((root / "_toc.yml").read_text())[-1] == "bag-of-words"
    assert rows(root)[-1] == ("", "bag-of-words", None)
    assert "bag-of-words" in first_plan(root)[-1]
    assert "| [bag-of-words](book/bag-of-words.md) |  |  |" in (root / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("masking", r"book/masking.md is there already; nothing was written"),
        ("api-of-mine", "begins as a page that is no chapter does"),
        ("Bags", "small letters"),
    ],
)
def test_a_chapter_that_cannot_be_leaves_everything_as_it_was(root, name, words):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit, match=words):
        own_chapter.begin_chapter(name, root)
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_homework_is_begun_everywhere_and_its_plan_can_be_followed(root):
    assert own_homework.begin_homework("far-and-near", root) == "hw09-far-and-near"
    source = (root / "solutions" / "hw09-far-and-near.py").read_text(encoding="utf-8")
    assert source.startswith("# %% [markdown]\n# # Homework 9: Far and near\n")
    table = (root / "tests" / "homework" / "hw09_far_and_near.py").read_text(encoding="utf-8")
    assert table.startswith('"""The submissions of hw09:')
    assert rows(root)[-1] == ("", "language-models", "hw09-far-and-near")
    map_rows = [course_map_module.MapRow(*row) for row in rows(root)]
    check_plan(read_plan(first_plan(root)), map_rows)
    assert own_homework.begin_homework("hw12-angles", root) == "hw12-angles"
    assert own_homework.begin_homework("angles", root) == "hw13-angles"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hw03-angles", "hw03-angles: the number is taken, by hw03-self-attention"),
        ("Angles", "small letters"),
        ("hw10-", "small letters"),
    ],
)
def test_a_homework_that_cannot_be_leaves_everything_as_it_was(root, name, words):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit, match=words):
        own_homework.begin_homework(name, root)
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


# ---- leaving out ----


def test_a_chapter_is_left_out_and_links_to_it_are_words(root):
    leave_out.leave_out_chapter("image-captioning", root)
    assert "image-captioning" not in (root / "_toc.yml").read_text(encoding="utf-8")
    pages = {p.stem: p.read_text("utf-8") for p in (root / "book").glob("*.md")}
    assert not [name for name, text in pages.items() if "{doc}`image-captioning`" in text]
    assert (
        "*Pictures to sentences" in pages["glossary"] or "*Image captioning*" in pages["glossary"]
    )
    assert "{doc}`bleu`" in pages["training"]  # other links stay
    assert ("models.captioning", "image-captioning", None) in rows(root)


def test_a_homework_is_left_out_with_its_files(root):
    (root / "assignments" / "hw07-bleu").mkdir(parents=True)
    assert leave_out.leave_out_homework("hw07", root) == "hw07-bleu"
    assert not (root / "solutions" / "hw07-bleu.py").exists()
    assert not (root / "assignments" / "hw07-bleu").exists()
    assert ("metrics.bleu", "bleu", None) in rows(root)
    for name in (contents.PLANS, contents.MAP, "README.md"):
        assert "hw07-bleu" not in (root / name).read_text(encoding="utf-8"), name


def test_what_is_not_there_can_not_be_left_out(root):
    with pytest.raises(SystemExit, match=r"'blue' is no chapter of _toc.yml: language-models, "):
        leave_out.leave_out_chapter("blue", root)
    with pytest.raises(SystemExit, match=r"'hw77' is no homework of solutions/: hw01-"):
        leave_out.leave_out_homework("hw77", root)


def test_links_become_their_words_or_the_heading_they_led_to():
    words = leave_out.words_of(
        "(bleu)=\n# BLEU\n\n(clipping)=\n## Clipping words\n\n:label: eq-b\n"
    )
    page = (
        "{doc}`bleu` {ref}`so <clipping>` {ref}`clipping` {eq}`eq-b` {ref}`masks` {term}`clipping`"
    )
    assert leave_out.unlinked(page, words, "bleu") == (
        "*BLEU* *so* *Clipping words* *BLEU* {ref}`masks` {term}`clipping`"
    )
