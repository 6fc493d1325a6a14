"""Turns a cell with IPython's magics into Python, as Jupyter does."""

import ast
import functools
import re

from IPython.core.inputtransformer2 import TransformerManager

FRONT_ENDS_MAGICS = (
    "autosave", "clear", "connect_info", "ed", "edit", "less", "man", "more", "qtconsole",
    "subshell",
)  # fmt: skip
"""Line magics of a notebook's front end; here they do nothing."""

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
"""Line magics that need no ``%`` where they are a whole cell: ``pip install einops``."""

_REMEMBERED = 512  # texts
_FIRST_WORD = re.compile(r"\s*(\w+)(?![\w.*])\s*(?![\s=,])")  # not an assignment or an item


def with_sign(source: str) -> str:
    """Return a cell with the ``%`` that Jupyter lets one omit, if it is not Python without it."""
    signed = _as_magic(source)
    return signed if signed and not _is_python(source) else source


def _as_magic(source: str) -> str:
    """Return a cell of one line that begins with the name of a magic, with its ``%``; else ""."""
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
    """Return a cell as Python, in which calls of the shell stand for its magics."""
    return TransformerManager().transform_cell(source)
