"""What may be a student's id in nbgrader, whoever brings it there."""

from autograder.clean_text import is_plain


def why_unfit(student: str) -> str:
    """Say why nbgrader is to have no student of this id.

    Args:
        student: The id: what somebody has called a folder.

    Returns:
        The reason; empty if it may.
    """
    if any(sign in student for sign in "*?[+"):
        return "nbgrader takes *, ?, [ and + in a student's id for a pattern"
    if any(sign in student for sign in "<>&\"'`\\"):
        return "formgrader shows a student's id as HTML: it must hold none"
    if not is_plain(student):
        return "an id is visible text on one line, without / and with no dot before it"
    return ""
