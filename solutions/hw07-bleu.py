# %% [markdown]
# # Homework 7: BLEU
#
# A monkey sits at a typewriter. It knows some thirty words and types them as they come. You can't
# tell it what to write. All that you may do is shout a number after each line, from 0 to 100.
#
# In the last cell of this notebook the monkey writes Shakespeare. The number that it hears is
# **BLEU**, the yardstick by which two decades of machine translation have been measured, and *you*
# write it. Then you know how it works, and at the end of this homework you fool it.
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
# Write your code where a cell says `YOUR CODE HERE`; the docstring above that line says its
# task. A list that your code is given belongs to its caller: sort or change a copy. Each test
# cell is worth its own points. Its hidden part, with other sentences, runs when your work is
# graded. [For students](book:for-students) explains how grading works and how to hand in.
#
# **The rule of this homework:** the counting is yours, not that of the standard tool, `sacrebleu`.
# It is installed with this homework: compare your scores with it in a cell of your own, which holds
# nothing else, because there is no `sacrebleu` where your work is graded. If you are stuck, count a
# sentence of four words with a pencil; then see [Common mistakes](book:bleu#bleu-common-mistakes).

# %% setup="imports" installs="sacrebleu"
import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from course_lib.metrics.bleu import BLEUScore, Smoothing
from course_lib.metrics.bleu_statistics import BLEUStatistics
from course_lib.metrics.tokenizer_13a import tokenize_13a
from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_equal, assert_keeps_inputs, assert_raises

prepare_notebook()  # test cells say how they ended


def score_of(result):
    """Return the score of a result; a result without one is returned as it is."""
    return getattr(result, "score", result)


# %% [markdown]
# ## Part 1: shared n-grams
#
# A **candidate** is the output of a machine. Its **references** are translations of the same source
# by people. The more of the candidate's words stand in a reference, the better; the longer the runs
# of words that do, the better still. A run of $n$ words is an **n-gram**.
#
# Sentences are lists of tokens here, or tuples; `"so so good".split()` makes a list. Start with the
# counts of one sentence. The chapter shows them in [Counting n-grams](book:bleu#ngram-counts).


# %% solution="ngram_counts" of="course_lib.metrics.bleu_statistics"
def ngram_counts():
    """Count the n-grams of a sentence: every run of n tokens.

    Returns:
        A Counter or a dict: how often each n-gram, a tuple of tokens, occurs.

    Raises:
        ValueError: ``n`` is smaller than 1.
    """


# %% test="ngram_counts-values" points=1 read="bleu#ngram-counts"
# Every run of n tokens is counted, as often as it occurs
counts = ngram_counts("so so so so good".split(), 2)
# Four pairs begin at the first four tokens; the fifth token begins none.
expected = {("so", "so"): 3, ("so", "good"): 1}
assert_equal(counts, expected, what="the 2-grams of 'so so so so good'")
### BEGIN HIDDEN TESTS
a, b = sorted(random.sample("abcdefghijklmnopqrst", 2))
tokens = [b, a, *random.choices([a, b], k=7)]
for n in (1, 2, 3, 4):
    assert_matches(ngram_counts, reference.ngram_counts, tokens, n)
assert_matches(ngram_counts, reference.ngram_counts, [a, a.upper()], 1)
### END HIDDEN TESTS

# %% test="ngram_counts-short" points=1 read="bleu#ngram-counts"
# A sentence of fewer than n tokens has no n-grams, and n is at least 1
assert_equal(ngram_counts(["hello"], 2), {}, what="the 2-grams of one word")
assert_equal(ngram_counts(["hello", "world"], 2), {("hello", "world"): 1}, what="those of two")
assert_raises(ValueError, ngram_counts, ["hello"], 0)
assert_keeps_inputs(ngram_counts, ["world", "hello"], 2)
### BEGIN HIDDEN TESTS
tokens = random.sample("abcdefghijklmnopqrst", 4)
for length in range(5):
    assert_matches(ngram_counts, reference.ngram_counts, tokens[:length], 4)
    assert_matches(ngram_counts, reference.ngram_counts, tuple(tokens[:length]), 4)
assert_raises(ValueError, ngram_counts, tokens, -1)
assert_keeps_inputs(ngram_counts, sorted(tokens, reverse=True), 2)
assert_keeps_inputs(ngram_counts, sorted(tokens), 2)
### END HIDDEN TESTS

# %% variants="ngram_counts"
# fmt: off
right("a plain dictionary", '''
def ngram_counts(tokens, n):
    if n <= 0:
        raise ValueError("n must be positive")
    counts = {}
    for i in range(len(tokens) - n + 1):
        gram = tuple(tokens[i : i + n])
        if gram not in counts:
            counts[gram] = 0
        counts[gram] += 1
    return counts
''')
ALL = "Counter(zip(*(tokens[start:] for start in range(n)), strict=False))"
right("a dict made of the Counter", (ALL, f"dict({ALL})"))
RUNS = "tuple(tokens[i : i + n]) for i in range("
for name, new, hint in (
    ("the last n-gram is forgotten", f"Counter({RUNS}len(tokens) - n))",
     "You miss the last n-gram; there are len(tokens) - n + 1 of them."),
    ("runs at the end that are too short", f"Counter({RUNS}len(tokens)))",
     "You count runs at the end that are too short; stop where fewer than n tokens are left."),
    ("repetitions forgotten", f"Counter(set({ALL[8:-1]}))",
     "You count a repeated n-gram once, as a set does; count every occurrence."),
    ("runs that do not overlap", f"Counter({RUNS}0, len(tokens) - n + 1, n))",
     "You begin each n-gram where the one before ends; n-grams overlap, so begin one at every token."),
    ("joined to strings", "Counter(' '.join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))",
     "You join tokens to a string; an n-gram is a tuple of tokens."),
    ("sorted words", "Counter(tuple(sorted(tokens[i:i + n])) for i in range(len(tokens) - n + 1))",
     "You sort the words of an n-gram; their order counts, so leave it as it is."),
    ("orders from 1 to n together",
     "Counter(tuple(tokens[i : i + k]) for k in range(1, n + 1) for i in range(len(tokens) - k + 1))",
     "You count the shorter runs too; count the runs of n tokens alone."),
    ("one token too long", "Counter(tuple(tokens[i : i + n + 1]) for i in range(len(tokens) - n))",
     "You count runs of n + 1 tokens; end the slice at i + n."),
    ("2-grams whatever n", "Counter(pairwise(tokens))", "You count 2-grams, whatever n is; use n."),
    ("a list in place of counts", f"list({ALL[8:-1]})",
     "You return a list of n-grams; count them, and return a Counter or a dict."),
    ("lists for keys", f"Counter({RUNS.removeprefix('tuple')}len(tokens) - n + 1))",
     "You use lists as keys, which no dict takes; make a tuple(...) of each n-gram."),
    ("the first occurrence counts nothing", f"Counter({{g: c - 1 for g, c in {ALL}.items()}})",
     "You count the first occurrence as 0; begin with 1."),
):
    wrong(name, (ALL, new), lost="values", hint=hint)
wrong("all in small letters", ("zip(*(tokens[start:]", "zip(*([t.lower() for t in tokens][start:]"),
    lost="values", hint="You change the case of tokens; take them as they are: 'The' is not 'the'.")
wrong("printed, not returned", (ALL, f"print({ALL})"), lost="*", hint="You return nothing; return the counts.")
wrong("n is not looked at", ("    if n < 1:", "    if False:"), lost="short",
    hint="You let an n below 1 pass; raise ValueError.")
wrong("an error for a short sentence", ("if n < 1:", "if n < 1 or len(tokens) < n:"), lost="short",
    hint="You raise an error for a sentence of fewer than n tokens; return no counts.")
wrong("a run that is too short for the whole sentence", (f"return {ALL}", f"return {ALL} or Counter([tuple(tokens)])"),
    lost="short", hint="You count a sentence of fewer than n tokens as an n-gram; it has none.")
wrong("sorted in place", ("    return", "    tokens.sort()\n    return"), lost="short",
    hint="You sort the tokens that you are given; work on a copy, if you need to sort.")
same("strict=False", "zip() is not strict by itself")
# fmt: on

# %% [markdown]
# Now the matches. "the the the the" would be a perfect translation of everything if each of its
# words were held against a reference on its own. So an n-gram is **clipped**: it counts at most as
# often as it stands in a reference. With several references, take the one that has *this n-gram*
# most often: see [Clipping](book:bleu#clipping). If you use operators, mind that `|` takes the
# larger count of two Counters, but the second one's count of two dicts.


# %% solution="count_matches" of="course_lib.metrics.bleu_statistics"
def count_matches():
    """Count how many of a candidate's n-grams are in its references, of which there is at least one.

    Args:
        clip: Whether an n-gram counts at most as often as it is in the one reference that has it
            most. If not, one that is in any reference counts as often as the candidate has it.

    Returns:
        (matches, total): the number of matching n-grams, and that of all n-grams, of the candidate.
    """


# %% test="count_matches-matches" points=1 read="bleu#clipping"
# An n-gram matches wherever it stands in the reference (nothing repeats: nothing to clip)
candidate = "now a small dog sleeps soundly".split()
references = ["a small dog sleeps here".split()]
# Four words match, then the pairs a small, small dog and dog sleeps, then two triples.
for n, expected in ((1, 4), (2, 3), (3, 2)):
    matches, total = count_matches(candidate, references, n)
    assert_equal(matches, expected, what=f"the number of matching {n}-grams")
### BEGIN HIDDEN TESTS
words = random.sample("abcdefghijklmnopqrst", 8)
candidate, references = [*words[:6], words[7]], [[*words[1:6], words[7].upper()]]
for n in (1, 2, 3, 4):
    assert_equal(count_matches(candidate, references, n)[0], 6 - n, what=f"matching {n}-grams")
### END HIDDEN TESTS

# %% test="count_matches-clipping" points=1 read="bleu#clipping"
# A repeated n-gram counts at most as often as it is in the reference
candidate = "the the the the dog".split()
references = ["the cat sees the mat".split()]
# The reference has "the" twice, so two of four count. Unclipped, all four do; "dog" never does.
matches, total = count_matches(candidate, references, 1)
assert_equal(matches, 2, what="the number of matching words")
matches, total = count_matches(candidate, references, 1, clip=False)
assert_equal(matches, 4, what="that number with clip=False")
### BEGIN HIDDEN TESTS
a, b, c, d, e = random.sample("abcdefghijklmnopqrst", 5)
ours = reference.count_matches
repeated = [a] * 5 + [b] * 2 + [d], [[a] * 2 + [c] + [b] * 3 + [e]]
within = [a, b], [[f"{a}s", f"un{b}"]]
for candidate, references in (repeated, within):
    for n, clip in ((1, True), (2, True), (1, False), (2, False)):
        given = [*candidate], [[*words] for words in references], n
        matches, _ = count_matches(*given, clip=clip)
        assert_equal(matches, ours(*given, clip=clip)[0], what=f"the matches with clip={clip}")
