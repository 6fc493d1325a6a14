# %% [markdown]
# # Homework 8: BERT
#
# Which word is missing in `the two dogs ___ all night`? You looked to the left *and* to the right,
# and you knew more than the word: a verb, in the plural, that dogs do. To fill such blanks all day,
# one must learn grammar and a good deal of the world, and nobody needs to label anything. **So BERT
# learns.** In the end a small BERT made of *your* parts fills in your blanks.
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
# **Time:** about three hours if you have read the chapter [BERT](book:bert). Draw random numbers from
# the `generator` that is handed in, as in `torch.rand(..., generator=generator)`: so experiments can
# be repeated. Tests count random results, with bounds so wide that every right solution passes. See
# also [For students](book:for-students) and [Common mistakes](book:bert#bert-common-mistakes).

# %% setup="imports"
import math
from collections.abc import Container, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.bert_pretraining import NOT_MASKED, MaskedTokens, NextSentencePair, Sentence
from course_lib.data.bert_pretraining import draw_ordinary_tokens, join_sentences
from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.masks import padding_mask
from course_lib.layers.normalization import LayerNorm
from course_lib.layers.positional import LearnedPositions
from course_lib.layers.transformer_layers import Encoder
from course_lib.models.bert import BertConfig, Pooler, init_weights
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_close, assert_equal, assert_keeps_inputs, assert_shape
from course_lib.testing import call_beside, load_parameters
from course_lib.tokenization.vocabulary import BERT_SPECIALS, Vocabulary
from course_lib.tokenization.wordpiece import CONTINUATION

prepare_notebook()  # test cells say how they ended
seeded = lambda seed: torch.Generator(torch.get_default_device()).manual_seed(seed)

# %% [markdown]
# ## Part 1: words in pieces
#
# BERT's vocabulary of 30,000 entries holds *playful*, but not *playfulness*. WordPiece writes rare
# words in pieces that are there: *playful ##ness*. A piece that does not begin a word carries the
# mark `##`, so that *##able* in *payable* is another piece than the word *able*. The search is
# **greedy**: always the longest piece that fits, from the left, and never back. What about a word
# whose longest first piece leads to a dead end? See [WordPiece](book:tokenization#wordpiece).


# %% solution="split_word" of="course_lib.tokenization.wordpiece"
def split_word():
    """Return the pieces of ``word`` that are ``in vocabulary``, in order.

    The whole word becomes ``[unknown]`` where the search ends without a piece that fits, and where
    it has more than ``max_characters``. An empty word has no pieces.
    """


# %% test="split_word-pieces" points=1 read="tokenization#wordpiece"
# A word is written in its longest pieces, from the left
pieces = {"play", "pl", "##ing", "##in", "##g", "un", "##play", "##ed", "ed"}
assert_equal(split_word("play", pieces), ["play"], what="pieces of 'play'")
assert_equal(split_word("playing", pieces), ["play", "##ing"], what="pieces of 'playing'")
assert_equal(split_word("unplayed", pieces), ["un", "##play", "##ed"], what="pieces of 'unplayed'")
### BEGIN HIDDEN TESTS
letters = [*"abc"]
for _ in range(8):
    drawn = ["".join(letters[i] for i in torch.randint(3, (n,))) for n in (1, 2, 2, 3, 3, 4)]
    pieces = {*letters, *(f"##{x}" for x in letters), *drawn, *(f"##{x}" for x in drawn[::2])}
    pieces = Vocabulary(tokens=(*sorted(pieces),), specials=(), unknown=None)  # knows `in` alone
    word = "".join(letters[i] for i in torch.randint(3, (9,)))
    assert_equal(split_word(word, pieces), reference.split_word(word, pieces), what="pieces")
assert_equal(split_word("Un", {"Un", "un"}), ["Un"], what="pieces of a word with a capital")
begins_inside = split_word("cd", {"##cd", "##c", "##d"}) == ["##cd"]
assert_equal(begins_inside, False, what="whether a word begins with a piece that has a mark")
### END HIDDEN TESTS

# %% test="split_word-unknown" points=1 read="tokenization#wordpiece"
# A word that can't be written in pieces is unknown, the whole of it
pieces = {"un", "##want", "##wan", "##ted", "##ed"}
assert_equal(split_word("unwantedX", pieces), ["[UNK]"], what="pieces of 'unwantedX'")
assert_equal(split_word("xyz", pieces, unknown="<?>"), ["<?>"], what="pieces of 'xyz'")
### BEGIN HIDDEN TESTS
pieces = {"ab", "##cd", "##c", "a", "##a", "abc", "e", "##e"}
for word in ("xab", "abx", "abxcd", "abcd", "ae"):  # abcd: after the longest piece no way on
    for how in ({}, {"unknown": "<?>"}):
        found, expected = split_word(word, pieces, **how), reference.split_word(word, pieces, **how)
        assert_equal(found, expected, what="pieces")
assert_equal(split_word("xyxyx", pieces, unknown="<?>", max_characters=3), ["<?>"], what="pieces")
### END HIDDEN TESTS

# %% test="split_word-limits" points=1 read="tokenization#wordpiece"
# Words that are too long are unknown, and an empty word has no pieces
pieces = {"a", "##a", "aaaa"}
found = split_word("aaa", pieces, max_characters=3)
assert_equal(found, ["a", "##a", "##a"], what="pieces of a word at the limit")
assert_equal(split_word("aaaa", pieces, max_characters=3), ["[UNK]"], what="pieces of a long word")
assert_equal(split_word("", pieces), [], what="pieces of an empty word")
### BEGIN HIDDEN TESTS
pieces, most = {"a", "##a"}, int(torch.randint(4, 30, ()))
for length, how in ((most, {"max_characters": most}), (most + 1, {"max_characters": most}),
                    (100, {}), (101, {}), (1, {"max_characters": 1}), (0, {"max_characters": 1})):  # fmt: skip
    found = split_word("a" * length, pieces, **how)
    assert_equal(found, reference.split_word("a" * length, pieces, **how), what="pieces")
### END HIDDEN TESTS

# %% variants="split_word"
# fmt: off
right("loops", '''
def split_word(word, vocabulary, *, unknown="[UNK]", max_characters=100):
    if max_characters <= 0:
        raise ValueError(max_characters)
    if len(word) > max_characters:
        return [unknown]
    rest, pieces = word, []
    while rest:
        candidate = rest
        while candidate and ("##" if pieces else "") + candidate not in vocabulary:
            candidate = candidate[:-1]
        if not candidate:
            return [unknown]
        pieces.append(("##" if pieces else "") + candidate)
        rest = rest[len(candidate):]
    return pieces
''')
right("in vectors", '''
def split_word(word: str, vocabulary, *, unknown: str = "[UNK]", max_characters: int = 100):
    if max_characters < 1:
        raise ValueError

    def rest_of(start):
        if start == len(word):
            return []
        marks = "" if start == 0 else "##"
        ends = range(start + 1, len(word) + 1)
        fitting = [end for end in ends if marks + word[start:end] in vocabulary]
        if not fitting:
            return None
        later = rest_of(max(fitting))
        return None if later is None else [marks + word[start : max(fitting)], *later]

    found = rest_of(0) if len(word) <= max_characters else None
    return [unknown] if found is None else found
''')
ELSE = "        else:\n            return [unknown]\n"
SEARCH = ("        for end in range(len(word), start, -1):\n"
          "            if mark + word[start:end] in vocabulary:\n                break\n")
MARK = 'CONTINUATION if start > 0 else ""'
APPEND = "pieces.append(mark + word[start:end])"
LONG = "    if len(word) > max_characters:\n        return [unknown]\n"
MARKS = "all pieces but the first carry the mark ##."
WHOLE = "one unknown stands for the whole word."
for name, edits, hint in (
    ("in lower case", (("    pieces: list[str] = []\n", "    pieces, word = [], word.lower()\n"),), "You write the word in lower case; look for it as it is."),
    ("shortest piece first", (("range(len(word), start, -1)", "range(start + 1, len(word) + 1)"),),
     "You take the shortest piece that fits; take the longest."),
    ("the whole vocabulary, longest first", ((SEARCH,
        "        for piece in sorted(vocabulary, key=len, reverse=True):\n            end = start + len(piece) - len(mark)\n"
        "            if end > start and piece == mark + word[start:end]:\n                break\n"),),
     "You go through the whole vocabulary, which knows no order; ask with `in`."),
    ("the last letter never reached", (("range(len(word), start, -1)", "range(len(word) - 1, start, -1)"),),
     "You never reach the end of the word; the last piece does."),
    ("no mark inside a word", ((MARK, '""'),), f"You leave out the marks; {MARKS}"),
    ("the mark before every piece", ((MARK, '"##"'),), f"You mark the first piece too; {MARKS}"),
    ("marks looked up but not written", ((APPEND, "pieces.append(word[start:end])"),), f"You leave out the marks in the result; {MARKS}"),
    ("marks written but not looked up", (("if mark + word[start:end] in", "if word[start:end] in"),),
     f"You look pieces up without their marks; {MARKS}"),
    ("pieces in the wrong order", ((APPEND, "pieces.insert(0, mark + word[start:end])"),),
     "You return the pieces in another order; they stand as in the word."),
    ("pieces joined with spaces", (("start = end\n    return pieces", "start = end\n    return ' '.join(pieces)"),),
     "You return a text; return a list of pieces."),
):
    wrong(name, *edits, lost="pieces", hint=hint)
for name, edits, hint in (
    ("pieces before the unknown kept", ((ELSE, ELSE.replace("[unknown]", "[*pieces, unknown]")),),
     f"You keep the pieces found before the unknown; {WHOLE}"),
    ("the rest without a piece left out", ((ELSE, ELSE.replace("[unknown]", "pieces")),), f"You leave out a rest that no piece fits; {WHOLE}"),
    ("unknown letter by letter", ((ELSE, "        else:\n            pieces += [unknown]\n            start += 1\n            continue\n"),),
     f"You write an unknown for each letter; {WHOLE}"),
    ("the name of the unknown fixed", ((ELSE, ELSE.replace("[unknown]", "['[UNK]']")),), "You fix the name of the unknown; use the argument."),
    ("the name of the unknown fixed for long words", ((LONG, LONG.replace("[unknown]", "['[UNK]']")),),
     "You fix the name of the unknown; use the argument."),
    ("the name of the unknown fixed behind a piece", ((ELSE, ELSE.replace("[unknown]", "['[UNK]'] if pieces else [unknown]")),),
     "You fix the name of the unknown; use the argument."),
):
    wrong(name, *edits, lost="unknown", hint=hint)
for name, edits, hint in (
    ("too long by one", (("> max_characters", ">= max_characters"),), "You reject a word at the limit; only a longer one is too long."),
    ("no limit", ((LONG, ""),), "You set no limit; a word longer than max_characters is unknown."),
    ("cut at the limit", ((LONG, "    word = word[:max_characters]\n"),), "You cut a long word off; it is unknown, the whole of it."),
    ("an empty word is unknown", (("start = end\n    return pieces", "start = end\n    return pieces or [unknown]"),),
     "You return an unknown for an empty word; it has no pieces."),
    ("another limit at the start", (("max_characters: int = 100", "max_characters: int = 99"),), "You start with another limit; it is 100 unless given."),
):
    wrong(name, *edits, lost="limits", hint=hint)
right("a tuple of pieces", ("start = end\n    return pieces", "start = end\n    return tuple(pieces)"))
# fmt: on

# %% [markdown]
# ## Part 2: blanks
#
# The model has to guess some **chosen** tokens. If all of them became `[MASK]`, the model could be
# lazy about the others, and would never meet a `[MASK]` again once it is put to use. So 80 % become
# `[MASK]`, 10 % some random token, and 10 % stay: [Masking tokens](book:bert#masking-tokens).
# `corrupt_tokens` is handed all random numbers. Its labels hold the old id of each chosen token, and
# at all other places -100, which PyTorch's cross-entropy leaves out.


