"""How nbgrader is told to use the judge: the one place for its configuration."""

import os
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.homework_source.cell_text import ANSWER_STUB

CONFIG_FILE = "nbgrader_config.py"


class SettingsError(ValueError):
    """Settings that can't be used; the message names the file, and says what is allowed."""


def configure(c: Config) -> None:
    """Put the judge where nbgrader would read and execute a notebook; keep hidden tests hidden.

    Args:
        c: nbgrader's configuration, changed in place.
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
    # formgrader's colours for other languages take minutes for a page of some signs.
    c.HighlightMagicsPreprocessor.enabled = False
    # Without one nbgrader writes no row for the course, and PostgreSQL, unlike SQLite, then refuses
    # the assignment that names it. This is the name that nbgrader's own Gradebook falls back to.
    c.CourseDirectory.course_id = "default_course"
    # What a student finds in the place of a solution.
    c.ClearSolutions.code_stub = {
        "python": '# YOUR CODE HERE\nraise NotImplementedError("your code goes here")'
    }
    c.ClearSolutions.text_stub = ANSWER_STUB
    c.GenerateFeedback.exporter_class = "autograder.gradebook.plugins.FeedbackPage"
    # nbgrader's own page, for what the judge has not graded, would show students the hidden tests.
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        "nbgrader.preprocessors.ClearHiddenTests",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]


def project_settings(root: Path) -> Config:
    """Read what the project's nbgrader_config.py says, for what is not run in the project's folder.

    Args:
        root: The project's folder.

    Returns:
        Its settings; none if there is no such file.

    Raises:
        SettingsError: The file can't be read as Python, or what it says fails.
    """
    path = root / CONFIG_FILE
    if not path.is_file():
        return Config()
    try:
        return PyFileConfigLoader(CONFIG_FILE, path=str(root)).load_config()
    except Exception as error:  # whatever the code in it raises
        reason = f"{type(error).__name__}: {error}"
        raise SettingsError(f"{path} can't be read as Python: {reason}") from error


def _put_scripts_on_path() -> None:
    # nbgrader runs ``alembic`` by its bare name, which only an activated environment would find;
    # one that lies on top of another has the other's packages, and not its programs.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    scripts = [sysconfig.get_path("scripts"), *_folders_of("alembic")]
    if missing := [folder for folder in dict.fromkeys(scripts) if folder not in folders]:
        os.environ["PATH"] = os.pathsep.join([*missing, *folders])


def _folders_of(program: str) -> list[str]:
    """Return where a package of this name has put its program."""
    try:
        files = distribution(program).files or []
    except PackageNotFoundError:
        return []
    found = (Path(str(file.locate())) for file in files if file.name == program)
    return [str(path.resolve().parent) for path in found if os.access(path, os.X_OK)]
