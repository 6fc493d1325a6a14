"""Print the tests of the files edited since a commit, as arguments for pytest.

A module's tests are at the same place under ``tests/``: those of ``course_lib/layers/masks.py`` in
``tests/course_lib/layers/test_masks.py``, or else in that folder. ``make test`` finds breakage
further away.
"""

import subprocess
import sys
from pathlib import Path

MIRRORS = {"course_lib": "course_lib", "autograder": "autograder", "book/_ext/course_book": "book"}
HOUSE = "tests/test_house.py"
"""The rules for imports between packages: quick, and any edit may break them."""


def edited(since: str) -> list[Path]:
    """Return the files that differ from the commit ``since``, untracked ones included."""
    listed = ""
    for options in (
        ["diff", "--name-only", "--diff-filter=d", since],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        git = ["git", *options]
        done = subprocess.run(git, check=True, stdout=subprocess.PIPE, text=True)
        listed += done.stdout
    return [Path(line) for line in listed.splitlines()]


def tests_of(path: Path) -> list[str]:
    """Return the test files of a source file, or else its test folder; [] if it has neither.

    All paths are relative to the project's root.
    """
    if path.parts[0] == "tests":
        return [str(path)] if path.name.startswith("test_") else []
    if path.parts[0] == "scripts":
        return [str(found) for found in [Path("tests", f"test_{path.name}")] if found.exists()]
    for source, tests in MIRRORS.items():
        if path.is_relative_to(source):
            folder = Path("tests", tests, path.relative_to(source).parent)
            own = sorted(folder.glob(f"test_{path.stem}*.py"))
            while not folder.is_dir():
                folder = folder.parent
            room = [] if folder == Path("tests", tests) else [str(folder)]
            return [str(found) for found in own] or room
    return []


if __name__ == "__main__":
    found = {test for path in edited(sys.argv[1]) for test in tests_of(path)}
    print(*sorted(found | {HOUSE}))
