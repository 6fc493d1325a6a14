"""Are matches and lengths those counted by hand? Parity with sacreBLEU is tested in test_bleu."""

import pytest

from course_lib.metrics.bleu_statistics import (
    closest_reference_length,
    count_matches,
    ngram_counts,
    sentence_statistics,
    sum_statistics,
)

CANDIDATE, *REFERENCES = map(
    str.split, ["the cat the cat on the mat", "the cat is on the mat", "there is a cat on the mat"]
)


def test_matches_of_the_worked_example():
    assert count_matches(CANDIDATE, REFERENCES, 7) == (0, 1)
    assert count_matches(CANDIDATE, REFERENCES, 8) == (0, 0)
    assert count_matches([], REFERENCES, 3) == (0, 0)


def test_clipping_takes_the_largest_count_among_the_references():
    candidate, references = list("aaaabbbd"), [["a", "b"], ["a", "a", "c"], ["b", "c"]]
    assert count_matches(candidate, references, 1) == (2 + 1, 8)
    assert count_matches(candidate, references, 1, clip=False) == (4 + 3, 8)


@pytest.mark.parametrize(
    ("length", "lengths", "closest"),
    [(7, [6, 7], 7), (7, [6, 8], 6), (7, [8, 6], 6), (7, [1, 10], 10), (0, [3], 3), (5, [5, 2], 5)],
)
def test_closest_reference_length(length, lengths, closest):
    assert closest_reference_length(length, lengths) == closest


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("n must be at least 1, got 0", lambda: ngram_counts(["a"], 0)),
        ("at least one reference", lambda: count_matches(["a"], [], 1)),
        ("at least one length", lambda: closest_reference_length(1, [])),
        ("max_order must be at least 1, got 0", lambda: sentence_statistics(["a"], [["a"]], 0)),
        ("of one max_order, got \\[\\]", lambda: sum_statistics([])),
        (
            "of one max_order, got \\[2, 3\\]",
            lambda: sum_statistics([sentence_statistics(["a"], [["a"]], n) for n in (3, 2)]),
        ),
    ],
)
def test_invalid_arguments_are_rejected(message, call):
    with pytest.raises(ValueError, match=message):
        call()
