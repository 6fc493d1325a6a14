"""A recipe's run that is interrupted: drawing one of its batches raises an error."""


def cut_off_at(patch, drawer, last, error=InterruptedError):
    """Make ``drawer.draw`` raise an error for the batch with the number or seed ``last``.

    This is its last argument. ``patch`` is the fixture ``monkeypatch``.
    """
    draw = drawer.draw

    def draw_or_fail(self, *arguments):
        if arguments[-1] == last:
            raise error
        return draw(self, *arguments)

    patch.setattr(drawer, "draw", draw_or_fail)
