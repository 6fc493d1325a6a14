"""Runs nbgrader's formgrader on a graded course, as a TA would, in a server of the tests' own."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

_START_SECONDS = 600.0


@contextlib.contextmanager
def running_formgrader(course_folder: Path, home: Path) -> Iterator[str]:
    """Start a server in a course folder; yield its address, with ``{}`` for the page."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/formgrader/{{}}"
    environment = os.environ | {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "config")}
    extensions = {"nbgrader.server_extensions.formgrader": True, "jupyterlab": False}
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root",
            f"--ServerApp.root_dir={course_folder}", "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
            "--IdentityProvider.token=", f"--ServerApp.jpserver_extensions={extensions}",
        ],
        cwd=course_folder, env=environment, stdout=subprocess.DEVNULL,
        stderr=(home / "log").open("wb"),
    )  # fmt: skip
    try:
        _await(address.format("gradebook"), server, home / "log")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=600)


def _await(address: str, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=60).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
