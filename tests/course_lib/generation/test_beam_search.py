"""Does beam search find what exhaustive search finds, and what transformers finds?"""

import functools
import math

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from course_lib.generation.beam_search import beam_search
from course_lib.generation.greedy_search import greedy
from course_lib.generation.hypothesis import Hypothesis
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import UncachedModel
from tests.course_lib.language_tables import EOS, NO_DISTRIBUTIONS, START, LanguageTable, breaking

PENALTIES = {
    "none": PowerPenalty(0.0),
    "length": PowerPenalty(1.0),
    "more than length": PowerPenalty(2.5),
    "Wu et al.": lambda length: ((5 + length) / 6) ** 0.6,  # the first few tokens count less
    "Wu et al., more": lambda length: ((5 + length) / 6) ** 2,
}
with_each_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


def search(model, prompt, **options) -> list[Hypothesis]:
    """Return the hypotheses for one prompt, by default of a beam of three."""
    (found,) = beam_search(
        model, torch.tensor([prompt]), **({"beam_size": 3, "eos_id": EOS} | options)
    )
    return found


def best_of_all(language, prompt, longest, penalty, count):
    """Return the ``count`` best (score, sequence) pairs of at most ``longest`` new tokens.

    All sequences are tried. The score is the log-probability over ``penalty(len(sequence))``.
    """
    scored = [
        (language.log_probability(prompt, tokens) / penalty(len(tokens)), tokens)
        for tokens in language.sentences(longest)
    ]
    return sorted(scored, reverse=True)[:count]


# --- against exhaustive search -------------------------------------------------------------------


@with_each_penalty
@pytest.mark.parametrize(("vocab_size", "longest"), [(2, 6), (3, 5), (5, 3), (4, 1)])
def test_a_beam_wide_enough_is_exact(vocab_size, longest, penalty):
    language = LanguageTable(vocab_size, seed=vocab_size)
    wide = vocab_size**longest  # as many as there are sequences
    count = min(6, wide)
    prompts = [[START, 1], [1, 0], [0, 1]]
    found = beam_search(
        language.begin(),
        torch.tensor(prompts),
        beam_size=wide,
        eos_id=EOS,
        max_new_tokens=longest,
        length_penalty=penalty,
        num_results=count,
    )
    for prompt, hypotheses in zip(prompts, found, strict=True):
        expected = best_of_all(language, prompt, longest, penalty, count)
        assert [h.tokens for h in hypotheses] == [tokens for _, tokens in expected]
        for hypothesis, (score, tokens) in zip(hypotheses, expected, strict=True):
            assert hypothesis.score == pytest.approx(score, rel=1e-6)
            total = language.log_probability(prompt, tokens)
            assert hypothesis.log_probability == pytest.approx(total, rel=1e-6)
            assert hypothesis.finished == (tokens[-1] == EOS)


def test_default_is_the_mean_log_probability_of_a_token():
    (found,) = search(LanguageTable(5, seed=1).begin(), [2], max_new_tokens=6)
    assert found.score == pytest.approx(found.log_probability / len(found.tokens))


# --- batches, limits, ends -----------------------------------------------------------------------


def test_a_vocabulary_of_the_end_alone_has_one_sequence():
    model = UncachedModel(lambda tokens: torch.zeros(*tokens.shape, 1))
    assert [h.tokens for h in search(model, [0], max_new_tokens=3)] == [(0,)]


def test_there_may_be_fewer_results_than_asked():
    language = LanguageTable(2)  # one word and the end: 3 sequences of at most 2 tokens
    found = search(language.begin(), [1], beam_size=8, max_new_tokens=2, num_results=8)
    assert sorted(h.tokens for h in found) == [(0,), (1, 0), (1, 1)]


def test_stops_as_soon_as_nothing_can_win():
    language = LanguageTable(5)
    language.logits[:, :, EOS] = 8.0
    options = {"max_new_tokens": 60, "length_penalty": PowerPenalty(0.0)}
    model = language.begin()
    (found,) = search(model, [2], **options)
    assert found.tokens == (EOS,)
    assert model.tokens.shape == (1, 1)  # the prompt alone was read
    model = language.begin()
    assert len(search(model, [2], num_results=3, **options)) == 3
    assert model.tokens.shape == (3, 2)


