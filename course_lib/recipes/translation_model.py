"""The recipe of a translation run, its vocabulary, and its two models.

Dimensions: batch; src_len, tgt_len (tokens); vocab_size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor, nn

from course_lib.data.batching import Batch
from course_lib.data.corpora.readers import Language
from course_lib.generation.step_models import CachedTransformer, RecurrentStepModel, StepModel
from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.seq2seq import RecurrentEncoder, Seq2Seq
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.recipes.run_folder import write_text
from course_lib.recipes.training_recipe import TrainingRecipe
from course_lib.training.losses import label_smoothed_cross_entropy
from course_lib.training.schedules import constant_inverse_sqrt, inverse_sqrt
from course_lib.validation import check_at_least, check_not_string

PAD, BOS, EOS = "[PAD]", "[START]", "[END]"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2
MIN_VOCAB_SIZE = 3 + 256
"""Number of tokens that every vocabulary has: padding, start, end, and the bytes."""

_SPACE = "Ġ"  # the space at the beginning of a piece

SIZES = TransformerConfig(
    src_vocab_size=8000,
    tgt_vocab_size=8000,
    d_model=256,
    num_heads=4,
    d_ff=512,
    num_encoder_layers=3,
    num_decoder_layers=3,
    dropout=0.15,
    norm_position="pre",
    tied="all",
    pad_id=PAD_ID,
)
"""Sizes of the preset ``cpu``."""


@dataclass(frozen=True, kw_only=True)
class TranslationRecipe(TrainingRecipe):
    """Settings of a run beside those of ``TrainingRecipe``; with the seed they decide its outcome.

    Attributes:
        architecture: ``transformer``, or ``gru``, Bahdanau's model with attention.
        model: The Transformer's config; its vocabulary sizes are the maximum size of the joint
            vocabulary. The GRU uses only ``d_model``, for embeddings and states, and ``dropout``.
        src: Language to translate from.
        tgt: Language to translate to.
        smoothing: Label smoothing, 0 to below 1.
        max_tokens: Most tokens of a batch, counted on the longer side, padding included.
        schedule: The learning rate schedule, a function in ``training.schedules``.
        averaged: Number of best evaluations whose weights are averaged.
        beam_size: Beam size of the search that translates.
        length_alpha: Exponent of its length penalty, ``length ** alpha``.
    """

    architecture: Literal["transformer", "gru"] = "transformer"
    model: TransformerConfig = SIZES
    src: Language = "en"
    tgt: Language = "de"
    smoothing: float = 0.1
    max_tokens: int = 1024
    steps: int = 6000
    learning_rate: float = 1e-3
    schedule: Literal["inverse_sqrt", "constant_inverse_sqrt"] = "inverse_sqrt"
    warmup_steps: int = 600
    evaluate_every: int = 250
    patience: int = 8
    averaged: int = 5
    beam_size: int = 5
    length_alpha: float = 1.0

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        super().__post_init__()
        if self.src == self.tgt:
            raise ValueError(f"src and tgt must differ, got {self.src!r} twice")
        check_at_least(MIN_VOCAB_SIZE, src_vocab_size=self.model.src_vocab_size)

    def learning_rate_share(self, step: int) -> float:
        """Return the share of the peak learning rate for the update after ``step`` updates."""
        share = inverse_sqrt if self.schedule == "inverse_sqrt" else constant_inverse_sqrt
        return share(step, warmup_steps=self.warmup_steps)


PRESETS: dict[str, TranslationRecipe] = {
    # Half an hour on two cores of a CPU.
    "cpu": TranslationRecipe(),
    # The sizes of a published Transformer: 41.0 BLEU, lower-cased. Minutes on a GPU.
    "full": TranslationRecipe(
        model=replace(
            SIZES,
            src_vocab_size=10_000,
            tgt_vocab_size=10_000,
            d_model=128,
            d_ff=256,
            num_encoder_layers=4,
            num_decoder_layers=4,
            dropout=0.3,
        ),
        max_tokens=4096,
        steps=8000,
        learning_rate=5e-3,
        warmup_steps=2000,
        patience=10,
        averaged=10,
    ),
    "gru": TranslationRecipe(
        architecture="gru", model=replace(SIZES, dropout=0.3), warmup_steps=300
    ),
}
"""The recipes by name."""


class Subwords:
    """A joint vocabulary of subwords for both languages: byte-level byte-pair encoding.

    The ``tokenizers`` package does what ``course_lib.tokenization.bpe`` shows, faster.

    Source: Sennrich et al. (2016), section 3.2, joint BPE.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        found = [tokenizer.id_to_token(number) for number in range(3)]
        if found != [PAD, BOS, EOS]:
            raise ValueError(f"the first tokens must be {[PAD, BOS, EOS]}, got {found}")
        tokenizer.encode_special_tokens = True  # "[END]" in a text is text like any other
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], *, vocab_size: int) -> Self:
        """Learn a vocabulary of at most ``vocab_size`` tokens, with special ones and bytes."""
        check_not_string(texts=texts)
        check_at_least(MIN_VOCAB_SIZE, vocab_size=vocab_size)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[PAD, BOS, EOS],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a vocabulary that ``save`` wrote; another file raises a ``ValueError``."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # tokenizers has no class of its own
            raise ValueError(f"{path} holds no vocabulary: {error}") from error
        return cls(tokenizer)

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON, atomically."""
        write_text(path, self._tokenizer.to_str())

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Turn each sentence into token ids, without start and end tokens."""
        check_not_string(sentences=sentences)
        encoded = self._tokenizer.encode_batch(list(sentences), add_special_tokens=False)
        return [entry.ids for entry in encoded]

    def words(self, token_ids: Sequence[int]) -> list[tuple[str, int]]:
        """Return each word, with the punctuation beside it, and the number of its tokens."""
        groups: list[list[int]] = []
        for token_id in token_ids:
            if not groups or str(self._tokenizer.id_to_token(token_id)).startswith(_SPACE):
                groups.append([])
            groups[-1].append(token_id)
        return [(self.decode(group), len(group)) for group in groups]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Turn token ids into a sentence, without special tokens."""
        return self._tokenizer.decode(list(token_ids), skip_special_tokens=True).strip()


TranslationModel = Transformer | Seq2Seq


def build_model(recipe: TranslationRecipe, vocab_size: int) -> TranslationModel:
    """Make a model for a vocabulary, with random weights by PyTorch's default generator."""
    if recipe.architecture == "gru":
        return _build_gru(recipe, vocab_size)
    return Transformer(replace(recipe.model, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size))


