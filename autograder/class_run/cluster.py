"""Where a class is graded: Dask workers on this machine, or those of a running scheduler."""

import logging
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

_CONNECT_SECONDS = 15
_PAUSE_SECONDS = 0.2  # between two looks for a worker
_ALLOWED_FAILURES = 10  # workers that may die on a submission, or while it waits its turn there


class ClusterError(RuntimeError):
    """The scheduler or its workers can't be used; the message says which, and what to look at."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where to grade.

    Attributes:
        scheduler: Address of a running Dask scheduler, ``tcp://host:port`` or ``tls://host:port``;
            empty starts workers on this machine.
        workers: How many to start on this machine; as many as cores, or GPUs, if None.
        ca_file: Certificate of the authority that signed the scheduler's, for ``tls://``.
        cert_file: This client's certificate, for ``tls://``.
        key_file: Its key, for ``tls://``.

    Raises:
        ValueError: The address is of another form, or a ``tls://`` address lacks certificates.
    """

    scheduler: str = ""
    workers: int | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def __post_init__(self) -> None:
        """Refuse addresses that can't work."""
        if self.scheduler and not self.scheduler.startswith(("tcp://", "tls://")):
            raise ValueError(f"scheduler must begin with tcp:// or tls://, got {self.scheduler!r}")
        certificates = (self.ca_file, self.cert_file, self.key_file)
        if self.scheduler.startswith("tls://") and None in certificates:
            raise ValueError("a tls:// scheduler needs ca_file, cert_file and key_file")

    @contextmanager
    def connect(self, most: int, device: str = "cpu") -> Iterator[Any]:
        """Connect to a scheduler that has a worker, or start one with its workers.

        Args:
            most: Submissions to grade: no more workers than that are started.
            device: What they run on: ``cpu`` or ``cuda``.

        Yields:
            A ``distributed.Client``.

        Raises:
            ClusterError: The scheduler does not answer, or has no worker that can grade.
        """
        from distributed import Client, Security

        if self.scheduler:
            security = Security(
                require_encryption=self.scheduler.startswith("tls://"),
                tls_ca_file=_text(self.ca_file),
                tls_client_cert=_text(self.cert_file),
                tls_client_key=_text(self.key_file),
            )
            try:
                client = Client(self.scheduler, security=security, timeout=_CONNECT_SECONDS)
            except (OSError, TimeoutError) as error:
                raise ClusterError(
                    f"no Dask scheduler answers at {self.scheduler}; start one with: dask scheduler"
                ) from error
            with client:
                self._wait_for_a_worker(client, resources_of(device))
                yield client
            return
        count = min(self.workers or _usual_workers(device), most)
        with _local_cluster(count, resources_of(device)) as client:
            yield client

    def _wait_for_a_worker(self, client: Any, needed: dict[str, float]) -> None:
        """Wait for the first: without one, Dask would wait for ever and say nothing."""
        gives_up = time.monotonic() + _CONNECT_SECONDS
        while True:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            if any(_can_grade(worker, needed) for worker in workers):
                return
            if time.monotonic() > gives_up:
                break
            time.sleep(_PAUSE_SECONDS)
        offered = " that offers a GPU" if needed else ""
        option = " --resources GPU=1" if needed else ""
        raise ClusterError(
            f"no worker{offered} joined {self.scheduler} within {_CONNECT_SECONDS} seconds; run "
            "again when a job that waits in a queue has begun, or start one with: "
            f"dask worker {self.scheduler} --nthreads 1{option}"
        )


def resources_of(device: str) -> dict[str, float]:
    """Return what a submission takes of its worker, so that a GPU serves one at a time."""
    return {"GPU": 1} if device == "cuda" else {}


def _can_grade(worker: dict[str, Any], needed: dict[str, float]) -> bool:
    enough = all(worker["resources"].get(name, 0) >= need for name, need in needed.items())
    return enough and worker["status"] == "running"


def _usual_workers(device: str) -> int:
    if device == "cuda":
        import torch

        return max(torch.cuda.device_count(), 1)
    return os.cpu_count() or 1


def prepare_local_workers() -> None:
    """Begin to start the process that this machine's workers are forked from; returns at once.

    It imports PyTorch and the judge once for all workers, while the caller goes on with its own
    work. Without this call it starts with the first local cluster. It touches no GPU.
    """
    multiprocessing.set_forkserver_preload(["autograder.class_run.run", "distributed.nanny"])
    forkserver.ensure_running()


@contextmanager
def _local_cluster(count: int, resources: dict[str, float]) -> Iterator[Any]:
    prepare_local_workers()
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "worker.daemon": False,
        "worker.multiprocessing-method": "forkserver",
        "scheduler.allowed-failures": _ALLOWED_FAILURES,
    }
    with (
        dask.config.set({f"distributed.{name}": value for name, value in settings.items()}),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            resources=resources,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
