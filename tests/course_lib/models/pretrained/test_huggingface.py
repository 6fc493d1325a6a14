"""Are checkpoints in shards read as `transformers` wrote them, and damaged ones refused?"""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from course_lib.models.pretrained.gpt2 import from_huggingface
from course_lib.models.pretrained.huggingface import read_tensors
from tests.course_lib.parity import randomise

INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def theirs():
    config = transformers.GPT2Config(vocab_size=23, n_positions=7, n_embd=8, n_layer=2, n_head=2)
    return randomise(transformers.GPT2LMHeadModel(config).eval().double())


@pytest.fixture
def folder(theirs, tmp_path):
    theirs.save_pretrained(tmp_path, max_shard_size="6KB")
    return tmp_path


def shards(folder):
    return sorted(folder.glob("model-*.safetensors"))


def change_index(folder, change):
    index = json.loads((folder / INDEX).read_text())
    change(index["weight_map"])
    (folder / INDEX).write_text(json.dumps(index))


def test_shards_are_read_as_one(theirs, folder):
    assert len(shards(folder)) > 2
    tokens = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
    with torch.no_grad():
        torch.testing.assert_close(from_huggingface(folder)(tokens), theirs(tokens).logits)


def test_one_whole_file_goes_first(theirs, folder):
    theirs.save_pretrained(folder / "whole")
    (folder / "whole" / "model.safetensors").rename(folder / "model.safetensors")
    (folder / INDEX).write_text("never read")
    assert read_tensors(folder).keys() == load_file(folder / "model.safetensors").keys()


def test_a_broken_or_missing_shard_is_named(folder):
    shards(folder)[1].write_bytes(b"no tensors")
    with pytest.raises(ValueError, match=r"model-00002-of-\d+.safetensors must be plain tensors"):
        read_tensors(folder)
    shards(folder)[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"must hold model-00002-of-\d+.safetensors, which"):
        read_tensors(folder)


@pytest.mark.parametrize("more", [True, False])
def test_a_shard_that_holds_other_tensors_is_named(folder, more):
    path = shards(folder)[1]
    tensors = load_file(path)
    name = min(tensors)
    changed = tensors | {"surplus": torch.ones(2)} if more else tensors.keys() - {name}
    save_file({n: tensors.get(n, torch.ones(2)) for n in changed}, path)
    with pytest.raises(ValueError, match=f"must hold .* differ in {'surplus' if more else name}"):
        read_tensors(folder)


@pytest.mark.parametrize(
    "shard", ["../x.safetensors", "/etc/x.safetensors", "a\\b.safetensors", "x.bin", "", None, 3]
)
def test_a_shard_elsewhere_is_rejected(folder, shard):
    (folder.parent / "x.safetensors").write_bytes(shards(folder)[0].read_bytes())
    change_index(folder, lambda weight_map: weight_map.update({"wte.weight": shard}))
    with pytest.raises(ValueError, match=r"must be a \.safetensors beside it, got"):
        read_tensors(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *((c, "must name a shard") for c in ("{}", '{"weight_map": []}', '{"weight_map": {}}')),
        ("no JSON", r"index\.json must be JSON"),
        ("[]", r"index\.json must hold a JSON object"),
    ],
)
def test_an_index_without_a_map_is_rejected(folder, content, message):
    (folder / INDEX).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_tensors(folder)
