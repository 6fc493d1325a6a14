# %% [markdown]
# # Homework 8: BERT
#
# Which word is missing?
#
# ```
# the two dogs ___ all night
# ```
#
# You looked to the left *and* to the right, and you knew more than the word: you knew that it is a
# verb, that it stands in the plural, and what dogs do. Whoever fills such blanks all day must learn
# grammar and a good deal of the world, and nobody needs to label anything. **That is how BERT
# learns.** Here you write what it needs, and in the end a small BERT made of *your* parts fills in
# the blanks that you give it.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `split_word`: a word in pieces | 3 |
# | 2 | `corrupt_tokens` and `mask_tokens`: the blanks, 80/10/10 | 6 |
# | 3 | `next_sentence_pairs`: what comes next? | 3 |
# | 4 | `BertEmbeddings` and `MaskedLanguageModelHead`: the way in and the way out | 4 |
# | 5 | `SentenceClassifier` and `fine_tune`: put it to use | 3 |
# | 6 | a question, answered in words | 3 |
#
# **Time:** about three hours if you have read the chapter [BERT](book:bert). Part 2 takes the
# longest, part 4 is short. Nothing here needs a GPU.
#
# **Afterwards you can** tokenise with subwords, make training data from plain text, say what each
# of BERT's embeddings is for, share weights between its two ends, and fine-tune it.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract: shapes, types, errors. Gradients flow back through all of the model: `detach()`,
#   `.item()`, `float(...)` and `no_grad()` cut them. You may add cells, and functions of your own.
# - The test cells check one thing each. One that passes says so, one that fails says first what
#   is wrong, and mostly gives a hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other numbers. It
#   asks for nothing beyond the docstring, the text and the part that you see. Where the docstring
#   says *at random*, the tests count, with bounds so wide that no honest solution is ever out of
#   luck.
# - Random numbers come from the `generator` that is handed in: `torch.rand(...,
#   generator=generator)`. So the same generator gives the same result, and experiments can be
#   repeated.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.
#
# **If you are stuck,** look at [Common mistakes](book:bert#bert-common-mistakes) in the chapter.

# %% setup="imports"
import os
from collections.abc import Container, Iterable, Sequence
from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.checked_results import as_pair, checked
from course_lib.gradient_checks import assert_gradients_like
from course_lib.tokenization.basic import basic_tokenize
from course_lib.models.bert import BertConfig, Pooler, init_weights
from course_lib.data.bert_pretraining import (
    NOT_MASKED,
    MaskedTokens,
    Sentence,
    NextSentencePair,
    draw_ordinary_tokens,
    join_sentences,
)
from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.masks import padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_close,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    assert_shape,
    call_beside,
    forgive,
)
from course_lib.layers.transformer_layers import Encoder
from course_lib.tokenization.vocabulary import BERT_SPECIALS, Vocabulary
from course_lib.tokenization.wordpiece import CONTINUATION

device = os.environ.get("COURSE_DEVICE", "cpu")  # where the tests put their tensors
torch.set_num_threads(1)  # tensors this small: more threads would only wait for each other
tell_what_passes()  # a line under each test cell that ran to its end


def new_generator():
    """Give a source of random numbers, another one each time."""
    return torch.Generator().manual_seed(int(torch.randint(2**31, ())))


def bare(pieces):
    """Give pieces in a list, without their marks."""
    pieces = pieces.split() if isinstance(pieces, str) else pieces
    if not isinstance(pieces, list | tuple):
        return pieces
    return [p.removeprefix("##") if isinstance(p, str) else p for p in pieces]


def assert_pieces(actual, expected, *, what, hint):
    """Check pieces, be it that they stand in no list, or lack their marks."""
    is_list = isinstance(actual, list | tuple)
    if not (is_list and [*actual] == expected) and bare(actual) == bare(expected):
        forgive("the pieces stand in no list, or lack their marks", "split_word-pieces")
        return
    assert_equal(actual, expected, what=what, hint=hint)


def ids_and_labels(result, token_ids, *, wanted=("token_ids", "labels")):
    """Give the two tensors that were made of tokens; those wanted are known to be like them.

    Where labels alone are wanted, either order will do: only labels hold -100.
    """
    hint = "return MaskedTokens(token_ids=..., labels=...)"
    changed, labels = as_pair(result, "two results are expected", hint=hint)
    holding = [isinstance(x, Tensor) and bool((x == NOT_MASKED).any()) for x in (changed, labels)]
    if "token_ids" not in wanted and holding == [True, False]:
        changed, labels = labels, changed
        forgive("token_ids and labels have changed places", "corrupt_tokens-fates")
    alike = "token_ids and labels have the shape and the dtype of the tokens that come in"
    for what, ids in (("token_ids", changed), ("labels", labels)):
        if what in wanted:
            checked(ids, token_ids.shape, what=what, hint=alike, dtype=torch.int64)
    return changed, labels


def assert_share(part, whole, low, high, *, what, hint=""):
    """Check that a share lies within bounds; they are wide enough for any luck."""
    share = int(part.sum()) / max(int(whole.sum()), 1)
    if not low <= share <= high:
        raise CheckFailure(f"{what}: {share:.0%}, expected about {(low + high) / 2:.0%}", hint=hint)


def parameters_of(module, part=""):
    """Give the state of a module, or of a part of it, without buffers: of these it may have any."""
    buffers = {name for name, _ in module.named_buffers()}
    state = {name: x for name, x in module.state_dict().items() if name not in buffers}
    return {name.removeprefix(part): x for name, x in state.items() if name.startswith(part)}


