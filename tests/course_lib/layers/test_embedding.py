"""Does the embedding look up, scale, and refuse what are no token ids?"""

import pytest
import torch
import torch.nn.functional as F

from course_lib.layers.embedding import TokenEmbedding

IDS = torch.tensor([[3, 0, 4], [2, 2, 1]])


@pytest.mark.parametrize(("scaled", "factor"), [(False, 1.0), (True, 9**0.5)])
def test_looks_up_and_scales(scaled, factor):
    layer = TokenEmbedding(5, 9, scaled=scaled)
    assert torch.equal(layer(IDS), layer.weight[IDS] * factor)
    assert torch.equal(layer(IDS.int()), layer(IDS))


def test_is_not_scaled_unless_asked():
    assert TokenEmbedding(5, 9).scale == 1.0


def test_gradient_reaches_the_rows_that_were_used():
    layer = TokenEmbedding(6, 4, scaled=True).double()
    assert torch.autograd.gradcheck(
        lambda weight: F.embedding(IDS, weight) * 2.0, layer.weight.detach().requires_grad_()
    )
    layer(IDS).sum().backward()
    counts = torch.bincount(IDS.flatten(), minlength=6)
    torch.testing.assert_close(layer.weight.grad, 2.0 * counts[:, None].expand(6, 4).double())


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


@pytest.mark.parametrize(("name", "sizes"), [("vocab_size", (0, 4)), ("d_model", (5, 0))])
def test_sizes_must_be_positive(name, sizes):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        TokenEmbedding(*sizes)
