"""The reader's own models: files that solved homework writes are opened in the pages."""

import base64
import copy
import json
import math
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from autograder.homework_source.homework import CellKind
from course_lib.data.toy_translation_pairs import token_ids
from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import UncachedModel
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.export import export_parameters, export_translator
from tests.book import living_figures as living
from tests.book.figures.conftest import PAGES, numbers
from tests.book.living_models import (
    BlankFiller,
    computed,
    decoder_from_export,
    from_export,
    largest_difference,
    run_in_page,
)
from tests.book.watched_page import depends_on_page, expect
from tests.homework.tables import load_homework

TRANSLATOR, WRITER, GUESSER = "living-transformer", "generation-steps", "mlm-guesser"
pytestmark = [
    pytest.mark.browser,
    *(depends_on_page(PAGES.get(name, ""), "course_lib") for name in (TRANSLATOR, WRITER, GUESSER)),
    pytest.mark.depends_on("solutions", "tests/book/figures"),
]
HOSTILE = "<img/src=x/onerror=hacked=1>"
EVERY = [TRANSLATOR, WRITER, pytest.param(GUESSER, marks=pytest.mark.proof)]
SAME = "it is the same model"


# ---- the files ----


class Homework(NamedTuple):
    """A homework whose last cell writes a model's file.

    Attributes:
        name: Its id.
        file: Name of the file.
        demo: Name of the cell that trains the model; empty if ``training`` is run instead.
        until: A text in that cell; the code before it trains the model.
        shorter: Texts of that cell, and their replacements that shorten the training.
        training: Code that trains the model.
    """

    name: str
    file: str
    demo: str = ""
    until: str = ""
    shorter: dict[str, str] = {}  # noqa: RUF012
    training: str = ""


HOMEWORK = {
    TRANSLATOR: Homework(
        *("hw05-transformer", "my-model.json"),
        training="""
translator = Transformer(len(ENGLISH), len(FRENCH), d_model=32, num_heads=2, d_ff=64, num_layers=1)
optimizer = torch.optim.Adam(translator.parameters(), lr=0.01)
for _ in range(10):
    training_step(translator, optimizer, *draw_batch(16))
""",
    ),
    WRITER: Homework(
        *("hw06-kv-cache", "my-language-model.json", "jack", "def tell"),
        {"range(121)": "range(4)"},
    ),
    GUESSER: Homework(
        *("hw08-bert", "my-bert.json", "fill-in-the-blank", "def fill_in"),
        {"range(401)": "range(4)", "range(2000)": "range(60)"},
    ),
}


@pytest.fixture(scope="module")
def solve(tmp_path_factory) -> Callable[[str], tuple[dict[str, Any], Path]]:
    """A function that solves and trains the homework of a figure, given its name.

    It returns the variables of the notebook and the path of the model's file.
    """
    solved: dict[str, tuple[dict[str, Any], Path]] = {}

    def solve_once(figure: str) -> tuple[dict[str, Any], Path]:
        if figure not in solved:
            homework, namespace = HOMEWORK[figure], {"__name__": "__main__"}
            cells = load_homework(homework.name).cells
            for cell in cells:
                if cell.kind in (CellKind.SETUP, CellKind.SOLUTION):
                    exec(compile(cell.source, f"<{cell.grade_id}>", "exec"), namespace)
            sources = {cell.grade_id: cell.source for cell in cells}
            training = homework.training
            if homework.demo:
                training = sources[homework.demo].split(homework.until)[0]
            for many, few in homework.shorter.items():
                assert many in training
                training = training.replace(many, few)
            torch.manual_seed(1)
            exec(training, namespace)
            file = tmp_path_factory.mktemp(homework.name) / homework.file
            last = sources[file.stem].replace(f'"{file.name}"', repr(str(file)))
            exec(last, namespace)
            solved[figure] = namespace, file
        return solved[figure]

    return solve_once


WORDS = ["<pad>", "<start>", "<end>", "dog", "cat"]
GIVEN = {"src_words": WORDS, "tgt_words": WORDS, "sentences": ["cat cat"], "num_heads": 2}


@pytest.fixture(scope="module")
def small() -> Transformer:
    """A small random translator of ``course_lib``."""
    torch.manual_seed(2)
    sizes = {"src_vocab_size": 5, "tgt_vocab_size": 5, "d_model": 8, "num_heads": 2, "d_ff": 6}
    return Transformer(
        TransformerConfig(**sizes, num_encoder_layers=2, num_decoder_layers=1, dropout=0.0)
    ).eval()