def assert_parameters(actual, expected, *, what, hint):
    """Check names and sizes of the parameters in a state; where many differ, a few are named."""
    for verb, names in (
        ("lacks", set(expected) - set(actual)),
        ("has", set(actual) - set(expected)),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise CheckFailure(f"{what} {verb} {', '.join(sorted(names)[:3])}{more}", hint=hint)
    for name, tensor in expected.items():
        assert_shape(actual[name], tensor.shape, what=name, hint=hint)


# %% [markdown]
# ## Part 1: words in pieces
#
# BERT's vocabulary of 30,000 entries holds *playful*, but not *playfulness*. WordPiece writes rare
# words in pieces that are there: *playful ##ness*. A piece that does not begin a word carries the
# mark `##` (its name here is `CONTINUATION`), so that *##able* in *payable* is another piece than
# the word *able*. The chapter tells where the pieces come from:
# [WordPiece](book:tokenization#wordpiece).
#
# The search is **greedy**: always the longest piece that fits, from the left, and never back. Try
# *unwanted* on paper, with the pieces of the docstring's first example. And what about a word whose
# longest first piece leads to a dead end?

# %% solution="split_word" of="course_lib.tokenization.wordpiece"

# %% test="split_word-pieces" points=1 read="tokenization#wordpiece"
# A word is written in its longest pieces, from the left
pieces = {"play", "pl", "##ing", "##in", "##g", "un", "##play", "##ed", "##p", "##l", "ed"}
for word, expected in (
    ("play", ["play"]),
    ("playing", ["play", "##ing"]),
    ("unplayed", ["un", "##play", "##ed"]),
):
    assert_equal(
        split_word(word, pieces),
        expected,
        what=f"the pieces of {word!r}",
        hint="try the longest piece first; all but the first carry the mark ##, and the last one "
        "reaches to the end of the word",
        mistakes={
            "pieces inside a word begin with ##": [p.removeprefix("##") for p in expected],
            "the longest piece that fits, not the shortest": ["pl"],
            "these are the letters, not the pieces": list(word),
        },
    )
### BEGIN HIDDEN TESTS
from course_lib.tokenization.wordpiece import split_word as reference_split

letters = [*"abc"]
for _ in range(8):
    drawn = ["".join(letters[i] for i in torch.randint(3, (n,))) for n in (1, 2, 2, 3, 3, 4)]
    pieces = {*letters, *(f"##{x}" for x in letters), *drawn, *(f"##{x}" for x in drawn[::2])}
    pieces = Vocabulary(tokens=(*pieces,), specials=(), unknown=None)  # knows `in`, and no order
    word = "".join(letters[i] for i in torch.randint(3, (9,)))
    expected = reference_split(word, pieces)
    assert_equal(
        split_word(word, pieces),
        expected,
        what="the pieces of a word",
        hint="the longest piece that fits, again and again; ## before all but the first",
        mistakes={
            "pieces inside a word begin with ##": [p.removeprefix("##") for p in expected],
            "the first piece does not begin with ##": [f"##{expected[0]}", *expected[1:]],
            "the pieces are in the wrong order": expected[::-1],
        },
    )
hint = "a word is looked for as it is written; lower case is another function's business"
assert_equal(split_word("Un", {"Un", "un"}), ["Un"], what="a word with a capital", hint=hint)
begins_inside = split_word("cd", {"##cd", "##c", "##d"}) == ["##cd"]
hint = "a piece with ## stands inside a word alone"
assert_equal(begins_inside, False, what="whether a word begins with a piece with ##", hint=hint)
### END HIDDEN TESTS

# %% test="split_word-unknown" points=1 read="tokenization#wordpiece"
# A word that can't be written in pieces is unknown, the whole of it
pieces = {"un", "##want", "##wan", "##ted", "##ed"}
assert_equal(
    split_word("unwantedX", pieces),
    ["[UNK]"],
    what="the pieces of 'unwantedX'",
    hint="one unknown for the whole word, also when its first pieces were found",
    mistakes={
        "the pieces that were found must go too": ["un", "##want", "##ed", "[UNK]"],
        "one unknown for the whole word": ["un", "##want", "##ed"],
    },
)
### BEGIN HIDDEN TESTS
hint = "one unknown for the whole word, also when its first pieces were found"
pieces = {"ab", "##cd", "##c", "a", "##a", "abc", "e", "##e"}
for word in ("xab", "abx", "abxcd"):
    assert_equal(split_word(word, pieces), ["[UNK]"], what="a word without pieces", hint=hint)
greedy = "greedy search never goes back: after the longest first piece there is no way on here"
assert_equal(split_word("abcd", pieces), ["[UNK]"], what="a dead end", hint=greedy)
known = "what is written in pieces to its end is not unknown"
assert_pieces(split_word("ae", pieces), ["a", "##e"], what="a word with pieces", hint=known)
hint = "the argument unknown says what to write, wherever that is"
for word, most in (("xyz", 100), ("abx", 100), ("xyxyx", 3)):
    named = split_word(word, pieces, unknown="<?>", max_characters=most)
    assert_equal(named, ["<?>"], what="an unknown word", hint=hint)
### END HIDDEN TESTS

# %% test="split_word-limits" points=1 read="tokenization#wordpiece"
# Words that are too long are unknown, and an empty word has no pieces
pieces = {"a", "##a"}
found = split_word("aaa", pieces, max_characters=3)
assert_pieces(found, ["a", "##a", "##a"], what="a word of 3", hint="3 are allowed, 4 are too long")
found = split_word("aaaa", pieces, max_characters=3)
assert_equal(found, ["[UNK]"], what="a word of 4", hint="3 are allowed, 4 are too long")
assert_pieces(split_word("", pieces), [], what="an empty word", hint="no letters, no pieces")
### BEGIN HIDDEN TESTS
most = int(torch.randint(4, 30, ()))
for length, expected in ((most, ["a", *["##a"] * (most - 1)]), (most + 1, ["[UNK]"])):
    found = split_word("a" * length, pieces, max_characters=most)
    assert_pieces(found, expected, what="a word near the limit", hint="longer than max_characters")
hint = "100 are allowed unless max_characters says otherwise"
found = split_word("a" * 100, pieces)
assert_pieces(found, ["a", *["##a"] * 99], what="the pieces of a word of 100", hint=hint)
assert_equal(
    split_word("a" * 101, pieces), ["[UNK]"], what="a word of 101", hint="100 is the limit"
)
assert_pieces(split_word("", pieces), [], what="an empty word", hint="no letters, no pieces")
hint = "only a word that is longer than max_characters is too long"
found = split_word("a", pieces, max_characters=1)
assert_pieces(found, ["a"], what="a word of 1, at the limit", hint=hint)
hint = "max_characters must be at least 1: raise ValueError"
for word in ("", "a"):
    assert_raises(ValueError, split_word, word, pieces, max_characters=0, hint=hint)
hint = "too long is unknown, also when the vocabulary holds the word"
found = split_word("aaaa", {*pieces, "aaaa"}, max_characters=3)
assert_equal(found, ["[UNK]"], what="a word of the vocabulary that is too long", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: blanks
#
# Some tokens are **chosen**, and the model has to guess what they were. If every chosen token
# became `[MASK]`, the model could be lazy about all others, and would never meet a `[MASK]` again
# once it is put to use. So, of the chosen tokens, 80 % become `[MASK]`, 10 % some random token,
# and 10 % stay as they are: [Masking tokens](book:bert#masking-tokens).
#
# You write this in two steps. `corrupt_tokens` is handed everything that chance decides, so you can
# check it by hand. `mask_tokens` then throws the dice. The labels say what each chosen token *was*;
# at all other places they are -100 (`NOT_MASKED`), which PyTorch's cross-entropy leaves out.

# %% solution="corrupt_tokens" of="course_lib.data.bert_pretraining"

# %% test="corrupt_tokens-fates" points=1 read="bert#masking-tokens"
# Chosen tokens are masked, replaced or kept, as their fate says; the others stay
token_ids = torch.tensor([[11, 12, 13, 14, 15]]).to(device)
chosen = torch.tensor([[True, True, True, False, True]]).to(device)
fate = torch.tensor([[0.5, 0.85, 0.95, 0.1, 0.79]]).to(device)
random_ids = torch.tensor([[21, 22, 23, 24, 25]]).to(device)
changed, _ = ids_and_labels(
    corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=4),
    token_ids,
    wanted=["token_ids"],
)
assert_close(
    changed,
    torch.tensor([[4, 22, 13, 14, 4]]).to(device),
    what="token_ids",
    hint="below 0.8 it becomes [MASK], from there below 0.9 a random token, above it stays",
    mistakes={
        "only chosen tokens may change": torch.tensor([[4, 22, 13, 4, 4]]).to(device),
        "10 % stay as they are": torch.tensor([[4, 22, 23, 14, 4]]).to(device),
        "every chosen token is masked; 80 % are": torch.tensor([[4, 4, 4, 14, 4]]).to(device),
        "10 % become a random token": torch.tensor([[4, 12, 13, 14, 4]]).to(device),
        "random and kept have changed places": torch.tensor([[4, 12, 23, 14, 4]]).to(device),
        "-100 belongs in the labels alone: make them in a tensor of their own": torch.tensor(
            [[4, 22, 13, -100, 4]]
        ).to(device),
        "these are the labels; token_ids come first": torch.tensor([[11, 12, 13, -100, 15]]).to(
            device
        ),
    },
)
### BEGIN HIDDEN TESTS
from course_lib.data.bert_pretraining import corrupt_tokens as reference_corrupt

token_ids = torch.randint(5, 30, (6, 20)).to(device)
random_ids = torch.randint(40, 60, (6, 20)).to(device)
chosen, fate = (torch.rand(6, 20) < 0.7).to(device), torch.rand(6, 20).to(device)
# The shares are whole eighths: as floats they are exact, and so are the borders between fates.
fate[0, :4] = torch.tensor([0.5, 0.75, 0.4999, 0.7499]).to(device)
chosen[0, :4] = True
for pair in ((), (0.5, 0.25), (0.0, 0.1), (1.0, 0.0), (0.5, 0.0)):
    shares = dict(zip(("mask_share", "random_share"), pair, strict=False))
    arguments = {"fate": fate, "random_ids": random_ids, "mask_id": 3, **shares}
    expected = reference_corrupt(token_ids, chosen, **arguments)
    changed, _ = ids_and_labels(
        corrupt_tokens(token_ids, chosen, **arguments), token_ids, wanted=["token_ids"]
    )
    everywhere = reference_corrupt(token_ids, torch.ones_like(chosen), **arguments)
    assert_close(
        changed,
        expected.token_ids,
        what="token_ids" if not shares else "token_ids, with other shares",
        hint="below mask_share masked; below mask_share + random_share random; else kept",
        mistakes={
            "only chosen tokens may change": everywhere.token_ids,
            "-100 belongs in the labels alone: make them in a tensor of their own": (
                expected.token_ids.masked_fill(~chosen, -100)
            ),
            "these are the labels; token_ids come first": expected.labels,
        },
    )
### END HIDDEN TESTS

# %% test="corrupt_tokens-labels" points=1 read="bert#masking-tokens"
# The labels are the true tokens where one was chosen, and -100 elsewhere
token_ids = torch.tensor([[11, 12, 13, 14]]).to(device)
chosen = torch.tensor([[True, True, True, False]]).to(device)
fate = torch.tensor([[0.5, 0.85, 0.95, 0.1]]).to(device)
random_ids = torch.tensor([[21, 22, 23, 24]]).to(device)
_, labels = ids_and_labels(
    corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=4),
    token_ids,
    wanted=["labels"],
)
assert_close(
    labels,
    torch.tensor([[11, 12, 13, -100]]).to(device),
    what="labels",
    hint="also a chosen token that stays as it is must be guessed",
    mistakes={
        "a token that was not chosen has the label -100": token_ids,
        "chosen tokens that stay must be guessed too": torch.tensor([[11, 12, -100, -100]]).to(
            device
        ),
        "the label is what the token was, not what it became": torch.tensor([[4, 22, 13, -100]]).to(
            device
        ),
        "the label is what the token was, before any was masked": torch.tensor(
            [[4, 12, 13, -100]]
        ).to(device),
        "-100 belongs where nothing was chosen": torch.tensor([[-100, -100, -100, 14]]).to(device),
        "0 is a token; -100 is what the loss leaves out": torch.tensor([[11, 12, 13, 0]]).to(
            device
        ),
    },
)
### BEGIN HIDDEN TESTS
token_ids = torch.randint(5, 30, (6, 20)).to(device)
random_ids = torch.randint(40, 60, (6, 20)).to(device)
chosen, fate = (torch.rand(6, 20) < 0.5).to(device), torch.rand(6, 20).to(device)
expected = token_ids.masked_fill(~chosen, -100)
kept = fate >= 0.9
_, labels = ids_and_labels(
    corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=3),
    token_ids,
    wanted=["labels"],
)
assert_close(
    labels,
    expected,
    what="labels",
    hint="the true token where one was chosen, -100 elsewhere",
    mistakes={
        "a token that was not chosen has the label -100": token_ids,
        "chosen tokens that stay must be guessed too": expected.masked_fill(kept, -100),
        "the label is what the token was, before any was masked": expected.masked_fill(
            chosen & (fate < 0.8), 3
        ),
        "-100 belongs where nothing was chosen": token_ids.masked_fill(chosen, -100),
        "0 is a token; -100 is what the loss leaves out": token_ids.masked_fill(~chosen, 0),
    },
)
### END HIDDEN TESTS

# %% test="corrupt_tokens-errors" points=1 read="bert#bert-common-mistakes"
# The arguments are left as they are, and what does not fit is refused
token_ids = torch.tensor([[11, 12]]).to(device)
chosen = torch.tensor([[True, False]]).to(device)
rest = {"fate": torch.zeros(1, 2).to(device), "random_ids": token_ids + 10, "mask_id": 4}
hint = "methods that end in _ and assignments such as x[mask] = y change a tensor in place"
assert_keeps_inputs(corrupt_tokens, token_ids, chosen, **rest, hint=hint)
assert_raises(TypeError, corrupt_tokens, token_ids.int(), chosen, **rest, hint="int64 alone")
### BEGIN HIDDEN TESTS
everything = torch.ones_like(chosen)
for fate in (0.1, 0.85, 0.95):
    rest["fate"] = torch.full((1, 2), fate).to(device)
    assert_keeps_inputs(corrupt_tokens, token_ids, everything, **rest, hint=hint)
