"""The instructor's cells are parsed without the magics for a student's own kernel."""

import ast

import pytest

from autograder.homework_source.cell_text import without_magics


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", "None\nx = 1"),
        ("if x:\n    !ls\n    y = 2", "if x:\n    None\n    y = 2"),
        ("x = (17\n% 5)", "x = 17 % 5"),
        ('x = """\n%time\n"""', "x = '\\n%time\\n'"),
    ],
)
def test_a_line_that_is_a_magic_becomes_none(source, expected):
    assert ast.unparse(without_magics(source)) == expected


def test_a_syntax_error_keeps_its_line():
    with pytest.raises(SyntaxError) as refused:
        without_magics("%matplotlib inline\n\nx = = 1")
    assert refused.value.lineno == 3
