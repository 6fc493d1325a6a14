"""Is BLEU the number that sacreBLEU reports, and does it count what the definition says?"""

import math
import random

import hypothesis.strategies as st
import pytest
import sacrebleu
from hypothesis import given, settings
from sacrebleu.metrics.bleu import BLEUScore as TheirScore
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from course_lib.metrics.bleu import (
    BLEUScore,
    brevity_penalty,
    corpus_bleu,
    score_statistics,
    sentence_bleu,
    smoothed_precisions,
    tokenize_13a,
)
from course_lib.metrics.bleu_statistics import BLEUStatistics
from tests.daily import with_proofs

CANDIDATE, *REFERENCES = map(
    str.split, ["the cat the cat on the mat", "the cat is on the mat", "there is a cat on the mat"]
)
SMOOTHINGS = [
    ("none", None),
    ("floor", None),
    ("floor", 0.01),
    ("floor", 0),
    ("add-k", None),
    ("add-k", 0.3),
    ("add-k", 0),
    ("exp", None),
]


def peer(candidates, references, *, tokenize="13a", **options) -> TheirScore:
    """Return sacreBLEU's score; its references are transposed: one list per reference."""
    most = max(map(len, references))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(most)]
    metric = sacrebleu.BLEU(tokenize=tokenize, force=True, **options)
    return metric.corpus_score(candidates, streams)


def assert_same(ours: BLEUScore, theirs: TheirScore) -> None:
    assert ours.score == pytest.approx(theirs.score, rel=1e-12, abs=1e-9)
    assert ours.brevity_penalty == pytest.approx(theirs.bp, rel=1e-12)
    assert ours.statistics.candidate_length == theirs.sys_len
    assert ours.statistics.reference_length == theirs.ref_len
    if any(ours.statistics.matches):  # sacreBLEU leaves all precisions out where nothing matches
        percent = [100 * precision for precision in ours.precisions]
        assert percent == pytest.approx(theirs.precisions, rel=1e-12)


def draw_sentence(rng: random.Random) -> str:
    # Few different words: n-grams repeat, clip, and are missing at high orders.
    words = rng.choices(["a", "b", "c,", "3.5", "-"], k=rng.randrange(0, 12))
    return " ".join(words)


# --- parity --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smoothing", "value"), SMOOTHINGS)
@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("max_order", with_proofs([1, 2, 4, 6], [1, 2, 6]))
def test_random_corpora_score_as_sacrebleu_scores_them(
    smoothing, value, effective_order, max_order
):
    rng = random.Random(f"{smoothing} {value} {effective_order} {max_order}")
    scores = []
    for _ in range(80):
        size = rng.choice([1, 1, 2, 5])
        candidates = [draw_sentence(rng) for _ in range(size)]
        references = [[draw_sentence(rng) for _ in range(rng.randint(1, 3))] for _ in range(size)]
        if rng.random() < 0.3:  # else there are hardly ever long matches
            candidates[0] = f"{references[0][-1]} {draw_sentence(rng)}"
        options = {"max_order": max_order, "smoothing": smoothing, "smoothing_value": value}
        ours = corpus_bleu(candidates, references, **options, effective_order=effective_order)
        options = {"max_ngram_order": max_order, "smooth_method": smoothing, "smooth_value": value}
        theirs = peer(candidates, references, **options, effective_order=effective_order)
        assert_same(ours, theirs)
        assert str(ours) == str(theirs)
        scores.append(ours.score)
    assert len({score for score in scores if score > 0}) >= 3  # zeros alone would prove little


@pytest.mark.parametrize(("smoothing", "value"), SMOOTHINGS[::3])
def test_single_sentences_score_as_sacrebleu_scores_them(smoothing, value):
    rng = random.Random(smoothing)
    for _ in range(200):
        candidate = draw_sentence(rng)
        references = [draw_sentence(rng) for _ in range(rng.randint(1, 3))]
        options = {"smooth_method": smoothing, "smooth_value": value}
        theirs = sacrebleu.sentence_bleu(candidate, references, **options)
        ours = sentence_bleu(candidate, references, smoothing=smoothing, smoothing_value=value)
        assert_same(ours, theirs)


@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.lists(st.text(max_size=30), min_size=1, max_size=3)),
        min_size=1,
        max_size=4,
    )
)
@settings(deadline=None)
def test_any_text_at_all_scores_as_sacrebleu_scores_it(pairs):
    candidates, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert_same(corpus_bleu(candidates, references), peer(candidates, references))


