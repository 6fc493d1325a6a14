"""Decoding without a cache: a ``StepModel`` that reads all tokens again at each step.

Dimensions: batch; len (tokens so far), new_len; vocab_size.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.generation.step_model import check_evaluation_mode, in_full_precision


class RecomputingModel:
    """Any language model as a ``StepModel``, without a cache: the truth that caches are held to.

    >>> table = torch.eye(4)  # after each token it comes again
    >>> steps = RecomputingModel(lambda tokens: table[tokens])
    >>> steps.advance(torch.tensor([[0, 3]]))
    tensor([[0., 0., 0., 1.]])
    >>> steps.tokens
    tensor([[0, 3]])

    Args:
        language_model: Maps token ids ``(batch, len)`` to the logits of each next token,
            ``(batch, len, vocab_size)``. It gets what padding the prompts have; a ``DecoderLM``
            would be told: ``lambda ids: model(ids, padding=left_padding(ids, pad_id))``.

    Attributes:
        tokens: ``(batch, len)``, int64: all that has been read; None before the first step.

    Raises:
        ValueError: The model's dropout is at work.

    Source: chapter "Decoding".
    """

    def __init__(self, language_model: Callable[[Tensor], Tensor]) -> None:
        check_evaluation_mode(language_model)
        self._language_model = language_model
        self.tokens: Tensor | None = None

    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and say what may follow the last of them; see ``StepModel``."""
        self.tokens = tokens if self.tokens is None else torch.cat([self.tokens, tokens], dim=1)
        return in_full_precision(self._language_model(self.tokens)[:, -1])

    def reorder(self, indices: Tensor) -> None:
        """Go on with chosen rows.

        Args:
            indices: ``(new_batch,)``, int64: row i becomes what row ``indices[i]`` was.

        Raises:
            ValueError: Nothing has been read yet.
        """
        if self.tokens is None:
            raise ValueError("advance must be called before reorder")
        self.tokens = self.tokens.index_select(0, indices)
