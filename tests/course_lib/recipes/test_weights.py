"""Do weights come back as they were, the shared ones shared, and never into another model?"""

import pytest
import torch

from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.recipes.run_record import RunError
from course_lib.recipes.translation.presets import TranslationRecipe
from course_lib.recipes.translation.translation_models import build_model
from course_lib.recipes.weights import load_weights, read_weights, save_weights

SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 16, "num_layers": 1}
MODELS = {
    "transformer": lambda vocab: build_model(TranslationRecipe(**SIZES), vocab),
    "gru": lambda vocab: build_model(TranslationRecipe(**SIZES, architecture="gru"), vocab),
    "decoder": lambda vocab: DecoderLM(DecoderLMConfig(**SIZES, vocab_size=vocab, max_length=9)),
    "bert": lambda vocab: BertForPreTraining(BertConfig(**SIZES, vocab_size=vocab, max_length=9)),
}


@pytest.fixture(params=MODELS)
def build(request):
    torch.manual_seed(0)
    return MODELS[request.param]


def test_weights_come_back_each_in_the_file_once(build, tmp_path):
    model, other = build(30), build(30)
    save_weights(model, tmp_path / "new" / "model.safetensors")
    weights = read_weights(tmp_path / "new" / "model.safetensors")
    own = {parameter.data_ptr() for parameter in model.parameters()}
    assert len({name for name in weights if name in dict(model.named_parameters())}) == len(own)
    load_weights(other, weights)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    assert len({parameter.data_ptr() for parameter in other.parameters()}) == len(own)


def test_weights_of_another_model_are_refused(build, tmp_path):
    save_weights(build(30), tmp_path / "model.safetensors")
    weights = read_weights(tmp_path / "model.safetensors")
    own = build(30)
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    for wrong, given in (
        (build(31), weights),
        (own, dict(list(weights.items())[1:])),
        (own, weights | {"more": torch.zeros(1)}),
    ):
        with pytest.raises(RunError, match="of another model"):
            load_weights(wrong, given)
    assert all(torch.equal(tensor, before[name]) for name, tensor in own.state_dict().items())


def test_weights_may_be_read_by_whom_other_files_may(build, tmp_path):
    path = tmp_path / "model.safetensors"
    save_weights(build(30), path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_without_weights_is_named(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(RunError, match=r"model\.safetensors is not there: train first"):
        read_weights(path)
    path.write_bytes(b"none")
    with pytest.raises(RunError, match=r"model\.safetensors holds no weights"):
        read_weights(path)


class Views(torch.nn.Module):
    """A table, the same again, and three views into it that all begin where it does."""

    def __init__(self, fill):
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).view(3, 4) + fill)
        self.register_buffer("again", self.table)
        self.register_buffer("first_row", self.table[0])
        self.register_buffer("turned", self.table.T)
        self.register_buffer("nothing", self.table[:0])


@pytest.mark.parametrize("joined", [True, False])
def test_a_tensor_that_begins_where_another_does_is_not_lost(tmp_path, joined):
    model, other = Views(0.0), Views(99.0)
    if not joined:  # as in a model that was built otherwise: each has a memory of its own
        for name in ("first_row", "turned", "nothing"):
            setattr(other, name, getattr(other, name).clone())
    save_weights(model, tmp_path / "model.safetensors")
    weights = read_weights(tmp_path / "model.safetensors")
    assert "again" not in weights
    load_weights(other, weights)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
