"""How long each check may take: a submission that never answers delays the class only once.

A check is stopped when it has taken much longer than the reference solution takes for it. After
that, what it belongs to is tried only briefly, until one of its checks answers again. Another
exercise may stand on it: once a check of that one gets no answer either, the rest of them wait for
the second try, where the reference solution has taken the place of what never ends.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from autograder.homework_source.homework import Cell
from autograder.judging.results import DEFERRED, STOPPED, CheckResult, Status, not_earned

FIRST_SECONDS = 3.0
"""Each check may take so long, however fast the reference is."""

NEXT_SECONDS = 1.0
"""As ``FIRST_SECONDS``, once another exercise has run out of its time: it may lead to that one."""

GENEROSITY = 100
"""A check may take so many times what it takes with the reference solution."""

SHORT_SECONDS = 0.15
"""As ``FIRST_SECONDS``, for an exercise that has run out of its time, or seems to wait for one."""

SHORT_GENEROSITY = 10
"""As ``GENEROSITY``, likewise."""


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
        can_defer: Whether a second try is to come.
    """

    def __init__(self, most_seconds: float, reference_seconds: Callable[[str], float]) -> None:
        self._most = most_seconds
        self._reference_seconds = reference_seconds
        self._late: set[str] = set()  # exercises whose last check ran out of its time
        self._waiting: set[str] = set()  # those that seem to stand on one of them
        self.can_defer = True

    def run(self, cell: Cell, attempt: Callable[[float], CheckResult]) -> CheckResult:
        """Run a check, and once more where the reference needs long for it.

        Args:
            cell: The test cell.
            attempt: Runs it under a limit in seconds.

        Returns:
            Its result.
        """
        if cell.exercise in self._late:
            seconds = self._of(cell, SHORT_GENEROSITY, SHORT_SECONDS)
            result = attempt(seconds)
            if result.message.startswith(STOPPED):
                return dataclasses.replace(result, message=self._briefly(cell, seconds))
        elif self._late and self.can_defer:
            return self._attempt_or_defer(cell, attempt)
        else:
            first = min(NEXT_SECONDS if self._late else FIRST_SECONDS, self._most)
            result = attempt(first)
            if result.status is Status.TIMEOUT:
                longer = self._of(cell, GENEROSITY, first)
                result = attempt(longer) if longer > first else result
        change = self._late.add if result.status is Status.TIMEOUT else self._late.discard
        change(cell.exercise)
        return result

    def _attempt_or_defer(self, cell: Cell, attempt: Callable[[float], CheckResult]) -> CheckResult:
        if cell.exercise not in self._waiting:
            result = attempt(self._of(cell, SHORT_GENEROSITY, SHORT_SECONDS))
            if result.status is not Status.TIMEOUT:
                return result
            self._waiting.add(cell.exercise)
        others = " and ".join(sorted(self._late))
        words = (
            f"{DEFERRED} {others}, which had run out of its time; and no time was left to try it."
        )
        return not_earned(cell, Status.TIMEOUT, words)

    def _of(self, cell: Cell, times: int, least: float) -> float:
        return min(max(times * self._reference_seconds(cell.grade_id), least), self._most)

    def _briefly(self, cell: Cell, seconds: float) -> str:
        return (
            f"{STOPPED} {seconds:.2g} s. It got no longer, since {cell.exercise} "
            f"had run out of its time before: the reference solution needs less than a tenth of "
            "that. Look for what never ends there first."
        )
