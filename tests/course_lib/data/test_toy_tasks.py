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
def test_batch_follows_the_definition_of_the_task(task, distinct):
    batch = draw(task, batch_size=400, distinct=distinct)
    assert batch.src.shape == batch.tgt.shape == batch.alignment.shape == (400, 7)
    assert set(batch.lengths.tolist()) == {3, 4, 5, 6, 7}
    rows = zip(batch.src, batch.tgt, batch.alignment, batch.lengths, strict=True)
    for src, tgt, alignment, length in rows:
        symbols, origin = src[:length].tolist(), alignment[:length].tolist()
        assert tgt[:length].tolist() == list(TASKS[task](symbols)) == [symbols[i] for i in origin]
        assert sorted(origin) == list(range(length))  # each source token is used once
        assert not distinct or len(set(symbols)) == len(symbols)
        assert (src[length:] == PAD_ID).all()
        assert (tgt[length:] == PAD_ID).all()
        assert (alignment[length:] == -1).all()
    ids = set(batch.src[batch.alignment >= 0].tolist())
    assert ids == set(range(FIRST_SYMBOL_ID, FIRST_SYMBOL_ID + 9))


def test_sorting_is_stable():
    batch = draw(draw_sort, num_symbols=2, distinct=False)
    for row, length in enumerate(batch.lengths.tolist()):
        origin, tgt = batch.alignment[row, :length], batch.tgt[row, :length]
        same = tgt[1:] == tgt[:-1]
        assert (origin[1:] > origin[:-1])[same].all()


@for_each_task
def test_batch_is_as_long_as_its_longest_sequence_and_depends_on_the_generator_alone(task):
    sizes = {"batch_size": 1, "min_length": 1, "max_length": 40, "num_symbols": 40}
    before = torch.random.get_rng_state()
    batch = draw(task, **sizes)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert batch.src.size(1) == batch.lengths.max() < 40
    assert torch.equal(batch.src, draw(task, **sizes).src)
    assert batch.src.tolist() != draw(task, seed=2, **sizes).src.tolist()


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
def test_sizes_out_of_range_are_rejected(changes, message):
    for task in TASKS:
        with pytest.raises(ValueError, match=message):
            draw(task, **changes)


def test_previous_tokens_are_shifted_targets_and_a_batch_moves_to_a_device():
    batch = draw(draw_reverse)
    assert (batch.previous[:, 0] == BOS_ID).all()
    assert torch.equal(batch.previous[:, 1:], batch.tgt[:, :-1])
    assert torch.equal(batch.tgt, draw(draw_reverse).tgt)  # unchanged
    moved = batch.to("meta")
    assert all(x.is_meta for x in (moved.src, moved.tgt, moved.alignment, moved.lengths))


# --- agreement -----------------------------------------------------------------------------------

NOUNS = set(SINGULAR_NOUNS + PLURAL_NOUNS)


def head_of(words, position):
    """Return the position of the syntactic head of the word at ``position``.

    It is found from the list of words, without the grammar that generated them.
    """
    word = words[position]
    if word in NOUNS:
        return position
    if word == VERB:
        return next(i for i, w in enumerate(words) if w in NOUNS)
    if word in PREPOSITIONS:
        return position - 1
    return next(i for i in range(position, len(words)) if words[i] in NOUNS)


def test_each_word_is_aligned_to_its_head():
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


def test_every_word_is_drawn_and_the_seed_decides():
    batch, again, other = (
        draw_agreement(300, max_phrases=2, generator=seeded(seed)) for seed in (0, 0, 1)
    )
    assert set(batch.src.unique().tolist()) == set(range(len(WORDS)))
    assert WORDS[PAD_ID] == "<pad>"
    assert batch.src.size(1) == 4 * 2
    assert torch.equal(batch.src, again.src)
    assert not torch.equal(batch.src, other.src)


def test_sentence_is_encoded_word_by_word():
    sentence = f"the {ADJECTIVES[0]} writer of the books {VERB}"
    assert [WORDS[token] for token in encode(sentence)] == sentence.split()
    with pytest.raises(ValueError, match="got 'zebra'"):
        encode("the zebra of the books")


@pytest.mark.parametrize(("batch_size", "max_phrases"), [(0, 2), (1, 0), (1, 13)])
def test_agreement_sizes_out_of_range_are_rejected(batch_size, max_phrases):
    with pytest.raises(ValueError, match=r"must be .* got"):
        draw_agreement(batch_size, max_phrases=max_phrases, generator=seeded())
