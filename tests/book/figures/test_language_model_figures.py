"""The language models that run in pages equal ``course_lib``'s, in node and in the page."""

import base64
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.analysis.attention_reader import AttentionReader, AttentionReaderConfig
from course_lib.analysis.complexity import kv_cache_bytes
from course_lib.analysis.recorders import recorded_attention
from course_lib.generation.sampling import keep_top_k, keep_top_p
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import split_word
from course_lib.training.export import language_model_data, masked_language_model_data
from tests.book import living_figures as living
from tests.book.figures.conftest import data_of, figure_test, numbers, run_script
from tests.book.living_models import BlankFiller, decoder_from_export, largest_gap
from tests.book.watched_page import expect

pytestmark = pytest.mark.depends_on("book/_ext", "course_lib", "tests/book/figures")
ENGINE = [f"engine/{part}.js" for part in ("matrices", "attention", "weights")]

# ---- a decoder that writes ----

READ = """((tokens) => {
  const { DecoderLM, unpack, pastBytes } = courseEngine;
  const decoder = new DecoderLM(unpack(data.parameters), data.config.num_heads);
  const whole = decoder.read(tokens);
  let past = undefined;
  const steps = [];
  tokens.forEach((token) => { steps.push(decoder.read([token], past)); past = steps.at(-1).past; });
  const plain = ({ logits, weights, past }) => ({ logits: [...logits], bytes: pastBytes(past),
    weights: weights.map((heads) => heads.map((matrix) => matrix.map((row) => [...row]))) });
  return { whole: plain(whole), steps: steps.map(plain) };
})"""


@pytest.mark.parametrize("is_tied", [True, False])
def test_the_decoder_in_node_equals_the_librarys_with_a_cache_and_without(is_tied):
    config = DecoderLMConfig(
        vocab_size=5, max_length=6, d_model=8, num_heads=2, d_ff=12, num_layers=2, dropout=0.0
    )
    model = DecoderLM(config).eval()
    if not is_tied:
        model.output_projection = nn.Linear(8, 5, bias=False)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)  # every part has an effect
    words = [f"w{i}" for i in range(5)]
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
    cached = kv_cache_bytes(1, len(tokens), 2, 8, bytes_per_number=8)
    assert read["whole"]["bytes"] == read["steps"][-1]["bytes"] == cached


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


