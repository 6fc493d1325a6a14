"""A recipe's run that is cut off: drawing one of its batches fails."""


def cut_off_at(patch, drawer, last, error=InterruptedError):
    """Make ``drawer.draw`` fail when its last argument, a batch's number or seed, is this one."""
    draw = drawer.draw

    def draw_or_fail(self, *arguments):
        if arguments[-1] == last:
            raise error
        return draw(self, *arguments)

    patch.setattr(drawer, "draw", draw_or_fail)
