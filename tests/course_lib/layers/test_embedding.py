"""Does the embedding look up and scale vectors, and do tied weights stay tied?"""

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


@pytest.mark.parametrize(("settings", "factor"), [({}, 1.0), ({"scaled": True}, 9**0.5)])
def test_looks_up_and_scales(settings, factor):
    layer = TokenEmbedding(5, 9, **settings)
    assert torch.equal(layer(IDS), layer.weight[IDS] * factor)
    assert torch.equal(layer(IDS.int()), layer(IDS))


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        *(
            (IDS.to(dtype), TypeError, rf"token_ids must be int64 or int32, got {dtype}")
            for dtype in (torch.float32, torch.bool, torch.int16)
        ),
        *(
            (torch.zeros(shape).long(), ValueError, r"must have shape \(batch, length\) and hold")
            for shape in [(0, 3), (2, 0), (3,), (1, 2, 3)]
        ),
        (torch.tensor([[-1, 3]]), IndexError, "must lie in 0 to 4, got -1 to 3"),
        (torch.tensor([[0, 5]]), IndexError, "must lie in 0 to 4, got 0 to 5"),
    ],
)
def test_what_is_no_batch_of_token_ids_is_rejected(ids, error, message):
    with pytest.raises(error, match=message):
        TokenEmbedding(5, 4)(ids)


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
def test_vectors_of_another_shape_are_rejected(shape):
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
def test_weights_stay_tied_through_loading_to_empty_and_saving(build):
    trained, model, file = build(), build(), io.BytesIO()
    tied = number_of_weights(model)
    for target in (model, copy.deepcopy(model)):
        target.load_state_dict({k: v.clone() for k, v in trained.state_dict().items()}, assign=True)
        assert number_of_weights(target) == tied
        for name, value in target.state_dict().items():
            assert torch.equal(value, trained.state_dict()[name])
    torch.save(model, file)
    file.seek(0)
    assert number_of_weights(torch.load(file, weights_only=False)) == tied
    with torch.device("meta"):
        model = build()
    model.to_empty(device="cpu")
    model.tie_weights()
    assert number_of_weights(model) == tied
    model.to_empty(device="cpu").load_state_dict(trained.state_dict())
    assert number_of_weights(model) == tied


def test_a_model_without_tied_weights_stays_so():
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 7, "tied": "none"}
    model = Transformer(TransformerConfig(**sizes, **LAYERS, **SIZES))
    before = number_of_weights(model)
    model.load_state_dict(model.state_dict(), assign=True)
    model.tie_weights()
    assert number_of_weights(model) == before
