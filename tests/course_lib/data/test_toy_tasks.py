"""Are the toy tasks what they say, with the alignment they say, at any size and from a seed?"""

import pytest
import torch

from course_lib.data.agreement import (
    ADJECTIVES,
    PLURAL_NOUNS,
    PREPOSITIONS,
    SINGULAR_NOUNS,
    VERB,
    WORDS,
    draw_agreement,
    encode,
)
from course_lib.data.toy_tasks import (
    BOS_ID,
    FIRST_SYMBOL_ID,
    PAD_ID,
    draw_copy,
    draw_reverse,
    draw_sort,
)

TASKS = {
    draw_copy: lambda tokens: tokens,
    draw_reverse: lambda tokens: tokens[::-1],
    draw_sort: sorted,
}
for_each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(task, seed=0, batch_size=50, **changes):
    sizes = {"min_length": 3, "max_length": 7, "num_symbols": 9} | changes
    return task(batch_size, generator=seeded(seed), **sizes)


@for_each_task
@pytest.mark.parametrize("distinct", [True, False])
def test_targets_follow_the_definition_of_the_task(task, distinct):
    batch = draw(task, distinct=distinct)
    for src, tgt, length in zip(batch.src, batch.tgt, batch.lengths, strict=True):
        symbols = src[:length].tolist()
        assert tgt[:length].tolist() == list(TASKS[task](symbols))
        assert not distinct or len(set(symbols)) == len(symbols)


@for_each_task
@pytest.mark.parametrize("distinct", [True, False])
def test_alignment_says_where_each_target_token_stands_in_the_source(task, distinct):
    batch = draw(task, distinct=distinct)
    for row, length in enumerate(batch.lengths.tolist()):
        origin = batch.alignment[row, :length]
        assert sorted(origin.tolist()) == list(range(length))  # each source token is used once
        assert torch.equal(batch.tgt[row, :length], batch.src[row, origin])
        assert (batch.alignment[row, length:] == -1).all()


def test_equal_symbols_keep_their_order_when_sorted():
    batch = draw(draw_sort, num_symbols=2, distinct=False)
    for row, length in enumerate(batch.lengths.tolist()):
        origin, tgt = batch.alignment[row, :length], batch.tgt[row, :length]
        same = tgt[1:] == tgt[:-1]
        assert (origin[1:] > origin[:-1])[same].all()


@for_each_task
def test_sizes_ids_and_padding_are_as_documented(task):
    batch = draw(task, batch_size=400)
    assert batch.src.shape == batch.tgt.shape == batch.alignment.shape == (400, 7)
    assert batch.lengths.shape == (400,)
    assert set(batch.lengths.tolist()) == {3, 4, 5, 6, 7}
    inside = torch.arange(7) < batch.lengths[:, None]
    for tokens in (batch.src, batch.tgt):
        assert tokens.dtype == torch.long
        assert (tokens[~inside] == PAD_ID).all()
        assert set(tokens[inside].tolist()) == set(range(FIRST_SYMBOL_ID, FIRST_SYMBOL_ID + 9))


@for_each_task
def test_a_batch_is_as_long_as_its_longest_sequence(task):
    batch = draw(task, batch_size=1, min_length=1, max_length=40, num_symbols=40)
    assert batch.src.size(1) == batch.lengths.max() < 40


@for_each_task
def test_one_seed_gives_one_batch_and_another_another(task):
    assert torch.equal(draw(task, seed=1).src, draw(task, seed=1).src)
    assert not torch.equal(draw(task, seed=1).src, draw(task, seed=2).src)


@for_each_task
def test_the_global_random_numbers_are_left_alone(task):
    before = torch.random.get_rng_state()
    draw(task)
    assert torch.equal(torch.random.get_rng_state(), before)


@for_each_task
@pytest.mark.parametrize(("batch_size", "length", "num_symbols"), [(1, 1, 1), (2, 300, 300)])
def test_smallest_and_large_sizes_work(task, batch_size, length, num_symbols):
    batch = draw(task, 0, batch_size, min_length=length, max_length=length, num_symbols=num_symbols)
    assert batch.src.shape == (batch_size, length)


