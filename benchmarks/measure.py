"""Times our code and the peer's in turn, many times, in one process.

A machine's speed changes from second to second. In a pair of runs, one right after the other, both
change alike. The result is the median of the pairs' ratios.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One row of a table of benchmarks: our code beside a peer, another library that does the same.

    Attributes:
        what: Description of the work, with its sizes.
        peer: Name of the peer.
        device: ``cpu`` or ``cuda``.
        ours: Median of our time (seconds per unit of work).
        theirs: Median of the peer's time (seconds per unit of work).
        ratio: Median over pairs of the peer's time divided by ours; from 1 on ours is as fast.
        low: First quartile of the ratio.
        high: Third quartile of the ratio.
        pairs: Number of pairs of timed runs.
        target: Required ratio; None if there is none.
        note: Remark for the last column.
    """

    what: str
    peer: str
    device: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    pairs: int
    target: float | None = None
    note: str = ""


def compare(
    what: str,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    *,
    pairs: int = 15,
    units: int = 1,
    target: float | None = 1.0,
    device: str = "cpu",
    note: str = "",
) -> Comparison:
    """Time our code and that of a peer, another library; return a row of the benchmarks' table.

    Args:
        what: Description of the work, with its sizes.
        ours: Function that does the work with our code; its result is ignored.
        peer: Name of the peer.
        theirs: Function that does the work with the peer's code.
        pairs: Number of timed pairs, after a warm-up.
        units: Units of work in a call, such as tokens; times are per unit.
        target: Required ratio; None for none.
        device: ``cpu`` or ``cuda``; timings wait for a GPU to finish.
        note: Remark for the last column.

    Raises:
        ValueError: ``pairs`` is smaller than 2.
    """
    if pairs < 2:
        raise ValueError(f"pairs must be at least 2, got {pairs}")
    own_times, peer_times, ratios = [], [], []
    for number in range(pairs + 1):
        # The order alternates, because the second run finds the first's data in the caches.
        if number % 2 == 0:
            own, other = _seconds(ours, device), _seconds(theirs, device)
        else:
            other, own = _seconds(theirs, device), _seconds(ours, device)
        if number > 0:
            own_times.append(own / units)
            peer_times.append(other / units)
            ratios.append(other / own)
    low, _, high = statistics.quantiles(ratios, n=4)
    return Comparison(
        what=what,
        peer=peer,
        device=device,
        ours=statistics.median(own_times),
        theirs=statistics.median(peer_times),
        ratio=statistics.median(ratios),
        low=low,
        high=high,
        pairs=pairs,
        target=target,
        note=note,
    )


def training_step(
    model: nn.Module, compute_loss: Callable[[], Tensor], *, learning_rate: float = 1e-4
) -> Callable[[], None]:
    """Return a function that trains a model for one step: forward, backward, AdamW's update.

    ``compute_loss`` runs forward.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)

    def step() -> None:
        loss = compute_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def devices() -> list[str]:
    """Return the devices to measure on: the CPU, and a GPU if there is one."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def table(comparisons: list[Comparison]) -> str:
    """Format comparisons as a Markdown table; a ratio below its target is marked."""
    rows = [
        "| what | peer | device | ours | peer's | ratio (quartiles) | asked | |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for c in comparisons:
        asked = "" if c.target is None else f"{c.target:g}"
        short = c.target is not None and c.ratio < c.target
        ratio = f"{c.ratio:.2f} ({c.low:.2f} to {c.high:.2f})" + (" **short**" if short else "")
        rows.append(
            f"| {c.what} | {c.peer} | {c.device} | {readable(c.ours)} | {readable(c.theirs)} "
            f"| {ratio} | {asked} | {c.note} |"
        )
    return "\n".join(rows)


def readable(seconds: float) -> str:
    """Format a time with three digits and a suitable unit, such as ``1.25 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _seconds(run: Callable[[], object], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began
