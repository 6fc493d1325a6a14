"""The checks of the figures' data: what is right passes, what is wrong is said."""

import math

import pytest
from course_book.figures import json_checks as checks


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], r"^an example: expected an object with \['a', 'b'\], got list$"),
        ({"a": 1}, r"missing: \['b'\]$"),
        ({"a": 1, "b": 2, "c": 3}, r"surplus: \['c'\]$"),
        ({"a": 1, "c": 3}, r"missing: \['b'\]; surplus: \['c'\]$"),
    ],
)
def test_missing_and_surplus_fields_are_named(data, message):
    with pytest.raises(ValueError, match=message):
        checks.require_fields(data, ("a", "b"), "an example")


def test_the_data_as_a_whole_need_no_name():
    with pytest.raises(ValueError, match=r"^expected an object with \['a'\], missing: \['a'\]$"):
        checks.require_fields({}, ["a"])


def test_what_is_right_comes_back():
    assert checks.require_fields({"a": 1}, ["a"]) == {"a": 1}
    assert checks.require_list("x", [], "words", 0) == []
    assert checks.require_texts("x", ["a", "b"], 2, 2) == ("a", "b")
    assert checks.require_whole("x", 4, 4, 4) == 4
    assert checks.require_number("x", 0.5, 0, 0.5) == 0.5
    assert checks.require_numbers("x", [1, 2.5], above=0) == (1, 2.5)
    assert checks.require_matrix("x", [[1, 2], [3, 4]], 2) == ((1, 2), (3, 4))
    checks.require_ascending("x", (1, 2, 3))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: checks.require_list("x", "ab", "words"), "x must hold at least 1 words, got 'ab'"),
        (lambda: checks.require_list("x", [1], "words", 2, 3), r"x must hold 2 to 3 words"),
        (
            lambda: checks.require_list("x", [1] * 99, "words", 2, 2),
            r"x must hold 2 words, got \[1",
        ),
        (lambda: checks.require_texts("x", ["a", 1]), r"x must hold texts, got \['a', 1\]"),
        (lambda: checks.require_whole("x", 1.0, 1), "x must be a whole number from 1, got 1.0"),
        (lambda: checks.require_whole("x", True, 1), "x must be a whole number from 1, got True"),
        (lambda: checks.require_whole("x", 5, 1, 4), "x must be a whole number from 1 to 4, got 5"),
        (lambda: checks.require_number("x", "1"), "x must be a finite number, got '1'"),
        (lambda: checks.require_number("x", math.inf), "x must be a finite number, got inf"),
        (lambda: checks.require_number("x", False), "x must be a finite number, got False"),
        (lambda: checks.require_number("x", 2, 0, 1), "x must be a finite number from 0 to 1"),
        (lambda: checks.require_number("x", 0, above=0), "x must be a finite number above 0"),
        (lambda: checks.require_numbers("x", []), r"x must hold at least 1 numbers, got \[\]"),
        (lambda: checks.require_numbers("x", [1, math.nan]), "x must hold finite numbers, got"),
        (lambda: checks.require_numbers("x", [2], low=0, high=1), "finite numbers from 0 to 1"),
        (lambda: checks.require_ascending("x", (1, 1)), r"x must hold ascending numbers, got \[1"),
        (lambda: checks.require_matrix("x", [[1]], 2), "x must hold 2 rows"),
        (lambda: checks.require_matrix("x", [[1], [1, 2]], 2), "each row of x must hold 1 numbers"),
        (lambda: checks.require_matrix("x", [[1], ["2"]], 2), "each row of x must hold finite num"),
    ],
)
def test_what_is_wrong_is_said(check, message):
    with pytest.raises(ValueError, match=message):
        check()
