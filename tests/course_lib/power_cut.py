"""A recipe's run that is interrupted: drawing one of its batches raises an error."""


def cut_off_at(patch, drawer, last, error=InterruptedError):
    """Make the method ``drawer.draw`` raise an error when its last argument is ``last``.

    That argument is the batch's number or seed. ``patch`` is the fixture ``monkeypatch``.
    """
    draw = drawer.draw

    def draw_or_fail(self, *arguments):
        if arguments[-1] == last:
            raise error
        return draw(self, *arguments)

    patch.setattr(drawer, "draw", draw_or_fail)
