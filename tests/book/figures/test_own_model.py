"""A model of the reader's own in the living figure: from homework 5's last cell into the page."""

import json
import math

import pytest
import torch

from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.export import export_translator
from tests.book import living_figures as living
from tests.book import own_models
from tests.book.living_model import computed, from_export, largest_difference, run_in_page
from tests.book.own_models import HOSTILE, broken, choose, refused, with_number
from tests.book.watched_page import depends_on_page, expect

pytestmark = [
    pytest.mark.browser,
    depends_on_page(
        "living-transformer", "course_lib", "solutions/hw05-transformer.py", "tests/book/figures"
    ),
]

NAME = "living-transformer"
WORDS = ["<pad>", "<start>", "<end>", HOSTILE, "cat"]
GIVEN = {"src_words": WORDS, "tgt_words": WORDS, "sentences": ["cat cat"], "num_heads": 2}


TRAINING = """
translator = Transformer(len(ENGLISH), len(FRENCH), d_model=32, num_heads=2, d_ff=64, num_layers=1)
optimizer = torch.optim.Adam(translator.parameters(), lr=0.01)
for _ in range(10):
    training_step(translator, optimizer, *draw_batch(16))
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Homework 5, solved, its model trained for a moment, and the file of its last cell."""
    file = tmp_path_factory.mktemp("hw05") / "my-model.json"
    torch.manual_seed(1)
    return own_models.written_by(
        "hw05-transformer", demo="", train=lambda _: TRAINING, file=file
    ), file


@pytest.fixture(scope="module")
def small():
    """A translator of the library."""
    torch.manual_seed(2)
    sizes = {"src_vocab_size": 5, "tgt_vocab_size": 5, "d_model": 8, "num_heads": 2, "d_ff": 6}
    return Transformer(
        TransformerConfig(**sizes, num_encoder_layers=2, num_decoder_layers=1, dropout=0.0)
    ).eval()


@pytest.fixture(scope="module")
def text(small, tmp_path_factory):
    """What the file of the small translator holds."""
    return export_translator(small, tmp_path_factory.mktemp("m") / "m.json", **GIVEN).read_text()


@pytest.fixture(scope="module")
def page(chromium, site):
    """The page, opened from a folder, with the engine."""
    with living.opened_for(chromium, site.as_uri(), NAME, **living.DESKTOP) as watched:
        own_models.load_engine(watched.page, NAME)
        yield watched.page


@pytest.mark.proof
def test_what_homework_5_writes_runs_in_the_page_with_the_numbers_of_its_own_layers(notebook, page):
    solved, file = notebook
    reference, _ = from_export(json.loads(file.read_text()))
    figure = choose(page, NAME, file)
    gap = figure.locator("[data-gap]")
    expect(gap).to_contain_text("it is the same model")
    assert float(gap.get_attribute("data-gap")) < living.CLOSE
    offered = figure.get_by_label("or pick one").locator("option")
    for sentence in offered.all_text_contents():
        figure.get_by_label("or pick one").select_option(sentence)
        src = solved["token_ids"]([sentence.split()], solved["ENGLISH"])
        run = run_in_page(page, src[0].tolist(), file=file.read_text())
        own = solved["translator"](src, torch.tensor([run["read"]]))[0]
        assert (torch.tensor(run["trace"]["output_projection"]) - own).abs().max() < living.CLOSE
        expected = computed(reference, src[0].tolist(), run["read"])
        assert largest_difference(run["trace"], expected) < living.CLOSE
        words = [solved["FRENCH"][i] for i in solved["translate"](solved["translator"], src, 21)[0]]
        line = figure.locator(".living-result", has_text="French")
        expect(line).to_have_attribute("data-written", " ".join(w for w in words if "<" not in w))
    figure.get_by_role("button", name="Back to the course").click()
    expect(figure.locator(".living-mine")).to_be_empty()
    assert offered.count() > 3


def test_code_that_computes_something_else_is_told_so(page, small, tmp_path):
    file = export_translator(
        own_models.with_forgotten_scale(small, 2), tmp_path / "m.json", **GIVEN
    )
    own_models.assert_is_told_apart(page, NAME, file, small)


