"""Statistics of checks over a class, compared with another class; and pairs of similar code."""

import dataclasses

import numpy as np
import pytest

from autograder.cli import class_results
from autograder.judging.results import Flag, FlagKind, Status, SubmissionResult
from autograder.reports.report import item_statistics, render_report
from autograder.reports.similar_code import render_similar
from tests.autograder.command_line import refused, run
from tests.autograder.conftest import notebook
from tests.autograder.graded_class import HOMEWORK, result, standings_of, store_results
from tests.autograder.reports.test_feedback import words_of

TESTS = {"double-shape", "double-values"}
HW = "hw03-self-attention"


def with_points(points: list[tuple[float, float]]) -> list[SubmissionResult]:
    """Return results, one for each pair: a student's points for the first and second check."""
    results = []
    for number, given in enumerate(points):
        made = result(f"s{number}", Status.PARTIAL, Status.PARTIAL)
        checks = [
            dataclasses.replace(check, score=score)
            for check, score in zip(made.checks, (*given, 0.0), strict=True)
        ]
        results.append(dataclasses.replace(made, checks=tuple(checks)))
    return results


def test_discrimination_is_the_correlation_with_the_rest():
    generator = np.random.default_rng(0)
    first = generator.integers(0, 2, 30)
    second = np.clip(first + generator.integers(0, 2, 30), 0, 2)
    found = item_statistics(with_points(list(zip(first, second, strict=True))), TESTS)
    correlation = np.corrcoef(first, second)[0, 1]
    assert 0.2 < correlation < 0.95
    assert found["double-shape"].discrimination == pytest.approx(correlation)
    assert found["double-shape"].difficulty == pytest.approx(first.mean())
    assert found["double-values"].difficulty == pytest.approx(second.mean() / 2)


def test_the_report_says_it_beside_the_class_before():
    now = with_points([(0, 2), (1, 0)] * 6)  # each student has one of the two
    before = with_points([(1, 1)] * 4)
    words = words_of(render_report(standings_of(now), HOMEWORK, before=before))
    assert "50 % of the points, 100 % in the class before; discrimination -1.00" in words
    assert "reached 67 % of the judge's points, this one 50 %; it had 4 submissions" in words
    alone = words_of(render_report(standings_of(now), HOMEWORK))
    assert "class before" not in alone


def test_the_command_compares(tmp_path, monkeypatch):
    for folder, points in (("now", (1, 0)), ("then", (0, 2))):
        store_results(tmp_path / folder, with_points([points] * 3))
    monkeypatch.setattr(class_results, "load_homework", lambda *given: HOMEWORK)
    command = ("report", "hw03", "--out", tmp_path / "now", "--compare")
    assert run(*command, tmp_path / "then").exit_code == 0
    words = words_of((tmp_path / "now" / "report.html").read_text())
    assert "0 % of the points, 100 % in the class before" in words
    assert "nothing holds no results" in refused(run(*command, tmp_path / "nothing"))


def copies(folder, *sources: str) -> list[SubmissionResult]:
    """Write a submission for each source of ``double``; return results flagged as similar."""
    names = tuple(f"s{number}" for number in range(len(sources)))
    flag = Flag(kind=FlagKind.SIMILAR, text="alike", students=names, cells=("double",))
    for name, text in zip(names, sources, strict=True):
        place = folder / name / HOMEWORK.id
        place.mkdir(parents=True)
        (place / f"{HOMEWORK.id}.ipynb").write_bytes(notebook(("double", text), ("why", "no")))
    return [result(name, flags=(flag,)) for name in names]


def test_similar_code_is_shown_side_by_side(tmp_path):
    results = copies(
        tmp_path, "def f(x):\n    y = 2 * x\n    return y", "def f(z):\n  y = 2 * x\n\n"
    )
    page = render_similar(results, tmp_path)
    assert "<mark>    y = 2 * x</mark>" in page
    assert "<mark>  y = 2 * x</mark>" in page
    assert page.count("<mark>") == 2
    assert page.count("<figure>") == 2
    assert page.count('<section class="card">') == 1  # once for the two
    assert render_similar([result("ada")], tmp_path) == ""
    assert "similar.html" in render_report(standings_of(results), HOMEWORK)
    assert "similar.html" not in render_report(standings_of([result("ada")]), HOMEWORK)


def test_a_notebook_that_has_gone_leaves_an_empty_place(tmp_path):
    results = copies(tmp_path, "a = 1", "a = 1", "a = 1")
    (tmp_path / "s1" / HOMEWORK.id / f"{HOMEWORK.id}.ipynb").unlink()
    (tmp_path / "s2" / HOMEWORK.id / f"{HOMEWORK.id}.ipynb").write_text("{")
    assert render_similar(results, tmp_path).count("<figure>") == 3