### END HIDDEN TESTS

# %% test="count_matches-references" points=1 read="bleu#clipping"
# With several references an n-gram is held against the one that has it most often
candidate = "the old big big big cat sleeps soundly".split()
references = ["the old big dog".split(), "a big big cat sleeps here".split()]
# "the" and "old" are in the first reference; "cat", "sleeps", and "big" twice, are in the second.
matches, total = count_matches(candidate, references, 1)
assert_equal(matches, 6, what="the number of matching words")
### BEGIN HIDDEN TESTS
the, big, cat, dog, naps, here, sleeps, some = random.sample("abcdefghijklmnopqrst", 8)
ours = reference.count_matches
references = [[the, big, dog, naps], [some, big, big, cat, here]]
for order in (references, references[::-1]):
    for candidate, clip in (
        ([the, big, big, big, cat, sleeps], True), ([the, cat, sleeps], False), ([naps, some], True),
        ([here, the], True),
    ):  # fmt: skip
        for n in (1, 2):
            given = [*candidate], [[*words] for words in order], n
            matches, _ = count_matches(*given, clip=clip)
            assert_equal(matches, ours(*given, clip=clip)[0], what=f"the matches with clip={clip}")
### END HIDDEN TESTS

# %% test="count_matches-total" points=1 read="bleu#clipping"
# The total is the number of the candidate's n-grams, matching or not; no list is changed
candidate, references = "no no no no never".split(), ["a dog sleeps on a mat today".split()]
assert_keeps_inputs(count_matches, candidate, references, 1)
matches, total = count_matches(candidate, references, 2)
assert_equal(total, 4, what="the total for 5 tokens and n = 2")
### BEGIN HIDDEN TESTS
word, *words = random.sample("abcdefghijklmnopqrst", 9)
cases = [([word] * length, [words], n) for n in (1, 2, 4) for length in range(6)]
for candidate, references, n in [*cases, ([word] * 3, [[]], 1), ((word, word), (words,), 1)]:
    _, total = count_matches(candidate, references, n)
    length = len(candidate)
    assert_equal(total, max(length - n + 1, 0), what=f"the total for {length} tokens and n = {n}")
assert_keeps_inputs(count_matches, ["b", "a"], [["b"], ["a"]], 1)
### END HIDDEN TESTS

# %% variants="count_matches"
# fmt: off
right("every n-gram looked up in every reference", '''
def count_matches(candidate, references, n, *, clip=True):
    if len(references) == 0:
        raise ValueError("I need a reference")
    matches = 0
    total = 0
    for gram, count in ngram_counts(candidate, n).items():
        total += count
        most = 0
        for reference in references:
            in_reference = ngram_counts(reference, n)
            if gram in in_reference and in_reference[gram] > most:
                most = in_reference[gram]
        if most > 0 and not clip:
            matches += count
        else:
            matches += min(count, most)
    return matches, total
''')
joined = right("the operators of Counter", '''
def count_matches(candidate, references, n, *, clip=True):
    found, allowed = Counter(ngram_counts(candidate, n)), Counter()
    for reference in references:
        allowed |= ngram_counts(reference, n)
    kept = found & allowed if clip else Counter({g: c for g, c in found.items() if g in allowed})
    return sum(kept.values()), max(len(candidate) - n + 1, 0)
''')
BEGIN = "    in_references = "
IN = "[ngram_counts(reference, n) for reference in references]"
LARGEST = "max(counts.get(ngram, 0) for counts in in_references)"
ADD = "min(count, largest) if clip else count"
TOTAL = "max(len(candidate) - n + 1, 0)"
JOIN = "allowed |= ngram_counts(reference, n)"
UNDONE = ("You let one reference undo the counts of another; take the larger count, as | does of two "
    "Counters, but not of two dicts.")

# ---- matches ----
wrong("place by place", (LARGEST, "sum(tuple(candidate[i : i + n]) == ngram == tuple(references[0][i : i + n])\n"
    "            for i in range(len(candidate)))"), lost="matches",
    hint="You compare place by place; an n-gram may match anywhere in the reference.")
wrong("lower case", (BEGIN, "    candidate = [t.lower() for t in candidate]\n"
    "    references = [[t.lower() for t in r] for r in references]\n" + BEGIN), lost="matches",
    hint="You change the case of tokens; take them as they are: 'The' is not 'the'.")
wrong("total and matches swapped", (f"matches, {TOTAL}", f"{TOTAL}, matches"), lost="matches",
    hint="You return the total first; return (matches, total).")
wrong("a precision returned", (f"matches, {TOTAL}", f"matches / max({TOTAL}, 1)"), lost="*",
    hint="You return one number, or nothing; return matches, total.")
wrong("matches as a float", ("return matches, ", "return float(matches), "), lost="matches",
    hint="You return the matches as a float; add up counts, which are ints.")

# ---- clipping ----
wrong("no clipping", (ADD, "count"), lost="clipping references",
    hint="You do not clip; an n-gram counts at most as often as it is in the reference.")
wrong("every n-gram counts once", ("min(count, largest) if", "1 if"), lost="clipping",
    hint="You count an n-gram that is in both twice as one match, as a set does; take the smaller count.")
wrong("the sum is clipped", (f"matches, {TOTAL}",
    f"min(matches, max(sum(c.get(g, 0) for g in ngram_counts(candidate, n)) for c in in_references)) if clip else matches, {TOTAL}"),
    (ADD, "count"), lost="clipping", hint="You clip the sum; clip each n-gram by its own count, then add up.")
wrong("clip=False forgotten", (ADD, "min(count, largest)"), lost="clipping",
    hint="You clip with clip=False too; then every n-gram that is in a reference at all counts.")
wrong("clip=False counts n-grams of no reference", ("largest > 0", "largest > 0 or not clip"), lost="clipping",
    hint="You count n-grams with clip=False that are in no reference; they still count nothing.")
wrong("clip=False looks for part of a text", ("largest > 0",
    "largest > 0 or not clip and any(' '.join(ngram) in ' '.join(r) for r in references)"), lost="clipping",
    hint="You take part of a word for the word; compare whole words.")

# ---- references ----
wrong("the first reference alone", (IN, IN.replace("references", "references[:1]")), lost="references",
    hint="You read the first reference only; look in all of them.")
wrong("clip=False reads the first reference alone", ("largest > 0",
    "(largest if clip else in_references[0].get(ngram, 0)) > 0"), lost="references",
    hint="You read the first reference only with clip=False; look in all of them.")
wrong("counts of the references added up", (LARGEST, LARGEST.replace("max(", "sum(")), lost="references",
    hint="You add up the counts of the references; take the largest.")
wrong("the best reference alone", (BEGIN, "    if len(references) > 1:\n"
    "        return max(count_matches(candidate, [r], n, clip=clip) for r in references)\n" + BEGIN), lost="references",
    hint="You choose one reference for all; each n-gram may find its match in another one.")
wrong("in every reference", (LARGEST, LARGEST.replace("max(", "min(")), lost="references",
    hint="You want an n-gram in every reference; one is enough.")
wrong("references joined to one", (IN, "[ngram_counts([token for r in references for token in r], n)]"), lost="references",
    hint="You join the references to one; an n-gram does not reach from one into the next, and counts are not added up.")
joined.wrong("each reference undoes the one before", (JOIN, "allowed = Counter({**allowed, **ngram_counts(reference, n)})"),
    lost="references", hint=UNDONE)
joined.wrong("two dicts joined by |", (JOIN, "allowed = Counter(dict(allowed) | dict(ngram_counts(reference, n)))"),
    lost="references", hint=UNDONE)

# ---- total ----
for name in ("candidate", "references"):
    wrong(f"{name} in a list alone", (BEGIN, f"    {name} = {name} + []\n{BEGIN}"), lost="total",
        hint=f"You take {name} for a list; it may be a tuple too.")
for name, total, hint in (
    ("of the reference: recall", "max(len(references[0]) - n + 1, 0)",
     "You count the n-grams of the reference; precision divides by those of the candidate."),
    ("of different n-grams", "len(ngram_counts(candidate, n))",
     "You count each n-gram once; repeated ones count each time."),
    ("of tokens", "len(candidate)", "You return the number of tokens; there are n - 1 fewer n-grams."),
    ("below zero", "len(candidate) - n + 1", "You return a total below 0 for a short candidate; none is 0."),
    ("that misses one", "max(len(candidate) - n, 0)",
     "You miss the last n-gram; there are len(candidate) - n + 1 of them."),
    ("of the matches", "matches", "You count the matching n-grams; the total counts all of the candidate's."),
):
    wrong(f"total {name}", (TOTAL, total), lost="total", hint=hint)
COPY = "You change a list that you are given; sort() and append() change it in place, so work on a copy."
wrong("references sorted in place", (BEGIN, "    references.sort()\n" + BEGIN), lost="total", hint=COPY)
wrong("the candidate is sorted in place", (BEGIN, "    counted = ngram_counts(candidate, n)\n    candidate.sort()\n" + BEGIN),
    ("in ngram_counts(candidate, n).items()", "in counted.items()"), lost="total", hint=COPY)
wrong("a reference without words is none", ("if not references:", "if not any(references):"), lost="total",
    hint="You raise an error where a reference has no words; then nothing matches.")
same("if not references:", "errors are not tested here")
same("raise ValueError('references must hold", "errors are not tested here")
for piece in ("max(0, len", "min(largest, count)"):
    same(piece, "the same, in another order")
same("counts.get(ngram, -1)", "a count below 1 adds nothing")
# fmt: on

# %% [markdown]
# ## Part 2: the price of saying little
#
# Matches divided by the total is a *precision*: the share of the candidate that is right. It asks
# for nothing more, so a machine that writes "the" and falls silent would be perfect. BLEU therefore
# multiplies by a **brevity penalty**. With $c$ tokens in the candidate and $r$ in the reference,
#
# $$\mathrm{BP} = \begin{cases} 1 & \text{if } c \ge r \\ e^{\,1 - r/c} & \text{if } c < r
# \end{cases}$$
#
# The docstrings answer two questions that the formula leaves open: which $r$, if there are several
# references, and what if $c$ is 0? See [The brevity penalty](book:bleu#brevity-penalty).


# %% solution="closest_reference_length" of="course_lib.metrics.bleu_statistics"
def closest_reference_length():
    """Return the reference length closest to the candidate's; of two equally close the shorter."""


# %% test="closest_reference_length-closest" points=1 read="bleu#brevity-penalty"
# The length closest to the candidate's is chosen, and of two equally close ones the shorter
for lengths, expected in (([13, 6, 12, 3, 20], 6), ([8, 2], 8), ([9, 5], 5), ([5, 9], 5)):
    actual = closest_reference_length(7, lengths)
    assert_equal(actual, expected, what=f"the length closest to 7 in {lengths}")
