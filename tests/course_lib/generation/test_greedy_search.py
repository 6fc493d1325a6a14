"""Does greedy search take the best token at each step, and add up what it took?"""

import math

import pytest
import torch

from course_lib.generation.greedy_search import greedy
from course_lib.generation.step_models import RecurrentStepModel, UncachedModel
from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder, Seq2Seq
from tests.course_lib.language_tables import EOS, NO_DISTRIBUTIONS, START, LanguageTable, breaking


def by_hand(language: LanguageTable, prompt: list[int], limit: int) -> tuple[int, ...]:
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


def test_stops_reading_when_all_have_ended():
    language = LanguageTable(4)
    language.logits[:, :, EOS] = 20.0
    model = language.begin()
    prompts = torch.tensor([[2], [3]])
    found = greedy(model, prompts, eos_id=EOS, max_new_tokens=50)
    assert [h.tokens for h in found] == [(EOS,), (EOS,)]
    assert torch.equal(model.tokens, prompts)


def test_never_ends_without_an_end_token():
    language = LanguageTable(4)
    language.logits[:, :, EOS] = 20.0
    (found,) = greedy(language.begin(), torch.tensor([[2]]), eos_id=None, max_new_tokens=7)
    assert found.tokens == (EOS,) * 7
    assert not found.finished


def test_adds_up_in_float64_what_a_float32_model_says():
    logits = torch.linspace(0, 3, 7)  # float32
    model = UncachedModel(lambda tokens: logits.expand(*tokens.shape, -1))
    (found,) = greedy(model, torch.tensor([[2]]), eos_id=None, max_new_tokens=300)
    one = logits.log_softmax(-1).max().item()
    assert found.log_probability == pytest.approx(300 * one, rel=1e-13)


def test_drives_a_recurrent_model():
    torch.manual_seed(0)
    encoder = RecurrentEncoder(9, 4, 5)
    model = Seq2Seq(encoder, RecurrentDecoder(7, 4, 6, encoder.d_memory))
    src, lengths = torch.randint(9, (3, 5)), torch.tensor([5, 2, 3])
    prompt = torch.full((3, 1), START)
    found = greedy(
        RecurrentStepModel(model.decoder, model.encoder(src, lengths)),
        prompt,
        eos_id=EOS,
        max_new_tokens=6,
    )
    for row, hypothesis in enumerate(found):
        tgt = torch.tensor([[START, *hypothesis.tokens]])
        logits = model(src[row : row + 1], tgt, lengths[row : row + 1])[0, :-1]
        assert tuple(logits.argmax(-1).tolist()) == hypothesis.tokens
        total = logits.log_softmax(-1).gather(1, tgt[0, 1:, None]).sum().item()
        assert hypothesis.log_probability == pytest.approx(total, rel=1e-5)


def test_refuses_to_write_nothing():
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        greedy(LanguageTable(3).begin(), torch.tensor([[1]]), eos_id=EOS, max_new_tokens=0)


def test_recomputing_model_has_nothing_to_reorder_at_first():
    with pytest.raises(ValueError, match="advance must be called"):
        LanguageTable(3).begin().reorder(torch.tensor([0]))


@pytest.mark.parametrize("logits", NO_DISTRIBUTIONS.values(), ids=NO_DISTRIBUTIONS)
def test_logits_that_give_no_distribution_are_refused(logits):
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
