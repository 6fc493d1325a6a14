"""Common parts of all recipes: training settings, and batches by number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import torch

from course_lib.data.batching import token_batches
from course_lib.training.loop import Precision, TrainingConfig
from course_lib.training.schedules import warmup_cosine
from course_lib.validation import check_fields

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """Training settings; see also ``TrainingConfig``. The schedule is ``warmup_cosine``.

    Each recipe adds ``model``, its model's config, in which the size of the learned vocabulary
    replaces the vocabulary size.

    Attributes:
        final_share: Share of the peak learning rate at the end, 0 to 1.
        accumulation: Batches in an update; several processes divide them among each other.
        steps: Number of updates.
        learning_rate: The peak learning rate.
        warmup_steps: Number of the update at the peak.
        weight_decay: Weight decay of matrices.
        evaluate_every: Updates between evaluations on held-out text, after each of which the run
            can be resumed; the run ends with the weights of the best evaluation.
        patience: Evaluations in a row without a new best after which the run ends; 0 for never.
        precision: Type of the matrix products.
        compiled: Whether to compile the model with ``torch.compile``.
    """

    final_share: ClassVar[float] = 0.0

    accumulation: int = 1
    steps: int
    learning_rate: float
    warmup_steps: int
    weight_decay: float = 0.0
    evaluate_every: int
    patience: int = 0
    precision: Precision = "float32"
    compiled: bool = False

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(self, zero=["patience"], shares=["smoothing"])
        if self.steps <= self.warmup_steps:
            raise ValueError(f"steps must exceed warmup_steps, got {self.steps}")
        if self.steps % self.evaluate_every != 0:
            raise ValueError(
                f"steps must be a multiple of evaluate_every={self.evaluate_every}, so that the "
                f"run ends with an evaluation; got {self.steps}"
            )
        self.training_config()

    def training_config(self) -> TrainingConfig:
        """Return the settings of the training loop."""
        return TrainingConfig(
            steps=self.steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            accumulation=self.accumulation,
            precision=self.precision,
            evaluate_every=self.evaluate_every,
            patience=self.patience,
            checkpoint_every=self.evaluate_every,
        )

    def learning_rate_share(self, step: int) -> float:
        """Return the share of the peak learning rate for the update after ``step`` updates."""
        return warmup_cosine(
            step,
            warmup_steps=self.warmup_steps,
            total_steps=self.steps,
            floor=self.final_share,
        )


class EpochBatches(Generic[Item]):
    """A corpus in batches of items of similar length, shuffled again in each epoch.

    A batch depends on its number alone, so a resumed run draws the same batches.

    Args:
        items: The corpus.
        length_of: Returns an item's length (tokens).
        max_tokens: Most tokens of a batch, padding included.
        seed: Seed of the shuffling.

    Attributes:
        per_epoch: Number of batches in an epoch, which together have every item once.
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
        # The lengths in a batch do not depend on the shuffling, so all epochs have as many batches.
        self.per_epoch = len(token_batches(self._lengths, max_tokens=max_tokens))

    def draw(self, number: int) -> list[Item]:
        """Return the items of the batch with this number, from 0."""
        epoch, place = divmod(number, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(self._seed * 10_007 + epoch)
            self._order = token_batches(
                self._lengths, max_tokens=self._max_tokens, generator=generator
            )
            self._epoch = epoch
        return [self._items[index] for index in self._order[place]]