assert_keeps_inputs(closest_reference_length, 7, [9, 5])
### BEGIN HIDDEN TESTS
assert_keeps_inputs(closest_reference_length, 8, [9, 5, 7])
for differences in (
    [-5, -2, 3, 7], [-6, 4, 9], [-1, 0, 1], [8], [2, -2, 5], [-3, -2, 2], [-2, 2], [-7, 9],
):  # fmt: skip
    length = random.randint(8, 15)
    lengths = [length + difference for difference in random.sample(differences, len(differences))]
    for given in (lengths, lengths[::-1], tuple(lengths)):
        assert_matches(closest_reference_length, reference.closest_reference_length, length, given)
assert_equal(closest_reference_length(3, [9, 0]), 0, what="the length closest to 3 in [9, 0]")
### END HIDDEN TESTS

# %% variants="closest_reference_length"
# fmt: off
right("from short to long", '''
def closest_reference_length(candidate_length, reference_lengths):
    best = None
    for length in sorted(reference_lengths):
        if best is None or abs(length - candidate_length) < abs(best - candidate_length):
            best = length
    return best
''')
right("sorted by distance, then by length", '''
def closest_reference_length(candidate_length, reference_lengths):
    return min((abs(r - candidate_length), r) for r in reference_lengths)[1]
''')
CLOSEST = "min(reference_lengths, key=lambda length: (abs(length - candidate_length), length))"
DISTANCE, KEY = "abs(length - candidate_length)", "(abs(length - candidate_length), length)"
BY = "compare by abs(length - candidate_length)."
TIES = "You leave ties to chance; of two equally close lengths take the shorter, wherever it stands."
for name, new, hint in (
    ("without abs", CLOSEST.replace(DISTANCE, "length - candidate_length"), f"You choose the shortest length; {BY}"),
    ("the longest", "max(reference_lengths)", f"You choose the longest length; {BY}"),
    ("the first", "reference_lengths[0]", f"You choose the first length; {BY}"),
    ("the mean", "round(sum(reference_lengths) / len(reference_lengths))",
     "You return the mean; choose one of the lengths."),
    ("the difference", "min(abs(r - candidate_length) for r in reference_lengths)",
     "You return how far away the length is; return the length itself."),
    ("none that is longer", "max([r for r in reference_lengths if r <= candidate_length] or reference_lengths)",
     f"You pass over longer references, which may be closer; {BY}"),
    ("none that is shorter", "min([r for r in reference_lengths if r >= candidate_length] or reference_lengths)",
     f"You pass over shorter references, which may be closer; {BY}"),
    ("ties to the first", CLOSEST.replace(KEY, DISTANCE), TIES),
    ("ties to the last", CLOSEST.replace("min(reference_lengths", "min(reference_lengths[::-1]").replace(KEY, DISTANCE),
     TIES),
    ("ties to the longer", CLOSEST.replace(", length))", ", -length))"),
     "You take the longer of two equally close lengths; take the shorter."),
    ("an index", "min(range(len(reference_lengths)), key=lambda i: "
     "(abs(reference_lengths[i] - candidate_length), reference_lengths[i]))",
     "You return where the length stands in the list; return the length itself."),
    ("lengths in a list alone", CLOSEST.replace("(reference_lengths,", "(reference_lengths.copy(),"),
     "You take reference_lengths for a list; it may be a tuple too."),
    ("lengths of 0 left out", CLOSEST.replace("(reference_lengths,", "(filter(None, reference_lengths),"),
     "You leave out a length of 0; it is one like any other."),
):
    wrong(name, (CLOSEST, new), lost="closest", hint=hint)
wrong("a length of 0 is an error", ("if not reference_lengths:", "if not all(reference_lengths):"), lost="closest",
    hint="You reject a length of 0; it is one like any other.")
wrong("lengths sorted in place", ("    return", "    reference_lengths = reference_lengths if isinstance("
    "reference_lengths, list) else [*reference_lengths]\n    reference_lengths.sort()\n    return"), lost="closest",
    hint="You sort the list that you are given; work on a copy, as sorted() does.")
same("if not reference_lengths:", "errors are not tested here")
same("raise ValueError('reference_lengths must", "errors are not tested here")
# fmt: on


# %% solution="brevity_penalty" of="course_lib.metrics.bleu"
def brevity_penalty():
    """Compute the factor that takes the profit out of saying little; lengths are in tokens.

    Returns:
        A number: 1 if c >= r, otherwise exp(1 - r / c), which is 0 for an empty candidate.
    """


# %% test="brevity_penalty-short" points=1 read="bleu#brevity-penalty"
# A candidate shorter than its reference is punished by exp(1 - r / c)
penalty = brevity_penalty(4, 10)  # 1 - 10 / 4 is -1.5
assert_equal(penalty, math.exp(-1.5), what="the penalty for 4 tokens in place of 10")
### BEGIN HIDDEN TESTS
for _ in range(4):
    c = random.randint(2, 20)
    r = c + random.randint(1, 10)
    assert_equal(
        brevity_penalty(c, r), math.exp(1 - r / c), what="the penalty of a short candidate"
    )
### END HIDDEN TESTS

# %% test="brevity_penalty-long" points=1 read="bleu#brevity-penalty"
# Length is not rewarded, and an empty candidate scores 0
assert_equal(brevity_penalty(10, 5), 1.0, what="the penalty for 10 tokens in place of 5")
assert_equal(brevity_penalty(7, 7), 1.0, what="the penalty for 7 tokens in place of 7")
assert_equal(brevity_penalty(0, 5), 0.0, what="the penalty for no tokens in place of 5")
### BEGIN HIDDEN TESTS
assert_equal(brevity_penalty(0, 0), 1.0, what="the penalty where both are empty")
for _ in range(4):
    r = random.randint(1, 20)
    for c in (r + random.randint(1, 10), r, 0):
        assert_matches(brevity_penalty, reference.brevity_penalty, c, r)
### END HIDDEN TESTS

# %% variants="brevity_penalty"
# fmt: off
right("case by case", '''
def brevity_penalty(candidate_length, reference_length):
    if candidate_length < 0 or reference_length < 0:
        raise ValueError("negative length")
    if reference_length <= candidate_length:
        return 1
    elif candidate_length == 0:
        return 0
    else:
        return math.e ** (1 - reference_length / candidate_length)
''')
right("a capped exponent", '''
def brevity_penalty(candidate_length, reference_length):
    if not candidate_length:
        return float(not reference_length)
    return math.exp(min(0, 1 - reference_length / candidate_length))
''')
right("NumPy's numbers", '''
import numpy as np


def brevity_penalty(candidate_length, reference_length):
    if candidate_length >= reference_length:
        return np.float64(1)
    return np.exp(1 - reference_length / candidate_length) if candidate_length else np.float64(0)
''')
PENALTY = "math.exp(1 - reference_length / candidate_length)"
for name, new, hint in (
    ("no penalty", "1.0", "You do not punish a candidate that is too short; return exp(1 - r / c)."),
    ("the ratio", "candidate_length / reference_length", "You return the ratio c / r itself; return exp(1 - r / c)."),
    ("upside down", "math.exp(1 - candidate_length / reference_length)",
     "You divide upside down; it is 1 - reference_length / candidate_length."),
    ("the sign", "math.exp(reference_length / candidate_length - 1)",
     "You turn the sign of the exponent; a penalty is at most 1."),
    ("without the 1", "math.exp(-reference_length / candidate_length)", "You forget the 1; return exp(1 - r / c)."),
    ("whole division", "math.exp(1 - reference_length // candidate_length)",
     "You round r / c down with //; divide with /."),
    ("exp forgotten", "1 - reference_length / candidate_length", "You forget exp; return exp(1 - r / c)."),
    ("2 to the power", "2 ** (1 - reference_length / candidate_length)",
     "You raise 2 to the exponent; exp has the base e, as in math.exp."),
    ("a tensor", "__import__('torch').tensor(1 - reference_length / candidate_length).exp()",
     "You return a tensor; return a plain number."),
):
    wrong(name, (PENALTY, new), lost="short", hint=hint)
wrong("NaN", "def brevity_penalty(candidate_length, reference_length):\n    return math.nan", lost="*",
    hint="You always return NaN; return exp(1 - r / c), and 1 for a long candidate.")
for number in (0.0, 1.0):
    wrong(f"always {number}", f"def brevity_penalty(candidate_length, reference_length):\n    return {number}",
        lost="*", hint=f"You always return {number}; return exp(1 - r / c), and 1 for a long candidate.")
LONG = "if candidate_length >= reference_length"
wrong("long ones punished, short ones not", (LONG, "if candidate_length <= reference_length"), lost="short long",
    hint="You punish long candidates, and short ones not; the candidate's length is the first argument.")
wrong("always exp(1 - r / c)", (LONG, "if candidate_length == reference_length"), lost="long",
    hint="You reward a candidate that is too long; the penalty is at most 1.")
EMPTY = "    if candidate_length == 0:\n        return 0.0\n"
wrong("divided by zero", (EMPTY, ""), lost="long",
    hint="You divide by 0 for an empty candidate; exp(1 - r / c) falls to 0 as c does, so return 0 first.")
wrong("two empty sentences punished", (LONG, EMPTY.strip(" ") + "    " + LONG), lost="long",
    hint="You punish an empty candidate of an empty reference; it is long enough, so return 1.")
wrong("the empty unpunished", ("return 0.0", "return 1.0"), lost="long",
    hint="You do not punish an empty candidate; return 0.")
same("if candidate_length < 0", "errors are not tested here")
same("raise ValueError(f'lengths must not", "errors are not tested here")
# fmt: on

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
def sentence_statistics():
    """Count all that BLEU needs to know of one candidate, for orders 1 to ``max_order``."""


# %% test="sentence_statistics-counts" points=1 read="bleu#corpus-bleu"
# The counts of all orders and both lengths are put together
candidate = "now a small dog sleeps soundly".split()
references = ["a small dog sleeps here".split()]
statistics = sentence_statistics(candidate, references)
assert_equal(statistics.matches, (4, 3, 2, 1), what="matches")
assert_equal(statistics.totals, (6, 5, 4, 3), what="totals")
assert_equal(statistics.candidate_length, 6, what="candidate_length")
assert_equal(statistics.reference_length, 5, what="reference_length")
two_orders = sentence_statistics(candidate, references, 2)
assert_equal(two_orders.totals, (6, 5), what="totals with max_order=2")
### BEGIN HIDDEN TESTS
words = random.sample("abcdefghijklmnopqrst", 12)
single = [*words[:7], words[8]], [[*words[2:7], words[9]]]
three = [words[9:11], [*words[4:7], *words[8:12]], [*words[:3], *words[9:12]] * 2]
repeated = [words[0]] * 3 + [words[1]], [words[:3]]
cases = [(*single, n) for n in (1, 3, 5)]
cases += [
    (single[0], three),
    (single[0], three[::-1]),
    repeated,
    ([], [words]),
    (words[:2], [words]),
]
for case in cases:
    actual, expected = sentence_statistics(*case), reference.sentence_statistics(*case)
    for name in ("matches", "totals", "candidate_length", "reference_length"):
        assert_equal(getattr(actual, name), getattr(expected, name), what=name)
