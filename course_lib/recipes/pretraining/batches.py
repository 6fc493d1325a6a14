"""Inputs of BERT in batches. Dimensions: batch; length (tokens)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.data.batching import pad_sequences
from course_lib.data.bert_pretraining import (
    BertInput,
    join_sentences,
    mask_tokens,
    next_sentence_pairs,
)
from course_lib.recipes.pretraining.texts import CachedTokenizer, Document
from course_lib.tokenization.vocabulary import Vocabulary


class Example(NamedTuple):
    """An input with its label.

    Attributes:
        input: As BERT reads it.
        label: Of a pair 0 if the second follows, 1 if not; of a text its class.
    """

    input: BertInput
    label: int


class LabelledBatch(NamedTuple):
    """Inputs filled up to the longest.

    Attributes:
        token_ids: ``(batch, length)``, int64.
        segment_ids: ``(batch, length)``, int64.
        labels: ``(batch,)``, int64.
    """

    token_ids: Tensor
    segment_ids: Tensor
    labels: Tensor


class MaskedBatch(NamedTuple):
    """Inputs with some tokens to guess.

    Attributes:
        token_ids: ``(batch, length)``, int64, some changed.
        segment_ids: ``(batch, length)``, int64.
        labels: ``(batch, length)``, int64: what to guess; -100 elsewhere.
        next_labels: ``(batch,)``, int64: 0 if the second stretch follows, 1 if not.
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
    """Make the inputs of pre-training: pairs of stretches, half of which do not belong together.

    Args:
        documents: The text.
        words: Splits it.
        vocabulary: Of the tokeniser.
        max_length: Most tokens of an input.
        seed: Of the choice of pairs.

    Returns:
        One input for each stretch that another follows.

    Raises:
        ValueError: Fewer than two documents hold text.
    """
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
    """Count the tokens of an example.

    Args:
        example: The example.

    Returns:
        All that BERT reads, special tokens included.
    """
    return len(example.input.token_ids)


def collate(examples: Sequence[Example], device: torch.device) -> LabelledBatch:
    """Put examples together.

    Args:
        examples: At least one.
        device: Where to.

    Returns:
        The batch, filled up with token 0, which is ``[PAD]``, and segment 0.
    """
    return LabelledBatch(
        token_ids=pad_sequences([e.input.token_ids for e in examples], 0).to(device),
        segment_ids=pad_sequences([e.input.segment_ids for e in examples], 0).to(device),
        labels=torch.tensor([e.label for e in examples]).to(device),
    )


def mask_batch(batch: LabelledBatch, vocabulary: Vocabulary, seed: int) -> MaskedBatch:
    """Choose tokens to guess.

    Args:
        batch: Pairs.
        vocabulary: Of the tokeniser.
        seed: Of the choice.

    Returns:
        The batch, with other places chosen for another seed.
    """
    masked = mask_tokens(
        batch.token_ids,
        mask_id=vocabulary.id_of("[MASK]"),
        vocab_size=len(vocabulary),
        special_ids=vocabulary.special_ids,
        generator=torch.Generator().manual_seed(seed),
    )
    return MaskedBatch(masked.token_ids, batch.segment_ids, masked.labels, batch.labels)
