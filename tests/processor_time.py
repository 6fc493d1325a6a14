"""Limits the processor time of a block, which does not depend on how busy the machine is."""

import contextlib
import signal
from collections.abc import Iterator


class OutOfTimeError(BaseException):
    """The block ran for too long. ``except Exception`` does not catch this."""


@contextlib.contextmanager
def limited_to(seconds: int) -> Iterator[None]:
    """Raise ``OutOfTimeError`` in a block of the main thread that uses more processor seconds."""

    def stop(signum: int, frame: object) -> None:
        raise OutOfTimeError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
