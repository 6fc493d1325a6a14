# %% [markdown]
# # Homework 7: BLEU
#
# A monkey sits at a typewriter. It knows some thirty words and types them as they come. You can't
# tell it what to write. All that you may do is shout a number after each line, from 0 to 100.
#
# In the last cell of this notebook the monkey writes Shakespeare. The number that it hears is
# **BLEU**, the yardstick by which two decades of machine translation have been measured, and *you*
# write it. Then you know how it works, and can do what this homework ends with: fool it.
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `ngram_counts`, `count_matches`: how much of a translation is in its references | 6 |
# | 2 | `closest_reference_length`, `brevity_penalty`: the price of saying little | 3 |
# | 3 | `sentence_statistics`, `sum_statistics`: counts that add up to a corpus | 2 |
# | 4 | `smoothed_precisions`, `score_statistics`: from counts to a score | 8 |
# | 5 | `reordered`: another order of words that BLEU likes as much; and a question in words | 5 |
#
# **Time:** about two and a half hours if you have read the chapter [BLEU](book:bleu); each part
# takes half an hour. There is no tensor in this homework, only counting.
#
# **Afterwards you can** say what a BLEU score counts and what it can't see, compute it as the
# standard tool does, and tell a difference that means something from one that does not.

# %% [markdown]
# ## How this notebook works
#
# - Write your code where a cell says `YOUR CODE HERE`. The docstring above that line is the
#   contract. You may add cells and functions of your own.
# - A list that your code is given belongs to whoever calls it: sort or change a copy, never the
#   list itself.
# - The test cells check one thing each. One that passes says so, one that fails says
#   first what is wrong, and mostly gives a hint. Long ones are folded: a click opens them.
# - Most tests have a hidden part, which runs when your work is graded, with other sentences. It
#   asks for nothing beyond the docstring, the text and the part that you see.
# - A mistake in one part costs no points in another: when your work is graded, what stands on a
#   wrong part is tried with a right one in its place too. So hand in also what is only half done.
# - **The rule of this homework:** the counting is yours, not that of the standard tool, `sacrebleu`.
#   To compare your scores with it in a cell of your own is a good idea: it is installed with this
#   homework. Put nothing else into that cell: where your work is graded there is no `sacrebleu`.
# - `README.md`, beside this notebook, says how to open the course's book. Its page
#   [For students](book:for-students) says how to begin, ask, hand in and read feedback.
# - Before you hand in: *Kernel > Restart kernel and run all cells*. It stops at the first test that
#   fails; if your work is half done, go on below it by hand.
#
# **If you are stuck,** take a sentence of four words and count with a pencil. Then look at
# [Common mistakes](book:bleu#bleu-common-mistakes) in the chapter.

# %% setup="imports" installs="sacrebleu"
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Integral, Real

import torch

from course_lib.checked_results import as_pair
from course_lib.metrics.bleu import BLEUScore, Smoothing
from course_lib.metrics.bleu_statistics import BLEUStatistics
from course_lib.metrics.tokenizer_13a import tokenize_13a
from course_lib.notebook_tests import tell_what_passes
from course_lib.testing import (
    CheckFailure,
    assert_equal,
    assert_keeps_inputs,
    assert_raises,
    forgive,
)

tell_what_passes()  # a line under each test cell that ran to its end

# The checks that charge what others pass over.
MATCHES, CLIPPING = "count_matches-matches", "count_matches-clipping"
UNSMOOTHED = "smoothed_precisions-none"
FLOOR, EXP = "smoothed_precisions-floor", "smoothed_precisions-exp"
ADD_K = "smoothed_precisions-add-k"
MEAN, ZEROS = "score_statistics-mean", "score_statistics-zeros"
EFFECTIVE_ORDER = "score_statistics-effective-order"

WORDS = "ant bee cat dog eel fox gnu hen ibis jay kiwi lynx mole newt owl pig rat seal".split()


def draw_words(number):
    """Draw that many different words, in any order; the tests make their sentences of them."""
    return [WORDS[i] for i in torch.randperm(len(WORDS))[:number].tolist()]


def as_dict(counts):
    """Give counts as a plain dict, whether they came as a Counter or as a dict."""
    if not hasattr(counts, "items"):
        raise CheckFailure("ngram_counts should return counts", hint="return a Counter or a dict")
    counts = dict(counts.items())
    if not all(isinstance(count, Integral) for count in counts.values()):
        raise CheckFailure("a count is no int", hint="how often an n-gram occurs is an int")
    return counts


def matches_and_total(result, true_total=None):
    """Give what count_matches returned, if it is a pair of ints.

    Given the true total, a pair in the wrong order is turned, and a float will do.
    """
    result = as_pair(result, "count_matches should return a pair", hint="return matches, total")
    if true_total is not None and any(isinstance(x, float) and x.is_integer() for x in result):
        forgive("a count is a float", MATCHES)
        result = [int(x) if isinstance(x, float) and x.is_integer() else x for x in result]
    if not all(isinstance(number, Integral) for number in result):
        raise CheckFailure("matches and total should be ints", hint="add up counts: they are ints")
    matches, total = result
    turned = matches == true_total and 0 <= total < matches
    if turned:
        forgive("the total comes before the matches", MATCHES)
    return (total, matches) if turned else (matches, total)


def as_record(result, kind):
    """Give a result, if it has fields as it should."""
    if result is None or isinstance(result, Real | str | list | tuple | dict):
        raise CheckFailure(f"the result should be a {kind}", hint=f"return {kind}(...)")
    return result


def as_score(result, precisions=(), penalty=1.0):
    """Give a BLEUScore; of a bare number one with the other fields as they should be."""
    if isinstance(result, tuple | list) and result:
        forgive("the result is a tuple, no BLEUScore", MEAN)
        result = result[0]
    if not isinstance(result, Real) or isinstance(result, bool):
        return as_record(result, "BLEUScore")
    forgive("the result is a number, no BLEUScore", MEAN)
    empty = statistics_of((), (), 0)
    return BLEUScore(score=result, precisions=precisions, brevity_penalty=penalty, statistics=empty)


def but_for_rounding(score, expected):
    """Give what is expected in place of a score that is rounded to two digits, or made of such."""
    is_near = isinstance(score, Real) and 0 < abs(score - expected) <= 0.01
    if not (is_near and expected):
        return score
    if not math.isclose(score, expected, rel_tol=1e-6):
        forgive("the score is rounded", MEAN)
    return expected


def as_numbers(result, what):
    """Give numbers as a tuple, if they are numbers; their own test says whether they are right."""
    values = result.tolist() if hasattr(result, "tolist") else result
    values = values.values() if isinstance(values, dict) else values
    numbers = tuple(values) if isinstance(values, Iterable) else (values,)
    if not all(isinstance(number, Real) and math.isfinite(number) for number in numbers):
        hint = "plain numbers, several of them in a tuple"
        raise CheckFailure(f"{what}: no plain numbers", hint=hint)
    return numbers


def as_shares(precisions, paid_in=UNSMOOTHED):
    """Give precisions as shares, should they be per cent, and as a tuple."""
    numbers = as_numbers(precisions, "the precisions")
    if not isinstance(precisions, tuple | list):
        forgive("the precisions are no tuple", paid_in)
    if max(numbers, default=0) <= 1:
        return numbers
    forgive("the precisions are per cent, not shares", paid_in)
    return tuple(p / 100 for p in numbers)


def without_the_last(precisions, orders):
    """Give the precisions of a candidate with n-grams of so many orders, without one more of 0."""
    if precisions[orders:] != (0.0,):
        return precisions
    forgive("an order without n-grams has a precision", UNSMOOTHED)
    return precisions[:orders]


def assert_nothing_lifted(function, smoothing):
    """Check the precisions of a candidate without a match; all smoothings may be wrong alike."""
    nothing = BLEUStatistics(matches=(0, 0), totals=(4, 3), candidate_length=4, reference_length=4)
    hint = "where no order has a match there is nothing to lift: all precisions are 0"
    what = "the precisions without any match"
    try:
        by_exp = tuple(function(nothing, "exp"))
    except Exception:
        by_exp = (0.0, 0.0)
    if smoothing == "exp" or by_exp == (0.0, 0.0):
        assert_equal(as_shares(function(nothing, smoothing)), (0.0, 0.0), what=what, hint=hint)
    else:
        forgive("precisions are lifted where nothing matches", EXP)


def ends_with_its_orders(function):
    """Say whether the precisions of three words end with n = 3 where nothing is smoothed."""
    three_words = statistics_of((3, 1, 0, 0), (3, 2, 1, 0), 3)
    try:
        unsmoothed = as_shares(function(three_words, "none"))
    except Exception:
        unsmoothed = ()
    if len(unsmoothed) == 3:
        return True
    forgive("an order without n-grams has a precision, or an error", UNSMOOTHED)
    return False


def statistics_of(matches, totals, length):
    """Give the counts of a candidate that is as long as its reference: nothing to punish."""
    return BLEUStatistics(
        matches=matches, totals=totals, candidate_length=length, reference_length=length
    )


def own_score(function, statistics, otherwise, smoothing="none", **options):
    """Give your own score, if it is one."""
    try:
        score = as_score(function(statistics, smoothing=smoothing, **options)).score
    except Exception:
        return otherwise
    return score if isinstance(score, Real) and math.isfinite(score) else otherwise


def own_mean(function, matches, totals, length, right):
    """Give your own score where nothing is smoothed or punished; the right one if yours is none."""
    mean = own_score(function, statistics_of(matches, totals, length), None)
    if mean is None or not math.isclose(mean, right, rel_tol=1e-6):
        forgive("the score is not the mean of the precisions", MEAN)
    return float(mean or right)


def assert_counts_matter(function):
    """Refuse a score that is the same for all counts: own scores would fit it."""
    few, many = (
        own_score(function, statistics_of(matches, (8, 8), 8), None) for matches in ((4, 1), (8, 2))
    )
    if few is not None and few == many:
        summary = "the score is the same for 4 and 1 matches of 8 as for 8 and 2"
        raise CheckFailure(summary, hint="100 * exp(mean of the logarithms of the precisions)")


