"""Are tokens masked, and sentences paired, as often and where BERT's recipe says?"""

import gzip
from collections import Counter
from itertools import pairwise

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from transformers import BertTokenizer

from course_lib.data.bert_pretraining import (
    NOT_MASKED,
    corrupt_tokens,
    join_sentences,
    mask_tokens,
    next_sentence_pairs,
)
from course_lib.tokenization.vocabulary import Vocabulary
from course_lib.tokenization.wordpiece import WordPiece

VOCAB_SIZE, MASK = 20, 4
SPECIALS = (0, 2, 3)  # padding, [CLS], [SEP]; token 1 is an ordinary one
OPTIONS = {"mask_id": MASK, "vocab_size": VOCAB_SIZE, "special_ids": SPECIALS}


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw_tokens(rows=400, length=250) -> torch.Tensor:
    return torch.randint(VOCAB_SIZE, (rows, length), generator=seeded(7))


TOKEN_IDS = draw_tokens()
SPECIAL = torch.isin(TOKEN_IDS, torch.tensor(SPECIALS))


def assert_share(part, whole, expected):
    """Check that ``part / whole`` (counts) is within 4 standard errors of ``expected``."""
    error = (expected * (1 - expected) / whole) ** 0.5
    assert abs(part / whole - expected) < 4 * error


def mask(token_ids, generator, **options):
    return mask_tokens(token_ids, generator=generator, **{**OPTIONS, **options})


# --- masking -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("probability", "options"), [(0.15, {}), (0.4, {"probability": 0.4})])
def test_shares_are_those_of_the_recipe(probability, options):
    changed, labels = mask(TOKEN_IDS, seeded(), **options)
    chosen = labels != NOT_MASKED
    assert_share(int(chosen.sum()), int((~SPECIAL).sum()), probability)
    # Chosen tokens that were no [MASK] before: 80 % masked, 10 % kept, 10 % replaced, and
    # of these one in 16 by itself.
    plain = chosen & (TOKEN_IDS != MASK)
    total = int(plain.sum())
    assert_share(int((changed == MASK)[plain].sum()), total, 0.8)
    assert_share(int((changed == TOKEN_IDS)[plain].sum()), total, 0.1 + 0.1 / 16)
    other = changed[plain & (changed != MASK) & (changed != TOKEN_IDS)]
    assert_share(len(other), total, 0.1 * 15 / 16)
    # Random tokens are equally likely, and none is special.
    counts = torch.bincount(other, minlength=VOCAB_SIZE)
    assert (counts[[*SPECIALS, MASK]] == 0).all()
    for token in range(VOCAB_SIZE):
        if token not in (*SPECIALS, MASK):
            assert_share(int(counts[token]), len(other), 1 / 16)


def test_all_or_nothing_can_be_chosen():
    assert (mask(TOKEN_IDS, seeded(), probability=0.0).labels == NOT_MASKED).all()
    assert torch.equal(mask(TOKEN_IDS, seeded(), probability=1.0).labels != NOT_MASKED, ~SPECIAL)