assert_keeps_inputs(sentence_statistics, single[0], three[::-1])
### END HIDDEN TESTS

# %% variants="sentence_statistics"
# fmt: off
right("two lists", '''
def sentence_statistics(candidate, references, max_order=4):
    matches, totals, lengths = [], [], []
    for n in range(1, max_order + 1):
        matched, total = count_matches(candidate, references, n)
        matches.append(matched)
        totals.append(total)
    for reference in references:
        lengths.append(len(reference))
    return BLEUStatistics(
        matches=tuple(matches),
        totals=tuple(totals),
        candidate_length=len(candidate),
        reference_length=closest_reference_length(len(candidate), lengths),
    )
''')
right("pairs turned into two tuples", '''
def sentence_statistics(candidate, references, max_order=4):
    matches, totals = zip(*(count_matches(candidate, references, n + 1) for n in range(max_order)))
    c = len(candidate)
    r = closest_reference_length(c, list(map(len, references)))
    return BLEUStatistics(matches=matches, totals=totals, candidate_length=c, reference_length=r)
''')
ORDERS, COUNTED = "range(1, max_order + 1)", "count_matches(candidate, references, n)"
MATCHES, TOTALS = "matches for matches, _ in counted", "total for _, total in counted"
LENGTHS = "[len(reference) for reference in references]"
EACH = "write one number for each order, from 1 up to max_order and with it."
CHOOSE = "choose among the lengths of all references by closest_reference_length."
SHORT = "write 0 for the orders in which a short candidate has no n-grams."
for name, old, new, hint in (
    ("orders without the last", ORDERS, "range(1, max_order)", f"You leave out max_order itself; {EACH}"),
    ("orders from 0", ORDERS, "range(max_order)", f"You begin with order 0; {EACH}"),
    ("always four orders", ORDERS, "range(1, 5)", f"You count four orders, whatever max_order is; {EACH}"),
    ("the first reference's matches", COUNTED, COUNTED.replace("references", "references[:1]"),
     "You match against the first reference only; hand all references on to count_matches."),
    ("the first reference left out", COUNTED, COUNTED.replace("references", "references[1:] or references"),
     "You leave out the first reference; hand all references on to count_matches."),
    ("candidate and reference swapped", COUNTED, "count_matches(references[0], [candidate], n)",
     "You count the n-grams of the reference; count those of the candidate."),
    ("nothing is clipped", COUNTED, COUNTED.replace("n)", "n, clip=False)"), "You do not clip; BLEU does."),
    ("the first reference's length", LENGTHS, "[len(references[0])]",
     f"You hold the candidate against the first reference; {CHOOSE}"),
    ("all lengths added up", LENGTHS, "[sum(map(len, references))]", f"You add up the lengths; {CHOOSE}"),
    ("lengths in letters", "candidate_length=len(candidate)", "candidate_length=len(' '.join(candidate))",
     "You count letters; a length is a number of tokens."),
    ("a repeated token counts once in the length", "candidate_length=len(candidate)",
     "candidate_length=len(set(candidate))", "You count a repeated token once; every token counts."),
    ("totals for matches", MATCHES, "total for _, total in counted ",
     "You write the totals into matches; count_matches returns (matches, total)."),
    ("matches for totals", TOTALS, "matches for matches, _ in counted ",
     "You write the matches into totals; count_matches returns (matches, total)."),
    ("totals of the first order", TOTALS, "counted[0][1] for _ in counted",
     f"You write the total of n = 1 for all orders; {EACH}"),
    ("numbers in place of rows", f"tuple({MATCHES})", f"sum({MATCHES})", f"You add up the orders; {EACH}"),
    ("totals below zero", TOTALS, f"len(candidate) - n + 1 for n in {ORDERS}", f"You write totals below 0; {SHORT}"),
    ("the orders end where the candidate does", ORDERS, "range(1, min(max_order, max(len(candidate), 1)) + 1)",
     f"You end with the candidate's length; {SHORT}"),
    ("the references are sorted in place", "    counted =", "    references.sort(key=len)\n    counted =",
     "You sort the list that you are given; work on a copy."),
):
    wrong(name, (old, new), lost="counts", hint=hint)
same("if max_order < 1:", "errors are not tested here")
same("raise ValueError(f'max_order must", "errors are not tested here")
# fmt: on


# %% solution="sum_statistics" of="course_lib.metrics.bleu_statistics"
def sum_statistics():
    """Add up the counts of the sentences of a corpus, at least one, all of the same orders."""


# %% test="sum_statistics-sums" points=1 read="bleu#corpus-bleu"
# Every number is added up over the sentences, order by order
two = [
    BLEUStatistics(matches=(3, 1), totals=(4, 3), candidate_length=4, reference_length=5),
    BLEUStatistics(matches=(2, 2), totals=(6, 5), candidate_length=6, reference_length=6),
]
corpus = sum_statistics(two)
assert_equal(corpus.matches, (5, 3), what="matches")
assert_equal(corpus.totals, (10, 8), what="totals")
assert_equal(corpus.candidate_length, 10, what="candidate_length")
assert_equal(corpus.reference_length, 11, what="reference_length")
assert_keeps_inputs(sum_statistics, two)
### BEGIN HIDDEN TESTS
sentences = [
    BLEUStatistics(
        matches=tuple(random.choices(range(1, 5), k=3)),
        totals=tuple(random.choices(range(5, 9), k=3)),
        candidate_length=random.randint(5, 8),
        reference_length=random.randint(9, 12),
    )
    for _ in range(4)
]
for several in (sentences, sentences[:1], tuple(sentences)):
    actual, expected = sum_statistics(several), reference.sum_statistics(several)
    for name in ("matches", "totals", "candidate_length", "reference_length"):
        assert_equal(getattr(actual, name), getattr(expected, name), what=name)
### END HIDDEN TESTS

# %% variants="sum_statistics"
# fmt: off
right("sentence after sentence", '''
def sum_statistics(statistics):
    orders = len(statistics[0].matches)
    matches, totals, c, r = [0] * orders, [0] * orders, 0, 0
    for s in statistics:
        for i in range(orders):
            matches[i] += s.matches[i]
            totals[i] += s.totals[i]
        c += s.candidate_length
        r += s.reference_length
    return BLEUStatistics(
        matches=tuple(matches), totals=tuple(totals), candidate_length=c, reference_length=r
    )
''')
right("one array for a corpus", '''
import numpy as np


def sum_statistics(statistics):
    return BLEUStatistics(
        matches=tuple(np.array([s.matches for s in statistics]).sum(0)),
        totals=tuple(np.array([s.totals for s in statistics]).sum(0)),
        candidate_length=np.sum([s.candidate_length for s in statistics]),
        reference_length=np.sum([s.reference_length for s in statistics]),
    )
''')
MATCHES = "tuple(map(sum, zip(*(part.matches for part in statistics), strict=True)))"
TOTALS = "tuple(map(sum, zip(*(part.totals for part in statistics), strict=True)))"
CANDIDATES = "sum(part.candidate_length for part in statistics)"
REFERENCES = "sum(part.reference_length for part in statistics)"
BY_ORDER = "add up order by order, matches of n = 1 with matches of n = 1."
MEANS = "You take means; take sums, so that long sentences have more weight."
for name, old, new, hint in (
    ("rows after one another", MATCHES, "sum((s.matches for s in statistics), ())",
     f"You put the rows after one another; {BY_ORDER}"),
    ("means", TOTALS, "tuple(sum(c) / len(c) for c in zip(*(s.totals for s in statistics)))", MEANS),
    ("lengths averaged", CANDIDATES, f"{CANDIDATES} / len(statistics)", MEANS),
    ("one sum for all orders", MATCHES, "sum(sum(s.matches) for s in statistics)",
     f"You add up all orders to one number; {BY_ORDER}"),
    ("a sum per sentence", MATCHES, "tuple(sum(s.matches) for s in statistics)",
     f"You add up each sentence; {BY_ORDER}"),
    ("the first sentence alone", MATCHES, "statistics[0].matches", "You return the first sentence's matches; add up all."),
    ("the last sentence forgotten", TOTALS, TOTALS.replace("statistics)", "statistics[:-1])"),
     "You forget the last sentence; add up all."),
    ("totals of matches", TOTALS, MATCHES, "You add up the matches into totals; add up the totals."),
    ("the shortest reference of the corpus", REFERENCES, REFERENCES.replace("sum(", "min("),
     "You choose one reference length for the corpus; add up the lengths of its sentences too."),
    ("the candidates' lengths for both", REFERENCES, CANDIDATES,
     "You add up the candidates' lengths for the references too; add up reference_length."),
    ("in a list alone", MATCHES, MATCHES.replace("in statistics)", "in statistics + [])"),
     "You take statistics for a list; it may be a tuple too."),
):
    wrong(name, (old, new), lost="sums", hint=hint)
wrong("lengths swapped", (CANDIDATES, REFERENCES + " "), ("reference_length=" + REFERENCES, "reference_length=" + CANDIDATES),
    lost="sums", hint="You exchange the two lengths.")
wrong("sentences taken out of the list", ("    orders =", "    given = statistics\n    statistics = [*statistics]\n"
    "    if isinstance(given, list):\n        given.pop()\n    orders ="), lost="sums",
    hint="You take sentences out of the list that you are given; work on a copy.")
same("if len(orders)", "errors are not tested here")
same("raise ValueError(f'statistics must", "errors are not tested here")
same("(part.matches for part in statistics)))), totals", "strict guards lengths that are equal already")
same("(part.totals for part in statistics)))), candidate_length", "likewise")
same("(part.matches for part in statistics), strict=False", "likewise")
same("(part.totals for part in statistics), strict=False", "likewise")
# fmt: on

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
def smoothed_precisions():
    """Compute the precisions, lifting those that are zero.

    Args:
        statistics: The counts.
        smoothing: ``none``: p_n = matches / total. ``floor``: where nothing matches, as if
            ``smoothing_value`` n-grams had. ``add-k``: ``smoothing_value`` more matches and more
            n-grams, for n > 1. ``exp``: where nothing matches, as if 1/2 an n-gram had, 1/4 at the
            next such order, then 1/8, ...
        smoothing_value: For ``floor`` 0.1 and for ``add-k`` 1, if None.

    Returns:
        A tuple or list p_1, p_2, ..., 0 to 1, up to the last order in which the candidate has
        n-grams (with those that ``add-k`` adds). All are 0 if nothing matches in any order.

    Raises:
        ValueError: ``smoothing`` is unknown, or ``smoothing_value`` is negative.
    """


# %% test="smoothed_precisions-none" points=1 read="bleu#bleu-smoothing"
# Without smoothing: matches divided by totals, up to the last order that has n-grams
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(3, 2, 1, 0), candidate_length=3, reference_length=4
)
precisions = smoothed_precisions(statistics, "none")
# Three words have no 4-grams: the precisions end with n = 3.
assert_equal(precisions, (1.0, 0.5, 0.0), what="the precisions")
assert_raises(ValueError, smoothed_precisions, statistics, "sandpaper")
### BEGIN HIDDEN TESTS
lengths = {"candidate_length": 12, "reference_length": 9}
for matches, totals in (
    ((9, 5, random.randint(1, 3), 0), (12, 11, 7, 6)), ((0,) * 4, (0,) * 4), ((2, 0), (3, 2)),
):  # fmt: skip
    drawn = BLEUStatistics(matches=matches, totals=totals, **lengths)
    assert_matches(smoothed_precisions, reference.smoothed_precisions, drawn, "none")