def test_tokens_are_taken_as_they_are():
    rng = random.Random(0)
    lines = [f"Zwei, {draw_sentence(rng)} d." for _ in range(50)]
    candidates, references = [line.split()[:-2] for line in lines], [[line] for line in lines]
    theirs = peer([" ".join(tokens) for tokens in candidates], references, tokenize="none")
    assert_same(corpus_bleu(candidates, [[line.split()] for line in lines]), theirs)
    joined = [" ".join(tokens) for tokens in candidates]
    assert_same(corpus_bleu(joined, references, tokenize=str.split), theirs)


# --- the tokeniser -------------------------------------------------------------------------------

peer_tokenize = Tokenizer13a()
SIGNS = "".join(chr(code) for code in range(32, 127))


@given(st.text(alphabet=SIGNS + "09a\n\t é€\u00a0", max_size=40))
@settings(deadline=None, max_examples=500)
def test_tokens_are_those_of_sacrebleu(text):
    assert tokenize_13a(text) == peer_tokenize(text.rstrip()).split()


def test_each_sign_is_split_as_sacrebleu_splits_it():
    texts = (
        *(f"a{sign}b" for sign in SIGNS),
        *(f"1{sign}2" for sign in SIGNS),
        "1.a a.1 1,a a,1 .1 1. ,1 1, 1-a a-1 1- -1 A ... B.. C,, 1..2 1,,2",
        "&quot;&amp;&lt;&gt; &amp;lt; &nbsp; a <skipped> b<skipped>c",
        "hyphen-\nated and\nnew line\n at the end-\n",
    )
    for text in texts:
        assert tokenize_13a(text) == peer_tokenize(text.rstrip()).split(), text


# --- the definition, by hand ---------------------------------------------------------------------


def test_brevity_penalty_and_worked_example_by_hand():
    assert brevity_penalty(6, 7) == pytest.approx(math.exp(-1 / 6))
    assert brevity_penalty(0, 3) == 0.0
    assert brevity_penalty(0, 0) == brevity_penalty(7, 7) == brevity_penalty(8, 7) == 1.0
    score = sentence_bleu(CANDIDATE, REFERENCES, smoothing="none", max_order=3)
    # 1-grams: the 2, cat 1, on, mat; 2-grams: 4 of 6; 3-grams: cat on the, on the mat
    assert score.precisions == (5 / 7, 4 / 6, 2 / 5)
    assert score.brevity_penalty == 1.0  # 7 tokens against 6 and 7: the closest has 7
    assert score.score == pytest.approx(100 * (5 / 7 * 4 / 6 * 2 / 5) ** (1 / 3))


def test_orders_without_ngrams_have_no_precision_but_count_as_zero_in_a_score():
    counted = BLEUStatistics(
        matches=(2, 1, 0, 0), totals=(2, 1, 0, 0), candidate_length=2, reference_length=2
    )
    assert smoothed_precisions(counted) == (1, 1)
    assert score_statistics(counted).score == 0
    assert score_statistics(counted).precisions == (1, 1, 0, 0)
    assert score_statistics(counted, effective_order=True).score == 100


def test_candidates_without_a_common_word_and_empty_ones_score_0():
    for smoothing, value in SMOOTHINGS:
        score = sentence_bleu("a b c d", ["e f g h"], smoothing=smoothing, smoothing_value=value)
        assert score.score == 0
        assert score.precisions == (0, 0, 0, 0)
    assert sentence_bleu("", [""]).score == sentence_bleu("", ["a b"]).score == 0


# --- wrong arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "references must be a list", lambda: sentence_bleu("a", "a")),
        (TypeError, "both be strings or both be tokens", lambda: sentence_bleu(["a"], ["a"])),
        (TypeError, "both be strings or both be tokens", lambda: sentence_bleu("a", [["a"]])),
        (ValueError, "at least one", lambda: sentence_bleu("a", [])),
        (ValueError, "one of .* 'laplace'", lambda: sentence_bleu("a", ["a"], smoothing="laplace")),
        (ValueError, "negative, got -1", lambda: sentence_bleu("a", ["a"], smoothing_value=-1)),
        (ValueError, "got nan", lambda: sentence_bleu("a", ["a"], smoothing_value=math.nan)),
        (TypeError, "candidates must be a sequence", lambda: corpus_bleu("ab", [["a"], ["b"]])),
        (ValueError, "candidates must hold at least one", lambda: corpus_bleu([], [])),
        (ValueError, "got 1 for 2 candidates", lambda: corpus_bleu(["a", "b"], [["a"]])),
        (ValueError, "candidate_length=-1", lambda: brevity_penalty(-1, 2)),
        (ValueError, "reference_length=-2", lambda: brevity_penalty(1, -2)),
    ],
)
def test_invalid_arguments_are_rejected(error, message, call):
    with pytest.raises(error, match=message):
        call()
