"""What runs here, seen from whoever notes it."""

import sys
import threading
from collections.abc import Iterator
from types import FrameType

# As they were before any of the student's code ran, which may put others in their place.
_current_frames, _get_frame, _this_thread = sys._current_frames, sys._getframe, threading.get_ident

_main_thread: list[int] = []  # as it was before any of the student's code ran


def settle_main_thread() -> None:
    """Take this thread for the main one: in it cells run, and what the judge asks for."""
    _main_thread[:] = [_this_thread()]


def running_frames() -> Iterator[tuple[FrameType, bool]]:
    """Yield what runs beyond who asks, innermost first; after a thread, what has waited for it.

    With each frame comes whether it is of the main thread.
    """
    is_main = not _main_thread or _this_thread() == _main_thread[0]
    for frame in _outwards(_get_frame(2)):
        yield frame, is_main
    if not is_main:
        for frame in _outwards(_current_frames().get(_main_thread[0])):
            yield frame, True


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame:
        yield frame
        frame = frame.f_back
