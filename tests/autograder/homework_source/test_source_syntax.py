"""Syntax errors in the judge's part of a homework's source are rejected when it is loaded."""

import textwrap

import pytest

from autograder.homework_source.homework import HomeworkError
from autograder.homework_source.source import load_homework

HIDDEN = """\
### BEGIN HIDDEN TESTS
assert double(3) == 6
### END HIDDEN TESTS
"""
GOOD = f"""\
# %% setup="imports"
import math

# %% solution="double"
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% test="double-values" points=1
# It doubles
assert double(2) == 4
{HIDDEN}"""


@pytest.fixture
def build(tmp_path):
    def with_source(old, new):
        assert GOOD.count(old) == 1
        (tmp_path / "solutions").mkdir()
        (tmp_path / "solutions" / "hw01-small.py").write_text(GOOD.replace(old, new))
        return load_homework("hw01", tmp_path)

    return with_source


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(2) == 4", "(2 == 4", "12: the test cell double-values is no Python: '(' was never"),
        ("(3) == 6", "(3) = 6", "14: the test cell double-values is no Python: "),
        ("### END HIDDEN", "return\n### END HIDDEN", "15: the test cell double-values is no"),
        ("assert double(3)", "%time double(3)", "14: the test cell double-values is no Python"),
        ("import math", "import math as", "2: the setup cell imports is no Python: "),
    ],
)
def test_code_that_is_no_python_is_refused_with_its_line(build, tmp_path, old, new, message):
    with pytest.raises(HomeworkError) as refused:
        build(old, new)
    assert str(refused.value).startswith(f"{tmp_path / 'solutions' / 'hw01-small.py'}:{message}")


def test_a_test_that_needs_its_hidden_part_is_refused(build):
    with pytest.raises(HomeworkError) as refused:
        build(HIDDEN, f"for x in (3, 4):\n{textwrap.indent(HIDDEN, '    ')}x = 1\n")
    assert str(refused.value).endswith(
        "py:17: the test cell double-values without its hidden part is no Python: "
        "expected an indented block after 'for' statement on line 13"
    )


def test_magics_of_a_setup_cell_are_no_fault(build):
    homework = build("import math", "# %matplotlib inline\nimport math\n!true")
    setup = next(cell for cell in homework.cells if cell.kind == "setup")
    assert setup.source.startswith("%matplotlib")
