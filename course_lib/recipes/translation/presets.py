"""What is trained: sizes, lengths, rates, in one frozen record a preset."""

from dataclasses import dataclass
from typing import Literal

from course_lib.data.corpora.readers import Language
from course_lib.layers.residual import NormPosition
from course_lib.models.transformer import TransformerConfig
from course_lib.recipes.translation.subwords import FEWEST_TOKENS, PAD_ID
from course_lib.training.loop import Precision, TrainingConfig
from course_lib.training.schedules import constant_inverse_sqrt, inverse_sqrt
from course_lib.validation import check_at_least, check_fields

Architecture = Literal["transformer", "gru"]
Schedule = Literal["inverse_sqrt", "constant_inverse_sqrt"]


@dataclass(frozen=True, kw_only=True)
class TranslationRecipe:
    """All that decides what comes out of a run, but for the seed.

    Attributes:
        architecture: ``transformer``, or ``gru``, Bahdanau's model with attention.
        src: Language to translate from.
        tgt: Language to translate to.
        vocab_size: Tokens of the joint vocabulary.
        d_model: Width of the Transformer; of the GRUs' embeddings and states.
        num_heads: Attention heads of the Transformer.
        d_ff: Inner width of its feed-forward layers.
        num_layers: Its layers, of the encoder and of the decoder each.
        dropout: Share that training sets to zero.
        norm_position: Where its normalisations stand.
        smoothing: Share of the target's probability that is spread over the vocabulary.
        max_tokens: Tokens of a batch, counted on the longer side, padding included.
        steps: Most updates.
        learning_rate: At the peak of the schedule.
        schedule: Whether the rate rises evenly to its peak, or is there from the first update on.
        warmup_steps: Updates until the rate falls, from its peak with the root of the steps.
        evaluate_every: Updates between two looks at the validation set; after each the weights are
            kept, and the run can be taken up from there.
        patience: Looks in a row without a new best after which the run ends; 0 for never.
        averaged: How many of the kept weights are averaged, those of the best looks.
        beam_size: Of the search that translates.
        length_alpha: Of its length penalty, ``length ** alpha``.
        precision: Of the matrix products in training.
        compiled: Whether the model goes through ``torch.compile``.

    Raises:
        ValueError: A value is out of range.
    """

    architecture: Architecture = "transformer"
    src: Language = "en"
    tgt: Language = "de"
    vocab_size: int = 8000
    d_model: int = 256
    num_heads: int = 4
    d_ff: int = 512
    num_layers: int = 3
    dropout: float = 0.15
    norm_position: NormPosition = "pre"
    smoothing: float = 0.1
    max_tokens: int = 1024
    steps: int = 6000
    learning_rate: float = 1e-3
    schedule: Schedule = "inverse_sqrt"
    warmup_steps: int = 600
    evaluate_every: int = 250
    patience: int = 8
    averaged: int = 5
    beam_size: int = 5
    length_alpha: float = 1.0
    precision: Precision = "float32"
    compiled: bool = False

    def __post_init__(self) -> None:
        """Refuse values that make no sense, before a folder holds a run that can't be begun."""
        check_fields(self, zero=["patience"], shares=["dropout", "smoothing"])
        if self.src == self.tgt:
            raise ValueError(f"src and tgt must differ, got {self.src!r} twice")
        if self.evaluate_every > self.steps:
            raise ValueError(
                f"evaluate_every must be at most steps={self.steps}, got {self.evaluate_every}: "
                "weights are kept at evaluations"
            )
        check_at_least(FEWEST_TOKENS, vocab_size=self.vocab_size)
        if self.architecture == "transformer":
            self.model_config(self.vocab_size)
        self.training_config()

    def model_config(self, vocab_size: int) -> TransformerConfig:
        """Give the Transformer's sizes.

        Args:
            vocab_size: Tokens of the joint vocabulary, which may be fewer than asked for.

        Returns:
            The sizes.

        Raises:
            ValueError: A size is out of range, or two do not go together.
        """
        return TransformerConfig(
            src_vocab_size=vocab_size,
            tgt_vocab_size=vocab_size,
            d_model=self.d_model,
            num_heads=self.num_heads,
            d_ff=self.d_ff,
            num_encoder_layers=self.num_layers,
            num_decoder_layers=self.num_layers,
            dropout=self.dropout,
            norm_position=self.norm_position,
            tied="all",
            pad_id=PAD_ID,
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
            precision=self.precision,
            evaluate_every=self.evaluate_every,
            patience=self.patience,
            checkpoint_every=self.evaluate_every,
        )

    def learning_rate_share(self, step: int) -> float:
        """Give the share of the peak learning rate for one update.

        Args:
            step: Updates done so far, from 0.

        Returns:
            The share.
        """
        share = inverse_sqrt if self.schedule == "inverse_sqrt" else constant_inverse_sqrt
        return share(step, warmup_steps=self.warmup_steps)


PRESETS: dict[str, TranslationRecipe] = {
    # For half an hour on two cores of a CPU.
    "cpu": TranslationRecipe(),
    # The sizes of a published Transformer: 41.0 BLEU, lower-cased. Minutes on a GPU.
    "full": TranslationRecipe(
        vocab_size=10000,
        d_model=128,
        num_heads=4,
        d_ff=256,
        num_layers=4,
        dropout=0.3,
        max_tokens=4096,
        steps=8000,
        learning_rate=5e-3,
        warmup_steps=2000,
        evaluate_every=250,
        patience=10,
        averaged=10,
    ),
    "gru": TranslationRecipe(
        architecture="gru",
        d_model=256,
        dropout=0.3,
        learning_rate=1e-3,
        warmup_steps=300,
    ),
}
"""The recipes by name."""
