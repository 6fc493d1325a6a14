"""Heatmaps of position encodings: a row for each position, a column for each dimension."""

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.plotting.picture import COLORS, Picture, course_style, to_picture


def plot_positions(vectors: Tensor, *, alt: str) -> Picture:
    """Draw position vectors ``(length, d_model)`` with entries from -1 to 1.

    Positive entries are blue, negative ones orange, larger ones darker. ``alt`` is the alternative
    text.
    """
    if vectors.dim() != 2 or 0 in vectors.shape:
        raise ValueError(f"vectors must be (length, d_model), got {tuple(vectors.shape)}")
    strength = vectors.detach().cpu().double().numpy()
    if not np.abs(strength).max() <= 1 + 1e-6:
        raise ValueError(f"an entry is larger than 1: {float(vectors.abs().max())}")
    length, d_model = strength.shape
    # Opacity instead of white, so that 0 shows the background of a light or a dark page.
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