assert_raises(TypeError, corrupt_tokens, token_ids.float(), chosen, **rest, hint="int64 alone")
assert_raises(TypeError, corrupt_tokens, token_ids.int(), chosen, **rest, hint="int64 alone")
hint = "chosen must be boolean"
assert_raises(TypeError, corrupt_tokens, token_ids, chosen.long(), **rest, hint=hint)
hint = "no share may be negative, nor may the two make more than 1: ValueError"
for mask_share, random_share in ((-0.25, 0.5), (0.5, -0.25), (0.75, 0.5)):
    shares = {"mask_share": mask_share, "random_share": random_share}
    assert_raises(ValueError, corrupt_tokens, token_ids, chosen, **rest, **shares, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# Now the dice. `draw_ordinary_tokens` of the course's library draws the random tokens for you: its
# docstring says how (`help(draw_ordinary_tokens)`). What remains for you is *who is chosen*, and
# that needs care with the special tokens: a `[CLS]` that is guessed teaches nothing, and a guessed
# `[PAD]` teaches that sentences end in padding.

# %% solution="mask_tokens" of="course_lib.data.bert_pretraining"

# %% test="mask_tokens-chosen" points=1 read="bert#masking-tokens"
# Each token is chosen with the given probability, by itself, and by the generator
token_ids = torch.randint(5, 30, (40, 50)).to(device)
settings = {"mask_id": 4, "vocab_size": 30, "special_ids": [0, 1, 2, 3]}
for probability, low, high in ((0.0, 0, 0), (0.5, 0.4, 0.6), (1.0, 1, 1)):
    _, labels = ids_and_labels(
        mask_tokens(token_ids, **settings, generator=new_generator(), probability=probability),
        token_ids,
    )
    assert_share(
        labels != -100, token_ids > 4, low, high, what=f"chosen with probability {probability}",
        hint="choose where torch.rand(...) < probability",
    )  # fmt: skip
### BEGIN HIDDEN TESTS
token_ids = torch.randint(5, 30, (80, 50)).to(device)
ordinary = token_ids > 4
_, labels = ids_and_labels(mask_tokens(token_ids, **settings, generator=new_generator()), token_ids)
hint = "choose where torch.rand(...) < probability, which is 0.15 if nothing else is asked for"
what = "chosen if nothing else is asked for"
assert_share(labels != -100, ordinary, 0.115, 0.185, what=what, hint=hint)
hint = "choose where torch.rand(...) < probability"
_, labels = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=0.4), token_ids
)
chosen = labels != -100
assert_share(chosen, ordinary, 0.35, 0.45, what="chosen with probability 0.4", hint=hint)
for what, part in (("in a row", chosen.double().mean(1)), ("in a column", chosen.double().mean(0))):
    if not bool(((part > 0.02) & (part < 0.9)).all()):
        hint = "each token is chosen by itself: draw a number for each"
        raise CheckFailure(f"the share that is chosen {what} should be near 40 %", hint=hint)
counts = chosen.sum(1)
if bool((counts == counts[0]).all()):
    hint = "each token is chosen by itself: a row may hold any number of them"
    raise CheckFailure("in every row the same number of tokens is chosen", hint=hint)
few, seed = token_ids[:20, :20], int(torch.randint(2**31, ()))
twice = [
    ids_and_labels(mask_tokens(few, **settings, generator=torch.Generator().manual_seed(seed)), few)
    for _ in range(2)
]
hint = "draw every random number from the generator that is handed in"
for name, first, second in zip(("token_ids", "labels"), *twice, strict=True):
    assert_close(first, second, what=f"{name}, drawn again with the same seed", hint=hint)
other, _ = ids_and_labels(mask_tokens(few, **settings, generator=new_generator()), few)
if torch.equal(other, twice[0][0]):
    raise CheckFailure("another generator gives the same tokens", hint=hint)
# Bound beside your code, it is one generator for all calls.
hide = call_beside(partial, mask_tokens, few, **settings, generator=new_generator())
batches = [ids_and_labels(hide(probability=0.9), few) for _ in range(8)]
changed, labels = (torch.stack(parts) for parts in zip(*batches, strict=True))
chosen, masked, replaced = labels != -100, changed == 4, (changed != few) & (changed != 4)
both, swapped = chosen[1:] & chosen[:-1], replaced[1:] & replaced[:-1]
for what, next_ones, ones in (
    ("chooses the same tokens", chosen[1:], chosen[:-1]),
    ("masks the same tokens", masked[1:][both], masked[:-1][both]),
    ("puts in the same tokens", changed[1:][swapped], changed[:-1][swapped]),
):
    if torch.equal(next_ones, ones) and len(ones.unique()) > 1:
        hint = "draw from the generator itself, which goes on; its seed stays as it is"
        raise CheckFailure(f"the next call with the same generator {what}", hint=hint)
counts = chosen.sum((1, 2))
if bool((counts == counts[0]).all()):
    hint = "each token is chosen by itself: a batch may hold any number of them"
    raise CheckFailure("in every batch the same number of tokens is chosen", hint=hint)
### END HIDDEN TESTS

# %% test="mask_tokens-specials" points=1 read="bert#masking-tokens"
# Special tokens are never chosen and never put in
token_ids = torch.tensor([[2, 7, 8, 9, 3, 10, 11, 3, 0, 0]]).repeat(200, 1).to(device)
settings = {"mask_id": 4, "vocab_size": 12, "special_ids": [0, 1, 2, 3]}
special = torch.isin(token_ids, torch.tensor([0, 1, 2, 3], device=device))
changed, labels = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=1.0), token_ids
)
hint = "leave out special tokens when you choose: torch.isin finds them"
assert_close(
    labels[special],
    torch.full_like(token_ids[special], -100),
    what="labels of special tokens",
    hint=hint,
)
assert_close(changed[special], token_ids[special], what="special tokens", hint=hint)
### BEGIN HIDDEN TESTS
token_ids = torch.randint(20, (100, 50)).to(device)
special_ids = sorted(int(i) for i in torch.randperm(19)[:5])
settings = {"mask_id": 19, "vocab_size": 20, "special_ids": special_ids}
special = torch.isin(token_ids, torch.tensor(special_ids, device=device))
for probability in (0.5, 1.0):
    changed, labels = ids_and_labels(
        mask_tokens(token_ids, **settings, generator=new_generator(), probability=probability),
        token_ids,
    )
    nothing = torch.full_like(token_ids[special], -100)
    assert_close(labels[special], nothing, what="labels of special tokens", hint=hint)
    assert_close(changed[special], token_ids[special], what="special tokens", hint=hint)
    replaced = (changed != token_ids) & (changed != 19)
    if bool(torch.isin(changed[replaced], torch.tensor(special_ids, device=device)).any()):
        hint = "draw_ordinary_tokens leaves out the ids that you name"
        raise CheckFailure("a special token was put in at random", hint=hint)
assert_keeps_inputs(mask_tokens, token_ids, **settings, generator=new_generator(), probability=1.0)
nothing_special = settings | {"special_ids": (), "generator": new_generator()}
ids_and_labels(mask_tokens(token_ids, **nothing_special), token_ids)
rest = {"mask_id": 19, "special_ids": special_ids, "generator": new_generator()}
hint = "probability must lie in 0 to 1: ValueError"
for wrong in (-0.1, 1.1):
    assert_raises(
        ValueError, mask_tokens, token_ids, **rest, vocab_size=20, probability=wrong, hint=hint
    )
hint = (
    "mask_id and special ids must lie below vocab_size, none may be negative, and some tokens be "
    "ordinary: ValueError"
)
assert_raises(ValueError, mask_tokens, token_ids % 19, **rest, vocab_size=19, hint=hint)
for wrong in (
    {"special_ids": [*range(20)]},
    {"special_ids": [20]},
    {"special_ids": [-1]},
    {"mask_id": -1},
):
    assert_raises(ValueError, mask_tokens, token_ids, **rest | wrong, vocab_size=20, hint=hint)
hint = "token_ids must be int64: TypeError"
assert_raises(TypeError, mask_tokens, token_ids.int(), **rest, vocab_size=20, hint=hint)
### END HIDDEN TESTS

# %% test="mask_tokens-fates" points=1 read="bert#masking-tokens"
# Of the chosen tokens, 80 % become [MASK], 10 % a random token, 10 % stay
token_ids = torch.randint(5, 1000, (40, 50)).to(device)
settings = {"mask_id": 4, "vocab_size": 1000, "special_ids": [0, 1, 2, 3]}
USUAL_SHARES = {  # masked, replaced and kept, of the chosen, in percent
    (100, 0, 0): "every chosen token is masked: draw a fate for each, evenly from 0 to 1",
    (0, 100, 0): "every chosen token is replaced: 80 % become [MASK]",
    (0, 0, 100): "every chosen token stays: 80 % become [MASK]",
    (33, 33, 33): "the three fates are equally likely: leave the shares to corrupt_tokens",
    (80, 20, 0): "no chosen token stays as it is: 10 % do",
    (80, 0, 20): "no chosen token is replaced: 10 % become a random one",
    (90, 0, 10): "no chosen token is replaced: 10 % become a random one, 80 % [MASK]",
    (90, 10, 0): "no chosen token stays as it is: 10 % do, and 80 % become [MASK]",
    (20, 10, 70): "fate is turned round: hand it on as it was drawn",
}


def assert_fates(token_ids, changed, chosen, *, slack, hint=""):
    """Check the shares of the three fates, within so many percent; name the mistake they show."""
    masked, kept = (changed == 4) & chosen, (changed == token_ids) & chosen
    counts = torch.stack((masked.sum(), (chosen & ~masked & ~kept).sum(), kept.sum()))
    shares = (100 * counts / chosen.sum().clamp(min=1)).tolist()

    def are(expected, slack):
        """Compare the shares; where none is expected, next to none must be there."""
        pairs = zip(shares, expected, strict=True)
        return all(abs(s - e) <= (slack if e else 0.5) for s, e in pairs)

    for what, first in (("row", masked[:, :1]), ("column", masked[:1])):
        if len(masked.unique()) > 1 and bool((masked == first).all()):
            one_each = "draw a fate for each token: token_ids.shape is the shape"
            raise CheckFailure(f"in each {what} all tokens are masked, or none", hint=one_each)
    if not are((80, 10, 10), slack):
        known = [words for usual, words in USUAL_SHARES.items() if are(usual, 5)]
        found = "of the chosen, {:.0f} % are masked, {:.0f} % replaced and {:.0f} % kept"
        own = "hand corrupt_tokens a fate for each token, drawn evenly from 0 to 1"
        raise CheckFailure(
            f"{found.format(*shares)}; expected about 80, 10 and 10",
            hint=hint or [*known, own][0],
        )


def assert_all_chosen(labels):
    """Check that with probability 1 every token is chosen, as none is special here."""
    hint = (
        "a token is chosen with the probability that is asked for, unless it is special; and "
        "[MASK] is special where special_ids names it"
    )
    all_chosen = torch.ones_like(labels, dtype=torch.bool)
    assert_close(labels != -100, all_chosen, what="who is chosen with probability 1", hint=hint)


