"""The submissions of hw07: a class of every kind, and a table of mistakes.

Twenty-one points are to be had from tests, three from the written question. Every check is worth
one point, so a score is twenty-one less the checks that are lost.
"""

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, PATCHED_SHELL
from .submissions import BLANK, Edit, Submission, mistake, right

EXERCISES = (
    "ngram_counts", "count_matches", "closest_reference_length", "brevity_penalty",
    "sentence_statistics", "sum_statistics", "smoothed_precisions", "score_statistics", "reordered",
)  # fmt: skip
NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(EXERCISES, BLANK)
EVERYTHING = dict.fromkeys(EXERCISES, "*")

ANSWER = """\
### Where BLEU misleads

1. *Nobody gets into the museum on a Monday, yet its park welcomes you.* has 7 BLEU. *The museum is
   open on Mondays, but the garden is closed.* has 65.
2. The first shares hardly any n-gram with the references: BLEU knows no synonyms. In the second
   only two words have changed places, and to BLEU all words weigh the same.
3. How many sentences, and is it more than chance? The same tokeniser and references? And do people
   see a difference?
"""

# ---- right, in three styles ---------------------------------------------------------------------

LOOPS: dict[str, Edit] = {
    "ngram_counts": '''
def ngram_counts(tokens, n):
    """Count in a plain dictionary."""
    if n <= 0:
        raise ValueError("n must be positive")
    counts = {}
    for i in range(len(tokens) - n + 1):
        gram = tuple(tokens[i : i + n])
        if gram not in counts:
            counts[gram] = 0
        counts[gram] += 1
    return counts
''',
    "count_matches": '''
def count_matches(candidate, references, n, *, clip=True):
    """Look every n-gram up in every reference."""
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
''',
    "closest_reference_length": '''
def closest_reference_length(candidate_length, reference_lengths):
    """Go through the lengths from short to long."""
    if not reference_lengths:
        raise ValueError("no references")
    best = None
    for length in sorted(reference_lengths):
        if best is None or abs(length - candidate_length) < abs(best - candidate_length):
            best = length
    return best
''',
    "brevity_penalty": '''
def brevity_penalty(candidate_length, reference_length):
    """Case by case."""
    if candidate_length < 0 or reference_length < 0:
        raise ValueError("negative length")
    if reference_length <= candidate_length:
        return 1
    elif candidate_length == 0:
        return 0
    else:
        return math.e ** (1 - reference_length / candidate_length)
''',
    "sentence_statistics": '''
def sentence_statistics(candidate, references, max_order=4):
    """Fill two lists."""
    if max_order < 1:
        raise ValueError("at least one order")
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
''',
    "sum_statistics": '''
def sum_statistics(statistics):
    """Add sentence after sentence."""
    if len(statistics) == 0:
        raise ValueError("nothing to add up")
    orders = len(statistics[0].matches)
    matches, totals, c, r = [0] * orders, [0] * orders, 0, 0
    for s in statistics:
        if len(s.matches) != orders:
            raise ValueError("orders differ")
        for i in range(orders):
            matches[i] += s.matches[i]
            totals[i] += s.totals[i]
        c += s.candidate_length
        r += s.reference_length
    return BLEUStatistics(
        matches=tuple(matches), totals=tuple(totals), candidate_length=c, reference_length=r
    )
''',
    "smoothed_precisions": '''
def smoothed_precisions(statistics, smoothing="exp", smoothing_value=None):
    """One branch for each smoothing."""
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
''',
    "score_statistics": '''
def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    """Multiply, and take the root at the end."""
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
''',
    "reordered": '''
def reordered(candidate, references):
    """Cut once, at the first place where it helps, and swap the halves."""
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
''',
}

ONE_LINERS: dict[str, Edit] = {
    "ngram_counts": '''
def ngram_counts(tokens: Sequence[str], n: int) -> Counter:
    """Every run that is long enough."""
    if not n >= 1:
        raise ValueError(f"n={n}")
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens)) if i + n <= len(tokens))
''',
    "count_matches": '''
def count_matches(candidate, references, n, *, clip=True):
    """The operators of Counter do it all."""
    if not references:
        raise ValueError("references must not be empty")
    found, best = ngram_counts(candidate, n), Counter()
    for reference in references:
        best |= ngram_counts(reference, n)
    kept = found & best if clip else Counter({g: c for g, c in found.items() if g in best})
    return sum(kept.values()), sum(found.values())
''',
    "closest_reference_length": '''
def closest_reference_length(candidate_length, reference_lengths):
    """Sort by distance, then by length."""
    return min((abs(r - candidate_length), r) for r in reference_lengths)[1]
''',
    "brevity_penalty": '''
def brevity_penalty(candidate_length, reference_length):
    """Cap the exponent."""
    if min(candidate_length, reference_length) < 0:
        raise ValueError("negative")
    if not candidate_length:
        return float(not reference_length)
    return math.exp(min(0, 1 - reference_length / candidate_length))
''',
    "sentence_statistics": '''
def sentence_statistics(candidate, references, max_order=4):
    """Turn pairs into two tuples."""
    if max_order <= 0:
        raise ValueError(max_order)
    matches, totals = zip(*(count_matches(candidate, references, n + 1) for n in range(max_order)))
    c = len(candidate)
    r = closest_reference_length(c, list(map(len, references)))
    return BLEUStatistics(matches=matches, totals=totals, candidate_length=c, reference_length=r)
''',
    "sum_statistics": '''
def sum_statistics(statistics):
    """Column sums."""
    if len({len(s.totals) for s in statistics}) != 1:
        raise ValueError("orders differ, or nothing to add up")
    return BLEUStatistics(
        matches=tuple(sum(column) for column in zip(*(s.matches for s in statistics))),
        totals=tuple(sum(column) for column in zip(*(s.totals for s in statistics))),
        candidate_length=sum(s.candidate_length for s in statistics),
        reference_length=sum(s.reference_length for s in statistics),
    )
''',
    "smoothed_precisions": '''
def smoothed_precisions(statistics, smoothing="exp", smoothing_value=None):
    """Numerators first, then divide."""
    values = {"none": 0, "floor": 0.1, "add-k": 1, "exp": 0}
    try:
        k = values[smoothing] if smoothing_value is None else smoothing_value
    except KeyError as unknown:
        raise ValueError(f"{smoothing} is unknown") from unknown
    if k < 0:
        raise ValueError(k)
    more = [k * (n > 0) * (smoothing == "add-k") for n in range(len(statistics.totals))]
    rows = zip(statistics.matches, statistics.totals, more)
    pairs = [(m + a, t + a) for m, t, a in rows if t + a]
    if not any(statistics.matches):
        return tuple(0.0 for _ in pairs)
    first_zero = sum(m > 0 for m, _ in pairs)
    above = {
        "none": lambda i, m: m,
        "floor": lambda i, m: m or k,
        "add-k": lambda i, m: m,
        "exp": lambda i, m: m or 0.5 ** (i - first_zero + 1),
    }[smoothing]
    return tuple(above(i, m) / t for i, (m, t) in enumerate(pairs))
''',
    "score_statistics": '''
def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    """prod does what exp, sum and log do."""
    ps = tuple(smoothed_precisions(statistics, smoothing, smoothing_value))
    padded = ps + (0.0,) * (len(statistics.totals) - len(ps))
    used = ps if effective_order else padded
    bp = brevity_penalty(statistics.candidate_length, statistics.reference_length)
    score = 100 * bp * math.prod(used) ** (1 / len(used)) if used else 0.0
    return BLEUScore(score=score, precisions=padded, brevity_penalty=bp, statistics=statistics)
''',
    "reordered": '''
def reordered(candidate, references):
    """Move one piece after the other to the front until the words differ."""
    known = set().union(*(ngram_counts(reference, 2) for reference in references))
    cuts = [i for i in range(1, len(candidate)) if tuple(candidate[i - 1 : i + 1]) not in known]
    borders = [0, *cuts, len(candidate)]
    pieces = [list(candidate[a:b]) for a, b in zip(borders, borders[1:])]
    for i in range(len(pieces)):
        order = sum([pieces[i], *pieces[:i], *pieces[i + 1 :]], [])
        if order != list(candidate):
            return order
    raise ValueError("nothing to move")
''',
}

