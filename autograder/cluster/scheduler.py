"""A running Dask scheduler: its address, its certificates, and whether it has a worker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONNECT_SECONDS = 15
_PAUSE_SECONDS = 0.2  # between two looks for a worker


class ClusterError(RuntimeError):
    """The scheduler or its workers can't be used; the message names what to do."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Dask scheduler to grade on.

    Attributes:
        scheduler: Its address, ``tcp://host:port`` or ``tls://host:port``.
        ca_file: Certificate of the authority that signed the scheduler's, for ``tls://``.
        cert_file: This client's certificate, for ``tls://``.
        key_file: Its key, for ``tls://``.
        trusted_network: Whether everybody who reaches a ``tcp://`` scheduler may run code as you:
            it authenticates nobody.

    Raises:
        ValueError: The address has another form, or lacks certificates or a trusted network.
    """

    scheduler: str
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    trusted_network: bool = False

    def __post_init__(self) -> None:
        """Check the address; ``tls://`` needs certificates, ``tcp://`` a trusted network."""
        if not self.scheduler.startswith(("tcp://", "tls://")):
            raise ValueError(
                f"--scheduler must begin with tcp:// or tls://, got {self.scheduler!r}"
            )
        certificates = (self.ca_file, self.cert_file, self.key_file)
        if self.scheduler.startswith("tls://") and None in certificates:
            raise ValueError("a tls:// scheduler needs --tls-ca, --tls-cert and --tls-key")
        if self.scheduler.startswith("tcp://") and not self.trusted_network:
            raise ValueError(
                f"anyone who reaches {self.scheduler} can run code as you and read the solutions; "
                "use tls:// with certificates, or say --trusted-network if nobody else can reach it"
            )

    @contextmanager
    def connect(self, device: str = "cpu") -> Iterator[Any]:
        """Connect to the scheduler and wait for its first worker; yields a ``Client``.

        Raises:
            ClusterError: The scheduler does not answer, or has no worker that can grade.
        """
        from distributed import Client, Security

        files = (self.ca_file, self.cert_file, self.key_file)
        ca, cert, key = (str(file) if file else None for file in files)
        security = Security(
            require_encryption=self.scheduler.startswith("tls://"),
            tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key,
        )  # fmt: skip
        try:
            client = Client(self.scheduler, security=security, timeout=_CONNECT_SECONDS)
        except OSError as error:
            raise ClusterError(
                f"no Dask scheduler answers at {self.scheduler}; start one with: dask scheduler"
            ) from error
        with client:
            self.wait_for_a_worker(client, device)
            yield client

    def wait_for_a_worker(self, client: Any, device: str) -> None:
        """Wait until a worker can grade: without one, Dask would wait for ever.

        Raises:
            ClusterError: No such worker joined in time.
        """
        needed = resources_of(device)
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
    """Return the Dask resources that one submission takes: a whole GPU if ``cuda``, else none."""
    return {"GPU": 1} if device == "cuda" else {}


def _can_grade(worker: dict[str, Any], needed: dict[str, float]) -> bool:
    enough = all(worker["resources"].get(name, 0) >= need for name, need in needed.items())
    return enough and worker["status"] == "running"
