"""A corpus in batches, shuffled again in each epoch; each batch is known by its number alone.

So a run that is taken up again at step n draws what it would have drawn.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch

from course_lib.data.batching import token_batches

Item = TypeVar("Item")


class EpochBatches(Generic[Item]):
    """A corpus in batches of similar length, shuffled again in each epoch.

    Args:
        items: The corpus.
        length_of: Gives an item's tokens.
        max_tokens: Tokens of a batch, padding included.
        seed: Of the shuffling.

    Attributes:
        per_epoch: Number of batches that hold every item once.

    Raises:
        ValueError: There are no items, or one is longer than ``max_tokens``.
    """

    def __init__(
        self,
        items: Sequence[Item],
        length_of: Callable[[Item], int],
        *,
        max_tokens: int,
        seed: int,
    ) -> None:
        if not items:
            raise ValueError("items must hold at least one, got none")
        self._items = items
        self._lengths = [length_of(item) for item in items]
        self._max_tokens = max_tokens
        self._seed = seed
        self._epoch = -1
        self._order: list[list[int]] = []
        # Which lengths go together does not depend on the shuffling, so all epochs are as long.
        self.per_epoch = len(token_batches(self._lengths, max_tokens=max_tokens))

    def draw(self, number: int) -> list[Item]:
        """Give a batch.

        Args:
            number: From 0; the first ``per_epoch`` are the first epoch, and so on.

        Returns:
            Its items.
        """
        epoch, place = divmod(number, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(self._seed * 10_007 + epoch)
            self._order = token_batches(
                self._lengths, max_tokens=self._max_tokens, generator=generator
            )
            self._epoch = epoch
        return [self._items[index] for index in self._order[place]]