changed, labels = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=1.0), token_ids
)
assert_all_chosen(labels)
assert_fates(token_ids, changed, labels != -100, slack=6)
in_vocabulary = "every id lies from 0 up to vocab_size - 1: see draw_ordinary_tokens"
if bool(((changed < 0) | (changed >= 1000)).any()):
    raise CheckFailure("token_ids holds what no vocabulary of 1000 has", hint=in_vocabulary)
### BEGIN HIDDEN TESTS
token_ids = torch.randint(5, 1000, (80, 50)).to(device)
token_ids[0, :3] = 4  # [MASK] already, which special_ids does not name
changed, labels = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=1.0), token_ids
)
assert_all_chosen(labels)
assert_fates(token_ids, changed, labels != -100, slack=4)
changed, labels = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=0.5), token_ids
)
chosen = labels != -100
two_draws = "who is chosen and what becomes of it are two draws, with new numbers for the second"
assert_fates(token_ids, changed, chosen, slack=6, hint=two_draws)
hint = "only chosen tokens may change"
kept, everywhere = changed == token_ids, torch.ones_like(chosen)
assert_close(kept | chosen, everywhere, what="where tokens stay if not chosen", hint=hint)
hint = "a label is what the token was, not what it became"
assert_close(labels[chosen], token_ids[chosen], what="labels of chosen tokens", hint=hint)
token_ids = torch.randint(5, 15, (50, 100)).to(device)
settings = {"mask_id": 4, "vocab_size": 15, "special_ids": [0, 1, 2, 3]}
changed, _ = ids_and_labels(
    mask_tokens(token_ids, **settings, generator=new_generator(), probability=1.0), token_ids
)
if bool(((changed < 0) | (changed >= 15)).any()):  # before anything is counted by its id
    raise CheckFailure("token_ids holds what the vocabulary does not", hint=in_vocabulary)
put_in = changed[(changed != token_ids) & (changed != 4)].bincount(minlength=15)[5:]
hint = "the random tokens are all ordinary ones, each as likely as the others"
if int(put_in.min()) < 12 or int(put_in.max()) > 110:
    raise CheckFailure("the random tokens are not equally likely", hint=hint)
