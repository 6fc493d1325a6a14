"""The text of a notebook's file, as nbformat writes it; what a class has in common is written once.

nbformat indents, for which Python has no fast encoder: it took a third of the time of a class's
gradebook.
"""

import functools
import json

import nbformat
from nbformat import NotebookNode

_REMEMBERED, _SHORT = 500, 20_000  # cells, of so many characters at most: students write some


def notebook_text(notebook: NotebookNode) -> str:
    """Write a notebook, as ``nbformat.writes`` does.

    Args:
        notebook: A notebook of format 4.

    Returns:
        The text of its file, with a newline at the end.
    """
    frame = nbformat.v4.writes(NotebookNode(notebook, cells=[])) + "\n"
    shortly = (json.dumps(cell, sort_keys=True) for cell in notebook.cells)
    cells = ",\n".join((_remembered_text if len(c) <= _SHORT else _cell_text)(c) for c in shortly)
    return frame.replace('"cells": []', f'"cells": [\n{cells}\n ]', 1) if cells else frame


def _cell_text(cell: str) -> str:
    """Write a cell, given in a shorter form, as it stands in the file."""
    alone = nbformat.from_dict({"cells": [json.loads(cell)], "metadata": {}})
    begin, end = '{\n "cells": [\n', '\n ],\n "metadata": {}\n}'
    return str(nbformat.v4.writes(alone)).removeprefix(begin).removesuffix(end)


_remembered_text = functools.lru_cache(maxsize=_REMEMBERED)(_cell_text)
