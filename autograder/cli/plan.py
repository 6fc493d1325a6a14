"""What ``grade`` and ``regrade`` were asked to do, checked before anything is graded or written."""

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.atomic_write import write_atomically
from autograder.class_folders import NBGRADER, RESULTS, is_graded_into
from autograder.class_run.result_store import ResultStore
from autograder.cli.bad_input import BadInputError, told_in_one_line
from autograder.cli.options import Device
from autograder.cli.project import ROOT
from autograder.cli.stored_results import KeptResults
from autograder.homework_source.homework import (
    Homework,
    HomeworkError,
    all_homeworks,
    resolve_homework,
)
from autograder.homework_source.nbgrader_settings import SettingsError
from autograder.homework_source.source import load_homework
from autograder.reports.feedback import check_book_url
from autograder.term.dates import DATES_FILE, Dates, DatesError, parse_dates, read_dates, with_due
from autograder.text_file import TextFileError, text_of

if TYPE_CHECKING:
    from autograder.class_run.options import GradingOptions


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to grade, and where to write: checked, so that grading can begin.

    Attributes:
        homework_id: Such as ``hw03-self-attention``.
        submissions: The class's folder.
        out: Where to write.
        db_url: The gradebook's database; a file in ``out`` if empty.
        book_url: Address of the folder with the book's chapters; may be empty.
        dates: When homework is due, and what being late costs.
        dates_file: Where that was said; None for the project's folder.
    """

    homework_id: str
    submissions: Path
    out: Path
    db_url: str
    book_url: str
    dates: Dates
    dates_file: Path | None = None

    @cached_property
    def homework(self) -> Homework:
        """The homework, read when it is first asked for."""
        return load_homework(self.homework_id, ROOT)

    @cached_property
    def kept(self) -> KeptResults:
        """What grading kept of this and of other homeworks, read until now."""
        return KeptResults(self.out)

    @property
    def store(self) -> ResultStore:
        """Where results are kept between runs."""
        return ResultStore(self.out / RESULTS / self.homework_id)


def released_notebook(homework_id: str) -> Path:
    """Return where the notebook that students get is."""
    return ROOT / "assignments" / homework_id / f"{homework_id}.ipynb"


def make_plan(
    homework: str,
    submissions: Path,
    out: Path,
    *,
    db: str,
    book_url: str,
    dates: Path | None,
    due: str = "",
) -> Plan:
    """Refuse what can't work, before anything is graded or written."""
    with told_in_one_line(HomeworkError):
        homework_id = resolve_homework(homework, ROOT)
        _check_places(submissions, out)
        usable_book_url(book_url)
        db_url = usable_gradebook(db, out / NBGRADER)
        if not released_notebook(homework_id).is_file():
            number = homework_id.partition("-")[0]
            words = f"{homework_id} was never released: first run make release HW={number}"
            raise BadInputError(words)
        if due:
            set_due(homework_id, due, dates)
        course_dates = usable_dates(dates)
    return Plan(
        homework_id=homework_id, submissions=submissions, out=out, db_url=db_url,
        book_url=book_url, dates=course_dates, dates_file=dates,
    )  # fmt: skip


def make_options(
    *,
    scheduler: str,
    workers: int | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    trusted_network: bool,
    time_limit: float | None,
    sandbox: bool,
    device: Device,
    seed: int | None = None,
    force: bool = False,
) -> "GradingOptions":
    """Put together how to grade: what was asked for, and what nbgrader_config.py says."""
    from autograder.class_run.cluster import Cluster
    from autograder.class_run.options import GradingOptions
    from autograder.gradebook.judge_settings import configured_judge
    from autograder.judging.check_limits import TimeLimits
    from autograder.sandbox.time_limit import PATIENCE

    with told_in_one_line(ValueError):
        cluster = Cluster(
            scheduler=scheduler, workers=workers, ca_file=tls_ca, cert_file=tls_cert,
            key_file=tls_key, trusted_network=trusted_network,
        )  # fmt: skip
    with told_in_one_line(SettingsError):
        if not scheduler:  # elsewhere, each worker finds out for itself
            _check_device(device)
        configured = configured_judge(ROOT)
    check_seconds = time_limit or configured.check_seconds
    return GradingOptions(
        limits=TimeLimits(
            check_seconds=check_seconds,
            submission_seconds=max(PATIENCE * check_seconds, configured.submission_seconds),
        ),
        worker_limits=configured.worker_limits,
        isolated=sandbox,
        device=device.value,
        cluster=cluster,
        seed=seed,
        force=force or seed is not None,
    )


def usable_database(db: str) -> str:
    """Choose the gradebook's database, and connect to it once."""
    from autograder.gradebook.database import DatabaseError, check_database, configured_url

    try:
        db_url = db or configured_url(ROOT)
    except SettingsError as error:
        raise BadInputError(str(error)) from error
    if db_url:
        try:
            check_database(db_url)
        except DatabaseError as error:
            raise BadInputError(f"--db: {error}") from error
    return db_url


def usable_gradebook(db: str, course_folder: Path, *, is_read: bool = False) -> str:
    """Choose the gradebook's database as ``usable_database`` does, and see that it is whole."""
    from autograder.gradebook.database import DatabaseError, check_gradebook

    db_url = usable_database(db)
    try:
        check_gradebook(course_folder, db_url, is_read=is_read)
    except DatabaseError as error:
        raise BadInputError(str(error)) from error
    return db_url


def usable_book_url(book_url: str) -> str:
    """Refuse what leads to no book."""
    try:
        check_book_url(book_url)
    except ValueError as error:
        raise BadInputError(f"--book-url: {error}") from error
    return book_url


def usable_dates(file: Path | None) -> Dates:
    """Read the course's dates."""
    path = file or ROOT / DATES_FILE
    if file is None and not path.is_file():
        return Dates()
    try:
        return read_dates(path, all_homeworks(ROOT))
    except DatesError as error:
        raise BadInputError(str(error)) from error


def set_due(homework_id: str, moment: str, file: Path | None) -> None:
    """Write when a homework is due to where all commands read it."""
    path = file or ROOT / DATES_FILE
    try:
        text = text_of(path.read_bytes()) if path.is_file() else ""
        changed = with_due(text, homework_id, moment)
        parse_dates(changed, all_homeworks(ROOT))  # refuses what is no moment
        write_atomically(path, changed)
    except (OSError, TextFileError, DatesError) as error:
        raise BadInputError(f"--due: {path}: {error}") from error


def _check_places(submissions: Path, out: Path) -> None:
    if out.resolve().is_relative_to(submissions.resolve()):
        raise BadInputError(f"--out {out} lies in --submissions {submissions}: a student's place")
    if is_graded_into(submissions):
        raise BadInputError(
            f"--submissions {submissions} is where grading wrote; give the folder of what was "
            "handed in"
        )
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadInputError(f"--out {out} can't be a folder: {there} is a file")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise BadInputError(f"--out {out} can't be written: {error.strerror}") from error


def _check_device(device: Device) -> None:
    if device is Device.CUDA:
        import torch

        if not torch.cuda.device_count():  # unlike is_available, it leaves CUDA alone
            raise BadInputError("--device cuda: this machine has no GPU that torch can use")
