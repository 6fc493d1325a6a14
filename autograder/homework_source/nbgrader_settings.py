"""Configures nbgrader to grade with the judge."""

import os
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.homework_source.cell_text import ANSWER_STUB

CONFIG_FILE = "nbgrader_config.py"


class SettingsError(ValueError):
    """Invalid settings; the message names the file and the allowed values."""


def configure(c: Config) -> None:
    """Set nbgrader's configuration ``c`` so that the judge reads and runs notebooks.

    nbgrader's own feedback pages then hide the hidden tests.
    """
    _put_scripts_on_path()
    c.Autograde.exporter_class = "autograder.gradebook.plugins.HandedInNotebook"
    c.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "autograder.gradebook.plugins.RestoredCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.Autograde.autograde_preprocessors = [
        "autograder.gradebook.plugins.TrustedJudge",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.AssignLatePenalties.plugin_class = "autograder.gradebook.plugins.DatedPenalties"
    # formgrader's syntax colours for other languages can take minutes for one page.
    c.HighlightMagicsPreprocessor.enabled = False
    # Without a course_id nbgrader writes no course row, and PostgreSQL, unlike SQLite, then rejects
    # the assignment that refers to it. This is the default name of nbgrader's Gradebook.
    c.CourseDirectory.course_id = "default_course"
    # Replaces a solution in the released notebook.
    c.ClearSolutions.code_stub = {
        "python": '# YOUR CODE HERE\nraise NotImplementedError("your code goes here")'
    }
    c.ClearSolutions.text_stub = ANSWER_STUB
    c.GenerateFeedback.exporter_class = "autograder.gradebook.plugins.FeedbackPage"
    # For submissions without a result of the judge, nbgrader's page would show the hidden tests.
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]


def project_settings(root: Path) -> Config:
    """Return the settings in nbgrader_config.py in the folder ``root``; none without such a file.

    Raises:
        SettingsError: The file can't be read, or its code raises.
    """
    path = root / CONFIG_FILE
    if not path.is_file():
        return Config()
    try:
        return PyFileConfigLoader(CONFIG_FILE, path=str(root)).load_config()
    except Exception as error:  # the file's code may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"{path} can't be read as Python: {reason}") from error


def _put_scripts_on_path() -> None:
    # nbgrader runs ``alembic`` by its bare name, which only an activated environment finds. An
    # environment with --system-site-packages has the packages of another, but not its scripts.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    scripts = [sysconfig.get_path("scripts"), *_folders_of("alembic")]
    if missing := [folder for folder in dict.fromkeys(scripts) if folder not in folders]:
        os.environ["PATH"] = os.pathsep.join([*missing, *folders])


def _folders_of(program: str) -> list[str]:
    """Return the folders in which a package has installed the program of the same name."""
    try:
        files = distribution(program).files or []
    except PackageNotFoundError:
        return []
    found = (Path(str(file.locate())) for file in files if file.name == program)
    return [str(path.resolve().parent) for path in found if os.access(path, os.X_OK)]
