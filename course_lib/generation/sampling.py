"""Sampling: draw each token at random from the model's distribution, or a narrower one.

Dimensions: batch; prompt_len (tokens); vocab_size.
"""

import math

import torch
from torch import Tensor

from course_lib.generation.hypothesis import Hypothesis, cut_at_eos
from course_lib.generation.step_models import StepModel, begin_search


@torch.no_grad()
def sample(
    model: StepModel,
    prompt: Tensor,
    *,
    eos_id: int | None,
    max_new_tokens: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[Hypothesis]:
    """Draw each token from the model's distribution, read it, and so on until the end token.

    The logits are divided by the temperature; then top-k filtering applies, then top-p filtering
    to the remaining tokens.

    Args:
        model: A new step model, which has read nothing yet.
        prompt: ``(batch, prompt_len)``, int64: the beginning of each sequence; shorter prompts are
            padded on the left, for a model with a ``pad_id``.
        eos_id: The end token, at which a sequence stops; None if there is none.
        max_new_tokens: Maximum number of tokens to write in each sequence, the end token included;
            at least 1.
        generator: Source of the random numbers, on the device of the logits.
        temperature: Positive and finite. Below 1, probable tokens become more probable; above 1,
            all probabilities become more alike.
        top_k: Draw from the k most probable tokens only; from all if None.
        top_p: Draw from the fewest tokens whose probabilities sum to p only; from all if None.

    Returns:
        One hypothesis for each prompt. Its log-probability and score are those of the model without
        temperature, top k or top p.

    Raises:
        TypeError: ``model`` is no ``StepModel``.
        ValueError: ``prompt`` has not two dimensions, or no row or no token;
            ``max_new_tokens``, ``temperature``, ``top_k`` or ``top_p`` is out of range; the model
            has no token ``eos_id``; or its logits are NaN or all -inf.

    Source: Fan et al. (2018), top k; Holtzman et al. (2020), top p; chapter "Decoding".
    """
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be positive and finite, got {temperature}")
    logits = begin_search(model, prompt, eos_id=eos_id, max_new_tokens=max_new_tokens)
    tokens, log_probabilities = [], []
    is_open = torch.ones(prompt.size(0), dtype=torch.bool, device=prompt.device)
    while True:
        # The largest becomes 0, so that no temperature is too low.
        kept = (logits - logits.amax(dim=-1, keepdim=True)) / temperature
        if top_k is not None:
            kept = keep_top_k(kept, top_k)
        if top_p is not None:
            kept = keep_top_p(kept, top_p)
        # NaN would break the GPU here. Any token will do: cut_at_eos rejects NaN at the end, since
        # a check at each step would wait for the GPU.
        probabilities = kept.softmax(dim=-1).nan_to_num(1.0)  # (batch, vocab_size)
        token = torch.multinomial(probabilities, 1, generator=generator)  # (batch, 1)
        tokens.append(token)
        log_probabilities.append(logits.log_softmax(dim=-1).gather(1, token))
        if len(tokens) == max_new_tokens:
            break
        if eos_id is not None:
            is_open &= token[:, 0] != eos_id
            if not bool(is_open.any()):
                break
        logits = model.advance(token)
    return cut_at_eos(torch.cat(tokens, dim=1), torch.cat(log_probabilities, dim=1), eos_id)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Return logits with -inf for all but the k most probable tokens, ``(..., vocab_size)``.

    The given logits have this shape and are not changed. Tokens as probable as the k-th are kept
    too. A ``k`` below 1 is a ValueError.

    Source: Fan et al. (2018), section 5.4; chapter "Decoding".
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    last_kept = logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]  # (..., 1)
    return logits.masked_fill(logits < last_kept, -math.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Return logits with -inf for all tokens outside the nucleus, ``(..., vocab_size)``.

    The given logits have this shape and are not changed. The nucleus is the fewest tokens whose
    probabilities sum to at least ``p``; the most probable token is always one of them. A ``p`` that
    is not above 0 and at most 1 is a ValueError.

    Source: Holtzman et al. (2020), section 3.1; chapter "Decoding".
    """
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    if p == 1:  # a sum of rounded probabilities may reach 1 before the last of them
        return logits
    falling, order = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = falling.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities  # what more probable tokens sum to
    falling = falling.masked_fill(before >= p, -math.inf)
    return torch.empty_like(logits).scatter(-1, order, falling)  # back to the vocabulary's order
