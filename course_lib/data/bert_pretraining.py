"""BERT's pre-training data: masked tokens and pairs of sentences.

Dimensions: batch; length (tokens). Random numbers come from a generator on the CPU; results are on
the device of the token ids.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

NOT_MASKED = -100
"""The label of a token that the loss leaves out; PyTorch's ``ignore_index``."""

Sentence = TypeVar("Sentence")


class MaskedTokens(NamedTuple):
    """A batch for the masked language model.

    >>> token_ids = torch.tensor([[7, 8, 9]])
    >>> masked = corrupt_tokens(
    ...     token_ids, token_ids == 8, fate=torch.zeros(1, 3), random_ids=token_ids, mask_id=4
    ... )
    >>> masked.token_ids, masked.labels
    (tensor([[7, 4, 9]]), tensor([[-100,    8, -100]]))

    Attributes:
        token_ids: ``(batch, length)``, with some tokens changed.
        labels: ``(batch, length)``, int64: the true token at each chosen place, also where it was
            left as it is; -100 elsewhere.
    """

    token_ids: Tensor
    labels: Tensor


class NextSentencePair(NamedTuple, Generic[Sentence]):
    """A pair for next-sentence prediction.

    >>> documents = [["It rains.", "We stay."], ["Cats sleep."]]
    >>> [pair] = next_sentence_pairs(documents, generator=torch.Generator())
    >>> pair.first, pair.second == ("We stay." if pair.label == 0 else "Cats sleep.")
    ('It rains.', True)

    Attributes:
        first: A sentence.
        second: The next one of its document, or a random one of another document.
        label: 0 if it is the next one, 1 if it is random.
    """

    first: Sentence
    second: Sentence
    label: int


class BertInput(NamedTuple):
    """One sentence or two, as BERT reads them.

    >>> both = join_sentences([7, 8], [9], cls_id=2, sep_id=3)
    >>> both.token_ids
    [2, 7, 8, 3, 9, 3]
    >>> both.segment_ids
    [0, 0, 0, 0, 1, 1]

    Attributes:
        token_ids: ``[CLS]``, the first sentence, ``[SEP]``; and, if there is a second, that and
            another ``[SEP]``.
        segment_ids: 0 up to the first ``[SEP]`` and with it, then 1.
    """

    token_ids: list[int]
    segment_ids: list[int]


