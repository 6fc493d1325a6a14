"""Search by meaning: the page's encoder equals Python's, and is offered only with its weights."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from course_book.site import meaning
from playwright.sync_api import expect

from course_lib.models.bert import BertConfig, BertModel
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece
from tests.book.conftest import ROOT, serving
from tests.book.figures.conftest import NODE
from tests.book.watched_page import opened

pytestmark = pytest.mark.depends_on("book/_ext", "book/_static", "course_lib", "tests/book/*.py")
STATIC = ROOT / "book" / "_static"
WORDS = (
    *("mask", "hide", "future", "beam", "search", "keep", "several", "the", "a", "caf"),
    *("##e", "##s", "##ing", ",", "-", "(", ")", "\u4f60"),
)
TEXTS = (
    "The masks hide the future",
    "Beam-search (keep SEVERAL), caf\u00e9s",
    "xqzzyw \u4f60\u597d the\u200b  a\tbeam \U0001f642",
    "keep " * 90,
    "",
)
CLOSE = 1e-2  # of the cosine of Python's vector and that in 8 bits
ENCODE = """
const [file, texts] = [process.argv[2], JSON.parse(process.argv[3])];
const bytes = require("fs").readFileSync(file);
const encoder = new courseSentenceEncoder(
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
(async () => {
  const found = [];
  for (const text of texts) found.push([encoder.tokenize(text), [...await encoder.encode(text)]]);
  console.log(JSON.stringify(found));
})();
"""


@pytest.fixture(scope="module")
def small():
    """A random encoder and its tokenizer."""
    specials = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    vocabulary = Vocabulary(tokens=(*specials, *WORDS), specials=specials, unknown="[UNK]")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary), max_length=80, num_layers=2, d_model=32, num_heads=4, d_ff=64,
        dropout=0.0, init_std=0.3,
    )  # fmt: skip
    model = BertModel(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5)
    return model, WordPiece(vocabulary=vocabulary)


def encode_in_node(folder: Path, file: bytes, texts) -> list:
    """Return the ids and the vector that the page's encoder, run by node, finds for each text.

    ``file`` is the content of the model's file.
    """
    script = (STATIC / "js" / "sentence-encoder.js").read_text(encoding="utf-8")
    (folder / "model.bin").write_bytes(file)
    (folder / "encode.js").write_text(f"globalThis.window = globalThis;\n{script}\n{ENCODE}")
    command = [NODE, folder / "encode.js", folder / "model.bin", json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_equal(folder: Path, model, tokenizer, texts) -> None:
    """Check that the page's encoder finds the ids and nearly the vectors of a model for texts."""
    found = encode_in_node(folder, meaning.model_file(model, tokenizer), texts)
    cls, sep = tokenizer.vocabulary.encode(["[CLS]", "[SEP]"])
    expected = meaning.encode_texts(texts, model, tokenizer)
    for text, (ids, vector), whole in zip(texts, found, expected, strict=True):
        assert ids == [cls, *tokenizer.encode(text)[: meaning.LONGEST - 2], sep], text
        assert 1 - float(torch.tensor(vector) @ whole) < CLOSE, text


def test_pages_encoder_equals_pythons(tmp_path, small):
    check_equal(tmp_path, *small, TEXTS)


def test_pages_minilm_equals_pythons(tmp_path):
    folder = meaning.find_minilm()
    if folder is None:
        pytest.skip("MiniLM is not installed; it comes with: make weights")
    texts = (*TEXTS, "my GPU runs out of RAM", "\u00c7a va bien, Zo\u00eb? softmax(x/\u03c4) = 1/2")
    check_equal(tmp_path, *meaning.load_minilm(folder), texts)


ENTRIES = [
    {"kind": "section", "page": "book/masking.html", "anchor": "a", "title": "Masking",
     "of": "Masking", "text": "hide the future"},
    {"kind": "term", "page": "book/glossary.html", "anchor": "b", "title": "mask", "of": "Glossary",
     "text": "hide"},
    {"kind": "section", "page": "book/decoding.html", "anchor": "c", "title": "Beam search",
     "of": "Decoding", "text": "keep several"},
    {"kind": "section", "page": "book/decoding.html", "anchor": "d", "title": "Exercises",
     "of": "Decoding", "text": "search"},
    {"kind": "section", "page": "book/api-layers.html", "anchor": "e", "title": "Layers",
     "of": "API", "text": "mask"},
]  # fmt: skip


def test_sections_with_text_of_their_own_are_searched():
    assert meaning.searched_sections(ENTRIES) == {
        0: "Masking. Masking. hide the future",
        2: "Decoding. Beam search. keep several",
    }


@pytest.fixture
def built(tmp_path, monkeypatch, small):
    """A function that writes a small site's files and returns its page's inline scripts."""

    def build(*, is_installed=True, pages=(meaning.PAGE,)) -> list[str]:
        scripts: list[str] = []
        (tmp_path / "_static").mkdir(exist_ok=True)
        entries = f"window.courseSearchEntries = {json.dumps(ENTRIES)};\n"
        (tmp_path / "_static" / meaning.ENTRIES).write_text(entries)
        monkeypatch.setattr(meaning, "find_minilm", lambda: tmp_path if is_installed else None)
        monkeypatch.setattr(meaning, "load_minilm", lambda folder: small)
        app = SimpleNamespace(
            outdir=tmp_path, doctreedir=tmp_path, env=SimpleNamespace(found_docs={*pages}),
            builder=SimpleNamespace(format="html"),
            config=SimpleNamespace(html_theme="sphinx_book_theme"),
            add_js_file=lambda name, body: scripts.append(body),
        )  # fmt: skip
        meaning._name_files(app, "page")
        meaning._write_vectors(app, None)
        return scripts

    return build


@pytest.mark.parametrize("missing", [{"is_installed": False}, {"pages": ("book/bert",)}])
def test_build_without_weights_or_chapter_offers_no_search_by_meaning(built, tmp_path, missing):
    assert built(**missing) == []
    assert not (tmp_path / "_static" / "meaning").exists()


def test_second_build_encodes_changed_sections_alone(built, monkeypatch):
    encoded = []
    encode = meaning.encode_texts
    monkeypatch.setattr(
        meaning,
        "encode_texts",
        lambda texts, *model: encoded.extend(texts) or encode(texts, *model),
    )
    built()
    assert len(encoded) == 2
    monkeypatch.setitem(ENTRIES[2], "text", "keep the several")
    built()
    assert encoded[2:] == ["Decoding. Beam search. keep the several"]


PAGE = """<!doctype html><html lang="en" data-content_root="./"><title>Page</title>
<link rel="icon" href="data:,">
<form class="bd-search"><input aria-label="Search the book"></form>
<script>{named}</script><script src="_static/js/search.js"></script></html>"""


def write_page(folder: Path, named: str) -> None:
    """Write a page with the book's search, with ``named`` as inline script."""
    for part in ("js", "minisearch"):
        shutil.copytree(STATIC / part, folder / "_static" / part)
    (folder / "page.html").write_text(PAGE.format(named=named))


@pytest.mark.browser
def test_reader_searches_by_meaning_once_the_model_is_loaded(chromium, built, tmp_path, small):
    write_page(tmp_path, built()[0])
    asked = "hide future"
    vectors = meaning.encode_texts([asked, *meaning.searched_sections(ENTRIES).values()], *small)
    best = ["Masking", "Beam search"][int((vectors[1:] @ vectors[0]).argmax())]
    with serving(tmp_path) as address, opened(chromium, f"{address}/page.html") as watched:
        page = watched.page
        page.get_by_role("button", name="By meaning").click()
        load = page.get_by_role("button", name="Load MiniLM (0 MB)")
        load.click()
        expect(load).to_be_hidden()
        page.keyboard.type(asked)
        results = page.locator(".course-search-result .course-search-title")
        expect(results).to_have_count(2)
        expect(results.first).to_have_text(best)
        expect(page.get_by_role("status")).to_have_text("The 2 nearest sections")
        page.get_by_role("button", name="By words").click()
        expect(page.get_by_role("status")).to_contain_text("results")


@pytest.mark.browser
def test_failed_download_is_reported_and_can_be_repeated(chromium, built, tmp_path):
    write_page(tmp_path, built()[0])
    model = tmp_path / "_static" / meaning.MODEL
    model.rename(tmp_path / "away")
    with (
        serving(tmp_path) as address,
        opened(chromium, f"{address}/page.html", is_clean=False) as watched,
    ):
        page = watched.page
        page.get_by_role("button", name="By meaning").click()
        load = page.get_by_role("button", name="Load MiniLM (0 MB)")
        load.click()
        expect(page.get_by_role("status")).to_have_text("The model could not be loaded. Try again.")
        (tmp_path / "away").rename(model)
        load.click()
        expect(load).to_be_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("place", ["server", "folder"])
def test_search_by_meaning_is_absent_without_weights_and_in_a_folder(
    chromium, built, tmp_path, place
):
    (named,) = built()
    write_page(tmp_path, named if place == "folder" else "")
    with serving(tmp_path) as address:
        start = address if place == "server" else tmp_path.as_uri()
        with opened(chromium, f"{start}/page.html") as watched:
            watched.page.get_by_label("Search the book").fill("mask")
            expect(watched.page.locator(".course-search-result").first).to_be_visible()
            assert watched.page.get_by_role("button").count() == 0
