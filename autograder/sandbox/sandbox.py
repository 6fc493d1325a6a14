"""Starts the forking process inside bubblewrap.

A worker sees, read-only, the system's and Python's files, the packages that students install, the
student edition of ``course_lib``, and the package ``worker`` beside this file as ``course_worker``.
It has an empty /tmp, no network, no home and no course folder.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.sandbox.file_system import (
    device_mounts,
    import_path,
    machine_mounts,
    package_folders,
    readable_mount,
)
from autograder.sandbox.student_packages import show_packages
from autograder.sandbox.worker.isolation import Limits
from autograder.sandbox.zygote import SandboxError, Worker, Zygote

_WORKER_PACKAGE = Path(__file__).parent / "worker"  # mounted as course_worker
_START_SECONDS = 120.0
_NOBODY = 65534
_INSTALL = "sudo apt-get install bubblewrap"


class Sandbox(Zygote):
    """A forking process inside bubblewrap, which has imported all modules that workers need.

    It imports them in the background; the first request waits until it is ready.

    Args:
        library: Folder with the ``course_lib`` that students may import. Files may be added to it
            until the first worker is started.
        limits: Resource limits of each worker; also an attribute.
        device: ``cpu`` or ``cuda``; with ``cuda`` the GPU's device files are mounted.
        isolated: False runs without any protection, for machines without bubblewrap.

    Raises:
        SandboxError: bubblewrap is not installed.
    """

    def __init__(
        self, library: Path, *, limits: Limits, device: str = "cpu", isolated: bool = True
    ) -> None:
        self._library = library
        self._device = device
        self._isolated = isolated
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._preloaded: set[str] = set()
        self._closed = False
        super().__init__(self._launch(), limits)
        atexit.register(self.close)

    def _launch(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command, environment = self._command(theirs.fileno())
            # stdout too: if it is a terminal, bubblewrap mounts that inside the sandbox.
            self._process = subprocess.Popen(  # noqa: S603 -- the command is ours
                command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        ours.settimeout(_START_SECONDS)
        self._is_ready = False
        return ours

    def start(self) -> Worker:
        """Return a new worker, after replacing a forking process that was killed."""
        self._revive()
        return super().start()

    def share(self) -> socket.socket:
        """Fork the forking process, after replacing a killed one; return the fork's socket."""
        self._revive()
        return super().share()

    def preload(self, modules: Sequence[str]) -> None:
        """Import modules for all later workers, see ``Zygote``; each is requested only once."""
        super().preload(sorted(set(modules) - self._preloaded))
        self._preloaded |= set(modules)

    def _revive(self) -> None:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        if self._is_ready and self._process.poll() is not None:
            self._end_process()
            self._control = self._launch()

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        if not self._is_ready:
            self._await_ready()
        try:
            return super()._ask(request, descriptors)
        except SandboxError as error:
            self._end_process()
            words = self._last_words()
            raise SandboxError(f"{error}: {words}" if words else str(error)) from error

    def _await_ready(self) -> None:
        try:
            self._read_answer()
            self._is_ready = True
            if self._preloaded:
                super()._ask({"preload": sorted(self._preloaded)})
        except (OSError, EOFError) as error:
            self._end_process()
            reason = self._last_words() or str(error)
            raise SandboxError(f"the sandbox did not start: {reason}") from error

    def _last_words(self) -> str:
        """Return the error output of the forking process, without waiting for its copies to end."""
        errors = self._process.stderr
        assert errors is not None
        os.set_blocking(errors.fileno(), False)
        return (errors.read() or b"").decode(errors="replace").strip()

    def close(self) -> None:
        """End the forking process and with it all workers; closing twice is allowed."""
        self._closed = True
        atexit.unregister(self.close)
        self._end_process()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _end_process(self) -> None:
        self._control.close()  # the process ends when this socket is closed
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _command(self, fd: int) -> tuple[list[str], dict[str, str]]:
        environment = {
            # as in a notebook, `python` is the one that runs it
            "PATH": f"{Path(_python()).parent}:/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",  # runs commands after a `!`, as in Jupyter
            "LANG": "C.UTF-8",
            "HOME": "/tmp",  # noqa: S108 -- the worker's own, empty
            "USER": "student",  # PyTorch 2.11 needs a name; /etc/passwd is not mounted
            "COURSE_DEVICE": self._device,
            "MPLBACKEND": "agg",
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no process may remain after a cell
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # huge pages: a fork takes half as long
        }
        mode = "isolated" if self._isolated else "open"
        python = [_python(), "-m", "course_worker.zygote", str(fd), mode]
        if not self._isolated:
            self._scratch = tempfile.TemporaryDirectory(prefix="worker-")
            scratch = Path(self._scratch.name)
            (scratch / "course_worker").symlink_to(_WORKER_PACKAGE)
            (scratch / "course_lib").symlink_to((self._library / "course_lib").resolve())
            environment |= {"PYTHONPATH": import_path(str(scratch)), "HOME": str(scratch)}
            return python, environment
        bubblewrap = shutil.which("bwrap")
        if bubblewrap is None:
            raise SandboxError(f"bubblewrap is not installed; install it with: {_INSTALL}")
        environment["PYTHONPATH"] = import_path("/grading")
        # The last mount is made read-only: another worker could read files that one has written.
        sealed = [arg for path in ("/dev", "/") for arg in ("--remount-ro", path)]
        begin, become = _enter(bubblewrap)
        return [
            *begin, "--new-session",
            *machine_mounts(), *device_mounts(self._device),
            *show_packages(tuple(package_folders())),
            *readable_mount(str(_WORKER_PACKAGE), "/grading/course_worker"),
            *readable_mount(str((self._library / "course_lib").resolve()), "/grading/course_lib"),
            "--chdir", "/tmp", *sealed, "--", *become, *python,  # noqa: S108
        ], environment  # fmt: skip