def mask_tokens(
    token_ids: Tensor,
    *,
    mask_id: int,
    vocab_size: int,
    special_ids: Sequence[int],
    generator: torch.Generator,
    probability: float = 0.15,
) -> MaskedTokens:
    """Choose tokens at random for the model to guess, and hide most of them.

    Each token that is not special is chosen with ``probability``, independently of the others. Then
    80 % of the chosen become ``[MASK]``, 10 % a random token, and 10 % stay.

    Args:
        token_ids: ``(batch, length)``, int64; left as it is.
        mask_id: Id of ``[MASK]``.
        vocab_size: Number of token ids.
        special_ids: Ids never chosen, and never put in at random: padding, ``[CLS]``, ``[SEP]``.
        generator: Source of the random numbers.
        probability: For a token to be chosen, 0 to 1.

    Returns:
        The changed tokens and the labels.

    Raises:
        TypeError: ``token_ids`` is not int64.
        ValueError: ``probability`` is not in 0 to 1, ``mask_id`` or a special id is out of range,
            or every token is special.

    Source: Devlin et al. (2019), section 3.1, task 1, and appendix A.1; chapter "BERT".
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in 0 to 1, got {probability}")
    device = token_ids.device
    special = torch.isin(token_ids, torch.tensor([*special_ids], device=device))
    drawn = torch.rand(token_ids.shape, generator=generator).to(device) < probability
    return corrupt_tokens(
        token_ids,
        drawn & ~special,
        fate=torch.rand(token_ids.shape, generator=generator).to(device),
        random_ids=draw_ordinary_tokens(
            token_ids.shape, vocab_size, [mask_id, *special_ids], generator
        ).to(device),
        mask_id=mask_id,
    )


def corrupt_tokens(
    token_ids: Tensor,
    chosen: Tensor,
    *,
    fate: Tensor,
    random_ids: Tensor,
    mask_id: int,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskedTokens:
    """Mask, replace or keep the chosen tokens, and return them as labels.

    Args:
        token_ids: ``(batch, length)``, int64; left as it is.
        chosen: Boolean ``(batch, length)``, True where the model is to guess.
        fate: ``(batch, length)``, random numbers in [0, 1): below ``mask_share`` a chosen token
            becomes ``[MASK]``; from there on, below ``mask_share + random_share``, a random one;
            above, it stays. In fine-tuning there is no ``[MASK]``, so the model must also learn
            from tokens that look like any other.
        random_ids: ``(batch, length)``, int64, the random tokens.
        mask_id: Id of ``[MASK]``.
        mask_share: 0 to 1.
        random_share: 0 to 1; with ``mask_share`` at most 1.

    Returns:
        The changed tokens and the labels.

    Raises:
        TypeError: ``token_ids`` is not int64, or ``chosen`` not boolean.
        ValueError: A share is negative, or the two make more than 1.

    Source: Devlin et al. (2019), section 3.1, task 1, and appendix A.1; chapter "BERT".
    """
    if token_ids.dtype != torch.int64:
        raise TypeError(f"token_ids must be int64, got {token_ids.dtype}")
    if chosen.dtype != torch.bool:
        raise TypeError(f"chosen must be boolean, got {chosen.dtype}")
    if not (mask_share >= 0 and random_share >= 0 and mask_share + random_share <= 1):
        raise ValueError(
            "mask_share and random_share must not be negative, nor make more than 1, "
            f"got {mask_share} and {random_share}"
        )
    masked = chosen & (fate < mask_share)
    replaced = chosen & (fate >= mask_share) & (fate < mask_share + random_share)
    changed = token_ids.masked_fill(masked, mask_id)
    return MaskedTokens(
        token_ids=torch.where(replaced, random_ids, changed),  # (batch, length)
        labels=token_ids.masked_fill(~chosen, NOT_MASKED),  # (batch, length)
    )


def draw_ordinary_tokens(
    shape: Sequence[int],
    vocab_size: int,
    excluded_ids: Sequence[int],
    generator: torch.Generator,
) -> Tensor:
    """Draw int64 token ids on the CPU, all equally likely except for the excluded ones."""
    for excluded in excluded_ids:
        if not 0 <= excluded < vocab_size:
            raise ValueError(f"special ids must lie in 0 to {vocab_size - 1}, got {excluded}")
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[[*excluded_ids]] = False
    ordinary_ids = ordinary.nonzero().squeeze(1)  # (number of ordinary tokens,)
    if len(ordinary_ids) == 0:
        raise ValueError(f"special ids must leave some of {vocab_size} tokens, got all of them")
    return ordinary_ids[torch.randint(len(ordinary_ids), tuple(shape), generator=generator)]


def next_sentence_pairs(
    documents: Sequence[Sequence[Sentence]], *, generator: torch.Generator
) -> list[NextSentencePair[Sentence]]:
    """Pair each sentence that has a next one with it, or else, half of the time, with another.

    Args:
        documents: Each a sequence of sentences, in order. A sentence may be a string, or tokens.
        generator: Source of the random numbers.

    Returns:
        One pair for each sentence but the last of each document, in order. A random second sentence
        comes from another document; all that hold sentences are equally likely. So it is never the
        true one by chance.

    Raises:
        ValueError: Fewer than two documents hold sentences.

    Source: Devlin et al. (2019), section 3.1, task 2; google-research/bert,
        create_pretraining_data.py; chapter "BERT".
    """
    documents = [document for document in documents if len(document) > 0]
    if len(documents) < 2:
        raise ValueError(
            f"documents must hold at least two that are not empty, got {len(documents)}"
        )

    def draw(count: int) -> int:
        return int(torch.randint(count, (), generator=generator))

    pairs = []
    for number, document in enumerate(documents):
        for first, following in pairwise(document):
            label = draw(2)
            second = following
            if label == 1:
                other = documents[(number + 1 + draw(len(documents) - 1)) % len(documents)]
                second = other[draw(len(other))]
            pairs.append(NextSentencePair(first=first, second=second, label=label))
    return pairs


def join_sentences(
    first: Sequence[int],
    second: Sequence[int] | None = None,
    *,
    cls_id: int,
    sep_id: int,
    max_length: int = 512,
) -> BertInput:
    """Make one input of one sentence or of two, cut to a length.

    Args:
        first: Token ids.
        second: Token ids, or None.
        cls_id: Id of ``[CLS]``.
        sep_id: Id of ``[SEP]``.
        max_length: Most tokens of the result. While there are more, the longer sentence loses its
            last token; of two equally long ones the second.

    Returns:
        Token ids and segment ids.

    Raises:
        ValueError: ``max_length`` leaves no room for the special tokens.

    Source: Devlin et al. (2019), section 3 and figure 2; google-research/bert, run_classifier.py;
        chapter "BERT".
    """
    num_specials = 2 if second is None else 3
    if max_length < num_specials:
        raise ValueError(f"max_length must be at least {num_specials}, got {max_length}")
    kept_first, kept_second = len(first), len(second or ())
    while num_specials + kept_first + kept_second > max_length:
        if kept_first > kept_second:
            kept_first -= 1
        else:
            kept_second -= 1
    token_ids = [cls_id, *first[:kept_first], sep_id]
    segment_ids = [0] * len(token_ids)
    if second is not None:
        token_ids += [*second[:kept_second], sep_id]
        segment_ids += [1] * (kept_second + 1)
    return BertInput(token_ids=token_ids, segment_ids=segment_ids)
