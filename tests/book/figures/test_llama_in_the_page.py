"""The Llama of the page, run by node: a small random model, and SmolLM2 where its file is there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from course_book.figures.assets import figure_assets
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from course_lib.generation.sampling import keep_top_p
from course_lib.models.pretrained.installed import smollm2_file
from tests.book.contents import ROOT
from tests.book.figures.conftest import run_node
from tests.book.figures.small_gguf import MERGES, TOKENS, NumpyLlama, write_small_gguf

pytestmark = pytest.mark.depends_on(
    "book/_ext", "course_lib", "tests/book/figures", "benchmarks/runs"
)
REFERENCE = ROOT / "benchmarks" / "runs" / "language-model-in-page" / "reference.json"
ENGINE = ("gguf", "quantised", "byte-level-bpe", "llama", "laboratory")
CLOSE = 1e-3  # between logits of the page and of PyTorch
OPEN = """
const { readGGUF, ByteLevelBPE, Llama } = courseLlama;
const open = () => {
  const bytes = require("fs").readFileSync(file);
  return readGGUF(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};
const finish = (steps) => { for (const _ of steps); };
"""


def run_llama(file: Path, body: str, data: Any = None) -> Any:
    """Return the result of a JavaScript function with this body, run by node.

    It may use the page's engine, ``file`` (the path of a model) and ``data``.
    """
    assets = figure_assets()
    scripts = "\n".join(assets[f"llama/{part}.js"].read_text("utf-8") for part in ENGINE)
    given = f"const [file, data] = [{json.dumps(str(file))}, {json.dumps(data)}];"
    return run_node(f"{scripts}\n{OPEN}\n{given}", f"(() => {{ {body} }})()")


READ = """
const { pieces, cuts } = data;
const model = new Llama(open());
const session = model.begin(cuts);
pieces.forEach((piece) => finish(model.read(session, piece)));
const states = session.tokens.map((_, place) => model.state(session, place));
return {
  logits: model.logits(states).map((row) => [...row]),
  one: [...model.logits([states.at(-1)])[0]],
  weights: session.weights.map((row) => [...row]),
  bytes: model.cacheBytes(session),
};
"""
IDS = [5, 77, 250, 9, 77, 250, 31, 8, 261, 40, 5, 77, 100, 3, 90, 41, 17, 66, 23]
NO_CUTS = {"heads": [], "layers": [], "rotary": False, "sink": False, "groups": False}


@pytest.mark.parametrize("pieces", [[IDS], [IDS[:1], IDS[1:6], IDS[6:]], [[i] for i in IDS]])
def test_llama_in_node_equals_numpys_however_the_text_is_cut(small, pieces):
    path, weights = small
    found = run_llama(path, READ, {"pieces": pieces, "cuts": NO_CUTS})
    expected, looks = NumpyLlama(weights).read(IDS)
    assert np.abs(np.array(found["logits"]) - expected).max() < 1e-5  # keys are kept in float32
    assert np.abs(np.array(found["one"]) - expected[-1]).max() < 1e-5
    for place, row in enumerate(found["weights"]):
        there = np.array([looks[layer][:, place, : place + 1] for layer in looks])
        assert np.abs(np.array(row).reshape(there.shape) - there).max() < 1e-6
    assert found["bytes"] == len(IDS) * 2 * 2 * 32 * 4


@pytest.mark.parametrize(
    ("cuts", "settings"),
    [
        ({"heads": ["1.2", "0.3"]}, {"heads": ((1, 2), (0, 3))}),
        ({"layers": [0]}, {"layers": (0,)}),
        ({"rotary": True}, {"rotary": False}),
        ({"sink": True}, {"sink": False}),
        ({"groups": True}, {"groups": False}),
        ({"groups": True, "rotary": True}, {"groups": False, "rotary": False}),
    ],
)
def test_each_cut_equals_numpys(small, cuts, settings):
    path, weights = small
    found = run_llama(path, READ, {"pieces": [IDS], "cuts": NO_CUTS | cuts})
    expected, _ = NumpyLlama(weights, **settings).read(IDS)
    whole, _ = NumpyLlama(weights).read(IDS)
    assert np.abs(np.array(found["logits"]) - expected).max() < 1e-5
    assert np.abs(expected - whole).max() > 0.1
    key_heads = 1 if "groups" in cuts else 2
    assert found["bytes"] == len(IDS) * 2 * 2 * 16 * key_heads * 4


TEXTS = [
    "hello the hell", " the  the\n\n t", "12 123, 0\u00bd 12", "it's they've'd",
    "\u00e9\u4eac \U0001f642",    "\ufeff\u0085\u00a0x\t ", "", "a\u200d_b--c",
]  # fmt: skip


@pytest.mark.parametrize("words", ["smollm", "gpt-2"])
def test_tokens_equal_those_of_the_library_tokenizers(tmp_path, words):
    path = tmp_path / "small.gguf"
    write_small_gguf(path, **{"tokenizer.ggml.pre": words})
    vocabulary = {token: i for i, token in enumerate(TOKENS)}
    peer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in MERGES]))
    bytes_of_words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    peer.pre_tokenizer = (
        pre_tokenizers.Sequence([digits, bytes_of_words]) if words == "smollm" else bytes_of_words
    )
    peer.decoder = decoders.ByteLevel()
    body = """const bpe = new ByteLevelBPE(open().settings);
      return data.map((text) => ({ ids: bpe.encode(text), text: bpe.decode(bpe.encode(text)) }));"""
    for text, found in zip(TEXTS, run_llama(path, body, TEXTS), strict=True):
        assert found["ids"] == peer.encode(text).ids
        assert found["text"] == text.removeprefix("\ufeff")  # a mark at the start is not shown


def test_special_tokens_are_found_in_a_text_only_if_asked_for(small):
    body = """const bpe = new ByteLevelBPE(open().settings);
      const text = "<|im_start|>he<|im_end|>";
      return [true, false].map((specials) => bpe.encode(text, { specials }));"""
    with_specials, without = run_llama(small[0], body)
    assert with_specials == [1, TOKENS.index("he"), 2]
    assert not {1, 2} & set(without)


DRAW = """
const { logits, settings, seed } = data;
const random = courseLlama.makeRandom(seed);
return Array.from({ length: 20000 }, () =>
  courseLlama.draw(Float64Array.from(logits), settings, random));
"""


@pytest.mark.parametrize(("temperature", "top_p"), [(0, 1), (1, 1), (0.5, 0.9), (1.5, 0.6)])
def test_tokens_are_drawn_with_the_librarys_probabilities_and_by_the_seed(
    small, temperature, top_p
):
    logits = [1.0, 0.2, -0.5, 2.1, 0.7, -3.0]
    data = {"logits": logits, "settings": {"temperature": temperature, "topP": top_p}, "seed": 3}
    drawn = run_llama(small[0], DRAW, data)
    kept = keep_top_p(torch.tensor(logits) / max(temperature, 1e-3), top_p)
    found = np.bincount(drawn, minlength=6) / len(drawn)
    assert np.abs(found - kept.softmax(-1).numpy()).max() < 0.015
    if temperature:
        assert drawn == run_llama(small[0], DRAW, data)
        assert drawn != run_llama(small[0], DRAW, data | {"seed": 4})


REFUSED = {
    "architecture": ({"general.architecture": "mamba"}, "“mamba”"),
    "vocabulary": ({"tokenizer.ggml.model": "llama"}, "“llama”"),
    "words": ({"tokenizer.ggml.pre": "qwen2"}, "“qwen2”"),
    "stretched": ({"llama.rope.scaling.type": "yarn"}, "stretches"),
    "experts": ({"llama.expert_count": 8}, "mixture of experts"),
    "sizes": ({"llama.feed_forward_length": 128}, "not 128 of 64"),
}
REFUSE = """
  try {
    const gguf = open();
    new Llama(gguf);
    new ByteLevelBPE(gguf.settings);
    return "";
  }
  catch (error) { return error.message; }"""


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_the_page_cannot_compute_is_refused_with_its_reason(tmp_path, name):
    settings, message = REFUSED[name]
    path = tmp_path / "other.gguf"
    write_small_gguf(path, **settings)
    assert message in run_llama(path, REFUSE)


def test_files_that_are_not_whole_or_of_other_types_are_refused(small, tmp_path):
    path = tmp_path / "broken.gguf"
    whole = small[0].read_bytes()
    for data, message in (
        (whole[:-100], "not whole"),
        (whole[:200], "not whole"),
        (b"not a model at all", "no GGUF file"),
    ):
        path.write_bytes(data)
        assert message in run_llama(path, REFUSE)
    at = whole.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight") + 4 + 16
    path.write_bytes(whole[:at] + (12).to_bytes(4, "little") + whole[at + 4 :])
    assert "of type Q4_K" in run_llama(path, REFUSE)


def test_a_model_of_more_than_half_a_billion_parameters_is_refused(small, tmp_path):
    body = """const gguf = open();
      gguf.tensors.set("more", { rows: 1e6, cols: 500 });
      try { new Llama(gguf); return ""; } catch (error) { return error.message; }"""
    assert "500 million at most" in run_llama(small[0], body)


PARITY = """
const gguf = open();
const [bpe, model] = [new ByteLevelBPE(gguf.settings), new Llama(gguf)];
return data.map(({ text, ids, best, logits }) => {
  const session = model.begin();
  finish(model.read(session, ids));
  const found = model.logits(ids.map((_, place) => model.state(session, place)));
  const gaps = best.flatMap((row, i) => row.map((id, k) => Math.abs(found[i][id] - logits[i][k])));
  return { ids: bpe.encode(text), text: bpe.decode(ids), gap: Math.max(...gaps) };
});
"""


def test_smollm2_equals_transformers_on_ten_texts():
    texts = json.loads(REFERENCE.read_text(encoding="utf-8"))["texts"]
    assert len(texts) == 10
    try:
        file = smollm2_file()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    for text, found in zip(texts, run_llama(file, PARITY, texts), strict=True):
        assert found["ids"] == text["ids"]
        assert found["text"] == text["text"]
        assert found["gap"] < CLOSE
