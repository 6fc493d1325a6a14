"""Are masks True where a query may attend to a key, and are wrong arguments rejected?"""

import pytest
import torch

from course_lib.layers.masks import (
    CausalMask,
    causal_mask,
    check_mask,
    left_padding,
    left_padding_mask,
    padding_mask,
)

PAD = 0


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
@pytest.mark.parametrize("pad_id", [PAD, 9])
def test_padding_mask_is_true_at_real_tokens(dtype, pad_id):
    token_ids = torch.tensor([[5, 7, pad_id, pad_id], [3, pad_id, 8, 4]], dtype=dtype)
    mask = padding_mask(token_ids, pad_id)
    assert (mask.dtype, mask.shape) == (torch.bool, (2, 1, 1, 4))
    assert mask[:, 0, 0].tolist() == [[True, True, False, False], [True, False, True, True]]


@pytest.mark.parametrize(
    ("token_ids", "error", "message"),
    [
        *(
            (torch.zeros(shape, dtype=torch.long), ValueError, r"shape \(batch, key_len\)")
            for shape in [(4,), (2, 3, 4), ()]
        ),
        *(
            (torch.zeros(2, 3, dtype=dtype), TypeError, "token_ids must hold integers")
            for dtype in (torch.float32, torch.bool, torch.complex64)
        ),
    ],
)
def test_padding_mask_rejects_what_is_no_batch_of_token_ids(token_ids, error, message):
    with pytest.raises(error, match=message):
        padding_mask(token_ids, PAD)


@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (2, 5), (1, 7), (4, 4), (0, 3), (0, 0)])
def test_causal_mask_follows_its_definition(query_len, key_len):
    mask = causal_mask(query_len, key_len)
    assert (mask.dtype, mask.shape) == (torch.bool, (1, 1, query_len, key_len))
    for i in range(query_len):
        for j in range(key_len):
            assert mask[0, 0, i, j].item() == (j <= i + key_len - query_len), (i, j)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ((4, 3), "key_len must be at least query_len=4, got 3"),
        ((-1,), "query_len must not be negative, got -1"),
    ],
)
def test_causal_mask_rejects_lengths_that_cannot_be(lengths, message):
    with pytest.raises(ValueError, match=message):
        causal_mask(*lengths)


def test_masks_are_made_on_the_device_asked_for():
    assert causal_mask(2, device="meta").is_meta
    assert CausalMask(2, device="meta").written_out().is_meta
    assert padding_mask(torch.zeros(1, 2, dtype=torch.long, device="meta"), 0).is_meta


SCORES = (2, 3, 4, 5)  # a shape for the masks


def ones(shape, dtype=torch.bool):
    return torch.ones(shape, dtype=dtype)


def test_masks_that_fit_are_accepted():
    check_mask(None, SCORES)
    for shape in [(2, 3, 4, 5), (1, 1, 1, 5), (2, 1, 4, 1), (1, 1, 1, 1)]:
        check_mask(ones(shape), SCORES)
    for shape in [(4, 5), (1, 5), (3, 1, 5), (2, 3, 4, 5)]:
        check_mask(ones(shape), SCORES, min_dims=2)
    check_mask(CausalMask(3), (2, 4, 3, 3))


@pytest.mark.parametrize(
    "shape",
    [(), (5,), (4, 5), (3, 4, 5), (1, 2, 3, 4, 5), (3, 1, 1, 5), (2, 4, 4, 5), (1, 1, 1, 4)],
)
def test_mask_that_does_not_fit_or_would_enlarge_is_rejected(shape):
    with pytest.raises(ValueError, match=r"mask must have shape \(2, 3, 4, 5\).* got ") as error:
        check_mask(ones(shape), SCORES)
    assert str(error.value).endswith(f"got {shape}")


@pytest.mark.parametrize("shape", [(5,), (), (2, 5), (2, 4, 5), (1, 1, 1, 4, 5)])
def test_mask_with_too_few_or_too_many_dimensions_is_rejected(shape):
    with pytest.raises(ValueError, match="its last 2 dimensions or more"):
        check_mask(ones(shape), SCORES, min_dims=2)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.int64])
def test_mask_that_is_not_boolean_is_rejected(dtype):
    with pytest.raises(TypeError, match=rf"mask must be boolean .* got {dtype}"):
        check_mask(ones(SCORES, dtype), SCORES)


def test_causal_mask_without_a_tensor_that_does_not_fit_is_rejected():
    with pytest.raises(ValueError, match=r"got \(1, 1, 3, 3\)"):
        check_mask(CausalMask(3), (2, 4, 2, 3))


def test_left_padding_is_counted_up_to_the_first_real_token_and_hidden():
    ids = torch.tensor([[0, 0, 3, 0], [5, 0, 0, 0], [0, 1, 1, 1]])
    padding = left_padding(ids, 0)
    assert padding.tolist() == left_padding(ids + 7, 7).tolist() == [2, 0, 1]
    mask = left_padding_mask(padding, 4)
    expected = [[False, False, True, True], [True] * 4, [False, True, True, True]]
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == expected
    with pytest.raises(ValueError, match="each row must hold a token other than pad_id=1"):
        left_padding(torch.tensor([[1, 2], [1, 1]]), 1)


@pytest.mark.parametrize(("query_len", "key_len"), [(4, None), (2, 5), (1, 3)])
def test_causal_mask_without_a_tensor_computes_as_the_tensor_does(query_len, key_len):
    short, written = CausalMask(query_len, key_len), causal_mask(query_len, key_len)
    assert (short.shape, short.dtype, short.dim()) == (written.shape, written.dtype, written.dim())
    other = torch.rand(3, 1, 1, written.size(-1), generator=torch.Generator().manual_seed(0)) > 0.5
    for actual, expected in (
        (short.written_out(), written),
        (short & other, written & other),
        (other & short, written & other),
        (~short, ~written),
        (torch.where(short, 1, 0), torch.where(written, 1, 0)),
    ):
        assert torch.equal(actual, expected)
