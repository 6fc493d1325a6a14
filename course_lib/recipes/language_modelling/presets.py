"""What is trained: sizes, lengths, rates, in one frozen record a preset."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from course_lib.models.gpt import DecoderLMConfig
from course_lib.recipes.training_recipe import TrainingRecipe


@dataclass(frozen=True, kw_only=True)
class LanguageModellingRecipe(TrainingRecipe):
    """All that decides what comes out of a run, but for the seed.

    Attributes:
        num_layers: Layers of the decoder.
        d_model: Its width.
        num_heads: Its attention heads.
        positions: How its tokens are told where they stand.
        dropout: Share that training sets to zero.
        length: Characters that it reads at once.
        batch_size: Blocks of text of that length in a batch.

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
    warmup_steps: int = 100
    weight_decay: float = 0.1
    final_share: ClassVar[float] = 0.1

    def __post_init__(self) -> None:
        """Refuse values that make no sense, before a folder holds a run that can't be begun."""
        super().__post_init__()
        self.model_config(vocab_size=1)

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
