"""The Transformer that runs in a page: sizes, times in a browser, differences from PyTorch.

    python -m benchmarks.living_transformer  # of the book that is built

Bytes are without compression. Times are medians, in Chromium without a screen: of a word, with all
numbers on the way kept, and of drawing a frame anew, as zooming does.
"""

import argparse
import functools
import json
import os
import statistics
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from scripts.chromium import chromium_path
from tests.book.living_model import (
    computed,
    drawn_sources,
    largest_difference,
    rebuilt,
    run_in_page,
)
from tests.book.watched_page import Watched, opened

SITE = Path(__file__).parents[1] / "build" / "book" / "_build" / "html"
PAGE = "book/living-transformer.html"
WORDS_IN_PAGE = """(sources) => {
  const { config, words, parameters } = courseModels.translator;
  const model = new courseEngine.Transformer(config, courseEngine.unpack(parameters));
  const [start, end] = ["<start>", "<end>"].map((word) => words.tgt.indexOf(word));
  return sources.map((ids) => {
    const begin = performance.now();
    const { steps } = courseEngine.translate(model, ids, { start, end, most: 20 });
    return (performance.now() - begin) / steps.length;
  });
}"""
FRAMES_IN_PAGE = """async () => {
  const times = [];
  const deeper = ["[data-head='1']", ".living-weights .course-word", ".living-scores .course-word"];
  for (const choice of [...deeper, ".living-crumb"]) {
    const begin = performance.now();
    document.querySelector(choice).click();
    document.body.getBoundingClientRect(); // laid out as well
    times.push(performance.now() - begin);
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def figure_bytes(watched: Watched, *parts: str) -> int:
    """Return the bytes of what the page loaded from addresses that hold one of these parts."""
    return sum(n for url, n in watched.weights.items() if any(part in url for part in parts))


def measure(watched: Watched, sentences: int) -> dict[str, Any]:
    """Start the model in an open page, and take its figures.

    Args:
        watched: The page, as it was loaded.
        sentences: How many to translate.

    Returns:
        The figures by name: bytes, milliseconds, the largest difference.
    """
    page = watched.page
    inline = page.locator("script[type='application/json']").evaluate_all(
        "all => all.reduce((sum, script) => sum + script.textContent.length, 0)"
    )
    first = figure_bytes(watched, "living-transformer.js", "living-transformer.css", "/engine/")
    begin = time.perf_counter()
    page.get_by_role("button", name="Start the model").click()
    page.locator(".living-result").first.wait_for()
    woken = time.perf_counter() - begin
    model, words = rebuilt(page)
    sources = drawn_sources(words, sentences)
    times = page.evaluate(WORDS_IN_PAGE, sources)
    frames = [t for _ in range(10) for t in page.evaluate(FRAMES_IN_PAGE)]
    runs = [(source, run_in_page(page, source)) for source in sources]
    differences = [
        largest_difference(run["trace"], computed(model, source, run["read"]))
        for source, run in runs
    ]
    return {
        "first load, bytes": first + inline,
        "model, bytes": figure_bytes(watched, "/models/"),
        "engine and workbench, bytes": figure_bytes(watched, "/engine/", "/living-transformer/"),
        "from the click to the first translation, ms": round(1000 * woken),
        "a word, ms": round(statistics.median(times), 2),
        "the slowest sentence, ms a word": round(max(times), 2),
        "a frame while zooming, ms": round(statistics.median(frames), 2),
        "largest difference from PyTorch": float(f"{max(differences):.2g}"),
        "sentences": sentences,
    }


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.living_transformer", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--sentences", type=int, default=100, help="how many to translate")
    arguments = parser.parse_args()
    handler = functools.partial(_Quiet, directory=SITE)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{PAGE}"
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=options)
        with opened(browser, address, viewport={"width": 1280, "height": 900}) as watched:
            print(json.dumps(measure(watched, arguments.sentences), indent=2))
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
