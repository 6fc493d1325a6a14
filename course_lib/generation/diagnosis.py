"""Error analysis: when the output is wrong, is the search or the model at fault?

Dimensions: sequences (to be scored); prompt_len, len (tokens); vocab_size.
"""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from course_lib.generation.hypothesis import Hypothesis, cut_at_eos
from course_lib.generation.length_penalty import PowerPenalty, check_length_penalty
from course_lib.generation.step_models import StepModel, begin_search


class Fault(enum.StrEnum):
    """The part to improve: the search, the model, or neither.

    >>> Fault("search")
    <Fault.SEARCH: 'search'>

    Attributes:
        NONE: The output is the reference.
        SEARCH: The model gives the reference a higher score, but the search did not find it. A
            wider beam may help.
        MODEL: The model gives the output a higher or the same score. A wider beam will not help.
    """

    NONE = "none"
    SEARCH = "search"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The model's scores of an output and of the reference.

    >>> from course_lib.generation.step_models import UncachedModel
    >>> logits = torch.tensor([0.1, 0.2, 0.7]).log()
    >>> model = UncachedModel(lambda tokens: logits.expand(*tokens.shape, 3))
    >>> found = diagnose(model, torch.tensor([[0]]), output=[1], reference=[2], eos_id=None)
    >>> found.fault, round(found.reference.score, 2)
    (<Fault.SEARCH: 'search'>, -0.36)

    Attributes:
        fault: The part to improve.
        output: The output, with the model's log-probability and score.
        reference: The reference, with the model's log-probability and score.
    """

    fault: Fault
    output: Hypothesis
    reference: Hypothesis


def diagnose(
    model: StepModel,
    prompt: Tensor,
    *,
    output: Sequence[int],
    reference: Sequence[int],
    eos_id: int | None,
    length_penalty: Callable[[int], float] = PowerPenalty(alpha=1.0),
) -> Diagnosis:
    """Compare the model's score of the reference with that of the output.

    Args:
        model: A new step model for one sequence.
        prompt: ``(1, prompt_len)``, int64: the tokens before the output.
        output: The token ids that the search returned, with the end token if it was written.
        reference: The token ids of a right answer, with the end token.
        eos_id: The end token; None if there is none.
        length_penalty: That of the search.

    Returns:
        The diagnosis, with both scores.

    Raises:
        TypeError: ``model`` is no ``StepModel``, or ``length_penalty`` no function.
        ValueError: As for ``score_sequences``.

    Source: chapter "Decoding".
    """
    check_length_penalty(length_penalty)
    scored = [
        replace(found, score=found.log_probability / length_penalty(len(found.tokens)))
        for found in score_sequences(model, prompt, [output, reference], eos_id=eos_id)
    ]
    of_output, of_reference = scored
    if of_output.tokens == of_reference.tokens:
        fault = Fault.NONE
    elif of_reference.score > of_output.score:
        fault = Fault.SEARCH
    else:
        fault = Fault.MODEL
    return Diagnosis(fault=fault, output=of_output, reference=of_reference)


@torch.no_grad()
def score_sequences(
    model: StepModel, prompt: Tensor, sequences: Sequence[Sequence[int]], *, eos_id: int | None
) -> list[Hypothesis]:
    """Score given sequences by their log-probabilities under the model.

    Args:
        model: A new step model for one sequence.
        prompt: ``(1, prompt_len)``, int64: the tokens before each sequence.
        sequences: Token ids, at least one in each; the end token may only be the last.
        eos_id: The end token; None if there is none.

    Returns:
        One hypothesis for each sequence, scored by its log-probability.

    Raises:
        TypeError: ``model`` is no ``StepModel``.
        ValueError: There is no sequence, one is empty or continues after an end token, ``prompt``
            has not one row, the model has no token ``eos_id``, or its logits are NaN or all -inf.

    Source: chapter "Decoding".
    """
    if prompt.dim() != 2 or prompt.size(0) != 1 or prompt.size(1) < 1:
        raise ValueError(f"prompt must be (1, prompt_len), got {tuple(prompt.shape)}")
    if not sequences or not all(sequences):
        raise ValueError("sequences must hold at least one token each, and be at least one")
    for sequence in sequences:
        if eos_id in list(sequence)[:-1]:
            raise ValueError(f"{list(sequence)} goes on after the end token {eos_id}")
    longest = max(len(sequence) for sequence in sequences)
    # A short sequence is padded with its last token; cut_at_eos gets its own tokens only.
    filled = torch.tensor([[*s, *[s[-1]] * (longest - len(s))] for s in sequences])
    tokens = filled.to(prompt.device)  # (sequences, len)

    logits = begin_search(model, prompt, eos_id=eos_id, max_new_tokens=longest)
    # logits: (1, vocab_size)
    model.reorder(torch.zeros(len(sequences), dtype=torch.int64, device=prompt.device))
    logits = logits.expand(len(sequences), -1)
    terms = []
    for t in range(longest):
        if t > 0:
            logits = model.advance(tokens[:, t - 1 : t])  # (sequences, vocab_size)
        terms.append(logits.log_softmax(dim=-1).gather(1, tokens[:, t : t + 1]))
    each = torch.cat(terms, dim=1)  # (sequences, len), in nats
    return [
        cut_at_eos(tokens[i : i + 1, : len(s)], each[i : i + 1], eos_id)[0]
        for i, s in enumerate(sequences)
    ]
