"""BLEU score: how many of a translation's n-grams are in its references, from 0 to 100.

In three steps: sentences are split into tokens; tokens are counted into ``BLEUStatistics``, which
add up over a corpus; the sum gives the ``BLEUScore``. The scores are those of sacreBLEU.

A candidate is the output of a system; its references are translations by people. Both
are either strings, which ``tokenize`` splits, or sequences of tokens. Lengths are in tokens.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from course_lib.metrics.bleu_statistics import (
    BLEUStatistics,
    sentence_statistics,
    sum_statistics,
)
from course_lib.metrics.tokenizer_13a import tokenize_13a

Smoothing: TypeAlias = Literal["none", "floor", "add-k", "exp"]
"""What to do about precisions of zero; ``bleu.smoothed_precisions`` says what each means."""


@dataclass(frozen=True, kw_only=True)
class BLEUScore:
    """A BLEU score and its parts.

    >>> score = corpus_bleu(["The cat sat on the mat."], [["The cat sat on a mat."]])
    >>> round(score.score, 2), score.brevity_penalty
    (48.89, 1.0)

    Attributes:
        score: BLEU, 0 to 100.
        precisions: For each order n = 1, 2, ...: the precision p_n that entered the score, 0 to 1,
            after smoothing.
        brevity_penalty: The factor for short candidates, 0 to 1.
        statistics: The counts, before smoothing.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    statistics: BLEUStatistics

    def __str__(self) -> str:
        """Show the score as sacreBLEU does: precisions in per cent, then the lengths."""
        counted = self.statistics
        reference_length = counted.reference_length
        ratio = counted.candidate_length / reference_length if reference_length else 0.0
        precisions = "/".join(f"{100 * precision:.1f}" for precision in self.precisions)
        return (
            f"BLEU = {self.score:.2f} {precisions} (BP = {self.brevity_penalty:.3f} "
            f"ratio = {ratio:.3f} hyp_len = {counted.candidate_length} "
            f"ref_len = {reference_length})"
        )


Sentence: TypeAlias = str | Sequence[str]


def brevity_penalty(candidate_length: int, reference_length: int) -> float:
    """Compute BLEU's factor for short candidates.

    Precision alone rewards a candidate that has only a few certain words.

    Args:
        candidate_length: c, tokens of the candidate, or of all candidates of a corpus.
        reference_length: r, tokens of the closest references.

    Returns:
        1 if c >= r, otherwise exp(1 - r / c), which is 0 for an empty candidate.

    Raises:
        ValueError: A length is negative.

    Source: Papineni et al. (2002), section 2.2.2; chapter "BLEU".
    """
    if candidate_length < 0 or reference_length < 0:
        raise ValueError(
            f"lengths must not be negative, got candidate_length={candidate_length} "
            f"and reference_length={reference_length}"
        )
    if candidate_length >= reference_length:
        return 1.0
    if candidate_length == 0:
        return 0.0
    return math.exp(1 - reference_length / candidate_length)


def smoothed_precisions(
    statistics: BLEUStatistics, smoothing: Smoothing = "exp", smoothing_value: float | None = None
) -> tuple[float, ...]:
    """Compute the precisions, lifting those that are zero: one zero makes the whole score zero.

    Args:
        statistics: The counts.
        smoothing: ``none``: p_n = matches / total. ``floor``: where nothing matches, as if
            ``smoothing_value`` n-grams had. ``add-k``: ``smoothing_value`` more matches and more
            n-grams, for n > 1. ``exp``: where nothing matches, as if 1/2 an n-gram had, 1/4 at the
            next such order, then 1/8, ...
        smoothing_value: For ``floor`` 0.1 and for ``add-k`` 1, if None.

    Returns:
        p_1, p_2, ..., 0 to 1, up to the last order in which the candidate has n-grams (with those
        that ``add-k`` adds). All are 0 if nothing matches in any order.

    Raises:
        ValueError: ``smoothing`` is unknown, or ``smoothing_value`` is negative.

    Source: Chen and Cherry (2014), methods 1 to 3; chapter "BLEU".
    """
    default_values = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}
    if smoothing not in default_values:
        raise ValueError(f"smoothing must be one of {list(default_values)}, got {smoothing!r}")
    value = default_values[smoothing] if smoothing_value is None else smoothing_value
    if not value >= 0:
        raise ValueError(f"smoothing_value must not be negative, got {smoothing_value}")

    precisions: list[float] = []
    share = 1.0  # of an n-gram, for "exp"
    for n, counts in enumerate(zip(statistics.matches, statistics.totals, strict=True), start=1):
        matches, total = map(float, counts)
        if smoothing == "add-k" and n > 1:
            matches, total = matches + value, total + value
        if total == 0:
            break
        if matches == 0 and smoothing == "floor":
            matches = value
        if matches == 0 and smoothing == "exp":
            share /= 2
            matches = share
        precisions.append(matches / total)
    if not any(statistics.matches):  # smoothing helps a score, but makes none out of nothing
        return (0.0,) * len(precisions)
    return tuple(precisions)


