"""Are counts, probabilities and perplexities those worked out by hand, and the nets the formulas?

The n-grams are those of three sentences: "I am Sam", "Sam I am", "I do not like green eggs and
ham", whose bigram probabilities Jurafsky and Martin (2025, section 3.1) print.
"""

import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from course_lib.metrics.perplexity import perplexity, token_log_probabilities
from course_lib.models.neural_lm import NeuralLanguageModel
from course_lib.models.ngram import KneserNeyModel, NGramModel
from course_lib.models.rnn_lm import RecurrentLanguageModel
from course_lib.tokenization.vocabulary import BOS, EOS, Vocabulary
from tests.processor_time import limited_to

TEXTS = [s.split() for s in ("I am Sam", "Sam I am", "I do not like green eggs and ham")]
WORDS = Vocabulary(
    tokens=(BOS, EOS, *sorted({word for text in TEXTS for word in text})),
    specials=(BOS, EOS),
    unknown=None,
)
V = len(WORDS) - 1  # all but the start token can come
SENTENCES = [[*WORDS.encode(text), WORDS.id_of(EOS)] for text in TEXTS]
BOS_ID, EOS_ID = WORDS.id_of(BOS), WORDS.id_of(EOS)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def counted(order, **options):
    model = NGramModel(order, len(WORDS), bos_id=BOS_ID, **options)
    model.count(SENTENCES)
    return model


def probability(model, word, history=""):
    distribution = model.next_token_distribution(WORDS.encode(history.split()))
    return float(distribution[WORDS.id_of(word)])


# n-grams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "history", "expected"),
    [
        ("I", "", 2 / 3),
        ("Sam", "", 1 / 3),
        ("am", "I", 2 / 3),
        (EOS, "Sam", 1 / 2),
        ("Sam", "am", 1 / 2),
        ("do", "I", 1 / 3),
        ("ham", "I", 0),
        ("am", "Sam do not I", 2 / 3),  # the last token alone matters
        ("am", f"{BOS} I", 2 / 3),
    ],
)
def test_bigrams_are_those_of_the_textbook(word, history, expected):
    assert probability(counted(2), word, history) == pytest.approx(expected)


def test_a_further_corpus_is_counted_beside_the_first():
    model = counted(2)
    assert probability(model, "am", "I") == pytest.approx(2 / 3)
    model.count([WORDS.encode(["I", "am"])])
    assert probability(model, "am", "I") == pytest.approx(3 / 4)


def test_unigrams_are_shares_of_all_tokens():
    assert probability(counted(1), "I", "am") == pytest.approx(3 / 17)
    assert probability(counted(1), EOS) == pytest.approx(3 / 17)


def test_add_k_adds_to_every_count():
    model = counted(2, k=0.5)
    assert probability(model, "am", "I") == pytest.approx((2 + 0.5) / (3 + 0.5 * V))
    assert probability(model, "ham", "I") == pytest.approx(0.5 / (3 + 0.5 * V))
    assert probability(counted(3, k=1), "ham", "ham ham") == pytest.approx(1 / V)  # never came


def test_interpolation_mixes_the_orders():
    model = counted(3, weights=(0.1, 0.3, 0.6))
    expected = 0.1 * 2 / 17 + 0.3 * 1 / 2 + 0.6 * 1 / 2
    assert probability(model, "Sam", "I am") == pytest.approx(expected)
    smoothed = counted(2, weights=(0.25, 0.75), k=2)
    expected = 0.25 * (2 + 2) / (17 + 2 * V) + 0.75 * (1 + 2) / (2 + 2 * V)
    assert probability(smoothed, "Sam", "am") == pytest.approx(expected)
    # "ham am" never came, "am" did: 0.1 and 0.3 become 0.25 and 0.75
    expected = 0.25 * 2 / 17 + 0.75 * 1 / 2
    assert probability(model, "Sam", "ham am") == pytest.approx(expected)
    assert probability(counted(2), "ham", EOS) == pytest.approx(1 / V)  # nothing follows the end


