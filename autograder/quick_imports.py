"""Spares the command line what libraries import and none of its commands uses: three seconds.

To be imported before them. ``tests/autograder/test_quick_imports.py`` names what it relies on.
"""

import atexit
import gc
import sys
from types import ModuleType

FORMATS = ("rfc3987_syntax", "rfc3986_validator", "isoduration")
"""What jsonschema knows addresses and durations by, grammars among it; it does without them."""

CONTENTS_MANAGERS = ("jupytext.sync_contentsmanager", "jupytext.async_contentsmanager")
"""What jupytext imports for a Jupyter server, and does without."""

SERVER_EXTENSIONS = tuple(
    f"nbgrader.server_extensions.{name}"
    for name in ("assignment_list", "course_list", "formgrader", "validate_assignment")
)
"""What nbgrader imports for a Jupyter server, whatever of it is asked for."""

_OBJECTS = 50_000  # more than these, and garbage is looked for: imports alone make many, to be kept


def spare() -> None:
    """Put nothing in the place of these modules, where they are not imported yet."""
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # at the very end all would be looked through once more
    for name in (*FORMATS, *CONTENTS_MANAGERS):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # "not to be found"
    for name in SERVER_EXTENSIONS:
        empty = ModuleType(name)
        empty.load_jupyter_server_extension = None  # type: ignore[attr-defined]
        sys.modules.setdefault(name, empty)
