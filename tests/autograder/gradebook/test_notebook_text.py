"""A notebook's text is what nbformat writes, to the letter."""

import nbformat
import pytest

from autograder.gradebook.notebook_text import _remembered_text, notebook_text
from tests.homework.tables import load_homework, solved_notebook, tabled_homeworks

ODD = 'a "cells": [] \\ \n\n é\u2028\U0001f600 \u0000\t'


@pytest.mark.parametrize("homework_id", tabled_homeworks())
def test_homeworks_are_written_as_nbformat_writes_them(homework_id):
    load_homework(homework_id)
    solved = nbformat.reads(solved_notebook(homework_id), as_version=4)
    assert notebook_text(solved) == nbformat.writes(solved) + "\n"


def test_what_a_student_writes_at_length_is_not_remembered():
    """A process that grades for weeks would hold it, and all that came before."""
    before = _remembered_text.cache_info().currsize
    long = nbformat.v4.new_markdown_cell("a" * 20_000)
    notebook = nbformat.v4.new_notebook(cells=[long])
    assert notebook_text(notebook) == nbformat.writes(notebook) + "\n"
    assert _remembered_text.cache_info().currsize == before


def test_outputs_odd_texts_and_empty_notebooks_are_written_as_nbformat_writes_them():
    code = nbformat.v4.new_code_cell(ODD, metadata={"trusted": True, "z": [], "a": {}})
    code.outputs = [
        nbformat.v4.new_output("stream", text=ODD),
        nbformat.v4.new_output("display_data", {"text/plain": ODD, "image/png": "aa=="}),
        nbformat.v4.new_output("error", ename="E", evalue=ODD, traceback=[ODD]),
    ]
    cells = [nbformat.v4.new_markdown_cell(""), code, nbformat.v4.new_raw_cell(ODD)]
    for some in (cells, []):
        notebook = nbformat.v4.new_notebook(cells=some, metadata={"cells": [], "signature": "s"})
        text = nbformat.writes(notebook) + "\n"
        assert notebook_text(notebook) == text
        assert notebook_text(notebook) == text  # from memory