def test_words_of_a_file_are_text_and_nothing_else(page, small, tmp_path):
    file = export_translator(small, tmp_path / "m.json", **GIVEN | {"sentences": [HOSTILE]})
    figure = choose(page, NAME, file)
    expect(figure.locator("[data-gap]")).to_contain_text("it is the same model")
    figure.locator("[data-stage=decoder]").click()
    assert HOSTILE in figure.locator(".living-lens").inner_text()
    assert HOSTILE in figure.locator(".living-words").first.inner_text()
    assert figure.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


def doubled(written):
    written["words"]["src"][3] = "cat"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (broken("format", "translator, version 0"), "no translator of this course"),
        (broken("config/d_model", 1e9), "d_model must be a whole number from 1 to 512"),
        (broken("config/num_heads", 3), "its heads must divide it"),
        (broken("config/num_encoder_layers", 2.5), "num_encoder_layers must be a whole number"),
        (broken("config/norm_position", "<b>"), "norm_position must be"),
        (broken("config/activation", "gelu"), "ReLU alone"),
        (broken("words", None), "vocabularies are missing"),
        (broken("words/tgt", ["a"]), "target vocabulary must be 5 words"),
        (broken("words/src", ["a", "b", "c", "d", {"toString": 1}]), "source vocabulary must be"),
        (broken("words/tgt", ["a", "b", "c", "d", "<end>"]), "must hold <start> and <end>"),
        (doubled, "holds a word twice"),
        (broken("parameters/shapes/__proto__", [1]), "holds a parameter that this Transformer"),
        (broken("parameters/shapes/encoder.layers.0.feed_forward.up_projection.bias", [7]), "6"),
        (lambda w: w["parameters"]["shapes"].pop("tgt_embedding.weight"), "is missing"),
        (broken("parameters/float32", "AAAA"), "cut off or damaged"),
        (with_number(math.inf), "infinite, undefined or far too large"),
        (broken("sentences", []), "sentences, or what the model made of them"),
        (broken("sentences", [{"src": [99], "read": [1], "logits": [[0] * 5]}]), "sentences"),
        (broken("sentences", [{"src": [1], "read": [1], "logits": [["0"] * 5]}]), "sentences"),
    ],
)
def test_a_file_that_is_wrong_or_hostile_is_refused_in_plain_words(page, text, change, message):
    assert message in refused(page, "readTranslator", text, change)


def test_a_file_of_too_many_numbers_is_refused_before_they_are_read(page, text):
    def grown(written):
        written["config"] |= {"d_model": 512, "d_ff": 4096, "num_encoder_layers": 12}
        shapes = page.evaluate("(config) => courseEngine.shapesOf(config)", written["config"])
        written["parameters"]["shapes"] = shapes

    assert "2,000,000 are the most" in refused(page, "readTranslator", text, grown)


def test_a_file_that_is_cut_off_or_too_large_leaves_what_is_open_as_it_is(page, tmp_path):
    before = page.locator(".living-bench").inner_text()
    own_models.assert_damaged_files_are_refused(page, NAME, tmp_path)
    assert page.locator(".living-bench").inner_text() == before


def test_a_model_whose_first_sentence_is_too_long_for_the_drawing_waits_for_another(
    page, small, tmp_path
):
    long = " ".join(["cat"] * 15)
    file = export_translator(small, tmp_path / "m.json", **GIVEN | {"sentences": [long]})
    figure = choose(page, NAME, file)
    expect(figure.locator(".living-problem")).to_contain_text("That is 15 words")
    expect(figure.locator(".living-bench")).to_be_hidden()
    figure.get_by_label("An English sentence").fill("cat")
    figure.get_by_role("button", name="Translate").click()
    expect(figure.locator(".living-result").first).to_be_visible()


def test_a_file_may_be_dropped(page, text):
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "my-model.json"));
          const drop = new DragEvent("drop", { dataTransfer: data, cancelable: true });
          document.querySelector(".living-own").dispatchEvent(drop);
        }""",
        text,
    )
    expect(page.locator("[data-gap]")).to_contain_text("it is the same model")