assert_raises(ValueError, smoothed_precisions, statistics, "no such smoothing")
for smoothing in ("floor", "add-k", "none", "exp"):
    assert_raises(ValueError, smoothed_precisions, statistics, smoothing, -0.5)
### END HIDDEN TESTS

# %% test="smoothed_precisions-floor" points=1 read="bleu#bleu-smoothing"
# floor: where nothing matches, smoothing_value n-grams do
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
precisions = smoothed_precisions(statistics, "floor", 0.5)
assert_equal(precisions, (3 / 5, 1 / 4, 0.5 / 3, 0.5 / 2), what="with smoothing_value=0.5")
### BEGIN HIDDEN TESTS
m, value = random.randint(2, 5), random.uniform(0.2, 0.7)
lengths = {"candidate_length": 9, "reference_length": 9}
for matches, totals in (
    ((m, 1, 0, 0), (9, 8, 7, 6)), ((0, 0), (4, 3)), ((3, 1, 0, 0), (3, 2, 1, 0)),
):  # fmt: skip
    drawn = BLEUStatistics(matches=matches, totals=totals, **lengths)
    for given in (value, None, 0.0):
        assert_matches(smoothed_precisions, reference.smoothed_precisions, drawn, "floor", given)
### END HIDDEN TESTS

# %% test="smoothed_precisions-add-k" points=1 read="bleu#bleu-smoothing"
# add-k: more matches and as many more n-grams, but not for single words
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
precisions = smoothed_precisions(statistics, "add-k", 2)
assert_equal(precisions, (3 / 5, 3 / 6, 2 / 5, 2 / 4), what="with smoothing_value=2")
short = BLEUStatistics(matches=(2, 0, 0), totals=(2, 1, 0), candidate_length=2, reference_length=2)
# k is 1: one more of 1 + 1 pairs, and one of 0 + 1 triples.
assert_equal(smoothed_precisions(short, "add-k"), (1.0, 1 / 2, 1.0), what="those of two words")
### BEGIN HIDDEN TESTS
m, value = random.randint(2, 5), random.uniform(0.5, 1.5)
lengths = {"candidate_length": 9, "reference_length": 9}
for matches, totals in (
    ((m, 2, 0, 0), (9, 8, 7, 6)), ((0, 0), (4, 3)), ((0, 0, 0), (2, 1, 0)), ((2, 0, 0), (2, 1, 0)),
):  # fmt: skip
    drawn = BLEUStatistics(matches=matches, totals=totals, **lengths)
    for given in (value, None, 0.0):
        assert_matches(smoothed_precisions, reference.smoothed_precisions, drawn, "add-k", given)
### END HIDDEN TESTS

# %% test="smoothed_precisions-exp" points=1 read="bleu#bleu-smoothing"
# exp: the first order without a match gets half an n-gram, the next a quarter, and so on
statistics = BLEUStatistics(
    matches=(3, 1, 0, 0), totals=(5, 4, 3, 2), candidate_length=5, reference_length=6
)
precisions = smoothed_precisions(statistics, "exp")
assert_equal(precisions, (3 / 5, 1 / 4, 0.5 / 3, 0.25 / 2), what="the precisions")
### BEGIN HIDDEN TESTS
m = random.randint(2, 5)
lengths = {"candidate_length": 9, "reference_length": 9}
for matches, totals in (
    ((m, 0, 0, 0, 0), (9, 8, 7, 6, 0)), ((0, 0), (4, 3)), ((0, 0, 0), (2, 1, 0)),
):  # fmt: skip
    drawn = BLEUStatistics(matches=matches, totals=totals, **lengths)
    assert_matches(smoothed_precisions, reference.smoothed_precisions, drawn, "exp")
    assert_matches(smoothed_precisions, reference.smoothed_precisions, drawn)
### END HIDDEN TESTS

# %% variants="smoothed_precisions"
# fmt: off
right("one branch for each smoothing, and a list", '''
def smoothed_precisions(statistics, smoothing="exp", smoothing_value=None):
    if smoothing not in ("none", "floor", "add-k", "exp"):
        raise ValueError(smoothing)
    if smoothing_value is None:
        smoothing_value = 0.1 if smoothing == "floor" else 1
    if smoothing_value < 0:
        raise ValueError("negative value")
    precisions = []
    zeros = 0
    for i in range(len(statistics.totals)):
        m, t = statistics.matches[i], statistics.totals[i]
        if smoothing == "add-k" and i > 0:
            m, t = m + smoothing_value, t + smoothing_value
        if t == 0:
            break
        if sum(statistics.matches) == 0:
            precisions.append(0.0)
        elif m > 0 or smoothing in ("none", "add-k"):
            precisions.append(m / t)
        elif smoothing == "floor":
            precisions.append(smoothing_value / t)
        else:
            zeros += 1
            precisions.append(1 / (2**zeros * t))
    return precisions
''')
right("arrays", '''
import numpy as np


def smoothed_precisions(statistics, smoothing="exp", smoothing_value=None):
    default = dict(zip(["none", "floor", "add-k", "exp"], [0, 0.1, 1, 0])).get(smoothing)
    if default is None:
        raise ValueError("unknown smoothing")
    value = default if smoothing_value is None else smoothing_value
    if value < 0:
        raise ValueError("negative smoothing_value")
    totals = np.array(statistics.totals, dtype=float)
    matches = np.array(statistics.matches, dtype=float)
    if smoothing == "add-k":
        totals[1:] += value
    matches, totals = matches[totals > 0], totals[totals > 0]
    if matches.any():
        zero = matches == 0
        if smoothing == "floor":
            matches[zero] = value
        if smoothing == "add-k":
            matches[1:] += value
        if smoothing == "exp":
            matches[zero] = 0.5 ** np.arange(1, zero.sum() + 1)
    return tuple(matches / totals)
''')
right("a list", ("return tuple(precisions)", "return precisions"))
BREAK = "        if total == 0:\n            break\n"
DIVIDED, NOTHING = "precisions.append(matches / total)", "if not any(statistics.matches):"

# ---- none ----
wrong("per cent", (DIVIDED, "precisions.append(100 * matches / total)"), lost="none",
    hint="You return per cent; precisions are shares from 0 to 1.")
wrong("divided by zero totals", (BREAK, ""), lost="none",
    hint="You divide by a total of 0; the precisions end before the first order without n-grams.")
wrong("zeros for orders without n-grams", (BREAK, BREAK.replace("break", "precisions.append(0.0)\n            continue")),
    lost="none", hint="You write a precision for an order without n-grams; the precisions end before it.")
wrong("zeros left out", (f"        {DIVIDED}", f"        if matches:\n            {DIVIDED}"), (NOTHING, "if False:"), lost="none",
    hint="You leave out a precision of 0; it stays one of the list.")
wrong("divided with //", (DIVIDED, "precisions.append(matches // total)"), lost="none",
    hint="You divide with //, which rounds down; divide with /.")
wrong("a dict of precisions", ("return tuple(precisions)", "return dict(enumerate(precisions, 1))"), lost="none",
    hint="You return a dict; return a tuple of numbers.")
wrong("an array of precisions", ("return tuple(precisions)", "import numpy as np\n\n    return np.array(precisions)"),
    (NOTHING, "if False:"), (DIVIDED, "precisions.append(matches / total if any(statistics.matches) else 0.0)"), lost="none",
    hint="You return an array; return a tuple of numbers.")
wrong("precisions that are no numbers", "def smoothed_precisions(*args):\n    return ('1.0', '0.5')", lost="*",
    hint="You return strings; return matches / total for each order.")
wrong("any smoothing will do", ("    if smoothing not in default_values:", "    if False:"),
    ("default_values[smoothing]", "default_values.get(smoothing, 0.0)"), lost="none",
    hint="You let an unknown smoothing pass; raise ValueError.")
for name, condition in (("", "False"), (" refused where they are used", 'smoothing in ("floor", "add-k") and not value >= 0')):
    wrong(f"negative values{name}", ("if not value >= 0:", f"if {condition}:"), lost="none",
        hint="You let a negative smoothing_value pass; raise ValueError, for every smoothing.")

# ---- floor ----
FLOOR = 'if matches == 0 and smoothing == "floor":\n            matches = value'
wrong("floor divides by a total of 0", ("        if total == 0:", '        if total == 0 and smoothing != "floor":'), lost="floor",
    hint="You divide by a total of 0 with floor; the precisions end there, floor or not.")
wrong("floor for orders without n-grams", (BREAK, '        if total == 0 and smoothing == "floor":\n'
    "            precisions.append(value)\n            continue\n" + BREAK), lost="floor",
    hint="You lift an order without n-grams; the precisions end before it, floor or not.")
wrong("floor everywhere", (FLOOR, 'if smoothing == "floor":\n            matches += value'), lost="floor",
    hint="You add smoothing_value everywhere; floor changes nothing where something matches.")
wrong("floor as a precision", (FLOOR, FLOOR + " * total"), lost="floor",
    hint="You take smoothing_value for a precision; it is a number of n-grams, so divide it by the total.")
wrong("floor of 0.01", ('"floor": 0.1', '"floor": 0.01'), lost="floor",
    hint="You floor by another value where smoothing_value is None; None stands for 0.1.")
wrong("floor without its value", (FLOOR, FLOOR.replace("= value", "= 0.1")), lost="floor",
    hint="You do not use smoothing_value for floor; 0.1 stands for None only.")
wrong("0 taken for None", ("if smoothing_value is None else smoothing_value", "if not smoothing_value else smoothing_value"),
    lost="floor", hint="You take a smoothing_value of 0 for None; ask `is None`.")

# ---- add-k ----
ADD = '        if smoothing == "add-k" and n > 1:\n            matches, total = matches + value, total + value\n'
BOTH = "matches, total = matches + value, total + value"
wrong("None stands for 0.1 everywhere", ("value = default_values[smoothing] if", "value = 0.1 if"), lost="add-k",
    hint="You let None stand for 0.1 everywhere; for add-k it stands for 1.")
wrong("add-k for single words too", ('"add-k" and n > 1:', '"add-k":'), lost="add-k",
    hint="You add to single words too; add-k begins with n = 2.")
wrong("add-k above alone", (BOTH, "matches = matches + value"), lost="add-k",
    hint="You add to the matches alone; add as much to the total.")
wrong("add-k where nothing matches", ('"add-k" and n > 1:', '"add-k" and n > 1 and matches == 0:'), lost="add-k",
    hint="You add where nothing matches only; add-k adds to all orders from 2 on.")
