"""The training loop: one for every model of the course.

Losses are in nats unless a loss says otherwise; a step is one update of the parameters.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_lib.training.checkpoint import (
    CheckpointError,
    load_checkpoint,
    random_state,
    restore_random_state,
    save_checkpoint,
)
from course_lib.training.distributed import (
    all_gather,
    all_reduce_sum,
    barrier,
    broadcast,
    data_parallel,
    no_sync,
    rank,
    world_size,
)
from course_lib.validation import check_fields

Batch = TypeVar("Batch")
Precision = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long and how fast to train.

    >>> config = TrainingConfig(steps=1000, learning_rate=1e-3, evaluate_every=100, patience=3)
    >>> config.precision
    'float32'

    Attributes:
        steps: Number of updates.
        learning_rate: Step size of AdamW, at the peak of the schedule.
        weight_decay: AdamW's weight decay, for matrices only: biases and gains are not decayed.
        clip_norm: Maximum Euclidean norm of the gradient over all parameters; a larger gradient is
            scaled down to it.
        accumulation: Batches of one update, as if they were one large batch. Several processes
            divide them among each other, see ``distributed.py``.
        precision: Type of the matrix products; parameters and updates stay in float32. With
            ``float16`` the loss is scaled, so that small gradients do not vanish.
        evaluate_every: Steps between evaluations; 0 for none.
        patience: Evaluations in a row without a new best after which training stops; 0 for never.
        checkpoint_every: Steps between checkpoints, if ``train`` has a file for them; 0 for only
            one at the end.
    """

    steps: int
    learning_rate: float = 3e-3
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    accumulation: int = 1
    precision: Precision = "float32"
    evaluate_every: int = 0
    patience: int = 0
    checkpoint_every: int = 0

    def __post_init__(self) -> None:
        """Raise a TypeError or ValueError for a field of a wrong type or value."""
        check_fields(
            self,
            zero=["evaluate_every", "patience", "checkpoint_every"],
            positive=["learning_rate", "clip_norm"],
        )
        if self.patience and not self.evaluate_every:
            raise ValueError("patience needs evaluate_every: nothing is evaluated otherwise")


@dataclass(frozen=True, kw_only=True)
class TrainingHistory:
    """Losses, gradient norms, evaluations and times of a run.

    >>> model = nn.Linear(1, 1)
    >>> history = train(
    ...     model,
    ...     lambda number: torch.full((4, 1), float(number)),
    ...     lambda model, x: (model(x) - 2 * x).square().mean(),
    ...     TrainingConfig(steps=5),
    ...     progress=False,
    ... )
    >>> len(history.losses), history.stopped_early
    (5, False)

    Attributes:
        losses: The loss of each step, before its update.
        gradient_norms: Euclidean norm of each step's gradient over all parameters, before clipping.
        seconds: Wall time of the whole run, including the earlier parts of a resumed one.
        cpu_seconds: CPU time of all threads and processes in the same period.
        evaluations: Pairs of the number of steps done and the result of the evaluation.
        stopped_early: Whether training stopped because evaluations no longer improved.
    """

    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]
    seconds: float
    cpu_seconds: float
    evaluations: tuple[tuple[int, float], ...] = ()
    stopped_early: bool = False


class DivergenceError(ArithmeticError):
    """The loss, the gradient or an evaluation became infinite or NaN."""


