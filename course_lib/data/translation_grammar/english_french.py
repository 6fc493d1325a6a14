"""English-French sentence pairs from a grammar: drawn, parsed, with their true alignment.

The grammar has what makes translation hard in the small: agreement across distance (*the writer of
the books is*), gender, adjectives that change sides, *ne ... pas* around the verb, questions,
relative clauses, pronouns, words that melt together (*du*, *l'*). It is our own, and correct French
of the schoolbook kind. Any number of pairs can be drawn from a seed; each can be parsed again.

Modifiers belong to the nearest noun; *it* stands for the object of the main clause, *he* and *she*
for its subject. So each English sentence has one translation.
"""

import random
from collections.abc import Sequence
from functools import cache

import torch

from course_lib.data.translation_grammar.lexicon import (
    AM,
    ASPIRATED,
    BE,
    CONTRACTIONS,
    VERBS,
    VOWELS,
)
from course_lib.data.translation_grammar.phrase_rules import FEATURES, RULES
from course_lib.data.translation_grammar.realization import realize
from course_lib.data.translation_grammar.sentence_pair import Agreement, SentencePair, join_words
from course_lib.data.translation_grammar.surface_form import Language
from course_lib.data.translation_grammar.synchronous_grammar import SynchronousGrammar

ENGLISH = Language(vowels="aeiou", exceptions=frozenset(), contractions={})
FRENCH = Language(vowels=VOWELS, exceptions=ASPIRATED, contractions=CONTRACTIONS)

_MOST_TRIES = 2_000  # draws in a row that are thrown away


@cache
def english_french_grammar() -> SynchronousGrammar:
    """Build the grammar, once.

    Returns:
        The grammar, from English to French.

    Source: chapter "Sequence to sequence".
    """
    return SynchronousGrammar(
        RULES, start="Sentence", features=FEATURES, src_language=ENGLISH, tgt_language=FRENCH
    )


def draw_pairs(
    count: int,
    *,
    generator: torch.Generator,
    max_depth: int = 2,
    min_depth: int = 0,
    min_length: int = 1,
    max_length: int | None = None,
    distinct: bool = True,
) -> list[SentencePair]:
    """Draw sentences with their translations.

    Args:
        count: How many.
        generator: Source of the random numbers, on the CPU.
        max_depth: How deep noun phrases may be nested in noun phrases: *the book of the boy* is 1.
        min_depth: How deep they must be.
        min_length: Fewest words of the English sentence, its full stop included.
        max_length: Most words of it; None sets no bound.
        distinct: Draw no sentence twice.

    Returns:
        The pairs. Short and flat ones are the likelier; see ``count_pairs`` for how many there are.

    Raises:
        ValueError: A bound is out of range, or sentences that keep to the bounds are too few or
            too rare to be found.

    Source: chapter "Sequence to sequence".
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if not 0 <= min_depth <= max_depth:
        raise ValueError(
            f"0 <= min_depth <= max_depth must hold, got min_depth={min_depth}, "
            f"max_depth={max_depth}"
        )
    if min_length < 1 or (max_length is not None and max_length < min_length):
        raise ValueError(
            f"1 <= min_length <= max_length must hold, got min_length={min_length}, "
            f"max_length={max_length}"
        )
    grammar = english_french_grammar()
    # Many single draws: Python's generator, seeded by torch's, makes them a hundred times faster.
    dice = random.Random(int(torch.randint(2**62, (1,), generator=generator)))  # noqa: S311
    pairs: list[SentencePair] = []
    seen: set[tuple[str, ...]] = set()
    tries = 0
    while len(pairs) < count:
        derivation = grammar.draw(dice, max_depth=max_depth)
        tries += 1
        if derivation.depth >= min_depth:
            pair = realize(derivation, ENGLISH, FRENCH)
            fits = min_length <= len(pair.src) <= (max_length or len(pair.src))
            if fits and not (distinct and pair.src in seen):
                pairs.append(pair)
                seen.add(pair.src)
                tries = 0
        if tries >= _MOST_TRIES:
            raise ValueError(
                f"only {len(pairs)} of {count} sentences found with min_depth={min_depth}, "
                f"max_depth={max_depth}, min_length={min_length}, max_length={max_length}, "
                f"distinct={distinct}: the last {_MOST_TRIES} draws gave none"
            )
    return pairs


def count_pairs(max_depth: int) -> int:
    """Count the different pairs.

    Args:
        max_depth: How deep noun phrases may be nested in noun phrases.

    Returns:
        The exact number.

    Raises:
        ValueError: ``max_depth`` is negative.
    """
    return english_french_grammar().count(max_depth)


class UngrammaticalError(ValueError):
    """A sentence is not of the grammar."""


def parse_pair(sentence: str | Sequence[str]) -> SentencePair:
    """Translate an English sentence of the grammar.

    >>> print(parse_pair("the writer of the books is not old ."))
    the writer of the books is not old.
    l'écrivain des livres n'est pas vieux.

    Args:
        sentence: Its words; a text is split at blanks.

    Returns:
        The sentence, its translation and what is known of both.

    Raises:
        UngrammaticalError: It is not of the grammar, because of a word, the order of words, or
            agreement.
    """
    words = tuple(sentence.split() if isinstance(sentence, str) else sentence)
    derivations = english_french_grammar().parse(words)
    if not derivations:
        raise UngrammaticalError(f"sentence must be of the grammar, got {join_words(words)!r}")
    assert len(derivations) == 1, "no sentence of the grammar has two readings"
    return realize(derivations[0], ENGLISH, FRENCH)


def is_grammatical(sentence: str | Sequence[str]) -> bool:
    """Say whether an English sentence is of the grammar.

    Args:
        sentence: Its words; a text is split at blanks.

    Returns:
        True if it is.
    """
    try:
        parse_pair(sentence)
    except UngrammaticalError:
        return False
    return True


def break_agreement(pair: SentencePair, agreement: Agreement) -> tuple[str, ...]:
    """Give the English verb the other number, and leave all else: half of a minimal pair.

    Args:
        pair: A sentence of the grammar.
        agreement: One of its ``src_agreements``.

    Returns:
        The words of the sentence that results, which is not of the grammar.

    Raises:
        ValueError: The agreement is not one of the sentence's.

    Source: Linzen, Dupoux and Goldberg (2016), section 2; chapter "Sequence to sequence".
    """
    if agreement not in pair.src_agreements:
        raise ValueError(f"agreement must be one of pair.src_agreements, got {agreement}")
    words = list(pair.src)
    words[agreement.word] = _other_number()[words[agreement.word]]
    return tuple(words)


@cache
def _other_number() -> dict[str, str]:
    forms = [verb.src for verb in (*VERBS, BE)] + [("does", "do")]
    other = dict(forms)
    other |= {plural: singular for singular, plural in forms}
    return other | {AM: BE.src[1]}
