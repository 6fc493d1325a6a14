"""Grades a class on Kubernetes: python examples/kubernetes.py hw03 submissions build/grades/hw03.

    python -m pip install dask-kubernetes
    helm install --repo https://helm.dask.org --generate-name dask-kubernetes-operator

The image must have bubblewrap and this project, installed, with the same course_lib as here; if it
differs, grading stops with a message. Pods need user namespaces for the sandbox.
"""

import subprocess
import sys

from dask_kubernetes.operator import KubeCluster

IMAGE = "registry.example.org/course-autograder:latest"


def main(homework: str, submissions: str, out: str) -> int:
    """Start the pods, grade, and stop the pods."""
    with KubeCluster(
        name="grading",
        image=IMAGE,
        n_workers=50,
        worker_command=["dask", "worker", "--nthreads", "1"],  # one submission at a time
        resources={"requests": {"cpu": "1", "memory": "6Gi"}, "limits": {"memory": "6Gi"}},
    ) as cluster:
        cluster.wait_for_workers(1)  # further pods join when they start
        command = ["grade", homework, "--submissions", submissions, "--out", out]
        # A NetworkPolicy must keep other pods from the scheduler, which needs no password.
        command += ["--scheduler", cluster.scheduler_address, "--trusted-network"]
        return subprocess.run(
            [sys.executable, "-m", "autograder", *command], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
