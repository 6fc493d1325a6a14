"""Gives a package's modules builtins of their own: the student's code may replace Python's.

Else whoever takes the place of ``len``, say, is handed what the worker asks the length of.
"""

import builtins
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_BUILTINS = dict(vars(builtins))


def give_own_builtins(package: str) -> None:
    """Have all modules of a package that are imported from now on find their builtins apart.

    Args:
        package: Its full name.
    """
    sys.meta_path.insert(0, _Finder(package))


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = dict(_BUILTINS)  # where functions that are made in it look
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self._inside = f"{package}."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self._inside):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec
