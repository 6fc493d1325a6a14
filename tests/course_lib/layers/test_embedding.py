"""Does the embedding look up, scale, and refuse what are no token ids?"""

import copy
import io

import pytest
import torch

from course_lib.layers.embedding import TokenEmbedding
from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.gpt import DecoderLM, DecoderLMConfig
from course_lib.models.llama import Llama, LlamaConfig
from course_lib.models.transformer import Transformer, TransformerConfig

IDS = torch.tensor([[3, 0, 4], [2, 2, 1]])


@pytest.mark.parametrize(("scaled", "factor"), [(False, 1.0), (True, 9**0.5)])
def test_looks_up_and_scales(scaled, factor):
    layer = TokenEmbedding(5, 9, scaled=scaled)
    assert torch.equal(layer(IDS), layer.weight[IDS] * factor)
    assert torch.equal(layer(IDS.int()), layer(IDS))


def test_is_not_scaled_unless_asked():
    assert TokenEmbedding(5, 9).scale == 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int16])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=rf"token_ids must be int64 or int32, got {dtype}"):
        TokenEmbedding(5, 4)(IDS.to(dtype))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (3,), (1, 2, 3)])
def test_empty_or_misshapen_batches_are_refused(shape):
    with pytest.raises(ValueError, match=r"token_ids must have shape \(batch, length\) and hold"):
        TokenEmbedding(5, 4)(torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (0, 5)])
def test_token_ids_out_of_range_are_refused(low, high):
    with pytest.raises(IndexError, match=f"must lie in 0 to 4, got {low} to {high}"):
        TokenEmbedding(5, 4)(torch.tensor([[low, high]]))


@pytest.mark.parametrize("freeze", [True, False])
def test_given_vectors_are_kept_and_trained_only_if_asked(freeze):
    vectors = torch.randn(5, 3)
    layer = TokenEmbedding.from_pretrained(vectors, freeze=freeze, scaled=True)
    assert torch.equal(layer(IDS), vectors[IDS] * 3**0.5)
    assert layer.weight.data_ptr() == vectors.data_ptr()
    assert layer.weight.requires_grad is not freeze
    assert (layer.num_embeddings, layer.embedding_dim) == (5, 3)
    assert TokenEmbedding.from_pretrained(vectors).weight.requires_grad is False


@pytest.mark.parametrize("shape", [(5,), (2, 5, 3), (0, 3)])
def test_vectors_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"embeddings must have shape|vocab_size must be at least"):
        TokenEmbedding.from_pretrained(torch.zeros(shape))


# --- tied weights --------------------------------------------------------------------------------

SIZES = {"d_model": 4, "num_heads": 2, "d_ff": 6}
LAYERS = {"num_encoder_layers": 1, "num_decoder_layers": 1}
TIED_MODELS = {
    "DecoderLM": lambda: DecoderLM(DecoderLMConfig(vocab_size=7, num_layers=1, **SIZES)),
    "Llama": lambda: Llama(LlamaConfig(vocab_size=7, num_layers=1, num_kv_heads=1, **SIZES)),
    "Transformer": lambda: Transformer(
        TransformerConfig(src_vocab_size=7, tgt_vocab_size=7, tied="all", **LAYERS, **SIZES)
    ),
    "BertForPreTraining": lambda: BertForPreTraining(
        BertConfig(vocab_size=7, num_layers=1, **SIZES)
    ),
}
with_each_tied_model = pytest.mark.parametrize("build", TIED_MODELS.values(), ids=TIED_MODELS)


def number_of_weights(model):
    return sum(parameter.numel() for parameter in model.parameters())


@with_each_tied_model
def test_weights_stay_tied_when_a_state_dict_is_assigned(build):
    trained, model = build(), build()
    tied = number_of_weights(model)
    for target in (model, copy.deepcopy(model)):
        target.load_state_dict({k: v.clone() for k, v in trained.state_dict().items()}, assign=True)
        assert number_of_weights(target) == tied
        for name, value in target.state_dict().items():
            assert torch.equal(value, trained.state_dict()[name])


@with_each_tied_model
def test_weights_are_tied_again_after_to_empty(build):
    tied = number_of_weights(build())
    with torch.device("meta"):
        model = build()
    model.to_empty(device="cpu")
    model.tie_weights()
    assert number_of_weights(model) == tied
    model.to_empty(device="cpu").load_state_dict(build().state_dict())
    assert number_of_weights(model) == tied


@with_each_tied_model
def test_a_tied_model_can_be_saved_whole(build):
    model, file = build(), io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert number_of_weights(loaded) == number_of_weights(model)


def test_a_model_without_tied_weights_stays_so():
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 7, "tied": "none"}
    model = Transformer(TransformerConfig(**sizes, **LAYERS, **SIZES))
    before = number_of_weights(model)
    model.load_state_dict(model.state_dict(), assign=True)
    model.tie_weights()
    assert number_of_weights(model) == before
