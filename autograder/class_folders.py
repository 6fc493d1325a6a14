"""File names in the two folders of a class: its submissions and the output of grading."""

from pathlib import Path

TEAMS = ".teams.json"
"""File in the folder of submissions: the teams of each homework."""

# In the output folder.
RESULTS = "results"  # a folder per homework
FEEDBACK = "feedback"  # a folder per student
REPORT, SIMILAR = "report.html", "similar.html"
GRADES, CHANGES, LOG = "grades.csv", "changes.csv", "marks.log"
COURSE_PAGE, COURSE_TABLE = "course.html", "course.csv"
NBGRADER = "nbgrader"  # nbgrader's course folder, which contains:
GRADEBOOK = "gradebook.db"
SUBMITTED, AUTOGRADED = "submitted", "autograded"
_CONFIG = "nbgrader_config.py"


def is_graded_into(folder: Path) -> bool:
    """Return whether a folder is an output folder of grading."""
    return (folder / RESULTS).is_dir() and (folder / NBGRADER).is_dir()


def course_folder(folder: Path) -> Path:
    """Return ``folder`` if it is a course folder of nbgrader, else its subfolder ``nbgrader``."""
    is_one = (folder / _CONFIG).is_file() and not is_graded_into(folder)
    return folder if is_one else folder / NBGRADER


def submitted_in(out: Path) -> Path:
    """Return nbgrader's folder of submitted notebooks in an output folder."""
    return out / NBGRADER / SUBMITTED
