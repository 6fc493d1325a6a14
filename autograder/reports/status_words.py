"""The names of statuses, points and durations: one word list for pages and terminal."""

from typing import NamedTuple

from autograder.judging.results import Status


class StatusWords(NamedTuple):
    """The names of one status.

    Attributes:
        symbol: One character that nearly every font has.
        short: For the staff: one or two words.
        word: For a student.
        fallback: For a student, if the check left no message.
    """

    symbol: str
    short: str
    word: str
    fallback: str


STATUS_WORDS: dict[Status, StatusWords] = {
    status: StatusWords(*words)
    for status, *words in (
        (Status.PASS, "✓", "passed", "Passed", ""),
        (
            Status.PARTIAL, "½", "partial", "Partly right",
            "Part of this check is right.",
        ),
        (
            Status.FAIL, "✗", "failed", "Not yet right",
            "The result differs from the exercise.",
        ),
        (
            Status.ERROR, "!", "error", "Stopped with an error",
            "Your code raised an exception during this check.",
        ),
        (
            Status.TIMEOUT, "∞", "time-out", "Ran out of time",
            "Your code did not finish within the time limit.",
        ),
        (
            Status.CRASH, "†", "crash", "Process ended early",
            "The process that ran your code ended during this check.",
        ),
        (
            Status.INVALID, "?", "invalid", "Could not be graded",
            "This check could not be graded.",
        ),
        (
            Status.MANUAL, "…", "by hand", "To be graded by hand",
            "A teaching assistant reads this answer.",
        ),
    )
}  # fmt: skip


def format_points(points: float) -> str:
    """Return points as text with at most two decimals: ``3``, ``2.5``, ``0.67``."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def format_seconds(seconds: float) -> str:
    """Return a duration as text, such as ``0.4 s``, ``12 s`` or ``2 min 5 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