# %% solution="corrupt_tokens" of="course_lib.data.bert_pretraining"
def corrupt_tokens():
    """Return the named tuple ``MaskedTokens(token_ids=..., labels=...)``, both int64.

    ``chosen`` is boolean; ``fate`` holds numbers from 0 to 1. With a fate below ``mask_share`` a
    chosen token becomes ``mask_id``; from there on, below ``mask_share + random_share``, that of
    ``random_ids``; above, it stays.
    """


# %% test="corrupt_tokens-fates" points=1 read="bert#masking-tokens"
# Chosen tokens are masked, replaced or kept, as their fate says; the others stay
token_ids, random_ids = torch.tensor([[11, 12, 13, 14]]), torch.tensor([[21, 22, 23, 24]])
chosen, fate = torch.tensor([[True, True, True, False]]), torch.tensor([[0.5, 0.85, 0.95, 0.1]])
changed, _ = corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=4)
assert_close(changed, torch.tensor([[4, 22, 13, 14]]), what="token ids")
### BEGIN HIDDEN TESTS
token_ids, random_ids = torch.randint(5, 30, (6, 20)), torch.randint(40, 60, (6, 20))
chosen, fate = torch.rand(6, 20) < 0.7, torch.rand(6, 20)
how = {"fate": fate, "random_ids": random_ids, "mask_id": 3}
changed, _ = corrupt_tokens(token_ids, chosen, **how)
assert_close(changed, reference.corrupt_tokens(token_ids, chosen, **how)[0], what="token ids")
### END HIDDEN TESTS

# %% test="corrupt_tokens-labels" points=1 read="bert#masking-tokens"
# The labels are the true tokens where one was chosen, and -100 elsewhere
token_ids, random_ids = torch.tensor([[11, 12, 13, 14]]), torch.tensor([[21, 22, 23, 24]])
chosen, fate = torch.tensor([[True, True, True, False]]), torch.tensor([[0.5, 0.85, 0.95, 0.1]])
_, labels = corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=4)
assert_close(labels, torch.tensor([[11, 12, 13, -100]]), what="labels")
### BEGIN HIDDEN TESTS
token_ids, random_ids = torch.randint(5, 30, (6, 20)), torch.randint(40, 60, (6, 20))
chosen, fate = torch.rand(6, 20) < 0.5, torch.rand(6, 20)
_, labels = corrupt_tokens(token_ids, chosen, fate=fate, random_ids=random_ids, mask_id=3)
assert_close(labels, token_ids.masked_fill(~chosen, -100), what="labels")
### END HIDDEN TESTS

# %% test="corrupt_tokens-shares" points=1 read="bert#masking-tokens"
# The shares may be others, and the arguments are left as they are
given = torch.tensor([[11, 12, 13, 14]]), torch.ones(1, 4, dtype=torch.bool)
how = {"fate": torch.tensor([[0.1, 0.4, 0.6, 0.85]]), "random_ids": given[0] + 10, "mask_id": 4}
changed, _ = corrupt_tokens(*given, **how, mask_share=0.25, random_share=0.5)
assert_close(changed, torch.tensor([[4, 22, 23, 14]]), what="token ids")
assert_keeps_inputs(corrupt_tokens, *given, **how)
### BEGIN HIDDEN TESTS
token_ids, random_ids = torch.randint(5, 30, (6, 20)), torch.randint(40, 60, (6, 20))
chosen, fate = torch.rand(6, 20) < 0.7, torch.rand(6, 20)
# The shares are whole eighths: as floats they are exact, and so are the borders between fates.
fate[0, :4], chosen[0, :4] = torch.tensor([0.5, 0.75, 0.4999, 0.7499]), True
how = {"fate": fate, "random_ids": random_ids, "mask_id": 3}
for mask_share, random_share in ((0.5, 0.25), (0.0, 0.1), (1.0, 0.0), (0.5, 0.0)):
    shares = {"mask_share": mask_share, "random_share": random_share}
    changed, _ = corrupt_tokens(token_ids, chosen, **how, **shares)
    expected, _ = reference.corrupt_tokens(token_ids, chosen, **how, **shares)
    assert_close(changed, expected, what="token ids")
assert_keeps_inputs(corrupt_tokens, token_ids, chosen, **how)
### END HIDDEN TESTS

# %% variants="corrupt_tokens"
# fmt: off
right("loops", '''
def corrupt_tokens(
    token_ids, chosen, *, fate, random_ids, mask_id, mask_share=0.8, random_share=0.1
):
    if token_ids.dtype != torch.int64 or chosen.dtype != torch.bool:
        raise TypeError("dtypes")
    if min(mask_share, random_share) < 0 or mask_share + random_share > 1:
        raise ValueError("shares")
    changed, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    for row, column in chosen.nonzero().tolist():
        labels[row, column] = token_ids[row, column]
        luck = float(fate[row, column])
        if luck < mask_share:
            changed[row, column] = mask_id
        elif luck < mask_share + random_share:
            changed[row, column] = random_ids[row, column]
    return changed, labels
''')
right("in vectors", '''
def corrupt_tokens(
    token_ids, chosen, *, fate, random_ids, mask_id, mask_share=0.8, random_share=0.1
):
    if token_ids.dtype is not torch.long or chosen.dtype is not torch.bool:
        raise TypeError
    if mask_share < 0 or random_share < 0 or mask_share + random_share > 1:
        raise ValueError
    fated = torch.where(fate < mask_share + random_share, random_ids, token_ids)
    fated = torch.where(fate < mask_share, torch.full_like(token_ids, mask_id), fated)
    return (
        torch.where(chosen, fated, token_ids), torch.where(chosen, token_ids, -100)
    )
''')
MASKED, REPLACED = "masked = chosen & (fate < mask_share)", "replaced = chosen & (fate >= mask_share) & (fate < mask_share + random_share)"
LABELS = "token_ids.masked_fill(~chosen, NOT_MASKED)"
PUT_IN = "token_ids=torch.where(replaced, random_ids, changed)"
SHARES = "80 % of the chosen are masked, 10 % random, 10 % kept."
for name, edits, hint in (
    ("always masked", ((MASKED, "masked = chosen"), (REPLACED, "replaced = chosen & (fate < 0)")), f"You mask every chosen token; {SHARES}"),
    ("never random", ((PUT_IN, "token_ids=changed"),), f"You never put in a random token; {SHARES}"),
    ("never kept", ((REPLACED, "replaced = chosen & (fate >= mask_share)"),), f"You never keep a chosen token; {SHARES}"),
    ("random and kept exchanged", ((REPLACED, "replaced = chosen & (fate >= mask_share + random_share)"),), "You exchange random and kept; the highest fates stay."),
    ("masked where nothing was chosen", ((MASKED, "masked = fate < mask_share"),), "You mask tokens that were not chosen; only chosen ones may change."),
    ("random where nothing was chosen", ((REPLACED, REPLACED.replace("chosen & ", "")),), "You replace tokens that were not chosen; only chosen ones may change."),
    ("random over masked", ((REPLACED, "replaced = chosen & (fate < mask_share + random_share)"),),
     "You put random tokens over the masked ones; they begin at mask_share."),
    ("random_share measured from zero", ((REPLACED, "replaced = chosen & (fate >= mask_share) & (fate < random_share)"),),
     "You measure random_share from 0; it begins at mask_share."),
    ("labels first", ((f"labels={LABELS}", f"token_ids={LABELS}"), (PUT_IN, PUT_IN.replace("token_ids", "labels"))), "You return the labels first; token ids come first."),
    ("labels made in token_ids", (("    changed = ", "    token_ids[~chosen] = -100\n    changed = "), (LABELS, "token_ids.clone()")),
     "You write -100 into token_ids; make the labels in a tensor of their own."),
):
    wrong(name, *edits, lost="fates", hint=hint)
for name, labels, hint in (
    ("labels everywhere", "token_ids.clone()", "You label tokens that were not chosen; they have -100."),
    ("labels where nothing was chosen", LABELS.replace("~", ""), "You put -100 where a token was chosen; it belongs where none was."),
    ("no label for kept tokens", "token_ids.masked_fill(~(masked | replaced), -100)", "You leave out chosen tokens that stay; they must be guessed too."),
    ("labels of the new tokens", "torch.where(replaced, random_ids, changed).masked_fill(~chosen, -100)",
     "You label a chosen token by its new id; label it by its old one."),
    ("labels of the masked tokens", "changed.masked_fill(~chosen, -100)", "You label a token after masking it; label it by its old id."),
    ("labels that are no integers", f"{LABELS}.float()", "You return floats; labels are int64."),
    ("labels with a dimension too much", f"{LABELS}[:, None]", "You return a dimension too many; labels have the shape of token_ids."),
    ("label 0 for nothing", LABELS.replace("NOT_MASKED", "0"), "You put 0 where nothing was chosen, a token; put -100."),
):
    wrong(name, (LABELS, labels), lost="labels", hint=hint)
wrong("labels after masking in place", ("token_ids.masked_fill(masked", "token_ids.masked_fill_(masked"), lost="labels",
    hint="You mask in place, and label afterwards; masked_fill makes a new tensor, masked_fill_ does not.")
wrong("in place", (f"labels={LABELS}", "labels=labels"), ("    masked = ", f"    labels = {LABELS}\n    masked = "),
    ("token_ids.masked_fill(masked", "token_ids.masked_fill_(masked"),
    lost="shares", hint="You change the caller's token_ids; masked_fill makes a new tensor, masked_fill_ does not.")
wrong("shares fixed", (MASKED, "masked = chosen & (fate < 0.8)"), (REPLACED, "replaced = chosen & (fate >= 0.8) & (fate < 0.9)"),
    lost="shares", hint="You fix the shares; use the arguments.")
# fmt: on

# %% [markdown]
# Now the dice. `draw_ordinary_tokens(shape, vocab_size, excluded_ids, generator)` draws random tokens
# for you, none of the excluded. You choose the tokens, with care: guessing a `[CLS]` teaches nothing,
# and guessing a `[PAD]` teaches that sentences end in padding.


# %% solution="mask_tokens" of="course_lib.data.bert_pretraining"
def mask_tokens():
    """Choose tokens at random and corrupt them.

    Each token is chosen with ``probability``, by itself, and gets a fate by itself. Those of
    ``special_ids`` are never chosen, nor put in at random; ``mask_id`` is not put in at random.
    """


# %% test="mask_tokens-chosen" points=1 read="bert#masking-tokens"
# Each token is chosen with the given probability, by the generator
token_ids = torch.randint(5, 30, (40, 50))
how = {"mask_id": 4, "vocab_size": 30, "special_ids": [0, 1, 2, 3]}
for probability, low, high in ((0.0, 0, 0), (0.5, 0.4, 0.6), (1.0, 1, 1)):
    _, labels = mask_tokens(token_ids, **how, generator=seeded(0), probability=probability)
    share = (labels != -100).float().mean()
    assert_equal(bool(low <= share <= high), True, what=f"whether about {probability} are chosen")
### BEGIN HIDDEN TESTS
from functools import partial

new_seed = lambda: int(torch.randint(2**31, ()))
_, labels = mask_tokens(token_ids.repeat(2, 1), **how, generator=seeded(new_seed()))
share = (labels != -100).float().mean()
assert_equal(bool(0.11 < share < 0.19), True, what="whether 15 % are chosen unless told otherwise")
_, labels = mask_tokens(token_ids, **how, generator=seeded(new_seed()), probability=0.4)
chosen = labels != -100
even = all(
    ((x > 0.02) & (x < 0.9)).all() for x in (chosen.double().mean(0), chosen.double().mean(1))
)
assert_equal(even, True, what="whether each token of a row and of a column is chosen by itself")
assert_equal(len(chosen.sum(1).unique()) > 1, True, what="whether rows have different numbers")
few, seed = token_ids[:20, :20], new_seed()
once, again = (mask_tokens(few, **how, generator=seeded(seed)) for _ in range(2))
is_same = all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
assert_equal(is_same, True, what="whether the same seed gives the same again")
other, _ = mask_tokens(few, **how, generator=seeded(seed + 1))
assert_equal(torch.equal(other, once[0]), False, what="whether another seed gives the same")
# Bound beside the code, it is one generator for all calls.
hide = call_beside(partial, mask_tokens, few, **how, generator=seeded(new_seed()))
changed, labels = (
    torch.stack(x) for x in zip(*(hide(probability=0.9) for _ in range(8)), strict=True)
)
chosen, masked, replaced = labels != -100, changed == 4, (changed != few) & (changed != 4)
both, swapped = chosen[1:] & chosen[:-1], replaced[1:] & replaced[:-1]
for what, later, sooner in (
    ("chooses the same", chosen[1:], chosen[:-1]),
    ("masks the same", masked[1:][both], masked[:-1][both]),
    ("puts in the same", changed[1:][swapped], changed[:-1][swapped]),
):
    is_same = torch.equal(later, sooner) and len(sooner.unique()) > 1
    assert_equal(is_same, False, what=f"whether the next call with this generator {what}")
