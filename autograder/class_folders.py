"""The two folders of a class, what is handed in and what grading writes: the names in them."""

from pathlib import Path

TEAMS = ".teams.json"
"""File of the folder of what is handed in that says who does so together, in each homework."""

# Of the folder that grading writes.
RESULTS = "results"  # what was found, of each homework
FEEDBACK = "feedback"  # a folder for each student
REPORT, SIMILAR = "report.html", "similar.html"
GRADES, CHANGES, LOG = "grades.csv", "changes.csv", "marks.log"
COURSE_PAGE, COURSE_TABLE = "course.html", "course.csv"
NBGRADER = "nbgrader"  # nbgrader's own course folder, in which are:
GRADEBOOK = "gradebook.db"
SUBMITTED, AUTOGRADED = "submitted", "autograded"
_CONFIG = "nbgrader_config.py"


def is_graded_into(folder: Path) -> bool:
    """Say whether a folder is one that grading wrote."""
    return (folder / RESULTS).is_dir() and (folder / NBGRADER).is_dir()


def course_folder(folder: Path) -> Path:
    """Return nbgrader's course folder."""
    is_one = (folder / _CONFIG).is_file() and not is_graded_into(folder)
    return folder if is_one else folder / NBGRADER


def submitted_in(out: Path) -> Path:
    """Return nbgrader's folder of what was handed in."""
    return out / NBGRADER / SUBMITTED
