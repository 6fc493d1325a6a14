"""Time limits of checks, such that code that never ends delays the class only once.

A check is stopped when it takes much longer than with the reference solution. Then the other checks
of its exercise get a short limit, until one of them ends in time. Checks of other exercises, which
may call the endless code, get the short limit too. ``second_try`` runs them again with the full
limit and the reference in place of the stopped code.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from autograder.homework_source.homework import Cell
from autograder.judging.results import STOPPED, CheckResult, Status

FIRST_SECONDS = 3.0
"""Minimum limit of a check."""
GENEROSITY = 100
"""Limit of a check, as a multiple of the reference's time."""
SHORT_SECONDS = 0.15
"""Minimum of the short limit, see ``FIRST_SECONDS``."""
SHORT_GENEROSITY = 10
"""The short limit, as a multiple of the reference's time."""


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """Time limits of student code.

    Attributes:
        check_seconds: Limit of one cell, and maximum limit of a check, see ``TimeLimit`` and
            ``CheckLimits``.
        submission_seconds: Limit of a whole notebook, elapsed time.
    """

    check_seconds: float = 30.0
    submission_seconds: float = 600.0


class CheckLimits:
    """The time limits of one submission's checks.

    Args:
        most_seconds: Maximum limit of a check.
        reference_seconds: Returns the time that a check, given by grade_id, takes with the
            reference solution.

    Attributes:
        is_second_try: Whether the notebook runs a second time: then a check that is stopped
            shortens the limits of its own exercise's checks only.
    """

    def __init__(self, most_seconds: float, reference_seconds: Callable[[str], float]) -> None:
        self._most = most_seconds
        self._reference_seconds = reference_seconds
        self._stopped: set[str] = set()  # exercises whose last check was stopped
        self.is_second_try = False

    def run(self, cell: Cell, attempt: Callable[[float], CheckResult]) -> CheckResult:
        """Run a check by calling ``attempt`` with a limit in seconds.

        If the check is stopped and the reference is slow too, it runs once more with a longer
        limit.
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
            f"{STOPPED} {seconds:.2g} s. It got no longer, because an earlier check of "
            f"{cell.exercise} was stopped: look there first for a loop that never ends."
        )


def _is_stopped(result: CheckResult) -> bool:
    return result.status is Status.TIMEOUT