assert_equal(
    len(chosen.sum((1, 2)).unique()) > 1, True, what="whether batches have different numbers"
)
### END HIDDEN TESTS

# %% test="mask_tokens-specials" points=1 read="bert#masking-tokens"
# Special tokens are never chosen and never put in
token_ids = torch.tensor([[2, 7, 8, 9, 3, 10, 11, 3, 0, 0]]).repeat(200, 1)
special_ids, special = [0, 1, 2, 3], token_ids < 4
how = {"mask_id": 4, "vocab_size": 12, "special_ids": special_ids, "probability": 1.0}
changed, labels = mask_tokens(token_ids, **how, generator=seeded(0))
assert_equal(bool((labels[special] == -100).all()), True, what="whether they are never chosen")
assert_equal(bool((changed[~special] > 3).all()), True, what="whether they are never put in")
### BEGIN HIDDEN TESTS
token_ids = torch.randint(20, (100, 50))
special_ids = tuple(sorted(int(i) for i in torch.randperm(19)[:5]))
special = torch.isin(token_ids, torch.tensor(special_ids))
for probability in (0.5, 1.0):
    how = {"mask_id": 19, "vocab_size": 20, "special_ids": special_ids, "probability": probability}
    changed, labels = mask_tokens(token_ids, **how, generator=seeded(int(torch.randint(99, ()))))
    assert_equal(bool((labels[special] == -100).all()), True, what="whether they are never chosen")
    assert_equal(torch.equal(changed[special], token_ids[special]), True, what="whether they stay")
    put_in = changed[(changed != token_ids) & (changed != 19)]
    is_in = bool(torch.isin(put_in, torch.tensor(special_ids)).any())
    assert_equal(is_in, False, what="whether one is put in")
how |= {"special_ids": ()}
assert_shape(mask_tokens(token_ids, **how, generator=seeded(0))[0], (100, 50), what="token ids")
### END HIDDEN TESTS

# %% test="mask_tokens-fates" points=1 read="bert#masking-tokens"
# Of the chosen tokens, 80 % become [MASK], 10 % a random token, 10 % stay
token_ids = torch.randint(5, 1000, (40, 50))
how = {"mask_id": 4, "vocab_size": 1000, "special_ids": [0, 1, 2, 3], "probability": 1.0}
changed, _ = mask_tokens(token_ids, **how, generator=seeded(0))
is_masked, is_kept = changed == 4, changed == token_ids
assert_equal(bool(0.74 < is_masked.float().mean() < 0.86), True, what="whether 80 % are masked")
assert_equal(bool(0.04 < is_kept.float().mean() < 0.16), True, what="whether 10 % are kept")
is_random = ~(is_masked | is_kept)
assert_equal(bool(0.04 < is_random.float().mean() < 0.16), True, what="whether 10 % are random")
### BEGIN HIDDEN TESTS
rows, columns = is_masked.float().mean(1), is_masked.float().mean(0)
is_own = all((x.min() > 0 and x.max() < 1) or len(x.unique()) > 5 for x in (rows, columns))
assert_equal(is_own, True, what="whether each token has a fate of its own")
how["probability"] = 0.5
changed, labels = mask_tokens(
    token_ids.repeat(2, 1), **how, generator=seeded(int(torch.randint(99, ())))
)
true_ids, chosen = token_ids.repeat(2, 1), labels != -100
for what, here, low, high in (
    ("masked", changed == 4, 0.74, 0.86),
    ("kept", changed == true_ids, 0.04, 0.16),
    ("random", (changed != 4) & (changed != true_ids), 0.04, 0.16),
):
    share = (here & chosen).sum() / chosen.sum().clamp(min=1)
    assert_equal(bool(low < share < high), True, what=f"whether as many as should are {what}")
assert_equal(bool(((changed == true_ids) | chosen).all()), True, what="whether only chosen change")
assert_equal(torch.equal(labels[chosen], true_ids[chosen]), True, what="whether labels are true")
token_ids = torch.randint(5, 15, (50, 100))
token_ids[0, :3] = 4  # [MASK] already, which special_ids does not name
how |= {"vocab_size": 15, "probability": 1.0}
changed, labels = mask_tokens(token_ids, **how, generator=seeded(int(torch.randint(99, ()))))
assert_equal(torch.equal(labels, token_ids), True, what="whether all that are ordinary are chosen")
is_known = bool(((changed >= 0) & (changed < 15)).all())
assert_equal(is_known, True, what="whether all ids are in the vocabulary")
swapped = (changed != token_ids) & (changed != 4)
counts = changed[swapped].clamp(0, 15).bincount(minlength=16)[5:15]
assert_equal(bool(counts.min() > 11 and counts.max() < 111), True, what="whether all are as likely")
for dim in (0, 1):
    lines = zip(changed.unbind(dim), swapped.unbind(dim), strict=True)
    is_one = all(len(line[places].unique()) < 2 for line, places in lines)
    assert_equal(is_one, False, what="whether a row or a column has one random token")
### END HIDDEN TESTS

# %% variants="mask_tokens"
# fmt: off
right("loops", '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    if token_ids.dtype != torch.long:
        raise TypeError("int64")
    if probability < 0 or probability > 1:
        raise ValueError("probability")
    if not 0 <= mask_id < vocab_size or any(not 0 <= i < vocab_size for i in special_ids):
        raise ValueError("ids")
    ordinary = [i for i in range(vocab_size) if i not in special_ids and i != mask_id]
    if not ordinary:
        raise ValueError("nothing is ordinary")
    changed, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    chance = torch.rand(token_ids.shape, generator=generator)
    chosen = chance < probability
    for special in special_ids:
        chosen &= token_ids != special
    labels[chosen] = token_ids[chosen]
    # Draws below probability, stretched to 0 ... 1, are as good as new ones.
    stretched = chance / max(probability, 1e-9)
    changed[chosen & (stretched < 0.8)] = mask_id
    which = torch.randint(len(ordinary), token_ids.shape, generator=generator)
    drawn = torch.tensor(ordinary)[which]
    return (torch.where(chosen & (stretched >= 0.9), drawn, changed), labels)
''')
right("in vectors", '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    if token_ids.dtype != torch.int64:
        raise TypeError
    if not 0 <= probability <= 1:
        raise ValueError
    random_ids = draw_ordinary_tokens(
        token_ids.shape, vocab_size, {*special_ids, mask_id}, generator
    )
    may = torch.ones(vocab_size, dtype=torch.double)
    may[list(special_ids)] = 0.0
    chances = may[token_ids] * probability
    chosen = torch.bernoulli(chances, generator=generator).bool()
    fate = torch.empty(token_ids.shape).uniform_(generator=generator)
    return corrupt_tokens(
        token_ids, chosen, fate=fate, random_ids=random_ids,
        mask_id=mask_id,
    )
''')
right("one token after the other", '''
def mask_tokens(token_ids, *, mask_id, vocab_size, special_ids, generator, probability=0.15):
    if token_ids.dtype != torch.int64:
        raise TypeError("token_ids")
    if not 0 <= probability <= 1 or not all(0 <= i < vocab_size for i in [mask_id, *special_ids]):
        raise ValueError("probability or ids")
    ordinary = [i for i in range(vocab_size) if i not in [mask_id, *special_ids]]
    if not ordinary:
        raise ValueError("all special")

    def luck():
        return float(torch.rand((), generator=generator))

    changed, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    for row, tokens in enumerate(token_ids.tolist()):
        for place, token in enumerate(tokens):
            if token in special_ids or luck() >= probability:
                continue
            labels[row, place] = token
            fate = luck()
            if fate < 0.8:
                changed[row, place] = mask_id
            elif fate < 0.9:
                which = torch.randint(len(ordinary), (), generator=generator)
                changed[row, place] = ordinary[which]
    return changed, labels
''')
CHOOSE, SPECIAL = "drawn & ~special", "torch.isin(token_ids, torch.tensor([*special_ids], device=device))"
DRAWN = "drawn = torch.rand(token_ids.shape, generator=generator).to(device) < probability"
FATE = "fate=torch.rand(token_ids.shape, generator=generator).to(device)"
RANDOM = ("draw_ordinary_tokens(\n            token_ids.shape, vocab_size, [mask_id, *special_ids], generator\n"
    "        ).to(device)")
SEED_READ = "seeded(generator.initial_seed() + 1)"
OWN = "draw a number for each token, of the shape token_ids.shape."
GENERATOR = "draw every random number from the generator that is handed in, which goes on."
WIDE = "drawn = torch.ones_like(special) & (torch.rand({0}, generator=generator) < probability)"
for name, edits, hint in (
    ("probability turned round", ((DRAWN, DRAWN.replace("<", ">=")),), "You turn the probability round; choose where torch.rand(...) < probability."),
    ("half of all by default", (("probability: float = 0.15", "probability: float = 0.5"),), "You start with another probability; it is 0.15 unless given."),
    ("always 15 %", ((DRAWN, DRAWN.replace("< probability", "< 0.15")),), "You fix the probability; use the argument."),
    ("15 % of them masked, not chosen", ((DRAWN, DRAWN.replace("probability", "probability / 0.8")),),
     "You choose more, so that 15 % are masked; probability is that of being chosen."),
    ("one draw for a whole column", ((DRAWN, WIDE.format("token_ids.shape[1:]")),), f"You choose whole columns; {OWN}"),
    ("one draw for a whole row", ((DRAWN, WIDE.format("(len(token_ids), 1)")),), f"You choose whole rows; {OWN}"),
    ("the same number in each row", ((DRAWN, "ranks = torch.rand(token_ids.shape, generator=generator).argsort(1).argsort(1)\n"
        "    drawn = ranks < probability * token_ids.size(1)"),), f"You choose the same number in each row; {OWN}"),
    ("the first tokens of each row", ((DRAWN, "drawn = torch.arange(token_ids.size(1)).expand_as(special) < probability * token_ids.size(1)"),),
     f"You choose by place; {OWN}"),
    ("exactly so many of each batch", ((DRAWN, "ranks = torch.rand(token_ids.numel(), generator=generator).argsort().argsort()\n"
        "    drawn = ranks.view(token_ids.shape) < round(probability * token_ids.numel())"),), f"You choose the same number in each batch; {OWN}"),
    ("the global generator", ((DRAWN, DRAWN.replace(", generator=generator", "")),), f"You draw without the generator; {GENERATOR}"),
    ("the same seed each time", ((DRAWN, f"generator = seeded(0)\n    {DRAWN}"),), f"You make a generator of your own; {GENERATOR}"),
    ("the generator's seed, not the generator", ((DRAWN, f"generator = {SEED_READ}\n    {DRAWN}"),), f"You use the generator's seed; {GENERATOR}"),
    ("fates by the generator's seed", ((FATE, FATE.replace("generator=generator", f"generator={SEED_READ}")),), f"You use the generator's seed; {GENERATOR}"),
    ("random tokens by the generator's seed", ((RANDOM, RANDOM.replace("], generator", f"], {SEED_READ}")),),
     f"You use the generator's seed; {GENERATOR}"),
):
    wrong(name, *edits, lost="chosen", hint=hint)
