"""Outputs of student cells are shown, made harmless, to the person who grades by hand."""

import base64
import json

import nbformat
import pytest

from autograder.gradebook.graded_notebook import transplant, write_outcomes
from autograder.judging.outputs import check_shown
from autograder.judging.results import SubmissionResult
from tests.autograder.conftest import DOUBLE, notebook

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10" + bytes(9)).decode()
HUGE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\0\0\0\x01\0\0" + bytes(9)).decode()
SOLUTION = ("double", "def double(x):\n    print('called')\n    return 2 * x")


@pytest.mark.sandbox
def test_printed_displayed_and_plotted_outputs_are_kept(grade):
    result = grade(
        SOLUTION,
        "import sys\nprint('first', end=' ')\nprint('\\x1b[31mred', file=sys.stderr)\ndisplay(7)",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('plotted')",
        "display({'text/html': '<b>', 'text/plain': '<i>'}, raw=True)\nraise ValueError('no')",
        "print(plt.get_fignums())",
    )
    assert result.score == 5.0
    shown = [(output.cell, output.text, bool(output.png)) for output in result.outputs]
    assert shown == [
        ("extra cell 1", "first red\n7\n", False),
        ("extra cell 2", "plotted\n", False),
        ("extra cell 2", "", True),
        ("extra cell 3", "<i>\n", False),
        ("extra cell 4", "[]\n", False),
    ]
    assert SubmissionResult.from_json(json.loads(json.dumps(result.to_json()))) == result


@pytest.mark.sandbox
def test_huge_output_costs_no_points(grade):
    flood = "for number in range(200_000):\n    print('x' * 100)"
    plots = "import matplotlib.pyplot as plt\nfor _ in range(9):\n    plt.figure()"
    result = grade(SOLUTION, flood, plots, "import os\nos.write(1, b'below python')")
    assert result.score == 5.0
    kept = [len(output.text) for output in result.outputs if output.cell == "extra cell 1"]
    assert kept
    assert max(kept) < 5_000
    assert sum(bool(output.png) for output in result.outputs) == 4


@pytest.mark.sandbox
def test_value_of_last_line_is_shown_and_not_stored(grade):
    result = grade(
        SOLUTION,
        "1\nb'two'\n3 + 4",
        "5;",
        "None",
        "class Broken:\n    def __repr__(self):\n        raise ValueError\nBroken()",
        f"class Drawn:\n    def _repr_png_(self):\n        return {base64.b64decode(PNG)}\nDrawn()",
        "print([_, __, Out, get_ipython().last_execution_result.result])",
    )
    assert not result.cell_failures
    assert [(output.cell, output.text, bool(output.png)) for output in result.outputs] == [
        ("extra cell 1", "7\n", False),
        ("extra cell 5", "", True),
        ("extra cell 6", "['', '', {}, None]\n", False),
    ]


@pytest.mark.sandbox
def test_figure_that_cannot_be_drawn_does_not_affect_other_outputs(grade):
    result = grade(
        SOLUTION,
        "import matplotlib.pyplot as plt\nprint('before')\nplt.title('$\\frac{$')\nplt.figure();",
        "plt.figure(figsize=(300, 300))\nplt.plot([1, 2])\nprint('after')",
    )
    assert not result.cell_failures
    first, *shown = [(output.text, bool(output.png)) for output in result.outputs]
    assert first[0].startswith("before\nA figure could not be drawn: ValueError: ")
    assert shown == [("", True), ("after\n", False), ("", True)]


@pytest.mark.sandbox
def test_hostile_output_costs_no_points(grade):
    own = "space = get_ipython().ask_exit.__globals__\n"  # the shell's; and its outputs' from there
    own += "outputs = space['begin_cell'].__globals__\n"
    own += "told = [('png', '<script>')] * 99 + [object()]\n"
    own += "outputs['told'], outputs['take_shown'].__code__ = told, (lambda: told).__code__"
    result = grade(SOLUTION, own)
    assert result.score == 5.0
    assert not [output for output in result.outputs if output.png]


@pytest.mark.parametrize(
    "claimed",
    [
        None, 7, "text", [("html", "<b>")], [("png", "<script>")], [("png", PNG + '"onerror=')],
        [("png", HUGE)], [("text",)], [["text", "list"]], [("text", 7)], [("png", "R0lGODlh")],
    ],
)  # fmt: skip
def test_invalid_outputs_are_dropped(claimed):
    assert check_shown("cell", claimed, characters=99, room=1000) == []


def test_text_is_cleaned_and_outputs_are_limited():
    (output,) = check_shown("cell", [("text", "\x1b[2Ja\u202e")], characters=99, room=1000)
    assert output.text == "a\ufffd"
    assert (
        check_shown("cell", [("text", "a" * 99), ("png", PNG)], characters=99, room=100)[0].png
        == ""
    )
    assert len(check_shown("cell", [("text", "a")] * 99, characters=99, room=1000)) == 20


def test_outputs_are_in_the_cells_that_made_them():
    released = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("", metadata={"nbgrader": {"grade_id": "double"}})]
    )
    outputs = [
        *check_shown("double", [("text", "<script>")], characters=99, room=99),
        *check_shown("extra cell 2", [("png", PNG)], characters=99, room=999),
    ]
    made = transplant(released, notebook("a = 1", SOLUTION, "b = 2"), DOUBLE)
    result = SubmissionResult(student="x", homework="y", checks=(), outputs=tuple(outputs))
    write_outcomes(made, result, DOUBLE)
    assert [[dict(o) for o in cell.outputs] for cell in made.cells] == [
        [],
        [{"output_type": "stream", "name": "stdout", "text": "<script>"}],
        [{"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}}],
    ]
