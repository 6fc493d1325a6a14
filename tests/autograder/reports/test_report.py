import dataclasses
import os
import re
from urllib.parse import unquote_to_bytes

import pytest

from autograder.homework_source.homework import Variant
from autograder.judging.results import Status
from autograder.reports.feedback import feedback_path
from autograder.reports.report import render_report
from tests.autograder.graded_class import HOMEWORK, make_class, result, standings_of
from tests.autograder.reports.offline_browser import opened
from tests.autograder.reports.test_feedback import Outline, words_of


def test_says_how_the_class_did():
    words = words_of(render_report(standings_of(make_class()), HOMEWORK))
    assert "submissions 9" in words
    assert "median points 1 of 3" in words
    assert "handed in nothing" not in words
    assert "handed in what can’t be read 1" in words
    assert "those of the 8 who handed in something that can be read." in words
    assert "with full marks 1" in words
    assert "crash, time-out or invalid 3" in words
    assert "flagged 1" in words
    assert "sandboxed all" in words
    assert "Another 3 points for written answers wait" in words


def test_checks_stand_by_failure_rate():
    words = words_of(render_report(standings_of(make_class()), HOMEWORK))
    hardest = "It doubles double-values 88 % did not pass 1 partial, 3 failed, 1 error, 1 time-out"
    easier = "The shape stays double-shape 25 % did not pass 1 failed, 1 error"
    assert words.index(hardest) < words.index(easier)
    assert "why did not pass" not in words


def test_mistakes_are_grouped_by_feedback():
    page = render_report(standings_of(make_class()), HOMEWORK)
    section = page[page.index('id="mistakes"') : page.index("</main>")]
    words = words_of(section)
    assert re.search(r"2 Multiply by two\. double-values ben cho", words)
    assert re.search(r"1 no tensor double-shape, double-values hal", words)
    assert words.index("Multiply by two.") < words.index("no tensor")


def test_answers_without_a_variant_are_marked():
    told = Variant(
        exercise="double", name="thrice", source="3", lost=("f",), hint="Multiply by two."
    )
    made = [result("ada", Status.FAIL, hint=told.hint), result("ben", Status.FAIL, message="odd")]
    made += [result("cho", Status.TIMEOUT, message="too long")]
    page = render_report(standings_of(made), dataclasses.replace(HOMEWORK, variants=(told,)))
    words = words_of(page[page.index('id="mistakes"') :])
    assert words.count("(no variant)") == 1
    assert "odd (no variant)" in words
    assert "no variant" not in render_report(standings_of(made), HOMEWORK)


def test_students_who_missed_the_same_checks_are_grouped():
    both = (Status.FAIL, Status.ERROR)
    made = [result("ada"), result("ben", *both), result("cho", *both)]
    made += [result("dan", Status.FAIL), result("eve", Status.PARTIAL, Status.FAIL)]
    page = render_report(standings_of(made), HOMEWORK)
    words = words_of(page[page.index('id="clusters"') : page.index('id="marks"')])
    assert re.search(r"3 ben cho eve double-shape, double-values", words), words
    assert "ada" not in words
    assert "dan" not in words


@pytest.mark.parametrize("top", [1.0, 17.0, 20.5, 250.0])
def test_histogram_counts_each_submission_once(top):
    cells = tuple(dataclasses.replace(c, points=top / 2 or 1) for c in HOMEWORK.cells)
    homework = dataclasses.replace(HOMEWORK, cells=cells)
    scores = [0.0, 0.1, top / 3, top / 2, top - 0.01, top, top]
    results = []
    for number, score in enumerate(scores):
        made = result(f"s{number}", Status.PARTIAL, Status.PARTIAL)
        checks = tuple(
            dataclasses.replace(check, score=score / 2, max_score=top / 2)
            for check in made.checks[:2]
        )
        results.append(dataclasses.replace(made, checks=checks))
    page = render_report(standings_of(results), homework)
    counts = [int(n) for n in re.findall(r'<text class="count"[^>]*>(\d+)<', page)]
    assert sum(counts) == len(scores)
    assert counts[-1] == 2
    assert page.count('<rect class="bar"') <= 21


def test_a_run_without_sandbox_is_told_loudly():
    results = make_class()
    assert "Graded without a sandbox" not in render_report(standings_of(results), HOMEWORK)
    results[3] = dataclasses.replace(results[3], sandboxed=False)
    words = words_of(render_report(standings_of(results), HOMEWORK))
    assert "Graded without a sandbox 1 of 9 submissions ran with your rights" in words
    assert "sandboxed 8 of 9" in words


@pytest.mark.parametrize("name", ["ada", "a b#c?d&e", "<b>'\"", "李小龙", os.fsdecode(b"caf\xe9")])
def test_each_row_leads_to_its_feedback(name):
    made = result(name)
    attributes = Outline(render_report(standings_of([made]), HOMEWORK)).attributes
    addresses = {
        value for key, value in attributes if key == "href" and not value.startswith(("#", "data:"))
    }
    assert {unquote_to_bytes(a) for a in addresses} == {os.fsencode(str(feedback_path(made)))}


def write(tmp_path, results):
    page = tmp_path / "report.html"
    page.write_text(render_report(standings_of(results), HOMEWORK))
    return page


@pytest.mark.browser
def test_sorts_and_filters_by_keyboard(chromium, tmp_path):
    with opened(chromium, write(tmp_path, make_class())) as page:
        names = "#table tbody tr:not([hidden]) th"
        assert page.locator(names).all_inner_texts()[:2] == ["ada", "ben"]
        page.get_by_role("button", name="Points").focus()
        page.keyboard.press("Enter")
        assert page.locator(names).all_inner_texts()[:2] == ["ada", "dee"]
        page.keyboard.press("Enter")
        assert page.locator(names).all_inner_texts()[0] == "eli"
        assert page.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
        page.get_by_label("Did not pass").select_option("double-shape")
        assert sorted(page.locator(names).all_inner_texts()) == ["eli", "hal", "olu"]
        for flagged in ("flagged", "flagged-hostile"):
            page.get_by_label("Show").select_option(flagged)
            assert page.locator(names).all_inner_texts() == ["hal"]
        assert page.locator("#shown").inner_text() == "Showing 1 of 9"
        page.get_by_label("Show").select_option("")
        page.get_by_label("Find").fill("OL")
        assert page.locator(names).all_inner_texts() == ["olu"]


@pytest.mark.browser
def test_stands_without_scripts(chromium, tmp_path):
    with opened(chromium, write(tmp_path, make_class()), java_script_enabled=False) as page:
        assert page.locator("#table tbody tr").count() == 9
        assert not page.get_by_label("Find").is_visible()
