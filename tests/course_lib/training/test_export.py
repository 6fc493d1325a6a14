"""Exported parameters: every number is there, once, in a form that any language can read."""

import base64
import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.export import LONGEST, export_parameters, export_translator


def test_numbers_follow_the_shapes_in_order():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    exported = export_parameters(model.half())
    numbers = np.frombuffer(base64.b64decode(exported["float32"]), "<f4")
    assert exported["shapes"] == {"0.weight": [2, 3], "0.bias": [2], "1.weight": [2], "1.bias": [2]}
    expected = torch.cat([parameter.flatten() for parameter in model.parameters()])
    assert numbers.tolist() == expected.float().tolist()


def test_half_precision_takes_half_the_bytes():
    model = nn.Linear(3, 2)
    exported = export_parameters(model, "float16")
    numbers = np.frombuffer(base64.b64decode(exported["float16"]), "<f2")
    expected = torch.cat([model.weight.flatten(), model.bias]).half()
    assert numbers.tolist() == expected.tolist()
    assert "float32" not in exported


def test_a_shared_parameter_is_there_once():
    model = nn.ModuleDict({"read": nn.Embedding(4, 2), "say": nn.Linear(2, 4, bias=False)})
    model["say"].weight = model["read"].weight
    exported = export_parameters(model)
    assert exported["shapes"] == {"read.weight": [4, 2]}
    assert len(base64.b64decode(exported["float32"])) == 4 * 8


def state_of(written):
    """The parameters of a file, by name."""
    shapes = written["parameters"]["shapes"]
    numbers = np.frombuffer(base64.b64decode(written["parameters"]["float32"]), "<f4").copy()
    parts = torch.tensor(numbers).split([math.prod(shape) for shape in shapes.values()])
    return {name: part.view(shapes[name]) for name, part in zip(shapes, parts, strict=True)}


# ---- a translator ----

SRC, TGT = ["<pad>", "<end>", "a", "cat"], ["<pad>", "<start>", "<end>", "un", "chat"]
GIVEN = {"src_words": SRC, "tgt_words": TGT, "sentences": ["a cat", "cat"], "num_heads": 2}


def make_translator(**choices):
    torch.manual_seed(3)
    sizes = {"src_vocab_size": 4, "tgt_vocab_size": 5, "d_model": 4, "num_heads": 2, "d_ff": 6}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 1}
    return Transformer(TransformerConfig(**sizes | layers | choices))


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("tied", ["none", "output"])
def test_a_translators_file_holds_all_that_a_page_needs_to_run_it(tmp_path, norm_position, tied):
    model = make_translator(norm_position=norm_position, tied=tied).train()
    file = export_translator(model, tmp_path / "my-model.json", **GIVEN)
    written = json.loads(file.read_text())
    again = Transformer(TransformerConfig(**written["config"], tied=tied)).eval()
    assert written["config"].items() <= dataclasses.asdict(model.config).items()
    assert written["words"] == {"src": SRC, "tgt": TGT}
    assert model.training
    state = state_of(written)
    again.load_state_dict({"output_projection.weight": state["tgt_embedding.weight"]} | state)
    for run, src in zip(written["sentences"], ([2, 3, 1], [3, 1]), strict=True):
        with torch.no_grad():
            logits = again(torch.tensor([src]), torch.tensor([run["read"]]))[0]
        assert run["src"] == src
        assert torch.allclose(torch.tensor(run["logits"]), logits, atol=1e-6)
        chosen = logits.argmax(-1).tolist()
        assert chosen[:-1] == run["read"][1:]
        assert chosen[-1] == 2 or len(run["read"]) == LONGEST


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_words": SRC[:3]}, "src_words must hold 4 different words, got 3"),
        ({"tgt_words": [*TGT[:4], "un"]}, "tgt_words must hold 5 different words"),
        ({"src_words": ["<pad>", "<stop>", "a", "cat"]}, r"src_words must hold \['<end>'\]"),
        ({"sentences": []}, "at least 1 sentence"),
        ({"sentences": [" "]}, "got an empty one"),
        ({"sentences": ["a dog"]}, r"words of src_words, got \['dog'\]"),
        ({"num_heads": 3}, "num_heads must divide the width 4, got 3"),
    ],
)
def test_what_does_not_go_with_the_translator_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        export_translator(make_translator(), tmp_path / "m.json", **GIVEN | changes)


def test_another_model_or_one_that_went_astray_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'tgt_embedding\.weight' is missing"):
        export_translator(nn.Linear(2, 2), tmp_path / "m.json", **GIVEN)
    model = make_translator()
    model.src_embedding.weight.data[1, 2] = math.inf
    with pytest.raises(ValueError, match=r"finite numbers, 'src_embedding\.weight' has others"):
        export_translator(model, tmp_path / "m.json", **GIVEN)
    assert not [*tmp_path.iterdir()]


def test_a_model_that_fails_is_trained_further_afterwards(tmp_path):
    model = make_translator().train()
    model.decoder.forward = None  # no function: the run breaks off in the middle
    with pytest.raises(TypeError):
        export_translator(model, tmp_path / "m.json", **GIVEN)
    assert model.training
