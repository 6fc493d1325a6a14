"""What goes wrong with a gradebook."""


class GradebookError(RuntimeError):
    """Some results are not in the gradebook; the message says which, and why."""
