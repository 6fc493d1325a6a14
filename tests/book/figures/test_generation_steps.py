"""The figure generation-steps: its data are checked, its model says what course_lib's does."""

import json

import pytest
import torch

from course_lib.analysis.complexity import kv_cache_bytes
from course_lib.analysis.recorders import recorded_attention
from course_lib.generation.sampling import keep_top_k, keep_top_p
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from tests.book.figures.test_figure_arithmetic import run_script
from tests.book.watched_page import depends_on_page, opened

pytestmark = depends_on_page("transformer-families", "course_lib", "tests/book/figures")


def a_model(words: int = 5) -> dict:
    torch.manual_seed(0)
    config = DecoderLMConfig(
        vocab_size=words, max_length=6, d_model=8, num_heads=2, d_ff=12, num_layers=2, dropout=0.0
    )
    model = DecoderLM(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # no part may be idle
    weights = {name: values.tolist() for name, values in model.state_dict().items()}
    del weights["output_projection.weight"]
    names = [f"w{i}" for i in range(words)]
    return {"words": names, "start": 0, "end": 1, "num_heads": 2, "weights": weights, "note": ""}


DATA = a_model()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surplus": 1}, "expected an object with"),
        ({"end": 5}, "end must be a whole number from 0 to 4"),
        ({"words": ["a", "b"]}, "weights must be those of a DecoderLM"),
        ({"num_heads": 3}, "divisible by num_heads"),
        ({"weights": {}}, "weights must be those of a DecoderLM"),
    ],
)
def test_wrong_data_are_refused(changes, message):
    from course_book.figures.generation_steps.data import GenerationSteps

    with pytest.raises(ValueError, match=message):
        GenerationSteps.from_json(DATA | changes)


def test_the_table_writes_the_likeliest_token_at_each_step():
    from course_book.figures.generation_steps.data import GenerationSteps

    figure = GenerationSteps.from_json(DATA)
    with torch.no_grad():
        first = int(figure.model()(torch.tensor([[0]]))[0, -1].argmax())
    assert f"<td>w0</td><td>w{first} " in figure.table()


ENGINE = [f"engine/{part}.js" for part in ("matrices", "attention")]
READ = """((tokens) => {
  const decoder = courseEngine.DecoderLM.fromLists(data.weights, data.num_heads);
  const whole = decoder.read(tokens);
  let past = undefined;
  const steps = [];
  tokens.forEach((token) => { steps.push(decoder.read([token], past)); past = steps.at(-1).past; });
  const plain = ({ logits, weights, past }) => ({ logits: [...logits],
    bytes: courseEngine.pastBytes(past), weights: weights.map((heads) =>
      heads.map((matrix) => matrix.map((row) => [...row]))) });
  return { whole: plain(whole), steps: steps.map(plain) };
})"""


def test_the_decoder_in_the_page_is_the_decoder_of_the_library_with_a_cache_and_without():
    from course_book.figures.generation_steps.data import GenerationSteps

    model = GenerationSteps.from_json(DATA).model()
    tokens = [0, 3, 2, 4, 2, 1]
    read = run_script("engine/decoder-lm.js", f"{READ}({tokens})", DATA, *ENGINE)
    with torch.no_grad(), recorded_attention(model) as weights:
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


@pytest.fixture
def figure(chromium, served):
    address = f"{served}/book/transformer-families.html"
    with opened(chromium, address, viewport={"width": 1280, "height": 900}) as watched:
        yield watched.page.locator("[data-course-figure=generation-steps]").first
    assert watched.problems == []


def count(figure, name):
    return int(figure.locator(f"[data-count={name}]").inner_text().replace(",", ""))


@pytest.mark.browser
def test_the_likeliest_words_are_those_of_the_library_at_each_step(figure):
    from course_book.figures.generation_steps.data import GenerationSteps

    steps = GenerationSteps.from_json(json.loads(figure.page.locator("#small-writer").inner_text()))
    model, tokens = steps.model(), [steps.start]
    figure.get_by_role("button", name="Start again").click()
    while tokens[-1] != steps.end:
        with torch.no_grad():
            best = model(torch.tensor([tokens]))[0, -1].softmax(-1).topk(6)
        shown = figure.locator(".steps-word").all()
        assert [word.locator(".steps-name").inner_text() for word in shown] == [
            steps.words[token] for token in best.indices.tolist()
        ]
        assert [float(word.get_attribute("data-probability")) for word in shown] == pytest.approx(
            best.values.tolist(), abs=1e-9
        )
        tokens.append(int(best.indices[0]))
        figure.get_by_role("button", name="Take the likeliest").click()
    read = len(tokens) - 1
    assert (count(figure, "now"), count(figure, "all")) == (read, read * (read + 1) // 2)
    assert figure.locator(".steps-word").first.is_disabled()


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
    figure.get_by_role("button", name="Start again").click()
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
