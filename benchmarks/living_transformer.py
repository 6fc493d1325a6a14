"""Models that run in pages of the book: sizes, times in a browser, differences from PyTorch.

    python -m benchmarks.living_transformer  # the book must be built

Bytes are uncompressed. Times are medians in headless Chromium: of a word, with all intermediate
numbers kept; of redrawing a frame, as zooming does; of a whole beam search. For the small language
model, the models that fill gaps and the reader that learns they are means. For the decoders with
attention, a word's time includes its share of encoding the source.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.data.shape_captions import draw_captioned_pictures
from scripts.chromium import running_chromium
from tests.book import living_decoders
from tests.book.conftest import SITE, serving
from tests.book.living_figures import DESKTOP, figure_of, opened_for, start
from tests.book.living_models import (
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

Figures = dict[str, Any]
"""Bytes, milliseconds and differences, by name."""

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
  for (const choice of [...deeper, ".living-crumb + .living-crumb"]) {
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


def figure_bytes(watched: Watched, *parts: str) -> int:
    """Return the bytes that a page loaded from addresses that contain one of these parts."""
    return sum(n for url, n in watched.weights.items() if any(part in url for part in parts))


def first_load(watched: Watched, name: str) -> int:
    """Return the bytes of scripts, styles and data that a figure adds to a page's first load.

    ``name`` is a key of ``BENCHMARKS``.
    """
    benchmark = BENCHMARKS[name]
    of_data = f"#{benchmark.data}" if benchmark.data else ""
    inline = watched.page.locator(f"script[type='application/json']{of_data}")
    parts = (f"/{name}.js", f"/{name}.css", f"/{name}/", *_WAYS_IN, *benchmark.first)
    return figure_bytes(watched, *parts) + len("".join(inline.all_text_contents()))


# ---- measurements of each figure's running model ----


def translator(watched: Watched, sentences: int) -> Figures:
    """Measure the translator on ``sentences`` random sentences: times of a word and of a frame.

    A frame is redrawn while zooming. The result has its differences from PyTorch too.
    """
    page = watched.page
    model, words = rebuilt(page)
    sources = drawn_sources(words, sentences)
    times = page.evaluate(WORDS_IN_PAGE, sources)
    frames = [t for _ in range(10) for t in page.evaluate(FRAMES_IN_PAGE)]
    runs = [(source, run_in_page(page, source)) for source in sources]
    gaps = [
        largest_difference(run["trace"], computed(model, source, run["read"]))
        for source, run in runs
    ]
    return _words(times, gaps) | {"a frame while zooming, ms": round(statistics.median(frames), 2)}


def search(watched: Watched, sentences: int) -> Figures:
    """Measure the time of a sentence in beam search with the translator, with 4 and 8 beams.

    It is the median over this number of random sentences, at most 20.
    """
    _, words = rebuilt(watched.page)
    sources = drawn_sources(words, min(sentences, 20))
    return {
        f"width {width}, ms a sentence": round(
            statistics.median(watched.page.evaluate(SEARCHES_IN_PAGE, [sources, width]))
        )
        for width in (4, 8)
    }


def writer(watched: Watched, texts: int) -> Figures:
    """Measure the small language model: the time of a step with its cache and without.

    The result also has the differences of its logits from PyTorch's, over ``texts`` random texts.
    """
    page, figure = watched.page, figure_of(watched.page, "generation-steps")
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
        "tokens read in the last step": int(counts["now"]),
        "its cache, bytes": int(counts["bytes"].replace(",", "")),
        "the step on the cache, ms": float(counts["cached"]),
        "the step anew, ms": float(counts["anew"]),
        **_gap([float(gap)]),
    }


def blanks(watched: Watched, sentences: int) -> Figures:
    """Measure the two models that fill gaps in texts: the times of a sentence and of a click.

    The result also has their differences from PyTorch over ``sentences`` random sentences.
    """
    page = watched.page
    pair = json.loads(page.evaluate("JSON.stringify(courseModels['blank-fillers'])"))
    texts = drawn_gaps(pair[0]["words"], sentences)
    gaps = [
        largest_gap(BlankFiller.from_export(model), ids, run)
        for model, runs in zip(pair, fill_in_page(page, texts), strict=True)
        for ids, run in zip(texts, runs, strict=True)
    ]
    return {
        "a sentence read, ms": round(page.evaluate(GUESSES_IN_PAGE, texts), 2),
        "a click, all words hidden in turn and drawn, ms": round(
            page.evaluate(CLICKS_IN_PAGE, 20), 1
        ),
        **_gap(gaps),
    }


def learner(watched: Watched, _: int) -> Figures:
    """Measure how long the model that learns in the page takes to read a sequence of 8 letters."""
    readings = watched.page.evaluate(READINGS_IN_PAGE, 500)
    return {"a reading of 8 letters, ms": round(readings, 3)}


def decoder(watched: Watched, sentences: int) -> Figures:
    """Measure Bahdanau's decoder on random sentences: time of a word, differences from PyTorch."""
    exported = living_decoders.exported_decoder(watched.page, 0)
    model = living_decoders.rebuilt_decoder(exported)
    sources = drawn_sources(exported["words"], sentences)
    read = [torch.tensor([source]) for source in sources]
    return _looks(watched, 0, model, sources, read)


