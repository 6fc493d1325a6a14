"""One training loop for every model of the course.

Losses are in nats unless a loss says otherwise; a step is one update of the parameters.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from course_lib.picture import Picture

Batch = TypeVar("Batch")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long and how fast to train.

    Attributes:
        steps: Number of updates.
        learning_rate: Step size of AdamW.
        weight_decay: Share of a parameter that AdamW takes off each step, times the learning rate.
        clip_norm: Gradients whose Euclidean norm, over all parameters, is larger are scaled down
            to it.

    Raises:
        ValueError: A value is out of range.
    """

    steps: int
    learning_rate: float = 3e-3
    weight_decay: float = 0.0
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")
        for name in ("learning_rate", "clip_norm"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive and finite, got {value}")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise ValueError(
                f"weight_decay must be finite and not negative, got {self.weight_decay}"
            )


@dataclass(frozen=True, kw_only=True)
class TrainingHistory:
    """What happened at each step.

    Attributes:
        losses: The loss before each update, one number a step.
        gradient_norms: Euclidean norm of the gradient over all parameters, before clipping.
        seconds: Wall time of the whole run.
    """

    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    seconds: float

    def plot(self, *, alt: str = "") -> "Picture":
        """Draw the loss against the step.

        Args:
            alt: What the picture shows, for readers who do not see it; composed if empty.

        Returns:
            The picture, which a notebook displays.
        """
        from course_lib.plotting import plot_curves

        return plot_curves(
            {"loss": self.losses},
            x_label="step",
            y_label="loss (nats)",
            log_y=True,
            alt=alt
            or f"Training loss falls from {self.losses[0]:.2f} to {self.losses[-1]:.2g} nats "
            f"in {len(self.losses)} steps.",
        )


class DivergenceError(ArithmeticError):
    """The loss or the gradient became infinite or NaN."""


def train(
    model: nn.Module,
    draw_batch: Callable[[int], Batch],
    compute_loss: Callable[[nn.Module, Batch], Tensor],
    config: TrainingConfig,
    *,
    progress: bool | None = None,
) -> TrainingHistory:
    """Train a model with AdamW and clipped gradients.

    Args:
        model: Trained in place, in training mode; its mode is restored at the end.
        draw_batch: Gives the batch of a step. It depends on the step alone, so that a run can be
            repeated, and taken up again in the middle.
        compute_loss: Maps model and batch to the loss, a scalar.
        config: How long and how fast.
        progress: Show a progress bar; None shows it where a person is watching, on a terminal.

    Returns:
        The loss and the gradient norm of each step.

    Raises:
        DivergenceError: The loss or the gradient is infinite or NaN; the message names the step.
            The parameters are those before that step.
        ValueError: The loss is no scalar.

    Source: Loshchilov and Hutter (2019) for AdamW; Pascanu et al. (2013) for clipping.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    losses: list[float] = []
    gradient_norms: list[float] = []
    was_training = model.training
    model.train()
    began = time.perf_counter()
    hide_bar = None if progress is None else not progress
    try:
        for step in (bar := tqdm(range(config.steps), unit="step", disable=hide_bar)):
            loss = compute_loss(model, draw_batch(step))
            if loss.dim() != 0:
                raise ValueError(f"the loss must be a scalar, got shape {tuple(loss.shape)}")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            losses.append(loss.item())
            gradient_norms.append(norm.item())
            if not (math.isfinite(losses[-1]) and math.isfinite(gradient_norms[-1])):
                raise DivergenceError(
                    f"step {step}: loss {losses[-1]}, gradient norm {gradient_norms[-1]}; "
                    f"a smaller learning_rate than {config.learning_rate} may help"
                )
            optimizer.step()
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    finally:
        model.train(was_training)
    return TrainingHistory(
        losses=tuple(losses),
        gradient_norms=tuple(gradient_norms),
        seconds=time.perf_counter() - began,
    )
