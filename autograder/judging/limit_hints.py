"""Says which limit a student's code ran into, and how to stay inside it."""

import re

_HINTS = (
    (
        r"MemoryError|not enough memory|can't allocate memory|Cannot allocate memory",
        "The limit on memory was reached. Is a tensor much larger than the task needs, or does a "
        "list keep every step?",
    ),
    (
        r"\[Errno 28\]|\[Errno 27\]|No space left|File too large",
        "The limit on disk space was reached. Nothing needs to be written to files here.",
    ),
    (
        r"\[Errno 11\]|can't start new thread|BlockingIOError",
        "The limit on processes and threads was reached. Nothing needs to be started here.",
    ),
    (
        r"\[Errno 24\]|Too many open files",
        "The limit on open files was reached. Close what you open: use a with block.",
    ),
)


def limit_hint(type_name: str, message: str) -> str:
    """Return a hint for an exception that a limit causes.

    Args:
        type_name: The exception's class.
        message: Its text.

    Returns:
        The hint; empty if no limit is behind it.
    """
    raised = f"{type_name}: {message}"
    return next((hint for pattern, hint in _HINTS if re.search(pattern, raised)), "")