@figure_test("generation-steps")
def test_the_likeliest_words_equal_pytorchs_at_each_step(figure):
    def count(name):
        return int(figure.locator(f"[data-count={name}]").inner_text().replace(",", ""))

    def press(name):
        figure.get_by_role("button", name=name).click()

    exported = json.loads(
        figure.page.evaluate("JSON.stringify(courseModels['small-writer-model'])")
    )
    model, config, words = decoder_from_export(exported), exported["config"], exported["words"]
    press("Start again")
    tokens, shown = [config["start"]], figure.locator(".steps-word")
    one_token = count("bytes")
    while tokens[-1] != config["end"]:
        with torch.no_grad():
            best = model(torch.tensor([tokens]))[0, -1].softmax(-1).topk(6)
        names = shown.locator(".steps-name").all_inner_texts()
        assert names == [words[token] for token in best.indices.tolist()]
        probabilities = numbers(shown, "probability")
        assert probabilities == pytest.approx(best.values.tolist(), abs=living.CLOSE)
        tokens.append(int(best.indices[0]))
        press("Take the likeliest")
    read = len(tokens) - 1
    assert (count("now"), count("all")) == (read, read * (read + 1) // 2)
    assert count("bytes") == read * one_token == read * 1024
    assert shown.first.is_disabled()
    written = figure.locator(".steps-text li").all_inner_texts()
    figure.get_by_label("Top k").press("Home")  # greedy
    press("Start again")
    chances = figure.locator("[data-chance]")
    assert chances.first.get_attribute("data-chance") == "1"
    press("Write to the end")
    assert figure.locator(".steps-text li").all_inner_texts() == written
    press("Start again")
    shown.first.focus()
    figure.page.keyboard.press("Enter")
    assert figure.locator(".steps-text li").count() == 2
    assert shown.first.evaluate("word => word === document.activeElement")
    figure.get_by_role("button", name="Take back").press("Enter")
    assert figure.locator(".steps-text li").count() == 1


# ---- models that guess hidden words ----

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s", "bark"]
GUESS = """((tokens) => {
  const model = new courseEngine.MaskedLM(data.config, courseEngine.unpack(data.parameters));
  const { logits, weights } = model.read(tokens);
  const plain = (matrix) => matrix.map((row) => [...row]);
  return { logits: plain(logits), weights: weights.map((heads) => heads.map(plain)) };
})"""


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_bert_in_node_equals_the_librarys(norm_position, causal):
    config = {
        "vocab_size": len(WORDS), "max_length": 9, "num_segments": 2, "num_layers": 2,
        "d_model": 8, "num_heads": 2, "d_ff": 12, "eps_embeddings": 1e-12, "eps_layers": 1e-3,
        "eps_head": 1e-2, "norm_position": norm_position, "causal": causal,
    }  # fmt: skip
    model = BlankFiller(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)  # every part has an effect
    data = masked_language_model_data(model, words=WORDS, num_heads=2, causal=causal)
    tokens = [1, 4, 5, 3, 6, 2]
    found = run_script("engine/masked-lm.js", f"{GUESS}({tokens})", data, *ENGINE)
    assert largest_gap(model.double(), tokens, found) < 1e-9


def test_the_error_function_is_exact_near_zero_and_far_away():
    xs = [-7, -3, -0.5, -1e-9, 0, 1e-3, 1, 2.5, 5.9, 6.1]
    found = run_script("engine/masked-lm.js", "data.map(courseEngine.erf)", xs, *ENGINE)
    assert found == pytest.approx([math.erf(x) for x in xs], rel=1e-13, abs=1e-16)


def test_words_are_split_into_the_librarys_pieces():
    vocabulary = Vocabulary(tokens=(*WORDS, "[UNK]"), specials=("[UNK]",), unknown="[UNK]")
    words = ["dog", "dogs", "dogss", "bark", "barks", "cat", "dogcat", "s"]
    call = f"data.map((word) => courseEngine.pieces(word, {WORDS}))"
    found = run_script("engine/word-pieces.js", call, words, *ENGINE)
    for word, pieces in zip(words, found, strict=True):
        assert (pieces or ["[UNK]"]) == list(split_word(word, vocabulary))


def models_in_page(figure):
    """Return both models of the figure's page, rebuilt in PyTorch, and their common words."""
    loaded = json.loads(figure.page.evaluate("JSON.stringify(courseModels['blank-fillers'])"))
    return [BlankFiller.from_export(model) for model in loaded], loaded[0]["words"]


def guessed(models, words, text, gap):
    """Return both models' probabilities of all words at the position ``gap`` of a text.

    The position counts from 1; the word there is hidden.
    """
    ids = torch.tensor([[words.index(word) for word in ("[CLS]", *text, "[SEP]")]])
    ids[0, gap] = words.index("[MASK]")
    with torch.no_grad():
        return models[0](ids)[0, gap].softmax(-1), models[1](ids)[0, gap - 1].softmax(-1)


@figure_test("mlm-guesser")
def test_guesses_and_the_effect_of_a_clue_equal_the_models(figure):
    models, words = models_in_page(figure)
    text, gap = figure.get_by_label("A sentence").input_value().split(), 3
    before = guessed(models, words, text, gap)
    after = guessed(models, words, ["[MASK]" if word == "is" else word for word in text], gap)
    bars = [figure.locator(f"[data-reader='{reader}'] li") for reader in (0, 1)]
    for bar, expected in zip(bars, before, strict=True):
        best = expected[4:].topk(6)
        assert numbers(bar, "probability") == pytest.approx(best.values.tolist(), abs=living.CLOSE)
        guesses = bar.locator(".guesser-guess").all_text_contents()
        names = [text.removeprefix("\N{CHECK MARK} ") for text in guesses]
        assert names == [words[4 + i] for i in best.indices]
    worth = figure.locator(".guesser-worth td").nth(len(text)).get_attribute("data-value")
    moved = float((before[0] - after[0]).abs().sum() / 2)
    assert float(worth) == pytest.approx(moved, abs=living.CLOSE)
    figure.get_by_role("button", name="Hide the clue too").click()
    for bar, expected in zip(bars, after, strict=True):
        best = expected[4:].topk(6).values.tolist()
        assert numbers(bar, "probability") == pytest.approx(best, abs=living.CLOSE)


@figure_test("mlm-guesser")
def test_a_typed_sentence_is_read_and_words_are_hidden_by_keyboard(figure):
    models, words = models_in_page(figure)
    field, problem = figure.get_by_label("A sentence"), figure.locator(".living-problem")
    field.fill("The tall apples near the ___ are")
    field.press("Enter")
    expect(figure.locator(".guesser-words button").nth(5)).to_have_text("___")
    text = ["the", "tall", "apples", "near", "the", "[MASK]", "are"]
    expected = guessed(models, words, text, 6)[0][4:].topk(6).values.tolist()
    shown = numbers(figure.locator("[data-reader='0'] li"), "probability")
    assert shown == pytest.approx(expected, abs=living.CLOSE)
    for typed, message in (
        ("the old wryter is", "spelt like it: writer"),
        ("", "Type a sentence"),
        ("the old writer of the new book of the door is", "has places for 8"),
    ):
        field.fill(typed)
        field.press("Enter")
        expect(problem).to_contain_text(message)
    figure.get_by_label("or pick one").select_option(index=0)
    buttons = figure.locator(".guesser-words button")
    buttons.nth(2).press("ArrowRight")
    assert buttons.nth(3).evaluate("word => word === document.activeElement")
    figure.get_by_label("several").check()
    buttons.nth(0).press("Enter")
    assert figure.locator(".guesser-words [aria-pressed=true]").count() == 2


# ---- a reader during its training ----


def reader_from_export(exported):
    """Return the ``AttentionReader`` with a page's exported parameters."""
    values = np.frombuffer(base64.b64decode(exported["float16"]), "<f2").astype("f4")
    shapes = exported["shapes"]
    parts = torch.tensor(values).split([math.prod(shape) for shape in shapes.values()])
    vocab_size, d_model = shapes["token_embedding.weight"]
    length = shapes["position_embedding.weight"][0]
    reader = AttentionReader(
        AttentionReaderConfig(vocab_size=vocab_size, max_length=length, d_model=d_model)
    )
    pairs = zip(shapes.items(), parts, strict=True)
    reader.load_state_dict({name: part.view(shape) for (name, shape), part in pairs})
    return reader


@figure_test("training-scrubber")
def test_the_reader_learns_in_view_and_names_letters_that_it_does_not_know(figure):
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".course-summary")).to_contain_text("\u201cdrawkcab\u201d: 8 of 8")
    assert figure.page.evaluate("window.courseModels") is None
    figure.get_by_label("8 letters of your own").fill("a 3b")
    odd = "left out: the space, \u201c3\u201d. It reads rows of 8, so \u00b7 fills up the rest."
    expect(figure.locator(".scrubber-odd")).to_contain_text(odd)
    expect(figure.locator("thead th")).to_have_text([*"ab", *"\u00b7" * 6])