OUT = "leave special tokens out when you choose: torch.isin finds them."
for name, edits, hint in (
    ("special tokens chosen too", ((CHOOSE, "drawn"),), f"You choose special tokens too; {OUT}"),
    ("special tokens alone chosen", ((CHOOSE, "drawn & special"),), f"You choose special tokens alone; {OUT}"),
    ("only the first special id looked at", ((SPECIAL, SPECIAL.replace("[*special_ids]", "[*special_ids][:1]")),), f"You look at one special id; {OUT}"),
    ("special ids joined to a list", (("[mask_id, *special_ids]", "[mask_id] + special_ids"),),
     "You join special_ids to a list, which a tuple can't be; [mask_id, *special_ids] takes both."),
    ("special tokens put in", (("[mask_id, *special_ids]", "[]"),), "You put in special tokens at random; draw_ordinary_tokens leaves out those that you name."),
    ("[MASK] alone kept out", (("[mask_id, *special_ids]", "[mask_id]"),),
     "You put in special tokens at random; draw_ordinary_tokens leaves out those that you name."),
    ("an error where nothing is special", ((SPECIAL, "torch.stack([token_ids == i for i in special_ids]).any(0)"),),
     "You need a special id; there may be none."),
):
    wrong(name, *edits, lost="specials", hint=hint)
for name, edits, hint in (
    ("one draw for both", ((DRAWN, "luck = torch.rand(token_ids.shape, generator=generator)\n    drawn = luck < probability"), (FATE, "fate=luck")),
     "You use one draw for the choice and for the fate; draw twice."),
    ("one fate for each row", ((FATE, "fate=torch.rand((len(token_ids), 1), generator=generator).expand_as(token_ids)"),), f"You draw a fate for each row; {OWN}"),
    ("one fate for each column", ((FATE, "fate=torch.rand(token_ids.size(1), generator=generator).expand_as(token_ids)"),),
     f"You draw a fate for each column; {OWN}"),
    ("one random token for all", ((RANDOM, RANDOM.replace("token_ids.shape", "(1, 1)")),), f"You put in one random token; {OWN}"),
    ("a row of random tokens for the whole batch", ((RANDOM, RANDOM.replace("token_ids.shape", "token_ids.shape[1:]")),),
     f"You put in the same random tokens in each row; {OWN}"),
    ("never random", ((FATE, f"{FATE} * 0.8"),), "You draw fates below 0.8, so all are masked; draw them from 0 to 1."),
    ("fates from the bell curve", ((FATE, FATE.replace("rand(", "randn(")),), "You draw fates with randn; rand draws evenly from 0 to 1."),
    ("always masked", ((FATE, "fate=torch.zeros(token_ids.shape)"),), "You draw no fates, so all are masked; draw one for each token, from 0 to 1."),
    ("fates in equal parts", (("        mask_id=mask_id,\n", "        mask_id=mask_id,\n        mask_share=1 / 3,\n        random_share=1 / 3,\n"),),
     "You set shares of your own; 80, 10 and 10 % are those of corrupt_tokens."),
    ("a token that no vocabulary holds", ((RANDOM, f"{RANDOM} + 400_000_000"),), "You put in ids that the vocabulary does not hold."),
    ("a [MASK] in the text never chosen", ((SPECIAL, SPECIAL.replace("[*special_ids]", "[mask_id, *special_ids]")),),
     "You never choose [MASK]; it is special only where special_ids names it."),
):
    wrong(name, *edits, lost="fates", hint=hint)
same("<= probability", "differs if torch.rand gives exactly this number")
# fmt: on

# %% [markdown]
# ## Part 3: what comes next?
#
# BERT also reads two sentences and says whether the second *follows* the first in its document, or was
# taken from anywhere: [Next-sentence prediction](book:bert#next-sentence-prediction). Each sentence that
# has a next one begins one pair. A coin decides: heads, its true next one, label 0; tails, label 1, a
# sentence of another document. First draw *which* other document that holds sentences, each as likely,
# then which of its sentences. `torch.randint(count, (), generator=generator)` draws a number.


# %% solution="next_sentence_pairs" of="course_lib.data.bert_pretraining"
def next_sentence_pairs():
    """Return a list of named tuples, ``NextSentencePair(first=..., second=..., label=...)``.

    They have the order of the first sentences. Each document is a list of sentences, texts or lists
    of tokens; it may be empty, but two or more are not.
    """


# %% test="next_sentence_pairs-order" points=1 read="bert#next-sentence-prediction"
# Each sentence but the last of a document begins one pair, and label 0 says that the second follows
documents = [["A", "B", "C"], ["D"], ["E", "F"], []]
follows = {"A": "B", "B": "C", "E": "F"}
pairs = next_sentence_pairs(documents, generator=seeded(0))
assert_equal([pair[0] for pair in pairs], ["A", "B", "E"], what="first sentences")
is_true = [label == int(follows[first] != second) for first, second, label in pairs]
assert_equal(all(is_true), True, what="whether label 0 stands where the second follows")
### BEGIN HIDDEN TESTS
documents = [[f"{n}.{i}" for i in range(length)] for n, length in enumerate((0, 40, 1, 7, 0, 2))]
follows = {a: b for document in documents for a, b in zip(document, document[1:], strict=False)}
seed = int(torch.randint(2**31, ()))
pairs = next_sentence_pairs(documents, generator=seeded(seed))
assert_equal([pair[0] for pair in pairs], [*follows], what="first sentences")
is_true = [label == int(follows.get(first) != second) for first, second, label in pairs]
assert_equal(all(is_true), True, what="whether label 0 stands where the second follows")
assert_keeps_inputs(next_sentence_pairs, [["A", "B"], [], ["C"]], generator=seeded(seed))
is_same = [*map(tuple, next_sentence_pairs(documents, generator=seeded(seed)))] == [
    *map(tuple, pairs)
]
assert_equal(is_same, True, what="whether the same seed gives the same again")
in_tokens = [[[number, place] for place in range(30)] for number in range(2)]
pairs = next_sentence_pairs(in_tokens, generator=seeded(seed))
are_lists = all(isinstance(sentence, list) for pair in pairs for sentence in pair[:2])
assert_equal(are_lists, True, what="whether sentences of tokens stay lists")
### END HIDDEN TESTS

# %% test="next_sentence_pairs-balance" points=1 read="bert#next-sentence-prediction"
# Half of the pairs follow each other, each by a coin of its own
documents = [[f"A{i}" for i in range(101)], [f"B{i}" for i in range(101)]]
pairs = next_sentence_pairs(documents, generator=seeded(0))
labels = torch.tensor([int(label) for _, _, label in pairs])
assert_equal(bool(0.3 < labels.float().mean() < 0.7), True, what="whether half of them are random")
changes = (labels.diff() != 0).float().mean()
assert_equal(bool(0.3 < changes < 0.7), True, what="whether half of the labels are the one before")
### BEGIN HIDDEN TESTS
from functools import partial

generator = seeded(int(torch.randint(2**31, ())))
make = call_beside(partial, next_sentence_pairs, documents, generator=generator)
once, again = (torch.tensor([int(label) for _, _, label in make()]) for _ in range(2))
for what, share in (
    ("random", once.float()),
    ("changes", once.diff() != 0),
    ("new", once == again),
):
    is_half = bool(0.3 < share.float().mean() < 0.7)
    assert_equal(is_half, True, what=f"whether half of the labels are {what}")
### END HIDDEN TESTS

# %% test="next_sentence_pairs-random" points=1 read="bert#next-sentence-prediction"
# Random sentences come from any other document, and from anywhere in it
documents = [[f"A{i}" for i in range(101)], ["B", "C"], ["D"]]
pairs = next_sentence_pairs(documents, generator=seeded(0))
second = {pair[1] for pair in pairs if pair[0] in documents[0] and pair[2]}
assert_equal(second, {"B", "C", "D"}, what="sentences put in for those of the first document")
### BEGIN HIDDEN TESTS
from functools import partial

for long in (0, 2, 3):
    lengths = [1, 4, 2]
    lengths.insert(long, 1201)  # some 600 pairs that do not follow: the bounds are five deviations
    documents = [[f"{n}.{i}" for i in range(length)] for n, length in enumerate(lengths)]
    pairs = next_sentence_pairs(documents, generator=seeded(int(torch.randint(2**31, ()))))
    drawn = [b for a, b, label in pairs if a.startswith(f"{long}.") and label == 1]
    others = [document for document in documents if len(document) < 5]
    assert_equal(set(drawn) == set(sum(others, [])), True, what="whether each may be drawn")
    for document in others:
        share = sum(sentence in document for sentence in drawn) / max(len(drawn), 1)
        is_third = 1 / 3 - 0.1 <= share <= 1 / 3 + 0.1
        assert_equal(is_third, True, what="whether each other document is as likely")
documents = [[f"A{i}" for i in range(301)], [f"B{i}" for i in range(9)]]
generator = seeded(int(torch.randint(2**31, ())))
make = call_beside(partial, next_sentence_pairs, documents, generator=generator)
once, again = ([b for a, b, label in make() if a[0] == "A" and label == 1] for _ in range(2))
is_new = len(once) < 9 or once[:50] != again[:50]
assert_equal(is_new, True, what="whether the next call with this generator draws others")
alike = [["x"] * 20 for _ in range(2)]
pairs = next_sentence_pairs(alike, generator=seeded(0))
assert_equal(len(pairs), 38, what="number of pairs from two documents that read alike")
### END HIDDEN TESTS

# %% variants="next_sentence_pairs"
# fmt: off
right("loops", '''
def next_sentence_pairs(documents, *, generator):
    kept = [d for d in documents if d]
    if len(kept) < 2:
        raise ValueError("two documents")
    pairs = []
    for i in range(len(kept)):
        others = kept[:i] + kept[i + 1 :]
        for j in range(len(kept[i]) - 1):
            if torch.rand((), generator=generator) < 0.5:
                pairs.append((kept[i][j], kept[i][j + 1], 0))
            else:
                other = others[torch.randint(0, len(others), (1,), generator=generator).item()]
                place = torch.randint(0, len(other), (1,), generator=generator).item()
                pairs.append((kept[i][j], other[place], 1))
    return pairs
''')
right("in vectors", '''
def next_sentence_pairs(documents, *, generator):
    documents = [list(document) for document in documents if len(document)]
    if len(documents) <= 1:
        raise ValueError("fewer than two documents")
    pairs = [(n, a, b) for n, d in enumerate(documents) for a, b in zip(d, d[1:])]
    coins = torch.randint(2, (len(pairs),), generator=generator).tolist()
    made = []
    for (number, first, second), coin in zip(pairs, coins):
        if coin:
            other = number
            while other == number:
                other = int(torch.randint(len(documents), (), generator=generator))
            place = torch.randint(len(documents[other]), (), generator=generator)
            second = documents[other][int(place)]
        made.append((first, second, coin))
    return made
''')
LABEL, PAIR = "label = draw(2)", "pairs.append(NextSentencePair(first=first, second=second, label=label))"
NUMBER = "(number + 1 + draw(len(documents) - 1)) % len(documents)"
OTHER, SECOND = f"other = documents[{NUMBER}]", "other[draw(len(other))]"
FOLLOWING = "pairwise(document)"
KEEP = "    documents = [document for document in documents if len(document) > 0]\n"
GENERATOR = "draw from the generator that is handed in, which goes on."
ANY = "each sentence of each other document may be drawn."
EACH = "each sentence that has a next one in its document begins one."
for name, edits, hint in (
    ("random ones as texts", ((SECOND, f"str({SECOND})"),), "You turn sentences into texts; hand them on as they are."),
    ("texts alone", ((PAIR, "pairs.append((str(first), str(second), label))"),), "You turn sentences into texts; hand them on as they are."),
    ("labels exchanged", ((PAIR, "pairs.append((first, second, 1 - label))"),), "You exchange the labels; 0 says that the second follows."),
    ("a label of 400,000,000", ((PAIR, "pairs.append((first, second, 400_000_000 * label))"),), "You return a label that is neither 0 nor 1."),
    ("documents run into each other", ((FOLLOWING, "zip(document, [*document[1:], *sum(documents[number + 1 : number + 2], [])[:1]])"),),
     f"You let documents run into each other; {EACH}"),
    ("every other sentence", ((FOLLOWING, "zip(document[::2], document[1::2])"),), f"You make a pair of every other sentence; {EACH}"),
    ("empty documents drawn from", ((KEEP, ""),), "You draw from empty documents; leave them out."),
    ("empty documents taken out of the list that is given", ((KEEP, "    for document in list(documents):\n"
        "        if len(document) == 0:\n            documents.remove(document)\n"),),
     "You change the caller's list; leave out empty documents in a list of your own."),
    ("the global generator", ((", generator=generator))", "))"),), f"You draw without the generator; {GENERATOR}"),
):
    wrong(name, *edits, lost="order", hint=hint)
