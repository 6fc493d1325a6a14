"""Do the schedules rise and fall as their papers and ``transformers`` say?"""

from functools import partial

import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_cosine_schedule_with_warmup, get_inverse_sqrt_schedule

from course_lib.training.schedules import constant_inverse_sqrt, inverse_sqrt, warmup_cosine

WARMUP, TOTAL = 10, 50
STEPS = {"num_warmup_steps": WARMUP, "num_training_steps": TOTAL}
COSINE = partial(warmup_cosine, warmup_steps=WARMUP, total_steps=TOTAL)
INVERSE_SQRT = partial(inverse_sqrt, warmup_steps=WARMUP)


def learning_rates(schedule_of, steps, peak=0.4):
    """Return the learning rate of each step; ``schedule_of`` maps an optimizer to a scheduler."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    schedule, rates = schedule_of(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (INVERSE_SQRT, partial(get_inverse_sqrt_schedule, num_warmup_steps=WARMUP)),
        (COSINE, partial(get_cosine_schedule_with_warmup, **STEPS)),
    ],
    ids=["inverse_sqrt", "warmup_cosine"],
)
def test_schedule_is_that_of_transformers_without_its_first_update_of_rate_0(ours, theirs):
    actual = learning_rates(lambda optimizer: LambdaLR(optimizer, ours), TOTAL)
    expected = learning_rates(theirs, TOTAL + 1)
    assert expected[0] == 0
    assert actual == pytest.approx(expected[1:], rel=1e-12, abs=1e-15)


def test_constant_inverse_sqrt_begins_at_the_peak_and_then_equals_inverse_sqrt():
    shares = [constant_inverse_sqrt(step, warmup_steps=WARMUP) for step in range(TOTAL)]
    assert shares[:WARMUP] == [1] * WARMUP
    assert shares[WARMUP:] == [INVERSE_SQRT(step) for step in range(WARMUP, TOTAL)]


def test_cosine_ends_at_its_floor_and_stays_there():
    with_floor = partial(COSINE, floor=0.1)
    assert with_floor(TOTAL - 1) == with_floor(10 * TOTAL) == pytest.approx(0.1)
    assert with_floor((TOTAL + WARMUP) // 2 - 1) == pytest.approx(0.55)  # half-way down
    assert with_floor(WARMUP - 1) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: INVERSE_SQRT(-1), "step must not be negative, got -1"),
        (lambda: COSINE(-1), "step must not be negative, got -1"),
        (lambda: inverse_sqrt(0, warmup_steps=0), "warmup_steps must be at least 1, got 0"),
        (lambda: constant_inverse_sqrt(-1, warmup_steps=1), "step must not be negative, got -1"),
        (lambda: COSINE(0, total_steps=WARMUP), "total_steps must exceed warmup_steps=10, got 10"),
        (lambda: COSINE(0, floor=1.5), r"floor must be from 0 to 1, got 1\.5"),
        (lambda: COSINE(0, floor=-0.5), r"floor must be from 0 to 1, got -0\.5"),
    ],
)
def test_invalid_arguments_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