def kneser_ney(order, discount=0.75):
    model = KneserNeyModel(order, len(WORDS), bos_id=BOS_ID, discount=discount)
    model.count(SENTENCES)
    return model


@pytest.mark.parametrize(
    "model",
    [
        counted(3),
        counted(3, k=0.1),
        counted(3, weights=(0.2, 0.3, 0.5)),
        counted(3, k=3, weights=(0, 0.5, 0.5)),
        kneser_ney(1),
        kneser_ney(2, 1.0),
        kneser_ney(3),
    ],
)
def test_distributions_sum_to_one_and_agree_with_the_scores_of_single_tokens(model):
    for history in ("", "I", "am Sam", "ham ham", "green eggs and"):
        distribution = model.next_token_distribution(WORDS.encode(history.split()))
        assert (distribution.dtype, distribution.shape) == (torch.float64, (len(WORDS),))
        assert float(distribution.sum()) == pytest.approx(1, abs=1e-12)
        assert float(distribution.min()) >= 0
        assert distribution[BOS_ID] == 0
        assert not isinstance(model, KneserNeyModel) or (distribution > 0).sum() == V
    text = WORDS.encode(["I", "am", "ham", "I", "do", "like", "green", "Sam"])
    among_all = [model.next_token_distribution(text[:t])[token] for t, token in enumerate(text)]
    torch.testing.assert_close(model.log_probabilities(text), torch.stack(among_all).log())


def test_log_probabilities_of_a_sentence_are_in_nats():
    log_p = counted(2).log_probabilities(SENTENCES[1])  # Sam I am EOS
    expected = [1 / 3, 1 / 2, 2 / 3, 1 / 2]
    torch.testing.assert_close(log_p.exp(), torch.tensor(expected).double())
    assert counted(2).log_probabilities(WORDS.encode(["am"])).tolist() == [-math.inf]
    assert counted(2).log_probabilities([]).shape == (0,)


def test_as_a_function_an_ngram_model_predicts_each_next_token():
    model = counted(3, k=0.5)
    logits = model(torch.tensor([[BOS_ID, *sentence[:-1]] for sentence in SENTENCES[:2]]))
    assert logits.shape == (2, 4, len(WORDS))
    scored = token_log_probabilities(logits, torch.tensor(SENTENCES[:2]))
    expected = [model.log_probabilities(sentence) for sentence in SENTENCES[:2]]
    torch.testing.assert_close(scored, torch.stack(expected))


def test_generated_sentences_follow_the_bigrams():
    model, dice = counted(2), seeded()
    written = [model.generate(eos_id=EOS_ID, max_length=30, generator=dice) for _ in range(300)]
    for sentence in written:
        assert EOS_ID not in sentence[:-1]
        assert bool((model.log_probabilities(sentence) > -math.inf).all())
    begin_with_i = sum(sentence[0] == WORDS.id_of("I") for sentence in written) / 300
    assert abs(begin_with_i - 2 / 3) < 0.09
    assert len(model.generate(eos_id=BOS_ID, max_length=7, generator=seeded())) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": 0}, "order must be at least 1, got 0"),
        ({"vocab_size": 1}, "vocab_size must be at least 2, got 1"),
        ({"bos_id": 5}, "bos_id must be from 0 to 4, got 5"),
        ({"bos_id": -1}, "bos_id must be from 0 to 4, got -1"),
        ({"k": -0.1}, "k must be finite and not negative, got -0.1"),
        ({"k": math.inf}, "k must be finite"),
        ({"weights": (1.0,)}, "weights must be 2 numbers"),
        ({"weights": (0.5, 0.6)}, "of sum 1"),
        ({"weights": (-0.5, 1.5)}, "none negative"),
    ],
)
def test_bad_settings_of_an_ngram_model_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        NGramModel(**({"order": 2, "vocab_size": 5, "bos_id": 0} | change))


