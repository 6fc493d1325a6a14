"""The figure generation-steps: its data are checked, its model says what course_lib's does."""

import json

import pytest
import torch

from course_lib.analysis.complexity import kv_cache_bytes
from course_lib.analysis.recorders import recorded_attention
from course_lib.generation.sampling import keep_top_k, keep_top_p
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.training.export_language_models import language_model_data
from tests.book import living_figures as living
from tests.book.figures.figure_checks import refuses, table_of
from tests.book.figures.test_figure_arithmetic import run_script
from tests.book.living_model import decoder_from_export, write_in_page
from tests.book.watched_page import depends_on_page, opened

pytestmark = depends_on_page(
    "transformer-families",
    *(f"build/book/_build/html/book/{name}.html" for name in ("kv-caching", "decoding")),
    *("course_lib", "tests/book/figures"),
)

NAME = "generation-steps"


DATA = {
    "model": "m",
    "steps": [
        {"read": ["w0"], "likeliest": [["w3", 0.5], ["w1", 0.25]]},
        {"read": ["w0", "w3"], "likeliest": [["w1", 1]]},
    ],
    "note": "",
}


test_wrong_data_are_refused = refuses(
    NAME,
    DATA,
    ({"model": ""}, "model must name the deferred data"),
    ({"steps": []}, "steps must hold at least 1"),
    ({"steps": [{"read": []}]}, "a step: expected an object with"),
    ({"steps": [{"read": [], "likeliest": [["a", 1]]}]}, "read must hold at least 1"),
    ({"steps": [{"read": ["a"], "likeliest": [["a", 2]]}]}, "number from 0 to 1"),
    ({"steps": [{"read": ["a"], "likeliest": [["a"]]}]}, "must hold 2 parts, a word and"),
)


def test_the_table_shows_the_likeliest_tokens_at_each_step():
    assert "<td>w0</td><td>w3 0.50, w1 0.25</td>" in table_of(NAME, DATA)


ENGINE = [f"engine/{part}.js" for part in ("matrices", "attention", "weights")]
READ = """((tokens) => {
  const decoder = new courseEngine.DecoderLM(courseEngine.unpack(data.parameters), data.config.num_heads);
  const whole = decoder.read(tokens);
  let past = undefined;
  const steps = [];
  tokens.forEach((token) => { steps.push(decoder.read([token], past)); past = steps.at(-1).past; });
  const plain = ({ logits, weights, past }) => ({ logits: [...logits],
    bytes: courseEngine.pastBytes(past), weights: weights.map((heads) =>
      heads.map((matrix) => matrix.map((row) => [...row]))) });
  return { whole: plain(whole), steps: steps.map(plain) };
})"""  # noqa: E501


@pytest.mark.parametrize("is_tied", [True, False])
def test_the_decoder_in_the_page_is_the_decoder_of_the_library_with_a_cache_and_without(is_tied):
    words = [f"w{i}" for i in range(5)]
    config = DecoderLMConfig(
        vocab_size=5, max_length=6, d_model=8, num_heads=2, d_ff=12, num_layers=2, dropout=0.0
    )
    model = DecoderLM(config).eval()
    if not is_tied:
        model.output_projection = torch.nn.Linear(8, 5, bias=False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # no part may be idle
    data = language_model_data(model, words=words, start="w0", end="w1", num_heads=2)
    tokens = [0, 3, 2, 4, 2, 1]
    read = run_script("engine/decoder-lm.js", f"{READ}({tokens})", data, *ENGINE)
    with torch.no_grad(), recorded_attention(model.double()) as weights:
        expected = model(torch.tensor([tokens]))[0]
    assert read["whole"]["logits"] == pytest.approx(expected[-1].tolist(), abs=1e-10)
    for step, row in zip(read["steps"], expected, strict=True):
        assert step["logits"] == pytest.approx(row.tolist(), abs=1e-10)
    for layer in range(2):
        there = weights[f"layers.{layer}.self_attention"][0]
        whole = torch.tensor(read["whole"]["weights"][layer], dtype=torch.float64)
        newest = torch.tensor(read["steps"][-1]["weights"][layer], dtype=torch.float64)[:, 0]
        assert (whole - there).abs().max() < 1e-10
        assert (newest - there[:, -1]).abs().max() < 1e-10
    numbers = kv_cache_bytes(1, len(tokens), 2, 8, bytes_per_number=8)
    assert read["whole"]["bytes"] == read["steps"][-1]["bytes"] == numbers


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1, 9, 1), (0.5, 3, 1), (2, 9, 0.6), (1.3, 4, 0.7), (0.1, 1, 0.05)],
)
def test_tokens_are_drawn_with_the_librarys_probabilities(temperature, top_k, top_p):
    logits = (2 * torch.randn(9, dtype=torch.float64)).tolist()
    settings = f"{{ temperature: {temperature}, topK: {top_k}, topP: {top_p} }}"
    found = run_script(
        "engine/sampling.js", f"courseEngine.drawnWith(data, {settings})", logits, *ENGINE
    )
    kept = keep_top_p(keep_top_k(torch.tensor(logits) / temperature, top_k), top_p)
    assert found == pytest.approx(kept.softmax(-1).tolist(), abs=1e-6)


