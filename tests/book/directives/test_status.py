"""The status page: versions as they are, and how long each chapter ran."""

from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from bs4 import BeautifulSoup
from course_book.directives.status import times_table, version_lines
from docutils import nodes


def test_versions_are_those_installed():
    lines = version_lines(datetime(2026, 2, 3, 4, 5, tzinfo=UTC))
    assert f"| torch | {version('torch')} | all computations |" in lines
    assert lines[-1].startswith("Built on 03 February 2026 at 04:05 UTC")


def test_times_are_added_up():
    day = datetime(2026, 2, 3, tzinfo=UTC)
    table = times_table([(nodes.Text("A"), 1.25, day), (nodes.Text("B"), 2.5, day)])
    rows = [[entry.astext() for entry in row] for row in table.findall(nodes.row)]
    assert rows[1] == ["A", "1.2", "2026-02-03"]
    assert rows[-1] == ["all", "4", ""]


@pytest.mark.browser
def test_the_page_lists_every_chapter_that_ran(site):
    html = (site / "book" / "status.html").read_text()
    table = BeautifulSoup(html, "html.parser").find(id="status-times").find_parent("section").table
    names = [row.td.text for row in table.tbody.find_all("tr")]
    assert {"Self-attention", "BERT", "all"} <= set(names)
    assert len(names) >= 17
