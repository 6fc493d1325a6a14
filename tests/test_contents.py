"""Adding and removing chapters and homework changes every list of them, and nothing else."""

import importlib
import shutil
from pathlib import Path

import pytest
from course_book.directives.schedule import check_plan, read_plan

from course_lib import course_map as course_map_module
from scripts import contents, course_map, leave_out, own_chapter, own_homework

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


MAP = """from typing import NamedTuple


class MapRow(NamedTuple):
    module: str
    chapter: str
    homework: str | None = None


COURSE_MAP = (
    MapRow("models.ngram", "language-models"),
    MapRow("metrics.bleu", "bleu", "hw07-bleu"),
    MapRow("layers.masks", "masking", "hw03-masks"),
    MapRow("models.bert", "bert"),
)
"""
FILES = {
    contents.TOC: TOC.replace(
        "      - file: book/bleu\n", "      - file: book/language-models\n      - file: book/bleu\n"
    ),
    contents.MAP: MAP,
    contents.PLANS: PLANS.replace(
        "masking bleu | hw07-bleu\nbert",
        "language-models\nmasking bleu | hw03-masks hw07-bleu\nbert",
    ),
    "README.md": f"# A course\n\n{course_map.BEGIN}\n{course_map.END}\n",
    "course_lib/__init__.py": "",
    "book/bleu.md": "(bleu)=\n# BLEU\n\n(the-score)=\n## The score\n",
    "book/masking.md": "(masking)=\n# Masking\n\nAs {doc}`bleu` and {doc}`bert` do.\n",
    "book/glossary.md": "{ref}`BLEU <the-score>`, {term}`bleu`\n",
    "solutions/hw03-masks.py": "",
    "solutions/hw07-bleu.py": "",
    "assignments/hw07-bleu/hw07-bleu.ipynb": "{}",
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The folder of a small course that the scripts may change."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    shutil.copyfile(ROOT / "scripts" / "course_map.py", tmp_path / "scripts" / "course_map.py")
    return tmp_path


def rows(root: Path) -> list[tuple[str, ...]]:
    """Return the rows of the course map of the course in a folder."""
    spec = importlib.util.spec_from_file_location("changed_map", root / contents.MAP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [tuple(row) for row in module.COURSE_MAP]


def first_plan(root: Path) -> list[str]:
    """Return the lines of the first plan of the course in a folder, a week each."""
    page = (root / contents.PLANS).read_text(encoding="utf-8")
    return page.partition("```{schedule}\n")[2].partition("\n```")[0].splitlines()


# ---- one text at a time ----


def test_new_chapter_is_last_and_removing_it_removes_its_part():
    longer = contents.with_chapter(TOC, "word-order")
    assert contents.chapters(longer) == ["bleu", "masking", "bert", "word-order"]
    assert contents.without_chapter(longer, "word-order") == TOC
    shorter = contents.without_chapter(TOC, "bert")
    assert "Pre-training" not in shorter
    assert contents.chapters(shorter) == ["bleu", "masking"]


def test_name_is_added_to_the_first_plan_and_removed_from_all():
    assert contents.unplanned(contents.unplanned(PLANS, "bleu"), "hw07-bleu") == (
        "```{schedule}\nmasking\nbert\n```\n\n```{schedule}\nmasking\n```\n"
    )
    longer = contents.planned(PLANS, chapter="word-order", homework="hw09-angles")
    assert longer == PLANS.replace("\nbert\n", "\nbert word-order | hw09-angles\n")


@pytest.mark.parametrize(
    "name", ["", "Word-order", "word_order", "9-lives", "a/b", "-a", "a--b", "é"]
)
def test_name_that_cannot_be_a_file_label_and_link_is_rejected(name):
    with pytest.raises(SystemExit, match="small letters, digits and hyphens, as word-order"):
        contents.check_name(name)


def test_scripts_understand_the_files_of_this_course():
    toc, rows, plans = (
        (ROOT / name).read_text("utf-8") for name in (contents.TOC, contents.MAP, contents.PLANS)
    )
    changed = contents.with_chapter(toc, "bag-of-words")
    assert contents.chapters(changed) == [*contents.chapters(toc), "bag-of-words"]
    assert 'MapRow("", "bag-of-words"),\n)\n' in contents.with_row(rows, "bag-of-words")
    planned = contents.planned(plans, chapter="bag-of-words")
    assert len(planned) == len(plans) + len(" bag-of-words")
    assert contents.unplanned(planned, "bag-of-words") == plans


# ---- a chapter and a homework of one's own ----


def test_new_chapter_is_added_to_all_lists(root):
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
def test_rejected_chapter_changes_no_file(root, name, words):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit, match=words):
        own_chapter.begin_chapter(name, root)
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_new_homework_is_added_to_all_lists_and_its_commands_work(root):
    assert own_homework.begin_homework("far-and-near", root) == "hw08-far-and-near"
    source = (root / "solutions" / "hw08-far-and-near.py").read_text(encoding="utf-8")
    assert source.startswith("# %% [markdown]\n# # Homework 8: Far and near\n")
    assert rows(root)[-1] == ("", "language-models", "hw08-far-and-near")
    map_rows = [course_map_module.MapRow(*row) for row in rows(root)]
    check_plan(read_plan(first_plan(root)), map_rows)
    assert own_homework.begin_homework("hw12-angles", root) == "hw12-angles"
    assert own_homework.begin_homework("angles", root) == "hw13-angles"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hw03-angles", "hw03-angles: the number is taken, by hw03-masks"),
        ("Angles", "small letters"),
        ("hw10-", "small letters"),
    ],
)
def test_rejected_homework_changes_no_file(root, name, words):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit, match=words):
        own_homework.begin_homework(name, root)
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