def test_goes_on_while_a_longer_sequence_may_still_win():
    # The end is likely at first. Once past it, each token is almost certain: with the mean
    # log-probability as score the longest sequence wins, long after the first has ended.
    language = LanguageTable(3, spread=0.0)
    language.logits[:, 1, EOS] = 1.0  # after START
    language.logits[:, 2, 2] = 6.0
    (found,) = search(language.begin(), [START], beam_size=2, max_new_tokens=12)
    assert found.tokens == (2,) * 12
    assert not found.finished


def test_never_ends_without_an_end_token():
    language = LanguageTable(4)
    language.logits[:, :, EOS] = 20.0
    (found,) = search(language.begin(), [2], eos_id=None, max_new_tokens=5)
    assert found.tokens == (EOS,) * 5
    assert not found.finished


def test_log_probabilities_do_not_underflow_over_a_thousand_steps():
    model = UncachedModel(lambda tokens: torch.zeros(4).expand(tokens.size(0), 1, -1))
    (found,) = search(model, [1], beam_size=2, eos_id=None, max_new_tokens=1000)
    assert found.log_probability == pytest.approx(1000 * math.log(0.25), rel=1e-4)
    assert found.score == pytest.approx(math.log(0.25), rel=1e-4)


def test_model_reads_the_prompt_once_and_is_not_reordered_for_nothing():
    calls = []

    class Watched(UncachedModel):
        def advance(self, tokens):
            calls.append(("advance", tuple(tokens.shape)))
            return super().advance(tokens)

        def reorder(self, indices):
            calls.append(("reorder", indices.tolist()))
            super().reorder(indices)

    language = LanguageTable(3, spread=0.0)
    language.logits[:, :, 1] = 3.0
    language.logits[:, :, 2] = 2.0
    language.logits[:, 2, :] = 0.0  # a token after 2 is never better than one after 1
    beam_search(
        Watched(language),
        torch.tensor([[1, 1, 1], [1, 1, 1]]),
        beam_size=1,
        eos_id=EOS,
        max_new_tokens=3,
    )
    assert calls == [("advance", (2, 3)), ("advance", (2, 1)), ("advance", (2, 1))]
    calls.clear()
    search(Watched(language), [1, 1, 1], beam_size=2, max_new_tokens=2)
    assert calls == [("advance", (1, 3)), ("reorder", [0, 0]), ("advance", (2, 1))]


def test_reads_no_more_often_for_more_prompts(monkeypatch):
    """On a GPU, reading a tensor's number waits for all operations before it."""
    read = []

    def counted(method):
        return lambda tensor, *args: (read.append(1), method(tensor, *args))[1]

    for name in ("item", "tolist", "__int__", "__bool__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, counted(getattr(torch.Tensor, name)))
    counts = []
    for batch in (1, 8):
        read.clear()
        model = UncachedModel(lambda tokens: torch.zeros(*tokens.shape, 6))
        prompt = torch.ones(batch, 1, dtype=torch.int64)
        beam_search(model, prompt, beam_size=3, eos_id=2, max_new_tokens=3, num_results=3)
        counts.append(len(read))
    assert counts[0] == counts[1]


# --- against transformers ------------------------------------------------------------------------

VOCAB = 20


@functools.cache
def build_gpt2(seed: int) -> GPT2LMHeadModel:
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=16,
        n_layer=2,
        n_head=2,
        initializer_range=0.5,  # logits far enough apart for ranks to be sure
        bos_token_id=START,
        eos_token_id=EOS,
        pad_token_id=EOS,
    )
    return GPT2LMHeadModel(config).eval()


def as_step_model(gpt2: GPT2LMHeadModel) -> UncachedModel:
    return UncachedModel(lambda tokens: gpt2(input_ids=tokens, use_cache=False).logits)


def draw_prompts(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, VOCAB, (3, 4), generator=generator)


def cut(row: list[int]) -> tuple[int, ...]:
    return tuple(row[: row.index(EOS) + 1]) if EOS in row else tuple(row)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("alpha", "size"), [(1.0, 5), (0.0, 4), (2.0, 3), (0.6, 2)])