def test_masking_depends_on_the_given_generator_alone():
    state = torch.get_rng_state()
    first, again, other = (mask(TOKEN_IDS, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.labels, other.labels)


def test_fates_and_labels_by_hand():
    token_ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    before = token_ids.clone()
    changed, labels = corrupt_tokens(
        token_ids,
        torch.tensor([[True, True, True, True, True, False]]),
        fate=torch.tensor([[0.0, 0.79, 0.8, 0.89, 0.91, 0.0]]),
        random_ids=torch.tensor([[11, 12, 13, 14, 15, 16]]),
        mask_id=MASK,
    )
    assert changed.tolist() == [[MASK, MASK, 13, 14, 9, 10]]
    assert labels.tolist() == [[5, 6, 7, 8, 9, -100]]
    assert torch.equal(token_ids, before)


@pytest.mark.parametrize(
    ("mask_share", "random_share", "expected"),
    [(1.0, 0.0, [MASK, MASK]), (0.0, 1.0, [11, 12]), (0.0, 0.0, [5, 6]), (0.5, 0.5, [MASK, 12])],
)
def test_shares_can_be_chosen(mask_share, random_share, expected):
    changed, _ = corrupt_tokens(
        torch.tensor([[5, 6]]),
        torch.ones(1, 2, dtype=torch.bool),
        fate=torch.tensor([[0.1, 0.9]]),
        random_ids=torch.tensor([[11, 12]]),
        mask_id=MASK,
        mask_share=mask_share,
        random_share=random_share,
    )
    assert changed.tolist() == [expected]


@pytest.mark.gpu
def test_masked_tokens_are_on_the_device_of_the_token_ids():
    changed, labels = mask(TOKEN_IDS, seeded())
    there = mask(TOKEN_IDS.cuda(), seeded())
    assert torch.equal(there.token_ids.cpu(), changed)
    assert torch.equal(there.labels.cpu(), labels)


# --- pairs ---------------------------------------------------------------------------------------

DOCUMENTS = [
    [f"{name}{i}" for i in range(size)]
    for name, size in {"a": 50, "b": 30, "c": 1, "d": 20}.items()
]


def test_half_of_the_pairs_follow_and_the_others_come_from_other_documents():
    pairs = [
        pair
        for seed in range(60)
        for pair in next_sentence_pairs(DOCUMENTS, generator=seeded(seed))
    ]
    assert len(pairs) == 60 * (49 + 29 + 0 + 19)
    sources = Counter()
    for first, second, label in pairs:
        if label == 0:
            assert second == f"{first[0]}{int(first[1:]) + 1}"
        else:
            assert second[0] != first[0]
            sources[first[0], second[0]] += 1
    random = sum(pair.label for pair in pairs)
    assert_share(random, len(pairs), 0.5)
    # Each other document is as likely, whatever its length, and each of its sentences.
    for name in ("a", "b", "d"):
        total = sum(count for (first, _), count in sources.items() if first == name)
        for other in set("abcd") - {name}:
            assert_share(sources[name, other], total, 1 / 3)
    seconds = {pair.second for pair in pairs if pair.label == 1}
    assert seconds == {sentence for document in DOCUMENTS for sentence in document}


def test_first_sentences_are_in_order_and_the_seed_decides():
    pairs = next_sentence_pairs(DOCUMENTS, generator=seeded())
    assert [pair.first for pair in pairs] == [s for document in DOCUMENTS for s in document[:-1]]
    assert pairs == next_sentence_pairs(DOCUMENTS, generator=seeded())
    assert pairs != next_sentence_pairs(DOCUMENTS, generator=seeded(1))
    with_empty = [[], *DOCUMENTS, []]
    assert pairs == next_sentence_pairs(with_empty, generator=seeded())


# --- joining -------------------------------------------------------------------------------------


@given(st.integers(0, 9), st.none() | st.integers(0, 9), st.integers(3, 24))
def test_long_pairs_are_cut_on_the_longer_side(first_length, second_length, max_length):
    first = list(range(100, 100 + first_length))
    second = None if second_length is None else list(range(200, 200 + second_length))
    token_ids, segment_ids = join_sentences(
        first, second, cls_id=1, sep_id=2, max_length=max_length
    )
    specials = 2 if second is None else 3
    total = specials + first_length + (second_length or 0)
    assert len(token_ids) == len(segment_ids) == min(max_length, total)
    assert token_ids[0] == 1
    assert token_ids[-1] == 2
    kept = [[t for t in token_ids if t >= 200], [t for t in token_ids if 100 <= t < 200]]
    assert kept[1] == first[: len(kept[1])]
    assert kept[0] == (second or [])[: len(kept[0])]
    if second is not None and total > max_length:
        shorter, longer = sorted([(first_length, len(kept[1])), (second_length, len(kept[0]))])
        assert longer[1] >= shorter[1] - 1
        assert shorter[1] == shorter[0] or longer[1] - shorter[1] <= 1
    assert segment_ids == sorted(segment_ids)
    assert sum(segment_ids) == (0 if second is None else len(kept[0]) + 1)


def test_of_two_equally_long_the_second_is_cut():
    assert join_sentences([5, 6], [7, 8], cls_id=1, sep_id=2, max_length=6).token_ids == [
        1, 5, 6, 2, 7, 2,
    ]  # fmt: skip


def test_pairs_of_real_sentences_are_joined_as_by_transformers(course_data):
    path = course_data / "bert_wordpiece" / "vocab.txt"
    theirs = BertTokenizer(vocab=str(path))
    ours = WordPiece(vocabulary=Vocabulary.read(path))
    with gzip.open(course_data / "multi30k" / "val.en.gz", "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")[:200]
    for first, second in pairwise(lines):
        expected = theirs(first, second)
        joined = join_sentences(ours.encode(first), ours.encode(second), cls_id=101, sep_id=102)
        assert joined.token_ids == expected["input_ids"]
        assert joined.segment_ids == expected["token_type_ids"]
        alone = join_sentences(ours.encode(first), cls_id=101, sep_id=102, max_length=12)
        expected = theirs(first, truncation=True, max_length=12)
        assert alone.token_ids == expected["input_ids"]


# --- wrong arguments -----------------------------------------------------------------------------

ROW = torch.tensor([[5, 6]])
CORRUPT = {"chosen": ROW > 0, "fate": torch.rand(1, 2), "random_ids": ROW, "mask_id": MASK}


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("probability must lie in 0 to 1, got 1.1", {"probability": 1.1}),
        ("probability must lie in 0 to 1, got -0.1", {"probability": -0.1}),
        ("special ids must lie in 0 to 19, got 20", {"mask_id": 20}),
        ("special ids must lie in 0 to 19, got -1", {"special_ids": (-1,)}),
        ("leave some of 20 tokens", {"special_ids": tuple(range(20))}),
    ],
)
def test_wrong_options_of_masking_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        mask(ROW, seeded(), **options)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (TypeError, "token_ids must be int64, got torch.int32", {"token_ids": ROW.int()}),
        (TypeError, "chosen must be boolean", {"chosen": ROW}),
        (ValueError, "got -0.1 and 0.1", {"mask_share": -0.1}),
        (ValueError, "got 0.8 and -1", {"random_share": -1}),
        (ValueError, "got 0.8 and 0.3", {"random_share": 0.3}),
    ],
)
def test_wrong_arguments_of_corruption_are_rejected(error, message, options):
    with pytest.raises(error, match=message):
        corrupt_tokens(**{"token_ids": ROW} | CORRUPT | options)


def test_too_few_documents_and_tokens_are_rejected():
    with pytest.raises(ValueError, match="at least two that are not empty, got 1"):
        next_sentence_pairs([["a", "b"], []], generator=seeded())
    for second, least in (([], 3), (None, 2)):
        with pytest.raises(ValueError, match=f"max_length must be at least {least}, got"):
            join_sentences([], second, cls_id=1, sep_id=2, max_length=least - 1)