def as_words(result):
    """Give what reordered returned, if it is a list of words."""
    is_list = isinstance(result, tuple | list)
    if not is_list or not all(isinstance(word, str) for word in result):
        raise CheckFailure("reordered should return a list of words", hint="a list of strings")
    return list(result)


def another_order(function, candidate, references, hint):
    """Give what reordered returned for a candidate that can be cut; a ValueError is wrong there."""
    try:
        return as_words(function([*candidate], references))
    except ValueError as error:
        what = "a ValueError, though there is a place to cut and pieces that differ"
        raise CheckFailure(what, detail=str(error), hint=hint) from None


in_place = "sort(), append(), pop() and += change a list in place: work on a copy"

# %% [markdown]
# ## Part 1: what they have in common
#
# A **candidate** is what a machine wrote. Its **references** are what people wrote for the same
# source. The more of the candidate's words stand in a reference, the better; the longer the runs of
# words that do, the better still. A run of $n$ words is an **n-gram**.
#
# Sentences are lists of tokens here, or tuples; `"so so good".split()` makes a list. Start with the
# counts of one sentence. The chapter shows them in [Counting n-grams](book:bleu#ngram-counts).

# %% solution="ngram_counts" of="course_lib.metrics.bleu_statistics"

# %% test="ngram_counts-values" points=1 read="bleu#ngram-counts"
# Every run of n tokens is counted, as often as it occurs
once = "every occurrence counts: a set forgets repetitions"
last_missing = "the last n-gram is missing: there are len(tokens) - n + 1 of them"
not_overlapping = "n-grams overlap: one begins at every token"
too_short = "the last ones are too short: stop where fewer than n tokens are left"
as_strings = "an n-gram is a tuple of tokens, not a string"
in_order = "the order of the words counts: leave it as it is"
shorter_too = "count the runs of n tokens alone, not the shorter ones too"
too_long = "these runs are of n + 1 tokens"
from_nought = "the first occurrence counts too: begin with 1"
assert_equal(
    as_dict(ngram_counts("so so so so good".split(), 2)),
    {("so", "so"): 3, ("so", "good"): 1},
    what="the 2-grams of 'so so so so good'",
    mistakes={
        once: {("so", "so"): 1, ("so", "good"): 1},
        last_missing: {("so", "so"): 3},
        not_overlapping: {("so", "so"): 2},
        too_short: {("so", "so"): 3, ("so", "good"): 1, ("good",): 1},
        as_strings: {"so so": 3, "so good": 1},
        in_order: {("so", "so"): 3, ("good", "so"): 1},
        shorter_too: {("so",): 4, ("good",): 1, ("so", "so"): 3, ("so", "good"): 1},
        too_long: {("so", "so", "so"): 2, ("so", "so", "good"): 1},
        from_nought: {("so", "so"): 2, ("so", "good"): 0},
    },
    hint="an n-gram is a tuple of n tokens that stand side by side",
)
### BEGIN HIDDEN TESTS
from course_lib.metrics.bleu_statistics import ngram_counts as reference_counts

for n in (1, 2, 3, 4):
    high, low = sorted(draw_words(2), reverse=True)
    tokens = [high, low, *(low if coin else high for coin in torch.randint(2, (7,)).tolist())]
    runs = [tuple(tokens[start : start + n]) for start in range(len(tokens))]
    whole = runs[: len(tokens) - n + 1]
    assert_equal(
        as_dict(ngram_counts(tokens, n)),
        dict(reference_counts(tokens, n)),
        what=f"the {n}-grams of a sentence",
        hint="print the n-grams of a sentence of four words",
        mistakes={
            once: dict.fromkeys(whole, 1),
            last_missing: dict(Counter(whole[:-1])),
            not_overlapping: dict(Counter(whole[::n])),
            too_short: dict(Counter(runs)),
            as_strings: dict(Counter(map(" ".join, whole))),
            in_order: dict(Counter(tuple(sorted(run)) for run in whole)),
            from_nought: {run: whole.count(run) - 1 for run in whole},
            "these are 2-grams, whatever n is": dict(Counter(pairwise(tokens))),
        },
    )
word = draw_words(1)[0]
as_they_are = "take tokens as they are: 'The' is not 'the'"
expected, what = {(word,): 1, (word.capitalize(),): 1}, "the 1-grams of a word, small and large"
actual = as_dict(ngram_counts([word, word.capitalize()], 1))
assert_equal(actual, expected, what=what, hint=as_they_are)
### END HIDDEN TESTS

# %% test="ngram_counts-short" points=1 read="bleu#ngram-counts"
# A sentence of fewer than n tokens has no n-grams, n is at least 1, and no list is changed
hint = "a run of n tokens needs n tokens: start is at most len(tokens) - n"
assert_keeps_inputs(ngram_counts, ["hello", "world"], 2, hint=in_place)
assert_equal(as_dict(ngram_counts(["hello"], 2)), {}, what="the 2-grams of one word", hint=hint)
assert_raises(ValueError, ngram_counts, ["hello"], 0, hint="n = 0 makes no sense: ValueError")
### BEGIN HIDDEN TESTS
assert_keeps_inputs(ngram_counts, draw_words(5), 2, hint=in_place)
tokens = sorted(draw_words(4))  # whether you sort them, the test of values tells
for length in range(4):
    counts = as_dict(ngram_counts(tokens[:length], 4))
    assert_equal(counts, {}, what=f"the 4-grams of {length} words", hint=hint)
counts = as_dict(ngram_counts(tuple(tokens), 4))
hint = "four tokens make one 4-gram, a tuple in their order, whether they come in a list or a tuple"
assert_equal(counts, {tuple(tokens): 1}, what="the 4-grams of 4 words", hint=hint)
assert_raises(ValueError, ngram_counts, tokens, -1, hint="n = -1 makes no sense: ValueError")
### END HIDDEN TESTS

# %% [markdown]
# Now the matches. "the the the the" would be a perfect translation of everything if each of its
# words were held against a reference on its own. So an n-gram is **clipped**: it counts at most as
# often as it stands in a reference. With several references, take the one that has *this n-gram*
# most often: see [Clipping](book:bleu#clipping).

# %% solution="count_matches" of="course_lib.metrics.bleu_statistics"

# %% test="count_matches-matches" points=1 read="bleu#clipping"
# An n-gram matches wherever it stands in the reference (nothing repeats: nothing to clip)
candidate = "now a small dog sleeps soundly".split()
reference = "a small dog sleeps here".split()
anywhere = "an n-gram may match anywhere in the reference, not in the same place alone"
swapped = "the pair is (matches, total), in this order"
which = "count the candidate's n-grams that are among the n-grams of the reference"
for n, expected in ((1, 4), (2, 3), (3, 2)):
    assert_equal(
        matches_and_total(count_matches([*candidate], [[*reference]], n))[0],
        expected,
        what=f"the number of matching {n}-grams",
        hint=which,
        mistakes={anywhere: 0 if n == 1 else -1, swapped: 7 - n},
    )
### BEGIN HIDDEN TESTS
words = draw_words(8)
candidate, reference = [*words[:6], words[7]], [*words[1:6], words[7].capitalize()]
for n in (1, 2, 3, 4):
    assert_equal(
        matches_and_total(count_matches([*candidate], [[*reference]], n))[0],
        6 - n,
        what=f"the number of matching {n}-grams",
        hint=which,
        mistakes={
            anywhere: 0 if n == 1 else -1,
            swapped: 8 - n,
            "take tokens as they are: 'The' is not 'the'": 7 - n if n == 1 else -1,
        },
    )
### END HIDDEN TESTS

# %% test="count_matches-clipping" points=1 read="bleu#clipping"
# A repeated n-gram counts at most as often as it is in the reference
candidate = "the the the the dog".split()
reference = "the cat sees the mat".split()
no_clipping = "clip: each n-gram counts at most as often as it is in the reference"
always_once = "an n-gram that is in both twice matches twice: a set is not enough"
assert_equal(
    matches_and_total(count_matches(candidate, [reference], 1), true_total=5)[0],
    2,
    what="the number of matching words",
    hint="an n-gram counts at most as often as it is in the reference",
    mistakes={
        no_clipping: 4,
        always_once: 1,
    },
)
assert_equal(
    matches_and_total(count_matches(candidate, [reference], 1, clip=False), true_total=5)[0],
    4,
    what="that number with clip=False",
    hint="clip=False: then every n-gram that is in a reference at all counts",
    mistakes={
        "clip=False: then every n-gram that is in a reference at all counts": 2,
        "clip=False: what is in no reference still counts nothing": 5,
    },
)
### BEGIN HIDDEN TESTS
a, b, c, d, e = draw_words(5)
candidate, reference = [a] * 5 + [b] * 2 + [d], [a] * 2 + [c] + [b] * 3 + [e]
of_the_sum = "clip each n-gram by its own count, then add up"
for n, expected, unclipped in ((1, 4, 7), (2, 2, 5)):
    assert_equal(
        matches_and_total(count_matches([*candidate], [[*reference]], n), true_total=9 - n)[0],
        expected,
        what=f"the number of matching {n}-grams",
        hint="for each n-gram the smaller of its counts in candidate and reference",
        mistakes={no_clipping: unclipped, always_once: 2, of_the_sum: 5},
    )
    assert_equal(
        matches_and_total(
            count_matches([*candidate], [[*reference]], n, clip=False), true_total=9 - n
        )[0],
        unclipped,
        what=f"the number of matching {n}-grams with clip=False",
        hint="clip=False: every n-gram that is in a reference at all counts",
    )
within = count_matches([a, b], [[f"{a}s", f"un{b}"]], 1, clip=False)
hint = "compare whole words: part of a word that stands there is not the word"
what = "the number of matching words with clip=False"
assert_equal(matches_and_total(within, true_total=2)[0], 0, what=what, hint=hint)
### END HIDDEN TESTS

