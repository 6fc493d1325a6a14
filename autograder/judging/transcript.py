"""Records the values in a check's assertions, so that two solutions can be compared.

In a homework with variants a check continues after a failed assertion, and all values are recorded.
Two solutions with the same mistake have the same transcript.
"""

import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.judging.results import TensorData
from course_lib.testing import CheckFailure

_MOST_ENTRIES = 4096  # kept of a tensor
_MOST_ITEMS = 64  # kept of a container
_RTOL, _ATOL = 1e-3, 1e-5  # for rounding in another order of operations

Entry = tuple[Any, ...]
Transcript = tuple[Entry, ...]
"""Plain data, one entry per assertion; the last may be the error that ended the check."""


class Recorder:
    """Records each assertion of the check in ``file``, see ``course_lib.testing.observed_by``."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._entries: list[Entry] = []
        self.failure: CheckFailure | None = None  # the first one
        self.lines: set[int] = set()  # the check's lines on the stack at that failure

    def __call__(self, seen: Any, failure: CheckFailure | None) -> None:
        """Record the value that an assertion saw, and the first failure with its line numbers."""
        self._entries.append(_as_data(seen))
        if failure is not None and self.failure is None:
            self.failure = failure
            frame = sys._getframe(1)
            while frame is not None:
                if frame.f_code.co_filename == self._file:
                    self.lines.add(frame.f_lineno)
                frame = frame.f_back  # type: ignore[assignment]

    def transcript(self, error: BaseException | None) -> Transcript:
        """Return the recorded values, and at the end the error that ended the check, if any."""
        if error is None:
            return tuple(self._entries)
        if isinstance(error, CheckFailure):
            last: Entry = ("failed", error.summary)
        else:
            last = ("raised", str(getattr(error, "type_name", type(error).__name__)))
        return (*self._entries, last)


def _as_data(seen: Any, depth: int = 0) -> Entry:
    if type(seen) in (Tensor, torch.nn.Parameter):
        flat = seen.detach().flatten()
        if flat.device.type != "meta":
            flat = flat[:: 1 + flat.numel() // _MOST_ENTRIES]
            flat = flat.cpu() if flat.dtype != torch.bfloat16 else flat.cpu().float()
        entries = np.zeros(0) if flat.device.type == "meta" else flat.numpy()
        data = TensorData(
            shape=tuple(seen.shape),
            dtype=str(seen.dtype),
            device=seen.device.type,
            entries=entries.tobytes(),
            entry_type=entries.dtype.str,
        )
        return ("tensor", data)
    if type(seen) in (type(None), bool, int, float, str, torch.dtype):
        return ("value", str(seen) if isinstance(seen, torch.dtype) else seen)
    if isinstance(seen, list | tuple) and depth < 4:
        return ("items", len(seen), *(_as_data(x, depth + 1) for x in seen[:_MOST_ITEMS]))
    if type(seen) is dict and depth < 4:
        pairs = sorted(seen.items(), key=lambda pair: repr(pair[0]))[:_MOST_ITEMS]
        return ("pairs", len(seen), *(_as_data(list(pair), depth + 1) for pair in pairs))
    if isinstance(seen, set | frozenset):
        return ("set", len(seen), *sorted(map(repr, seen))[:_MOST_ITEMS])
    return ("object", str(getattr(seen, "__remote_type__", type(seen).__name__)))


def are_alike(first: Any, second: Any) -> bool:
    """Return whether two transcripts, or parts of them, are equal up to rounding."""
    if type(first) is not type(second):
        return False
    if isinstance(first, tuple):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(are_alike(a, b) for a, b in pairs)
    if isinstance(first, TensorData):
        about = (first.shape, first.dtype, first.device)
        if about != (second.shape, second.dtype, second.device):
            return False
        a, b = (np.frombuffer(x.entries, x.entry_type) for x in (first, second))
        if first.entries == second.entries or a.dtype.kind != "f":
            return first.entries == second.entries
        return bool(np.allclose(a, b, rtol=_RTOL, atol=_ATOL, equal_nan=True))
    if isinstance(first, float):
        return bool(np.isclose(first, second, rtol=_RTOL, atol=_ATOL, equal_nan=True))
    return bool(first == second)
