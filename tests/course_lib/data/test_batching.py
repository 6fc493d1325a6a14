"""Is every sequence in one batch, is padding where it belongs, and is there little of it?"""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from course_lib.data.batching import Batch, pad_sequences, token_batches

PAIRS = [([5, 6, 7], [8]), ([9], [5, 6, 7, 8])]
BATCH = Batch.collate(PAIRS, pad_id=0, bos_id=1, eos_id=2)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_padding_fills_up_at_the_end():
    padded = pad_sequences([[5, 6, 7], [], [8]], pad_id=9)
    assert padded.tolist() == [[5, 6, 7], [9, 9, 9], [8, 9, 9]]
    assert padded.dtype == torch.int64
    assert pad_sequences([[]], pad_id=0).shape == (1, 0)
    with pytest.raises(ValueError, match="at least one sequence"):
        pad_sequences([], pad_id=0)


@given(st.lists(st.integers(1, 40), max_size=60), st.none() | st.integers(0, 99))
def test_each_sequence_is_in_one_batch_and_no_batch_is_too_large(lengths, seed):
    generator = None if seed is None else seeded(seed)
    batches = token_batches(lengths, max_tokens=100, generator=generator)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        assert len(batch) * max(lengths[index] for index in batch) <= 100


def test_batches_are_as_full_as_they_can_be_and_hold_little_padding():
    lengths = torch.randint(1, 41, (2000,), generator=seeded()).tolist()
    batches = token_batches(lengths, max_tokens=400, generator=seeded())
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    assert padded < 1.03 * sum(lengths)
    assert len(batches) < 1.1 * sum(lengths) / 400


def test_without_a_generator_batches_are_in_order_of_length_up_to_the_limit():
    assert token_batches([5, 5, 5], max_tokens=10) == [[0, 1], [2]]
    assert token_batches([10, 1], max_tokens=10) == [[1], [0]]
    assert token_batches([], max_tokens=10) == []
    assert token_batches([3, 1, 2, 1], max_tokens=4) == [[1, 3], [2], [0]]


def test_generator_decides_on_the_order():
    lengths = [1 + i % 5 for i in range(60)]
    drawn = [token_batches(lengths, max_tokens=20, generator=seeded(seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    # Both orders change: which sequences are together, and which batch comes first.
    assert {frozenset(b) for b in drawn[0]} != {frozenset(b) for b in drawn[2]}
    longest = [max(lengths[i] for i in batch) for batch in drawn[0]]
    assert longest != sorted(longest)


@pytest.mark.parametrize("wrong", [0, -1, 11])
def test_lengths_outside_the_limits_are_rejected(wrong):
    with pytest.raises(ValueError, match=f"lie in 1 to max_tokens=10, got {wrong}"):
        token_batches([3, wrong], max_tokens=10)


def test_batch_of_pairs_has_inputs_outputs_and_masks():
    assert BATCH.src.tolist() == [[5, 6, 7, 2], [9, 2, 0, 0]]
    assert BATCH.tgt.tolist() == [[1, 8, 2, 0, 0, 0], [1, 5, 6, 7, 8, 2]]
    assert BATCH.tgt_input.tolist() == [[1, 8, 2, 0, 0], [1, 5, 6, 7, 8]]
    assert BATCH.tgt_output.tolist() == [[8, 2, 0, 0, 0], [5, 6, 7, 8, 2]]
    assert BATCH.num_tokens == 7
    assert BATCH.src_mask.tolist() == [[[[True] * 4]], [[[True, True, False, False]]]]
    expected = torch.ones(5, 5, dtype=torch.bool).tril().repeat(2, 1, 1, 1)
    expected[0, :, :, 3:] = False
    assert torch.equal(BATCH.tgt_mask, expected)


def test_batch_moves_to_a_device():
    moved = BATCH.to("meta")
    assert moved.src.is_meta
    assert moved.tgt_mask.is_meta
    assert moved.pad_id == 0
