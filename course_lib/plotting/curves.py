"""Line plots: one or several curves, such as a loss against the step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from course_lib.plotting.picture import COLORS, LINE_STYLES, Picture, course_style, to_picture


def plot_curves(
    curves: Mapping[str, Sequence[float] | tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    alt: str,
    roles: Mapping[str, str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    markers: bool = False,
) -> Picture:
    """Draw one or several curves in one frame.

    Args:
        curves: Each curve by its label in the legend: a sequence of y values, drawn against 0, 1,
            2, ...; or a pair of x values and y values.
        x_label: Label of the horizontal axis, with its unit.
        y_label: Label of the vertical axis, with its unit.
        alt: Alternative text.
        roles: From the labels of some curves to the role in ``COLORS`` whose style they have.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is logarithmic.
        markers: Whether to mark each point.

    Returns:
        The picture.
    """
    if not curves:
        raise ValueError("curves must hold at least one curve")
    with course_style():
        figure = Figure()
        ax = figure.subplots()
        counted = True  # whether all positions are whole numbers
        for number, (label, curve) in enumerate(curves.items()):
            x, y = curve if isinstance(curve, tuple) and _is_pair(curve) else (None, curve)
            counted = counted and (x is None or all(float(place).is_integer() for place in x))
            style: dict[str, Any] = {"marker": "osD^v"[number % 5]} if markers else {}
            if roles and label in roles:
                role = roles[label]
                style |= {"color": COLORS[role], "linestyle": LINE_STYLES[role]}
            ax.plot(range(len(y)) if x is None else x, y, label=label, **style)
        if log_x:
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter(_with_commas)
        elif counted:  # no fractions, such as layer 0.5
            ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
            ax.xaxis.set_major_formatter(_with_commas)
        if log_y:
            ax.set_yscale("log")
            _label_few_powers(ax.yaxis)
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        if len(curves) > 1:
            figure.legend(loc="outside upper center", ncols=2)
    return to_picture(figure, alt=alt)


def _with_commas(value: float, position: object) -> str:
    """Return the label of a tick, such as ``1,000``; matplotlib passes its position too."""
    return f"{value:,g}"


def _label_few_powers(axis: Axis) -> None:
    """Label 1, 2 and 5 as plain numbers if a logarithmic axis spans less than two powers of ten."""
    low, high = axis.get_view_interval()
    if high < 100 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(_with_commas)
    axis.set_minor_formatter(NullFormatter())


def _is_pair(curve: tuple[Any, ...]) -> bool:
    """Return whether a curve is a pair of x values and y values."""
    return len(curve) == 2 and all(np.ndim(part) == 1 for part in curve)