def train(
    model: nn.Module,
    draw_batch: Callable[[int], Batch],
    compute_loss: Callable[[nn.Module, Batch], Tensor],
    config: TrainingConfig,
    *,
    num_items: Callable[[Batch], Tensor | int] | None = None,
    schedule: Callable[[int], float] | None = None,
    evaluate: Callable[[nn.Module], float] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> TrainingHistory:
    """Train a model with AdamW and clipped gradients.

    Inside ``distributed.process_group`` every process calls this with the same arguments and
    computes its part of an update's batches. The losses equal those of one process except for
    rounding and dropout, whose random numbers differ.

    Args:
        model: Trained in place, in training mode; its mode is restored at the end. With
            ``evaluate`` it ends with the weights of its best evaluation.
        draw_batch: Returns a batch by its number, from 0. The batch must depend on the number
            alone, so that a run can be repeated and resumed.
        compute_loss: Maps model and batch to the loss, a scalar that is a mean over the batch.
        config: How long and how fast to train.
        num_items: Counts the items, such as tokens, over which the loss of a batch is the mean, so
            that the loss of an update is the mean over the items of all its batches; None gives
            all batches the same weight. A loss that is a vector of means needs a vector of counts.
        schedule: Returns the share of the learning rate for a step, from 0; always 1 if None.
        evaluate: Called in evaluation mode, without gradients, every ``evaluate_every`` steps;
            returns a number to minimise. Of several processes only the first one's is used.
        checkpoint: File for the run's state. If it exists the run is resumed, with the same outcome
            to the bit on the CPU. Several processes need it on a shared disk, and the same number
            of processes as before; with more than two the last bit may differ.
        progress: Whether to show a progress bar; None shows it on a terminal.

    Returns:
        The losses, evaluations and times of the run.

    Raises:
        DivergenceError: The loss or the gradient is infinite or NaN, or an evaluation is NaN; the
            message names the step. The parameters are those before that step.
        TypeError: An argument that must be a function is none.
        ValueError: The loss is no scalar (or not of the shape of ``num_items``),
            ``evaluate_every`` is set without ``evaluate``, or ``accumulation`` is not divisible by
            the number of processes.
        CheckpointError: The file at ``checkpoint`` is no checkpoint, or one of another model,
            precision or number of processes.

    Source: Loshchilov and Hutter (2019) for AdamW; Pascanu et al. (2013) for clipping;
        Micikevicius et al. (2018) for mixed precision; Li et al. (2020) for several processes.
    """
    _check_functions(
        draw_batch=draw_batch,
        compute_loss=compute_loss,
        num_items=num_items,
        schedule=schedule,
        evaluate=evaluate,
    )
    if config.evaluate_every and evaluate is None:
        raise ValueError("evaluate_every is set, but there is nothing to evaluate with")
    if config.accumulation % world_size() != 0:
        raise ValueError(
            f"accumulation must be divisible by the {world_size()} processes, "
            f"got {config.accumulation}"
        )
    run = _Run(model, draw_batch, compute_loss, config, num_items, schedule)
    if checkpoint is not None and Path(checkpoint).exists():
        run.resume(checkpoint)
    was_training = model.training
    model.train()
    try:
        run.fit(evaluate, checkpoint, progress)
    finally:
        model.train(was_training)
    return run.history()


def build_optimizer(
    model: nn.Module, *, learning_rate: float, weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Make the optimizer of ``train``: AdamW without weight decay for biases and other vectors.

    Source: Loshchilov and Hutter (2019), algorithm 2; the exemption as in BERT's
        ``optimization.py``.
    """
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [{"params": parameters}]
    if weight_decay:
        groups = [
            {"params": [p for p in parameters if p.dim() >= 2]},
            {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
        ]
    # On the CPU the default makes ten calls for each parameter; fused makes one for all.
    fused = True if all(p.device.type == "cpu" for p in parameters) else None
    return torch.optim.AdamW(groups, lr=learning_rate, weight_decay=weight_decay, fused=fused)


def _check_functions(**given: object) -> None:
    """Raise a ``TypeError`` for an argument, given by its name, that is no function."""
    hints = {"draw_batch": ", such as lambda number: batches[number % len(batches)]"}
    for name, value in given.items():
        if value is not None and not callable(value):
            kind = type(value).__name__
            raise TypeError(f"{name} must be a function{hints.get(name, '')}; got {kind}")


@dataclass(eq=False)
class _Run(Generic[Batch]):
    """A training run that can be interrupted after any step.

    The first six attributes are arguments of ``train``. ``losses`` to ``best_weights`` are the
    state of the run; the times are those of the earlier parts of a resumed run.
    """

    model: nn.Module
    draw_batch: Callable[[int], Batch]
    compute_loss: Callable[[nn.Module, Batch], Tensor]
    config: TrainingConfig
    num_items: Callable[[Batch], Tensor | int] | None
    schedule: Callable[[int], float] | None
    losses: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    evaluations: list[tuple[int, float]] = field(default_factory=list)
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    seconds_before: float = 0.0
    cpu_seconds_before: float = 0.0

    def __post_init__(self) -> None:
        self.began, self.cpu_began = time.perf_counter(), time.process_time()
        self.loss = data_parallel(self.model, self.compute_loss)
        if rank() > 0:  # with the same random numbers, dropout would be the same in all processes
            torch.manual_seed(torch.initial_seed() + rank())
        rate, decay = self.config.learning_rate, self.config.weight_decay
        self.optimizer = build_optimizer(self.model, learning_rate=rate, weight_decay=decay)
        self.parameters = list(self.model.parameters())
        self.device = self.parameters[0].device
        # Only float16 needs scaling: the exponents of the other types are those of float32.
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.config.precision == "float16"
        )

    @property
    def out_of_patience(self) -> bool:
        """Whether the last ``patience`` evaluations brought no new best."""
        values = [value for _, value in self.evaluations]
        since_best = len(values) - 1 - values.index(min(values)) if values else 0
        return bool(self.config.patience) and since_best >= self.config.patience

    def fit(
        self,
        evaluate: Callable[[nn.Module], float] | None,
        checkpoint: str | Path | None,
        progress: bool | None,
    ) -> None:
        """Do the remaining updates, evaluations and checkpoints; the arguments are ``train``'s."""
        config = self.config
        hide_bar = rank() > 0 or (None if progress is None else not progress)
        with tqdm(
            total=config.steps, initial=len(self.losses), unit="step", disable=hide_bar
        ) as bar:
            while len(self.losses) < config.steps and not self.out_of_patience:
                self.step()
                done = len(self.losses)
                bar.set_postfix(loss=f"{self.losses[-1]:.3f}", refresh=False)
                bar.update()
                if evaluate and config.evaluate_every and done % config.evaluate_every == 0:
                    self.evaluate(evaluate)
                if checkpoint and config.checkpoint_every and done % config.checkpoint_every == 0:
                    self.save(checkpoint)
        if checkpoint:
            self.save(checkpoint)
        if self.best_weights:
            self.model.load_state_dict(self.best_weights)

    def step(self) -> None:
        """Do one update."""
        number = len(self.losses)
        if self.schedule is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = self.config.learning_rate * self.schedule(number)
        self.optimizer.zero_grad(set_to_none=True)
        shares = [self._backward(*weighted) for weighted in self._weighted_batches(number)]
        self.scaler.unscale_(self.optimizer)
        before = nn.utils.clip_grad_norm_(self.parameters, self.config.clip_norm)
        # Reading a number waits for the GPU, so all of the step's work is queued before it.
        loss = self._sum(sum(share.item() for share in shares))
        norm = before.item()
        if not (math.isfinite(loss) and math.isfinite(norm)) and not self._overflows(loss):
            hint = f"a smaller learning_rate than {self.config.learning_rate} may help"
            raise DivergenceError(f"step {number}: loss {loss}, gradient norm {norm}; {hint}")
        self.losses.append(loss)
        self.gradient_norms.append(norm)
        self.scaler.step(self.optimizer)  # skips an update whose scaled gradients overflow
        self.scaler.update()

    def _overflows(self, loss: float) -> bool:
        """Return whether the loss scaling of float16 explains an infinite gradient norm.

        It does if ``loss`` is finite. The scaler skips such an update and halves the scale.
        """
        return self.scaler.is_enabled() and math.isfinite(loss) and self.scaler.get_scale() > 1

    def _weighted_batches(self, number: int) -> Iterator[tuple[Batch, Tensor, bool]]:
        """Yield this process's batches of update ``number``.

        With each batch come the divisor of its loss and whether it is the last of the update.
        """
        first, accumulation = number * self.config.accumulation, self.config.accumulation
        numbers = range(first + rank(), first + accumulation, world_size())
        batches: Iterable[Batch] = map(self.draw_batch, numbers)  # while the GPU computes
        counts = [torch.ones((), device=self.device)] * len(numbers)
        total = accumulation * counts[0]
        if self.num_items is not None:
            batches = list(batches)
            counts = [torch.as_tensor(self.num_items(b), device=self.device) for b in batches]
            total = all_reduce_sum(torch.stack(counts).sum(dim=0)).clamp(min=1)
        for place, batch, count in zip(numbers, batches, counts, strict=True):
            # As a divisor it is an integer if counts are equal, and infinite if the count is 0.
            yield batch, total / count, place == numbers[-1]

    def _backward(self, batch: Batch, divisor: Tensor, last: bool) -> Tensor:
        """Add the gradient of a batch; return its loss divided by ``divisor``.

        ``last`` is True for the last batch of an update, at which processes exchange gradients.
        """
        low = self.config.precision != "float32"
        dtype = getattr(torch, self.config.precision) if low else None
        with nullcontext() if last else no_sync(self.loss):
            with torch.autocast(self.device.type, dtype=dtype, enabled=low):
                loss = self.loss(batch)
            if loss.shape != divisor.shape:
                expected = f"of shape {tuple(divisor.shape)}" if divisor.dim() else "a scalar"
                raise ValueError(f"the loss must be {expected}, got shape {tuple(loss.shape)}")
            share = (loss / divisor).sum()
            # DistributedDataParallel averages gradients instead of summing them.
            self.scaler.scale(share * world_size()).backward()
        return share.detach()

    def evaluate(self, evaluate: Callable[[nn.Module], float]) -> None:
        """Evaluate the model, and copy its weights if the result is the best so far."""
        self.model.eval()
        with torch.no_grad():
            value = broadcast(float(evaluate(self.model)), self.device)
        self.model.train()
        if math.isnan(value):  # no number is less than NaN, so these weights would stay the best
            raise DivergenceError(f"step {len(self.losses)}: the evaluation is NaN")
        if all(value < earlier for _, earlier in self.evaluations):
            self.best_weights = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.evaluations.append((len(self.losses), value))

    def save(self, path: str | Path) -> None:
        """Write the run's state to a file that ``resume`` reads."""
        gathered = {k: all_gather(v, self.device) for k, v in random_state().items()}
        progress = {
            "losses": self.losses,
            "gradient_norms": self.gradient_norms,
            "evaluations": self.evaluations,
            "best_weights": self.best_weights,
            "seconds": self._seconds(),
            "cpu_seconds": self._cpu_seconds(),
            "precision": self.config.precision,
            "scaler": self.scaler.state_dict(),
            "random": gathered,
        }
        if rank() == 0:
            save_checkpoint(path, self.model, self.optimizer, progress)
        barrier()

    def resume(self, path: str | Path) -> None:
        """Restore the run's state from a file that ``save`` wrote."""
        progress = load_checkpoint(path, self.model, self.optimizer)
        random: dict[str, list[Tensor]] = progress["random"]
        if len(random["cpu"]) != world_size():
            raise CheckpointError(
                f"{path} is of {len(random['cpu'])} processes, and can't be taken up by "
                f"{world_size()}"
            )
        restore_random_state({name: random[name][rank()] for name in random})
        if progress.get("precision", self.config.precision) != self.config.precision:
            raise CheckpointError(f"{path} was not trained in {self.config.precision}")
        self.losses = progress["losses"]
        self.gradient_norms = progress["gradient_norms"]
        self.evaluations = [(step, value) for step, value in progress["evaluations"]]
        self.best_weights = progress["best_weights"]
        self.seconds_before = progress["seconds"]
        self.cpu_seconds_before = progress["cpu_seconds"]
        self.scaler.load_state_dict(progress["scaler"])

    def history(self) -> TrainingHistory:
        """Return losses, gradient norms, evaluations and times of the run so far."""
        return TrainingHistory(
            losses=tuple(self.losses),
            gradient_norms=tuple(self.gradient_norms),
            seconds=self._seconds(),
            cpu_seconds=self._cpu_seconds(),
            evaluations=tuple(self.evaluations),
            stopped_early=self.out_of_patience and len(self.losses) < self.config.steps,
        )

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.began

    def _cpu_seconds(self) -> float:
        return self.cpu_seconds_before + self._sum(time.process_time() - self.cpu_began)

    def _sum(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        own = torch.tensor(value, dtype=torch.float64, device=self.device)
        return all_reduce_sum(own).item()
