"""Sentence pairs put together in batches."""

from collections.abc import Sequence

from course_lib.data.batching import Batch, token_batches
from course_lib.recipes.translation.subwords import BOS_ID, EOS_ID, PAD_ID

IdPair = tuple[list[int], list[int]]
"""Token ids of a source and of its translation, without start and end."""


def length_of(pair: IdPair) -> int:
    """Count the tokens that a pair takes in a batch.

    Args:
        pair: Source and translation.

    Returns:
        Those of the longer side, with the end behind them.
    """
    src, tgt = pair
    return max(len(src), len(tgt)) + 1


def in_order(pairs: Sequence[IdPair], *, max_tokens: int) -> list[Batch]:
    """Divide a corpus into batches that are always the same, for validation.

    Args:
        pairs: The corpus; at least one pair.
        max_tokens: Tokens of a batch, counted on the longer side, padding included.

    Returns:
        The batches, on the CPU.

    Raises:
        ValueError: A pair is longer than ``max_tokens``.
    """
    lengths = [length_of(pair) for pair in pairs]
    return [
        collate([pairs[index] for index in indices])
        for indices in token_batches(lengths, max_tokens=max_tokens)
    ]


def collate(pairs: Sequence[IdPair]) -> Batch:
    """Put pairs together, with this recipe's tokens for padding, start and end.

    Args:
        pairs: At least one.

    Returns:
        The batch.
    """
    return Batch.collate(pairs, pad_id=PAD_ID, bos_id=BOS_ID, eos_id=EOS_ID)
