"""Grades a class on a SLURM cluster: python examples/slurm.py hw03 submissions build/grades/hw03.

    python -m pip install dask-jobqueue cryptography

Each job is one worker with the sandbox; notebooks and results travel over the network, so jobs need
no folder in common with this machine. They need this project installed with the same course_lib
(with another one on a worker, grading stops and names it), and bubblewrap.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dask_jobqueue import SLURMCluster
from distributed import Security


def certificates(security: Security, folder: str) -> list[str]:
    """Write the run's certificates into a private folder; returns the options that name them."""
    options = []
    for option, text in (
        ("--tls-ca", security.tls_ca_file),
        ("--tls-cert", security.tls_client_cert),
        ("--tls-key", security.tls_client_key),
    ):
        path = Path(folder, option.strip("-"))
        path.write_text(text)
        options += [option, str(path)]
    return options


def main(homework: str, submissions: str, out: str) -> int:
    """Start the jobs, grade, and end them."""
    security = Security.temporary()  # others on the cluster's network must not command the workers
    with (
        TemporaryDirectory() as folder,
        SLURMCluster(
            security=security,
            queue="short",
            cores=1,  # a submission at a time; students' code may run amok
            processes=1,
            memory="6GB",  # a student's process may have 4 of them
            walltime="01:00:00",
            # With GPUs: job_extra_directives=["--gres=gpu:1"],
            # worker_extra_args=["--resources GPU=1"], and --device cuda below: each submission
            # then takes a GPU for itself.
        ) as cluster,
    ):
        cluster.scale(jobs=50)
        cluster.wait_for_workers(1)  # jobs may queue; those that begin later join in
        command = ["grade", homework, "--submissions", submissions, "--out", out]
        command += ["--scheduler", cluster.scheduler_address, *certificates(security, folder)]
        return subprocess.run(
            [sys.executable, "-m", "autograder", *command], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
