"""Workers elsewhere: by TLS, without a folder in common."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from autograder.class_run.course import Course
from autograder.class_run.options import GradingOptions
from autograder.class_run.run import grade_class
from autograder.cluster import scheduler as cluster_module
from autograder.cluster.grading import grade_on_cluster
from autograder.cluster.scheduler import Cluster, ClusterError
from autograder.homework_source.source import load_homework
from autograder.judging.check_limits import TimeLimits
from tests.autograder.conftest import ROOT
from tests.autograder.small_course import HOMEWORK, write_class, write_course

pytestmark = pytest.mark.proof  # elsewhere: by a running scheduler, in test_run.py

PATIENT = {  # a worker of a busy machine may be deaf for long while it imports torch
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "600s",
    "PYTHONPATH": str(ROOT),
}


def make_certificates(folder: Path) -> dict[str, Path]:
    """Make the authority ``ca``, and one ``cert`` and ``key`` for scheduler, workers and client."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=grader", "-keyout", "key.pem", "-out", "request.pem")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-out", "cert.pem")  # fmt: skip
    return {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}


@contextlib.contextmanager
def running(folder: Path, *options: str):
    """Run a scheduler and two workers, each with its own temporary folder; yield its address."""
    started: list[subprocess.Popen[bytes]] = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def start(name: str, *arguments: str) -> None:
        own = folder / name
        own.mkdir()
        with (folder / f"{name}.log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m",
                     f"distributed.cli.dask_{name.split('-')[0]}", *arguments, *options],
                    cwd=own, env=os.environ | PATIENT | {"TMPDIR": str(own)},
                    stdout=log, stderr=log,
                )
            )  # fmt: skip

    address = f"tls://127.0.0.1:{port}"
    try:
        start("scheduler", "--host", "tls://127.0.0.1", "--port", port, "--no-dashboard")
        for number in range(2):
            start(f"worker-{number}", address, "--nthreads", "1", "--no-dashboard")
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
            process.kill()


def grade(folder: Path, cluster: Cluster) -> dict[str, float]:
    write_course(folder / "course")
    marks = write_class(folder / "course", folder / "class", 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "_CONNECT_SECONDS", 120)  # they have only just been started
        limits = TimeLimits(check_seconds=10.0, submission_seconds=600.0)
        results = grade_class(
            load_homework(HOMEWORK, folder / "course"),
            folder / "class",
            GradingOptions(limits=limits),
            root=folder / "course",
            elsewhere=partial(grade_on_cluster, cluster),
        )
    assert {result.student: result.score for result in results} == marks
    assert all(result.sandboxed for result in results)
    return marks


@contextlib.contextmanager
def another_course_lib():
    original = Course.load.__func__

    def load(cls, homework, root):
        course = original(cls, homework, root)
        return Course(**vars(course) | {"reference": "another"})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Course, "load", classmethod(load))
        yield


@pytest.mark.sandbox
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")
def test_two_workers_by_tls_without_a_folder_in_common(tmp_path):
    files = make_certificates(tmp_path)
    options = ("--tls-ca-file", str(files["ca"]), "--tls-cert", str(files["cert"]),
               "--tls-key", str(files["key"]))  # fmt: skip
    with running(tmp_path, *options) as address:
        trusted = Cluster(scheduler=address, **{f"{name}_file": p for name, p in files.items()})
        with (
            another_course_lib(),
            pytest.raises(ClusterError, match="another version of course_lib"),
        ):
            grade(tmp_path / "another", trusted)
        grade(tmp_path, trusted)
        (tmp_path / "stranger").mkdir()
        stranger = make_certificates(tmp_path / "stranger")
        untrusted = {f"{name}_file": path for name, path in stranger.items()}
        with (
            pytest.raises(ClusterError, match="no Dask scheduler answers"),
            Cluster(scheduler=address, **untrusted).connect(),
        ):
            pass
    for worker in ("worker-0", "worker-1"):
        assert not list((tmp_path / worker).rglob("*.ipynb")), "notebooks travel by value"
