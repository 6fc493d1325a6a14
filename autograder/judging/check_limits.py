"""How long each check may take: a submission that never answers delays the class only once.

A check is stopped when it has taken much longer than the reference solution takes for it. From
then on the checks of its exercise get a short time, until one of them answers. The checks of other
exercises, which may call the one that never ends, get it too; ``second_try`` gives them all their
time, with the reference solution in place of what was stopped.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from autograder.homework_source.homework import Cell
from autograder.judging.results import STOPPED, CheckResult, Status

FIRST_SECONDS = 3.0
"""Each check may take this long, however fast the reference is."""
GENEROSITY = 100
"""A check may take this many times as long as it takes with the reference solution."""
SHORT_SECONDS = 0.15
"""``FIRST_SECONDS`` of a check that gets a short time."""
SHORT_GENEROSITY = 10
"""``GENEROSITY`` of a check that gets a short time."""


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """How long a student's code may run.

    Attributes:
        check_seconds: One cell, and no check longer, see ``TimeLimit`` and ``CheckLimits``.
        submission_seconds: A whole notebook, by the clock.
    """

    check_seconds: float = 30.0
    submission_seconds: float = 600.0


class CheckLimits:
    """The time limits of one submission's checks.

    Args:
        most_seconds: No check may take longer.
        reference_seconds: Says how long a check takes with the reference solution.

    Attributes:
        is_second_try: Whether other exercises get their full time too.
    """

    def __init__(self, most_seconds: float, reference_seconds: Callable[[str], float]) -> None:
        self._most = most_seconds
        self._reference_seconds = reference_seconds
        self._stopped: set[str] = set()  # exercises whose last check was stopped
        self.is_second_try = False

    def run(self, cell: Cell, attempt: Callable[[float], CheckResult]) -> CheckResult:
        """Run a check by a function that takes its limit in seconds.

        It is run once more, with a longer limit, where the reference needs long for it.
        """
        again = cell.exercise in self._stopped
        if again or (self._stopped and not self.is_second_try):
            seconds = self._limit(cell, SHORT_GENEROSITY, SHORT_SECONDS)
            result = attempt(seconds)
            if again and result.message.startswith(STOPPED):
                result = dataclasses.replace(result, message=self._short_time(cell, seconds))
        else:
            seconds = min(FIRST_SECONDS, self._most)
            result = attempt(seconds)
            longer = self._limit(cell, GENEROSITY, seconds) if _is_stopped(result) else seconds
            if longer > seconds:
                result = attempt(longer)
        change = self._stopped.add if _is_stopped(result) else self._stopped.discard
        change(cell.exercise)
        return result

    def _limit(self, cell: Cell, times: int, least: float) -> float:
        return min(max(times * self._reference_seconds(cell.grade_id), least), self._most)

    def _short_time(self, cell: Cell, seconds: float) -> str:
        return (
            f"{STOPPED} {seconds:.2g} s. It got no longer, since an earlier check of "
            f"{cell.exercise} was stopped: the reference solution needs less than a tenth of that. "
            "Look for a loop that never ends there first."
        )


def _is_stopped(result: CheckResult) -> bool:
    return result.status is Status.TIMEOUT