# ---- leaving out ----


def test_removing_a_chapter_turns_links_to_it_into_text(root):
    leave_out.leave_out_chapter("bleu", root)
    assert "bleu" not in (root / contents.TOC).read_text(encoding="utf-8")
    assert first_plan(root) == ["language-models", "masking | hw03-masks hw07-bleu", "bert"]
    pages = {page.stem: page.read_text("utf-8") for page in (root / "book").glob("*.md")}
    assert pages["masking"].endswith("As *BLEU* and {doc}`bert` do.\n")
    assert pages["glossary"] == "*BLEU*, {term}`bleu`\n"
    assert pages["bleu"] == FILES["book/bleu.md"]
    assert ("metrics.bleu", "bleu", "hw07-bleu") in rows(root)


def test_removing_a_homework_removes_its_files(root):
    assert leave_out.leave_out_homework("hw07", root) == "hw07-bleu"
    assert not (root / "solutions" / "hw07-bleu.py").exists()
    assert not (root / "assignments" / "hw07-bleu").exists()
    assert ("metrics.bleu", "bleu", None) in rows(root)
    for name in (contents.PLANS, contents.MAP, "README.md"):
        assert "hw07-bleu" not in (root / name).read_text(encoding="utf-8"), name


def test_removing_an_unknown_name_is_rejected(root):
    with pytest.raises(
        SystemExit, match=r"'blue' is no chapter of _toc.yml: language-models, bleu, "
    ):
        leave_out.leave_out_chapter("blue", root)
    with pytest.raises(SystemExit, match=r"'hw77' is no homework of solutions/: hw03-"):
        leave_out.leave_out_homework("hw77", root)


def test_nothing_is_removed_if_one_of_two_names_is_unknown(root, monkeypatch):
    monkeypatch.setattr(leave_out, "ROOT", root)
    with pytest.raises(SystemExit, match="'blue' is no chapter"):
        leave_out.main("blue", "hw07")
    with pytest.raises(SystemExit, match="'hw77' is no homework"):
        leave_out.main("bleu", "hw77")
    assert (root / "solutions" / "hw07-bleu.py").exists()
    assert "bleu" in (root / contents.TOC).read_text(encoding="utf-8")


def test_removed_link_becomes_its_text_or_heading():
    words = leave_out.words_of(
        "(bleu)=\n# BLEU\n\n(clipping)=\n## Clipping words\n\n:label: eq-b\n"
    )
    page = (
        "{doc}`bleu` {ref}`so <clipping>` {ref}`clipping` {eq}`eq-b` {ref}`masks` {term}`clipping`"
    )
    assert leave_out.unlinked(page, words, "bleu") == (
        "*BLEU* *so* *Clipping words* *BLEU* {ref}`masks` {term}`clipping`"
    )