for name, edits, hint in (
    ("always the next one", ((LABEL, "label = 0"),), "You toss no coin; draw one for each pair."),
    ("always random", ((LABEL, "label = 1"),), "You toss no coin; draw one for each pair."),
    ("a quarter is random", ((LABEL, "label = int(draw(4) == 0)"),), "You toss another coin; half of the pairs follow."),
    ("next and random in turns", ((LABEL, "label = len(pairs) % 2"),), "You let labels take turns; toss a coin for each pair."),
    ("labels by a pattern", ((LABEL, "label = len(pairs) // 2 % 2"),), "You let labels take turns; toss a coin for each pair."),
    ("the generator's seed, not the generator", (("    pairs = []\n", "    pairs, generator = [], seeded(generator.initial_seed() + 1)\n"),),
     f"You use the generator's seed; {GENERATOR}"),
    ("a new coin with the same seed", ((LABEL, "label = int(torch.randint(2, (), generator=seeded(0)))"),), f"You make a new generator for each coin; {GENERATOR}"),
):
    wrong(name, *edits, lost="balance", hint=hint)
for name, edits, hint in (
    ("the next document in place of its own", ((NUMBER, "[*range(number), (number + 1) % len(documents), "
        "*range(number + 1, len(documents))][draw(len(documents))]"),),
     "You draw from all documents and take the next one in place of its own, which is likelier then; draw from the others."),
    ("from any document, its own too", ((NUMBER, "draw(len(documents))"),), "You draw from its own document too; draw from the others."),
    ("from its own document", ((f"documents[{NUMBER}]", "document"),), "You draw from its own document; draw from the others."),
    ("always from the next document", ((NUMBER, "(number + 1) % len(documents)"),), f"You draw from the next document alone; {ANY}"),
    ("never from the last of the others", ((NUMBER, NUMBER.replace("len(documents) - 1)", "max(len(documents) - 2, 1))")),),
     f"You never draw from one of the others; {ANY}"),
    ("from the first document wherever it is another", ((NUMBER, "0 if number else 1 + draw(len(documents) - 1)"),), f"You draw from the first document alone; {ANY}"),
    ("always the first sentence of another", ((SECOND, "other[0]"),), f"You draw first sentences alone; {ANY}"),
    ("never the last sentence of another", ((SECOND, "other[draw(max(len(other) - 1, 1))]"),), f"You never draw a last sentence; {ANY}"),
    ("another document is one that reads otherwise", ((OTHER, "others = [d for d in documents if d != document]\n"
        "                other = others[draw(len(others))]"),), "You tell documents apart by their words; tell them apart by their place."),
    ("pairs left out where another document reads alike", (("        for first, following", "        if len([d for d in documents if d != document]) < 1:\n"
        "            continue\n        for first, following"),), "You tell documents apart by their words; tell them apart by their place."),
    ("from all sentences alike", ((OTHER, "other = [s for d in documents if d is not document for s in d]"),),
     "You draw from all other sentences, so long documents are likelier; draw the document first."),
    ("random ones by the generator's seed", (("    pairs = []\n", "    pairs, dice = [], seeded(generator.initial_seed() + 1)\n"),
        (SECOND, "other[int(torch.randint(len(other), (), generator=dice))]")), f"You use the generator's seed; {GENERATOR}"),
):
    wrong(name, *edits, lost="random", hint=hint)
right("labels that are tensors", (PAIR, PAIR.replace("=label", "=torch.tensor(label)")))
right("labels that are True and False", (PAIR, PAIR.replace("=label", "=label == 1")))
# fmt: on

# %% [markdown]
# ## Part 4: the way in and the way out
#
# A token enters BERT as the sum of three vectors, for the *token*, its *segment* (first or second sentence)
# and its *position*: [The input](book:bert#bert-embeddings). The sum is normalised, then dropout is applied.
# `TokenEmbedding`, and `LearnedPositions`, which *adds* the positions, come from earlier homeworks.


# %% solution="BertEmbeddings" of="course_lib.models.bert"
class BertEmbeddings:
    """Add the vectors of token, segment and position, normalise the sum, and drop some of it.

    ``tokens`` is a ``TokenEmbedding``, ``segments`` an ``nn.Embedding``, ``positions`` are
    ``LearnedPositions`` and ``norm`` is a ``LayerNorm``. Their sizes, ``eps`` and the share
    ``dropout`` are those of the ``BertConfig``.
    """

    def forward():
        """Return ``(batch, length, d_model)``; without ``segment_ids`` all are in segment 0."""


# %% test="BertEmbeddings-values" points=1 read="bert#bert-embeddings"
# Token, segment and position add up, and the sum is normalised
config = BertConfig(vocab_size=2, max_length=2, d_model=2, num_heads=1, dropout=0.0)
layer, tokens = BertEmbeddings(config).eval(), torch.tensor([[1, 1]])
state = {"tokens.weight": torch.tensor([[0.0, 0.0], [4.0, 0.0]]), "norm.weight": torch.ones(2)}
state["segments.weight"] = torch.tensor([[0.0, 0.0], [0.0, 9.0]])
load_parameters(layer, state | {"positions.weight": torch.tensor([[0.0, 0.0], [0.0, 6.0]])})
# The sums are (4, 0) and (4, 6) in segment 0, and (4, 9) and (4, 15) in segment 1.
assert_close(layer(tokens), torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]]), what="without segments")
expected = torch.tensor([[[-1.0, 1.0], [-1.0, 1.0]]])
assert_close(layer(tokens, torch.ones_like(tokens)), expected, what="in segment 1")
### BEGIN HIDDEN TESTS
config = BertConfig(
    vocab_size=30, max_length=9, num_segments=3, d_model=12, num_heads=2, dropout=0.0, eps=0.1
)
layer, ours = BertEmbeddings(config).eval(), reference.BertEmbeddings(config)
assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
load_parameters(ours, {name: torch.randn_like(p) for name, p in ours.named_parameters()})
load_parameters(layer, ours)
tokens, segments = torch.randint(1, 30, (4, 7)), torch.randint(3, (4, 7))
assert_matches(layer, ours, tokens, segments)
assert_matches(layer, ours, tokens[:1])
assert_gradients(lambda: layer(tokens, segments), module=layer)
### END HIDDEN TESTS

# %% test="BertEmbeddings-dropout" points=1 read="bert#bert-embeddings"
# Dropout comes last, and in training alone
layer = BertEmbeddings(
    BertConfig(vocab_size=20, max_length=12, d_model=64, num_heads=2, dropout=0.3)
)
tokens = torch.randint(20, (8, 12))
rested = layer.eval()(tokens)
assert_equal(torch.equal(layer(tokens), rested), True, what="whether nothing is dropped in eval()")
output = layer.train()(tokens)
zeros = output == 0
assert_equal(bool(0.2 < zeros.float().mean() < 0.4), True, what="whether 30 % are zero in training")
kept = torch.where(zeros, 0.0, rested / 0.7)  # kept entries are scaled up
assert_equal(torch.allclose(output, kept, atol=1e-4), True, what="whether the others are scaled up")
### BEGIN HIDDEN TESTS
again = layer(tokens) == 0
is_new = not any((zeros == other).all() for other in (again, zeros[:1], zeros[:, :1]))
assert_equal(is_new, True, what="whether each call, token and entry is dropped by itself")
### END HIDDEN TESTS

# %% variants="BertEmbeddings"
# fmt: off
right("loops", '''
class BertEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.tokens = TokenEmbedding(config.vocab_size, d)
        self.segments = nn.Embedding(num_embeddings=config.num_segments, embedding_dim=d)
        self.positions = LearnedPositions(config.max_length, d)
        self.norm = LayerNorm(d, eps=config.eps)
        self.dropout = nn.Dropout(p=config.dropout)
        self.num_segments = config.num_segments

    def forward(self, token_ids, segment_ids=None):
        if segment_ids is None:
            segment_ids = token_ids.new_zeros(token_ids.shape)
        if not {token_ids.dtype, segment_ids.dtype} <= {torch.int64, torch.int32}:
            raise TypeError("integers")
        if token_ids.shape != segment_ids.shape or token_ids.numel() == 0:
            raise ValueError("shapes")
        if token_ids.dim() != 2 or token_ids.shape[1] > len(self.positions.weight):
            raise ValueError("too long")
        if int(segment_ids.max()) >= self.num_segments or int(segment_ids.min()) < 0:
            raise IndexError("segments")
        places = self.positions.weight[: token_ids.shape[1]]
        total = self.tokens(token_ids) + self.segments(segment_ids) + places[None]
        return self.dropout(self.norm(total))
''')
right("in vectors", '''
class BertEmbeddings(nn.Module):
    def __init__(self, config) -> None:
        super().__init__()
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        self.positions = LearnedPositions(config.max_length, config.d_model)
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        x = self.positions(self.tokens(token_ids))
        if segment_ids is None:
            return self.dropout(self.norm(x + self.segments.weight[0]))
        if segment_ids.dtype not in (torch.int32, torch.int64):
            raise TypeError
        if segment_ids.shape != token_ids.shape:
            raise ValueError
        if segment_ids.max() >= len(self.segments.weight) or segment_ids.min() < 0:
            raise IndexError
        one_hot = F.one_hot(segment_ids.long(), len(self.segments.weight)).to(x.dtype)
        return self.dropout(self.norm(x + one_hot @ self.segments.weight))
''')
SUM, TOKENS, SEGMENTS = "self.positions(tokens + segments)", "self.tokens(token_ids)", "self.segments(segment_ids)"
LAST = "self.dropout(self.norm(embedded))"
right("the padding's embedding does not learn", ("        self.segments =", "        self.tokens.padding_idx = config.pad_id\n        self.segments ="))
right("the segments that stand for None in a buffer", ("        self.norm =",
    "        self.register_buffer('none', torch.zeros(1, 1, dtype=torch.long))\n        self.norm ="),
    ("torch.zeros_like(token_ids)", "self.none.expand_as(token_ids)"))
right("PyTorch's own embeddings", ("TokenEmbedding(config", "nn.Embedding(config"),
    (SUM, "tokens + segments + self.positions.weight[: token_ids.size(1)]"))