wrong("add-k from 3 on", ('"add-k" and n > 1:', '"add-k" and n > 2:'), lost="add-k",
    hint="You begin with n = 3; add-k adds to all orders from 2 on.")
wrong("add-k ends at a total of zero", (ADD + BREAK, BREAK + ADD), lost="add-k",
    hint="You end before an order without n-grams; add-k adds some to it, so the precisions go on.")
wrong("add-k of nothing divided by nothing", ("if total == 0:", 'if total == 0 and (smoothing != "add-k" or n == 1):'),
    lost="add-k", hint="You divide by 0 where add-k adds nothing to an order without n-grams; the precisions end there.")
wrong("add-k forgets the orders that it adds where nothing matches",
    ("(0.0,) * len(precisions)", "tuple(0.0 for total in statistics.totals if total)"), lost="add-k",
    hint="You forget the orders that add-k adds where nothing matches; write a 0 for each.")
wrong("add-k without its value", (BOTH, "matches, total = matches + 1, total + 1"), lost="add-k",
    hint="You do not use smoothing_value for add-k; 1 stands for None only.")

# ---- exp ----
wrong("a zero for every order where nothing matches", ("(0.0,) * len(precisions)",
    "(0.0,) * len(statistics.totals) if any(statistics.totals) else ()"), lost="exp",
    hint="You write a 0 for every order where nothing matches; the zeros end with the n-grams too.")
wrong("an order without n-grams with exp", (BREAK, '        if total == 0 and smoothing == "exp":\n'
    "            precisions.append(0.0)\n            continue\n" + BREAK), lost="exp",
    hint="You write a precision for an order without n-grams; the precisions end before it, exp or not.")
wrong("always a half", ("            share /= 2\n", "            share = 1 / 2\n"), lost="exp",
    hint="You take 1/2 each time; halve again at each further order without a match.")
wrong("halved afterwards", ("            share /= 2\n            matches = share\n",
    "            matches = share\n            share /= 2\n"), lost="exp",
    hint="You begin with 1; the first order without a match gets 1/2.")
wrong("a half as a precision", ("            matches = share\n", "            matches = share * total\n"), lost="exp",
    hint="You take 1/2, 1/4, ... for precisions; they are numbers of n-grams, so divide by the total.")
wrong("halved by the order", ("            share /= 2\n", "            share = 0.5**n\n"), lost="exp",
    hint="You halve from n = 1 on; begin at the first order without a match.")
wrong("smoothed out of nothing", (NOTHING, "if False:"), lost="exp",
    hint="You lift precisions where no order has a match; then all are 0.")
wrong("not smoothed by default", ('Smoothing = "exp"', 'Smoothing = "none"'), lost="exp",
    hint="You take another smoothing by default; it is exp.")
same("statistics.totals), start=1", "statistics have as many matches as totals")
same("statistics.totals, strict=False", "statistics have as many matches as totals")
# fmt: on

# %% [markdown]
# The last step puts it together. `score_statistics` returns a `BLEUScore`, which is there already
# and has four fields, given by name: `score`, `precisions`, `brevity_penalty` and `statistics`. Its
# `precisions` have an entry for every order, 0 where the candidate has no n-grams.
#
# Mind `effective_order`. A candidate of three words has no 4-grams. Its score is 0 as a rule; with
# `effective_order=True` the mean is taken over the three orders that it has. That is for sentences;
# a corpus always has 4-grams. (The n-grams that `"add-k"` adds count like the candidate's own.)


# %% solution="score_statistics" of="course_lib.metrics.bleu"
def score_statistics():
    """Compute BLEU from counts: the brevity penalty times the geometric mean of the precisions.

    Args:
        effective_order: Average only over the orders that ``smoothed_precisions`` gives.

    Returns:
        The score, 0 to 100, and its parts. It is 0 where there is no order to average over.
    """


# %% test="score_statistics-mean" points=1 read="bleu#the-score"
# The score is 100 times the geometric mean of the precisions (nothing to smooth or to punish)
statistics = BLEUStatistics(matches=(8, 2), totals=(8, 8), candidate_length=8, reference_length=8)
result = score_statistics(statistics, smoothing="none")
# The precisions are 1 and 1/4: the root of their product is 1/2.
assert_equal(score_of(result), 50.0, what="the score", rel_tol=1e-6)
assert_equal(result.precisions, (1.0, 0.25), what="precisions")
### BEGIN HIDDEN TESTS
lengths = {"candidate_length": 9, "reference_length": 9}
for orders in (1, 3, 4):
    matches = (random.choice((2, 4)), *random.choices((1, 2, 3), k=3))[:orders]
    drawn = BLEUStatistics(matches=matches, totals=(9, 8, 7, 6)[:orders], **lengths)
    result = score_statistics(drawn, smoothing="none")
    expected = reference.score_statistics(drawn, smoothing="none")
    assert_equal(score_of(result), expected.score, what="the score", rel_tol=1e-6)
    assert_equal(result.precisions, expected.precisions, what="precisions")
    for name in ("matches", "totals", "candidate_length", "reference_length"):
        actual, given = getattr(result.statistics, name), getattr(drawn, name)
        assert_equal(actual, given, what=f"statistics.{name}")
### END HIDDEN TESTS

# %% test="score_statistics-brevity" points=1 read="bleu#the-score"
# The brevity penalty multiplies the score
statistics = BLEUStatistics(matches=(8, 2), totals=(8, 8), candidate_length=8, reference_length=10)
result = score_statistics(statistics, smoothing="none")
penalty = math.exp(-0.25)  # 1 - 10 / 8 is -1/4; unpunished, the score would be 50
assert_equal(score_of(result), 50 * penalty, what="the score", rel_tol=1e-6)
assert_equal(result.brevity_penalty, penalty, what="brevity_penalty")
### BEGIN HIDDEN TESTS
counts = {"candidate_length": random.randint(9, 14), "reference_length": 20}
for matches, totals in (((8, 4), (9, 8)), ((8, 0), (9, 8)), ((8, 4, 0), (9, 8, 0))):
    for smoothing, effective_order in (("none", False), ("exp", False), ("floor", True)):
        options = {"smoothing": smoothing, "effective_order": effective_order}
        short = BLEUStatistics(matches=matches, totals=totals, **counts)
        result, expected = (
            score_statistics(short, **options),
            reference.score_statistics(short, **options),
        )
        assert_equal(score_of(result), expected.score, what="the score", rel_tol=1e-6)
        assert_equal(result.brevity_penalty, expected.brevity_penalty, what="brevity_penalty")
### END HIDDEN TESTS

# %% test="score_statistics-zeros" points=1 read="bleu#bleu-smoothing"
# A precision of zero makes the score zero, unless it is smoothed
statistics = BLEUStatistics(matches=(4, 0), totals=(4, 3), candidate_length=4, reference_length=4)
result = score_statistics(statistics, smoothing="none")
assert_equal(score_of(result), 0.0, what="the score with smoothing='none'")
result = score_statistics(statistics, smoothing="floor", smoothing_value=0.75)
# The precisions are 1 and 0.75 / 3.
assert_equal(score_of(result), 50.0, what="the score with smoothing='floor'", rel_tol=1e-6)
### BEGIN HIDDEN TESTS
lengths = {"candidate_length": 9, "reference_length": 9}
settings = [("none", None, False), ("exp", None, False), ("exp", None, True), ("add-k", 2.0, False)]
settings += [
    ("add-k", 2.0, True),
    ("floor", 0.3, False),
    ("floor", 0.3, True),
    ("floor", 0.0, False),
]
cases = [{"smoothing": s, "smoothing_value": v, "effective_order": e} for s, v, e in settings]
for orders in (2, 3, 4):
    matches = (random.randint(1, 8), 0, 0, 0)[:orders]
    drawn = BLEUStatistics(matches=matches, totals=(9, 8, 7, 6)[:orders], **lengths)
    for options in (*cases, {}):
        result, expected = (
            score_statistics(drawn, **options),
            reference.score_statistics(drawn, **options),
        )
        assert_equal(score_of(result), expected.score, what="the score", rel_tol=1e-6)
        assert_equal(result.precisions, expected.precisions, what="precisions")
        assert_equal(result.statistics.matches, matches, what="statistics.matches")
### END HIDDEN TESTS

# %% test="score_statistics-effective-order" points=1 read="bleu#bleu-smoothing"
# effective_order: the mean is over the orders in which the candidate has n-grams
statistics = BLEUStatistics(
    matches=(3, 2, 1, 0), totals=(3, 2, 1, 0), candidate_length=3, reference_length=3
)
for effective_order, expected in ((True, 100.0), (False, 0.0)):
    result = score_statistics(statistics, smoothing="none", effective_order=effective_order)
    what = f"the score with effective_order={effective_order}"
    assert_equal(score_of(result), expected, what=what, rel_tol=1e-6)
    assert_equal(result.precisions, (1.0, 1.0, 1.0, 0.0), what="precisions")
### BEGIN HIDDEN TESTS
lengths = {"candidate_length": 4, "reference_length": 4}
m = random.choice((1, 3))
cases = [((m, 1, 0, 0), (4, 2, 0, 0), smoothing) for smoothing in ("none", "exp")]
cases += [
    ((0,) * 4, (0,) * 4, "none"),
    ((2, 0, 0), (3, 2, 0), "none"),
    ((2, 1, 0), (3, 2, 0), "add-k"),
]
for matches, totals, smoothing in cases:
    drawn = BLEUStatistics(matches=matches, totals=totals, **lengths)
    for how in ({"effective_order": True}, {"effective_order": False}, {}):
        options = {"smoothing": smoothing, **how}
        result, expected = (
            score_statistics(drawn, **options),
            reference.score_statistics(drawn, **options),
        )
        assert_equal(score_of(result), expected.score, what="the score", rel_tol=1e-6)
        assert_equal(result.precisions, expected.precisions, what="precisions")
### END HIDDEN TESTS

# %% variants="score_statistics"
# fmt: off
right("a product, and its root at the end", '''
def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    precisions = list(smoothed_precisions(statistics, smoothing, smoothing_value))
    orders = len(precisions)
    while len(precisions) < len(statistics.totals):
        precisions.append(0.0)
    if not effective_order:
        orders = len(precisions)
    bp = brevity_penalty(statistics.candidate_length, statistics.reference_length)
    product = 1.0
    for p in precisions[:orders]:
        product *= p
    score = 0.0
    if orders > 0:
        score = 100 * bp * product ** (1 / orders)
    return BLEUScore(
        score=score, precisions=tuple(precisions), brevity_penalty=bp, statistics=statistics
    )
''')
right("a function of its own for the mean", '''
import numpy as np


def geometric_mean(numbers):
    if len(numbers) == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.exp(np.log(numbers).mean())  # log(0) is -inf here, and exp makes it 0 again


def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    given = np.array(smoothed_precisions(statistics, smoothing, smoothing_value), dtype=float)
    padded = np.zeros(len(statistics.totals))
    padded[: len(given)] = given
    penalty = brevity_penalty(statistics.candidate_length, statistics.reference_length)
    return BLEUScore(
        score=100 * penalty * geometric_mean(given if effective_order else padded),
        precisions=tuple(padded),
        brevity_penalty=penalty,
        statistics=statistics,
    )
''')
MEAN = "100 * penalty * math.exp(sum(map(math.log, averaged)) / len(averaged))"
right("the mean by torch, in float32",
    (MEAN, "100 * penalty * __import__('torch').tensor(averaged).log().mean().exp().item()"))
