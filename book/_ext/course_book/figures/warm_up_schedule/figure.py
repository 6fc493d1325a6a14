"""The figure ``warm-up-schedule``: the learning rate with a linear warm-up."""

from course_book.figures.figure import Figure, html_table


class WarmUpSchedule(Figure):
    """The learning rate as a curve over the updates; sliders change these first settings.

    ``d_model`` is the width of the model, ``warmup_steps`` the update with the largest learning
    rate, ``steps`` the number of updates in view.
    """

    d_model: int
    warmup_steps: int
    steps: int

    def table(self) -> str:
        """Return a table of the learning rate at a few updates."""
        from course_lib.training.schedules import inverse_sqrt

        peak = (self.d_model * self.warmup_steps) ** -0.5
        rows = []
        for update in (1, 100, 1_000, 4_000, 10_000, 50_000, 100_000):
            if update <= self.steps:
                rate = peak * inverse_sqrt(update - 1, warmup_steps=self.warmup_steps)
                rows.append([f"{update:,}", f"{rate:.2e}"])
        return html_table(
            f"The learning rate, for d_model {self.d_model} and a warm-up of "
            f"{self.warmup_steps:,} updates.",
            ["update", "learning rate"],
            rows,
        )