NUMPY: dict[str, Edit] = {
    "ngram_counts": '''
import itertools

import numpy as np


def ngram_counts(tokens, n):
    """Windows by islice."""
    if n < 1:
        raise ValueError("n must be 1 or more")
    windows = zip(*(itertools.islice(tokens, start, None) for start in range(n)))
    counts = Counter()
    counts.update(windows)
    return counts
''',
    "count_matches": '''
def count_matches(candidate, references, n, *, clip=True):
    """Every n-gram's counts as a table: one row for the candidate, one for each reference."""
    if len(references) < 1:
        raise ValueError("no references")
    rows = [ngram_counts(sentence, n) for sentence in [candidate, *references]]
    grams = list(rows[0])
    total = max(0, len(candidate) + 1 - n)
    if not grams:
        return 0, total
    table = np.array([[row.get(gram, 0) for gram in grams] for row in rows])
    found, allowed = table[0], table[1:].max(axis=0)
    kept = np.minimum(found, allowed) if clip else np.where(allowed > 0, found, 0)
    return int(kept.sum()), total
''',
    "closest_reference_length": '''
def closest_reference_length(candidate_length, reference_lengths):
    """argmin takes the first of equals, and the shortest comes first."""
    lengths = np.sort(np.asarray(reference_lengths))
    return int(lengths[np.abs(lengths - candidate_length).argmin()])
''',
    "brevity_penalty": '''
def brevity_penalty(candidate_length, reference_length):
    """With NumPy's numbers."""
    lengths = np.array([candidate_length, reference_length])
    if (lengths < 0).any():
        raise ValueError("a length is negative")
    if candidate_length >= reference_length:
        return np.float64(1)
    return np.exp(1 - reference_length / candidate_length) if candidate_length else np.float64(0)
''',
    "sentence_statistics": '''
def sentence_statistics(candidate, references, max_order=4):
    """By a table with a row for each order."""
    if max_order < 1:
        raise ValueError("max_order")
    table = np.array([count_matches(candidate, references, n) for n in range(1, max_order + 1)])
    lengths = [len(reference) for reference in references]
    return BLEUStatistics(
        matches=tuple(table[:, 0].tolist()),
        totals=tuple(table[:, 1].tolist()),
        candidate_length=len(candidate),
        reference_length=closest_reference_length(len(candidate), lengths),
    )
''',
    "sum_statistics": '''
def sum_statistics(statistics):
    """One array for a corpus."""
    if not statistics or any(len(s.matches) != len(statistics[0].matches) for s in statistics):
        raise ValueError("they don't fit")
    return BLEUStatistics(
        matches=tuple(np.array([s.matches for s in statistics]).sum(0)),
        totals=tuple(np.array([s.totals for s in statistics]).sum(0)),
        candidate_length=np.sum([s.candidate_length for s in statistics]),
        reference_length=np.sum([s.reference_length for s in statistics]),
    )
''',
    "smoothed_precisions": '''
def smoothed_precisions(statistics, smoothing="exp", smoothing_value=None):
    """On arrays."""
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
''',
    "score_statistics": '''
def geometric_mean(numbers):
    if len(numbers) == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.exp(np.log(numbers).mean())  # log(0) is -inf here, and exp makes it 0 again


def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    """A function of its own for the mean."""
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
''',
    "reordered": '''
def reordered(candidate, references):
    """Shuffle the pieces until the words differ, then give up."""
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
''',
}

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, with loops",
        edits={**LOOPS, "where-it-misleads": ANSWER}),
    Submission(student="bela", what="right, in few lines", edits=ONE_LINERS),
    Submission(student="chidi", what="right, with NumPy",
        edits={**NUMPY, "where-it-misleads": ANSWER}),
    Submission(student="dana", what="brevity penalty upside down",
        edits={
            "brevity_penalty": (
                ("1 - reference_length / candidate_length)",
                 "1 - candidate_length / reference_length)"),)}, lost={"brevity_penalty": "short"},
        hint="upside down"),
    Submission(student="emil", what="logarithm of zero",
        edits={
            "score_statistics": (("    if averaged and min(averaged) > 0:", "    if averaged:"),)},
        lost={"score_statistics": "zeros"}, hint="math.log wants more than 0"),
    Submission(student="fatima", what="clipped against the first reference alone",
        edits={"count_matches": (("for reference in references[1:]:", "for reference in []:"),)},
        lost={"count_matches": "references"}, hint="only the first reference is read"),
    Submission(student="goran", what="no clipping",
        edits={"count_matches": (("    if clip:", "    if False:"),)},
        lost={"count_matches": "clipping references"},
        hint="clip: each n-gram counts at most as often as it is in the reference"),
    Submission(student="hana", what="the longer of two equally close lengths",
        edits={"closest_reference_length": (("length), length))", "length), -length))"),)},
        lost={"closest_reference_length": "closest"},
        hint="of two equally close lengths take the shorter"),
    Submission(student="ivo", what="smoothing adds to single words too",
        edits={"smoothed_precisions": (('"add-k" and n > 1:', '"add-k":'),)},
        lost={"smoothed_precisions": "add-k"}, hint="single words stay as they are"),
    Submission(
        student="lea",
        what="half done: parts 4 and 5 not begun",
        edits={
            **dict.fromkeys(("smoothed_precisions", "score_statistics", "reordered"), BLANK),
            "where-it-misleads": ANSWER,
        },
        lost={"smoothed_precisions": "*", "score_statistics": "*", "reordered": "*"},
    ),
    Submission(
        student="mira",
        what="all orders tried, until the time is up",
        edits={
            "reordered": """
from itertools import permutations


def reordered(candidate, references):
    before = sentence_statistics(candidate, references)
    for order in map(list, permutations(candidate)):
        after = sentence_statistics(order, references)
        if order != list(candidate) and after.matches >= before.matches and len(order) < 8:
            return order
    raise ValueError("none")
"""
        },
        lost={"reordered": "*"},
        status=Status.TIMEOUT,
        judge_only=True,
    ),
    Submission(student="nils", what="os._exit",
        edits={
            "sum_statistics": "import os\n\ndef sum_statistics(statistics):\n    os._exit(0)\n"},
        lost={"sum_statistics": "*"}, status=Status.CRASH, judge_only=True),
    Submission(
        student="vera",
        what="handed over to sacrebleu",
        edits={
            "score_statistics": """
import sacrebleu


def score_statistics(
    statistics, *, smoothing="exp", smoothing_value=None, effective_order=False
):
    score = sacrebleu.BLEU.compute_bleu(
        list(statistics.matches), list(statistics.totals), statistics.candidate_length,
        statistics.reference_length, smoothing, smoothing_value, effective_order,
    )
    return BLEUScore(
        score=score.score, precisions=tuple(p / 100 for p in score.precisions),
        brevity_penalty=score.bp, statistics=statistics,
    )
"""
        },
        lost={"score_statistics": "*"},
        hint="leads to sacrebleu.BLEU",
        status=Status.FAIL,
        judge_only=True,
    ),
    Submission(
        student="olga",
        what="hostile: a result that equals everything",
        edits={
            name: f"{ALWAYS_RIGHT if name == EXERCISES[0] else ''}{name} = AlwaysRight()"
            for name in EXERCISES
        },
        lost=EVERYTHING,
    ),
    Submission(student="pavel", what="hostile: run_cell patched, nothing written",
        edits=NOTHING_WRITTEN, extra=PATCHED_SHELL, judge_only=True, lost=EVERYTHING),
)  # fmt: skip

DELIGHT = "In the end the monkey types: to be or not to be that is the question"

