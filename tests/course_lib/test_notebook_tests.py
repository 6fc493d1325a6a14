"""What a student sees under a test cell."""

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.notebook_tests import tell_what_passes

SETUP = """
import torch
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import CheckFailure, assert_close, assert_shape
tell_what_passes()
tell_what_passes()  # somebody runs the cell twice
"""
WRONG = "# It doubles\nx = torch.ones(2)\nassert_close(x, 2 * x, hint='once more')"


@pytest.fixture(scope="module")
def outputs():
    """Run cells in a kernel; what each shows."""
    sources = {
        "setup": SETUP,
        "right": "# It is two\nx = 1\nassert_shape(torch.ones(2), (2,))",
        "own": "# My own words\nx = 3",
        "nameless": "assert_shape(torch.ones(2), (2,))",
        "wrong": WRONG,
        "plain": "# It is three\nassert 3 == 4, 'not so'",
    }
    cells = [nbformat.v4.new_code_cell(source) for source in sources.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    return {name: cell.outputs for name, cell in zip(sources, notebook.cells, strict=True)}


def test_a_test_that_passes_says_so_in_one_line(outputs):
    assert [output.text for output in outputs["right"]] == ["Passed: It is two\n"]


@pytest.mark.parametrize("cell", ["setup", "own", "nameless"])
def test_other_cells_say_nothing(outputs, cell):
    assert outputs[cell] == []


def test_a_failure_is_an_error_that_begins_with_what_is_wrong(outputs):
    (error,) = outputs["wrong"]
    assert (error.output_type, error.ename) == ("error", "CheckFailure")
    assert error.traceback == [
        "result has the right shape (2,), but 2 of 2 entries differ from what is expected",
        "first at [0]: got 1, expected 2",
        "Hint: once more",
        "(line 3 of this cell: assert_close(x, 2 * x, hint='once more'))",
    ]


def test_other_errors_keep_their_traceback(outputs):
    (error,) = outputs["plain"]
    assert error.ename == "AssertionError"
    assert any("not so" in line for line in error.traceback)


def test_without_a_notebook_nothing_happens():
    tell_what_passes()
