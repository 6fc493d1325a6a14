"""Step models: what a decoding algorithm asks of a model, one step after another.

Dimensions: batch (sequences under way); new_len (tokens); vocab_size.
"""

from typing import Protocol

import torch
from torch import Tensor, nn


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


def begin_search(
    model: StepModel, prompt: Tensor, *, eos_id: int | None, max_new_tokens: int
) -> Tensor:
    """Check what a search is given, and let the model read the prompt.

    Args:
        model: The model, fresh.
        prompt: ``(batch, prompt_len)``, int64.
        eos_id: The end token; None if there is none.
        max_new_tokens: Most tokens to write.

    Returns:
        ``(batch, vocab_size)``: the logits of the token after the prompt.

    Raises:
        TypeError: ``model`` is no ``StepModel``.
        ValueError: ``prompt`` is empty, ``max_new_tokens`` is not positive, or the model has no
            token ``eos_id``.
    """
    if not hasattr(model, "advance"):
        raise TypeError(
            f"model must be a StepModel, such as CachedDecoder(model), got {type(model).__name__}"
        )
    if prompt.dim() != 2 or 0 in prompt.shape:
        raise ValueError(f"prompt must be (batch, prompt_len), neither 0, got {prompt.shape}")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    logits = model.advance(prompt)
    if eos_id is not None and not 0 <= eos_id < logits.size(-1):
        raise ValueError(f"eos_id must be from 0 to {logits.size(-1) - 1}, got {eos_id}")
    return logits


def check_evaluation_mode(model: object) -> None:
    """Check that no dropout of a model is at work: it would garble the text.

    Args:
        model: The model; what is no module has no mode.

    Raises:
        ValueError: It is in training mode, and drops something.
    """
    for layer in model.modules() if isinstance(model, nn.Module) else ():
        if isinstance(layer, nn.Dropout) and layer.training and layer.p > 0:
            raise ValueError(
                f"{type(model).__name__} must be in evaluation mode, got training mode with "
                f"dropout {layer.p}; call its eval() first"
            )


def in_full_precision(logits: Tensor) -> Tensor:
    """Convert what half precision gives, which has too few digits to add log-probabilities up.

    Args:
        logits: Of any shape and floating type.

    Returns:
        The same in float32, or as they are if they are wider.
    """
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
