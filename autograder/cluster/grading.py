"""Sends notebooks by value to Dask workers, and yields their results."""

import contextlib
import itertools
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from autograder.class_run.course import Course, installed_reference
from autograder.class_run.due import Given, Graded
from autograder.class_run.judges import JudgePool
from autograder.class_run.options import GradingOptions
from autograder.class_run.result_store import fingerprint
from autograder.class_run.run import failed, grade_patiently
from autograder.class_run.submissions import UnreadableError, read_notebook, unread
from autograder.cluster.scheduler import Cluster, ClusterError, resources_of
from autograder.judging.results import SubmissionResult

_PAUSE_SECONDS = 0.5
_REJOIN_SECONDS = 15.0  # in which a worker that died may be started again
_RECOUNT_SECONDS = 1.0  # between two looks at how many workers there are

_turn = threading.Lock()  # a worker has one judge, however many threads Dask gives it


def grade_on_cluster(
    cluster: Cluster, course: Course, notebooks: Mapping[str, Given], options: GradingOptions
) -> Iterator[list[Graded]]:
    """Yield lists of results, graded on a scheduler's workers, a few per thread at a time.

    Raises:
        ClusterError: The scheduler is gone, has no worker, or one with another ``course_lib``.
    """
    from distributed import CancelledError, as_completed, wait

    with cluster.connect(options.device) as client:
        shared = client.scatter(course, broadcast=True)
        underway: dict[Any, str] = {}
        made_from: dict[str, str] = {}
        vanished: list[Graded] = []
        again: list[str] = []

        def submit(student: str) -> Any:
            path, seed = notebooks[student]
            try:
                notebook = read_notebook(path)
            except UnreadableError as error:
                vanished.append((unread(course.homework, student, error), ""))
                return None
            made_from[student] = fingerprint(course, notebook)
            return client.submit(
                _grade_one, shared, notebook, student, seed, options,
                pure=False, resources=resources_of(options.device),
            )  # fmt: skip

        def submit_each() -> Iterator[Any]:
            for student in notebooks:
                if future := submit(student):
                    underway[future] = student
                    yield future

        submitted = submit_each()
        room = _Room(client)
        finished = as_completed(list(itertools.islice(submitted, room.beside(underway))))
        for future in finished:
            student = underway.pop(future)
            if result := _result_of(future):
                yield [(result, made_from[student])]
            elif isinstance(error := _error_of(future, client), ClusterError):
                raise error
            else:  # its worker died, and with it all that waited there
                again.append(student)
            finished.update(list(itertools.islice(submitted, room.beside(underway))))
        for student in again:  # one at a time: a notebook that kills workers is alone with them
            cluster.wait_for_a_worker(client, options.device)
            shared = client.scatter(course, broadcast=True)
            future = submit(student)
            if not future:
                continue
            with contextlib.suppress(CancelledError):
                wait(future)
            if result := _result_of(future):
                yield [(result, made_from[student])]
            else:
                yield [(failed(course.homework, student, _error_of(future, client)), "")]
        yield vanished


def _result_of(future: Any) -> SubmissionResult | None:
    """Return a worker's result; None if grading failed, or the worker was lost."""
    from distributed import CancelledError

    with contextlib.suppress(CancelledError):
        if future.status == "finished":
            return SubmissionResult.from_json(future.result())
    return None


def _error_of(future: Any, client: Any) -> BaseException:
    """Return why a submission was not graded; a ClusterError if the whole cluster is lost."""
    from distributed import CancelledError

    if future.status == "error":
        with contextlib.suppress(CancelledError):
            error: BaseException = future.exception()
            return error
    gives_up = time.monotonic() + _REJOIN_SECONDS
    while client.status == "running" and time.monotonic() < gives_up:
        if client.scheduler_info(n_workers=-1)["workers"]:
            return RuntimeError("its worker was lost")
        time.sleep(_PAUSE_SECONDS)
    return ClusterError(
        "the Dask scheduler is gone, or all its workers are; finished results are kept: run again"
    )


class _Room:
    """Limits the submitted notebooks to four per worker thread, so that memory stays bounded.

    Workers may join at any time; they are counted at most once a second.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._slots = 0
        self._counted = -math.inf

    def beside(self, underway: Sized) -> int:
        """Return how many notebooks may be submitted while those ``underway`` are not finished."""
        if time.monotonic() - self._counted > _RECOUNT_SECONDS:
            threads = self._client.scheduler_info(n_workers=0)["total_threads"]
            self._slots = 4 * max(threads, 1)
            self._counted = time.monotonic()
        return max(self._slots - len(underway), 0)


def _grade_one(
    course: Course, notebook: bytes, student: str, seed: int, options: GradingOptions
) -> dict[str, Any]:
    """Grade one submission in a Dask worker, which keeps its judge; return the result as JSON."""
    import torch
    from distributed import get_worker

    if course.reference not in ("", installed_reference()):
        raise ClusterError(
            f"the worker on {socket.gethostname()} has another version of course_lib installed: "
            "its marks would not be ours. Install the same one there"
        )
    if options.device == "cuda" and not torch.cuda.device_count():
        raise ClusterError(
            f"the worker on {socket.gethostname()} offers a GPU, and torch can use none there; "
            "check it with nvidia-smi, or start it without --resources GPU=1"
        )
    with _turn:
        judge = _judges_of(get_worker()).acquire_one(course, options)
        return grade_patiently(judge, notebook, student, seed).to_json()


def _judges_of(worker: Any) -> JudgePool:
    """Return the judges that a Dask worker keeps as long as it lives."""
    if not hasattr(worker, "judges"):
        worker.judges = JudgePool(scratch=Path(worker.local_directory))
    return worker.judges
