"""How late a submission is, and what that costs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """When a submission was due, and what became of it.

    Attributes:
        words: For everybody who may see the mark; empty for what is in time, or if no date is set.
        share: Of the points to be had, what is taken off: between 0 and 1.
        days: Days begun after the deadline, the student's own extension counted.
    """

    words: str = ""
    share: float = 0.0
    days: int = 0
