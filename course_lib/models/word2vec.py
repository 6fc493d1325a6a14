"""Word vectors: CBOW predicts a word from its neighbours, skip-gram its neighbours from a word.

Each word has two vectors, one as a given word and one as a predicted word; the first is kept after
training.

Dimensions: batch; context (neighbours given); num_candidates; num_negatives; d_embedding;
vocab_size.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.validation import check_at_least


class SkipGram(nn.Module):
    """Predict a word's neighbours: the score of a neighbour is the dot product of both vectors.

    >>> model = SkipGram(vocab_size=9, d_embedding=4)
    >>> model(torch.tensor([3, 5])).shape
    torch.Size([2, 9])

    Args:
        vocab_size: Number of token ids.
        d_embedding: Width of the vectors.

    Attributes:
        embedding: ``nn.Embedding(vocab_size, d_embedding)``, the vectors of given words.
        output: ``nn.Embedding(vocab_size, d_embedding)``, the vectors of predicted words.

    Source: Mikolov et al. (2013a), section 3.2; chapter "Language models".
    """

    def __init__(self, vocab_size: int, d_embedding: int) -> None:
        super().__init__()
        self.embedding, self.output = _two_tables(vocab_size, d_embedding)

    def forward(self, words: Tensor) -> Tensor:
        """Score every word as a neighbour of ``(batch,)`` words: logits ``(batch, vocab_size)``."""
        return self.embedding(words) @ self.output.weight.T  # (batch, vocab_size)

    def score(self, words: Tensor, candidates: Tensor) -> Tensor:
        """Return logits of candidates ``(batch, num_candidates)`` as neighbours of words."""
        return _dot_products(self.embedding(words), self.output(candidates))


class CBOW(nn.Module):
    """Predict a word from the mean of its neighbours' vectors: a continuous bag of words.

    ``embedding`` and ``output`` are those of ``SkipGram``.

    >>> model = CBOW(vocab_size=9, d_embedding=4, pad_id=0)
    >>> model(torch.tensor([[3, 5], [7, 0]])).shape  # the second word has one neighbour
    torch.Size([2, 9])

    Args:
        vocab_size: Number of token ids.
        d_embedding: Width of the vectors.
        pad_id: The token id of padding, which is left out of the mean.

    Raises:
        ValueError: A size is not positive, or ``pad_id`` is no token id.

    Source: Mikolov et al. (2013a), section 3.1; chapter "Language models".
    """

    def __init__(self, vocab_size: int, d_embedding: int, *, pad_id: int) -> None:
        super().__init__()
        self.embedding, self.output = _two_tables(vocab_size, d_embedding)
        if not 0 <= pad_id < vocab_size:
            raise ValueError(f"pad_id must be from 0 to {vocab_size - 1}, got {pad_id}")
        self.pad_id = pad_id

    def forward(self, context: Tensor) -> Tensor:
        """Score every word as the one in the middle: logits ``(batch, vocab_size)``.

        The context is ``(batch, context)``, padded with ``pad_id``, at least one word in each row.
        """
        return self._mean(context) @ self.output.weight.T  # (batch, vocab_size)

    def score(self, context: Tensor, candidates: Tensor) -> Tensor:
        """Return logits of candidates ``(batch, num_candidates)`` as the word in the middle."""
        return _dot_products(self._mean(context), self.output(candidates))

    def _mean(self, context: Tensor) -> Tensor:
        """Return the mean vector of each row's words, ``(batch, d_embedding)``."""
        is_word = context != self.pad_id  # (batch, context)
        number = is_word.sum(dim=-1, keepdim=True)  # (batch, 1)
        if bool((number == 0).any()):
            raise ValueError("context must hold at least one word in each row, got only padding")
        vectors = self.embedding(context)  # (batch, context, d_embedding)
        vectors = vectors.masked_fill(~is_word[..., None], 0.0)
        return vectors.sum(dim=1) / number  # (batch, d_embedding)


def negative_sampling_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Return the loss of classifying words as true neighbours or as noise.

    It takes the place of a softmax over all words.

    Computes ``-log sigmoid(positive) - sum of log sigmoid(-negative)``, in nats, and returns the
    mean over the batch. ``positive``, ``(batch,)``, are the scores of true neighbours,
    ``negative``, ``(batch, num_negatives)``, those of words drawn as noise; other shapes are a
    ValueError.

    Source: Mikolov et al. (2013b), section 2.2, equation 4; chapter "Language models".
    """
    if positive.dim() != 1 or negative.shape[:-1] != positive.shape:
        raise ValueError(
            "positive must have shape (batch,) and negative (batch, num_negatives), "
            f"got {tuple(positive.shape)} and {tuple(negative.shape)}"
        )
    losses = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)  # (batch,)
    return losses.mean()


def nearest_neighbours(vectors: Tensor, word: int, *, count: int) -> tuple[Tensor, Tensor]:
    """Find the words whose vectors have the smallest angles to a word's vector.

    Args:
        vectors: ``(vocab_size, d_embedding)``, such as ``model.embedding.weight``.
        word: The token id whose neighbours to find.
        count: Number of words to find.

    Returns:
        Their token ids ``(count,)``, the nearest first, and the cosines of the angles ``(count,)``,
        -1 to 1. The word itself is not among them.

    Raises:
        IndexError: ``word`` is not from 0 to ``vocab_size - 1``.
        ValueError: ``count`` is not from 1 to ``vocab_size - 1``.

    Source: chapter "Language models".
    """
    vocab_size = vectors.size(0)
    if not 0 <= word < vocab_size:
        raise IndexError(f"word must be from 0 to {vocab_size - 1}, got {word}")
    if not 1 <= count < vocab_size:
        raise ValueError(f"count must be from 1 to {vocab_size - 1}, got {count}")
    cosines = F.cosine_similarity(vectors.detach(), vectors[word].detach(), dim=-1)  # (vocab_size,)
    others = torch.arange(vocab_size, device=vectors.device) != word
    nearest = cosines.masked_fill(~others, -torch.inf).topk(count)
    return nearest.indices, nearest.values


def _two_tables(vocab_size: int, d_embedding: int) -> tuple[nn.Embedding, nn.Embedding]:
    """Return new embeddings of given words, small, and of predicted words, zero."""
    check_at_least(1, vocab_size=vocab_size, d_embedding=d_embedding)
    embedding = nn.Embedding(vocab_size, d_embedding)
    output = nn.Embedding(vocab_size, d_embedding)
    # As word2vec starts: small vectors for given words, zeros for predicted words.
    nn.init.uniform_(embedding.weight, -0.5 / d_embedding, 0.5 / d_embedding)
    nn.init.zeros_(output.weight)
    return embedding, output


def _dot_products(given: Tensor, candidates: Tensor) -> Tensor:
    """Return each row's dot products with its candidates, ``(batch, num_candidates)``."""
    return (candidates @ given[:, :, None])[..., 0]  # (batch, num_candidates)