swapped = (changed != token_ids) & (changed != 4)
for what, dim in (("row", 0), ("column", 1)):
    lines = zip(changed.unbind(dim), swapped.unbind(dim), strict=True)
    if all(len(line[places].unique()) < 2 for line, places in lines):
        hint = "draw a random token for each place: token_ids.shape is the shape"
        raise CheckFailure(f"all random tokens of a {what} are the same", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: what comes next?
#
# The second thing that BERT learns from plain text: it reads two sentences and says whether the
# second *follows* the first in its document, or was taken from anywhere: [Next-sentence
# prediction](book:bert#next-sentence-prediction). Later models dropped this task: a random
# sentence is often about something else, and its topic alone gives it away.
#
# Each sentence that has a next one begins one pair. A coin decides: heads, its true next one
# (label 0); tails, a sentence of another document (label 1). First draw *which* other document
# (one that holds sentences), then which of its sentences.
# `torch.randint(count, (), generator=generator)` draws a number.

# %% solution="next_sentence_pairs" of="course_lib.data.bert_pretraining"


# %% setup="documents"
def make_documents(*lengths):
    """Make documents whose sentences say where they come from."""
    return [[f"{number}.{place}" for place in range(n)] for number, n in enumerate(lengths)]


def unpacked(pairs):
    """Give first, second and label of each pair, once they are known to be that."""
    hint = "return a list of NextSentencePair(first=..., second=..., label=...)"
    try:
        triples = [(first, second, label) for first, second, label in pairs]
    except (TypeError, ValueError):
        raise CheckFailure("pairs are expected", hint=hint) from None
    for first, second, label in triples:
        if not (type(first) is str and type(second) is str):
            raise CheckFailure("a pair should hold two sentences, as they were given", hint=hint)
        is_number = type(label) in (int, bool) or (type(label) is Tensor and label.dim() == 0)
        if not (is_number and label in (0, 1)):
            raise CheckFailure("a label is neither 0 nor 1", hint=hint)
        if type(label) is not int:
            forgive("a label is no int", "next_sentence_pairs-order")
    return triples


# %% test="next_sentence_pairs-order" points=1 read="bert#next-sentence-prediction"
# Each sentence but the last of a document begins one pair, in order
documents = make_documents(3, 1, 2, 0)  # the last one is empty
pairs = unpacked(next_sentence_pairs(documents, generator=new_generator()))
assert_equal(
    [pair[0] for pair in pairs],
    ["0.0", "0.1", "2.0"],
    what="the first sentences",
    hint="one pair for each sentence that has a next one in its document",
    mistakes={
        "the last sentence of a document has no next one": [
            "0.0",
            "0.1",
            "0.2",
            "1.0",
            "2.0",
            "2.1",
        ],
        "documents must not run into each other": ["0.0", "0.1", "0.2", "1.0", "2.0"],
    },
)
for first, second, label in pairs:
    an_int = "the label is the int 0 or 1; .item() makes one of a tensor, int() one of a bool"
    assert_equal(type(label) is int, True, what="whether a label is an int", hint=an_int)
    if label == 0:
        number, place = first.split(".")
        hint = "label 0: the second is the true next one; label 1: it is random"
        follows = f"{number}.{int(place) + 1}"
        assert_equal(second, follows, what="the sentence that follows", hint=hint)
### BEGIN HIDDEN TESTS
documents = make_documents(0, 40, 1, 7, 0, 2)
pairs = unpacked(next_sentence_pairs(documents, generator=new_generator()))
expected = [d[place] for d in documents for place in range(len(d) - 1)]
hint = "one pair for each sentence that has a next one in its document; documents may be empty"
assert_equal([pair[0] for pair in pairs], expected, what="the first sentences", hint=hint)
for first, second, label in pairs:
    number, place = first.split(".")
    if label == 1 and second.startswith(f"{number}."):
        forgive("a random sentence of the same document", "next_sentence_pairs-random")
        continue
    follows = second == f"{number}.{int(place) + 1}"
    hint = "label 0: the second is the true next one; label 1: it is random"
    assert_equal(label, 0 if follows else 1, what="the label", hint=hint)
seed = int(torch.randint(2**31, ()))
twice = [
    unpacked(next_sentence_pairs(documents, generator=torch.Generator().manual_seed(seed)))
    for _ in range(2)
]
hint = "draw every random number from the generator that is handed in"
assert_equal(twice[0], twice[1], what="the pairs, drawn again with the same seed", hint=hint)
in_tokens = [[[number, place] for place in range(30)] for number in range(2)]
pairs = list(next_sentence_pairs(in_tokens, generator=new_generator()))
hint = "a sentence may be a list of tokens, too: hand it on as it is"
expected = [sentence for document in in_tokens for sentence in document[:-1]]
assert_equal([list(pair)[0] for pair in pairs], expected, what="sentences of tokens", hint=hint)
kinds = {type(list(pair)[1]).__name__ for pair in pairs}
assert_equal(kinds, {"list"}, what="the types of second sentences of tokens", hint=hint)
hint = "leave out empty documents in a list of your own: remove() and del change the one given"
few = make_documents(2, 0, 1, 0)
assert_keeps_inputs(next_sentence_pairs, few, generator=new_generator(), hint=hint)
hint = "a random sentence needs another document to come from: ValueError for fewer than two"
for too_few in ([], documents[1:2], [documents[1], [], []]):
    assert_raises(ValueError, next_sentence_pairs, too_few, generator=new_generator(), hint=hint)
### END HIDDEN TESTS

# %% test="next_sentence_pairs-balance" points=1 read="bert#next-sentence-prediction"
# Half of the pairs follow each other
pairs = unpacked(next_sentence_pairs(make_documents(61, 61), generator=new_generator()))
labels = torch.tensor([int(label) for _, _, label in pairs])
hint = "toss a coin for each pair: torch.randint(2, (), generator=generator)"
assert_share(labels == 0, labels >= 0, 0.25, 0.75, what="pairs that follow each other", hint=hint)
### BEGIN HIDDEN TESTS
documents = make_documents(201, 201)
make = call_beside(partial, next_sentence_pairs, documents, generator=new_generator())
pairs = unpacked(make())
labels = torch.tensor([int(label) for _, _, label in pairs])
assert_share(labels == 0, labels >= 0, 0.35, 0.65, what="pairs that follow each other", hint=hint)
changes = labels.diff() != 0
hint = "each pair has its own coin; here the labels follow a pattern"
assert_share(changes, torch.ones_like(changes), 0.35, 0.65, what="changes of label", hint=hint)
alike = labels == torch.tensor([int(label) for _, _, label in unpacked(make())])
what = "labels that the next call with the same generator gives again"
hint = "toss the coin with the generator itself, which goes on; its seed stays as it is"
assert_share(alike, torch.ones_like(alike), 0.35, 0.65, what=what, hint=hint)
### END HIDDEN TESTS

# %% test="next_sentence_pairs-random" points=1 read="bert#next-sentence-prediction"
# Random sentences come from any other document, and from anywhere in it
documents = make_documents(31, 3)


def random_ones(documents, pairs):
    """Give first and second where that is not the true next one, whatever the labels."""
    pairs = unpacked(pairs)
    follows = dict(pair for sentences in documents for pair in pairwise(sentences))
    chosen = [(first, second) for first, second, _ in pairs if second != follows.get(first)]
    if any((second != follows.get(first)) != bool(label) for first, second, label in pairs):
        forgive("a label does not say whether the second follows", "next_sentence_pairs-order")
    for first, second in chosen:
        if first.split(".")[0] == second.split(".")[0]:
            hint = "a random sentence of the same document may be the true next one"
            raise CheckFailure("a random sentence comes from the same document", hint=hint)
    return chosen


random_ones(documents, next_sentence_pairs(documents, generator=new_generator()))
### BEGIN HIDDEN TESTS
for long in (0, 2, 3):
    lengths = [1, 4, 2]
    lengths.insert(long, 1201)  # some 600 pairs that do not follow: the bounds are five deviations
    documents = make_documents(*lengths)
    pairs = random_ones(documents, next_sentence_pairs(documents, generator=new_generator()))
    drawn = [second for first, second in pairs if first.startswith(f"{long}.")]
    hint = "every sentence of another document may be drawn, its first and its last one too"
    others = [document for document in documents if len(document) < 5]
    assert_equal(set(drawn), set(sum(others, [])), what="what was drawn", hint=hint)
    for document in others:
        share = sum(sentence in document for sentence in drawn) / len(drawn)
        if not 1 / 3 - 0.1 <= share <= 1 / 3 + 0.1:
            hint = (
                "first draw the other document, each equally likely; then one of its sentences. "
                "To draw from all and take the next one in place of its own makes that likelier"
            )
            raise CheckFailure("some documents are drawn more often than others", hint=hint)
documents = make_documents(301, 9)
make = call_beside(partial, next_sentence_pairs, documents, generator=new_generator())
calls = [random_ones(documents, make()) for _ in range(2)]
once, again = ({a: b for a, b in pairs if a.startswith("0.")} for pairs in calls)
if once.keys() == again.keys():
    forgive("with the same generator the coins come again", "next_sentence_pairs-balance")
else:
    at_places = [once[first] == again[first] for first in once.keys() & again.keys()]
    in_order = [x == y for x, y in zip(once.values(), again.values(), strict=False)]
    if all(at_places) or all(in_order):
        hint = "draw from the generator itself, which goes on; its seed stays as it is"
        raise CheckFailure("the next call with the same generator draws the same ones", hint=hint)
alike, other = [["x"] * 20 for _ in range(2)], make_documents(20, 20)
pairs = unpacked(next_sentence_pairs(alike, generator=new_generator()))
expected = unpacked(next_sentence_pairs(other, generator=new_generator()))
what = "the number of pairs from two documents that read alike"
hint = "another document may say the same: tell documents apart by their place, not their words"
assert_equal(len(pairs), len(expected), what=what, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: the way in and the way out
#
# A token enters BERT as the sum of three vectors: *what* it is, *in which sentence* it stands,
# and *where*: [The input](book:bert#bert-embeddings). Without the last two, attention
# could not tell the dog that bites the man from the man that bites the dog. The sum is
# normalised, then dropout is applied.
#
# The parts come from earlier homeworks and chapters: `TokenEmbedding`, `LearnedPositions` (which
# *adds* the positions to what it is given), `LayerNorm`; all sizes stand in the `config`.
# They refuse what they can't use. `nn.Embedding` is PyTorch's own, so the segments are yours to
# check.

# %% solution="BertEmbeddings" of="course_lib.models.bert"

# %% setup="small-config"
SMALL = BertConfig(
    vocab_size=20, max_length=12, num_layers=1, d_model=8, num_heads=2, d_ff=16, dropout=0.0
)

# %% test="BertEmbeddings-values" points=1 read="bert#bert-embeddings"
# Token, segment and position add up, and the sum is normalised
embeddings = BertEmbeddings(SMALL).to(device)
embeddings.eval()
tokens = torch.tensor([[2, 7, 7, 3]]).to(device)
segments = torch.tensor([[0, 0, 1, 1]]).to(device)
a_vector = "a vector of d_model numbers for each token"
output = checked(embeddings(tokens, segments), (1, 4, 8), hint=a_vector)
assert_close(
    output.mean(-1), torch.zeros(1, 4).to(device), what="mean of each vector", hint="normalise last"
)
assert_close(
    embeddings(tokens),
    checked(embeddings(tokens, torch.zeros_like(tokens)), (1, 4, 8), hint=a_vector),
    what="output without segments",
    hint="without segment_ids all tokens are in segment 0",
)
other = checked(embeddings(tokens, 1 - segments), (1, 4, 8), hint=a_vector)
if torch.allclose(output, other):
    raise CheckFailure("the segments change nothing", hint="add self.segments(segment_ids)")
alike = checked(embeddings(torch.tensor([[7, 7]]).to(device)), (1, 2, 8), hint=a_vector)[0]
if torch.allclose(alike[0], alike[1]):
    raise CheckFailure("the same token looks the same at each place", hint="add the positions")
### BEGIN HIDDEN TESTS
from course_lib.models.bert import BertEmbeddings as ReferenceEmbeddings

config = BertConfig(
    vocab_size=30, max_length=9, num_segments=3, d_model=12, num_heads=2, dropout=0.0, eps=0.1
)
reference, student = ReferenceEmbeddings(config).to(device), BertEmbeddings(config).to(device)
expected_state = {name: torch.randn_like(x) for name, x in reference.state_dict().items()}
named = "the docstring names the four parts; the sizes stand in config"
assert_parameters(parameters_of(student), expected_state, what="BertEmbeddings", hint=named)
reference.load_state_dict(expected_state)
student.load_state_dict(expected_state, strict=False)
reference.eval(), student.eval()
tokens = torch.randint(1, 30, (4, 7)).to(device)  # padding, 0, may have a padding_idx
segments = torch.randint(3, (4, 7)).to(device)
expected = reference(tokens, segments)
looked_up = expected_state["tokens.weight"][tokens]
among = expected_state["segments.weight"][segments]
placed = expected_state["positions.weight"][:7]
wrong = {
    "the sum is not normalised": looked_up + among + placed,
    "the positions are missing": reference.norm(looked_up + among),
    "the segments are missing": reference.norm(looked_up + placed),
    "normalise after the positions are added": reference.norm(looked_up + among) + placed,
    "the positions are added twice": reference.norm(looked_up + among + 2 * placed),
    "self.positions(x) adds them to x already; do not add x once more": reference.norm(
        2 * (looked_up + among) + placed
    ),
    "the tokens are scaled by the root of d_model; BERT's are not": reference.norm(
        12**0.5 * looked_up + among + placed
    ),
    "config.eps is not used": F.layer_norm(
        looked_up + among + placed, (12,), reference.norm.weight, reference.norm.bias
    ),
}
hint = "tokens + segments, then positions, then norm"
assert_close(student(tokens, segments), expected, what="output", hint=hint, mistakes=wrong)
assert_gradients_like(reference, student, {"tokens": tokens, "segments": segments})
alone, hint = student(tokens[:1], segments[:1]), "a text alone gives what it gives among others"
assert_close(alone, expected[:1], what="output for a batch of one", hint=hint)
hint = "without segment_ids all tokens are in segment 0"
assert_close(student(tokens), reference(tokens), what="output without segments", hint=hint)
assert_close(student(tokens.int()), reference(tokens), what="output for int32", hint="int32 too")
### END HIDDEN TESTS

# %% test="BertEmbeddings-errors" points=1 read="bert#bert-embeddings"
# Dropout works in training alone, and what does not fit is refused
tokens = torch.tensor([[2, 7, 3]]).to(device)
embeddings = BertEmbeddings(SMALL).to(device)
hint = "segment_ids must have the shape of token_ids: ValueError"
assert_raises(ValueError, embeddings, tokens, torch.tensor([[0, 0]]).to(device), hint=hint)
hint = "segment ids are integers: TypeError for all else, for booleans too"
assert_raises(TypeError, embeddings, tokens, torch.zeros(1, 3).to(device), hint=hint)
out_of_range = "segment ids must lie in 0 to num_segments - 1: IndexError"
if device == "cpu":  # on a GPU an index out of range ends the process
    assert_raises(IndexError, embeddings, tokens, tokens, hint=out_of_range)
### BEGIN HIDDEN TESTS
config = BertConfig(vocab_size=20, max_length=12, d_model=64, num_heads=2, dropout=0.3)
dropping = BertEmbeddings(config).to(device)
many = torch.randint(20, (8, 12)).to(device)
dropping.train()
in_training = checked(dropping(many), (8, 12, 64), what="output in training")
dropping.eval()
rested = checked(dropping(many), (8, 12, 64), what="output in evaluation")
if torch.allclose(in_training, rested):
    hint = "self.dropout = nn.Dropout(config.dropout) in __init__, and in forward use it"
    raise CheckFailure("training and evaluation give the same: nothing is dropped", hint=hint)
zeros = in_training == 0
if not bool(zeros.any()):
    hint = "dropout comes last: what is normalised after it is no zero any more"
    raise CheckFailure("no entry of the output in training is zero", hint=hint)
share = "config.dropout is the share"
assert_share(zeros, torch.ones_like(zeros), 0.2, 0.4, what="zeros in training", hint=share)
assert_close(dropping(many), rested, what="output, again", hint="no dropout in evaluation")
dropped = torch.where(zeros, 0.0, rested / (1 - 0.3))
hint = "dropout comes once, after the norm: it leaves alone what is normalised"
assert_close(in_training, dropped, what="what is not dropped in training", hint=hint)
hint = "segment ids are integers: TypeError for all else, for booleans too"
assert_raises(TypeError, embeddings, tokens, torch.zeros(1, 3).to(device), hint=hint)
assert_raises(TypeError, embeddings, tokens, tokens == 0, hint=hint)
hint = "segment_ids must have the shape of token_ids: ValueError"
assert_raises(ValueError, embeddings, tokens, torch.tensor([[0, 0]]).to(device), hint=hint)
assert_raises(ValueError, embeddings, tokens, torch.tensor([0, 0, 0]).to(device), hint=hint)
assert_raises(ValueError, embeddings, tokens.expand(2, 3), torch.zeros_like(tokens), hint=hint)
hint = "TokenEmbedding and LearnedPositions refuse token ids that don't fit: use both as they are"
for unfit in (tokens.float(), tokens == 0, tokens.short()):
    assert_raises(TypeError, embeddings, unfit, hint=hint)
for unfit in (tokens[0], tokens[:, :0]):
    assert_raises(ValueError, embeddings, unfit, hint=hint)
alike = checked(embeddings(torch.tensor([[7, 7]]).to(device)), (1, 2, 8))[0]
if torch.allclose(alike[0], alike[1]):
    forgive("the positions are missing", "BertEmbeddings-values")
else:
    assert_raises(ValueError, embeddings, tokens.repeat(1, 5), hint=hint)  # max_length is 12
if device == "cpu":  # on a GPU an index out of range ends the process
    assert_raises(IndexError, embeddings, tokens, tokens, hint=out_of_range)
    assert_raises(IndexError, embeddings, tokens, -1 - torch.zeros_like(tokens), hint=out_of_range)
    for token in (-1, 20):
        assert_raises(IndexError, embeddings, torch.tensor([[2, token]]), hint=hint)
embeddings(tokens, torch.zeros_like(tokens).int())  # int32 is an integer
### END HIDDEN TESTS

# %% [markdown]
# At the other end, each vector is turned into a guess: [The heads](book:bert#bert-heads). One
# layer transforms it, and then it is held against the embedding of *every* token: the more alike,
# the higher the logit. So the matrix that reads tokens is the matrix that guesses them, and it is
# stored and trained once. In PyTorch two layers share a weight when both hold the same
# `nn.Parameter`; a copy would drift apart at the first step.

# %% solution="MaskedLanguageModelHead" of="course_lib.models.bert_heads"

# %% test="MaskedLanguageModelHead-values" points=1 read="bert#bert-heads"
# Transform, GELU, normalise, compare with every token
embedding = call_beside(TokenEmbedding, 20, 8, beside=MaskedLanguageModelHead).to(device)
head = MaskedLanguageModelHead(embedding).to(device)
hidden = torch.randn(3, 5, 8).to(device)
assert_shape(head(hidden), (3, 5, 20), what="logits", hint="a logit for each token")
assert_shape(head(hidden[0, 0]), (20,), what="logits for one vector", hint="... may be nothing")
### BEGIN HIDDEN TESTS
from course_lib.models.bert_heads import MaskedLanguageModelHead as ReferenceHead

reference = ReferenceHead(TokenEmbedding(30, 12), eps=0.1).to(device)
embedding = call_beside(TokenEmbedding, 30, 12, beside=MaskedLanguageModelHead).to(device)
student = MaskedLanguageModelHead(embedding, eps=0.1).to(device)
expected_state = {name: torch.randn_like(x) for name, x in reference.state_dict().items()}
named = "the docstring names the three parts; each nn.Linear has a bias"
assert_parameters(parameters_of(student), expected_state, what="the head", hint=named)
reference.load_state_dict(expected_state)
student.load_state_dict(expected_state, strict=False)
hidden = torch.randn(4, 6, 12).to(device)
projected, norm, output = reference.projection(hidden), reference.norm, reference.output_projection
assert_close(
    student(hidden),
    reference(hidden),
    what="logits",
    hint="output_projection(norm(gelu(projection(hidden)))); hand eps on to the norm",
    mistakes={
        "these are probabilities; return logits": reference(hidden).softmax(-1),
        "these are log-probabilities; return logits": reference(hidden).log_softmax(-1),
        "the normalisation comes after the GELU": output(F.gelu(norm(projected))),
        "the normalisation is missing": output(F.gelu(projected)),
        "the GELU is missing": output(norm(projected)),
        "GELU, not ReLU": output(norm(F.relu(projected))),
        "GELU itself, not its approximation": output(norm(F.gelu(projected, approximate="tanh"))),
        "the first layer is missing": output(norm(F.gelu(hidden))),
    },
)
both = {name: (getattr(reference, name), getattr(student, name)) for name in ("projection", "norm")}
assert_gradients_like(reference, student, {"hidden": hidden}, modules=both)
alone, hint = student(hidden[:1]), "squeeze() takes away each dimension that is 1, the batch too"
assert_close(alone, reference(hidden[:1]), what="logits of a batch of one", hint=hint)
hint = "eval() changes nothing here: logits come out, not probabilities"
what = "logits in evaluation"
assert_close(student.eval()(hidden), reference(hidden), what=what, hint=hint)
assert_raises(ValueError, MaskedLanguageModelHead, embedding, eps=0.0, hint="hand eps on")
hint = "what is not given is as in the signature"
assert_equal(MaskedLanguageModelHead(embedding).norm.eps, 1e-12, what="eps by default", hint=hint)
### END HIDDEN TESTS

# %% test="MaskedLanguageModelHead-sharing" points=1 read="bert#bert-heads"
# The output's weight is the embedding's own
embedding = call_beside(TokenEmbedding, 20, 8, beside=MaskedLanguageModelHead).to(device)
head = MaskedLanguageModelHead(embedding).to(device)
logits = head(torch.randn(3, 8).to(device))
checked(logits, (3, 20), what="logits", hint="a logit for each token").square().sum().backward()
assert_shape(
    embedding.weight.grad,
    (20, 8),
    what="gradient of the embedding",
    hint="self.output_projection.weight = embedding.weight, the parameter itself and no copy",
)
### BEGIN HIDDEN TESTS
embedding = call_beside(TokenEmbedding, 30, 12, beside=MaskedLanguageModelHead).to(device)
trained = embedding.weight.detach().clone()
student = MaskedLanguageModelHead(embedding).to(device)
hint = "the embedding may be trained already: the head takes its weight, and leaves it as it is"
assert_close(embedding.weight.detach(), trained, what="the embedding, once it is shared", hint=hint)
hint = "self.output_projection.weight = embedding.weight, the parameter itself and no copy"
for _ in range(2):
    weight = torch.randn(30, 12).to(device)
    embedding.load_state_dict({"weight": weight})
    shared = student.state_dict().get("output_projection.weight")
    assert_close(
        shared, weight, what="the output's weight after a change of the embedding", hint=hint
    )
logits = student(torch.randn(5, 12).to(device))
checked(logits, (5, 30), what="logits", hint="a logit for each token").square().sum().backward()
assert_shape(embedding.weight.grad, (30, 12), what="gradient of the embedding", hint=hint)
bias = getattr(student.output_projection, "bias", None)
if bias is not None:
    hint = "the output's bias is trained too: detach(), .data and no_grad() cut its gradient"
    assert_shape(bias.grad, (30,), what="gradient of the output's bias", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: put it to use
#
# Guessing words is not what BERT is *for*. Take its body, add a small head, show it a few labelled
# texts, and train **everything** a little further: [Fine-tuning](book:bert#fine-tuning). The head
# reads the vector of the first token, `[CLS]`, through the `Pooler`, which the library has: it is
# handed the vectors of all tokens, and takes the first itself.
#
# First the classifier. All the parts are there; you put them together.


# %% solution="SentenceClassifier"
class SentenceClassifier(nn.Module):
    """BERT with a head that gives each text a label.

    Args:
        config: Sizes and choices.
        num_labels: Number of labels.

    Attributes:
        embeddings: ``BertEmbeddings(config)``.
        encoder: ``Encoder`` with the config's sizes, dropout and eps; post-norm, with GELU.
        pooler: ``Pooler(config.d_model)``.
        classifier: ``nn.Linear(config.d_model, num_labels)``.

    All of them start as BERT does: ``init_weights(self, config.init_std)``.
    """

    def __init__(self, config: BertConfig, num_labels: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.pad_id = config.pad_id
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            config.num_layers,
            config.d_model,
            config.num_heads,
            config.d_ff,
            norm_position="post",
            dropout=config.dropout,
            activation="gelu",
            eps=config.eps,
        )
        self.pooler = Pooler(config.d_model)
        self.classifier = nn.Linear(config.d_model, num_labels)
        init_weights(self, config.init_std)
        ### END SOLUTION

    def forward(self, token_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        """Label texts.

        Args:
            token_ids: ``(batch, length)``, each row beginning with ``[CLS]``; no token attends to
                ``config.pad_id``.
            segment_ids: ``(batch, length)``; all 0 if None.

        Returns:
            Logits ``(batch, num_labels)``.
        """
        ### BEGIN SOLUTION
        embedded = self.embeddings(token_ids, segment_ids)  # (batch, length, d_model)
        hidden = self.encoder(embedded, padding_mask(token_ids, self.pad_id))
        return self.classifier(self.pooler(hidden))  # (batch, num_labels)
        ### END SOLUTION


# %% test="SentenceClassifier-values" points=1 read="bert#fine-tuning"
# Embeddings, encoder, pooler and classifier work one after the other, and padding is left out
classifier = SentenceClassifier(SMALL, 3).to(device)
classifier.eval()
tokens = torch.tensor([[2, 7, 8, 3, 0, 0], [2, 9, 10, 11, 12, 3]]).to(device)
one_row = "one row for each text: pool before you classify"
logits = checked(classifier(tokens), (2, 3), what="logits", hint=one_row)
assert_close(
    classifier(tokens[:1, :4]),
    logits[:1],
    what="logits without padding",
    hint="mask the padding, and read the first token",
)
### BEGIN HIDDEN TESTS
config = BertConfig(
    vocab_size=30, max_length=9, num_layers=2, d_model=12, num_heads=3, d_ff=20, dropout=0.0,
    eps=0.01, pad_id=5,
)  # fmt: skip
student = SentenceClassifier(config, 4).to(device)
student.eval()
stack = {"norm_position": "post", "activation": "gelu", "eps": 0.01}
parts = {
    "embeddings": BertEmbeddings(config),
    "encoder": Encoder(2, 12, 3, 20, **stack),
    "pooler": Pooler(12),
    "classifier": nn.Linear(12, 4),
}


def state_of(name, state):
    """Give the part of a state that belongs to a part of the classifier."""
    return {n.removeprefix(f"{name}."): x for n, x in state.items() if n.startswith(f"{name}.")}


for name, part in parts.items():
    hint = {
        "embeddings": "they are BertEmbeddings(config)",
        "encoder": "it has the config's sizes, and is post-norm: it ends without a norm",
    }.get(name, "see the docstring: d_model wide, and as many labels as were asked for")
    own = parameters_of(student, f"{name}.")
    assert_parameters(own, parameters_of(part), what=f"the {name}", hint=hint)
state = {
    f"{name}.{n}": (x + 0.5 * torch.randn_like(x)).to(device)
    for name, part in parts.items()
    for n, x in parameters_of(part).items()
}
student.load_state_dict({**student.state_dict(), **state})
for name, part in parts.items():
    part.to(device).eval().load_state_dict(state_of(name, state), strict=False)
tokens = torch.randint(6, 30, (4, 7)).to(device)
tokens[0, 4:], tokens[2, 6:] = 5, 5
segments = (torch.arange(7) > 3).long().expand(4, 7).to(device)


def embedded(tokens, segments):
    """Give what embeddings like the student's make of tokens."""
    return checked(parts["embeddings"](tokens, segments), (4, 7, 12), what="embeddings")


def expected_logits(tokens, segments, mask, **otherwise):
    """Put the parts together, the encoder with some choices otherwise."""
    encoder = Encoder(2, 12, 3, 20, **stack | otherwise).to(device)
    encoder.load_state_dict(parts["encoder"].state_dict())
    return parts["classifier"](parts["pooler"](encoder(embedded(tokens, segments), mask)))


mask = padding_mask(tokens, 5)
none = torch.zeros_like(segments)
hidden = parts["encoder"](embedded(tokens, segments), mask)
hint = "embeddings, encoder, pooler, classifier, one after the other, each as the docstring says"
assert_close(
    student(tokens, segments),
    expected_logits(tokens, segments, mask),
    what="logits",
    hint=hint,
    mistakes={
        "the pooler is left out": parts["classifier"](hidden[:, 0]),
        "the encoder is left out": parts["classifier"](parts["pooler"](embedded(tokens, segments))),
        "the pooler reads the first token: hand it the vectors of all, in order": (
            parts["classifier"](parts["pooler"](hidden.flip(1)))
        ),
        "the pooler reads the first token: hand it all vectors, not their mean": (
            parts["classifier"](parts["pooler"](hidden.mean(1, keepdim=True)))
        ),
        "the encoder bends with ReLU, which is its default; BERT with GELU": (
            expected_logits(tokens, segments, mask, activation="relu")
        ),
        "the encoder does not have config.eps": (expected_logits(tokens, segments, mask, eps=1e-5)),
        "the padding, config.pad_id, is not masked": expected_logits(tokens, segments, None),
        "the segments are not handed on": expected_logits(tokens, none, mask),
        "these are probabilities; return logits": expected_logits(tokens, segments, mask).softmax(
            -1
        ),
    },
)
assert_gradients_like(
    lambda tokens, segments: parts["classifier"](
        parts["pooler"](parts["encoder"](embedded(tokens, segments), mask))
    ),
    student,
    {"tokens": tokens, "segments": segments},
    modules={name: (part, getattr(student, name)) for name, part in parts.items()},
)
alone = student(tokens[:1], segments[:1])  # which has padding
hint = "a text alone gives what it gives among others: its padding is masked, its row stays a row"
expected = expected_logits(tokens, segments, mask)[:1]
assert_close(alone, expected, what="logits of a batch of one, with padding", hint=hint)
single = SentenceClassifier(config, 1).to(device)
hint = "squeeze() takes a dimension away: one label has its dimension too"
checked(single(tokens), (4, 1), what="logits for one label", hint=hint)
one_segment = expected_logits(tokens, none, mask)
hint = "without segment_ids all tokens are in segment 0"
assert_close(student(tokens), one_segment, what="logits for one segment", hint=hint)
student.train()
hint = "what is dropped in training is config.dropout of it, here 0: see the docstring's parts"
assert_close(student(tokens), one_segment, what="logits in training", hint=hint)
config = BertConfig(vocab_size=50, num_layers=1, d_model=64, num_heads=2, d_ff=64, init_std=0.3)
for name, tensor in parameters_of(SentenceClassifier(config, 8)).items():
    if tensor.dim() == 2 and not 0.15 < float(tensor.std()) < 0.45:
        hint = "init_weights(self, config.init_std) comes last"
        raise CheckFailure(
            f"{name} does not start with the standard deviation asked for", hint=hint
        )
    if tensor.dim() == 1 and bool((tensor != float(name.endswith("weight"))).any()):
        hint = "init_weights(self, config.init_std): norms begin at 1, biases at 0"
        raise CheckFailure(f"{name} does not start as BERT's", hint=hint)
dropping = SentenceClassifier(BertConfig(vocab_size=30, d_model=12, num_heads=3, num_layers=1), 4)
if float(dropping.encoder.layers[0].attention_residual.dropout.p) != 0.1:
    raise CheckFailure("the encoder's dropout is not the config's", hint="hand config.dropout on")
vectors = checked(dropping.embeddings(tokens.cpu()), (4, 7, 12), what="embeddings in training")
if not bool((vectors == 0).any()):
    raise CheckFailure("the embeddings drop nothing", hint="they are BertEmbeddings(config)")
dice, tokens = call_beside(torch.get_rng_state, beside=dropping), tokens.cpu()
in_training = dropping(tokens)
call_beside(torch.set_rng_state, dice, beside=dropping)
hidden = dropping.encoder(dropping.embeddings(tokens), padding_mask(tokens, 0))
assert_close(
    in_training,
    dropping.classifier(dropping.pooler(hidden)),
    what="logits in training, put together from your own parts",
    hint="embeddings and encoder drop what there is to drop: nothing else does",
)
### END HIDDEN TESTS

# %% [markdown]
# Then the training. It is the loop that you know: forward, loss, backward, step. Two things are
# easy to forget. Gradients *add up* until you clear them. And a module has two modes: `train()`,
# in which dropout works, and `eval()`, in which it does not.


# %% solution="fine_tune"
def fine_tune(
    classifier: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    *,
    learning_rate: float,
) -> list[float]:
    """Train a classifier, all of it, on labelled texts, one step a batch.

    The optimiser is ``torch.optim.AdamW`` with this learning rate; all else is PyTorch's default.

    Args:
        classifier: Maps token ids ``(batch, length)`` to logits ``(batch, num_labels)``. Changed in
            place: trained in training mode, and left in evaluation mode.
        batches: For each step the token ids ``(batch, length)`` and the labels ``(batch,)``, int64;
            gone through once.
        learning_rate: Of every step.

    Returns:
        The loss of each step, before it: the mean cross-entropy of its batch (nats).
    """
    ### BEGIN SOLUTION
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=learning_rate)
    losses = []
    classifier.train()
    for token_ids, labels in batches:
        loss = F.cross_entropy(classifier(token_ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    classifier.eval()
    return losses
    ### END SOLUTION


# %% setup="small-task"
def draw_texts(count):
    """Draw texts of nine tokens and their labels: 1 if happy tokens (5 to 9) outnumber sad ones."""
    happy = torch.rand(count, 1)  # how happy each text is
    words = torch.where(torch.rand(count, 7) < happy, 0, 5) + torch.randint(5, 10, (count, 7))
    labels = ((words < 10).sum(1) > 3).long()
    ends = torch.full((count, 1), 2), torch.full((count, 1), 3)  # [CLS], [SEP]
    return torch.cat([ends[0], words, ends[1]], dim=1).to(device), labels.to(device)


# %% test="fine_tune-steps" points=1 read="bert#fine-tuning"
# Each step lowers the loss of its own batch, as AdamW does, and the loss before it is returned
layers = [
    call_beside(layer, *sizes, beside=fine_tune)
    for layer, sizes in ((nn.Embedding, (15, 4)), (nn.Flatten, ()), (nn.Linear, (36, 2)))
]
model = call_beside(nn.Sequential, *layers, beside=fine_tune).to(device)
batch = draw_texts(32)
untrained = model(batch[0]).detach()
before = F.cross_entropy(untrained, batch[1])
losses = fine_tune(model, [batch, batch, batch], learning_rate=0.01)
one_each = "one loss for each batch, each a float: loss.item()"
if not (isinstance(losses, list) and all(type(loss) is float for loss in losses)):
    raise CheckFailure("a list of floats is expected", hint=one_each)
assert_equal(len(losses), 3, what="number of losses", hint=one_each)
with torch.no_grad():
    softened = F.cross_entropy(untrained.softmax(-1), batch[1])
assert_close(
    torch.tensor(losses[0]),
    before.cpu(),
    what="first loss",
    hint="the mean over the batch, before the step",
    mistakes={
        "the sum over the batch; take the mean": 32 * before.cpu(),
        "cross_entropy takes logits: no softmax before it": softened.cpu(),
    },
)
if losses[0] == losses[1] == losses[2]:
    hint = "backward() makes the gradients, step() uses them, and zero_grad() is not between them"
    raise CheckFailure("nothing is learnt: the loss of the same batch stays as it is", hint=hint)
if not losses[0] > losses[1] > losses[2]:
    hint = "in each step: zero_grad(), backward(), step()"
    raise CheckFailure("the loss of the same batch does not fall", hint=hint)
### BEGIN HIDDEN TESTS
# Batch normalisation works in another way in training, without luck: the mode shows in the losses.
layers = [
    call_beside(layer, *sizes, beside=fine_tune)
    for layer, sizes in (
        (nn.Embedding, (15, 4)), (nn.Flatten, ()), (nn.BatchNorm1d, (36,)), (nn.Linear, (36, 2)),
    )
]  # fmt: skip
model = call_beside(nn.Sequential, *layers, beside=fine_tune).to(device)
model.eval()
start = {name: tensor.clone() for name, tensor in model.state_dict().items()}


def trained(
    *,
    make=torch.optim.AdamW,
    trains=slice(None),
    clears=True,
    steps=True,
    anew=False,
    training=True,
    late=False,
    reduction="mean",
    **settings,
):
    """Train as the docstring says, or with one thing otherwise; give the losses and the model."""
    parts = nn.Embedding(15, 4), nn.Flatten(), nn.BatchNorm1d(36), nn.Linear(36, 2)
    model = nn.Sequential(*parts).to(device)
    model.load_state_dict(start)
    model.train(training)
    optimizer = make([*model.parameters()][trains], **{"lr": 0.05, **settings})
    losses = []
    for texts, labels in batches:
        if anew:
            optimizer = make(model.parameters(), lr=0.05)
        if clears:
            model.zero_grad()
        loss = F.cross_entropy(model(texts), labels, reduction=reduction)
        loss.backward()
        if steps:
            optimizer.step()
        losses.append((F.cross_entropy(model(texts), labels) if late else loss).item())
    return torch.tensor(losses), model


# Every token is random here: where one is the same in all texts the gradient is rounding alone.
batches = [
    (torch.randint(15, (16 + i, 9)).to(device), torch.randint(2, (16 + i,)).to(device))
    for i in range(6)
]
in_turn = call_beside(iter, batches, beside=fine_tune)  # an Iterable has no len() and no places
losses = fine_tune(model, in_turn, learning_rate=0.05)
expected, reference = trained()
if not bool(expected.isfinite().all()):  # what is not finite would equal whatever is not
    raise CheckFailure("the model that is to be trained holds numbers that are not finite")
if not (isinstance(losses, list) and all(type(loss) is float for loss in losses)):
    raise CheckFailure("a list of floats is expected", hint=one_each)
mistakes = {
    "the gradients of earlier steps are still there: clear them in each step": {"clears": False},
    "nothing is learnt: zero_grad(), backward(), step(), in this order": {"steps": False},
    "nothing decays: AdamW with its own weight_decay was asked for, not Adam": {"weight_decay": 0},
    "this is SGD; AdamW was asked for": {"make": torch.optim.SGD},
    "the learning rate is AdamW's default; hand learning_rate on": {"lr": 1e-3},
    "a new optimiser in each step has forgotten the steps before: make one, at first": {
        "anew": True
    },
    "the forward pass is in evaluation mode: classifier.train() comes first": {"training": False},
    "the last layer alone is trained: hand classifier.parameters() to the optimiser": {
        "trains": slice(-2, None)
    },
    "these are the losses after each step; the loss before it is asked for": {"late": True},
    "the sum over each batch; take the mean": {"reduction": "sum"},
}
assert_close(
    torch.tensor(losses),
    expected,
    what="losses",
    hint="the loss of each batch before its step, which is AdamW's: see the docstring",
    mistakes={words: trained(**otherwise)[0] for words, otherwise in mistakes.items()},
)
hint = "the losses are right, but not what the last step makes of the model"
for name, tensor in reference.state_dict().items():
    assert_close(model.state_dict()[name], tensor, what=f"{name} after training", hint=hint)
if model.training:
    raise CheckFailure("the model is left in training mode", hint="classifier.eval() at the end")
model.train()  # as a new model comes
fine_tune(model, batches[:1], learning_rate=0.05)
if model.training:
    hint = "classifier.eval() at the end, whatever it was before"
    raise CheckFailure("a model that comes in training mode is left in it", hint=hint)
### END HIDDEN TESTS

# %% test="fine_tune-learns" points=1 read="bert#fine-tuning"
# Your classifier learns the small task: two texts of three are right, and mostly nearly all
config = BertConfig(
    vocab_size=15, max_length=9, num_layers=1, d_model=16, num_heads=2, d_ff=32, dropout=0.0,
    init_std=0.2,
)  # fmt: skip


def learn():
    """Train until two new texts of three are right, at most three times: a start can be unlucky.

    Gives what a classifier was at first, the classifier afterwards, and its accuracy.
    """
    for _ in range(3):
        classifier = SentenceClassifier(config, 2).to(device)
        start = {name: tensor.clone() for name, tensor in parameters_of(classifier).items()}
        fine_tune(classifier, [draw_texts(32) for _ in range(100)], learning_rate=0.01)
        texts, labels = draw_texts(400)
        logits = checked(classifier(texts), (400, 2), what="logits")
        accuracy = float((logits.argmax(-1) == labels).double().mean())
        if accuracy >= 0.65:
            break
    return start, classifier, accuracy


_, _, accuracy = learn()
print(f"accuracy on new texts: {accuracy:.0%}")
if accuracy < 0.65:
    raise CheckFailure(f"only {accuracy:.0%} of new texts are right", hint="do the losses fall?")
### BEGIN HIDDEN TESTS
start, classifier, accuracy = learn()
if accuracy < 0.65:
    raise CheckFailure("too few of new texts are right", hint="does fine_tune take its steps?")
for name, tensor in parameters_of(classifier).items():
    if not torch.equal(tensor, start[name]):
        continue
    if name.startswith("embeddings.") and name != "embeddings.tokens.weight":
        forgive(f"{name} is not trained", "BertEmbeddings-values")
    else:
        hint = "fine-tuning trains all parameters: classifier.parameters()"
        raise CheckFailure(f"{name} has not changed", hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 6: in your own words

# %% [markdown] written="why-not-always-mask" points=3 read="bert#masking-tokens"
# ### Why not always [MASK]?
#
# Somebody in your team wants to make it simpler: "Every chosen token becomes `[MASK]`, and we
# choose half of all tokens instead of 15 %, so that we learn three times as much from each text."
# Answer in six sentences or fewer: what is lost if chosen tokens *always* become `[MASK]`? What
# is the random tenth good for that the kept tenth alone is not? And why is half of the tokens too
# much, although 15 % makes training slow?
#
# ### BEGIN SOLUTION
# In fine-tuning and in use there is no `[MASK]`; a model that met one at every place that counted
# has no reason to make good vectors for ordinary tokens, and meets a kind of text that it was not
# trained on. If chosen tokens were only masked or kept, an ordinary token that has to be guessed
# would always be the right answer itself, and copying it would do. A random token makes copying
# wrong now and then: the model must hold every token against its context, and as it can't tell
# which are chosen, it must do so for all of them. Only chosen tokens give a gradient, so 15 %
# learns slowly; but what is hidden can't serve as context. With half of the tokens gone there is
# too little left to guess from, and the text looks less and less like one that the model will
# see.
#
# **Marking guide**, one point each:
#
# 1. *Mismatch*: `[MASK]` never occurs after pre-training; so vectors of ordinary tokens must be
#    trained too. Half a point for "80/10/10 is in the paper" with any sensible remark.
# 2. *Random against kept*: without random tokens copying what is seen is always right at a place
#    that is not masked; random tokens force the model to check each token against its context.
# 3. *Trade-off*: chosen tokens are the signal, the others the context; more of one is less of the
#    other. Half a point for one side alone.
#
# Not wrong, and worth a remark: later work masks 40 % with larger models and does well, and others
# learn from all tokens by telling replaced ones from true ones.
# ### END SOLUTION

# %% [markdown]
# ## And now: fill in the blanks
#
# Below, a small BERT learns a small world: animals, what they do, and that *two dogs bark* but *a
# dog barks*. It reads your pieces, learns from your blanks through your embeddings and your head;
# nobody tells it a rule. Note that it never saw `bark` and `barks` as two words: they are `bark`
# and `bark ##s` to it, and the ending goes with the number of dogs, wherever that stands. That
# takes some ten seconds.
#
# What will it guess where several answers are right? Afterwards, add a cell of your own, call
# `fill_in` with a blank `___` of yours, and try to fool it.

# %% demo="fill-in-the-blank"
import matplotlib.pyplot as plt

VOICES = {
    "dog": "bark",
    "cat": "purr",
    "cow": "moo",
    "duck": "quack",
    "lion": "roar",
    "owl": "hoot",
}
SIZES, TIMES = ("small", "old", "happy"), ("all night", "at noon", "in the garden")
words = [*VOICES, *VOICES.values(), *SIZES, *" ".join(TIMES).split(), "the", "a", "two", "and", "."]
vocabulary = Vocabulary(
    tokens=(*BERT_SPECIALS, *dict.fromkeys(words), "##s"), specials=BERT_SPECIALS, unknown="[UNK]"
)
PAD, CLS, SEP, MASK = (vocabulary.id_of(f"[{name}]") for name in ("PAD", "CLS", "SEP", "MASK"))


def draw_sentence():
    """Draw a sentence of the small world."""

    def draw(options):
        return options[int(torch.randint(len(options), ()))]

    animal, many = draw([*VOICES]), draw([True, False])
    parts = [draw(["the two", "two"]) if many else draw(["a", "the"])]
    parts += [draw(SIZES)] if draw([True, False]) else []
    parts += [animal + "s" if many else animal]
    parts += [VOICES[animal] if many else VOICES[animal] + "s", draw(TIMES), "."]
    return " ".join(parts)


def encode(text, length=12):
    """Turn a text, in which ___ is a blank, into token ids, padded to a length."""
    pieces = []
    for word in text.replace("___", " [MASK] ").split():
        pieces += [word] if word == "[MASK]" else split_word(word, vocabulary)
    joined = join_sentences(vocabulary.encode(pieces), cls_id=CLS, sep_id=SEP).token_ids
    return joined + [PAD] * (length - len(joined))


class SmallBert(nn.Module):
    """Guess every token of a text."""

    def __init__(self, config):
        super().__init__()
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            config.num_layers, config.d_model, config.num_heads, config.d_ff, activation="gelu"
        )
        self.head = MaskedLanguageModelHead(self.embeddings.tokens)
        init_weights(self, 0.05)

    def forward(self, token_ids):
        hidden = self.encoder(self.embeddings(token_ids), padding_mask(token_ids, PAD))
        return self.head(hidden)


torch.manual_seed(0)
generator = torch.Generator().manual_seed(0)
bert = SmallBert(
    BertConfig(vocab_size=len(vocabulary), max_length=12, num_layers=2, d_model=48, num_heads=4,
               d_ff=96, dropout=0.0)
)  # fmt: skip
optimizer = torch.optim.AdamW(bert.parameters(), lr=3e-3)
corpus = torch.tensor([encode(draw_sentence()) for _ in range(2000)])
for step in range(401):
    texts = corpus[torch.randint(len(corpus), (64,))]
    blanks = mask_tokens(
        texts,
        mask_id=MASK,
        vocab_size=len(vocabulary),
        special_ids=vocabulary.special_ids,
        generator=generator,
        probability=0.2,
    )
    loss = F.cross_entropy(
        bert(blanks.token_ids).flatten(0, 1), blanks.labels.flatten(), ignore_index=NOT_MASKED
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3d}: loss {loss.item():.2f} nats a blank")


def fill_in(*texts):
    """Fill in the blank of each text, and draw the five best guesses."""
    bert.eval()
    figure, axes = plt.subplots(1, len(texts), figsize=(3.4 * len(texts), 2.4), squeeze=False)
    for text, panel in zip(texts, axes[0], strict=True):
        token_ids = torch.tensor([encode(text)])
        with torch.no_grad():
            guesses = bert(token_ids)[token_ids == MASK][0].softmax(-1)
        best = guesses.topk(5)
        names = vocabulary.decode(best.indices)
        print(text.replace("___", f"[{names[0]}]"))
        panel.barh(range(5), best.values, color="tab:blue")
        panel.set_yticks(range(5), names)
        panel.invert_yaxis()
        panel.set_xlim(0, 1)
        panel.set_xlabel("probability")
        panel.set_title(text, fontsize=9)
    figure.tight_layout()
    plt.show()


fill_in(
    "the two dogs ___ all night .",
    "a small ___ purrs at noon .",
    "___ happy owls hoot in the garden .",
)

# %% [markdown]
# ## And then: your BERT in the book
#
# Under [Take it in your hands](book:bert#bert-in-your-hands) a small BERT fills gaps in the book's
# page. The next cell writes yours to a file, `my-bert.json`, with what your code computes for a few
# sentences. Open it under the figure there: hide any word, see what yours takes it for and where
# its heads look, and how far the page's numbers are from yours.

# %% demo="my-bert"
from course_lib.training.export import export_masked_language_model

try:
    blanks = [
        "the two dogs ___ all night .",
        "a small ___ purrs at noon .",
        "the old owl hoots ___ .",
    ]
    file = export_masked_language_model(
        bert,
        "my-bert.json",
        words=vocabulary.tokens,
        num_heads=4,
        texts=[[token for token in encode(text) if token != PAD] for text in blanks],
    )
    print(f"written: {file}, {file.stat().st_size / 1000:.0f} kB")
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
