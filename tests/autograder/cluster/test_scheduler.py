"""Grading by a running Dask scheduler: what its workers do costs nobody points."""

import contextlib
import os
import shutil
import subprocess
import time
import types
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from distributed import Client, LocalCluster, Security

from autograder.class_run import run
from autograder.class_run.course import Course
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from autograder.cluster import grading, scheduler
from autograder.cluster.grading import grade_on_cluster
from autograder.cluster.scheduler import Cluster, ClusterError
from autograder.judging.check_limits import TimeLimits
from autograder.judging.results import ungraded
from tests.autograder.class_run.test_run import RIGHT, WRONG, hand_in
from tests.autograder.conftest import DOUBLE, ROOT


@pytest.fixture
def grade(monkeypatch):
    """Return a function that grades the class in a folder on the Dask scheduler at an address.

    ``files`` are ``Cluster``'s arguments for TLS: certificates and a key.
    """
    files = ("course_lib/__init__.py", "course_lib/testing.py")
    library = {name: (ROOT / name).read_text() for name in files}
    small = Course(homework=DOUBLE, library=library)
    monkeypatch.setattr(Course, "load", classmethod(lambda cls, homework, root: small))

    def grade(folder, address, on_result=lambda result: None, files=None, **how):
        limits = TimeLimits(check_seconds=5.0, submission_seconds=600.0)
        cluster = Cluster(scheduler=address, trusted_network=not files, **files or {})
        elsewhere = partial(grade_on_cluster, cluster)
        options = GradingOptions(limits=limits, **how)
        return grade_class(
            DOUBLE, folder, options, root=ROOT, elsewhere=elsewhere, on_result=on_result
        )

    return grade


@pytest.fixture
def handed_in(tmp_path) -> dict[str, float]:
    """Write four submissions into ``tmp_path``; return the right points by student."""
    answers = {"ada": (RIGHT, 5.0), "bo": (WRONG, 0.0), "cy": (RIGHT, 5.0), "dee": (WRONG, 0.0)}
    for student, (data, _) in answers.items():
        hand_in(tmp_path, student, data)
    return {student: points for student, (_, points) in answers.items()}


@pytest.mark.proof
@pytest.mark.sandbox
def test_a_running_scheduler_grades_too(grade, tmp_path, handed_in):
    with LocalCluster(
        n_workers=1, threads_per_worker=4, dashboard_address=":0", processes=True
    ) as running:
        results = grade(tmp_path, running.scheduler_address)
    assert {result.student: result.score for result in results} == handed_in


def make_certificates(folder: Path) -> dict[str, Path]:
    """Make a certificate authority, and one certificate and key for scheduler, workers and client.

    Return their files by ``Cluster``'s argument.
    """

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    folder.mkdir()
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=grader", "-keyout", "key.pem", "-out", "request.pem")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-out", "cert.pem")  # fmt: skip
    return {f"{name}_file": folder / f"{name}.pem" for name in ("ca", "cert", "key")}


@pytest.mark.proof
@pytest.mark.sandbox
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")
def test_two_workers_grade_by_tls(grade, tmp_path, handed_in, monkeypatch):
    ours, strangers = (make_certificates(tmp_path / f".{whose}") for whose in ("ours", "theirs"))
    ca, cert, key = map(str, ours.values())
    roles = ("scheduler", "worker", "client")
    own = {f"tls_{role}_cert": cert for role in roles}
    own |= {f"tls_{role}_key": key for role in roles}
    security = Security(require_encryption=True, tls_ca_file=ca, **own)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, security=security, dashboard_address=None,
        protocol="tls://",
    ) as running:  # fmt: skip
        address = running.scheduler_address
        results = grade(tmp_path, address, files=ours)
        with pytest.raises(ClusterError, match="no Dask scheduler answers"):
            grade(tmp_path, address, files=strangers)
        other = replace(Course.load(DOUBLE, ROOT), reference="another")
        monkeypatch.setattr(Course, "load", lambda homework, root: other)
        with pytest.raises(ClusterError, match="another version of course_lib"):
            grade(tmp_path, address, files=ours)
    assert {result.student: result.score for result in results} == handed_in
    assert all(result.sandboxed for result in results)


def _dies_of_some(course, notebook, student, *rest):
    if student in ("cy", "fay"):
        os._exit(1)
    return ungraded(course.homework, student, "stood in").to_json()


