"""A small BERT's recipe, the text of its pre-training, and its batches.

The text is English without labels: Multi30k's captions, Shakespeare's plays, and the questions of
Banking77's training set without their intents. In practice too, unlabelled text of a task's domain
is at hand (Gururangan et al., 2020). No text is from BLiMP or from a test set.

BERT's "sentence" is any stretch of running text. A caption, a speech or a question is a document;
its stretches are its lines, or its two halves if it has one line. A random second stretch is drawn
from the same corpus, because another style would reveal it.

Dimensions: batch; length (tokens).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from tokenizers import BertWordPieceTokenizer
from torch import Tensor

from course_lib.data.batching import pad_sequences
from course_lib.data.bert_pretraining import (
    BertInput,
    join_sentences,
    mask_tokens,
    next_sentence_pairs,
)
from course_lib.data.corpora.readers import read_banking77, read_multi30k, read_tiny_shakespeare
from course_lib.models.bert import BertConfig
from course_lib.recipes.training_recipe import TrainingRecipe
from course_lib.tokenization.vocabulary import BERT_SPECIALS, Vocabulary
from course_lib.tokenization.wordpiece import CONTINUATION, WordPiece
from course_lib.validation import check_not_string

Document = list[str]
"""Stretches of text that follow each other."""

Corpus = list[Document]
"""Documents of one kind."""

SIZES = BertConfig(
    vocab_size=6000, max_length=64, num_layers=2, d_model=128, num_heads=4, d_ff=512, dropout=0.1
)
"""Sizes of the small BERT."""


@dataclass(frozen=True, kw_only=True)
class PretrainingRecipe(TrainingRecipe):
    """Settings of a run beside those of ``TrainingRecipe``; with the seeds they decide its outcome.

    Attributes:
        model: The model's config; ``vocab_size`` is the maximum size of the vocabulary.
        max_tokens: Most tokens of a batch, padding included.
        finetuning_tokens: Most tokens of a batch of fine-tuning.
        finetuning_rate: Peak learning rate of fine-tuning, reached after a tenth of the updates.
        banking_epochs: Epochs of fine-tuning on Banking77.
        few_shot_epochs: Epochs of fine-tuning on ten questions of each of its intents.
        blimp_epochs: Epochs of fine-tuning on BLiMP.
        blimp_training_pairs: Number of pairs of each of BLiMP's 67 paradigms to fine-tune on.
        blimp_test_pairs: Number of pairs of each paradigm to test on.
    """

    model: BertConfig = SIZES
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
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        super().__post_init__()
        if self.blimp_training_pairs + self.blimp_test_pairs > 1000:
            raise ValueError(
                "blimp_training_pairs and blimp_test_pairs must be at most 1000 together, "
                f"got {self.blimp_training_pairs} and {self.blimp_test_pairs}"
            )


PRESETS: dict[str, PretrainingRecipe] = {
    # Within an hour of one core of a CPU, fine-tuning with three seeds included.
    "cpu": PretrainingRecipe(),
    "cuda": PretrainingRecipe(
        model=replace(
            SIZES, vocab_size=10_000, num_layers=6, d_model=384, num_heads=6, d_ff=4 * 384
        ),
        max_tokens=16_384,
        steps=30_000,
        learning_rate=5e-4,
        warmup_steps=2000,
        finetuning_rate=5e-4,
        precision="bfloat16",
        compiled=True,
    ),
}
"""The recipes by name."""


# ---- texts ----


def read_texts() -> list[Corpus]:
    """Read the corpora of captions, of speeches and of questions."""
    captions = [source for source, _ in read_multi30k("train", "en", "de")]
    plays, _ = read_tiny_shakespeare()
    questions = [question for question, _ in read_banking77("train")]
    return [
        [split_in_half(caption) for caption in captions],
        split_speeches(plays),
        [split_in_half(question) for question in questions],
    ]


def split_in_half(text: str) -> Document:
    """Split a text into two halves at the middle word; a text of one word stays whole.

    >>> split_in_half("a dog runs on the beach")
    ['a dog runs', 'on the beach']
    """
    words = text.split()
    middle = len(words) // 2
    return [" ".join(part) for part in (words[:middle], words[middle:]) if part]


def split_speeches(plays: str) -> Corpus:
    """Divide plays into speeches: documents of their lines, without the speakers' names.

    In the text a speech begins with a line of the speaker's name and a colon, and ends with an
    empty line.
    """
    documents = []
    for speech in plays.split("\n\n"):
        _, _, text = speech.strip().partition(":\n")
        lines = text.split("\n") if text else []
        documents.append(split_in_half(text) if len(lines) == 1 else lines)
    return [document for document in documents if document]


def learn_vocabulary(texts: Iterable[str], size: int) -> Vocabulary:
    """Learn at most ``size`` word pieces, special tokens included, lower-cased without accents.

    Source: Schuster and Nakajima (2012); the library ``tokenizers``.
    """
    check_not_string(texts=texts)
    texts = list(texts)
    learner = BertWordPieceTokenizer(lowercase=True)
    normalize = learner.normalizer.normalize_str
    characters = {c for text in texts for c in normalize(text) if c.isalnum()}
    # The library numbers letters inside words in an order that changes from run to run, and so the
    # order of equally frequent pieces. Special tokens have a fixed order.
    inside_words = [f"{CONTINUATION}{character}" for character in sorted(characters)]
    learner.train_from_iterator(
        texts,
        vocab_size=size,
        special_tokens=[*BERT_SPECIALS, *inside_words],
        show_progress=False,
    )
    ids = learner.get_vocab()
    return Vocabulary(
        tokens=tuple(sorted(ids, key=ids.__getitem__)), specials=BERT_SPECIALS, unknown="[UNK]"
    )


class CachedTokenizer:
    """A ``WordPiece`` tokenizer with a cache: it splits each different word only once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokenizer = WordPiece(vocabulary=vocabulary)
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Turn text into the ids of its pieces."""
        ids = []
        for word in text.split():
            if word not in self._cache:
                self._cache[word] = self._tokenizer.encode(word)
            ids += self._cache[word]
        return ids


# ---- batches ----


class Example(NamedTuple):
    """An input of BERT and its label.

    Attributes:
        input: Token ids and segment ids of a pair of texts, or of one text.
        label: For a pair 0 if the second text follows the first, 1 if not; for one text its class.
    """

    input: BertInput
    label: int


class LabelledBatch(NamedTuple):
    """A batch of examples, padded to the longest.

    Attributes:
        token_ids: ``(batch, length)``, int64.
        segment_ids: ``(batch, length)``, int64.
        labels: ``(batch,)``, int64.
    """

    token_ids: Tensor
    segment_ids: Tensor
    labels: Tensor


class MaskedBatch(NamedTuple):
    """A batch of pairs with some tokens to predict.

    Attributes:
        token_ids: ``(batch, length)``, int64, most of the tokens to predict masked.
        segment_ids: ``(batch, length)``, int64.
        labels: ``(batch, length)``, int64: the tokens to predict; -100 elsewhere.
        next_labels: ``(batch,)``, int64: 0 if a pair's second text follows the first, 1 if not.
    """

    token_ids: Tensor
    segment_ids: Tensor
    labels: Tensor
    next_labels: Tensor


def paired_examples(
    documents: Sequence[Document],
    words: CachedTokenizer,
    vocabulary: Vocabulary,
    *,
    max_length: int,
    seed: int,
) -> list[Example]:
    """Make examples of pairs of texts, half of them random; see ``next_sentence_pairs``."""
    stretches = [[words.encode(text) for text in document] for document in documents]
    pairs = next_sentence_pairs(stretches, generator=torch.Generator().manual_seed(seed))
    cls_id, sep_id = vocabulary.encode(["[CLS]", "[SEP]"])
    return [
        Example(
            join_sentences(
                pair.first, pair.second, cls_id=cls_id, sep_id=sep_id, max_length=max_length
            ),
            pair.label,
        )
        for pair in pairs
    ]


def length_of(example: Example) -> int:
    """Count the tokens of an example, special ones included."""
    return len(example.input.token_ids)


def collate(examples: Sequence[Example], device: torch.device) -> LabelledBatch:
    """Batch examples, padded with token 0, ``[PAD]``, and segment 0."""
    return LabelledBatch(
        token_ids=pad_sequences([e.input.token_ids for e in examples], 0).to(device),
        segment_ids=pad_sequences([e.input.segment_ids for e in examples], 0).to(device),
        labels=torch.tensor([e.label for e in examples]).to(device),
    )


def mask_batch(batch: LabelledBatch, vocabulary: Vocabulary, seed: int) -> MaskedBatch:
    """Choose and mask the tokens to predict in a batch of pairs; see ``mask_tokens``."""
    masked = mask_tokens(
        batch.token_ids,
        mask_id=vocabulary.id_of("[MASK]"),
        vocab_size=len(vocabulary),
        special_ids=vocabulary.special_ids,
        generator=torch.Generator().manual_seed(seed),
    )
    return MaskedBatch(masked.token_ids, batch.segment_ids, masked.labels, batch.labels)
