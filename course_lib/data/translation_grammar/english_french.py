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
    ASPIRATED,
    CONTRACTIONS,
    VOWELS,
)
from course_lib.data.translation_grammar.phrase_rules import FEATURES, RULES
from course_lib.data.translation_grammar.realization import realize
from course_lib.data.translation_grammar.sentence_pair import SentencePair, join_words
from course_lib.data.translation_grammar.surface_form import Language
from course_lib.data.translation_grammar.synchronous_grammar import SynchronousGrammar

ENGLISH = Language(vowels="aeiou", exceptions=frozenset(), contractions={})
FRENCH = Language(vowels=VOWELS, exceptions=ASPIRATED, contractions=CONTRACTIONS)

_MOST_TRIES = 2_000  # draws in a row that are thrown away


@cache
def english_french_grammar() -> SynchronousGrammar:
    """Build the grammar, from English to French, once."""
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
        count: Number of pairs.
        generator: Source of the random numbers, on the CPU.
        max_depth: How deep noun phrases may be nested in noun phrases: *the book of the boy* is 1.
        min_depth: How deep they must be.
        min_length: Fewest words of the English sentence, its full stop included.
        max_length: Most words of it; None sets no bound.
        distinct: Draw no sentence twice.

    Returns:
        The pairs. Short and flat ones are the likelier.

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
        The sentence with its translation, alignment and agreements.

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
