"""What each check says about a class: how hard it is, and whom it tells apart."""

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from autograder.judging.results import SubmissionResult

_FEWEST = 10  # submissions; a correlation of fewer says nothing


@dataclass(frozen=True, kw_only=True)
class ItemStatistics:
    """A check, as test theory sees it.

    Attributes:
        difficulty: Mean share of its points that was reached, from 0 (nobody) to 1 (everybody).
        discrimination: Corrected item-total correlation, from -1 to 1: of its points with those of
            all other checks. None where there are few submissions, or all have the same points.
    """

    difficulty: float
    discrimination: float | None


def item_statistics(
    results: Sequence[SubmissionResult], checks: Collection[str]
) -> dict[str, ItemStatistics]:
    """Look at each check over a class."""
    found: dict[str, ItemStatistics] = {}
    points = [{c.check: c.score for c in r.checks if c.check in checks} for r in results]
    worth = {c.check: c.max_score for r in results for c in r.checks if c.check in checks}
    for check, top in worth.items():
        mine = [given[check] for given in points if check in given]
        rest = [sum(given.values()) - given[check] for given in points if check in given]
        found[check] = ItemStatistics(
            difficulty=statistics.fmean(mine) / top if top else 0.0,
            discrimination=_correlation(mine, rest),
        )
    return found


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    if len(xs) < _FEWEST:
        return None
    try:
        return statistics.correlation(xs, ys)
    except statistics.StatisticsError:  # one of them is constant
        return None