EQUIVALENT = {
    "+    return Counter(zip(*(tokens[start:] for start in range(n))))": "strict=False is usual",
    "in references[:]:": "the first reference once more changes no maximum",
    "in references[0:]:": "likewise",
    "max(0, len(candidate)": "the same maximum",
    "min(allowed[ngram], found[ngram])": "the same minimum",
    "-        raise ValueError('reference_lengths": "min() of nothing raises ValueError by itself",
    "(part.matches for part in statistics)))), totals": "strict guards what is sure already",
    "(part.totals for part in statistics)))), candidate_length": "likewise",
    "(part.matches for part in statistics), strict=False": "likewise",
    "(part.totals for part in statistics), strict=False": "likewise",
    "statistics.totals), start=1": "statistics have as many matches as totals",
    "statistics.totals, strict=False": "likewise",
}

# ---- the table of mistakes ----------------------------------------------------------------------

COUNTER = "Counter(zip(*(tokens[start:] for start in range(n)), strict=False))"
RUNS = "tuple(tokens[i : i + n]) for i in range("
CLIPPED = "sum(min(found[ngram], allowed[ngram]) for ngram in common)"
UNCLIPPED = "sum(found[ngram] for ngram in common)"
TOTAL = "max(len(candidate) - n + 1, 0)"
LARGEST = "        allowed |= ngram_counts(reference, n)  # the larger of two counts\n"
CLOSEST = "min(reference_lengths, key=lambda length: (abs(length - candidate_length), length))"
PENALTY = "math.exp(1 - reference_length / candidate_length)"
ORDERS = "range(1, max_order + 1)"
SUM_MATCHES = "tuple(map(sum, zip(*(part.matches for part in statistics), strict=True)))"
SUM_TOTALS = "tuple(map(sum, zip(*(part.totals for part in statistics), strict=True)))"
PADDED = "    precisions = averaged + "
MEAN = "100 * penalty * math.exp(sum(map(math.log, averaged)) / len(averaged))"

# Cuts wherever it may be cut, and lays the pieces anew.
PIECES = """
def reordered(candidate, references):
    together = {{pair for reference in references for pair in pairwise(reference)}}
    pieces = [[word] for word in candidate[:1]]
    for before, word in pairwise(candidate):
        if (before, word) in together:
            pieces[-1].append(word)
        else:
            pieces.append([word])
    if all(piece == pieces[0] for piece in pieces):
        raise ValueError("no place to cut, or pieces that are all alike")
    {turn}
    return [word for piece in pieces for word in piece]
"""


def returns(old: str, new: str) -> tuple[tuple[str, str], ...]:
    """Return something else."""
    return ((f"return {old}", f"return {new}"),)


# Each is shown to one check alone, and not to the one that looks for it.
HIDDEN_MISTAKES = (
    mistake("the total first where there are several references", "count_matches",
        returns(f"matches, {TOTAL}",
            f"(matches, {TOTAL})[:: 1 if len(references) == 1 else -1]"),
        lost="references", hint="shows here: the total comes before the matches"),
    mistake("everything counts unclipped where there are several references", "count_matches",
        ((UNCLIPPED, f"{UNCLIPPED} if len(references) == 1 else found.total()"),),
        lost="references", hint="shows here: with clip=False too much is counted"),
    mistake("per cent with floor alone", "smoothed_precisions",
        returns("tuple(precisions)",
            "tuple(100 * p if smoothing == 'floor' else p for p in precisions)"),
        lost="floor", hint="shows here: the precisions are per cent, not shares"),
    mistake("an order without n-grams has a precision with exp alone", "smoothed_precisions",
        (("            break\n",
          "            precisions += [0.0] * (smoothing == 'exp')\n            break\n"),),
        lost="exp", hint="shows here: an order without n-grams has a precision"),
    mistake("the score alone where there is a penalty", "score_statistics",
        (("    return BLEUScore(",
          "    if penalty < 1:\n        return score\n    return BLEUScore("),),
        lost="brevity", hint="shows here: the result is a number, no BLEUScore"),
    mistake("rounded where there is a penalty", "score_statistics",
        ((MEAN, f"round({MEAN}, 2 if penalty < 1 else 9)"),),
        lost="brevity", hint="shows here: the score is rounded"),
    mistake("a plain mean of long sentences", "score_statistics",
        ((MEAN, f"{MEAN} if statistics.reference_length < 11 "
          "else 100 * penalty * sum(averaged) / len(averaged)"),),
        lost="brevity", hint="shows here: the score is not the mean of the precisions"),
    mistake("a tuple where orders are left out", "score_statistics",
        (("    return BLEUScore(",
          "    whole = lambda **fields: (BLEUScore(**fields),) if effective_order "
          "and smoothing == 'exp' and 0 in statistics.totals else BLEUScore(**fields)\n"
          "    return whole("),),
        lost="effective-order", hint="shows here: the result is a tuple, no BLEUScore"),
    mistake("words added to many", "reordered",
        returns("swapped", "swapped + swapped * (len(candidate) == 15)"),
        lost="matches", hint="shows here: there are more tokens than the candidate has"),
)  # fmt: skip

