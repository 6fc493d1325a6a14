"""Beam search: keep the few most probable unfinished sequences, and extend them all.

Dimensions: batch; prompt_len (tokens); beams (unfinished sequences of each prompt: 1 at first, then
beam_size if the vocabulary allows); candidates; written (tokens); vocab_size.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_lib.generation.hypothesis import Hypothesis, invalid_logits_error
from course_lib.generation.length_penalty import PowerPenalty, check_length_penalty
from course_lib.generation.step_models import StepModel, begin_search


@torch.no_grad()
def beam_search(
    model: StepModel,
    prompt: Tensor,
    *,
    beam_size: int,
    eos_id: int | None,
    max_new_tokens: int,
    length_penalty: Callable[[int], float] = PowerPenalty(alpha=1.0),
    num_results: int = 1,
) -> list[list[Hypothesis]]:
    """Search for the sequences with the highest score, log-probability over length penalty.

    Every beam, an unfinished sequence, is extended by every token. Of all these candidates the best
    ``beam_size`` count: those that end become results, and the best that do not end become the new
    beams. The search is over when no beam can still beat the results, or at ``max_new_tokens``;
    beams then compete as they are, unfinished.

    With ``beam_size=1`` and ``num_results=1`` this follows the path of ``greedy``, and may continue
    past its end. With a beam wide enough to hold every sequence it is exact.

    Args:
        model: As for ``greedy``. It reads the prompt once for all beams, and then must hold
            ``batch * beam_size`` rows.
        prompt: As for ``greedy``.
        beam_size: Number of beams for each prompt.
        eos_id: The end token; None if there is none.
        max_new_tokens: Maximum number of tokens of a result, the end token included.
        length_penalty: From the number of tokens written, the end token included, to the divisor of
            the log-probability; positive, and never less for a longer sequence. By default the
            length itself: the score is the mean log-probability of a token.
        num_results: How many hypotheses to return for each prompt, at most ``beam_size``.

    Returns:
        For each prompt its hypotheses, best first; fewer than ``num_results`` if no more sequences
        are possible.

    Raises:
        TypeError: ``model`` is no ``StepModel``, or ``length_penalty`` no function.
        ValueError: As for ``greedy``; or ``beam_size`` is not positive, or ``num_results`` is not
            from 1 to ``beam_size``.

    Source: Sutskever et al. (2014), section 3.2; Wu et al. (2016), section 7; chapter "Decoding".
    """
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1, got {beam_size}")
    if not 1 <= num_results <= beam_size:
        raise ValueError(f"num_results must be from 1 to {beam_size=}, got {num_results}")
    check_length_penalty(length_penalty)
    logits = begin_search(model, prompt, eos_id=eos_id, max_new_tokens=max_new_tokens)
    # logits: (batch * beams, vocab_size), one beam at first

    batch, device = prompt.size(0), prompt.device
    results: list[list[Hypothesis]] = [[] for _ in range(batch)]
    first_row = torch.arange(batch, device=device)[:, None]  # of each prompt's beams
    written = torch.empty(batch, 1, 0, dtype=torch.int64, device=device)  # (batch, beams, written)
    totals = torch.zeros(batch, 1, device=device)  # (batch, beams), log-probability in nats
    some_impossible = False  # whether a total is -inf
    for length in range(1, max_new_tokens + 1):
        beams = totals.size(1)
        # Extend every beam by every token; an impossible beam stays impossible, even with NaN.
        step = logits.log_softmax(dim=-1).view(batch, beams, -1)
        if some_impossible:
            step.masked_fill_((totals == -math.inf)[:, :, None], 0.0)
        # Each beam can end in one way only, so of 2 * beam_size candidates at least half go on.
        candidates, parent, token = _best_extensions(totals, step, 2 * beam_size)
        ends = torch.zeros_like(token, dtype=torch.bool) if eos_id is None else token == eos_id

        # Of the best candidates those that end become results; at the limit, all of them.
        is_result = ends.clone() if length < max_new_tokens else torch.ones_like(ends)
        is_result[:, beam_size:] = False
        is_result &= candidates != -math.inf  # impossible
        is_result |= candidates.isnan()  # to be rejected
        row, rank = is_result.nonzero(as_tuple=True)  # (new results,) each
        columns = [row, token[row, rank], candidates[row, rank], ends[row, rank]]
        columns.append(written[row, parent[row, rank]])
        for number, found in _hypotheses(columns, length, length_penalty):
            results[number].append(found)
            results[number].sort(key=lambda hypothesis: hypothesis.score, reverse=True)
            del results[number][num_results:]
        open_ends = beams * (logits.size(-1) - (eos_id is not None))  # candidates that go on
        if length == max_new_tokens or open_ends == 0:
            break

        # The best that do not end become the beams, best first, as the candidates are.
        chosen = ends.byte().argsort(dim=1, stable=True)[:, : min(beam_size, open_ends)]
        totals = candidates.masked_fill(ends, -math.inf).gather(1, chosen)  # (batch, beams)
        parent, token = parent.gather(1, chosen), token.gather(1, chosen)  # (batch, beams) each
        beam_totals = totals.tolist()
        some_impossible = any(sums[-1] == -math.inf for sums in beam_totals)
        # A log-probability only falls, so this is the highest score that a beam can reach.
        longest = length_penalty(max_new_tokens)
        if all(
            best == -math.inf or (len(found) == num_results and found[-1].score >= best / longest)
            for found, (best, *_) in zip(results, beam_totals, strict=True)
        ):
            break

        written = torch.cat([written[first_row, parent], token[:, :, None]], dim=2)
        rows = (first_row * beams + parent).flatten()
        if not torch.equal(rows, torch.arange(batch * beams, device=device)):
            model.reorder(rows)
        logits = model.advance(token.flatten()[:, None])  # (batch * beams, vocab_size)
    return results


def _best_extensions(totals: Tensor, step: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probability, beam number and token of the best extensions of beams by one token.

    Each is ``(batch, candidates)``, with at most ``count`` candidates. ``totals``, ``(batch,
    beams)``, are the log-probabilities of the beams, ``step``, ``(batch, beams, vocab_size)``,
    those of the next token. Changes ``step`` in place.
    """
    beams, vocab_size = step.shape[1:]
    likeliest = step[:, 0].argmax(dim=1, keepdim=True) if beams == 1 else None
    extended = step.add_(totals[:, :, None]).flatten(1)  # (batch, beams * vocab_size)
    candidates, where = extended.topk(min(count, extended.size(1)), dim=1)
    if likeliest is not None:
        # A single beam is greedy search: of equals the lowest token comes first, which topk
        # leaves open; and the step decides, as the sum may round a difference away.
        others = where[:, 1:].where(where[:, 1:] != likeliest, where[:, :1])
        where = torch.cat([likeliest, others], dim=1)
    return candidates, where // vocab_size, where % vocab_size


def _hypotheses(
    columns: list[Tensor], length: int, length_penalty: Callable[[int], float]
) -> Iterator[tuple[int, Hypothesis]]:
    """Yield the row of its prompt and the hypothesis for each result; NaN is a ``ValueError``.

    ``columns`` are five tensors with an entry for each result: row of the prompt, last token,
    log-probability, whether it is finished, tokens before the last. Results have ``length`` tokens.
    """
    # Read whole columns, since each read waits for the GPU.
    read = zip(*(column.tolist() for column in columns), strict=True)
    for number, last, total, finished, tokens in read:
        if math.isnan(total):
            raise invalid_logits_error(number, length)
        yield (
            number,
            Hypothesis(
                tokens=(*tokens, last),
                log_probability=total,
                score=total / length_penalty(length),
                finished=finished,
            ),
        )
