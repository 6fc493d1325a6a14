"""Each page: students' text does nothing, nothing is requested, axe and a phone find no fault."""

import itertools

import pytest

from autograder.judging.results import CellFailure, Status
from autograder.marks.standing import stand
from autograder.reports.feedback import render_feedback
from autograder.reports.report import render_report
from autograder.reports.similar_code import render_similar
from autograder.term.dates import Dates
from autograder.term.pages import render_course, render_index
from autograder.term.totals import terms_of
from tests.autograder.graded_class import HOMEWORK, TRACEBACK, make_class, result, standings_of
from tests.autograder.reports.offline_browser import opened, overflow, serious_findings
from tests.autograder.reports.test_feedback import HOSTILE, Outline, everywhere
from tests.autograder.reports.test_item_statistics import copies
from tests.autograder.term.test_term import of
from tests.daily import with_proofs


def page_with(text, page, folder) -> str:
    """Return a page's HTML with ``text`` in every field that a student's code or name can fill.

    ``page`` is its kind: feedback, report, or else the page of similar code.
    """
    if page == "feedback":
        return render_feedback(stand(everywhere(text)), HOMEWORK)
    if page == "report":
        return render_report(standings_of([everywhere(text.replace("/", "|"))]), HOMEWORK)
    return render_similar(copies(folder, text, text), folder)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(("page", "count"), [("feedback", 11), ("report", 4), ("similar", 2)])
def test_students_text_is_shown_escaped(page, count, text, tmp_path):
    harmless = Outline(page_with("x", page, tmp_path / "harmless"))
    hostile = Outline(page_with(text, page, tmp_path / "hostile"))
    assert hostile.tags == harmless.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in harmless.attributes]
    assert hostile.text.count(text.replace("/", "|") if page == "report" else text) >= count


def pages(folder) -> dict[str, str]:
    """Return the HTML of every kind of page, by a name, with all statuses, flags and long texts."""
    statuses = list(Status)
    failed = CellFailure(cell="double", status=Status.ERROR, message="no", traceback="line 1")
    more = {"hint": "Multiply.", "traceback": TRACEBACK, "cell_failures": (failed,)}
    made = {
        f"feedback {first}": render_feedback(
            stand(result("ada", first, second, **more)), HOMEWORK, book_url="https://a.example"
        )
        for first, second in zip(statuses[::2], statuses[1::2], strict=True)
    }
    hostile = everywhere("".join(HOSTILE).replace("/", "|") + "x" * 3000)
    made["hostile feedback"] = render_feedback(stand(hostile), HOMEWORK)
    unsafe = [result("zoe", sandboxed=False), everywhere("w" * 300)]
    made["report"] = render_report(standings_of([*make_class(), *unsafe]), HOMEWORK)
    code = "def f(x):\n    return 2 * x" + " + 0" * 60
    made["similar"] = render_similar(copies(folder / "class", *[code] * 5), folder / "class")
    names = [f"hw{number:02}-{'x' * 30}" for number in range(1, 9)]
    standings = [of(name, n % 4, who) for n, name in enumerate(names) for who in ("ada", "bo")]
    terms = terms_of(standings, Dates(drop_lowest=1))
    return made | {"course": render_course(terms), "index": render_index("ada", terms["ada"])}


@pytest.mark.browser
@pytest.mark.parametrize("scheme", with_proofs(["light", "dark"], ["light"]))
def test_nothing_is_requested_and_axe_and_a_phone_find_no_fault(chromium, tmp_path, scheme):
    for (name, text), width in itertools.product(pages(tmp_path).items(), (375, 1200)):
        (tmp_path / f"{name}.html").write_text(text)
        with opened(chromium, tmp_path / f"{name}.html", scheme=scheme, width=width) as page:
            assert (name, serious_findings(page), overflow(page) > 0) == (name, [], False)
            if name == "hostile feedback":
                assert page.locator("script, img, svg").count() == 0
            if name == "course":
                page.fill("#find", "AD")
                assert page.locator("#table tbody tr:visible").count() == 1
                assert page.locator("#shown").inner_text() == "Showing 1 of 2"
