"""English-French sentence pairs, drawn from a grammar or parsed, with their true alignment.

The grammar covers agreement across distance (*the writer of the books is*), gender, the position of
adjectives, *ne ... pas* around the verb, questions, relative clauses, pronouns, and contractions
(*du*, *l'*).

Modifiers belong to the nearest noun; *it* stands for the object of the main clause, *he* and *she*
for its subject. So each English sentence has exactly one translation.
"""

import random
from collections.abc import Sequence
from functools import cache

import torch

from course_lib.data.translation_grammar.lexicon import ASPIRATED, CONTRACTIONS, VOWELS
from course_lib.data.translation_grammar.phrase_rules import FEATURES, RULES
from course_lib.data.translation_grammar.realization import realize
from course_lib.data.translation_grammar.sentence_pair import SentencePair, join_words
from course_lib.data.translation_grammar.surface_form import Language
from course_lib.data.translation_grammar.synchronous_grammar import SynchronousGrammar

ENGLISH = Language(vowels="aeiou", exceptions=frozenset(), contractions={})
FRENCH = Language(vowels=VOWELS, exceptions=ASPIRATED, contractions=CONTRACTIONS)

_MAX_REJECTED = 2_000  # sentences in a row


@cache
def english_french_grammar() -> SynchronousGrammar:
    """Return the grammar from English to French, built at the first call."""
    return SynchronousGrammar(RULES, start="Sentence", features=FEATURES, src_language=ENGLISH)


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
        max_depth: Maximum nesting of noun phrases in noun phrases: *the book of the boy* has 1.
        min_depth: Minimum nesting.
        min_length: Minimum length of the English sentence (words, full stop included).
        max_length: Its maximum length, or None.
        distinct: Draw no sentence twice.

    Returns:
        The pairs. Short sentences with little nesting are more likely.

    Raises:
        ValueError: A bound is out of range, or too few sentences within the bounds were found.

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
        src = grammar.write_source(derivation)
        fits = min_length <= len(src) <= (max_length or len(src)) and derivation.depth >= min_depth
        if fits and not (distinct and src in seen):
            pairs.append(realize(derivation, ENGLISH, FRENCH))
            seen.add(src)
            tries = 0
        if tries >= _MAX_REJECTED:
            raise ValueError(
                f"only {len(pairs)} of {count} sentences found with min_depth={min_depth}, "
                f"max_depth={max_depth}, min_length={min_length}, max_length={max_length}, "
                f"distinct={distinct}: the last {_MAX_REJECTED} draws gave none"
            )
    return pairs


class UngrammaticalError(ValueError):
    """A sentence is not in the language of the grammar."""


def parse_pair(sentence: str | Sequence[str]) -> SentencePair:
    """Translate an English sentence, given as words or as a text with spaces between words.

    A sentence that the grammar does not derive raises an ``UngrammaticalError``.

    >>> print(parse_pair("the writer of the books is not old ."))
    the writer of the books is not old.
    l'écrivain des livres n'est pas vieux.
    """
    words = tuple(sentence.split() if isinstance(sentence, str) else sentence)
    derivations = english_french_grammar().parse(words)
    if not derivations:
        raise UngrammaticalError(f"sentence must be of the grammar, got {join_words(words)!r}")
    assert len(derivations) == 1, "no sentence of the grammar has two readings"
    return realize(derivations[0], ENGLISH, FRENCH)
