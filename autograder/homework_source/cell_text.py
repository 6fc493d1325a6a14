"""The text of a code cell without what does not count for who reads it; every line stays."""

import re

_HIDDEN_TESTS = re.compile(
    r"^[ \t]*### BEGIN HIDDEN TESTS.*?^[ \t]*### END HIDDEN TESTS[^\n]*", re.M | re.S
)


def without_magics(source: str) -> str:
    """Return what of a cell is Python, and not IPython's own.

    Args:
        source: The cell's text.

    Returns:
        It, with an empty line for each magic.
    """
    return "\n".join(
        "" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()
    )


def without_hidden_tests(source: str) -> str:
    """Return what students get of a test cell.

    Args:
        source: The cell's text.

    Returns:
        It, with an empty line for each line of a hidden part.
    """
    return _HIDDEN_TESTS.sub(lambda found: "\n" * found.group().count("\n"), source)