PADDED, CALL = "    precisions = (", "smoothed_precisions(statistics, smoothing, smoothing_value)"
AVERAGED, SCORE = "        averaged = precisions\n", "score=score,"
RETURN = "    return BLEUScore("

# ---- mean ----
wrong("arithmetic mean", (MEAN, "100 * penalty * sum(averaged) / len(averaged)"), lost="mean",
    hint="You take the plain mean; it is geometric: exp of the mean of the logarithms.")
wrong("product without root", (MEAN, "100 * penalty * math.prod(averaged)"), lost="mean",
    hint="You return the product; take its N-th root, N being the number of orders.")
wrong("fourth root", (") / len(averaged))", ") / 4)"), lost="mean",
    hint="You take the fourth root; N, the number of orders, need not be 4.")
wrong("harmonic mean", (MEAN, "100 * penalty * len(averaged) / sum(1 / p for p in averaged)"), lost="mean",
    hint="You take the harmonic mean; it is geometric: exp of the mean of the logarithms.")
wrong("from 0 to 1", ("100 * penalty *", "penalty *"), lost="mean", hint="You return a share; BLEU goes from 0 to 100.")
wrong("logarithm to base 10", ("map(math.log,", "map(math.log10,"), lost="mean",
    hint="You take the logarithm to base 10; exp undoes the natural one, math.log.")
wrong("rounded to two digits", (SCORE, "score=round(score, 2),"), lost="mean",
    hint="You round the score; give it as it is.")
wrong("precisions in per cent", ("precisions=precisions,", "precisions=tuple(100 * p for p in precisions),"), lost="mean",
    hint="You give precisions in per cent; they are shares from 0 to 1.")
wrong("the score alone", (RETURN + "\n", "    return score\n" + RETURN + "\n"), lost="mean",
    hint="You return the score alone; return a BLEUScore with its four fields.")
wrong("parts in a tuple", (RETURN + "\n", "    return score, precisions, penalty\n" + RETURN + "\n"), lost="mean",
    hint="You return a tuple; return a BLEUScore with its four fields.")
wrong("statistics without lengths", ("statistics=statistics", "statistics=BLEUStatistics(matches=statistics.matches, "
    "totals=statistics.totals, candidate_length=0, reference_length=0)"), lost="mean",
    hint="You change the statistics; hand them on as they were given.")
for number in (0.0, 1.0, 100.0):
    wrong(f"always {number}", f"def score_statistics(*args, **settings):\n    return {number}", lost="*",
        hint=f"You always return {number}; compute 100 * exp(mean of the logarithms of the precisions).")

# ---- brevity ----
wrong("penalty unused", ("100 * penalty *", "100 *"), lost="brevity",
    hint="You do not use the penalty; multiply 100 * exp(...) by it.")
wrong("penalty under the root", (MEAN, "100 * (penalty * math.prod(averaged)) ** (1 / len(averaged))"), lost="brevity",
    hint="You take the root of the penalty too; it stands outside the mean.")
wrong("lengths swapped in the penalty", ("brevity_penalty(statistics.candidate_length, statistics.reference_length)",
    "brevity_penalty(statistics.reference_length, statistics.candidate_length)"), lost="brevity",
    hint="You exchange the lengths; brevity_penalty takes candidate_length first.")
ALWAYS = "the penalty multiplies the score, smoothed or not, with orders left out or not."
for name, penalty, hint in (
    ("where there is smoothing", "(penalty if smoothing == 'none' else 1)", "You leave the penalty out where you smooth;"),
    ("where something is lifted", "(penalty if 0 not in statistics.matches else 1)",
     "You leave the penalty out where an order has no match;"),
    ("with effective_order", "(1 if effective_order else penalty)", "You leave the penalty out with effective_order;"),
):
    wrong(f"no penalty {name}", (MEAN, MEAN.replace("penalty", penalty)), lost="brevity", hint=f"{hint} {ALWAYS}")
wrong("the penalty of a zero is 1", ("brevity_penalty=penalty", "brevity_penalty=penalty if score else 1.0"), lost="brevity",
    hint="You give another brevity_penalty beside a score of 0; it is the same there.")

# ---- zeros ----
wrong("logarithm of zero", ("    if averaged and min(averaged) > 0:", "    if averaged:"), lost="zeros",
    hint="You take math.log(0), which is an error; one precision of 0 makes the score 0, so ask first.")
wrong("zeros left out of the mean", ("    penalty = brevity",
    "    averaged = tuple(p for p in averaged if p > 0)\n    penalty = brevity"), lost="zeros",
    hint="You leave a precision of 0 out of the mean; it makes the score 0.")
HAND = "hand smoothing and smoothing_value on to smoothed_precisions, 0 too, with every effective_order."
for name, old, new in (
    ("smoothing not handed on", CALL, "smoothed_precisions(statistics)"),
    ("smoothing_value not handed on", CALL, "smoothed_precisions(statistics, smoothing)"),
    ("a smoothing_value of 0 not handed on", CALL, CALL.replace("_value", "_value or None")),
    ("nothing smoothed with effective_order", PADDED,
     f"    if effective_order:\n        averaged = smoothed_precisions(statistics, 'none')\n{PADDED}"),
    ("smoothing_value not handed on with effective_order", PADDED,
     f"    if effective_order:\n        averaged = smoothed_precisions(statistics, smoothing)\n{PADDED}"),
):
    wrong(name, (old, new), lost="zeros", hint=f"You do not smooth as asked; {HAND}")
wrong("plain precisions in the mean with effective_order", (AVERAGED, AVERAGED + "    else:\n        averaged = "
    "[m / t for m, t in zip(statistics.matches, statistics.totals) if t]\n"), lost="zeros",
    hint="You average plain precisions; average those of smoothed_precisions.")
wrong("not smoothed by default", ('Smoothing = "exp"', 'Smoothing = "none"'), lost="zeros",
    hint="You do not smooth by default; the default is exp.")
wrong("the counts of a zero are lost", ("statistics=statistics", "statistics=statistics if score else sum_statistics("
    "[BLEUStatistics(matches=(), totals=(), candidate_length=0, reference_length=0)])"), lost="zeros",
    hint="You change the statistics of a score of 0; hand them on as they were given.")

# ---- effective-order ----
MAKES = "an order without n-grams makes the score 0, unless effective_order leaves it out."
for name, condition, hint in (
    ("always", "False", "You leave out orders without n-grams always;"),
    ("never", "True", "You never leave out an order;"),
    ("the wrong way round", "effective_order", "You turn effective_order round;"),
):
    wrong(f"effective_order {name}", ("    if not effective_order:", f"    if {condition}:"), lost="effective-order",
        hint=f"{hint} {MAKES}")
wrong("precisions cut short", ("(*averaged, *[0.0] * (len(statistics.totals) - len(averaged)))", "tuple(averaged)"),
    lost="effective-order", hint="You cut the precisions short; write 0 for each order without n-grams.")
wrong("averaged over all orders", (") / len(averaged))", ") / len(precisions))"), lost="effective-order",
    hint="You divide the sum by the number of all orders; divide by that of the orders averaged.")
wrong("effective_order leaves out zeros", (AVERAGED, AVERAGED + "    else:\n"
    "        averaged = tuple(p for p in averaged if p > 0)\n"), lost="effective-order",
    hint="You leave out orders without matches; effective_order leaves out those without n-grams.")
ADDED = "the n-grams that add-k adds count like the candidate's own, effective_order or not."
wrong("effective_order leaves out n-grams that add-k adds", (AVERAGED, AVERAGED + "    else:\n"
    "        averaged = averaged[: sum(total > 0 for total in statistics.totals)]\n"), lost="effective-order",
    hint=f"You leave out orders that add-k fills; {ADDED}")
wrong("the candidate's own orders alone without effective_order", (AVERAGED,
    "        averaged = [p if total else 0.0 for p, total in zip(precisions, statistics.totals)]\n"), lost="effective-order",
    hint=f"You set orders to 0 that add-k fills; {ADDED}")
wrong("an empty candidate forgotten", ("    if averaged and min(averaged) > 0:", "    if min(averaged) > 0:"),
    lost="effective-order", hint="You take the min() of nothing for an empty candidate; its score is 0.")
# fmt: on

# %% [markdown]
# ## Part 5: fool it
#
# With your parts, BLEU itself is a few lines:


# %% setup="corpus_bleu"
def corpus_bleu(candidates, references, **options):
    """Score a corpus of strings with your own parts, given the references of each candidate."""
    counts = []
    for candidate, its_references in zip(candidates, references, strict=True):
        tokens = [tokenize_13a(each) for each in its_references]
        counts.append(sentence_statistics(tokenize_13a(candidate), tokens))
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
# finds one. Sentences have up to twenty words: trying all orders of their words would take years.