# %% test="count_matches-references" points=1 read="bleu#clipping"
# With several references an n-gram is held against the one that has it most often
candidate = "the old big big big cat sleeps soundly".split()
references = ["the old big dog".split(), "a big big cat sleeps here".split()]
# 'the' and 'old' are in the first reference; 'cat', 'sleeps', and 'big' twice, are in the second.
added = "the counts of the references are added up: take the largest (or nothing is clipped at all)"
one_for_all = "each n-gram may find its match in another reference: look in all of them"
first_only = "only the first reference is read"
assert_equal(
    matches_and_total(count_matches(candidate, references, 1), true_total=8)[0],
    6,
    what="the number of matching words",
    hint="hold each n-gram against the reference that has it most often",
    mistakes={
        first_only: 3,
        one_for_all: 4,
        "an n-gram that is in both twice matches twice: a set is not enough": 5,
        added: 7,
        "an n-gram need not be in every reference; one is enough": 1,
    },
)
### BEGIN HIDDEN TESTS
the, big, cat, dog, naps, here, sleeps, some = draw_words(8)
candidate = [the, big, big, big, cat, sleeps]
references = [[the, big, dog, naps], [some, big, big, cat, here]]
hint = "for each n-gram take the largest of its counts in the references"
undone = (
    "what one reference has undoes what another has: take the largest, as | does of two Counters, "
    "but not of two dicts"
)
for order, first_alone, why in ((references, 2, first_only), (references[::-1], 3, undone)):
    order, given = [[*words] for words in order], [*candidate]
    assert_equal(
        matches_and_total(count_matches(given, order, 1), true_total=6)[0],
        4,
        what="the number of matching words",
        hint=hint,
        mistakes={
            why: first_alone,
            one_for_all: 3,
            added: 5,
        },
    )
    matches = matches_and_total(count_matches([*candidate], order, 2), true_total=5)[0]
    # the big, big big, big cat
    assert_equal(matches, 3, what="the number of matching 2-grams", hint=hint)
    unclipped = count_matches([the, cat, sleeps], order, 1, clip=False)
    matches = matches_and_total(unclipped, true_total=3)[0]
    if matches > 2:
        forgive("with clip=False too much is counted", CLIPPING)
    if matches < 2:
        raise CheckFailure(
            f"the number of matching words with clip=False should be 2, got {matches}",
            hint="look in all references with clip=False too",
        )
matches = matches_and_total(count_matches([naps, some], references, 2), true_total=1)[0]
hint = "an n-gram does not reach from the end of one reference into the next"
assert_equal(matches, 0, what="the number of matching 2-grams", hint=hint)
### END HIDDEN TESTS


# %% test="count_matches-total" points=1 read="bleu#clipping"
# The total is the number of the candidate's n-grams, matching or not; no list is changed
def assert_total(candidate, references, n):
    """Check a total; where the student's own n-grams are to blame for a wrong one, say so."""
    length = len(candidate)
    expected = max(length - n + 1, 0)
    total = matches_and_total(count_matches([*candidate], references, n), true_total=expected)[1]
    counted = sum(as_dict(ngram_counts(candidate, n)).values())
    hint = "the total is the number of all n-grams of the candidate, and none is not -1"
    if total == counted != expected:
        hint = "this is the sum of your ngram_counts, which are wrong"
    else:
        mistakes = {
            "repeated n-grams count each time": len(as_dict(ngram_counts(candidate, n))),
            "the last n-gram is missing: there are len(candidate) - n + 1 of them": length - n,
            "these are the tokens; there are n - 1 fewer n-grams": length,
            "count the candidate's n-grams, not the reference's: precision, not recall": (
                len(references[0]) - n + 1
            ),
        }
        hint = next((words for words, wrong in mistakes.items() if total == wrong), hint)
    assert_equal(total, expected, what=f"the total for {length} tokens and n = {n}", hint=hint)


candidate, reference = "no no no no never".split(), "a dog sleeps on a mat today".split()
assert_total(candidate, [reference], 2)
hint = "without references there is nothing to count: raise ValueError"
assert_raises(ValueError, count_matches, candidate, [], 1, hint=hint)
assert_keeps_inputs(count_matches, candidate, [candidate, reference], 1, hint=in_place)
### BEGIN HIDDEN TESTS
word, *reference = draw_words(9)
for n in (1, 2, 4):
    for length in range(6):
        assert_total([word] * length, [reference], n)
assert_total([word] * 3, [[]], 1)  # a reference without words is one
in_tuples = matches_and_total(count_matches((word, word), (reference,), 1), true_total=2)[1]
hint = "the candidate may be a tuple too, and so may what holds the references"
assert_equal(in_tuples, 2, what="the total for a tuple of 2 tokens", hint=hint)
hint = "n is at least 1, for an empty candidate too: raise ValueError"
assert_raises(ValueError, count_matches, [], [reference], 0, hint=hint)
hint = "without references there is nothing to count: raise ValueError"
assert_raises(ValueError, count_matches, [word], [], 1, hint=hint)
assert_keeps_inputs(count_matches, [max(WORDS), min(WORDS)], [[min(WORDS)]], 1, hint=in_place)
assert_keeps_inputs(count_matches, [word], [[max(WORDS)], [min(WORDS)]], 1, hint=in_place)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: the price of saying little
#
# Matches divided by the total is a *precision*: what is said is right. It asks for nothing more, so
# a machine that writes "the" and falls silent would be perfect. BLEU therefore multiplies by a
# **brevity penalty**. With $c$ tokens in the candidate and $r$ in the reference,
#
# $$\mathrm{BP} = \begin{cases} 1 & \text{if } c \ge r \\ e^{\,1 - r/c} & \text{if } c < r
# \end{cases}$$
#
# Two questions are left open by the formula, and the docstrings answer them: which $r$, if there
# are several references? And what if $c$ is 0? See
# [The brevity penalty](book:bleu#brevity-penalty).

# %% solution="closest_reference_length" of="course_lib.metrics.bleu_statistics"

# %% test="closest_reference_length-closest" points=1 read="bleu#brevity-penalty"
# The length closest to the candidate's is chosen, and of two equally close ones the shorter
assert_keeps_inputs(closest_reference_length, 7, [9, 5], hint=in_place)
for lengths, expected, mistakes in (
    (
        [13, 6, 12, 3, 20],
        6,
        {
            "the first is chosen; take the one closest to the candidate": 13,
            "the longest is chosen; take the one closest to the candidate": 20,
            "the shortest is chosen; take the one closest to the candidate": 3,
            "a shorter reference may be the closest": 12,
            "return the length, not how far away it is, and not where it stands in the list": 1,
            "this is the mean; choose one of the lengths": 11,
        },
    ),
    ([8, 2], 8, {"a longer reference may be the closest": 2}),
):
    actual, what = closest_reference_length(7, lengths), f"the length closest to 7 in {lengths}"
    hint = "return that one of the lengths which differs least from the candidate's"
    assert_equal(actual, expected, what=what, hint=hint, mistakes=mistakes)
longer = "of two equally close lengths take the shorter, wherever it stands"
for lengths in ([9, 5], [5, 9]):
    actual, what = closest_reference_length(7, lengths), f"the length closest to 7 in {lengths}"
    assert_equal(actual, 5, what=what, hint=longer)
assert_raises(ValueError, closest_reference_length, 7, [], hint="no length: raise ValueError")
### BEGIN HIDDEN TESTS
assert_keeps_inputs(closest_reference_length, 8, [9, 5, 7], hint=in_place)
for differences in ([-5, -2, 3, 7], [-6, 4, 9], [-1, 0, 1], [8]):
    length = int(torch.randint(8, 15, ()))
    order = torch.randperm(len(differences)).tolist()
    lengths = [length + differences[i] for i in order]
    assert_equal(
        closest_reference_length(length, lengths),
        length + min(differences, key=abs),
        what="the closest length",
        hint="compare by abs(length - candidate_length), and return the length itself",
        mistakes={
            "the shortest is chosen; take the one closest to the candidate": min(lengths),
            "the longest is chosen; take the one closest to the candidate": max(lengths),
        },
    )
length = int(torch.randint(8, 15, ()))
for lengths in ([length + 2, length - 2, length + 5], [length - 3, length - 2, length + 2]):
    actual = closest_reference_length(length, lengths)
    hint = "with a key of two numbers, min() settles ties by the second"
    mistakes = {longer: length + 2}
    assert_equal(actual, length - 2, what="the closest length", hint=hint, mistakes=mistakes)
hint = "a reference without words has the length 0, which is one like any other"
assert_equal(closest_reference_length(3, [9, 0]), 0, what="the closest length", hint=hint)
what, hint = "the closest length, of a tuple", "the lengths may come in a list or in a tuple"
assert_equal(closest_reference_length(8, (12, 5, 9)), 9, what=what, hint=hint)
hint = "no length to choose from: raise ValueError"
assert_raises(ValueError, closest_reference_length, length, [], hint=hint)
### END HIDDEN TESTS

# %% solution="brevity_penalty" of="course_lib.metrics.bleu"

# %% test="brevity_penalty-short" points=1 read="bleu#brevity-penalty"
# A candidate shorter than its reference is punished by exp(1 - r / c)
upside_down = "upside down: it is 1 - reference_length / candidate_length"
the_ratio = "this is the ratio c / r itself; BLEU takes exp(1 - r / c)"
no_penalty = "a candidate that is too short keeps its full score"
wrong_sign = "the sign is wrong: a penalty is at most 1"
no_one = "the 1 is missing: exp(1 - r / c)"
rounded = "r / c is a fraction: / divides, // rounds down"
no_exp = "exp is missing: this is 1 - r / c itself"
base_two = "exp has the base e: math.exp"
formula = "exp(1 - r / c), c being the length of the candidate; a plain number, not a tensor"
assert_equal(
    brevity_penalty(4, 10),
    math.exp(-1.5),
    what="the penalty for 4 tokens in place of 10",
    mistakes={
        upside_down: math.exp(0.6),
        the_ratio: 0.4,
        no_penalty: 1.0,
        wrong_sign: math.exp(1.5),
        no_one: math.exp(-2.5),
        rounded: math.exp(-1),
        no_exp: -1.5,
        base_two: 2**-1.5,
    },
    hint=formula,
)
### BEGIN HIDDEN TESTS
for _ in range(4):
    c = int(torch.randint(1, 20, ()))
    r = c + int(torch.randint(1, 10, ()))
    assert_equal(
        brevity_penalty(c, r),
        math.exp(1 - r / c),
        what="the penalty of a candidate that is too short",
        hint=formula,
        mistakes={
            upside_down: math.exp(1 - c / r),
            the_ratio: c / r,
            no_penalty: 1.0,
            wrong_sign: math.exp(r / c - 1),
            no_one: math.exp(-r / c),
            no_exp: 1 - r / c,
            base_two: 2 ** (1 - r / c),
        },
    )
