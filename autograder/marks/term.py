"""A student's homeworks together: what each counts, and the whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.marks.standing import Standing


@dataclass(frozen=True, kw_only=True)
class Term:
    """A student's homeworks so far.

    Attributes:
        standings: One for each homework, in the order of their ids.
        dropped: Homeworks that are left out of the total, those with the smallest shares.
        total: Of the points to be had in the others, the mean share that was reached, from 0 to 1:
            each homework counts the same.
    """

    standings: tuple[Standing, ...]
    dropped: frozenset[str]
    total: float


def sum_up(standings: Sequence[Standing], drop_lowest: int = 0) -> Term:
    """Put a student's homeworks together.

    Args:
        standings: Of one student, at least one, each of another homework.
        drop_lowest: How many are left out; never the last one.
    """
    ordered = sorted(standings, key=lambda standing: standing.result.homework)
    by_share = sorted(ordered, key=share)
    count = min(drop_lowest, len(ordered) - 1)
    return Term(
        standings=tuple(ordered),
        dropped=frozenset(standing.result.homework for standing in by_share[:count]),
        total=sum(map(share, by_share[count:])) / (len(ordered) - count),
    )


def share(standing: Standing) -> float:
    """Return the share of a homework's points that count."""
    return standing.score / standing.max_score if standing.max_score else 0.0