@pytest.fixture(scope="module")
def file_of(solve, small, tmp_path_factory) -> Callable[[str], Path]:
    """A function that returns the file of a model for a figure, given the figure's name.

    The model is ``small`` for the translator, and else the one of the figure's homework.
    """
    translator = export_translator(small, tmp_path_factory.mktemp("small") / "m.json", **GIVEN)
    return lambda figure: translator if figure == TRANSLATOR else solve(figure)[1]


@pytest.fixture(scope="module")
def page_of(chromium, site):
    """A function that opens the page of a figure, given its name, and loads its engine."""
    visits, pages = [], {}

    def page_once(figure):
        if figure not in pages:
            visit = living.opened_for(chromium, site.as_uri(), figure, **living.DESKTOP)
            pages[figure] = visit.__enter__().page
            visits.append(visit)
            pages[figure].evaluate(f"courseLoad(courseDeferred['{figure}'])")
        return pages[figure]

    yield page_once
    for visit in visits:
        visit.__exit__(None, None, None)


def choose(page, name, file):
    """Open a model's file in the figure ``name`` of a page, and return the figure."""
    figure = living.figure_of(page, name)
    if not figure.locator(".living-own").evaluate("own => own.open"):
        figure.get_by_text("Open a model of your own").click()
    figure.get_by_label("Your model").set_input_files(file)
    return figure


def choose_same(page, name, file):
    """Open a model's file, check that the page computes the logits in it, and return the figure."""
    figure = choose(page, name, file)
    gap = figure.locator("[data-gap]")
    expect(gap).to_contain_text(SAME)
    assert float(gap.get_attribute("data-gap")) < living.CLOSE
    return figure


# ---- the numbers of the reader's own layers ----


@pytest.mark.proof
def test_the_translator_of_homework_5_runs_in_the_page(solve, page_of):
    (solved, file), page = solve(TRANSLATOR), page_of(TRANSLATOR)
    reference, _ = from_export(json.loads(file.read_text()))
    figure = choose_same(page, TRANSLATOR, file)
    offered = figure.get_by_label("or pick one").locator("option")
    for sentence in offered.all_text_contents():
        figure.get_by_label("or pick one").select_option(sentence)
        src = token_ids([sentence.split()], solved["ENGLISH"])
        run = run_in_page(page, src[0].tolist(), file=file.read_text())
        own = solved["translator"](src, torch.tensor([run["read"]]))[0]
        assert (torch.tensor(run["trace"]["output_projection"]) - own).abs().max() < living.CLOSE
        expected = computed(reference, src[0].tolist(), run["read"])
        assert largest_difference(run["trace"], expected) < living.CLOSE
        model, start = UncachedModel(partial(solved["translator"], src)), torch.tensor([[1]])
        (written,) = greedy(model, start, eos_id=2, max_new_tokens=20)
        words = [solved["FRENCH"][i] for i in written.tokens]
        line = figure.locator(".living-result", has_text="French")
        expect(line).to_have_attribute("data-written", " ".join(w for w in words if "<" not in w))
    figure.get_by_role("button", name="Back to the course").click()
    expect(figure.locator(".living-mine")).to_be_empty()


def test_the_storyteller_of_homework_6_writes_in_the_page(solve, page_of):
    solved, file = solve(WRITER)
    figure = choose_same(page_of(WRITER), WRITER, file)
    words = solved["vocabulary"]
    figure.get_by_role("button", name="Start again").click()
    figure.get_by_label("Any word").select_option(label=None, value=str(words.index("is")))
    figure.get_by_role("button", name="Append").click()
    tokens = torch.tensor([[words.index(word) for word in ("this", "is")]])
    with torch.no_grad():
        own = solved["storyteller"](tokens)[0, -1].softmax(-1)
        again = decoder_from_export(json.loads(file.read_text()))(tokens)[0, -1].softmax(-1)
    best, shown = own.topk(6), figure.locator(".steps-word")
    assert shown.locator(".steps-name").all_inner_texts() == [words[i] for i in best.indices]
    assert numbers(shown, "probability") == pytest.approx(best.values.tolist(), abs=living.CLOSE)
    assert (own - again).abs().max() < living.CLOSE
    figure.get_by_role("button", name="Back to the course").click()
    expect(figure.locator(".steps-text li").first).to_have_text("<start>")