def captioner(watched: Watched, pictures: int) -> Figures:
    """Measure the captioner on random pictures: the time of a word, differences from PyTorch."""
    model = living_decoders.rebuilt_captioner(living_decoders.exported_captioner(watched.page))
    drawn = draw_captioned_pictures(pictures, generator=torch.Generator().manual_seed(9)).pictures
    sources = [picture.flatten(1).tolist() for picture in drawn]
    return _looks(watched, None, model, sources, [picture[None] for picture in drawn])


@torch.no_grad()
def _looks(
    watched: Watched, task: int | None, model: Any, sources: list[Any], read: list[torch.Tensor]
) -> Figures:
    """Measure a decoder with attention: its time per word, and its differences from PyTorch.

    Args:
        watched: The page, its model loaded.
        task: Index of the page's model; None for the captioner.
        model: The same model in PyTorch.
        sources: The sources for the page: ids of words, or a picture's channels.
        read: The same sources as tensors with a batch of one.
    """
    gaps = [
        living_decoders.largest_difference(
            living_decoders.run_in_page(watched.page, task, source), model.decoder, model.encoder(x)
        )
        for source, x in zip(sources, read, strict=True)
    ]
    return _words(watched.page.evaluate(LOOKS_IN_PAGE, [task, sources]), gaps)


def _words(times: list[float], gaps: list[float]) -> Figures:
    return {
        "a word, ms": round(statistics.median(times), 2),
        "the slowest, ms a word": round(max(times), 2),
        **_gap(gaps),
    }


def _gap(gaps: list[float]) -> Figures:
    return {"largest difference from PyTorch": float(f"{max(gaps):.2g}")}


_STYLES = ("living-transformer.css", "living-decoder.css")
_WAYS_IN = ("/engine/", "sentence-form", "own-model")


@dataclass(frozen=True)
class Benchmark:
    """How a figure is measured.

    Attributes:
        further: Function that measures the running model in a page, given the number of sentences,
            texts or pictures to generate at random.
        first: Parts of addresses of other figures' files that the page loads at once.
        later: Parts of addresses of other figures' files that it loads when the model starts.
        data: Id of the figure's data in the page; empty if the page has no other figure.
    """

    further: Callable[[Watched, int], Figures]
    first: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    data: str = ""


BENCHMARKS = {
    "living-transformer": Benchmark(translator, ("beam-",)),  # which stands in the same page
    "beam-translator": Benchmark(search, _STYLES),
    "generation-steps": Benchmark(writer, _STYLES, data="small-writer"),
    "mlm-guesser": Benchmark(blanks, _STYLES, ("/living-transformer/",), data="mlm-guesses"),
    "training-scrubber": Benchmark(learner),
    "living-decoder": Benchmark(decoder, _STYLES, ("/living-transformer/", "/gru-gates/")),
    "living-captioner": Benchmark(
        captioner, _STYLES, ("/living-transformer/", "/living-decoder/", "/gru-gates/")
    ),
}
OTHER_PAGES = {
    "transformer": "living-transformer",
    "kv-caching": "generation-steps",
    "decoding": "generation-steps",
}
"""Other pages with a figure, and the figure's name."""


def measure(watched: Watched, name: str, sources: int) -> Figures:
    """Start the model of the figure ``name`` in a loaded page; return its bytes, times and so on.

    ``sources`` is the number of sentences, texts or pictures to generate at random.
    """
    benchmark = BENCHMARKS[name]
    first = first_load(watched, name)
    begin = time.perf_counter()
    start(watched.page, name)
    woken = time.perf_counter() - begin
    return {
        "first load, bytes": first,
        "model, bytes": figure_bytes(watched, "/models/"),
        "engine and bench, bytes": figure_bytes(watched, "/engine/", f"/{name}/", *benchmark.later),
        "from the click to the first result, ms": round(1000 * woken),
        **benchmark.further(watched, sources),
    }


def main() -> None:
    """Measure each figure in headless Chromium, and print the results as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.living_transformer", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--sentences", type=int, default=100, help="how many to draw")
    arguments = parser.parse_args()
    figures: Figures = {}
    with serving(SITE) as book, running_chromium() as browser:
        for name in BENCHMARKS:
            with opened_for(browser, book, name, **DESKTOP) as watched:
                figures[name] = measure(watched, name, arguments.sentences)
        for page, name in OTHER_PAGES.items():
            with opened(browser, f"{book}/book/{page}.html", **DESKTOP) as watched:
                figures[f"{page}, first load with {name}, bytes"] = first_load(watched, name)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
