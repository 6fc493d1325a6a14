"""Does greedy search take the best token at each step, and add up what it took?"""

import math

import pytest
import torch

from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import UncachedModel
from tests.course_lib.language_tables import (
    EOS,
    NO_DISTRIBUTIONS,
    START,
    LanguageTable,
    breaking,
    cycle,
)


def by_hand(language: LanguageTable, prompt: list[int], limit: int) -> tuple[int, ...]:
    """Return the tokens of greedy search, up to the end token or ``limit``, by a plain loop."""
    history = [EOS, *prompt]
    for _ in range(limit):
        history.append(int(language.logits[history[-2], history[-1]].argmax()))
        if history[-1] == EOS:
            break
    return tuple(history[1 + len(prompt) :])


@pytest.mark.parametrize("seed", range(6))
def test_equals_a_plain_loop(seed):
    language = LanguageTable(5, seed=seed)
    prompts = torch.tensor([[START, 2], [START, 3], [4, 4]])
    found = greedy(language.begin(), prompts, eos_id=EOS, max_new_tokens=9)
    for hypothesis, prompt in zip(found, prompts.tolist(), strict=True):
        tokens = by_hand(language, prompt, 9)
        assert hypothesis.tokens == tokens
        assert hypothesis.finished == (tokens[-1] == EOS)
        expected = language.log_probability(prompt, tokens)
        assert hypothesis.log_probability == pytest.approx(expected, rel=1e-12)
        assert hypothesis.score == hypothesis.log_probability


def test_stops_reading_when_each_sequence_has_ended():
    language = cycle()
    model = language.begin()
    found = greedy(model, torch.tensor([[2], [3]]), eos_id=EOS, max_new_tokens=7)
    assert [(h.tokens, h.finished) for h in found] == [((EOS,), True), ((2, EOS), True)]
    assert model.tokens.size(1) == 2
    (found,) = greedy(language.begin(), torch.tensor([[2]]), eos_id=None, max_new_tokens=4)
    assert (found.tokens, found.finished) == ((EOS, 3, 2, EOS), False)


def test_adds_up_in_float64_what_a_float32_model_says():
    logits = torch.linspace(0, 3, 7)  # float32
    model = UncachedModel(lambda tokens: logits.expand(*tokens.shape, -1))
    (found,) = greedy(model, torch.tensor([[2]]), eos_id=None, max_new_tokens=300)
    one = logits.log_softmax(-1).max().item()
    assert found.log_probability == pytest.approx(300 * one, rel=1e-13)


@pytest.mark.parametrize("logits", NO_DISTRIBUTIONS.values(), ids=NO_DISTRIBUTIONS)
def test_logits_that_give_no_distribution_are_rejected(logits):
    model, prompt = breaking(logits, row=1, step=2), torch.zeros(2, 1, dtype=torch.int64)
    with pytest.raises(ValueError, match="row 1, step 2: the model's logits give no distribution"):
        greedy(model, prompt, eos_id=None, max_new_tokens=3)


def test_tokens_after_the_end_are_ignored():
    def language_model(tokens):
        ended = (tokens == 2).any(dim=1)
        logits = torch.tensor([0.0, 0.0, 1.0]).expand(*tokens.shape, 3).clone()
        logits[~ended, :, 2] = -1.0 if tokens.size(1) < 3 else 1.0
        logits[ended & (tokens.size(1) > 2)] = math.nan
        return logits

    found = greedy(
        UncachedModel(language_model), torch.tensor([[0, 2], [0, 0]]), eos_id=2, max_new_tokens=3
    )
    assert [h.tokens for h in found] == [(2,), (0, 2)]