### END HIDDEN TESTS

# %% test="brevity_penalty-long" points=1 read="bleu#brevity-penalty"
# Length is not rewarded, nothing at all scores nothing, and lengths are not negative
not_capped = "the penalty is at most 1: precision has already paid for what is too much"
long_is_punished = (
    "only candidates that are too short are punished: the candidate's length is the first argument"
)
long_enough = "a candidate that is as long as its reference, or longer, keeps its full score: 1.0"
assert_equal(
    brevity_penalty(10, 5),
    1.0,
    what="the penalty for 10 tokens in place of 5",
    hint=long_enough,
    mistakes={not_capped: math.exp(0.5), long_is_punished: math.exp(-1)},
)
what = "the penalty for 7 tokens in place of 7"
assert_equal(brevity_penalty(7, 7), 1.0, what=what, hint=long_enough)
what, hint = "the penalty for no tokens in place of 5", "who says nothing scores nothing: 0.0"
assert_equal(brevity_penalty(0, 5), 0.0, what=what, hint=hint)
assert_raises(ValueError, brevity_penalty, -1, 5, hint="a length is 0 or more: raise ValueError")
### BEGIN HIDDEN TESTS
for _ in range(4):
    r = int(torch.randint(1, 20, ()))
    c = r + int(torch.randint(1, 10, ()))
    assert_equal(
        brevity_penalty(c, r),
        1.0,
        what="the penalty of a candidate that is long enough",
        hint=long_enough,
        mistakes={not_capped: math.exp(1 - r / c), long_is_punished: math.exp(1 - c / r)},
    )
    what = "the penalty of a candidate as long as it should"
    assert_equal(brevity_penalty(r, r), 1.0, what=what, hint=long_enough)
    hint = "exp(1 - r / c) falls to 0 as c does: return 0 before you divide by c"
    assert_equal(brevity_penalty(0, r), 0.0, what="the penalty of an empty candidate", hint=hint)