def score_statistics(
    statistics: BLEUStatistics,
    *,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
    effective_order: bool = False,
) -> BLEUScore:
    """Compute BLEU from counts: the brevity penalty times the geometric mean of the precisions.

    Args:
        statistics: The counts of a sentence or of a corpus.
        smoothing: What to do about precisions of zero; see ``smoothed_precisions``.
        smoothing_value: See ``smoothed_precisions``.
        effective_order: Average only over the orders in which the candidate has n-grams. Otherwise
            a sentence of three tokens scores 0, as it has no 4-grams.

    Returns:
        The score, 0 to 100, and its parts. It is 0 where there is no order to average over.

    Raises:
        ValueError: ``smoothing`` is unknown, or ``smoothing_value`` is negative.

    Source: Papineni et al. (2002), section 2.3; chapter "BLEU".
    """
    averaged = smoothed_precisions(statistics, smoothing, smoothing_value)
    precisions = (*averaged, *[0.0] * (len(statistics.totals) - len(averaged)))
    if not effective_order:
        averaged = precisions
    penalty = brevity_penalty(statistics.candidate_length, statistics.reference_length)
    score = 0.0
    if averaged and min(averaged) > 0:  # log(0) is minus infinity, and exp makes that 0
        score = 100 * penalty * math.exp(sum(map(math.log, averaged)) / len(averaged))
    return BLEUScore(
        score=score, precisions=precisions, brevity_penalty=penalty, statistics=statistics
    )


def sentence_bleu(
    candidate: Sentence,
    references: Sequence[Sentence],
    *,
    max_order: int = 4,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
) -> BLEUScore:
    """Compute the BLEU of one sentence, a string or tokens like its references.

    A single sentence often has no 4-gram in common with its references, so this score says little
    without smoothing, and not much with it: BLEU was made for corpora. The options are those of
    ``corpus_bleu``, with ``effective_order``.

    >>> print(sentence_bleu("The cat sat on the mat.", ["The cat sits on the mat."]))
    BLEU = 48.89 85.7/66.7/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)

    Source: Papineni et al. (2002), section 2; chapter "BLEU".
    """
    return score_statistics(
        _count(candidate, references, max_order, tokenize_13a),
        smoothing=smoothing,
        smoothing_value=smoothing_value,
        effective_order=True,
    )


def corpus_bleu(
    candidates: Sequence[Sentence],
    references: Sequence[Sequence[Sentence]],
    *,
    max_order: int = 4,
    smoothing: Smoothing = "exp",
    smoothing_value: float | None = None,
    effective_order: bool = False,
    tokenize: Callable[[str], Sequence[str]] = tokenize_13a,
) -> BLEUScore:
    """Compute the BLEU of a corpus: counts are added up first, and scored once.

    It is no mean of sentence scores. Long sentences have more n-grams and so more weight, and a
    sentence that is too short can be made up for by another that is too long.

    Args:
        candidates: One for each source sentence.
        references: For each candidate the list of its references; their number may vary.
        max_order: N, the longest n-grams to count (tokens).
        smoothing: What to do about precisions of zero; see ``smoothed_precisions``.
        smoothing_value: See ``smoothed_precisions``.
        effective_order: Average only over the orders in which the candidates have n-grams.
        tokenize: Splits a string into tokens; tokens are taken as they are.

    Returns:
        The score, 0 to 100, and its parts.

    Raises:
        TypeError: ``candidates`` is a string, a candidate's references are one sentence in place
            of a list of them, or strings and tokens are mixed.
        ValueError: There are no candidates, a candidate has no reference, there are more or fewer
            lists of references than candidates, or an option is out of range.

    Source: Papineni et al. (2002), sections 2.1.1 and 2.3; chapter "BLEU".
    """
    if isinstance(candidates, str):
        raise TypeError(
            f"candidates must be a sequence of sentences, got the string {candidates!r}"
        )
    if not candidates:
        raise ValueError("candidates must hold at least one sentence, got none")
    if len(candidates) != len(references):
        raise ValueError(
            "references must hold one list for each candidate, "
            f"got {len(references)} for {len(candidates)} candidates"
        )
    counted = [
        _count(candidate, its_references, max_order, tokenize)
        for candidate, its_references in zip(candidates, references, strict=True)
    ]
    return score_statistics(
        sum_statistics(counted),
        smoothing=smoothing,
        smoothing_value=smoothing_value,
        effective_order=effective_order,
    )


def _count(
    candidate: Sentence,
    references: Sequence[Sentence],
    max_order: int,
    tokenize: Callable[[str], Sequence[str]],
) -> BLEUStatistics:
    """Tokenise a candidate and references that are strings, and count their n-grams."""
    if isinstance(references, str):
        raise TypeError(f"references must be a list of sentences, got the string {references!r}")
    for reference in references:
        if isinstance(reference, str) != isinstance(candidate, str):
            raise TypeError(
                "candidate and references must both be strings or both be tokens, "
                f"got {candidate!r} and {reference!r}"
            )
    if isinstance(candidate, str):
        candidate = tokenize(candidate)
        references = [tokenize(str(reference)) for reference in references]
    return sentence_statistics(candidate, references, max_order)
