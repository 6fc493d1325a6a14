"""The figure ``depth-profile``: activations and gradients through deep stacks."""

from course_book.figures.figure import Figure, Record, html_table


class Profile(Record):
    """Measurements of an untrained stack with a certain number of layers, ``depth``.

    ``sizes`` are the root mean squares of the vectors between the layers, from the embeddings to
    the output (``depth + 1`` numbers); ``gradients`` are the norms of the gradients of each layer's
    first feed-forward matrix (``depth`` numbers).
    """

    sizes: list[float]
    gradients: list[float]


class DepthProfiles(Figure):
    """Curves of activations and gradients through stacks of the chosen depth.

    ``depths`` are the numbers of layers to choose from, ascending. ``profiles`` has a profile for
    each depth, by the way of stacking: ``plain``, ``residual``, ``post`` and ``pre``.
    """

    depths: list[int]
    profiles: dict[str, list[Profile]]

    def table(self) -> str:
        """Return a table of the first and the last measurement of each profile."""
        rows = [
            [
                f"{stacking}, {depth} layers",
                *(
                    f"{number:.2f}" if 0.01 <= number < 1000 else f"{number:.0e}"
                    for numbers in (profile.sizes, profile.gradients)
                    for number in (numbers[0], numbers[-1])
                ),
            ]
            for stacking in ("plain", "residual", "post", "pre")
            for depth, profile in zip(self.depths, self.profiles[stacking], strict=True)
        ]
        return html_table(
            "Size of the stream and of the gradient, at both ends of each stack.",
            ["stack", "size, bottom", "size, top", "gradient, bottom", "gradient, top"],
            rows,
        )
