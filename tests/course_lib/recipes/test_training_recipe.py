"""Each epoch has every example once, in an order that depends on the epoch's number alone."""

import itertools
import random

import pytest

from course_lib.recipes.training_recipe import EpochBatches

GENERATOR = random.Random(0)
TEXTS = [[number] * GENERATOR.randint(1, 9) for number in range(50)]


def shuffled(seed=1):
    """Return an ``EpochBatches`` of TEXTS with at most 40 tokens a batch."""
    return EpochBatches(TEXTS, len, max_tokens=40, seed=seed)


def epoch(number, batches):
    """Return the batches of epoch ``number``, counted from 0; ``batches`` are ``EpochBatches``."""
    return [batches.draw(number * batches.per_epoch + i) for i in range(batches.per_epoch)]


def all_of(batches):
    return list(itertools.chain.from_iterable(batches))


def test_epoch_holds_everything_once_in_its_own_order():
    batches = shuffled()
    first, second, fourth = (all_of(epoch(number, batches)) for number in (0, 1, 3))
    assert sorted(first) == sorted(second) == sorted(fourth) == TEXTS
    assert first != second
    assert first != all_of(epoch(0, shuffled(seed=2)))


def test_batches_hold_similar_lengths_within_the_limit():
    for batch in epoch(2, shuffled()):
        assert len(batch) * max(map(len, batch)) <= 40
    padding = sum(max(map(len, b)) * len(b) - sum(map(len, b)) for b in epoch(2, shuffled()))
    assert padding < 0.2 * sum(map(len, TEXTS))


def test_batch_depends_on_its_number_alone():
    batches = shuffled()
    late = 2 * batches.per_epoch + 1
    drawn = [batches.draw(number) for number in range(late + 1)]
    assert shuffled().draw(late) == drawn[late]
    assert batches.draw(3) == drawn[3]  # back in an epoch that is over


@pytest.mark.parametrize(
    ("texts", "message"),
    [([], "at least one, got none"), ([[0] * 41], "lengths must lie in 1 to max_tokens=40")],
)
def test_items_that_do_not_fit_are_rejected(texts, message):
    with pytest.raises(ValueError, match=message):
        EpochBatches(texts, len, max_tokens=40, seed=1)
