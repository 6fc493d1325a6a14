"""A time limit that counts processor time, so that a busy machine does not shorten it."""

import time
from collections.abc import Callable

PATIENCE = 4
"""Limit by the clock, as a multiple of the processor time, for code that waits or has to wait."""

_LEAST_BY_THE_CLOCK = 1.2  # seconds that a process may have to wait on a busy machine
_FREE = 0.1  # seconds before the first measurement; most checks end sooner
_SHORTEST_LOOK, _LONGEST_LOOK = 0.05, 1.0  # seconds between measurements


def by_the_clock(seconds: float) -> Callable[[], float]:
    """Return a function that returns how many of ``seconds``, counted from now, are left."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


class TimeLimit:
    """Limit of processor time; it begins when the object is made.

    It also ends after ``PATIENCE`` times as long by the clock, or a little longer if that is very
    short, and at ``end``.

    Attributes:
        seconds: The limit.
        clock_seconds: The limit by the clock.
        is_used_up: Whether the processor time has reached ``seconds``.

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
        """Return after how many seconds to call this again; 0 or less if the limit is reached."""
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
