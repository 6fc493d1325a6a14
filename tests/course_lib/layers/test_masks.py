"""Do masks say who may attend to whom, and refuse what makes no sense?"""

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


def test_padding_mask_is_true_at_real_tokens_and_broadcasts_over_heads_and_queries():
    token_ids = torch.tensor([[5, 7, PAD, PAD], [3, PAD, 9, 4]])
    mask = padding_mask(token_ids, PAD)
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[True, True, False, False], [True, False, True, True]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_padding_mask_takes_any_integer_type_and_any_pad_id(dtype):
    token_ids = torch.tensor([[1, 2, 9]], dtype=dtype)
    assert padding_mask(token_ids, 9).flatten().tolist() == [True, True, False]


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), ()])
def test_padding_mask_refuses_what_is_not_a_batch_of_sequences(shape):
    with pytest.raises(ValueError, match=r"token_ids must have shape \(batch, key_len\)"):
        padding_mask(torch.zeros(shape, dtype=torch.long), PAD)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_padding_mask_refuses_what_is_not_token_ids(dtype):
    with pytest.raises(TypeError, match="token_ids must hold integers"):
        padding_mask(torch.zeros(2, 3, dtype=dtype), PAD)


@pytest.mark.parametrize(("query_len", "key_len"), [(1, 1), (2, 5), (1, 7), (4, 4), (0, 3), (0, 0)])
def test_causal_mask_follows_its_definition(query_len, key_len):
    mask = causal_mask(query_len, key_len)
    assert mask.dtype == torch.bool
    assert mask.shape == (1, 1, query_len, key_len)
    for i in range(query_len):
        for j in range(key_len):
            assert mask[0, 0, i, j].item() == (j <= i + key_len - query_len), (i, j)


def test_causal_mask_refuses_fewer_keys_than_queries():
    with pytest.raises(ValueError, match="key_len must be at least query_len=4, got 3"):
        causal_mask(4, 3)


def test_causal_mask_refuses_a_negative_length():
    with pytest.raises(ValueError, match="query_len must not be negative, got -1"):
        causal_mask(-1)


def test_masks_are_made_where_they_are_asked_for():
    assert causal_mask(2, device="meta").device.type == "meta"
    assert padding_mask(torch.zeros(1, 2, dtype=torch.long, device="meta"), 0).is_meta


def test_masks_compose():
    token_ids = torch.tensor([[4, 4, PAD], [4, 4, 4]])
    both = padding_mask(token_ids, PAD) & causal_mask(3)
    assert both.shape == (2, 1, 3, 3)
    assert both[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
    assert torch.equal(both[1:], causal_mask(3))


def mask_of(*shape):
    return torch.ones(shape, dtype=torch.bool)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 5), (2, 1, 4, 1), (1, 1, 1, 1)])
def test_a_mask_has_every_size_or_1(shape):
    check_mask(mask_of(*shape), (2, 3, 4, 5))


@pytest.mark.parametrize(
    "shape",
    [(), (5,), (4, 5), (3, 4, 5), (1, 2, 3, 4, 5), (3, 1, 1, 5), (2, 4, 4, 5), (1, 1, 1, 4)],
)
def test_a_mask_that_does_not_fit_or_would_enlarge_is_refused(shape):
    with pytest.raises(ValueError, match=r"mask must have shape \(2, 3, 4, 5\).* got ") as error:
        check_mask(mask_of(*shape), (2, 3, 4, 5))
    assert str(error.value).endswith(f"got {shape}")


def test_leading_dimensions_may_be_left_out_where_that_is_said():
    for shape in ((4, 5), (1, 5), (3, 1, 5), (2, 3, 4, 5)):
        check_mask(mask_of(*shape), (2, 3, 4, 5), min_dims=2)
    for shape in ((5,), (), (2, 5), (2, 4, 5), (1, 1, 1, 4, 5)):
        with pytest.raises(ValueError, match="its last 2 dimensions or more"):
            check_mask(mask_of(*shape), (2, 3, 4, 5), min_dims=2)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.int64])
def test_a_mask_that_is_not_boolean_is_refused(dtype):
    with pytest.raises(TypeError, match=rf"mask must be boolean .* got {dtype}"):
        check_mask(torch.ones(4, 5, dtype=dtype), (4, 5))


def test_no_mask_fits_everything():
    check_mask(None, (2, 3))


def test_left_padding_is_counted_up_to_the_first_real_token():
    ids = torch.tensor([[0, 0, 3, 0], [5, 0, 0, 0], [0, 1, 1, 1]])
    assert left_padding(ids, 0).tolist() == [2, 0, 1]
    assert left_padding(ids + 7, 7).tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="each row must hold a token other than pad_id=1"):
        left_padding(torch.tensor([[1, 2], [1, 1]]), 1)


def test_left_padding_mask_hides_the_beginning_of_each_row():
    mask = left_padding_mask(torch.tensor([2, 0, 1]), 4)
    expected = [[False, False, True, True], [True] * 4, [False, True, True, True]]
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == expected


# --- CausalMask ----------------------------------------------------------------------------------


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


def test_causal_mask_without_a_tensor_is_written_out_where_it_is_asked_for():
    assert CausalMask(2, device="meta").written_out().is_meta


def test_causal_mask_without_a_tensor_passes_check_mask():
    check_mask(CausalMask(3), (2, 4, 3, 3))
    with pytest.raises(ValueError, match=r"got \(1, 1, 3, 3\)"):
        check_mask(CausalMask(3), (2, 4, 2, 3))