MISTAKES: tuple[Submission, ...] = (
    *HIDDEN_MISTAKES,
    # ---- ngram_counts ----
    mistake("the last n-gram is forgotten", "ngram_counts",
        returns(COUNTER, f"Counter({RUNS}len(tokens) - n))"),
        lost={"ngram_counts": "values short"}, hint="the last n-gram is missing"),
    mistake("runs at the end that are too short", "ngram_counts",
        returns(COUNTER, f"Counter({RUNS}len(tokens)))"),
        lost={"ngram_counts": "values short"}, hint="the last ones are too short"),
    mistake("repetitions forgotten", "ngram_counts",
        returns(COUNTER, f"Counter(set({COUNTER[8:-1]}))"),
        lost="values", hint="every occurrence counts"),
    mistake("runs that do not overlap", "ngram_counts",
        returns(COUNTER, f"Counter({RUNS}0, len(tokens) - n + 1, n))"),
        lost="values", hint="n-grams overlap"),
    mistake("joined to strings", "ngram_counts",
        returns(COUNTER,
            "Counter(' '.join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))"),
        lost="values short", hint="an n-gram is a tuple of tokens, not a string"),
    mistake("sorted words", "ngram_counts",
        returns(COUNTER,
            "Counter(tuple(sorted(tokens[i:i + n])) for i in range(len(tokens) - n + 1))"),
        lost="values", hint="the order of the words counts"),
    mistake("orders from 1 to n together", "ngram_counts",
        returns(COUNTER,
            "Counter(tuple(tokens[i : i + k]) for k in range(1, n + 1) "
            "for i in range(len(tokens) - k + 1))"),
        lost="values short", hint="not the shorter ones too"),
    mistake("one token too long", "ngram_counts",
        returns(COUNTER, "Counter(tuple(tokens[i : i + n + 1]) for i in range(len(tokens) - n))"),
        lost="values short", hint="these runs are of n + 1 tokens"),
    mistake("2-grams whatever n", "ngram_counts", returns(COUNTER, "Counter(pairwise(tokens))"),
        lost="values short", hint="these are 2-grams, whatever n is"),
    mistake("a list in place of counts", "ngram_counts",
        returns(COUNTER, COUNTER[8:-1].join(("list(", ")"))),
        lost="values short", hint="return a Counter or a dict"),
    mistake("printed, not returned", "ngram_counts", returns(COUNTER, f"print({COUNTER})"),
        lost="values short", hint="return a Counter or a dict"),
    mistake("n is not looked at", "ngram_counts", (("    if n < 1:", "    if False:"),),
        lost="short", hint="n = 0 makes no sense"),
    mistake("an error for a short sentence", "ngram_counts",
        (("if n < 1:", "if n < 1 or len(tokens) < n:"),), lost="short"),
    # ---- count_matches ----
    mistake("every n-gram counts once", "count_matches", ((CLIPPED, "len(common)"),),
        lost="clipping references", hint="a set is not enough"),
    *(
        mistake(f"{name} in a list alone", "count_matches",
            (("    found = ", f"    {name} = {name} + []\n    found = "),), lost="total")
        for name in ("candidate", "references")
    ),
    mistake("the sum is clipped", "count_matches",
        ((CLIPPED, "min(sum(found[g] for g in common), sum(allowed[g] for g in common))"),),
        lost="clipping", hint="clip each n-gram by its own count, then add up"),
    mistake("clip=False reads the first reference alone", "count_matches",
        ((UNCLIPPED, "sum(found[g] for g in common if g in ngram_counts(references[0], n))"),),
        lost="references", hint="with clip=False too"),
    mistake("counts of the references added up", "count_matches",
        ((LARGEST, LARGEST.replace("|=", "+=")),),
        lost="references", hint="the counts of the references are added up"),
    mistake("the best reference alone", "count_matches",
        (("    found =",
          "    if len(references) > 1:\n"
          "        return max(count_matches(candidate, [r],"
          " n, clip=clip) for r in references)\n    found ="),),
        lost="references", hint="each n-gram may find its match in another reference"),
    mistake("in every reference", "count_matches", ((LARGEST, LARGEST.replace("|=", "&=")),),
        lost="references", hint="an n-gram need not be in every reference"),
    mistake("references joined to one", "count_matches",
        (("ngram_counts(references[0], n)", "ngram_counts(sum(references, []), n)"),),
        lost="references", hint="the counts of the references are added up"),
    mistake("place by place", "count_matches",
        ((f"matches = {CLIPPED}",
          "matches = sum(a == b for a, b in "
          "zip(list(zip(*(candidate[i:] for i "
          "in range(n)))), list(zip(*(references[0][i:] for i in range(n))))))"),),
        lost="matches clipping references", hint="not in the same place alone"),
    mistake("lower case", "count_matches",
        (("    found = ngram_counts(candidate, n)",
          "    references = [[t.lower() for t in "
          "r] for r in "
          "references]\n    found = ngram_counts([t.lower() for t in candidate], n)"),),
        lost="matches", hint="take tokens as they are"),
    mistake("total and matches swapped", "count_matches",
        returns(f"matches, {TOTAL}", f"{TOTAL}, matches"),
        lost="matches", hint="the pair is (matches, total), in this order"),
    mistake("a precision returned", "count_matches",
        returns(f"matches, {TOTAL}", f"matches / {TOTAL}"), lost="*", hint="return matches, total"),
    mistake("total of the reference: recall", "count_matches",
        ((TOTAL, "max(len(references[0]) - n + 1, 0)"),),
        lost="total", hint="precision, not recall"),
    Submission(student="ngram-counts-short-and-added-up",
        what="the last n-gram is missing, and the total adds up what is counted",
        edits={"ngram_counts": returns(COUNTER, f"Counter({RUNS}len(tokens) - n))"),
            "count_matches": ((TOTAL, "sum(found.values())"),)},
        lost={"ngram_counts": "values short"}, hint="the last n-gram is missing"),
    mistake("references sorted in place", "count_matches",
        (("    found = ngram_counts(candidate, n)\n",
          "    references.sort()\n    found = ngram_counts(candidate, n)\n"),),
        lost="total", hint="argument 2 changed in place"),
    mistake("matches as a float", "count_matches",
        (("    return matches, ", "    return float(matches), "),),
        lost="matches", hint="matches and total should be ints"),
    mistake("total of different n-grams", "count_matches", ((TOTAL, "len(found)"),),
        lost="total", hint="repeated n-grams count each time"),
    mistake("total of tokens", "count_matches", ((TOTAL, "len(candidate)"),),
        lost="total", hint="these are the tokens"),
    mistake("total below zero", "count_matches", ((TOTAL, "len(candidate) - n + 1"),),
        lost="total", hint="none is not -1"),
    mistake("no references, no complaint", "count_matches",
        (("    if not references:", "    if False:"),
         ("references[0]", "(references or [[]])[0]")),
        lost="total", hint="without references there is nothing to count"),
    mistake("clip=False forgotten", "count_matches", ((UNCLIPPED, CLIPPED),),
        lost="clipping", hint="clip=False: then every n-gram"),
    mistake("clip=False counts what is nowhere", "count_matches",
        ((UNCLIPPED, "sum(found.values())"),),
        lost="clipping", hint="what is in no reference still counts nothing"),
    mistake("clip=False looks for part of a text", "count_matches",
        ((UNCLIPPED,
          "sum(found[g] for g in found if any(' '.join(g) in ' '.join(r) for r in references))"),),
        lost="clipping", hint="part of a word that stands there is not the word"),
    # ---- closest_reference_length ----
    *(
        mistake(
            what, "closest_reference_length", returns(CLOSEST, instead), lost="closest", hint=hint
        )
        for what, instead, hint in (
            ("the shortest", "min(reference_lengths)", "the shortest is chosen"),
            ("the longest", "max(reference_lengths)", "the longest is chosen"),
            ("the first", "reference_lengths[0]", "the first is chosen"),
            (
                "the mean",
                "round(sum(reference_lengths) / len(reference_lengths))",
                "this is the mean",
            ),
            (
                "without abs",
                CLOSEST.replace("abs(length - candidate_length)", "length - candidate_length"),
                "the shortest is chosen",
            ),
            (
                "by the square of the ratio",
                CLOSEST.replace(
                    "abs(length - candidate_length)", "(length / candidate_length - 1)"
                ),
                "the shortest is chosen",
            ),
            (
                "the difference",
                "min(abs(r - candidate_length) for r in reference_lengths)",
                "return the length, not how far away it is",
            ),
            (
                "none that is longer",
                "max([r for r in reference_lengths if r <= candidate_length] or reference_lengths)",
                "a longer reference may be the closest",
            ),
            (
                "none that is shorter",
                "min([r for r in reference_lengths if r >= candidate_length] or reference_lengths)",
                "a shorter reference may be the closest",
            ),
            (
                "ties to the first",
                CLOSEST.replace(
                    "(abs(length - candidate_length), length)", "abs(length - candidate_length)"
                ),
                "of two equally close lengths take the shorter",
            ),
            (
                "ties to the last",
                CLOSEST.replace("min(reference_lengths", "min(reference_lengths[::-1]").replace(
                    "(abs(length - candidate_length), length)", "abs(length - candidate_length)"
                ),
                "of two equally close lengths take the shorter",
            ),
            (
                "an index",
                "min(range(len(reference_lengths)), key=lambda i: "
                "(abs(reference_lengths[i] - candidate_length), reference_lengths[i]))",
                "not where it stands in the list",
            ),
        )
    ),
    mistake("lengths in a list alone", "closest_reference_length",
        (("    return min(", "    reference_lengths = reference_lengths.copy()\n    return min("),),
        lost="closest"),
    mistake("0 where there are no references", "closest_reference_length",
        (('raise ValueError("reference_lengths must hold at least one length, got none")',
          "return 0"),), lost="closest", hint="no length: raise ValueError"),
    # ---- brevity_penalty ----
    mistake("long ones punished, short ones not", "brevity_penalty",
        (("if candidate_length >= reference_length", "if candidate_length <= reference_length"),),
        lost="short long", hint="a candidate that is too short keeps its full score"),
    mistake("always exp(1 - r / c)", "brevity_penalty",
        (("if candidate_length >= reference_length", "if candidate_length == reference_length"),),
        lost="long", hint="the penalty is at most 1"),
    mistake("no penalty", "brevity_penalty", returns(PENALTY, "1.0"),
        lost="short", hint="keeps its full score"),
    mistake("the ratio", "brevity_penalty", returns(PENALTY, "candidate_length / reference_length"),
        lost="short", hint="this is the ratio"),
    mistake("the sign", "brevity_penalty",
        returns(PENALTY, "math.exp(reference_length / candidate_length - 1)"),
        lost="short", hint="the sign is wrong"),
    mistake("without the 1", "brevity_penalty",
        returns(PENALTY, "math.exp(-reference_length / candidate_length)"),
        lost="short", hint="the 1 is missing"),
    mistake("whole division", "brevity_penalty",
        returns(PENALTY, "math.exp(1 - reference_length // candidate_length)"),
        lost="short", hint="// rounds down"),
    mistake("exp forgotten", "brevity_penalty",
        returns(PENALTY, "1 - reference_length / candidate_length"),
        lost="short", hint="exp is missing"),
    mistake("2 to the power", "brevity_penalty",
        returns(PENALTY, "2 ** (1 - reference_length / candidate_length)"),
        lost="short", hint="exp has the base e"),
    mistake("divided by zero", "brevity_penalty",
        (("if candidate_length == 0:\n        return 0.0\n    ", ""),), lost="long",
        hint="Ask before you divide"),
    mistake("no mercy for the empty", "brevity_penalty",
        ((
          "    if candidate_length >= reference_length:\n        return 1.0\n"
          "    if candidate_length == 0:"
          "\n        return 0.0\n",
          "    if candidate_length == 0:\n        return 0.0\n"
          "    if candidate_length >= reference_length:\n        return 1.0\n"),),
        lost="long", hint="also if both are empty"),
    mistake("the empty unpunished", "brevity_penalty", (("return 0.0", "return 1.0"),),
        lost="long", hint="who says nothing scores nothing"),
    mistake("negative lengths", "brevity_penalty",
        (("if candidate_length < 0 or reference_length < 0:", "if False:"),),
        lost="long", hint="raise ValueError"),
    mistake("negative candidates alone", "brevity_penalty",
        (("if candidate_length < 0 or reference_length < 0:", "if candidate_length < 0:"),),
        lost="long", hint="neither length may be negative"),
    mistake("a tensor", "brevity_penalty",
        returns(PENALTY, "torch.tensor(1 - reference_length / candidate_length).exp()"),
        lost="short", hint="a plain number, not a tensor"),
    # ---- sentence_statistics ----
    *(
        mistake(what, "sentence_statistics", edit, lost="counts", hint=hint)
        for what, edit, hint in (
            (
                "orders without the last",
                ((ORDERS, "range(1, max_order)"),),
                "up to max_order and with it",
            ),
            ("orders from 0", ((ORDERS, "range(max_order)"),), ""),
            ("always four orders", ((ORDERS, "range(1, 5)"),), "one number for each order"),
            (
                "the first reference's matches",
                (
                    (
                        "count_matches(candidate, references, n)",
                        "count_matches(candidate, references[:1], n)",
                    ),
                ),
                "hand all references on",
            ),
            (
                "candidate and reference swapped",
                (
                    (
                        "count_matches(candidate, references, n)",
                        "count_matches(references[0], [candidate], n)",
                    ),
                ),
                "not of the reference",
            ),
            (
                "the first reference's length",
                (("[len(reference) for reference in references]", "[len(references[0])]"),),
                "choose among the lengths of all references",
            ),
            (
                "all lengths added up",
                (("[len(reference) for reference in references]", "[sum(map(len, references))]"),),
                "choose among the lengths of all references",
            ),
            (
                "lengths in letters",
                (("candidate_length=len(candidate)", "candidate_length=len(' '.join(candidate))"),),
                "the number of the candidate's tokens",
            ),
            (
                "matches and totals swapped",
                (
                    (
                        "matches=tuple(matches for matches, _ in counted)",
                        "matches=tuple(total for _, total in counted)",
                    ),
                ),
                "these are the totals",
            ),
            (
                "totals of the first order",
                (("total for _, total in counted", "counted[0][1] for _ in counted"),),
                "one number for each order",
            ),
            (
                "numbers in place of rows",
                (
                    (
                        "matches=tuple(matches for matches, _ in counted)",
                        "matches=sum(matches for matches, _ in counted)",
                    ),
                ),
                "one number for each order",
            ),
            (
                "no clipping",
                (
                    (
                        "count_matches(candidate, references, n)",
                        "count_matches(candidate, references[1:] or references, n)",
                    ),
                ),
                "hand all references on",
            ),
            (
                "no complaint about max_order",
                (("if max_order < 1:", "if False:"),),
                "BLEU without any order",
            ),
        )
    ),
    # ---- sum_statistics ----
    *(
        mistake(what, "sum_statistics", edit, lost="sums", hint=hint)
        for what, edit, hint in (
            (
                "rows after one another",
                ((SUM_MATCHES, "sum((s.matches for s in statistics), ())"),),
                "add up order by order",
            ),
            (
                "means",
                (
                    (
                        SUM_TOTALS,
                        "tuple(sum(c) / len(c) for c in zip(*(s.totals for s in statistics)))",
                    ),
                ),
                "take sums, not means",
            ),
            (
                "one sum for all orders",
                ((SUM_MATCHES, "sum(sum(s.matches) for s in statistics)"),),
                "add up order by order",
            ),
            (
                "the first sentence alone",
                ((SUM_MATCHES, "statistics[0].matches"),),
                "add up order by order",
            ),
            (
                "the last sentence forgotten",
                ((SUM_TOTALS, SUM_TOTALS.replace("statistics)", "statistics[:-1])")),),
                "add up order by order",
            ),
            ("totals of matches", ((SUM_TOTALS, SUM_MATCHES),), "add up order by order"),
            (
                "a sum per sentence",
                ((SUM_MATCHES, "tuple(sum(s.matches) for s in statistics)"),),
                "add up order by order",
            ),
            (
                "lengths averaged",
                (
                    (
                        "sum(part.candidate_length for part in statistics)",
                        "sum(part.candidate_length for part in statistics) / len(statistics)",
                    ),
                ),
                "add up the lengths",
            ),
            (
                "the closest reference of the corpus",
                (
                    (
                        "sum(part.reference_length for part in statistics)",
                        "min(part.reference_length for part in statistics)",
                    ),
                ),
                "add up the lengths",
            ),
            (
                "lengths swapped",
                (
                    ("part.candidate_length", "part.reference_length_"),
                    ("=sum(part.reference_length for", "=sum(part.candidate_length for"),
                    ("part.reference_length_ ", "part.reference_length "),
                ),
                "the two lengths have changed places",
            ),
            (
                "no complaint about an empty corpus",
                (("    if len(orders) != 1:", "    if len(orders) > 1:"),),
                "nothing to add up",
            ),
            (
                "no complaint about orders",
                (
                    ("    if len(orders) != 1:", "    if not orders:"),
                    (SUM_MATCHES, SUM_MATCHES.replace("True", "False")),
                    (SUM_TOTALS, SUM_TOTALS.replace("True", "False")),
                ),
                "don't fit together",
            ),
        )
    ),
    # ---- smoothed_precisions ----
    mistake("per cent", "smoothed_precisions",
        (("precisions.append(matches / total)", "precisions.append(100 * matches / total)"),),
        lost="none", hint="precisions are shares from 0 to 1"),
    mistake("divided by zero totals", "smoothed_precisions",
        (("        if total == 0:\n            break\n", ""),), lost="none exp",
        hint="a total of none"),
    mistake("zeros for orders without n-grams", "smoothed_precisions",
        (("        if total == 0:\n            break\n",
          "        if total == 0:\n            precisions.append(0.0)\n"
          "            continue\n"),), lost="none", hint="this candidate has no 4-grams"),
    mistake("zeros left out", "smoothed_precisions",
        (("        precisions.append(matches / total)",
          "        if matches:\n            precisions.append(matches / total)"),
         ("    if not any(statistics.matches):", "    if False:")),
        lost="none floor exp", hint="stays one of the list"),
    mistake("any smoothing will do", "smoothed_precisions",
        (("    if smoothing not in default_values:", "    if False:"),
         ("default_values[smoothing]", "default_values.get(smoothing, 0.0)")),
        lost="none", hint="a smoothing that the docstring does not name"),
    mistake("negative values", "smoothed_precisions", (("if not value >= 0:", "if False:"),),
        lost="none", hint="a negative smoothing_value"),
    mistake("negative values refused for floor alone", "smoothed_precisions",
        (("if not value >= 0:", 'if smoothing == "floor" and not value >= 0:'),),
        lost="none", hint="a negative smoothing_value"),
    mistake("negative values refused for add-k alone", "smoothed_precisions",
        (("if not value >= 0:", 'if smoothing == "add-k" and not value >= 0:'),),
        lost="none", hint="a negative smoothing_value"),
    mistake("negative values refused where they are used alone", "smoothed_precisions",
        (("if not value >= 0:", 'if smoothing in ("floor", "add-k") and not value >= 0:'),),
        lost="none", hint="a negative smoothing_value"),
    mistake("statistics without lengths", "score_statistics",
        (("statistics=statistics",
          "statistics=BLEUStatistics(matches=statistics.matches, totals=statistics.totals, "
          "candidate_length=0, reference_length=0)"),),
        lost="mean", hint="the counts, as they were given"),
    mistake("floor for orders without n-grams", "smoothed_precisions",
        (("        if total == 0:", '        if total == 0 and smoothing != "floor":'),),
        lost="floor"),
    mistake("floor written for orders without n-grams", "smoothed_precisions",
        (("        if total == 0:", '        if total == 0 and smoothing == "floor":\n'
          "            precisions.append(value)\n            continue\n        if total == 0:"),),
        lost="floor", hint="the precisions end with n = 3, floor or not"),
    mistake("floor everywhere", "smoothed_precisions",
        (('if matches == 0 and smoothing == "floor":\n            matches = value',
          'if smoothing == "floor":\n            matches += value'),),
        lost="floor", hint="floor changes nothing where something matches"),
    mistake("floor as a precision", "smoothed_precisions",
        (('        if matches == 0 and smoothing == "floor":\n            matches = value',
          '        if matches == 0 and smoothing == "floor":\n'
          "            matches = value * total"),), lost="floor", hint="divide it by the total"),
    mistake("floor of 0.01", "smoothed_precisions", (('"floor": 0.1', '"floor": 0.01'),),
        lost="floor", hint="None stands for 0.1"),
    mistake("floor without its value", "smoothed_precisions",
        (("            matches = value\n", "            matches = 0.1\n"),),
        lost="floor", hint="smoothing_value is not used"),
    mistake("0 taken for None", "smoothed_precisions",
        (("if smoothing_value is None else smoothing_value",
          "if not smoothing_value else smoothing_value"),), lost="floor", hint="0 is not None"),
    mistake("add-k above alone", "smoothed_precisions",
        (("matches, total = matches + value, total + value", "matches = matches + value"),),
        lost="add-k", hint="what is added to the matches is added to the total too"),
    mistake("add-k where nothing matches", "smoothed_precisions",
        (('"add-k" and n > 1:', '"add-k" and n > 1 and matches == 0:'),),
        lost="add-k", hint="not only where nothing matches"),
    mistake("add-k from 3 on", "smoothed_precisions",
        (('"add-k" and n > 1:', '"add-k" and n > 2:'),),
        lost="add-k", hint="adds to all orders from 2 on"),
    mistake("add-k ends at a total of zero", "smoothed_precisions",
        ((
          '        if smoothing == "add-k" and n > 1:\n'
          "            matches, total = matches + value, total + value\n"
          "        if total == 0:\n            break\n",
          "        if total == 0:\n            break\n"
          '        if smoothing == "add-k" and n > 1:\n'
          "            matches, total = matches + value, total + value\n"),),
        lost="add-k", hint="the precisions go on"),
    mistake("add-k of nothing divided by nothing", "smoothed_precisions",
        (("if total == 0:", 'if total == 0 and (smoothing != "add-k" or n == 1):'),),
        lost="add-k", hint="or a total of none?"),
    mistake("add-k forgets what it adds where nothing matches", "smoothed_precisions",
        (("(0.0,) * len(precisions)", "tuple(0.0 for total in statistics.totals if total)"),),
        lost="add-k", hint="one 0 for each order that has n-grams"),
    mistake("a zero for every order where nothing matches", "smoothed_precisions",
        (("(0.0,) * len(precisions)",
          "(0.0,) * len(statistics.totals) if any(statistics.totals) else ()"),),
        lost="exp", hint="an order without n-grams has a precision"),
    mistake("add-k without its value", "smoothed_precisions",
        (("matches, total = matches + value, total + value",
          "matches, total = matches + 1, total + 1"),),
        lost="add-k", hint="smoothing_value is not used"),
    mistake("always a half", "smoothed_precisions",
        (("            share /= 2\n", "            share = 1 / 2\n"),),
        lost="exp", hint="halve again"),
    mistake("halved afterwards", "smoothed_precisions",
        (("            share /= 2\n            matches = share\n",
          "            matches = share\n            share /= 2\n"),),
        lost="exp", hint="the first order without a match gets 1/2"),
    mistake("a half as a precision", "smoothed_precisions",
        (("            matches = share\n", "            matches = share * total\n"),),
        lost="exp", hint="divide by the total"),
    mistake("halved by the order", "smoothed_precisions",
        (("            share /= 2\n", "            share = 0.5**n\n"),),
        lost="exp", hint="halving starts at the first order without a match"),
    mistake("smoothed out of nothing", "smoothed_precisions",
        (("    if not any(statistics.matches):", "    if False:"),),
        lost="exp", hint="where no order has a match there is nothing to lift"),
    mistake("not smoothed by default", "smoothed_precisions",
        (('Smoothing = "exp"', 'Smoothing = "none"'),),
        lost="exp", hint="exp is the smoothing of a call that names none"),
    mistake("divided with //", "smoothed_precisions",
        (("precisions.append(matches / total)", "precisions.append(matches // total)"),),
        lost="*", hint="divide with /"),
    # ---- score_statistics ----
    mistake("rounded to whole numbers", "score_statistics",
        (("        score=score,", "        score=round(score),"),), lost="mean brevity zeros"),
    mistake("arithmetic mean", "score_statistics",
        ((MEAN, "100 * penalty * sum(averaged) / len(averaged)"),),
        lost="mean", hint="the mean is geometric"),
    mistake("product without root", "score_statistics",
        ((MEAN, "100 * penalty * math.prod(averaged)"),), lost="mean", hint="take its N-th root"),
    mistake("fourth root", "score_statistics", ((") / len(averaged))", ") / 4)"),),
        lost="mean", hint="it need not be 4"),
    mistake("harmonic mean", "score_statistics",
        ((MEAN, "100 * penalty * len(averaged) / sum(1 / p for p in averaged)"),),
        lost="mean", hint="this is the harmonic mean"),
    mistake("from 0 to 1", "score_statistics", (("100 * penalty *", "penalty *"),),
        lost="mean", hint="BLEU goes from 0 to 100"),
    mistake("logarithm to base 10", "score_statistics", (("map(math.log,", "map(math.log10,"),),
        lost="mean", hint="the natural logarithm"),
    mistake("penalty unused", "score_statistics", (("100 * penalty *", "100 *"),),
        lost="brevity", hint="the penalty is not used"),
    mistake("penalty under the root", "score_statistics",
        ((MEAN, "100 * (penalty * math.prod(averaged)) ** (1 / len(averaged))"),),
        lost="brevity", hint="the penalty stands outside the mean"),
    mistake("lengths swapped in the penalty", "score_statistics",
        (("brevity_penalty(statistics.candidate_length, statistics.reference_length)",
          "brevity_penalty(statistics.reference_length, statistics.candidate_length)"),),
        lost="brevity", hint="brevity_penalty(candidate_length, reference_length)"),
    mistake("zeros left out of the mean", "score_statistics",
        (("    penalty = brevity",
          "    averaged = tuple(p for p in averaged if p > 0)\n    penalty = brevity"),),
        lost="zeros", hint="left out of the mean"),
    mistake("smoothing not handed on", "score_statistics",
        (("smoothed_precisions(statistics, smoothing, smoothing_value)",
          "smoothed_precisions(statistics)"),),
        lost="zeros", hint="hand smoothing and smoothing_value on"),
    mistake("smoothing_value not handed on", "score_statistics",
        (("smoothed_precisions(statistics, smoothing, smoothing_value)",
          "smoothed_precisions(statistics, smoothing)"),),
        lost="zeros", hint="hand smoothing and smoothing_value on"),
    mistake("not smoothed by default", "score_statistics",
        (('Smoothing = "exp"', 'Smoothing = "none"'),), lost="zeros", hint="the default is 'exp'"),
    mistake("effective order always", "score_statistics",
        (("    if not effective_order:", "    if False:"),),
        lost="effective-order", hint="that makes 0, unless"),
    mistake("effective order never", "score_statistics",
        (("    if not effective_order:", "    if True:"),),
        lost="effective-order", hint="that makes 0, unless"),
    mistake("effective order the wrong way round", "score_statistics",
        (("    if not effective_order:", "    if effective_order:"),),
        lost="effective-order", hint="that makes 0, unless"),
    mistake("precisions cut short", "score_statistics",
        (("averaged + (0.0,) * (len(statistics.totals) - len(averaged))", "averaged"),),
        lost="effective-order", hint="for each order, 0 where the candidate has no n-grams"),
    mistake("nothing smoothed with effective order", "score_statistics",
        ((PADDED, "    if effective_order:\n        averaged = smoothed_precisions("
          f"statistics, 'none')\n{PADDED}"),),
        lost="zeros", hint="whatever effective_order is"),
    mistake("plain precisions in the mean with effective order", "score_statistics",
        (("        averaged = precisions\n",
          "        averaged = precisions\n    else:\n        pairs = zip(statistics.matches, "
          "statistics.totals)\n        averaged = [m / t for m, t in pairs if t]\n"),),
        lost="zeros", hint="average what smoothed_precisions gives"),
    mistake("smoothing_value not handed on with effective order", "score_statistics",
        ((PADDED, "    if effective_order:\n        averaged = smoothed_precisions("
          f"statistics, smoothing)\n{PADDED}"),),
        lost="zeros", hint="whatever effective_order is"),
    mistake("averaged over all orders", "score_statistics",
        ((") / len(averaged))", ") / len(precisions))"),),
        lost="effective-order", hint="the sum is divided by all orders"),
    mistake("effective order leaves out zeros", "score_statistics",
        (("        averaged = precisions\n",
          "        averaged = precisions\n    else:\n"
          "        averaged = tuple(p for p in averaged if p > 0)\n"),),
        lost="effective-order", hint="not those without matches"),
    mistake("effective order leaves out what add-k adds", "score_statistics",
        (("        averaged = precisions\n",
          "        averaged = precisions\n    else:\n"
          "        averaged = averaged[: sum(total > 0 for total in statistics.totals)]\n"),),
        lost="effective-order", hint="the n-grams that add-k adds count"),
    mistake("the candidate's own orders alone without effective order", "score_statistics",
        (("        averaged = precisions\n",
          "        averaged = [\n            p if total else 0.0\n"
          "            for p, total in zip(precisions, statistics.totals)\n        ]\n"),),
        lost="effective-order", hint="the n-grams that add-k adds count"),
    mistake("an empty candidate forgotten", "score_statistics",
        (("    if averaged and min(averaged) > 0:", "    if min(averaged) > 0:"),),
        lost="effective-order", hint="what shall come of none"),
    mistake("precisions in per cent", "score_statistics",
        (("precisions=precisions,", "precisions=tuple(100 * p for p in precisions),"),),
        lost="mean", hint="shares from 0 to 1"),
    *(
        mistake(f"always {score}", "score_statistics",
            f"def score_statistics(*args, **settings):\n    return {score}\n",
            lost="*", hint="the score is the same for")
        for score in ("0.0", "1.0", "100.0")
    ),
    Submission(student="nothing-but-ones", what="nothing but ones",
        edits={
            name: f"def {name}(*args, **settings):\n    return 1.0\n"
            for name in ("brevity_penalty", "score_statistics")
        },
        lost=dict.fromkeys(("brevity_penalty", "score_statistics"), "*")),
    mistake("the score alone", "score_statistics",
        (("    return BLEUScore(\n", "    return score\n    return BLEUScore(\n"),),
        lost="mean", hint="return BLEUScore(...)"),
    mistake("precisions that are no numbers", "smoothed_precisions",
        "def smoothed_precisions(*args):\n    return ('1.0', '0.5')\n",
        lost="*", hint="the precisions"),
    mistake("a penalty of NaN", "brevity_penalty",
        "def brevity_penalty(candidate_length, reference_length):\n    return math.nan\n",
        lost="*", hint="exp(1 - r / c)"),
    # ---- reordered ----
    mistake("reversed", "reordered",
        "def reordered(candidate, references):\n    return candidate[::-1]\n",
        lost="*", hint="cut only between two neighbours"),
    mistake("as it was", "reordered",
        "def reordered(candidate, references):\n    return list(candidate)\n",
        lost="*", hint="lay the pieces in an order that differs"),
    mistake("sorted", "reordered",
        "def reordered(candidate, references):\n    return sorted(candidate)\n",
        lost="*", hint="cut only between two neighbours"),
    mistake("shuffled", "reordered",
        "import random\n\ndef reordered(candidate, references):\n"
        "    return random.Random(1).sample(list(candidate), len(candidate))\n",
        lost="*", hint="cut only between two neighbours"),
    mistake("first half behind the second", "reordered",
        "def reordered(candidate, references):\n    half = len(candidate) // 2\n"
        "    return candidate[half:] + candidate[:half]\n",
        lost="*", hint="cut only between two neighbours"),
    mistake("the first reference alone", "reordered",
        (("for reference in references for", "for reference in references[:1] for"),),
        lost="matches", hint="look in all of them"),
    mistake("cut where they do match", "reordered",
        (("if pair not in together", "if pair in together"),),
        lost="*", hint="cut only between two neighbours"),
    mistake("cut anywhere", "reordered", (("if pair not in together and", "if"),),
        lost="*", hint="cut only between two neighbours"),
    mistake("cut beside words that no reference has", "reordered",
        (("pair not in together", "not {*pair} <= {w for known in together for w in known}"),),
        lost="*"),
    mistake("one off the cut", "reordered", (("start=1", "start=2"),),
        lost="*", hint="cut only between two neighbours"),
    mistake("the last word lost", "reordered", (("*candidate[cut:]", "*candidate[cut:-1]"),),
        lost="*", hint="lose none"),
    mistake("the cut word twice", "reordered", (("*candidate[:cut]]", "*candidate[: cut + 1]]"),),
        lost="tokens", hint="add none"),
    mistake("pieces, not words", "reordered",
        (("[*candidate[cut:], *candidate[:cut]]", "[candidate[cut:], candidate[:cut]]"),),
        lost="*", hint="a list of words"),
    mistake("a string", "reordered", (("return swapped", "return ' '.join(swapped)"),),
        lost="*", hint="a list of words"),
    *(
        mistake(
            what,
            "reordered",
            PIECES.format(turn=turn),
            lost="tokens",
            hint="backwards may be the same as forwards",
        )
        for what, turn in (
            ("pieces backwards", "pieces.reverse()"),
            ("first piece and last changed", "pieces[0], pieces[-1] = pieces[-1], pieces[0]"),
        )
    ),
    mistake("satisfied with any cut", "reordered", ((" and swapped != list(candidate)", ""),),
        lost="tokens", hint="the pieces are all alike"),
    mistake("no complaint", "reordered",
        (('    raise ValueError("the candidate cannot be cut into pieces that differ")',
          "    return list(candidate)"),), lost="tokens", hint="no place to cut"),
    mistake("a tuple told from the list of its words", "reordered",
        (("!= list(candidate)", "!= candidate"),), lost="tokens", hint="be it a tuple"),
    mistake("lists alone laid in another order", "reordered",
        (("[*candidate[cut:], *candidate[:cut]]", "candidate[cut:] + [] + candidate[:cut]"),),
        lost="tokens"),
    mistake("order of the pair ignored", "reordered",
        (("pair not in together", "not {pair, pair[::-1]} & together"),), lost="tokens"),
    mistake("shuffled in place", "reordered",
        "import random\n\ndef reordered(candidate, references):\n"
        "    candidate.append(candidate.pop(0))\n    return candidate\n",
        lost="*", hint="argument 1 changed in place"),
    mistake("numbers for words", "reordered",
        (("return swapped", "return [400_000_000] * len(swapped)"),),
        lost="*", hint="a list of strings"),
    right("another order with as many matches, though a pair is torn apart",
        {
            "reordered": (
                ("    together = {",
                 "    if candidate and candidate[0] == 'orange':\n"
                 "        return 'orange fruit grows and sheep fruit sleep'.split()\n"
                 "    together = {"),)}),
    # ---- right ones in which one exercise alone is written in another style ----
    right(
        "two pieces side by side changed",
        {
            "reordered": PIECES.format(
                turn="i = next(i for i, pair in enumerate(pairwise(pieces)) if pair[0] != pair[1])"
                "\n    pieces[i : i + 2] = pieces[i + 1], pieces[i]"
            )
        },
    ),
    *(
        right(f"{exercise} in few lines, the others as solved", {exercise: ONE_LINERS[exercise]})
        for exercise in EXERCISES
    ),
    # ---- found by new students ----
    right("the mean by torch, in float32",
        {
            "score_statistics": (
                (MEAN, "100 * penalty * torch.tensor(averaged).log().mean().exp().item()"),)}),
    mistake("all in small letters", "ngram_counts",
        (("zip(*(tokens[start:]", "zip(*([t.lower() for t in tokens][start:]"),),
        lost="values", hint="take tokens as they are"),
    mistake("the candidate is sorted in place", "count_matches",
        (("    common = found", "    candidate.sort()\n    common = found"),),
        lost="total", hint="work on a copy"),
    mistake("each reference undoes the one before", "count_matches",
        ((LARGEST, "        allowed = Counter({**allowed, **ngram_counts(reference, n)})\n"),),
        lost="references", hint="what one reference has undoes what another has"),
    mistake("nothing is clipped in a sentence", "sentence_statistics",
        (("(candidate, references, n)", "(candidate, references, n, clip=False)"),),
        lost="counts", hint="BLEU clips"),
    mistake("a repeated token counts once in the length", "sentence_statistics",
        (("candidate_length=len(candidate)", "candidate_length=len(set(candidate))"),),
        lost="counts", hint="every token counts, a repeated one too"),
    mistake("None stands for 0.1 everywhere", "smoothed_precisions",
        (("value = default_values[smoothing] if", "value = 0.1 if"),),
        lost="add-k", hint="smoothing_value is 1 for add-k"),
    mistake("rounded to two digits", "score_statistics",
        (("score=score,", "score=round(score, 2),"),), lost="mean", hint="not rounded"),
    mistake("pairs looked for in joined strings", "reordered",
        (("    together = {pair for reference in references for",
          "    joined = [' '.join(each) for each in references]\n"
          "    together = {pair for reference in references for"),
         ("pair not in together", "not any(' '.join(pair) in line for line in joined)")),
        lost="tokens", hint="compare whole words"),
    mistake("lists for keys", "ngram_counts",
        returns(COUNTER, f"Counter({RUNS.removeprefix('tuple')}len(tokens) - n + 1))"),
        lost="values short", hint="tuple(...)"),
    mistake("the first occurrence counts nothing", "ngram_counts",
        returns(COUNTER, f"Counter({{g: c - 1 for g, c in {COUNTER}.items()}})"),
        lost="values short", hint="begin with 1"),
    mistake("a dict, where Counters are joined", "ngram_counts",
        returns(COUNTER, f"dict({COUNTER})"),
        lost={"count_matches": "references"}, hint="as | does of two Counters"),
    mistake("a total that misses one", "count_matches", ((TOTAL, "max(len(candidate) - n, 0)"),),
        lost="total", hint="the last n-gram is missing"),
    mistake("a list of precisions, where a tuple is added", "smoothed_precisions",
        returns("tuple(precisions)", "precisions"),
        lost={"score_statistics": "mean"}, hint="joins a list to a list"),
    mistake("a dict of precisions", "smoothed_precisions",
        returns("tuple(precisions)", "dict(enumerate(precisions, 1))"),
        lost="none", hint="of type dict"),
    mistake("an array of precisions", "smoothed_precisions",
        (("return tuple(precisions)", "import numpy as np\n\n    return np.array(precisions)"),
         ("    if not any(statistics.matches):", "    if False:"),
         ("precisions.append(matches / total)",
          "precisions.append(matches / total if any(statistics.matches) else 0.0)")),
        lost="none", hint="return a tuple of numbers"),
    mistake("parts in a tuple", "score_statistics",
        (("    return BLEUScore(\n", "    return score, precisions, penalty\n    BLEUScore(\n"),),
        lost="mean", hint="return BLEUScore(...)"),
    mistake("each word looked for by itself", "reordered",
        (("{pair for reference in references for pair in pairwise(reference)}",
          "{word for reference in references for word in reference}"),
         ("pair not in together", "not together.issuperset(pair)")),
        lost="*", hint="though each may stand"),
    mistake("references joined to one", "reordered",
        (("{pair for reference in references for pair in pairwise(reference)}",
          "set(pairwise(word for reference in references for word in reference))"),),
        lost="tokens", hint="the end of a reference"),
    mistake("pieces sorted", "reordered", PIECES.format(turn="pieces.sort()"),
        lost="tokens", hint="draw or sort the pieces"),
    # ---- right but where an option, or a short sentence, comes in ----
    mistake("a reference without words is none", "count_matches",
        (("if not references:", "if not any(references):"),),
        lost="total", hint="at least one reference"),
    mistake("n is not looked at where there is no candidate", "count_matches",
        (("    found = ngram_counts(candidate, n)",
          "    if not candidate:\n        return 0, 0\n    found = ngram_counts(candidate, n)"),),
        lost="total", hint="for an empty candidate too"),
    mistake("a length of 0 is none", "closest_reference_length",
        (("if not reference_lengths:", "if not all(reference_lengths or [0]):"),),
        lost="closest", hint="at least one length"),
    mistake("a smoothing_value of 0 is not handed on", "score_statistics",
        (("smoothing, smoothing_value)", "smoothing, smoothing_value or None)"),),
        lost="zeros", hint="smoothing_value on to smoothed_precisions, 0 too"),
    mistake("totals below zero for short sentences", "sentence_statistics",
        (("total for _, total in counted", "len(candidate) - n + 1 for n in " + ORDERS),),
        lost="counts", hint="shorter than max_order"),
    mistake("the orders end where the candidate does", "sentence_statistics",
        ((ORDERS, "range(1, min(max_order, max(len(candidate), 1)) + 1)"),),
        lost="counts", hint="shorter than max_order"),
    mistake("the references are sorted in place", "sentence_statistics",
        (("    counted =", "    references.sort(key=len)\n    counted ="),),
        lost="counts", hint="work on a copy"),
    mistake("no penalty where there is smoothing", "score_statistics",
        ((MEAN, MEAN.replace("penalty", "(penalty if smoothing == 'none' else 1)")),),
        lost="brevity", hint="whatever is smoothed or left out"),
    mistake("no penalty where something is lifted", "score_statistics",
        ((MEAN, MEAN.replace("penalty", "(penalty if 0 not in statistics.matches else 1)")),),
        lost="brevity", hint="whatever is smoothed or left out"),
    mistake("no penalty with effective_order", "score_statistics",
        ((MEAN, MEAN.replace("penalty", "(1 if effective_order else penalty)")),),
        lost="brevity", hint="whatever is smoothed or left out"),
    mistake("the penalty of a zero is 1", "score_statistics",
        (("brevity_penalty=penalty", "brevity_penalty=penalty if score else 1.0"),),
        lost="brevity", hint="beside a score of 0 too"),
    mistake("the counts of a zero are lost", "score_statistics",
        (("statistics=statistics", "statistics=statistics if score else sum_statistics("
          "[BLEUStatistics(matches=(), totals=(), candidate_length=0, reference_length=0)])"),),
        lost="zeros", hint="the counts, as they were given"),
    mistake("as it was where pieces of two words are alike", "reordered",
        (("    raise ValueError(",
          "    if len(set(candidate)) > 1 and set(pairwise(candidate)) - together:\n"
          "        return list(candidate)\n    raise ValueError("),),
        lost="tokens", hint="the pieces are all alike"),
)  # fmt: skip
