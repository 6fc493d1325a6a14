"""The judge's settings in nbgrader_config.py, under ``c.TrustedJudge``."""

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

# Settings of every nbconvert preprocessor; importing nbconvert to list them takes a second.
_NBCONVERTS = ("default_language", "display_data_priority", "enabled")


class JudgeSettings(Configurable):
    """Limits on students' code, and where it runs."""

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
        help="Characters of output kept from one cell; longer output is cut and costs no points",
    ).tag(config=True)
    isolated = Bool(True, help="Run students' code inside the sandbox").tag(config=True)
    device = Unicode("cpu", help="cpu or cuda").tag(config=True)

    @property
    def time_limits(self) -> TimeLimits:
        """Time limits of students' code."""
        return TimeLimits(
            check_seconds=self.check_seconds, submission_seconds=self.submission_seconds
        )

    @property
    def worker_limits(self) -> Limits:
        """Resource limits of a student's process."""
        return Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)})


def configured_judge(root: Path) -> JudgeSettings:
    """Return the judge's settings from the project's nbgrader_config.py.

    Raises:
        SettingsError: The file can't be read, or a setting is unknown or out of range.
    """
    settings = project_settings(root)
    for name, value in settings.TrustedJudge.items():
        if problem := _problem(name, value):
            raise SettingsError(f"{root / CONFIG_FILE}: c.TrustedJudge.{name} {problem}")
    return JudgeSettings(config=Config(JudgeSettings=settings.TrustedJudge))


def _problem(name: str, value: Any) -> str:
    """Return why ``c.TrustedJudge`` can't have this setting and value; empty if it can."""
    known = sorted(JudgeSettings.class_trait_names(config=True))
    if name in _NBCONVERTS:
        return ""
    if name not in known:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return f"is not a setting; {advice}"
    try:
        JudgeSettings(config=Config(JudgeSettings={name: value}))
    except TraitError:
        trait = JudgeSettings.class_traits()[name]
        least = f" of at least {trait.min}" if hasattr(trait, "min") else ""
        return f"is {value!r}, expected {trait.info()}{least}"
    return ""
