"""Do samples follow the distribution that they are drawn from?

Frequencies are held to probabilities by a chi-square test with fixed seeds: it fails by chance once
in 10,000 seeds, and these seeds were not chosen.
"""

import math
from functools import partial

import pytest
import torch
from transformers.generation.logits_process import TopKLogitsWarper, TopPLogitsWarper

from course_lib.generation.greedy_search import greedy
from course_lib.generation.sampling import keep_top_k, keep_top_p, sample
from course_lib.generation.step_models import UncachedModel
from tests.course_lib.language_tables import (
    EOS,
    NO_DISTRIBUTIONS,
    START,
    LanguageTable,
    breaking,
    cycle,
)

LOGITS = torch.tensor([0.3, -1.0, 1.2, 0.0, 2.0, -0.4], dtype=torch.float64)
DRAWS = 20_000


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def frequencies(**options) -> torch.Tensor:
    """Return how often ``sample`` draws each token if the logits are LOGITS at every step."""
    found = sample(
        UncachedModel(lambda tokens: LOGITS.expand(*tokens.shape, -1)),
        torch.zeros(DRAWS // 4, 1, dtype=torch.int64),
        eos_id=None,
        max_new_tokens=4,
        generator=seeded(),
        **options,
    )
    tokens = torch.tensor([h.tokens for h in found]).flatten()
    return torch.bincount(tokens, minlength=len(LOGITS))


def assert_follows(counts: torch.Tensor, probabilities: torch.Tensor) -> None:
    possible = probabilities > 0
    assert (counts[~possible] == 0).all()
    expected = probabilities[possible] * counts.sum()
    statistic = ((counts[possible] - expected) ** 2 / expected).sum()
    freedom = torch.tensor(len(expected) - 1, dtype=torch.float64)
    assert torch.special.gammaincc(freedom / 2, statistic / 2) > 1e-4  # the p-value


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_follows_the_tempered_distribution(temperature):
    counts = frequencies(temperature=temperature)
    assert_follows(counts, (LOGITS / temperature).softmax(0))


def test_temperature_comes_first_then_top_k_then_top_p():
    tempered = (LOGITS / 3).softmax(0)
    tempered[[1, 3, 5]] = 0  # top 3: tokens 4, 2, 0
    tempered /= tempered.sum()  # 0.43, 0.33, 0.24: only now do two of them make up 0.7
    tempered[0] = 0
    assert_follows(frequencies(temperature=3.0, top_k=3, top_p=0.7), tempered / tempered.sum())


def test_top_k_and_top_p_equal_transformers():
    logits = torch.randn(50, 30, generator=seeded()) * 3
    for k in (1, 2, 7, 30, 99):
        assert torch.equal(keep_top_k(logits, k), TopKLogitsWarper(k)(None, logits))
    for p in (0.05, 0.3, 0.8, 0.99):
        assert torch.equal(keep_top_p(logits, p), TopPLogitsWarper(p)(None, logits))
    assert torch.equal(keep_top_p(logits, 1.0), logits)


def test_one_token_is_always_kept_and_borders_are_exact():
    logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).double().log()
    for p, kept in [(0.5, 1), (0.500001, 2), (0.75, 2), (0.76, 3), (1e-9, 1)]:
        assert int(keep_top_p(logits, p).isfinite().sum()) == kept
    assert keep_top_k(logits, 3).isfinite().all()  # two share the third place


def test_reports_the_models_own_log_probability():
    language = LanguageTable(5, seed=1)
    prompts = torch.full((20, 1), START)
    found = sample(
        language.begin(),
        prompts,
        eos_id=EOS,
        max_new_tokens=6,
        generator=seeded(4),
        temperature=1.7,
        top_k=4,
        top_p=0.95,
    )
    lengths = {len(h.tokens) for h in found}
    assert len(lengths) > 2
    for hypothesis in found:
        assert hypothesis.finished == (hypothesis.tokens[-1] == EOS)
        assert EOS not in hypothesis.tokens[:-1]
        assert hypothesis.finished or len(hypothesis.tokens) == 6
        expected = language.log_probability([START], hypothesis.tokens)
        assert hypothesis.log_probability == pytest.approx(expected, rel=1e-12)
        assert hypothesis.score == hypothesis.log_probability


def test_same_seed_same_sample_and_the_global_seed_stays():
    language = LanguageTable(9, seed=1)

    def draw(seed):
        return sample(
            language.begin(),
            torch.full((8, 1), START),
            eos_id=EOS,
            max_new_tokens=9,
            generator=seeded(seed),
        )

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert torch.equal(torch.rand(3), expected)


def test_stops_reading_when_each_sequence_has_ended():
    model, prompt = cycle().begin(), torch.tensor([[2], [3]])
    found = sample(model, prompt, eos_id=EOS, max_new_tokens=50, generator=seeded())
    assert [h.tokens for h in found] == [(EOS,), (2, EOS)]
    assert model.tokens.size(1) == 2


@pytest.mark.parametrize("search", [greedy, partial(sample, generator=seeded())])
def test_without_an_end_token_no_tensor_is_read(monkeypatch, search):
    """On a GPU each step would wait for the one before."""

    def fail(_):
        raise AssertionError("a tensor was read")

    model = UncachedModel(lambda tokens: torch.zeros(*tokens.shape, 5))
    monkeypatch.setattr(torch.Tensor, "__bool__", fail)
    (found,) = search(model, torch.tensor([[START]]), eos_id=None, max_new_tokens=3)
    assert len(found.tokens) == 3


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("temperature", 0.0, "temperature"),
        ("temperature", -1.0, "temperature"),
        ("temperature", math.inf, "temperature"),
        ("temperature", math.nan, "temperature"),
        ("top_k", 0, "k must"),
        ("top_p", 0.0, "p must"),
        ("top_p", 1.1, "p must"),
    ],
)
def test_settings_out_of_range_are_rejected(option, value, name):
    options = {"eos_id": EOS, "max_new_tokens": 3, "generator": seeded()} | {option: value}
    with pytest.raises(ValueError, match=name):
        sample(LanguageTable(3).begin(), torch.tensor([[START]]), **options)


@pytest.mark.parametrize("logits", NO_DISTRIBUTIONS.values(), ids=NO_DISTRIBUTIONS)
@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.9}], ids=str)
def test_logits_that_give_no_distribution_are_rejected(logits, options):
    model, prompt = breaking(logits, row=0, step=2), torch.zeros(2, 1, dtype=torch.int64)
    options = {"eos_id": None, "max_new_tokens": 3, "generator": seeded()} | options
    with pytest.raises(ValueError, match="row 0, step 2: the model's logits give no distribution"):
        sample(model, prompt, **options)


def test_no_temperature_is_too_low():
    model = UncachedModel(lambda tokens: torch.tensor([-2.0, 5.0, 1.0]).expand(*tokens.shape, 3))
    options = {"max_new_tokens": 5, "generator": seeded(), "temperature": 1e-42}
    (found,) = sample(model, torch.tensor([[START]]), eos_id=None, **options)
    assert found.tokens == (1,) * 5
