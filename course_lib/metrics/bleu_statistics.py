"""BLEU statistics: counts of n-grams, their matches, lengths. All are in tokens.

A candidate is the output of a system; its references are translations by people.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BLEUStatistics:
    """The counts that BLEU is computed from, of a sentence or, summed, of a corpus.

    >>> sentence_statistics("the cat sat".split(), ["the cat is here".split()], max_order=2)
    BLEUStatistics(matches=(2, 1), totals=(3, 2), candidate_length=3, reference_length=4)

    Attributes:
        matches: For each order n = 1, 2, ...: how many of the candidate's n-grams are in the
            references, clipped.
        totals: For each order: how many n-grams the candidate has.
        candidate_length: Tokens of the candidate.
        reference_length: Tokens of the reference whose length is closest to the candidate's.
    """

    matches: tuple[int, ...]
    totals: tuple[int, ...]
    candidate_length: int
    reference_length: int


def ngram_counts(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of a sentence: every run of n tokens.

    >>> ngram_counts("the cat the cat".split(), 2)
    Counter({('the', 'cat'): 2, ('cat', 'the'): 1})

    Args:
        tokens: The sentence.
        n: The order, at least 1.

    Returns:
        How often each n-gram occurs; empty if the sentence has fewer than n tokens.

    Raises:
        ValueError: ``n`` is smaller than 1.

    Source: Papineni et al. (2002), section 2.1; chapter "BLEU".
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def count_matches(
    candidate: Sequence[str],
    references: Sequence[Sequence[str]],
    n: int,
    *,
    clip: bool = True,
) -> tuple[int, int]:
    """Count how many of a candidate's n-grams are in its references.

    Clipped, an n-gram counts at most as often as it is in the one reference that has it most:
    otherwise "the the the" would be a perfect translation of everything.

    >>> candidate = "the cat the cat on the mat".split()
    >>> references = ["the cat is on the mat".split(), "there is a cat on the mat".split()]
    >>> count_matches(candidate, references, 2, clip=False)
    (5, 6)
    >>> count_matches(candidate, references, 2)
    (4, 6)

    Args:
        candidate: Tokens.
        references: The tokens of each reference.
        n: The order of the n-grams, at least 1.
        clip: Whether to clip.

    Returns:
        The number of matching n-grams, and the number of all n-grams, of the candidate.

    Raises:
        ValueError: ``n`` is smaller than 1, or there is no reference.

    Source: Papineni et al. (2002), section 2.1; chapter "BLEU".
    """
    if not references:
        raise ValueError("references must hold at least one reference, got none")
    in_references = [ngram_counts(reference, n) for reference in references]
    matches = 0
    for ngram, count in ngram_counts(candidate, n).items():
        largest = max(counts.get(ngram, 0) for counts in in_references)
        if largest > 0:
            matches += min(count, largest) if clip else count
    return matches, max(len(candidate) - n + 1, 0)


def closest_reference_length(candidate_length: int, reference_lengths: Sequence[int]) -> int:
    """Choose the reference length with which the candidate's length is compared.

    Args:
        candidate_length: Tokens.
        reference_lengths: Tokens of each reference.

    Returns:
        The length closest to the candidate's; of two equally close ones the shorter.

    Raises:
        ValueError: There is no reference.

    Source: Papineni et al. (2002), section 2.2.2; chapter "BLEU".
    """
    if not reference_lengths:
        raise ValueError("reference_lengths must hold at least one length, got none")
    return min(reference_lengths, key=lambda length: (abs(length - candidate_length), length))


def sentence_statistics(
    candidate: Sequence[str], references: Sequence[Sequence[str]], max_order: int = 4
) -> BLEUStatistics:
    """Compute the counts of one candidate from which its BLEU follows.

    Args:
        candidate: Tokens.
        references: The tokens of each reference.
        max_order: N, the longest n-grams to count (tokens).

    Returns:
        The counts, for orders 1 to ``max_order``.

    Raises:
        ValueError: ``max_order`` is smaller than 1, or there is no reference.

    Source: Papineni et al. (2002), section 2; chapter "BLEU".
    """
    if max_order < 1:
        raise ValueError(f"max_order must be at least 1, got {max_order}")
    counted = [count_matches(candidate, references, n) for n in range(1, max_order + 1)]
    return BLEUStatistics(
        matches=tuple(matches for matches, _ in counted),
        totals=tuple(total for _, total in counted),
        candidate_length=len(candidate),
        reference_length=closest_reference_length(
            len(candidate), [len(reference) for reference in references]
        ),
    )


def sum_statistics(statistics: Sequence[BLEUStatistics]) -> BLEUStatistics:
    """Add up the counts of the sentences of a corpus.

    Args:
        statistics: Those of each sentence, all counted up to the same order.

    Returns:
        Those of the corpus.

    Raises:
        ValueError: There are none, or they differ in their orders.

    Source: Papineni et al. (2002), section 2.1.1; chapter "BLEU".
    """
    orders = {len(part.totals) for part in statistics}
    if len(orders) != 1:
        raise ValueError(f"statistics must be of one max_order, got {sorted(orders)}")
    return BLEUStatistics(
        matches=tuple(map(sum, zip(*(part.matches for part in statistics), strict=True))),
        totals=tuple(map(sum, zip(*(part.totals for part in statistics), strict=True))),
        candidate_length=sum(part.candidate_length for part in statistics),
        reference_length=sum(part.reference_length for part in statistics),
    )
