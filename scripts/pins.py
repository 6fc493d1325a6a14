"""Rewrite requirements.txt with the versions that this environment has: ``make lock``.

The upper part of the file is written by hand: the direct requirements, grouped by purpose. Only
their versions are refreshed. The lower part, what they need in turn, is made anew. To add a
requirement: install it, write its name into a group, run ``make lock``.
"""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REQUIREMENTS = Path(__file__).parent.parent / "requirements.txt"
MARKER = "# ---- what they need in turn (written by `make lock`) ----"
GPU_PACKAGES = ("nvidia-", "cuda-", "triton")
"""What torch brings along on some platforms only: torch itself says which, so no pin here."""


def direct_requirements(text: str) -> list[str]:
    """Return the names above the marker, as written, in order.

    Args:
        text: The content of requirements.txt.

    Returns:
        Names without versions, such as ``jupyter-book``.
    """
    upper = text.split(MARKER)[0]
    return re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)", upper, flags=re.MULTILINE)


def installed_closure(names: list[str]) -> dict[str, str]:
    """Follow the requirements of installed packages to the end.

    Args:
        names: The packages to start from.

    Returns:
        Pins such as ``torch==2.13.0``, by normalised name, the starting packages included. A local
        version (``+cpu``) is left out: it names a build, not a release.

    Raises:
        SystemExit: A package that is needed is not installed.
    """
    pins: dict[str, str] = {}
    waiting = [(name, frozenset[str]()) for name in names]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"lock: {name} is not installed; pip install it first") from None
        version = package.version.partition("+")[0]
        pins[canonicalize_name(name)] = f"{package.metadata['Name']}=={version}"
        for line in package.requires or ():
            need = Requirement(line)
            if need.name.startswith(GPU_PACKAGES):
                continue
            wanted = any(
                need.marker is None or need.marker.evaluate({"extra": extra})
                for extra in extras | {""}
            )
            step = (canonicalize_name(need.name), frozenset(need.extras))
            if wanted and step not in seen:
                seen.add(step)
                waiting.append(step)
    return pins


def lock(text: str) -> str:
    """Return requirements.txt with fresh versions.

    Args:
        text: The content of requirements.txt.

    Returns:
        The new content.

    Raises:
        SystemExit: The file lacks the marker, or a package is not installed.
    """
    if MARKER not in text:
        raise SystemExit(f"lock: requirements.txt has no line {MARKER!r}")
    direct = direct_requirements(text)
    pins = installed_closure(direct)
    upper = text.split(MARKER)[0]
    for name in direct:
        version = pins.pop(canonicalize_name(name)).partition("==")[2]
        line = rf"^{re.escape(name)}(==\S+)?(?=\s|$)"
        upper = re.sub(line, f"{name}=={version}", upper, flags=re.MULTILINE)
    return upper + "\n".join([MARKER, *sorted(pins.values(), key=str.lower)]) + "\n"


if __name__ == "__main__":
    REQUIREMENTS.write_text(lock(REQUIREMENTS.read_text()))