@pytest.mark.proof
def test_the_bert_of_homework_8_fills_gaps_in_the_page(solve, page_of):
    solved, file = solve(GUESSER)
    figure = choose_same(page_of(GUESSER), GUESSER, file)
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
        guesses = bars.locator(".guesser-guess").all_inner_texts()
        names = [guess.removeprefix("\N{CHECK MARK} ") for guess in guesses]
        expected = [float(own[tokens.index(name)]) for name in names]
        assert numbers(bars, "probability") == pytest.approx(expected, abs=living.CLOSE)
    assert "##s" in figure.locator(".guesser-words").inner_text()
    figure.get_by_role("button", name="Back to the course").click()


@pytest.mark.parametrize("name", [TRANSLATOR, pytest.param(GUESSER, marks=pytest.mark.proof)])
def test_code_that_computes_other_numbers_is_told_apart(name, solve, small, page_of, tmp_path):
    """The file's logits are those of a model without the scale of its scores."""
    if name == TRANSLATOR:
        other = copy.deepcopy(small)
        file = export_translator(scaled(other, 2), tmp_path / "m.json", **GIVEN)
        model = small
    else:
        (solved, file), model = solve(name), None
        model = scaled(copy.deepcopy(solved["bert"]), 30)
    written = json.loads(file.read_text())
    written["parameters"] = export_parameters(model)
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(written))
    gap = choose(page_of(name), name, changed).locator("[data-gap]")
    expect(gap).to_contain_text("computed other numbers")


def scaled(model, factor):
    """Multiply the attention scores of a model's encoder by ``factor``, and return the model."""
    for layer in model.get_submodule("encoder.layers").children():
        layer.self_attention.query_projection.weight.data *= factor
    return model


# ---- hostile and damaged files ----


@pytest.mark.parametrize("name", EVERY)
def test_words_of_a_file_are_shown_as_text(name, file_of, page_of, tmp_path):
    written, page = json.loads(file_of(name).read_text()), page_of(name)
    word = {TRANSLATOR: "dog", WRITER: "this", GUESSER: "dog"}[name]
    lists = written["words"].values() if name == TRANSLATOR else [written["words"]]
    for words in lists:
        words[words.index(word)] = HOSTILE
    hostile = tmp_path / "hostile.json"
    hostile.write_text(json.dumps(written))
    figure = choose_same(page, name, hostile)
    if name == TRANSLATOR:
        figure.get_by_label("An English sentence").fill(HOSTILE)
        figure.get_by_role("button", name="Translate").click()
    shown = figure.locator(".living-words, .steps-text, .guesser-known").first
    expect(shown).to_contain_text(HOSTILE)
    assert figure.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    figure.get_by_role("button", name="Back to the course").click()


def put(path: str, value: Any) -> Callable[[Any], None]:
    """Return a function that sets one field of a file's content; ``path`` is like ``a/0/b``."""

    def change(written: Any) -> None:
        *outer, last = (int(name) if name.isdigit() else name for name in path.split("/"))
        for name in outer:
            written = written[name]
        written[last] = value

    return change


def drop(name: str) -> Callable[[Any], object]:
    """Return a function that removes the parameter ``name`` from a file's parsed content."""
    return lambda written: written["parameters"]["shapes"].pop(name)


def infinite(written: Any) -> None:
    """Make the first parameter of a file's content infinite."""
    letters = base64.b64encode(struct.pack("<f", math.inf)).decode()[:5]
    written["parameters"]["float32"] = letters + written["parameters"]["float32"][5:]


