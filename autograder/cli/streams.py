"""Where a command prints: no sign that is unknown there, and no stream that is closed, ends it."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO


def fit_streams() -> None:
    """Let both streams take any text: a sign that stdout's encoding lacks becomes ``?``.

    stderr does so by itself.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    """Return what stands for a stream that was closed by whoever has started us."""
    return Path(os.devnull).open("w", encoding="utf-8")
