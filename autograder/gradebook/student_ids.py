"""Student ids that nbgrader, its pages and its tables can show safely."""

from autograder.clean_text import is_plain


def id_problem(student: str) -> str:
    """Return why nbgrader must not get a student with this id; empty if it may.

    An id is the name of a folder, which students choose themselves in some ways of submitting.
    """
    if any(sign in student for sign in "*?[+"):
        return "nbgrader takes *, ?, [ and + in a student's id for a pattern"
    if any(sign in student for sign in "<>&\"'`\\"):
        return "formgrader shows a student's id as HTML, so it must not contain markup"
    if "," in student or student.startswith(("=", "-", "@")):
        return "nbgrader exports an id unquoted, so a spreadsheet would read this one as a formula"
    if not is_plain(student):
        return "an id must be visible text on one line, without / and without a leading dot"
    return ""
