"""Do positions show sign by colour, and size by opacity?"""

import base64
import io
import re

import numpy as np
import torch
from PIL import Image

from course_lib.plotting.picture import COLORS
from course_lib.plotting.positions import plot_positions


def test_positions_show_signs_by_colour_and_size_by_opacity():
    vectors = torch.tensor([[1.0, -1.0], [0.2, 0.0]])
    pixels = read_image(plot_positions(vectors, alt="x").svg)
    blue, orange = (tuple(bytes.fromhex(COLORS[role][1:])) for role in ("query", "key"))
    assert [tuple(pixel) for row in pixels for pixel in row] == [
        (*blue, 255), (*orange, 255), (*blue, 51), (*orange, 0),
    ]  # fmt: skip


def read_image(svg):
    """Return the pixels of the PNG in an SVG: red, green, blue and opacity, 0 to 255."""
    data = re.search(r'data:image/png;base64,([^"]+)"', svg)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))