def test_beams_equal_those_of_transformers(alpha, size, seed):
    gpt2, prompts = build_gpt2(seed), draw_prompts(seed)
    theirs = gpt2.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        num_beams=size,
        num_return_sequences=size,
        max_new_tokens=8,
        length_penalty=alpha,
        early_stopping="never",  # the one of its stopping rules that never misses a better one
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
    )
    ours = beam_search(
        as_step_model(gpt2),
        prompts,
        beam_size=size,
        eos_id=EOS,
        max_new_tokens=8,
        length_penalty=PowerPenalty(alpha),
        num_results=size,
    )
    flat = [hypothesis for found in ours for hypothesis in found]
    sequences = theirs.sequences[:, prompts.size(1) :].tolist()
    assert [h.tokens for h in flat] == [cut(row) for row in sequences]
    scores = torch.tensor([h.score for h in flat])
    torch.testing.assert_close(scores, theirs.sequences_scores, rtol=1e-4, atol=1e-5)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("beam_size", 0, "beam_size must be at least 1, got 0"),
        ("num_results", 0, "num_results must be from 1 to beam_size=2, got 0"),
        ("num_results", 3, "num_results must be from 1 to beam_size=2, got 3"),
    ],
)
def test_errors(option, value, message):
    options = {"beam_size": 2, "max_new_tokens": 3} | {option: value}
    with pytest.raises(ValueError, match=message):
        search(LanguageTable(3).begin(), [1], **options)


def test_impossible_sequence_is_no_result():
    """In a language of two sentences a beam of three finds just these, and no longer ones."""
    sentences = ((2, 3, EOS), (3, EOS))

    def possible(tokens):
        logits = torch.full((*tokens.shape, 4), -math.inf)
        for row, read in enumerate(tokens.tolist()):
            written = tuple(read[1:])
            following = {s[len(written)] for s in sentences if s[: len(written)] == written != s}
            logits[row, -1, list(following or range(4))] = 0.0
        return logits

    found = search(UncachedModel(possible), [START], max_new_tokens=5, num_results=3)
    assert sorted(one.tokens for one in found) == sorted(sentences)
    assert all(one.finished and one.log_probability > -math.inf for one in found)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("logits", NO_DISTRIBUTIONS.values(), ids=NO_DISTRIBUTIONS)
def test_logits_that_give_no_distribution_are_rejected(logits, beam_size):
    prompt = torch.zeros(2, 1, dtype=torch.int64)
    for step in (1, 3):  # in the middle, and at the limit
        model = breaking(logits, row=1 if step == 1 else -1, step=step)
        with pytest.raises(ValueError, match=f"row 1, step {step}: the model's logits give no"):
            beam_search(model, prompt, beam_size=beam_size, eos_id=None, max_new_tokens=3)


def test_logits_after_an_impossible_sequence_are_ignored():
    """Only two of three beams can be filled; NaN after the third is no error."""

    def language_model(tokens):
        logits = torch.tensor([0.5, 0.0, -math.inf, -math.inf]).expand(*tokens.shape, 4).clone()
        logits[(tokens > 1).any(dim=1)] = math.nan
        return logits

    options = {"eos_id": 3, "max_new_tokens": 1, "num_results": 3}
    found = search(UncachedModel(language_model), [0], **options)
    assert [h.tokens for h in found] == [(0,), (1,)]
    (found, *_) = search(UncachedModel(language_model), [0], **options | {"max_new_tokens": 2})
    assert found.tokens == (0, 0)


@pytest.mark.parametrize("vocab_size", [2, 5, 64, 3000])
@pytest.mark.parametrize("eos_id", [None, 1])
def test_one_beam_breaks_ties_as_greedy_does(vocab_size, eos_id):
    """Logits of few values: at each step many tokens are equally probable."""
    table = torch.randint(3, (vocab_size, vocab_size), generator=torch.Generator().manual_seed(1))
    prompt = torch.arange(min(vocab_size, 20))[:, None]
    expected, found = (
        run(UncachedModel(lambda tokens: table[tokens].float()), prompt, eos_id=eos_id,
            max_new_tokens=9)
        for run in (
            greedy,
            # No sequence that goes on past an end is better than the one that ends.
            functools.partial(beam_search, beam_size=1, length_penalty=PowerPenalty(alpha=0.0)),
        )
    )  # fmt: skip
    assert [h.tokens for (h,) in found] == [h.tokens for h in expected]


def test_one_beam_sees_a_difference_that_the_sum_rounds_away():
    """The best log-probability is larger by 1e-6; in a sum near -1000 that is rounded away."""
    step = torch.tensor([0.0, 1e-6]).log_softmax(-1).repeat(1, 500)

    def language_model(tokens):
        return step.expand(*tokens.shape, 1000)

    options = {"eos_id": None, "max_new_tokens": 150}
    for found in (
        *greedy(UncachedModel(language_model), torch.tensor([[0]]), **options),
        *search(UncachedModel(language_model), [0], beam_size=1, **options),
    ):
        assert found.tokens == (1,) * 150