def test_bad_tokens_are_rejected_by_an_ngram_model():
    model = counted(2)
    for call in (lambda s: model.count([s]), model.log_probabilities):
        with pytest.raises(IndexError, match=r"token ids must be from 0 to 11, got 12"):
            call([12])
        with pytest.raises(IndexError, match="got -1"):
            call([-1])
        with pytest.raises(ValueError, match="must not hold the start token"):
            call([BOS_ID])
    with pytest.raises(ValueError, match="max_length must be at least 1, got 0"):
        model.generate(eos_id=EOS_ID, max_length=0, generator=seeded())


def test_kneser_ney_counts_predecessors_in_the_lower_orders():
    # 15 different pairs; "I" came after the start and "Sam", "Sam" after the start and "am"
    assert probability(kneser_ney(2), "am", "I") == pytest.approx((1.25 + 1.5 * 1 / 15) / 3)
    assert probability(kneser_ney(2), "ham", "I") == pytest.approx((0 + 1.5 * 1 / 15) / 3)
    assert probability(kneser_ney(2), "Sam", "I") == pytest.approx((0 + 1.5 * 2 / 15) / 3)
    of_order_2 = (0.25 + 1.5 * 2 / 15) / 2  # "am Sam" came after one token only, "am EOS" too
    assert probability(kneser_ney(3), "Sam", "I am") == pytest.approx((0.25 + 1.5 * of_order_2) / 2)
    assert probability(kneser_ney(3), "Sam", "ham am") == pytest.approx(of_order_2)  # never came
    assert probability(kneser_ney(1, 0.5), "I") == pytest.approx((2.5 + 0.5 * V / V) / 17)


def test_kneser_ney_counts_beside_what_was_counted():
    at_once, in_turn = kneser_ney(3), KneserNeyModel(3, len(WORDS), bos_id=BOS_ID)
    for sentence in SENTENCES:
        in_turn.count([sentence])
    history = WORDS.encode(["I"])
    expected = at_once.next_token_distribution(history)
    torch.testing.assert_close(in_turn.next_token_distribution(history), expected)


def test_counting_and_scoring_many_sentences_take_seconds():
    """Rebuilding counts of shorter n-grams at each call, or looping over all words, is slow."""
    sentences = torch.randint(1, 20_000, (3_000, 8), generator=seeded()).tolist()
    model = KneserNeyModel(3, 20_000, bos_id=0)
    with limited_to(10):
        for sentence in sentences:
            model.count([sentence])
        scored = [model.log_probabilities(sentence) for sentence in sentences]
        whole = model.log_probabilities([token for sentence in sentences for token in sentence])
    assert len(whole) == 24_000
    torch.testing.assert_close(whole[2:8], scored[0][2:])


@pytest.mark.parametrize("discount", [0, -0.1, 1.1, math.nan])
def test_bad_discounts_are_rejected(discount):
    with pytest.raises(ValueError, match="discount must be above 0 and at most 1"):
        KneserNeyModel(2, 5, bos_id=0, discount=discount)


# perplexity ---------------------------------------------------------------------------------------


def test_perplexity_is_the_inverse_geometric_mean_of_the_probabilities():
    log_p = torch.tensor([[0.5, 0.25, 0.1]]).log()
    assert perplexity(log_p) == pytest.approx((1 / (0.5 * 0.25 * 0.1)) ** (1 / 3))
    assert perplexity(torch.zeros(4)) == 1
    assert perplexity(torch.tensor([0.0, -math.inf])) == math.inf


def test_perplexity_counts_tokens_and_not_padding():
    # Two sentences of one and three tokens: each token weighs the same, whatever its sentence.
    log_p = torch.tensor([[0.5, 0.9, 0.9], [0.1, 0.1, 0.1]]).log()
    is_counted = torch.tensor([[True, False, False], [True, True, True]])
    assert perplexity(log_p, is_counted) == pytest.approx((1 / (0.5 * 0.001)) ** 0.25)


