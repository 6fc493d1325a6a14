"""Greedy search: always write the most probable token.

Dimensions: batch; prompt_len (tokens); vocab_size.
"""

import torch
from torch import Tensor

from course_lib.generation.hypothesis import Hypothesis, cut_at_eos
from course_lib.generation.step_models import StepModel, begin_search


@torch.no_grad()
def greedy(
    model: StepModel, prompt: Tensor, *, eos_id: int | None, max_new_tokens: int
) -> list[Hypothesis]:
    """Write the most probable token, read it, and so on until the end token.

    Of equally probable tokens the one with the lowest id is written.

    Each token is the most probable one, the sequence need not be: a first token that is a little
    less probable may lead to a far more probable sequence. ``beam_search`` tries several.

    Args:
        model: A new step model, which has read nothing yet.
        prompt: ``(batch, prompt_len)``, int64: the beginning of each sequence, such as the start
            token; shorter prompts are padded on the left, for a model with a ``pad_id``.
        eos_id: The end token, at which a sequence stops; None if there is none.
        max_new_tokens: Maximum number of tokens to write in each sequence, the end token included.

    Returns:
        One hypothesis for each prompt, scored by its log-probability.

    Raises:
        TypeError: ``model`` is no ``StepModel``.
        ValueError: ``prompt`` is empty, ``max_new_tokens`` is not positive, the model has no token
            ``eos_id``, or its logits are NaN or all -inf.

    Source: chapter "Decoding".
    """
    logits = begin_search(model, prompt, eos_id=eos_id, max_new_tokens=max_new_tokens)
    # logits: (batch, vocab_size)
    tokens, log_probabilities = [], []
    is_open = torch.ones(prompt.size(0), dtype=torch.bool, device=prompt.device)
    while True:
        log_probability, token = logits.log_softmax(dim=-1).max(dim=-1)  # (batch,) each
        tokens.append(token)
        log_probabilities.append(log_probability)
        if len(tokens) == max_new_tokens:
            break
        if eos_id is not None:
            is_open &= token != eos_id
            if not bool(is_open.any()):
                break
        # Ended sequences go on with the others, and are cut at the end token.
        logits = model.advance(token[:, None])
    return cut_at_eos(torch.stack(tokens, dim=1), torch.stack(log_probabilities, dim=1), eos_id)
