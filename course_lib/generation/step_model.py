"""Step models: what a decoding algorithm asks of a model, one step after another.

Dimensions: batch (sequences under way); new_len (tokens); vocab_size.
"""

from typing import Protocol

import torch
from torch import Tensor


class StepModel(Protocol):
    """A model part-way through a batch of sequences, with whatever it needs to go on.

    It remembers what it has read: a recurrent state, a cache of keys and values, or the tokens
    themselves. So each step gives it new tokens only. It is used up by one decoding; start another
    for the next.
    """

    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and say what may follow the last of them.

        Args:
            tokens: ``(batch, new_len)``, int64, ``new_len`` at least 1: what comes next in each
                sequence. The first call has the whole prompt, such as the start token; a model
                that takes a ``pad_id`` counts the padding on its left.

        Returns:
            ``(batch, vocab_size)``, float32 or float64: the logits of the token after the last. A
            model that computes in less converts them, since log-probabilities are summed up.
        """
        ...

    def reorder(self, indices: Tensor) -> None:
        """Go on with chosen sequences: row i becomes what row ``indices[i]`` was.

        A beam search drops, keeps and doubles its sequences this way.

        Args:
            indices: ``(new_batch,)``, int64, each from 0 to batch - 1. An index may come several
                times or not at all, and ``new_batch`` may differ from ``batch``.
        """
        ...


def in_full_precision(logits: Tensor) -> Tensor:
    """Convert what half precision gives, which has too few digits to add log-probabilities up.

    Args:
        logits: Of any shape and floating type.

    Returns:
        The same in float32, or as they are if they are wider.
    """
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
