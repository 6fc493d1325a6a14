"""N-gram language models: counts of the tokens after the last few.

Dimensions: batch; length (tokens); vocab_size.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor


class _Followers:
    """Counts of the tokens that came after one history; ``total`` is their sum."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.total = 0
        self._tensors: tuple[Tensor, Tensor] | None = None  # cached until the next add

    def add(self, token: int) -> None:
        """Count a token."""
        self.counts[token] += 1
        self.total += 1
        self._tensors = None

    def tensors(self) -> tuple[Tensor, Tensor]:
        """Return the different tokens, int64, and their counts, float64, ``(types,)`` each."""
        if self._tensors is None:
            tokens = torch.tensor(list(self.counts), dtype=torch.int64)
            self._tensors = tokens, torch.tensor(list(self.counts.values()), dtype=torch.float64)
        return self._tensors


class NGramModel:
    """Predict the next token from the last ``order - 1``, by counting in a corpus.

    The estimate of each order n from 1 to ``order``, with h the last n - 1 tokens::

        p_n(w | h) = (count(h w) + k) / (count(h) + k * vocab_size)

    and the model is their mixture, ``p(w | history) = sum over n of weights[n - 1] * p_n(w | h)``.
    With all weight on the highest order it is add-k smoothing, and with k = 0 plain counting. If
    k = 0 and h never came, p_n does not exist; its weight goes to the other orders in proportion to
    theirs, and if no order has any weight, all tokens are equally probable.

    The start token fills the history where a sentence begins. It is never predicted, and is not
    counted in the formula's ``vocab_size``.

    >>> model = NGramModel(order=2, vocab_size=4, bos_id=0)
    >>> model.count([[1, 2, 3], [1, 2, 2, 3]])
    >>> model.next_token_distribution([1])  # 2 always came after 1
    tensor([0., 0., 1., 0.], dtype=torch.float64)

    Args:
        order: The n of n-gram: 1 uses no history, 2 one token.
        vocab_size: Number of token ids.
        bos_id: The token id that stands before each sentence.
        k: Added to each count.
        weights: One for each order, from 1 up, none negative, of sum 1; all on the highest if None.

    Attributes:
        weights: One for each order.

    Source: Jelinek and Mercer (1980) for the mixture; Jurafsky and Martin (2025), chapter 3;
        chapter "Language models".
    """

    def __init__(
        self,
        order: int,
        vocab_size: int,
        *,
        bos_id: int,
        k: float = 0.0,
        weights: Sequence[float] | None = None,
    ) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1, got {order}")
        if vocab_size < 2:
            raise ValueError(f"vocab_size must be at least 2, got {vocab_size}")
        if not 0 <= bos_id < vocab_size:
            raise ValueError(f"bos_id must be from 0 to {vocab_size - 1}, got {bos_id}")
        if not 0 <= k < math.inf:
            raise ValueError(f"k must be finite and not negative, got {k}")
        if weights is None:
            weights = (*[0.0] * (order - 1), 1.0)
        if len(weights) != order or min(weights) < 0 or not math.isclose(sum(weights), 1):
            raise ValueError(
                f"weights must be {order} numbers, none negative, of sum 1, got {tuple(weights)}"
            )
        self.order = order
        self.vocab_size = vocab_size
        self.bos_id = bos_id
        self.k = k
        self.weights = tuple(weights)
        self._followers: defaultdict[tuple[int, ...], _Followers] = defaultdict(_Followers)

    def count(self, sentences: Iterable[Sequence[int]]) -> None:
        """Count the n-grams of sentences, of every order, in addition to earlier ones.

        A sentence is its tokens and the end token, without start token or padding.
        """
        for sentence in sentences:
            self._check(sentence)
            for position, token in enumerate(sentence):
                window = self._window(sentence, position)
                for n in range(1, self.order + 1):
                    self._add(window[self.order - n :], token)

    def next_token_distribution(self, history: Sequence[int]) -> Tensor:
        """Return the probabilities of the next token, float64 ``(vocab_size,)``.

        That of the start token is 0. Only the last ``order - 1`` tokens of the history count; at
        the beginning of a sentence the history is empty.
        """
        mixture = torch.zeros(self.vocab_size, dtype=torch.float64)
        for weight, followers, total in self._estimates(self._window(history, len(history))):
            estimate = torch.full_like(mixture, self.k)  # (vocab_size,)
            tokens, counts = followers.tensors()
            estimate[tokens] += counts
            mixture += weight * estimate / total
        if not mixture.any():
            mixture += 1
        mixture[self.bos_id] = 0.0
        return mixture / mixture.sum()

    def log_probabilities(self, sentence: Sequence[int]) -> Tensor:
        """Return the log-probability of each token of a sentence, float64 ``(length,)``, in nats.

        ``-inf`` for a token that the model finds impossible.
        """
        self._check(sentence)
        probabilities = [
            self._probability(self._window(sentence, position), token)
            for position, token in enumerate(sentence)
        ]
        return torch.tensor(probabilities, dtype=torch.float64).log()

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return log-probabilities ``(batch, length, vocab_size)``, float64, as logits.

        ``tokens``, ``(batch, length)``, are the start token, then the sentence; position t is about
        the token after ``tokens[:, t]``.
        """
        return torch.stack(
            [
                torch.stack(
                    [
                        self.next_token_distribution(self._window(row, t + 1))
                        for t in range(len(row))
                    ]
                )
                for row in tokens.tolist()
            ]
        ).log()

    def generate(self, *, eos_id: int, max_length: int, generator: torch.Generator) -> list[int]:
        """Return the token ids of a random sentence.

        It ends with the end token ``eos_id``, or after ``max_length`` tokens. The generator is one
        of the CPU.
        """
        if not 0 <= eos_id < self.vocab_size:
            raise ValueError(f"eos_id must be from 0 to {self.vocab_size - 1}, got {eos_id}")
        if max_length < 1:
            raise ValueError(f"max_length must be at least 1, got {max_length}")
        written: list[int] = []
        while len(written) < max_length and eos_id not in written[-1:]:
            distribution = self.next_token_distribution(written)
            written.append(int(torch.multinomial(distribution, 1, generator=generator)))
        return written

    def _add(self, history: tuple[int, ...], token: int) -> None:
        """Count a token after a history."""
        self._followers[history].add(token)

    def _window(self, tokens: Sequence[int], end: int) -> tuple[int, ...]:
        """Return the last ``order - 1`` of the first ``end`` tokens, padded with start tokens."""
        length = self.order - 1
        known = tokens[max(end - length, 0) : end]
        return (*[self.bos_id] * (length - len(known)), *known)

    def _estimates(self, window: tuple[int, ...]) -> Iterator[tuple[float, _Followers, float]]:
        """Yield weight, counts and denominator of each estimate of the token after ``window``.

        There is one for each n from 1 up, from the last n - 1 tokens; it is left out if its weight
        is zero or the tokens never occurred in training.
        """
        for n, weight in enumerate(self.weights, start=1):
            followers = self._followers.get(window[self.order - n :], _Followers())
            total = followers.total + self.k * (self.vocab_size - 1)
            if weight > 0 and total > 0:
                yield weight, followers, total

    def _probability(self, window: tuple[int, ...], token: int) -> float:
        """Return the probability of one token after a window, without computing the others."""
        mixture = known_weight = 0.0
        for weight, followers, total in self._estimates(window):
            mixture += weight * (followers.counts[token] + self.k) / total
            known_weight += weight
        return mixture / known_weight if known_weight else 1 / (self.vocab_size - 1)

    def _check(self, sentence: Sequence[int]) -> None:
        """Raise an error if a sentence holds the start token, or a number that is no token id."""
        for token in sentence:
            if not 0 <= token < self.vocab_size:
                raise IndexError(f"token ids must be from 0 to {self.vocab_size - 1}, got {token}")
            if token == self.bos_id:
                raise ValueError(f"a sentence must not hold the start token, got {token}")


class KneserNeyModel(NGramModel):
    """Predict the next token by interpolated Kneser-Ney smoothing.

    Every count is reduced by the same ``discount`` D, and the difference goes to the next lower
    order::

        p_n(w | h) = (max(c(h w) - D, 0) + D * types(h) * p_{n-1}(w | h')) / c(h)

    with h the last n - 1 tokens, h' without the first of them, and types(h) the number of different
    tokens that came after h. For the highest order, c counts occurrences; for the lower ones, the
    different tokens that stood before ``h w``. Below order 1 all tokens are equally probable. If
    h never came, the lower order decides alone.

    >>> model = KneserNeyModel(order=2, vocab_size=4, bos_id=0)
    >>> model.count([[1, 2, 3], [1, 2, 2, 3]])
    >>> model.next_token_distribution([1]).sum()
    tensor(1., dtype=torch.float64)

    The other arguments are those of ``NGramModel``.

    Source: Kneser and Ney (1995); the interpolated form of Chen and Goodman (1999); Jurafsky and
        Martin (2025), chapter 3; chapter "Language models".
    """

    def __init__(self, order: int, vocab_size: int, *, bos_id: int, discount: float = 0.75) -> None:
        super().__init__(order, vocab_size, bos_id=bos_id)
        if not 0 < discount <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount}")
        self.discount = discount
        self._predecessors: defaultdict[tuple[int, ...], _Followers] = defaultdict(_Followers)

    def next_token_distribution(self, history: Sequence[int]) -> Tensor:
        """Return the probabilities of the next token; see ``NGramModel``."""
        window = self._window(history, len(history))
        estimate = torch.ones(self.vocab_size, dtype=torch.float64)
        estimate[self.bos_id] = 0.0
        estimate /= estimate.sum()
        for n in range(1, self.order + 1):
            counted = self._followers if n == self.order else self._predecessors
            followers = counted.get(window[self.order - n :])  # after n - 1 tokens
            if followers is None:
                break  # longer histories never came either
            tokens, counts = followers.tensors()
            estimate *= self.discount * len(tokens)
            estimate[tokens] += counts - self.discount
            estimate /= followers.total
        return estimate

    def _add(self, history: tuple[int, ...], token: int) -> None:
        """Count a token after a history; lower orders count it only if it is new there."""
        if history and token not in self._followers[history].counts:
            self._predecessors[history[1:]].add(token)
        super()._add(history, token)

    def _probability(self, window: tuple[int, ...], token: int) -> float:
        """Return the probability of one token after a window, without computing the others."""
        estimate = 1 / (self.vocab_size - 1)
        for n in range(1, self.order + 1):
            counted = self._followers if n == self.order else self._predecessors
            followers = counted.get(window[self.order - n :])
            if followers is None:
                break
            count = max(followers.counts[token] - self.discount, 0)
            estimate = (count + self.discount * len(followers.counts) * estimate) / followers.total
        return estimate