def check_sandbox() -> None:
    """Check that the sandbox works: start bubblewrap and, inside it, the namespaces of a worker.

    Raises:
        SandboxError: It does not work here; the message gives the command or setting that helps.
    """
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise SandboxError(f"bubblewrap is not installed; install it with: {_INSTALL}")
    trial = (
        "import os, sys;"
        "from course_worker.isolation import *; mapped = mapped_bytes();"
        "enter_own_namespaces(Limits()); drop_privileges(Limits(), mapped);"
        "os.listdir(sys.prefix)"
    )
    begin, become = _enter(bubblewrap)
    command = [
        *begin, *machine_mounts(),
        *readable_mount(str(_WORKER_PACKAGE), "/grading/course_worker"),
        "--setenv", "PYTHONPATH", import_path("/grading"), "--", *become,
    ]  # fmt: skip
    refused = _refusal([*command, _python(), "-c", trial])
    if not refused:
        return
    alone = [*command, _python(), "-c", ""]
    if not _refusal([*command, "true"]) and (reason := _refusal(alone)):
        raise SandboxError(
            f"Python does not start in the sandbox ({reason}), which shows it {sys.prefix} and "
            f"{sys.base_prefix}; make a plain environment: make distclean install GROUPS=judge"
        )
    raise SandboxError(
        f"bubblewrap does not work here ({refused}). Unprivileged user namespaces may be off; "
        "allow them with: sudo sysctl -w kernel.unprivileged_userns_clone=1 "
        "kernel.apparmor_restrict_unprivileged_userns=0"
    )


def _refusal(command: list[str]) -> str:
    """Run a command; return the last line of its errors if it fails, else an empty string."""
    done = subprocess.run(  # noqa: S603 -- the command is ours
        command, capture_output=True, text=True, timeout=60, check=False
    )
    words = done.stderr.strip().splitlines() or ["no reason given"]
    return words[-1] if done.returncode else ""


def _enter(program: str) -> tuple[list[str], list[str]]:
    """Return bubblewrap's command without mounts, and the command that changes the user from root.

    ``program`` is bubblewrap's path. The second command is empty unless this user is root.
    """
    if os.geteuid() != 0:
        return [program, "--die-with-parent", "--unshare-all", "--cap-drop", "ALL"], []
    alone = [
        "--die-with-parent",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
    ]
    change_user = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    as_nobody = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups",
                 "--inh-caps=-all", "--no-new-privs", "--"]  # fmt: skip
    return [program, *alone, *change_user], as_nobody


def _python() -> str:
    """Return the path of this Python's program, with symlinks in its folder resolved."""
    program = Path(sys.executable)
    return str(program.parent.resolve() / program.name)
