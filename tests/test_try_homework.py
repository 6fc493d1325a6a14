"""Trying a homework before its release: its solution passes, and its links to the book exist."""

from pathlib import Path

import pytest

from autograder.homework_source.homework import CellKind
from autograder.homework_source.source import read_source
from scripts import try_homework

ROOT = Path(__file__).parent.parent
HOMEWORKS = sorted(path.stem for path in (ROOT / "solutions").glob("hw*.py"))


@pytest.mark.parametrize("homework", HOMEWORKS)
def test_every_section_that_homework_names_is_in_the_book(homework: str) -> None:
    source = (ROOT / "solutions" / f"{homework}.py").read_text(encoding="utf-8")
    assert 'read="' in source
    assert try_homework.missing_places(source, ROOT) == []


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ('# %% test="a-b" read="masking#no-such-place"', ["masking#no-such-place"]),
        ('# %% test="a-b" read="no-chapter#masking"', ["no-chapter#masking"]),
        ("# see [there](book:no-chapter)", ["no-chapter"]),
        ("# see [there](book:masking#Typo_1)", ["masking#Typo_1"]),
        ('# [x](book:masking)\n# %% test="a-b" read="masking#masking"', []),
    ],
)
def test_missing_section_is_named(source: str, missing: list[str]) -> None:
    assert try_homework.missing_places(source, ROOT) == missing


def test_chapter_outside_the_contents_is_missing(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "masking.md").write_text("(masking)=\n# Masking\n", encoding="utf-8")
    (tmp_path / "_toc.yml").write_text("- file: book/intro\n", encoding="utf-8")
    assert try_homework.missing_places('read="masking#masking"', tmp_path) == ["masking#masking"]


def test_failed_checks_are_named_with_their_messages() -> None:
    told = {"one": "pass", "two": "fail", "three": "manual", "four": "error"}
    rows = [{"check": name, "status": how, "message": f"{name}!"} for name, how in told.items()]
    assert try_homework.lost_checks(rows) == ["two: two!", "four: four!"]


@pytest.mark.parametrize("status", ["pass", "fail"])
def test_solution_that_fails_its_tests_is_an_error(status, monkeypatch, capsys) -> None:
    rows = [{"check": "mask-shape", "status": status, "message": "not so"}]
    monkeypatch.setattr(try_homework, "grade_solution", lambda homework: rows)
    if status == "pass":
        try_homework.main("hw03")
        assert "hw03-self-attention: its own solution passes" in capsys.readouterr().out
        return
    with pytest.raises(SystemExit, match="Fix solutions/"):
        try_homework.main("hw03")
    assert "its own solution loses:\n  mask-shape: not so" in capsys.readouterr().err


def test_missing_time_or_points_give_an_error_with_an_example() -> None:
    source = (ROOT / "solutions" / "hw03-self-attention.py").read_text(encoding="utf-8")
    assert try_homework.table_errors("hw03-self-attention", source) == []
    untimed = source.replace("**Time:**", "Hurry:")
    (expected,) = try_homework.table_errors("hw03-self-attention", untimed)
    assert "'# **Time:** about two hours'" in expected


def test_homework_on_contributors_page_is_the_complete_template() -> None:
    page = (ROOT / "book" / "for-contributors.md").read_text(encoding="utf-8")
    template = "scripts/templates/hw10-angles.py"
    assert f"```{{literalinclude}} ../{template}\n" in page
    cells = read_source(ROOT / template)
    assert {cell.kind for cell in cells} == {*CellKind} - {CellKind.FETCH}
    assert sum(cell.points for cell in cells) == 8
    source = (ROOT / template).read_text(encoding="utf-8")
    assert try_homework.missing_places(source, ROOT) == []
    assert try_homework.table_errors("hw10-angles", source) == []


def test_unknown_homework_is_rejected_by_name() -> None:
    with pytest.raises(SystemExit, match="'hw77' is no homework of solutions/: hw01-"):
        try_homework.main("hw77")
