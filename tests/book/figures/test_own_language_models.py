"""Models of the reader's own: what homework 6 and 8 write in the end runs in the pages."""

import json
import math

import pytest
import torch

from tests.book import living_figures as living
from tests.book import own_models
from tests.book.living_model import BlankFiller, decoder_from_export
from tests.book.own_models import HOSTILE, broken, choose, refused, with_number
from tests.book.watched_page import depends_on_page, expect
from tests.homework.tables import load_homework

pytestmark = [
    pytest.mark.browser,
    depends_on_page(
        *("bert", "build/book/_build/html/book/transformer-families.html", "course_lib"),
        *("solutions/hw06-kv-cache.py", "solutions/hw08-bert.py", "tests/book/figures"),
    ),
]


def shortened(until, fewer):
    """Make of a demo what trains its model for a moment."""

    def train(source):
        training = source.split(until)[0]
        for many, few in fewer.items():
            assert many in training
            training = training.replace(many, few)
        return training

    return train


@pytest.fixture(scope="module")
def storyteller(tmp_path_factory):
    """What homework 6 knows in the end, and the file that it writes."""
    file = tmp_path_factory.mktemp("hw06") / "my-language-model.json"
    train = shortened("def tell", {"range(121)": "range(4)"})
    return own_models.written_by("hw06-kv-cache", demo="jack", train=train, file=file), file


@pytest.fixture(scope="module")
def blanks(tmp_path_factory):
    """What homework 8 knows in the end, and the file that it writes."""
    file = tmp_path_factory.mktemp("hw08") / "my-bert.json"
    train = shortened("def fill_in", {"range(401)": "range(4)", "range(2000)": "range(60)"})
    return own_models.written_by(
        "hw08-bert", demo="fill-in-the-blank", train=train, file=file
    ), file


@pytest.fixture(scope="module")
def writer_page(chromium, site):
    """The page with the language model, opened from a folder, with the engine."""
    with living.opened_for(
        chromium, site.as_uri(), "generation-steps", **living.DESKTOP
    ) as watched:
        own_models.load_engine(watched.page, "generation-steps")
        yield watched.page


@pytest.fixture(scope="module")
def bert_page(chromium, site):
    """The page with the BERT, likewise."""
    with living.opened_for(chromium, site.as_uri(), "mlm-guesser", **living.DESKTOP) as watched:
        own_models.load_engine(watched.page, "mlm-guesser")
        yield watched.page


def test_the_storyteller_of_homework_6_writes_in_the_page(storyteller, writer_page):
    solved, file = storyteller
    figure = choose(writer_page, "generation-steps", file)
    gap = figure.locator("[data-gap]")
    expect(gap).to_contain_text("it is the same model")
    assert float(gap.get_attribute("data-gap")) < living.CLOSE
    figure.get_by_role("button", name="Start again").click()
    figure.get_by_label("Any word").select_option(
        label=None, value=str(solved["vocabulary"].index("is"))
    )
    figure.get_by_role("button", name="Append").click()
    tokens = torch.tensor([[solved["vocabulary"].index(word) for word in ("this", "is")]])
    with torch.no_grad():
        own = solved["storyteller"](tokens)[0, -1].softmax(-1)
        again = decoder_from_export(json.loads(file.read_text()))(tokens)[0, -1].softmax(-1)
    best = own.topk(6)
    shown = figure.locator(".steps-word")
    names = shown.locator(".steps-name").all_inner_texts()
    assert names == [solved["vocabulary"][i] for i in best.indices]
    probabilities = [float(word.get_attribute("data-probability")) for word in shown.all()]
    assert probabilities == pytest.approx(best.values.tolist(), abs=living.CLOSE)
    assert (own - again).abs().max() < living.CLOSE
    figure.get_by_role("button", name="Write to the end").click()
    assert figure.locator(".steps-table tbody tr").count() <= 12
    figure.get_by_role("button", name="Back to the course").click()
    expect(figure.locator(".steps-text li").first).to_have_text("<start>")
    expect(figure.locator(".living-mine")).to_be_empty()


@pytest.mark.proof
def test_the_bert_of_homework_8_fills_gaps_in_the_page_with_its_pieces_of_words(blanks, bert_page):
    solved, file = blanks
    figure = choose(bert_page, "mlm-guesser", file)
    gap = figure.locator("[data-gap]")
    expect(gap).to_contain_text("it is the same model")
    assert float(gap.get_attribute("data-gap")) < living.CLOSE
    tokens = solved["vocabulary"].tokens
    reference = BlankFiller.from_export(json.loads(file.read_text()))
    offered = figure.get_by_label("or pick one").locator("option").all_text_contents()
    assert offered[0] == "the two dogs ___ all night."
    for sentence in offered:
        figure.get_by_label("or pick one").select_option(sentence)
        ids = torch.tensor([solved["encode"](sentence.replace(".", " ."))])
        with torch.no_grad():
            own = solved["bert"](ids)[ids == solved["MASK"]][0].softmax(-1)
            text = ids[ids != solved["PAD"]][None]
            again = reference(text)[text == solved["MASK"]][0].softmax(-1)
        assert (own - again).abs().max() < living.CLOSE
        bars = figure.locator("[data-reader='0'] li")
        for bar in bars.all():
            word = bar.locator(".guesser-guess").inner_text().removeprefix("\N{CHECK MARK} ")
            shown = float(bar.get_attribute("data-probability"))
            assert shown == pytest.approx(float(own[tokens.index(word)]), abs=living.CLOSE)
    assert "##s" in figure.locator(".guesser-words").inner_text()
    figure.get_by_role("button", name="Back to the course").click()
    expect(figure.locator(".guesser-name").last).to_have_text("Left side only")


