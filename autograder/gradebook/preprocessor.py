"""Where the judge meets nbgrader: a preprocessor in the place of ``Execute``.

It leaves in each test cell the outputs that nbgrader's own ``SaveAutoGrades`` reads.
"""

from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float, Int, TraitError, Unicode
from traitlets.config import Config

from autograder.class_run.course import Course
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.gradebook.graded_notebook import write_outcomes
from autograder.homework_source.nbgrader_settings import (
    CONFIG_FILE,
    SettingsError,
    project_settings,
)
from autograder.homework_source.source import load_homework
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import SubmissionResult
from autograder.sandbox.worker.isolation import Limits


class TrustedJudge(NbGraderPreprocessor):
    """Grades a submitted notebook with the judge and writes what it found into the test cells."""

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

    _judges = JudgePool()  # of all preprocessors: nbgrader makes one for each notebook

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the notebook.

        Args:
            notebook: The submission, after nbgrader's sanitising steps.
            resources: nbgrader's resources, with the student's and the assignment's ids.

        Returns:
            The notebook with outputs in its test cells, and the resources.
        """
        root = Path(self.root)
        course = Course.load(load_homework(resources["nbgrader"]["assignment"], root), root)
        result = self._grade(course, notebook, resources["nbgrader"]["student"])
        write_outcomes(notebook, result, course.homework)
        return notebook, resources

    def _grade(self, course: Course, notebook: NotebookNode, student: str) -> SubmissionResult:
        options = GradingOptions(
            limits=self.time_limits,
            worker_limits=self.worker_limits,
            isolated=self.isolated,
            device=self.device,
        )
        judge = self._judges.acquire_one(course, options)
        return judge.grade(nbformat.writes(notebook).encode(), student)

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


def configured_judge(root: Path) -> TrustedJudge:
    """Return the judge as the project's nbgrader_config.py sets it up, for what else grades.

    Args:
        root: The project's folder.

    Returns:
        A preprocessor whose limits are to be read.

    Raises:
        SettingsError: The file can't be read, or sets what is unknown, or to what can't be.
    """
    settings = project_settings(root)
    for name, value in settings.TrustedJudge.items():
        if problem := _problem(name, value):
            raise SettingsError(f"{root / CONFIG_FILE}: c.TrustedJudge.{name} {problem}")
    return TrustedJudge(config=settings)


def _problem(name: str, value: Any) -> str:
    """Say what is wrong with a setting; nothing if it can be used."""
    known = sorted(TrustedJudge.class_trait_names(config=True))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        return f"is no setting; {advice}"
    try:
        TrustedJudge(config=Config(TrustedJudge={name: value}))
    except TraitError:
        trait = TrustedJudge.class_traits()[name]
        least = f" of at least {trait.min}" if hasattr(trait, "min") else ""
        return f"is {value!r}, expected {trait.info()}{least}"
    return ""
