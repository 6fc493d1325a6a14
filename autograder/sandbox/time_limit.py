"""A time limit that a busy machine does not shorten: it counts the processor, not the clock."""

import time
from collections.abc import Callable

PATIENCE = 4
"""How many times its seconds a limit lasts by the clock, for code that waits or is kept waiting."""

_LEAST_BY_THE_CLOCK = 1.2  # seconds: a busy machine may leave a process waiting for so long
_FREE = 0.1  # most checks end sooner: they cost no look at the processor
_SHORTEST_LOOK, _LONGEST_LOOK = 0.05, 1.0  # between two looks: many processes use much at once


def by_the_clock(seconds: float) -> Callable[[], float]:
    """Return what says how many of the seconds, which begin now, are left."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


class TimeLimit:
    """Runs from its making until the processor was used for ``seconds``.

    By the clock it lasts ``PATIENCE`` times as long, or a little longer if that is very short, and
    never beyond ``end``.

    Attributes:
        seconds: The limit.
        clock_seconds: The limit by the clock.
        is_used_up: Whether the processor was used for that long; if not, the clock ends it.

    Args:
        seconds: The limit.
        used: Returns the seconds of processor time that the code has used so far.
        end: Value of ``time.monotonic()`` at which it ends in any case.
    """

    def __init__(self, seconds: float, used: Callable[[], float], *, end: float) -> None:
        now = time.monotonic()
        self.seconds = seconds
        self.clock_seconds = max(PATIENCE * seconds, _LEAST_BY_THE_CLOCK)
        self.is_used_up = False
        self._used = used
        self._used_up_at: float | None = None
        self._look_at = now + min(_FREE, seconds / 3)
        self._end = min(now + self.clock_seconds, end)

    def left(self) -> float:
        """Return for how many seconds one may wait before asking again; none are left at 0."""
        now = time.monotonic()
        if now >= self._look_at:
            unused = self._unused()
            self.is_used_up = unused <= 0
            if self.is_used_up:
                return 0.0
            self._look_at = now + min(max(unused, _SHORTEST_LOOK), _LONGEST_LOOK)
        return min(self._look_at, self._end) - now

    def _unused(self) -> float:
        used = self._used()
        if self._used_up_at is None:
            self._used_up_at = used + self.seconds
        return self._used_up_at - used
