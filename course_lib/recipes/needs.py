"""What recipes need beyond the library: told by name before anything begins."""

import importlib.util


def require(*packages: str) -> None:
    """End the program if a package is missing, with the command that installs it.

    Args:
        packages: Their names, which are also those that pip knows.

    Raises:
        SystemExit: One is missing.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"This recipe needs {', '.join(missing)}. Install with:\n"
            f"    pip install {' '.join(missing)}"
        )