SHARED = [
    (put("config/d_model", 1e9), "d_model must be a whole number from 1 to 512"),
    (put("parameters/shapes/__proto__", [1]), "holds a parameter that this Transformer"),
    (put("parameters/float32", "AAAA"), "cut off or damaged"),
    (infinite, "infinite, undefined or far too large"),
]
OF_ONE_VOCABULARY = [
    *SHARED,
    (put("format", "course translator, version 1"), "Open the file that the last cell of"),
    (put("config", None), "does not say how large"),
    (put("config/num_heads", 5), "Its heads must divide its d_model"),
    (put("config/num_layers", 2.5), "num_layers must be a whole number"),
    (put("words", ["a"]), "Its vocabulary must be"),
    (put("words/4", {"toString": 1}), "Its vocabulary must be"),
    (put("words/4", "."), "Its vocabulary holds a word twice"),
    (put("parameters", []), "parameters are missing"),
    (put("sentences", []), "are damaged"),
    (put("sentences/0/read", [99999]), "are damaged"),
    (put("sentences/0/logits", ["0"]), "are damaged"),
]
READERS = {
    TRANSLATOR: ("readTranslator", [
        *SHARED,
        (put("format", "translator, version 0"), "no translator of this course"),
        (put("config/num_heads", 3), "its heads must divide it"),
        (put("config/num_encoder_layers", 2.5), "num_encoder_layers must be a whole number"),
        (put("config/norm_position", "<b>"), "norm_position must be"),
        (put("config/activation", "gelu"), "ReLU alone"),
        (put("words", None), "vocabularies are missing"),
        (put("words/tgt", ["a"]), "target vocabulary must be 5 words"),
        (put("words/src", [*"abcd", {"toString": 1}]), "source vocabulary must be"),
        (put("words/tgt", [*"abcd", "<end>"]), "must hold <start> and <end>"),
        (put("words/src/3", "cat"), "holds a word twice"),
        (put("parameters/shapes/encoder.layers.0.feed_forward.up_projection.bias", [7]), "6"),
        (drop("tgt_embedding.weight"), "is missing"),
        (put("sentences", []), "sentences, or the model\u2019s outputs for them"),
        (put("sentences", [{"src": [99], "read": [1], "logits": [[0] * 5]}]), "sentences"),
        (put("sentences", [{"src": [1], "read": [1], "logits": [["0"] * 5]}]), "sentences"),
    ]),
    WRITER: ("readDecoderLM", [
        *OF_ONE_VOCABULARY,
        (put("config/end", -1), "Its end must be one of its words"),
        (put("parameters/shapes/positions.weight", [3, 3]), "positions.weight must have the shape"),
        (drop("norm.bias"), "norm.bias is missing"),
    ]),
    GUESSER: ("readMaskedLM", [
        *OF_ONE_VOCABULARY[4:],
        (put("config/causal", True), "its causal must be false"),
        (put("config/norm_position", "<b>"), "norm_position must be"),
        (put("config/eps_head", -1), "eps_head must be a number from 0 to 1"),
        (put("words/3", "[mask]"), "must hold [CLS] and [SEP] and [MASK]"),
        (drop("head.norm.bias"), "head.norm.bias is missing"),
    ]),
}  # fmt: skip
READ = """([reader, text]) => {
  try { courseEngine[reader](text); } catch (error) { return error.message; }
  return "nothing";
}"""


@pytest.mark.parametrize("name", EVERY)
def test_a_malformed_file_is_rejected_with_its_fault(name, file_of, page_of):
    text, page = file_of(name).read_text(), page_of(name)
    reader, cases = READERS[name]
    for change, message in cases:
        written = json.loads(text)
        change(written)
        assert message in page.evaluate(READ, [reader, json.dumps(written)])


def test_a_file_with_too_many_numbers_is_rejected_before_they_are_read(file_of, page_of):
    page, written = page_of(TRANSLATOR), json.loads(file_of(TRANSLATOR).read_text())
    written["config"] |= {"d_model": 512, "d_ff": 4096, "num_encoder_layers": 12}
    shapes = page.evaluate("(config) => courseEngine.shapesOf(config)", written["config"])
    written["parameters"]["shapes"] = shapes
    message = page.evaluate(READ, ["readTranslator", json.dumps(written)])
    assert "2,000,000 are the most" in message


@pytest.mark.parametrize("name", EVERY)
def test_a_truncated_or_too_large_file_leaves_the_open_model(name, page_of, tmp_path):
    page = page_of(name)
    before = living.figure_of(page, name).locator(".living-bench").all_inner_texts()
    cut, large = tmp_path / "cut.json", tmp_path / "large.json"
    cut.write_text('{"format": "course')
    with large.open("wb") as hole:
        hole.truncate(16_000_001)
    problem = choose(page, name, cut).locator(".living-refused")
    expect(problem).to_contain_text("its end is missing")
    figure = choose(page, name, large)
    expect(problem).to_contain_text("16 are the most that this page takes")
    assert figure.locator(".living-bench").all_inner_texts() == before


def test_a_file_can_be_dropped(file_of, page_of):
    page = page_of(TRANSLATOR)
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "my-model.json"));
          const drop = new DragEvent("drop", { dataTransfer: data, cancelable: true });
          document.querySelector(".living-own").dispatchEvent(drop);
        }""",
        file_of(TRANSLATOR).read_text(),
    )
    expect(page.locator("[data-gap]")).to_contain_text(SAME)


@pytest.mark.parametrize("homework", HOMEWORK.values(), ids=HOMEWORK)
def test_the_last_cell_writes_nothing_without_a_trained_model(homework, capsys):
    cells = {cell.grade_id: cell.source for cell in load_homework(homework.name).cells}
    exec(cells[Path(homework.file).stem], {"__name__": "__main__"})
    assert "Nothing is written yet" in capsys.readouterr().out