@pytest.mark.proof
def test_submission_that_kills_dask_workers_costs_nobody_else(grade, tmp_path, monkeypatch):
    handed_in = {s: hand_in(tmp_path, s, RIGHT) for s in ("ada", "bo", "cy", "dee", "eve", "fay")}
    monkeypatch.setattr(grading, "_grade_one", _dies_of_some)
    monkeypatch.setattr(run, "try_reference", lambda *given: None)
    second_try = iter([lambda: None])  # the first wait is for the run to begin
    waits = Cluster.wait_for_a_worker

    def wait_and_lose_a_notebook(self, *given):
        next(second_try, lambda: handed_in["fay"].unlink(missing_ok=True))()
        waits(self, *given)

    monkeypatch.setattr(Cluster, "wait_for_a_worker", wait_and_lose_a_notebook)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://"
    ) as running:
        results = grade(tmp_path, running.scheduler_address, isolated=False)
    interrupted = {result.student for result in results if result.interrupted}
    assert interrupted == {"cy"}
    assert {r.student for r in results if r.error == "stood in"} == {"ada", "bo", "dee", "eve"}
    (fay,) = (result for result in results if result.student == "fay")
    assert "Nothing was handed in" in fay.error, "it was gone before its second try"


UNDERWAY: list[str] = []  # what _stand_in is at, in all threads
MOST: list[int] = []


def _stand_in(course, notebook, student, *rest):
    UNDERWAY.append(student)
    MOST.append(len(UNDERWAY))
    time.sleep(0.1)
    UNDERWAY.remove(student)
    return ungraded(course.homework, student, "stood in").to_json()


def test_workers_that_join_late_get_the_course_and_as_much_to_do(tmp_path, monkeypatch):
    notebooks = {f"s{n:02}": (hand_in(tmp_path, f"s{n:02}", RIGHT), 1) for n in range(60)}
    monkeypatch.setattr(grading, "_grade_one", _stand_in)
    monkeypatch.setattr(grading, "_RECOUNT_SECONDS", 0.0)
    MOST.clear()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as running,
        Client(running) as client,
    ):
        monkeypatch.setattr(Cluster, "connect", lambda *given: contextlib.nullcontext(client))
        course = Course(homework=DOUBLE, library={})
        results = grade_on_cluster(
            Cluster(scheduler="tcp://none:1", trusted_network=True),
            course,
            notebooks,
            GradingOptions(),
        )
        first = next(results)
        running.scale(12)
        client.wait_for_workers(12, timeout=600)
        graded = [*first, *(one for some in results for one in some)]
    assert sorted(result.student for result, _ in graded) == list(notebooks)
    assert max(MOST) > 4  # what one worker with one thread is given beforehand


@pytest.mark.parametrize(
    ("device", "workers", "words"),
    [
        ("cpu", 0, r"no worker joined tcp://\S+ within 600 seconds.* --nthreads 1$"),
        ("cuda", 1, r"no worker that offers a GPU joined .* --resources GPU=1$"),
    ],
)
def test_without_a_worker_that_can_grade_it_is_told_how_to_start_one(
    grade, tmp_path, monkeypatch, device, workers, words
):
    hand_in(tmp_path, "ada", RIGHT)
    # Time enough to connect on a busy machine; then waiting for a worker passes in a moment.
    monkeypatch.setattr(scheduler, "_CONNECT_SECONDS", 600)
    hurried = types.SimpleNamespace(monotonic=lambda: 600 * time.monotonic(), sleep=time.sleep)
    monkeypatch.setattr(scheduler, "time", hurried)
    seen = []
    with (
        LocalCluster(n_workers=workers, dashboard_address=None, protocol="tcp://") as running,
        pytest.raises(ClusterError, match=words),
    ):
        grade(tmp_path, running.scheduler_address, seen.append, device=device, isolated=False)
    assert not seen


@pytest.mark.proof
def test_a_worker_without_the_gpu_that_it_offers_costs_nobody_points(grade, tmp_path):
    if torch.cuda.device_count():
        pytest.skip("there is a GPU")
    hand_in(tmp_path, "ada", RIGHT)
    seen = []
    with LocalCluster(
        n_workers=1, dashboard_address=None, protocol="tcp://", resources={"GPU": 1}
    ) as running:
        options = {"device": "cuda", "isolated": False}
        with pytest.raises(ClusterError, match=r"the worker on \S+ offers a GPU, and torch can"):
            grade(tmp_path, running.scheduler_address, seen.append, **options)
    assert not seen


def test_a_scheduler_that_does_not_answer_is_named(grade, tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "_CONNECT_SECONDS", 1)
    hand_in(tmp_path, "ada", RIGHT)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at tcp"):
        grade(tmp_path, "tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8786", "must begin with tcp://"),
        ("http://host:1", "must begin with tcp://"),
        ("tls://host:1", "--tls-ca, --tls-cert and --tls-key"),
        ("tcp://host:1", "anyone who reaches tcp://host:1 can run code as you.*--trusted-network"),
    ],
)
def test_an_address_that_cannot_work_or_is_open_to_all_is_refused(address, words):
    with pytest.raises(ValueError, match=words):
        Cluster(scheduler=address)
