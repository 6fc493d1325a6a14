"""The steps of grading a class: check the options, grade, store, record, write all outputs."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.class_folders import NBGRADER, RESULTS, is_graded_into
from autograder.class_run.result_store import ResultStore
from autograder.clean_text import one_line, without_sql
from autograder.cli.class_results import ClassResults
from autograder.cli.errors import BadInputError, told_in_one_line, writing
from autograder.cli.options import (
    ROOT,
    Device,
    GradingSettings,
    check_book,
    usable_dates,
    usable_gradebook,
)
from autograder.cli.terminal import StepProgress, listed, output
from autograder.files import TextFileError, text_of, write_atomically
from autograder.homework_source.book_links import with_headings
from autograder.homework_source.homework import (
    Homework,
    HomeworkError,
    all_homeworks,
    resolve_homework,
)
from autograder.homework_source.nbgrader_settings import SettingsError
from autograder.homework_source.source import load_homework
from autograder.judging.results import Flag, FlagKind, SubmissionResult
from autograder.marks.changes import Change
from autograder.marks.standing import Standing
from autograder.reports.class_outputs import staging_report, write_outputs
from autograder.sandbox.zygote import SandboxError
from autograder.term.dates import DATES_FILE, DatesError, parse_dates, with_due
from autograder.term.pages import write_course, write_indexes

if TYPE_CHECKING:
    from autograder.class_run.judges import JudgePool
    from autograder.class_run.options import GradingOptions
    from autograder.class_run.run import Elsewhere
    from autograder.gradebook.database import GradebookError
    from autograder.gradebook.writer import GradebookWriter


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The settings of one grading, after their check.

    Attributes:
        settings: The command's options.
        homework_id: Such as ``hw03-self-attention``.
        kept: The class's stored results.
    """

    settings: GradingSettings
    homework_id: str
    kept: ClassResults

    @property
    def out(self) -> Path:
        """The folder to write into."""
        return self.settings.out

    @cached_property
    def homework(self) -> Homework:
        """The homework, read when it is first needed."""
        return load_homework(self.homework_id, ROOT)

    @property
    def store(self) -> ResultStore:
        """The store of the homework's results."""
        return ResultStore(self.out / RESULTS / self.homework_id)

    @property
    def released(self) -> Path:
        """The path of the notebook that students get."""
        return ROOT / "assignments" / self.homework_id / f"{self.homework_id}.ipynb"


def make_plan(settings: GradingSettings) -> Plan:
    """Check the options, write the date of ``--due``, and return the plan of the grading."""
    with told_in_one_line(HomeworkError):
        homework_id = resolve_homework(settings.homework, ROOT)
        _check_places(settings.submissions, settings.out)
        check_book(settings.book_url)
        db_url = usable_gradebook(settings.db, settings.out / NBGRADER)
        kept = ClassResults(settings.out, db_url=db_url)
        plan = Plan(settings=settings, homework_id=homework_id, kept=kept)
        if not plan.released.is_file():
            number = homework_id.partition("-")[0]
            words = f"{homework_id} was never released: first run make release HW={number}"
            raise BadInputError(words)
        if settings.due:
            set_due(homework_id, settings.due, settings.dates)
        kept.dates = usable_dates(settings.dates)
    return plan


def set_due(homework_id: str, moment: str, file: Path | None) -> None:
    """Write a homework's due date into ``file``, by default dates.toml in the project's folder.

    ``moment`` is a date in TOML, such as ``2026-10-12T23:59:00+02:00``.

    Raises:
        BadInputError: ``moment`` is no such date, or the file is invalid or can't be written.
    """
    path = file or ROOT / DATES_FILE
    try:
        text = text_of(path.read_bytes()) if path.is_file() else ""
        changed = with_due(text, homework_id, moment)
        parse_dates(changed, all_homeworks(ROOT))
        write_atomically(path, changed)
    except (OSError, TextFileError, DatesError) as error:
        raise BadInputError(f"--due: {path}: {error}") from error


def _check_places(submissions: Path, out: Path) -> None:
    if out.resolve().is_relative_to(submissions.resolve()):
        raise BadInputError(f"--out {out} lies in --submissions {submissions}: a student's place")
    if is_graded_into(submissions):
        raise BadInputError(
            f"--submissions {submissions} is the output folder of grading; "
            "give the folder of submissions"
        )
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadInputError(f"--out {out} can't be a folder: {there} is a file")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise BadInputError(f"--out {out} can't be written: {error.strerror}") from error


def grading_options(settings: GradingSettings) -> "GradingOptions":
    """Return the grading options, from the command's options and nbgrader_config.py."""
    from autograder.class_run.options import GradingOptions
    from autograder.gradebook.judge_settings import configured_judge
    from autograder.judging.check_limits import TimeLimits
    from autograder.sandbox.time_limit import PATIENCE

    with told_in_one_line(ValueError):
        _elsewhere(settings)
    with told_in_one_line(SettingsError):
        if settings.device is Device.CUDA and not settings.scheduler:
            import torch

            if not torch.cuda.device_count():  # unlike is_available, it does not start CUDA
                raise BadInputError("--device cuda: this machine has no GPU that torch can use")
        configured = configured_judge(ROOT)
    check_seconds = settings.time_limit or configured.check_seconds
    return GradingOptions(
        limits=TimeLimits(
            check_seconds=check_seconds,
            submission_seconds=max(PATIENCE * check_seconds, configured.submission_seconds),
        ),
        worker_limits=configured.worker_limits,
        isolated=settings.sandbox,
        device=settings.device.value,
        workers=settings.workers,
        seed=settings.seed,
        force=settings.force or settings.seed is not None,
    )


