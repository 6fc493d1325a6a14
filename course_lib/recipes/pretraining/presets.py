"""What is trained: sizes, lengths, rates, in one frozen record a preset."""

from dataclasses import dataclass
from typing import ClassVar

from course_lib.models.bert import BertConfig
from course_lib.recipes.training_recipe import TrainingRecipe


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe(TrainingRecipe):
    """All that decides what comes out of a run, but for the seeds.

    Attributes:
        vocab_size: Most pieces of the vocabulary.
        num_layers: Layers of the encoder.
        d_model: Its width.
        num_heads: Its attention heads.
        max_length: Most tokens of an input.
        dropout: Share that training sets to zero.
        max_tokens: Tokens of a batch, padding included.
        finetuning_tokens: Tokens of a batch of fine-tuning: few, for many updates.
        finetuning_rate: The learning rate of fine-tuning at its peak, after a tenth of the updates;
            the same with pre-training and without.
        banking_epochs: Times that fine-tuning goes through all of Banking77.
        few_shot_epochs: Times that it goes through ten questions of each intent.
        blimp_epochs: Times that it goes through the pairs of BLiMP.
        blimp_training_pairs: Of each of the 67 paradigms, to fine-tune on; the first ones.
        blimp_test_pairs: Of each paradigm, to test on; the last ones.

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
    final_share: ClassVar[float] = 0.05

    def __post_init__(self) -> None:
        """Refuse values that make no sense, before a folder holds a run that can't be begun."""
        super().__post_init__()
        if self.blimp_training_pairs + self.blimp_test_pairs > 1000:
            raise ValueError(
                "blimp_training_pairs and blimp_test_pairs must be at most 1000 together, "
                f"got {self.blimp_training_pairs} and {self.blimp_test_pairs}"
            )
        self.model_config(self.vocab_size)

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
