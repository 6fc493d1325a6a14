"""Notebooks in which the instructor's cells were changed.

A file that is no regular file, or 2 GB long, is another test's:
``test_a_class_is_graded_and_nobody_is_left_out`` of ``tests/autograder/class_run/test_run.py``.
"""

# ruff: noqa: E501 -- one line an attack

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from ..submissions import BLANK
from .attack import CAUSAL, EVERYTHING, PADDING, Attack, attack

Notebook = dict[str, Any]
TEST = "padding_mask-values"
_UNWRITTEN = {PADDING: BLANK}  # what each forger wants marks for
_MEGABYTE = "x" * (1 << 20)


def _cells(notebook: Notebook, *names: str) -> Iterator[Notebook]:
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name in names or (not names and name):
            yield cell


def _tests(notebook: Notebook) -> list[Notebook]:
    return [c for c in _cells(notebook) if c["metadata"]["nbgrader"].get("points")]


def _delete(notebook: Notebook) -> None:
    for cell in _tests(notebook):
        notebook["cells"].remove(cell)


def _edit(notebook: Notebook) -> None:
    for cell in _cells(notebook, TEST):
        cell["source"] = "# It is all right\n99"


def _copy(notebook: Notebook) -> None:
    for cell in list(_cells(notebook, TEST)):
        notebook["cells"] += [copy.deepcopy(cell) | {"source": "pass"} for _ in range(3)]


def _move(notebook: Notebook) -> None:
    notebook["cells"].sort(key=lambda cell: "padding" not in json.dumps(cell))


def _rename(notebook: Notebook) -> None:
    for cell in _cells(notebook, TEST):
        cell["metadata"]["nbgrader"]["grade_id"] = "causal_mask-values"


def _unmark(notebook: Notebook) -> None:
    for cell in _tests(notebook):
        del cell["metadata"]["nbgrader"]


def _mark(**flags: bool) -> Callable[[Notebook], None]:
    def forge(notebook: Notebook) -> None:
        for cell in _cells(notebook, TEST):
            cell["metadata"]["nbgrader"] |= flags

    return forge


def _raise_points(notebook: Notebook) -> None:
    for cell in _tests(notebook):
        cell["metadata"]["nbgrader"]["points"] = 99


def _schema(notebook: Notebook) -> None:
    for cell in _cells(notebook):
        cell["metadata"]["nbgrader"]["schema_version"] = 99


def _tag(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "raises-exception"]


def _same_ids(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["id"] = "same"


def _setup(notebook: Notebook) -> None:
    for cell in _cells(notebook, "imports"):
        cell["source"] += (
            "\nfor name in ('assert_close', 'assert_raises'):\n    globals()[name] = print"
        )


def _outputs(notebook: Notebook) -> None:
    for cell in _tests(notebook):
        cell["execution_count"] = 1
        cell["outputs"] = [
            {"output_type": "execute_result", "data": {"text/plain": "99"}, "metadata": {}},
            {"output_type": "stream", "name": "stdout", "text": "9" * 500_000},
        ]


def _other_homework(notebook: Notebook) -> None:
    for cell in _cells(notebook):
        cell["metadata"]["nbgrader"]["grade_id"] += "-of-another"


def _odd_sources(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        cell["source"] = [*cell["source"], 7, None, {"source": "x"}]
    notebook["cells"] += [None, 7, [], {}, {"cell_type": [], "metadata": []}]


def _bytes(data: bytes) -> Callable[[Notebook], bytes]:
    return lambda notebook: data


def _not_utf8(notebook: Notebook) -> bytes:
    return json.dumps(notebook).encode("utf-16")[:-1]


def _cut_off(notebook: Notebook) -> bytes:
    return json.dumps(notebook).encode()[:-40]


def _many_cells(notebook: Notebook) -> None:
    notebook["cells"] += [{"cell_type": "code", "source": "", "metadata": {}}] * 50_000


def _much_code(notebook: Notebook) -> None:
    next(_cells(notebook, CAUSAL))["source"] += "\n#" + _MEGABYTE


def _failing_cells(notebook: Notebook) -> None:
    failing = "def f(n):\n    f(n - 1) if n else 1 / 0  # <&>\ntry:\n    f(99)\nexcept ArithmeticError:\n    raise ValueError('<&>' * 999)"
    notebook["cells"] += [{"cell_type": "code", "source": failing, "metadata": {}}] * 200


def _forged(
    name: str, tries: str, forge: Callable[[Notebook], bytes | None], flagged: str
) -> Attack:
    return attack(name, tries, edits=_UNWRITTEN, forge=forge, flagged=flagged)


def _refused(name: str, tries: str, forge: Callable[[Notebook], bytes | None]) -> Attack:
    return attack(name, tries, forge=forge, invalid=True)


ATTACKS: tuple[Attack, ...] = (
    _forged("deleted", "all test cells deleted", _delete, "the cell padding_mask-values is missing"),
    _forged("edited", "a test cell edited: it is the number 99", _edit, "test cell padding_mask-values: its text was changed"),
    _forged("copied", "a test cell copied, the copies empty", _copy, "padding_mask-values occurs more than once"),
    _forged("moved", "cells in another order", _move, ""),
    _forged("renamed", "a test cell with another's name", _rename, "causal_mask-values occurs more than once"),
    _forged("unmarked", "test cells that are marked no more", _unmark, "cells have lost their metadata"),
    _forged("as-solution", "a test cell marked as a solution", _mark(solution=True, locked=False), "its metadata was changed: locked, solution"),
    _forged("as-task", "a test cell marked as a task for a person", _mark(task=True, grade=False), "its metadata was changed: grade, task"),
    _forged("points", "points raised to 99", _raise_points, "its metadata was changed: points"),
    _forged("schema", "schema_version 99", _schema, "its metadata was changed: schema_version"),
    _forged("tags", "tags that keep a runner from running or from failing", _tag, "its metadata was changed: tags"),
    _forged("same-ids", "all cells with one id", _same_ids, ""),
    _forged("setup", "checks replaced in the instructor's imports", _setup, "setup cell imports: its text was changed"),
    _forged("outputs", "outputs that show a passed check, and megabytes of them", _outputs, ""),
    _forged("failing-cells", "hundreds of cells that fail with many words", _failing_cells, ""),
    _forged("odd-cells", "cells and sources that are none", _odd_sources, ""),
    attack("another-homework", "another homework's notebook", edits=dict.fromkeys(EVERYTHING, BLANK), forge=_other_homework, flagged="none of its cells is of this homework"),
    _refused("not-utf8", "text in another encoding, cut in the middle of a letter", _not_utf8),
    _refused("cut-off", "half a file", _cut_off),
    _refused("nested", "lists in lists in lists", _bytes(b"[" * 1_000_000)),
    _refused("numbers", "a number of a million digits", _bytes(b'{"cells": ' + b"9" * 1_000_000 + b"}")),
    _refused("empty", "no bytes at all", _bytes(b"")),
    _refused("too-large", "21 MiB", _bytes(b" " * (21 << 20))),
    _refused("many-cells", "fifty thousand cells", _many_cells),
    _refused("much-code", "a megabyte of code", _much_code),
)  # fmt: skip