def _elsewhere(settings: GradingSettings) -> "Elsewhere | None":
    """Return a function that grades on a Dask scheduler's workers; None without a scheduler."""
    if not settings.scheduler:
        return None
    from autograder.cluster.grading import grade_on_cluster
    from autograder.cluster.scheduler import Cluster

    return partial(
        grade_on_cluster,
        Cluster(
            scheduler=settings.scheduler, ca_file=settings.tls_ca, cert_file=settings.tls_cert,
            key_file=settings.tls_key, trusted_network=settings.trusted_network,
        ),
    )  # fmt: skip


def grade_now(
    plan: Plan, options: "GradingOptions", judges: "JudgePool", on_start: Callable[[], object]
) -> list[SubmissionResult]:
    """Grade the notebooks without a stored result, with a progress bar; return all results.

    ``on_start`` is called once, before the first notebook is graded.
    """
    import autograder.gradebook.writer  # noqa: F401 -- while the judges start
    from autograder.class_run.run import grade_class
    from autograder.class_run.submissions import SubmissionsError
    from autograder.cluster.scheduler import ClusterError

    def begin(count: int) -> None:
        on_start()
        progress.begin(count)

    with (
        told_in_one_line(HomeworkError, SandboxError, SubmissionsError, ClusterError, OSError),
        StepProgress("Grading") as progress,
    ):
        return grade_class(
            plan.homework,
            plan.settings.submissions,
            options,
            root=ROOT,
            judges=judges,
            store=plan.store,
            elsewhere=_elsewhere(plan.settings),
            on_start=begin,
            on_result=lambda result: progress.advance(result.student),
        )


def keep_all(plan: Plan, results: Sequence[SubmissionResult]) -> list[SubmissionResult]:
    """Flag similar code in a class's results, store the changed ones, and return all.

    Stored results of students without a submission are set aside. Results of submissions that
    could not be graded are stored for the report.
    """
    with told_in_one_line(HomeworkError, OSError):
        if left := plan.store.set_aside(result.student for result in results):
            words = f"Not among the submissions any more, set aside in {plan.store.left}: "
            output().print(words + listed(left), soft_wrap=True)
        for result in results:
            if result.error:  # stored for the report, yet graded again by the next run
                plan.store.keep_ungraded(result)
        if len(results) < 2:
            return list(results)
        from autograder.class_run.similarity import flag_similar

        flagged = flag_similar(results, plan.settings.submissions, plan.homework, plan.released)
        return _amended(plan, flagged, results)


def record(plan: Plan, results: Sequence[SubmissionResult]) -> tuple[list[SubmissionResult], str]:
    """Write results into nbgrader's gradebook; flag those that it refuses.

    Returned are all results, and the reason for the refusals; an empty text if there are none.
    """
    from autograder.gradebook.course_config import write_course_config
    from autograder.gradebook.database import GradebookError

    refused: Mapping[str, str] = {}
    words = ""
    with told_in_one_line(OSError):
        write_course_config(plan.out / NBGRADER, ROOT, plan.kept.db_url, plan.settings.dates)
    try:
        with _gradebook_writer(plan) as writer:
            for result in results:
                writer.record(result)
    except GradebookError as error:
        refused, words = error.refused, what_was_refused(error)
    flagged = []
    for result in results:
        flags = [flag for flag in result.flags if flag.kind is not FlagKind.UNRECORDED]
        if reason := refused.get(result.student):
            text = f"not recorded: {one_line(without_sql(reason), 300)}"
            flags.append(Flag(kind=FlagKind.UNRECORDED, text=text))
        flagged.append(replace(result, flags=tuple(flags)))
    with told_in_one_line(OSError):
        return _amended(plan, flagged, results), words


def what_was_refused(error: "GradebookError") -> str:
    """Return the last line of a gradebook error's message, without SQL."""
    return one_line(without_sql(str(error)).strip().rpartition("\n")[2], 1000)


def _gradebook_writer(plan: Plan) -> "GradebookWriter":
    from autograder.gradebook.writer import GradebookWriter

    return GradebookWriter(
        plan.settings.submissions, plan.homework,
        course_folder=plan.out / NBGRADER, db_url=plan.kept.db_url,
        dates=plan.kept.dates, lateness=plan.kept.lateness,
    )  # fmt: skip


def _amended(
    plan: Plan, results: Sequence[SubmissionResult], before: Sequence[SubmissionResult]
) -> list[SubmissionResult]:
    """Store the results that differ from the stored ones (``before``), and return all."""
    for result, was in zip(results, before, strict=True):
        if result != was:
            plan.store.amend(result)
    return list(results)


def write_everything(
    plan: Plan,
    results: Sequence[SubmissionResult],
    changes: Sequence[Change] | None = None,
    *,
    fresh: Sequence[SubmissionResult] | None = None,
) -> list[Standing]:
    """Write feedback, report, grades and log, all or none; return each submission's marks.

    With ``fresh``, new results of ``--watch``, only their students' pages are written, and the
    table of the course is not.
    """
    graded = with_headings(plan.homework, ROOT)
    students = None if fresh is None else {result.student for result in fresh}
    with told_in_one_line(), writing(plan.out):
        standings = plan.kept.standings(results)
        pages = [s for s in standings if students is None or s.student in students]
        with staging_report(plan.out) as stage:
            write_outputs(
                standings, graded, stage,
                changes=changes, book_url=plan.settings.book_url, out=plan.out, pages_of=pages,
            )  # fmt: skip
            terms = plan.kept.terms(pages, plan.homework_id, students=students)
            if students is None:
                write_course(terms, stage)
            write_indexes(terms, stage)
    return standings