def _build_gru(recipe: TranslationRecipe, vocab_size: int) -> Seq2Seq:
    """Make Bahdanau's model, with dropout on the embeddings and before the output."""
    width = recipe.model.d_model
    encoder = RecurrentEncoder(vocab_size, width, width, bidirectional=True)
    decoder = AttentionDecoder(vocab_size, width, width, encoder.d_memory)
    dropout = nn.Dropout(recipe.model.dropout)
    dropped: dict[str, nn.Module] = {
        "encoder": nn.Sequential(encoder.embedding, dropout),
        "decoder": nn.Sequential(decoder.embedding, dropout),
        "output": nn.Sequential(dropout, decoder.output),
    }
    encoder.add_module("embedding", dropped["encoder"])
    decoder.add_module("embedding", dropped["decoder"])
    decoder.add_module("output", dropped["output"])
    return Seq2Seq(encoder, decoder)


def batch_logits(model: nn.Module, batch: Batch) -> Tensor:
    """Return logits ``(batch, tgt_len, vocab_size)`` of the target tokens."""
    if isinstance(model, Seq2Seq):
        return model(batch.src, batch.tgt_input, _source_lengths(batch.src))
    return model(batch.src, batch.tgt_input)


def mean_loss(model: nn.Module, batches: Iterable[Batch], device: torch.device | str) -> float:
    """Return a model's mean loss over a corpus, without smoothing (nats a target token)."""
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in batches:
            moved = batch.to(device)
            loss = label_smoothed_cross_entropy(
                batch_logits(model, moved).float(),
                moved.tgt_output,
                smoothing=0.0,
                ignore_index=PAD_ID,
                reduction="sum",
            )
            total += loss.item()
            count += batch.num_tokens
    return total / count


def step_model(model: nn.Module, src: Tensor) -> StepModel:
    """Encode padded sources ``(batch, src_len)``; return a model for ``beam_search``."""
    if isinstance(model, Seq2Seq):
        assert isinstance(model.decoder, AttentionDecoder)
        return RecurrentStepModel(model.decoder, model.encoder(src, _source_lengths(src)))
    assert isinstance(model, Transformer)
    return CachedTransformer(model, *model.encode(src))


def _source_lengths(src: Tensor) -> Tensor:
    """Return the lengths ``(batch,)`` of padded sources, on the CPU, for packing."""
    return (src != PAD_ID).sum(dim=1).cpu()
