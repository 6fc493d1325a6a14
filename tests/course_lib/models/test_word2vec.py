"""Do pairs, loss and gradients equal those worked out by hand, and are neighbours the nearest?"""

import math

import pytest
import torch

from course_lib.data.context_pairs import context_pairs, context_windows, noise_distribution
from course_lib.models.word2vec import CBOW, SkipGram, nearest_neighbours, negative_sampling_loss

V, D, PAD_ID = 7, 4, 0


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def randomised(model):
    """Draw all vectors of a model at random, in place, and return the model in float64."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, generator=seeded(parameter.numel()))
    with torch.no_grad():
        model.output.weight.mul_(1.5)  # the two tables differ
    return model.double()


# training pairs -----------------------------------------------------------------------------------


def test_pairs_are_those_within_the_window_and_the_sentence():
    expected = [[1, 2], [1, 3], [2, 1], [2, 3], [2, 4], [3, 1], [3, 2], [3, 4], [4, 2], [4, 3]]
    assert context_pairs([[1, 2, 3, 4]], window=2).tolist() == expected
    assert context_pairs([[1, 2], [3], [4, 5]], window=3).tolist() == [
        [1, 2],
        [2, 1],
        [4, 5],
        [5, 4],
    ]
    assert context_pairs([], window=1).shape == (0, 2)
    assert context_pairs([[5, 5]], window=1).tolist() == [[5, 5], [5, 5]]


def test_windows_hold_the_same_neighbours_filled_up():
    words, near = context_windows([[1, 2, 3, 4], [5]], window=2, pad_id=9)
    assert words.tolist() == [1, 2, 3, 4]
    assert near.tolist() == [[2, 3, 9, 9], [1, 3, 4, 9], [1, 2, 4, 9], [2, 3, 9, 9]]
    words, near = context_windows([], window=2, pad_id=9)
    assert (words.shape, near.shape) == ((0,), (0, 4))
    assert words.dtype == near.dtype == torch.long


@pytest.mark.parametrize("window", [0, -1])
def test_window_must_hold_something(window):
    with pytest.raises(ValueError, match=f"window must be at least 1, got {window}"):
        context_pairs([[1, 2]], window=window)
    with pytest.raises(ValueError, match=f"window must be at least 1, got {window}"):
        context_windows([[1, 2]], window=window, pad_id=0)


def test_noise_evens_frequencies_out():
    noise = noise_distribution(torch.tensor([0, 16, 81]))
    torch.testing.assert_close(noise, torch.tensor([0, 8, 27]).double() / 35)  # 2 ** 3, 3 ** 3
    torch.testing.assert_close(
        noise_distribution(torch.tensor([0, 1, 3]), power=1), torch.tensor([0, 0.25, 0.75]).double()
    )
    assert noise_distribution(torch.tensor([0, 1, 3]), power=0).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("counts", "power", "message"),
    [
        ([0, 0], 1, "counts must be a vector"),
        ([-1, 2], 1, "counts must be a vector"),
        ([[1, 2]], 1, "counts must be a vector"),
        ([1], -1, "power must be finite and not negative, got -1"),
        ([1], math.inf, "power must be finite"),
    ],
)
def test_bad_counts_and_powers_are_rejected(counts, power, message):
    with pytest.raises(ValueError, match=message):
        noise_distribution(torch.tensor(counts), power=power)


# the models ---------------------------------------------------------------------------------------


def test_skip_gram_scores_are_dot_products_of_both_tables():
    model = randomised(SkipGram(V, D))
    words, candidates = torch.tensor([2, 5]), torch.tensor([[1, 1, 6], [0, 5, 3]])
    scores = model.embedding.weight[[2, 5]] @ model.output.weight.T
    torch.testing.assert_close(model(words), scores)
    torch.testing.assert_close(model.score(words, candidates), scores.gather(1, candidates))


def test_cbow_scores_the_mean_of_the_neighbours_without_padding():
    model = randomised(CBOW(V, D, pad_id=PAD_ID))
    context, candidates = torch.tensor([[2, 5, 0, 0], [3, 3, 1, 4]]), torch.tensor([[1, 6], [0, 5]])
    E = model.embedding.weight
    means = torch.stack([(E[2] + E[5]) / 2, (2 * E[3] + E[1] + E[4]) / 4])
    scores = means @ model.output.weight.T
    with torch.no_grad():
        E[PAD_ID] = torch.nan
    torch.testing.assert_close(model(context), scores)
    torch.testing.assert_close(model.score(context, candidates), scores.gather(1, candidates))


def test_vectors_start_as_those_of_word2vec():
    for model in (SkipGram(500, 8), CBOW(500, 8, pad_id=0)):
        given = model.embedding.weight.detach()
        assert not model.output.weight.any()
        assert float(given.abs().max()) <= 0.5 / 8
        assert float(given.std()) == pytest.approx(1 / 8 / math.sqrt(12), rel=0.1)


def test_cbow_rejects_bad_padding():
    for pad_id in (-1, V):
        with pytest.raises(ValueError, match=f"pad_id must be from 0 to 6, got {pad_id}"):
            CBOW(V, D, pad_id=pad_id)
    with pytest.raises(ValueError, match="at least one word in each row"):
        CBOW(V, D, pad_id=0)(torch.tensor([[1, 2], [0, 0]]))


# the loss -----------------------------------------------------------------------------------------


def test_loss_is_the_papers_formula_and_does_not_underflow():
    log_sigmoid = lambda x: -math.log1p(math.exp(-x))
    positive, negative = torch.tensor([2.0, -1.0]), torch.tensor([[0.5, -3.0], [0.0, 1.0]])
    by_hand = [
        -log_sigmoid(2.0) - log_sigmoid(-0.5) - log_sigmoid(3.0),
        -log_sigmoid(-1.0) - log_sigmoid(0.0) - log_sigmoid(-1.0),
    ]
    loss = negative_sampling_loss(positive, negative)
    assert float(loss) == pytest.approx(sum(by_hand) / 2, rel=1e-6)
    loss = negative_sampling_loss(torch.tensor([-500.0]), torch.tensor([[500.0]]))
    assert float(loss) == pytest.approx(1000)


def test_gradients_are_those_derived_by_hand():
    """For a given vector e: dL/de = (s(o_t.e) - 1) o_t + sum s(o_n.e) o_n; likewise for o."""
    model = randomised(SkipGram(V, D))
    word, true, noise = 2, 5, [1, 6, 1]  # a noise word can be drawn twice
    scores = model.score(torch.tensor([word]), torch.tensor([[true, *noise]]))
    negative_sampling_loss(scores[:, 0], scores[:, 1:]).backward()
    e, O = model.embedding.weight[word].detach(), model.output.weight.detach()
    error = {token: torch.sigmoid(O[token] @ e) for token in {true, *noise}}
    given = (error[true] - 1) * O[true] + sum(error[n] * O[n] for n in noise)
    torch.testing.assert_close(model.embedding.weight.grad[word], given)
    guessed = torch.zeros_like(O)
    guessed[true] = (error[true] - 1) * e
    guessed[1] = 2 * error[1] * e
    guessed[6] = error[6] * e
    torch.testing.assert_close(model.output.weight.grad, guessed)
    assert not model.embedding.weight.grad[torch.arange(V) != word].any()


def test_scores_whose_shapes_do_not_fit_are_rejected():
    for shapes in (((3, 1), (3, 1)), ((3,), (2, 5)), ((3,), (5,))):
        with pytest.raises(ValueError, match=r"positive must have shape \(batch,\)"):
            negative_sampling_loss(*(torch.zeros(shape) for shape in shapes))


# neighbours ---------------------------------------------------------------------------------------


def test_nearest_are_those_of_the_smallest_angle():
    vectors = torch.tensor([[1.0, 0], [10, 1], [0, 3], [-1, 0], [1, 1]], requires_grad=True)
    indices, cosines = nearest_neighbours(vectors, 0, count=4)
    assert indices.tolist() == [1, 4, 2, 3]
    torch.testing.assert_close(
        cosines, torch.tensor([10 / math.sqrt(101), 1 / math.sqrt(2), 0.0, -1.0])
    )
    assert not cosines.requires_grad
    for word in (-1, 5):
        with pytest.raises(IndexError, match=f"word must be from 0 to 4, got {word}"):
            nearest_neighbours(vectors, word, count=1)
    for count in (0, 5):
        with pytest.raises(ValueError, match=f"count must be from 1 to 4, got {count}"):
            nearest_neighbours(vectors, 0, count=count)
