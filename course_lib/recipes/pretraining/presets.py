"""What is trained: sizes, lengths, rates, in one frozen record a preset."""

from dataclasses import dataclass

from course_lib.models.bert import BertConfig
from course_lib.training.loop import Precision, TrainingConfig
from course_lib.validation import check_fields


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe:
    """All that decides what comes out of a run, but for the seeds.

    Attributes:
        vocab_size: Most pieces of the vocabulary.
        num_layers: Layers of the encoder.
        d_model: Its width.
        num_heads: Its attention heads.
        max_length: Most tokens of an input.
        dropout: Share that training sets to zero.
        max_tokens: Tokens of a batch, padding included.
        accumulation: Batches in an update of pre-training; several processes share them out.
        steps: Updates of pre-training.
        learning_rate: At the peak; it rises evenly, then falls along half a cosine.
        warmup_steps: Updates until the peak.
        weight_decay: Share of a matrix that AdamW takes off each step, times the learning rate.
        evaluate_every: Updates between two looks at the held-out texts.
        finetuning_tokens: Tokens of a batch of fine-tuning: few, for many updates.
        finetuning_rate: The learning rate of fine-tuning at its peak, after a tenth of the updates;
            the same with pre-training and without.
        banking_epochs: Times that fine-tuning goes through all of Banking77.
        few_shot_epochs: Times that it goes through ten questions of each intent.
        blimp_epochs: Times that it goes through the pairs of BLiMP.
        blimp_training_pairs: Of each of the 67 paradigms, to fine-tune on; the first ones.
        blimp_test_pairs: Of each paradigm, to test on; the last ones.
        precision: Type of the matrix products.
        compiled: Whether ``torch.compile`` translates the model first.

    Raises:
        ValueError: A value is out of range.
    """

    vocab_size: int = 6000
    num_layers: int = 2
    d_model: int = 128
    num_heads: int = 4
    max_length: int = 64
    dropout: float = 0.1
    max_tokens: int = 2048
    accumulation: int = 1
    steps: int = 12_000
    learning_rate: float = 1e-3
    warmup_steps: int = 300
    weight_decay: float = 0.01
    evaluate_every: int = 1000
    finetuning_tokens: int = 512
    finetuning_rate: float = 1e-3
    banking_epochs: int = 8
    few_shot_epochs: int = 40
    blimp_epochs: int = 4
    blimp_training_pairs: int = 100
    blimp_test_pairs: int = 50
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
        if self.blimp_training_pairs + self.blimp_test_pairs > 1000:
            raise ValueError(
                "blimp_training_pairs and blimp_test_pairs must be at most 1000 together, "
                f"got {self.blimp_training_pairs} and {self.blimp_test_pairs}"
            )
        self.model_config(self.vocab_size)
        self.training_config()

    def model_config(self, vocab_size: int) -> BertConfig:
        """Give the model's sizes.

        Args:
            vocab_size: Pieces of the vocabulary, which may be fewer than asked for.

        Returns:
            The sizes.

        Raises:
            ValueError: A size is out of range.
        """
        return BertConfig(
            vocab_size=vocab_size,
            max_length=self.max_length,
            num_layers=self.num_layers,
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_ff=4 * self.d_model,
            dropout=self.dropout,
        )

    def training_config(self) -> TrainingConfig:
        """Give the loop's settings for pre-training.

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


PRESETS: dict[str, PretrainingRecipe] = {
    # Within an hour of one core of a CPU, fine-tuning with three seeds included.
    "cpu": PretrainingRecipe(),
    "cuda": PretrainingRecipe(
        vocab_size=10_000,
        num_layers=6,
        d_model=384,
        num_heads=6,
        max_tokens=16_384,
        steps=30_000,
        learning_rate=5e-4,
        warmup_steps=2000,
        evaluate_every=1000,
        finetuning_rate=5e-4,
        precision="bfloat16",
        compiled=True,
    ),
}
"""The recipes by name."""
