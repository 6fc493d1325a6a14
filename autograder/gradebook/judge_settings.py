"""What nbgrader_config.py may say of the judge, under ``c.TrustedJudge``."""

from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from traitlets import Bool, Float, Int, TraitError, Unicode
from traitlets.config import Config, Configurable

from autograder.homework_source.nbgrader_settings import (
    CONFIG_FILE,
    SettingsError,
    project_settings,
)
from autograder.judging.check_limits import TimeLimits
from autograder.sandbox.worker.isolation import Limits

# Of every preprocessor; to ask nbconvert for them takes a second.
_NBCONVERTS = ("default_language", "display_data_priority", "enabled")


class JudgeSettings(Configurable):
    """Limits, and where students' code runs."""

    root = Unicode(".", help="Folder of the course project, with course_lib and solutions").tag(
        config=True
    )
    check_seconds = Float(
        30.0, min=0.1, help="Processor time of one check, or one cell, in seconds"
    ).tag(config=True)
    submission_seconds = Float(
        600.0, min=0.1, help="Time limit of a whole notebook, by the clock, in seconds"
    ).tag(config=True)
    memory_mb = Int(Limits.memory_mb, min=1, help="Memory of a student's process, in MiB").tag(
        config=True
    )
    scratch_mb = Int(
        Limits.scratch_mb,
        min=1,
        help="Disk space of a student's process, in MiB; also of each file",
    ).tag(config=True)
    processes = Int(
        Limits.processes, min=1, help="Processes and threads that a student's code may have"
    ).tag(config=True)
    open_files = Int(Limits.open_files, min=1, help="Files that a student's process may open").tag(
        config=True
    )
    output_characters = Int(
        Limits.output_characters,
        min=1,
        help="Text that one cell may show; what is beyond it is left out and costs no point",
    ).tag(config=True)
    isolated = Bool(True, help="Run students' code inside the sandbox").tag(config=True)
    device = Unicode("cpu", help="cpu or cuda").tag(config=True)

    @property
    def time_limits(self) -> TimeLimits:
        """How long students' code may run, as configured."""
        return TimeLimits(
            check_seconds=self.check_seconds, submission_seconds=self.submission_seconds
        )

    @property
    def worker_limits(self) -> Limits:
        """What a student's process may use, as configured."""
        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})


def configured_judge(root: Path) -> JudgeSettings:
    """Return the judge as the project's nbgrader_config.py sets it up, for what else grades.

    Args:
        root: The project's folder.

    Returns:
        What c.TrustedJudge says there.

    Raises:
        SettingsError: The file can't be read, or sets what is unknown, or to what can't be.
    """
    settings = project_settings(root)
    for name, value in settings.TrustedJudge.items():
        if problem := _problem(name, value):
            raise SettingsError(f"{root / CONFIG_FILE}: c.TrustedJudge.{name} {problem}")
    return JudgeSettings(config=Config(JudgeSettings=settings.TrustedJudge))


def _problem(name: str, value: Any) -> str:
    """Say what is wrong with a setting; nothing if it can be used."""
    known = sorted(JudgeSettings.class_trait_names(config=True))
    if name in _NBCONVERTS:
        return ""
    if name not in known:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        return f"is no setting; {advice}"
    try:
        JudgeSettings(config=Config(JudgeSettings={name: value}))
    except TraitError:
        trait = JudgeSettings.class_traits()[name]
        least = f" of at least {trait.min}" if hasattr(trait, "min") else ""
        return f"is {value!r}, expected {trait.info()}{least}"
    return ""