def test_token_log_probabilities_are_those_of_cross_entropy():
    logits = torch.randn(4, 5, 9, generator=seeded(), dtype=torch.float64)
    targets = torch.randint(9, (4, 5), generator=seeded())
    expected = -F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    torch.testing.assert_close(token_log_probabilities(logits, targets), expected)


@pytest.mark.parametrize(
    ("log_p", "is_counted", "error", "message"),
    [
        ([-1.0, 0.5], None, ValueError, r"must be at most 0 \(nats\), got a largest of 0\.5"),
        ([math.nan], None, ValueError, "must be at most 0"),
        ([-1.0], [False], ValueError, "at least one token must be counted"),
        ([-1.0], [1], TypeError, r"is_counted must be boolean .* got torch\.int64"),
        ([-1.0], [[True]], ValueError, r"\(1,\), got \(1, 1\)"),
    ],
)
def test_what_is_no_log_probability_is_rejected(log_p, is_counted, error, message):
    with pytest.raises(error, match=message):
        perplexity(torch.tensor(log_p), None if is_counted is None else torch.tensor(is_counted))


def test_targets_of_another_shape_are_rejected():
    with pytest.raises(ValueError, match="logits must have the shape of targets and vocab_size"):
        token_log_probabilities(torch.zeros(2, 3, 4), torch.zeros(3, 2, dtype=torch.long))


# the neural model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("context_size", [1, 3])
def test_neural_model_is_the_papers_formula_written_as_loops(context_size):
    model = NeuralLanguageModel(7, context_size, d_embedding=4, d_hidden=5, bos_id=1).double()
    tokens = torch.tensor([[1, 3, 6, 0], [1, 2, 2, 5]])
    logits = model(tokens)
    assert logits.shape == (2, 4, 7)
    C, H, d = model.embedding.weight, model.hidden.weight, model.hidden.bias
    U, b = model.output.weight, model.output.bias
    for row, sentence in enumerate(tokens.tolist()):
        for t in range(4):
            window = [*[1] * (context_size - 1), *sentence][t : t + context_size]  # oldest first
            x = torch.cat([C[token] for token in window])
            y = b + U @ torch.tanh(d + H @ x)
            torch.testing.assert_close(logits[row, t], y)


def test_a_bos_id_outside_the_vocabulary_is_rejected():
    with pytest.raises(ValueError, match="bos_id must be from 0 to 6, got 7"):
        NeuralLanguageModel(7, 3, d_embedding=4, d_hidden=5, bos_id=7)


# the recurrent model ------------------------------------------------------------------------------


def build_recurrent(**choices):
    return RecurrentLanguageModel(7, d_embedding=4, d_hidden=5, **choices).double()


def test_recurrent_model_is_the_papers_formula_written_as_a_loop():
    model = build_recurrent()
    tokens = torch.tensor([[1, 3, 6, 0], [1, 2, 2, 5]])
    [cell] = model.recurrent.cells
    assert isinstance(cell, RNNCell)
    h = torch.zeros(2, 5, dtype=torch.float64)
    for t in range(4):
        e = model.embedding.weight[tokens[:, t]]
        h = torch.tanh(cell.input_projection(e) + cell.hidden_projection(h))
        torch.testing.assert_close(
            model(tokens)[:, t], h @ model.output.weight.T + model.output.bias
        )


@pytest.mark.parametrize("cell", [RNNCell, GRUCell, LSTMCell])
def test_recurrent_model_reads_in_pieces_as_it_reads_at_once(cell):
    model = build_recurrent(cell=cell, num_layers=2)
    tokens = torch.randint(7, (3, 9), generator=seeded())
    whole, last = model.read(tokens)
    pieces, state = [], None
    for piece in tokens.split([1, 5, 3], dim=1):
        logits, state = model.read(piece, state)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)
    torch.testing.assert_close(state, last)
    torch.testing.assert_close(model(tokens), whole)
