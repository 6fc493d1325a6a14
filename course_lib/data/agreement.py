"""Agreement: sentences of a small English grammar in which the head noun of each word is known.

In ``the old writer of the books near the door is`` the head of the verb is *writer*, though *door*
is nearer; so attention can be compared with the truth.

Dimensions: batch; length (tokens of the longest sentence of the batch).
"""

import random

import torch

from course_lib.data.toy_tasks import PAD_ID, AlignedBatch

DETERMINERS = ("the",)
ADJECTIVES = ("old", "new", "tall", "quiet")
SINGULAR_NOUNS = ("writer", "book", "boy", "apple", "door", "garden")
PLURAL_NOUNS = ("writers", "books", "boys", "apples", "doors", "gardens")
PREPOSITIONS = ("of", "near", "behind")
VERB = "is/are"
"""One token for both forms of the verb, because the form would reveal the number of its noun."""

WORDS = ("<pad>", *DETERMINERS, *ADJECTIVES, *SINGULAR_NOUNS, *PLURAL_NOUNS, *PREPOSITIONS, VERB)
"""The vocabulary: a word's index is its token id; that of ``<pad>`` is ``PAD_ID``."""

_ID = {word: i for i, word in enumerate(WORDS)}
_NOUNS = (*SINGULAR_NOUNS, *PLURAL_NOUNS)


def encode(sentence: str) -> torch.Tensor:
    """Turn words of ``WORDS``, separated by spaces, into token ids ``(length,)``, int64."""
    unknown = [word for word in sentence.split() if word not in _ID]
    if unknown:
        raise ValueError(f"sentence must be of words in WORDS, got {unknown[0]!r}")
    return torch.tensor([_ID[word] for word in sentence.split()])


def draw_agreement(
    batch_size: int, *, max_phrases: int, generator: torch.Generator
) -> AlignedBatch:
    """Draw sentences with the head noun of each word.

    A sentence is a noun phrase, up to ``max_phrases - 1`` times a preposition and a noun phrase,
    and the verb. A noun phrase is *the*, half the time an adjective, and a noun; no noun occurs
    twice. The head of a determiner or an adjective is the noun that follows, of a noun that noun
    itself, of a preposition the noun before it, of the verb the first noun.

    Args:
        batch_size: Number of sentences.
        max_phrases: Most noun phrases of a sentence; every number from 1 to it is equally likely.
        generator: Source of the random numbers, on the CPU.

    Returns:
        The batch: ``src`` has the words, ``tgt`` their heads, ``alignment`` the positions of the
        heads. A sentence has at most ``4 * max_phrases`` words.

    Source: chapter "Self-attention".
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if not 1 <= max_phrases <= len(_NOUNS):
        raise ValueError(f"max_phrases must be from 1 to {len(_NOUNS)}, got {max_phrases}")
    # Many single draws: Python's generator, seeded by torch's, makes them a hundred times faster.
    dice = random.Random(int(torch.randint(2**62, (1,), generator=generator)))  # noqa: S311
    drawn = [_draw_sentence(max_phrases, dice) for _ in range(batch_size)]
    lengths = torch.tensor([len(words) for words, _ in drawn])
    src = torch.full((batch_size, int(lengths.max())), PAD_ID)
    alignment = torch.full_like(src, -1)
    for row, (words, heads) in enumerate(drawn):
        src[row, : len(words)] = torch.tensor([_ID[word] for word in words])
        alignment[row, : len(heads)] = torch.tensor(heads)
    tgt = src.gather(1, alignment.clamp(min=0)).masked_fill(alignment < 0, PAD_ID)
    return AlignedBatch(src=src, tgt=tgt, alignment=alignment, lengths=lengths)


def _draw_sentence(max_phrases: int, dice: random.Random) -> tuple[list[str], list[int]]:
    """Return the words of a sentence and for each word the position of its head."""
    words: list[str] = []
    heads: list[int] = []
    for noun in dice.sample(_NOUNS, dice.randint(1, max_phrases)):
        if words:
            heads.append(len(words) - 1)  # a preposition: the noun just before it
            words.append(dice.choice(PREPOSITIONS))
        adjective = [dice.choice(ADJECTIVES)] if dice.random() < 0.5 else []
        phrase = [dice.choice(DETERMINERS), *adjective, noun]
        words += phrase
        heads += [len(words) - 1] * len(phrase)
    return [*words, VERB], [*heads, heads[0]]
