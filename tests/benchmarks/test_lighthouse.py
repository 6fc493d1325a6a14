"""The Lighthouse benchmark: compressed texts, and medians of reports."""

import gzip
import urllib.request

from benchmarks.lighthouse import TIMES, row, served


def answer(address):
    """Return headers and body of the response to a request that accepts gzip, as browsers send."""
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as response:
        return response.headers, response.read()


def test_server_compresses_texts_and_not_pictures(tmp_path):
    page, picture = b"<p>x</p>" * 100, b"\x89PNG" * 100
    (tmp_path / "page.html").write_bytes(page)
    (tmp_path / "picture.png").write_bytes(picture)
    with served(tmp_path) as address:
        headers, content = answer(f"{address}/page.html")
        assert headers["Content-Encoding"] == "gzip"
        assert headers["Content-Type"] == "text/html"
        assert gzip.decompress(content) == page
        headers, content = answer(f"{address}/picture.png")
        assert headers["Content-Encoding"] is None
        assert content == picture


def report(score, milliseconds, shift):
    """Return a report of Lighthouse with equal times; ``shift`` is the cumulative layout shift."""
    audits = {name: {"numericValue": milliseconds} for name in TIMES.values()}
    audits["cumulative-layout-shift"] = {"numericValue": shift}
    return {"categories": {"performance": {"score": score}}, "audits": audits}


def test_row_has_medians_of_the_reports():
    reports = [report(0.9, 2000, 0.0), report(0.5, 9000, 0.3), report(0.8, 3000, 0.1)]
    assert row(reports) == {"score": 0.8, **dict.fromkeys(TIMES, 3.0), "shift": 0.1}
