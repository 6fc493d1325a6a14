"""Grades a class on a SLURM cluster: python examples/slurm.py hw03 submissions build/grades/hw03.

    python -m pip install dask-jobqueue cryptography

Each job is one worker with the sandbox. Notebooks and results are sent over the network, so jobs
share no folder with this machine. They need bubblewrap and this project, installed, with the same
course_lib; if it differs, grading stops with a message.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dask_jobqueue import SLURMCluster
from distributed import Security


def certificates(security: Security, folder: str) -> list[str]:
    """Write the run's certificates into ``folder``; return the worker's options that name them."""
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
    """Start the jobs, grade, and stop the jobs."""
    security = Security.temporary()  # keeps other users of the network from running code here
    with (
        TemporaryDirectory() as folder,
        SLURMCluster(
            security=security,
            queue="short",
            cores=1,  # one submission at a time
            processes=1,
            memory="6GB",  # 4 for the student's process
            walltime="01:00:00",
            # With GPUs: job_extra_directives=["--gres=gpu:1"],
            # worker_extra_args=["--resources GPU=1"], and --device cuda below: each submission
            # then has a GPU of its own.
        ) as cluster,
    ):
        cluster.scale(jobs=50)
        cluster.wait_for_workers(1)  # further jobs join when they start
        command = ["grade", homework, "--submissions", submissions, "--out", out]
        command += ["--scheduler", cluster.scheduler_address, *certificates(security, folder)]
        return subprocess.run(
            [sys.executable, "-m", "autograder", *command], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
