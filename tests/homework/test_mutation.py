"""The mutants that prove the homeworks' checks: each differs, each is Python, none occurs twice."""

import ast

import pytest

from tests.homework.mutants import Mutant, main, survives
from tests.homework.mutation import mutants, plain
from tests.homework.tables import load_homework

HOMEWORK = "hw03-self-attention"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a @ b & c", {"a @ b | c"}),
        ("a - 1", {"a + 1", "a - 2", "a - 0"}),
        ("f(a, b, c)", {"f(b, a, c)", "f(a, c, b)"}),
        ("x.transpose(a, b)", set()),
        ("f(k=a)", {"f()"}),
        ("not a", {"not not a"}),
        ("x[a:]", {"x[:]"}),
        ("f(True)", {"f(False)"}),
        ("0.5", {"1.0", "0.25"}),
        ("a.tril()", {"a.triu()"}),
        ("a if b else c", {"a if not b else c"}),
    ],
)
def test_an_expression_changes_in_one_place(source, expected):
    found = set(mutants(f"x = {source}")) - {"pass"}
    assert found == {f"x = {text}" for text in expected}


def test_statements_are_left_out_one_at_a_time():
    lines = [
        "def f(x: int=y):",
        '    """Say."""',
        "    g(x)",
        "    raise ValueError(f'{x + 1}', 3)",
    ]
    without_call, without_raise = [*lines[:2], lines[3]], lines[:3]
    assert set(mutants("\n".join(lines))) == {"\n".join(without_call), "\n".join(without_raise)}


def test_every_mutant_of_a_solution_is_python_and_another_one():
    solution = next(c.source for c in load_homework(HOMEWORK).cells if c.grade_id == "causal_mask")
    found = list(mutants(solution))
    assert len(found) == len(set(found)) > 10
    assert plain(solution) not in found
    for source in found:
        ast.parse(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def causal_mask(*args, **kwargs):\n    import os; os._exit(0)", False),
        ("def causal_mask(*args, **kwargs):\n    return bytearray(1 << 40)", False),
        ("from course_lib.layers.masks import causal_mask", True),
    ],
)
def test_a_mutant_can_do_no_harm(source, expected):
    mutant = Mutant(exercise="causal_mask", source=source, diff="")
    assert survives(mutant, load_homework(HOMEWORK)) is expected


def test_an_unknown_homework_is_refused(capsys):
    assert main(["hw99"]) == 2
    assert "hw99" in capsys.readouterr().err
