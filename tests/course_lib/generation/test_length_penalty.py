"""Do the length penalties follow their formulas?"""

import math

import pytest

from course_lib.generation.length_penalty import PowerPenalty, WuPenalty


def test_power_penalty():
    assert [PowerPenalty()(n) for n in (1, 2, 10)] == [1, 2, 10]
    assert [PowerPenalty(alpha=0)(n) for n in (1, 2, 10)] == [1, 1, 1]
    assert PowerPenalty(alpha=0.5)(9) == pytest.approx(3)


def test_wu_penalty():
    assert WuPenalty(alpha=1)(1) == 1
    assert WuPenalty(alpha=1)(7) == pytest.approx(2)
    assert WuPenalty(alpha=2)(13) == pytest.approx(9)
    assert WuPenalty() == WuPenalty(alpha=0.6)
    assert WuPenalty()(11) == pytest.approx((5 + 11) ** 0.6 / (5 + 1) ** 0.6, rel=1e-12)


@pytest.mark.parametrize("kind", [PowerPenalty, WuPenalty])
@pytest.mark.parametrize("alpha", [-0.1, math.inf, math.nan])
def test_refuses_alpha_that_punishes_length(kind, alpha):
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        kind(alpha=alpha)