@figure_test("training-scrubber")
def test_the_reader_equals_pytorchs_at_each_step_of_its_training(figure):
    data = data_of(figure)
    figure.get_by_label("8 letters of your own").fill("Zeppelin")
    figure.page.wait_for_function("window.courseModels?.reversal")
    expect(figure.locator(".scrubber-odd")).to_be_empty()
    tokens = torch.tensor([[data["letters"].index(x) + data["first"] for x in "zeppelin"]])
    slider = figure.get_by_label("Steps of training")
    slider.press("Home")
    for step, exported in enumerate(figure.page.evaluate("courseModels.reversal")):
        with torch.no_grad():
            logits, weights = reader_from_export(exported)(tokens, tokens, return_weights=True)
        shown = numbers(figure.locator("tbody [data-weight]"), "weight")
        assert shown == pytest.approx(weights.flatten().tolist(), abs=living.CLOSE)
        found = figure.page.evaluate(
            "([step, tokens]) => courseEngine.readThrough(courseEngine.unpack("
            "courseModels.reversal[step]), tokens, 1).logits.map((row) => [...row])",
            [step, tokens[0].tolist()],
        )
        assert (torch.tensor(found) - logits[0]).abs().max() < living.CLOSE
        slider.press("ArrowRight")
    assert "".join(figure.locator("tbody th").all_text_contents()) == "nileppez"
    expect(figure.locator(".course-summary")).to_contain_text("8 of 8 letters are right")