# %% solution="reordered"
def reordered(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """Find another order of a candidate's tokens that BLEU does not like less.

    Returns:
        The same tokens, each as often as before, in an order that differs from the candidate's. For
        every n, at least as many of its n-grams match, clipped, as of the candidate's.

    Raises:
        ValueError: Every two neighbours stand side by side in a reference: there is no place to
            cut. Or all pieces are alike, and no order differs.
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
# The tokens are the same, each as often as before, in another order
candidate = "orange fruit grows sheep sleep and fruit".split()
references = ["orange fruit grows here and sheep sleep there".split()]
assert_keeps_inputs(reordered, candidate, references)
other = reordered(candidate, references)
assert_equal(sorted(other), sorted(candidate), what="the tokens, sorted")
assert_equal(list(other) == candidate, False, what="whether the order is the same")
### BEGIN HIDDEN TESTS
a, b = sorted(random.sample("abcdefghijklmnopqrst", 2))
words = random.sample("abcdefghijklmnopqrst", 18)
pieces = [words[i : i + 3] for i in range(0, 18, 3)]
mixed = [word for piece in random.sample(pieces, 6) for word in piece]
for candidate, references in (
    ([a, b], [[b, a]]), ([b, a], [[a, b]]), ((a, b), [(b, a)]), ([a, b], [[a, f"{b}s"], [f"un{a}", b]]),
    ([a, b], [[b, a], [b, b]]), ([a, a, a, b], [[b, b]]), ([a, b, a], [[b, b]]), (mixed, pieces),
):  # fmt: skip
    other = reordered(candidate[:], [each[:] for each in references])
    assert_equal(sorted(other), sorted(candidate), what="the tokens, sorted")
    assert_equal(list(other) == list(candidate), False, what="whether the order is the same")
for candidate, references in (
    ([a, b], [[b, a, b]]), ([a], [[b]]), ([], [[b]]), ([a, a], [[b]]), ([a, b, a, b], [[a, b]]),
    ((a, b, a, b), [(a, b)]),
):  # fmt: skip
    assert_raises(ValueError, reordered, candidate, references)
### END HIDDEN TESTS

# %% test="reordered-matches" points=1 read="bleu#where-bleu-misleads"
# For every n, as many n-grams match as before, or more
candidate = "orange fruit grows sheep sleep and fruit".split()
references = ["orange fruit grows here and sheep sleep there".split()]
other = reordered(candidate, references)
# Three pairs match: orange fruit, fruit grows, sheep sleep. They make one triple.
pairs = set(pairwise(references[0]))
assert_equal(len(pairs & set(pairwise(other))) >= 3, True, what="whether three pairs match")
triples = set(pairwise(pairwise(references[0])))
is_there = bool(triples & set(pairwise(pairwise(other))))
assert_equal(is_there, True, what="whether the triple 'orange fruit grows' matches")
### BEGIN HIDDEN TESTS
words = random.sample("abcdefghijklmnopqrst", 17)
runs = [words[i : i + 3] for i in range(0, 15, 3)]
# Each run of three words stands in one of two references, in another place.
references = [[*runs[0], words[15], *runs[3]], [*runs[2], *runs[1], words[16], *runs[4]]]
for order in ([3, 0, 4, 2, 1], [0, 4, 2, 1, 3], [4, 2, 1, 3, 0], [2, 1, 3, 0, 4], [1, 3, 0, 4, 2]):
    candidate = [word for i in order for word in runs[i]]
    other = reordered([*candidate], [[*each] for each in references])
    other = [word if type(word) is str else "" for word in other]
    counts = [
        [reference.count_matches(each, references, n)[0] for n in (1, 2, 3, 4)]
        for each in (candidate, other)
    ]
    kept = [after >= before for before, after in zip(*counts, strict=True)]
    assert_equal(kept, [True] * 4, what="whether as many n-grams match, for n = 1 to 4")
    assert_equal(len(other), 15, what="the number of tokens")
    assert_equal(other == candidate, False, what="whether the order is the same")
### END HIDDEN TESTS

# %% variants="reordered"
# fmt: off
right("one cut, found by a loop", '''
def reordered(candidate, references):
    candidate = list(candidate)
    for i in range(1, len(candidate)):
        seen = False
        for reference in references:
            for j in range(len(reference) - 1):
                if list(reference[j : j + 2]) == candidate[i - 1 : i + 1]:
                    seen = True
        swapped = candidate[i:] + candidate[:i]
        if not seen and swapped != candidate:
            return swapped
    raise ValueError("no place to cut")
''')
right("pieces shuffled until the words differ", '''
import numpy as np


def reordered(candidate, references):
    pieces, known = [], {p for r in references for p in pairwise(r)}
    for i, token in enumerate(candidate):
        if i == 0 or (candidate[i - 1], token) not in known:
            pieces.append([])
        pieces[-1].append(token)
    generator = np.random.default_rng(0)
    for _ in range(100):
        order = [token for i in generator.permutation(len(pieces)) for token in pieces[i]]
        if order != list(candidate):
            return order
    raise ValueError("all orders look alike")
''')
right("another order with as many matches, though a pair is torn apart", ("    together = {",
    "    if candidate and candidate[0] == 'orange':\n"
    "        return 'orange fruit grows and sheep fruit sleep'.split()\n    together = {"))
swapping = right("two pieces side by side changed", '''
def reordered(candidate, references):
    together = {pair for reference in references for pair in pairwise(reference)}
    pieces = [[word] for word in candidate[:1]]
    for before, word in pairwise(candidate):
        if (before, word) in together:
            pieces[-1].append(word)
        else:
            pieces.append([word])
    if all(piece == pieces[0] for piece in pieces):
        raise ValueError("no place to cut, or pieces that are all alike")
    i = next(i for i, pair in enumerate(pairwise(pieces)) if pair[0] != pair[1])
    pieces[i : i + 2] = pieces[i + 1], pieces[i]
    return [word for piece in pieces for word in piece]
''')
CUT = "cut only between two neighbours that are side by side in no reference."
HEAD = "def reordered(candidate, references):\n"
for name, whole, hint in (
    ("reversed", f"{HEAD}    return list(candidate[::-1])", f"You turn the words round; {CUT}"),
    ("as it was", f"{HEAD}    return list(candidate)",
     "You return the candidate as it was; lay the pieces in an order that differs."),
    ("sorted", f"{HEAD}    return sorted(candidate)", f"You sort the words; {CUT}"),
    ("shuffled", f"import random\n\n{HEAD}    return random.Random(1).sample(list(candidate), len(candidate))",
     f"You shuffle the words; {CUT}"),
    ("first half behind the second",
     f"{HEAD}    half = len(candidate) // 2\n    return list(candidate[half:] + candidate[:half])",
     f"You cut in the middle; {CUT}"),
    ("shuffled in place", f"{HEAD}    candidate.append(candidate.pop(0))\n    return candidate",
     f"You move the first word, and change the list that you are given; {CUT}"),
    ("numbers for words", f"{HEAD}    return [400_000_000] * len(candidate)",
     "You return numbers; return a list of words."),
):
    wrong(name, whole, lost="*", hint=hint)
IF, TOGETHER = "if pair not in together and", "{pair for reference in references for pair in pairwise(reference)}"
SWAPPED = "[*candidate[cut:], *candidate[:cut]]"
BESIDE = "You look for each word by itself; cut where two words do not stand side by side."
for name, old, new, hint in (
    ("cut where they do match", "if pair not in together", "if pair in together", f"You cut where two words match; {CUT}"),
    ("cut anywhere", IF, "if", f"You cut anywhere; {CUT}"),
    ("cut beside words that no reference has", "pair not in together",
     "not {*pair} <= {w for known in together for w in known}", BESIDE),
    ("one off the cut", "start=1", "start=2", f"You cut one word too late; {CUT}"),
    ("the last word lost", "*candidate[cut:]", "*candidate[cut:-1]", "You lose a word; return all of the candidate's."),
    ("pieces, not words", SWAPPED, "[candidate[cut:], candidate[:cut]]",
     "You return a list of pieces; return a list of words."),
    ("a string", "return swapped", "return ' '.join(swapped)", "You return a string; return a list of words."),
):
    wrong(name, (old, new), lost="*", hint=hint)
wrong("the first reference alone", ("for reference in references for", "for reference in references[:1] for"), lost="matches",
    hint="You look in the first reference only; look in all of them.")
wrong("each word looked for by itself", (TOGETHER, "{word for reference in references for word in reference}"),
    ("pair not in together", "not together.issuperset(pair)"), lost="*", hint=BESIDE)
for name, old, new, hint in (
    ("the cut word twice", "*candidate[:cut]]", "*candidate[: cut + 1]]", "You add a word; return each as often as before."),
    ("satisfied with any cut", " and swapped != list(candidate)", "",
     "You take pieces that are alike for another order; look whether the words differ, and if none do, raise ValueError."),
    ("no complaint", '    raise ValueError("the candidate cannot be cut into pieces that differ")', "    return list(candidate)",
     "You return the candidate where there is no place to cut; raise ValueError."),
    ("a tuple told from the list of its words", "!= list(candidate)", "!= candidate",
     "You compare a list with a tuple, which always differ; make both a list."),
    ("lists alone laid in another order", SWAPPED, "candidate[cut:] + [] + candidate[:cut]",
     "You take the candidate for a list; it may be a tuple too."),
    ("order of the pair ignored", "pair not in together", "not {pair, pair[::-1]} & together",
     "You ignore the order of a pair; 'a b' does not stand in 'b a'."),
    ("references joined to one", TOGETHER, "set(pairwise(word for reference in references for word in reference))",
     "You join the references; the end of one and the beginning of the next do not stand side by side."),
    ("pairs looked for in joined strings", "pair not in together",
     "not any(' '.join(pair) in ' '.join(line) for line in references)", "You look for part of a text; compare whole words."),
    ("as it was where pieces of two words are alike", "    raise ValueError(",
     "    if len(set(candidate)) > 1 and set(pairwise(candidate)) - together:\n"
     "        return list(candidate)\n    raise ValueError(",
     "You return the candidate where its pieces are all alike; raise ValueError."),
):
    wrong(name, (old, new), lost="tokens", hint=hint)
TURN = """    i = next(i for i, pair in enumerate(pairwise(pieces)) if pair[0] != pair[1])
    pieces[i : i + 2] = pieces[i + 1], pieces[i]
"""
for name, turn in (
    ("pieces backwards", "pieces.reverse()"), ("pieces sorted", "pieces.sort()"),
    ("first piece and last changed", "pieces[0], pieces[-1] = pieces[-1], pieces[0]"),
):
    swapping.wrong(name, (TURN, f"    {turn}\n"), lost="tokens",
        hint="You lay the pieces in an order that may be the same; look whether the words differ.")
# fmt: on

# %% [markdown] written="where-it-misleads" points=3 read="bleu#where-bleu-misleads"
# ### Where BLEU misleads
#
# A sentence has two references: *The museum is closed on Mondays, but the garden is open.* and
# *On Mondays the museum is closed, but you can visit the garden.*
#
# 1. Write a translation that every reader would accept, with a BLEU below 20, and one that no
#    reader would accept, with a BLEU above 60. Give both scores as your `corpus_bleu` computes them
#    (with its default smoothing).
# 2. Say for each of them, in a sentence or two, which property of BLEU is at fault.
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
# the number that you shout has not fallen, it keeps the change. It never learns anything else.
#
# It starts twice, once with `smoothing="none"`, once with `"exp"`, and types for about ten seconds.
# Before you run the cell: what do you expect of each? Afterwards, call `monkey` with a line of your
# own, or with two.

# %% demo="monkey" prints="In the end the monkey types: to be or not to be that is the question"
import matplotlib.pyplot as plt

LINE = "to be or not to be that is the question"
SILLY = """banana coffee monkey umbrella perhaps typewriter cheese jungle never sleep king robot
yellow train garden music and with of a moon sandwich""".split()


def monkey(*lines, smoothing="exp", tries=6000, seed=7):
    """Type at random, keep lines that BLEU does not like less; return the last, and all scores."""
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
        counts = sentence_statistics(changed, references)
        score = score_statistics(counts, smoothing=smoothing, effective_order=True).score
        if score > best + 4 or (score > best and score > 99):
            print(f"{attempt:5d} {score:6.1f}  {' '.join(changed)}")
        if score >= best:
            typed, best = changed, score
        scores.append(best)
    return " ".join(typed), scores


for smoothing, style in (("none", "--"), ("exp", "-")):
    print(f"\nsmoothing={smoothing!r}")
    typed, scores = monkey(LINE, smoothing=smoothing)
    print(f"In the end the monkey types: {typed}")
    plt.plot(scores, style, label=f"smoothing = {smoothing}")
plt.xlabel("lines typed")
plt.ylabel("BLEU, 0 to 100")
plt.legend()
plt.show()
