"""Lighthouse's performance score of pages of the book, on a desktop and on a phone.

    python -m benchmarks.lighthouse                                # five pages of the built book
    python -m benchmarks.lighthouse bert decoding --runs 1         # others, once each
    python -m benchmarks.lighthouse --lighthouse "npx lighthouse"  # where it is not installed

The book is served from here, compressed as a web server would. Network and processor are throttled
by Lighthouse's simulation. Scores and times are medians of the runs; nothing else should run.
"""

import argparse
import contextlib
import functools
import gzip
import json
import os
import shlex
import statistics
import subprocess
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from scripts.chromium import chromium_path

SITE = Path(__file__).parents[1] / "build" / "book" / "_build" / "html"
PAGES = ("intro", "self-attention", "transformer", "training", "bert")
ASKED = {"desktop": 0.95, "phone": 0.85}
PRESETS = {"desktop": ["--preset=desktop"], "phone": []}  # a phone is Lighthouse's default
TIMES = {
    "first paint, s": "first-contentful-paint",
    "largest paint, s": "largest-contentful-paint",
    "speed index, s": "speed-index",
    "blocked, s": "total-blocking-time",
}
COMPRESSED = (".html", ".css", ".js", ".json", ".svg")

Report = dict[str, Any]
"""Lighthouse's report on a page."""


@functools.cache
def compressed(path: str) -> bytes:
    """Return the gzipped content of a file."""
    return gzip.compress(Path(path).read_bytes(), mtime=0)


class Compressing(SimpleHTTPRequestHandler):
    """Serves the files of a folder, texts compressed, over connections that stay open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the requested file."""
        path = self.translate_path(self.path)
        if not path.endswith(COMPRESSED) or not Path(path).is_file():
            super().do_GET()
            return
        content = compressed(path)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder of built pages while the block runs, and yield its address."""
    handler = functools.partial(Compressing, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def report(command: str, address: str, device: str) -> Report:
    """Run Lighthouse (``command``) once on the page at an address, as ``desktop`` or ``phone``."""
    run = subprocess.run(
        [
            *shlex.split(command), address, "--quiet", "--output=json",
            "--only-categories=performance", *PRESETS[device],
            "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage",
        ],
        env={**os.environ, "CHROME_PATH": chromium_path() or ""},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: Report = json.loads(run.stdout)
    return found


def row(reports: list[Report]) -> dict[str, float]:
    """Return the medians of reports on one page: ``score``, times in seconds, layout ``shift``."""

    def median(name: str, field: str) -> float:
        return float(statistics.median(report["audits"][name][field] for report in reports))

    scores = [report["categories"]["performance"]["score"] for report in reports]
    times = {column: median(name, "numericValue") / 1000 for column, name in TIMES.items()}
    shift = median("cumulative-layout-shift", "numericValue")
    return {"score": statistics.median(scores), **times, "shift": shift}


def main() -> None:
    """Print a table of the requested pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", default=PAGES, help="names of pages; five if none")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    parser.add_argument("--lighthouse", default="lighthouse", help="the command that starts it")
    parser.add_argument("--site", type=Path, default=SITE, help="the built book")
    parser.add_argument("--keep", type=Path, help="a folder for whole reports, as JSON")
    chosen = parser.parse_args()
    print(f"| page | device | score | asked | {' | '.join(TIMES)} | layout shift |")
    print(f"| --- | --- |{' ---: |' * (len(TIMES) + 3)}")
    with served(chosen.site) as address:
        for page in chosen.pages:
            for device, asked in ASKED.items():
                place = f"{address}/book/{page}.html"
                reports = [report(chosen.lighthouse, place, device) for _ in range(chosen.runs)]
                if chosen.keep:
                    chosen.keep.mkdir(parents=True, exist_ok=True)
                    (chosen.keep / f"{page}-{device}.json").write_text(json.dumps(reports[-1]))
                score, *times, shift = row(reports).values()
                cells = " | ".join(f"{seconds:.2f}" for seconds in times)
                print(
                    f"| {page} | {device} | {score:.2f} | {asked} | {cells} | {shift:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
