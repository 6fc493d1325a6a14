"""Prevents libraries from importing modules that no command uses; this saves three seconds.

Import it before those libraries. ``tests/autograder/test_quick_imports.py`` tests its assumptions.
"""

import atexit
import gc
import sys
from types import ModuleType

FORMATS = ("rfc3987_syntax", "rfc3986_validator", "isoduration")
"""Optional imports of jsonschema, for the formats of addresses and durations."""

CONTENTS_MANAGERS = ("jupytext.sync_contentsmanager", "jupytext.async_contentsmanager")
"""Optional imports of jupytext, for Jupyter servers."""

SERVER_EXTENSIONS = tuple(
    f"nbgrader.server_extensions.{name}"
    for name in ("assignment_list", "course_list", "formgrader", "validate_assignment")
)
"""nbgrader imports these for Jupyter servers, in every command."""

_GC_THRESHOLD = 50_000  # objects: imports create many, all of which are kept


def skip_imports() -> None:
    """Make Python skip the modules named in this file, and collect garbage less often.

    Importing one gives an empty module or a ``ModuleNotFoundError``. Those imported already stay.
    """
    gc.set_threshold(_GC_THRESHOLD)
    atexit.register(gc.freeze)  # saves the garbage collection at exit
    for name in (*FORMATS, *CONTENTS_MANAGERS):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # "not to be found"
    for name in SERVER_EXTENSIONS:
        empty = ModuleType(name)
        empty.load_jupyter_server_extension = None  # type: ignore[attr-defined]
        sys.modules.setdefault(name, empty)
