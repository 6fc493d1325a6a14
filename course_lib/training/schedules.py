"""Learning rate schedules: the share of the peak learning rate, 0 to 1, for each update.

They are pure functions of the number of updates done, so a run can be resumed anywhere; for
``torch.optim.lr_scheduler.LambdaLR`` fix the other arguments with ``functools.partial``.
"""

import math


def inverse_sqrt(step: int, *, warmup_steps: int) -> float:
    """Rise evenly, then fall with the root of the steps: the Transformer's schedule.

    The paper writes ``d_model^-0.5 min(n^-0.5, n warmup_steps^-1.5)`` for the n-th update. That is
    this share times a peak learning rate of ``(d_model warmup_steps)^-0.5``.

    Args:
        step: Updates done so far, from 0.
        warmup_steps: The update that is the peak.

    Returns:
        Share of the peak learning rate: ``1 / warmup_steps`` at first, 1 at the peak.

    Raises:
        ValueError: ``step`` is negative, or ``warmup_steps`` is not positive.

    Source: Vaswani et al. (2017), section 5.3, equation 3; chapter "Training a Transformer".

    Example:
        >>> [inverse_sqrt(step, warmup_steps=2) for step in (0, 1, 7)]
        [0.5, 1.0, 0.5]
    """
    _check(step, warmup_steps)
    update = step + 1
    return min(update / warmup_steps, math.sqrt(warmup_steps / update))


def constant_inverse_sqrt(step: int, *, warmup_steps: int) -> float:
    """Begin at the peak: ``inverse_sqrt`` without its warm-up, T5's schedule.

    ``step`` is the number of updates done; from ``warmup_steps`` on both schedules are the same.

    >>> [constant_inverse_sqrt(step, warmup_steps=2) for step in (0, 1, 7)]
    [1.0, 1.0, 0.5]

    Source: Raffel et al. (2020), section 3.1.2; chapter "A real translation".
    """
    _check(step, warmup_steps)
    return min(1.0, math.sqrt(warmup_steps / (step + 1)))


def warmup_cosine(step: int, *, warmup_steps: int, total_steps: int, floor: float = 0.0) -> float:
    """Rise evenly, then fall along half a cosine: the schedule of most later language models.

    Args:
        step: Number of updates done.
        warmup_steps: Number of the update at the peak.
        total_steps: Number of the update from which on the share is ``floor``.
        floor: Share at the end, 0 to 1.

    Returns:
        Share of the peak learning rate: ``1 / warmup_steps`` at first, 1 at the peak.

    Source: Loshchilov and Hutter (2017), equation 5, without restarts; chapter "Training a
    Transformer".

    Example:
        >>> [warmup_cosine(step, warmup_steps=2, total_steps=4) for step in (0, 1, 2, 3, 9)]
        [0.5, 1.0, 0.5, 0.0, 0.0]
    """
    _check(step, warmup_steps)
    if total_steps <= warmup_steps:
        raise ValueError(f"total_steps must exceed warmup_steps={warmup_steps}, got {total_steps}")
    if not 0 <= floor <= 1:
        raise ValueError(f"floor must be from 0 to 1, got {floor}")
    update = step + 1
    if update <= warmup_steps:
        return update / warmup_steps
    progress = min(1.0, (update - warmup_steps) / (total_steps - warmup_steps))
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def _check(step: int, warmup_steps: int) -> None:
    """Raise an error if ``step`` is negative, or ``warmup_steps`` not positive."""
    if step < 0:
        raise ValueError(f"step must not be negative, got {step}")
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps must be at least 1, got {warmup_steps}")
