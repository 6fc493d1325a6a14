"""What of a cell is Python, as Jupyter reads it: also what its magics would run."""

import ast
import contextlib
import functools
import re
from collections.abc import Iterator
from string import Formatter

from IPython.core.inputtransformer2 import TransformerManager

from .statements import called

FRONT_ENDS_MAGICS = (
    "autosave", "clear", "connect_info", "ed", "edit", "less", "man", "more", "qtconsole",
    "subshell",
)  # fmt: skip
"""Line magics for whoever sits before a notebook: its kernel has them, and here they do nothing."""

LINE_MAGICS = {
    *FRONT_ENDS_MAGICS,
    "aimport", "alias", "alias_magic", "autoawait", "autocall", "automagic", "autoreload",
    "bookmark", "cat", "cd", "code_wrap", "colors", "conda", "config", "cp", "debug", "dhist",
    "dirs", "doctest_mode", "env", "gui", "hist", "history", "killbgscripts", "ldir", "lf", "lk",
    "ll", "load", "load_ext", "loadpy", "logoff", "logon", "logstart", "logstate", "logstop", "ls",
    "lsmagic", "lx", "macro", "magic", "mamba", "matplotlib", "micromamba", "mkdir", "mv",
    "notebook", "page", "pastebin", "pdb", "pdef", "pdoc", "pfile", "pinfo", "pinfo2", "pip",
    "popd", "pprint", "precision", "prun", "psearch", "psource", "pushd", "pwd", "pycat", "pylab",
    "quickref", "recall", "rehashx", "reload_ext", "rep", "rerun", "reset", "reset_selective",
    "rm", "rmdir", "run", "save", "sc", "set_env", "store", "sx", "system", "tb", "time", "timeit",
    "unalias", "unload_ext", "uv", "who", "who_ls", "whos", "xdel", "xmode",
}  # fmt: skip
"""Line magics that need no sign where they are all of a cell: ``pip install einops``."""

_RUN_MAGICS = ("run_cell_magic", "run_line_magic")
_FILLED_IN = (*_RUN_MAGICS, "getoutput", "system")
_REMEMBERED = 512  # texts
_FIRST_WORD = re.compile(r"\s*(\w+)(?![\w.*])\s*(?![\s=,])")  # what follows these is Python's


def with_sign(source: str) -> str:
    """Return a cell with the ``%`` that Jupyter lets one leave out, if without it is no Python."""
    signed = _as_magic(source)
    return signed if signed and not _is_python(source) else source


def _as_magic(source: str) -> str:
    """Return a cell as Jupyter reads it where it is one line that begins as a magic does.

    What is Python too, ``ls / tmp`` say, is Python to Jupyter once something is called so.
    """
    word = _FIRST_WORD.match(source)
    if not word or word[1] not in LINE_MAGICS:
        return ""
    if len(python_of(source).splitlines()) != 1:
        return ""
    return f"{source[: word.start(1)]}%{source[word.start(1) :]}"


def _is_python(source: str) -> bool:
    try:
        ast.parse(python_of(source))
    except SyntaxError:
        return False
    return True


@functools.lru_cache(maxsize=_REMEMBERED)
def python_of(source: str) -> str:
    """Return the Python that IPython makes of a cell's text, whatever else it makes of one line.

    Remembered, as a cell is read before it runs, and the instructor's are alike for all students.

    Raises:
        SyntaxError: It is no Python that could be taken apart.
        RuntimeError: Its magics have no end.
    """
    return TransformerManager().transform_cell(source)


def code_of(source: str) -> Iterator[tuple[str, int]]:
    """Yield a cell as the Python that IPython makes of it, then what its magics would run.

    With each comes how many lines of the cell stand before it.
    """
    before = len(source) - len(source.lstrip("\n"))
    code = python_of(with_sign(source))
    yield code, before
    for node in _ask_ipython(code):
        if called(node) in _RUN_MAGICS:
            body = node.args[-1] if node.args else None
            if isinstance(body, ast.Constant) and isinstance(body.value, str):
                inside = 1 if called(node) == "run_cell_magic" else node.lineno - 1
                yield from _if_python(body.value, before + inside)
        for value in _filled_in(node):
            yield from _if_python(value, before + node.lineno - 1)
    signed = _as_magic(source)
    if signed:
        yield from _if_python(signed, before)


def _ask_ipython(code: str) -> Iterator[ast.Call]:
    """Yield the calls in which IPython fills in something; most cells have none to look for."""
    if not code.isascii() or any(name in code for name in _FILLED_IN):  # Python spells names anew
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and called(node) in _FILLED_IN:
                yield node


def _filled_in(asked: ast.Call) -> Iterator[str]:
    """Yield what IPython computes to fill it into a magic or a command: ``%cd {folder}``."""
    for given in asked.args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            with contextlib.suppress(ValueError):  # as IPython, which then fills in nothing
                for _, code, after_colon, _ in Formatter().parse(given.value):
                    yield ":".join(filter(None, (code, after_colon)))


def _if_python(source: str, offset: int) -> Iterator[tuple[str, int]]:
    try:
        pieces = list(code_of(source))  # magics in it too
        for code, _ in pieces:
            ast.parse(code)
    except SyntaxError:
        return
    for code, before in pieces:
        yield code, offset + before
