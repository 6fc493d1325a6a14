"""The status page: versions and running times."""

from importlib.metadata import version

import pytest
from bs4 import BeautifulSoup


@pytest.mark.browser
def test_the_page_lists_versions_and_the_time_of_every_chapter(site):
    page = BeautifulSoup((site / "book" / "status.html").read_text(), "html.parser")
    versions, times = page.select("table")
    assert f"torch {version('torch')} all computations" in versions.get_text(" ", strip=True)
    rows = [[cell.text for cell in row.find_all("td")] for row in times.tbody.find_all("tr")]
    names = [name for name, *_ in rows]
    assert {"Self-attention", "BERT"} <= set(names)
    assert names[-1] == "all"
    assert float(rows[-1][1]) == pytest.approx(sum(float(row[1]) for row in rows[:-1]), abs=2)
