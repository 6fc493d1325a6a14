"""How long and how fast a language model is trained, in the recipes that train one."""

from dataclasses import dataclass
from typing import ClassVar

from course_lib.training.loop import Precision, TrainingConfig
from course_lib.training.schedules import warmup_cosine
from course_lib.validation import check_fields


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """A run's updates: the learning rate rises evenly, then falls along half a cosine.

    Attributes:
        final_share: Of the peak learning rate, what is left at the end.
        accumulation: Batches in an update; several processes share them out.
        steps: Updates.
        learning_rate: At its peak.
        warmup_steps: Updates until the peak.
        weight_decay: Share of a matrix that AdamW takes off each step, times the learning rate.
        evaluate_every: Updates between two looks at texts that are not trained on; the weights of
            the best look are kept, and the run can be taken up from each.
        precision: Type of the matrix products.
        compiled: Whether ``torch.compile`` translates the model first.

    Raises:
        ValueError: A value is out of range.
    """

    final_share: ClassVar[float]

    accumulation: int = 1
    steps: int
    learning_rate: float
    warmup_steps: int
    weight_decay: float
    evaluate_every: int
    precision: Precision = "float32"
    compiled: bool = False

    def __post_init__(self) -> None:
        """Refuse values that make no sense, before a folder holds a run that can't be begun."""
        check_fields(self)
        if self.steps <= self.warmup_steps:
            raise ValueError(f"steps must exceed warmup_steps, got {self.steps}")
        if self.steps % self.evaluate_every != 0:
            raise ValueError(
                f"steps must be a multiple of evaluate_every={self.evaluate_every}, so that the "
                f"run ends with a look; got {self.steps}"
            )
        self.training_config()

    def training_config(self) -> TrainingConfig:
        """Give the loop's settings.

        Returns:
            The settings.

        Raises:
            ValueError: A value is out of range.
        """
        return TrainingConfig(
            steps=self.steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            accumulation=self.accumulation,
            precision=self.precision,
            evaluate_every=self.evaluate_every,
            checkpoint_every=self.evaluate_every,
        )

    def schedule(self, step: int) -> float:
        """Give the share of the learning rate for one update.

        Args:
            step: Updates done so far, from 0.

        Returns:
            The share.
        """
        return warmup_cosine(
            step,
            warmup_steps=self.warmup_steps,
            total_steps=self.steps,
            floor=self.final_share,
        )
