"""Models that run in pages of the book: sizes, times in a browser, differences from PyTorch.

    python -m benchmarks.living_transformer  # of the book that is built

Bytes are without compression. Times are medians, in Chromium without a screen: of a word, with all
numbers on the way kept; of drawing a frame anew, as zooming does; of a whole beam search. Of the
small language model, of the models that fill gaps and of the reader that learns they are means. Of
the decoders that look before each word, a word's time includes its part of reading the source.
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

import torch
from playwright.sync_api import sync_playwright

from course_lib.data.shape_captions import draw_captioned_pictures
from scripts.chromium import chromium_path
from tests.book import living_looks
from tests.book.living_model import (
    BlankFiller,
    computed,
    decoder_from_export,
    drawn_gaps,
    drawn_sources,
    fill_in_page,
    largest_difference,
    largest_gap,
    rebuilt,
    run_in_page,
    write_in_page,
)
from tests.book.watched_page import Watched, opened

SITE = Path(__file__).parents[1] / "build" / "book" / "_build" / "html"
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


SEARCHES_IN_PAGE = """([sources, width]) => {
  const { config, words, parameters } = courseModels.translator;
  const { Transformer, unpack, makeFollowers } = courseEngine;
  const model = new Transformer(config, unpack(parameters));
  return sources.map((ids) => {
    const begin = performance.now();
    const next = makeFollowers(model, ids, words.tgt, words.tgt.indexOf("<start>"));
    const options = { width, alpha: 1, end: "<end>", maxSteps: 20 };
    courseBeamSearch.search((words) => next(words).slice(0, 16), options);
    return performance.now() - begin;
  });
}"""
READINGS_IN_PAGE = """(repeats) => {
  const states = courseModels.reversal.map(courseEngine.unpack);
  const begin = performance.now();
  for (let i = 0; i < repeats; i += 1) {
    courseEngine.readThrough(states[i % states.length], [2, 3, 4, 5, 6, 7, 8, 9], 1);
  }
  return (performance.now() - begin) / repeats;
}"""
LOOKS_IN_PAGE = """([task, sources]) => {
  const { AttentionDecoder, Matrix, readBothWays, readPicture, unpack, write } = courseEngine;
  const model = task === null ? courseModels.captioner : courseModels["attention-decoders"][task];
  const parameters = unpack(model.parameters);
  const words = model.words.tgt ?? model.words;
  const [start, end] = ["<start>", "<end>"].map((word) => words.indexOf(word));
  const decoder = new AttentionDecoder(parameters);
  return sources.map((source) => {
    const begin = performance.now();
    const encoded = task === null
      ? readPicture(parameters, Matrix.of(source)) : readBothWays(parameters, source);
    const steps = write(decoder, encoded, { start, end, most: 20 });
    return (performance.now() - begin) / steps.length;
  });
}"""


GUESSES_IN_PAGE = """(texts) => {
  const { config, parameters } = courseModels["blank-fillers"][0];
  const model = new courseEngine.MaskedLM(config, courseEngine.unpack(parameters));
  const begin = performance.now();
  texts.forEach((ids) => model.read(ids));
  return (performance.now() - begin) / texts.length;
}"""
CLICKS_IN_PAGE = """(repeats) => {
  const begin = performance.now();
  for (let i = 0; i < repeats; i += 1) {
    const words = document.querySelectorAll(".guesser-words button");
    words[i % words.length].click();
    document.body.getBoundingClientRect(); // laid out as well
  }
  return (performance.now() - begin) / repeats;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def figure_bytes(watched: Watched, *parts: str) -> int:
    """Return the bytes of what the page loaded from addresses that hold one of these parts."""
    return sum(n for url, n in watched.weights.items() if any(part in url for part in parts))


def first_load(watched: Watched, *parts: str, data: str = "") -> int:
    """Return by how many bytes figures of these names make a page larger, before they are asked.

    Args:
        watched: The page, as it was loaded.
        parts: The figures, and scripts that they share.
        data: The id of the figure's data; empty where the page has no other figure.

    Returns:
        Bytes of scripts, styles and of what stands in the page.
    """
    scripts = watched.page.locator(f"script[type='application/json']{data and f'#{data}'}")
    inline = scripts.evaluate_all(
        "all => all.reduce((sum, script) => sum + script.textContent.length, 0)"
    )
    return figure_bytes(
        watched, *(f"{part}.{kind}" for part in parts for kind in ("js", "css")), "/engine/"
    ) + int(inline)


def measure(watched: Watched, sentences: int) -> dict[str, Any]:
    """Start the model in an open page, and take its figures.

    Args:
        watched: The page, as it was loaded.
        sentences: How many to translate.

    Returns:
        The figures by name: bytes, milliseconds, the largest difference.
    """
    page = watched.page
    names = ("living-transformer", "own-model", "beam-translator", "beam-search", "search", "tree")
    first = first_load(watched, *names)
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
    page.get_by_role("button", name="Search (loads").click()
    page.locator("[aria-busy=false]").wait_for()
    searches = {width: page.evaluate(SEARCHES_IN_PAGE, [sources[:20], width]) for width in (4, 8)}
    return {
        "first load, bytes": first,
        "model, bytes": figure_bytes(watched, "/models/"),
        "engine and workbench, bytes": figure_bytes(watched, "/engine/", "/living-transformer/"),
        "from the click to the first translation, ms": round(1000 * woken),
        "a word, ms": round(statistics.median(times), 2),
        "the slowest sentence, ms a word": round(max(times), 2),
        "a frame while zooming, ms": round(statistics.median(frames), 2),
        "largest difference from PyTorch": float(f"{max(differences):.2g}"),
        "sentences": sentences,
        "beam search, width 4, ms a sentence": round(statistics.median(searches[4])),
        "beam search, width 8, ms a sentence": round(statistics.median(searches[8])),
    }


def measure_writer(watched: Watched, texts: int) -> dict[str, Any]:
    """Start the small language model, let it write until it ends, and take its figures.

    Args:
        watched: The page, as it was loaded.
        texts: How many to compare with PyTorch.

    Returns:
        The figures by name.
    """
    page = watched.page
    first = first_load(
        watched, "generation-steps", "living-transformer", "own-model", data="small-writer"
    )
    figure = page.locator("[data-course-figure=generation-steps]").first
    begin = time.perf_counter()
    figure.get_by_role("button", name="Start the model").click()
    figure.locator(".steps-bars").wait_for()
    woken = time.perf_counter() - begin
    figure.get_by_label("Top k").press("Home")
    figure.get_by_role("button", name="Write to the end").click()
    counts = {
        name: figure.locator(f"[data-count={name}]").inner_text()
        for name in ("now", "bytes", "cached", "anew")
    }
    exported = json.loads(page.evaluate("JSON.stringify(courseModels['small-writer-model'])"))
    model, config = decoder_from_export(exported), exported["config"]
    drawn = torch.randint(config["vocab_size"], (texts, config["max_length"]))
    with torch.no_grad():
        gap = (torch.tensor(write_in_page(page, drawn.tolist())) - model(drawn)).abs().max()
    return {
        "language model: first load, bytes": first,
        "language model: its file, bytes": figure_bytes(watched, "/models/"),
        "language model: engine and bench, bytes": figure_bytes(
            watched, "/engine/", "/generation-steps/"
        ),
        "language model: from the click to the first word, ms": round(1000 * woken),
        "language model: tokens read in the last step": int(counts["now"]),
        "language model: its cache, bytes": int(counts["bytes"].replace(",", "")),
        "language model: the step on the cache, ms": float(counts["cached"]),
        "language model: the step anew, ms": float(counts["anew"]),
        "language model: largest difference from PyTorch": float(f"{float(gap):.2g}"),
        "language model: texts": texts,
    }


def measure_blanks(watched: Watched, sentences: int) -> dict[str, Any]:
    """Start the two models that fill gaps, and take their figures.

    Args:
        watched: The page, as it was loaded.
        sentences: How many to compare with PyTorch.

    Returns:
        The figures by name.
    """
    page = watched.page
    first = first_load(
        watched, "mlm-guesser", "living-transformer", "own-model", data="mlm-guesses"
    )
    begin = time.perf_counter()
    page.get_by_role("button", name="Start both models").click()
    page.locator(".guesser-bars").first.wait_for()
    woken = time.perf_counter() - begin
    pair = json.loads(page.evaluate("JSON.stringify(courseModels['blank-fillers'])"))
    texts = drawn_gaps(pair[0]["words"], sentences)
    found = fill_in_page(page, texts)
    gaps = [
        largest_gap(BlankFiller.from_export(model), ids, run)
        for model, runs in zip(pair, found, strict=True)
        for ids, run in zip(texts, runs, strict=True)
    ]
    clicks = page.evaluate(CLICKS_IN_PAGE, 20)
    return {
        "gaps: first load, bytes": first,
        "gaps: the file of both models, bytes": figure_bytes(watched, "/models/"),
        "gaps: engine and bench, bytes": figure_bytes(watched, "/engine/", "/mlm-guesser/"),
        "gaps: from the click to the first guess, ms": round(1000 * woken),
        "gaps: a sentence read, ms": round(page.evaluate(GUESSES_IN_PAGE, texts), 2),
        "gaps: a click, all words hidden in turn and drawn, ms": round(clicks, 1),
        "gaps: largest difference from PyTorch": float(f"{max(gaps):.2g}"),
        "gaps: sentences": sentences,
    }


def measure_learner(watched: Watched) -> dict[str, Any]:
    """Start the reader that learns, and take its figures."""
    first = first_load(watched, "training-scrubber")
    begin = time.perf_counter()
    watched.page.get_by_role("button", name="Watch it learn").click()
    watched.page.locator(".scrubber tbody tr").first.wait_for()
    woken = time.perf_counter() - begin
    return {
        "landing page, first load, bytes": first,
        "13 steps of its training, bytes": figure_bytes(watched, "/models/"),
        "from the click to its first step, ms": round(1000 * woken),
        "a reading of 8 letters, ms": round(watched.page.evaluate(READINGS_IN_PAGE, 500), 3),
    }


def measure_decoder(watched: Watched, sentences: int) -> dict[str, Any]:
    """Start Bahdanau's decoder, and take the figures of its translator."""
    figures = _woken(watched, "living-decoder", "living-decoder", "living-transformer")
    exported = living_looks.exported_decoder(watched.page, 0)
    model = living_looks.rebuilt_decoder(exported)
    sources = drawn_sources(exported["words"], sentences)
    with torch.no_grad():
        encoded = [model.encoder(torch.tensor([source])) for source in sources]
    return figures | _written(watched, 0, model.decoder, sources, encoded)


def measure_captioner(watched: Watched, pictures: int) -> dict[str, Any]:
    """Start the captioner, and take its figures."""
    styles = ("living-transformer", "living-decoder")
    figures = _woken(watched, "living-captioner", "living-captioner", "picture", "board", *styles)
    model = living_looks.rebuilt_captioner(living_looks.exported_captioner(watched.page))
    drawn = draw_captioned_pictures(pictures, generator=torch.Generator().manual_seed(9)).pictures
    sources = [picture.flatten(1).tolist() for picture in drawn]
    with torch.no_grad():
        encoded = [model.encoder(picture[None]) for picture in drawn]
    return figures | _written(watched, None, model.decoder, sources, encoded)


def _woken(watched: Watched, figure: str, *parts: str) -> dict[str, Any]:
    """Start a figure whose decoder looks before each word; what that took."""
    first = first_load(watched, *parts)
    begin = time.perf_counter()
    watched.page.get_by_role("button", name=living_looks.START[figure]).click()
    watched.page.locator(f"[data-course-figure={figure}] .living-result").first.wait_for()
    woken = time.perf_counter() - begin
    folders = ("/engine/", "/living-transformer/", "/living-decoder/", "/living-captioner/")
    return {
        f"{figure}, first load of its page, bytes": first,
        f"{figure}, model, bytes": figure_bytes(watched, "/models/"),
        f"{figure}, engine and desk, bytes": figure_bytes(watched, *folders, "/gru-gates/"),
        f"{figure}, from the click to the first words, ms": round(1000 * woken),
    }


def _written(
    watched: Watched, task: int | None, decoder: Any, sources: list[Any], encoded: list[Any]
) -> dict[str, Any]:
    """Milliseconds a word, and the largest difference from PyTorch."""
    figure = "living-captioner" if task is None else "living-decoder"
    times = watched.page.evaluate(LOOKS_IN_PAGE, [task, sources])
    differences = [
        living_looks.largest_difference(
            living_looks.run_in_page(watched.page, task, source), decoder, read
        )
        for source, read in zip(sources, encoded, strict=True)
    ]
    return {
        f"{figure}, a word, ms": round(statistics.median(times), 2),
        f"{figure}, largest difference from PyTorch": float(f"{max(differences):.2g}"),
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
    book = f"http://127.0.0.1:{server.server_port}/book"
    window = {"viewport": {"width": 1280, "height": 900}}
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=options)
        figures: dict[str, Any] = {}
        with opened(browser, f"{book}/living-transformer.html", **window) as watched:
            figures |= measure(watched, arguments.sentences)
        with opened(browser, f"{book}/transformer.html", **window) as watched:
            grown = first_load(watched, "living-transformer", "own-model")
            flow = watched.page.locator("#transformer-flow").text_content() or ""
            figures["The Transformer, first load, bytes"] = grown - len(flow)
        with opened(browser, f"{book}/transformer-families.html", **window) as watched:
            figures |= measure_writer(watched, arguments.sentences)
        for name in ("kv-caching", "decoding"):
            with opened(browser, f"{book}/{name}.html", **window) as watched:
                grown = first_load(
                    watched,
                    "generation-steps",
                    "living-transformer",
                    "own-model",
                    data="small-writer",
                )
                figures[f"{name}: first load with the language model, bytes"] = grown
        with opened(browser, f"{book}/bert.html", **window) as watched:
            figures |= measure_blanks(watched, arguments.sentences)
        with opened(browser, f"{book}/intro.html", **window) as watched:
            figures |= measure_learner(watched)
        with opened(browser, f"{book}/bahdanau-attention.html", **window) as watched:
            figures |= measure_decoder(watched, arguments.sentences)
        with opened(browser, f"{book}/image-captioning.html", **window) as watched:
            figures |= measure_captioner(watched, arguments.sentences)
        print(json.dumps(figures, indent=2))
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
