"""Are n-grams, matches and lengths counted as by hand, and do the counts add up?"""

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given
from sacrebleu.metrics.helpers import extract_word_ngrams

from course_lib.metrics.bleu_statistics import (
    BLEUStatistics,
    closest_reference_length,
    count_matches,
    ngram_counts,
    sentence_statistics,
    sum_statistics,
)

CANDIDATE, *REFERENCES = map(
    str.split, ["the cat the cat on the mat", "the cat is on the mat", "there is a cat on the mat"]
)
sentences = st.lists(st.sampled_from("abc"), max_size=9)


@given(sentences, st.integers(1, 5))
def test_ngrams_are_those_of_sacrebleu(tokens, n):
    theirs = extract_word_ngrams(tokens, n)
    assert Counter({" ".join(k): v for k, v in ngram_counts(tokens, n).items()}) == theirs


def test_matches_of_the_worked_example():
    assert count_matches(CANDIDATE, REFERENCES, 7) == (0, 1)
    assert count_matches(CANDIDATE, REFERENCES, 8) == (0, 0)
    assert count_matches([], REFERENCES, 3) == (0, 0)


def test_clipping_takes_the_largest_count_among_the_references():
    references = [["a", "b"], ["a", "a", "c"], ["b", "c"]]
    assert count_matches(["a"] * 4 + ["b"] * 3, references, 1) == (2 + 1, 7)
    assert count_matches(["a"] * 4 + ["b"] * 3, references, 1, clip=False) == (7, 7)


@pytest.mark.parametrize(
    ("length", "lengths", "closest"),
    [(7, [6, 7], 7), (7, [6, 8], 6), (7, [8, 6], 6), (7, [1, 10], 10), (0, [3], 3), (5, [5, 2], 5)],
)
def test_closest_reference_length(length, lengths, closest):
    assert closest_reference_length(length, lengths) == closest


def test_statistics_of_a_sentence_and_of_a_corpus():
    first = sentence_statistics(CANDIDATE, REFERENCES)
    assert first == BLEUStatistics(
        matches=(5, 4, 2, 1), totals=(7, 6, 5, 4), candidate_length=7, reference_length=7
    )
    second = sentence_statistics(["the", "mat"], [["the", "cat", "mat"]])
    assert sum_statistics([first, second]) == BLEUStatistics(
        matches=(7, 4, 2, 1), totals=(9, 7, 5, 4), candidate_length=9, reference_length=10
    )


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
