"""Does the diagnosis blame the search when the model knew better, and the model when it did not?"""

import pytest
import torch

from course_lib.generation.beam_search import beam_search
from course_lib.generation.diagnosis import Fault, diagnose, score_sequences
from course_lib.generation.greedy_search import greedy
from course_lib.generation.length_penalty import PowerPenalty
from tests.course_lib.language_tables import EOS, NO_DISTRIBUTIONS, START, LanguageTable, breaking

PROMPT = torch.tensor([[START, 2]])
TOTAL = PowerPenalty(0.0)


def garden_path() -> LanguageTable:
    """Return a language that misleads greedy search.

    After START 2, token 2 looks best, but 3 and then the end is more probable.
    """
    language = LanguageTable(5, spread=0.0)
    language.logits[START, 2] = torch.tensor([0.0, 0.0, 2.1, 2.0, 0.0])
    language.logits[2, 3] = torch.tensor([9.0, 0.0, 0.0, 0.0, 0.0])
    return language


def run(language, output, reference, **options):
    """Call ``diagnose`` for an output after PROMPT, by default without a length penalty."""
    options = {"eos_id": EOS, "length_penalty": TOTAL} | options
    return diagnose(language.begin(), PROMPT, output=output, reference=reference, **options)


def test_blames_the_search_that_missed_what_the_model_prefers():
    language = garden_path()
    output = greedy(language.begin(), PROMPT, eos_id=EOS, max_new_tokens=4)[0].tokens
    found = run(language, output, (3, EOS))
    assert found.fault is Fault.SEARCH
    assert found.reference.log_probability > found.output.log_probability
    # The remedy is the one that the diagnosis names: a wider beam finds the reference.
    ((wider,),) = beam_search(
        language.begin(), PROMPT, beam_size=2, eos_id=EOS, max_new_tokens=4, length_penalty=TOTAL
    )
    assert wider.tokens == (3, EOS)


def test_blames_the_model_that_prefers_its_own_output_or_finds_both_as_good():
    found = run(garden_path(), (3, EOS), (2, 2, 2, EOS))
    assert found.fault is Fault.MODEL
    assert found.output.tokens == (3, EOS)
    assert found.reference.tokens == (2, 2, 2, EOS)
    found = run(LanguageTable(5, spread=0.0), [3, EOS], [2, EOS])
    assert found.reference.score == found.output.score
    assert found.fault is Fault.MODEL


def test_blames_nothing_when_the_output_is_the_reference():
    assert run(garden_path(), [3, EOS], (3, EOS)).fault is Fault.NONE


def test_compares_the_scores_that_the_search_maximises():
    # Six sure tokens after one less likely: less probable as a whole, more so by the token.
    language = LanguageTable(3, spread=0.0)
    language.logits[:, :, 2] = 1.0
    long, short = (2,) * 6, (1,)
    assert run(language, short, long).fault is Fault.MODEL
    by_token = diagnose(language.begin(), PROMPT, output=short, reference=long, eos_id=EOS)
    assert by_token.fault is Fault.SEARCH
    assert by_token.reference.score == pytest.approx(by_token.reference.log_probability / 6)
    assert by_token.output.score == by_token.output.log_probability


def test_scores_equal_a_plain_loop_whatever_the_lengths():
    language = LanguageTable(5, seed=3)
    sequences = [(2, 4, 3, EOS), (EOS,), (4, 4), (3, 1, 2, 2, 1, 3)]
    scored = score_sequences(language.begin(), PROMPT, sequences, eos_id=EOS)
    for found, tokens in zip(scored, sequences, strict=True):
        assert found.tokens == tokens
        assert found.finished == (tokens[-1] == EOS)
        expected = language.log_probability(PROMPT[0].tolist(), tokens)
        assert found.log_probability == pytest.approx(expected, rel=1e-12)
        assert found.score == found.log_probability


@pytest.mark.parametrize(
    ("prompt", "sequences", "message"),
    [
        ([[1], [1]], [[1]], r"prompt must be \(1, prompt_len\), got \(2, 1\)"),
        ([[1]], [], "at least one token"),
        ([[1]], [[1], []], "at least one token"),
        ([[1]], [[1, EOS, 2], [1, EOS]], "goes on after the end token 0"),
    ],
)
def test_sequences_that_cannot_be_scored_are_rejected(prompt, sequences, message):
    with pytest.raises(ValueError, match=message):
        score_sequences(LanguageTable(3).begin(), torch.tensor(prompt), sequences, eos_id=EOS)


@pytest.mark.parametrize("logits", NO_DISTRIBUTIONS.values(), ids=NO_DISTRIBUTIONS)
def test_logits_that_give_no_distribution_are_rejected(logits):
    model = breaking(logits, row=-1, step=2)
    with pytest.raises(ValueError, match="step 2: the model's logits give no distribution"):
        score_sequences(model, torch.tensor([[0]]), [[1, 2], [0, 1]], eos_id=None)
