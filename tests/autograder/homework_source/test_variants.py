"""Variants in a homework's source make answers; malformed ones are rejected with their place."""

import pytest

from autograder.homework_source.homework import Cell, CellKind, HomeworkError
from autograder.homework_source.variants import compose, is_named, join_hints, read_variants

SOLUTION = Cell(
    kind=CellKind.SOLUTION,
    grade_id="double",
    source="""\
def double(x):
    ### BEGIN SOLUTION
    y = 2 * x
    return y
    ### END SOLUTION""",
)
CHECKS = ["double-values", "double-shape"]


def read(source):
    cell = Cell(kind=CellKind.VARIANTS, grade_id="double-variants", source=source, where="hw.py:9")
    return read_variants(cell, SOLUTION, CHECKS)


def wrong(edit, lost='"values"', hint='"You ...; do ..."'):
    return read(f'wrong("thrice", {edit}, lost={lost}, hint={hint})')


def test_an_edit_changes_the_solution_without_its_markers():
    (variant,) = wrong('("2 * x", "3 * x")')
    assert variant.source == "def double(x):\n    y = 3 * x\n    return y"
    assert (variant.exercise, variant.lost) == ("double", ("double-values",))
    assert not variant.is_right


def test_a_style_can_be_edited_further_and_a_source_can_be_whole():
    style, thrice, whole = read(
        'sums = right("a sum", ("2 * x", "x + x"))\n'
        'sums.wrong("thrice", ("x + x", "x + x + x"), lost="values", hint="You ...")\n'
        'right("in one", "def double(x):\\n    return x * 2\\n")'
    )
    assert style.is_right
    assert "y = x + x + x" in thrice.source
    assert whole.source == "def double(x):\n    return x * 2"


def test_a_star_stands_for_every_check():
    assert wrong('"def double(x): pass"', '"*"')[0].lost == tuple(CHECKS)


@pytest.mark.parametrize(
    ("hints", "joined"),
    [
        (["You cut it; do not."], "You cut it; do not."),
        (["You cut it; do not.", "You fold it; do not."], "You cut it, or you fold it; do not."),
        (
            ["You cut it; do not.", "You fold it."],
            "One of these: You cut it; do not. Or: You fold it.",
        ),
        (
            ["You cut it.", "You fold it.", "You cut it."],
            "One of these: You cut it. Or: You fold it.",
        ),
    ],
)
def test_hints_with_one_remedy_are_joined(hints, joined):
    assert join_hints(hints) == joined
    assert all(is_named(hint, joined) for hint in hints)
    assert not is_named("You lose it; do not.", joined)


def test_two_mistakes_are_composed_where_both_fit():
    one, two, same, whole = read(
        'wrong("1", ("2 * x", "3 * x"), lost="values", hint="You 1.")\n'
        'wrong("2", ("return y", "return [y]"), lost="shape", hint="You 2.")\n'
        'wrong("3", ("2 * x", "4 * x"), lost="values", hint="You 3.")\n'
        'wrong("4", "def double(x): pass", lost="*", hint="You 4.")'
    )
    both = compose(one, two)
    assert both.source == "def double(x):\n    y = 3 * x\n    return [y]"
    assert both.lost == ("double-values", "double-shape")
    assert compose(one, same) is None
    assert compose(one, whole) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('right("a", ("y", "z"))', "'a': 'y' occurs 2 times, not once"),
        ('right("a", ("q", "z"))', "'a': 'q' occurs 0 times"),
        ('wrong("a", "x", lost="vlaues", hint="You")', "there is no check double-vlaues"),
        ('wrong("a", "x", lost="values", hint="It is 3")', "a hint speaks to the student"),
        ('right("a", "x")\nright("a", "y")', "'a' is declared twice"),
        ("write()", "NameError"),
        ("right(", "SyntaxError"),
    ],
)
def test_a_variant_that_cannot_be_is_rejected_with_its_place(source, words):
    with pytest.raises(HomeworkError, match=r"hw\.py:9: variants of double: ") as caught:
        read(source)
    assert words in str(caught.value)