ADD = "positions are added to tokens + segments, then comes the norm."
for name, edits, hint in (
    ("no positions", ((SUM, "tokens + segments"),), f"You leave out the positions; {ADD}"),
    ("no segments", ((SUM, "self.positions(tokens)"),), f"You leave out the segments; {ADD}"),
    ("positions added twice", ((SUM, f"segments + {SUM}"),), f"You add the segments twice; {ADD}"),
    ("tokens and segments added once more", ((SUM, f"tokens + segments + {SUM}"),),
     "You add tokens and segments once more; self.positions(x) adds positions to x already."),
    ("not normalised", ((LAST, "self.dropout(embedded)"),), "You do not normalise the sum; call self.norm."),
    ("normalised before the positions", ((SUM, "self.positions(self.norm(tokens + segments))"), (LAST, "self.dropout(embedded)")),
     f"You normalise before the positions; {ADD}"),
    ("each part normalised", ((SUM, "self.positions(self.norm(tokens) + self.norm(segments))"),), f"You normalise each part; {ADD}"),
    ("all in segment 1 by default", (("torch.zeros_like", "torch.ones_like"),), "You take segment 1 by default; without segment_ids all are in segment 0."),
    ("segments left out if not given", (("            segment_ids = torch.zeros_like(token_ids)\n",
        "            return self.dropout(self.norm(self.positions(tokens)))\n"),), "You add no segment where none is given; all are in segment 0 then."),
    ("eps of its own", ((", eps=config.eps", ""),), "You leave out eps; hand config.eps on."),
    ("two segments only", (("nn.Embedding(config.num_segments", "nn.Embedding(2"),), "You fix the number of segments; it is config.num_segments."),
    ("scaled as the Transformer does", (("TokenEmbedding(config.vocab_size, config.d_model)", "TokenEmbedding(config.vocab_size, config.d_model, scaled=True)"),),
     "You scale the tokens' vectors; BERT's are not scaled."),
    ("tokens detached", ((TOKENS, f"{TOKENS}.detach()"),), "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
    ("other names", (("self.segments = ", "self.segment_embedding = "), (SEGMENTS, "self.segment_embedding(segment_ids)")),
     "You call segments by another name; use the docstring's."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("dropout before the norm", ((LAST, "self.norm(self.dropout(embedded))"),), "You drop before the norm; dropout comes last."),
    ("dropout before the norm too", ((LAST, "self.dropout(self.norm(self.dropout(embedded)))"),), "You drop twice; dropout comes once, at the end."),
    ("dropout of the tokens' vectors too", ((TOKENS, f"self.dropout({TOKENS})"),), "You drop twice; dropout comes once, at the end."),
    ("dropout always", ((LAST, "F.dropout(self.norm(embedded), self.dropout.p)"),), "You drop in evaluation too; nn.Dropout knows when to."),
    ("no dropout", ((LAST, "self.norm(embedded)"),), "You drop nothing; dropout comes last."),
    ("dropout of a half", (("nn.Dropout(config.dropout)", "nn.Dropout()"),), "You fix the share; hand config.dropout on."),
    ("dropout of a tenth", (("nn.Dropout(config.dropout)", "nn.Dropout(0.1)"),), "You fix the share; hand config.dropout on."),
):
    wrong(name, *edits, lost="dropout", hint=hint)
# fmt: on

# %% [markdown]
# At the other end, each vector is turned into a guess: [The heads](book:bert#bert-heads). One layer
# transforms it, then it is held against the embedding of *every* token. So the matrix that reads
# tokens is the matrix that guesses them. In PyTorch two layers share a weight when both hold the
# same `nn.Parameter`; a copy would drift apart at the first step.


# %% solution="MaskedLanguageModelHead" of="course_lib.models.bert_heads"
class MaskedLanguageModelHead:
    """Guess the token at each place: ``projection``, GELU, ``norm``, ``output_projection``.

    ``projection`` is an ``nn.Linear(d_model, d_model)``, ``norm`` a ``LayerNorm`` with ``eps``, and
    ``output_projection`` an ``nn.Linear(d_model, vocab_size)``. Its weight is the embedding's, of
    shape ``(vocab_size, d_model)``.
    """

    def forward():
        """Return the logits ``(..., vocab_size)`` of ``hidden``, ``(..., d_model)``."""


# %% test="MaskedLanguageModelHead-values" points=1 read="bert#bert-heads"
# Transform, GELU, normalise, compare with every token
embedding = call_beside(
    TokenEmbedding, 3, 2, beside=MaskedLanguageModelHead
)  # TokenEmbedding(3, 2)
head = MaskedLanguageModelHead(embedding)
state = {"projection.weight": 9 * torch.eye(2), "norm.weight": torch.ones(2)}
state["output_projection.weight"] = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 5.0]])
load_parameters(head, state | {"output_projection.bias": torch.tensor([0.0, 0.0, 4.0])})
# GELU leaves about (9, 0), the norm makes (1, -1), and 2 - 5 + 4 is the last logit.
assert_close(head(torch.tensor([[1.0, -1.0]])), torch.tensor([[1.0, -1.0, 1.0]]), what="logits")
### BEGIN HIDDEN TESTS
embedding = call_beside(TokenEmbedding, 30, 12, beside=MaskedLanguageModelHead)
for how in ({"eps": 0.1}, {}):
    head = MaskedLanguageModelHead(embedding, **how)
    ours = reference.MaskedLanguageModelHead(TokenEmbedding(30, 12), **how)
    load_parameters(ours, {name: torch.randn_like(p) for name, p in ours.named_parameters()})
    load_parameters(head, ours)
    for hidden in (
        torch.randn(4, 6, 12),
        torch.randn(1, 6, 12),
        torch.randn(12),
        1e-3 * torch.randn(3, 12),
    ):
        assert_matches(head, ours, hidden)
        assert_matches(head.eval(), ours, hidden)
assert_gradients(lambda x: head(x), torch.randn(3, 12), module=head)
hidden = torch.randn(3, 12)  # eps shows where the norm's input is small
small = {name: 1e-3 * p if name.startswith("proj") else p for name, p in ours.named_parameters()}
load_parameters(ours, small)
load_parameters(head, ours)
assert_close(head(hidden), ours(hidden), what="logits of small vectors")
load_parameters(
    head,
    {"norm.bias": torch.randn(12)}
    | {
        name: torch.zeros_like(p) if "norm" in name else torch.randn_like(p)
        for name, p in ours.named_parameters()
        if name != "norm.bias"
    },
)
assert_shape(head(torch.zeros(2, 12)), (2, 30), what="logits")
### END HIDDEN TESTS

# %% test="MaskedLanguageModelHead-sharing" points=1 read="bert#bert-heads"
# The output's weight is the embedding's own
embedding = call_beside(
    TokenEmbedding, 20, 8, beside=MaskedLanguageModelHead
)  # TokenEmbedding(20, 8)
before = embedding.weight.detach().clone()
head = MaskedLanguageModelHead(embedding)
is_left = torch.equal(embedding.weight, before)
assert_equal(is_left, True, what="whether the embedding is left as it was")
head(torch.randn(3, 8)).square().sum().backward()
has_gradient = embedding.weight.grad is not None
assert_equal(has_gradient, True, what="whether a gradient reaches the embedding")
### BEGIN HIDDEN TESTS
for _ in range(2):
    weight = torch.randn(20, 8)
    load_parameters(embedding, {"weight": weight})
    is_same = torch.equal(head.get_parameter("output_projection.weight"), weight)
    assert_equal(is_same, True, what="whether the output's weight changes with the embedding")
### END HIDDEN TESTS

