"""How each status is named: one word list for the pages and the terminal."""

from dataclasses import dataclass

from autograder.judging.results import Status


@dataclass(frozen=True, kw_only=True)
class StatusWords:
    """The names of one status.

    Attributes:
        symbol: One character that nearly every font has, told apart without colour.
        word: For a student: what the status means for the check.
        short: For the staff: one or two words.
        fallback: For a student, where the check left no message.
    """

    symbol: str
    word: str
    short: str
    fallback: str


STATUS_WORDS: dict[Status, StatusWords] = {
    Status.PASS: StatusWords(symbol="✓", word="Passed", short="passed", fallback=""),
    Status.PARTIAL: StatusWords(
        symbol="½",
        word="Partly right",
        short="partial",
        fallback="Some of what this check looks at is right.",
    ),
    Status.FAIL: StatusWords(
        symbol="✗",
        word="Not yet right",
        short="failed",
        fallback="The result is not what the exercise asks for.",
    ),
    Status.ERROR: StatusWords(
        symbol="!",
        word="Stopped with an error",
        short="error",
        fallback="Your code raised an exception during this check.",
    ),
    Status.TIMEOUT: StatusWords(
        symbol="∞",
        word="Ran out of time",
        short="time-out",
        fallback="Your code did not finish within the time limit.",
    ),
    Status.CRASH: StatusWords(
        symbol="†",
        word="Process ended early",
        short="crash",
        fallback="The process that ran your code ended during this check.",
    ),
    Status.INVALID: StatusWords(
        symbol="?",
        word="Could not be graded",
        short="invalid",
        fallback="This check could not be graded.",
    ),
    Status.MANUAL: StatusWords(
        symbol="…",
        word="To be graded by hand",
        short="by hand",
        fallback="A teaching assistant reads this answer.",
    ),
}


def format_points(points: float) -> str:
    """Write points as a person would."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def format_seconds(seconds: float) -> str:
    """Write a duration as a person would."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
