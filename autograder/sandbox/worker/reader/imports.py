"""What names stand for, as far as imports and other names for what was imported tell."""

import ast
import sys
from collections.abc import Iterator
from types import ModuleType

from .uses import Use

Import = ast.Import | ast.ImportFrom


class Known:
    """What is known of the global names of a notebook.

    Attributes:
        imported: For each name that stands for something imported, as things are now, that thing.
        defined: All names that were given something else.
        stars: Modules of which all was imported, and nobody can tell what that is.
    """

    def __init__(self) -> None:
        self.imported: dict[str, Use] = {}
        self.defined: set[str] = set()
        self.stars: list[str] = []

    def add_import(self, node: Import, label: str, offset: int) -> set[str]:
        """Note an import, and return the names that it binds."""
        new = dict(imports(node, label, offset))
        star = new.pop("*", None)
        if star:
            name = star.name.removesuffix(".*")
            module = sys.modules.get(name)  # as the course has it: none of a student's runs here
            if isinstance(module, ModuleType):
                new |= _all_of(module, star)
            else:
                self.stars.append(name)
        self.imported |= new
        return set(new)

    def add_definition(self, names: set[str], alias: Use | None) -> None:
        """Note that names stand for something else now: for an alias, or for what is no import."""
        for name in names:
            self.imported.pop(name, None)
            if alias:
                self.imported[name] = alias
        self.defined |= names


def imports(node: Import, label: str, offset: int) -> Iterator[tuple[str, Use]]:
    """Yield the names that an import binds, or a star, and what each stands for."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            full = alias.name if alias.asname else alias.name.partition(".")[0]
            name = alias.asname or full
        elif node.module == "__future__" and alias.name == "barry_as_FLUFL":
            raise SyntaxError("another grammar for later cells is no Python")
        else:
            full = own_name(f"{node.module}.{alias.name}")
            name = alias.asname or alias.name
        yield name, Use(full, label, node.lineno + offset)


def own_name(full: str) -> str:
    """Return a module's own name for what is one, by whichever other module it was reached.

    Args:
        full: Such as ``torch.nn.functional.torch``, which is ``torch``.
    """
    owner, _, attribute = full.rpartition(".")
    # As the course has it: none of a student's runs here. Looked up, since asking may import.
    found = getattr(sys.modules.get(owner), "__dict__", {}).get(attribute)
    return found.__name__ if isinstance(found, ModuleType) else full


def _all_of(module: ModuleType, star: Use) -> dict[str, Use]:
    """Return what a star imports of a module, which may hold others: ``torch.nn.init.math``."""
    names = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
    found = {}
    for name in names:
        value = getattr(module, name, None)
        full = value.__name__ if isinstance(value, ModuleType) else f"{module.__name__}.{name}"
        found[name] = Use(full, star.cell, star.line)
    return found
