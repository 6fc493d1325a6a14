"""The text of a notebook's file; cells that a class has in common are encoded once.

nbformat indents its JSON, for which Python has no fast encoder.
"""

import functools
import json

import nbformat
from nbformat import NotebookNode

_REMEMBERED, _SHORT = 500, 20_000  # cells kept; characters of a cell worth keeping


def notebook_text(notebook: NotebookNode) -> str:
    """Return what ``nbformat.writes`` returns for a notebook of format 4, plus a newline."""
    frame = nbformat.v4.writes(NotebookNode(notebook, cells=[])) + "\n"
    shortly = (json.dumps(cell, sort_keys=True) for cell in notebook.cells)
    cells = ",\n".join((_remembered_text if len(c) <= _SHORT else _cell_text)(c) for c in shortly)
    return frame.replace('"cells": []', f'"cells": [\n{cells}\n ]', 1) if cells else frame


def _cell_text(cell: str) -> str:
    """Return an indented cell, given as compact JSON."""
    alone = nbformat.from_dict({"cells": [json.loads(cell)], "metadata": {}})
    begin, end = '{\n "cells": [\n', '\n ],\n "metadata": {}\n}'
    return str(nbformat.v4.writes(alone)).removeprefix(begin).removesuffix(end)


_remembered_text = functools.lru_cache(maxsize=_REMEMBERED)(_cell_text)
