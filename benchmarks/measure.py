"""How a figure is taken: ours and the peer's in turn, many times, in one process.

A machine's speed drifts from second to second. Taken in pairs, one right after the other, both
halves drift alike; the median of the pairs' ratios is the figure.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One line of the table.

    Attributes:
        what: What was done, with its sizes.
        peer: Who else did it.
        device: Where.
        ours: Median time of ours (seconds for each unit of work).
        theirs: Median time of the peer's, likewise.
        ratio: Median over the pairs of the peer's time by ours; 1 or more: at least as fast.
        low: First quartile of that ratio.
        high: Third quartile.
        pairs: Number of pairs.
        target: Ratio that is asked for; None if the line only informs.
        note: What else to know.
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
    """Take a figure.

    Args:
        what: What is done, with its sizes.
        ours: Does it our way; its result must not matter.
        peer: Who else does it.
        theirs: Does it the peer's way.
        pairs: How many pairs to take, after one that warms both up.
        units: Units of work in a call, such as tokens; times are given for one of them.
        target: Ratio that is asked for.
        device: Where it runs; a GPU is waited for.
        note: What else to know.

    Returns:
        The line of the table.

    Raises:
        ValueError: ``pairs`` is smaller than 2.
    """
    if pairs < 2:
        raise ValueError(f"pairs must be at least 2, got {pairs}")
    own_times, peer_times, ratios = [], [], []
    for number in range(pairs + 1):
        # Who goes first changes: the second finds the caches full of the first's data.
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


def devices() -> list[str]:
    """Name where to measure: the CPU, and a GPU where there is one."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def table(comparisons: list[Comparison]) -> str:
    """Lay lines out as a Markdown table.

    Args:
        comparisons: The lines.

    Returns:
        The table; a ratio below its target is marked.
    """
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
    """Write a time with three digits and a unit that fits.

    Args:
        seconds: The time.

    Returns:
        Such as ``1.25 ms``.
    """
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