@for_each_task
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"min_length": 0}, "got min_length=0, max_length=7"),
        ({"min_length": 8}, "got min_length=8, max_length=7"),
        ({"num_symbols": 0, "distinct": False}, "num_symbols must be at least 1, got 0"),
        ({"num_symbols": 6, "distinct": True}, "at least max_length=7 for distinct symbols, got 6"),
    ],
)
def test_sizes_out_of_range_are_refused(task, changes, message):
    with pytest.raises(ValueError, match=message):
        draw(task, **changes)


def test_previous_is_what_a_decoder_has_just_written():
    batch = draw(draw_reverse)
    assert (batch.previous[:, 0] == BOS_ID).all()
    assert torch.equal(batch.previous[:, 1:], batch.tgt[:, :-1])
    assert torch.equal(batch.tgt, draw(draw_reverse).tgt)  # asking changes nothing


def test_a_batch_moves_as_a_whole():
    moved = draw(draw_copy).to("meta")
    assert all(x.is_meta for x in (moved.src, moved.tgt, moved.alignment, moved.lengths))


# --- agreement -----------------------------------------------------------------------------------

NOUNS = set(SINGULAR_NOUNS + PLURAL_NOUNS)


def head_of(words, position):
    """Return the position of a word's head, found from the words instead of the grammar."""
    word = words[position]
    if word in NOUNS:
        return position
    if word == VERB:
        return next(i for i, w in enumerate(words) if w in NOUNS)
    if word in PREPOSITIONS:
        return position - 1
    return next(i for i in range(position, len(words)) if words[i] in NOUNS)


def test_each_word_of_a_sentence_belongs_to_the_noun_that_the_grammar_says():
    batch = draw_agreement(200, max_phrases=3, generator=seeded())
    phrases = set()
    for row, length in enumerate(batch.lengths.tolist()):
        words = [WORDS[token] for token in batch.src[row, :length]]
        nouns = [w for w in words if w in NOUNS]
        phrases.add(len(nouns))
        assert len(set(nouns)) == len(nouns)
        assert words[-1] == VERB
        expected = [head_of(words, i) for i in range(length)]
        assert batch.alignment[row].tolist() == expected + [-1] * (batch.src.size(1) - length)
        assert [WORDS[t] for t in batch.tgt[row, :length]] == [words[i] for i in expected]
        assert (batch.src[row, length:] == PAD_ID).all()
        assert (batch.tgt[row, length:] == PAD_ID).all()
    assert phrases == {1, 2, 3}


def test_every_word_of_the_vocabulary_is_drawn_and_none_stands_for_padding():
    batch = draw_agreement(300, max_phrases=3, generator=seeded())
    assert set(batch.src[batch.src != PAD_ID].tolist()) == set(range(1, len(WORDS)))
    assert WORDS[PAD_ID] == "<pad>"
    assert len(set(WORDS)) == len(WORDS)


def test_sentences_come_from_the_seed_alone():
    one, same = (draw_agreement(20, max_phrases=3, generator=seeded(4)) for _ in range(2))
    assert torch.equal(one.src, same.src)
    other = draw_agreement(20, max_phrases=3, generator=seeded(5))
    assert one.src.shape != other.src.shape or not torch.equal(one.src, other.src)


def test_longest_sentence_is_as_long_as_documented():
    for max_phrases in (1, 2, 4):
        batch = draw_agreement(400, max_phrases=max_phrases, generator=seeded())
        assert batch.src.size(1) == 4 * max_phrases


def test_a_sentence_is_encoded_word_by_word():
    sentence = f"the {ADJECTIVES[0]} writer of the books {VERB}"
    assert [WORDS[token] for token in encode(sentence)] == sentence.split()
    with pytest.raises(ValueError, match="got 'zebra'"):
        encode("the zebra of the books")


@pytest.mark.parametrize(("batch_size", "max_phrases"), [(0, 2), (1, 0), (1, 13)])
def test_agreement_sizes_out_of_range_are_refused(batch_size, max_phrases):
    with pytest.raises(ValueError, match=r"must be .* got"):
        draw_agreement(batch_size, max_phrases=max_phrases, generator=seeded())
