"""Does the length penalty follow its formula?"""

import math

import pytest

from course_lib.generation.length_penalty import PowerPenalty


def test_power_penalty():
    assert [PowerPenalty()(n) for n in (1, 2, 10)] == [1, 2, 10]
    assert [PowerPenalty(alpha=0)(n) for n in (1, 2, 10)] == [1, 1, 1]
    assert PowerPenalty(alpha=0.5)(9) == pytest.approx(3)


@pytest.mark.parametrize("alpha", [-0.1, math.inf, math.nan])
def test_refuses_alpha_that_punishes_length(alpha):
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        PowerPenalty(alpha=alpha)
