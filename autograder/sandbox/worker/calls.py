"""Has functions say that they are called: of Python's, and of PyTorch's own Python and scripts.

What PyTorch dispatches says so by itself, see ``kernels``. But it has Python for many operators
that computes the same by others, and those somebody else's may take the place of.
"""

import contextlib
import functools
import gc
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

import torch
from torch._library.custom_ops import CustomOpDef

from .operators import FAMILIES, Family, full_name, spelt_as_operators
from .replacing import put

Note = Callable[[str, re.Pattern[str]], object]
"""Notes a name, unless the library called it that names what these words match."""

# Where PyTorch keeps such Python. What reads the text of others, as forward mode's does, must be
# loaded by now: what notes has none.
_TWINS = re.compile(
    r"torch\.(_decomp|_refs|ao\.nn|export\._patches|nested\._internal|onnx\.ops"
    r"|nn\.modules\.(_functions|adaptive|linear_cross_entropy))\b"
)
_LOADED = ("torch._decomp.decompositions_for_jvp", "torch.export._patches",
           "torch.nested._internal.ops", "torch.onnx.ops._impl")  # fmt: skip
for _name in _LOADED:
    with contextlib.suppress(ImportError), warnings.catch_warnings(action="ignore"):
        importlib.import_module(_name)
_SCRIPTS = ("ScriptFunction", "ScriptMethod", "ScriptObject", "ScriptModule", "ScriptClass",
            "ScriptClassFunction", "LiteScriptModule", "ThroughputBenchmark",
            "_CUDAGraph")  # fmt: skip
# Saving and loading run what a script says of its own state.
_RUNS = re.compile(
    "__(?!init|getattr|setattr|doc|module).*__|forward|(boxed_)?run|run_method|run_once|benchmark"
    "|replay|_?save.*|_replicate_for_data_parallel"
)
_LOADS = re.compile("_?import_ir_module.*|_load_(for_lite_interpreter|(jit|mobile)_module).*")


def watch_calls(name: str, note: Note) -> None:
    """Note calls of a function, of a class's methods, or of all that a module holds.

    Args:
        name: Its full name.
        note: Called by what takes its place, so one frame lies between it and who called.
    """
    path, _, attribute = name.rpartition(".")
    if not path:
        return  # a whole package is only read for: to import it for all takes long
    try:
        owner = pkgutil.resolve_name(path)
        found = getattr(owner, attribute)
    except (ImportError, AttributeError):
        return  # withheld from this edition
    watch_functions(name, rf"\b{attribute}\b", functions(owner, attribute, found), note)


def watch_functions(name: str, words: str, places: Iterable[tuple[Any, str]], note: Note) -> None:
    """Note calls of functions by a name.

    Args:
        name: What to note.
        words: As for ``Note``, their pattern.
        places: Where they are, and what they are called there.
        note: As for ``watch_calls``.
    """
    for place, member in dict.fromkeys(places):
        noted = functools.partial(note, name, re.compile(words))
        put(place, member, noting(getattr(place, member), noted))


def watch_twins(families: Iterable[Family], note: Note) -> None:
    """Note calls of PyTorch's own Python for operators, also where a table holds it.

    Args:
        families: What is forbidden.
        note: As for ``watch_calls``; what is noted is called as an operator.
    """
    twins, keepers = find_twins()
    words: dict[tuple[Any, str, str], dict[str, None]] = {}
    for family in families:
        for twin in twins[family.operators]:
            words.setdefault(twin, {})[family.names] = None
    instead: dict[FunctionType, Any] = {}
    for (place, member, name), names in words.items():
        function = getattr(place, member)
        words_of_all = re.compile(rf"\b({'|'.join(names)})\b")
        instead[function] = noting(function, functools.partial(note, name, words_of_all))
        put(place, member, instead[function])
    for keeper in keepers:
        if isinstance(keeper, CellType):
            keeper.cell_contents = instead.get(keeper.cell_contents, keeper.cell_contents)
            continue
        for key, value in list(keeper.items()):
            if type(value) is FunctionType and value in instead:
                keeper[key] = instead[value]


def watch_scripts(note: Callable[[], object]) -> None:
    """Note that any of PyTorch's scripts runs: what it runs need not be an operator.

    Args:
        note: Called with nothing by what takes a call's place, so one frame lies between.
    """
    places = [kind for name in _SCRIPTS if (kind := getattr(torch._C, name, None))]
    compiled = vars(getattr(torch._C, "_aoti", None) or object)  # what runs those of a compiler
    places += [kind for kind in compiled.values() if isinstance(kind, type)]
    found = [(kind, name) for kind in places for name in vars(kind) if _RUNS.fullmatch(name)]
    found += [(torch._C, name) for name in vars(torch._C) if _LOADS.fullmatch(name)]
    serializer = torch._C.ScriptModuleSerializer
    found += [(serializer, name) for name in ("serialize", "write_files")]
    for place, name in found:
        if callable(value := vars(place)[name]):
            put(place, name, noting(value, note))


def noting(function: Any, note: Callable[[], object]) -> Any:
    """Return what takes a function's place, and notes its calls: it shows nothing of the other."""

    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        note()
        return function(*args, **kwargs)

    del noting.__wrapped__
    vars(noting)["_torchdynamo_disable"] = True  # compilers call it, and don't look into it
    return noting


def functions(owner: Any, name: str, found: Any) -> Iterator[tuple[Any, str]]:
    """Yield where the functions are that something forbidden consists of, each with its name."""
    if isinstance(found, ModuleType):
        for full, module in list(sys.modules.items()):
            if full == found.__name__ or full.startswith(f"{found.__name__}."):
                for inner, value in list(vars(module).items()):
                    home = f"{getattr(value, '__module__', None)}."
                    if home.startswith(f"{found.__name__}."):
                        yield from functions(module, inner, value)
    elif isinstance(found, type):
        is_layer = hasattr(found, "forward") and not issubclass(found, torch.autograd.Function)
        kinds = (FunctionType,) if is_layer else (FunctionType, staticmethod)
        for method, value in vars(found).items():
            # Who makes a layer has not used it yet, and what needs none makes masks, say.
            made = method.startswith("__") or method == "_reset_parameters"
            is_used = not made or (method == "__init__" and not is_layer)
            if is_used and isinstance(value, kinds):
                yield found, method
    elif callable(found):
        yield owner, name


@functools.cache
def find_twins() -> tuple[dict[str, list[tuple[Any, str, str]]], list[Any]]:
    """Find PyTorch's own Python for operators: once for all workers, and the collector must look.

    Returns:
        For each family's pattern where the functions are, and what to note of each; what else
        keeps any of them.
    """
    twins: dict[str, list[tuple[Any, str, str]]] = {f.operators: [] for f in FAMILIES}
    for place, member, name in _python_of_operators():
        operator = f"python::{spelt_as_operators(name)}"
        for pattern, found in twins.items():
            if pattern and re.search(pattern, operator):
                found.append((place, member, full_name(operator)))
    known = {getattr(place, member) for found in twins.values() for place, member, _ in found}
    return twins, [k for k in gc.get_referrers(*known) if type(k) in (dict, CellType)]


def _python_of_operators() -> Iterator[tuple[Any, str, str]]:
    """Yield where functions are, with what they, their class or their operator are called."""
    for full, module in list(sys.modules.items()):
        for name, value in list(vars(module).items()) if _TWINS.match(full) else ():
            if isinstance(value, CustomOpDef):
                yield value, "_init_fn", name
            elif isinstance(value, FunctionType | type) and value.__module__ == full:
                yield from ((*found, name) for found in functions(module, name, value))
