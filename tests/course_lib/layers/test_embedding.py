"""Does the embedding look up and scale vectors, and reject other inputs?"""

import pytest
import torch

from course_lib.layers.embedding import TokenEmbedding

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
