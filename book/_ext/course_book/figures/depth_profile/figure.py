"""The figure ``depth-profile``: activations and gradients through deep stacks."""

from course_book.figures.figure import Figure, Record, html_table


class Profile(Record):
    """Measurements of one stack."""

    sizes: list[float]  # sizes of the stream, ``depth + 1`` positive numbers
    gradients: list[float]  # sizes of the gradients, ``depth`` positive numbers


class DepthProfiles(Figure):
    """Measurements of stacks of several depths."""

    depths: list[int]  # numbers of layers, ascending
    # for ``plain``, ``residual``, ``post`` and ``pre``: a profile for each depth
    profiles: dict[str, list[Profile]]

    def table(self) -> str:
        """Return the first and the last measurement of each profile."""
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