@pytest.mark.proof
def test_code_that_computes_something_else_is_told_so(blanks, bert_page):
    solved, file = blanks
    own_models.assert_is_told_apart(
        bert_page, "mlm-guesser", file, own_models.with_forgotten_scale(solved["bert"], 30)
    )
    bert_page.get_by_role("button", name="Back to the course").click()


@pytest.mark.parametrize(
    ("name", "made", "where", "word"),
    [
        ("generation-steps", "storyteller", "writer_page", "this"),
        pytest.param("mlm-guesser", "blanks", "bert_page", "dog", marks=pytest.mark.proof),
    ],
)
def test_words_of_a_file_are_text_and_nothing_else(request, name, made, where, word, tmp_path):
    _, file = request.getfixturevalue(made)
    page = request.getfixturevalue(where)
    written = json.loads(file.read_text())
    written["words"] = [HOSTILE if one == word else one for one in written["words"]]
    hostile = tmp_path / "hostile.json"
    hostile.write_text(json.dumps(written))
    figure = choose(page, name, hostile)
    expect(figure.locator("[data-gap]")).to_contain_text("it is the same model")
    assert HOSTILE in figure.locator(".steps-text, .guesser-known").first.text_content()
    assert figure.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    figure.get_by_role("button", name="Back to the course").click()


OF_EACH_READER = [
    (broken("format", "course translator, version 1"), "Open the file that the last cell of"),
    (broken("config", None), "does not say how large"),
    (broken("config/num_heads", 5), "Its heads must divide its d_model"),
    (broken("words", ["a"]), "Its vocabulary must be"),
    (broken("parameters", []), "parameters are missing"),
    (broken("sentences", []), "are damaged"),
    (broken("sentences/0/read", [99999]), "are damaged"),
    (broken("sentences/0/logits", ["0"]), "are damaged"),
]
OF_THE_CHECKS_THAT_THEY_SHARE = [
    (broken("config/d_model", 1e9), "d_model must be a whole number from 1 to 512"),
    (broken("config/num_layers", 2.5), "num_layers must be a whole number"),
    (broken("words/4", {"toString": 1}), "Its vocabulary must be"),
    (broken("words/4", "."), "Its vocabulary holds a word twice"),
    (broken("parameters/shapes/__proto__", [1]), "holds a parameter that this Transformer"),
    (broken("parameters/float32", "AAAA"), "cut off or damaged"),
    (with_number(math.nan), "infinite, undefined or far too large"),
]


def test_a_language_models_file_that_is_wrong_is_refused_in_plain_words(storyteller, writer_page):
    text = storyteller[1].read_text()
    for change, message in (
        *OF_EACH_READER,
        *OF_THE_CHECKS_THAT_THEY_SHARE,
        (broken("config/end", -1), "Its end must be one of its words"),
        (
            broken("parameters/shapes/positions.weight", [3, 3]),
            "positions.weight must have the shape",
        ),
        (lambda w: w["parameters"]["shapes"].pop("norm.bias"), "norm.bias is missing"),
    ):
        assert message in refused(writer_page, "readDecoderLM", text, change)


@pytest.mark.proof
def test_a_berts_file_that_is_wrong_is_refused_in_plain_words(blanks, bert_page):
    text = blanks[1].read_text()
    for change, message in (
        *OF_EACH_READER,
        (broken("config/causal", True), "its causal must be false"),
        (broken("config/norm_position", "<b>"), "norm_position must be"),
        (broken("config/eps_head", -1), "eps_head must be a number from 0 to 1"),
        (broken("words/3", "[mask]"), "must hold [CLS] and [SEP] and [MASK]"),
        (lambda w: w["parameters"]["shapes"].pop("head.norm.bias"), "head.norm.bias is missing"),
    ):
        assert message in refused(bert_page, "readMaskedLM", text, change)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("generation-steps", "writer_page"),
        pytest.param("mlm-guesser", "bert_page", marks=pytest.mark.proof),
    ],
)
def test_a_file_that_is_cut_off_or_too_large_is_refused(request, name, where, tmp_path):
    own_models.assert_damaged_files_are_refused(request.getfixturevalue(where), name, tmp_path)


@pytest.mark.parametrize(
    ("homework", "cell"),
    [
        ("hw05-transformer", "my-model"),
        ("hw06-kv-cache", "my-language-model"),
        ("hw08-bert", "my-bert"),
    ],
)
def test_where_nothing_is_trained_the_last_cell_says_so_and_fails_nothing(homework, cell, capsys):
    (source,) = (one.source for one in load_homework(homework).cells if one.grade_id == cell)
    exec(source, {"__name__": "__main__"})
    assert "Nothing is written yet" in capsys.readouterr().out
