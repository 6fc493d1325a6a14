"""The error of a gradebook that can't be written."""


class GradebookError(RuntimeError):
    """Some results are not in the gradebook; the message says which, and why."""
