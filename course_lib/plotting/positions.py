"""Heatmaps of position encodings: a row for each position, a column for each dimension."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.plotting.picture import COLORS, Picture, course_style, to_picture


def plot_positions(vectors: Tensor, *, alt: str) -> Picture:
    """Draw position vectors: blue for positive entries, orange for negative, darker for larger.

    Args:
        vectors: ``(length, d_model)``, one row for each position.
        alt: Alternative text.

    Returns:
        The picture.

    Raises:
        ValueError: ``vectors`` is no matrix, or holds an entry larger than 1.
    """
    if vectors.dim() != 2 or 0 in vectors.shape:
        raise ValueError(f"vectors must be (length, d_model), got {tuple(vectors.shape)}")
    strength = vectors.detach().cpu().double().numpy()
    if not np.abs(strength).max() <= 1 + 1e-6:
        raise ValueError(f"an entry is larger than 1: {float(vectors.abs().max())}")
    length, d_model = strength.shape
    # Opacity, not white: a zero is the page itself, in the light theme and in the dark.
    pixels = np.empty((length, d_model, 4))  # red, green, blue, opacity
    pixels[..., :3] = np.where(
        strength[..., None] > 0, to_rgb(COLORS["query"]), to_rgb(COLORS["key"])
    )
    pixels[..., 3] = np.abs(strength).clip(0, 1)
    cell = min(0.12, 6.0 / d_model, 4.5 / length)  # inches
    with course_style():
        figure = Figure(figsize=(max(cell * d_model, 2.5) + 0.8, max(cell * length, 1.2) + 0.7))
        ax = figure.subplots()
        ax.imshow(pixels, interpolation="none", aspect="auto")
        ax.grid(visible=False)
        ax.set_xlabel("dimension")
        ax.set_ylabel("position (tokens)")
    return to_picture(figure, alt=alt)
