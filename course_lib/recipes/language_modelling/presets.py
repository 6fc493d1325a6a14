"""What is trained: sizes, lengths, rates, in one frozen record a preset."""

from dataclasses import dataclass
from typing import Literal

from course_lib.models.gpt import DecoderLMConfig
from course_lib.training.loop import Precision, TrainingConfig
from course_lib.validation import check_fields


@dataclass(frozen=True, kw_only=True)
class LanguageModellingRecipe:
    """All that decides what comes out of a run, but for the seed.

    Attributes:
        num_layers: Layers of the decoder.
        d_model: Its width.
        num_heads: Its attention heads.
        positions: How its tokens are told where they stand.
        dropout: Share that training sets to zero.
        length: Characters that it reads at once.
        batch_size: Stretches of text of that length in a batch.
        accumulation: Batches in an update; several processes share them out.
        steps: Updates.
        learning_rate: At its peak; it rises evenly, then falls along half a cosine to a tenth.
        warmup_steps: Updates until the peak.
        weight_decay: Share of a matrix that AdamW takes off each step, times the learning rate.
        evaluate_every: Updates between two looks at the whole validation text; the weights of the
            best look are kept, and the run can be taken up from each.
        precision: Type of the matrix products.
        compiled: Whether ``torch.compile`` translates the model first.

    Raises:
        ValueError: A value is out of range.
    """

    num_layers: int
    d_model: int
    num_heads: int
    positions: Literal["learned", "rotary"] = "rotary"
    dropout: float
    length: int
    batch_size: int
    accumulation: int = 1
    steps: int
    learning_rate: float
    warmup_steps: int = 100
    weight_decay: float = 0.1
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
        self.model_config(vocab_size=1)
        self.training_config()

    def model_config(self, vocab_size: int) -> DecoderLMConfig:
        """Give the model's sizes.

        Args:
            vocab_size: Number of different characters.

        Returns:
            The sizes.

        Raises:
            ValueError: A size is out of range.
        """
        return DecoderLMConfig(
            vocab_size=vocab_size,
            max_length=self.length,
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_ff=4 * self.d_model,
            num_layers=self.num_layers,
            dropout=self.dropout,
            positions=self.positions,
        )

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


PRESETS: dict[str, LanguageModellingRecipe] = {
    # nanoGPT's sizes for a laptop; its README has 1.88 nats after 2,000 updates, in 3 minutes.
    "cpu": LanguageModellingRecipe(
        num_layers=4,
        d_model=128,
        num_heads=4,
        dropout=0.0,
        length=64,
        batch_size=12,
        steps=3000,
        learning_rate=3e-3,
        evaluate_every=500,
    ),
    # nanoGPT's sizes for a GPU; its README has 1.47 nats at best.
    "cuda": LanguageModellingRecipe(
        num_layers=6,
        d_model=384,
        num_heads=6,
        dropout=0.2,
        length=256,
        batch_size=64,
        steps=5000,
        learning_rate=1e-3,
        evaluate_every=250,
        precision="bfloat16",
        compiled=True,
    ),
}
"""The recipes by name."""
