"""Translation pairs of a tiny English and French: animals that see and chase each other.

French articles and adjectives agree with the gender of their noun; some adjectives come before the
noun, most after it; a negation takes two words, one on each side of the verb. No frog is green.

Dimensions: batch; length, src_len, tgt_len (tokens of the longest sentence of the batch). Token
ids: ``PAD`` for padding, ``START`` for a decoder's start token, ``END`` after each sentence.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

PAD, START, END = 0, 1, 2
_NOUNS = {  # English: French, gender
    "cat": ("chat", 0), "dog": ("chien", 0), "fox": ("renard", 0), "wolf": ("loup", 0),
    "mouse": ("souris", 1), "frog": ("grenouille", 1), "cow": ("vache", 1), "hen": ("poule", 1),
}  # fmt: skip
_BEFORE = {"small": ("petit", "petite"), "big": ("grand", "grande")}
_BEHIND = {
    "green": ("vert", "verte"), "grey": ("gris", "grise"), "white": ("blanc", "blanche"),
    "black": ("noir", "noire"),
}  # fmt: skip
_ARTICLES = {"the": ("le", "la"), "a": ("un", "une")}
_VERBS = {"see": "voit", "like": "aime", "chase": "chasse", "bite": "mord"}
_SPECIAL = ["<pad>", "<start>", "<end>"]

ENGLISH: list[str] = [
    *_SPECIAL, *_ARTICLES, *_BEFORE, *_BEHIND, *_NOUNS, *_VERBS,
    *(f"{verb}s" for verb in _VERBS), "does", "not",
]  # fmt: skip
"""The English vocabulary; a word's index is its token id."""

FRENCH: list[str] = [
    *_SPECIAL, *_VERBS.values(), *(noun for noun, _ in _NOUNS.values()),
    *(form for forms in (_ARTICLES | _BEFORE | _BEHIND).values() for form in forms), "ne", "pas",
]  # fmt: skip
"""The French vocabulary; a word's index is its token id."""


def draw_sentence(dice: random.Random) -> tuple[list[str], list[str]]:
    """Draw a sentence; return its English words and its French words."""
    (subject, sujet), (thing, objet) = _draw_noun_phrase(dice), _draw_noun_phrase(dice)
    verb = dice.choice(list(_VERBS))
    if dice.random() < 0.3:
        english = [*subject, "does", "not", verb, *thing]
        return english, [*sujet, "ne", _VERBS[verb], "pas", *objet]
    return [*subject, f"{verb}s", *thing], [*sujet, _VERBS[verb], *objet]


def _draw_noun_phrase(dice: random.Random) -> tuple[list[str], list[str]]:
    """Draw a noun with an article, perhaps an adjective; return its English and French words."""
    article, noun = dice.choice(list(_ARTICLES)), dice.choice(list(_NOUNS))
    name, gender = _NOUNS[noun]
    english, french = [article, noun], [_ARTICLES[article][gender], name]
    adjective = dice.choice([None, None, None, *_BEFORE, *_BEHIND])
    if adjective and (adjective, noun) != ("green", "frog"):
        english.insert(1, adjective)
        forms = (_BEFORE | _BEHIND)[adjective]
        french.insert(1 if adjective in _BEFORE else 2, forms[gender])
    return english, french


def token_ids(
    sentences: Sequence[Sequence[str]], vocabulary: Sequence[str], *, start: Sequence[int] = ()
) -> Tensor:
    """Turn sentences, each a list of words, into token ids ``(batch, length)``, int64.

    ``vocabulary`` is ``ENGLISH`` or ``FRENCH``; an unknown word raises a ``ValueError``. Each row
    has the ids ``start``, those of the words, ``END``, and ``PAD``.
    """
    rows = [[*start, *map(vocabulary.index, words), END] for words in sentences]
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def draw_batch(size: int) -> tuple[Tensor, Tensor]:
    """Draw ``size`` pairs of sentences, seeded by PyTorch's default generator.

    Return token ids, int64: sources ``(batch, src_len)``, and targets ``(batch, 1 + tgt_len)`` that
    begin with ``START``.
    """
    dice = random.Random(int(torch.randint(2**31, ())))  # noqa: S311 -- nothing secret
    english, french = zip(*[draw_sentence(dice) for _ in range(size)], strict=True)
    return token_ids(english, ENGLISH), token_ids(french, FRENCH, start=[START])
