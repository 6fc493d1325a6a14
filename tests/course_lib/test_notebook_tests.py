"""The output under a test cell."""

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.notebook_tests import report_tests

SETUP = """
import torch
from course_lib.notebook_tests import report_tests
from course_lib.testing import CheckFailure, assert_close, assert_shape
report_tests()
report_tests()  # somebody runs the cell twice
"""
WRONG = "# It doubles\nx = torch.ones(2)\nassert_close(x, 2 * x, hint='once more')"


@pytest.fixture(scope="module")
def outputs():
    """Run the test's cells in one kernel; return each cell's list of outputs, by a name."""
    sources = {
        "setup": SETUP,
        "right": "# It is two\nx = 1\nassert_shape(torch.ones(2), (2,))",
        "own": "# My own words\nx = 3",
        "nameless": "assert_shape(torch.ones(2), (2,))",
        "wrong": WRONG,
        "plain": "# It is three\nassert 3 == 4, 'not so'",
        "again": WRONG.replace("once more", "and again"),
        "stub": "class Layer:\n    def forward(self):\n        raise NotImplementedError('here')",
        "unwritten": "# It goes forward\nassert Layer().forward()",
        "mended": "# It doubles\nassert_shape(torch.ones(2), (2,))",
        "after": "# It is four\nassert_shape(torch.ones(3), (2,))",
        "of torch": "# It multiplies\nassert torch.zeros(2, 3) @ torch.zeros(2, 3)",
        "of a dtype": "# It is a share\nassert torch.arange(3).softmax(0)",
        "of a library": "import torch\ntorch.nn.Module()(1)",
    }
    cells = [nbformat.v4.new_code_cell(source) for source in sources.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(  # printed text may come in pieces on a busy machine
        notebook, kernel_name="python3", allow_errors=True, coalesce_streams=True
    )
    client.execute()
    return {name: cell.outputs for name, cell in zip(sources, notebook.cells, strict=True)}


def test_a_test_that_passes_says_so_in_one_line(outputs):
    assert [output.text for output in outputs["right"]] == ["Passed: It is two\n"]


def test_a_test_that_fails_names_the_first_one_before_it_that_fails_too(outputs):
    line = "“{}” fails too: if this test depends on it, begin there.\n"
    assert outputs["plain"][1].text == line.format("It doubles")
    assert outputs["after"][1].text == line.format("It is three")  # the other one passes now


def test_the_first_test_that_fails_names_no_other_and_not_itself(outputs):
    assert [output.output_type for output in outputs["again"]] == ["error"]


def test_what_is_not_written_yet_is_told_in_one_line(outputs):
    (error,) = outputs["unwritten"]
    assert error.ename == "NotImplementedError"
    assert error.traceback == ["Layer is not written yet."]


def test_what_a_library_has_not_implemented_keeps_its_traceback(outputs):
    (error,) = outputs["of a library"]
    assert len(error.traceback) > 3


@pytest.mark.parametrize("cell", ["setup", "own", "nameless", "stub"])
def test_other_cells_say_nothing(outputs, cell):
    assert outputs[cell] == []


def test_a_failure_is_an_error_that_begins_with_what_is_wrong(outputs):
    (error,) = outputs["wrong"]
    assert (error.output_type, error.ename) == ("error", "CheckFailure")
    assert error.traceback == [
        "result: 2 of 2 entries differ from the expected values",
        "first at [0]: got 1, expected 2",
        "Hint: once more",
        "(line 3 of this cell: assert_close(x, 2 * x, hint='once more'))",
    ]


def test_other_errors_keep_their_traceback(outputs):
    error, _ = outputs["plain"]
    assert error.ename == "AssertionError"
    assert any("not so" in line for line in error.traceback)


def test_a_usual_error_of_pytorch_has_a_hint_beneath_it(outputs):
    error, told, *_ = outputs["of torch"]  # later output may come by itself
    assert error.ename == "RuntimeError"
    assert told.text.startswith("Hint: (..., n, k) @ (..., k, m) needs the same k in both factors")


def test_what_pytorch_has_no_code_for_is_no_empty_exercise(outputs):
    error, told, *_ = outputs["of a dtype"]
    assert error.ename == "NotImplementedError"
    assert "not written yet" not in "".join(error.traceback)
    assert told.text.startswith("Hint: this operation needs floating-point numbers")


def test_without_a_notebook_nothing_happens():
    report_tests()
