"""Batches of sentence pairs, each known by its number alone.

So a run that is taken up again at step n draws what it would have drawn.
"""

from collections.abc import Sequence

import torch

from course_lib.batching import Batch, token_batches
from course_lib.recipes.translation.subwords import END_ID, PAD_ID, START_ID

IdPair = tuple[list[int], list[int]]
"""Token ids of a source and of its translation, without start and end."""


class SentenceBatches:
    """A corpus in batches of similar length, shuffled anew in each epoch.

    Args:
        pairs: The corpus.
        max_tokens: Tokens of a batch, counted on the longer side, padding included.
        seed: Of the shuffling.
        device: Where batches are to lie.

    Attributes:
        per_epoch: Number of batches that hold every pair once.

    Raises:
        ValueError: There are no pairs, or one is longer than ``max_tokens``.
    """

    def __init__(
        self,
        pairs: Sequence[IdPair],
        *,
        max_tokens: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        if not pairs:
            raise ValueError("pairs must hold at least one pair, got none")
        self._pairs = pairs
        self._lengths = [max(len(src), len(tgt)) + 1 for src, tgt in pairs]  # + 1: the end
        self._max_tokens = max_tokens
        self._seed = seed
        self._device = device
        self._epoch = -1
        self._order: list[list[int]] = []
        # Which lengths go together does not depend on the shuffling, so all epochs are as long.
        self.per_epoch = len(token_batches(self._lengths, max_tokens=max_tokens))

    def draw(self, number: int) -> Batch:
        """Give a batch.

        Args:
            number: From 0; the first ``per_epoch`` are the first epoch, and so on.

        Returns:
            The batch.
        """
        epoch, place = divmod(number, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(self._seed * 10_007 + epoch)
            self._order = token_batches(
                self._lengths, max_tokens=self._max_tokens, generator=generator
            )
            self._epoch = epoch
        return collate([self._pairs[index] for index in self._order[place]]).to(self._device)


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
    lengths = [max(len(src), len(tgt)) + 1 for src, tgt in pairs]
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
    return Batch.collate(pairs, pad_id=PAD_ID, start_id=START_ID, end_id=END_ID)
