"""What the extension takes from inside other packages is still there: an upgrade may move it.

Tests of the book would fail then too, but far from the reason.
"""

import ast
import inspect
from functools import reduce
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

import pytest

EXTENSION = Path(__file__).parents[2] / "book" / "_ext" / "course_book"
PACKAGES = ("myst_nb", "jupyter_cache", "sphinxcontrib.katex")
INTERNALS = {  # of functions, the parameters that they are called by
    ("jupyter_cache", "get_cache"): ("path",),
    ("myst_nb.core.execute", "create_client"): (
        *("notebook", "source", "nb_config", "logger", "read_fmt"),
    ),
    ("myst_nb.core.execute.base", "NotebookClientBase"): None,
    ("myst_nb.core.read", "create_nb_reader"): ("path", "md_config", "nb_config", "content"),
    ("myst_nb.core.variables", "format_plain_text"): ("text", "fmt_spec"),
    ("myst_nb.sphinx_", "NbMetadataCollector"): None,
    ("sphinxcontrib.katex", "KATEX_DEFAULT_OPTIONS"): None,
    ("sphinxcontrib.katex", "KaTeXError"): None,
    ("sphinxcontrib.katex", "KaTeXServer"): None,
    ("sphinxcontrib.katex", "KaTeXServer.build_command"): ("socket",),
    ("sphinxcontrib.katex", "KaTeXServer.start_server_process"): ("rundir", "timeout"),
    ("sphinxcontrib.katex", "NODEJS_BINARY"): None,
    ("sphinxcontrib.katex", "RENDER_TIMEOUT"): None,
    ("sphinxcontrib.katex", "STARTUP_TIMEOUT"): None,
    ("sphinxcontrib.katex", "html_visit_displaymath"): ("self", "node"),
    ("sphinxcontrib.katex", "html_visit_math"): ("self", "node"),
}
ON_OBJECTS = {  # what is taken from an object that one of these packages, or Sphinx, hands over
    ("jupyter_cache.base", "JupyterCacheAbstract.match_cache_notebook"): ("self", "nb"),
    ("myst_nb.core.config", "NbParserConfig.copy"): ("self",),
    ("myst_nb.core.config", "NbParserConfig.execution_cache_path"): None,
    ("myst_nb.core.config", "NbParserConfig.output_folder"): None,
    ("myst_nb.core.execute.base", "NotebookClientBase.start_client"): ("self",),
    ("myst_nb.core.read", "NbReader.read_fmt"): None,
    ("myst_nb.sphinx_", "NbMetadataCollector.get_doc_data"): ("env",),
    ("myst_nb.sphinx_", "NbMetadataCollector.set_doc_data"): ("env", "docname", "key", "value"),
    ("sphinx.application", "ENV_PICKLE_FILENAME"): None,
    ("sphinx.directives.code", "LiteralIncludeReader"): ("filename", "options", "config"),
    ("sphinxcontrib.bibtex.transforms", "node_text_transform"): ("node",),
}


def taken() -> set[tuple[str, str]]:
    """The names that the extension imports from these packages, and those it asks katex for."""
    found = set()
    for file in EXTENSION.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith(PACKAGES):
                found |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("katex."):
                found.add(("sphinxcontrib.katex", ast.unparse(node).removeprefix("katex.")))
    return found


def afresh(module: str) -> ModuleType:
    """A module as its package has it: a test before may have let the extension change ours."""
    import_module(module)  # whole, with all that import it in their turn
    spec = find_spec(module)
    if spec is None:
        raise ImportError(module)
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_list_is_complete():
    assert taken() == INTERNALS.keys()


@pytest.mark.parametrize(("module", "name"), [*INTERNALS, *ON_OBJECTS])
def test_what_is_taken_is_still_there(module, name):
    package = module.partition(".")[0]
    owner, _, last = name.rpartition(".")
    try:
        holder = reduce(getattr, owner.split(".") if owner else [], afresh(module))
    except (ImportError, AttributeError):
        holder = None
    there = hasattr(holder, last) or last in getattr(holder, "__dataclass_fields__", {})
    assert there, f"{package} has no {module}.{name} any more: adapt the extension to this version"
    parameters = (INTERNALS | ON_OBJECTS)[module, name]
    if parameters:
        found = list(inspect.signature(getattr(holder, last)).parameters)
        assert found[: len(parameters)] == list(parameters), (
            f"{package} calls {module}.{name} with {found} now: adapt the extension to this version"
        )