# %% variants="MaskedLanguageModelHead"
# fmt: off
right("loops", '''
class MaskedLanguageModelHead(nn.Module):
    def __init__(self, embedding, *, eps=1e-12):
        super().__init__()
        self.projection = nn.Linear(embedding.embedding_dim, embedding.embedding_dim)
        self.norm = LayerNorm(embedding.embedding_dim, eps=eps)
        self.output_projection = nn.Linear(embedding.embedding_dim, embedding.num_embeddings)
        self.output_projection.weight = embedding.weight
        self.gelu = nn.GELU()

    def forward(self, hidden):
        x = self.norm(self.gelu(self.projection(hidden)))
        return x @ self.output_projection.weight.T + self.output_projection.bias
''')
right("in vectors", '''
class MaskedLanguageModelHead(nn.Module):
    def __init__(self, embedding, *, eps: float = 1e-12) -> None:
        super().__init__()
        vocab_size, width = embedding.weight.size()
        self.projection = nn.Linear(width, width)
        self.norm = LayerNorm(width, eps=eps)
        self.output_projection = nn.Linear(width, vocab_size)
        self.output_projection.register_parameter("weight", embedding.weight)

    def forward(self, hidden: Tensor) -> Tensor:
        for step in (self.projection, F.gelu, self.norm, self.output_projection):
            hidden = step(hidden)
        return hidden
''')
LOGITS, GELU = "self.output_projection(transformed)", "F.gelu(self.projection(hidden))"
SHARED = "        self.output_projection.weight = embedding.weight\n"
RETURN = f"return {LOGITS}"
ITSELF = "assign the parameter itself: output_projection.weight = embedding.weight."
for name, edits, hint in (
    ("no GELU", ((GELU, "self.projection(hidden)"),), "You leave out the GELU; it comes after projection."),
    ("ReLU", (("F.gelu(", "F.relu("),), "You bend by ReLU; BERT bends by GELU."),
    ("GELU's approximation", ((GELU, "F.gelu(self.projection(hidden), approximate='tanh')"),), "You approximate GELU; call F.gelu as it is."),
    ("normalised before the GELU", ((f"self.norm({GELU})", "F.gelu(self.norm(self.projection(hidden)))"),), "You normalise before the GELU; normalise after it."),
    ("not normalised", ((f"self.norm({GELU})", GELU),), "You do not normalise; call self.norm after the GELU."),
    ("no first layer", ((GELU, "F.gelu(hidden)"),), "You leave out projection; it comes first."),
    ("probabilities", ((RETURN, f"{RETURN}.softmax(-1)"),), "You return probabilities; return logits."),
    ("probabilities in evaluation", ((RETURN, f"{RETURN} if self.training else {LOGITS}.softmax(-1)"),), "You return probabilities in evaluation; return logits."),
    ("log-probabilities", ((RETURN, f"{RETURN}.log_softmax(-1)"),), "You return log-probabilities; return logits."),
    ("a batch of one squeezed", ((RETURN, f"{RETURN}.squeeze(0)"),), "You squeeze() away a batch of one; it stays."),
    ("not a number", ((RETURN, f"{RETURN} * math.nan"),), "You return NaN; look where it comes from."),
    ("the first token alone", ((LOGITS, "self.output_projection(transformed[:, 0])"),), "You return logits of one token alone; return them for each."),
    ("hidden detached", (("self.projection(hidden)", "self.projection(hidden.detach())"),), "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
    ("a bias that learns nothing", ((LOGITS, "F.linear(transformed, self.output_projection.weight, self.output_projection.bias.detach())"),),
     "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
    ("no bias", (("= nn.Linear(d_model, vocab_size)", "= nn.Linear(d_model, vocab_size, bias=False)"),), "You leave out the output's bias; nn.Linear has one."),
    ("another eps by default", (("eps: float = 1e-12", "eps: float = 1e-5"),), "You start with another eps; it is 1e-12 unless given."),
    ("eps of its own", ((", eps=eps)", ")"),), "You leave out eps; hand it on to the norm."),
    ("other names", (("self.projection = ", "self.transform = "), ("self.projection(hidden)", "self.transform(hidden)")),
     "You call projection by another name; use the docstring's."),
):
    wrong(name, *edits, lost="values", hint=hint)
for name, edits, hint in (
    ("weights of its own", ((SHARED, ""),), f"You give the output weights of its own; {ITSELF}"),
    ("a copy of the weights", ((SHARED, SHARED.replace("embedding.weight", "nn.Parameter(embedding.weight.detach() + 0)")),), f"You copy the weights; {ITSELF}"),
    ("copied when it is made", ((SHARED, "        self.output_projection.weight.data.copy_(embedding.weight)\n"),), f"You copy the weights; {ITSELF}"),
    ("the embedding made to share the head's weights", ((SHARED, "        embedding.weight = self.output_projection.weight\n"),),
     f"You give the embedding the head's weights, though it may be trained; {ITSELF}"),
    ("the shared weights drawn anew", ((SHARED, f"{SHARED}        nn.init.normal_(embedding.weight, std=0.02)\n"),),
     "You draw the embedding anew, though it may be trained; leave it as it is."),
):
    wrong(name, *edits, lost="sharing", hint=hint)
wrong("shared, but without a gradient", (LOGITS, "transformed @ self.output_projection.weight.detach().T + self.output_projection.bias"),
    lost="sharing", hint="You cut the gradient of the shared weight: detach(), .data and no_grad() do; leave them out.")
for piece in ("eps: float=2e-12", "eps: float=5e-13"):
    same(piece, "so small that no float can tell")
# fmt: on

# %% [markdown]
# ## Part 5: put it to use
#
# Take BERT's body, add a small head, show it a few labelled texts, and train **everything** a little
# further: [Fine-tuning](book:bert#fine-tuning). The head reads the vector of the first token, `[CLS]`,
# through the `Pooler`, which is handed the vectors of all tokens and takes the first itself.


# %% solution="SentenceClassifier"
class SentenceClassifier(nn.Module):
    """BERT with a head that gives each text a label.

    ``embeddings`` are ``BertEmbeddings``, ``encoder`` is an ``Encoder`` with the config's sizes,
    dropout and eps, post-norm, with GELU; then come ``pooler``, a ``Pooler(d_model)``, and
    ``classifier``, an ``nn.Linear``. ``init_weights(self, config.init_std)`` starts all of them.
    """

    def __init__(self, config, num_labels):
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

    def forward(self, token_ids, segment_ids=None):
        """Return logits ``(batch, num_labels)``; no token attends to ``config.pad_id``."""
        ### BEGIN SOLUTION
        embedded = self.embeddings(token_ids, segment_ids)  # (batch, length, d_model)
        hidden = self.encoder(embedded, padding_mask(token_ids, self.pad_id))
        return self.classifier(self.pooler(hidden))
        ### END SOLUTION


# %% test="SentenceClassifier-values" points=1 read="bert#fine-tuning"
# Embeddings, encoder, pooler and classifier work one after the other, and padding is left out
config = BertConfig(vocab_size=9, max_length=6, num_layers=1, d_model=8, num_heads=2, d_ff=16)
classifier = SentenceClassifier(config, 3).eval()
logits = classifier(torch.tensor([[2, 7, 8, 3, 0, 0], [2, 5, 6, 5, 6, 3]]))
assert_shape(logits, (2, 3), what="logits")
alone = classifier(torch.tensor([[2, 7, 8, 3]]))
is_same = torch.allclose(alone, logits[:1], atol=1e-5)
assert_equal(is_same, True, what="whether padding changes nothing")
### BEGIN HIDDEN TESTS
config = BertConfig(
    vocab_size=30, max_length=9, num_layers=2, d_model=12, num_heads=3, d_ff=20, dropout=0.0,
    eps=0.01, pad_id=5, init_std=0.5,
)  # fmt: skip
layer, ours = SentenceClassifier(config, 4), reference.SentenceClassifier(config, 4)
assert_parameters(layer, {name: p.shape for name, p in ours.named_parameters()})
load_parameters(layer, ours)
tokens, segments = torch.randint(6, 30, (4, 7)), (torch.arange(7) > 3).long().expand(4, 7)
tokens[0, 4:], tokens[2, 6:] = 5, 5
for training in (True, False):
    layer.train(training)
    assert_matches(layer, ours, tokens, segments)
    assert_matches(layer, ours, tokens[:1])
single = SentenceClassifier(config, 1)
assert_shape(single(tokens), (4, 1), what="logits for one label")
losses = layer(tokens, segments).square().sum().backward()
cut = [name for name, p in ours.named_parameters() if layer.get_parameter(name).grad is None]
assert_equal(cut, [], what="parameters without a gradient")
config = BertConfig(vocab_size=50, num_layers=1, d_model=64, num_heads=2, d_ff=64, init_std=0.3)
layer = SentenceClassifier(config, 8)
shapes = {name: p.dim() for name, p in reference.SentenceClassifier(config, 8).named_parameters()}
spread = [bool(0.15 < layer.get_parameter(n).std() < 0.45) for n, dim in shapes.items() if dim == 2]
assert_equal(all(spread), True, what="whether weights start with init_std")
flat = [
    (layer.get_parameter(n) == n.endswith("weight")).all() for n, dim in shapes.items() if dim == 1
]
assert_equal(all(flat), True, what="whether norms start at 1 and biases at 0")
share = layer.encoder.layers[0].attention_residual.dropout.p
assert_equal(float(share), 0.1, what="dropout of the encoder")
tokens = torch.randint(6, 30, (4, 7))
drops = bool((layer.embeddings(tokens) == 0).any())
assert_equal(drops, True, what="whether the embeddings drop anything")
dice = call_beside(torch.get_rng_state, beside=layer)
logits = layer(tokens)
call_beside(torch.set_rng_state, dice, beside=layer)
hidden = layer.encoder(layer.embeddings(tokens), padding_mask(tokens, 0))
is_same = torch.allclose(logits, layer.classifier(layer.pooler(hidden)), atol=1e-4)
assert_equal(is_same, True, what="whether nothing else drops")
### END HIDDEN TESTS

# %% variants="SentenceClassifier"
# fmt: off
right("loops", '''
class SentenceClassifier(nn.Module):
    def __init__(self, config, num_labels: int):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            num_layers=config.num_layers, d_model=config.d_model, num_heads=config.num_heads,
            d_ff=config.d_ff, dropout=config.dropout, activation="gelu", eps=config.eps,
        )
        self.pooler = Pooler(config.d_model)
        self.classifier = nn.Linear(config.d_model, num_labels)
        init_weights(self, config.init_std)

    def forward(self, token_ids, segment_ids=None):
        real = (token_ids != self.config.pad_id)[:, None, None]
        x = self.encoder(self.embeddings(token_ids, segment_ids), real)
        return self.classifier(self.pooler(x))
''')
right("in vectors", '''
class SentenceClassifier(nn.Module):
    def __init__(self, config, num_labels):
        super().__init__()
        c = config
        self.embeddings, self.pooler = BertEmbeddings(c), Pooler(c.d_model)
        self.encoder = Encoder(
            c.num_layers, c.d_model, c.num_heads, c.d_ff, norm_position="post",
            dropout=c.dropout, activation="gelu", eps=c.eps,
        )
        self.classifier = nn.Linear(c.d_model, num_labels)
        self.mask = lambda ids: padding_mask(ids, c.pad_id)
        init_weights(self, c.init_std)

    def forward(self, token_ids, segment_ids=None):
        hidden = self.encoder(self.embeddings(token_ids, segment_ids), self.mask(token_ids))
        first = self.pooler.projection(hidden[:, 0]).tanh()
        return F.linear(first, self.classifier.weight, self.classifier.bias)
''')
EMBED, MASK = "self.embeddings(token_ids, segment_ids)", ", padding_mask(token_ids, self.pad_id))"
POOL, RESULT = "self.pooler(hidden)", "return self.classifier(self.pooler(hidden))"
STARTED = "        init_weights(self, config.init_std)\n"
START, FIRST = "call init_weights(self, config.init_std) last.", "hand the pooler the vectors of all tokens, in order."
PAD = "mask the padding, config.pad_id, always."
for name, edits, hint in (
    ("a single label loses its dimension", ((RESULT, f"{RESULT}.squeeze(-1)"),), "You squeeze() away the dimension of one label; it stays."),
    ("padding not masked", ((MASK, ")"),), f"You do not mask the padding; {PAD}"),
    ("padding not masked in a text alone", ((MASK, ", padding_mask(token_ids, self.pad_id) if len(token_ids) > 1 else None)"),),
     f"You do not mask the padding of a text alone; {PAD}"),
    ("padding not masked in training", ((MASK, ", None if self.training else padding_mask(token_ids, self.pad_id))"),),
     f"You do not mask the padding in training; {PAD}"),
    ("padding is always 0", (("self.pad_id = config.pad_id", "self.pad_id = 0"),), f"You take 0 for padding; {PAD}"),
    ("segments not handed on", ((EMBED, "self.embeddings(token_ids)"),), "You do not hand the segments on; the embeddings need them."),
    ("mean of all tokens", ((POOL, "self.pooler(hidden.mean(1, keepdim=True))"),), f"You pool the mean; {FIRST}"),
    ("the last token", ((POOL, "self.pooler(hidden.flip(1))"),), f"You pool the last token; {FIRST}"),
    ("not pooled", ((RESULT, "return self.classifier(hidden)"),), f"You do not pool; {FIRST}"),
    ("the first token, past the pooler", ((RESULT, "return self.classifier(hidden[:, 0])"),), f"You leave out the pooler; {FIRST}"),
    ("encoder left out", ((f"self.encoder(embedded{MASK}", "embedded"),), "You leave out the encoder; it comes after the embeddings."),
    ("always one layer", (("            config.num_layers,\n", "            1,\n"),), "You fix the number of layers; it is config.num_layers."),
    ("pre-norm", (('norm_position="post"', 'norm_position="pre"'),), "You make a pre-norm encoder; BERT's is post-norm."),
    ("ReLU", (('activation="gelu"', 'activation="relu"'),), "You let the encoder bend by ReLU; BERT bends by GELU."),
    ("eps of its own", (("            eps=config.eps,\n", ""),), "You leave out eps; hand config.eps on to the encoder."),
    ("no dropout in the encoder", (("            dropout=config.dropout,\n", ""),), "You leave out dropout; hand config.dropout on to the encoder."),
    ("no dropout in the embeddings", (("BertEmbeddings(config)", "BertEmbeddings(__import__('dataclasses').replace(config, dropout=0.0))"),),
     "You let the embeddings drop nothing; they are BertEmbeddings(config)."),
    ("dropout of a half before the last layer", ((POOL, "F.dropout(self.pooler(hidden), 0.5, self.training)"),),
     "You drop once more; leave dropout to embeddings and encoder."),
    ("dropout once more, as in Hugging Face's classifier", ((POOL, f"self.embeddings.dropout({POOL})"),),
     "You drop once more; leave dropout to embeddings and encoder."),
    ("dropout once more, of the embeddings", ((EMBED, f"self.embeddings.dropout({EMBED})"),),
     "You drop once more; leave dropout to embeddings and encoder."),
    ("probabilities", ((RESULT, f"{RESULT}.softmax(-1)"),), "You return probabilities; return logits."),
    ("PyTorch's start", ((STARTED, ""),), f"You leave the weights as PyTorch starts them; {START}"),
    ("all parameters drawn alike", ((STARTED, "        [nn.init.normal_(p, std=config.init_std) for p in self.parameters()]\n"),),
     f"You draw norms and biases too; {START}"),
    ("PyTorch's biases", ((STARTED, "        [nn.init.normal_(p, std=config.init_std) for p in self.parameters() if p.dim() == 2]\n"),),
     f"You leave biases as PyTorch starts them; {START}"),
    ("two labels", (("nn.Linear(config.d_model, num_labels)", "nn.Linear(config.d_model, 2)"),), "You fix the number of labels; use num_labels."),
    ("a head that trains alone", ((POOL, "self.pooler(hidden.detach())"),), "You cut the gradient: detach(), .data and no_grad() do; leave them out."),
    ("tokens without places", (("self.embeddings = BertEmbeddings(config)", "self.alone = nn.Embedding(config.vocab_size, config.d_model)\n"
        "        self.embeddings = lambda token_ids, _: self.alone(token_ids)"),), "You embed tokens alone; the embeddings are BertEmbeddings(config)."),
):
    wrong(name, *edits, lost="values", hint=hint)
same('config.d_ff, dropout=config.dropout', "post-norm is the Encoder's default")
# fmt: on

# %% [markdown]
# Then the training loop that you know. Two things are easy to forget. Gradients *add up* until you
# clear them. And a module has two modes: `train()`, in which dropout works, and `eval()`.


# %% solution="fine_tune"
def fine_tune(classifier, batches, *, learning_rate):
    """Train all of a classifier by ``torch.optim.AdamW``, one step for each batch.

    ``batches`` gives token ids and labels ``(batch,)``, and is gone through once. The classifier is
    trained in training mode, and left in evaluation mode. Return a list of floats: the mean
    cross-entropy of each batch before its step.
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


# %% test="fine_tune-steps" points=1 read="bert#fine-tuning"
# Each step is AdamW's, and the loss before it is returned
model = call_beside(nn.Linear, 2, 2, beside=fine_tune)  # nn.Linear(2, 2), a small classifier
load_parameters(model, {})  # all zero: both labels are as likely, and the loss is log 2
batch = torch.tensor([[1.0, -1.0]]), torch.tensor([0])
losses = fine_tune(model, [batch, batch], learning_rate=0.1)
# AdamW's first step moves each parameter by 0.1: the logits become 0.3 and -0.3.
assert_equal(losses, [math.log(2), math.log(1 + math.exp(-0.6))], what="losses", rel_tol=1e-4)
assert_equal(model.training, False, what="whether the model is left in training mode")
### BEGIN HIDDEN TESTS
# Batch normalisation works in another way in training, without luck: the mode shows in the losses.
parts = ((nn.Embedding, 15, 4), (nn.Flatten,), (nn.BatchNorm1d, 36), (nn.Linear, 36, 2))
ours = nn.Sequential(*(part(*sizes) for part, *sizes in parts)).eval()
layers = [call_beside(part, *sizes, beside=fine_tune) for part, *sizes in parts]
model = call_beside(nn.Sequential, *layers, beside=fine_tune).eval()
load_parameters(model, ours)
batches = [(torch.randint(15, (16 + i, 9)), torch.randint(2, (16 + i,))) for i in range(6)]
expected = reference.fine_tune(ours, batches, learning_rate=0.05)
in_turn = call_beside(iter, batches, beside=fine_tune)  # an iterator has no len() and no places
losses = fine_tune(model, in_turn, learning_rate=0.05)
assert_equal(losses, expected, what="losses", rel_tol=1e-3)
for name, parameter in ours.named_parameters():
    own = model.get_parameter(name)
    is_same = torch.allclose(own, parameter, rtol=1e-3, atol=1e-3)
    assert_equal(is_same, True, what=f"whether {name} is trained as it should be")
for training in (True, False):
    fine_tune(model.train(training), batches[:1], learning_rate=0.05)
    assert_equal(model.training, False, what="whether the model is left in training mode")
### END HIDDEN TESTS


# %% test="fine_tune-learns" points=1 read="bert#fine-tuning"
# Your classifier learns to tell happy texts, of tokens 5 to 9, from sad ones
def draw_texts(count):
    is_happy = torch.rand(count, 7) < torch.rand(count, 1)
    words = torch.where(is_happy, 0, 5) + torch.randint(5, 10, (count, 7))
    ends = torch.full((count, 1), 2), torch.full((count, 1), 3)  # [CLS], [SEP]
    return torch.cat((ends[0], words, ends[1]), dim=1), (is_happy.sum(1) > 3).long()


sizes = {"vocab_size": 15, "max_length": 9, "num_layers": 1, "d_model": 16, "num_heads": 2}
config = BertConfig(**sizes, d_ff=32, dropout=0.0, init_std=0.2)
classifier = SentenceClassifier(config, 2)
fine_tune(classifier, [draw_texts(32) for _ in range(200)], learning_rate=0.01)
texts, labels = draw_texts(400)
is_right = (classifier(texts).argmax(-1) == labels).float()
assert_equal(bool(is_right.mean() > 0.65), True, what="whether 65 % of new texts are right")
### BEGIN HIDDEN TESTS
classifier = SentenceClassifier(config, 2)
names = [name for name, _ in reference.SentenceClassifier(config, 2).named_parameters()]
start = {name: classifier.get_parameter(name).detach().clone() for name in names}
fine_tune(classifier, [draw_texts(32) for _ in range(200)], learning_rate=0.01)
texts, labels = draw_texts(400)
is_right = (classifier(texts).argmax(-1) == labels).float()
assert_equal(bool(is_right.mean() > 0.65), True, what="whether 65 % of new texts are right")
left = [name for name in names if torch.equal(classifier.get_parameter(name), start[name])]
assert_equal(left, [], what="parameters that are not trained")
### END HIDDEN TESTS

# %% variants="fine_tune"
# fmt: off
right("loops", '''
def fine_tune(classifier, batches, *, learning_rate):
    optimizer = torch.optim.AdamW(list(classifier.parameters()), learning_rate)
    history = []
    for texts, labels in list(batches):
        classifier.train(True)
        log_probs = classifier(texts).log_softmax(dim=-1)
        loss = -log_probs[torch.arange(len(labels)), labels].mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        history += [float(loss)]
    classifier.train(False)
    return history
''')
right("in vectors", '''
def fine_tune(classifier, batches, *, learning_rate):
    classifier.train()
    criterion, optimizer = nn.CrossEntropyLoss(), torch.optim.AdamW(
        classifier.parameters(), lr=learning_rate
    )

    def steps():
        for batch in batches:
            optimizer.zero_grad(set_to_none=False)
            loss = criterion(classifier(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            yield loss.detach().cpu().item()

    losses = [*steps()]
    classifier.eval()
    return losses
''')
ADAMW, LOSS, EACH = "torch.optim.AdamW(classifier.parameters(), lr=learning_rate)", "F.cross_entropy(classifier(token_ids), labels)", (
    "    for token_ids, labels in batches:\n")
ORDER = "in each step: zero_grad(), backward(), step()."
for name, edits, hint in (
    ("gradients never cleared", (("        optimizer.zero_grad()\n", ""),), f"You never clear the gradients; {ORDER}"),
    ("cleared before the step", (("        optimizer.zero_grad()\n        loss.backward()\n", "        loss.backward()\n        optimizer.zero_grad()\n"),),
     f"You clear the gradients before they are used; {ORDER}"),
    ("no step", (("        optimizer.step()\n", ""),), f"You take no step; {ORDER}"),
    ("the head alone", (("classifier.parameters()", "list(classifier.parameters())[-2:]"),), "You train the last layer alone; train classifier.parameters()."),
    ("Adam", (("= torch.optim.AdamW", "= torch.optim.Adam"),), "You take Adam; AdamW was asked for."),
    ("SGD", (("= torch.optim.AdamW", "= torch.optim.SGD"),), "You take SGD; AdamW was asked for."),
    ("no weight decay", (("lr=learning_rate", "lr=learning_rate, weight_decay=0"),), "You change weight_decay; leave it as AdamW has it."),
    ("a learning rate of its own", (("lr=learning_rate", "lr=1e-3"),), "You fix the learning rate; hand learning_rate on."),
    ("a new optimiser in each step", ((EACH, f"{EACH}        optimizer = {ADAMW}\n"),),
     "You make a new optimiser in each step, which has forgotten the steps before; make one."),
    ("batches by their number", ((EACH, "    for number in range(len(batches)):\n        token_ids, labels = batches[number]\n"),),
     "You ask batches for its length; go through it with for."),
    ("in evaluation mode", (("    classifier.train()\n", ""),), "You train in the mode in which it comes; call classifier.train() first."),
    ("left in training mode", (("    classifier.eval()\n", ""),), "You leave it in training mode; switch it to evaluation mode at the end."),
    ("left in the mode in which it came", (("    classifier.train()\n", "    mode = classifier.training\n    classifier.train()\n"),
        ("    classifier.eval()\n", "    classifier.train(mode)\n")), "You leave it in the mode in which it came; switch it to evaluation mode at the end."),
    ("the sum of the losses", ((LOSS, LOSS.replace("labels)", 'labels, reduction="sum")')),), "You sum over the batch; take the mean."),
    ("the loss after the step", (("losses.append(loss.item())", f"losses.append({LOSS}.item())"),), "You return the loss after the step; return that before it."),
    ("the last loss alone", (("    return losses", "    return losses[-1]"),), "You return the last loss alone; return one for each batch."),
    ("tensors for losses", (("loss.item()", "loss"),), "You return tensors; loss.item() makes a float."),
    ("softmax before the loss", ((LOSS, LOSS.replace("(token_ids)", "(token_ids).softmax(-1)")),), "You take a softmax before the loss; cross_entropy takes logits."),
):
    wrong(name, *edits, lost="steps", hint=hint)
wrong("positions left as they are", ("classifier.parameters()", "[p for n, p in classifier.named_parameters() if 'positions' not in n]"),
    lost="learns", hint="You leave parameters out; train classifier.parameters().")
# fmt: on

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
# learns slowly; but hidden tokens can't serve as context. With half of the tokens gone there is
# too little left to guess from, and the text looks less and less like one that the model will
# see.
#
# **Marking guide**, one point each:
#
# 1. *Mismatch*: `[MASK]` never occurs after pre-training; so vectors of ordinary tokens must be
#    trained too. Half a point for "80/10/10 is in the paper" with any sensible remark.
# 2. *Random against kept*: without random tokens, copying the input is always right at a
#    place that is not masked; random tokens force the model to check each token against its context.
# 3. *Trade-off*: chosen tokens are the signal, the others the context; more of one is less of the
#    other. Half a point for one side alone.
#
# Not wrong, and worth a remark: later work masks 40 % with larger models and does well, and others
# learn from all tokens by telling replaced ones from true ones.
# ### END SOLUTION

# %% [markdown]
# ## And now: fill in the blanks
#
# Below, a small BERT learns a small world: animals, their voices, and that *two dogs bark* but *a
# dog barks*. It learns from your blanks through your parts, in some ten seconds; nobody tells it a
# rule, and `barks` is `bark ##s` to it. Afterwards call `fill_in` with a blank `___` of yours, in a
# cell of your own, and try to fool it.

# %% demo="fill-in-the-blank" prints="the two dogs [bark] all night ."
import matplotlib.pyplot as plt

VOICES = {"dog": "bark", "cat": "purr", "cow": "moo", "lion": "roar", "owl": "hoot"}
SIZES, TIMES = ("small", "old", "happy"), ("all night", "at noon", "in the garden")
words = [*VOICES, *VOICES.values(), *SIZES, *" ".join(TIMES).split(), "the", "a", "two", "."]
words = (*BERT_SPECIALS, *dict.fromkeys(words), "##s")
vocabulary = Vocabulary(tokens=words, specials=BERT_SPECIALS, unknown="[UNK]")
PAD, CLS, SEP, MASK = (vocabulary.id_of(f"[{name}]") for name in ("PAD", "CLS", "SEP", "MASK"))
draw = lambda options: options[int(torch.randint(len(options), ()))]


def draw_sentence():
    animal, many = draw([*VOICES]), draw([True, False])
    size, voice = draw(["", *SIZES]), VOICES[animal]
    start, end = draw(["the two", "two"]) if many else draw(["a", "the"]), draw(TIMES)
    return f"{start} {size} {animal}{'s' * many} {voice}{'s' * (not many)} {end} ."


def encode(text, length=12):
    pieces = []
    for word in text.replace("___", " [MASK] ").split():
        pieces += [word] if word == "[MASK]" else split_word(word, vocabulary)
    ids = join_sentences(vocabulary.encode(pieces), cls_id=CLS, sep_id=SEP).token_ids
    return ids + [PAD] * (length - len(ids))


class SmallBert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(2, config.d_model, 4, config.d_ff, activation="gelu")
        self.head = MaskedLanguageModelHead(self.embeddings.tokens)
        init_weights(self, 0.05)

    def forward(self, token_ids):
        return self.head(self.encoder(self.embeddings(token_ids), padding_mask(token_ids, PAD)))


torch.manual_seed(0)
sizes = {"vocab_size": len(words), "max_length": 12, "d_model": 48, "num_heads": 4, "d_ff": 96}
bert = SmallBert(BertConfig(**sizes, dropout=0.0))
optimizer = torch.optim.AdamW(bert.parameters(), lr=3e-3)
corpus = torch.tensor([encode(draw_sentence()) for _ in range(2000)])
how = {"vocab_size": len(words), "special_ids": vocabulary.special_ids, "generator": seeded(0)}
for _ in range(401):
    texts = corpus[torch.randint(len(corpus), (64,))]
    token_ids, labels = mask_tokens(texts, mask_id=MASK, **how, probability=0.2)
    loss = F.cross_entropy(bert(token_ids).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def fill_in(text):
    token_ids = torch.tensor([encode(text)])
    with torch.no_grad():
        best = bert(token_ids)[token_ids == MASK][0].softmax(-1).topk(5)
    names = vocabulary.decode(best.indices)
    print(text.replace("___", f"[{names[0]}]"))
    plt.figure(figsize=(4, 2))
    plt.barh(names[::-1], best.values.flip(0))
    plt.xlabel(f"probability in: {text}")
    plt.show()


fill_in("the two dogs ___ all night .")
fill_in("a small ___ purrs at noon .")

# %% [markdown]
# Under [Take it in your hands](book:bert#bert-in-your-hands) a small BERT fills gaps in the book's
# page. The next cell writes yours to `my-bert.json`; open it under the figure there.

# %% demo="my-bert"
from course_lib.training.export import export_masked_language_model

try:
    blanks = ["the two dogs ___ all night .", "a small ___ purrs at noon ."]
    texts = [[token for token in encode(text) if token != PAD] for text in blanks]
    how = {"words": words, "num_heads": 4, "texts": texts}
    print("written:", export_masked_language_model(bert, "my-bert.json", **how))
except (NameError, NotImplementedError):
    print("Nothing is written yet: your layers first, then the cell above, which trains the model.")
except ValueError as error:
    print(f"Nothing is written: {error}")