@pytest.fixture(scope="module")
def awake(chromium, site):
    """The figure, opened from a folder, its model started."""
    with living.started(chromium, site.as_uri(), NAME, **living.DESKTOP) as figure:
        yield figure


@pytest.fixture
def figure(awake):
    """The figure with nothing written yet, and nothing kept from being drawn."""
    again = awake.get_by_role("button", name="Start again")
    if again.is_enabled():
        again.click()
    awake.get_by_label("Top k").press("End")
    return awake


@pytest.mark.browser
@pytest.mark.proof
@pytest.mark.parametrize("page", ["kv-caching", "transformer-families", "decoding"])
def test_each_page_loads_the_same_weights_and_only_when_asked(chromium, served, page):
    with opened(chromium, f"{served}/book/{page}.html", **living.PHONE) as watched:
        assert not [url for url in watched.weights if "/engine/d" in url or "/models/" in url]
        figure = living.start(watched.page, NAME)
        assert [
            url.split("/models/")[1].split("?")[0] for url in watched.weights if "/models/" in url
        ] == ["small-writer-model.js"]
        living.assert_fits_and_is_accessible(figure)
    assert watched.problems == []


def count(figure, name):
    return int(figure.locator(f"[data-count={name}]").inner_text().replace(",", ""))


@pytest.mark.browser
def test_the_likeliest_words_are_those_of_pytorch_at_each_step(figure):
    exported = json.loads(
        figure.page.evaluate("JSON.stringify(courseModels['small-writer-model'])")
    )
    model, config, words = decoder_from_export(exported), exported["config"], exported["words"]
    tokens = [config["start"]]
    while tokens[-1] != config["end"]:
        with torch.no_grad():
            best = model(torch.tensor([tokens]))[0, -1].softmax(-1).topk(6)
        shown = figure.locator(".steps-word").all()
        assert [word.locator(".steps-name").inner_text() for word in shown] == [
            words[token] for token in best.indices.tolist()
        ]
        assert [float(word.get_attribute("data-probability")) for word in shown] == pytest.approx(
            best.values.tolist(), abs=living.CLOSE
        )
        tokens.append(int(best.indices[0]))
        figure.get_by_role("button", name="Take the likeliest").click()
    read = len(tokens) - 1
    assert (count(figure, "now"), count(figure, "all")) == (read, read * (read + 1) // 2)
    assert figure.locator(".steps-word").first.is_disabled()
    written = figure.locator(".steps-text li").all_inner_texts()
    figure.get_by_role("button", name="Take back").click()
    figure.get_by_label("Top k").press("Home")  # greedy: nothing is left to chance
    figure.get_by_role("button", name="Start again").click()
    figure.get_by_role("button", name="Write to the end").click()
    assert figure.locator(".steps-text li").all_inner_texts() == written


@pytest.mark.browser
@pytest.mark.parametrize("texts", [10, pytest.param(100, marks=pytest.mark.proof)])
def test_logits_are_those_of_pytorch_on_drawn_texts(figure, texts):
    exported = json.loads(
        figure.page.evaluate("JSON.stringify(courseModels['small-writer-model'])")
    )
    model, size = decoder_from_export(exported), exported["config"]["vocab_size"]
    drawn = torch.randint(size, (texts, exported["config"]["max_length"]))
    found = torch.tensor(write_in_page(figure.page, drawn.tolist()))
    with torch.no_grad():
        assert (found - model(drawn)).abs().max() < living.CLOSE


@pytest.mark.browser
def test_words_are_chosen_and_taken_back_by_keyboard(figure):
    figure.get_by_role("button", name="Start again").press("Enter")
    first = figure.locator(".steps-word").first
    word = first.locator(".steps-name").inner_text()
    first.focus()
    figure.page.keyboard.press("Enter")
    assert figure.locator(".steps-text li").last.inner_text() == word
    assert figure.locator(".steps-table tbody tr").count() == 2
    figure.get_by_text(f"After \u201c{word}\u201d the model expects").wait_for()
    assert figure.locator(".steps-word").first.evaluate("e => e === document.activeElement")
    figure.get_by_role("button", name="Take back").press("Enter")
    assert figure.locator(".steps-text li").count() == 1


@pytest.mark.browser
def test_sliders_change_what_is_drawn_and_the_cache_fills_token_by_token(figure):
    rows = figure.locator(".steps-cache tbody tr")
    assert rows.count() == 4  # keys and values of two layers
    before = count(figure, "bytes")
    figure.get_by_role("button", name="Take the likeliest").click()
    assert figure.locator(".steps-cache tbody tr").first.locator("td").count() == 2
    assert count(figure, "bytes") == 2 * before == 2 * 1024
    for name in ("cached", "anew"):
        assert float(figure.locator(f"[data-count={name}]").inner_text()) >= 0
    top_k = figure.get_by_label("Top k")
    top_k.press("Home")
    chances = figure.locator("[data-chance]")
    assert chances.first.get_attribute("data-chance") == "1"
    assert figure.locator(".steps-share", has_text="out").count() == chances.count() - 1
    first = chances.first.locator(".steps-name").inner_text()
    figure.get_by_role("button", name="Draw by chance").click()
    assert figure.locator(".steps-text li").last.inner_text() == first