hint = "as long as the reference is long enough, also if both are empty"
assert_equal(brevity_penalty(0, 0), 1.0, what="the penalty where both are empty", hint=hint)
hint = "neither length may be negative: raise ValueError"
assert_raises(ValueError, brevity_penalty, 5, -1, hint=hint)
assert_raises(ValueError, brevity_penalty, -2, -1, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: counts that add up
#
# All that BLEU needs to know of a sentence are ten numbers: matches and totals for
# $n = 1, 2, 3, 4$, and two lengths. They go into a `BLEUStatistics`, which is there already:
#
# ```python
# BLEUStatistics(matches=(3, 1, 0, 0), totals=(4, 3, 2, 1), candidate_length=4, reference_length=5)
# ```
#
# A **corpus** is scored by adding up these numbers over its sentences and computing one score from
# the sums. That is not the mean of the sentences' scores; the chapter shows how much the two differ
# in [Sentences and corpora](book:bleu#corpus-bleu).

# %% solution="sentence_statistics" of="course_lib.metrics.bleu_statistics"

# %% test="sentence_statistics-counts" points=1 read="bleu#corpus-bleu"
# The counts of all orders and both lengths are put together
candidate = "now a small dog sleeps soundly".split()
references = [
    "a small dog sleeps here".split(),
    "here a dog is fast asleep on some old mat".split(),
]
statistics = as_record(sentence_statistics(candidate, references[:1]), "BLEUStatistics")
hint = "one number for each order, from 1 up to max_order and with it"
assert_equal(
    statistics.matches,
    (4, 3, 2, 1),
    what="matches",
    hint=hint,
    mistakes={"these are the totals: count_matches returns (matches, total)": (6, 5, 4, 3)},
)
assert_equal(
    statistics.totals,
    (6, 5, 4, 3),
    what="totals",
    hint=hint,
    mistakes={
        "these are the matches: count_matches returns (matches, total)": (4, 3, 2, 1),
        "count the n-grams of the candidate, not of the reference": (5, 4, 3, 2),
    },
)
in_tokens = "the number of the candidate's tokens"
assert_equal(statistics.candidate_length, 6, what="candidate_length", hint=in_tokens)
closest = closest_reference_length(6, [5])  # yours: its own test comes first
of_closest = "the length, in tokens, that closest_reference_length chooses"
assert_equal(statistics.reference_length, closest, what="reference_length", hint=of_closest)
two_orders = as_record(sentence_statistics(candidate, references, 2), "BLEUStatistics")
assert_equal(two_orders.totals, (6, 5), what="totals with max_order=2", hint=hint)
### BEGIN HIDDEN TESTS
words = draw_words(12)
candidate, reference = [*words[:7], words[8]], [*words[2:7], words[9]]
for max_order in (1, 3, 5):
    statistics = as_record(sentence_statistics(candidate, [reference], max_order), "BLEUStatistics")
    expected = tuple(6 - n for n in range(1, max_order + 1))
    assert_equal(statistics.matches, expected, what="matches", hint=hint)
    expected = tuple(9 - n for n in range(1, max_order + 1))
    assert_equal(statistics.totals, expected, what="totals", hint=hint)
    assert_equal(statistics.candidate_length, 8, what="candidate_length", hint=in_tokens)
    closest = closest_reference_length(8, [6])
    assert_equal(statistics.reference_length, closest, what="reference_length", hint=of_closest)
# With several references, held against the student's own parts: their mistakes are paid already.
references = [words[9:11], [*words[4:7], *words[8:12]], [*words[:3], *words[9:12]] * 2]
for order in (references, references[::-1]):
    assert_keeps_inputs(sentence_statistics, candidate, order, hint=in_place)
    statistics = as_record(sentence_statistics(candidate, order), "BLEUStatistics")
    expected = tuple(
        matches_and_total(count_matches(candidate, order, n), true_total=9 - n)[0]
        for n in range(1, 5)
    )
    hint = "hand all references on to count_matches"
    assert_equal(statistics.matches, expected, what="matches with several references", hint=hint)
    hint = "choose among the lengths of all references by closest_reference_length"
    expected = closest_reference_length(8, [len(reference) for reference in order])
    assert_equal(statistics.reference_length, expected, what="reference_length", hint=hint)
again, references = [words[0]] * 3 + [words[1]], [[words[0], words[1], words[2]]]
statistics = as_record(sentence_statistics(again, references), "BLEUStatistics")
expected = tuple(
    matches_and_total(count_matches(again, references, n), true_total=5 - n)[0] for n in range(1, 5)
)
hint = "BLEU clips, as count_matches does where nothing else is asked for"
assert_equal(statistics.matches, expected, what="matches of a repeated word", hint=hint)
hint = "every token counts, a repeated one too"
assert_equal(statistics.candidate_length, 4, what="candidate_length", hint=hint)
for length in (0, 2):
    statistics = as_record(sentence_statistics(words[:length], [words]), "BLEUStatistics")
    expected = tuple(max(length - n, 0) for n in range(4))
    hint = "a candidate shorter than max_order has no n-grams of the last orders: 0, none below it"
    assert_equal(statistics.matches, expected, what="matches of a short candidate", hint=hint)
    assert_equal(statistics.totals, expected, what="totals of a short candidate", hint=hint)
hint = "BLEU without any order is none: raise ValueError"
assert_raises(ValueError, sentence_statistics, candidate, references, 0, hint=hint)
### END HIDDEN TESTS

# %% solution="sum_statistics" of="course_lib.metrics.bleu_statistics"

# %% test="sum_statistics-sums" points=1 read="bleu#corpus-bleu"
# Every number is added up over the sentences, order by order
two = [
    BLEUStatistics(matches=(3, 1), totals=(4, 3), candidate_length=4, reference_length=5),
    BLEUStatistics(matches=(2, 2), totals=(6, 5), candidate_length=6, reference_length=6),
]
assert_keeps_inputs(sum_statistics, two, hint=in_place)
statistics = as_record(sum_statistics([*two]), "BLEUStatistics")
hint = "add up order by order: matches of n = 1 with matches of n = 1"
not_means = "take sums, not means: long sentences have more weight"
mistakes = {not_means: (2.5, 1.5)}
assert_equal(statistics.matches, (5, 3), what="matches", hint=hint, mistakes=mistakes)
mistakes = {not_means: (5.0, 4.0)}
assert_equal(statistics.totals, (10, 8), what="totals", hint=hint, mistakes=mistakes)
add_lengths = "add up the lengths of the sentences too, candidate_length and reference_length apart"
assert_equal(
    (statistics.candidate_length, statistics.reference_length),
    (10, 11),
    what="candidate_length and reference_length",
    hint=add_lengths,
    mistakes={not_means: (5.0, 5.5), "the two lengths have changed places": (11, 10)},
)
assert_raises(ValueError, sum_statistics, [], hint="nothing to add up: raise ValueError")
### BEGIN HIDDEN TESTS
assert_keeps_inputs(sum_statistics, [*two, *two], hint=in_place)
sentences = [
    BLEUStatistics(
        matches=tuple(torch.randint(1, 5, (3,)).tolist()),
        totals=tuple(torch.randint(5, 9, (3,)).tolist()),
        candidate_length=int(torch.randint(5, 9, ())),
        reference_length=int(torch.randint(9, 12, ())),
    )
    for _ in range(4)
]
for several in (sentences, sentences[:1]):
    statistics = as_record(sum_statistics([*several]), "BLEUStatistics")
    for name in ("matches", "totals"):
        rows = [getattr(one, name) for one in several]
        expected = tuple(map(sum, zip(*rows, strict=True)))
        mistakes = {
            "add up order by order, not row after row": sum(rows, ()),
            not_means: tuple(total / len(rows) for total in expected),
        }
        assert_equal(getattr(statistics, name), expected, what=name, hint=hint, mistakes=mistakes)
    for name in ("candidate_length", "reference_length"):
        expected = sum(getattr(one, name) for one in several)
        assert_equal(getattr(statistics, name), expected, what=name, hint=add_lengths)
shorter = BLEUStatistics(matches=(1,), totals=(2,), candidate_length=2, reference_length=2)
assert_raises(ValueError, sum_statistics, [], hint="nothing to add up: raise ValueError")
hint = "counts up to different orders don't fit together: raise ValueError"
assert_raises(ValueError, sum_statistics, [*sentences, shorter], hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: from counts to a score
#
# With $p_n$ = matches / total, BLEU is the penalty times the **geometric mean** of the precisions,
# times 100:
#
# $$\mathrm{BLEU} = 100 \cdot \mathrm{BP} \cdot
# \exp\!\Big(\frac{1}{N} \sum_{n=1}^{N} \log p_n\Big)$$
#
# The mean is geometric because precisions fall fast with $n$; in a plain mean, 4-grams would hardly
# count. The price: a single $p_n = 0$ makes the whole score 0, and one sentence on its own often
# has no matching 4-gram. **Smoothing** lifts such zeros a little. The docstring describes three
# ways, the chapter compares them in [Smoothing](book:bleu#bleu-smoothing).
#
# Example for `exp`, with matches `(3, 1, 0, 0)` of totals `(5, 4, 3, 2)`: the precisions are 3/5,
# 1/4, then (1/2)/3 and (1/4)/2.

# %% solution="smoothed_precisions" of="course_lib.metrics.bleu"

# %% test="smoothed_precisions-none" points=1 read="bleu#bleu-smoothing"
# Without smoothing: matches divided by totals, up to the last order that has n-grams
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(3, 2, 1, 0), candidate_length=3, reference_length=4
)
precisions = smoothed_precisions(statistics, "none")
order_by_order = "matches / total, order by order; the fourth total is 0: there the precisions end"
assert_equal(
    precisions,
    (1.0, 0.5, 0.0),
    what="the precisions",
    hint=order_by_order if isinstance(precisions, tuple | list) else "return a tuple of numbers",
    mistakes={
        "precisions are shares from 0 to 1": (100.0, 50.0, 0.0),
        "this candidate has no 4-grams: the precisions end with n = 3": (1.0, 0.5, 0.0, 0.0),
        "with smoothing 'none' a precision of 0 stays one of the list": (1.0, 0.5),
        "// drops what stands behind the point: divide with /": (1.0, 0.0, 0.0),
    },
)
hint = "a smoothing that the docstring does not name: raise ValueError"
assert_raises(ValueError, smoothed_precisions, statistics, "sandpaper", hint=hint)
### BEGIN HIDDEN TESTS
matches, totals = (9, 5, int(torch.randint(1, 4, ())), 0), (12, 11, 7, 6)
statistics = BLEUStatistics(matches=matches, totals=totals, candidate_length=12, reference_length=9)
expected = tuple(m / t for m, t in zip(matches, totals, strict=True))
hint = "p_n is matches / totals of its own order"
assert_equal(smoothed_precisions(statistics, "none"), expected, what="the precisions", hint=hint)
empty = BLEUStatistics(matches=(0,) * 4, totals=(0,) * 4, candidate_length=0, reference_length=4)
hint = "an empty candidate has no precisions: the list is empty"
assert_equal(smoothed_precisions(empty, "none"), (), what="the precisions", hint=hint)
hint = "a smoothing that the docstring does not name: raise ValueError"
assert_raises(ValueError, smoothed_precisions, statistics, "no such smoothing", hint=hint)
hint = "a negative smoothing_value would make a negative precision: raise ValueError"
for smoothing in ("floor", "add-k", "none", "exp"):
    assert_raises(ValueError, smoothed_precisions, statistics, smoothing, -0.5, hint=hint)
### END HIDDEN TESTS

# %% test="smoothed_precisions-floor" points=1 read="bleu#bleu-smoothing"
# floor: where nothing matches, smoothing_value n-grams do
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
everywhere = "floor changes nothing where something matches"
not_divided = "smoothing_value is a number of n-grams: divide it by the total"
assert_equal(
    as_shares(smoothed_precisions(statistics, "floor", 0.5)),
    (3 / 5, 1 / 4, 0.5 / 3, 0.5 / 2),
    what="the precisions with smoothing_value=0.5",
    mistakes={
        everywhere: (3.5 / 5, 1.5 / 4, 0.5 / 3, 0.5 / 2),
        not_divided: (3 / 5, 1 / 4, 0.5, 0.5),
        "smoothing_value is not used; 0.1 is what stands for None": (0.6, 0.25, 0.1 / 3, 0.1 / 2),
    },
    hint="floor: where nothing matches, as if smoothing_value n-grams did",
)
### BEGIN HIDDEN TESTS
value = 0.2 + 0.5 * torch.rand(()).item()
matches, totals = (int(torch.randint(2, 6, ())), 1, 0, 0), (9, 8, 7, 6)
statistics = BLEUStatistics(matches=matches, totals=totals, candidate_length=9, reference_length=9)
for given, added in ((value, value), (None, 0.1), (0.0, 0.0)):
    assert_equal(
        as_shares(smoothed_precisions(statistics, "floor", given)),
        (matches[0] / 9, 1 / 8, added / 7, added / 6),
        what=f"the precisions with{'out' if given is None else ''} a smoothing_value",
        hint="None stands for 0.1, and 0 is not None; a precision of 0 stays one of the list",
        mistakes={
            everywhere: ((matches[0] + added) / 9, (1 + added) / 8, added / 7, added / 6),
            not_divided: (matches[0] / 9, 1 / 8, added, added),
        },
    )
assert_nothing_lifted(smoothed_precisions, "floor")
if ends_with_its_orders(smoothed_precisions):
    three_words = statistics_of((3, 1, 0, 0), (3, 2, 1, 0), 3)
    precisions = as_shares(smoothed_precisions(three_words, "floor", value))
    hint = "three words have no 4-grams: the precisions end with n = 3, floor or not"
    assert_equal(precisions, (1.0, 0.5, value), what="the precisions of three words", hint=hint)
### END HIDDEN TESTS

# %% test="smoothed_precisions-add-k" points=1 read="bleu#bleu-smoothing"
# add-k: more matches and as many more n-grams, but not for single words
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
words_too = "single words stay as they are: add-k begins with n = 2"
above_only = "what is added to the matches is added to the total too"
where_zero = "add-k adds to all orders from 2 on, not only where nothing matches"
assert_equal(
    as_shares(smoothed_precisions(statistics, "add-k", 2)),
    (3 / 5, 3 / 6, 2 / 5, 2 / 4),
    what="the precisions with smoothing_value=2",
    mistakes={
        words_too: (5 / 7, 3 / 6, 2 / 5, 2 / 4),
        above_only: (3 / 5, 3 / 4, 2 / 3, 2 / 2),
        where_zero: (3 / 5, 1 / 4, 2 / 5, 2 / 4),
        "smoothing_value is not used; 1 is what stands for None": (3 / 5, 2 / 5, 1 / 4, 1 / 3),
    },
    hint="add-k: for n > 1, smoothing_value more matches and as many more n-grams",
)
short = BLEUStatistics(matches=(2, 0, 0), totals=(2, 1, 0), candidate_length=2, reference_length=2)
goes_on = "add-k adds n-grams to an order that has none, too: the precisions go on"
precisions, what = as_shares(smoothed_precisions(short, "add-k")), "the precisions of two words"
of_none = {"smoothing_value is 1 for add-k, if None": (1.0, 0.1 / 1.1, 1.0)}
assert_equal(precisions, (1.0, 1 / 2, 1.0), what=what, hint=goes_on, mistakes=of_none)
### BEGIN HIDDEN TESTS
m, value = int(torch.randint(2, 6, ())), 0.5 + torch.rand(()).item()
statistics = BLEUStatistics(
    matches=(m, 2, 0, 0), totals=(9, 8, 7, 6), candidate_length=9, reference_length=9
)
by_floor = as_numbers(smoothed_precisions(statistics, "floor", 0.0), "the precisions")
nought = [(0.0, 0.0)]
if by_floor[2:] != (0.0, 0.0):
    nought = []
    forgive("a smoothing_value of 0 is not taken as 0", FLOOR)
for given, k in ((value, value), (None, 1.0), *nought):
    assert_equal(
        as_shares(smoothed_precisions(statistics, "add-k", given)),
        (m / 9, (2 + k) / (8 + k), k / (7 + k), k / (6 + k)),
        what=f"the precisions with{'out' if given is None else ''} a smoothing_value",
        hint="None stands for 1, and 0 is not None; a precision of 0 stays one of the list",
        mistakes={
            words_too: ((m + k) / (9 + k), (2 + k) / (8 + k), k / (7 + k), k / (6 + k)),
            above_only: (m / 9, (2 + k) / 8, k / 7, k / 6),
            where_zero: (m / 9, 2 / 8, k / (7 + k), k / (6 + k)),
        },
    )
assert_nothing_lifted(smoothed_precisions, "add-k")
precisions = as_shares(smoothed_precisions(short, "add-k", value))
assert_equal(precisions, (1.0, value / (1 + value), 1.0), what=what, hint=goes_on)
unmatched = statistics_of((0, 0, 0), (2, 1, 0), 2)
precisions = as_shares(smoothed_precisions(unmatched, "add-k"))
if not any(precisions[:2]):  # if these are lifted, that has been seen to
    what_else = "the precisions of two words, none of which matches"
    hint = "one 0 for each order that has n-grams, with those that add-k adds"
    assert_equal(precisions, (0.0, 0.0, 0.0), what=what_else, hint=hint)
if nought and ends_with_its_orders(smoothed_precisions):
    precisions = as_shares(smoothed_precisions(short, "add-k", 0.0))
    hint = "where nothing is added, an order without n-grams still has none: there it ends"
    assert_equal(precisions, (1.0, 0.0), what=what, hint=hint)
### END HIDDEN TESTS

# %% test="smoothed_precisions-exp" points=1 read="bleu#bleu-smoothing"
# exp: the first order without a match gets half an n-gram, the next a quarter, and so on
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
always_half = "halve again at each further order without a match: 1/2, 1/4, 1/8"
from_one = "the first order without a match gets 1/2"
undivided = "1/2, 1/4, ... are numbers of n-grams: divide by the total"
by_order = "halving starts at the first order without a match, not at n = 1"
assert_equal(
    as_shares(smoothed_precisions(statistics, "exp")),
    (3 / 5, 1 / 4, 0.5 / 3, 0.25 / 2),
    what="the precisions",
    mistakes={
        always_half: (3 / 5, 1 / 4, 0.5 / 3, 0.5 / 2),
        from_one: (3 / 5, 1 / 4, 1 / 3, 0.5 / 2),
        undivided: (3 / 5, 1 / 4, 0.5, 0.25),
        by_order: (3 / 5, 1 / 4, 0.125 / 3, 0.0625 / 2),
    },
    hint="exp: where nothing matches, as if 1/2 an n-gram did, then 1/4, 1/8",
)
### BEGIN HIDDEN TESTS
m = int(torch.randint(2, 6, ()))
statistics = BLEUStatistics(
    matches=(m, 0, 0, 0, 0), totals=(9, 8, 7, 6, 0), candidate_length=9, reference_length=9
)
expected = (m / 9, 1 / 2 / 8, 1 / 4 / 7, 1 / 8 / 6)
mistakes = {
    always_half: (m / 9, 1 / 2 / 8, 1 / 2 / 7, 1 / 2 / 6),
    from_one: (m / 9, 1 / 8, 1 / 2 / 7, 1 / 4 / 6),
    undivided: (m / 9, 1 / 2, 1 / 4, 1 / 8),
    by_order: (m / 9, 1 / 4 / 8, 1 / 8 / 7, 1 / 16 / 6),
}
actual = without_the_last(as_shares(smoothed_precisions(statistics, "exp")), 4)
hint = "this candidate has no 5-grams: the precisions end with n = 4; exp lifts all but the first"
assert_equal(actual, expected, what="the precisions", hint=hint, mistakes=mistakes)
hint = "exp is the smoothing of a call that names none"
actual = without_the_last(as_shares(smoothed_precisions(statistics)), 4)
assert_equal(actual, expected, what="the precisions by default", hint=hint)
assert_nothing_lifted(smoothed_precisions, "exp")
if ends_with_its_orders(smoothed_precisions):
    unmatched = statistics_of((0, 0, 0), (2, 1, 0), 2)
    what = "the precisions of two words, none of which matches"
    hint = "one 0 for each order that has n-grams: two words have no 3-grams"
    actual = without_the_last(as_shares(smoothed_precisions(unmatched, "exp")), 2)
    assert_equal(actual, (0.0, 0.0), what=what, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# The last step puts it together. `score_statistics` returns a `BLEUScore`, which is there already
# and has four fields, given by name: `score`, `precisions`, `brevity_penalty` and `statistics`. Its
# `precisions` have an entry for every order, 0 where the candidate has no n-grams. Print one, and
# you see what sacreBLEU would print.
#
# Mind `effective_order`. A candidate of three words has no 4-grams. Its score is 0 as a rule; with
# `effective_order=True` the mean is taken over the three orders that it has. That is for sentences;
# a corpus always has 4-grams. (The n-grams that `"add-k"` adds count like the candidate's own.)

# %% solution="score_statistics" of="course_lib.metrics.bleu"

# %% test="score_statistics-mean" points=1 read="bleu#the-score"
# The score is 100 times the geometric mean of the precisions (nothing to smooth or to punish)
statistics = BLEUStatistics(matches=(8, 2), totals=(8, 8), candidate_length=8, reference_length=8)
result = as_record(score_statistics(statistics, smoothing="none"), "BLEUScore")
assert_equal(
    result.score,
    50.0,  # 100 times the root of 1 * 1/4
    what="the score",
    rel_tol=1e-6,
    mistakes={
        "the mean is geometric: exp of the mean of the logarithms": 62.5,
        "this is the product; take its N-th root: "
        "divide the sum of the logarithms by N, the number of orders": 25.0,
        "BLEU goes from 0 to 100": 0.5,
        "this is the harmonic mean": 40.0,
        "take the N-th root, N being the number of orders; it need not be 4": 100 * 0.25**0.25,
        "exp undoes the natural logarithm: math.log": 100 * math.exp(math.log10(0.25) / 2),
        "this is 100 times too much: smoothed_precisions gives shares, not per cent": 5000.0,
    },
    hint="100 * exp(mean of the logarithms of the precisions)",
)
assert_equal(result.precisions, (1.0, 0.25), what="precisions", hint="shares from 0 to 1")
### BEGIN HIDDEN TESTS
for orders in (1, 3, 4):
    matches = tuple((torch.randint(2, 5, (orders,)) - torch.arange(orders).clamp(max=1)).tolist())
    totals = tuple(range(9, 9 - orders, -1))
    statistics = BLEUStatistics(
        matches=matches, totals=totals, candidate_length=9, reference_length=9
    )
    precisions = [m / t for m, t in zip(matches, totals, strict=True)]
    result = as_record(score_statistics(statistics, smoothing="none"), "BLEUScore")
    assert_equal(
        result.score,
        100 * math.prod(precisions) ** (1 / orders),
        what="the score",
        rel_tol=1e-6,
        hint="100 * exp(mean of the logarithms of the precisions)",
        mistakes={
            "the mean is geometric: exp of the mean of the logarithms": 100
            * math.fsum(precisions)
            / orders,
            "this is the product; take its N-th root, N being the number of orders": 100
            * math.prod(precisions),
            "take the N-th root, N being the number of orders; it need not be 4": 100
            * math.prod(precisions) ** (1 / 4),
            "give the score as it is, not rounded": round(
                100 * math.prod(precisions) ** (1 / orders), 2
            ),
        },
    )
    assert_equal(result.precisions, precisions, what="precisions", hint="shares from 0 to 1")
    hint = "statistics: the counts, as they were given"
    assert_equal(result.statistics.matches, matches, what="statistics.matches", hint=hint)
    assert_equal(result.statistics.totals, totals, what="statistics.totals", hint=hint)
    lengths = [getattr(result.statistics, f"{side}_length") for side in ("candidate", "reference")]
    assert_equal(lengths, [9, 9], what="the lengths in statistics", hint=hint)
### END HIDDEN TESTS

# %% test="score_statistics-brevity" points=1 read="bleu#the-score"
# The brevity penalty multiplies the score
statistics = BLEUStatistics(matches=(8, 2), totals=(8, 8), candidate_length=8, reference_length=10)
(penalty,) = as_numbers(brevity_penalty(8, 10), "brevity_penalty")  # yours
result = as_score(score_statistics(statistics, smoothing="none"), penalty=penalty)
mean = own_mean(score_statistics, (8, 2), (8, 8), 8, 50.0)
hint = "what brevity_penalty(candidate_length, reference_length) returns: a plain number"
assert_equal(result.brevity_penalty, float(penalty), what="brevity_penalty", hint=hint)
mean_first = "multiply 100 * exp(...) by the penalty"
assert_equal(
    but_for_rounding(result.score, mean * penalty),
    mean * penalty,
    what="the score",
    rel_tol=1e-6,
    hint=mean_first,
    mistakes={
        "the penalty is not used": mean,
        "the penalty stands outside the mean: multiply after the root": mean * penalty**0.5,
    },
)
### BEGIN HIDDEN TESTS
assert_counts_matter(score_statistics)
c = int(torch.randint(9, 15, ()))
statistics = BLEUStatistics(matches=(8, 4), totals=(9, 8), candidate_length=c, reference_length=20)
(penalty,) = as_numbers(brevity_penalty(c, 20), "brevity_penalty")
if not 0 < penalty < 1:
    hint = "then this test can say whether your score is multiplied by it"
    raise CheckFailure(f"{c} words for 20 are too few: mend brevity_penalty first", hint=hint)
result = as_score(score_statistics(statistics, smoothing="none"), penalty=penalty)
assert_equal(
    result.brevity_penalty,
    float(penalty),
    what="brevity_penalty",
    hint="brevity_penalty takes candidate_length first, then reference_length",
)
mean = own_mean(score_statistics, (8, 4), (9, 8), 20, 100 * (8 / 9 * 4 / 8) ** 0.5)
assert_equal(
    but_for_rounding(result.score, mean * penalty),
    mean * penalty,
    what="the score",
    rel_tol=1e-6,
    hint=mean_first,
    mistakes={
        "the penalty is not used": mean,
        "the penalty stands outside the mean: multiply after the root": mean * penalty**0.5,
    },
)
always = "the penalty multiplies the score, whatever is smoothed or left out"
for matches, totals in (((8, 4), (9, 8)), ((8, 0), (9, 8)), ((8, 4, 0), (9, 8, 0))):
    for smoothing, effective_order in (("none", False), ("exp", False), ("floor", True)):
        options = {"smoothing": smoothing, "effective_order": effective_order}
        counts = {"matches": matches, "totals": totals, "reference_length": 20}
        long, short = (BLEUStatistics(**counts, candidate_length=length) for length in (20, c))
        full = own_score(score_statistics, long, None, **options)
        if full is None:
            forgive("no score where something is smoothed or left out", ZEROS, EFFECTIVE_ORDER)
            continue
        result = as_score(score_statistics(short, **options), penalty=penalty)
        actual, expected = but_for_rounding(result.score, full * penalty), full * penalty
        what = "the score, smoothed or with orders left out"
        assert_equal(actual, expected, what=what, rel_tol=1e-6, hint=always)
        hint = "brevity_penalty is what your function gives, beside a score of 0 too"
        assert_equal(result.brevity_penalty, float(penalty), what="brevity_penalty", hint=hint)
### END HIDDEN TESTS

# %% test="score_statistics-zeros" points=1 read="bleu#bleu-smoothing"
# A precision of zero makes the score zero, unless it is smoothed
statistics = BLEUStatistics(matches=(4, 0), totals=(4, 3), candidate_length=4, reference_length=4)
assert_equal(
    as_score(score_statistics(statistics, smoothing="none")).score,
    0.0,
    what="the score with smoothing='none'",
    rel_tol=1e-6,
    hint="one precision of 0 makes the score 0; math.log(0) is an error: ask before you take it",
    mistakes={
        "a precision of 0 is left out of the mean: it makes the score 0": 100.0,
        "hand smoothing and smoothing_value on to smoothed_precisions": 100 * (0.5 / 3) ** 0.5,
    },
)
### BEGIN HIDDEN TESTS
assert_counts_matter(score_statistics)
mean_is_right = math.isclose(
    own_score(score_statistics, statistics_of((8, 2), (8, 8), 8), 50.0), 50.0, rel_tol=1e-6
)
hint = "one precision of 0 makes the score 0; math.log(0) is an error: ask before you take it"
for orders in (2, 3, 4):
    matches = (int(torch.randint(1, 9, ())),) + (0,) * (orders - 1)
    totals = tuple(range(9, 9 - orders, -1))
    statistics = BLEUStatistics(
        matches=matches, totals=totals, candidate_length=9, reference_length=9
    )
    result = as_score(score_statistics(statistics, smoothing="none"))
    left_out = "a precision of 0 is left out of the mean: it makes the score 0"
    mistakes = {left_out: 100 * matches[0] / 9}
    assert_equal(result.score, 0.0, what="the score", rel_tol=1e-6, hint=hint, mistakes=mistakes)
    kept = as_score(score_statistics(statistics)).statistics.matches
    whatever = "statistics: the counts, as they were given, whatever the score"
    assert_equal(result.statistics.matches, kept, what="statistics.matches", hint=whatever)
    # Smoothed, the mean is taken of the student's own precisions: their mistakes are paid already.
    for smoothing, value in (("exp", None), ("add-k", 2.0), ("floor", 0.3), ("floor", 0.0)):
        precisions = as_numbers(
            smoothed_precisions(statistics, smoothing, value), "smoothed_precisions"
        )
        assert_equal(len(precisions), orders, what="the number of precisions")
        of_smoothing = (
            "hand smoothing and smoothing_value on to smoothed_precisions, 0 too, whatever "
            "effective_order is"
        )
        mean = 100 * math.prod(precisions) ** (1 / len(precisions))
        of_mean = "average what smoothed_precisions gives"
        # Each order has n-grams here; whether one without matches is left out, another check asks.
        for effective_order in (False, True) if all(precisions) else (False,):
            settings = {"smoothing_value": value, "effective_order": effective_order}
            result = as_score(
                score_statistics(statistics, smoothing=smoothing, **settings), precisions
            )
            actual = as_shares(result.precisions, MEAN)
            assert_equal(actual, as_shares(precisions), what="precisions", hint=of_smoothing)
            if not mean_is_right:
                forgive("the score is not the mean of the precisions", MEAN)
            else:
                actual = but_for_rounding(result.score, mean)
                assert_equal(actual, mean, what="the score", rel_tol=1e-6, hint=of_mean)
    precisions = as_shares(smoothed_precisions(statistics, "exp"))
    actual = as_shares(as_score(score_statistics(statistics), precisions).precisions, MEAN)
    assert_equal(actual, precisions, what="precisions", hint="the default is 'exp'")
### END HIDDEN TESTS

# %% test="score_statistics-effective-order" points=1 read="bleu#bleu-smoothing"
# effective_order: the mean is over the orders in which the candidate has n-grams
statistics = BLEUStatistics(
    matches=(3, 2, 1, 0), totals=(3, 2, 1, 0), candidate_length=3, reference_length=3
)
# What your mean makes of three orders, 100 if it is right, is what belongs to those that are there.
three = own_mean(score_statistics, (3, 2, 1), (3, 2, 1), 3, 100.0)
zero_is_right = own_score(score_statistics, statistics_of((4, 0), (4, 3), 4), None) == 0
if not zero_is_right:
    forgive("a precision of zero does not make the score zero", ZEROS)
for effective_order, expected in ((True, three), (False, 0.0))[: 2 if zero_is_right else 1]:
    result = as_score(
        score_statistics(statistics, smoothing="none", effective_order=effective_order),
        (1.0, 1.0, 1.0, 0.0),
    )
    what = f"the score with effective_order={effective_order}"
    hint = "the candidate has no 4-grams: that makes 0, unless effective_order leaves them out"
    assert_equal(result.score, expected, what=what, hint=hint)
    hint = "precisions has a share from 0 to 1 for each order, 0 where the candidate has no n-grams"
    shares = as_shares(result.precisions, MEAN)
    assert_equal(shares, (1.0, 1.0, 1.0, 0.0), what="precisions", hint=hint)
### BEGIN HIDDEN TESTS
assert_counts_matter(score_statistics)
m = 1 + 2 * int(torch.randint(2, ()))
statistics = BLEUStatistics(
    matches=(m, 1, 0, 0), totals=(4, 2, 0, 0), candidate_length=4, reference_length=4
)
mean = own_mean(score_statistics, (m, 1), (4, 2), 4, 100 * (m / 4 * 1 / 2) ** 0.5)
shares = (m / 4, 1 / 2, 0.0, 0.0)
for smoothing in ("none", "exp"):
    result = as_score(
        score_statistics(statistics, smoothing=smoothing, effective_order=True), shares
    )
    assert_equal(
        but_for_rounding(result.score, mean),
        mean,
        what="the score with effective_order=True",
        rel_tol=1e-6,
        hint="take the mean over the orders that smoothed_precisions gives",
        mistakes={
            "the sum is divided by all orders, not by those that the candidate has": 100
            * (m / 4 * 1 / 2) ** 0.25
        },
    )
    hint = "precisions has a share from 0 to 1 for each order, 0 where the candidate has no n-grams"
    assert_equal(as_shares(result.precisions, MEAN), shares, what="precisions", hint=hint)
    if zero_is_right:
        result = as_score(score_statistics(statistics, smoothing=smoothing))
        hint = "without effective_order, an order without n-grams makes the score 0"
        assert_equal(
            result.score, 0.0, what="the score without effective_order", rel_tol=1e-6, hint=hint
        )
empty = BLEUStatistics(matches=(0,) * 4, totals=(0,) * 4, candidate_length=0, reference_length=0)
hint = "an empty candidate has no precisions to average: its score is 0"
for effective_order in (True, False) if zero_is_right else ():
    result = as_score(score_statistics(empty, smoothing="none", effective_order=effective_order))
    assert_equal(result.score, 0.0, what="the score of an empty candidate", rel_tol=1e-6, hint=hint)
holed = BLEUStatistics(matches=(2, 0, 0), totals=(3, 2, 0), candidate_length=3, reference_length=3)
smoothed = as_numbers(smoothed_precisions(holed, "none"), "smoothed_precisions")
if 0 not in smoothed:
    forgive("a zero is left out, or smoothed all the same", UNSMOOTHED)
elif zero_is_right:
    result = as_score(
        score_statistics(holed, smoothing="none", effective_order=True), (2 / 3, 0.0, 0.0)
    )
    if 0 not in as_numbers(result.precisions, "precisions")[:2]:
        forgive("smoothing is not handed on", ZEROS)
    else:
        hint = "effective_order leaves out orders without n-grams, not those without matches"
        assert_equal(
            result.score, 0.0, what="the score without 2-grams that match", rel_tol=1e-6, hint=hint
        )
# With k = 1 the precisions of two matching words of three are 2/3, (1 + 1) / (2 + 1) and 1/1.
added = statistics_of((2, 1, 0), (3, 2, 0), 3)
own = as_shares(smoothed_precisions(added, "add-k"), ADD_K)
two_orders = own_score(
    score_statistics, statistics_of((2, 1), (3, 2), 3), None, "add-k", effective_order=True
)
if len(own) != 3 or not all(map(math.isclose, own, (2 / 3, 2 / 3, 1.0))):
    forgive("add-k gives other precisions", ADD_K)
elif two_orders is None or not math.isclose(
    two_orders, own_mean(score_statistics, (2, 2), (3, 3), 3, 200 / 3), rel_tol=1e-6
):
    forgive("smoothed precisions are not averaged", ZEROS, MEAN)
else:
    mean = own_mean(score_statistics, (2, 2, 1), (3, 3, 1), 3, 100 * (4 / 9) ** (1 / 3))
    hint = "the n-grams that add-k adds count like the candidate's own, effective_order or not"
    for effective_order in (True, False):
        options = {"smoothing": "add-k", "effective_order": effective_order}
        result = as_score(score_statistics(added, **options), own)
        actual = but_for_rounding(result.score, mean)
        what = f"the score by add-k, with effective_order={effective_order}"
        assert_equal(actual, mean, what=what, rel_tol=1e-6, hint=hint)
### END HIDDEN TESTS

# %% [markdown]
# ## Part 5: fool it
#
# With your parts, BLEU itself is three lines:


# %% setup="corpus_bleu"
def corpus_bleu(candidates, references, **options):
    """Score a corpus of strings with your own parts.

    Args:
        candidates: Sentences.
        references: For each candidate the list of its references.
        **options: smoothing, smoothing_value and effective_order, as in score_statistics.
    """
    counts = [
        sentence_statistics(
            tokenize_13a(candidate), [tokenize_13a(each) for each in its_references]
        )
        for candidate, its_references in zip(candidates, references, strict=True)
    ]
    return score_statistics(sum_statistics(counts), **options)


# %% [markdown]
# What can BLEU not see? Here is one answer, found in 2006: **how the pieces are ordered**. Wherever
# two neighbours in the candidate do *not* stand side by side in any reference, no matching n-gram
# crosses the gap between them. So cut the candidate there. Every match lies inside one piece, and
# the pieces may be laid in any order without losing a single one:
#
# | | |
# |---|---|
# | reference | *orange fruit grows here and sheep sleep there* |
# | candidate | *orange fruit grows \| sheep sleep \| and \| fruit* |
# | as good | *fruit and sheep sleep orange fruit grows* |
#
# A candidate with ten pieces has 3,628,800 such orders, nearly all of them nonsense, and to BLEU
# they are the same: see [Where BLEU misleads](book:bleu#where-bleu-misleads). Write a function that
# finds one. The tests have sentences of up to twenty words: trying all orders of their words would
# take years.


# %% solution="reordered"
def reordered(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """Find another order of a candidate's tokens that BLEU does not like less.

    Args:
        candidate: Tokens.
        references: The tokens of each reference.

    Returns:
        The same tokens, each as often as before, in an order that differs from the candidate's; the
        candidate itself is not changed. For every n, at least as many of its n-grams match,
        clipped, as of the candidate's.

    Raises:
        ValueError: Every two neighbours stand side by side in a reference: there is no place to
            cut. Or all pieces are alike, and no order differs.

    Source: Callison-Burch et al. (2006), section 3; chapter "BLEU".
    """
    ### BEGIN SOLUTION
    together = {pair for reference in references for pair in pairwise(reference)}
    for cut, pair in enumerate(pairwise(candidate), start=1):
        swapped = [*candidate[cut:], *candidate[:cut]]
        if pair not in together and swapped != list(candidate):
            return swapped
    raise ValueError("the candidate cannot be cut into pieces that differ")
    ### END SOLUTION


# %% test="reordered-tokens" points=1 read="bleu#where-bleu-misleads"
# The tokens are the same, each as often as before, in another order, and in a list of their own
candidate = "orange fruit grows sheep sleep and fruit".split()
references = ["orange fruit grows here and sheep sleep there".split()]
side_by_side = "cut where two words do not stand side by side, though each may stand in a reference"
other = another_order(reordered, candidate, references, side_by_side)
assert_keeps_inputs(reordered, candidate, references, hint=in_place)
hint = "a list of words, those of the candidate: lose none, add none"
assert_equal(sorted(other), sorted(candidate), what="the tokens, sorted", hint=hint)
if other == candidate:
    raise CheckFailure("the order is the same", hint="lay the pieces in an order that differs")
### BEGIN HIDDEN TESTS
by_chance = (
    "look whether the order of the words differs: it may not where you cut one word off the gap, "
    "nor where you draw or sort the pieces"
)
a, b = sorted(draw_words(2))
assert_keeps_inputs(reordered, [a, b], [[b, a]], hint=in_place)
whole = "compare whole words: part of a word that stands there is not the word"
not_across = "the end of a reference and the beginning of the next do not stand side by side"
for candidate, references, hint in (
    ([a, b], [[b, a]], "the order of a pair counts: 'a b' does not stand in 'b a'"),
    ([b, a], [[a, b]], "the order of a pair counts: 'a b' does not stand in 'b a'"),
    ([a, b], [[a, f"{b}s"], [f"un{a}", b]], whole),
    ([a, b], [[b, a], [b, b]], not_across),
):
    other = another_order(reordered, candidate, references, hint)
    hint = by_chance if other == candidate else "a list of both words"
    assert_equal(other, candidate[::-1], what="the other order of two words", hint=hint)
for number in (2, 3, 6):
    words = draw_words(3 * number)
    references = [words[3 * i : 3 * i + 3] for i in range(number)]
    candidate = [word for i in torch.randperm(number).tolist() for word in references[i]]
    other = another_order(reordered, candidate, references, side_by_side)
    hint = "return a list of all tokens, those of each piece after one another"
    assert_equal(sorted(other), sorted(candidate), what="the tokens, sorted", hint=hint)
    if other == candidate:
        raise CheckFailure("the order is the same", hint=by_chance)
for candidate, hint in (
    ([a, a, a, b], "some pieces are alike: it is the order of the words that must differ"),
    ([a, b, a], "backwards may be the same as forwards"),
):
    other = another_order(reordered, candidate, [[b, b]], hint)
    often = "each token as often as before"
    assert_equal(sorted(other), sorted(candidate), what="the tokens, sorted", hint=often)
    if other == candidate:
        raise CheckFailure("the order is the same", hint=hint)
for candidate in ([a, b], [a], []):
    hint = "no place to cut, be it for want of words: raise ValueError"
    assert_raises(ValueError, reordered, candidate, [[b, a, b]], hint=hint)
hint = "the pieces are all alike, so that no order differs, be it a tuple: raise ValueError"
for candidate, reference in (([a, a], [b]), ([a, b, a, b], [a, b]), ((a, b, a, b), (a, b))):
    assert_raises(ValueError, reordered, candidate, [reference], hint=hint)
what, hint = "the other order of a tuple", "a sentence may be a tuple too, its order is a list"
assert_equal(as_words(reordered((a, b), [(b, a)])), [b, a], what=what, hint=hint)
### END HIDDEN TESTS

# %% test="reordered-matches" points=1 read="bleu#where-bleu-misleads"
# For every n, as many n-grams match as before, or more
candidate = "orange fruit grows sheep sleep and fruit".split()
reference = "orange fruit grows here and sheep sleep there".split()
side_by_side = "cut where two words do not stand side by side, though each may stand in a reference"
other = another_order(reordered, candidate, [reference], side_by_side)
# Nothing repeats in the reference: a match is a pair, or a triple, that is among its own.
pairs = [set(pairwise(words)) for words in (candidate, reference, other)]
triples = [set(pairwise(pairwise(words))) for words in (candidate, reference, other)]
for name, (before, wanted, after) in (("pairs", pairs), ("triples", triples)):
    if len(after & wanted) < len(before & wanted):
        hint = "cut only between two neighbours that are side by side in no reference"
        raise CheckFailure(f"fewer {name} of words stand in the reference than before", hint=hint)
### BEGIN HIDDEN TESTS
from course_lib.metrics.bleu_statistics import count_matches as reference_matches

hint = "cut only between two neighbours that are side by side in no reference; look in all of them"
# Runs of three words; each stands in one of two references, in another place.
words = draw_words(17)
runs = [words[i : i + 3] for i in range(0, 15, 3)]
references = [[*runs[0], words[15], *runs[3]], [*runs[2], *runs[1], words[16], *runs[4]]]
for turn in range(5):
    order = [3, 0, 4, 2, 1]
    candidate = [word for i in order[turn:] + order[:turn] for word in runs[i]]
    other = another_order(reordered, candidate, references, side_by_side)
    if len(other) > len(candidate):
        forgive("there are more tokens than the candidate has", "reordered-tokens")
    for n in (1, 2, 3, 4):
        if (
            reference_matches(other, references, n)[0]
            < reference_matches(candidate, references, n)[0]
        ):
            why = "a word is lost: move words, and leave none out" if n == 1 else hint
            raise CheckFailure(f"fewer {n}-grams match than before", hint=why)
    if other == candidate:
        raise CheckFailure(
            "the order is the same", hint="move words until another order comes of it"
        )
### END HIDDEN TESTS

# %% [markdown] written="where-it-misleads" points=3 read="bleu#where-bleu-misleads"
# ### Where BLEU misleads
#
# A sentence has two references: *The museum is closed on Mondays, but the garden is open.* and
# *On Mondays the museum is closed, but you can visit the garden.*
#
# 1. Write a translation that every reader would accept, with a BLEU below 20, and one that no
#    reader would accept, with a BLEU above 60. Give both scores as your `corpus_bleu` computes them
#    (with its default smoothing).
# 2. Say for each of them what in BLEU is at fault, in a sentence or two.
# 3. A colleague reports: "Our new system has 31.2 BLEU, the old one had 30.9, so it is better."
#    Name two things that you would ask before you believe it.
#
# ### BEGIN SOLUTION
# 1. *You won't get into the museum on a Monday, though its park welcomes visitors.* scores about 6.
#    *The museum is open on Mondays, but the garden is closed.* scores about 65 and says the
#    opposite.
# 2. BLEU compares words, not meanings. A paraphrase shares few n-grams with two references that
#    happen to use other words; synonyms count as errors. In the second sentence two words have
#    changed places: all single words and nearly all n-grams match, and BLEU knows of no word that
#    matters more than another.
# 3. On how many sentences, and is 0.3 more than chance (a bootstrap test over the sentences)? Is it
#    the same test set, tokenisation and number of references (sacreBLEU's signature)? What do
#    people, or another metric, say about the differences?
#
# **Marking guide**, one point each:
#
# 1. *Examples*: both translations, with scores that the definition confirms (compute them where in
#    doubt), and a reader would agree. Half a point for one of the two.
# 2. *Reasons*: n-grams know neither synonyms nor paraphrases; every n-gram weighs the same, so that
#    a "not" costs as little as a "the". Half a point for a reason that only restates the score.
# 3. *Doubts*: two of: significance or size of the test set; the same tokenisation, references and
#    smoothing; a look at the translations, people's judgement, another metric; whether the test
#    data was seen in training. Half a point for one.
# ### END SOLUTION

# %% [markdown]
# ## And now: the monkey
#
# Each time, the monkey changes its line a little: another word here, a few words moved there. If
# the number that you shout has not fallen, it keeps the change. That is all it ever learns.
#
# It starts twice, once with `smoothing="none"`, once with `"exp"`. Before you run the cell: what do
# you expect of each? Afterwards, call `monkey` with a line of your own, or with two.

# %% demo="monkey"
import random

import matplotlib.pyplot as plt

LINE = "to be or not to be that is the question"
SILLY = """banana coffee monkey umbrella perhaps typewriter cheese jungle never sleep king robot
yellow train garden music and with of a moon sandwich""".split()


def monkey(*lines, smoothing="exp", tries=6000, seed=7):
    """Type at random, keep what BLEU does not like less, and return the line and its scores."""
    chance = random.Random(seed)
    references = [line.split() for line in lines]
    words = sorted({word for reference in references for word in reference}.union(SILLY))
    typed = [chance.choice(words) for _ in references[0]]
    best, scores = 0.0, []
    for attempt in range(tries):
        changed = list(typed)
        if chance.random() < 0.5:
            changed[chance.randrange(len(changed))] = chance.choice(words)
        else:  # take a few words out, and put them back elsewhere
            start = chance.randrange(len(changed))
            run = changed[start : start + chance.randint(1, 4)]
            del changed[start : start + len(run)]
            place = chance.randint(0, len(changed))
            changed[place:place] = run
        score = score_statistics(
            sentence_statistics(changed, references), smoothing=smoothing, effective_order=True
        ).score
        if score > best + 4 or (score > best and score > 99):
            print(f"{attempt:5d} {score:6.1f}  {' '.join(changed)}")
        if score >= best:
            typed, best = changed, score
        scores.append(best)
    return " ".join(typed), scores


figure, axes = plt.subplots(figsize=(7, 3))
for smoothing, style in (("none", "--"), ("exp", "-")):
    print(f"\nsmoothing={smoothing!r}")
    typed, scores = monkey(LINE, smoothing=smoothing)
    print(f"In the end the monkey types: {typed}")
    axes.plot(scores, style, label=f"smoothing = {smoothing}")
axes.set_xlabel("lines typed")
axes.set_ylabel("BLEU, 0 to 100")
axes.legend()
plt.show()
