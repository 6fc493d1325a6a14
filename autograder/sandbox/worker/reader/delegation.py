"""Finds where an exercise's code leads to what the exercise forbids, by whatever path or name."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from ..operators import spelt_as_operators
from .hostility import SETTINGS
from .names_used import Notebook
from .statement_reader import SHELL
from .statements import owner_of
from .uses import Statement, Use, is_below

# What torch adds to the name of one thing: _native_layer_norm, _thnn_fused_gru_cell.
_AFFIXES = ("", "forward", "fused", "fwd", "loss", "native", "quantized", "thnn")

# Below a forbidden name, and none of its work: it makes a mask.
_HARMLESS = ("generate_square_subsequent_mask",)

# Code from texts, and graphs from code: what they were made from, they no longer show.
_EVALUATES = {"__import__", "compile", "eval", "exec"}
_BUILTINS = ("builtins",)
_SHELLS = (
    "ev", "ex", "push", "run_ast_nodes", "run_cell", "run_cell_async", "run_code",
    "safe_execfile", "safe_execfile_ipy", "safe_run_module", "user_global_ns", "user_module",
    "user_ns", "var_expand",
)  # fmt: skip
_MAKES_CODE = (
    "bdb", "cProfile", "code", "codeop", "doctest", "inspect.getsource", "inspect.getsourcelines",
    "marshal", "profile", "runpy", "timeit.Timer", "timeit.repeat", "timeit.timeit", "trace",
    "torch._dynamo", "torch._inductor",
    "torch.compile", "torch.export", "torch.fx", "torch.jit", "torch.package", "types.CodeType",
    "types.FunctionType",
)  # fmt: skip


def find_breaches(exercise: str, names: Sequence[str], notebook: Notebook) -> dict[str, Use]:
    """Find the places where an exercise's object leads to forbidden names.

    Args:
        exercise: The object's name.
        names: The full names that it must not lead to.
        notebook: What was read.

    Returns:
        For each name that it does lead to, the first place.
    """
    found: dict[str, Use] = {}
    uses = [check.imported for check in notebook.checks_of(exercise) if check.imported]
    for statement in _led_to(exercise, notebook):
        uses += [use for use in statement.uses if use.name.rpartition(".")[2] not in _HARMLESS]
    for use in uses:
        named = [name for name in names if _is_in(use.name, name)]
        for name in named or [name for name in names if _is_kin(use.name, name)][:1]:
            found.setdefault(name, use)
    return found


def find_unreadable(exercise: str, notebook: Notebook) -> dict[str, Use]:
    """Find what keeps one from saying what an exercise's object leads to.

    Args:
        exercise: The object's name.
        notebook: What was read.

    Returns:
        For each such function, the first place where the object leads to it.
    """
    own = {name for statement in notebook.statements for name in statement.binds}
    own |= {
        name for name, use in notebook.known.imported.items() if not is_below(use.name, _BUILTINS)
    }
    evaluates = {f"{_BUILTINS[0]}.{name}": name for name in _EVALUATES}
    evaluates |= {f"{SHELL}.{name}": f"get_ipython().{name}" for name in _SHELLS}
    found: dict[str, Use] = {}
    led = _led_to(exercise, notebook)
    for statement in led:
        for use in statement.uses:
            sets = use.changes and is_below(use.name, SETTINGS)  # which gives nobody any code
            for name in _MAKES_CODE:
                if is_below(use.name, [name]) and not sets:
                    found.setdefault(name, use)
    for statement in notebook.statements:
        # exec("...") binds what nobody can read, and what it adds something to, it does not make.
        if statement in led or statement.adds or not statement.binds:
            for name in sorted(statement.reads & _EVALUATES - own):
                found.setdefault(name, Use(name, *statement.place))
            for use in statement.uses:
                if use.name in evaluates:
                    found.setdefault(evaluates[use.name], use)
    return found


def find_hidden_packages(
    statements: Sequence[Statement], programs: Sequence[Statement], packages: Sequence[str]
) -> dict[str, Use]:
    """Find where a forbidden package is imported so that nobody can read by whom.

    Args:
        statements: What was read.
        programs: What stands in its texts, which may be files.
        packages: Names of whole packages: of these nothing is noted when it runs.

    Returns:
        For each package, the first place of its name in a text, or of its use in such a program.
    """
    found: dict[str, Use] = {}
    for statement in (*statements, *programs):
        named = [Use(text, label, line) for text, label, line in statement.texts]
        for use in (*named, *(statement.uses if statement in programs else ())):
            if is_below(use.name, packages):
                found.setdefault(use.name.partition(".")[0], use)
    return found


def _led_to(exercise: str, notebook: Notebook) -> list[Statement]:
    """Return the statements that make an exercise's object what it is when it is checked.

    Those that define it, and those that define what they read.
    """
    ends = [check.after for check in notebook.checks_of(exercise)]
    statements = notebook.statements[: max(ends)]
    every, makers = _Binders(statements), _Binders(statements, fillers=False)
    # What else an object of such a name does where it is used, only all that made it can tell.
    odd = {name for s in statements for name in s.binds - s.fills - s.plain}
    waiting = deque((every, exercise, end, False) for end in ends)
    led: dict[int, Statement] = {}
    while waiting:
        binders, name, place, late = waiting.popleft()
        for number in binders.find(name, place, late):
            if number not in led:
                led[number] = found = statements[number]
                for name in sorted(found.reads | found.puts):
                    which = every if name in found.reads | odd else makers
                    waiting.append((which, name, number, name in found.late))
    return list(led.values())


class _Binders:
    """Finds the statements that may have made a name what it is, each once.

    Args:
        statements: All that run, in order.
        fillers: Whether who only puts items into what a name stands for is among them.
    """

    def __init__(self, statements: Sequence[Statement], *, fillers: bool = True) -> None:
        self._statements = statements
        self._numbers: dict[str, list[int]] = defaultdict(list)
        places: dict[str, set[str]] = defaultdict(set)  # of what a name stands for
        for name in {name for statement in statements for name in statement.binds}:
            places[owner_of(name)].add(name)
        for number, statement in enumerate(statements):
            emptied = {place for name in statement.covers for place in places[name]}
            for name in emptied | (
                statement.binds if fillers else statement.binds - statement.fills
            ):
                self._numbers[name].append(number)
        self._found: set[tuple[str, int]] = set()
        self._all_since: dict[str, int] = {}

    def find(self, name: str, place: int, late: bool) -> Iterator[int]:
        """Yield those that have run before a place or, if it is read late, may run after it."""
        numbers = self._numbers[name]
        here = bisect_left(numbers, place)
        for number in reversed(numbers[:here]):
            if (name, number) in self._found:
                break  # and so are those before it
            self._found.add((name, number))
            yield number
            if owner_of(name) in self._statements[number].covers:
                break
        if late:
            until = self._all_since.get(name, len(numbers))
            yield from numbers[here:until]
            self._all_since[name] = min(here, until)


def _is_in(used: str, forbidden: str) -> bool:
    """Whether a used name is the forbidden one, by whatever path: torch.nn.modules..., .forward."""
    parts = used.split(".")
    return parts[0] == forbidden.partition(".")[0] and forbidden.rpartition(".")[2] in parts


def _is_kin(used: str, forbidden: str) -> bool:
    """Whether a used name is torch's other name for the forbidden thing."""
    if not (is_below(used, ["torch"]) and is_below(forbidden, ["torch"])):
        return False
    return _kernel(forbidden.rpartition(".")[2]) in map(_kernel, used.split("."))


def _kernel(name: str) -> str:
    """Return what torch's names for one thing share: ``LayerNorm``, ``native_layer_norm``.

    A name of one word is too common to go by: ``torch.nn.utils.rnn`` is no RNN.
    """
    words = spelt_as_operators(name).split("_")
    words = [word for word in words if word not in _AFFIXES]
    return "_".join(words) if len(words) > 1 else name
